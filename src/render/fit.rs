//! Making a text fit: the title is shortened, then the description; links, hashtags, and emoji stay whole.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::RenderError;
use super::length::graphemes;
use super::scan::{links, mentions, tags};
use super::template::{Draft, Text};

/// A title shorter than this says too little; before that the description goes.
const TITLE_GRAPHEMES_KEPT: usize = 40;
/// No limit of a service is higher than what is looked at; longer texts are cut to this first.
const GRAPHEMES_LOOKED_AT: usize = 5_000;

/// A limit of a service.
pub(super) struct Limit<'a> {
    pub(super) max: usize,
    pub(super) unit: &'static str,
    pub(super) measure: &'a dyn Fn(&str) -> usize,
}

/// A text that is within every limit.
#[derive(Debug)]
pub(super) struct Fitted {
    pub(super) text: String,
    pub(super) notes: Vec<String>,
}

/// Renders `text` with the longest parts of `draft` that keep every limit.
pub(super) fn fit(
    text: &Text,
    draft: &Draft<'_>,
    limits: &[Limit<'_>],
) -> Result<Fitted, RenderError> {
    let full = text.render(draft)?;
    if full.is_within(limits) {
        return Ok(Fitted {
            text: full.0,
            notes: Vec::new(),
        });
    }
    let longest = limits.iter().map(|limit| limit.max).max().unwrap_or(0);
    let title = Cuts::of(&draft.title, longest);
    let description = Cuts::of(&draft.description, longest);
    let mut shortest = full;
    for step in steps(text, draft, &title, &description)? {
        let is_within = |index: usize| {
            // A template may not be able to do without what was left out.
            text.render(&(step.draft)(index))
                .is_ok_and(|rendered| rendered.is_within(limits))
        };
        // Each step gets shorter as it goes; that a template undoes this is rare, and then it is only cut more.
        let first = first_within(step.count, is_within);
        let chosen = (step.draft)(first.unwrap_or(step.count - 1));
        let Ok(rendered) = text.render(&chosen) else {
            continue;
        };
        if first.is_some() {
            return Ok(Fitted {
                text: rendered.0,
                notes: notes(draft, &chosen),
            });
        }
        shortest = rendered;
    }
    let over = limits
        .iter()
        .find(|limit| (limit.measure)(&shortest.0) > limit.max)
        .expect("a text within every limit was returned");
    Err(RenderError::TooLong {
        length: (over.measure)(&shortest.0),
        limit: over.max,
        unit: over.unit,
    })
}

/// A text as it came out of the template.
#[derive(Debug)]
pub(super) struct RenderedText(pub(super) String);

impl RenderedText {
    fn is_within(&self, limits: &[Limit<'_>]) -> bool {
        limits
            .iter()
            .all(|limit| (limit.measure)(&self.0) <= limit.max)
    }
}

/// Returns the first index from which on a text fits, if its tail does.
fn first_within(count: usize, is_within: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_within(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    (low < count).then_some(low)
}

/// One way to shorten a draft, further and further; it has at least one draft.
struct Step<'s, 'a> {
    count: usize,
    draft: Box<dyn Fn(usize) -> Draft<'a> + 's>,
}

/// Returns the ways to shorten a draft, the least harm first.
fn steps<'s, 'a>(
    text: &Text,
    draft: &'s Draft<'a>,
    title: &'s Cuts<'s>,
    description: &'s Cuts<'s>,
) -> Result<Vec<Step<'s, 'a>>, RenderError> {
    let full = text.render(draft)?;
    // A template that can't do without a part surely uses it.
    let uses = |changed: &Draft<'a>| text.render(changed).map_or(true, |other| other.0 != full.0);
    let uses_title = uses(&draft.with_title(String::new()));
    let uses_description = uses(&draft.with_description(String::new()));
    let uses_hashtags = uses(&draft.with_hashtags(Vec::new()));
    let mut steps: Vec<Step<'s, 'a>> = Vec::new();
    let mut add = |count: usize, draft: Box<dyn Fn(usize) -> Draft<'a> + 's>| {
        if count > 0 {
            steps.push(Step { count, draft });
        }
    };
    let with_titles = |places: &'s [usize], base: Draft<'a>| {
        let draft: Box<dyn Fn(usize) -> Draft<'a> + 's> =
            Box::new(move |index| base.with_title(title.at(places[index])));
        draft
    };
    if uses_title {
        for places in [&title.at_words, &title.at_characters] {
            let kept = places
                .partition_point(|place| graphemes(&title.at(*place)) >= TITLE_GRAPHEMES_KEPT);
            add(kept, with_titles(places, draft.clone()));
        }
    }
    let mut shorter = draft.clone();
    if uses_description {
        for places in [&description.at_words, &description.at_characters] {
            add(
                places.len(),
                Box::new(move |index| draft.with_description(description.at(places[index]))),
            );
        }
        shorter = draft.with_description(String::new());
        let without = shorter.clone();
        add(1, Box::new(move |_| without.clone()));
    }
    if uses_hashtags {
        let base = shorter.clone();
        let count = draft.hashtags.len();
        add(
            count,
            Box::new(move |index| {
                let kept = base.hashtags.iter().take(count - 1 - index);
                base.with_hashtags(kept.cloned().collect())
            }),
        );
        shorter = shorter.with_hashtags(Vec::new());
    }
    if uses_title {
        for places in [&title.at_words, &title.at_characters] {
            add(places.len(), with_titles(places, shorter.clone()));
        }
        add(1, Box::new(move |_| shorter.with_title(String::new())));
    }
    Ok(steps)
}

fn notes(full: &Draft<'_>, used: &Draft<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note_of = |part: &str, before: &str, after: &str| {
        if before == after {
            return;
        }
        notes.push(if after.is_empty() {
            format!("the {part} is left out")
        } else {
            format!(
                "the {part} is shortened from {} to {} characters",
                graphemes(before),
                graphemes(after)
            )
        });
    };
    note_of("title", &full.title, &used.title);
    note_of("description", &full.description, &used.description);
    let dropped: Vec<&str> = full
        .hashtags
        .iter()
        .skip(used.hashtags.len())
        .map(String::as_str)
        .collect();
    if !dropped.is_empty() {
        notes.push(format!("left out to fit: {}", dropped.join(" ")));
    }
    notes
}

/// Shortens a plain text until `fits`; none if not even one character with an ellipsis does.
pub(super) fn shorten(text: &str, fits: impl Fn(&str) -> bool) -> Option<String> {
    if fits(text) {
        return Some(text.to_owned());
    }
    let cuts = Cuts::of(text, GRAPHEMES_LOOKED_AT);
    [&cuts.at_words, &cuts.at_characters]
        .into_iter()
        .find_map(|places| {
            let first = first_within(places.len(), |index| fits(&cuts.at(places[index])))?;
            Some(cuts.at(places[first]))
        })
}

/// Where a text may be cut, the longest beginning first.
struct Cuts<'t> {
    text: &'t str,
    entities: Vec<Range<usize>>,
    at_words: Vec<usize>,
    at_characters: Vec<usize>,
}

impl<'t> Cuts<'t> {
    /// Looks at the first `graphemes_max` characters only: no longer beginning can fit.
    fn of(text: &'t str, graphemes_max: usize) -> Self {
        let mut cuts = Self {
            text,
            entities: entities(text),
            at_words: Vec::new(),
            at_characters: Vec::new(),
        };
        let first_kept = text.find(|char| !is_loose(char)).unwrap_or(text.len());
        let word_ends: Vec<usize> = text
            .split_word_bound_indices()
            .map(|(offset, _)| offset)
            .filter(|offset| is_word_end(text, *offset))
            .collect();
        let mut places: Vec<usize> = text
            .grapheme_indices(true)
            .map(|(offset, _)| offset)
            .take(graphemes_max.min(GRAPHEMES_LOOKED_AT) + 1)
            .filter(|place| {
                let keeps = *place > first_kept || cuts.entity_end(*place).is_some();
                keeps && cuts.is_free(*place)
            })
            .collect();
        places.reverse();
        cuts.at_words = places
            .iter()
            .copied()
            .filter(|place| word_ends.binary_search(place).is_ok())
            .collect();
        cuts.at_characters = places;
        cuts
    }

    /// Returns the beginning up to `place`, with an ellipsis.
    fn at(&self, place: usize) -> String {
        let kept = self.kept(place);
        // An ellipsis right behind an address would become part of it.
        let gap = if self.entity_end(place) == Some(kept.len()) {
            " "
        } else {
            ""
        };
        format!("{kept}{gap}…")
    }

    fn is_free(&self, place: usize) -> bool {
        let next = self.ended_before(place);
        let next = self.entities.get(next);
        next.is_none_or(|entity| place <= entity.start)
    }

    /// Returns the beginning up to `place`, without what looks odd in front of an ellipsis.
    fn kept(&self, place: usize) -> &'t str {
        let entity_end = self.entity_end(place).unwrap_or(0);
        let (mut kept, _) = self.text.split_at(place);
        while let Some(last) = kept.chars().next_back() {
            if kept.len() <= entity_end || !is_loose(last) {
                break;
            }
            kept = kept.strip_suffix(last).unwrap_or_default();
        }
        kept
    }

    /// Returns where the last entity before `place` ends.
    fn entity_end(&self, place: usize) -> Option<usize> {
        let last = self.ended_before(place).checked_sub(1)?;
        self.entities.get(last).map(|entity| entity.end)
    }

    /// Returns how many entities end at `place` or before; none is in another.
    fn ended_before(&self, place: usize) -> usize {
        self.entities.partition_point(|entity| entity.end <= place)
    }
}

