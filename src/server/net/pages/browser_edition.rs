//! The browser edition at `/tab/`: the same embedded pages, with a server that runs in the browser.
//!
//! `scripts/build-wasm.sh` writes the same files into a directory for any static host;
//! `tests/browser/tab.mjs` compares the two.

use std::borrow::Cow;
use std::fmt::Write as _;

use sha1_smol::Sha1;

/// Names and contents of the embedded files.
pub type Files = &'static [(&'static str, &'static [u8])];

/// Path of the edition. A request without the trailing slash is redirected to this path.
pub const PATH_PREFIX: &str = "/tab/";

/// Generated list of files for the service worker.
const FILE_LIST: &str = "tab-files.js";

/// The module that names the edition.
const EDITION: &str = "wasm/edition.js";
/// The replacement of `EDITION` in the browser edition.
const BROWSER_EDITION: &str = "wasm/edition-browser.js";

/// Returns a file of the edition by its name below [`PATH_PREFIX`].
pub fn find(files: Files, name: &str) -> Option<Cow<'static, [u8]>> {
    if name == FILE_LIST {
        return Some(Cow::Owned(list(files).into_bytes()));
    }
    let name =
        if name == EDITION { BROWSER_EDITION } else { Some(name).filter(|name| !is_excluded(name))? };
    files.iter().find(|(known, _)| *known == name).map(|(_, bytes)| Cow::Borrowed(*bytes))
}

/// Whether a file is not part of the edition: the operator's page, the modules of another game's
/// page, or a file served under another name.
fn is_excluded(name: &str) -> bool {
    ["admin.", "admin/", "games/"].iter().any(|prefix| name.starts_with(prefix)) || name == BROWSER_EDITION
}

/// Generates the list of all files, except the service worker, which the browser itself stores. The
/// list's version changes when any of the files changes.
fn list(files: Files) -> String {
    let mut names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    names.retain(|name| !is_excluded(name) && *name != "service-worker.js");
    names.sort_unstable();
    let mut sums = String::new();
    for name in &names {
        let bytes = find(files, name).unwrap_or_default();
        let _ = writeln!(sums, "{}  {name}", Sha1::from(&bytes).digest());
    }
    let names = names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    format!("self.TAB_FILES = {{ version: '{}', files: [{names}] }};\n", Sha1::from(sums).digest())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: Files = &[
        ("admin.html", b"the operator's"),
        ("admin/admin.js", b"the operator's"),
        ("wasm/edition-browser.js", b"tab"),
        ("wasm/edition.js", b"server"),
        ("game/main.js", b"game"),
        ("games/other/map.js", b"another game"),
        ("service-worker.js", b"cache"),
        ("wasm/tickwire.wasm", b"code"),
    ];

    fn text(files: Files, name: &str) -> Option<String> {
        find(files, name).map(|bytes| String::from_utf8(bytes.into_owned()).expect("text"))
    }

    #[test]
    fn the_tab_edition_differs_in_its_edition_and_has_no_page_for_the_operator() {
        assert_eq!(text(FILES, "wasm/edition.js").as_deref(), Some("tab"));
        for name in ["game/main.js", "service-worker.js", "wasm/tickwire.wasm"] {
            assert!(find(FILES, name).is_some(), "{name}");
        }
        for name in [
            "admin.html",
            "wasm/edition-browser.js",
            "wire",
            "",
            "/game/main.js",
            "admin/admin.js",
            "game/../admin.html",
            "games/other/map.js",
        ] {
            assert_eq!(find(FILES, name), None, "{name}");
        }
    }

    #[test]
    fn the_list_has_every_file_once_and_its_version_changes_with_each() {
        let list = text(FILES, FILE_LIST).expect("the list");
        assert!(list.starts_with("self.TAB_FILES = { version: '"), "{list}");
        assert!(
            list.ends_with("', files: ['game/main.js', 'wasm/edition.js', 'wasm/tickwire.wasm'] };\n"),
            "{list}"
        );
        const OTHER: Files = &[
            ("wasm/edition-browser.js", b"tab"),
            ("game/main.js", b"another"),
            ("wasm/tickwire.wasm", b"code"),
        ];
        assert_ne!(text(OTHER, FILE_LIST).expect("the list"), list);
    }
}
