//! From TOML to a [`Declaration`], with every problem said at once.

use std::collections::BTreeMap;
use std::time::Duration;

use toml::de::DeValue;

use super::super::document::{Findings, Section, Wrong};
use super::super::suggest::closest;
use super::super::values::{duration, flag, number, text, variable, word};
use super::check::{Defined, Scope, names_key};
use super::later::{check_proof, read_one, read_operation};
use super::layers::Layers;
use super::lookup::read_lookup;
use super::parts::{
    NAME_HINT, condition, header_name, header_names, is_name, pointer, statuses, success_of,
};
use super::prepare::read_prepare;
use super::preset::{PRESETS, Preset};
use super::request::{self, Forms};
use super::{
    AnswerRule, Count, Declaration, IdempotencyKey, Meaning, Receipt, Source, Success, WaitSource,
};
use crate::model::channel::Policy;

const COUNTS: [(&str, Count); 6] = [
    ("graphemes", Count::Graphemes),
    ("code_points", Count::CodePoints),
    ("utf16", Count::Utf16),
    ("bytes", Count::Bytes),
    ("weibo", Count::Weibo),
    ("threads", Count::Threads),
];

const MEANINGS: [(&str, Meaning); 6] = [
    (Meaning::Refused.label(), Meaning::Refused),
    (Meaning::Retry.label(), Meaning::Retry),
    (Meaning::RateLimited.label(), Meaning::RateLimited),
    (Meaning::Credentials.label(), Meaning::Credentials),
    (Meaning::Exists.label(), Meaning::Exists),
    (Meaning::AcceptedLater.label(), Meaning::AcceptedLater),
];

/// What an answer to a later write may mean beside that.
pub(super) const LATER_MEANINGS: [(&str, Meaning); 7] = [
    (Meaning::Refused.label(), Meaning::Refused),
    (Meaning::Retry.label(), Meaning::Retry),
    (Meaning::RateLimited.label(), Meaning::RateLimited),
    (Meaning::Credentials.label(), Meaning::Credentials),
    (Meaning::Exists.label(), Meaning::Exists),
    (Meaning::AcceptedLater.label(), Meaning::AcceptedLater),
    (Meaning::Already.label(), Meaning::Already),
];

/// Only presets have these beside the keys of `http`: what a user writes in the channel's own table.
const PRESET_POLICIES: [(&str, Policy); 4] = [
    (Policy::AtLeastOnce.label(), Policy::AtLeastOnce),
    (Policy::Keyed.label(), Policy::Keyed),
    (Policy::Verified.label(), Policy::Verified),
    (Policy::AtMostOnce.label(), Policy::AtMostOnce),
];

/// Reads the declaration of a channel; none if it has a problem.
pub(in super::super) fn read(
    section: &Section<'_>,
    findings: &mut Findings<'_>,
) -> Option<Declaration> {
    let problems_before = findings.problems_count();
    let preset = section.read("preset", findings, preset_name);
    let place = preset.as_ref().map_or(section.place, |given| given.place);
    let preset = preset.map(|given| given.value);
    let tables = preset.map(Preset::tables);
    let preset_section = tables.as_ref().map(Section::root);
    let layers = Layers::new(section, preset_section, place);
    let declaration = read_layers(&layers, preset, findings);
    declaration.filter(|_| findings.problems_count() == problems_before)
}

fn preset_name(value: &DeValue<'_>) -> Result<Preset, Wrong> {
    let name = text(value)?;
    Preset::find(&name).ok_or_else(|| {
        let names = PRESETS.map(|preset| preset.name);
        let hint = match closest(&name, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the presets are {}", names.join(", ")),
        };
        Wrong::new(format!("is `{name}`, no preset"), hint)
    })
}