/// Where a reader would break the text: before white space, or between characters of a script without spaces.
fn is_word_end(text: &str, offset: usize) -> bool {
    let (before, behind) = text.split_at(offset);
    let (Some(last), Some(next)) = (before.chars().next_back(), behind.chars().next()) else {
        return false;
    };
    // From Thai on, scripts that need spaces are those that Unicode's word rule keeps together anyway.
    next.is_whitespace() || (last >= '\u{0E00}' && next >= '\u{0E00}')
}

/// What looks odd in front of an ellipsis.
fn is_loose(char: char) -> bool {
    char.is_whitespace()
        || matches!(
            char,
            '-' | '–'
                | '—'
                | ','
                | ';'
                | ':'
                | '.'
                | '…'
                | '!'
                | '?'
                | '('
                | '['
                | '{'
                | '/'
                | '|'
                | '·'
                | '#'
                | '@'
                | '，'
                | '。'
                | '、'
                | '；'
                | '：'
                | '！'
                | '？'
                | '（'
                | '「'
                | '『'
                | '【'
                | '《'
        )
}

/// Returns the places of everything that must not be cut, in order.
fn entities(text: &str) -> Vec<Range<usize>> {
    let links = links(text, None);
    let mut entities: Vec<Range<usize>> = tags(text, &links)
        .into_iter()
        .map(|tag| tag.range)
        .chain(
            mentions(text, &links)
                .into_iter()
                .map(|mention| mention.range),
        )
        .collect();
    entities.extend(links.into_iter().map(|link| link.range));
    entities.sort_by_key(|range| range.start);
    entities
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_words() {
        let check = |text: &str, max: usize| {
            shorten(text, |cut| graphemes(cut) <= max).unwrap_or_else(|| "nothing".to_owned())
        };
        assert_eq!(check("short enough", 20), "short enough");
        assert_eq!(check("one two three four", 12), "one two…");
        assert_eq!(check("one two, three four", 12), "one two…");
        assert_eq!(check("Incomprehensibilities", 10), "Incompreh…");
        assert_eq!(check("你好世界再见", 4), "你好世…");
        assert_eq!(check("family 👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 9), "family 👩‍👩‍👧‍👦…");
        assert_eq!(check("🇩🇪🇫🇷🇮🇹", 2), "🇩🇪…");
        assert_eq!(check("a #hashtag here", 8), "a…");
        assert_eq!(
            check("see https://a.example/b and more", 25),
            "see https://a.example/b …"
        );
        assert_eq!(check("see https://a.example/b c", 20), "see…");
        assert_eq!(check("#hashtag", 5), "nothing");
        assert_eq!(check("well-known things", 11), "well-known…");
        assert_eq!(check("שלום עולם טוב", 10), "שלום עולם…");
        assert_eq!(check("cafe\u{301}sss", 5), "cafe\u{301}…");
    }

    #[test]
    fn long_texts_take_no_time() {
        let tags = "#tag ".repeat(100_000);
        let cut = shorten(&tags, |cut| graphemes(cut) <= 300).unwrap();
        assert_eq!(cut, format!("{}…", "#tag ".repeat(59)));
        let dots = format!("{}end", ".".repeat(200_000));
        assert_eq!(shorten(&dots, |cut| graphemes(cut) <= 300), None);
    }
}
