//! The `prepare` of a declaration: a first request, which makes what the publishing one names.

use super::check::Scope;
use super::layers::Layers;
use super::parts::{condition, success_of};
use super::request::{self, Forms};
use super::{Method, PrepareForm, ReadyForm};

/// Reads a preparation; none if it has a problem.
pub(super) fn read_prepare(section: &Layers<'_>, forms: &mut Forms<'_, '_>) -> Option<PrepareForm> {
    let more = [
        "status",
        "body",
        "pointer",
        "equals",
        "contains",
        "id",
        "id_header",
        "ready",
    ];
    section.refuse_unknown(
        &[request::KEYS.as_slice(), more.as_slice()].concat(),
        forms.findings,
    );
    let before = forms.findings.problems_count();
    let request = forms.request(section, Scope::Prepare, Method::Post);
    let success = success_of(section, forms.findings);
    let id = forms.source(section, &["id", "id_header"]);
    if id.is_none() && forms.findings.problems_count() == before {
        section.missing(
            "id",
            "say where the id of what was made is: `id = \"/id\"`",
            forms.findings,
        );
    }
    let ready = section
        .section("ready", forms.findings)
        .map(|section| read_ready(&section, forms));
    // One that has a problem must not make a preparation without one.
    let ready = match ready {
        Some(ready) => Some(ready?),
        None => None,
    };
    Some(PrepareForm {
        request: request?,
        success: success?,
        id: id?,
        ready,
    })
}

fn read_ready(section: &Layers<'_>, forms: &mut Forms<'_, '_>) -> Option<ReadyForm> {
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
            "failed",
            "published",
        ],
        forms.findings,
    );
    let request = forms.request(section, Scope::Ready, Method::Get);
    let success = success_of(section, forms.findings);
    let mut told = |key| {
        section.section(key, forms.findings).and_then(|told| {
            told.refuse_unknown(&["pointer", "equals", "contains"], forms.findings);
            condition(&told, forms.findings)
        })
    };
    let (failed, published) = (told("failed"), told("published"));
    Some(ReadyForm {
        request: request?,
        success: success?,
        failed,
        published,
    })
}
