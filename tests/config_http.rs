//! What the loader says about declarations: every problem with its line, the key, and what to do.

use std::path::Path;

use sayonce::config::Config;
use sayonce::config::http::{PRESETS, Receipt};

const RIGHT: &str = r#"secrets = { token = "TOKEN" }
request = { url = "https://own.example/posts", json = { text = "{{ text }}" } }
success = { status = 201 }
receipt = { id = "/id" }"#;

/// Returns the problems and warnings of a channel's lines; the first of them is line 6.
fn check(lines: &str) -> String {
    let text = format!(
        "[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n[channels.own]\nkind = \"http\"\n{lines}\n"
    );
    match Config::parse(Path::new("sayonce.toml"), &text) {
        Ok(config) => format!("ok {}", config.warnings.join("\n")),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_empty_declaration_is_told_all_that_it_needs() {
    insta::assert_snapshot!(check(""), @r#"
    sayonce.toml:4: `channels.own.request` is missing
      hint: say what publishes a post: `[channels.NAME.request]` with `url` and a body, or start from a `preset`
    sayonce.toml:4: `channels.own.success` is missing
      hint: say which answer means that the post is there: `success = { status = [201] }`
    sayonce.toml:4: `channels.own.receipt` is missing
      hint: say where the post's id is: `receipt = { id = "/id", url = "/url" }`; for a service that gives none write `receipt = "none"`
    "#);
    assert_eq!(check(RIGHT), "ok ");
}

#[test]
fn what_a_preset_needs_in_many_places_is_asked_for_once() {
    insta::assert_snapshot!(check("preset = \"threads\""), @r#"
    sayonce.toml:4: `channels.own.account` names `value.user`, and there is no `values.user`
      hint: write `values.user = "…"`: the account's number, the `id` that `https://graph.threads.net/v1.0/me?fields=id&access_token=…` answers
    "#);
}

#[test]
fn unknown_keys_are_refused_at_every_depth() {
    insta::assert_snapshot!(check(r#"
reciept = "none"
token = "abc"
request = { url = "https://own.example/", hedaers = {}, json = {}, form = {} }
success = { status = 201, statuses = 1 }
receipt = { id = "/id", link = "/x" }
lookup = { url = "https://own.example/", status = 200, list = "", id = "/id", match_url = "/u", covers = "all", sort = "x" }
retract = { url = "https://own.example/", status = 200, bdy = "" }
read = { url = "https://own.example/", status = 200, gone = { status = 404, after = "" }, show = {} }
[[channels.own.answer]]
status = 429
means = "rate_limited"
after = "3s"
"#), @r#"
    sayonce.toml:7: `channels.own.reciept` is not a known key
      hint: did you mean `receipt`?
    sayonce.toml:8: `channels.own.token` is not a known key
      hint: secrets never stand in this file: name an environment variable with `secrets = { token = "VARIABLE" }`, and replace the secret if it was committed
    sayonce.toml:9: `channels.own.request.hedaers` is not a known key
      hint: did you mean `headers`?
    sayonce.toml:9: `channels.own.request.form` stands beside `json`
      hint: write one of json, form, multipart
    sayonce.toml:10: `channels.own.success.statuses` is not a known key
      hint: did you mean `status`?
    sayonce.toml:11: `channels.own.receipt.link` is not a known key
      hint: the keys here are id, id_header, url, url_header, url_template
    sayonce.toml:12: `channels.own.lookup.sort` is not a known key
      hint: the keys here are url, query, headers, status, body, pointer, equals, contains, list, match_url, match_text, match_key, only, id, post_url, post_url_template, time, covers, page_size, whole
    sayonce.toml:13: `channels.own.retract.bdy` is not a known key
      hint: did you mean `body`?
    sayonce.toml:14: `channels.own.read.gone.after` is not a known key
      hint: the keys here are status, pointer, equals, contains
    sayonce.toml:14: `channels.own.read.show` is not a known key
      hint: did you mean `shows`?
    sayonce.toml:18: `channels.own.answer[0].after` is not a known key
      hint: the keys here are status, pointer, equals, contains, means, wait, wait_pointer, wait_header
    "#);
}

#[test]
fn templates_are_checked_where_they_stand() {
    insta::assert_snapshot!(check(r#"
secrets = { token = "TOKEN" }
values = { server = "https://own.example" }
account = "{{ secret.token }}"
success = { status = 201 }
receipt = { id = "/id", url_template = "{{ text }}" }
[channels.own.request]
url = "{{ value.sever }}/posts"
headers = { Authorization = "Bearer {{ secret.tokn }}", "X Y" = "1" }
json = { text = "{{ txt }}", deep = [{ x = "{{ id }}" }], title = "{{ title", y = "{{ title | nofilter }}" }
"#), @r#"
    sayonce.toml:9: `channels.own.account` names a secret, and what comes out is kept
      hint: use `value.NAME` for what may be seen
    sayonce.toml:11: `channels.own.receipt.url_template` names `text`, which is not there
      hint: the variables here are id
    sayonce.toml:13: `channels.own.request.url` names `value.sever`, and there is no `values.sever`
      hint: did you mean `value.server`?
    sayonce.toml:14: `channels.own.request.headers.Authorization` names `secret.tokn`, and there is no `secrets.tokn`
      hint: did you mean `secret.token`?
    sayonce.toml:14: `channels.own.request.headers.X Y` is `X Y`, no name of a header
      hint: write it without colon and spaces, such as `"Idempotency-Key"`
    sayonce.toml:15: `channels.own.request.json.text` names `txt`, which is not there
      hint: did you mean `text`?
    sayonce.toml:15: `channels.own.request.json.deep[0].x` names `id`, which is not there
      hint: the variables here are text, title, url, description, tags, hashtags, body, date, language, slug, front_matter, key, now
    sayonce.toml:15: `channels.own.request.json.title` is no template: unexpected end of input, expected end of variable block
      hint: write it like `{{ text }}` or `{{ title | upper }}`
    sayonce.toml:15: `channels.own.request.json.y` is no template: filter nofilter is unknown
      hint: write it like `{{ text }}` or `{{ title | upper }}`
    "#);
}

#[test]
fn pointers_statuses_and_words_are_checked() {
    insta::assert_snapshot!(check(r#"
request = { url = "https://own.example/", method = "GET" }
success = { status = [201, 404], pointer = "ok" }
receipt = { id = "$.id" }
count = "letters"
limit = "many"
[[channels.own.answer]]
status = 99
means = "declined"
[[channels.own.answer]]
means = "refused"
[[channels.own.answer]]
status = 400
pointer = "/error"
means = "refused"
[[channels.own.answer]]
status = 400
contains = "x"
means = "refused"
wait = "30"
[[channels.own.answer]]
status = 500
means = "refused"
[[channels.own.answer]]
pointer = "/error"
contains = []
means = "refused"
[[channels.own.answer]]
pointer = "/error"
contains = ["gone", "", 3]
means = "refused"
"#), @r#"
    sayonce.toml:7: `channels.own.request.method` is `GET`, which is no known word
      hint: write one of POST, PUT, PATCH, DELETE
    sayonce.toml:8: `channels.own.success.status` has 404, which is no success
      hint: a success is 200 to 299; what others mean goes into `answer`
    sayonce.toml:8: `channels.own.success.pointer` is `ok`, no JSON pointer
      hint: write a JSON pointer: `/` before each name, such as `"/result/message_id"`, or `""` for the whole
    sayonce.toml:9: `channels.own.receipt.id` is `$.id`, no JSON pointer
      hint: write a JSON pointer: `/` before each name, such as `"/result/message_id"`, or `""` for the whole
    sayonce.toml:10: `channels.own.count` is `letters`, which is no known word
      hint: write one of graphemes, code_points, utf16, bytes, weibo, threads
    sayonce.toml:11: `channels.own.limit` is a string, not a number
      hint: write a whole number, without quotes
    sayonce.toml:13: `channels.own.answer[0].status` has 99, no status of an answer
      hint: a status is 200 to 599
    sayonce.toml:14: `channels.own.answer[0].means` is `declined`, which is no known word
      hint: write one of refused, retry, rate_limited, credentials, exists, accepted_later
    sayonce.toml:15: `channels.own.answer[1].status` is missing
      hint: say which answer this is about: a `status`, or a `pointer` and what it `equals`
    sayonce.toml:19: `channels.own.answer[2].pointer` says a place and not what must be there
      hint: add `equals = …` or `contains = "…"` (a list: any of them)
    sayonce.toml:23: `channels.own.answer[3].contains` is without a place
      hint: add `pointer = "/…"`
    sayonce.toml:25: `channels.own.answer[3].wait` is `30`, no duration
      hint: write an integer with `ms`, `s`, `m`, `h` or `d` in quotes, such as `"75s"`
    sayonce.toml:26: `channels.own.answer[4].status` makes `refused` of a status that does not say whether anything was done
      hint: 408, 409 and every 5xx are in doubt; add a `pointer` to a code by which the service says that nothing was done
    sayonce.toml:31: `channels.own.answer[5].contains` is an empty list, in which nothing can be found
      hint: write a text, or a list of texts of which any will do
    sayonce.toml:35: `channels.own.answer[6].contains` is empty
      hint: give it a value or remove the key
    "#);
}

#[test]
fn plain_http_is_for_this_machine_only() {
    let at = |url: &str| {
        check(&format!(
            "values = {{ host = \"own.example\" }}\nrequest = {{ url = \"{url}\" }}\nsuccess = {{ status = 201 }}\nreceipt = \"none\""
        ))
    };
    insta::assert_snapshot!(
        [
            at("http://own.example/posts"),
            at("http://{{ value.host }}/posts"),
            at("own.example/posts"),
            at("https://me:pass@own.example/posts"),
        ]
        .join("\n"),
        @r#"
    sayonce.toml:7: `channels.own.request.url` is a plain `http` address
      hint: write `https`; `http` is accepted for this machine only (127.0.0.0/8, ::1, localhost)
    sayonce.toml:7: `channels.own.request.url` is a plain `http` address
      hint: write `https`; `http` is accepted for this machine only (127.0.0.0/8, ::1, localhost)
    sayonce.toml:7: `channels.own.request.url` is not an absolute http or https address
      hint: write an absolute address, such as `"https://blog.example"`
    sayonce.toml:7: `channels.own.request.url` has a user name or password in it
      hint: remove it: secrets are named by environment variable
    "#
    );
    for fine in [
        "http://127.0.0.1:8000/posts",
        "http://localhost/{{ slug }}",
        "https://{{ value.host }}/",
    ] {
        assert_eq!(at(fine), "ok ", "{fine}");
    }
}

#[test]
fn a_policy_is_refused_that_the_declaration_cannot_carry() {
    let with = |policy: &str| check(&format!("policy = \"{policy}\"\n{RIGHT}"));
    insta::assert_snapshot!([with("verified"), with("keyed"), with("at_least_once"), with("at_most_once")].join("\n"), @r#"
    sayonce.toml:6: `channels.own.policy` is `verified`, which this declaration can't carry: it has no `lookup`
      hint: this declaration carries `at_most_once`
    sayonce.toml:6: `channels.own.policy` is `keyed`, which this declaration can't carry: nothing in `request` says `key_lifetime = "permanent"`
      hint: this declaration carries `at_most_once`
    sayonce.toml:6: `channels.own.policy` is `at_least_once`, which this declaration can't carry: nothing says `repeat_harmless = true`, and a post that is sent again stands there twice
      hint: this declaration carries `at_most_once`
    ok
    "#);
    // A key that is forgotten carries nothing.
    let day = "policy = \"keyed\"\nrequest = { url = \"https://own.example/\", key_header = \"Idempotency-Key\", key_lifetime = \"24h\" }\nsuccess = { status = 201 }\nreceipt = \"none\"";
    assert!(
        check(day).contains("which this declaration can't carry"),
        "{}",
        check(day)
    );
    let ever = day.replace("24h", "permanent");
    assert_eq!(check(&ever), "ok ");
    // An id that the client chooses is a key, wherever it stands; without one there is none.
    let chosen = ever.replace("key_header = \"Idempotency-Key\"", "method = \"PUT\"");
    assert_eq!(
        check(&chosen.replace("own.example/", "own.example/posts/{{ key }}")),
        "ok "
    );
    insta::assert_snapshot!(check(&chosen), @r#"
    sayonce.toml:7: `channels.own.request.key_lifetime` is without a key
      hint: name the header too, `key_header = "Idempotency-Key"`, or send `{{ key }}` where the service takes it
    "#);
    assert_eq!(
        check(
            &day.replace("keyed", "at_least_once")
                .replace("request", "repeat_harmless = true\nrequest")
        ),
        "ok "
    );
}

#[test]
fn a_lookup_must_say_how_far_it_reaches_and_by_what_a_post_is_known() {
    let with = |lookup: &str| check(&format!("{RIGHT}\nlookup = {{ {lookup} }}"));
    insta::assert_snapshot!(
        [
            with("url = \"https://own.example/\""),
            with("url = \"https://own.example/{{ text }}\", status = 200, list = \"\", id = \"/id\", match_url = \"/u\", covers = \"all\""),
            with("url = \"https://own.example/\", status = 200, list = \"\", id = \"/id\", match_url = [\"/u\", \"v\"], covers = \"older\""),
        ]
        .join("\n---\n"),
        @r#"
    sayonce.toml:10: `channels.own.lookup.status` is missing
      hint: write the statuses that accept, such as `status = [200, 201]`
    sayonce.toml:10: `channels.own.lookup.list` is missing
      hint: say where the list of posts is: `list = "/posts"`, or `""` if the answer is the list
    sayonce.toml:10: `channels.own.lookup.id` is missing
      hint: say where a post's id is: `id = "/id"`
    sayonce.toml:10: `channels.own.lookup.match_url` is missing
      hint: say by what a post is known as ours: `match_url` (an address), `match_text` (a text with the address in it), or `match_key`
    sayonce.toml:10: `channels.own.lookup.covers` is missing
      hint: say how one knows that the list reaches back past a post: `covers = "all"` (it always does), or `covers = "older"` with `time` (an older post shows it), `page_size` (a shorter list is whole), or `whole`
    ---
    sayonce.toml:10: `channels.own.lookup.url` names `text`, which is not there
      hint: the variables here are url, title, slug, key, now, since
    ---
    sayonce.toml:10: `channels.own.lookup.match_url` is `v`, no JSON pointer
      hint: write a JSON pointer: `/` before each name, such as `"/result/message_id"`, or `""` for the whole
    sayonce.toml:10: `channels.own.lookup.covers` is `older`, and nothing says what is older
      hint: say how one knows that the list reaches back past a post: `covers = "all"` (it always does), or `covers = "older"` with `time` (an older post shows it), `page_size` (a shorter list is whole), or `whole`
    "#
    );
}

#[test]
fn a_post_that_is_taken_down_must_be_seen_to_be_gone() {
    let with = |lines: &str| check(&format!("{RIGHT}\n{lines}"));
    let retract =
        r#"retract = { method = "DELETE", url = "https://own.example/{{ id }}", status = 204 }"#;
    let read =
        r#"read = { url = "https://own.example/{{ id }}", status = 200, gone = { status = 404 } }"#;
    let with_answer = |answer: &str| {
        let retract = retract.strip_suffix(" }").unwrap();
        format!("{retract}, answer = [{{ {answer} }}] }}")
    };
    assert_eq!(with(&format!("{retract}\n{read}")), "ok ");
    assert_eq!(
        with(&with_answer(
            r#"status = 404, pointer = "/code", equals = 7, means = "already""#
        )),
        "ok "
    );
    // What changes a post needs no such thing.
    assert_eq!(
        with(
            r#"update = { url = "https://own.example/{{ id }}", status = 200, json = { title = "{{ title }}" } }"#
        ),
        "ok "
    );
    insta::assert_snapshot!(
        [
            with(retract),
            with(&format!("{retract}\n{}", read.replace(", gone = { status = 404 }", ""))),
            with(&format!("{retract}\n{}", read.replace("status = 404", "status = 403"))),
            with(&format!("{retract}\n{}", read.replace("status = 404", ""))),
            with(&format!("{}\n{read}", with_answer(r#"status = 404, means = "already""#))),
            with("[[channels.own.answer]]\nstatus = 404\npointer = \"/code\"\nequals = 7\nmeans = \"already\""),
            with(&retract.replace("{{ id }}", "{{ text }}")),
            with(&format!("{retract}\n{}", read.replace("{{ id }}", "{{ ids }}"))),
        ]
        .join("\n---\n"),
        @r#"
        sayonce.toml:4: `channels.own.read` is missing
          hint: `retract` takes a post down, and nothing shows that it is gone: say how a post is read (`read = { url = "…/{{ id }}", status = 200, gone = { status = 404 } }`), or by which code a repeated `retract` is told that there is nothing left (an `answer` in it with `means = "already"`)
        ---
        sayonce.toml:11: `channels.own.read.gone` is missing
          hint: say by which answer a post that is gone is known: `gone = { status = 404 }`, or with a `pointer` to the code by which the service says so
        ---
        sayonce.toml:11: `channels.own.read.gone.status` has 403, which does not say that a post is gone
          hint: 404 and 410 say it by themselves; beside any other, add a `pointer` to the code by which the service says so
        ---
        sayonce.toml:11: `channels.own.read.gone.status` is missing
          hint: say by which answer a post that is gone is known: `gone = { status = 404 }`, or with a `pointer` to the code by which the service says so
        ---
        sayonce.toml:10: `channels.own.retract.answer[0].status` makes `already` of a status alone
          hint: a status does not say what there is nothing to do about: add a `pointer` to the code by which the service says so
        ---
        sayonce.toml:14: `channels.own.answer[0].means` is `already`, which is no known word
          hint: write one of refused, retry, rate_limited, credentials, exists, accepted_later
        ---
        sayonce.toml:10: `channels.own.retract.url` names `text`, which is not there
          hint: the variables here are id, remote_url, url, key, now
        ---
        sayonce.toml:11: `channels.own.read.url` names `ids`, which is not there
          hint: did you mean `id`?
        "#
    );
}

#[test]
fn a_preset_is_overridden_key_by_key() {
    let config = |lines: &str| {
        let text = format!(
            "[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n[channels.own]\nkind = \"http\"\n{lines}\n"
        );
        Config::parse(Path::new("sayonce.toml"), &text)
            .unwrap()
            .channels[0]
            .clone()
    };
    let channel = config(
        r#"preset = "custom"
interval = "5s"
limit = 280
values = { endpoint = "https://own.example/api" }
secrets = { token = "MINE", extra = "EXTRA" }
request = { form = { t = "{{ text }}" }, headers = { X-Extra = "{{ secret.extra }}" } }
[[channels.own.answer]]
status = 422
means = "exists"
"#,
    );
    let declaration = channel.declaration().unwrap();
    insta::assert_snapshot!(format!(
        "{:?}\n{:?}\n{:#?}\n{:?}",
        channel.rules.policy, declaration.secrets, declaration.request,
        declaration.answers.iter().map(|rule| (rule.statuses.clone(), rule.means.label())).collect::<Vec<_>>(),
    ), @r#"
    Keyed
    {"extra": "EXTRA", "token": "MINE"}
    RequestForm {
        method: Post,
        url: "{{ value.endpoint }}",
        query: [],
        headers: [
            (
                "Authorization",
                "Bearer {{ secret.token }}",
            ),
            (
                "X-Extra",
                "{{ secret.extra }}",
            ),
        ],
        body: Form(
            [
                (
                    "t",
                    "{{ text }}",
                ),
            ],
        ),
    }
    [([422], "exists"), ([400, 413, 422], "refused"), ([401, 403], "credentials"), ([429], "rate_limited")]
    "#);
    assert!(check("preset = \"discort\"").contains("did you mean `discord`?"));
}

/// The page that people read about declarations.
const PAGE: &str = include_str!("../docs/http-channel.md");

#[test]
fn the_pages_examples_load() {
    let examples: Vec<&str> = PAGE
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(examples.len(), 5 + PRESETS.len());
    for example in examples {
        let text =
            format!("[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n{example}");
        let config = Config::parse(Path::new("sayonce.toml"), &text)
            .unwrap_or_else(|error| panic!("{example}\n{error}"));
        assert_eq!(config.warnings, Vec::<String>::new(), "{example}");
    }
}

/// Each preset has its own heading, and its row of the table says what it can do.
#[test]
fn the_page_has_every_preset() {
    for preset in PRESETS {
        let name = preset.name;
        let (_, below) = PAGE
            .split_once(&format!("\n### {name}\n"))
            .unwrap_or_else(|| panic!("{name} has no heading"));
        let (_, example) = below.split_once("```toml\n").unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let text =
            format!("[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n{example}");
        let config = Config::parse(Path::new("sayonce.toml"), &text).unwrap();
        let channel = &config.channels[0];
        let declaration = channel.declaration().unwrap();
        let id = if declaration.receipt == Receipt::None {
            "no"
        } else {
            "yes"
        };
        let read = match &declaration.lookup {
            None => "no",
            Some(lookup) if lookup.match_key.is_empty() => "by link",
            Some(_) => "by key",
        };
        let limit = match declaration.limit {
            None => "none".to_owned(),
            Some(limit) if limit < 1000 => limit.to_string(),
            Some(limit) => format!("{},{:03}", limit / 1000, limit % 1000),
        };
        let row = format!(
            "| [`{name}`](#{name}) | `{}` | {id} | {read} | {limit} |",
            channel.rules.policy.label()
        );
        assert!(PAGE.contains(&row), "{row}");
    }
}

#[test]
fn a_preset_that_is_taken_for_a_kind_is_told_where_it_belongs() {
    let text = "[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n[channels.own]\nkind = \"telegram\"\n";
    let error = Config::parse(Path::new("sayonce.toml"), text).unwrap_err();
    insta::assert_snapshot!(error.to_string(), @r#"
    sayonce.toml:5: `channels.own.kind` is `telegram`, which is no known word
      hint: `telegram` is a preset: write `kind = "http"` and `preset = "telegram"`
    "#);
}

#[test]
fn a_first_request_is_checked_like_the_other() {
    let check_prepare = |lines: &str| {
        check(&format!(
            "secrets = {{ token = \"TOKEN\" }}\nsuccess = {{ status = 201 }}\nreceipt = {{ id = \"/id\" }}\nrequest = {{ url = \"https://own.example/publish\", form = {{ id = \"{{{{ prepared }}}}\" }} }}\n{lines}"
        ))
    };
    let whole = "prepare = { url = \"https://own.example/\", form = { text = \"{{ text }}\" }, status = 201, id = \"/id\" }";
    assert_eq!(check_prepare(whole), "ok ");
    insta::assert_snapshot!(check_prepare(""), @r#"
    sayonce.toml:9: `channels.own.request.form.id` names `prepared`, which is not there
      hint: the variables here are text, title, url, description, tags, hashtags, body, date, language, slug, front_matter, key, now
    "#);
    insta::assert_snapshot!(check_prepare("[channels.own.prepare]\nurl = \"https://own.example/{{ key }}\"\n[channels.own.prepare.ready]\nurl = \"https://own.example/{{ text }}\"\nstatus = 200\nfailed = { equals = 1 }\nevery = \"1s\""), @r#"
    sayonce.toml:10: `channels.own.prepare.status` is missing
      hint: write the statuses that accept, such as `status = [200, 201]`
    sayonce.toml:11: `channels.own.prepare.url` names `key`, which is not there
      hint: the variables here are text, title, url, description, tags, hashtags, body, date, language, slug, front_matter, now
    sayonce.toml:13: `channels.own.prepare.ready.url` names `text`, which is not there
      hint: the variables here are prepared, now
    sayonce.toml:15: `channels.own.prepare.ready.failed.equals` is without a place
      hint: add `pointer = "/…"`
    sayonce.toml:16: `channels.own.prepare.ready.every` is not a known key
      hint: the keys here are url, query, headers, status, body, pointer, equals, contains, failed, published
    "#);
}

/// What an update reads of the post before it changes it.
#[test]
fn what_is_read_before_a_change_is_checked_where_it_stands() {
    let own = |update: &str| {
        check(&format!(
            "request = {{ url = \"https://own.example/posts\" }}\nsuccess = {{ status = 201 }}\nreceipt = {{ id = \"/id\" }}\n{update}"
        ))
    };
    let update = "[channels.own.update]\nurl = \"https://own.example/{{ id }}\"\nstatus = 200\n";
    let current =
        "[channels.own.update.current]\nurl = \"https://own.example/{{ id }}\"\nstatus = 200\n";
    let names = "headers = { If-Match = \"{{ current.etag }}\" }\n";
    let told = [
        own(&format!("{update}{names}")),
        own(&format!(
            "{update}{current}values_header = {{ etag = \"ETag\" }}"
        )),
        own(&format!("{update}{names}{current}")),
        own(&format!(
            "{update}headers = {{ If-Match = \"{{{{ current.etagg }}}}\" }}\n{current}values = {{ etag = \"etag\", \"a-b\" = \"/a\" }}\nvalues_header = {{ etag = \"E Tag\" }}\ngone = {{ status = 403 }}\nshows = {{}}"
        )),
        own(&format!(
            "{update}{names}[channels.own.update.current]\nurl = \"https://own.example/{{{{ text }}}}\"\nvalues_header = {{ etag = \"ETag\" }}"
        )),
        own(
            "[channels.own.retract]\nurl = \"https://own.example/{{ id }}\"\nstatus = 204\ncurrent = { url = \"x\" }\nanswer = [{ pointer = \"/e\", equals = \"none\", means = \"already\" }]",
        ),
    ];
    insta::assert_snapshot!(told.join("\n\n"), @r#"
    sayonce.toml:12: `channels.own.update.headers.If-Match` names `current.etag`, and there is no `update.current.values.etag`
      hint: say what is read of the post before: `update.current` with `url`, `status`, and `values.etag = "/…"` or `values_header.etag = "…"`

    sayonce.toml:9: `channels.own.update.current` is read, and nothing of it is sent
      hint: name what the service compares in the request of the update, such as `headers = { If-Match = "{{ current.etag }}" }`, or leave `current` out

    sayonce.toml:12: `channels.own.update.headers.If-Match` names `current.etag`, and there is no `update.current.values.etag`
      hint: say what is read of the post before: `update.current` with `url`, `status`, and `values.etag = "/…"` or `values_header.etag = "…"`
    sayonce.toml:13: `channels.own.update.current.values` is missing
      hint: say what an update must name of the post as it stands, and where the answer has it: `values = { version = "/version" }`, or `values_header = { etag = "ETag" }`

    sayonce.toml:12: `channels.own.update.headers.If-Match` names `current.etagg`, and there is no `update.current.values.etagg`
      hint: did you mean `current.etag`?
    sayonce.toml:16: `channels.own.update.current.values.etag` is `etag`, no JSON pointer
      hint: write a JSON pointer: `/` before each name, such as `"/result/message_id"`, or `""` for the whole
    sayonce.toml:16: `channels.own.update.current.values.a-b` can't be named in a template
      hint: use a-z, A-Z, 0-9, and `_`, and begin with a letter
    sayonce.toml:17: `channels.own.update.current.values_header.etag` is `E Tag`, no name of a header
      hint: write it without colon and spaces, such as `"Idempotency-Key"`
    sayonce.toml:18: `channels.own.update.current.gone.status` has 403, which does not say that a post is gone
      hint: 404 and 410 say it by themselves; beside any other, add a `pointer` to the code by which the service says so
    sayonce.toml:19: `channels.own.update.current.shows` is not a known key
      hint: the keys here are url, query, headers, status, body, pointer, equals, contains, gone, values, values_header

    sayonce.toml:13: `channels.own.update.current.status` is missing
      hint: write the statuses that accept, such as `status = [200, 201]`
    sayonce.toml:14: `channels.own.update.current.url` names `text`, which is not there
      hint: the variables here are id, remote_url, url, key, now

    sayonce.toml:12: `channels.own.retract.current` is not a known key
      hint: the keys here are method, url, query, headers, json, form, multipart, status, body, pointer, equals, contains, answer
    "#);
}
