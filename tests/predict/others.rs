//! How far from its place another player is shown, with and without dead reckoning.

use std::collections::BTreeMap;
use std::time::Duration;

use tickwire::game::prediction::{LocalWorld, Position, PositionHistory};
use tickwire::game::simple::SimpleLocalWorld;
use tickwire::internal::games::moo::prediction::MooLocalWorld;
use tickwire::internal::games::tanks::Tanks;
use tickwire::internal::server::embedded::EmbeddedServer;
use tickwire::internal::util::netem::Conditions;
use tickwire::packet::{DecodedPacket, Value};

use crate::line::{Client, bad, play, server};
use crate::moo::apart_px;
use crate::tanks::turns;

/// Errors of the position at which another player is shown, px: where it is held without news, and where
/// it is run on. Both by the track of all its positions, as they were heard in the end. `drive` is called for that
/// player in every frame, and `exact` finds its place in the packets of its server.
fn errors<W: LocalWorld>(
    mut server: EmbeddedServer,
    (dialect, game): (&str, &str),
    (seconds, has_lane): (u64, bool),
    mut drive: impl FnMut(&mut Client<W>, &mut EmbeddedServer, Duration, u64),
    exact: fn(&DecodedPacket<'_>) -> Option<Position>,
) -> [Vec<f64>; 2] {
    let mut players = [(); 2].map(|()| {
        let client = Client::<W>::new(&mut server, dialect, game);
        if has_lane { client.with_lane() } else { client }
    });
    let (mut now, mut walker) = (Duration::ZERO, None);
    let mut shown: [Vec<(i64, Position)>; 2] = [Vec::new(), Vec::new()];
    let mut truth = Vec::<(u32, Position)>::new();
    let act = |players: &mut [Client<W>], server: &mut EmbeddedServer, now: Duration, frame: u64| {
        let (watchers, walks) = players.split_at_mut(1);
        walker = walker.or_else(|| Some(walks[0].prediction().world()?.own_player()?.0.into()));
        if walks[0].shown.is_some() {
            drive(&mut walks[0], server, now, frame);
        }
        let client = &mut watchers[0];
        for (shown, extrapolation_enabled) in shown.iter_mut().zip([false, true]) {
            client.player.prediction_mut().track_remote_players().extrapolation_enabled =
                extrapolation_enabled;
            let place = client.player.remote_players(now).into_iter().find(|(id, _)| Some(*id) == walker);
            shown.extend(client.prediction().clock().render_tick(now).zip(place.map(|(_, place)| place)));
        }
    };
    let see = |at: usize, _: &Client<W>, packet: &DecodedPacket<'_>, _| {
        truth.extend(packet.integer("tick").zip(exact(packet)).filter(|_| at == 1));
    };
    play(&mut server, &mut players, &mut now, seconds, act, see);
    shown.map(|shown| compare(&shown, &truth))
}

fn compare(shown: &[(i64, Position)], truth: &[(u32, Position)]) -> Vec<f64> {
    let (mut track, mut rest) = (PositionHistory::default(), truth.iter().copied().peekable());
    let mut errors = Vec::new();
    for (tick, shown) in shown {
        while rest.peek().is_some_and(|(at, _)| i64::from(*at) << 16 <= tick + (8 << 16)) {
            rest.next().into_iter().for_each(|(at, place)| track.push(at, place));
        }
        let place = track.interpolate(*tick).filter(|_| rest.peek().is_some());
        errors.extend(place.map(|place| apart_px(*shown, place)));
    }
    errors
}

/// Prints p50 and p99 of both kinds, and returns p99 of both.
#[allow(clippy::print_stdout, reason = "docs/sync.md quotes the figures")]
fn print(name: &str, runs: impl Iterator<Item = [Vec<f64>; 2]>) -> [f64; 2] {
    let mut all = [Vec::new(), Vec::new()];
    for run in runs {
        all.iter_mut().zip(run).for_each(|(all, run)| all.extend(run));
    }
    assert!(all[0].len() > 5_000, "{} frames", all[0].len());
    let figures = all.map(|mut errors| {
        errors.sort_by(f64::total_cmp);
        [50, 95, 99].map(|percent| (errors[errors.len() * percent / 100] * 10.0).round() / 10.0)
    });
    println!("{name}: p50, p95, p99 px held {:?}, run on {:?}", figures[0], figures[1]);
    figures.map(|[.., p99]| p99)
}

/// Measures p99 of both kinds, with a name to print, on a line, with or without a lane.
type Measure = fn(&str, Conditions, bool) -> [f64; 2];

/// Errors of another player of moo, who turns every one and a half seconds, in two games.
fn moo_errors(name: &str, net: Conditions, has_lane: bool) -> [f64; 2] {
    let drive = |walker: &mut Client<MooLocalWorld>, server: &mut EmbeddedServer, now, frame: u64| {
        if frame.is_multiple_of(90) {
            let way = (frame as u32 / 90).wrapping_mul(40_503) as u16;
            walker.command(server, "move", &[way.into()], now);
        }
    };
    let exact = |packet: &DecodedPacket<'_>| {
        let own = packet.get("own").and_then(Value::as_array).filter(|own| own.len() > 3)?;
        own[2].as_i64().zip(own[3].as_i64()).map(|(x, y)| (x as i32, y as i32))
    };
    let run = |seed| errors(server("moo", seed, 0, net), ("native", "moo"), (90, has_lane), drive, exact);
    print(name, (3..5).map(run))
}

