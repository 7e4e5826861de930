//! The workflows and the Dockerfile, which no test here can run: what they name exists, and what they depend on is pinned.

use super::tree::{self, Breach, File};

/// The files that are read: workflows, and the Dockerfile.
pub fn files() -> Vec<File> {
    let paths = [
        ".github/workflows/ci.yml",
        ".github/workflows/pages.yml",
        ".github/workflows/release.yml",
        "Dockerfile",
    ];
    let read = |path: &str| File::new(path, &std::fs::read_to_string(tree::root().join(path)).expect(path));
    paths.into_iter().map(read).collect()
}

/// Words of a line that are paths into the repository but lead nowhere; unpinned actions; Rust of
/// another version than `Cargo.toml` wants.
pub fn breaches(file: &File, rust: &str) -> Vec<Breach> {
    let mut found = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        let mut breach = |rule: String| found.push(Breach::new(file, at + 1, rule));
        let ends = |letter: char| letter.is_whitespace() || "\"'`();,".contains(letter);
        for word in line.split(ends).map(|word| word.trim_end_matches([':', '.'])) {
            let is_path = ["scripts/", "src/", "docs/", "LICENSE", "README", "CHANGELOG"];
            if is_path.iter().any(|start| word.starts_with(start)) && !tree::root().join(word).exists() {
                breach(format!("{word} does not exist"));
            }
        }
        if let Some((_, action)) = line.split_once("uses: ") {
            let version = action.split_once("@v").map_or("", |(_, version)| version);
            if version.split('.').filter(|part| part.parse::<u16>().is_ok()).count() != 3 {
                breach(format!("pin {action} by its full version"));
            }
        }
        let given = line.split_once("RUST: ").or_else(|| line.split_once("FROM rust:"));
        if given.is_some_and(|(_, version)| !version.trim_start_matches('"').starts_with(rust)) {
            breach(format!("Cargo.toml wants Rust {rust}"));
        }
    }
    found
}

/// The Rust that the package asks for.
pub fn rust_version() -> String {
    let manifest = std::fs::read_to_string(tree::root().join("Cargo.toml")).expect("the manifest");
    let line = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
    line.expect("a version").trim_matches('"').to_owned()
}
