//! Links and pictures of a Markdown text made absolute: on another site, relative ones lead nowhere.

use std::ops::Range;

use url::Url;

/// Returns the text with every relative link and picture resolved against `base`; everything else stays byte for byte.
///
/// Read are inline links and pictures, definitions of references, and `href` and `src` in HTML. Fenced code and code
/// spans are left alone.
pub(super) fn absolute(markdown: &str, base: &str) -> String {
    let Ok(base) = Url::parse(base) else {
        return markdown.to_owned();
    };
    let mut output = String::new();
    let mut fence: Option<String> = None;
    for line in markdown.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let mark: String = trimmed
            .chars()
            .take_while(|char| trimmed.starts_with(*char) && matches!(char, '`' | '~'))
            .collect();
        let is_mark = mark.len() >= 3;
        match &fence {
            Some(open) if is_mark && mark.starts_with(open.as_str()) => fence = None,
            // A line of code that begins and ends with backticks is a span.
            None if is_mark && !trimmed.trim_start_matches('`').contains('`') => fence = Some(mark),
            None => {
                output.push_str(&absolute_line(line, &base));
                continue;
            }
            Some(_) => {}
        }
        output.push_str(line);
    }
    output
}

fn absolute_line(line: &str, base: &Url) -> String {
    let code = code_spans(line);
    let mut output = String::new();
    let mut done = 0;
    for place in destinations(line) {
        let is_code = code.iter().any(|span| span.contains(&place.start));
        let absolute = line
            .get(place.clone())
            .filter(|_| !is_code && place.start >= done)
            .and_then(|link| resolve(link, base));
        if let Some(absolute) = absolute {
            output.push_str(line.get(done..place.start).unwrap_or_default());
            output.push_str(&absolute);
            done = place.end;
        }
    }
    output.push_str(line.get(done..).unwrap_or_default());
    output
}

/// Returns the absolute form of a link that has none; anchors stay, they point into the same text.
fn resolve(link: &str, base: &Url) -> Option<String> {
    let is_code_of_a_generator = link.contains(['{', '}']);
    if link.is_empty()
        || link.starts_with('#')
        || is_code_of_a_generator
        || Url::parse(link).is_ok()
    {
        return None;
    }
    base.join(link).ok().map(String::from)
}

/// Returns where the destinations of a line's links are, in its order.
fn destinations(line: &str) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = line
        .match_indices("](")
        .map(|(at, mark)| destination_at(line, at + mark.len()))
        .collect();
    let trimmed = line.trim_start();
    // A footnote is written alike.
    if trimmed.starts_with('[') && !trimmed.starts_with("[^") {
        let definition = line.find("]:").map(|at| destination_at(line, at + 2));
        places.extend(definition);
    }
    for attribute in ["href=", "src="] {
        for (at, mark) in line.match_indices(attribute) {
            let start = at + mark.len();
            let quoted = line.get(start..).unwrap_or_default();
            let Some(quote) = quoted
                .chars()
                .next()
                .filter(|char| matches!(char, '"' | '\''))
            else {
                continue;
            };
            let in_tag = line.get(..at).is_some_and(|before| {
                before.ends_with(char::is_whitespace) && before.contains('<')
            });
            let length = quoted.get(1..).and_then(|value| value.find(quote));
            if let (true, Some(length)) = (in_tag, length) {
                places.push(start + 1..start + 1 + length);
            }
        }
    }
    places.sort_by_key(|place| place.start);
    places
}

/// Returns the destination that stands behind the opening of a link.
fn destination_at(line: &str, from: usize) -> Range<usize> {
    let rest = line.get(from..).unwrap_or_default();
    let start = from + (rest.len() - rest.trim_start().len());
    let rest = line.get(start..).unwrap_or_default();
    if let Some(bracketed) = rest.strip_prefix('<') {
        let length = bracketed.find(['>', '\n']).unwrap_or(0);
        return start + 1..start + 1 + length;
    }
    let mut depth = 0_usize;
    let end = rest.find(|char: char| {
        match char {
            '(' => depth += 1,
            ')' if depth == 0 => return true,
            ')' => depth -= 1,
            _ => {}
        }
        char.is_whitespace()
    });
    start..start + end.unwrap_or(rest.len())
}

/// Returns where code spans are: from a run of backticks to the next one of the same length.
fn code_spans(line: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end = at + 1,
            Some(_) | None => runs.push(at..at + 1),
        }
    }
    let mut spans = Vec::new();
    let mut rest = runs.as_slice();
    while let [open, behind @ ..] = rest {
        let close = behind.iter().position(|run| run.len() == open.len());
        rest = match close.and_then(|at| Some((at, behind.get(at)?))) {
            Some((at, close)) => {
                spans.push(open.start..close.end);
                behind.get(at + 1..).unwrap_or_default()
            }
            None => behind,
        };
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(markdown: &str) -> String {
        absolute(markdown, "https://blog.example/news/hello/")
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
                "<img alt='' src=\"https://blog.example/i.png\"> <a class=x href='https://blog.example/news/hello/b'>",
            ),
            (
                "你好 [二](二/) 🎉",
                "你好 [二](https://blog.example/news/hello/%E4%BA%8C/) 🎉",
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
        ] {
            assert_eq!(check(text), text);
        }
        assert_eq!(
            check("```\n[a](/b)\n```\n[a](/b)"),
            "```\n[a](/b)\n```\n[a](https://blog.example/b)"
        );
        assert_eq!(check("a ` b [a](/b)"), "a ` b [a](https://blog.example/b)");
    }
}
