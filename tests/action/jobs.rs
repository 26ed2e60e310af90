//! Jobs from the first event to the last post.

use std::time::Duration;

use sayonce::clock::{Clock as _, SystemClock};
use sayonce::model::channel::Kind;
use sayonce::sandbox::Sandbox;

use super::metadata::action;
use super::runner::{Checkout, Runner};
use crate::cli::program::Program;
use crate::cli::site::{four_channels, mastodon, secret_variable};
use crate::cli::stopped::until_a_write_is_open;

const DEPLOYED: &str = r#"{"action": "completed", "workflow_run": {"conclusion": "success"}}"#;

fn dispatch(command: &str) -> String {
    serde_json::json!({"inputs": {"command": command}}).to_string()
}

#[test]
fn after_a_deployment_everything_is_announced_and_the_schedule_finds_nothing_to_do() {
    for checkout in [Checkout::ExtraHeader, Checkout::IncludeIf] {
        let Some(runner) = Runner::new(four_channels(), "announce.yml", checkout) else {
            return;
        };
        let job = runner.run("workflow_run", DEPLOYED);
        job.assert_green();
        runner.site.assert_exactly_once();
        assert_eq!(job.output("done"), "12");
        assert_eq!(job.output("settled"), "true");
        assert_eq!(job.output("exit-code"), "0");
        let log = runner.site.remote_log("main");

        let job = runner.run("schedule", "{}");
        job.assert_green();
        assert_eq!(job.output("done"), "12");
        assert_eq!(job.output("urls"), "[]");
        runner.site.assert_exactly_once();
        assert_eq!(runner.site.remote_log("main"), log, "nothing was written");
    }
}

#[test]
fn a_job_after_a_deployment_that_failed_does_not_start() {
    let Some(runner) = Runner::new(mastodon(), "announce.yml", Checkout::IncludeIf) else {
        return;
    };
    let payload = DEPLOYED.replace("success", "failure");
    runner.run("workflow_run", &payload).assert_green();
    assert_eq!(runner.site.requests(), 0);
}

#[test]
fn a_job_that_is_cancelled_while_it_waits_is_completed_by_the_next() {
    let plan = mastodon().articles(2).every_channel("interval = \"9m\"");
    let Some(mut runner) = Runner::new(plan, "announce.yml", Checkout::ExtraHeader) else {
        return;
    };
    let job = runner.start("workflow_run", DEPLOYED);
    runner.until_done("article-1", "mastodon");
    job.signal("INT", &runner.site.home());
    let job = Runner::end(job);
    assert!(!job.ran.status.success(), "{}", job.log());
    runner.reconfigure("interval = \"0s\"");
    let job = runner.run("schedule", "{}");
    job.assert_green();
    assert_eq!(job.output("settled"), "true");
    runner.site.assert_exactly_once();
}

#[test]
fn a_job_that_is_cancelled_in_the_middle_of_a_call_is_settled_by_the_next() {
    let plan = mastodon()
        .articles(2)
        .fault("mastodon:1=slow=3s")
        .every_channel("interval = \"0s\"");
    let Some(runner) = Runner::new(plan, "announce.yml", Checkout::IncludeIf) else {
        return;
    };
    let job = runner.start("workflow_run", DEPLOYED);
    until_a_write_is_open(&runner.site);
    job.signal("INT", &runner.site.home());
    let job = Runner::end(job);
    assert!(!job.ran.status.success(), "{}", job.log());
    assert_eq!(
        runner.site.posts().len(),
        1,
        "stored when nobody listened any more"
    );
    let job = runner.run("schedule", "{}");
    job.assert_green();
    runner.site.assert_exactly_once();
    let row = runner.site.row("article-1", "mastodon");
    assert_eq!(row["operations"]["publish"]["evidence"], "read_back");
}

#[test]
fn a_person_decides_by_hand_in_the_same_workflow() {
    let Some(runner) = Runner::new(mastodon().articles(2), "announce.yml", Checkout::IncludeIf)
    else {
        return;
    };
    let skip = "skip article-1 mastodon --why 'old; $(touch pasted) news'";
    runner
        .run("workflow_dispatch", &dispatch(skip))
        .assert_green();
    assert_eq!(runner.site.requests(), 0);
    let row = runner.site.row("article-1", "mastodon");
    assert_eq!(row["operations"]["publish"]["state"], "skipped");
    runner
        .run("workflow_dispatch", &dispatch("run"))
        .assert_green();
    assert_eq!(runner.site.writes(), "mastodon 1");
}

#[test]
fn a_pull_request_shows_the_plan_and_sends_nothing() {
    let Some(runner) = Runner::new(mastodon().articles(1), "preview.yml", Checkout::IncludeIf)
    else {
        return;
    };
    let job = runner.start_with("pull_request", "{}", &[]);
    let job = Runner::end(job);
    job.assert_green();
    assert_eq!(runner.site.requests(), 0);
    insta::assert_snapshot!(job.summary(), @r"
    ### sayonce plan: what would be sent

    1 delivery: 1 not sent yet.

    #### Notes

    - sayonce.toml:14: \`channels.mastodon.interval\` is below 1s, which is what mastodon takes without a rate limit

    | article | channel | state | text |
    | --- | --- | --- | --- |
    | **Article 1**<br>article-1 | mastodon | not sent yet | Article 1<br><br>https://blog.example/article-1/<br>(34 of 500)<br>due now |
    ");
}

#[test]
fn many_jobs_share_the_work() {
    let Some(runner) = Runner::new(four_channels(), "announce-many.yml", Checkout::ExtraHeader)
    else {
        return;
    };
    runner.run("schedule", "{}").assert_green();
    runner.site.assert_exactly_once();
}

/// The job runner signals the process that it started: a shell, which has become the program.
#[test]
fn the_signal_of_a_cancellation_reaches_the_program() {
    let site = mastodon()
        .articles(2)
        .every_channel("interval = \"9m\"")
        .start();
    let script = site.path("script.sh");
    let action = action();
    let step = action["runs"]["steps"].as_array().unwrap().last().unwrap();
    std::fs::write(&script, step["run"].as_str().unwrap()).unwrap();
    let outputs = site.path("outputs").display().to_string();
    let program = assert_cmd::cargo::cargo_bin!("sayonce")
        .display()
        .to_string();
    let token = (
        secret_variable(Kind::Mastodon),
        Sandbox::secret(Kind::Mastodon),
    );
    let mut job = Program::new("bash", &site.path("site"), &site.home())
        .arguments(["--noprofile", "--norc", "-eo", "pipefail"])
        .arguments(script.to_str())
        .environment([
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_OUTPUT", outputs.as_str()),
            ("SAYONCE_PROGRAM", program.as_str()),
            token,
        ])
        .start();
    job.until_it_says("waiting");
    let clock = SystemClock::new();
    job.signal("INT", &site.home());
    let ran = job.end();
    assert!(clock.elapsed() < Duration::from_secs(5), "{ran:?}");
    ran.assert_code(0);
    let outputs = std::fs::read_to_string(outputs).unwrap();
    let values = ["exit-code", "settled", "done", "pending"].map(|name| {
        let (_, rest) = outputs.split_once(&format!("{name}<<")).unwrap();
        rest.lines().nth(1).unwrap().to_owned()
    });
    assert_eq!(values, ["6", "false", "1", "1"]);
    let rows = site.remote(&["grep", "-h", "\"state\":", "main", "--", "ledger"]);
    assert!(!rows.contains("in_flight"), "{rows}");
}
