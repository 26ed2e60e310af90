//! Where what stands in a Markdown text, by the rules of `CommonMark`.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, OffsetIter, Options, Parser, Tag};

use super::scan::links;

/// Reads a text with what site generators add: tables and footnotes.
pub(super) fn events(markdown: &str) -> OffsetIter<'_> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    Parser::new_ext(markdown, options).into_offset_iter()
}

/// Returns where code spans and fenced code are, in their order.
pub(super) fn code(markdown: &str) -> Vec<Range<usize>> {
    let is_code = |event: &Event<'_>| {
        matches!(
            event,
            Event::Code(_) | Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_)))
        )
    };
    events(markdown)
        .filter(|(event, _)| is_code(event))
        .map(|(_, range)| range)
        .collect()
}

/// Whether one of the ranges, which are in their order, has the offset in it.
pub(super) fn is_in(ranges: &[Range<usize>], offset: usize) -> bool {
    let next = ranges.partition_point(|range| range.end <= offset);
    ranges.get(next).is_some_and(|range| range.start <= offset)
}

/// Changes pieces of a text. Of those that overlap, the first one counts.
pub(super) fn edited(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut output = String::with_capacity(text.len());
    let mut done = 0;
    for (range, new) in edits {
        if range.start < done {
            continue;
        }
        output.push_str(text.get(done..range.start).unwrap_or_default());
        output.push_str(&new);
        done = range.end;
    }
    output.push_str(text.get(done..).unwrap_or_default());
    output
}

/// Writes plain text so that Markdown shows it as it is. Addresses in it stay links.
pub(super) fn escaped(plain: &str) -> String {
    let lines = plain.lines().map(|line| escaped_line(line.trim()));
    lines.collect::<Vec<_>>().join("\n")
}

fn escaped_line(line: &str) -> String {
    let addresses: Vec<Range<usize>> = links(line, None)
        .into_iter()
        .map(|link| link.range)
        .collect();
    let block = block_sign(line);
    let mut output = String::with_capacity(line.len());
    for (at, char) in line.char_indices() {
        let (_, behind) = line.split_at(at);
        let is_sign = match char {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '~' | '|' => true,
            '&' => begins_entity(behind),
            _ => block == Some(at),
        };
        if is_sign && !is_in(&addresses, at) {
            output.push('\\');
        }
        output.push(char);
    }
    output
}

/// Returns where the sign is that makes a line a heading, a quotation, an item of a list, or a rule.
fn block_sign(line: &str) -> Option<usize> {
    let first = line.chars().next()?;
    if matches!(first, '#' | '>' | '-' | '+' | '=') {
        return Some(0);
    }
    let number = line.len()
        - line
            .trim_start_matches(|char: char| char.is_ascii_digit())
            .len();
    let (_, behind) = line.split_at(number);
    (number > 0 && behind.starts_with(['.', ')'])).then_some(number)
}

fn begins_entity(text: &str) -> bool {
    let name = text.strip_prefix('&').and_then(|text| text.split_once(';'));
    name.is_some_and(|(name, _)| {
        !name.is_empty()
            && name
                .chars()
                .all(|char| char.is_ascii_alphanumeric() || char == '#')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_shown_as_it_is() {
        for (plain, written) in [
            (
                "What happened & why (C#, 1.5).",
                "What happened & why (C#, 1.5).",
            ),
            ("# Why Vec<T> & *stars*", "\\# Why Vec\\<T> & \\*stars\\*"),
            (
                "AT&amp;T, snake_case, a\\b",
                "AT\\&amp;T, snake\\_case, a\\\\b",
            ),
            ("1. one\n    - two\n=", "1\\. one\n\\- two\n\\="),
            (
                "2026) `x` [y](z) ~~a~~ |b|",
                "2026\\) \\`x\\` \\[y\\](z) \\~\\~a\\~\\~ \\|b\\|",
            ),
            (
                "see https://a.example/b_c_d*",
                "see https://a.example/b_c_d\\*",
            ),
            ("5 > 3", "5 > 3"),
        ] {
            assert_eq!(escaped(plain), written);
            let mut shown = String::new();
            for (event, _) in events(written) {
                if let Event::Text(text) = event {
                    shown.push_str(&text);
                } else if event == Event::SoftBreak {
                    shown.push('\n');
                }
            }
            let lines: Vec<&str> = plain.lines().map(str::trim).collect();
            assert_eq!(shown, lines.join("\n"));
        }
    }
}
