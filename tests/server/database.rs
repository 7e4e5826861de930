//! The database of `--database`: a server that starts again has the bans, the notice and the best player of the day.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tickwire::game::simple::Simple;
use tickwire::internal::server::net::ServerHandle;
use tickwire::internal::server::net::console::Source;
use tickwire::internal::server::net::server_data::ServerData;

use crate::coins::walk_to_the_coin;
use crate::guest::{Guest, config_of};
use crate::program_of_coins::Coins;
use crate::rooms::page;
use crate::support::PATIENCE;

/// A file that is removed at the end.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn start(file: &Path) -> ServerHandle {
    let mut config = config_of::<Simple<Coins>>();
    config.data = Arc::new(ServerData::open(file).expect("a database"));
    ServerHandle::start(config).expect("a free port")
}

fn order(server: &ServerHandle, line: &str) -> String {
    server.console().run(line, Source::Program).expect("a reply").text
}

fn rooms(server: &ServerHandle) -> Json {
    serde_json::from_str(&page(server, "/rooms?format=json", "").1).expect("JSON")
}

#[test]
fn a_server_that_starts_again_has_bans_notice_and_the_best_player() {
    let name = format!("database-{}", std::process::id());
    let file = File(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
    let server = start(&file.0);
    assert_eq!(
        (&rooms(&server)["notice"], &rooms(&server)["rooms"][0]["best_of_day"]),
        (&Json::Null, &Json::Null)
    );
    assert_eq!(order(&server, "ban 203.0.113.9"), "203.0.113.9 is banned; connections closed: 0\n");
    assert_eq!(order(&server, "ban 203.0.113.10"), "203.0.113.10 is banned; connections closed: 0\n");
    assert_eq!(order(&server, "unban 203.0.113.9"), "203.0.113.9 is no longer banned\n");
    assert_eq!(order(&server, "notice Noon: a new map"), "the pages show the notice: Noon: a new map\n");
    let mut guest = Guest::connect(&server);
    guest.enter("Ann");
    guest.act("go", &[2.into()]);
    let dialect = Arc::clone(&guest.dialect);
    walk_to_the_coin(&mut guest.peer, &dialect, 2);
    // The server reads the scores once a second. The runner may reach another coin on its way.
    let until = Instant::now() + PATIENCE;
    while rooms(&server)["rooms"][0]["best_of_day"]["score"].as_i64() < Some(1) {
        assert!(Instant::now() < until, "{}", rooms(&server));
        std::thread::sleep(Duration::from_millis(50));
    }
    server.stop();

    let server = start(&file.0);
    assert_eq!(order(&server, "bans"), "203.0.113.10\n");
    assert_eq!(order(&server, "notice"), "the notice is: Noon: a new map\n");
    let list = rooms(&server);
    assert_eq!(list["notice"], "Noon: a new map");
    assert_eq!(list["rooms"][0]["best_of_day"]["name"], "Ann", "{list}");
    assert_eq!(order(&server, "notice off"), "the pages show no notice\n");
    server.stop();

    let server = start(&file.0);
    assert_eq!(
        (order(&server, "notice"), &rooms(&server)["notice"]),
        ("the pages show no notice\n".to_owned(), &Json::Null)
    );
    let long = format!("notice {}", "x".repeat(121));
    let rule = "error: usage: notice [TEXT | off]; TEXT may have at most 120 characters\n";
    assert_eq!(order(&server, &long), rule);
    assert!(server.metrics_text().contains("\ntickwire_database_errors_total 0\n"));
    server.stop();
}
