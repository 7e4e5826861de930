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
use super::tab_edition;
use super::wire;
use crate::packet::{endpoint, listing};
use crate::ws::http::{self, RequestHead};

macro_rules! files {
    ($($name:literal)+) => {
        &[$(($name, include_bytes!(concat!("../web/", $name)).as_slice())),+]
    };
}

/// Everything in `src/web/` that a browser asks for: name and bytes.
const FILES: tab_edition::Files = files! {
    "admin.css" "admin.html" "admin.js" "animals.js" "beside.css" "built.js" "camera.js" "clans.js"
    "codes.json" "commands.js" "connection.js" "draw-animals.js" "draw-arms.js" "draw-effects.js" "draw-icons.js"
    "draw-items.js" "draw-labels.js" "draw-players.js" "draw-scenery.js" "draw-shapes.js" "draw-shots.js"
    "draw-structures.js" "draw-terrain.js" "draw-text.js" "draw-tools.js" "draw-weather.js" "edition-tab.js"
    "edition.js" "effects.js" "favicon.svg" "happenings.js" "hints.js" "history.js" "hud-clan.js"
    "hud-graph.js" "hud-kit.js" "hud-panels.js" "hud-play.js" "hud.js" "index.html" "input.js" "inspect.js"
    "interpolation.js" "load-error.js" "main.js" "minimap.js" "moments.js" "msgpack.js" "palette.js"
    "pane.js" "panels.css" "player.js" "protocol.js" "random.js" "rates.js" "rules.js" "settings.js"
    "shots.js" "socket.js" "sound.js" "sprites.js" "stage.js" "style.css" "swing.js" "tab-cache.js"
    "tab-host.js" "tab-module.js" "tab-page.js" "tab-socket.js" "tab-wasm.js" "tab-worker.js" "tab.wasm"
    "title.js" "wire-bars.js" "wire-beside.js" "wire-bytes.js" "wire-changes.js" "wire-copy.js"
    "wire-draw.js" "wire-edit.js" "wire-explainer.js" "wire-filter.js" "wire-flip.js" "wire-frame.css"
    "wire-frame.js" "wire-frames.js" "wire-keys.js" "wire-lanes.js" "wire-line.js" "wire-list.css"
    "wire-list.js" "wire-marks.js" "wire-more.js" "wire-note.js" "wire-open.js" "wire-own.js"
    "wire-press.js" "wire-rows.js" "wire-source.js" "wire-story.js" "wire-time.js" "wire-tree.js"
    "wire-unmask.js" "wire-work.js" "wire-xor.js" "wire.css" "wire.html" "wire.js" "world.js"
};

/// The type of a file, by the end of its name.
fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("html") => "text/html; charset=utf-8",
        Some("json") => "application/json",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/wasm",
    }
}

/// The page's content security policy: it may load from and connect to this server only, and run
/// WebAssembly from there.
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' ws: wss:; \
                      img-src 'self' data:; style-src 'self'; \
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
        (
            405,
            TEXT,
            [("Allow", allowed)],
            format!("only the methods {allowed} are allowed\n").into_bytes().into(),
        )
    };
    let head = http::response_head(status, kind, &headers(more), body.len());
    Response { status, head, body: if is_head { Cow::default() } else { body } }
}

const TEXT: &str = "text/plain; charset=utf-8";
/// The packet tables in force. The file of this name has the built-in ones, which are those of the
/// server in the tab edition.
const CODES: &str = "codes.json";
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
    if head.path() == tab_edition::FOLDER.trim_end_matches('/') {
        return (308, TEXT, [("Location", "tab/")], b"the tab edition is at tab/\n".as_slice().into());
    }
    if let Some(name) = head.path().strip_prefix(tab_edition::FOLDER) {
        let name = if name.is_empty() { "index.html" } else { name };
        return found(200, name, tab_edition::find(FILES, name));
    }
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
    // A client that may not watch gets the page all the same, which asks for the token; the status
    // says that it is needed.
    let status = if head.path() == wire::PATH { access::status(host, head, address) } else { 200 };
    if name == CODES {
        return found(status, name, Some(listing::lines(&host.config.codes).into_bytes().into()));
    }
    found(status, name, file(name))
}

/// A file of `src/web/`.
fn file(name: &str) -> Option<Cow<'static, [u8]>> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, bytes)| Cow::Borrowed(*bytes))
}

fn found(status: u16, name: &str, file: Option<Cow<'static, [u8]>>) -> Found {
    match file {
        Some(bytes) => (status, kind(name), FRESH, bytes),
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
