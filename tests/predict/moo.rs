//! A player of moo that turns all the time, and others.

use std::time::Duration;

use tickwire::game::prediction::{Position, PredictionFeatures};
use tickwire::internal::games::moo::prediction::MooLocalWorld;
use tickwire::internal::server::embedded::EmbeddedServer;
use tickwire::internal::util::netem::Conditions;
use tickwire::packet::{DecodedPacket, Value};

use crate::line::{Client, bad, play, server};

pub type Player = Client<MooLocalWorld>;

pub fn player(server: &mut EmbeddedServer) -> Player {
    Client::new(server, "native", "moo")
}

fn px(fixed: u32) -> f64 {
    f64::from(fixed) / 65_536.0
}

pub fn apart_px(a: Position, b: Position) -> f64 {
    f64::hypot(f64::from(a.0) - f64::from(b.0), f64::from(a.1) - f64::from(b.1)) / 65_536.0
}

/// Turns by some angle twelve frames after the last time, which is 200 ms.
fn turn(player: &mut Player, server: &mut EmbeddedServer, now: Duration, frame: u64, seed: u32) {
    if frame.is_multiple_of(12) && player.shown.is_some() {
        let way = (frame as u32 / 12).wrapping_mul(40_503).wrapping_add(seed.wrapping_mul(7_919)) as u16;
        player.command(server, "move", &[way.into()], now);
    }
}

#[test]
fn without_loss_and_jitter_nothing_is_corrected() {
    let net = Conditions { delay: Duration::from_millis(60), ..Conditions::default() };
    let mut server = server("moo", 3, 0, net);
    let (mut players, mut now) = ([player(&mut server)], Duration::ZERO);
    let act = |players: &mut [Player], server: &mut EmbeddedServer, now, frame| {
        turn(&mut players[0], server, now, frame, 1)
    };
    play(&mut server, &mut players, &mut now, 60, act, |_, _, _, _| {});
    let corrections = players[0].prediction().corrections();
    assert!(corrections.compared > 1_700, "{corrections:?}");
    assert_eq!(corrections.count, 0, "of {} updates", corrections.compared);
}

/// Frames from a key to the first one that shows the player elsewhere, for ten keys.
fn frames_to_move(switches: PredictionFeatures) -> Vec<u64> {
    let mut server = server("moo", 3, 0, bad());
    let (mut players, mut now) = ([player(&mut server)], Duration::ZERO);
    play(&mut server, &mut players, &mut now, 5, |_, _, _, _| {}, |_, _, _, _| {});
    players[0].player.prediction_mut().set_features(switches);
    let mut frames = Vec::new();
    for key in 0..10_u16 {
        let before = players[0].shown.expect("it plays").at;
        players[0].command(&mut server, "move", &[(key * 6_553).into()], now);
        let (mut moved, mut count) = (None, 0);
        let act = |players: &mut [Player], _: &mut EmbeddedServer, _, _| {
            count += 1;
            let at = players[0].shown.expect("it plays").at;
            moved = moved.or((at != before).then_some(count));
        };
        play(&mut server, &mut players, &mut now, 2, act, |_, _, _, _| {});
        frames.push(moved.expect("it moves in the end"));
        players[0].command(&mut server, "move", &[Value::Nil], now);
        play(&mut server, &mut players, &mut now, 4, |_, _, _, _| {}, |_, _, _, _| {});
    }
    frames
}

#[test]
fn the_own_player_moves_in_the_next_frame_and_without_prediction_a_round_trip_later() {
    let on = PredictionFeatures { prediction: true, reconciliation: true };
    assert_eq!(frames_to_move(on), [1; 10]);
    let off = frames_to_move(PredictionFeatures { prediction: false, ..on });
    println!("without prediction: {off:?} frames");
    let round_trip = (300 - 60) / 17;
    assert!(
        off.iter().all(|frames| *frames >= round_trip),
        "{off:?} frames, {round_trip} are the shortest round trip"
    );
}

