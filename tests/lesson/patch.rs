//! Applies the diffs of a document: as much of `patch` as the lesson needs, so that no tool is
//! required.
//!
//! The context lines of a hunk must occur exactly once in the file after the previous hunk; line
//! numbers are ignored, so that a change elsewhere in the file does no harm.

use std::collections::BTreeMap;

/// Path from the root of a tree, and contents of the file.
pub type Files = BTreeMap<String, Vec<u8>>;

/// One file's part of a step.
#[derive(Debug, PartialEq, Eq)]
pub struct Change {
    /// The heading of the step.
    pub step: String,
    /// Which file.
    pub path: String,
    /// Whether the file is new.
    pub is_new: bool,
    /// In the order of the file.
    pub hunks: Vec<Hunk>,
}

/// Lines that take the place of others.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// What stands there before.
    pub old: Vec<String>,
    /// What stands there afterwards.
    pub new: Vec<String>,
}

/// The changes of all diffs in a document, in order.
///
/// # Errors
/// When a line in a diff is none of a diff.
pub fn read(document: &str) -> Result<Vec<Change>, String> {
    let (mut step, mut changes, mut in_diff) = (String::new(), Vec::<Change>::new(), false);
    let mut is_new = false;
    for (number, line) in document.lines().enumerate() {
        if !in_diff {
            in_diff = line == "```diff";
            step = line.strip_prefix("## ").map_or(step, str::to_owned);
            continue;
        }
        let wrong = || format!("line {}: `{line}` is no line of a diff", number + 1);
        let hunk = changes.last_mut().and_then(|change| change.hunks.last_mut());
        if line == "```" {
            in_diff = false;
        } else if let Some(from) = line.strip_prefix("--- ") {
            is_new = from == "/dev/null";
        } else if let Some(path) = line.strip_prefix("+++ b/") {
            changes.push(Change { step: step.clone(), path: path.to_owned(), is_new, hunks: Vec::new() });
        } else if line.starts_with("@@ ") {
            changes.last_mut().ok_or_else(wrong)?.hunks.push(Hunk::default());
        } else {
            hunk.ok_or_else(wrong)?.take(line).ok_or_else(wrong)?;
        }
    }
    Ok(changes)
}

impl Hunk {
    /// Takes a line of a diff; an empty one is an empty line that stays, since editors cut spaces at the end.
    fn take(&mut self, line: &str) -> Option<()> {
        let rest = line.get(1..).unwrap_or_default();
        match line.chars().next() {
            Some('-') => self.old.push(rest.to_owned()),
            Some('+') => self.new.push(rest.to_owned()),
            Some(' ') | None => {
                self.old.push(rest.to_owned());
                self.new.push(rest.to_owned());
            }
            Some(_) => return None,
        }
        Some(())
    }
}

/// Applies a change to the files.
///
/// # Errors
/// When it does not fit: with the step, the file and the first line of the hunk.
pub fn apply(files: &mut Files, change: &Change) -> Result<(), String> {
    let Change { step, path, is_new, hunks } = change;
    let wrong = |what: &str| format!("step \"{step}\", {path}: {what}");
    let before = match (files.get(path), is_new) {
        (Some(_), true) => return Err(wrong("the file is there already")),
        (None, false) => return Err(wrong("there is no such file")),
        (None, true) => "",
        (Some(bytes), false) => std::str::from_utf8(bytes).map_err(|_| wrong("the file is no text"))?,
    };
    let mut lines: Vec<&str> = before.lines().collect();
    let mut from = 0;
    for hunk in hunks {
        let is_here = |at: &usize| lines[*at..].iter().take(hunk.old.len()).eq(hunk.old.iter());
        let places: Vec<usize> =
            if *is_new { vec![0] } else { (from..lines.len()).filter(is_here).collect() };
        let [at] = places[..] else {
            let first = hunk.old.iter().find(|line| !line.trim().is_empty()).map_or("", |line| line.trim());
            return Err(wrong(&format!("the lines from `{first}` on stand there {} times", places.len())));
        };
        lines.splice(at..at + hunk.old.len(), hunk.new.iter().map(String::as_str));
        from = at + hunk.new.len();
    }
    let after = lines.iter().flat_map(|line| [line, "\n"]).collect::<String>();
    files.insert(path.clone(), after.into_bytes());
    Ok(())
}
