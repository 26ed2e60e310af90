//! What a run is given before it starts.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::Config;
use crate::model::ids::{ChannelName, RunId};
use crate::model::row::Row;
use crate::model::time::Timestamp;
use crate::plan::survey::Selection;
use crate::source::Catalog;

/// Everything that does not change while a run works.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The configuration.
    pub config: Config,
    /// The site's articles.
    pub catalog: Catalog,
    /// Which deliveries the run is about.
    pub selection: Selection,
    /// The run's name.
    pub run: RunId,
    /// Limits.
    pub limits: Limits,
    /// Channels that can't be used, with the reason: a missing secret.
    pub unavailable: BTreeMap<ChannelName, String>,
    /// Rows of earlier runs that could not be pushed.
    pub journal: Vec<Row>,
}

/// How long and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The run ends by then.
    pub deadline: Option<Timestamp>,
    /// Without a deadline: longest wait for the next thing to do.
    pub max_wait: Duration,
    /// Most claims in this run.
    pub max_claims: Option<usize>,
    /// Least time between two pushes.
    pub push_gap: Duration,
    /// After a stop: time for the answer in hand.
    pub stop_answer: Duration,
    /// After a stop: time until the run must be out.
    pub stop_out: Duration,
    /// Longest difference between two machines' clocks.
    pub clock_skew: Duration,
    /// What two pushes and their overhead may take, for deciding whether there is time for another claim.
    pub push_allowance: Duration,
}
