//! The templates of a declaration: what they may name, and that they can be read.

use std::collections::BTreeSet;
use std::sync::Arc;

use minijinja::{Environment, ErrorKind, Value, context};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::super::document::LACKING;
use super::super::fields::{FRONT_MATTER, front_matter};
use super::super::suggest::closest;
use super::super::template;
use super::jwt;

/// What a request may show of an article.
pub const ARTICLE_VARIABLES: [&str; 11] = [
    "text",
    "title",
    "url",
    "description",
    "tags",
    "hashtags",
    "body",
    "date",
    "language",
    "slug",
    FRONT_MATTER,
];

/// What a template may name, beside `value.NAME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The article, `now` for a token, and secrets.
    Prepare,
    /// `prepared`, `now`, and secrets.
    Ready,
    /// The article, `key`, `now` for a token, secrets, and `prepared` if something was.
    Publish,
    /// The same, and `id` and `remote_url` of the post.
    Later,
    /// `id` and `remote_url` of the post, the article's `url`, `key`, `now`, and secrets.
    Target,
    /// `url`, `title`, `slug`, `key`, `now`, `since`, and secrets.
    Lookup,
    /// `id`.
    Receipt,
    /// Nothing more.
    Values,
}

impl Scope {
    fn names(self) -> Vec<&'static str> {
        match self {
            Self::Prepare => [ARTICLE_VARIABLES.as_slice(), &["now"]].concat(),
            Self::Ready => vec!["prepared", "now"],
            Self::Publish => [ARTICLE_VARIABLES.as_slice(), &["key", "now"]].concat(),
            Self::Later => [
                ARTICLE_VARIABLES.as_slice(),
                &["key", "now", "id", "remote_url"],
            ]
            .concat(),
            Self::Target => vec!["id", "remote_url", "url", "key", "now"],
            Self::Lookup => vec!["url", "title", "slug", "key", "now", "since"],
            Self::Receipt => vec!["id"],
            Self::Values => Vec::new(),
        }
    }

    const fn takes_secrets(self) -> bool {
        match self {
            Self::Prepare
            | Self::Ready
            | Self::Publish
            | Self::Later
            | Self::Target
            | Self::Lookup => true,
            // What comes out is kept in rows.
            Self::Receipt | Self::Values => false,
        }
    }
}

/// What the declaration defines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defined<'a> {
    pub(super) secrets: &'a [&'a str],
    pub(super) values: &'a [&'a str],
    /// What the preset says of values that the user must give.
    pub(super) needs: &'a [(String, String)],
    /// There is a `prepare`.
    pub(super) prepares: bool,
    /// What is read of a post before it is changed.
    pub(super) current: &'a [&'a str],
}

/// What is wrong with a template, and what to do.
pub(super) type Trouble = (String, String);

/// Returns the engine of `template`, with the filters that requests need.
pub fn environment() -> Environment<'static> {
    let mut environment = template::environment();
    environment.add_filter("backslash", backslash);
    environment.add_filter("html", |text: String| html(&text));
    environment.add_filter("base64", |text: String| base64(text.as_bytes()));
    environment.add_filter(jwt::FILTER, jwt::jwt_hs256);
    environment.add_filter("urlencode", |text: String| {
        utf8_percent_encode(&text, NON_ALPHANUMERIC).to_string()
    });
    environment
}

/// Whether a template shows the idempotency key. One that can't be read shows nothing.
pub(super) fn names_key(source: &str) -> bool {
    environment()
        .template_from_str(source)
        .is_ok_and(|parsed| parsed.undeclared_variables(false).contains("key"))
}

