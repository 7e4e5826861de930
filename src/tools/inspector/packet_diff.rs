//! The fields that changed between two frames of the same packet.
//!
//! Values are matched by their path in the tree. A group in a list is identified by its first value
//! if it is an id: `moved` of player 3 is compared with `moved` of player 3, whatever their list
//! indices.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::limits;
use crate::tools::explain::tree::Node;
use crate::tools::explain::{Explanation, PAYLOAD_FIELD};

/// The difference as JSON: the earlier frame, the number of equal fields, and the first changed
/// fields with their values before and after; `null` for a missing value.
pub fn json(before: u64, old: &Explanation<'_>, new: &Explanation<'_>) -> Json {
    let [old, new] = [old, new].map(values);
    let old_by_path: BTreeMap<&str, &str> = old.iter().map(|(path, value)| (&path[..], &value[..])).collect();
    let new_by_path: BTreeMap<&str, &str> = new.iter().map(|(path, value)| (&path[..], &value[..])).collect();
    let mut changed = Vec::new();
    let mut same = 0;
    for (path, value) in &new {
        match old_by_path.get(&path[..]) {
            Some(was) if *was == value => same += 1,
            was => changed.push(json!({ "path": path, "before": was, "after": value })),
        }
    }
    let gone = old.iter().filter(|(path, _)| !new_by_path.contains_key(&path[..]));
    changed.extend(gone.map(|(path, value)| json!({ "path": path, "before": value, "after": null })));
    let count = changed.len();
    changed.truncate(limits::INSPECTOR_CHANGES);
    json!({ "before": before, "same": same, "count": count, "changed": changed })
}

/// The values of the packet by path, in frame order.
fn values(explained: &Explanation<'_>) -> Vec<(String, String)> {
    let mut values = Vec::new();
    let Some(frame) = explained.frames.first() else { return values };
    let tree =
        frame.message.as_ref().map_or_else(|| frame.tree.find(PAYLOAD_FIELD), |whole| Some(&whole.tree));
    if let Some(arguments) = tree.and_then(|tree| tree.find(ARGUMENTS)) {
        arguments.children.iter().for_each(|argument| walk(argument, "", &mut values));
    }
    values
}

/// The name of the node that contains the arguments.
const ARGUMENTS: &str = "arguments";
/// Names of leaves that are not values.
const NO_VALUES: [&str; 3] = ["head", "key", "sign"];

fn walk(node: &Node, above: &str, values: &mut Vec<(String, String)>) {
    if NO_VALUES.contains(&node.name.as_str()) {
        return;
    }
    let path = match node.name.starts_with('[') {
        true => format!("{above}{}", group_path(node)),
        false if above.is_empty() => node.name.clone(),
        false => format!("{above}.{}", node.name),
    };
    if node.children.is_empty() {
        return values.push((path, node.value.clone()));
    }
    node.children.iter().for_each(|child| walk(child, &path, values));
}

/// Names of first values that identify a group.
const ID_ARGUMENTS: [&str; 4] = ["player", "id", "sid", "object"];

/// The path element of a group: its id if it has one, otherwise its index.
fn group_path(node: &Node) -> String {
    let first = node.children.iter().find(|child| !NO_VALUES.contains(&child.name.as_str()));
    match first.filter(|first| ID_ARGUMENTS.contains(&first.name.as_str())) {
        Some(first) => format!("[{} {}]", first.name, first.value),
        None => node.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketTables;
    use crate::tools::explain::{explain, hex};

    #[test]
    fn values_are_compared_by_their_names_and_groups_by_their_owners() {
        let codes = PacketTables::builtin();
        let dialect = codes.dialect("native").expect("built in");
        // update: tick, own nil, empty `leaves`, `enters` and `full`; `moved` of players 7 and 8,
        // then of 8 and 9.
        let of = |text: &str| explain(&hex::parse(text).expect("hex"), &dialect, None);
        let old = of("820f 9202 96 01 c0 90 90 90 96 070101 080202");
        let new = of("820f 9202 96 02 c0 90 90 90 96 080203 090101");
        let diff = json(4, &old, &new);
        let changed: Vec<_> = diff["changed"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| {
                (one["path"].as_str().unwrap_or_default(), one["before"].as_str(), one["after"].as_str())
            })
            .collect();
        assert_eq!(diff["before"], 4);
        assert!(changed.contains(&("tick", Some("1 ticks"), Some("2 ticks"))), "{changed:?}");
        assert!(
            changed
                .iter()
                .any(|(path, before, after)| path.starts_with("moved[player 8].d") && before != after)
        );
        assert!(
            changed.iter().any(|(path, before, _)| path.starts_with("moved[player 9]") && before.is_none())
        );
        assert!(
            changed.iter().any(|(path, _, after)| path.starts_with("moved[player 7]") && after.is_none())
        );
        assert!(!changed.iter().any(|(path, ..)| *path == "own"), "{changed:?}");
        let same = json(4, &old, &old);
        assert_eq!((&same["count"], &same["changed"]), (&json!(0), &json!([])));
    }
}
