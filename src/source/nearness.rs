//! Which of several files with one name is an article's: the one whose directories stand in the article's address.
//!
//! `content/en/hello.md` is at `/en/hello/`, and `content/de/hello.md` is not. Where directories tell nothing apart,
//! nothing is chosen.

use std::collections::{BTreeMap, BTreeSet};

use super::groups::Group;
use super::languages;
use super::markdown::MarkdownFile;

/// Returns how many of a file's directories stand in an address.
pub(super) fn shared(file: &MarkdownFile, address: &str) -> usize {
    let of_address = languages::directories(address);
    let mut of_file: BTreeSet<String> = file.path.split('/').map(languages::normal).collect();
    if let Some(name) = file.path.rsplit('/').next() {
        of_file.remove(&languages::normal(name));
    }
    of_file.intersection(&of_address).count()
}

/// Leaves of each article's candidates the nearest, and of a file that several articles claim the article that is nearest
/// to it. What names its own address is left as it is.
pub(super) fn narrow(groups: &[Group], candidates: &mut [Vec<usize>], files: &[MarkdownFile]) {
    let near = |group: &Group, number: usize| {
        let file = files.get(number)?;
        let names_one = file
            .parsed
            .as_ref()
            .is_ok_and(|parsed| parsed.canonical.is_some() || parsed.permalink.is_some());
        (!names_one).then(|| shared(file, group.canonical()))
    };
    for (group, candidates) in groups.iter().zip(candidates.iter_mut()) {
        let all = candidates.iter().map(|number| near(group, *number));
        let Some(all) = all.collect::<Option<Vec<usize>>>() else {
            continue;
        };
        if let Some(place) = only_greatest(&all) {
            *candidates = candidates.get(place).copied().into_iter().collect();
        }
    }
    let mut claims: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, candidates) in candidates.iter().enumerate() {
        for number in candidates {
            claims.entry(*number).or_default().push(place);
        }
    }
    for (number, places) in claims {
        let all = places
            .iter()
            .filter_map(|place| near(groups.get(*place)?, number))
            .collect::<Vec<usize>>();
        if all.len() != places.len() {
            continue;
        }
        let Some(nearest) = only_greatest(&all).and_then(|place| places.get(place)) else {
            continue;
        };
        for place in places.iter().filter(|place| *place != nearest) {
            if let Some(candidates) = candidates.get_mut(*place) {
                candidates.retain(|candidate| *candidate != number);
            }
        }
    }
}

/// Returns the place of the greatest of several numbers; none if it is not the only one that is so great.
fn only_greatest(numbers: &[usize]) -> Option<usize> {
    let greatest = numbers.iter().max()?;
    let mut places = numbers
        .iter()
        .enumerate()
        .filter(|(_place, number)| *number == greatest);
    let (place, _number) = places.next()?;
    (numbers.len() > 1 && places.next().is_none()).then_some(place)
}
