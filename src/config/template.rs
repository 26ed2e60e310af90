//! The template language of `template` and of an item's own text: what it knows, and how it is checked at load.

use std::sync::Arc;

use minijinja::{AutoEscape, Environment, ErrorKind, Template, UndefinedBehavior, context};

use super::fields::{self, FRONT_MATTER, front_matter};
use super::suggest::closest;

/// The text where the configuration has none.
pub const DEFAULT_TEMPLATE: &str = "{{ title }}\n\n{{ url }}";

/// What a template may name. Those that an article lacks are empty, so that `{% if description %}` works.
pub const VARIABLES: [&str; 11] = [
    "title",
    "url",
    "description",
    "tags",
    "hashtags",
    "author",
    "authors",
    "date",
    "language",
    "id",
    FRONT_MATTER,
];

/// A template can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// What is wrong.
    pub message: String,
    /// The line of the template, from 1, where it is known.
    pub line: Option<usize>,
    /// What to do.
    pub hint: Option<String>,
}

/// Checks that a template can be read and names known variables only, in every branch of it.
pub fn check(source: &str) -> Result<(), TemplateError> {
    let environment = environment();
    let template = environment
        .template_from_str(source)
        .map_err(|error| unreadable(&error))?;
    check_names(source, &environment, &template)?;
    check_functions(&template)
}

/// Returns the engine: plain text, no files, and what is not defined is an error.
pub(crate) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // Posts are plain text: an escaped `&` would be shown as `&amp;`.
    environment.set_auto_escape_callback(|_name| AutoEscape::None);
    environment.add_filter("default", fields::default);
    environment.add_filter("d", fields::default);
    environment
}

fn unreadable(error: &minijinja::Error) -> TemplateError {
    TemplateError {
        message: error
            .detail()
            .map_or_else(|| error.kind().to_string(), str::to_owned),
        line: error.line(),
        hint: Some(
            "write it like `{{ title }}` or `{% if tags %}{{ hashtags }}{% endif %}`".to_owned(),
        ),
    }
}

fn check_names(
    source: &str,
    environment: &Environment<'_>,
    template: &Template<'_, '_>,
) -> Result<(), TemplateError> {
    let mut unknown: Vec<String> = template
        .undeclared_variables(false)
        .into_iter()
        .filter(|name| !VARIABLES.contains(&name.as_str()))
        .filter(|name| environment.globals().all(|(global, _)| global != name))
        .collect();
    unknown.sort_by_key(|name| (source.find(name.as_str()), name.clone()));
    let Some(name) = unknown.into_iter().next() else {
        return Ok(());
    };
    let hint = match closest(&name, &VARIABLES) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the variables are {}", VARIABLES.join(", ")),
    };
    Err(TemplateError {
        message: format!("there is no variable `{name}`"),
        line: source.find(name.as_str()).map(|offset| {
            1 + source
                .bytes()
                .take(offset)
                .filter(|byte| *byte == b'\n')
                .count()
        }),
        hint: Some(hint),
    })
}

/// Filters, tests, and functions are looked up only when a template runs, so it is run with a full and an empty article.
fn check_functions(template: &Template<'_, '_>) -> Result<(), TemplateError> {
    let fields = front_matter(&Arc::default());
    let full = context! {
        title => "t", url => "u", description => "d", tags => ["a", "b"], hashtags => "#a #b", author => "n",
        authors => ["n"], date => "2026-01-01", language => "en", id => "i", front_matter => fields.clone(),
    };
    let empty: Vec<String> = Vec::new();
    let empty = context! {
        title => "", url => "u", description => "", tags => empty.clone(), hashtags => "", author => "",
        authors => empty, date => "", language => "", id => "i", front_matter => fields,
    };
    for sample in [full, empty] {
        let Err(error) = template.render(sample) else {
            continue;
        };
        // Anything else may be right for articles that are not like the sample.
        let unknown = matches!(
            error.kind(),
            ErrorKind::UnknownFilter
                | ErrorKind::UnknownTest
                | ErrorKind::UnknownFunction
                | ErrorKind::UnknownMethod
        );
        if unknown {
            return Err(TemplateError {
                hint: Some(
                    "the filters are Jinja's, such as `upper`, `trim`, `join` and `default`"
                        .to_owned(),
                ),
                ..unreadable(&error)
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(source: &str) -> String {
        match check(source) {
            Ok(()) => "ok".to_owned(),
            Err(error) => format!(
                "{}|{}|{}",
                error.line.map_or_else(String::new, |line| line.to_string()),
                error,
                error.hint.clone().unwrap_or_default()
            ),
        }
    }

    #[test]
    fn unknown_names_are_found_in_every_branch() {
        assert_eq!(check_text(DEFAULT_TEMPLATE), "ok");
        assert_eq!(
            check_text("{% for tag in tags %}#{{ tag }} {% endfor %}{{ url }}"),
            "ok"
        );
        assert_eq!(
            check_text("{% set x = range(2) %}{{ x | join(' ') }}{{ title|upper }}"),
            "ok"
        );
        assert_eq!(
            check_text("{{ title }}\n{% if description %}{{ sumary }}{% endif %}"),
            "2|there is no variable `sumary`|the variables are title, url, description, tags, hashtags, author, authors, date, language, id, front_matter"
        );
        assert_eq!(
            check_text("{{ titel }}"),
            "1|there is no variable `titel`|did you mean `title`?"
        );
    }

    #[test]
    fn syntax_errors_have_their_line() {
        let error = check("a\n{{ title").unwrap_err();
        assert_eq!(error.line, Some(2));
        assert!(check("{{ title | no_such_filter }}").is_err());
        assert!(check("{% include 'secrets.txt' %}").is_err());
    }
}
