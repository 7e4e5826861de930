//! Follows the lesson of docs/your-first-rule.md: applies its diffs to a copy of the tree, and runs
//! the tests that they add.
//!
//! A failure names the step whose diff no longer applies, or the test that fails. The tree itself
//! is not changed. The copy is in cargo's directory for tests. It shares the build directory, so
//! only our two packages are rebuilt, and only as libraries: a program of the same name would
//! replace the real one while other tests run it.

#[path = "lesson/copy.rs"]
mod copy;
#[path = "lesson/patch.rs"]
mod patch;

use std::path::{Path, PathBuf};
use std::process::Command;

use patch::{Change, Files, Hunk};

const LESSON: &str = "docs/your-first-rule.md";

/// The steps of the lesson that have a diff.
fn changes() -> Vec<Change> {
    let document = copy::root().join(LESSON);
    let text = std::fs::read_to_string(document).expect("the lesson can be read");
    patch::read(&text).unwrap_or_else(|wrong| panic!("{LESSON}, {wrong}"))
}

/// The tree after the lesson.
fn followed(changes: &[Change]) -> Files {
    let mut files = copy::tree();
    for change in changes {
        patch::apply(&mut files, change).unwrap_or_else(|wrong| panic!("{LESSON}, {wrong}"));
    }
    files
}

/// The names of the tests that the lesson brings.
fn brought(changes: &[Change]) -> Vec<&str> {
    let rust = changes.iter().filter(|change| change.path.ends_with(".rs"));
    let lines: Vec<&str> =
        rust.flat_map(|change| &change.hunks).flat_map(|hunk| &hunk.new).map(|line| line.trim()).collect();
    let tests = lines.windows(2).filter(|pair| pair[0] == "#[test]");
    tests.filter_map(|pair| pair[1].strip_prefix("fn ")?.split('(').next()).collect()
}

/// The modules of the world's tests that the lesson changes, as a filter of their names.
fn touched(changes: &[Change]) -> impl Iterator<Item = String> {
    let names = changes
        .iter()
        .filter_map(|change| change.path.strip_prefix("src/games/moo/world/tests/")?.strip_suffix(".rs"));
    names.filter(|name| *name != "mod").map(|name| format!("tests::{name}::"))
}

/// How our packages are built in the copy: unoptimised and without what a debugger needs, which takes half the time. The last one is a
/// number that nobody else has: cargo tells what is built apart by its settings, not by the folder of a workspace, so with the
/// tree's own settings it would take the one for the other.
const SETTINGS: [&str; 3] = ["opt-level=0", "debug=0", "codegen-units=29"];

/// Runs those tests in the copy.
fn run(folder: &Path, filters: &[String]) -> String {
    let target = folder.parent().and_then(Path::parent).expect("the folder of what is built");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(folder).args(["test", "--lib", "--offline", "--locked", "--no-fail-fast"]);
    command.arg("--target-dir").arg(target);
    for package in ["tickwire-world", "tickwire"] {
        command.args(["--package", package]);
        for setting in SETTINGS {
            command.args(["--config", &format!("profile.dev.package.{package}.{setting}")]);
        }
    }
    let output = command.arg("--").args(filters).output().expect("cargo runs");
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "after the lesson, {}:\n{said}", output.status);
    said
}

#[test]
fn the_lesson_can_be_followed_and_its_tests_pass() {
    let changes = changes();
    let tests = brought(&changes);
    assert!(changes.len() > 20 && tests.len() > 5, "{} changes, {} tests", changes.len(), tests.len());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("your-first-rule");
    copy::write(&folder, &followed(&changes));
    let filters: Vec<String> = tests.iter().map(|name| (*name).to_owned()).chain(touched(&changes)).collect();
    let said = run(&folder, &filters);
    for test in tests {
        let passed = said.lines().any(|line| line.ends_with(&format!("::{test} ... ok")));
        assert!(passed, "{test} did not run:\n{said}");
    }
}

#[test]
fn a_diff_is_read_with_its_step_its_file_and_its_hunks() {
    let document = "# A lesson\n\n## One\n\n```diff\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ fn\n a\n-b\n+c\n\n@@ -9 +9 @@\n-d\n```\n\
                    ```rust\n--- a/y\n```\n## Two\n```diff\n--- /dev/null\n+++ b/z\n@@ -0,0 +1 @@\n+```\n```\n";
    let hunk = |old: &[&str], new: &[&str]| {
        let lines = |list: &[&str]| list.iter().map(|line| (*line).to_owned()).collect();
        Hunk { old: lines(old), new: lines(new) }
    };
    let change = |step: &str, path: &str, is_new, hunks| Change {
        step: step.into(),
        path: path.into(),
        is_new,
        hunks,
    };
    let expected = [
        change("One", "x", false, vec![hunk(&["a", "b", ""], &["a", "c", ""]), hunk(&["d"], &[])]),
        change("Two", "z", true, vec![hunk(&[], &["```"])]),
    ];
    assert_eq!(patch::read(document).as_deref(), Ok(&expected[..]));
    for wrong in ["```diff\n a\n", "```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\nwhat\n", "```diff\n@@ -1 +1 @@\n"]
    {
        assert!(patch::read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_diff_that_does_not_fit_is_refused_by_step_and_line() {
    let fits = |tree: &str, diff: &str| {
        let mut files = Files::from([("x".to_owned(), tree.as_bytes().to_vec())]);
        let changes = patch::read(&format!("## S\n```diff\n{diff}```\n")).expect("it can be read");
        changes.iter().try_for_each(|change| patch::apply(&mut files, change))?;
        Ok::<String, String>(String::from_utf8(files.remove("x").expect("it is there")).expect("UTF-8"))
    };
    let head = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n";
    let refused = |what: &str| Err(format!("step \"S\", x: {what}"));
    assert_eq!(fits("a\nb\n", &format!("{head} a\n+c\n b\n")), Ok("a\nc\nb\n".to_owned()));
    assert_eq!(
        fits("1\n2\na\n", &format!("{head}-a\n")),
        Ok("1\n2\n".to_owned()),
        "numbers are not looked at"
    );
    assert_eq!(
        fits("a\nb\n", &format!("{head} a\n-c\n")),
        refused("the lines from `a` on stand there 0 times")
    );
    assert_eq!(
        fits("a\nb\na\n", &format!("{head}-a\n")),
        refused("the lines from `a` on stand there 2 times")
    );
    let twice = format!("{head}-b\n+c\n@@ -2 +2 @@\n-a\n+d\n");
    assert_eq!(fits("a\nb\na\n", &twice), Ok("a\nc\nd\n".to_owned()), "below the hunk before");
    assert_eq!(
        fits("a\n", "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"),
        refused("the file is there already")
    );
    let missing = fits("a\n", "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n");
    assert_eq!(missing, Err("step \"S\", y: there is no such file".to_owned()));
}
