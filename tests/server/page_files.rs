//! Pages and their files as a browser requests them: the prediction module of a room's game, and entity tags.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use tickwire::game::Game;
use tickwire::game::simple::Simple;
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::tanks::Tanks;
use tickwire::internal::limits;
use tickwire::internal::server::admission::{Admission, Capacity};
use tickwire::internal::server::net::pages::prediction_module::PredictionModule;
use tickwire::internal::server::net::pages::{self, Response};
use tickwire::internal::server::net::server_state::ServerState;
use tickwire::ws::http::HeadReader;

use crate::guest::config_of;
use crate::program_of_fog::Fog;
use crate::program_of_pong::Pong;

const OWN: &[u8] = b"\0asm of fog";
const BUILT_IN: &[u8] = include_bytes!("../../src/web/wasm/prediction.wasm");

/// A server whose default room plays this game, and whose program has a prediction module.
fn host<G: Game>(module: Option<&'static [u8]>) -> ServerState {
    let mut config = config_of::<G>();
    config.prediction_module = module.map(PredictionModule::new);
    let room = config.room("", &config.identity);
    let rooms = vec![room.handle().clone()];
    ServerState::new(config, rooms, Admission::new(Capacity::default()), 1, (None, None))
}

fn get(host: &ServerState, tag: &str) -> (Response, String) {
    get_at(host, "/wasm/prediction.wasm", tag)
}

fn get_at(host: &ServerState, path: &str, tag: &str) -> (Response, String) {
    get_with(host, path, &format!("If-None-Match: {tag}\r\n"))
}

fn get_with(host: &ServerState, path: &str, headers: &str) -> (Response, String) {
    let head = format!("GET {path} HTTP/1.1\r\nHost: a\r\n{headers}\r\n");
    let head = HeadReader::new(limits::HEAD_LIMITS).receive(head.as_bytes()).expect("well formed");
    let head = head.expect("complete");
    let response = pages::respond(host, &head, "127.0.0.1:9".parse().expect("an address"), false);
    let lines = String::from_utf8(response.head.clone()).expect("text");
    let tag = lines.lines().find_map(|line| line.strip_prefix("ETag: ")).unwrap_or_default().to_owned();
    (response, tag)
}

#[test]
fn a_room_has_the_module_of_its_game() {
    for (host, expected) in [
        (host::<Simple<Fog>>(Some(OWN)), OWN),
        // The module of the built-in games simulates networks, also for a page without prediction.
        (host::<Simple<Fog>>(None), BUILT_IN),
        (host::<Simple<Pong>>(Some(OWN)), BUILT_IN),
        (host::<Simple<Tanks>>(Some(OWN)), BUILT_IN),
    ] {
        let (response, _) = get(&host, "");
        assert!(*response.body == *expected && response.status == 200, "{}", host.config.game.info.name);
    }
}

#[test]
fn a_page_that_has_the_module_does_not_receive_it_again() {
    let host = host::<Simple<Fog>>(Some(OWN));
    let (_, tag) = get(&host, "\"other\"");
    for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}")] {
        let (response, again) = get(&host, &known);
        assert_eq!((response.status, &*response.body, again), (304, &[][..], tag.clone()), "{known}");
    }
    let (_, other) = get(&self::host::<Simple<Fog>>(Some(b"\0asm of other rules")), &tag);
    assert_ne!(other, tag);
}

#[test]
fn a_page_and_its_files_are_not_sent_again_unless_they_have_changed() {
    let hosts = [host::<Simple<Fog>>(None), host::<Simple<Pong>>(None)];
    let tags = |path: &str| hosts.each_ref().map(|host| get_at(host, path, "\"other\"").1);
    for path in ["/", "/tickwire.js", "/codes.json", "/tab/", "/tab/wasm/edition.js"] {
        for (host, tag) in hosts.iter().zip(tags(path)) {
            let (response, again) = get_at(host, path, &tag);
            assert!(response.status == 304 && response.body.is_empty() && !tag.is_empty(), "{path}");
            assert_eq!(again, tag, "{path}");
        }
    }
    // Each game has a page of its own.
    let [[fog, pong], [file, same]] = ["/", "/tickwire.js"].map(tags);
    assert!(fog != pong && file == same);
    let [edition, in_tab] = ["/wasm/edition.js", "/tab/wasm/edition.js"].map(|path| tags(path)[0].clone());
    assert_ne!(edition, in_tab);
    for path in ["/metrics", "/none.js", "/rooms"] {
        assert_eq!(get_at(&hosts[0], path, "*").1, "", "{path} changes, or is no file");
    }
}

