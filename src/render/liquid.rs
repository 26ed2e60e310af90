//! Liquid in an article's text. dev.to reads Liquid too, but not the site generator's: it refuses the whole article
//! over a tag that it does not know, and over any `{{ … }}`.

use std::ops::Range;

use super::markdown::{code, edited, is_in};

/// Tags that dev.to has itself.
const KNOWN_TAGS: [&str; 19] = [
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

/// How much of an output is shown in a note.
const SHOWN_CHARS: usize = 30;

/// Returns the text as dev.to can take it, or the first code that it would refuse.
///
/// Jekyll's `highlight` blocks become fenced code. Code is left alone: dev.to does not read Liquid there. A first
/// line that looks like the beginning of front matter is written as another rule, or dev.to would read it as one.
pub(super) fn convert(markdown: &str) -> Result<String, String> {
    let text = markdown
        .trim_start_matches(['\n', '\r'])
        .replace("\r\n", "\n");
    let text = without_raw_in_code(&text);
    let text = with_fences(&text)?;
    let text = without_needless_raw(&text)?;
    let first = text.lines().next().unwrap_or_default();
    Ok(match text.strip_prefix(first) {
        Some(rest) if first.trim() == "---" => format!("***{rest}"),
        Some(_) | None => text,
    })
}

/// A tag or an output of Liquid.
struct Token<'t> {
    range: Range<usize>,
    inner: &'t str,
    is_tag: bool,
}

impl<'t> Token<'t> {
    fn name(&self) -> &'t str {
        let name = self.inner.split_whitespace().next();
        name.filter(|_| self.is_tag).unwrap_or_default()
    }

    /// What a person searches for in the text.
    fn shown(&self) -> String {
        if self.is_tag {
            return format!("{{% {}", self.name());
        }
        let shown = format!("{{{{ {}", self.inner);
        let shown: String = shown.chars().take(SHOWN_CHARS).collect();
        shown.trim_end().to_owned()
    }
}

/// Returns every tag and output; one that is not closed goes on to the end of its line.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut from = 0;
    while let Some(rest) = text.get(from..) {
        let is_mark = |at: usize| {
            rest.get(at + 1..)
                .is_some_and(|rest| rest.starts_with(['%', '{']))
        };
        let mut braces = rest.match_indices('{').map(|(at, _)| at);
        let Some(start) = braces.find(|at| is_mark(*at)).map(|at| from + at) else {
            break;
        };
        let behind = text.get(start + 2..).unwrap_or_default();
        let is_tag = text.get(start..).is_some_and(|tag| tag.starts_with("{%"));
        let (line, _) = behind.split_once('\n').unwrap_or((behind, ""));
        let close = if is_tag { "%}" } else { "}}" };
        let length = line.find(close);
        let inner = length.and_then(|length| line.get(..length)).unwrap_or(line);
        from = start + 2 + inner.len() + length.map_or(0, |_| close.len());
        tokens.push(Token {
            range: start..from,
            inner: inner.trim_matches('-').trim(),
            is_tag,
        });
    }
    tokens
}

/// A `highlight` block of Jekyll, its tags included.
struct Highlight<'t> {
    range: Range<usize>,
    indentation: &'t str,
    language: &'t str,
    content: Range<usize>,
}

/// Takes the `raw` tags out of code, as a generator with Liquid does on the site's own page.
///
/// Where code shows Liquid outside of them, the generator is none of these, and they are part of what is shown.
fn without_raw_in_code(text: &str) -> String {
    let code = code_beside(text, &highlights(text));
    let mut tags = Vec::new();
    let mut in_raw = false;
    for token in tokens(text) {
        let is_in_code = is_in(&code, token.range.start);
        let name = token.name();
        if name == if in_raw { "endraw" } else { "raw" } {
            in_raw = !in_raw;
            if is_in_code {
                tags.push((alone_on_its_line(text, token.range), String::new()));
            }
        } else if is_in_code && !in_raw {
            return text.to_owned();
        }
    }
    edited(text, tags)
}

