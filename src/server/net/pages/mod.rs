//! Requests without an upgrade: embedded pages and their files, and `/metrics`. A room has the same
//! pages below its path; [`room_pages`] has the pages about rooms.
//!
//! Each request head gets one complete response; [`keep_alive`](super::keep_alive) decides whether
//! the connection stays open after it. No response contains a file from the machine's
//! disk. `/metrics` is served only to requests that pass every check for a local request, or carry
//! the operator's token. The pages at `/wire` and `/admin` contain no data of the server and prompt
//! for the token. Pages of other origins may read everything else if their origin is allowed to
//! play.

pub mod browser_edition;
mod content_encoding;
pub mod page_response;
pub mod playback_server;
pub mod prediction_module;
mod prepared_page;
pub mod room_pages;
mod versioned_files;

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::OnceLock;

use self::page_response::PageResponse;
use super::access;
use super::console::http_admin;
use super::keep_alive;
use super::metrics::Metrics;
use super::rooms_on_demand;
use super::server_state::ServerState;

use super::inspector;
use crate::game::GameInfo;
use crate::packet::{routes, tables_json};
use crate::ws::handshake;
use crate::ws::http::{self, RequestHead};

macro_rules! files {
    ($($name:literal)+) => {
        &[$(($name, include_bytes!(concat!("../../../web/", $name)).as_slice())),+]
    };
}

/// The files of `src/web/` for every game, and these for the pages of one: name and contents.
macro_rules! files_with {
    ($($name:literal)*) => {
        files! {
            "admin.html" "favicon.svg" "inspector.html" "quiz.html" "rooms.css" "tickwire.d.ts" "tickwire.js"
            "admin/admin.css" "admin/admin.js"
            "game/load-error.js"
            "inspector/byte-bars.js" "inspector/byte-rates.js" "inspector/connection.js"
            "inspector/explainer.js" "inspector/follow-button.js" "inspector/game-page.js"
            "inspector/frame/bit-diagram.js" "inspector/frame/bit-editor.js"
            "inspector/frame/byte-lanes.js" "inspector/frame/changes.js" "inspector/frame/copy-menu.js"
            "inspector/frame/edit.js" "inspector/frame/frame-view.js" "inspector/frame/frame.css"
            "inspector/frame/inflated-frame.js" "inspector/frame/injection-log.js" "inspector/frame/key-presses.js"
            "inspector/frame/tree-rows.js" "inspector/frame/tree.js" "inspector/frame/unmasking.js"
            "inspector/frame/value-title.js" "inspector/frame/xor-stepper.js"
            "inspector/host-page.js" "inspector/inspector.css" "inspector/keys.js"
            "inspector/list/bookmarks.js" "inspector/list/datagram-row.js" "inspector/list/duration.js"
            "inspector/list/ended-clients.js" "inspector/list/filter-bar.js"
            "inspector/list/frames.js" "inspector/list/hide-bar.js" "inspector/list/list.css" "inspector/list/list.js"
            "inspector/list/row-values.js" "inspector/list/source-menu.js" "inspector/list/update-strip.js"
            "inspector/list/wait-strip.js"
            "inspector/main.js" "inspector/open-file.js" "inspector/overflow-hint.js"
            "inspector/own-client.js" "inspector/paste-box.js" "inspector/playback-sync.js"
            "inspector/proxy-address.js" "inspector/proxy-panel.js" "inspector/rate-counter.js"
            "inspector/status-line.js" "inspector/work-slices.js"
            "lib/address.js" "lib/attempt.js" "lib/clipboard.js" "lib/close-reasons.js" "lib/codec.js"
            "lib/command-queue.js" "lib/connection.js" "lib/data-channel.js" "lib/datagram.js"
            "lib/entities.js" "lib/handlers.js" "lib/heartbeat.js" "lib/held.js" "lib/hud.css" "lib/inspector-pane.js"
            "lib/interpolation.js" "lib/lane.js" "lib/lockstep.js" "lib/msgpack.js" "lib/net-graph.js"
            "lib/net-history.js" "lib/netem-menu.js" "lib/netem.js" "lib/prediction.js" "lib/resume.js"
            "lib/room-choice.js" "lib/room-owner.js" "lib/state-buffer.js" "lib/stored.js" "lib/sync-panel.js" "lib/thumb-sticks.js"
            "lib/title.js"
            "playback/bar.js" "playback/connection.js" "playback/page.js" "playback/playback.css"
            "playback/playback.js"
            "quiz/address.js" "quiz/drawing.js" "quiz/exercises.js" "quiz/main.js" "quiz/quiz.css"
            "wasm/edition.js" "wasm/instance.js" "wasm/module.js" "wasm/open-socket.js"
            "wasm/prediction.wasm" "wasm/server-worker.js" "wasm/tickwire.wasm" "wasm/worker-host.js"
            "wasm/worker-channel.js" "wasm/worker-socket.js"
            $($name)*
        }
    };
}

