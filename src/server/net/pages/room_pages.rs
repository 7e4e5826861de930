//! Pages about rooms: their list at `/rooms` as a page or as JSON, redirects of a room's paths, the
//! page of a missing room, `/healthz`, and `/readyz`.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::net::SocketAddr;

use serde_json::{Value, json};

use super::page_response::PageResponse;
use crate::limits;
use crate::packet::routes::{ROOM_PREFIX, is_room_name, room_path};
use crate::server::admission::refusal::Refusal;
use crate::server::net::cluster::acquisition::STORE_AWAY;
use crate::server::net::cluster::room_reports::{ProcessReport, ReportCache, RoomReport};
use crate::server::net::drain;
use crate::server::net::metrics::Metrics;
use crate::server::net::rooms_on_demand;
use crate::server::net::server_state::ServerState;
use crate::util::address_prefix::AddressPrefix;
use crate::util::plural::count_noun;
use crate::ws::http::RequestHead;

/// Path of the list of rooms.
pub const LIST_PATH: &str = "/rooms";
/// Prefix of the path at which the location of a room is requested: `/rooms/NAME`.
const LOCATION_PREFIX: &str = "/rooms/";
/// Path of the health check.
pub const HEALTH_PATH: &str = "/healthz";
/// Path of the readiness check.
pub const READY_PATH: &str = "/readyz";

/// Pages that exist once per server. Relative links from a room's pages are redirected to them.
const SERVER_PAGES: [(&str, &str); 4] =
    [("admin", "admin"), ("rooms", "rooms"), ("tab", "tab/"), ("tab/", "tab/")];

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";

/// Shown below the list if rooms on demand are enabled.
const ON_DEMAND: &str = "<p class=\"more\">A link such as <code>r/our-room/</code> opens a new room, with a name \
                         that you choose. For a private one, press Play with friends in the game.</p>\n";

/// Returns the response to a request about rooms; `None` for any other request.
pub fn find(host: &ServerState, head: &RequestHead, address: SocketAddr) -> Option<PageResponse> {
    match head.path() {
        LIST_PATH => return Some(list(host, head)),
        HEALTH_PATH => return Some(health(host)),
        READY_PATH => return Some(ready(host)),
        _ => {}
    }
    if let Some(name) = head.path().strip_prefix(LOCATION_PREFIX) {
        return Some(location(host, head, name));
    }
    let rest = head.path().strip_prefix(ROOM_PREFIX)?;
    let (name, below) = rest.split_once('/').map_or((rest, None), |(name, below)| (name, Some(below)));
    if name.is_empty() || host.rooms.find(name).is_none() {
        if !rooms_on_demand::can_create(host, name) {
            return Some(unknown_room_page(head, name));
        }
        // Files and the inspector may be requested before the room exists.
        // In a cluster, another process may have the room.
        let is_the_page = below == Some("") && host.cluster.is_none();
        if let (true, Err(refused)) =
            (is_the_page, rooms_on_demand::check(host, AddressPrefix::from_ip(address.ip())))
        {
            Metrics::count(&host.metrics.refused, "rule", refused.rule);
            return Some(cannot_create_page(host, head, &refused));
        }
    }
    let query = head.target.split_once('?').map_or(String::new(), |(_, query)| format!("?{query}"));
    let Some(below) = below else { return Some(PageResponse::redirect(format!("{name}/{query}"))) };
    let (_, page) = SERVER_PAGES.iter().find(|(path, _)| *path == below)?;
    Some(PageResponse::redirect(format!("../../{page}{query}")))
}

/// Returns 200 while every room ticks or sleeps, otherwise 503 with a line for each room that does
/// neither.
fn health(host: &ServerState) -> PageResponse {
    let problems = host.rooms.health_problems(host.now());
    if problems.is_empty() {
        PageResponse::text(200, "ok\n".to_owned())
    } else {
        PageResponse::text(503, problems)
    }
}

/// Returns 200 while the server accepts new players, otherwise 503 with the reason.
fn ready(host: &ServerState) -> PageResponse {
    match drain::check_ready(host) {
        Ok(()) => PageResponse::text(200, "ok\n".to_owned()),
        Err(reason) => PageResponse::text(503, format!("{reason}\n")),
    }
}

