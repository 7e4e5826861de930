//! The examples of README.md are what the program says.
//!
//! Comes in: blocks marked `console`, in which a line `$ tickwire …` is followed by what it prints. A line `…` stands for any
//! lines. `TICKWIRE_BLESS=1 cargo test --test readme` writes the answers anew, as long as they are; those with a `…` stay
//! as they are written.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const BLESS: &str = "TICKWIRE_BLESS";
const ANY: &str = "…";

/// One command of a block and what the block says that it prints.
struct Example<'a> {
    command: &'a str,
    shown: Vec<&'a str>,
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("README.md")
}

fn readme() -> String {
    fs::read_to_string(path()).expect("README.md can be read")
}

/// All examples in the order of the document.
fn examples(text: &str) -> Vec<Example<'_>> {
    let mut found: Vec<Example<'_>> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        match (is_inside, line.strip_prefix("$ tickwire")) {
            (false, _) => is_inside = line == "```console",
            (true, _) if line == "```" => is_inside = false,
            (true, Some(command)) => found.push(Example { command: command.trim(), shown: Vec::new() }),
            (true, None) => found.last_mut().expect("a block begins with a command").shown.push(line),
        }
    }
    found
}

/// Standard output of a command, then standard error.
fn run(arguments: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tickwire"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("TICKWIRE_")) {
        command.env_remove(name);
    }
    let output = command.args(arguments.split_whitespace()).output().expect("the program runs");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).expect("the program prints UTF-8")
}

/// Whether the lines are the ones shown, where `…` stands for any lines.
fn agrees(printed: &[&str], shown: &[&str]) -> bool {
    let mut parts = shown.split(|line| *line == ANY);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else { return false };
    let parts: Vec<&[&str]> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle.iter().filter(|part| !part.is_empty()) {
        match rest.windows(part.len()).position(|window| window == *part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[test]
fn examples_print_what_is_shown() {
    let text = readme();
    let examples = examples(&text);
    assert!(examples.len() >= 4, "only {} examples found", examples.len());
    let mut blessed = text.clone();
    for example in &examples {
        let printed = run(example.command);
        let printed = printed.trim_end_matches('\n');
        let lines: Vec<&str> = printed.lines().collect();
        if agrees(&lines, &example.shown) {
            continue;
        }
        let whole = |shown: &str| format!("$ tickwire {}\n{shown}\n", example.command);
        if std::env::var_os(BLESS).is_some() && !example.shown.contains(&ANY) {
            blessed = blessed.replace(&whole(&example.shown.join("\n")), &whole(printed));
        } else {
            panic!("README.md shows something else ({BLESS}=1 writes it anew) than\n{}", whole(printed));
        }
    }
    if blessed != text {
        fs::write(path(), blessed).expect("README.md can be written");
    }
}

#[test]
fn a_dotted_line_stands_for_any_lines() {
    let printed = ["a", "b", "c", "d"];
    for shown in [
        &["a", "b", "c", "d"][..],
        &["a", ANY],
        &[ANY, "d"],
        &["a", ANY, "c", ANY],
        &[ANY, "b", "c", ANY, "d"],
    ] {
        assert!(agrees(&printed, shown), "{shown:?}");
    }
    for shown in
        [&["a", "b", "c"][..], &["b", ANY], &[ANY, "c"], &["a", ANY, "x", ANY], &[ANY, "c", ANY, "b", ANY]]
    {
        assert!(!agrees(&printed, shown), "{shown:?}");
    }
}

/// The words of a text that begin with two dashes.
fn flags(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| c != '-' && !c.is_ascii_lowercase());
    words.filter(|word| word.len() > 2 && word.starts_with("--") && !word.ends_with('-')).collect()
}

#[test]
fn flags_and_defaults_are_those_of_the_program() {
    let (text, help) = (readme(), run("--help"));
    let section = text.split("\n## Flags\n").nth(1).and_then(|rest| rest.split("\n## ").next());
    let rows: Vec<&str> =
        section.expect("README.md has flags").lines().filter(|row| row.starts_with("| `--")).collect();
    let shown: BTreeSet<&str> =
        rows.iter().flat_map(|row| flags(row.split('|').nth(1).unwrap_or_default())).collect();
    let mut known = flags(&help);
    known.retain(|flag| !["--help", "--version"].contains(flag));
    assert_eq!(shown, known);
    for row in rows {
        let mut columns = row.split('|').map(|column| column.trim().trim_matches('`'));
        let (flag, default) = (columns.nth(1).expect("a flag"), columns.next().expect("a default"));
        let (name, value) = flag.split_once(' ').expect("a flag and its value");
        let told =
            help.split(&format!("{name} <{value}>\n")).nth(1).unwrap_or_else(|| panic!("{flag} in --help"));
        let told = told.split("\n      --").next().unwrap_or_default();
        let has_default = told.contains(&format!("[default: {default}]"));
        let has_none = !told.contains("[default:")
            && ["any", "built in", "random", "new world", "none", "never"].contains(&default);
        assert!(has_default || has_none, "{flag}: README.md says {default}, --help says{told}");
    }
}
