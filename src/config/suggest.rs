//! "Did you mean": the known word that is nearest to what was written.

/// Returns the candidate nearest to `word`, if it is near enough to be a slip of the keyboard.
pub(super) fn closest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let word = word.to_ascii_lowercase().replace('-', "_");
    candidates
        .iter()
        .map(|candidate| {
            let plain = candidate.to_ascii_lowercase().replace('-', "_");
            (distance(&word, &plain), *candidate)
        })
        .filter(|(distance, candidate)| *distance <= (candidate.chars().count() / 3).clamp(1, 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, left_char) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, right_char) in right.iter().enumerate() {
            let substituted = last[column] + usize::from(left_char != right_char);
            let mut best = substituted
                .min(last[column + 1] + 1)
                .min(current[column] + 1);
            let swapped = row > 0
                && column > 0
                && *left_char == right[column - 1]
                && left[row - 1] == *right_char;
            if swapped {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let keys = ["interval", "timeout", "app_password_env", "feed", "handle"];
        let check = |word| closest(word, &keys);
        assert_eq!(check("intervall"), Some("interval"));
        assert_eq!(check("tiemout"), Some("timeout"));
        assert_eq!(check("app-password-env"), Some("app_password_env"));
        assert_eq!(check("Feed"), Some("feed"));
        assert_eq!(check("hadnle"), Some("handle"));
        assert_eq!(check("retries"), None);
        assert_eq!(check(""), None);
    }
}
