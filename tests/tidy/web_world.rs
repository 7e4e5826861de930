//! The world that the browser loads is built from the sources that are here.

use std::path::{Path, PathBuf};

use sha1_smol::Sha1;

const REFRESH: &str = "run scripts/build-web.sh and commit src/web/world.wasm and src/web/world.wasm.sources";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sha1(bytes: &[u8]) -> String {
    Sha1::from(bytes).digest().to_string()
}

/// The Rust files below a folder, without the world's tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            if path != root().join("src/world/tests") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The hash that scripts/build-web.sh writes: SHA-1 over the sorted list of "SHA-1  path" lines, as `sha1sum` prints it.
fn hash_of_sources() -> String {
    let mut found = Vec::new();
    sources(&root().join("src/world"), &mut found);
    let mut lines: Vec<(String, String)> = found
        .iter()
        .map(|path| {
            let name = path.strip_prefix(root()).expect("it is below the root").to_str().expect("UTF-8");
            (name.to_string(), sha1(&std::fs::read(path).expect("the source can be read")))
        })
        .collect();
    lines.sort();
    assert!(lines.len() > 15, "the sources are where they were");
    sha1(lines.iter().map(|(name, hash)| format!("{hash}  {name}\n")).collect::<String>().as_bytes())
}

/// The value of a line of the file beside the built one.
fn noted(key: &str) -> String {
    let text = std::fs::read_to_string(root().join("src/web/world.wasm.sources")).expect(REFRESH);
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no line {key}: {REFRESH}")).to_string()
}

#[test]
fn the_built_world_is_not_stale() {
    assert_eq!(hash_of_sources(), noted("sources"), "src/web/world.wasm is stale: {REFRESH}");
}

#[test]
fn the_built_world_is_the_one_that_was_noted() {
    let bytes = std::fs::read(root().join("src/web/world.wasm")).expect(REFRESH);
    assert_eq!(bytes[..4], *b"\0asm");
    assert_eq!(sha1(&bytes), noted("wasm"), "src/web/world.wasm was not built by the script: {REFRESH}");
    assert!(bytes.len() < 256 * 1024, "{} bytes are too many for a page to load", bytes.len());
}
