//! `update`, `retract`, and `read` of a declaration: what happens to a post that stands, and how that is seen.

use super::super::document::Findings;
use super::check::{self, Defined, Scope};
use super::current::{names_of, read_current};
use super::layers::Layers;
use super::parts::{condition, statuses, success_of};
use super::read::{LATER_MEANINGS, read_answers};
use super::request::{self, Forms};
use super::{CurrentForm, GoneTest, Meaning, Method, Operation, Pointer, ReadForm, RequestForm};

const GONE_HINT: &str = "say by which answer a post that is gone is known: `gone = { status = 404 }`, or with a `pointer` to the code by which the service says so";

/// Reads a later write; none if it is not there or has a problem.
pub(super) fn read_operation(
    layers: &Layers<'_>,
    key: &'static str,
    scope: Scope,
    forms: &mut Forms<'_, '_>,
) -> Option<Operation> {
    let section = layers.section(key, forms.findings)?;
    // What is taken down needs no version: it is gone whoever changed it.
    let may_be_read = scope == Scope::Later;
    let mut known = vec!["status", "body", "pointer", "equals", "contains", "answer"];
    known.extend(may_be_read.then_some("current"));
    section.refuse_unknown(&[request::KEYS.as_slice(), &known].concat(), forms.findings);
    let table = may_be_read
        .then(|| section.section("current", forms.findings))
        .flatten();
    let current = table.as_ref().map(|table| read_current(table, forms));
    let names = table.map_or_else(Vec::new, |table| names_of(&table, forms.findings));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let request = Forms {
        defined: Defined {
            current: &names,
            ..forms.defined
        },
        values: forms.values,
        findings: &mut *forms.findings,
    }
    .request(&section, scope, Method::Post);
    let success = success_of(&section, forms.findings);
    let answers = read_answers(&section, &LATER_MEANINGS, forms.findings);
    // One that has a problem must not make an update without one.
    let current = match current {
        Some(current) => Some(current?),
        None => None,
    };
    let request = request?;
    check_use(&section, current.as_ref(), &request, forms.findings);
    Some(Operation {
        request,
        success: success?,
        answers,
        current,
    })
}

/// What is read and not sent along hinders nobody's change.
fn check_use(
    section: &Layers<'_>,
    current: Option<&CurrentForm>,
    request: &RequestForm,
    findings: &mut Findings<'_>,
) {
    let names = request.templates().into_iter().flat_map(check::variables);
    let is_used = names.into_iter().any(|name| name.starts_with("current."));
    if current.is_some() && !is_used {
        findings.problem(
            section.place(),
            format!(
                "`{}` is read, and nothing of it is sent",
                section.path_of("current")
            ),
            Some("name what the service compares in the request of the update, such as `headers = { If-Match = \"{{ current.etag }}\" }`, or leave `current` out"),
        );
    }
}

/// Reads how one post is read; none if it is not there or has a problem.
pub(super) fn read_one(layers: &Layers<'_>, forms: &mut Forms<'_, '_>) -> Option<ReadForm> {
    let section = layers.section("read", forms.findings)?;
    section.refuse_unknown(
        &[
            "url", "query", "headers", "status", "body", "pointer", "equals", "contains", "gone",
            "shows",
        ],
        forms.findings,
    );
    let request = forms.request(&section, Scope::Target, Method::Get);
    let success = success_of(&section, forms.findings);
    let gone = read_gone(&section, forms.findings);
    let shows = read_shows(&section, forms);
    Some(ReadForm {
        request: request?,
        success: success?,
        gone: gone?,
        shows,
    })
}

/// A post that is taken down counts as gone only when that is seen.
pub(super) fn check_proof(
    layers: &Layers<'_>,
    retract: Option<&Operation>,
    read: Option<&ReadForm>,
    forms: &mut Forms<'_, '_>,
) {
    let Some(retract) = retract else { return };
    let says_so = |operation: &Operation| {
        let mut answers = operation.answers.iter();
        answers.any(|rule| rule.means == Meaning::Already)
    };
    // A `read` that has a problem was told of already.
    if read.is_none() && !layers.has("read") && !says_so(retract) {
        layers.missing(
            "read",
            "`retract` takes a post down, and nothing shows that it is gone: say how a post is read (`read = { url = \"…/{{ id }}\", status = 200, gone = { status = 404 } }`), or by which code a repeated `retract` is told that there is nothing left (an `answer` in it with `means = \"already\"`)",
            forms.findings,
        );
    }
}

/// Reads one test, or a list of them.
pub(super) fn read_gone(
    section: &Layers<'_>,
    findings: &mut Findings<'_>,
) -> Option<Vec<GoneTest>> {
    let Some(entry) = section.one_of(&["gone"], findings) else {
        section.missing("gone", GONE_HINT, findings);
        return None;
    };
    let tables = if entry.value.is_array() {
        section.tables("gone", findings)
    } else {
        section.section("gone", findings).into_iter().collect()
    };
    let tests: Option<Vec<GoneTest>> = tables
        .iter()
        .map(|table| read_gone_test(table, findings))
        .collect();
    tests.filter(|tests| !tests.is_empty())
}

fn read_gone_test(table: &Layers<'_>, findings: &mut Findings<'_>) -> Option<GoneTest> {
    table.refuse_unknown(&["status", "pointer", "equals", "contains"], findings);
    let given = table.read("status", findings, statuses);
    let place = given
        .as_ref()
        .map_or_else(|| table.place(), |given| given.place);
    let statuses = given.map(|given| given.value).unwrap_or_default();
    let condition = condition(table, findings);
    if statuses.is_empty() && condition.is_none() {
        if !table.has("status") && !table.has("pointer") {
            table.missing("status", GONE_HINT, findings);
        }
        return None;
    }
    let says_nothing = |status: &&u16| !matches!(**status, 404 | 410);
    if condition.is_none()
        && let Some(status) = statuses.iter().find(says_nothing)
    {
        findings.problem(
            place,
            format!(
                "`{}` has {status}, which does not say that a post is gone",
                table.path_of("status")
            ),
            Some("404 and 410 say it by themselves; beside any other, add a `pointer` to the code by which the service says so"),
        );
    }
    Some(GoneTest {
        statuses,
        condition,
    })
}

fn read_shows(section: &Layers<'_>, forms: &mut Forms<'_, '_>) -> Vec<(Pointer, String)> {
    super::lookup::pointed(section, "shows", Scope::Publish, forms)
}
