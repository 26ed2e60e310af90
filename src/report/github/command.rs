//! Workflow commands: how they are written, and how a text is kept from being one.
//!
//! The runner reads a line as a command if it begins with `::` after white space, or if `##[` stands anywhere in it.
//! <https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands>

/// How many annotations of a kind GitHub shows for a step.
const ANNOTATIONS_MAX: usize = 10;

/// The kinds of annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// The job fails because of it.
    Error,
    /// Somebody should look.
    Warning,
    /// Good to know.
    Notice,
}

/// Something to show beside the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Annotation {
    /// How loud.
    pub(super) level: Level,
    /// The file, relative to the workspace, and the line.
    pub(super) place: Option<(String, Option<usize>)>,
    /// What to say.
    pub(super) message: String,
}

impl Level {
    const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Notice];

    const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

/// Writes annotations as commands, a line each; what is over the limit is counted in the last of its kind.
pub(super) fn annotations(all: &[Annotation]) -> Vec<String> {
    let mut lines = Vec::new();
    for level in Level::ALL {
        let these: Vec<_> = all.iter().filter(|one| one.level == level).collect();
        let whole = if these.len() > ANNOTATIONS_MAX {
            ANNOTATIONS_MAX - 1
        } else {
            these.len()
        };
        for annotation in these.iter().take(whole) {
            let mut properties = Vec::new();
            if let Some((file, line)) = &annotation.place {
                properties.push(("file", file.clone()));
                properties.extend(line.map(|line| ("line", line.to_string())));
            }
            lines.push(command(level.word(), &properties, &annotation.message));
        }
        if these.len() > whole {
            let rest = these.len() - whole;
            let message = format!("{rest} more like these: the step's summary has them all");
            lines.push(command(level.word(), &[], &message));
        }
    }
    lines
}

/// Writes a command as a line.
pub(super) fn command(name: &str, properties: &[(&str, String)], data: &str) -> String {
    let properties: Vec<_> = properties
        .iter()
        .map(|(key, value)| format!("{key}={}", escaped_property(value)))
        .collect();
    let space = if properties.is_empty() { "" } else { " " };
    format!(
        "::{name}{space}{}::{}",
        properties.join(","),
        escaped_data(data)
    )
}

fn escaped_data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn escaped_property(text: &str) -> String {
    escaped_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Breaks up whatever the runner could take for a command, for the eye hardly to be seen.
///
/// What stands between `stop-commands` and its token is no command anyway; but the runner reads two streams, in no
/// certain order.
pub(super) fn harmless(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        // The runner ends lines at carriage returns, too.
        let line = line.replace('\r', " ").replace("##[", "# #[");
        if line.trim_start().starts_with("::") {
            line.replacen("::", ": :", 1)
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Writes JSON so that no line of it is a command; it means the same.
pub(super) fn harmless_json(text: &str) -> String {
    // A line of JSON never begins with a colon, and `##[` can only stand in a string.
    text.replace("##[", "#\\u0023[")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_and_properties_are_escaped() {
        let check = |place: Option<(&str, Option<usize>)>, message: &str| {
            let annotation = Annotation {
                level: Level::Error,
                place: place.map(|(file, line)| (file.to_owned(), line)),
                message: message.to_owned(),
            };
            annotations(&[annotation]).join("\n")
        };
        insta::assert_snapshot!(check(None, "100% of\r\n::set-output name=a::b"), @"::error::100%25 of%0D%0A::set-output name=a::b");
        insta::assert_snapshot!(check(Some(("_posts/a,b:c%.md", Some(3))), "x, y: z"), @"::error file=_posts/a%2Cb%3Ac%25.md,line=3::x, y: z");
        insta::assert_snapshot!(check(Some(("a.md", None)), "x"), @"::error file=a.md::x");
    }

    #[test]
    fn ten_of_a_kind_are_shown_and_the_rest_is_counted() {
        let many = |level, count: usize| {
            (1..=count).map(move |number| Annotation {
                level,
                place: None,
                message: format!("{number}"),
            })
        };
        let all: Vec<_> = many(Level::Warning, 10)
            .chain(many(Level::Error, 12))
            .collect();
        insta::assert_snapshot!(annotations(&all).join("\n"), @r"
        ::error::1
        ::error::2
        ::error::3
        ::error::4
        ::error::5
        ::error::6
        ::error::7
        ::error::8
        ::error::9
        ::error::3 more like these: the step's summary has them all
        ::warning::1
        ::warning::2
        ::warning::3
        ::warning::4
        ::warning::5
        ::warning::6
        ::warning::7
        ::warning::8
        ::warning::9
        ::warning::10
        ");
    }

    #[test]
    fn no_text_is_a_command() {
        let check = |text: &str, expected: &str| assert_eq!(harmless(text), expected);
        check(
            "a\n::set-output name=a::b\nc",
            "a\n: :set-output name=a::b\nc",
        );
        check("  \t::add-mask::x", "  \t: :add-mask::x");
        check("a ##[add-mask]x", "a # #[add-mask]x");
        check("a\r::warning::x", "a ::warning::x");
        check("std::fs and # [x]", "std::fs and # [x]");
        let json = "{\"title\":\"##[group]::x\"}";
        assert_eq!(harmless_json(json), "{\"title\":\"#\\u0023[group]::x\"}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&harmless_json(json)), value(json));
    }
}