fn read_layers(
    layers: &Layers<'_>,
    preset: Option<Preset>,
    findings: &mut Findings<'_>,
) -> Option<Declaration> {
    let secrets: BTreeMap<String, String> = named(layers, "secrets", findings, variable)
        .into_iter()
        .collect();
    let values: BTreeMap<String, String> = named(layers, "values", findings, value_text)
        .into_iter()
        .collect();
    let needs = if preset.is_some() {
        named(layers, "needs", findings, text)
    } else {
        Vec::new()
    };
    let secret_names: Vec<&str> = secrets.keys().map(String::as_str).collect();
    let value_names: Vec<&str> = values.keys().map(String::as_str).collect();
    let value_list: Vec<(String, String)> = values.clone().into_iter().collect();
    let mut forms = Forms {
        defined: Defined {
            secrets: &secret_names,
            values: &value_names,
            needs: &needs,
            prepares: layers.has("prepare"),
            current: &[],
        },
        values: &value_list,
        findings,
    };
    let account = forms.template_at(layers, "account", Scope::Values);
    let limit = layers.read("limit", forms.findings, number::<usize>);
    let count = layers.read("count", forms.findings, |value| word(value, &COUNTS));
    let prepare = layers
        .section("prepare", forms.findings)
        .map(|section| read_prepare(&section, &mut forms));
    let (request, key) = read_request(layers, &mut forms);
    let success = read_success(layers, forms.findings);
    let receipt = read_receipt(layers, &mut forms);
    let answers = read_answers(layers, &MEANINGS, forms.findings);
    let lookup = layers
        .section("lookup", forms.findings)
        .map(|section| read_lookup(&section, &mut forms));
    let update = read_operation(layers, "update", Scope::Later, &mut forms);
    let retract = read_operation(layers, "retract", Scope::Target, &mut forms);
    let read = read_one(layers, &mut forms);
    check_proof(layers, retract.as_ref(), read.as_ref(), &mut forms);
    let headers = layers.read("rate_limit_headers", forms.findings, header_names);
    let repeat_harmless = layers.read("repeat_harmless", forms.findings, flag);
    let of_preset = preset.is_some();
    let findings = forms.findings;
    let policy = of_preset
        .then(|| layers.of_preset("policy", findings, |value| word(value, &PRESET_POLICIES)))
        .flatten();
    let interval = of_preset
        .then(|| layers.of_preset("interval", findings, duration))
        .flatten();
    let prepare = match prepare {
        Some(prepare) => Some(prepare?),
        None => None,
    };
    // A lookup that has a problem must not make a channel without one.
    let lookup = match lookup {
        Some(lookup) => Some(lookup?),
        None => None,
    };
    Some(Declaration {
        preset: preset.map(|preset| preset.name),
        account,
        limit: limit.map(|given| given.value),
        count: count.map_or(Count::Graphemes, |given| given.value),
        prepare,
        request: request?,
        key,
        success: success?,
        receipt: receipt?,
        answers,
        lookup,
        update,
        retract,
        read,
        rate_limit_headers: headers.map(|given| given.value).unwrap_or_default(),
        repeat_harmless: repeat_harmless.is_some_and(|given| given.value),
        policy,
        interval,
        redirect: None,
        secrets,
        values,
    })
}

