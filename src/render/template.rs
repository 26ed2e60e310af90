//! A text from a template and what is known of an article.

use minijinja::{Environment, context};

use super::RenderError;
use super::fit::RenderedText;
use super::scan::{Address, is_word, with_address};
use crate::config::ChannelConfig;
use crate::config::fields::front_matter;
use crate::config::template::{check, environment};
use crate::model::item::Item;
use crate::model::time::Timestamp;
use unicode_segmentation::UnicodeSegmentation as _;

const NAME: &str = "text";

/// What a template is given; fitting changes the first three.
#[derive(Clone, Debug)]
pub(super) struct Draft<'a> {
    pub(super) title: String,
    pub(super) description: String,
    pub(super) hashtags: Vec<String>,
    pub(super) language: Option<String>,
    pub(super) address: Address<'a>,
    /// The day of its publication, where the site is.
    pub(super) date: String,
    pub(super) item: &'a Item,
}

impl<'a> Draft<'a> {
    pub(super) fn of(
        item: &'a Item,
        channel: &ChannelConfig,
        address: Address<'a>,
        language: Option<String>,
    ) -> Self {
        let day = |published: Timestamp| {
            let there = published.to_chrono().with_timezone(&channel.timezone);
            there.format("%Y-%m-%d").to_string()
        };
        Self {
            title: item.title.trim().to_owned(),
            description: item
                .description
                .as_deref()
                .unwrap_or_default()
                .trim()
                .to_owned(),
            hashtags: hashtags(&item.tags),
            language,
            address,
            date: item.published.map(day).unwrap_or_default(),
            item,
        }
    }

    pub(super) fn with_title(&self, title: String) -> Self {
        Self {
            title,
            ..self.clone()
        }
    }

    pub(super) fn with_description(&self, description: String) -> Self {
        Self {
            description,
            ..self.clone()
        }
    }

    pub(super) fn with_hashtags(&self, hashtags: Vec<String>) -> Self {
        Self {
            hashtags,
            ..self.clone()
        }
    }
}

/// A template that was read.
#[derive(Debug)]
pub(super) struct Text {
    environment: Environment<'static>,
}

impl Text {
    /// Reads the article's own text, or the channel's template where it has none.
    pub(super) fn new(own: Option<&str>, of_channel: &str) -> Result<Self, RenderError> {
        // The channel's was checked when the configuration was loaded.
        if let Some(own) = own {
            check(own).map_err(|error| RenderError::Template {
                reason: in_line(
                    error.line,
                    &match &error.hint {
                        Some(hint) => format!("{error} ({hint})"),
                        None => error.to_string(),
                    },
                ),
            })?;
        }
        let mut environment = environment();
        environment
            .add_template_owned(NAME, own.unwrap_or(of_channel).to_owned())
            .map_err(|error| template_error(&error))?;
        Ok(Self { environment })
    }

    /// Renders the text; the address is put below it where the template has none.
    ///
    /// What comes out is never read as a template again.
    pub(super) fn render(&self, draft: &Draft<'_>) -> Result<RenderedText, RenderError> {
        let item = draft.item;
        let values = context! {
            title => draft.title.as_str(),
            url => draft.address.shown(),
            description => draft.description.as_str(),
            tags => item.tags.clone(),
            hashtags => draft.hashtags.join(" "),
            author => item.authors.first().map(String::as_str).unwrap_or_default(),
            authors => item.authors.clone(),
            date => draft.date.as_str(),
            language => draft.language.as_deref().unwrap_or_default(),
            id => item.id.as_str(),
            front_matter => front_matter(&item.front_matter),
        };
        let output = self
            .environment
            .get_template(NAME)
            .and_then(|template| template.render(values))
            .map_err(|error| template_error(&error))?;
        let text = tidy(&output);
        if text.is_empty() {
            return Err(RenderError::Empty);
        }
        let text = with_address(&text, draft.address);
        Ok(RenderedText(text))
    }
}

fn template_error(error: &minijinja::Error) -> RenderError {
    let what = error
        .detail()
        .map_or_else(|| error.kind().to_string(), str::to_owned);
    RenderError::Template {
        reason: in_line(error.line(), &what),
    }
}

fn in_line(line: Option<usize>, what: &str) -> String {
    match line {
        Some(line) => format!("line {line}: {what}"),
        None => what.to_owned(),
    }
}

/// Removes what a missing part leaves behind: spaces at the ends of lines, runs of empty lines, control characters.
fn tidy(output: &str) -> String {
    let mut text = String::new();
    let mut empty_lines = 0;
    for line in output.replace("\r\n", "\n").split(['\n', '\r']) {
        let line: String = line
            .chars()
            .filter(|char| !char.is_control() || *char == '\t')
            .collect();
        let line = line.trim_end();
        if line.is_empty() {
            empty_lines += 1;
            continue;
        }
        if !text.is_empty() {
            text.push_str(if empty_lines > 0 { "\n\n" } else { "\n" });
        }
        empty_lines = 0;
        text.push_str(line);
    }
    text.trim_start().to_owned()
}

/// Writes tags as hashtags: `static site` becomes `#StaticSite`. Those of digits alone are none on any service.
fn hashtags(tags: &[String]) -> Vec<String> {
    let mut hashtags: Vec<String> = Vec::new();
    for tag in tags {
        let words = tag_words(tag);
        let name = match words.as_slice() {
            [word] => word.clone(),
            words => words.iter().map(|word| capitalised(word)).collect(),
        };
        let known = hashtags
            .iter()
            .any(|known| known.to_lowercase() == format!("#{}", name.to_lowercase()));
        let has_letter = name.chars().any(|char| !char.is_numeric() && char != '_');
        if has_letter && !known {
            hashtags.push(format!("#{name}"));
        }
    }
    hashtags
}

/// Splits a tag into its words of letters and digits.
pub(super) fn tag_words(tag: &str) -> Vec<String> {
    // Without their signs these would be other languages' names.
    let spelled = match tag.trim().to_lowercase().as_str() {
        "c++" => Some("cpp"),
        "c#" => Some("csharp"),
        "f#" => Some("fsharp"),
        ".net" => Some("dotnet"),
        _ => None,
    };
    if let Some(word) = spelled {
        return vec![word.to_owned()];
    }
    let mut words = vec![String::new()];
    for grapheme in tag.graphemes(true) {
        if is_word(grapheme) {
            if let Some(word) = words.last_mut() {
                word.push_str(grapheme);
            }
        } else if !matches!(grapheme, "'" | "’") {
            words.push(String::new());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_become_hashtags() {
        let check = |tags: &[&str]| {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            hashtags(&tags).join(" ")
        };
        assert_eq!(
            check(&["rust", "static site", "web-dev"]),
            "#rust #StaticSite #WebDev"
        );
        assert_eq!(check(&["2026", "", "!", "Rust", "rust"]), "#Rust");
        assert_eq!(
            check(&["日本語", "Größe", "c++", "don't"]),
            "#日本語 #Größe #cpp #dont"
        );
    }

    #[test]
    fn empty_parts_leave_no_gaps() {
        assert_eq!(tidy("a\n\n\n\nb\n \nc  \r\n"), "a\n\nb\n\nc");
        assert_eq!(tidy("\n\n a\u{0}b\t\n"), "a b".replace(' ', ""));
        assert_eq!(tidy(" \n "), "");
    }
}