/// Returns where code is, as if the blocks had nothing in them that is read as Markdown.
fn code_beside(text: &str, blocks: &[Highlight<'_>]) -> Vec<Range<usize>> {
    let masks = blocks.iter().map(|block| {
        let content = text.get(block.content.clone()).unwrap_or_default();
        let mask = content
            .bytes()
            .map(|byte| if byte == b'\n' { '\n' } else { 'x' });
        (block.content.clone(), mask.collect())
    });
    code(&edited(text, masks.collect()))
}

/// Writes `highlight` blocks as fenced code.
fn with_fences(text: &str) -> Result<String, String> {
    let blocks = highlights(text);
    if blocks.is_empty() {
        return Ok(text.to_owned());
    }
    let code = code_beside(text, &blocks);
    let mut edits = Vec::new();
    for block in &blocks {
        if is_in(&code, block.range.start) {
            continue;
        }
        let (_, behind) = text.split_at(block.range.end);
        let (line, _) = behind.split_once('\n').unwrap_or((behind, ""));
        let content = text.get(block.content.clone()).unwrap_or_default();
        let mut fenced = fenced(block, content)?;
        if !line.trim().is_empty() {
            fenced.push('\n');
            fenced.push_str(block.indentation);
        }
        let gap = line.len() - line.trim_start().len();
        edits.push((block.range.start..block.range.end + gap, fenced));
    }
    Ok(edited(text, edits))
}

/// Finds the blocks whose first tag begins a line and that are closed. A `raw` block may show the tag that closes one.
fn highlights(text: &str) -> Vec<Highlight<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<(Token<'_>, &str)> = None;
    let mut in_raw = false;
    let tokens = tokens(text);
    let last_end = tokens.iter().rposition(|token| token.name() == "endraw");
    for (index, token) in tokens.into_iter().enumerate() {
        match (token.name(), &open) {
            ("endraw", _) => in_raw = false,
            _ if in_raw => {}
            // One that is never closed is shown in code.
            ("raw", _) => in_raw = last_end.is_some_and(|last| index < last),
            ("highlight", None) => {
                let (before, _) = text.split_at(token.range.start);
                let line = before.rsplit('\n').next().unwrap_or_default();
                if line.trim().is_empty() {
                    open = Some((token, line));
                }
            }
            ("endhighlight", Some((start, indentation))) => {
                blocks.push(Highlight {
                    range: start.range.start..token.range.end,
                    indentation,
                    language: start.inner.split_whitespace().nth(1).unwrap_or_default(),
                    content: start.range.end..token.range.start,
                });
                open = None;
            }
            _ => {}
        }
    }
    blocks
}

/// Writes a block as fenced code that stands as far right as the block stood.
fn fenced(block: &Highlight<'_>, content: &str) -> Result<String, String> {
    let raw_tags = tokens(content)
        .into_iter()
        .filter(|token| matches!(token.name(), "raw" | "endraw"))
        .map(|token| (alone_on_its_line(content, token.range), String::new()));
    let content = edited(content, raw_tags.collect());
    let content = content.trim_start_matches([' ', '\t']);
    let content = content.strip_prefix('\n').unwrap_or(content).trim_end();
    // Backticks in the code would end the fence, and dev.to would read Liquid behind them.
    let longest = |sign: char| {
        let runs = content.split(move |char| char != sign);
        runs.map(str::len).max().unwrap_or(0)
    };
    let fence = if longest('`') < 3 {
        "```".to_owned()
    } else if longest('~') < 3 {
        "~~~".to_owned()
    } else if tokens(content).is_empty() {
        "`".repeat(longest('`') + 1)
    } else {
        return Err("{% highlight".to_owned());
    };
    let indentation = block.indentation;
    let is_indented = content
        .lines()
        .all(|line| line.trim().is_empty() || line.starts_with(indentation));
    let mut lines = vec![format!("{fence}{}", block.language)];
    lines.extend(content.lines().map(|line| {
        if is_indented || line.trim().is_empty() {
            line.to_owned()
        } else {
            format!("{indentation}{line}")
        }
    }));
    lines.push(format!("{indentation}{fence}"));
    Ok(lines.join("\n"))
}

/// Returns the range with its line's end, if nothing else stands in the line.
fn alone_on_its_line(text: &str, range: Range<usize>) -> Range<usize> {
    let (before, _) = text.split_at(range.start);
    let (_, behind) = text.split_at(range.end);
    let line = before.rsplit('\n').next().unwrap_or_default();
    match behind.split_once('\n') {
        Some((rest, _)) if line.trim().is_empty() && rest.trim().is_empty() => {
            range.start - line.len()..range.end + rest.len() + 1
        }
        Some(_) | None => range,
    }
}

/// Names the first code outside of Markdown's code that dev.to would refuse. A `raw` block around Markdown's code goes:
/// dev.to puts one around all code itself, and they can't be nested.
fn without_needless_raw(text: &str) -> Result<String, String> {
    let code = code(text);
    let mut edits = Vec::new();
    let mut raw: Option<Raw<'_>> = None;
    for token in tokens(text) {
        if is_in(&code, token.range.start) {
            continue;
        }
        match (token.name(), raw.take()) {
            ("endraw", Some(open)) => {
                let first = code.partition_point(|range| range.start < open.start.range.end);
                let has_code = code
                    .get(first)
                    .is_some_and(|range| range.start < token.range.start);
                if has_code {
                    edits.extend(open.without_tags(text, token.range));
                }
            }
            (_, Some(mut open)) => {
                open.inside.push(token.range);
                raw = Some(open);
            }
            ("raw", None) => {
                raw = Some(Raw {
                    start: token,
                    inside: Vec::new(),
                });
            }
            (name, None) if KNOWN_TAGS.contains(&name) => {}
            (_, None) => return Err(token.shown()),
        }
    }
    match raw {
        Some(open) => Err(open.start.shown()),
        None => Ok(edited(text, edits)),
    }
}

/// A `raw` block that is open.
struct Raw<'t> {
    start: Token<'t>,
    /// Liquid that it shows.
    inside: Vec<Range<usize>>,
}

