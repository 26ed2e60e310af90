//! Changing and taking down what a declared service made.
//!
//! Where the declaration has no way to read a post, it says by which code a repeated `retract` is told that there is
//! nothing left: then the same request is sent once more, and that answer is the proof.

use std::slice;

use minijinja::Value as Known;
use serde_json::Value;

use super::request::{self, Unfit};
use super::{Declared, judge};
use crate::channel::answer::{Answer, Reply};
use crate::channel::common::{cannot_tell, check_account, refused};
use crate::channel::http::Fence;
use crate::channel::later::{
    Presence, Takedown, effect_of_retraction, evened, reason_of, settle_retraction, target_of,
};
use crate::config::http::{AnswerRule, Meaning, Operation as Form, ReadForm, Receipt, RequestForm};
use crate::model::claim::{Claim, PushedClaim};
use crate::model::delivery::Operation;
use crate::model::outcome::{Evidence, Lookup, Outcome, Refusal, Remote};

pub(super) type Variables = Vec<(&'static str, Known)>;

/// What an answer to a later write comes to.
enum Verdict {
    /// The service says that it is done.
    Done,
    /// The service says that it was so before.
    Already,
    /// Neither.
    Other(Outcome),
}

impl Declared {
    pub(super) fn change(&mut self, pushed: &PushedClaim) -> Outcome {
        let fence = Fence::of(slice::from_ref(pushed), self.http.clock());
        self.try_change(pushed.claim(), fence)
            .unwrap_or_else(|outcome| outcome)
    }

    pub(super) fn remove(&mut self, pushed: &PushedClaim) -> Outcome {
        let fence = Fence::of(slice::from_ref(pushed), self.http.clock());
        self.try_remove(pushed.claim(), &fence)
            .unwrap_or_else(|outcome| outcome)
    }

    pub(super) fn effect_of(&mut self, claim: &Claim) -> Lookup {
        self.try_effect(claim)
            .unwrap_or_else(|outcome| cannot_tell(reason_of(outcome)))
    }

    fn try_change(&mut self, claim: &Claim, fence: Fence) -> Result<Outcome, Outcome> {
        let form = self.declaration.update.clone();
        let form = form.ok_or_else(|| undeclared("update"))?;
        let target = self.own_target(claim)?;
        let mut known = request::target_variables(claim, &self.named(&target));
        known.extend(request::publish_variables(claim));
        if let Some(current) = &form.current {
            let read = self.current(current, &known)?;
            known.push(("current", read));
        }
        let reply = self.write(&form.request, &known, claim, fence)?;
        let answer = reply.of_write()?;
        match self.verdict(&form, &answer) {
            Verdict::Done => Ok(self.changed(&answer, target)),
            Verdict::Already => Ok(Outcome::Accepted {
                remote: target,
                evidence: Evidence::Response,
            }),
            Verdict::Other(Outcome::Accepted { evidence, .. }) => Ok(Outcome::Accepted {
                remote: target,
                evidence,
            }),
            Verdict::Other(Outcome::InDoubt { reason }) => {
                let gone = self
                    .declaration
                    .read
                    .clone()
                    .is_some_and(|form| matches!(self.presence(&form, &known), Presence::Gone));
                // What is gone can't be changed, now or later.
                Ok(if gone {
                    refused(Refusal::Permanent, format!("the post is gone: {reason}"))
                } else {
                    Outcome::InDoubt { reason }
                })
            }
            Verdict::Other(outcome) => Ok(outcome),
        }
    }

    /// An answer that names a post must name this one. Where an address is the id, a changed post may have a new one.
    fn changed(&self, answer: &Answer, target: Remote) -> Outcome {
        let receipt = &self.declaration.receipt;
        let named = judge::receipt(receipt, answer, &self.filler)
            .and_then(|remote| self.without_secrets(remote))
            .filter(|remote| remote.id.is_some());
        let is_address = matches!(receipt, Receipt::Given { id: None, .. });
        let remote = match named {
            Some(named) if target.id.is_some() && named.id != target.id && !is_address => {
                let reason = self.http.describe(answer);
                return Outcome::InDoubt {
                    reason: format!("the answer is about another post: {reason}"),
                };
            }
            Some(named) => Remote {
                url: named.url.or(target.url),
                id: named.id,
            },
            None => target,
        };
        Outcome::Accepted {
            remote,
            evidence: Evidence::Response,
        }
    }

    fn try_remove(&mut self, claim: &Claim, fence: &Fence) -> Result<Outcome, Outcome> {
        let form = self.declaration.retract.clone();
        let form = form.ok_or_else(|| undeclared("retract"))?;
        let target = self.own_target(claim)?;
        let known = request::target_variables(claim, &self.named(&target));
        let proved = || Outcome::Accepted {
            remote: target.clone(),
            evidence: Evidence::ReadBack,
        };
        let read = self.declaration.read.clone();
        let takedown = match self
            .write(&form.request, &known, claim, fence.clone())?
            .of_write()
        {
            Err(outcome) => Takedown::of(outcome)?,
            Ok(answer) => {
                let status = format!("HTTP {}", answer.status);
                match self.verdict(&form, &answer) {
                    Verdict::Already if read.is_none() => return Ok(proved()),
                    Verdict::Done | Verdict::Already | Verdict::Other(Outcome::Accepted { .. }) => {
                        Takedown::Answered(status)
                    }
                    // A service may refuse what is gone; but what is not gone stays refused.
                    Verdict::Other(
                        refusal @ Outcome::Refused {
                            refusal: Refusal::Permanent,
                            ..
                        },
                    ) => {
                        let form = read.ok_or_else(|| refusal.clone())?;
                        return match self.presence(&form, &known) {
                            Presence::Gone => Ok(proved()),
                            Presence::Stands(_) | Presence::Unknown(_) => Err(refusal),
                        };
                    }
                    Verdict::Other(outcome) => Takedown::of(outcome)?,
                }
            }
        };
        let seen = match &read {
            Some(form) => self.presence(form, &known),
            None => self.told_again(&form, &known, claim, fence),
        };
        Ok(settle_retraction(&target, takedown, seen))
    }

    fn try_effect(&mut self, claim: &Claim) -> Result<Lookup, Outcome> {
        let target = self.own_target(claim)?;
        let Some(form) = self.declaration.read.clone() else {
            return Ok(cannot_tell(
                "the declaration has no `read`, so no post can be looked at",
            ));
        };
        let known = request::target_variables(claim, &self.named(&target));
        let seen = self.presence(&form, &known);
        match claim.operation {
            Operation::Retract => return Ok(effect_of_retraction(&target, seen)),
            Operation::Update(_) | Operation::Publish => {}
        }
        Ok(match seen {
            Presence::Stands(body) => self.shown(&form, claim, target, &body),
            // What is gone shows nothing.
            Presence::Gone => Lookup::Absent,
            Presence::Unknown(reason) => cannot_tell(reason),
        })
    }

    /// Compares what stands in the answer with what the claim's post makes of the declaration's templates.
    fn shown(&self, form: &ReadForm, claim: &Claim, target: Remote, body: &Value) -> Lookup {
        if form.shows.is_empty() {
            return cannot_tell("the declaration's `read` does not say what a post shows");
        }
        let known = request::publish_variables(claim);
        for (pointer, template) in &form.shows {
            let wanted = match self.filler.fill(template, &known) {
                Ok(wanted) => evened(&wanted),
                Err(reason) => return cannot_tell(self.http.scrubbed(&reason)),
            };
            let shown = pointer.text_of(body).unwrap_or_default();
            if evened(&shown) != wanted {
                return Lookup::Absent;
            }
        }
        Lookup::Found(target)
    }

    fn verdict(&self, form: &Form, answer: &Answer) -> Verdict {
        let body = answer.json();
        let rules = form.answers.iter().chain(&self.declaration.answers);
        match judge::rule_for(rules, answer.status, body.as_ref()) {
            Some(AnswerRule {
                means: Meaning::Already,
                ..
            }) => Verdict::Already,
            // Of a change or a deletion it says that a look is needed, and no more.
            Some(AnswerRule {
                means: Meaning::Exists,
                ..
            }) => Verdict::Other(Outcome::InDoubt {
                reason: self.http.describe(answer),
            }),
            Some(rule) => Verdict::Other(self.ruled(rule, answer)),
            None if judge::is_success(&form.success, answer, body.as_ref()) => Verdict::Done,
            None => Verdict::Other(Outcome::InDoubt {
                reason: self.http.describe(answer),
            }),
        }
    }

    /// Sends the same request once more: only that it is told that there is nothing left proves that the post is gone.
    fn told_again(
        &mut self,
        form: &Form,
        known: &Variables,
        claim: &Claim,
        fence: &Fence,
    ) -> Presence<Value> {
        let reply = match self.write(&form.request, known, claim, fence.clone()) {
            Ok(reply) => reply,
            Err(outcome) => return Presence::Unknown(reason_of(outcome)),
        };
        let answer = match reply.of_read() {
            Ok(answer) => answer,
            Err(reason) => return Presence::Unknown(reason),
        };
        match self.verdict(form, &answer) {
            Verdict::Already => Presence::Gone,
            Verdict::Done | Verdict::Other(_) => {
                let reason = self.http.describe(&answer);
                Presence::Unknown(format!("asked again, the service answered: {reason}"))
            }
        }
    }

    fn presence(&mut self, form: &ReadForm, known: &Variables) -> Presence<Value> {
        // A request without the post's id would read something else, which may well be missing.
        if let Some(reason) = lacks(&form.request, known) {
            return Presence::Unknown(reason);
        }
        let redirect = self.declaration.redirect.as_ref();
        let made = self.filler.request(&form.request, known, None, redirect);
        let request = match made {
            Ok(made) => made.finish(&mut self.http, &[], None),
            Err(unfit) => return Presence::Unknown(self.http.scrubbed(&unfit.reason())),
        };
        let answer = match self.http.send(&request).of_read() {
            Ok(answer) => answer,
            Err(reason) => return Presence::Unknown(reason),
        };
        if let Err(reason) = answer.check_fresh() {
            return Presence::Unknown(reason);
        }
        let body = answer.json();
        if judge::is_gone(&form.gone, answer.status, body.as_ref()) {
            Presence::Gone
        } else if judge::is_success(&form.success, &answer, body.as_ref()) {
            Presence::Stands(body.unwrap_or_default())
        } else {
            Presence::Unknown(self.http.describe(&answer))
        }
    }

    fn write(
        &mut self,
        form: &RequestForm,
        known: &Variables,
        claim: &Claim,
        fence: Fence,
    ) -> Result<Reply, Outcome> {
        if let Some(reason) = lacks(form, known) {
            return Err(refused(Refusal::Permanent, reason));
        }
        let redirect = self.declaration.redirect.as_ref();
        let made = self.filler.request(form, known, Some(claim), redirect);
        let headers = self.rehearsal_headers(claim);
        let request = match made {
            Ok(made) => made.finish(&mut self.http, &headers, Some(fence)),
            Err(Unfit::Post(reason)) => {
                return Err(refused(Refusal::Permanent, self.http.scrubbed(&reason)));
            }
            Err(Unfit::Secret(reason)) => return Err(refused(Refusal::Credentials, reason)),
        };
        Ok(self.http.send(&request))
    }

    fn own_target(&self, claim: &Claim) -> Result<Remote, Outcome> {
        let target = target_of(claim)?;
        check_account(claim, &self.account)?;
        Ok(target.clone())
    }

    /// Returns how templates name a post: where the service gives an address alone, the address is the id.
    fn named(&self, target: &Remote) -> Remote {
        let is_address = matches!(self.declaration.receipt, Receipt::Given { id: None, .. });
        if !is_address {
            return target.clone();
        }
        let address = target.url.as_ref().or(target.id.as_ref());
        Remote {
            id: address.cloned(),
            url: address.cloned(),
        }
    }
}

/// Says what a request needs of a post that the row does not have.
pub(super) fn lacks(form: &RequestForm, known: &Variables) -> Option<String> {
    let names = form.variables();
    let is_known = |name: &str| known.iter().any(|(known, _)| *known == name);
    let missing = ["id", "remote_url"]
        .into_iter()
        .find(|name| names.contains(*name) && !is_known(name))?;
    Some(format!(
        "the declaration needs the post's `{missing}`, and the row has none"
    ))
}

fn undeclared(what: &str) -> Outcome {
    refused(
        Refusal::Permanent,
        format!("the declaration has no `{what}`"),
    )
}
