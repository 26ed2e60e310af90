//! The program in one network namespace and the services in another: packets take their time, and some are lost.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use sayonce::clock::{Clock as _, SystemClock};
use sayonce::model::channel::Kind;
use sayonce::model::time::Timestamp;
use serde_json::json;

use super::checker::{Moment, check};
use super::evidence::{Evidence, NOTE_TIMES, of_site};
use super::rounds::{Dice, seed};
use super::stage::{POLICIES, asked, asked_for, report, side_by_side, work_remains};
use super::wire::{Wire, seconds};
use crate::cli::program::Ran;
use crate::cli::site::{Plan, Site};

/// Side by side; nearly all of the time is spent waiting.
const HANDS: usize = 32;

/// The wire's delay each way if no other is asked for.
const DELAY_MILLIS: u64 = 300;

/// The share of packets that are lost.
const LOSS: f64 = 0.2;

/// Runs in bad weather; then it clears up.
const RUNS_IN_RAIN: usize = 2;

/// Between two runs: the longest wait after a few failures in a row.
const PAUSE_MAX: Duration = Duration::from_mins(2);

/// Runs at most.
const RUNS_MAX: usize = 20;

/// What the writes of the services that can be read begin with.
const WRITES: [&str; 3] = [
    "POST /xrpc/com.atproto.repo.putRecord",
    "POST /api/v1/statuses",
    "POST /api/articles",
];