/// Reads a table of names and texts.
fn named<T>(
    layers: &Layers<'_>,
    key: &'static str,
    findings: &mut Findings<'_>,
    read: impl Fn(&DeValue<'_>) -> Result<T, Wrong>,
) -> Vec<(String, T)> {
    let Some(section) = layers.section(key, findings) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (name, value, place) in section.entries() {
        let path = section.path_of(&name);
        if !is_name(&name) {
            let message = format!("`{path}` can't be named in a template");
            findings.problem(place, message, Some(NAME_HINT));
            continue;
        }
        match read(value) {
            Ok(value) => all.push((name, value)),
            Err(wrong) => findings.problem(
                place,
                format!("`{path}` {}", wrong.message),
                wrong.hint.as_deref(),
            ),
        }
    }
    all
}

/// A number may stand without quotes, such as a chat's id.
fn value_text(value: &DeValue<'_>) -> Result<String, Wrong> {
    match value.as_integer() {
        Some(integer) => Ok(integer.as_str().to_owned()),
        None => text(value),
    }
}

fn read_request(
    layers: &Layers<'_>,
    forms: &mut Forms<'_, '_>,
) -> (Option<super::RequestForm>, Option<IdempotencyKey>) {
    let Some(section) = layers.section("request", forms.findings) else {
        layers.missing(
            "request",
            "say what publishes a post: `[channels.NAME.request]` with `url` and a body, or start from a `preset`",
            forms.findings,
        );
        return (None, None);
    };
    section.refuse_unknown(
        &[request::KEYS.as_slice(), &["key_header", "key_lifetime"]].concat(),
        forms.findings,
    );
    let request = forms.request(&section, Scope::Publish, super::Method::Post);
    if let Some(request) = request
        .as_ref()
        .filter(|form| form.method == super::Method::Get)
    {
        forms.findings.problem(
            section.place(),
            format!(
                "`{}` is `{}`, which makes nothing",
                section.path_of("method"),
                request.method.label()
            ),
            Some("write `\"POST\"`, `\"PUT\"` or `\"PATCH\"`"),
        );
    }
    let header = section.read("key_header", forms.findings, header_name);
    let lifetime = section.read("key_lifetime", forms.findings, key_lifetime);
    let shows_key = request
        .as_ref()
        .is_none_or(|form| form.templates().into_iter().any(names_key));
    let key = match (header, lifetime) {
        (Some(header), lifetime) => Some(IdempotencyKey {
            header: Some(header.value),
            // What a service does not promise for ever it may forget at any time.
            lifetime: lifetime.map_or(Some(Duration::ZERO), |given| given.value),
        }),
        (None, Some(lifetime)) if shows_key => Some(IdempotencyKey {
            header: None,
            lifetime: lifetime.value,
        }),
        (None, Some(lifetime)) => {
            forms.findings.problem(
                lifetime.place,
                format!("`{}` is without a key", section.path_of("key_lifetime")),
                Some("name the header too, `key_header = \"Idempotency-Key\"`, or send `{{ key }}` where the service takes it"),
            );
            None
        }
        (None, None) => None,
    };
    (request, key)
}

fn key_lifetime(value: &DeValue<'_>) -> Result<Option<Duration>, Wrong> {
    if value.as_str() == Some("permanent") {
        return Ok(None);
    }
    duration(value).map(Some).map_err(|wrong| {
        Wrong::new(
            wrong.message,
            "write how long the service remembers a key, such as `\"24h\"`, or `\"permanent\"`",
        )
    })
}

fn read_success(layers: &Layers<'_>, findings: &mut Findings<'_>) -> Option<Success> {
    let Some(section) = layers.section("success", findings) else {
        layers.missing(
            "success",
            "say which answer means that the post is there: `success = { status = [201] }`",
            findings,
        );
        return None;
    };
    section.refuse_unknown(
        &["status", "body", "pointer", "equals", "contains"],
        findings,
    );
    success_of(&section, findings)
}

fn read_receipt(layers: &Layers<'_>, forms: &mut Forms<'_, '_>) -> Option<Receipt> {
    const HINT: &str = "say where the post's id is: `receipt = { id = \"/id\", url = \"/url\" }`; for a service that gives none write `receipt = \"none\"`";
    let Some(entry) = layers.one_of(&["receipt"], forms.findings) else {
        layers.missing("receipt", HINT, forms.findings);
        return None;
    };
    if let Some(word) = entry.value.as_str() {
        if word == "none" {
            return Some(Receipt::None);
        }
        forms.findings.problem(
            entry.place,
            format!(
                "`{}` is `{word}`, which is no known word",
                layers.path_of("receipt")
            ),
            Some(HINT),
        );
        return None;
    }
    let section = layers.section("receipt", forms.findings)?;
    section.refuse_unknown(
        &["id", "id_header", "url", "url_header", "url_template"],
        forms.findings,
    );
    let before = forms.findings.problems_count();
    let id = forms.source(&section, &["id", "id_header"]);
    let url = forms.source(&section, &["url", "url_header", "url_template"]);
    let from_id = matches!(url, Some(Source::Template(_)));
    if (id.is_none() && (url.is_none() || from_id)) && forms.findings.problems_count() == before {
        section.missing("id", HINT, forms.findings);
        return None;
    }
    Some(Receipt::Given { id, url })
}

/// Reads the list of what answers mean, by the words that may stand there.
pub(super) fn read_answers(
    layers: &Layers<'_>,
    meanings: &[(&'static str, Meaning)],
    findings: &mut Findings<'_>,
) -> Vec<AnswerRule> {
    let tables = layers.tables("answer", findings);
    tables
        .iter()
        .filter_map(|section| {
            section.refuse_unknown(
                &["status", "pointer", "equals", "contains", "means", "wait", "wait_pointer", "wait_header"],
                findings,
            );
            let given = section.read("status", findings, statuses);
            let condition = condition(section, findings);
            let means = section.read("means", findings, |value| word(value, meanings));
            let wait = read_wait(section, findings);
            if !section.has("means") {
                section.missing("means", "say what this answer means: `means = \"refused\"`, `\"retry\"`, `\"rate_limited\"`, `\"credentials\"`, `\"exists\"`, or `\"accepted_later\"`", findings);
            }
            if !section.has("status") && !section.has("pointer") {
                section.missing("status", "say which answer this is about: a `status`, or a `pointer` and what it `equals`", findings);
            }
            let means = means?.value;
            let given = given.map(|given| given.value).unwrap_or_default();
            if condition.is_none() && !may_stand_alone(means) && given.iter().any(|status| doubtful(*status)) {
                findings.problem(
                    section.place(),
                    format!("`{}` makes `{}` of a status that does not say whether anything was done", section.path_of("status"), means.label()),
                    Some("408, 409 and every 5xx are in doubt; add a `pointer` to a code by which the service says that nothing was done"),
                );
            }
            if condition.is_none() && !section.has("pointer") && means == Meaning::Already {
                findings.problem(
                    section.place(),
                    format!("`{}` makes `already` of a status alone", section.path_of("status")),
                    Some("a status does not say what there is nothing to do about: add a `pointer` to the code by which the service says so"),
                );
            }
            Some(AnswerRule { statuses: given, condition, means, wait })
        })
        .collect()
}

/// Whether a meaning claims nothing about what was not done.
const fn may_stand_alone(means: Meaning) -> bool {
    match means {
        Meaning::Exists => true,
        Meaning::Refused
        | Meaning::Retry
        | Meaning::RateLimited
        | Meaning::Credentials
        | Meaning::AcceptedLater
        | Meaning::Already => false,
    }
}

const fn doubtful(status: u16) -> bool {
    matches!(status, 408 | 409 | 500..=599)
}

fn read_wait(section: &Layers<'_>, findings: &mut Findings<'_>) -> Option<WaitSource> {
    let entry = section.one_of(&["wait", "wait_pointer", "wait_header"], findings)?;
    let source = |value: &DeValue<'_>| match entry.key {
        "wait" => duration(value).map(WaitSource::Constant),
        "wait_pointer" => pointer(value).map(WaitSource::Pointer),
        _ => header_name(value).map(WaitSource::Header),
    };
    section
        .take(entry, findings, source)
        .map(|given| given.value)
}
