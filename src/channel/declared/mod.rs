//! A declared service: what to send, and what each answer means, is data.
//!
//! Start reading at [`Declared`]; `request` fills the templates, `judge` reads answers, `lookup` reads lists.
//! Invariants: what the declaration's table does not list is in doubt; nothing that was made from a secret is shown or
//! kept, also not where the service itself gives it back.

mod address;
mod current;
mod judge;
mod later;
mod lookup;
mod prepare;
mod request;

use std::collections::BTreeMap;

use super::Channel;
use super::answer::Answer;
use super::common::{cannot_tell, check_account, refused, single_claim};
use super::http::{Fence, Http};
use crate::config::http::{AnswerRule, Declaration, Meaning};
use crate::model::claim::{Claim, PushedClaim};
use crate::model::ids::{Account, ChannelName};
use crate::model::media::{Prepared, Wants};
use crate::model::outcome::{
    Evidence, Listing, Lookup, Opening, Outcome, Refusal, Remote, ServerLimits, Session, Trouble,
};
use crate::model::time::Timestamp;
use crate::secret::Secret;

use self::lookup::Entries;
pub(super) use self::request::secret_forms;
use self::request::{Filler, Unfit};

const UNREADABLE: &str = "the declaration has no `lookup`, so nothing can be read back";

/// What is said of an id that gives a secret back.
const SECRET_ID: &str = "the service gave an id with a secret in it";

/// One channel of a declared service.
#[derive(Debug)]
pub(crate) struct Declared {
    http: Http,
    declaration: Declaration,
    filler: Filler,
    account: String,
    /// Why the first of two requests made nothing that could be published.
    unmade: Option<Outcome>,
    /// The last list that was asked for was read as far back as it was asked for.
    reached: bool,
}

impl Declared {
    /// Takes a declaration and the secrets that it names, by their names in it. The agent knows all of their
    /// [`secret_forms`].
    pub(crate) fn new(
        http: Http,
        channel: &ChannelName,
        declaration: Declaration,
        secrets: &BTreeMap<String, Secret>,
    ) -> Self {
        let filler = Filler::new(secrets, &declaration.values, http.shared_clock());
        let named = declaration
            .account
            .as_deref()
            .and_then(|template| filler.fill(template, &[]).ok())
            .filter(|account| !account.trim().is_empty());
        // Another place has other posts, maybe under the same ids.
        let account = named.unwrap_or_else(|| {
            let service = declaration.preset.unwrap_or("http");
            match filler.destination(&declaration.request) {
                Some(digest) => format!("{service}:{digest}"),
                None => format!("{service}:{channel}"),
            }
        });
        Self {
            http,
            account,
            filler,
            declaration,
            unmade: None,
            reached: false,
        }
    }

    fn outcome(&self, answer: &Answer) -> Outcome {
        let reason = self.http.describe(answer);
        let body = answer.json();
        let rules = &self.declaration.answers;
        match judge::rule_for(rules, answer.status, body.as_ref()) {
            Some(rule) => self.ruled(rule, answer),
            None if judge::is_success(&self.declaration.success, answer, body.as_ref()) => {
                self.accepted(answer).unwrap_or(Outcome::InDoubt { reason })
            }
            None => Outcome::InDoubt { reason },
        }
    }

    /// Returns what a rule makes of an answer.
    fn ruled(&self, rule: &AnswerRule, answer: &Answer) -> Outcome {
        let reason = self.http.describe(answer);
        let body = answer.json();
        let wait = judge::wait(&self.declaration, rule, answer, body.as_ref());
        match rule.means {
            Meaning::Refused => refused(Refusal::Permanent, reason),
            Meaning::Retry => refused(Refusal::Temporary(wait), reason),
            Meaning::RateLimited => refused(Refusal::RateLimited(wait), reason),
            Meaning::Credentials => refused(Refusal::Credentials, reason),
            // A post that is made can't be so already; who changes one looks at this meaning first.
            Meaning::Exists | Meaning::Already => Outcome::InDoubt {
                reason: format!("it may be there already: {reason}"),
            },
            // The service's word that it is done; an id comes with a later look, if ever.
            Meaning::AcceptedLater => Outcome::Accepted {
                remote: Remote {
                    id: None,
                    url: None,
                },
                evidence: Evidence::Response,
            },
        }
    }

