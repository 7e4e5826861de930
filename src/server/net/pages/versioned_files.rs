//! Files of the pages below `v/VERSION/`. The version changes with every file, so browsers store
//! these files for good, and a reload requests only the page itself.
//!
//! The imports of a module are relative, so all modules of a page have the same version. A request
//! with another version, from the page of another build, gets the current file.

use std::sync::OnceLock;

use sha1_smol::Sha1;

use super::browser_edition::Files;

/// The first part of the path, before the version.
const PREFIX: &str = "/v/";
/// Hexadecimal digits of the version.
const DIGITS: usize = 16;
/// The header of a file that never changes at its path.
pub const CACHE_FOR_GOOD: (&str, &str) = ("Cache-Control", "public, max-age=31536000, immutable");

/// Splits `/v/VERSION/NAME` into the version and `/NAME`. Other paths, also pages and endpoints,
/// have no version.
pub fn split(path: &str) -> (Option<&str>, &str) {
    let below = path.strip_prefix(PREFIX).filter(|_| is_file(path));
    let parts = below.and_then(|rest| rest.find('/').map(|end| rest.split_at(end)));
    let is_version = |text: &str| text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts
        .filter(|(version, _)| is_version(version))
        .map_or((None, path), |(version, path)| (Some(version), path))
}

fn is_file(path: &str) -> bool {
    [".css", ".js", ".json", ".svg", ".wasm"].iter().any(|extension| path.ends_with(extension))
}

/// Returns the version of the files.
pub fn version(files: Files) -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| version_of(files))
}

fn version_of(files: Files) -> String {
    let mut sum = Sha1::new();
    for (name, bytes) in files {
        sum.update(name.as_bytes());
        sum.update(&bytes.len().to_le_bytes());
        sum.update(bytes);
    }
    sum.digest().to_string()[..DIGITS].to_owned()
}

/// Adds the version to each attribute that is the name of a file.
pub fn add_versions(files: Files, page: &str, version: &str) -> String {
    let is_embedded = |name: &str| is_file(name) && files.iter().any(|(known, _)| *known == name);
    let parts = page.split("=\"").map(|part| match part.split('"').next() {
        Some(name) if is_embedded(name) => format!("{}{version}/{part}", &PREFIX[1..]),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("=\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: Files = &[
        (
            "index.html",
            b"<link href=\"a/b.css\"> <a href=\"wire\"> <script src=\"a/c.js\"> <i title=\"c.js\">",
        ),
        ("a/b.css", b"style"),
        ("a/c.js", b"module"),
    ];

    #[test]
    fn only_files_have_versions() {
        const VERSION: &str = "0123456789abcdef";
        for (path, expected) in [
            ("/v/0123456789abcdef/a/c.js", (Some(VERSION), "/a/c.js")),
            ("/v/0123456789abcdef/codes.json", (Some(VERSION), "/codes.json")),
            ("/v/0123456789abcdef/play", (None, "/v/0123456789abcdef/play")),
            ("/v/0123456789abcdef/admin.html", (None, "/v/0123456789abcdef/admin.html")),
            ("/v/0123456789abcdef/", (None, "/v/0123456789abcdef/")),
            ("/v/0123456789abcde/a.js", (None, "/v/0123456789abcde/a.js")),
            ("/v/0123456789abcdeg/a.js", (None, "/v/0123456789abcdeg/a.js")),
            ("/v/a.js", (None, "/v/a.js")),
            ("/a/c.js", (None, "/a/c.js")),
        ] {
            assert_eq!(split(path), expected);
        }
    }

    #[test]
    fn a_page_requests_its_files_with_a_version_that_each_file_changes() {
        let page = add_versions(FILES, &String::from_utf8_lossy(FILES[0].1), "12");
        assert_eq!(
            page,
            "<link href=\"v/12/a/b.css\"> <a href=\"wire\"> <script src=\"v/12/a/c.js\"> <i title=\"c.js\">"
        );
        const OTHER: Files = &[("a/b.css", b"style"), ("a/c.js", b"another")];
        assert_eq!(version_of(FILES).len(), DIGITS);
        assert_ne!(version_of(&FILES[1..]), version_of(OTHER));
    }
}
