//! Where what stands in a Markdown text, by the rules of `CommonMark`.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, OffsetIter, Options, Parser, Tag};

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