impl Raw<'_> {
    /// Returns the changes that take the block's tags away: what it shows is written with entities.
    fn without_tags(self, text: &str, end: Range<usize>) -> Vec<(Range<usize>, String)> {
        let shown = self.inside.into_iter().map(|range| {
            let code = text.get(range.clone()).unwrap_or_default();
            (range, without_liquid(code))
        });
        let tags =
            [self.start.range, end].map(|range| (alone_on_its_line(text, range), String::new()));
        shown.chain(tags).collect()
    }
}

/// Writes the signs of Liquid as entities.
pub(super) fn without_liquid(text: &str) -> String {
    text.replace("{{", "&#123;&#123;").replace("{%", "&#123;%")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        convert(text).unwrap_or_else(|code| format!("refused: {code}"))
    }

    #[test]
    fn the_generators_liquid_is_converted_or_named() {
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

    #[test]
    fn a_highlight_block_takes_nothing_else_along() {
        for (given, expected) in [
            (
                "{% highlight liquid %}{% raw %}\n{{ x }}\n{% endraw %}{% endhighlight %}\n\nRest [a](/b)\n",
                "```liquid\n{{ x }}\n```\n\nRest [a](/b)\n",
            ),
            (
                "{% highlight html %}\n{% raw %}\n<b>\n\n{{ x }}\n{% endraw %}\n{% endhighlight %}\nRest",
                "```html\n<b>\n\n{{ x }}\n```\nRest",
            ),
            (
                "{% highlight ruby %}puts 1{% endhighlight %}\n\nRest",
                "```ruby\nputs 1\n```\n\nRest",
            ),
            (
                "{% highlight ruby %}\r\n  puts 1\r\n{% endhighlight %} and more",
                "```ruby\n  puts 1\n```\nand more",
            ),
            (
                "{%- highlight ruby -%}\nx\n{%- endhighlight -%}\nRest",
                "```ruby\nx\n```\nRest",
            ),
            (
                "1. one\n\n   {% highlight sh %}\n   a\n     b\n   {% endhighlight %}\n\n2. two",
                "1. one\n\n   ```sh\n   a\n     b\n   ```\n\n2. two",
            ),
            (
                "1. one\n\n   {% highlight sh %}\na\n\n  b\n{% endhighlight %}\n\n2. two",
                "1. one\n\n   ```sh\n   a\n\n     b\n   ```\n\n2. two",
            ),
            (
                "{% highlight md %}\n```\n{{ x }}\n```\n{% endhighlight %}\nRest",
                "~~~md\n```\n{{ x }}\n```\n~~~\nRest",
            ),
            (
                "{% highlight md %}\n```\n~~~~\n````\n{% endhighlight %}",
                "`````md\n```\n~~~~\n````\n`````",
            ),
            (
                "{% highlight md %}\n```\n~~~\n{{ x }}\n{% endhighlight %}",
                "refused: {% highlight",
            ),
            ("{% highlight ruby %}\nx\n\nRest", "refused: {% highlight"),
            (
                "a {% highlight ruby %}x{% endhighlight %}",
                "refused: {% highlight",
            ),
            (
                "{% highlight a %}\nit`s\n{% endhighlight %}\n`{{ x }}`\n\n{% highlight b %}\ny\n{% endhighlight %}",
                "```a\nit`s\n```\n`{{ x }}`\n\n```b\ny\n```",
            ),
        ] {
            assert_eq!(check(given), expected);
        }
    }

    #[test]
    fn code_shows_liquid() {
        for text in [
            "```\n{% highlight ruby %}\nx\n{% endhighlight %}\n```\nRest",
            "```sh\n{{ x }}\n```sh\n{{ y }}\n```\n",
            "``a ` {{ x }}`` and `{{ y\n}}`",
            "- a\n\n    ```\n    {{ x }}\n    ```\n",
        ] {
            assert_eq!(check(text), text);
        }
        assert_eq!(check("`` ` `` {{ x }}"), "refused: {{ x");
        // dev.to reads Liquid there.
        assert_eq!(check("    ```\n\n{{ x }}"), "refused: {{ x");
        assert_eq!(check("a\n\n    {{ x }}"), "refused: {{ x");
    }

    #[test]
    fn raw_tags_in_code_go_where_the_generator_takes_them_away() {
        for (given, expected) in [
            (
                "use `{% raw %}{{ x }}{% endraw %}` here",
                "use `{{ x }}` here",
            ),
            (
                "```liquid\n{% raw %}\n{{ x }}\n{% endraw %}\n```\n",
                "```liquid\n{{ x }}\n```\n",
            ),
            (
                "`{% raw %}{% raw %}{% endraw %}`\n\n{% highlight a %}\nx\n{% endhighlight %}",
                "`{% raw %}`\n\n```a\nx\n```",
            ),
            (
                "{% highlight a %}\n{{ x }} `\n{% endhighlight %}\n`{% raw %}{% x %}{% endraw %}`",
                "```a\n{{ x }} `\n```\n`{% x %}`",
            ),
        ] {
            assert_eq!(check(given), expected);
        }
        let shown = "`{{ y }}` is `{% raw %}{{ y }}{% endraw %}`";
        assert_eq!(check(shown), shown);
    }

    #[test]
    fn raw_blocks_are_not_nested() {
        assert_eq!(
            check("{% raw %}\n```liquid\n{{ x }}\n```\n{% endraw %}\n[a](/b)"),
            "```liquid\n{{ x }}\n```\n[a](/b)"
        );
        assert_eq!(
            check("{% raw %}`{{ x }}` is {{ x }}{% endraw %}."),
            "`{{ x }}` is &#123;&#123; x }}."
        );
        assert_eq!(check("{% raw %}{{ x }}"), "refused: {% raw");
        assert_eq!(check("x {% endraw %}"), "refused: {% endraw");
    }
}
