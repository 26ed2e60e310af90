//! The licences of what is compiled in, which archives and wheels carry.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::metadata::read;

/// Fewer libraries than this would mean that most are left out.
const LIBRARIES_MIN: usize = 100;

fn names<'t>(table: &'t Value, key: &str) -> Vec<&'t str> {
    let entries = table.get(key).and_then(Value::as_table);
    entries
        .into_iter()
        .flat_map(Table::keys)
        .map(String::as_str)
        .collect()
}

#[test]
fn every_library_that_is_compiled_in_has_its_licence() {
    let text = read("THIRD-PARTY-LICENSES");
    let rule = format!("{}\n", "=".repeat(80));
    let sections: Vec<&str> = text.split(rule.as_str()).skip(1).collect();
    let (libgit2, crates) = sections.split_last().unwrap();
    assert!(libgit2.starts_with("libgit2, in libgit2-sys\n"));
    // By this it may be linked into programs that are not under its licence.
    assert!(libgit2.contains("In addition to the permissions in the GNU General Public License"));

    let mut named = BTreeSet::new();
    for section in crates {
        let (head, rest) = section.split_once("\n\n").unwrap();
        let (used_by, licence) = rest.split_once("\n\n").unwrap();
        assert!(licence.len() > 200, "{head}: {licence}");
        named.extend(used_by.lines().map(|line| line.strip_prefix("- ").unwrap()));
    }
    assert!(named.len() >= LIBRARIES_MIN, "{named:?}");

    let lock: Table = read("Cargo.lock").parse().unwrap();
    let packages = lock["package"].as_array().unwrap().iter();
    let locked: BTreeSet<&str> = packages.map(|one| one["name"].as_str().unwrap()).collect();
    let gone: Vec<_> = named.difference(&locked).collect();
    assert!(
        gone.is_empty(),
        "not used any more, see action/licenses.sh: {gone:?}"
    );

    let manifest: Value = Value::Table(read("Cargo.toml").parse().unwrap());
    let targets = manifest.get("target").and_then(Value::as_table);
    let of_targets = targets.into_iter().flat_map(Table::values);
    let used = of_targets
        .chain([&manifest])
        .flat_map(|table| names(table, "dependencies"));
    let missing: Vec<_> = used.filter(|name| !named.contains(name)).collect();
    assert!(
        missing.is_empty(),
        "without a licence, see action/licenses.sh: {missing:?}"
    );
}
