//! Requests without an upgrade: the pages and their files, embedded in the binary, and `/metrics`.
//!
//! Each request head gets one whole response. No response contains a file from the machine's disk,
//! and internal pages are served only to requests that pass every check for being local, or carry
//! the token.

use std::borrow::Cow;
use std::net::SocketAddr;

use super::access;
use super::console::admin;
use super::host::Host;
use super::metrics::Metrics;
use super::wire;
use crate::packet::endpoint;
use crate::ws::http::{self, RequestHead};

/// An embedded file: name, type, bytes.
type File = (&'static str, &'static str, &'static [u8]);

macro_rules! files {
    ($($name:literal $kind:literal;)+) => {
        &[$(($name, $kind, include_bytes!(concat!("../web/", $name)).as_slice())),+]
    };
}

/// Everything in `src/web/` that a browser asks for.
const FILES: &[File] = files! {
    "admin.css" "text/css; charset=utf-8";
    "admin.html" "text/html; charset=utf-8";
    "admin.js" "text/javascript; charset=utf-8";
    "animals.js" "text/javascript; charset=utf-8";
    "built.js" "text/javascript; charset=utf-8";
    "camera.js" "text/javascript; charset=utf-8";
    "clans.js" "text/javascript; charset=utf-8";
    "commands.js" "text/javascript; charset=utf-8";
    "connection.js" "text/javascript; charset=utf-8";
    "draw-animals.js" "text/javascript; charset=utf-8";
    "draw-arms.js" "text/javascript; charset=utf-8";
    "draw-effects.js" "text/javascript; charset=utf-8";
    "draw-icons.js" "text/javascript; charset=utf-8";
    "draw-items.js" "text/javascript; charset=utf-8";
    "draw-labels.js" "text/javascript; charset=utf-8";
    "draw-players.js" "text/javascript; charset=utf-8";
    "draw-scenery.js" "text/javascript; charset=utf-8";
    "draw-shapes.js" "text/javascript; charset=utf-8";
    "draw-shots.js" "text/javascript; charset=utf-8";
    "draw-structures.js" "text/javascript; charset=utf-8";
    "draw-terrain.js" "text/javascript; charset=utf-8";
    "draw-text.js" "text/javascript; charset=utf-8";
    "draw-tools.js" "text/javascript; charset=utf-8";
    "draw-weather.js" "text/javascript; charset=utf-8";
    "effects.js" "text/javascript; charset=utf-8";
    "favicon.svg" "image/svg+xml";
    "happenings.js" "text/javascript; charset=utf-8";
    "hints.js" "text/javascript; charset=utf-8";
    "hud-clan.js" "text/javascript; charset=utf-8";
    "hud-kit.js" "text/javascript; charset=utf-8";
    "hud-panels.js" "text/javascript; charset=utf-8";
    "hud-play.js" "text/javascript; charset=utf-8";
    "hud.js" "text/javascript; charset=utf-8";
    "index.html" "text/html; charset=utf-8";
    "input.js" "text/javascript; charset=utf-8";
    "inspect.js" "text/javascript; charset=utf-8";
    "interpolation.js" "text/javascript; charset=utf-8";
    "main.js" "text/javascript; charset=utf-8";
    "minimap.js" "text/javascript; charset=utf-8";
    "moments.js" "text/javascript; charset=utf-8";
    "msgpack.js" "text/javascript; charset=utf-8";
    "palette.js" "text/javascript; charset=utf-8";
    "panels.css" "text/css; charset=utf-8";
    "player.js" "text/javascript; charset=utf-8";
    "protocol.js" "text/javascript; charset=utf-8";
    "random.js" "text/javascript; charset=utf-8";
    "rates.js" "text/javascript; charset=utf-8";
    "rules.js" "text/javascript; charset=utf-8";
    "settings.js" "text/javascript; charset=utf-8";
    "shots.js" "text/javascript; charset=utf-8";
    "sound.js" "text/javascript; charset=utf-8";
    "sprites.js" "text/javascript; charset=utf-8";
    "stage.js" "text/javascript; charset=utf-8";
    "style.css" "text/css; charset=utf-8";
    "swing.js" "text/javascript; charset=utf-8";
    "title.js" "text/javascript; charset=utf-8";
    "wire-bars.js" "text/javascript; charset=utf-8";
    "wire-beside.js" "text/javascript; charset=utf-8";
    "wire-bytes.js" "text/javascript; charset=utf-8";
    "wire-draw.js" "text/javascript; charset=utf-8";
    "wire-frame.js" "text/javascript; charset=utf-8";
    "wire-frames.js" "text/javascript; charset=utf-8";
    "wire-line.js" "text/javascript; charset=utf-8";
    "wire-list.js" "text/javascript; charset=utf-8";
    "wire-rows.js" "text/javascript; charset=utf-8";
    "wire-tree.js" "text/javascript; charset=utf-8";
    "wire.css" "text/css; charset=utf-8";
    "wire.html" "text/html; charset=utf-8";
    "wire.js" "text/javascript; charset=utf-8";
    "world.js" "text/javascript; charset=utf-8";
    "world.wasm" "application/wasm";
};

/// The page's content security policy: it may load from and connect to this server only.
const POLICY: &str = "default-src 'self'; connect-src 'self' ws: wss:; img-src 'self' data:; style-src 'self'; \
                      object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// A response in two parts, so that the page's files need not be copied for each request.
pub struct Response {
    /// The status in the head.
    pub status: u16,
    /// The head, including its empty line.
    pub head: Vec<u8>,
    /// The body; empty for `HEAD`.
    pub body: Cow<'static, [u8]>,
}

/// The response to a request.
pub fn respond(host: &Host, head: &RequestHead, address: SocketAddr) -> Response {
    let is_head = head.method == "HEAD";
    let (status, kind, more, body) = if head.method == "GET" || is_head {
        find(host, head, address)
    } else {
        let allowed = if head.path() == admin::PATH { "GET, HEAD, POST" } else { "GET, HEAD" };
        (405, TEXT, [("Allow", allowed)], format!("only {allowed}\n").into_bytes().into())
    };
    let head = http::response_head(status, kind, &headers(more), body.len());
    Response { status, head, body: if is_head { Cow::default() } else { body } }
}

const TEXT: &str = "text/plain; charset=utf-8";
const METRICS_PATH: &str = "/metrics";
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const FRESH: [(&str, &str); 1] = [("Cache-Control", "no-cache")];

fn headers(more: [(&'static str, &'static str); 1]) -> [(&'static str, &'static str); 5] {
    let [more] = more;
    [
        more,
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        // A page that opened this one cannot steer it, such as by another fragment.
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Content-Security-Policy", POLICY),
    ]
}

type Found = (u16, &'static str, [(&'static str, &'static str); 1], Cow<'static, [u8]>);

fn find(host: &Host, head: &RequestHead, address: SocketAddr) -> Found {
    let name = match head.path() {
        "/" => "index.html",
        admin::PATH => "admin.html",
        wire::PATH => "wire.html",
        METRICS_PATH => return metrics(host, head, address),
        // The path as it is: `//main.js` is another one, and a proxy's rule for `/metrics` does not hold for `//metrics`.
        path => path.strip_prefix('/').unwrap_or(path),
    };
    if endpoint::PATHS.iter().any(|(path, _)| *path == head.path() && *path != "/") {
        return (426, TEXT, [("Upgrade", "websocket")], b"this is a WebSocket endpoint\n".as_slice().into());
    }
    // Who may not watch gets the page all the same, which then asks for the token; its status says so.
    let status = if head.path() == wire::PATH { access::status(host, head, address) } else { 200 };
    match FILES.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, bytes)) => (status, kind, FRESH, Cow::Borrowed(*bytes)),
        None => (404, TEXT, FRESH, b"no such page\n".as_slice().into()),
    }
}

/// The metrics, for this machine and for requests with the operator's token.
fn metrics(host: &Host, head: &RequestHead, address: SocketAddr) -> Found {
    let refused = |status, more, rule: &'static str| {
        Metrics::count(&host.metrics.refused, "rule", rule);
        (status, TEXT, more, format!("{rule}\n").into_bytes().into())
    };
    if !access::is_at_this_machine(head, address, &host.config.trusted_proxies) {
        let Some(said) = access::bearer(head) else { return refused(403, FRESH, "metrics_token_missing") };
        if let Err(no) = access::check_token(host, &said, address) {
            let more = if no.status == 401 { access::BEARER_WANTED } else { FRESH };
            return refused(no.status, more, no.rule);
        }
    }
    (200, METRICS, FRESH, host.metrics.text().into_bytes().into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    #[test]
    fn every_file_of_the_page_is_embedded_and_nothing_else() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/web");
        let on_disk: BTreeSet<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.ends_with(".sources"))
            .collect();
        let embedded: BTreeSet<String> = FILES.iter().map(|(name, ..)| (*name).to_owned()).collect();
        assert_eq!(on_disk, embedded, "list the files of src/web/ in net/pages.rs");
    }
}
