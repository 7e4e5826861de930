//! The WebAssembly that the browser loads is built from the sources that are here.

use std::path::{Path, PathBuf};

use sha1_smol::Sha1;

/// A built file: its name, its script, the folders and files of its sources, and the most bytes that a page may load for it.
struct Built {
    name: &'static str,
    script: &'static str,
    sources: &'static [&'static str],
    most_bytes: usize,
}

const TAB: Built = Built {
    name: "src/web/wasm/tickwire.wasm",
    script: "scripts/build-wasm.sh",
    sources: &["src"],
    most_bytes: 2608 * 1024,
};
/// The same package without the server, beside it: the most bytes that the page of a server loads for it.
const PREDICT: (&str, usize) = ("src/web/wasm/prediction.wasm", 448 * 1024);
/// What is not built for a browser, or no part of the file.
const LEFT_OUT: [&str; 13] = [
    "src/cli",
    "src/limits",
    "src/main.rs",
    "src/server/builder",
    "src/server/cluster",
    "src/server/journal",
    "src/server/net",
    "src/testing/abuse",
    "src/testing/hostile.rs",
    "src/testing/load",
    "src/testing/simulate",
    "src/testing/source_addresses.rs",
    "src/util/os",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sha1(bytes: &[u8]) -> String {
    Sha1::from(bytes).digest().to_string()
}

/// The Rust files below a folder, without tests; or the file itself.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    if directory.is_file() {
        return found.push(directory.to_path_buf());
    }
    for entry in std::fs::read_dir(directory).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if LEFT_OUT.iter().any(|out| path == root().join(out)) {
            continue;
        }
        let is_test = path.file_stem().is_some_and(|name| name == "tests");
        if path.is_dir() && !is_test {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test {
            found.push(path);
        }
    }
}

impl Built {
    /// The hash that the script writes: SHA-1 over the sorted list of "SHA-1  path" lines, as `sha1sum` prints it.
    fn hash_of_sources(&self) -> String {
        let mut found = Vec::new();
        self.sources.iter().for_each(|source| sources(&root().join(source), &mut found));
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
    fn noted(&self, key: &str) -> String {
        let text = std::fs::read_to_string(root().join(format!("{}.sources", self.name)));
        let text = text.unwrap_or_else(|error| panic!("{error}: {}", self.refresh()));
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no line {key}: {}", self.refresh())).to_string()
    }

    fn refresh(&self) -> String {
        format!("run {} and commit {} and {}.sources", self.script, self.name, self.name)
    }

    #[track_caller]
    fn check(&self) {
        assert_eq!(
            self.hash_of_sources(),
            self.noted("sources"),
            "{} is stale: {}",
            self.name,
            self.refresh()
        );
        let bytes = std::fs::read(root().join(self.name)).expect("it is there");
        assert_eq!(bytes[..4], *b"\0asm");
        assert_eq!(sha1(&bytes), self.noted("wasm"), "not built by the script: {}", self.refresh());
        let (name, most_bytes) = PREDICT;
        let predict = std::fs::read(root().join(name)).expect("it is there");
        assert_eq!(sha1(&predict), self.noted("predict"), "not built by the script: {}", self.refresh());
        assert!(predict.len() < most_bytes, "{} bytes are too many for a page to load", predict.len());
        assert!(bytes.len() < self.most_bytes, "{} bytes are too many for a page to load", bytes.len());
    }
}

#[test]
fn the_built_file_is_not_stale() {
    TAB.check();
}
