//! More than one machine: the jobs of a matrix, at the same time, on one ledger.

use sayonce::model::channel::Kind;
use serde_json::{Value, json};

use super::actions::Step;
use super::site::{Plan, Site, four_channels};

fn matrix(site: &Site, arguments: &[&str]) -> Value {
    let all = [&["plan", "--fetch", "--format", "matrix"], arguments].concat();
    let ran = site.sayonce(&all);
    ran.assert_code(0);
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    ran.json()
}

#[test]
fn a_matrix_has_a_job_for_each_channel_with_something_due() {
    let site = four_channels().articles(2).start();
    let job = |channel: &str| json!({ "channels": channel, "items": "" });
    assert_eq!(
        matrix(&site, &[]),
        json!({ "include": [job("search"), job("bluesky"), job("mastodon"), job("devto")] })
    );
    assert_eq!(
        matrix(&site, &["--item", "article-2", "--channel", "devto"]),
        json!({ "include": [{ "channels": "devto", "items": "article-2" }] })
    );
    site.run(&["--channel", "search", "--channel", "devto"])
        .assert_code(0);
    assert_eq!(
        matrix(&site, &[]),
        json!({ "include": [job("bluesky"), job("mastodon")] })
    );
    site.run(&[]).assert_code(0);
    assert_eq!(matrix(&site, &[]), json!({ "include": [] }));
    let step = Step::of(&site).run(&["plan", "--format", "matrix"]);
    assert_eq!(step.outputs["matrix"], "{\"include\":[]}");
    assert_eq!(step.outputs["any"], "false");
}

#[test]
fn shards_are_for_a_matrix() {
    let site = four_channels().start();
    let ran = site.sayonce(&["plan", "--shards", "2"]);
    ran.assert_code(2);
    assert_eq!(ran.stderr, "error: `--shards` is for `--format matrix`\n");
}

#[test]
fn eight_jobs_at_once_announce_each_article_once() {
    let site = Plan::of(&[("bluesky", Kind::Bluesky), ("mastodon", Kind::Mastodon)])
        .articles(8)
        .site("first_run_max = 100")
        .start();
    let matrix = matrix(&site, &["--shards", "8"]);
    let jobs = matrix["include"].as_array().unwrap();
    let mut items: Vec<_> = jobs
        .iter()
        .flat_map(|job| job["items"].as_str().unwrap().split(' '))
        .collect();
    items.sort_unstable();
    let mut expected: Vec<_> = (1..=8).map(|number| format!("article-{number}")).collect();
    expected.sort_unstable();
    assert_eq!(items, expected, "each article is in one shard: {matrix}");
    // A matrix that was made twice, as by two pushes: pairs of jobs have the same to do.
    let jobs: Vec<_> = jobs.iter().cycle().take(8).collect();
    let running: Vec<_> = jobs
        .iter()
        .enumerate()
        .map(|(number, job)| {
            let clone = format!("clone-{number}");
            site.git_in(&site.path(""), &["clone", "--quiet", "remote.git", &clone]);
            site.program_in(&site.path(&clone), &["action"])
                .environment([
                    ("SAYONCE_INPUT_COMMAND", "run --format json"),
                    ("SAYONCE_INPUT_ITEMS", job["items"].as_str().unwrap()),
                    ("SAYONCE_INPUT_DEADLINE", "90s"),
                    ("SAYONCE_INPUT_FAIL_ON", "1-6"),
                ])
                .start()
        })
        .collect();
    for run in running {
        let ran = run.end();
        assert!(matches!(ran.code(), Some(0 | 6)), "{ran:?}");
    }
    // What was left to another is done.
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 16");
    site.assert_exactly_once();
}
