//! From configuration to channels. Secrets are taken from the environment here, and nowhere else.

use std::collections::BTreeMap;
use std::sync::Arc;

use ureq::unversioned::resolver::Resolver;
use ureq::unversioned::transport::{Connector, Transport};

use super::Channel;
use super::bluesky::Bluesky;
use super::bluesky::home::Whereabouts;
use super::checked::Checked;
use super::declared::{Declared, secret_forms};
use super::devto::Devto;
use super::http::{Http, Wire};
use super::indexnow::IndexNow;
use super::mastodon::Mastodon;
use super::redact::Scrubber;
use crate::clock::Clock;
use crate::config::{ChannelConfig, ServiceConfig, Site};
use crate::environment::Environment;
use crate::model::ids::ChannelName;

/// The environment has no secret for a channel: that channel is left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("channel `{channel}`: the environment variable {variable} is not set")]
pub struct MissingSecret {
    /// The channel.
    pub channel: ChannelName,
    /// The variable that the configuration names.
    pub variable: String,
}

impl MissingSecret {
    /// Says what to do.
    pub fn hint(&self) -> String {
        format!(
            "set {} to the secret itself: locally with `export`, in GitHub Actions from the repository's secrets with `env:`",
            self.variable
        )
    }
}

/// Makes the channel that `config` describes. Nothing is sent before [`Channel::open`].
pub fn build(
    config: &ChannelConfig,
    site: &Site,
    environment: &Environment,
    clock: Arc<dyn Clock>,
) -> Result<Box<dyn Channel>, MissingSecret> {
    build_over(Wire::network(), config, site, environment, clock)
}

/// Makes the channel that `config` describes, on connections of the caller's making.
pub fn build_over<C, R>(
    wire: Wire<C, R>,
    config: &ChannelConfig,
    site: &Site,
    environment: &Environment,
    clock: Arc<dyn Clock>,
) -> Result<Box<dyn Channel>, MissingSecret>
where
    C: Connector<Out = Box<dyn Transport>>,
    R: Resolver,
{
    let secret = |variable: &str| {
        environment.secret(variable).ok_or_else(|| MissingSecret {
            channel: config.name().clone(),
            variable: variable.to_owned(),
        })
    };
    let timeout = config.rules.timeout;
    let http = move |scrubber: Scrubber| Http::new(wire, clock, timeout, scrubber);
    Ok(match &config.service {
        ServiceConfig::IndexNow {
            key,
            key_location,
            endpoint,
        } => {
            // The key is public by nature: it stands in a file on the site.
            let scrubber = Scrubber::default();
            let channel = IndexNow::new(
                http(scrubber.clone()),
                endpoint.clone(),
                &site.url,
                key,
                key_location.as_ref(),
            );
            Box::new(Checked::new(channel, scrubber))
        }
        ServiceConfig::Bluesky {
            handle,
            service,
            resolver,
            plc_directory,
            app_password_env,
            labels: _,
        } => {
            let password = secret(app_password_env)?;
            let scrubber = Scrubber::of(&password);
            let whereabouts = Whereabouts {
                service: service.clone(),
                resolver: resolver.clone(),
                plc_directory: plc_directory.clone(),
            };
            let http = http(scrubber.clone());
            let channel = Bluesky::new(http, whereabouts, handle.clone(), password);
            Box::new(Checked::new(channel, scrubber))
        }
        ServiceConfig::Mastodon {
            server,
            token_env,
            visibility,
            content_warning: _,
        } => {
            let token = secret(token_env)?;
            let scrubber = Scrubber::of(&token);
            let channel = Mastodon::new(http(scrubber.clone()), server.clone(), token, *visibility);
            Box::new(Checked::new(channel, scrubber))
        }
        ServiceConfig::Devto {
            server,
            api_key_env,
            published,
            organization_id: _,
        } => {
            let key = secret(api_key_env)?;
            let scrubber = Scrubber::of(&key);
            let channel = Devto::new(http(scrubber.clone()), server.clone(), key, *published);
            Box::new(Checked::new(channel, scrubber))
        }
        ServiceConfig::Http(declaration) => {
            let mut secrets = BTreeMap::new();
            for (name, variable) in &declaration.secrets {
                secrets.insert(name.clone(), secret(variable)?);
            }
            let mut scrubber = Scrubber::default();
            for form in secrets.values().flat_map(secret_forms) {
                scrubber.add_text(&form);
            }
            let channel = Declared::new(
                http(scrubber.clone()),
                config.name(),
                (**declaration).clone(),
                &secrets,
            );
            Box::new(Checked::new(channel, scrubber))
        }
    })
}
