//! The service that finishes after its client gave up: the true story of the two identical posts, with real sockets.

use sayonce::model::channel::Kind;

use super::checker::Moment;
use super::stage::{Kept, Pace, Stage, Start};

/// The client gives up after 10 s and looks twice before the service is done.
const STORY: Pace = Pace {
    speed: 20,
    lines: "timeout = \"10s\"\nlookups = [\"0s\", \"1s\"]\nquarantine = \"30s\"\nsettle = \"5s\"",
};

/// The same without the quiet time that the rule is about.
const WITHOUT_THE_RULE: Pace = Pace {
    speed: 10,
    lines: "timeout = \"10s\"\nlookups = [\"0s\", \"1s\"]\nquarantine = \"0s\"\nsettle = \"0s\"",
};

const MASTODON: [(&str, Kind); 1] = [("mastodon", Kind::Mastodon)];

fn with_fault<'a>(stage: &'a Stage, fault: &str) -> (Kept<'a>, crate::cli::program::Ran) {
    let kept = stage.kept("kept", Start::Clone);
    let ran = kept.sayonce().arguments(["--fault", fault]).run();
    (kept, ran)
}

#[test]
fn a_service_that_is_done_two_seconds_after_its_client_gave_up_has_one_post() {
    let stage = Stage::new(&MASTODON, 1, STORY);
    let (kept, ran) = with_fault(&stage, "mastodon:1=slow=12s");
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done read_back 1\n",
        "{}",
        ran.stderr
    );
    let evidence = kept.evidence();
    let service = &evidence.services["mastodon"];
    assert_eq!((service.writes.len(), service.posts.len()), (1, 1));
    assert_eq!(kept.check(Moment::AtRest), Vec::<String>::new());
}

/// Half of why the rule is there: this is what happens to whoever sets it to nothing.
#[test]
fn without_the_quiet_time_the_same_service_has_two() {
    let stage = Stage::new(&MASTODON, 1, WITHOUT_THE_RULE);
    // Two lookups 30 s apart are still needed, so it takes a slower service than in the story.
    let (kept, ran) = with_fault(&stage, "mastodon:1=slow=95s");
    ran.assert_code(1);
    assert!(
        ran.stderr
            .contains("error: 1 post stands twice: the promise was broken\n"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        kept.check(Moment::AtRest),
        ["mastodon has https://blog.example/article-1/ 2 times"]
    );
}
