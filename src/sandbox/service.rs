//! What a stand-in service is: pure answers over a state that changes by effects alone.
//!
//! Invariant: [`Service::answer`] changes nothing. What it would change it returns as effects, which the
//! [`super::desk`] writes down and then applies: a replay of the effects is the service.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::message::{Reply, Request};
use crate::model::ids::ChannelName;
use crate::model::time::Timestamp;

/// A post as a stand-in shows it to the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxPost {
    /// The channel.
    pub channel: ChannelName,
    /// The article's URL as found in the post.
    pub canonical_url: Option<String>,
    /// The service's id; the URL itself where there are no ids.
    pub id: String,
    /// Where people would see it.
    pub url: String,
    /// What people would read: the text, or an article's title.
    pub title_or_text: String,
    /// The texts that stand for its pictures, in their order.
    pub pictures: Vec<String>,
    /// When it was stored.
    pub created_at: Timestamp,
    /// How often the URL was submitted (IndexNow); 1 elsewhere, where each repeat is a post of its own.
    pub times: usize,
    /// Whether only its author can see it.
    pub draft: bool,
}

/// What every stand-in knows about itself.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The channel.
    pub(crate) channel: ChannelName,
    /// Its own address, without a final slash.
    pub(crate) url: String,
    /// The host of the site that is announced.
    pub(crate) site_host: String,
}

impl Identity {
    /// Returns a host name for what people would see. It is made up, so that it stays the same on every port.
    pub(crate) fn public_host(&self) -> String {
        format!("{}.rehearsal.example", self.channel)
    }
}

/// Whether the checks against earlier posts are still to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Checks {
    /// The request is dealt with at once.
    Due,
    /// A slow service made them when the request came in and stores now: a repeat that came in between was not seen.
    Passed,
}

/// An answer and what it changes.
#[derive(Clone, Debug)]
pub(crate) struct Answer<E> {
    /// What the client gets.
    pub(crate) reply: Reply,
    /// What changes.
    pub(crate) effects: Vec<E>,
}

impl<E> From<Reply> for Answer<E> {
    fn from(reply: Reply) -> Self {
        Self {
            reply,
            effects: Vec::new(),
        }
    }
}

/// A failure that is none of the service's own: an ordered fault, or a message that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The status code.
    pub(crate) code: u16,
    /// Seconds to wait.
    pub(crate) retry_after: Option<u64>,
}

/// A stand-in service.
pub(crate) trait Service: Send + 'static {
    /// One change of its state.
    type Effect: Clone + Debug + Serialize + DeserializeOwned + Send;

    /// Whether the request is one of the writes that are counted.
    fn is_write(request: &Request) -> bool;

    /// What makes a write recognisable.
    fn key(request: &Request) -> Option<String>;

    /// Answers a request.
    fn answer(&self, request: &Request, now: Timestamp, checks: Checks) -> Answer<Self::Effect>;

    /// Takes on a change.
    fn apply(&mut self, effect: Self::Effect);

    /// Words a failure as the service does.
    fn fail(&self, failure: Failure, now: Timestamp) -> Reply;

    /// Every post that stands.
    fn posts(&self) -> Vec<SandboxPost>;
}
