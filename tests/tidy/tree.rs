//! The repository's own files, as in a clone: every text file that `.gitignore` does not name.

use std::fs;
use std::path::Path;

/// One text file of the repository.
pub struct File {
    /// Path from the repository's root, with `/` on every system.
    pub path: String,
    /// The contents.
    pub text: String,
}

impl File {
    /// A file that exists only in a test of the checkers.
    pub fn new(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    /// What stands after the last dot of the name, or nothing.
    pub fn extension(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// Whether the file lies in this folder, or is this file.
    pub fn is_in(&self, directory: &str) -> bool {
        self.path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether all of the file is a test: a folder or file of that name.
    pub fn is_test(&self) -> bool {
        self.path.split('/').any(|part| matches!(part, "tests" | "tests.rs"))
    }
}

/// A rule that a file breaks, and where.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breach {
    /// Path from the repository's root.
    pub path: String,
    /// Line, counted from 1.
    pub line: usize,
    /// The rule, as a sentence that says what to do.
    pub rule: String,
}

impl Breach {
    /// A breach of a rule in a file.
    pub fn new(file: &File, line: usize, rule: impl Into<String>) -> Breach {
        Breach { path: file.path.clone(), line, rule: rule.into() }
    }
}

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All text files, in the order of their paths. What `.gitignore` names by a plain path is left out.
pub fn files() -> Vec<File> {
    let ignored = fs::read_to_string(root().join(".gitignore")).expect("the repository has a .gitignore");
    let ignored: Vec<&str> = ignored.lines().map(|line| line.trim().trim_matches('/')).collect();
    let mut files = Vec::new();
    walk(root(), "", &ignored, &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn walk(directory: &Path, prefix: &str, ignored: &[&str], files: &mut Vec<File>) {
    for entry in fs::read_dir(directory).expect("a folder of the repository can be listed") {
        let entry = entry.expect("an entry of the repository can be read");
        let name = entry.file_name().into_string().expect("names in the repository are UTF-8");
        let path = format!("{prefix}{name}");
        if name == ".git" || ignored.contains(&path.as_str()) || ignored.contains(&name.as_str()) {
            continue;
        }
        if entry.file_type().expect("an entry has a type").is_dir() {
            walk(&entry.path(), &format!("{path}/"), ignored, files);
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            files.push(File { path, text });
        }
    }
}