#[test]
fn files_with_the_version_of_a_page_are_stored_for_good() {
    let host = host::<Simple<Fog>>(None);
    let cache_rule = |path: &str| {
        let (response, _) = get_at(&host, path, "\"other\"");
        let head = String::from_utf8(response.head).expect("text");
        let rule = head.lines().find_map(|line| line.strip_prefix("Cache-Control: ")).unwrap_or_default();
        (response.status, rule.to_owned())
    };
    let page = String::from_utf8(get_at(&host, "/quiz", "").0.body.into_owned()).expect("text");
    let (_, rest) = page.split_once("src=\"v/").expect("a module with a version");
    let (version, _) = rest.split_once('/').expect("a version");
    for (name, is_in_page) in [
        ("quiz/main.js", true),
        ("favicon.svg", true),
        ("quiz/quiz.css", false),
        ("wasm/tickwire.wasm", false),
    ] {
        assert_eq!(page.contains(&format!("=\"v/{version}/{name}\"")), is_in_page, "{name}");
        let path = format!("/v/{version}/{name}");
        assert_eq!(cache_rule(&path), (200, "public, max-age=31536000, immutable".to_owned()), "{path}");
        // The page of another build gets the file, and requests it again.
        assert_eq!(cache_rule(&format!("/v/0123456789abcdef/{name}")), (200, "no-cache".to_owned()));
        assert!(get_at(&host, &path, "").0.body == get_at(&host, &format!("/{name}"), "").0.body, "{name}");
    }
    // They depend on the server and its game.
    for name in ["codes.json", "wasm/prediction.wasm"] {
        assert_eq!(cache_rule(&format!("/v/{version}/{name}")), (200, "no-cache".to_owned()), "{name}");
    }
    for name in ["quiz.html", "quiz", "wire", "play", "metrics", "none.js", ""] {
        assert_eq!(cache_rule(&format!("/v/{version}/{name}")).0, 404, "{name}");
    }
}

#[test]
fn files_are_compressed_for_a_client_that_accepts_it() {
    let host = host::<Simple<Fog>>(Some(OWN));
    let text = |response: &Response| String::from_utf8(response.head.clone()).expect("text");
    for path in ["/quiz", "/tickwire.js", "/tab/", "/tab/wasm/edition.js", "/wasm/prediction.wasm"] {
        let (file, tag) = get_at(&host, path, "");
        let (response, other) = get_with(&host, path, "Accept-Encoding: deflate, GZip\r\n");
        let mut body = Vec::new();
        MultiGzDecoder::new(&*response.body).read_to_end(&mut body).expect("gzip");
        assert!(body == *file.body && response.body != file.body, "{path}");
        assert_eq!(other, format!("{}-gzip\"", tag.trim_end_matches('"')), "{path}");
        let (again, _) =
            get_with(&host, path, &format!("Accept-Encoding: gzip\r\nIf-None-Match: {other}\r\n"));
        assert!(again.status == 304 && again.body.is_empty(), "{path}");
        for head in [&file, &response, &again].map(text) {
            assert!(head.contains("\r\nVary: Accept-Encoding\r\n"), "a cache separates them: {head}");
        }
        assert!(
            text(&response).contains("\r\nContent-Encoding: gzip\r\n")
                && !text(&file).contains("Encoding: gzip")
        );
    }
    for (path, encoding) in [("/metrics", "gzip"), ("/none.js", "gzip"), ("/tickwire.js", "br, gzip;q=0")] {
        let (response, _) = get_with(&host, path, &format!("Accept-Encoding: {encoding}\r\n"));
        assert!(!text(&response).contains("Content-Encoding"), "{path}");
    }
}

#[test]
fn the_first_page_is_sent_in_one_round_trip() {
    // Ten segments: the initial window of TCP (RFC 6928) at an MTU of 1,500 bytes.
    const FIRST_FLIGHT_BYTES: usize = 10 * 1460;
    let host = host::<Moo>(None);
    for path in ["/", "/quiz"] {
        let (response, _) = get_with(&host, path, "Accept-Encoding: gzip\r\n");
        let bytes = response.head.len() + response.body.len();
        assert!(bytes < FIRST_FLIGHT_BYTES, "{path}: {bytes} bytes");
        let (response, _) = get_with(&host, path, "");
        let page = String::from_utf8(response.body.into_owned()).expect("text");
        let blocks = |tag: &str| {
            tag.contains("rel=\"stylesheet\"") || (tag.starts_with("script src") && !tag.contains("defer"))
        };
        assert_eq!(page.split('<').find(|tag| blocks(tag)), None, "{path} waits for a file");
    }
}
