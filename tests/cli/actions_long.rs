//! What a job is told of a big site: a long log is folded, and a list that no output can hold is empty, and said to be.

use std::fmt::Write as _;

use serde_json::Value;

use super::actions::{Step, Stepped};
use super::site::{Site, mastodon};

/// A site with many articles, all of this year.
fn big(articles: usize) -> Site {
    let limit = format!("first_run_max = {articles}");
    let site = mastodon().articles(1).site(&limit).start();
    let mut feed = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>A blog</title>\n".to_owned();
    for number in 1..=articles {
        let (month, day) = ((number - 1) / 28 % 12 + 1, (number - 1) % 28 + 1);
        let long = "and so on, ".repeat(20);
        writeln!(
            feed,
            "<entry><title>Article {number}, {long}</title><id>article-{number}</id>\
             <link href=\"https://blog.example/article-{number}/\"/>\
             <published>2026-{month:02}-{day:02}T09:00:00Z</published></entry>"
        )
        .unwrap();
    }
    site.write("_site/feed.xml", &(feed + "</feed>\n"));
    site
}

/// Standard output with the random word that begins and ends what is no command replaced, and its middle left out.
fn ends(step: &Stepped) -> String {
    let stdout = &step.ran.stdout;
    let (_, rest) = stdout.split_once("::stop-commands::").unwrap();
    let token = rest.lines().next().unwrap();
    let mut lines: Vec<_> = stdout
        .lines()
        .map(|line| line.replace(token, "TOKEN"))
        .collect();
    // What is behind it are annotations.
    lines.truncate(
        lines
            .iter()
            .rposition(|line| line == "::endgroup::")
            .unwrap()
            + 1,
    );
    let (first, last) = (&lines[..4], &lines[lines.len() - 3..]);
    format!("{}\n...\n{}", first.join("\n"), last.join("\n"))
}

#[test]
fn lists_that_no_output_can_hold_are_empty_and_the_report_is_whole() {
    let site = big(300);
    let step = Step::of(&site).run(&["plan"]);
    step.ran.assert_code(0);
    assert_eq!(step.output("pending"), "300");
    assert_eq!(step.output("deliveries"), "[]");
    assert_eq!(step.output("urls"), "[]");
    assert_eq!(step.output("cut"), "deliveries");
    let report = step.report();
    assert_eq!(report["deliveries"].as_array().unwrap().len(), 300);
    let end: Vec<_> = step.summary.trim_end().lines().rev().take(2).collect();
    insta::assert_snapshot!(end.join("\n"), @"*Too long for an output, and empty there: deliveries. The report, which the output `report` names, has all.*");
    assert!(step.summary.contains("**Article 1, "), "all rows are there");
    // It is nothing that anybody need do something about.
    let commands = step.commands();
    assert!(!commands.contains("::warning"), "{commands}");
}

#[test]
fn lists_that_fit_are_whole() {
    let site = big(100);
    let step = Step::of(&site).run(&["plan"]);
    step.ran.assert_code(0);
    let deliveries: Value = serde_json::from_str(step.output("deliveries")).unwrap();
    assert_eq!(deliveries.as_array().unwrap().len(), 100);
    assert_eq!(deliveries, step.report()["deliveries"]);
    assert_eq!(step.output("cut"), "");
    assert!(!step.summary.contains("Too long"), "{}", step.summary);
}

#[test]
fn a_long_result_is_folded_and_a_short_one_is_not() {
    let site = big(100);
    let step = Step::of(&site).run(&["plan"]);
    insta::assert_snapshot!(ends(&step), @"
    ::group::What sayonce plan says
    ::stop-commands::TOKEN
    article-1 on mastodon - not sent yet
      due now
    ...
    100 deliveries: 100 not sent yet.
    ::TOKEN::
    ::endgroup::
    ");
    let step = Step::of(&site).run(&["plan", "--item", "article-1"]);
    assert!(!step.ran.stdout.contains("group"), "{}", step.ran.stdout);
}
