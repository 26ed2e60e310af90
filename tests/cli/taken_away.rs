//! What an author takes away from an article goes from dev.to, too, and what a person set there by hand stays.

use sayonce::model::channel::Kind;
use sayonce::model::ids::ChannelName;
use sayonce::sandbox::Sandbox;
use serde_json::{Value, json};

use super::site::{Plan, Site, feed};

/// A blog with one article on dev.to, which follows edits.
fn site() -> Site {
    Plan::of(&[("devto", Kind::Devto)])
        .articles(1)
        .channel("devto", "follow_edits = true")
        .start()
}

/// The author writes the article with these lines in its front matter, and pushes. The feed says the description alone.
fn write(site: &Site, matter: &str, description: Option<&str>) {
    site.git(&["pull", "--quiet", "--ff-only", "origin", "main"]);
    let old = "<summary>What article 1 says.</summary>";
    let summary = description.map_or_else(String::new, |text| format!("<summary>{text}</summary>"));
    let feed = feed(&[1]);
    assert!(feed.contains(old));
    site.write("_site/feed.xml", &feed.replace(old, &summary));
    site.write(
        "_posts/2026-01-01-article-1.md",
        &format!(
            "---\ntitle: Article 1\ndate: 2026-01-01 09:00:00 +0000\n{matter}---\n\nThe body.\n"
        ),
    );
    site.commit_and_push("an edit");
}

/// The article as its author sees it.
fn shown(site: &Site) -> Value {
    let base = site.sandbox().url(&ChannelName::new("devto").unwrap());
    let get = |path: &str| -> Value {
        let mut answer = ureq::get(format!("{base}{path}"))
            .header("api-key", Sandbox::secret(Kind::Devto))
            .header("user-agent", "a test")
            .call()
            .unwrap();
        serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap()
    };
    let mine = get("/api/articles/me/all");
    let article = get(&format!("/api/articles/{}", mine[0]["id"]));
    json!([
        article["description"],
        article["cover_image"],
        article["tags"],
        article["collection_id"].is_null()
    ])
}

#[track_caller]
fn run(site: &Site) {
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 1");
    site.assert_exactly_once();
}

/// The fields of a claim that take something away.
fn taken_away(site: &Site, operation: &str) -> Vec<String> {
    let row = site.row("article-1", "devto");
    let post = row["operations"][operation]["post"].as_object().unwrap();
    let nothing = [json!(null), json!(""), json!([])];
    let fields = post.iter().filter(|(_, value)| nothing.contains(value));
    fields.map(|(name, _)| name.clone()).collect()
}

#[test]
fn what_the_author_takes_away_goes() {
    let site = site();
    let all = "series: Of cats\nimage: /cat.png\ntags: [cats]\n";
    write(&site, all, Some("On cats"));
    run(&site);
    let cover = "https://blog.example/cat.png";
    assert_eq!(shown(&site), json!(["On cats", cover, ["cats"], false]));
    write(&site, "", None);
    let planned = site
        .sayonce(&["plan", "--fetch", "--format", "json"])
        .json();
    let planned = &planned["deliveries"][0];
    assert_eq!(planned["reason"], "the article was edited: due now");
    assert_eq!(
        (&planned["post"]["series"], &planned["post"]["description"]),
        (&json!(null), &json!(""))
    );
    run(&site);
    assert_eq!(shown(&site), json!(["The body.", null, [], true]));
    assert_eq!(
        taken_away(&site, "update:1"),
        ["tags", "description", "main_image", "series"]
    );
    // It is taken away once: what a person sets there afterwards stays.
    run(&site);
    assert_eq!(site.writes(), "devto 2");
    write(&site, "tags: [dogs]\n", None);
    run(&site);
    assert_eq!(taken_away(&site, "update:2"), [""; 0]);
    assert_eq!(shown(&site), json!(["The body.", null, ["dogs"], true]));
}

#[test]
fn what_the_article_never_had_is_not_taken_away() {
    let site = site();
    write(&site, "", None);
    run(&site);
    assert_eq!(taken_away(&site, "publish"), ["tags"]);
    site.git(&["pull", "--quiet", "--ff-only", "origin", "main"]);
    let path = "_posts/2026-01-01-article-1.md";
    site.write(
        path,
        "---\ntitle: Article 1\ndate: 2026-01-01 09:00:00 +0000\n---\n\nAnother body.\n",
    );
    site.commit_and_push("an edit");
    run(&site);
    let row = site.row("article-1", "devto");
    let post = row["operations"]["update:1"]["post"].as_object().unwrap();
    let fields: Vec<_> = post.keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        ["title", "canonical_url", "body_markdown", "published"]
    );
}