#[test]
fn without_reconciliation_two_worlds_drift_apart_and_the_player_never_jumps() {
    let mut server = server("moo", 3, 0, bad());
    let (mut players, mut now) = ([player(&mut server)], Duration::ZERO);
    play(&mut server, &mut players, &mut now, 5, |_, _, _, _| {}, |_, _, _, _| {});
    players[0]
        .player
        .prediction_mut()
        .set_features(PredictionFeatures { prediction: true, reconciliation: false });
    let (mut before, mut farthest) = (None, 0.0_f64);
    let act = |players: &mut [Player], server: &mut EmbeddedServer, now, frame| {
        turn(&mut players[0], server, now, frame, 1);
        let at = players[0].shown.expect("it plays").at;
        farthest = farthest.max(before.replace(at).map_or(0.0, |before| apart_px(before, at)));
    };
    let mut exact = None;
    let see = |_: usize, _: &Player, packet: &DecodedPacket<'_>, _| {
        if let Some(own) = packet.get("own").and_then(Value::as_array).filter(|own| own.len() > 3) {
            exact = own[2].as_i64().zip(own[3].as_i64()).map(|(x, y)| (x as i32, y as i32));
        }
    };
    play(&mut server, &mut players, &mut now, 25, act, see);
    assert!(farthest < 12.0, "{farthest} px from one frame to the next");
    players[0].command(&mut server, "move", &[Value::Nil], now);
    play(&mut server, &mut players, &mut now, 4, |_, _, _, _| {}, |_, _, _, _| {});
    let (shown, exact) = (players[0].shown.expect("it plays").at, exact.expect("it is told"));
    assert!(apart_px(shown, exact) > 1.0, "late commands have moved only one of the two");
    players[0]
        .player
        .prediction_mut()
        .set_features(PredictionFeatures { prediction: true, reconciliation: true });
    players[0].command(&mut server, "move", &[0.into()], now);
    play(&mut server, &mut players, &mut now, 2, |_, _, _, _| {}, |_, _, _, _| {});
    assert!(players[0].prediction().corrections().compared > 10, "the server's word counts again");
}

#[test]
fn swings_are_foreseen_as_often_as_the_server_tells_of_them() {
    let mut server = server("moo", 3, 0, bad());
    let (mut players, mut now) = ([player(&mut server)], Duration::ZERO);
    let (mut told, mut foreseen) = (0, 0);
    let act = |players: &mut [Player], server: &mut EmbeddedServer, now, frame| {
        foreseen += players[0].player.prediction_mut().take_events().len();
        if players[0].shown.is_some() && (frame % 97 == 0 || frame % 97 == 60) {
            let state = u8::from(frame % 97 == 0);
            players[0].command(server, "attack", &[state.into()], now);
        }
    };
    let see = |_: usize, _: &Player, packet: &DecodedPacket<'_>, _| {
        if packet.row.name == "swings" {
            told += 1;
        }
    };
    play(&mut server, &mut players, &mut now, 60, act, see);
    println!("{foreseen} swings foreseen, {told} told");
    assert!(told > 50, "{told}");
    // The last ones are still under way; a command that a stall made late may cost or add one.
    assert!(told <= foreseen + 3 && foreseen <= told + 6, "{foreseen} foreseen, {told} told");
}

#[test]
fn two_players_who_push_each_other_agree_with_the_server_when_they_rest() {
    let mut server = server("moo", 3, 0, bad());
    let (mut players, mut now) = ([player(&mut server), player(&mut server)], Duration::ZERO);
    play(&mut server, &mut players, &mut now, 8, |_, _, _, _| {}, |_, _, _, _| {});
    let act = |players: &mut [Player], server: &mut EmbeddedServer, now, frame: u64| {
        if frame.is_multiple_of(12) {
            let at = [players[0].shown.expect("plays").at, players[1].shown.expect("plays").at];
            for (own, other) in [(0, 1), (1, 0)] {
                let way = f64::atan2(f64::from(at[other].1 - at[own].1), f64::from(at[other].0 - at[own].0));
                let way = (way / std::f64::consts::TAU * 65_536.0) as i64 as u16;
                players[own].command(server, "move", &[way.into()], now);
            }
        }
    };
    play(&mut server, &mut players, &mut now, 30, act, |_, _, _, _| {});
    for one in &players {
        let corrections = one.prediction().corrections();
        let (p50, p99) = (px(corrections.percentile(50)), px(corrections.percentile(99)));
        println!(
            "pushed: {} of {} updates corrected, p50 {p50:.1} px, p99 {p99:.1} px",
            corrections.count, corrections.compared
        );
        assert!(corrections.count > 100, "they do touch: {corrections:?}");
    }
    for player in &mut players {
        player.command(&mut server, "move", &[Value::Nil], now);
    }
    let mut exact = [None; 2];
    let see = |at: usize, _: &Player, packet: &DecodedPacket<'_>, _| {
        if let Some(own) = packet.get("own").and_then(Value::as_array).filter(|own| own.len() > 3) {
            exact[at] = own[2].as_i64().zip(own[3].as_i64()).map(|(x, y)| (x as i32, y as i32));
        }
    };
    play(&mut server, &mut players, &mut now, 5, |_, _, _, _| {}, see);
    for at in 0..2 {
        assert_eq!(players[at].shown.map(|shown| shown.at), exact[at], "player {at}");
    }
}