    /// Returns the receipt of a success, without anything secret in it.
    fn accepted(&self, answer: &Answer) -> Option<Outcome> {
        let remote = judge::receipt(&self.declaration.receipt, answer, &self.filler)?;
        Some(Outcome::Accepted {
            remote: self.without_secrets(remote)?,
            evidence: Evidence::Response,
        })
    }

    /// An id with a secret in it is none, and an address with one is left out.
    fn without_secrets(&self, remote: Remote) -> Option<Remote> {
        let is_clean = |text: &String| self.http.scrubbed(text) == *text;
        remote.id.as_ref().is_none_or(is_clean).then(|| Remote {
            id: remote.id,
            url: remote.url.filter(is_clean),
        })
    }

    /// Some requests name no article, and a stand-in has to know it.
    fn rehearsal_headers(&self, claim: &Claim) -> Vec<(String, String)> {
        let article = (
            request::REHEARSED_ARTICLE.to_owned(),
            claim.canonical_url.clone(),
        );
        let is_rehearsed = self.declaration.redirect.is_some();
        is_rehearsed.then_some(article).into_iter().collect()
    }

    /// A key that is remembered for ever is worth nothing under other bytes.
    fn is_other_request(&self, claim: &Claim) -> bool {
        let now = self.declaration.form_fingerprint();
        self.declaration.has_permanent_key()
            && claim.attempt > 1
            && claim
                .post
                .string("form")
                .is_some_and(|form| form != now.as_str())
    }

    fn entries(&mut self, claim: Option<&Claim>, since: Timestamp) -> Result<Entries, String> {
        let Some(form) = self.declaration.lookup.clone() else {
            return Err(UNREADABLE.to_owned());
        };
        let known = request::lookup_variables(claim, since);
        let made = self.filler.request(
            &form.request,
            &known,
            None,
            self.declaration.redirect.as_ref(),
        );
        let request = match made {
            Ok(made) => made.finish(&mut self.http, &[], None),
            Err(unfit) => return Err(self.http.scrubbed(&unfit.reason())),
        };
        let answer = self.http.send(&request).of_read()?;
        let body = answer.json();
        if !judge::is_success(&form.success, &answer, body.as_ref()) {
            return Err(self.http.describe(&answer));
        }
        answer.check_fresh()?;
        let body = body.ok_or_else(|| self.http.describe(&answer))?;
        let since = since
            .floor_to_second()
            .min(since.minus(answer.clock_behind()).floor_to_second());
        Entries::read(&form, &body, since, &self.filler)
            .map_err(|reason| format!("{reason}: {}", self.http.describe(&answer)))
    }
}

impl Channel for Declared {
    fn open(&mut self) -> Opening {
        // Nothing is asked: a service that can be declared need not have anything that tells who we are.
        if let Err(reason) = self.filler.check_secrets(&self.declaration.requests()) {
            return Opening::Closed {
                trouble: Trouble::Credentials,
                reason,
            };
        }
        Opening::Ready(Session {
            account: Account::new(self.account.clone()),
            limits: ServerLimits::default(),
            clock_skew: None,
        })
    }

    fn recent(&mut self, since: Timestamp) -> Listing {
        self.http.begin();
        match self.entries(None, since) {
            Ok(entries) => {
                self.reached = entries.reaches;
                let posts = entries.into_posts().into_iter().map(|mut post| {
                    post.remote = self.without_secrets(post.remote)?;
                    Some(post)
                });
                // Left out, it could be the very post that is looked for.
                posts.collect::<Option<Vec<_>>>().map_or_else(
                    || Listing::CannotTell {
                        reason: SECRET_ID.to_owned(),
                    },
                    Listing::Posts,
                )
            }
            Err(reason) => Listing::CannotTell { reason },
        }
    }

