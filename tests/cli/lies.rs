//! Services that say no and have done it all the same.

use sayonce::model::channel::Kind;

use super::site::{Plan, Site};

fn start(channel: &str, fault: &str) -> Site {
    let kind = match channel {
        "mastodon" => Kind::Mastodon,
        _ => Kind::Devto,
    };
    Plan::of(&[(channel, kind)])
        .articles(1)
        .fault(&format!("{channel}:1={fault}"))
        .start()
}

#[test]
fn too_many_requests_that_were_not_too_many_make_no_second_post() {
    for channel in ["mastodon", "devto"] {
        let site = start(channel, "status=429-stored:1");
        let ran = site.run(&[]);
        ran.assert_code(0);
        assert_eq!(
            ran.deliveries(),
            format!("article-1 {channel} done adopted 1\n")
        );
        assert_eq!(site.writes(), format!("{channel} 1"));
        site.assert_exactly_once();
    }
}

#[test]
fn a_refusal_for_good_that_was_none_makes_no_second_post_when_a_person_retries() {
    for channel in ["mastodon", "devto"] {
        let site = start(channel, "status=422-stored");
        site.run(&[]).assert_code(4);
        site.sayonce(&["retry", "article-1", channel])
            .assert_code(0);
        let ran = site.run(&[]);
        ran.assert_code(0);
        assert_eq!(
            ran.deliveries(),
            format!("article-1 {channel} done adopted 1\n")
        );
        assert_eq!(site.writes(), format!("{channel} 1"));
        site.assert_exactly_once();
    }
}