/// Files of `src/web/` that browsers request: name and contents.
#[cfg(not(feature = "built-in-games"))]
static FILES: browser_edition::Files = files_with! {};
/// Files of `src/web/` that browsers request: name and contents. The list has the page of the
/// default game and the browser edition.
#[cfg(feature = "built-in-games")]
static FILES: browser_edition::Files = files_with! {
    "codes.json" "index.html" "rules.json" "service-worker.js"
    "game/browser-edition.js" "game/controls.js" "game/debug-console.js"
    "game/draw/animals.js" "game/draw/arms.js" "game/draw/camera.js" "game/draw/effects.js"
    "game/draw/icons.js" "game/draw/items.js" "game/draw/labels.js" "game/draw/players.js"
    "game/draw/scenery.js" "game/draw/shapes.js" "game/draw/shots.js" "game/draw/sprites.js"
    "game/draw/structures.js" "game/draw/terrain.js" "game/draw/tools.js" "game/draw/weather.js"
    "game/effect-player.js" "game/facilities.js"
    "game/hud/best-score.js" "game/hud/clan-panel.js" "game/hud/dom.js" "game/hud/hints.js" "game/hud/hotbar.js" "game/hud/hud.js"
    "game/hud/invite.css" "game/hud/invite.js" "game/hud/lockstep-panel.js" "game/hud/minimap.js"
    "game/hud/panels.css" "game/hud/panels.js" "game/hud/player-stats.js" "game/hud/title.js"
    "game/input.js" "game/main.js"
    "game/net/commands.js" "game/net/connection.js" "game/net/protocol.js" "game/net/rates.js"
    "game/rules/palette.js" "game/rules/rules.js"
    "game/scene.js" "game/session.js" "game/settings.js" "game/small.css" "game/sound.js"
    "game/split-view.css" "game/style.css"
    "game/world/animals.js" "game/world/clans.js" "game/world/effects.js" "game/world/events.js"
    "game/world/player.js" "game/world/poses.js" "game/world/projectiles.js"
    "game/world/structures.js" "game/world/world.js"
    "games/tanks/camera.js" "games/tanks/effects.js" "games/tanks/ground.js" "games/tanks/map.js" "games/tanks/scenery.js"
    "games/tanks/shapes.js" "games/tanks/tank.js" "games/tanks/title.js"
    "wasm/edition-browser.js"
};

/// Returns the content type for a file name's extension.
fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("html") => "text/html; charset=utf-8",
        Some("json") => "application/json",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("ts") => "text/plain; charset=utf-8",
        _ => "application/wasm",
    }
}

/// Content security policy of a game's own page, which may contain inline scripts and styles. The
/// page is one embedded file, and no client data is inserted into it.
const PAGE_POLICY: &str = "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; connect-src 'self' ws: wss:; \
                           img-src 'self' data:; style-src 'self' 'unsafe-inline'; \
                           object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// A response in two parts, so that embedded files need not be copied for each request.
pub struct Response {
    /// Status of the response.
    pub status: u16,
    /// Response head, including its empty line.
    pub head: Vec<u8>,
    /// Body; empty for `HEAD`.
    pub body: Cow<'static, [u8]>,
}

/// Returns the response to a request. The connection stays open after it if `is_persistent`.
pub fn respond(host: &ServerState, head: &RequestHead, address: SocketAddr, is_persistent: bool) -> Response {
    let is_head = head.method == "HEAD";
    let mut found = if head.method == "GET" || is_head {
        find_page(host, head, address)
    } else {
        let allowed = if head.path() == http_admin::PATH { "GET, HEAD, POST" } else { "GET, HEAD" };
        let body = format!("only the methods {allowed} are allowed\n");
        PageResponse { extra_header: ("Allow", allowed.into()), ..PageResponse::text(405, body) }
    };
    let encoding = content_encoding::compress(&mut found, head);
    let is_cached = found.entity_tag.as_ref().is_some_and(|tag| has_tag(head, tag));
    let status = if is_cached { 304 } else { found.status };
    let found = PageResponse { status, ..found };
    let mut headers = sharing(head, &host.config.allowed_origins);
    headers.extend(found.entity_tag.iter().map(|tag| ("ETag", tag.clone())));
    headers.extend(encoding);
    if is_persistent {
        let (name, value) = keep_alive::HEADER;
        headers.push((name, value.to_owned()));
    }
    let (head, body) = response(found, is_head || is_cached, &headers);
    Response { status, head, body }
}