/// Errors of another tank, which turns every one and a half seconds, in two games.
fn tank_errors(name: &str, net: Conditions, has_lane: bool) -> [f64; 2] {
    let drive =
        |walker: &mut Client<SimpleLocalWorld<Tanks>>, server: &mut EmbeddedServer, now, frame: u64| {
            if frame.is_multiple_of(90) {
                walker.command(server, "control", &turns(frame / 90), now);
            }
        };
    let exact = |packet: &DecodedPacket<'_>| {
        let is_own = packet.row.name == "own_state";
        packet.integer("x").zip(packet.integer("y")).filter(|_| is_own)
    };
    let run = |seed| errors(server("tanks", seed, 0, net), ("tanks", "tanks"), (60, has_lane), drive, exact);
    print(name, (3..5).map(run))
}

#[test]
fn dead_reckoning_brings_others_nearer_to_where_they_are() {
    let [held, run_on] = moo_errors("another player of moo", bad(), false);
    assert!(run_on < held, "{run_on} {held}");
}

#[test]
fn dead_reckoning_brings_other_tanks_nearer_to_where_they_are() {
    let [held, run_on] = tank_errors("another tank", bad(), false);
    assert!(run_on < held, "{run_on} {held}");
}

#[test]
fn a_lane_brings_others_nearer_to_where_they_are() {
    for loss_ppm in [20_000, 50_000] {
        let net = Conditions { loss_ppm, ..bad() };
        for (measure, game) in [(moo_errors as Measure, "moo"), (tank_errors, "tanks")] {
            let name = format!("{game}, {} % loss", loss_ppm / 10_000);
            let [_, stream] = measure(&format!("{name}, stream"), net, false);
            let [_, lane] = measure(&format!("{name}, lane"), net, true);
            assert!(3.0 * lane <= stream, "{name}: {lane} px with a lane, {stream} px without");
        }
    }
}

/// Milliseconds from each turn of a player of moo to the first frame of another client that shows it: the frame whose
/// rendered tick is the tick in which the server executed the command.
fn turns_to_other_screen(net: Conditions, seed: u32, has_lane: bool) -> Vec<u64> {
    let mut server = server("moo", seed, 0, net);
    let mut players = [(); 2].map(|()| {
        let client = Client::<MooLocalWorld>::new(&mut server, "native", "moo");
        if has_lane { client.with_lane() } else { client }
    });
    let (mut now, mut turns, mut frames) = (Duration::ZERO, Vec::new(), Vec::new());
    let mut executed = BTreeMap::<u64, u32>::new();
    let act = |players: &mut [Client<MooLocalWorld>], server: &mut EmbeddedServer, now, frame: u64| {
        let [watcher, walker] = players else { return };
        if walker.shown.is_some() && frame.is_multiple_of(23) {
            let way = (frame as u32 / 23).wrapping_mul(40_503) as u16;
            walker.command(server, "move", &[way.into()], now);
            turns.push(now);
        }
        let clock = watcher.prediction().clock();
        frames.extend(clock.render_tick(now).map(|tick| (tick >> 16, now)));
    };
    let see = |at: usize, _: &Client<MooLocalWorld>, packet: &DecodedPacket<'_>, _| {
        let own = packet.get("own").and_then(Value::as_array).and_then(|own| own.first()?.as_u64());
        if let Some((sequence, tick)) = own.zip(packet.integer("tick")).filter(|_| at == 1) {
            let first = executed.entry(sequence).or_insert(tick);
            *first = tick.min(*first);
        }
    };
    play(&mut server, &mut players, &mut now, 60, act, see);
    let shown_at = |tick: u32| frames.iter().find(|(shown, _)| *shown >= i64::from(tick)).map(|(_, at)| *at);
    // The lead adapts to the line during the first seconds.
    let later = turns.iter().zip(1..).skip(20);
    let latency = |(sent, sequence): (&Duration, u64)| {
        let shown_at = shown_at(*executed.get(&sequence)?)?;
        Some(shown_at.saturating_sub(*sent).as_millis() as u64)
    };
    later.filter_map(latency).collect()
}

#[test]
#[allow(clippy::print_stdout, reason = "docs/sync.md quotes the figures")]
fn a_lane_shows_a_turn_on_another_screen_earlier() {
    for loss_ppm in [20_000, 50_000] {
        let net = Conditions { loss_ppm, ..bad() };
        let [stream, lane] = [false, true].map(|has_lane| {
            let mut all: Vec<u64> =
                (3..5).flat_map(|seed| turns_to_other_screen(net, seed, has_lane)).collect();
            all.sort_unstable();
            assert!(all.len() > 200, "{}", all.len());
            [50, 99].map(|percent| all[all.len() * percent / 100])
        });
        println!("{} % loss, p50 and p99 ms: stream {stream:?}, lane {lane:?}", loss_ppm / 10_000);
        assert!(lane[0] < stream[0] && lane[1] < stream[1], "stream {stream:?}, lane {lane:?}");
    }
}
