//! The `lookup` of a declaration: how the account's own posts are read, and what a list proves.

use super::super::document::Findings;
use super::super::values::{number, word};
use super::check::{self, Scope};
use super::layers::Layers;
use super::parts::{POINTER_HINT, condition, pointer, pointers, success_of};
use super::request::Forms;
use super::{Covers, LookupForm, Method, Pointer};

/// Reads a lookup; none if it has a problem.
pub(super) fn read_lookup(section: &Layers<'_>, forms: &mut Forms<'_, '_>) -> Option<LookupForm> {
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
            "list",
            "match_url",
            "match_text",
            "match_key",
            "only",
            "id",
            "post_url",
            "post_url_template",
            "time",
            "covers",
            "page_size",
            "whole",
        ],
        forms.findings,
    );
    let request = forms.request(section, Scope::Lookup, Method::Get);
    let success = success_of(section, forms.findings);
    let findings = &mut *forms.findings;
    let list = section.read("list", findings, pointer);
    let mut places = |key| {
        section
            .read(key, findings, pointers)
            .map(|given| given.value)
            .unwrap_or_default()
    };
    let (match_url, match_text, match_key) = (
        places("match_url"),
        places("match_text"),
        places("match_key"),
    );
    let id = section.read("id", findings, pointer);
    let time = section.read("time", findings, pointer);
    for (key, hint) in [
        (
            "list",
            "say where the list of posts is: `list = \"/posts\"`, or `\"\"` if the answer is the list",
        ),
        ("id", "say where a post's id is: `id = \"/id\"`"),
    ] {
        if !section.has(key) {
            section.missing(key, hint, findings);
        }
    }
    if !section.has("match_url") && !section.has("match_text") && !section.has("match_key") {
        section.missing("match_url", "say by what a post is known as ours: `match_url` (an address), `match_text` (a text with the address in it), or `match_key`", findings);
    }
    let url = forms.source(section, &["post_url", "post_url_template"]);
    let only = pointed(section, "only", Scope::Values, forms);
    let covers = read_covers(section, time.is_some(), forms.findings);
    let request = request?;
    let lists = !request
        .templates()
        .into_iter()
        .flat_map(check::variables)
        .any(|name| matches!(name.as_str(), "url" | "title" | "slug" | "key"));
    Some(LookupForm {
        // A list that shows keys alone says nothing of articles.
        lists: lists && !(match_url.is_empty() && match_text.is_empty()),
        request,
        success: success?,
        list: list?.value,
        match_url,
        match_text,
        match_key,
        only,
        id: id?.value,
        url,
        time: time.map(|given| given.value),
        covers: covers?,
    })
}

/// Reads a table of pointers and templates of what must stand there.
pub(super) fn pointed(
    section: &Layers<'_>,
    key: &'static str,
    scope: Scope,
    forms: &mut Forms<'_, '_>,
) -> Vec<(Pointer, String)> {
    let Some(only) = section.section(key, forms.findings) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (key, value, place) in only.entries() {
        let path = only.path_of(&key);
        let template = forms.template(&path, value, place, scope);
        match Pointer::parse(&key) {
            Some(pointer) => all.extend(template.map(|template| (pointer, template))),
            None => forms.findings.problem(
                place,
                format!("`{path}` is no JSON pointer"),
                Some(POINTER_HINT),
            ),
        }
    }
    all
}

/// A list that may not reach back far enough proves nothing: how far it reaches must be said.
fn read_covers(
    section: &Layers<'_>,
    has_time: bool,
    findings: &mut Findings<'_>,
) -> Option<Covers> {
    const WORDS: [(&str, bool); 2] = [("all", true), ("older", false)];
    const HINT: &str = "say how one knows that the list reaches back past a post: `covers = \"all\"` (it always does), or `covers = \"older\"` with `time` (an older post shows it), `page_size` (a shorter list is whole), or `whole`";
    let covers = section.read("covers", findings, |value| word(value, &WORDS));
    let page_size = section
        .read("page_size", findings, number::<usize>)
        .map(|given| given.value);
    let whole = section.section("whole", findings).and_then(|whole| {
        whole.refuse_unknown(&["pointer", "equals", "contains"], findings);
        condition(&whole, findings)
    });
    if covers.is_none() && !section.has("covers") {
        section.missing("covers", HINT, findings);
    }
    let covers = covers?;
    if !covers.value && !has_time && page_size.is_none() && whole.is_none() {
        findings.problem(
            covers.place,
            format!(
                "`{}` is `older`, and nothing says what is older",
                section.path_of("covers")
            ),
            Some(HINT),
        );
        return None;
    }
    Some(Covers {
        always: covers.value,
        page_size,
        whole,
    })
}
