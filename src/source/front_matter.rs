//! Front matter: what stands above an article's text, in YAML (`---`), TOML (`+++`), or JSON (`{`).

use serde::Deserialize;
use serde_json::{Map, Value};

use super::text::collapse;

/// A file taken apart.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Document<'a> {
    /// The keys and their values; empty without front matter.
    pub(super) fields: Map<String, Value>,
    /// The front matter's own text, to find lines in.
    pub(super) header: &'a str,
    /// The file's line, from 1, on which `header` begins.
    pub(super) header_line: usize,
    /// Everything below.
    pub(super) body: &'a str,
}

/// What is wrong with a front matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FrontMatterError {
    /// The file's line, from 1, where it is known.
    pub(super) line: Option<usize>,
    /// What is wrong.
    pub(super) message: String,
}

/// Takes a file apart.
pub(super) fn parse(text: &str) -> Result<Document<'_>, FrontMatterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.starts_with('{') {
        return parse_json(text);
    }
    let first = text.lines().next().unwrap_or_default().trim_end();
    let (ends, read): (&[&str], Reader) = match first {
        "---" => (&["---", "..."], read_yaml),
        "+++" => (&["+++"], read_toml),
        _ => return Ok(without_front_matter(text)),
    };
    let Some((header, body)) = split_at_fence(text, ends) else {
        // A file that only begins with a rule, as Markdown's `---` is one.
        return Ok(without_front_matter(text));
    };
    let fields = read(header).map_err(|error| FrontMatterError {
        // The fence is line 1, so that the header's first line is the file's second.
        line: error.line.map(|line| line + 1),
        message: error.message,
    })?;
    Ok(Document {
        fields,
        header,
        header_line: 2,
        body,
    })
}

/// Returns the line, from 1, on which the last key of `path` that can be found stands in `header`, given the line on
/// which `header` begins. Each key is looked for from its parent's line on.
pub(super) fn line_of(header: &str, header_line: usize, path: &[&str]) -> Option<usize> {
    let lines: Vec<&str> = header.lines().collect();
    let mut found = None;
    let mut from = 0;
    for key in path {
        let next = lines
            .iter()
            .enumerate()
            .skip(from)
            .find(|(_index, line)| names_key(line, key))
            .map(|(index, _line)| index);
        let Some(index) = next else { break };
        from = index;
        found = Some(header_line + index);
    }
    found
}

type Reader = fn(&str) -> Result<Map<String, Value>, FrontMatterError>;

fn without_front_matter(text: &str) -> Document<'_> {
    Document {
        fields: Map::new(),
        header: "",
        header_line: 1,
        body: text,
    }
}

/// Returns what stands between the first line and the next line that is one of `ends`, and what stands below.
fn split_at_fence<'a>(text: &'a str, ends: &[&str]) -> Option<(&'a str, &'a str)> {
    let (_fence, rest) = text.split_once('\n')?;
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        if ends.contains(&line.trim_end()) {
            let (header, fence_and_body) = rest.split_at(length);
            let (_fence, body) = fence_and_body.split_at(line.len());
            return Some((header, body));
        }
        length += line.len();
    }
    None
}

fn read_yaml(header: &str) -> Result<Map<String, Value>, FrontMatterError> {
    // Only comments or nothing: YAML's null.
    let value: Option<Value> = from_yaml(header)?;
    let mut fields = as_table(value.unwrap_or(Value::Null))?;
    // `title: 1.10` is the text "1.10", which a number would make "1.1", and `title: Yes` is no flag.
    retype::<TitleText>(header, &mut fields, "title", |text| text.title.into());
    retype::<SlugText>(header, &mut fields, "slug", |text| text.slug.into());
    retype::<DescriptionText>(header, &mut fields, "description", |text| {
        text.description.into()
    });
    retype::<SummaryText>(header, &mut fields, "summary", |text| text.summary.into());
    retype::<ExcerptText>(header, &mut fields, "excerpt", |text| text.excerpt.into());
    retype::<TagTexts>(header, &mut fields, "tags", |texts| texts.tags.into());
    Ok(fields)
}

