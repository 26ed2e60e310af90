//! Liquid in an article's text. dev.to reads Liquid too, but not the site generator's: it refuses the whole article
//! over a tag that it does not know, and over any `{{ … }}`.

/// Tags that dev.to has itself.
const KNOWN_TAGS: [&str; 21] = [
    "raw",
    "endraw",
    "embed",
    "card",
    "endcard",
    "cta",
    "endcta",
    "details",
    "enddetails",
    "spoiler",
    "endspoiler",
    "collapsible",
    "endcollapsible",
    "katex",
    "endkatex",
    "youtube",
    "vimeo",
    "codepen",
    "codesandbox",
    "github",
    "gist",
];

/// Returns the text as dev.to can take it, or the first code that it would refuse.
///
/// Jekyll's `highlight` blocks become fenced code. Code is left alone: dev.to does not read Liquid there. A first
/// line that looks like the beginning of front matter is written as another rule, or dev.to would read it as one.
pub(super) fn convert(markdown: &str) -> Result<String, String> {
    let mut output = String::new();
    let mut fence: Option<String> = None;
    let mut in_raw = false;
    for (number, line) in markdown
        .trim_start_matches(['\n', '\r'])
        .lines()
        .enumerate()
    {
        if !output.is_empty() || number > 0 {
            output.push('\n');
        }
        let trimmed = line.trim();
        if let Some(open) = &fence {
            let closes = (open == HIGHLIGHT && is_tag(trimmed, "endhighlight"))
                || (open != HIGHLIGHT && closes_fence(trimmed, open));
            output.push_str(if closes && open == HIGHLIGHT {
                "```"
            } else {
                line
            });
            if closes {
                fence = None;
            }
            continue;
        }
        if let Some(language) = highlight_language(trimmed) {
            output.push_str("```");
            output.push_str(language);
            fence = Some(HIGHLIGHT.to_owned());
            continue;
        }
        if let Some(open) = opens_fence(trimmed) {
            fence = Some(open);
            output.push_str(line);
            continue;
        }
        check_line(line, &mut in_raw)?;
        output.push_str(if number == 0 && trimmed == "---" {
            "***"
        } else {
            line
        });
    }
    if markdown.ends_with('\n') {
        output.push('\n');
    }
    Ok(output)
}

/// Stands for the fence of a block that Jekyll opened.
const HIGHLIGHT: &str = "highlight";

fn opens_fence(trimmed: &str) -> Option<String> {
    ["`", "~"].into_iter().find_map(|sign| {
        let length = trimmed.len() - trimmed.trim_start_matches(sign).len();
        (length >= 3).then(|| sign.repeat(length))
    })
}

fn closes_fence(trimmed: &str, open: &str) -> bool {
    trimmed
        .strip_prefix(open)
        .is_some_and(|rest| rest.chars().all(|char| open.starts_with(char)))
}

fn highlight_language(trimmed: &str) -> Option<&str> {
    let inner = tag_inner(trimmed)?;
    let rest = inner.strip_prefix("highlight")?;
    (rest.is_empty() || rest.starts_with(' '))
        .then(|| rest.split_whitespace().next().unwrap_or_default())
}

fn is_tag(trimmed: &str, name: &str) -> bool {
    tag_inner(trimmed) == Some(name)
}

/// Returns what stands in a line that is one tag.
fn tag_inner(trimmed: &str) -> Option<&str> {
    let inner = trimmed.strip_prefix("{%")?.strip_suffix("%}")?;
    Some(inner.trim_matches('-').trim())
}

/// Finds Liquid outside of inline code that dev.to would refuse.
fn check_line(line: &str, in_raw: &mut bool) -> Result<(), String> {
    // Every second part between backticks is code.
    for text in line.split('`').step_by(2) {
        let mut rest = text;
        while let Some(start) = rest.find(['{']) {
            let (_, code) = rest.split_at(start);
            if let Some(inner) = code.strip_prefix("{%") {
                let name = inner
                    .trim_start_matches('-')
                    .split_whitespace()
                    .next()
                    .unwrap_or_default();
                match name {
                    "raw" => *in_raw = true,
                    "endraw" => *in_raw = false,
                    _ if *in_raw || KNOWN_TAGS.contains(&name) => {}
                    _ => return Err(format!("{{% {name}")),
                }
            } else if code.starts_with("{{") && !*in_raw {
                let shown: String = code
                    .chars()
                    .take_while(|char| *char != '}')
                    .take(30)
                    .collect();
                return Err(shown.trim_end().to_owned());
            }
            rest = code.strip_prefix('{').unwrap_or_default();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generators_liquid_is_converted_or_named() {
        let check = |text: &str| match convert(text) {
            Ok(text) => text,
            Err(code) => format!("refused: {code}"),
        };
        assert_eq!(check("plain *text*\n"), "plain *text*\n");
        assert_eq!(
            check("a\n\n{% highlight ruby linenos %}\nx = {{ y }}\n{% endhighlight %}\nb"),
            "a\n\n```ruby\nx = {{ y }}\n```\nb"
        );
        assert_eq!(
            check("```\n{% include x %}\n```\n"),
            "```\n{% include x %}\n```\n"
        );
        assert_eq!(
            check("use `{{ site.url }}` there"),
            "use `{{ site.url }}` there"
        );
        assert_eq!(check("[a]({% link b.md %})"), "refused: {% link");
        assert_eq!(check("at {{ site.url }}/x"), "refused: {{ site.url");
        assert_eq!(
            check("{% raw %}{{ x }}{% endraw %}"),
            "{% raw %}{{ x }}{% endraw %}"
        );
        assert_eq!(
            check("{% embed https://a.example %}"),
            "{% embed https://a.example %}"
        );
        assert_eq!(check("\n---\ntitle: no\n---\n"), "***\ntitle: no\n---\n");
        assert_eq!(
            check("~~~~\n~~~\n{{ x }}\n~~~~\n{a}"),
            "~~~~\n~~~\n{{ x }}\n~~~~\n{a}"
        );
    }
}
