//! The game of `examples/pong.rs` on a whole server: two play, a third watches, and everything around it
//! knows the game by its table alone.

use std::fs;
use std::process::Command;
use std::time::Duration;

use tickwire::capture;
use tickwire::game::simple::{BotView, ReceivedPackets, Simple, SimpleAction, SimpleGame as _, SimpleWorld};
use tickwire::game::{BotRng, Game, GameInfo};
use tickwire::internal::server::net::recorder::CaptureTarget;
use tickwire::internal::server::net::{ServerConfig, ServerHandle};
use tickwire::internal::testing::load::crowd;
use tickwire::internal::testing::simulate;
use tickwire::internal::tools::replay;
use tickwire::packet::{DecodedPacket, Direction, PacketTables, Value};
use tickwire::sim::{PlayerId, RestoreError, Rng, Sim};

use crate::guest::{Guest, config_of, server_of};
use crate::program_of_pong::{Action, Pong};
use crate::replay::File;
use crate::rooms::page;
use crate::same_world::three_ways;

type Game_ = Simple<Pong>;
const ABOUT: &GameInfo = Game_::INFO;

fn server() -> ServerHandle {
    server_of::<Game_>()
}

fn paddle(guest: &mut Guest, direction: i8) {
    guest.act("paddle", &[direction.into()]);
}

#[test]
fn two_play_a_third_watches_and_takes_the_side_that_becomes_free() {
    let server = server();
    let [mut ann, mut bob, mut cy] = [(); 3].map(|()| Guest::connect(&server));
    // Whoever only watches is told of the field at once.
    assert_eq!(cy.hear("state", |_| true).get("left"), None);
    let (left, right) = (ann.enter("Ann"), bob.enter("Bob"));
    let state = cy.hear("state", |state| state.integer::<u16>("right").is_some());
    assert_eq!((state.text("left_name"), state.integer("left")), (Some("Ann".to_owned()), Some(left)));
    paddle(&mut ann, -1);
    paddle(&mut bob, 1);
    let moved = |state: &DecodedPacket<'_>| {
        state.integer::<u16>("left_y").expect("y") < 250 && state.integer::<u16>("right_y").expect("y") > 350
    };
    cy.hear("state", moved);
    // Nobody plays for another, and what is no move is refused by name.
    let watcher = cy.enter("Cy");
    paddle(&mut cy, 1);
    ann.say("paddle", &[9.into(), Value::Nil, 7.into()]);
    cy.hear("state", |state| state.integer::<u16>("left_y") == Some(48));
    drop(ann);
    let state = cy.hear("state", |state| state.integer("left") == Some(watcher));
    assert_eq!((state.integer("right"), state.integer("left_score")), (Some(right), Some(0)));
    server.stop();
}

#[test]
fn pages_tables_metrics_and_the_operator_know_the_game_without_a_line_of_its_own() {
    let server = server();
    let (status, text) = page(&server, "/", "");
    assert!(status == 200 && text.contains("<title>Pong</title>"), "{text}");
    for (path, holds) in [
        ("/codes.json", "\"pong.tsv\""),
        ("/tickwire.js", "export"),
        ("/wire", "<title>tickwire wire</title>"),
        ("/metrics", "tickwire_clients"),
        ("/healthz", "ok"),
    ] {
        let (status, text) = page(&server, path, "");
        assert!(status == 200 && text.contains(holds), "{path}: {status} {text}");
    }
    let mut ann = Guest::connect(&server);
    ann.enter("Ann");
    let run = |line: &str| {
        server
            .console()
            .run(line, tickwire::internal::server::net::console::Source::Terminal)
            .expect("an answer")
    };
    assert!(run("players").text.contains("127.0.0.1        \"Ann\""), "{}", run("players").text);
    let no = server
        .console()
        .run("grant 1 wood 5", tickwire::internal::server::net::console::Source::Terminal)
        .expect("an answer")
        .text;
    assert!(no.contains("there is no command \"grant\""), "{no}");
    run("kick Ann");
    assert_eq!(ann.peer.receive_close(), "1008 kicked");
    server.stop();
}

