//! Whole articles: what dev.to and other Forems are given.

use sayonce::model::item::{Body, ItemChannelSettings};
use serde_json::Value;

use super::details::with_image;
use super::{URL, channel, item, render, show_text};

#[test]
fn devto_tags_keep_to_its_rules() {
    let check = |tags: &[&str]| {
        let mut item = item("T");
        item.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let rendered = render(&item, &channel("devto", "")).unwrap();
        let kept = rendered.post.fields()["tags"].as_array().unwrap();
        let kept: Vec<&str> = kept.iter().filter_map(Value::as_str).collect();
        format!("{} | {}", kept.join(" "), rendered.notes.join(" "))
    };
    assert_eq!(
        check(&["Web Dev", "static-site", "C++", "Webdev"]),
        "webdev staticsite cpp | "
    );
    assert_eq!(check(&[]), " | ");
    insta::assert_snapshot!(check(&["a", "b", "c", "d", "e", "f"]), @"a b c d | tags left out (at most 4 of at most 30 letters and digits): e, f");
    insta::assert_snapshot!(check(&["!", &"x".repeat(31), "Größe"]), @"größe | tags left out (at most 4 of at most 30 letters and digits): !, xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
}

#[test]
fn devto_bodies_are_the_best_there_is() {
    let check = |body: Option<Body>, description: Option<&str>| {
        let mut item = item("T");
        item.body = body;
        item.description = description.map(str::to_owned);
        match render(&item, &channel("devto", "")) {
            Ok(rendered) => {
                let body = rendered.post.string("body_markdown").unwrap().to_owned();
                [vec![body], rendered.notes].concat().join("\n-- ")
            }
            Err(error) => format!("refused: {error}"),
        }
    };
    let markdown = |text: &str| Some(Body::Markdown(text.to_owned()));
    let html = |text: &str| Some(Body::Html(text.to_owned()));
    assert_eq!(check(markdown("# Hi\n\ntext\n"), None), "# Hi\n\ntext\n");
    assert_eq!(
        check(html("<p>Hi {{ x }}</p>"), None),
        "<p>Hi &#123;&#123; x }}</p>"
    );
    assert_eq!(
        check(None, Some("Why {{ not }}")),
        format!("Why &#123;&#123; not }}}}\n\n<{URL}>")
    );
    assert_eq!(
        check(None, Some("# Why Vec<T> & *stars*: {% x %}")),
        format!("\\# Why Vec\\<T> & \\*stars\\*: &#123;% x %}}\n\n<{URL}>")
    );
    assert_eq!(check(None, None), format!("<{URL}>"));
    assert_eq!(check(markdown("  \n"), None), format!("<{URL}>"));
    insta::assert_snapshot!(check(markdown("See {% post_url 2026-01-01-x %}"), Some("Why")), @r"
    Why

    <https://blog.example/news/hello/>
    -- the article has `{% post_url`, which this service would refuse: the body is the description and the link
    ");
    insta::assert_snapshot!(check(markdown("{% highlight ruby %}\nputs 1\n\nRest"), Some("Why")), @r"
    Why

    <https://blog.example/news/hello/>
    -- the article has `{% highlight`, which this service would refuse: the body is the description and the link
    ");
    assert_eq!(
        check(
            markdown("{% highlight ruby %}puts 1{% endhighlight %}\n\nRest [a](/b)\n"),
            None
        ),
        "```ruby\nputs 1\n```\n\nRest [a](https://blog.example/b)\n"
    );
    insta::assert_snapshot!(check(markdown(&"x".repeat(819_201)), None), @"refused: the article's text has 819201 bytes, 819200 are allowed");
    assert_eq!(check(markdown(&"x".repeat(819_200)), None).len(), 819_200);
}

#[test]
fn devto_articles_stand_on_their_own() {
    let mut item = with_image(item("Hello"), "cover.png", None);
    item.body = Some(Body::Markdown(
        "[docs](/docs/) ![me](me.png)\n\n```\n[code](/x)\n```\n".to_owned(),
    ));
    let settings = item.settings.channels.values_mut().next();
    let Some(ItemChannelSettings::Custom { series, .. }) = settings else {
        panic!("the channel has settings");
    };
    *series = Some("Gardening".to_owned());
    let rendered = render(&item, &channel("devto", "")).unwrap();
    let field = |name: &str| rendered.post.string(name);
    assert_eq!(
        field("body_markdown"),
        Some(
            "[docs](https://blog.example/docs/) ![me](https://blog.example/news/hello/me.png)\n\n```\n[code](/x)\n```\n"
        )
    );
    assert_eq!(field("series"), Some("Gardening"));
    assert_eq!(
        field("main_image"),
        Some("https://blog.example/news/hello/cover.png")
    );
}

#[test]
fn only_links_of_a_devto_article_are_rewritten() {
    let check = |text: &str| {
        let mut item = item("T");
        item.body = Some(Body::Markdown(text.to_owned()));
        let rendered = render(&item, &channel("devto", "")).unwrap();
        let body = rendered.post.string("body_markdown").unwrap().to_owned();
        [vec![body], rendered.notes].concat().join("\n-- ")
    };
    let prose = "Code:\n\n    [code]: /x\n\n- [ad hoc][adhoc]: once you understand\n- [v1.2]: see [x](/y) for\n- [TODO]: fix it\n";
    assert_eq!(
        check(prose),
        prose.replace("(/y)", "(https://blog.example/y)")
    );
    insta::assert_snapshot!(check("![e](/foo\\_bar.png)\n\n<IMG\n  SRC=/a.png srcset='a.png, b.png 2x'>\n\n> [a]:\n> /x\n"), @r#"
    ![e](https://blog.example/foo_bar.png)

    <IMG SRC="https://blog.example/a.png" srcset="https://blog.example/news/hello/a.png, https://blog.example/news/hello/b.png 2x">

    > [a]:
    > https://blog.example/x
    "#);
    insta::assert_snapshot!(check("[z](@/posts/other.md) and [r](other.md#x)"), @r"
    [z](@/posts/other.md) and [r](other.md#x)
    -- links to files of the site's source stay as they are, and lead nowhere there (write the page's address): `@/posts/other.md`, `other.md#x`
    ");
}

#[test]
fn devto_requires_a_title() {
    assert_eq!(
        show_text(&item(" "), &channel("devto", "")),
        "refused: the article has no title, and the service requires one"
    );
}
