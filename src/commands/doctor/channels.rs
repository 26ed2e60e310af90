//! The channels: does each log in, as whom, with which rights and limits, and what time is it there?

use std::sync::Arc;

use crate::channel::indexnow::key_file;
use crate::channel::{Channel, registry};
use crate::clock::Clock;
use crate::config::{ChannelConfig, ServiceConfig};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::ledger::Snapshot;
use crate::model::ids::{Account, ChannelName};
use crate::model::outcome::{Opening, ServerLimits, Session, Trouble};
use crate::model::time::duration_text;
use crate::plan::alarms::account_changed;
use crate::plan::survey::Selection;
use crate::render::{Stamp, compose};
use crate::report::doctor::{Check, Verdict};
use crate::report::human::number;
use crate::source::Fetch as _;

use super::super::accounts::exit_of;
use super::super::world::{Fetcher, World};

/// Looks at each channel of the selection.
pub(super) fn checks(
    world: &World,
    selection: &Selection,
    snapshot: &Snapshot,
    environment: &Environment,
    clock: &Arc<dyn Clock>,
) -> Vec<Check> {
    let channels = world.config.channels.iter().filter(|channel| {
        selection.channels.is_empty() || selection.channels.contains(channel.name())
    });
    let mut checks = Vec::new();
    let mut accounts: Vec<(&ChannelConfig, Account)> = Vec::new();
    for channel in channels {
        let visit = Visit {
            world,
            channel,
            snapshot,
        };
        let session = visit.log_in(environment, clock, &mut checks);
        visit.texts(session.as_ref(), clock.as_ref(), &mut checks);
        if let Some(session) = session {
            let twin = accounts.iter().find(|(other, account)| {
                other.kind() == channel.kind()
                    && *account == session.account
                    && channel.kind().traits().readable
            });
            if let Some((other, account)) = twin {
                let message = format!("{} posts to the same account, {account}", other.name());
                checks.push(
                    visit
                        .wrong("account", Exit::Usage, message)
                        .advised("give each channel an account of its own, or take one out"),
                );
            }
            accounts.push((channel, session.account));
        }
        visit.key_file(clock, &mut checks);
    }
    checks
}

struct Visit<'a> {
    world: &'a World,
    channel: &'a ChannelConfig,
    snapshot: &'a Snapshot,
}