#[test]
fn a_capture_replays_the_same_and_a_program_without_the_game_says_so() {
    let (server, file) = (server(), File::new("pong"));
    server.capture(CaptureTarget::File(file.0.clone())).expect("a new file");
    let [mut ann, mut bob] = [(); 2].map(|()| Guest::connect(&server));
    let _ = (ann.enter("Ann"), bob.enter("Bob"));
    for direction in [-1, 1, 0, 1] {
        paddle(&mut ann, direction);
        paddle(&mut bob, -direction);
        ann.say("ping", &[3.into()]);
        ann.hear("pong", |_| true);
    }
    bob.hear("state", |state| state.integer::<u16>("ball_x") != Some(400));
    server.stop();
    let bytes = fs::read(&file.0).expect("the file");
    let report = replay::json::of_file(&bytes, &[ABOUT], None).expect("a capture");
    assert_eq!(report["verdict"], "same", "{report:#}");
    assert_eq!((&report["matched"], &report["clients"]), (&8.into(), &2.into()), "{report:#}");
    let other = replay::json::of_file(&bytes, tickwire::internal::games::INFO, None).expect("a capture");
    let reason = other["reason"].as_str().expect("a reason");
    assert!(reason.contains("of the game \"pong\" that this program does not have"), "{reason}");
    let capture = capture::read(&bytes).expect("a capture");
    let tables = capture.tables().expect("good ones").expect("carried");
    assert_eq!(tables[0].0, "pong.tsv");
}

#[test]
fn the_world_is_the_same_in_any_order_and_from_any_snapshot() {
    let act = |random: &mut Rng| SimpleAction::Act(Action::Paddle { direction: random.between(-1, 1) as i8 });
    let checksums = [1, 2].map(|seed| three_ways::<Game_>(seed, 10_000, act));
    // Of every build on every machine.
    assert_eq!(
        checksums.map(|checksum| format!("{checksum:016x}")),
        ["ffe9c17151b1f985", "2d1a72d5b329d68f"]
    );
}

#[test]
fn a_snapshot_of_another_game_or_other_rules_is_refused() {
    let world = SimpleWorld::<Pong>::new(&(ABOUT.identity)(1));
    let bytes = world.snapshot();
    assert_eq!(SimpleWorld::<Pong>::restore(&bytes).as_ref(), Ok(&world));
    let refused = |at: usize| {
        let mut wrong = bytes.clone();
        wrong[at] ^= 1;
        SimpleWorld::<Pong>::restore(&wrong).expect_err("refused")
    };
    for at in [0, 5] {
        assert_eq!(refused(at), RestoreError::NotASnapshot { game: "pong" });
        assert_eq!(refused(at).to_string(), "these bytes are not a snapshot of pong");
    }
    assert!(matches!(refused(9), RestoreError::OtherRules { found, expected } if found != expected));
    assert!(refused(9).to_string().contains("other rules"), "{}", refused(9));
    for end in 0..bytes.len() {
        assert!(SimpleWorld::<Pong>::restore(&bytes[..end]).is_err(), "{end} bytes");
    }
    for at in 17..bytes.len() {
        let mut wrong = bytes.clone();
        wrong[at] ^= 1;
        assert!(SimpleWorld::<Pong>::restore(&wrong).is_err(), "byte {at}");
    }
}