/// Returns whether the client has the body with this entity tag (RFC 9110, section 13.1.2).
fn has_tag(head: &RequestHead, tag: &str) -> bool {
    let tags = head.header("If-None-Match").unwrap_or_default();
    tags.split(',').any(|known| known.trim().trim_start_matches("W/") == tag)
}

/// Encodes a response as head and body, with the additional headers `also`.
pub fn response(
    found: PageResponse,
    is_head: bool,
    also: &[(&str, String)],
) -> (Vec<u8>, Cow<'static, [u8]>) {
    let PageResponse { status, content_type, policy, extra_header: more, body, .. } = found;
    let own = headers(policy, (more.0, &more.1));
    let all: Vec<_> = own.into_iter().chain(also.iter().map(|(name, value)| (*name, &**value))).collect();
    let head = http::response_head(status, content_type, &all, body.len());
    (head, if is_head { Cow::default() } else { body })
}

/// Name of the file with the packet tables in use. The embedded file of this name has the built-in
/// tables, for the browser edition.
pub const TABLES_FILE: &str = "codes.json";
/// Name of the file with the rules of the room's game. The embedded file of this name is for the
/// browser edition.
pub const RULES_FILE: &str = "rules.json";
/// Path of the exercises.
const QUIZ_PATH: &str = "/quiz";
const METRICS_PATH: &str = "/metrics";
const METRICS_CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns the headers of a page.
pub fn headers<'a>(policy: &'a str, more: (&'a str, &'a str)) -> [(&'a str, &'a str); 5] {
    [
        more,
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        // Prevents a page that opened this one from controlling it, for example by changing its
        // fragment.
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Content-Security-Policy", policy),
    ]
}

const ALLOW_ORIGIN: &str = "Access-Control-Allow-Origin";
/// Paths that only pages of this server may read, also in a room.
const OWN_PAGES_ONLY: [&str; 3] = [inspector::PATH, http_admin::PATH, METRICS_PATH];

/// Returns the CORS headers, which let pages of the allowed origins read the response.
fn sharing(head: &RequestHead, allowed: &[String]) -> Vec<(&'static str, String)> {
    if OWN_PAGES_ONLY.contains(&routes::split_room_path(head.path()).1) {
        return Vec::new();
    }
    if allowed.is_empty() {
        return vec![(ALLOW_ORIGIN, "*".to_owned())];
    }
    // The response depends on the origin, so caches must distinguish it.
    let mut headers = vec![("Vary", "Origin".to_owned())];
    if let (Some(origin), Ok(())) = (head.header("Origin"), handshake::check_origin(head, allowed)) {
        headers.push((ALLOW_ORIGIN, origin.to_owned()));
    }
    headers
}

