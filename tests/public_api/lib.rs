//! The public API of the packages `tickwire` and `tickwire-sim` is the one that `public_api.txt` lists.
//!
//! `scripts/public-api.sh` has rustdoc write the items as JSON, which the compiler calls unstable, and
//! runs this test. After an intended change, `TICKWIRE_BLESS=1 scripts/public-api.sh` writes the list.

#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;

use public_api::{Builder, PublicItem};

/// The directory into which rustdoc writes the JSON files.
const JSON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/doc");
const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/public_api.txt");
const REFRESH: &str = "TICKWIRE_BLESS=1 scripts/public-api.sh";

#[test]
fn public_items_are_those_of_the_list() {
    let mut lines = items(Builder::from_rustdoc_json(format!("{JSON}/tickwire.json")));
    lines.extend(items(Builder::from_rustdoc_json(format!("{JSON}/tickwire_sim.json"))));
    let mut list = String::new();
    writeln!(list, "# Public items of the library: see lib.rs. {REFRESH} writes them.").unwrap();
    writeln!(list, "# {} items, {} of them in modules.", lines.len(), in_modules(&lines)).unwrap();
    for line in &lines {
        writeln!(list, "{line}").unwrap();
    }
    if std::env::var_os("TICKWIRE_BLESS").is_some() {
        std::fs::write(LIST, list).unwrap();
        return;
    }
    let listed = std::fs::read_to_string(LIST).unwrap_or_default();
    let (listed, found): (BTreeSet<&str>, BTreeSet<&str>) =
        (listed.lines().collect(), list.lines().collect());
    let lacks = listed.difference(&found).map(|line| format!("- {line}"));
    let new = found.difference(&listed).map(|line| format!("+ {line}"));
    let changes: Vec<String> = lacks.chain(new).collect();
    assert!(
        changes.is_empty(),
        "tests/public_api/public_api.txt differs; {REFRESH} writes it:\n{}",
        changes.join("\n")
    );
}

fn in_modules(lines: &[String]) -> usize {
    lines.iter().filter(|line| !line.starts_with(' ')).count()
}

/// The items of a package, an item per line. An item of a module has its path. Fields, variants,
/// methods and traits of a type follow it, indented, at its first path.
fn items(json: Builder) -> Vec<String> {
    let json =
        json.omit_blanket_impls(true).omit_auto_trait_impls(true).include_function_parameter_names(true);
    let api = json.build().expect("rustdoc writes a format that public-api reads");
    let items: Vec<(&PublicItem, String)> = api.items().map(|item| (item, item.to_string())).collect();
    let with = |is: &dyn Fn(&str) -> bool| -> HashSet<u32> {
        items.iter().filter(|(_, text)| is(text)).map(|(item, _)| item.id().0).collect()
    };
    let modules = with(&|text| text.starts_with("pub mod "));
    let trait_impls = with(&|text| is_trait_impl(text));
    let impls = with(&|text| text.starts_with("impl"));
    let mut types: HashSet<u32> = HashSet::new();
    let mut members = HashSet::new();
    let mut lines = Vec::new();
    let mut traits: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (item, text) in &items {
        let parent = item.parent_id().map(|id| id.0);
        let is_in = |ids: &HashSet<u32>| parent.is_some_and(|id| ids.contains(&id));
        if parent.is_none() || is_in(&modules) {
            push_traits(&mut lines, &mut traits);
            types.insert(item.id().0);
            lines.push(shortened(text));
        } else if !members.insert(item.id().0) {
            // A type with two paths, or a trait of this package that a type of it has.
        } else if is_trait_impl(text) {
            let (begin, name, end) = parts_of_impl(&shortened(text));
            if name != "StructuralPartialEq" {
                traits.entry((begin, end)).or_default().insert(name);
            }
        } else if !impls.contains(&item.id().0) && !is_in(&trait_impls) {
            let indent = if is_in(&types) || is_in(&impls) { 4 } else { 8 };
            lines.push(format!("{:indent$}{}", "", without_path(&shortened(text))));
        }
    }
    push_traits(&mut lines, &mut traits);
    lines
}

/// Adds the traits of the type that the last lines describe.
fn push_traits(lines: &mut Vec<String>, traits: &mut BTreeMap<(String, String), BTreeSet<String>>) {
    for ((begin, end), names) in std::mem::take(traits) {
        let names: Vec<String> = names.into_iter().collect();
        lines.push(format!("    {begin}{}{end}", names.join(" + ")));
    }
}

fn is_trait_impl(text: &str) -> bool {
    text.starts_with("impl") && text.contains(" for ")
}

/// `impl<T> Trait for Type` as `impl<T> `, `Trait` and ` for Type`.
fn parts_of_impl(text: &str) -> (String, String, String) {
    let mut depth = 0;
    let begin = text.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '<') - i32::from(*c == '>');
        *c == ' ' && depth == 0
    });
    let begin = begin.map_or(0, |(at, _)| at + 1);
    let end = begin + text[begin..].find(" for ").unwrap_or_default();
    (text[..begin].to_owned(), text[begin..end].to_owned(), text[end..].to_owned())
}

/// The text of an item in which only the item itself has a path: the names of types are unique.
fn shortened(text: &str) -> String {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut out = String::new();
    let mut rest = text;
    let mut has_path = text.starts_with("impl");
    while let Some(begin) = rest.find(is_path) {
        out.push_str(&rest[..begin]);
        let end = begin + rest[begin..].find(|c| !is_path(c)).unwrap_or(rest.len() - begin);
        let word = &rest[begin..end];
        rest = &rest[end..];
        let is_own = !has_path && word.starts_with("tickwire");
        has_path |= is_own;
        let path = word.trim_end_matches(':');
        match path.rsplit_once("::") {
            Some((front, name)) if !is_own && !front.is_empty() => {
                out.push_str(name);
                out.push_str(&word[path.len()..]);
            }
            _ => out.push_str(word),
        }
    }
    out + rest
}

/// The text of an item of a type or trait, without the path of that.
fn without_path(text: &str) -> String {
    let Some(begin) = text.find("tickwire") else { return text.to_owned() };
    let mut depth = 0;
    let mut name = begin;
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < begin) {
        depth += i32::from(c == '<') - i32::from(c == '>');
        match c {
            ':' if depth == 0 && text[..at].ends_with(':') => name = at + 1,
            ' ' | '(' if depth == 0 => break,
            _ => {}
        }
    }
    format!("{}{}", &text[..begin], &text[name..])
}

#[test]
fn paths_of_types_are_shortened() {
    let method = "pub fn tickwire::a::B<T>::c(&self, d: &alloc::sync::Arc<tickwire::e::F>) -> core::g::H";
    let short = shortened(method);
    assert_eq!(short, "pub fn tickwire::a::B<T>::c(&self, d: &Arc<F>) -> H");
    assert_eq!(without_path(&short), "pub fn c(&self, d: &Arc<F>) -> H");
    assert_eq!(without_path("pub tickwire::a::B::c: u8"), "pub c: u8");
    let parts = parts_of_impl(&shortened("impl<T: tickwire::a::B> core::c::D<T> for tickwire::a::E<T>"));
    assert_eq!(parts, ("impl<T: B> ".to_owned(), "D<T>".to_owned(), " for E<T>".to_owned()));
}