fn from_yaml<T: serde::de::DeserializeOwned>(header: &str) -> Result<T, FrontMatterError> {
    let options = serde_saphyr::options! {
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(header, options).map_err(|error| FrontMatterError {
        line: error
            .location()
            .and_then(|location| usize::try_from(location.line()).ok()),
        message: without_position(&error.to_string()),
    })
}

#[derive(Deserialize)]
struct TitleText {
    title: String,
}

#[derive(Deserialize)]
struct SlugText {
    slug: String,
}

#[derive(Deserialize)]
struct DescriptionText {
    description: String,
}

#[derive(Deserialize)]
struct SummaryText {
    summary: String,
}

#[derive(Deserialize)]
struct ExcerptText {
    excerpt: String,
}

#[derive(Deserialize)]
struct TagTexts {
    tags: Vec<Option<String>>,
}

/// Reads numbers and flags again as the text that stands in the file.
fn retype<T: serde::de::DeserializeOwned>(
    header: &str,
    fields: &mut Map<String, Value>,
    key: &str,
    texts_of: fn(T) -> Value,
) {
    let is_typed = |value: &Value| value.is_number() || value.is_boolean();
    let has_typed = |value: &Value| {
        is_typed(value)
            || value
                .as_array()
                .is_some_and(|list| list.iter().any(is_typed))
    };
    if let Some(value) = fields.get_mut(key).filter(|value| has_typed(value))
        && let Ok(texts) = from_yaml::<T>(header)
    {
        *value = texts_of(texts);
    }
}

fn read_toml(header: &str) -> Result<Map<String, Value>, FrontMatterError> {
    let table: toml::Table = toml::from_str(header).map_err(|error| FrontMatterError {
        line: error.span().map(|span| {
            let before = header.as_bytes().get(..span.start).unwrap_or_default();
            before.split(|byte| *byte == b'\n').count()
        }),
        message: without_position(error.message()),
    })?;
    Ok(table
        .into_iter()
        .map(|(key, value)| (key, toml_to_json(value)))
        .collect())
}

fn toml_to_json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(values) => values.into_iter().map(toml_to_json).collect(),
        toml::Value::Table(table) => Value::Object(
            table
                .into_iter()
                .map(|(key, value)| (key, toml_to_json(value)))
                .collect(),
        ),
    }
}

fn parse_json(text: &str) -> Result<Document<'_>, FrontMatterError> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = match values.next() {
        Some(Ok(value)) => value,
        Some(Err(error)) => {
            return Err(FrontMatterError {
                line: Some(error.line()),
                message: without_position(&error.to_string()),
            });
        }
        None => return Ok(without_front_matter(text)),
    };
    let (header, body) = text.split_at(values.byte_offset());
    Ok(Document {
        fields: as_table(value)?,
        header,
        header_line: 1,
        body: body
            .strip_prefix("\r\n")
            .or_else(|| body.strip_prefix('\n'))
            .unwrap_or(body),
    })
}

fn as_table(value: Value) -> Result<Map<String, Value>, FrontMatterError> {
    match value {
        Value::Object(fields) => Ok(fields),
        Value::Null => Ok(Map::new()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(FrontMatterError {
                line: Some(1),
                message: "the front matter is no list of keys and values".to_owned(),
            })
        }
    }
}

/// Returns a parser's words on one line, without the position that is told beside them.
pub(super) fn without_position(message: &str) -> String {
    let words = message
        .rsplit_once(" at line ")
        .map_or(message, |(words, _position)| words);
    collapse(words)
}

/// Whether a line gives `key` a value, in any of the three languages: `key:`, `"key":`, `key =`, `[a.key]`.
fn names_key(line: &str, key: &str) -> bool {
    if line.trim_start().starts_with('#') {
        return false;
    }
    line.match_indices(key).any(|(at, _key)| {
        let (before, rest) = line.split_at(at);
        let after = rest.strip_prefix(key).unwrap_or_default();
        let is_whole = !before.ends_with(is_key_character);
        let after = after
            .strip_prefix(['"', '\''])
            .unwrap_or(after)
            .trim_start();
        is_whole && after.starts_with([':', '=', '.', ']'])
    })
}