fn find_page(host: &ServerState, head: &RequestHead, address: SocketAddr) -> PageResponse {
    if let Some(found) = room_pages::find(host, head, address) {
        return found;
    }
    if head.path() == browser_edition::PATH_PREFIX.trim_end_matches('/') {
        return PageResponse::redirect("tab/".to_owned());
    }
    if let Some(name) = head.path().strip_prefix(browser_edition::PATH_PREFIX) {
        let name = if name.is_empty() { "index.html" } else { name };
        return file_response(200, name, browser_edition::find(FILES, name));
    }
    // A room has its own pages, and they request their files below its path.
    let (room, path) = routes::split_room_path(head.path());
    let (version, path) = versioned_files::split(path);
    let name = match path {
        "/" => "index.html",
        inspector::PATH => "inspector.html",
        QUIZ_PATH => "quiz.html",
        http_admin::PATH if room.is_empty() => "admin.html",
        METRICS_PATH if room.is_empty() => return metrics(host, head, address),
        // The path is not normalized: a proxy's rule for `/metrics` would not cover `//metrics`.
        path => path.strip_prefix('/').unwrap_or(path),
    };
    let in_room =
        host.rooms.find(room).or_else(|| rooms_on_demand::can_create(host, room).then(|| host.room()));
    let info = in_room.map(|room| room.handle.game);
    let paths = info.map_or(&[][..], |info| info.paths);
    if paths.iter().any(|(known, _)| *known == path && *known != "/") {
        let found = PageResponse::text(426, "this is a WebSocket endpoint\n".to_owned());
        return PageResponse { extra_header: ("Upgrade", "websocket".into()), ..found };
    }
    if let Some(page) = info.and_then(|info| game_page(name, info)) {
        return page;
    }
    // An unauthorized request still gets the page, which prompts for the token. The status
    // indicates that the token is needed.
    let status = if path == inspector::PATH { access::status(host, head, address) } else { 200 };
    if name == TABLES_FILE {
        let lanes = host.lanes.as_ref().map_or_else(Vec::new, |lanes| lanes.carriers());
        return file_response(
            status,
            name,
            Some(tables_json::tables_json_lines(&host.config.codes, &lanes).into_bytes().into()),
        );
    }
    if name == RULES_FILE {
        let rules = info.and_then(|info| info.rules).map(|rules| rules().into_bytes().into());
        return file_response(status, name, rules);
    }
    if let (prediction_module::FILE, Some(built_in)) = (name, embedded(name)) {
        return prediction_module::respond(host.config.prediction_module.as_ref(), info, built_in);
    }
    if let Some(page) = prepared_page::find(FILES, name) {
        let found = file_response(status, name, Some(page.text.as_bytes().into()));
        return PageResponse { policy: &page.policy, ..found };
    }
    let found = file_response(status, name, file(name));
    let is_current = version == Some(versioned_files::version(FILES)) && found.status == 200;
    let (header, value) = versioned_files::CACHE_FOR_GOOD;
    if is_current { PageResponse { extra_header: (header, value.into()), ..found } } else { found }
}

/// Returns the game's own page, if it has one and `name` is the index.
fn game_page(name: &str, info: &GameInfo) -> Option<PageResponse> {
    let page = info.page.filter(|_| name == "index.html")?;
    Some(PageResponse { policy: PAGE_POLICY, ..file_response(200, name, Some(page.as_bytes().into())) })
}

/// Returns the page of a game, or a file for it.
pub fn game_page_or_file(name: &str, info: &GameInfo) -> PageResponse {
    game_page(name, info).unwrap_or_else(|| file_response(200, name, file(name)))
}

/// Returns the response with a file of `src/web/`.
pub fn embedded_file(name: &str) -> PageResponse {
    file_response(200, name, file(name))
}

/// Returns a file of `src/web/`.
fn file(name: &str) -> Option<Cow<'static, [u8]>> {
    embedded(name).map(Cow::Borrowed)
}

fn embedded(name: &str) -> Option<&'static [u8]> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes)
}

/// Returns a response with this file, or 404 if it does not exist.
pub fn file_response(status: u16, name: &str, file: Option<Cow<'static, [u8]>>) -> PageResponse {
    match file {
        Some(bytes) => PageResponse {
            // A 304 would hide another status.
            entity_tag: (status == 200).then(|| entity_tag(&bytes)),
            ..PageResponse::new(status, content_type(name), bytes)
        },
        None => PageResponse::text(404, "no such page\n".to_owned()),
    }
}

/// Returns the entity tag of a file. The tag of an embedded file is computed once.
fn entity_tag(bytes: &[u8]) -> String {
    static TAGS: [OnceLock<String>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];
    let embedded = FILES.iter().zip(&TAGS).find(|((_, file), _)| std::ptr::eq(*file, bytes));
    let tag = || page_response::entity_tag(bytes);
    embedded.map_or_else(tag, |(_, known)| known.get_or_init(tag).clone())
}

/// Returns the metrics to requests from this machine or with the operator's token.
fn metrics(host: &ServerState, head: &RequestHead, address: SocketAddr) -> PageResponse {
    let refused = |status, rule: &'static str| {
        Metrics::count(&host.metrics.refused, "rule", rule);
        PageResponse::text(status, format!("{rule}\n"))
    };
    if !access::is_local_request(head, address, &host.config.trusted_proxies) {
        let Some(token) = access::bearer(head) else { return refused(403, "metrics_token_missing") };
        if let Err(no) = access::check_token(host, &token, address) {
            let found = refused(no.status, no.rule);
            let [(name, value)] = access::WWW_AUTHENTICATE;
            return if no.status == 401 {
                PageResponse { extra_header: (name, value.into()), ..found }
            } else {
                found
            };
        }
    }
    PageResponse::new(200, METRICS_CONTENT_TYPE, host.metrics_text().into_bytes())
}