/// Checks one template.
pub(super) fn check(source: &str, scope: Scope, defined: Defined<'_>) -> Result<(), Trouble> {
    let environment = environment();
    let parsed = environment
        .template_from_str(source)
        .map_err(|error| unreadable(&error))?;
    let mut names: Vec<String> = parsed
        .undeclared_variables(true)
        .into_iter()
        .filter(|name| environment.globals().all(|(global, _)| global != name))
        .collect();
    names.sort();
    for name in names {
        check_name(&name, scope, defined)?;
        // A request that is repeated must be the same: only what proves who asks may tell the time.
        if name == "now" && !source.contains(jwt::FILTER) {
            return Err((
                "names `now`, which is for tokens only".to_owned(),
                format!(
                    "write `{{{{ secret.NAME | {}(now) }}}}`, or leave it out",
                    jwt::FILTER
                ),
            ));
        }
    }
    // Filters are looked up only when a template runs.
    match parsed.render(sample(defined)) {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::UnknownFilter
                    | ErrorKind::UnknownTest
                    | ErrorKind::UnknownFunction
                    | ErrorKind::UnknownMethod
                    | ErrorKind::TooManyArguments
                    | ErrorKind::MissingArgument
            ) =>
        {
            Err(unreadable(&error))
        }
        // The made-up key is none; that is not the template's fault.
        Err(error)
            if error.kind() == ErrorKind::InvalidOperation
                && source.contains(jwt::FILTER)
                && error.detail() != Some(jwt::NO_KEY) =>
        {
            Err(unreadable(&error))
        }
        // Anything else may be right for articles that are not like the sample.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Renders a template with made-up values, to see what sort of address comes out.
pub(super) fn rendered_sample(source: &str, values: &[(String, String)]) -> Option<String> {
    let names: Vec<&str> = Vec::new();
    let sample = sample(Defined {
        secrets: &names,
        values: &names,
        needs: &[],
        prepares: true,
        current: &names,
    });
    let given = Value::from_pairs(
        values
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    let context = context! {
        value => given, secret => SampleSecret::value(), current => SampleSecret::value(), ..sample
    };
    environment().render_str(source, context).ok()
}

/// Returns the variables of a template, `secret.x` as a whole.
pub fn variables(source: &str) -> Vec<String> {
    environment()
        .template_from_str(source)
        .map(|parsed| parsed.undeclared_variables(true).into_iter().collect())
        .unwrap_or_default()
}

fn check_name(name: &str, scope: Scope, defined: Defined<'_>) -> Result<(), Trouble> {
    let (root, field) = name.split_once('.').unwrap_or((name, ""));
    match root {
        "secret" if !scope.takes_secrets() => Err((
            "names a secret, and what comes out is kept".to_owned(),
            "use `value.NAME` for what may be seen".to_owned(),
        )),
        "secret" => check_field("secret", field, "secrets", defined.secrets, None),
        "value" => {
            let need = defined.needs.iter().find(|(known, _)| known == field);
            check_field(
                "value",
                field,
                "values",
                defined.values,
                need.map(|(_, need)| need.as_str()),
            )
        }
        "current" if scope == Scope::Later => check_field(
            "current",
            field,
            "update.current.values",
            defined.current,
            None,
        ),
        _ => {
            let mut names = scope.names();
            if scope == Scope::Publish && defined.prepares {
                names.push("prepared");
            }
            if names.contains(&root) {
                return Ok(());
            }
            let hint = match closest(root, &names) {
                Some(near) => format!("did you mean `{near}`?"),
                None if names.is_empty() => "only `value.NAME` can stand here".to_owned(),
                None => format!("the variables here are {}", names.join(", ")),
            };
            Err((format!("names `{root}`, which is not there"), hint))
        }
    }
}

fn check_field(
    root: &str,
    field: &str,
    table: &str,
    known: &[&str],
    need: Option<&str>,
) -> Result<(), Trouble> {
    if field.is_empty() {
        return Err((
            format!("names `{root}` without saying which"),
            format!("write `{root}.NAME`, with NAME a key of `{table}`"),
        ));
    }
    if known.contains(&field) {
        return Ok(());
    }
    let hint = match (need, closest(field, known)) {
        (Some(need), _) => format!("write `{table}.{field} = \"…\"`: {need}"),
        (None, Some(near)) => format!("did you mean `{root}.{near}`?"),
        (None, None) if root == "secret" => {
            format!("name the environment variable: `{table}.{field} = \"VARIABLE\"`")
        }
        (None, None) if root == "current" => format!(
            "say what is read of the post before: `update.current` with `url`, `status`, and `values.{field} = \"/…\"` or `values_header.{field} = \"…\"`"
        ),
        (None, None) => format!("write `{table}.{field} = \"…\"`"),
    };
    Err((
        format!("names `{root}.{field}`{LACKING}`{table}.{field}`"),
        hint,
    ))
}

fn unreadable(error: &minijinja::Error) -> Trouble {
    let what = error
        .detail()
        .map_or_else(|| error.kind().to_string(), str::to_owned);
    (
        format!("is no template: {what}"),
        "write it like `{{ text }}` or `{{ title | upper }}`".to_owned(),
    )
}

fn sample(defined: Defined<'_>) -> Value {
    let named =
        |names: &[&str]| -> Value { Value::from_pairs(names.iter().map(|name| (*name, "x"))) };
    context! {
        text => "t", title => "t", url => "https://blog.example/a", description => "d", tags => ["a"],
        hashtags => "#a", body => "b", date => "2026-01-01", language => "en", slug => "a", key => "so1-0",
        id => "1", remote_url => "https://service.example/1", since => 0, now => 0, prepared => "1",
        front_matter => front_matter(&Arc::default()),
        secret => named(defined.secrets), value => named(defined.values), current => named(defined.current),
    }
}

/// Stands for every secret at once, and for all that is read of a post.
#[derive(Debug)]
struct SampleSecret;

impl SampleSecret {
    fn value() -> Value {
        Value::from_object(Self)
    }
}

impl minijinja::value::Object for SampleSecret {
    fn get_value(self: &Arc<Self>, _key: &Value) -> Option<Value> {
        Some(Value::from("x"))
    }
}

/// Puts a backslash before each of some characters, as formats of chat services need.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine passes its arguments by value"
)]
fn backslash(text: String, signs: String) -> String {
    let signs: BTreeSet<char> = signs.chars().collect();
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        if signs.contains(&sign) {
            escaped.push('\\');
        }
        escaped.push(sign);
    }
    escaped
}

