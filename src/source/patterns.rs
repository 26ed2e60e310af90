//! What `site.markdown` may say: a pattern, several in braces (`*.{md,markdown}`), or a directory.

use std::path::Path;

/// More would be a mistake, such as braces in braces.
const PATTERNS_MAX: usize = 64;

/// Returns the plain patterns that a pattern stands for; a directory stands for all that lies in it.
pub(super) fn expand(pattern: &str, repo: &Path) -> Vec<String> {
    let pattern = pattern.trim_end_matches('/');
    if repo.join(pattern).is_dir() {
        return vec![format!("{}/**/*", glob::Pattern::escape(pattern))];
    }
    let mut plain = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(next) = open.pop() {
        let braces = next.split_once('{').and_then(|(before, rest)| {
            let (inside, after) = rest.split_once('}')?;
            Some((before, inside, after))
        });
        match braces {
            Some((before, inside, after)) if open.len() + plain.len() < PATTERNS_MAX => {
                let choices = inside.split(',').rev();
                open.extend(choices.map(|choice| format!("{before}{choice}{after}")));
            }
            Some(_) | None => plain.push(next),
        }
    }
    plain
}

/// Returns the same pattern with other endings of articles' sources; none where its ending is not one of them.
pub(super) fn with_other_endings(plain: &str, endings: &[&str]) -> Vec<String> {
    let Some((before, ending)) = plain.rsplit_once('.') else {
        return Vec::new();
    };
    if !endings.contains(&ending) {
        return Vec::new();
    }
    let others = endings.iter().filter(|other| **other != ending);
    others.map(|other| format!("{before}.{other}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_and_directories_stand_for_plain_patterns() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("[posts]")).unwrap();
        let check = |pattern: &str| expand(pattern, directory.path()).join(" ");
        assert_eq!(check("_posts/**/*.md"), "_posts/**/*.md");
        assert_eq!(check("a/*.{md,markdown}"), "a/*.md a/*.markdown");
        assert_eq!(check("{a,b}/{c,d}.md"), "a/c.md a/d.md b/c.md b/d.md");
        assert_eq!(check("a{.md"), "a{.md");
        assert_eq!(check("[posts]/"), "[[]posts[]]/**/*");
        assert!(expand(&"{a,b}".repeat(40), directory.path()).len() <= PATTERNS_MAX + 40);
    }
}
