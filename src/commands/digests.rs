//! What a job of GitHub Actions is told: digests of what each command found, and the secrets to mask.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chrono_tz::Tz;

use crate::config::http::Declaration;
use crate::config::{Config, ServiceConfig};
use crate::engine::ending::{Ending, next_due};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::model::item::ItemId;
use crate::model::time::Timestamp;
use crate::plan::audit::{Audit, Open};
use crate::plan::outlook::Outlook;
use crate::report::digest::{Digest, NextRun, Shown};
use crate::report::github::Masked;
use crate::report::human::Titles;
use crate::secret::Secret;

use super::plan::View;
use super::world::{Place, World};

/// What every digest needs of the site.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) top: PathBuf,
    titles: Titles,
    sources: BTreeMap<ItemId, String>,
    notices: Vec<String>,
    timezone: Tz,
}

impl Site {
    pub(super) fn of(world: &World) -> Self {
        let items = world.catalog.items.iter();
        let warnings = world.config.warnings.iter();
        let notices = warnings.chain(&world.catalog.notices);
        // Whoever reads the summary knows the files by their paths in the repository.
        let top = world.top.display().to_string();
        let prefix = format!("{}/", top.trim_end_matches('/'));
        Self {
            top: world.top.clone(),
            titles: world.titles(None),
            sources: items
                .filter_map(|item| Some((item.id.clone(), item.source_file.clone()?)))
                .collect(),
            notices: notices
                .map(|notice| notice.replacen(&prefix, "", 1))
                .collect(),
            timezone: world.config.site.timezone,
        }
    }

    /// A digest in which nothing is said but where the deliveries stand.
    pub(super) fn blank(&self, deliveries: &[Outlook]) -> Digest {
        Digest {
            deliveries: deliveries.to_vec(),
            titles: self.titles.clone(),
            sources: self.sources.clone(),
            problems: Vec::new(),
            alarms: Vec::new(),
            notices: self.notices.clone(),
            out_of_scope: 0,
            next_due: None,
            next_run: NextRun::Unknown,
            began_at: None,
            shown: Shown::All,
            exit: Exit::Proved,
            report: String::new(),
            outputs: Vec::new(),
            timezone: self.timezone,
        }
    }

    /// What a run came to.
    pub(super) fn of_run(
        &self,
        ending: &Ending,
        began_at: Timestamp,
        next_run: NextRun,
        report: String,
    ) -> Digest {
        Digest {
            problems: ending.problems.clone(),
            alarms: ending.alarms.clone(),
            notices: [self.notices.as_slice(), &ending.notices].concat(),
            out_of_scope: ending.out_of_scope.len(),
            next_due: ending.next_due.clone(),
            next_run,
            began_at: Some(began_at),
            shown: Shown::ThisRun,
            exit: ending.exit,
            report,
            ..self.blank(&ending.deliveries)
        }
    }

    /// What a rehearsal came to: nothing is anywhere, and nothing is to be done.
    pub(super) fn of_rehearsal(&self, ending: &Ending, report: String) -> Digest {
        Digest {
            began_at: None,
            shown: Shown::Rehearsed,
            ..self.of_run(ending, Timestamp::EPOCH, NextRun::Unknown, report)
        }
    }
}

/// What an audit came to.
pub(super) fn of_audit(view: &View, audit: &Audit, report: String) -> Digest {
    let mut problems = audit.problems.clone();
    for finding in &audit.findings {
        // The others are said with their delivery.
        let mut deliveries = view.deliveries.iter();
        let own = deliveries.find(|delivery| delivery.id == finding.id);
        let is_said = own.is_some_and(|delivery| delivery.weight() == Exit::NeedsPerson);
        if is_said || !matches!(finding.open, Open::Hole | Open::Stuck) {
            continue;
        }
        let mut sentence = format!("{}: {}", finding.id, finding.open.label());
        if let Some(reason) = &finding.reason {
            sentence = format!("{sentence}: {reason}");
        }
        let commands: Vec<_> = finding
            .ways
            .iter()
            .map(|way| way.command.as_str())
            .collect();
        if !commands.is_empty() {
            sentence = format!("{sentence}; {}", commands.join(", or: "));
        }
        problems.push(sentence);
    }
    Digest {
        titles: view.world.titles(Some(&view.snapshot)),
        problems,
        alarms: audit.alarms.clone(),
        out_of_scope: view.out_of_scope().len(),
        next_due: next_due(&view.deliveries, view.now),
        exit: audit.exit,
        report,
        ..Site::of(&view.world).blank(&view.deliveries)
    }
}

/// Returns every secret that the configuration names; a configuration that can't be read is for the command to tell.
pub(super) fn secrets(place: &Place, environment: &Environment) -> Vec<Masked> {
    let config = place.top().ok().map(|top| place.config_path(&top));
    let Some(config) = config.and_then(|path| Config::load(&path).ok()) else {
        return Vec::new();
    };
    let channels = config.channels.iter();
    channels
        .flat_map(|channel| {
            let (variable, user) = match &channel.service {
                ServiceConfig::IndexNow { .. } => return Vec::new(),
                ServiceConfig::Http(declaration) => return declared(declaration, environment),
                ServiceConfig::Bluesky {
                    handle,
                    app_password_env,
                    ..
                } => (app_password_env, Some(handle.clone())),
                ServiceConfig::Mastodon { token_env, .. } => (token_env, None),
                ServiceConfig::Devto { api_key_env, .. } => (api_key_env, None),
            };
            let secret = environment.secret(variable);
            secret
                .map(|secret| Masked { secret, user })
                .into_iter()
                .collect()
        })
        .collect()
}

/// Any of a declaration's secrets may be the name that goes with another in `Authorization: Basic`.
fn declared(declaration: &Declaration, environment: &Environment) -> Vec<Masked> {
    let secrets: Vec<Secret> = declaration
        .secrets
        .values()
        .filter_map(|variable| environment.secret(variable))
        .collect();
    let users = secrets.iter().map(|user| Some(user.expose().to_owned()));
    users
        .chain([None])
        .flat_map(|user| {
            secrets.iter().map(move |secret| Masked {
                secret: secret.clone(),
                user: user.clone(),
            })
        })
        .collect()
}
