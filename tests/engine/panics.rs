//! A fault of this program in one channel's adapter: the real driver with its threads, and the memory store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sayonce::channel::Channel;
use sayonce::clock::{Clock, SystemClock};
use sayonce::engine::core::Core;
use sayonce::engine::driver::{Album, Hands, Line, drive};
use sayonce::engine::liveness::Scout;
use sayonce::engine::setup::{Limits, Setup};
use sayonce::ledger::memory::MemoryRemote;
use sayonce::model::claim::{Claim, PushedClaim};
use sayonce::model::delivery::State;
use sayonce::model::ids::{Account, RunId};
use sayonce::model::outcome::{
    Evidence, Listing, Lookup, Opening, Outcome, Remote, ServerLimits, Session,
};
use sayonce::model::time::Timestamp;
use sayonce::plan::survey::Selection;
use sayonce::source::Catalog;

use super::{BLUESKY, MASTODON, name, told, world};

/// A service that accepts everything, or whose adapter breaks on the answer.
struct Service {
    account: &'static str,
    breaks: bool,
}

impl Channel for Service {
    fn open(&mut self) -> Opening {
        Opening::Ready(Session {
            account: Account::new(self.account),
            limits: ServerLimits::default(),
            clock_skew: None,
        })
    }

    fn recent(&mut self, _since: Timestamp) -> Listing {
        Listing::Posts(Vec::new())
    }

    fn publish(&mut self, _claims: &[PushedClaim]) -> Outcome {
        assert!(
            !self.breaks,
            "an answer that nobody expected (this is the test)"
        );
        Outcome::Accepted {
            remote: Remote {
                id: Some("1".to_owned()),
                url: None,
            },
            evidence: Evidence::Response,
        }
    }

    fn lookup(&mut self, _claim: &Claim) -> Lookup {
        Lookup::Absent
    }
}

struct Nobody;

impl Scout for Nobody {
    fn check(&mut self, _url: &str) -> Result<(), String> {
        Ok(())
    }
}

impl Album for Nobody {
    fn picture(&self, _url: &str) -> Result<Vec<u8>, String> {
        Err("there is none".to_owned())
    }
}

#[test]
fn an_adapter_that_breaks_on_an_answer_leaves_a_doubt_and_the_others_go_on() {
    let blank = world(&[MASTODON, BLUESKY], 1);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::starting_at(blank.now, 1));
    let setup = Setup {
        config: blank.config,
        catalog: Catalog {
            items: blank.items,
            ..Catalog::default()
        },
        selection: Selection::default(),
        run: RunId::new("local:1"),
        limits: Limits {
            max_wait: Duration::ZERO,
            ..blank.limits
        },
        unavailable: BTreeMap::new(),
        journal: Vec::new(),
    };
    let service = |account, breaks| -> Box<dyn Channel> { Box::new(Service { account, breaks }) };
    let remote = MemoryRemote::new();
    let hands = Hands {
        store: Box::new(remote.handle()),
        channels: BTreeMap::from([
            (
                name("mastodon"),
                service("https://mastodon.example/@blog", true),
            ),
            (name("bluesky"), service("did:plc:blog", false)),
        ]),
        scout: Box::new(Nobody),
        album: Arc::new(Nobody),
    };
    let core = Core::new(Arc::new(setup), [7; 32]);
    let (ending, _) = drive(core, hands, &clock, Line::new(), &mut |_| {});
    let told = told(&ending);
    assert_eq!(told[0], "exit 6");
    assert!(
        told[1].starts_with("a1 on mastodon: in_doubt: "),
        "{told:#?}"
    );
    assert_eq!(told[2..], ["a1 on bluesky: done: response"]);
    // It may have been sent, and the ledger says so.
    let rows = remote.history().pop().unwrap();
    let states: Vec<_> = rows
        .values()
        .filter_map(|row| Some((row.channel.to_string(), row.publish()?.state)))
        .collect();
    assert_eq!(
        states,
        [
            ("bluesky".to_owned(), State::Done),
            ("mastodon".to_owned(), State::InDoubt)
        ]
    );
}