    fn reached(&self) -> bool {
        self.reached
    }

    fn prepare(&mut self, wants: &Wants, _pictures: Vec<Result<Vec<u8>, String>>) -> Prepared {
        match (self.declaration.prepare.clone(), &wants.draft) {
            (Some(form), Some(draft)) => self.make(&form, draft),
            (None, _) | (_, None) => Prepared::default(),
        }
    }

    fn publish(&mut self, claims: &[PushedClaim]) -> Outcome {
        self.http.begin();
        let fence = Fence::of(claims, self.http.clock());
        let claim = match single_claim(claims) {
            Ok(claim) => claim,
            Err(outcome) => return outcome,
        };
        if let Err(outcome) = check_account(claim, &self.account) {
            return outcome;
        }
        if self.declaration.prepare.is_some() && claim.post.string("prepared").is_none() {
            let reason = "what is published has not been made";
            let unmade = self.unmade.take();
            return unmade.unwrap_or_else(|| prepare::not_now(reason.to_owned()));
        }
        if self.is_other_request(claim) {
            return Outcome::InDoubt {
                reason: "the declaration was changed since this post may have been sent, and the same key with another request proves nothing: change it back, or say with `sayonce resolve` whether the post is there".to_owned(),
            };
        }
        let known = request::publish_variables(claim);
        let redirect = self.declaration.redirect.as_ref();
        let made = self
            .filler
            .request(&self.declaration.request, &known, Some(claim), redirect);
        let mut headers = self.rehearsal_headers(claim);
        let key = self.declaration.key.as_ref();
        if let Some(header) = key.and_then(|key| key.header.as_ref()) {
            headers.push((header.clone(), claim.key.as_str().to_owned()));
        }
        let request = match made {
            Ok(made) => made.finish(&mut self.http, &headers, Some(fence)),
            Err(Unfit::Post(reason)) => {
                return refused(Refusal::Permanent, self.http.scrubbed(&reason));
            }
            Err(Unfit::Secret(reason)) => return refused(Refusal::Credentials, reason),
        };
        match self.http.send(&request).of_write() {
            Ok(answer) => self.outcome(&answer),
            Err(outcome) => outcome,
        }
    }

    fn update(&mut self, claim: &PushedClaim) -> Outcome {
        self.http.begin();
        self.change(claim)
    }

    fn retract(&mut self, claim: &PushedClaim) -> Outcome {
        self.http.begin();
        self.remove(claim)
    }

    fn effect(&mut self, claim: &Claim) -> Lookup {
        self.http.begin();
        self.effect_of(claim)
    }

    fn lookup(&mut self, claim: &Claim) -> Lookup {
        self.http.begin();
        match self.entries(Some(claim), claim.first_claimed_at) {
            Ok(entries) => match entries.find(claim) {
                Lookup::Found(remote) => self
                    .without_secrets(remote)
                    .map_or_else(|| cannot_tell(SECRET_ID), Lookup::Found),
                Lookup::Several(remotes) => remotes
                    .into_iter()
                    .map(|remote| self.without_secrets(remote))
                    .collect::<Option<Vec<_>>>()
                    .map_or_else(|| cannot_tell(SECRET_ID), Lookup::Several),
                Lookup::Absent => match self.is_published(&claim.post) {
                    Ok(false) => Lookup::Absent,
                    Ok(true) => cannot_tell("it was published, and the list does not show it yet"),
                    Err(reason) => cannot_tell(reason),
                },
                Lookup::CannotTell { reason } => cannot_tell(reason),
            },
            Err(reason) => cannot_tell(reason),
        }
    }
}
