//! What a job of GitHub Actions is told: the log, the annotations, the step's summary, and the outputs.

use std::collections::BTreeMap;
use std::path::Path;

use sayonce::model::channel::Kind;
use sayonce::sandbox::Sandbox;
use serde_json::Value;

use super::program::{Program, Ran};
use super::site::{Plan, Site, feed, four_channels, mastodon, secret_variable};

/// A title that tries to be a workflow command, Markdown, HTML, and another output.
const EVIL: &str =
    "::set-output name=done::99 ##[add-mask]x | <b>bold</b> `code` [link](javascript:x)";

/// A step, as the runner starts and reads it.
pub(crate) struct Step<'a> {
    site: &'a Site,
    inputs: Vec<(String, String)>,
}

/// What came of it.
pub(crate) struct Stepped {
    pub(crate) ran: Ran,
    pub(crate) summary: String,
    pub(crate) outputs: BTreeMap<String, String>,
}

impl<'a> Step<'a> {
    pub(crate) fn of(site: &'a Site) -> Self {
        std::fs::create_dir_all(site.path("runner")).unwrap();
        Self {
            site,
            inputs: Vec::new(),
        }
    }

    /// Sets an input or another variable.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.inputs.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn program(&self, directory: &Path, arguments: &[&str]) -> Program {
        let runner = |name: &str| self.site.path("runner").join(name).display().to_string();
        let workspace = self.site.path("site").display().to_string();
        self.site
            .program_in(directory, arguments)
            .environment([
                ("GITHUB_ACTIONS", "true"),
                ("GITHUB_STEP_SUMMARY", &runner("summary.md")),
                ("GITHUB_OUTPUT", &runner("output")),
                ("RUNNER_TEMP", &runner("")),
                ("GITHUB_WORKSPACE", &workspace),
            ])
            .environment(
                self.inputs
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str())),
            )
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Stepped {
        let file = |name: &str| self.site.path("runner").join(name);
        for name in ["summary.md", "output"] {
            std::fs::write(file(name), "").unwrap();
        }
        let ran = self.program(&self.site.path("site"), arguments).run();
        let text = |name: &str| std::fs::read_to_string(file(name)).unwrap();
        Stepped {
            ran,
            summary: text("summary.md"),
            outputs: outputs(&text("output")),
        }
    }
}

/// Reads the file of outputs as the runner does.
fn outputs(text: &str) -> BTreeMap<String, String> {
    let mut outputs = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let (name, delimiter) = line.split_once("<<").expect("a heredoc");
        let value: Vec<_> = lines
            .by_ref()
            .take_while(|line| *line != delimiter)
            .collect();
        let before = outputs.insert(name.to_owned(), value.join("\n"));
        assert_eq!(before, None, "{name} is written once: {text}");
    }
    outputs
}

impl Stepped {
    /// The commands of both streams, as the runner understands them, without masks and what brackets texts.
    pub(crate) fn commands(&self) -> String {
        let mut commands = Vec::new();
        for stream in [&self.ran.stderr, &self.ran.stdout] {
            let mut token: Option<String> = None;
            for line in stream.split(['\n', '\r']) {
                let line = line.trim_start();
                if let Some(stopped) = &token {
                    if line == format!("::{stopped}::") {
                        token = None;
                    }
                    continue;
                }
                if let Some(stops) = line.strip_prefix("::stop-commands::") {
                    token = Some(stops.to_owned());
                } else if (line.starts_with("::") || line.contains("##["))
                    && !line.starts_with("::add-mask::")
                    // No pacing is unwise, but for tests.
                    && !line.contains("interval` is below ")
                {
                    commands.push(line);
                }
            }
            assert_eq!(token, None, "commands count again at the end: {stream}");
        }
        commands.join("\n")
    }

    pub(crate) fn output(&self, name: &str) -> &str {
        self.outputs.get(name).map_or("(none)", String::as_str)
    }

    /// All outputs but the long ones, and the path.
    fn short_outputs(&self) -> String {
        let short = self
            .outputs
            .iter()
            .filter(|(name, _)| !["deliveries", "urls", "report"].contains(&name.as_str()));
        let lines: Vec<_> = short
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        lines.join(" ")
    }

