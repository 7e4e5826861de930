//! Rules about several files: documents, manifests, limits and their uses.

use super::rust;
use super::tree::{Breach, File};

/// Links and code spans in the documents that name a missing file.
pub fn dead_links(files: &[File]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for file in files.iter().filter(|file| file.extension() == "md") {
        let directory = file.path.rsplit_once('/').map_or("", |(directory, _)| directory);
        for (at, line) in file.text.lines().enumerate() {
            for target in links(line).chain(spans(line)) {
                if !exists(files, directory, target) {
                    breaches.push(Breach::new(file, at + 1, format!("{target} is not there")));
                }
            }
        }
    }
    breaches
}

/// Targets of `[text](target)` that lie in the repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let targets = targets.map(|(target, _)| target.split('#').next().unwrap_or_default());
    targets.filter(|target| !target.is_empty() && !target.contains(':'))
}

/// Code spans that read as a path from the repository's root.
fn spans(line: &str) -> impl Iterator<Item = &str> {
    let roots = ["src/", "tests/", "scripts/", "packet_codes/", "docs/", ".ci/"];
    let spans = line.split('`').skip(1).step_by(2);
    let paths = spans.filter_map(|span| span.split_whitespace().next());
    paths.filter(move |path| {
        roots.iter().any(|root| path.starts_with(root)) && !path.contains(['*', '…', '{', '<'])
    })
}

fn exists(files: &[File], directory: &str, target: &str) -> bool {
    let mut parts: Vec<&str> = Vec::new();
    let is_from_root = spans(&format!("`{target}`")).next().is_some();
    let base = if is_from_root { "" } else { directory };
    for part in base.split('/').chain(target.split('/')).filter(|part| !part.is_empty()) {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let path = parts.join("/");
    files.iter().any(|file| file.is_in(&path)) || super::tree::root().join(&path).is_file()
}

/// Names of tests that the documents give and no file has. Such a name is a code span of four words or more, all lower case.
pub fn unknown_names(files: &[File]) -> Vec<Breach> {
    let is_name = |span: &&str| {
        span.matches('_').count() >= 3
            && span.chars().all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    let code: Vec<&File> = files.iter().filter(|file| file.extension() != "md").collect();
    let mut breaches = Vec::new();
    for file in files.iter().filter(|file| file.extension() == "md") {
        for (at, line) in file.text.lines().enumerate() {
            for name in line.split('`').skip(1).step_by(2).filter(is_name) {
                if !code.iter().any(|file| file.text.contains(name)) {
                    breaches.push(Breach::new(file, at + 1, format!("nothing is called {name}")));
                }
            }
        }
    }
    breaches
}

/// Documents that code speaks of and that are not there.
pub fn unknown_documents(files: &[File]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let code = files
        .iter()
        .filter(|file| matches!(file.extension(), "rs" | "js" | "mjs" | "sh" | "py" | "tsv" | "toml"));
    for file in code.filter(|file| !file.is_in("tests/tidy") && !file.is_in("tests/tidy/main.rs")) {
        for (at, line) in file.text.lines().enumerate() {
            let words = line.split(|c: char| !c.is_alphanumeric() && !"._-/".contains(c));
            for word in words
                .map(|word| word.trim_matches('.').trim_start_matches('/'))
                .filter(|word| word.ends_with(".md"))
            {
                let known =
                    files.iter().any(|other| other.path == word || other.path.ends_with(&format!("/{word}")));
                if !known {
                    breaches.push(Breach::new(file, at + 1, format!("{word} is not there")));
                }
            }
        }
    }
    breaches
}

/// Dependencies of the product that ARCHITECTURE.md gives no reason for.
pub fn unnamed_dependencies(files: &[File]) -> Vec<Breach> {
    let page = files.iter().find(|file| file.path == "ARCHITECTURE.md").expect("ARCHITECTURE.md is there");
    let mut breaches = Vec::new();
    for file in files.iter().filter(|file| file.path == "Cargo.toml") {
        let headings =
            file.text.lines().filter(|line| line.starts_with('[') && line.ends_with("dependencies]"));
        let of_product = headings.filter(|heading| *heading != "[dev-dependencies]");
        for (line, name) in of_product.flat_map(|heading| section(&file.text, heading)) {
            if !page.text.contains(&format!("`{name}`")) {
                breaches.push(Breach::new(
                    file,
                    line,
                    format!("ARCHITECTURE.md gives no reason for `{name}`"),
                ));
            }
        }
    }
    breaches
}

/// Names of the entries of a section of a manifest, with their lines.
fn section<'a>(text: &'a str, heading: &str) -> Vec<(usize, &'a str)> {
    let lines = text.lines().enumerate().skip_while(|(_, line)| *line != heading).skip(1);
    let entries = lines.take_while(|(_, line)| !line.starts_with('['));
    let names = entries.filter_map(|(at, line)| Some((at + 1, line.split_once('=')?.0.trim())));
    names.filter(|(_, name)| !name.starts_with('#')).collect()
}

/// Files of bounds.
pub const LIMITS: [&str; 4] =
    ["src/limits/mod.rs", "src/limits/netem.rs", "src/limits/rooms.rs", "src/limits/websocket.rs"];

/// Bounds that nothing outside of these files keeps.
pub fn unused_limits(files: &[File]) -> Vec<Breach> {
    let is_limits = |file: &&File| LIMITS.contains(&file.path.as_str());
    assert!(files.iter().any(|file| is_limits(&file)), "src/limits/mod.rs is there");
    let others =
        files.iter().filter(|file| file.is_in("src") && file.extension() == "rs" && !is_limits(file));
    let words: Vec<&str> = others.flat_map(|file| rust::tokens(&file.text)).map(|token| token.text).collect();
    let mut unused = Vec::new();
    for file in files.iter().filter(is_limits) {
        for (at, line) in file.text.lines().enumerate() {
            let Some(rest) = line.strip_prefix("pub const ") else { continue };
            let name = rest.split(':').next().unwrap_or_default();
            if !words.contains(&name) {
                unused.push(Breach::new(file, at + 1, format!("nothing keeps the bound {name}")));
            }
        }
    }
    unused
}

/// The world stays alone: it depends on what a room expects of it, which depends on nothing.
pub fn world_alone(files: &[File]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let is_alone =
        |file: &&File| ["src/sim", "src/games/moo/world"].iter().any(|directory| file.is_in(directory));
    let manifests = files.iter().filter(|file| is_alone(file) && file.path.ends_with("Cargo.toml"));
    for file in manifests {
        let dependencies = section(&file.text, "[dependencies]");
        for (line, name) in dependencies {
            if name == "tickwire-sim" && !file.is_in("src/sim") {
                continue;
            }
            breaches.push(Breach::new(file, line, format!("the world depends on nothing, not on {name}")));
        }
    }
    breaches
}
