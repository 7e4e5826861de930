//! Each flag of `serve` has a method of `Server`.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args as _;
use tickwire::game::simple::Simple;
use tickwire::internal::cli::ServeArgs;
use tickwire::internal::games::moo::Moo;
use tickwire::packet::PacketTables;
use tickwire::{Durability, LaneMode, Lockstep, OnJournalError, OnRefusedJournal, RoomSpec, Server};

use crate::program_of_units::Units;

/// Flags without a method, and why, as in docs/accounts.md.
const WITHOUT_METHOD: [(&str, &str); 1] = [("log", "the program chooses its own subscriber of `tracing`")];

/// A lease store that does not respond: the server starts, and its rooms on demand wait.
const NO_REDIS: &str = "redis://127.0.0.1:1";

/// A flag, and the methods that do the same.
type Row = (&'static str, fn(Server) -> Server);

fn in_default_room(set: fn(RoomSpec) -> RoomSpec) -> Server {
    Server::with_room(set(RoomSpec::for_game::<Moo>()))
}

const ROWS: &[Row] = &[
    ("bind", |server| server.bind("127.0.0.1:0")),
    ("tick-hz", |_| in_default_room(|room| room.tick_hz(30))),
    ("update-hz", |_| in_default_room(|room| room.update_hz(15))),
    ("moomoo-update-hz", |_| in_default_room(|room| room.foreign_update_hz(10))),
    ("seed", |_| in_default_room(|room| room.seed(7))),
    ("map-size", |_| in_default_room(|room| room.option("map-size", 2_000))),
    ("game", |_| Server::for_game::<Simple<Units>>()),
    ("room", |server| server.room("two", RoomSpec::for_game::<Simple<Units>>().max_clients(5))),
    ("rooms-on-demand", |server| server.rooms_on_demand(3)),
    ("resume-seconds", |server| server.resume_time(Duration::from_secs(5))),
    ("max-clients", |server| server.max_clients(50)),
    ("max-clients-per-address", |server| server.max_clients_per_address(10)),
    ("address-rate-limits", |server| server.address_rate_limits(false)),
    ("trusted-proxy", |server| server.trusted_proxy("10.0.0.0/8")),
    ("command-delay-ticks", |_| in_default_room(|room| room.command_delay_ticks(2))),
    ("allow-origin", |server| server.allow_origin("https://example.org")),
    ("codes", |server| {
        let running = server.clone().start().expect("a free port");
        server.packet_tables(PacketTables::from_texts(&running.tables().texts()).expect("its own tables"))
    }),
    ("admin-token", |server| server.admin_token("a-token-of-the-operator")),
    ("token-file", |server| server.tokens([("ann", "a-token-of-the-test")])),
    ("spectators", |server| server.tokens([("ann", "a-token-of-the-test")]).spectators(true)),
    ("bots", |server| server.bots(3)),
    ("lockstep", |server| server.lockstep(Lockstep::Off)),
    ("snapshot-interval-ticks", |server| server.snapshot_interval_ticks(100)),
    ("checksum-interval-ticks", |server| server.checksum_interval_ticks(100)),
    ("self-check", |server| server.self_check(true)),
    ("compression", |server| server.compression(true)),
    ("lane", |server| server.lane(LaneMode::Udp)),
    ("udp-public", |server| server.lane(LaneMode::Udp).udp_public("192.0.2.1:3000")),
    ("key-log", |server| server.lane(LaneMode::Udp).key_log(file("keys"))),
    ("save-dir", |server| server.save_dir(env!("CARGO_TARGET_TMPDIR"))),
    ("restore", |_| in_default_room(|room| room.restore(saved_world()))),
    ("database", |server| server.database(file("database"))),
    ("on-refused-journal", |server| server.on_refused_journal(OnRefusedJournal::NewWorld)),
    ("journal", |server| server.journal(file("journal"))),
    ("journal-megabytes", |server| server.journal(file("megabytes")).journal_bytes(1_000_000)),
    ("journal-hours", |server| server.journal(file("hours")).journal_age(Duration::from_secs(3_600))),
    ("durability", |server| server.journal(file("durable")).durability(Durability::Tick)),
    ("on-journal-error", |server| {
        server.journal(file("continued")).on_journal_error(OnJournalError::Continue)
    }),
    ("drain-seconds", |server| server.drain_time(Duration::from_secs(5))),
    ("agones", |server| server.agones("http://127.0.0.1:1")),
    ("agones-allocate", |server| server.agones("http://127.0.0.1:1").agones_allocate(true)),
    ("cluster", |server| server.rooms_on_demand(2).cluster(NO_REDIS)),
    ("cluster-address", |server| {
        server.rooms_on_demand(2).cluster(NO_REDIS).cluster_address("http://127.0.0.1")
    }),
    ("cluster-public", |server| {
        server.rooms_on_demand(2).cluster(NO_REDIS).cluster_public("https://a.example.org")
    }),
    ("capture", |server| server.capture(file("capture"))),
    ("capture-plain", |server| server.capture_plain(file("plain"))),
    ("capture-file-mb", |server| server.capture_rotation(5, None)),
    ("capture-file-seconds", |server| server.capture_rotation(5, Some(Duration::from_secs(9)))),
];

/// A file of this run that does not exist yet.
fn file(name: &str) -> String {
    let file = format!("{}/flags-{name}-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    let _ = std::fs::remove_file(&file);
    file
}

/// A world in a file of this run.
fn saved_world() -> String {
    let directory = file("worlds");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir(&directory).expect("a new directory");
    let server = Server::for_game::<Moo>().save_dir(&directory).start().expect("a free port");
    server.command("save").expect("a room");
    let mut files = std::fs::read_dir(&directory).expect("the directory");
    let world = files.next().expect("a file").expect("a name").path();
    world.to_str().expect("text").to_owned()
}

#[test]
fn each_flag_of_serve_has_a_method_or_a_reason() {
    let command = ServeArgs::augment_args(clap::Command::new("serve"));
    let flags: BTreeSet<String> =
        command.get_arguments().filter_map(|flag| flag.get_long()).map(str::to_owned).collect();
    let rows = ROWS.iter().map(|(flag, _)| *flag).chain(WITHOUT_METHOD.iter().map(|(flag, _)| *flag));
    let rows: BTreeSet<String> = rows.map(str::to_owned).collect();
    let without_row: Vec<_> = flags.difference(&rows).collect();
    assert!(without_row.is_empty(), "add a method of Server, and a row: {without_row:?}");
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/accounts.md");
    let document = std::fs::read_to_string(document).expect("it is in the repository");
    let missing: Vec<_> = flags.iter().filter(|flag| !document.contains(&format!("`--{flag}`"))).collect();
    assert!(missing.is_empty(), "docs/accounts.md lists each flag with its method: {missing:?}");
    assert_eq!(rows.difference(&flags).collect::<Vec<_>>(), [""; 0], "serve has no such flag");
}

#[test]
fn a_server_starts_with_each_of_these_settings() {
    for (flag, set) in ROWS {
        let server = set(Server::for_game::<Moo>()).start();
        server.unwrap_or_else(|why| panic!("{flag}: {why}")).stop();
    }
    for name in ["state", "keys", "capture", "plain"] {
        file(name);
    }
    std::fs::remove_dir_all(file("worlds")).expect("its own directory");
}
