//! Links and pictures of a Markdown text made absolute: on another site, relative ones lead nowhere.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};
use url::Url;

use super::attributes;
use super::markdown::{edited, events};

/// Ends of the names of files that a generator makes pages of.
const MARKDOWN_FILES: [&str; 3] = [".md", ".markdown", ".mdx"];

/// A text whose links lead somewhere.
#[derive(Debug)]
pub(super) struct Absolute {
    pub(super) text: String,
    /// Links to files of the site's source, which stay as they are: what pages these become is not known here.
    pub(super) to_files: Vec<String>,
}

/// Returns the text with every relative link and picture resolved against `base`; everything else stays as it is.
///
/// Read are links and pictures, definitions of references, and the addresses in HTML. Code is left alone.
pub(super) fn absolute(markdown: &str, base: &str) -> Absolute {
    let mut links = Links {
        base: Url::parse(base).ok(),
        to_files: Vec::new(),
    };
    let mut edits = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut html: Vec<Range<usize>> = Vec::new();
    let mut events = events(markdown);
    for (event, range) in events.by_ref() {
        if let Event::Start(
            Tag::Link {
                link_type,
                dest_url,
                ..
            }
            | Tag::Image {
                link_type,
                dest_url,
                ..
            },
        ) = event
        {
            open.push(Open {
                is_inline: link_type == LinkType::Inline,
                destination: dest_url.into_string(),
                // An empty link shows nothing.
                shown_end: range.start,
            });
            continue;
        }
        if matches!(event, Event::End(TagEnd::Link | TagEnd::Image)) {
            if let Some(link) = open.pop().filter(|link| link.is_inline) {
                let behind = link.shown_end..range.end;
                let place = destination(markdown, behind, "](", &link.destination);
                edits
                    .extend(place.and_then(|place| links.edit(markdown, place, &link.destination)));
            }
        } else if matches!(event, Event::Html(_) | Event::InlineHtml(_)) {
            match html.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                Some(_) | None => html.push(range.clone()),
            }
        }
        if let Some(link) = open.last_mut() {
            link.shown_end = range.end.max(link.shown_end);
        }
    }
    for (_, definition) in events.reference_definitions().iter() {
        let place = destination(markdown, definition.span.clone(), "]:", &definition.dest);
        edits.extend(place.and_then(|place| links.edit(markdown, place, &definition.dest)));
    }
    for range in html {
        let code = markdown.get(range.clone()).unwrap_or_default();
        let changed = attributes::changed(code, |address| links.resolve(address));
        edits.extend(changed.map(|code| (range, code)));
    }
    Absolute {
        text: edited(markdown, edits),
        to_files: links.to_files,
    }
}

/// A link or picture that was begun.
struct Open {
    is_inline: bool,
    destination: String,
    shown_end: usize,
}

struct Links {
    base: Option<Url>,
    to_files: Vec<String>,
}

impl Links {
    /// Returns the absolute form of a link that has none; anchors stay, they point into the same text.
    fn resolve(&mut self, link: &str) -> Option<String> {
        let is_code_of_a_generator = link.contains(['{', '}']);
        if link.is_empty()
            || link.starts_with('#')
            || is_code_of_a_generator
            || Url::parse(link).is_ok()
        {
            return None;
        }
        let path = link.split(['?', '#']).next().unwrap_or_default();
        let is_file = MARKDOWN_FILES.iter().any(|end| path.ends_with(end));
        if link.starts_with("@/") || is_file && !link.starts_with('/') {
            if !self.to_files.iter().any(|known| known == link) {
                self.to_files.push(link.to_owned());
            }
            return None;
        }
        self.base.as_ref()?.join(link).ok().map(String::from)
    }

    fn edit(
        &mut self,
        markdown: &str,
        place: Range<usize>,
        link: &str,
    ) -> Option<(Range<usize>, String)> {
        let absolute = self.resolve(link)?;
        let (before, _) = markdown.split_at(place.start);
        let is_bracketed = before.ends_with('<');
        Some((place, written(&absolute, is_bracketed)))
    }
}

/// Writes an address so that Markdown reads it as it is.
fn written(address: &str, is_bracketed: bool) -> String {
    // The first is an escape, and the second ends a cell of a table.
    let address = address.replace('\\', "%5C").replace('|', "%7C");
    let mut depth = 0_usize;
    let is_balanced = address.chars().all(|char| {
        let after = match char {
            '(' => depth.checked_add(1),
            ')' => depth.checked_sub(1),
            _ => Some(depth),
        };
        depth = after.unwrap_or_default();
        after.is_some()
    });
    if is_bracketed || is_balanced && depth == 0 {
        return address;
    }
    address.replace('(', "\\(").replace(')', "\\)")
}

