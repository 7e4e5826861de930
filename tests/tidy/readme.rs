//! README.md is short, and the flags that docs/server.md and docs/tools.md name are those of the program, with their defaults.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Lines of README.md: its first screens, not the manual.
const README_LINES: usize = 150;

fn document(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
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

/// The words of a text that begin with two dashes.
fn flags(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| c != '-' && !c.is_ascii_lowercase());
    words.filter(|word| word.len() > 2 && word.starts_with("--") && !word.ends_with('-')).collect()
}

#[test]
fn the_readme_is_short() {
    let lines = document("README.md").lines().count();
    assert!(lines <= README_LINES, "README.md has {lines} lines: move what is over {README_LINES} to docs/");
}

#[test]
fn flags_and_defaults_are_those_of_the_program() {
    let (text, help) = (document("docs/server.md"), run("--help"));
    let section = text.split("\n## Flags\n").nth(1).and_then(|rest| rest.split("\n## ").next());
    let rows: Vec<&str> =
        section.expect("docs/server.md has flags").lines().filter(|row| row.starts_with("| `--")).collect();
    let shown: BTreeSet<&str> =
        rows.iter().flat_map(|row| flags(row.split('|').nth(1).unwrap_or_default())).collect();
    let mut known = flags(&help);
    known.retain(|flag| !["--help", "--version"].contains(flag));
    assert_eq!(shown, known);
    for row in rows {
        let mut columns = row.split('|').map(|column| column.trim().trim_matches('`'));
        let (flag, default) = (columns.nth(1).expect("a flag"), columns.next().expect("a default"));
        let heading = match flag.split_once(' ') {
            // A value that may be left out.
            Some((name, value)) if value.starts_with('[') => {
                format!("{name} [<{}>]\n", value.trim_matches(['[', ']']))
            }
            Some((name, value)) => format!("{name} <{value}>\n"),
            None => format!("{flag}\n"),
        };
        let told = help.split(&heading).nth(1).unwrap_or_else(|| panic!("{flag} in --help"));
        let told = told.split("\n      --").next().unwrap_or_default();
        let has_default = told.contains(&format!("[default: {default}]"));
        let has_none = !told.contains("[default:")
            && ["any", "built in", "random", "new world", "none", "never", "the game's"].contains(&default);
        assert!(has_default || has_none, "{flag}: docs/server.md says {default}, --help says{told}");
    }
}

#[test]
fn every_flag_of_echo_is_named() {
    let (text, help) = (document("docs/tools.md"), run("echo --help"));
    let paragraph = text.split("\n\n").find(|paragraph| paragraph.starts_with("`tickwire echo`"));
    let mut known = flags(&help);
    known.retain(|flag| *flag != "--help");
    assert!(known.len() > 2, "{help}");
    assert_eq!(flags(paragraph.expect("docs/tools.md speaks of echo")), known);
}