/// A site at the far end, and what comes of it.
struct Far {
    site: Site,
    wire: Wire,
    channels: Vec<(&'static str, Kind)>,
}

impl Far {
    /// None where this machine has no namespaces.
    fn start(channels: &[(&'static str, Kind)], lines: &str) -> Option<Self> {
        Self::with_fault(channels, lines, None)
    }

    fn with_fault(
        channels: &[(&'static str, Kind)],
        lines: &str,
        fault: Option<&str>,
    ) -> Option<Self> {
        let mut plan = Plan::of(channels).articles(1).every_channel(lines);
        if let Some(order) = fault {
            plan = plan.fault(order);
        }
        if channels.iter().any(|(_, kind)| *kind == Kind::Devto) {
            plan = plan.channel("devto", "policy = \"at_most_once\"");
        }
        let site = plan.start();
        site.hook("post-receive", NOTE_TIMES);
        let wire = Wire::to(&site, channels)?;
        Some(Self {
            site,
            wire,
            channels: channels.to_vec(),
        })
    }

    fn run(&self, limit: Duration) -> Ran {
        // Nobody waits for a channel that could not be reached a few times in a row: the next run does not know.
        let arguments = ["run", "--format", "json", "--max-wait", "45s"];
        let program = self.wire.program(&self.site, &arguments);
        program.may_take(limit).run()
    }

    fn evidence(&self) -> Evidence {
        let mut evidence = of_site(&self.site, "main", &self.channels);
        let has = |kind: Kind| {
            let of_kind = self
                .channels
                .iter()
                .filter(move |(_, other)| *other == kind);
            of_kind.map(|(name, _)| (*name).to_owned()).collect()
        };
        evidence.at_most_once = has(Kind::Devto);
        evidence.verified = has(Kind::Mastodon);
        evidence
    }

    fn check(&self, moment: Moment) -> Vec<String> {
        check(&self.evidence(), moment)
    }

    /// How often each channel has the article.
    fn posts(&self) -> BTreeMap<String, usize> {
        let posts = self.site.posts().into_iter();
        posts
            .map(|((channel, _url), count)| (channel, count))
            .collect()
    }
}

/// The service gets the request when its client has long given up, because the wire held it.
#[test]
fn what_the_wire_holds_until_the_client_gave_up_is_posted_once() {
    let lines = "interval = \"0s\"\ntimeout = \"2s\"\nsend_window = \"4s\"\nquarantine = \"6s\"\nsettle = \"0s\"\n\
                 lookups = [\"0s\", \"1s\"]";
    let Some(mut far) = Far::start(&POLICIES[1..], lines) else {
        return;
    };
    far.wire
        .weather(&json!({ "delay": 0.05, "held": WRITES, "held_for": 5 }));
    let ran = far.run(Duration::from_mins(2));
    ran.assert_code(0);
    // How often the one with its own record key is sent does not matter.
    let rest = ran.deliveries().replace(char::is_numeric, "");
    assert_eq!(
        rest,
        "article- bluesky done read_back \narticle- mastodon done read_back \narticle- devto done read_back \n",
        "{}",
        ran.stderr
    );
    assert_eq!(
        far.posts(),
        BTreeMap::from(["bluesky", "devto", "mastodon"].map(|name| (name.to_owned(), 1)))
    );
    for channel in ["mastodon", "devto"] {
        let writes = far.site.write_requests(channel);
        let [write] = &writes[..] else {
            panic!("{channel} got {writes:?}")
        };
        let row = far.site.row("article-1", channel);
        let claimed_at = row["operations"]["publish"]["claimed_at"].as_str().unwrap();
        let given_up_at = Timestamp::parse(claimed_at)
            .unwrap()
            .plus(Duration::from_secs(2));
        assert!(
            write.at > given_up_at,
            "the wire did not hold it: it came at {}, and was claimed at {claimed_at}",
            write.at
        );
    }
    assert_eq!(far.check(Moment::AtRest), Vec::<String>::new());
}

/// With a quarantine that is shorter than the service's work, the promise does not hold: the tests here can fail.
///
/// It is the service that is slow, not the wire: against a late request its idempotency key would help.
#[test]
fn without_the_quiet_time_a_slow_service_over_the_wire_has_two() {
    let lines = "interval = \"0s\"\ntimeout = \"2s\"\nsend_window = \"4s\"\nquarantine = \"0s\"\nsettle = \"0s\"\n\
                 lookups = [\"0s\"]";
    // Two lookups past the quiet point, 30 s apart, come before it is sent again.
    let Some(mut far) = Far::with_fault(&POLICIES[2..3], lines, Some("mastodon:1=slow=55s")) else {
        return;
    };
    far.wire.weather(&json!({ "delay": 0.05 }));
    let ran = far.run(Duration::from_mins(2));
    ran.assert_code(0);
    assert_eq!(ran.deliveries(), "article-1 mastodon done response 2\n");
    assert_eq!(far.posts(), BTreeMap::from([("mastodon".to_owned(), 2)]));
    assert_eq!(
        far.check(Moment::AtRest),
        ["mastodon has https://blog.example/article-1/ 2 times"]
    );
}

/// Everything that waits, as multiples of the wire's delay.
#[derive(Clone, Copy, Debug)]
struct Times {
    delay: Duration,
}

impl Times {
    /// As asked for, in seconds.
    fn asked() -> Self {
        let delay = asked("SAYONCE_NETNS_DELAY")
            .map_or(Duration::from_millis(DELAY_MILLIS), |text| {
                Duration::from_secs_f64(text.parse().unwrap())
            });
        Self { delay }
    }

    fn lines(self) -> String {
        let of = |count: u32| format!("{}ms", (self.delay * count).as_millis());
        // One exchange takes four delays if nothing of it is lost, and about ten if one packet is. What the wire
        // carries at all, it carries within 29 (see below): before the quiet point.
        format!(
            "interval = \"0s\"\ntimeout = \"{}\"\nsend_window = \"10s\"\nquarantine = \"{}\"\nsettle = \"{}\"\n\
             lookups = [\"0s\", \"{}\", \"{}\"]\nmax_attempts = 20",
            of(12),
            of(17),
            of(2),
            of(2),
            of(6),
        )
    }

    /// After this, nothing of a connection is carried any more.
    fn lifetime(self) -> Duration {
        self.delay * 14
    }

    /// On top of the delay, for what is held: its client has given up.
    fn held_for(self) -> Duration {
        self.delay * 14
    }

    /// Until what was sent last is there.
    fn drained(self) -> Duration {
        self.lifetime() + self.held_for() + self.delay
    }

    /// A run has time for a few exchanges, and for what it waits for.
    fn run(self) -> Duration {
        Duration::from_mins(4).max(self.delay * 200)
    }
}

/// What came of all rounds.
#[derive(Debug, Default)]
struct Tally {
    runs: usize,
    by_evidence: BTreeMap<String, usize>,
    held: usize,
    repeats: usize,
    pings: usize,
    duplicates: usize,
    missing: usize,
}

/// Runs in bad weather until everything is settled. None where this machine has no namespaces.
fn round(mut dice: Dice, times: Times, tally: &Mutex<Tally>) -> Option<Vec<String>> {
    let mut far = Far::start(&POLICIES, &times.lines())?;
    let held: &[&str] = if dice.below(2) == 0 { &WRITES } else { &[] };
    far.wire.weather(&json!({
        "seed": dice.below(u64::MAX),
        "delay": seconds(times.delay),
        "loss": LOSS,
        "lifetime": seconds(times.lifetime()),
        "held": held,
        "held_for": seconds(times.held_for()),
    }));
    let mut broken = Vec::new();
    let mut last = None;
    for number in 0..RUNS_MAX {
        if number == RUNS_IN_RAIN {
            far.wire
                .weather(&json!({ "delay": 0, "loss": 0, "held": [] }));
        }
        let ran = far.run(times.run());
        tally.lock().unwrap().runs += 1;
        broken.extend(far.check(Moment::Midway));
        // 5: a channel that could not be reached, or a person is asked.
        let ended = matches!(ran.code(), Some(0 | 5 | 6));
        let goes_on = ended && work_remains(&ran);
        if !ended {
            broken.push(format!("{}\n{}{}", ran.status, ran.stdout, ran.stderr));
        }
        let due = ran.json()["next_due"]
            .as_str()
            .and_then(|text| Timestamp::parse(text).ok());
        last = Some(ran);
        if !goes_on {
            break;
        }
        if let Some(due) = due {
            let clock = SystemClock::new();
            clock.sleep(due.since(clock.now()).min(PAUSE_MAX));
        }
    }
    SystemClock::new().sleep(times.drained());
    broken.extend(far.check(Moment::AtRest));
    if let Some(ran) = last.filter(|ran| ran.json()["deliveries"].is_array()) {
        count(&far, &ran, &mut tally.lock().unwrap(), &mut broken);
    }
    Some(broken)
}

fn count(far: &Far, ran: &Ran, tally: &mut Tally, broken: &mut Vec<String>) {
    let report = ran.json();
    let posts = far.posts();
    for delivery in report["deliveries"].as_array().into_iter().flatten() {
        let word = |key: &str| delivery[key].as_str().unwrap_or("none").to_owned();
        let channel = word("channel");
        let standing = posts.get(&channel).copied().unwrap_or_default();
        let writes = far.site.write_requests(&channel).len();
        if channel == "search" {
            tally.pings += writes.saturating_sub(1);
        } else {
            tally.repeats += writes.saturating_sub(1);
            tally.duplicates += standing.saturating_sub(1);
        }
        match word("state").as_str() {
            "done" => {
                tally.missing += usize::from(standing == 0);
                *tally.by_evidence.entry(word("evidence")).or_default() += 1;
            }
            "held" if channel == "devto" => tally.held += 1,
            state => {
                tally.missing += 1;
                broken.push(format!(
                    "{channel} is left as {state}: {delivery}\n{}",
                    ran.stderr
                ));
            }
        }
    }
}

#[test]
fn a_slow_and_lossy_wire_neither_loses_nor_repeats() {
    let rounds = asked_for("SAYONCE_NETNS", 2);
    let times = Times::asked();
    let seed = seed();
    let clock = SystemClock::new();
    let (tally, broken) = (Mutex::new(Tally::default()), Mutex::new(Vec::new()));
    let skipped = std::sync::atomic::AtomicBool::new(false);
    side_by_side(0..rounds, HANDS, |number| {
        let dice = Dice::new(seed.wrapping_add(u64::try_from(number).unwrap()));
        match round(dice, times, &tally) {
            Some(wrong) => report(&format!("seed {seed}, round {number}"), wrong, &broken),
            None => skipped.store(true, std::sync::atomic::Ordering::SeqCst),
        }
    });
    if skipped.into_inner() {
        return;
    }
    let tally = tally.into_inner().unwrap();
    println!(
        "wire with {:?} delay and {LOSS} loss: {rounds} rounds on {} channels, {} runs, done by {:?}, {} held of those \
         never sent twice, {} duplicates, {} missing; {} repeats of the same post, {} of pings; {} s",
        times.delay,
        POLICIES.len(),
        tally.runs,
        tally.by_evidence,
        tally.held,
        tally.duplicates,
        tally.missing,
        tally.repeats,
        tally.pings,
        clock.elapsed().as_secs()
    );
    assert_eq!(broken.into_inner().unwrap(), Vec::<String>::new());
    assert_eq!((tally.duplicates, tally.missing), (0, 0));
    let in_doubt: usize = tally
        .by_evidence
        .iter()
        .filter(|(evidence, _)| *evidence != "response")
        .map(|(_, count)| count)
        .sum();
    assert!(
        rounds < 8 || in_doubt + tally.held > 0,
        "the wire was too good: nothing was ever in doubt"
    );
}