/// Finds where the destination of a link is written: behind the first `mark` of the range.
fn destination(
    markdown: &str,
    range: Range<usize>,
    mark: &str,
    destination: &str,
) -> Option<Range<usize>> {
    let text = markdown.get(range.clone())?;
    let start = text.find(mark)? + mark.len();
    let behind = text.get(start..)?;
    // A quotation goes on with its own sign on each line.
    let gap = behind.len() - behind.trim_start().len();
    let written = behind.get(gap..)?;
    let (shift, length) = if let Some(bracketed) = written.strip_prefix('<') {
        (
            1,
            unescaped_end(bracketed, |char| matches!(char, '>' | '\n')),
        )
    } else {
        let mut depth = 0_usize;
        let ends = |char: char| {
            match char {
                '(' => depth += 1,
                ')' if depth == 0 => return true,
                ')' => depth -= 1,
                _ => {}
            }
            char.is_whitespace()
        };
        (0, unescaped_end(written, ends))
    };
    let found = range.start + start + gap + shift;
    let place = found..found + length;
    let written = markdown.get(place.clone())?;
    if written == destination || written.contains(['\\', '&']) {
        return Some(place);
    }
    // In a quotation, its signs stand between the mark and the destination.
    let at = range.start + start + behind.find(destination)?;
    Some(at..at + destination.len())
}

