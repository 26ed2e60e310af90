//! The `current` of an `update`: what of the standing post is read before it may be changed.
//!
//! Services that guard a post against two writers take a change only with what they said of it last: a version, the time
//! of the last change, an `ETag`. Here is where that stands in the answer.

use super::super::document::Findings;
use super::check::Scope;
use super::later::read_gone;
use super::layers::Layers;
use super::parts::{NAME_HINT, header_name, is_name, pointer, success_of};
use super::request::Forms;
use super::{GoneTest, Method, RequestForm, Source, Success};

const VALUES_HINT: &str = "say what an update must name of the post as it stands, and where the answer has it: `values = { version = \"/version\" }`, or `values_header = { etag = \"ETag\" }`";

/// How a post is read before it is changed.
#[derive(Clone, Debug, PartialEq)]
pub struct CurrentForm {
    /// A `GET` without a body.
    pub request: RequestForm,
    /// Which answers show the post.
    pub success: Success,
    /// Which answers show that it is gone: any of these. They are looked for first.
    pub gone: Vec<GoneTest>,
    /// Each `current.NAME`, and where it is.
    pub values: Vec<(String, Source)>,
}

/// Reads the table; none if it has a problem.
pub(super) fn read_current(section: &Layers<'_>, forms: &mut Forms<'_, '_>) -> Option<CurrentForm> {
    section.refuse_unknown(
        &[
            "url",
            "query",
            "headers",
            "status",
            "body",
            "pointer",
            "equals",
            "contains",
            "gone",
            "values",
            "values_header",
        ],
        forms.findings,
    );
    let request = forms.request(section, Scope::Target, Method::Get);
    let success = success_of(section, forms.findings);
    let gone = if section.has("gone") {
        read_gone(section, forms.findings)
    } else {
        Some(Vec::new())
    };
    let values = read_values(section, forms.findings);
    Some(CurrentForm {
        request: request?,
        success: success?,
        gone: gone?,
        values: values?,
    })
}

/// Returns the names that an update's templates may use, also where something is wrong with what they stand for: that is
/// told once.
pub(super) fn names_of(section: &Layers<'_>, findings: &mut Findings<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for key in ["values", "values_header"] {
        let table = section.has(key).then(|| section.section(key, findings));
        let entries = table.flatten().map(|table| table.entries());
        names.extend(entries.into_iter().flatten().map(|(name, _, _)| name));
    }
    names
}

fn read_values(section: &Layers<'_>, findings: &mut Findings<'_>) -> Option<Vec<(String, Source)>> {
    let before = findings.problems_count();
    let mut values: Vec<(String, Source)> = Vec::new();
    for key in ["values", "values_header"] {
        let Some(table) = section.section(key, findings) else {
            continue;
        };
        for (name, value, place) in table.entries() {
            let path = table.path_of(&name);
            if !is_name(&name) {
                let message = format!("`{path}` can't be named in a template");
                findings.problem(place, message, Some(NAME_HINT));
                continue;
            }
            if values.iter().any(|(known, _)| *known == name) {
                findings.problem(
                    place,
                    format!("`{path}` stands beside `{}`", section.path_of("values")),
                    Some("a name stands for one thing: write it in one of the two"),
                );
                continue;
            }
            let read = if key == "values" {
                pointer(value).map(Source::Pointer)
            } else {
                header_name(value).map(Source::Header)
            };
            match read {
                Ok(source) => values.push((name, source)),
                Err(wrong) => {
                    let message = format!("`{path}` {}", wrong.message);
                    findings.problem(place, message, wrong.hint.as_deref());
                }
            }
        }
    }
    if findings.problems_count() > before {
        return None;
    }
    if values.is_empty() {
        section.missing("values", VALUES_HINT, findings);
        return None;
    }
    Some(values)
}