    pub(crate) fn report(&self) -> Value {
        serde_json::from_str(&std::fs::read_to_string(self.output("report")).unwrap()).unwrap()
    }
}

/// The text with numbers that services choose, and times, replaced.
fn settled(text: &str) -> String {
    let mut settled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        let digits = number
            .find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(number.len());
        let (number, after) = number.split_at(digits);
        settled.push_str(before);
        settled.push_str(if number.len() > 9 { "ID" } else { number });
        rest = after;
    }
    settled + rest
}

#[test]
fn a_run_that_proves_everything_says_so_everywhere() {
    let site = mastodon().articles(2).start();
    let step = Step::of(&site).run(&["run"]);
    step.ran.assert_code(0);
    assert_eq!(step.commands(), "");
    insta::assert_snapshot!(settled(&step.summary), @r"
    ### sayonce run: everything due is proved

    2 deliveries: 2 posted and proved.

    #### Notes

    - sayonce.toml:14: \`channels.mastodon.interval\` is below 1s, which is what mastodon takes without a rate limit

    | article | channel | state | what is known |
    | --- | --- | --- | --- |
    | **Article 2**<br>article-2 | mastodon | posted, proved | the service answered with its id<br>[https://mastodon.rehearsal.example/@blog/ID](<https://mastodon.rehearsal.example/@blog/ID>) |
    | **Article 1**<br>article-1 | mastodon | posted, proved | the service answered with its id<br>[https://mastodon.rehearsal.example/@blog/ID](<https://mastodon.rehearsal.example/@blog/ID>) |
    ");
    insta::assert_snapshot!(step.short_outputs(), @"busy=0 cut= done=2 exit-code=0 failed=0 held=0 in-doubt=0 next-due= pending=0 retry=0 settled=true skipped=0");
    let urls: Vec<String> = serde_json::from_str(step.output("urls")).unwrap();
    assert_eq!(urls.len(), 2);
    assert!(
        urls[0].starts_with("https://mastodon.rehearsal.example/@blog/"),
        "{urls:?}"
    );
    let deliveries: Value = serde_json::from_str(step.output("deliveries")).unwrap();
    assert_eq!(deliveries, step.report()["deliveries"]);
    // The next run has nothing to say of them.
    let again = Step::of(&site).run(&["run"]);
    again.ran.assert_code(0);
    assert_eq!(again.output("urls"), "[]");
    assert!(!again.summary.contains("| article |"), "{}", again.summary);
}

#[test]
fn exit_code_6_is_one_warning_that_says_that_nothing_needs_doing() {
    let site = mastodon().articles(3).start();
    site.write(
        ".github/workflows/announce.yml",
        "on:\n  schedule:\n    - cron: '0 0 1 1 *'\njobs:\n  a:\n    steps:\n      - uses: example/sayonce@v1\n",
    );
    let step = Step::of(&site).run(&["run", "--max", "1", "--fail-on", "1-5"]);
    step.ran.assert_code(0);
    let commands = step.commands();
    assert_eq!(commands.lines().count(), 1, "{commands}");
    assert!(
        commands.starts_with(
            "::warning::2 deliveries are left for the next run: article-2 on mastodon is due at "
        ),
        "{commands}"
    );
    assert!(
        commands.contains("The next run is scheduled for "),
        "{commands}"
    );
    assert!(
        commands.ends_with("-01-01 00:00:00 UTC and continues: nothing needs doing."),
        "{commands}"
    );
    assert_eq!(
        (step.output("exit-code"), step.output("settled")),
        ("6", "false")
    );
    assert_eq!((step.output("done"), step.output("pending")), ("1", "2"));
    assert!(
        step.output("next-due").ends_with('Z'),
        "{}",
        step.output("next-due")
    );
    Step::of(&site)
        .run(&["run", "--max", "1"])
        .ran
        .assert_code(6);
}

#[test]
fn without_a_schedule_nobody_makes_the_next_run() {
    let site = mastodon().articles(2).start();
    let lines = "on:\n  schedule:\n    - cron: \"17 * * * *\"";
    site.write(
        ".github/workflows/announce.yml",
        "on: push\njobs:\n  a:\n    steps:\n      - uses: example/sayonce@v1\n",
    );
    let plan = Step::of(&site).run(&["plan"]);
    plan.ran.assert_code(0);
    assert!(plan.ran.stderr.contains(lines), "{}", plan.ran.stderr);
    insta::assert_snapshot!(plan.commands(), @r#"::notice::Nobody will make the next run: no workflow that uses sayonce has a schedule. Add these lines to .github/workflows/announce.yml:%0Aon:%0A  schedule:%0A    - cron: "17 * * * *""#);
    let shown = "on:<br>\n&nbsp;&nbsp;schedule:<br>\n&nbsp;&nbsp;&nbsp;&nbsp;- cron: \"17 \\* \\* \\* \\*\"\n";
    assert!(plan.summary.contains(shown), "{}", plan.summary);
    let run = Step::of(&site).run(&["run", "--max", "1"]);
    run.ran.assert_code(6);
    assert_eq!(run.commands().lines().count(), 1, "{}", run.commands());
    assert!(
        run.commands().contains("Nobody will make the next run"),
        "{}",
        run.commands()
    );
    assert!(
        run.commands().contains("%0Aon:%0A  schedule:%0A"),
        "{}",
        run.commands()
    );
    // On somebody's own machine, too, where the workflow is.
    let plan = site.sayonce(&["plan"]);
    assert!(
        plan.stderr
            .contains("Nobody will make the next run on GitHub"),
        "{}",
        plan.stderr
    );
    site.write(".github/workflows/announce.yml", "on: push\njobs: {}\n");
    assert!(!site.sayonce(&["plan"]).stderr.contains("Nobody"));
}

#[test]
fn what_needs_a_person_names_the_command_for_a_manual_run() {
    let site = mastodon()
        .articles(2)
        .fault("mastodon:1=status=422")
        .start();
    let step = Step::of(&site).run(&["run"]);
    step.ran.assert_code(4);
    insta::assert_snapshot!(settled(&step.commands()), @r#"::error file=_posts/2026-01-01-article-1.md::article-1 on mastodon: refused: HTTP 422: {"error":"Bad Request"}%0AAnswer it with the `command` input of a manual run: retry article-1 mastodon, or: skip article-1 mastodon"#);
    insta::assert_snapshot!(settled(&step.summary), @r#"
    ### sayonce run: something was refused

    2 deliveries: 1 posted and proved, 1 refused.

    #### Needs you

    - **Article 1** on mastodon: refused: HTTP 422: \{"error":"Bad Request"\}
      - `retry article-1 mastodon`
      - `skip article-1 mastodon`

    One of these lines goes into the `command` input of a manual run of this workflow.

    #### Notes

    - sayonce.toml:14: \`channels.mastodon.interval\` is below 1s, which is what mastodon takes without a rate limit

    | article | channel | state | what is known |
    | --- | --- | --- | --- |
    | **Article 2**<br>article-2 | mastodon | posted, proved | the service answered with its id<br>[https://mastodon.rehearsal.example/@blog/ID](<https://mastodon.rehearsal.example/@blog/ID>) |
    | **Article 1**<br>article-1 | mastodon | refused | HTTP 422: \{"error":"Bad Request"\} |
    "#);
    assert_eq!(
        (step.output("failed"), step.output("settled")),
        ("1", "false")
    );
    let answered = Step::of(&site)
        .with(
            "SAYONCE_INPUT_COMMAND",
            "retry article-1 mastodon --why 'it is short now'",
        )
        .run(&["action"]);
    answered.ran.assert_code(0);
    insta::assert_snapshot!(answered.summary, @r"
    ### sayonce retry: done

    #### What it did

    - article-1 on mastodon: the next run sends it once more
    ");
    insta::assert_snapshot!(answered.short_outputs(), @"busy= cut= done= exit-code=0 failed= held= in-doubt= next-due= pending= retry= settled= skipped=");
    assert_eq!(
        answered.report()["told"],
        "article-1 on mastodon: the next run sends it once more\n"
    );
    Step::of(&site).run(&["run"]).ran.assert_code(0);
}

#[test]
fn a_title_is_never_a_command_nor_markdown_nor_an_output() {
    let plan = mastodon().articles(1);
    let title = EVIL.replace('<', "&lt;");
    let evil = feed(&plan.articles).replace("Article 1", &title);
    let site = plan.start();
    site.write("_site/feed.xml", &evil);
    for path in [
        "_site/article-1/index.html",
        "_posts/2026-01-01-article-1.md",
    ] {
        let text = std::fs::read_to_string(site.path("site").join(path)).unwrap();
        site.write(path, &text.replace("title: Article 1", "title: ''"));
    }
    for arguments in [
        &["plan"][..],
        &["plan", "--format", "json"],
        &["run", "--format", "json"],
        &["run"],
        &["status"],
        &["audit"],
    ] {
        let step = Step::of(&site).run(arguments);
        step.ran.assert_code(0);
        let commands = step.commands();
        assert_eq!(commands, "", "{arguments:?}: {:?}", step.ran);
        for stream in [&step.ran.stdout, &step.ran.stderr] {
            // Not even where commands are stopped: the runner reads two streams in no certain order.
            let commands = stream
                .lines()
                .filter(|line| line.trim_start().starts_with("::set-output"));
            assert_eq!(commands.count(), 0, "{stream}");
            assert!(!stream.contains("##["), "{stream}");
        }
        assert!(!step.summary.contains("<b>"), "{}", step.summary);
        assert!(
            !step.summary.contains("[link](javascript"),
            "{}",
            step.summary
        );
        assert_ne!(step.output("done"), "99");
        let text = step.report()["deliveries"][0]["text"]
            .as_str()
            .map(str::to_owned);
        assert!(
            text.is_none_or(|text| text.contains("##[add-mask]x")),
            "{arguments:?}"
        );
    }
    let step = Step::of(&site).run(&["status"]);
    assert!(
        step.ran.stdout.starts_with("::stop-commands::"),
        "{}",
        step.ran.stdout
    );
    let json = Step::of(&site)
        .run(&["status", "--format", "json"])
        .ran
        .json();
    assert_eq!(json["deliveries"][0]["state"], "done");
}

#[test]
fn secrets_are_masked_before_anything_else_is_said() {
    let site = four_channels().articles(1).start();
    let step = Step::of(&site).run(&["run"]);
    step.ran.assert_code(0);
    let masks: Vec<_> = step
        .ran
        .stderr
        .lines()
        .take_while(|line| line.starts_with("::add-mask::"))
        .collect();
    for kind in [Kind::Bluesky, Kind::Mastodon, Kind::Devto] {
        let mask = format!("::add-mask::{}", Sandbox::secret(kind));
        assert!(masks.contains(&mask.as_str()), "{kind}: {masks:?}");
    }
    let rest = step.ran.stderr.lines().skip(masks.len());
    assert_eq!(rest.filter(|line| line.contains("add-mask")).count(), 0);
    // Nothing is printed where there is no runner to read it.
    let ran = site.sayonce(&["run"]);
    assert!(!ran.stderr.contains("add-mask"), "{}", ran.stderr);
    assert!(secret_variable(Kind::Devto).ends_with("KEY"));
}

#[test]
fn a_configuration_that_is_wrong_is_shown_at_its_line() {
    let site = mastodon().start();
    let configuration = site
        .configuration()
        .replace("kind = \"mastodon\"", "kind = \"mastodont\"");
    site.write("sayonce.toml", &configuration);
    let step = Step::of(&site).run(&["plan"]);
    step.ran.assert_code(2);
    insta::assert_snapshot!(step.commands(), @"::error file=sayonce.toml,line=11::`channels.mastodon.kind` is `mastodont`, which is no known word%0Ahint: did you mean `mastodon`? The words are indexnow, bluesky, mastodon, devto, http");
    insta::assert_snapshot!(step.short_outputs(), @"busy= cut= done= exit-code=2 failed= held= in-doubt= next-due= pending= retry= settled= skipped=");
    assert_eq!(step.report()["exit"], 2);
}

#[test]
fn the_action_is_a_run_with_the_inputs_as_options() {
    let site = four_channels().articles(2).start();
    let step = Step::of(&site)
        .with("SAYONCE_INPUT_CHANNELS", "mastodon,\n devto")
        .with("SAYONCE_INPUT_ITEMS", "article-1")
        .with("SAYONCE_INPUT_MAX", "1")
        .run(&["action"]);
    // Work remains, which is no failure here.
    step.ran.assert_code(0);
    assert_eq!((step.output("exit-code"), step.output("done")), ("6", "1"));
    assert_eq!(step.commands().lines().count(), 1, "{}", step.commands());
    let plan = Step::of(&site)
        .with("GITHUB_EVENT_NAME", "pull_request")
        .run(&["action"]);
    plan.ran.assert_code(0);
    assert!(
        plan.ran
            .stderr
            .contains("this is a pull request: nothing is sent"),
        "{}",
        plan.ran.stderr
    );
    assert!(
        plan.summary.starts_with("### sayonce plan: "),
        "{}",
        plan.summary
    );
    let refused = Step::of(&site)
        .with("GITHUB_EVENT_NAME", "pull_request_target")
        .run(&["action"]);
    refused.ran.assert_code(2);
    let strange = Step::of(&site)
        .with("SAYONCE_INPUT_COMMAND", "run; touch x")
        .run(&["action"]);
    strange.ran.assert_code(2);
    assert!(
        strange
            .commands()
            .starts_with("::error::the input `command`: "),
        "{}",
        strange.commands()
    );
    assert_eq!(
        site.writes()
            .replace("mastodon 1, devto 0", "one")
            .replace("mastodon 0, devto 1", "one"),
        "search 0, bluesky 0, one"
    );
}

#[test]
fn a_summary_that_is_full_already_stays_below_the_limit() {
    let site = Plan::of(&[("mastodon", Kind::Mastodon)])
        .articles(5)
        .start();
    let step = Step::of(&site);
    let path = site.path("runner").join("summary.md");
    for (already, expected) in [
        (1_024 * 1_024 - 9_000, "left out here"),
        (1_024 * 1_024 - 100, ""),
    ] {
        std::fs::write(&path, "x".repeat(already)).unwrap();
        let ran = step.program(&site.path("site"), &["plan"]).run();
        ran.assert_code(0);
        let summary = std::fs::read_to_string(&path).unwrap();
        assert!(summary.len() < 1_024 * 1_024, "{}", summary.len());
        let added = summary.trim_start_matches('x');
        assert_eq!(added.is_empty(), expected.is_empty(), "{added}");
    }
}

#[test]
fn a_rehearsal_asks_nobody_for_anything_and_has_no_addresses() {
    let site = mastodon().articles(1).start();
    let step = Step::of(&site).run(&[
        "rehearse",
        "--fault",
        "mastodon:1=status=422",
        "--fail-on",
        "1-3",
    ]);
    step.ran.assert_code(0);
    let commands = step.commands();
    assert!(
        commands.contains("::warning::ended with exit code 4, which counts as a success here"),
        "{commands}"
    );
    assert!(!commands.contains("manual run"), "{commands}");
    assert!(!step.summary.contains("manual run"), "{}", step.summary);
    assert_eq!((step.output("failed"), step.output("urls")), ("1", "[]"));
}

#[test]
fn a_run_that_is_cancelled_while_it_waits_has_told_everything() {
    let site = mastodon()
        .articles(2)
        .every_channel("interval = \"10m\"")
        .start();
    let step = Step::of(&site);
    let mut running = step.program(&site.path("site"), &["run"]).start();
    running.until_it_says("waiting ");
    running.signal("INT", &site.home());
    let ran = running.end();
    ran.assert_code(6);
    let text = |name: &str| std::fs::read_to_string(site.path("runner").join(name)).unwrap();
    let outputs = outputs(&text("output"));
    assert_eq!(
        (outputs["done"].as_str(), outputs["pending"].as_str()),
        ("1", "1")
    );
    assert!(text("summary.md").starts_with("### sayonce run: work remains for the next run"));
    assert!(
        ran.stdout
            .contains("::warning::1 delivery is left for the next run: "),
        "{}",
        ran.stdout
    );
}
