//! The tab edition at `/tab/`: the pages whose server runs in the browser, from the same embedded
//! files as the others.
//!
//! `scripts/build-tab.sh` writes the same files into a folder for any static host; the browser's test
//! compares the two.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

use sha1_smol::Sha1;

use super::pages::{FILES, file};

/// The path of the folder; without its last slash it leads there.
pub const FOLDER: &str = "/tab/";

/// The list of files for the service worker, made here.
const LIST: &str = "tab-files.js";

/// A file of the edition by its name in the folder.
pub fn find(name: &str) -> Option<Cow<'static, [u8]>> {
    match name {
        LIST => Some(Cow::Borrowed(LIST_TEXT.as_bytes())),
        "edition.js" => file("edition-tab.js"),
        name if is_left_out(name) => None,
        name => file(name),
    }
}

/// Whether a file is not part of the edition: the operator's page, the world, which is in the
/// server's WebAssembly too, and what is there under another name.
fn is_left_out(name: &str) -> bool {
    name.starts_with("admin.") || ["edition-tab.js", "world.wasm"].contains(&name)
}

/// Made from constants alone, so that one for all servers of a process will do.
static LIST_TEXT: LazyLock<String> = LazyLock::new(|| {
    // The service worker is kept by the browser itself.
    let mut names: Vec<&str> =
        FILES.iter().map(|(name, _)| *name).filter(|name| !is_left_out(name)).collect();
    names.retain(|name| *name != "tab-cache.js");
    names.sort_unstable();
    let mut sums = String::new();
    for name in &names {
        let bytes = find(name).unwrap_or_default();
        let _ = writeln!(sums, "{}  {name}", Sha1::from(&bytes).digest());
    }
    let names = names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    format!("self.TAB_FILES = {{ version: '{}', files: [{names}] }};\n", Sha1::from(sums).digest())
});

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str) -> String {
        String::from_utf8(find(name).unwrap_or_else(|| panic!("no {name}")).into_owned()).expect("text")
    }

    #[test]
    fn the_tab_edition_differs_in_its_edition_and_has_no_page_for_the_operator() {
        assert!(text("edition.js").contains("EDITION = 'tab'"));
        assert!(file("edition.js").is_some_and(|bytes| bytes.windows(8).any(|part| part == b"'server'")));
        assert_eq!(find("main.js"), file("main.js"));
        for name in
            ["admin.html", "admin.js", "edition-tab.js", "world.wasm", "wire", "nothing", "", "/main.js"]
        {
            assert_eq!(find(name), None, "{name}");
        }
    }

    #[test]
    fn the_list_for_the_service_worker_has_every_file_once_and_no_other() {
        let list = text(LIST);
        for (name, _) in FILES {
            let expected = usize::from(!is_left_out(name) && *name != "tab-cache.js");
            assert_eq!(list.matches(&format!("'{name}'")).count(), expected, "{name}");
        }
        assert!(list.starts_with("self.TAB_FILES = { version: '"), "{list}");
    }
}