/// Writes a text so that HTML shows it as it is. The engine's own `escape` writes every `/` of an address as a number.
fn html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// Encodes bytes in Base64, for `Authorization: Basic`.
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut group = [0_u8; 3];
        for (place, byte) in group.iter_mut().zip(chunk) {
            *place = *byte;
        }
        let [one, two, three] = group.map(usize::from);
        let sixes = [
            one >> 2,
            (one & 3) << 4 | two >> 4,
            (two & 15) << 2 | three >> 6,
            three & 63,
        ];
        for (index, six) in sixes.into_iter().enumerate() {
            let digit = DIGITS.get(six).copied().unwrap_or(b'=');
            text.push(if index <= chunk.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(source: &str, scope: Scope) -> String {
        let needs = [("chat".to_owned(), "the chat".to_owned())];
        let defined = Defined {
            secrets: &["token"],
            values: &["server"],
            needs: &needs,
            prepares: false,
            current: &["etag"],
        };
        match check(source, scope, defined) {
            Ok(()) => "ok".to_owned(),
            Err((message, hint)) => format!("{message}|{hint}"),
        }
    }

    #[test]
    fn a_template_names_what_its_place_knows() {
        let publish = |source: &str| check_text(source, Scope::Publish);
        assert_eq!(
            publish("{{ text }} {{ secret.token }} {{ value.server }} {{ key }}"),
            "ok"
        );
        assert_eq!(
            publish("{{ (secret.token ~ ':') | base64 }}{{ text | backslash('*_') }}"),
            "ok"
        );
        assert_eq!(publish("{{ secret.token | jwt_hs256(now) }}"), "ok");
        assert_eq!(check_text("{{ current.etag }}", Scope::Later), "ok");
        insta::assert_snapshot!(
            [
                publish("{{ txt }}"),
                publish("{{ text"),
                publish("{{ text | no_such }}"),
                publish("{{ secret }}"),
                publish("{{ secret.tokn }}"),
                publish("{{ secret.other }}"),
                publish("{{ value.chat }}"),
                publish("{{ value.x }}"),
                publish("{{ id }}"),
                publish("{{ now }}"),
                publish("{{ secret.token | jwt_hs256(now, audiance='x') }}"),
                publish("{{ secret.token | jwt_hs256(now, lifetime='x') }}"),
                publish("{{ secret.token | jwt_hs256 }}{{ now }}"),
                publish("{{ current.etag }}"),
                check_text("{{ current.etagg }}", Scope::Later),
                check_text("{{ current }}", Scope::Later),
                check_text("{{ secret.token }}", Scope::Receipt),
                check_text("{{ text }}", Scope::Lookup),
                check_text("{{ text }}", Scope::Values),
            ]
            .join("\n"),
            @r#"
        names `txt`, which is not there|did you mean `text`?
        is no template: unexpected end of input, expected end of variable block|write it like `{{ text }}` or `{{ title | upper }}`
        is no template: filter no_such is unknown|write it like `{{ text }}` or `{{ title | upper }}`
        names `secret` without saying which|write `secret.NAME`, with NAME a key of `secrets`
        names `secret.tokn`, and there is no `secrets.tokn`|did you mean `secret.token`?
        names `secret.other`, and there is no `secrets.other`|name the environment variable: `secrets.other = "VARIABLE"`
        names `value.chat`, and there is no `values.chat`|write `values.chat = "…"`: the chat
        names `value.x`, and there is no `values.x`|write `values.x = "…"`
        names `id`, which is not there|the variables here are text, title, url, description, tags, hashtags, body, date, language, slug, front_matter, key, now
        names `now`, which is for tokens only|write `{{ secret.NAME | jwt_hs256(now) }}`, or leave it out
        is no template: unknown keyword argument 'audiance'|write it like `{{ text }}` or `{{ title | upper }}`
        is no template: cannot convert string to i64|write it like `{{ text }}` or `{{ title | upper }}`
        is no template: missing argument|write it like `{{ text }}` or `{{ title | upper }}`
        names `current`, which is not there|the variables here are text, title, url, description, tags, hashtags, body, date, language, slug, front_matter, key, now
        names `current.etagg`, and there is no `update.current.values.etagg`|did you mean `current.etag`?
        names `current` without saying which|write `current.NAME`, with NAME a key of `update.current.values`
        names a secret, and what comes out is kept|use `value.NAME` for what may be seen
        names `text`, which is not there|the variables here are url, title, slug, key, now, since
        names `text`, which is not there|only `value.NAME` can stand here
        "#
        );
    }

    #[test]
    fn filters_for_requests() {
        for (bytes, text) in [
            ("", ""),
            ("a", "YQ=="),
            ("ab", "YWI="),
            ("abc", "YWJj"),
            ("user:pass", "dXNlcjpwYXNz"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(html("a/<b> & \"c\""), "a/&lt;b&gt; &amp; &quot;c&quot;");
        assert_eq!(base64(&[0xff, 0xfe, 0xfd]), "//79");
        assert_eq!(backslash("a*b\\".to_owned(), "*\\".to_owned()), r"a\*b\\");
    }
}
