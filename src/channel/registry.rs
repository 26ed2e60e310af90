//! From configuration to channels. Secrets are taken from the environment here, and nowhere else.

use std::sync::Arc;

use super::Channel;
use super::bluesky::Bluesky;
use super::devto::Devto;
use super::http::Http;
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
    let secret = |variable: &str| {
        environment.secret(variable).ok_or_else(|| MissingSecret {
            channel: config.name().clone(),
            variable: variable.to_owned(),
        })
    };
    let timeout = config.rules.timeout;
    let http = move |scrubber: Scrubber| Http::new(clock, timeout, scrubber);
    Ok(match &config.service {
        ServiceConfig::IndexNow {
            key,
            key_location,
            endpoint,
        } => {
            // The key is public by nature: it stands in a file on the site.
            let http = http(Scrubber::default());
            Box::new(IndexNow::new(
                http,
                endpoint.clone(),
                &site.url,
                key,
                key_location.as_ref(),
            ))
        }
        ServiceConfig::Bluesky {
            handle,
            service,
            app_password_env,
        } => {
            let password = secret(app_password_env)?;
            Box::new(Bluesky::new(
                http(Scrubber::of(&password)),
                service.clone(),
                handle.clone(),
                password,
            ))
        }
        ServiceConfig::Mastodon {
            server,
            token_env,
            visibility,
            content_warning: _,
        } => {
            let token = secret(token_env)?;
            Box::new(Mastodon::new(
                http(Scrubber::of(&token)),
                server.clone(),
                token,
                *visibility,
            ))
        }
        ServiceConfig::Devto {
            server,
            api_key_env,
            published,
            organization_id: _,
        } => {
            let key = secret(api_key_env)?;
            Box::new(Devto::new(
                http(Scrubber::of(&key)),
                server.clone(),
                key,
                *published,
            ))
        }
    })
}