/// Returns where a room is, as JSON. Creates no room.
fn location(host: &ServerState, head: &RequestHead, name: &str) -> PageResponse {
    let is_here = host.rooms.find(name).is_some();
    if !is_here && !rooms_on_demand::can_create(host, name) {
        return unknown_room_page(head, name);
    }
    let owner = match &host.cluster {
        None => None,
        Some(cluster) if is_here => Some(cluster.public_url().to_owned()),
        Some(cluster) => match cluster.look_up(name) {
            Ok(found) => found.map(|holder| holder.public_url),
            Err(_) => {
                Metrics::count(&host.metrics.refused, "rule", STORE_AWAY);
                return PageResponse::text(503, format!("{STORE_AWAY}\n"));
            }
        },
    };
    let body = json!({
        "name": name,
        "path": room_path(name),
        "cluster": host.cluster.is_some(),
        "exists": is_here || owner.is_some(),
        "here": is_here,
        "url": owner.filter(|url| !url.is_empty()),
    });
    PageResponse::new(200, JSON, format!("{body}\n").into_bytes())
}

fn accepts(head: &RequestHead, kind: &str) -> bool {
    head.header("Accept").is_some_and(|accepted| accepted.contains(kind))
}

fn list(host: &ServerState, head: &RequestHead) -> PageResponse {
    let wants_json = head.query("format").as_deref() == Some("json");
    // A page whose room the server has chosen knows only the epoch of its room.
    let epoch = head.query("epoch");
    let rooms = ListedRooms::of(host, epoch.as_deref());
    if wants_json || accepts(head, JSON) && !accepts(head, "text/html") {
        let body = json!({
            "rooms": rooms.json(host),
            "on_demand": host.config.rooms_on_demand > 0,
            "notice": host.data().notice(),
            "complete": rooms.is_complete,
        });
        return PageResponse::new(200, JSON, format!("{body}\n").into_bytes());
    }
    let rooms = rooms.all();
    // A report of another process may have any number.
    let players = rooms.iter().fold(0_u64, |sum, room| sum.saturating_add(room.players));
    let mut body = format!(
        "<p class=\"sum\">{}, {}. Choose a room to play in it.</p>\n<ul>\n",
        count_noun(rooms.len(), "room"),
        count_noun(players as usize, "player")
    );
    for room in &rooms {
        let (link, title) =
            (&room_path(&room.name)[1..], if room.name.is_empty() { "Default room" } else { &room.name });
        let link = if link.is_empty() { "./" } else { link };
        let players = match (room.players, room.clients) {
            (0, 0) => "empty".to_owned(),
            (0, watching) => format!("{watching} watching"),
            (players, _) => match room.bots {
                0 => count_noun(players as usize, "player"),
                bots => format!("{}, {bots} of them bots", count_noun(players as usize, "player")),
            },
        };
        let properties = properties_html(room);
        let _ = writeln!(
            body,
            "<li><a href=\"{link}\"><b>{title}{properties}</b> <span>{players}</span></a></li>"
        );
    }
    body.push_str("</ul>\n");
    if host.config.rooms_on_demand > 0 {
        body.push_str(ON_DEMAND);
    }
    PageResponse::new(200, HTML, page(head, "rooms", &body).into_bytes())
}

/// The public rooms of this process, and in a cluster of the other processes.
struct ListedRooms {
    own: Vec<RoomReport>,
    /// Rooms of other processes, with the URL of each process.
    others: Vec<(RoomReport, String)>,
    /// Whether no room is missing.
    is_complete: bool,
}

impl ListedRooms {
    /// Returns the rooms, or only the one with this epoch. Beyond [`limits::ROOMS`], the rooms with
    /// the fewest players in other processes are dropped.
    fn of(host: &ServerState, epoch: Option<&str>) -> ListedRooms {
        let is_wanted = |room: &RoomReport| epoch.is_none_or(|epoch| room.epoch == epoch);
        let own = host.rooms.all().into_iter().filter(|room| !room.is_private());
        let own: Vec<RoomReport> = own.map(|room| RoomReport::of(&room, false)).filter(is_wanted).collect();
        let is_found = epoch.is_some() && !own.is_empty();
        let Some(cluster) = host.cluster.as_ref().filter(|_| !is_found) else {
            return ListedRooms { own, others: Vec::new(), is_complete: true };
        };
        let ReportCache { reports, is_fresh, .. } = cluster.others();
        let mut others = Vec::new();
        for ProcessReport { holder, listed, .. } in &*reports {
            // A room that moves may be in two reports.
            let is_new = |room: &&RoomReport| host.rooms.find(&room.name).is_none() && is_wanted(room);
            others.extend(listed.iter().filter(is_new).map(|room| (room.clone(), holder.public_url.clone())));
        }
        let is_cut = reports.iter().any(|report| report.listed.len() == limits::CLUSTER_REPORT_ROOMS);
        let max = limits::ROOMS.saturating_sub(own.len());
        let is_complete = is_fresh && !is_cut && others.len() <= max;
        others.sort_by_key(|(room, _)| Reverse(room.occupied));
        others.truncate(max);
        others.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
        others.dedup_by(|(one, _), (other, _)| one.name == other.name);
        ListedRooms { own, others, is_complete }
    }