fn is_key_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str) -> String {
        match parse(text) {
            Ok(document) => format!("{} | {}", Value::Object(document.fields), document.body),
            Err(error) => format!("line {:?}: {}", error.line, error.message),
        }
    }

    #[test]
    fn three_languages_are_read() {
        let hello = r#"{"draft":true,"title":"Hello"} | Text"#;
        assert_eq!(check("---\ndraft: true\ntitle: Hello\n---\nText"), hello);
        assert_eq!(
            check("---\r\ndraft: true\r\ntitle: Hello\r\n...\r\nText"),
            hello
        );
        assert_eq!(
            check("\u{feff}--- \ndraft: true\ntitle: Hello\n---  \nText"),
            hello
        );
        assert_eq!(
            check("+++\ndraft = true\ntitle = 'Hello'\n+++\nText"),
            hello
        );
        assert_eq!(
            check("{\"draft\": true, \"title\": \"Hello\"}\nText"),
            hello
        );
        assert_eq!(check("---\n---\n\n# Text\n"), "{} | \n# Text\n");
        assert_eq!(check("---\n# nothing yet\n---\nText"), "{} | Text");
        assert_eq!(check("Text\n---\nmore"), "{} | Text\n---\nmore");
        assert_eq!(check("---\nonly a rule"), "{} | ---\nonly a rule");
        assert_eq!(check(""), "{} | ");
    }

    #[test]
    fn dates_and_version_numbers_stay_text() {
        assert_eq!(
            parse("---\ntitle: 1.10\nslug: 2026\ntags: [a, 3.10]\ndate: 2026-01-02\nversion: 4.4.1\nat: 2026-01-02 10:00:00 +0100\n---\n").unwrap().fields,
            *json!({"title": "1.10", "slug": "2026", "tags": ["a", "3.10"], "date": "2026-01-02", "version": "4.4.1", "at": "2026-01-02 10:00:00 +0100"}).as_object().unwrap()
        );
        assert_eq!(
            check("---\ntitle: Yes\ndescription: 1.10\ntags: [on, 1.10, null]\ndraft: true\n---\n"),
            r#"{"title":"Yes","description":"1.10","tags":["on","1.10",null],"draft":true} | "#
        );
        assert_eq!(check("---\ntitle: true\n---\n"), r#"{"title":"true"} | "#);
        assert_eq!(
            check("+++\ndate = 2026-01-02T10:00:00Z\nday = 2026-01-02\n+++\n"),
            r#"{"date":"2026-01-02T10:00:00Z","day":"2026-01-02"} | "#
        );
    }

    #[test]
    fn errors_name_the_files_own_line() {
        for (text, line) in [
            ("---\ntitle: Hello\nsub: a: b\n---\n", 3),
            ("---\ntitle: Hello\ntitle: Again\n---\n", 3),
            ("+++\ntitle = 'Hello'\n\nsub = \n+++\n", 4),
            ("{\n\"title\": \"Hello\",\n}\n", 3),
            ("---\n- a\n- b\n---\n", 2),
        ] {
            assert_eq!(parse(text).unwrap_err().line, Some(line), "{text}");
        }
    }

    #[test]
    fn keys_are_found_on_their_lines() {
        let check = |text: &str, path: &[&str]| {
            let document = parse(text).unwrap();
            line_of(document.header, document.header_line, path)
        };
        let yaml = "---\ntitle: sayonce\n# sayonce: false\nsayonce:\n  devto: false\n  mastodon:\n    text: x\n---\n";
        assert_eq!(check(yaml, &["sayonce"]), Some(4));
        assert_eq!(check(yaml, &["sayonce", "mastodon", "text"]), Some(7));
        assert_eq!(check(yaml, &["sayonce", "gone"]), Some(4));
        let flow = "---\ntitle: x\nsayonce: { edition: 2, mastodon: { text: y } }\n---\n";
        assert_eq!(check(flow, &["sayonce", "mastodon", "text"]), Some(3));
        let toml = "+++\ntitle = 'x'\n[extra.sayonce]\nedition = 2\n[extra.sayonce.mastodon]\ntext = 'y'\n+++\n";
        assert_eq!(check(toml, &["extra", "sayonce", "edition"]), Some(4));
        assert_eq!(
            check(toml, &["extra", "sayonce", "mastodon", "text"]),
            Some(6)
        );
        let json = "{\n  \"title\": \"x\",\n  \"sayonce\": {\n    \"edition\": 2\n  }\n}\n";
        assert_eq!(check(json, &["sayonce", "edition"]), Some(4));
        assert_eq!(check(yaml, &["nothing"]), None);
    }
}