impl Visit<'_> {
    fn name(&self) -> &ChannelName {
        self.channel.name()
    }

    fn check(&self, name: &'static str, verdict: Verdict, message: impl Into<String>) -> Check {
        Check::new(name, verdict, message).of(self.name())
    }

    fn wrong(&self, name: &'static str, exit: Exit, message: impl Into<String>) -> Check {
        self.check(name, Verdict::Wrong(exit), message)
    }

    /// Logs in, and says as whom; with the rights, the account that was used before, and the clock.
    fn log_in(
        &self,
        environment: &Environment,
        clock: &Arc<dyn Clock>,
        checks: &mut Vec<Check>,
    ) -> Option<Session> {
        let site = &self.world.config.site;
        let mut service = match registry::build(self.channel, site, environment, Arc::clone(clock))
        {
            Ok(service) => service,
            Err(missing) => {
                let message = format!("{} is not set", missing.variable);
                let check = self.wrong("login", Exit::Usage, message);
                checks.push(check.advised(missing.hint()));
                return None;
            }
        };
        let session = match service.open() {
            Opening::Ready(session) => session,
            Opening::Closed { trouble, reason } => {
                let exit = exit_of(trouble);
                let advice = if trouble == Trouble::Credentials {
                    self.advice()
                } else {
                    "try again later; a run would leave what is due here to the next one"
                };
                checks.push(self.wrong("login", exit, reason).advised(advice));
                return None;
            }
        };
        if self.channel.kind().traits().readable {
            checks.push(self.check("login", Verdict::Ok, session.account.as_str()));
            let found = service.found_on();
            checks.extend(found.map(|server| self.check("server", Verdict::Ok, server)));
            checks.extend(self.rights(service.as_mut()));
        }
        let rows = self.snapshot.rows.values().map(|stored| &stored.row);
        if let Some(sentence) = account_changed(rows, self.name(), &session.account) {
            checks.push(self.wrong("account", Exit::NeedsPerson, sentence));
        }
        checks.extend(self.clock(&session));
        Some(session)
    }

    /// What to do about credentials that are refused. An account that had to be found may be another than it should be.
    fn advice(&self) -> &'static str {
        let is_found = matches!(
            &self.channel.service,
            ServiceConfig::Bluesky { service: None, .. }
        );
        if is_found {
            "if the handle is right, make a new secret there, and set it where this runs"
        } else {
            "make a new secret there, and set it where this runs"
        }
    }

    fn rights(&self, service: &mut dyn Channel) -> Option<Check> {
        let missing = service.missing_rights()?;
        Some(if missing.is_empty() {
            self.check("rights", Verdict::Ok, "to post and to read back")
        } else {
            let message = format!("the token may not {}", missing.join(", "));
            self.wrong("rights", Exit::NeedsPerson, message)
                .advised("make a token with these scopes, and set it where this runs")
        })
    }

    fn clock(&self, session: &Session) -> Option<Check> {
        let skew = session.clock_skew?;
        let allowed = self.world.config.ledger.clock_skew;
        if skew > allowed {
            let message = format!(
                "the service's clock is {} from this machine's, more than `ledger.clock_skew` ({})",
                duration_text(skew),
                duration_text(allowed)
            );
            return Some(self.check("clock", Verdict::Warning, message).advised(
                "set this machine's clock; until then nothing of other runs is taken over",
            ));
        }
        let message = if skew.is_zero() {
            "no difference that shows".to_owned()
        } else {
            format!("{} from this machine's", duration_text(skew))
        };
        Some(self.check("clock", Verdict::Ok, message))
    }

    /// Do the texts fit, by the limit that the server told?
    fn texts(&self, session: Option<&Session>, clock: &dyn Clock, checks: &mut Vec<Check>) {
        let told = session.map_or_else(ServerLimits::default, |session| session.limits);
        let stamp = Stamp::Fresh {
            now: clock.now(),
            entropy: 0,
        };
        let items = self.world.catalog.items.iter();
        let mut limit = None;
        let (mut whole, mut changed, mut refused) = (0, Vec::new(), Vec::new());
        for item in items.filter(|item| item.out_of_scope.is_none()) {
            match compose(item, self.channel, told, stamp) {
                Ok(rendered) => {
                    limit = limit.or(rendered.limit);
                    match rendered.notes.first() {
                        None => whole += 1,
                        Some(note) => changed.push(format!("{}: {note}", item.id)),
                    }
                }
                Err(error) => refused.push(format!("{}: {error}", item.id)),
            }
        }
        let limit = limit.map_or_else(String::new, |limit| format!(", limit {limit}"));
        let texts = |count: usize| number(count, "text", "texts");
        if let Some(first) = refused.first() {
            let message = format!("{} can't be made{limit}; {first}", texts(refused.len()));
            let check = self.wrong("texts", Exit::Usage, message);
            checks.push(check.advised("change the template, or the article's own text"));
        }
        if let Some(first) = changed.first() {
            let message = format!("{} made to fit{limit}; {first}", texts(changed.len()));
            let check = self.check("texts", Verdict::Warning, message);
            checks.push(check.advised("`sayonce plan` shows each text"));
        }
        if whole > 0 && changed.is_empty() && refused.is_empty() {
            let message = format!("{}{limit}", number(whole, "text fits", "texts fit"));
            checks.push(self.check("texts", Verdict::Ok, message));
        }
    }

    /// Search engines look for the key on the site; without it they take nothing.
    fn key_file(&self, clock: &Arc<dyn Clock>, checks: &mut Vec<Check>) {
        let ServiceConfig::IndexNow {
            key, key_location, ..
        } = &self.channel.service
        else {
            return;
        };
        let site = &self.world.config.site.url;
        let url = key_file(site, key, key_location.as_ref());
        let advice = format!("publish a file with nothing but `{key}` in it at {url}");
        let fetched = Fetcher::new(clock).fetch(url.as_str());
        checks.push(match fetched {
            Ok(bytes) if String::from_utf8_lossy(&bytes).trim() == key => {
                self.check("key file", Verdict::Ok, url.as_str())
            }
            Ok(_) => self
                .check(
                    "key file",
                    Verdict::Warning,
                    format!("{url} has another text than the key"),
                )
                .advised(advice),
            Err(reason) => self
                .check("key file", Verdict::Warning, reason)
                .advised(advice),
        });
    }
}