    /// Returns all rooms ordered by name, the default room first.
    fn all(&self) -> Vec<&RoomReport> {
        let mut all: Vec<&RoomReport> =
            self.own.iter().chain(self.others.iter().map(|(room, _)| room)).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// Returns the rooms as JSON, beginning with the rooms of this process.
    fn json(&self, host: &ServerState) -> Vec<Value> {
        let own_url = host.cluster.as_ref().map_or("", |cluster| cluster.public_url());
        let own = self.own.iter().map(|room| room_json(host, room, (true, own_url)));
        own.chain(self.others.iter().map(|(room, url)| room_json(host, room, (false, url)))).collect()
    }
}

fn room_json(host: &ServerState, room: &RoomReport, (is_here, url): (bool, &str)) -> Value {
    let best = host.data().best_of_day(&room.game);
    json!({
        "name": room.name,
        "path": room_path(&room.name),
        "game": room.game,
        "players": room.players,
        "clients": room.clients,
        "bots": room.bots,
        "epoch": room.epoch,
        "properties": room.properties_json(),
        "best_of_day": best.map(|best| json!({ "name": best.name, "score": best.score })),
        "here": is_here,
        "url": Some(url).filter(|url| !url.is_empty()),
    })
}

/// Returns the properties of a room as HTML: `state lobby · map 3`. Empty without properties.
fn properties_html(room: &RoomReport) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let texts: Vec<String> =
        room.properties.iter().map(|(name, value)| format!("{name} {}", text(value))).collect();
    if texts.is_empty() { String::new() } else { format!(" <i>{}</i>", escape_html(&texts.join(" · "))) }
}

/// Escapes text of a game for the content of an HTML element.
fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns the response for a room that cannot be created now.
fn cannot_create_page(host: &ServerState, head: &RequestHead, refused: &Refusal) -> PageResponse {
    let rule = refused.rule;
    if !accepts(head, "text/html") {
        return PageResponse::text(refused.status, format!("{rule}\n"));
    }
    let why = match refused.status {
        429 => "Your address has opened as many new rooms as it may have.",
        _ if host.drain.has_begun() => "This server stops soon and opens no new rooms.",
        _ => "This server has as many rooms as it may have.",
    };
    let up = path_to_root(head);
    let body = format!(
        "<p>{why} Try again in a minute, or <a href=\"{up}rooms\">choose another room</a>.</p>\n\
         <p class=\"rule\">{rule}</p>\n"
    );
    PageResponse::new(refused.status, HTML, page(head, "rooms", &body).into_bytes())
}

fn unknown_room_page(head: &RequestHead, name: &str) -> PageResponse {
    // Invalid names are not repeated, because they may contain anything.
    let what = if is_room_name(name) { format!("room {name}") } else { "such room".to_owned() };
    if !accepts(head, "text/html") {
        return PageResponse::text(404, format!("there is no {what}; {LIST_PATH} lists the rooms\n"));
    }
    let up = path_to_root(head);
    let body = format!(
        "<p>There is no {what} on this server. <a href=\"{up}rooms\">See the list of rooms</a>.</p>\n"
    );
    PageResponse::new(404, HTML, page(head, "rooms", &body).into_bytes())
}

/// Returns the relative path from a request's path to the server's root.
fn path_to_root(head: &RequestHead) -> String {
    "../".repeat(head.path().matches('/').count().saturating_sub(1))
}

/// Renders a page about rooms, without a script.
fn page(head: &RequestHead, title: &str, body: &str) -> String {
    let up = path_to_root(head);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n  <meta charset=\"utf-8\">\n  \
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n  \
         <meta name=\"theme-color\" content=\"#262b3d\">\n  <title>tickwire {title}</title>\n  \
         <link rel=\"icon\" href=\"{up}favicon.svg\" type=\"image/svg+xml\">\n  \
         <link rel=\"stylesheet\" href=\"{up}rooms.css\">\n</head>\n<body>\n\
         <header><h1>tickwire <span>{title}</span></h1></header>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
}