#[test]
fn a_table_that_does_not_fit_the_game_is_refused_at_the_start_by_name() {
    let (file, text) = ABOUT.tables[0];
    let checked =
        |text: &str| ABOUT.check_tables(&PacketTables::from_texts(&[(file, text)]).expect("a table"));
    assert_eq!(checked(text), Ok(()));
    for (from, to, says) in [
        ("ball_x:u16.px ", "", "a state that does not fit: state has no argument ball_x"),
        ("left_score:u8 ", "left_score:str ", "argument left_score should be str, found the integer 0"),
        (
            "paddle\treliable\t4\tsequence:u32 tick:u32.tick|nil ",
            "paddle\treliable\t4\t",
            "the packet paddle must begin with",
        ),
        ("to_client\tspawned", "to_client\tborn", "lacks the packet spawned to_client"),
        ("to_client\tstate", "to_client\tstates", "there is no packet state to clients"),
        ("to_server\tjoin", "to_server\tcome", "lacks the packet join to_server"),
        ("pong:int", "other:int", "lack the dialect pong"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let reason = checked(&changed).expect_err(from);
        assert!(reason.to_string().contains(says), "{from}: {reason}");
    }
}

#[test]
fn only_the_games_of_the_rooms_need_their_tables() {
    let serve = |more: &[&str]| {
        let tables = concat!(env!("CARGO_MANIFEST_DIR"), "/packet_codes/moo");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tickwire"));
        command.args(["--bind", "127.0.0.1:0", "--codes", tables]).args(more).output().expect("it runs")
    };
    let refused = serve(&["--room", "arena=tanks"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("lack the dialect tanks, which the game tanks needs"), "{said}");
    // The tables pass; the directory does not.
    let refused = serve(&["--capture", "/nowhere/a.pcapng"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("--capture: ") && refused.status.code() == Some(1), "{said}");
}

#[test]
fn bots_play_it_and_a_simulation_of_it_breaks_no_rule_without_a_line_of_its_own() {
    let config = ServerConfig { seat_time: Duration::from_secs(30), ..config_of::<Game_>() };
    let server = ServerHandle::start(config).expect("a free port");
    let url = format!("ws://{}", server.address());
    let codes = PacketTables::from_texts(ABOUT.tables).expect("its table");
    let plan = crowd::CrowdPlan {
        lane: false,
        late_acks: false,
        url: url.parse().expect("a URL"),
        game: ABOUT,
        dialects: vec![codes.dialect("pong").expect("its dialect")],
        count: 4,
        time: Duration::from_secs(2),
        source: None,
        behavior: crowd::BotBehavior::Play,
        seed: 1,
        lockstep: false,
        // In the first of the two seconds.
        reconnects: Some(3),
    };
    let report = crowd::run(&plan).expect("a crowd").remove(0);
    assert!(report.passed() && report.bots == 4 && report.tally.updates > 100, "{report}");
    assert!(report.tally.lost > 0, "connections are cut, and each bot resumes its player: {report}");

    // The bots of another program ask which game it is, and say that they cannot play it.
    let bots = Command::new(env!("CARGO_BIN_EXE_tickwire")).args(["bots", &url]).output().expect("it runs");
    let said = String::from_utf8_lossy(&bots.stderr);
    assert_eq!(bots.status.code(), Some(1), "{said}");
    assert!(said.contains("pong is played there; this program has bots for: moo, "), "{said}");
    server.stop();

    let game = simulate::SimGameFactory::for_game::<Game_>();
    let plan = simulate::SimulationPlan {
        lanes_percent: 50,
        game,
        seed: 1,
        peers: 12,
        time: Duration::from_secs(30),
        rooms: 2,
        net: None,
    };
    let (counts, failure) = simulate::run(&plan);
    assert_eq!(failure, None);
    assert!(counts.of("clients compared with the published state") > 20, "{counts:?}");
}

#[test]
fn every_tick_of_a_game_of_ones_own_runs_again() {
    tickwire::synctest::<Game_>(500, 1).unwrap();
}

#[test]
fn a_bot_moves_its_paddle_to_the_ball_and_sends_only_changes() {
    let codes = PacketTables::from_texts(ABOUT.tables).expect("its table");
    let dialect = codes.dialect("pong").expect("its dialect");
    let (mut received, mut bot) = (ReceivedPackets::new(&dialect), Pong::bot_policy().expect("a bot"));
    let mut decide = |ball_y: u16, left_y: u16, player: u16| {
        let state = format!(r#"["state",[1,400,{ball_y},{left_y},300,1,2,"Ann","Bob",0,0,0,null]]"#);
        let packet = dialect.decode_json(Direction::ToClient, &state).expect("by the table");
        received.apply(&packet).expect("no contradiction");
        let action = bot.decide(&BotView::new(PlayerId(player), &received), &mut BotRng::new(1));
        action.map(|Action::Paddle { direction }| direction)
    };
    let directions = [(500, 100), (500, 200), (500, 490), (40, 490)].map(|(ball, own)| decide(ball, own, 1));
    assert_eq!(directions, [Some(1), None, Some(0), Some(-1)]);
    assert_eq!(decide(500, 100, 3), None, "one that waits for a side");
}
