//! Pages as they are sent: the style sheets are within the page, and its files have versions. A
//! browser draws such a page as soon as it is complete, after two round trips.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::browser_edition::Files;
use super::page_response::CONTENT_SECURITY_POLICY;
use super::versioned_files;

/// Pages of the program. The page of another game is sent as it is, because it may contain paths
/// that a program computes.
const PAGES: [&str; 4] = ["admin.html", "index.html", "inspector.html", "quiz.html"];
/// A reference to a style sheet, before its name. Other attributes follow the name.
const STYLE_SHEET: &str = "<link rel=\"stylesheet\" href=\"";
/// Sources of styles in [`CONTENT_SECURITY_POLICY`].
const STYLE_SOURCES: &str = "style-src 'self'";

/// A page and its content security policy.
pub struct PreparedPage {
    /// HTML.
    pub text: String,
    /// The policy, which allows exactly the styles of the page by their hashes.
    pub policy: String,
}

/// Returns a page as it is sent. `None` for every other file.
pub fn find(files: Files, name: &str) -> Option<&'static PreparedPage> {
    static PREPARED: [OnceLock<PreparedPage>; PAGES.len()] = [const { OnceLock::new() }; PAGES.len()];
    let at = PAGES.iter().position(|page| *page == name)?;
    let (_, page) = files.iter().find(|(known, _)| *known == name)?;
    Some(PREPARED[at].get_or_init(|| prepare(files, page)))
}

fn prepare(files: Files, page: &[u8]) -> PreparedPage {
    let page = String::from_utf8_lossy(page);
    let mut parts = page.split(STYLE_SHEET);
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut sources = STYLE_SOURCES.to_owned();
    for part in parts {
        let (name, rest) = part.split_once('"').unwrap_or((part, ""));
        let (attributes, rest) = rest.split_once('>').unwrap_or((rest, ""));
        let found = files.iter().find(|(known, _)| *known == name);
        // A browser computes the hash after it has changed the line ends.
        let style = found.map(|(_, bytes)| String::from_utf8_lossy(bytes).replace("\r\n", "\n"));
        let style = style.unwrap_or_default();
        let hash = STANDARD.encode(Sha256::digest(style.as_bytes()));
        sources += &format!(" 'sha256-{hash}'");
        text += &format!("<style{attributes}>{style}</style>{rest}");
    }
    PreparedPage {
        text: versioned_files::add_versions(files, &text, versioned_files::version(files)),
        policy: CONTENT_SECURITY_POLICY.replace(STYLE_SOURCES, &sources),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_sheets_are_within_the_page_and_its_policy_allows_them() {
        const FILES: Files = &[
            ("a.css", b"p { color: red }\r\n"),
            ("b.css", b""),
            (
                "index.html",
                b"<link rel=\"stylesheet\" href=\"a.css\">\n<link rel=\"stylesheet\" href=\"b.css\" id=\"b\">\n<p>",
            ),
        ];
        let page = prepare(FILES, FILES[2].1);
        assert_eq!(page.text, "<style>p { color: red }\n</style>\n<style id=\"b\"></style>\n<p>");
        let expected = "style-src 'self' 'sha256-Bobe6CYX5zxHHYfLPTOtWPQ5noNsHWzCunyLdPCF74I=' \
                        'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; object-src";
        assert!(page.policy.contains(expected), "{}", page.policy);
    }
}
