//! A job's disk dies with the job: what could not be pushed must stand where people can still read it.

use super::actions::Step;
use super::site::mastodon;

#[test]
fn what_could_not_be_pushed_stands_in_the_jobs_log_and_summary() {
    let site = mastodon().articles(1).start();
    site.hook(
        "pre-receive",
        "if [ -e claimed ]; then echo no >&2; exit 1; fi; : > claimed",
    );
    let stepped = Step::of(&site).run(&["run"]);
    stepped.ran.assert_code(3);
    let said = format!("{}{}", stepped.ran.stdout, stepped.ran.stderr);
    assert!(
        said.contains("not on the ledger's remote, article-1 on mastodon:"),
        "{said}"
    );
    assert!(said.contains("\"state\": \"done\""), "{said}");
    assert!(
        stepped
            .summary
            .contains("https://mastodon.rehearsal.example/@blog/"),
        "{}",
        stepped.summary
    );
    std::fs::remove_file(site.path("remote.git/hooks/pre-receive")).unwrap();
    // On another machine, without the journal.
    std::fs::remove_dir_all(site.path("site/.git/sayonce")).unwrap();
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.deliveries(), "article-1 mastodon done read_back 1\n");
    site.assert_exactly_once();
}
