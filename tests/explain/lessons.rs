//! Each example of bytes in the lessons has a link to the inspector, with the same bytes, and each
//! link opens.
//!
//! Examples are the arguments of `tickwire explain` that are no file, lines `hex` for `tickwire
//! connect`, and blocks whose first line is bytes. A lesson has the link once, after the first block
//! with these bytes.

use std::collections::BTreeSet;
use std::fs;

use tickwire::internal::tools::inspector::Inspector;

/// The address of a link, before the fragment.
const LINK: &str = "(http://localhost:3000/wire#";
/// Minimum bytes of a block that is an example.
const BLOCK_BYTES: usize = 4;

/// A fragment with these bytes, sender and kind.
fn fragment(digits: &str, from: Option<&str>, kind: Option<&str>) -> String {
    let from = from.map(|side| format!("&from={side}")).unwrap_or_default();
    let kind = kind.map(|kind| format!("&kind={kind}")).unwrap_or_default();
    format!("frame={digits}{from}{kind}")
}

fn is_digits(word: &str) -> bool {
    word.len().is_multiple_of(2) && word.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// The fragment for the bytes of a command.
fn of_command(command: &str) -> Option<String> {
    if let Some((_, rest)) = command.split_once("hex ").filter(|_| command.contains("tickwire connect")) {
        let digits: String = rest.split("\\n").next()?.split_whitespace().collect();
        return is_digits(&digits).then(|| fragment(&digits, Some("client"), None));
    }
    let mut words = command.strip_prefix("tickwire explain ")?.split_whitespace();
    let (mut digits, mut from, mut kind) = (String::new(), None, None);
    while let Some(word) = words.next() {
        match word {
            "--from" => from = words.next(),
            "--datagram" => kind = Some("datagram"),
            "--message" => kind = Some("message"),
            _ if word.starts_with("--") => {}
            _ if is_digits(word) => digits += word,
            _ => return None,
        }
    }
    (!digits.is_empty()).then(|| fragment(&digits, from, kind))
}

/// The bytes of all examples of a lesson. Of a block, only the digits are known.
fn examples(text: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut commands, mut blocks, mut fence) = (BTreeSet::new(), BTreeSet::new(), None);
    for line in text.lines() {
        match fence {
            None => fence = line.strip_prefix("```").map(|name| (name, true)),
            Some(_) if line.starts_with("```") => fence = None,
            Some(("console", _)) => commands.extend(line.strip_prefix("$ ").and_then(of_command)),
            Some(("", true)) => {
                let words: Vec<&str> = line.split_whitespace().collect();
                let is_bytes = words.iter().all(|word| word.len() == 2 && is_digits(word));
                blocks.extend((is_bytes && words.len() >= BLOCK_BYTES).then(|| words.concat()));
                fence = Some(("", false));
            }
            Some(_) => {}
        }
    }
    (commands, blocks)
}

#[test]
fn each_example_of_the_lessons_has_a_link_with_its_bytes() {
    let mut count = 0;
    for entry in fs::read_dir("docs/lessons").expect("there are lessons") {
        let path = entry.expect("it can be read").path();
        if path.extension().is_none_or(|end| end != "md") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("text");
        let links: Vec<&str> = text.split(LINK).skip(1).filter_map(|rest| rest.split(')').next()).collect();
        let (commands, blocks) = examples(&text);
        let mut unused: BTreeSet<&str> = links.iter().copied().collect();
        assert_eq!(unused.len(), links.len(), "{}: a link twice", path.display());
        for command in &commands {
            assert!(unused.remove(command.as_str()), "{}: no link {LINK}{command})", path.display());
        }
        for digits in &blocks {
            let is_its = |link: &str| {
                let bytes = link.strip_prefix("frame=").and_then(|rest| rest.split('&').next());
                bytes == Some(digits)
            };
            assert!(links.iter().any(|link| is_its(link)), "{}: no link for {digits}", path.display());
            unused.retain(|link| !is_its(link));
        }
        assert!(unused.is_empty(), "{}: links without an example: {unused:?}", path.display());
        for link in &links {
            let mut inspector = Inspector::default();
            inspector.open_link(link).unwrap_or_else(|error| panic!("{}: {link}: {error}", path.display()));
            let explained: serde_json::Value = serde_json::from_str(&inspector.explain(1)).expect("JSON");
            assert!(explained["frames"][0]["line"].is_string(), "{link}: {explained}");
            count += 1;
        }
    }
    assert!(count > 20, "{count} links");
}

#[test]
fn an_example_is_found_in_each_of_its_forms() {
    let text = "```\n81 85 37 fa 21 3d\ntext\n```\n```console\n$ tickwire explain --line --from client 8105 48\n\
                $ tickwire explain file.hex\n$ printf 'hello\\nhex 8281 00\\nwait 1\\n' | tickwire connect ws://a\n```\n\
                ```\n82 00 …\n```\n";
    let (commands, blocks) = examples(text);
    assert_eq!(
        commands.into_iter().collect::<Vec<_>>(),
        ["frame=810548&from=client", "frame=828100&from=client"]
    );
    assert_eq!(blocks.into_iter().collect::<Vec<_>>(), ["818537fa213d"]);
}