/// Returns where the first character is that ends a text and has no backslash before it.
fn unescaped_end(text: &str, mut ends: impl FnMut(char) -> bool) -> usize {
    let mut is_escaped = false;
    let end = text.find(|char: char| {
        let was_escaped = is_escaped;
        is_escaped = char == '\\' && !was_escaped;
        let is_literal = was_escaped && char.is_ascii_punctuation();
        !is_literal && ends(char)
    });
    end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(markdown: &str) -> String {
        absolute(markdown, "https://blog.example/news/hello/").text
    }

    #[test]
    fn relative_links_and_pictures_are_resolved() {
        for (given, expected) in [
            ("[a](/docs/)", "[a](https://blog.example/docs/)"),
            ("![](me.png)", "![](https://blog.example/news/hello/me.png)"),
            (
                "x ![alt](../b.png \"A title\") y",
                "x ![alt](https://blog.example/news/b.png \"A title\") y",
            ),
            (
                "[a](<my file.pdf>)",
                "[a](<https://blog.example/news/hello/my%20file.pdf>)",
            ),
            ("[a](/b_(c)).", "[a](https://blog.example/b_(c))."),
            (
                "[![i](/i.png)](/p)",
                "[![i](https://blog.example/i.png)](https://blog.example/p)",
            ),
            (
                "[a](?page=2)",
                "[a](https://blog.example/news/hello/?page=2)",
            ),
            ("[a](//cdn.example/x)", "[a](https://cdn.example/x)"),
            (
                "[ref]: /docs 'Title'\n",
                "[ref]: https://blog.example/docs 'Title'\n",
            ),
            (
                "<img alt='' src=\"/i.png\"> <a class=x href='b'>",
                "<img alt='' src=\"https://blog.example/i.png\"> <a class=x href=\"https://blog.example/news/hello/b\">",
            ),
            (
                "你好 [二](二/) 🎉",
                "你好 [二](https://blog.example/news/hello/%E4%BA%8C/) 🎉",
            ),
            // Escapes are part of the writing, not of the address.
            (
                "![e](/foo\\_bar.png) [b](/x\\)y) [amp](/?a=1&amp;b=2)",
                "![e](https://blog.example/foo_bar.png) [b](https://blog.example/x\\)y) [amp](https://blog.example/?a=1&b=2)",
            ),
            (
                "[*a* `](/x)` b\\]](/c \"(/d)\") [](/e)",
                "[*a* `](/x)` b\\]](https://blog.example/c \"(/d)\") [](https://blog.example/e)",
            ),
            ("[a](\n/b\n'c')", "[a](\nhttps://blog.example/b\n'c')"),
            (
                "[a]:\n  /x\n  'Title'\n\n> [b]: /y\n>\n> [c]:\n> /z\n",
                "[a]:\n  https://blog.example/x\n  'Title'\n\n> [b]: https://blog.example/y\n>\n> [c]:\n> https://blog.example/z\n",
            ),
            (
                "> > [a](/x)\n> > [b](\n> > /y)",
                "> > [a](https://blog.example/x)\n> > [b](\n> > https://blog.example/y)",
            ),
            (
                "| a | b |\n|---|---|\n| [a](/b) | ![](c.png) |",
                "| a | b |\n|---|---|\n| [a](https://blog.example/b) | ![](https://blog.example/news/hello/c.png) |",
            ),
            (
                "a[^1]\n\n[^1]: see [x](/y)\n",
                "a[^1]\n\n[^1]: see [x](https://blog.example/y)\n",
            ),
            // What only looks like code.
            (
                "    ```\n\n[a](/b)",
                "    ```\n\n[a](https://blog.example/b)",
            ),
            ("a ` b [a](/b)", "a ` b [a](https://blog.example/b)"),
            (
                "```\n[a](/b)\n```\n[a](/b)",
                "```\n[a](/b)\n```\n[a](https://blog.example/b)",
            ),
        ] {
            assert_eq!(check(given), expected);
        }
    }

    #[test]
    fn addresses_in_html_are_resolved() {
        for (given, expected) in [
            (
                "<img\n  src=/i.png\n  ALT=x>",
                "<img src=\"https://blog.example/i.png\" ALT=x>",
            ),
            (
                "a <A HREF='/b?c=1&amp;d=2'>b</A>",
                "a <A HREF=\"https://blog.example/b?c=1&amp;d=2\">b</A>",
            ),
            (
                "<picture>\n<source srcset='a.png, b.png 2x,/c,d.png 3x'>\n<img src=\"a.png\">\n</picture>\n\n[x](/y)",
                "<picture>\n<source srcset=\"https://blog.example/news/hello/a.png, https://blog.example/news/hello/b.png 2x,https://blog.example/c,d.png 3x\">\n<img src=\"https://blog.example/news/hello/a.png\">\n</picture>\n\n[x](https://blog.example/y)",
            ),
            (
                "- a\n\n  <video poster=p.png><source src='v.mp4'></video>\n",
                "- a\n\n  <video poster=\"https://blog.example/news/hello/p.png\"><source src=\"https://blog.example/news/hello/v.mp4\"></video>\n",
            ),
        ] {
            assert_eq!(check(given), expected);
        }
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for text in [
            "[a](https://x.example/?a&b) [m](mailto:a@b.example) [t](#top) [e]()",
            "[^1]: a footnote",
            "[a]({{ site.url }}/x)",
            "`[a](/b)` and ``[a](`/b)``",
            "```md\n[a](/b)\n```\n",
            "~~~\n[a](/b)\n```\n[a](/b)\n~~~\n",
            "````\n```\n[a](/b)\n````\n",
            "href=\"/x\" is no tag; a] (b) is no link",
            "[open](",
            "",
            "[ad hoc][adhoc]: once you understand\n\n[adhoc]: https://x.example/",
            "[a](https://x.example/) says [c]: hello world",
            "[v1.2]: see [x](https://x.example/) for",
            "[TODO]: fix it",
            "text\n[a]: /b",
            "    [a]: /b\n\n    [a](/b) <a href='/b'>\n",
            "`a\n[a](/b)\nc`",
            "\\[not\\](/alink) [not\\](/alink)",
            "<!-- [a](/b) <img src='/c'> -->\n\n<!--\n<a href=\"/b\">\n-->",
            "```sh\n[a](/b)\n```sh\n[a](/b)\n```\n",
            "<a title='href=/x' href='#y' data-src=\"/z\">  </a>",
            "<script>\nx = '<a href=\"/b\">'\n</script>\n",
            "<https://x.example/a> <a@b.example>",
        ] {
            assert_eq!(check(text), text);
        }
    }

    #[test]
    fn links_to_files_of_the_source_are_named() {
        let text = "[z](@/posts/other.md) [r](other.md#x) [again](other.md#x) <a href='../b.markdown'>\n\n[d]: c.mdx\n";
        let absolute = absolute(text, "https://blog.example/news/hello/");
        assert_eq!(absolute.text, text);
        assert_eq!(
            absolute.to_files,
            ["@/posts/other.md", "other.md#x", "c.mdx", "../b.markdown"]
        );
        // A file with the site's own address is one that the site has.
        assert_eq!(
            check("[raw](/notes/x.md)"),
            "[raw](https://blog.example/notes/x.md)"
        );
    }

    #[test]
    fn long_texts_of_signs_take_no_time() {
        for text in [
            "`".repeat(200_000),
            (1..600).map(|length| "`".repeat(length) + " ").collect(),
            "[".repeat(100_000),
            "[a](".repeat(50_000),
            "<a href=".repeat(50_000),
            "![](/x) ".repeat(20_000),
        ] {
            assert!(check(&text).len() >= text.len());
        }
    }
}
