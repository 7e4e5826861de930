//! Compression of pages and their files by gzip (RFC 9110, section 8.4).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Arc, OnceLock};

use flate2::Compression;
use flate2::write::GzEncoder;
use parking_lot::Mutex;

use super::page_response::PageResponse;
use crate::limits;
use crate::util::os::threads;
use crate::ws::http::RequestHead;

/// The name of the encoding.
const GZIP: &str = "gzip";

/// Compressed files by the entity tag of the file.
static COMPRESSED: Mutex<BTreeMap<String, &'static [u8]>> = Mutex::new(BTreeMap::new());

/// Compresses the body if it is a file of the program and the client accepts gzip, and returns the
/// headers for this. The entity tag then differs from the tag of the file (RFC 9110, section
/// 8.8.3.3).
///
/// Other bodies are not compressed: each would take CPU time for one response.
pub fn compress(found: &mut PageResponse, head: &RequestHead) -> Vec<(&'static str, String)> {
    let (Some(tag), Cow::Borrowed(file)) = (&mut found.entity_tag, &found.body) else { return Vec::new() };
    let mut headers = vec![("Vary", "Accept-Encoding".to_owned())];
    if head.headers.has_token("Accept-Encoding", GZIP)
        && let Some(compressed) = compressed(tag, file)
    {
        headers.push(("Content-Encoding", GZIP.to_owned()));
        found.body = compressed.into();
        tag.insert_str(tag.len() - 1, "-gzip");
    }
    headers
}

/// Returns the compressed file with this entity tag.
fn compressed(tag: &str, file: &'static [u8]) -> Option<&'static [u8]> {
    let mut files = COMPRESSED.lock();
    if let Some(known) = files.get(tag) {
        return Some(known);
    }
    let compressed = gzip(file)?;
    files.insert(tag.to_owned(), compressed);
    Some(compressed)
}

/// Compresses in a thread of its own, because the stack of a client's thread is too small. Without
/// such a thread, the file is not compressed.
fn gzip(file: &'static [u8]) -> Option<&'static [u8]> {
    let compressed = Arc::new(OnceLock::new());
    let result = Arc::clone(&compressed);
    let run = move || {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let written = encoder.write_all(file).and_then(|()| encoder.finish());
        _ = result.set(written.expect("a vector takes all bytes"));
    };
    threads::spawn_with_stack("gzip", limits::COMPRESSOR_STACK_BYTES, run).ok()?.join().ok()?;
    let bytes: Vec<u8> = Arc::into_inner(compressed)?.into_inner()?;
    Some(bytes.leak())
}
