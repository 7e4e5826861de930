//! A copy of the tree in its own directory, for building.
//!
//! The directory then contains exactly the given files. A file that already has the wanted contents
//! is not written, so that a second build is fast. Nothing outside the directory is changed.

use std::fs;
use std::path::{Path, PathBuf};

use super::patch::Files;

/// Files and directories that are not in a clone, or are not sources.
const LEFT_OUT: [&str; 3] = [".git", "target", "node_modules"];

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The repository's files.
pub fn tree() -> Files {
    let root = root();
    let mut files = Files::new();
    for path in below(root) {
        let name = path.strip_prefix(root).expect("it is below the root").to_str().expect("UTF-8").to_owned();
        files.insert(name, fs::read(&path).expect("the file can be read"));
    }
    assert!(files.len() > 100, "only {} files found", files.len());
    files
}

/// Makes the folder hold these files and no others.
pub fn write(folder: &Path, files: &Files) {
    fs::create_dir_all(folder).expect("the folder can be made");
    for path in below(folder) {
        let name = path.strip_prefix(folder).expect("it is below the folder");
        if !files.contains_key(name.to_str().expect("UTF-8")) {
            fs::remove_file(&path).expect("the file can be removed");
        }
    }
    for (name, bytes) in files {
        let path = folder.join(name);
        if fs::read(&path).is_ok_and(|there| there == *bytes) {
            continue;
        }
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder can be made");
        fs::write(&path, bytes).expect("the file can be written");
    }
}

/// Every file below a folder, without what is left out.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let entry = entry.expect("the entry can be read");
        let kind = entry.file_type().expect("the entry has a kind");
        if LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        if kind.is_dir() {
            found.extend(below(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}
