//! Addresses in the attributes of HTML.

use std::cell::RefCell;

use lol_html::{RewriteStrSettings, element, rewrite_str};

/// Attributes with one address.
const ADDRESSES: [&str; 3] = ["href", "src", "poster"];
/// The attribute with several, each with what it is good for.
const SET: &str = "srcset";

/// Returns a piece of HTML with the addresses that `change` has others for; nothing where there are none.
pub(super) fn changed(html: &str, change: impl FnMut(&str) -> Option<String>) -> Option<String> {
    let lower = html.to_ascii_lowercase();
    if !ADDRESSES
        .iter()
        .chain([&SET])
        .any(|name| lower.contains(name))
    {
        return None;
    }
    let change = RefCell::new(change);
    let is_changed = RefCell::new(false);
    let settings = RewriteStrSettings::new().append_element_content_handler(element!("*", |tag| {
        let changed = ADDRESSES.iter().filter_map(|name| {
            let address = tag.get_attribute(name)?;
            // What is spelt as a number can't be told from an anchor.
            let address = Some(address.trim()).filter(|address| !address.contains("&#"));
            Some((*name, (change.borrow_mut())(address?)?))
        });
        let mut changed: Vec<(&str, String)> = changed.collect();
        let set = tag.get_attribute(SET);
        let set = set.and_then(|set| changed_set(&set, &mut *change.borrow_mut()));
        changed.extend(set.map(|set| (SET, set)));
        for (name, value) in changed {
            tag.set_attribute(name, &value)?;
            is_changed.replace(true);
        }
        Ok(())
    }));
    let output = rewrite_str(html, settings).ok()?;
    is_changed.into_inner().then_some(output)
}

/// Changes the addresses in a list like `a.png, b.png 2x`.
fn changed_set(set: &str, change: &mut impl FnMut(&str) -> Option<String>) -> Option<String> {
    let mut output = String::new();
    let mut rest = set;
    let mut is_changed = false;
    loop {
        let from_address =
            rest.trim_start_matches(|char: char| char.is_whitespace() || char == ',');
        let (gap, _) = rest.split_at(rest.len() - from_address.len());
        output.push_str(gap);
        if from_address.is_empty() {
            return is_changed.then_some(output);
        }
        let end = from_address
            .find(char::is_whitespace)
            .unwrap_or(from_address.len());
        let (word, _) = from_address.split_at(end);
        // A comma in an address is none of the list's, unless the address ends there.
        let address = word.trim_end_matches(',');
        let (_, behind) = from_address.split_at(address.len());
        let changed = change(address);
        is_changed |= changed.is_some();
        output.push_str(changed.as_deref().unwrap_or(address));
        let (descriptor, next) = behind.split_at(behind.find(',').unwrap_or(behind.len()));
        output.push_str(descriptor);
        rest = next;
    }
}
