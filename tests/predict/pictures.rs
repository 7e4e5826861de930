//! The pictures of docs/sync.md: what clients on a bad line really show, in virtual time.
//!
//! `TICKWIRE_BLESS=1 cargo test --test predict pictures` writes them again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use tickwire::game::prediction::{LocalWorld as _, PredictionFeatures};
use tickwire::packet::{DecodedPacket, Value};

use crate::line::{bad, play};
use crate::moo::{Player, player};
use crate::shots::{Seen, duel};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 34.0;
const SERVER: &str = "#8a8a8a";
const SHOWN: &str = "#c2410c";
const OTHER: &str = "#1d6fb8";

/// A line or dots of a picture: seconds and px.
struct Series {
    name: &'static str,
    colour: &'static str,
    dots: bool,
    points: Vec<(f64, f64)>,
}

fn series(name: &'static str, colour: &'static str, points: &[(f64, f64)]) -> Series {
    Series { name, colour, dots: false, points: points.to_vec() }
}

fn dots(name: &'static str, colour: &'static str, points: &[(f64, f64)]) -> Series {
    Series { dots: true, ..series(name, colour, points) }
}

/// A diagram of positions over time, between two seconds; keys are marked.
fn draw(title: &str, (from, to): (f64, f64), keys: &[f64], all: &[Series]) -> String {
    let inside = |(at, _): &&(f64, f64)| (from..=to).contains(at);
    let places = || all.iter().flat_map(|one| one.points.iter().filter(inside)).map(|(_, px)| *px);
    let (low, high) = places().fold((f64::MAX, f64::MIN), |(low, high), px| (low.min(px), high.max(px)));
    let (low, high) = (low - 8.0, (high + 8.0).max(low + 40.0));
    let x = |at: f64| LEFT + (at - from) / (to - from) * (WIDTH - LEFT - 14.0);
    let y = |px: f64| HEIGHT - BOTTOM - (px - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>{title}</title>\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
    );
    let mut line = |text: String| writeln!(svg, "{text}").expect("a text takes all");
    for half in 0..=((to - from) * 2.0) as u32 {
        let second = f64::from(half) / 2.0;
        let at = x(from + second);
        line(format!("<path d=\"M{at:.1} {TOP}V{}\" stroke=\"#e5e5e5\"/>", HEIGHT - BOTTOM));
        let label = format!("text-anchor=\"middle\" fill=\"#555\">{second:.1} s</text>");
        line(format!("<text x=\"{at:.1}\" y=\"{}\" {label}", HEIGHT - 12.0));
    }
    for px in [low + 8.0, high - 8.0] {
        let text = format!("{:.0} px", px - low - 8.0);
        line(format!(
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{text}</text>",
            LEFT - 6.0,
            y(px) + 4.0
        ));
    }
    for key in keys.iter().filter(|key| (from..to).contains(*key)) {
        line(format!(
            "<path d=\"M{0:.1} {TOP}V{1}\" stroke=\"#000\" stroke-dasharray=\"3 3\"/>",
            x(*key),
            HEIGHT - BOTTOM
        ));
        line(format!("<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">key</text>", x(*key), TOP - 4.0));
    }
    let mut at = LEFT;
    for one in all {
        let last = one.points.iter().rfind(|(second, _)| *second <= to).filter(|_| !one.dots);
        let end = last.map(|(_, px)| (to, *px));
        let points =
            one.points.iter().filter(inside).copied().chain(end).map(|(second, px)| (x(second), y(px)));
        if one.dots {
            let size = if one.points.len() < 100 { 5 } else { 2 };
            points.for_each(|(x, y)| {
                line(format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{size}\" fill=\"{}\"/>", one.colour))
            });
        } else {
            let path: Vec<String> = points.map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            line(format!(
                "<path d=\"M{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>",
                path.join("L"),
                one.colour
            ));
        }
        line(format!("<rect x=\"{at}\" y=\"12\" width=\"14\" height=\"5\" fill=\"{}\"/>", one.colour));
        line(format!("<text x=\"{}\" y=\"19\">{}</text>", at + 20.0, one.name));
        at += 44.0 + 7.2 * one.name.len() as f64;
    }
    svg + "</svg>\n"
}

fn check(name: &str, picture: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/sync").join(name);
    if std::env::var_os("TICKWIRE_BLESS").is_some() {
        return std::fs::write(path, picture).expect("docs/sync is there");
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == picture,
        "docs/sync/{name}: run TICKWIRE_BLESS=1 cargo test --test predict pictures"
    );
}

fn px(fixed: i32) -> f64 {
    f64::from(fixed) / 65_536.0
}

/// What a walk to the right looks like: at the server, as a client hears it, and as it shows it; and when the keys
/// were pressed.
#[derive(Default)]
struct Walk {
    server: Vec<(f64, f64)>,
    heard: Vec<(f64, f64)>,
    shown: Vec<(f64, f64)>,
    keys: Vec<f64>,
}

fn walk(is_predicted: bool) -> Walk {
    let mut server = crate::line::server("moo", 3, 0, bad());
    let (mut players, mut now) = ([player(&mut server)], Duration::ZERO);
    let mut walk = Walk::default();
    let switches = PredictionFeatures { prediction: is_predicted, reconciliation: true };
    players[0].player.prediction_mut().set_features(switches);
    play(&mut server, &mut players, &mut now, 12, |_, _, _, _| {}, |_, _, _, _| {});
    let act = |players: &mut [Player], server: &mut _, now: Duration, frame: u64| {
        let way = match frame {
            30 => Some(Value::from(0)),
            90 => Some(Value::Nil),
            _ => None,
        };
        if let Some(way) = way {
            players[0].command(server, "move", &[way], now);
            walk.keys.push(now.as_secs_f64());
        }
        walk.shown.extend(players[0].shown.map(|shown| (now.as_secs_f64(), px(shown.at.0))));
    };
    let see = |_: usize, _: &Player, packet: &DecodedPacket<'_>, now: Duration| {
        let own = packet.get("own").and_then(Value::as_array).and_then(|own| own.get(2)?.as_i64());
        if let Some((x, tick)) = own.zip(packet.integer::<u32>("tick")) {
            walk.server.push((f64::from(tick) / 30.0, px(x as i32)));
            walk.heard.push((now.as_secs_f64(), px(x as i32)));
        }
    };
    play(&mut server, &mut players, &mut now, 5, act, see);
    walk
}

#[test]
fn pictures_of_the_own_player() {
    let Walk { server, heard, keys, .. } = walk(false);
    let begin = keys[0] - 0.4;
    let server = series("on the server", SERVER, &server);
    let heard = series("shown without prediction", OTHER, &heard);
    let title = "A walk to the right on a line of 150 ms each way: without prediction";
    check("off.svg", &draw(title, (begin, begin + 3.0), &keys, &[server, heard]));
    let Walk { server, shown, keys, .. } = walk(true);
    let begin = keys[0] - 0.4;
    let server = series("on the server", SERVER, &server);
    let shown = series("shown with prediction", SHOWN, &shown);
    let title = "The same walk with prediction";
    check("prediction.svg", &draw(title, (begin, begin + 3.0), &keys, &[server, shown]));
}

/// Two players walk into each other: where one is shown, and where the server has it, by the tick.
#[test]
fn picture_of_reconciliation() {
    let mut server = crate::line::server("moo", 3, 0, bad());
    let (mut players, mut now) = ([player(&mut server), player(&mut server)], Duration::ZERO);
    play(&mut server, &mut players, &mut now, 12, |_, _, _, _| {}, |_, _, _, _| {});
    let (mut shown, mut exact) = (Vec::new(), Vec::new());
    let act = |players: &mut [Player], server: &mut _, now: Duration, frame: u64| {
        if frame.is_multiple_of(12) {
            let at = [players[0].shown.expect("plays").at, players[1].shown.expect("plays").at];
            for (own, other) in [(0, 1), (1, 0)] {
                let way = f64::atan2(f64::from(at[other].1 - at[own].1), f64::from(at[other].0 - at[own].0));
                let way = (way / std::f64::consts::TAU * 65_536.0) as i64 as u16;
                players[own].command(server, "move", &[way.into()], now);
            }
        }
        let now = players[0].shown.expect("plays");
        shown.push(((f64::from(now.tick.0) + f64::from(now.tick.1) / 65_536.0) / 30.0, px(now.at.0)));
    };
    let see = |at: usize, _: &Player, packet: &DecodedPacket<'_>, _: Duration| {
        let own = packet.get("own").and_then(Value::as_array).and_then(|own| own.get(2)?.as_i64());
        if let Some((x, tick)) = own.zip(packet.integer::<u32>("tick")).filter(|_| at == 0) {
            exact.push((f64::from(tick) / 30.0, px(x as i32)));
        }
    };
    play(&mut server, &mut players, &mut now, 8, act, see);
    let begin = exact[0].0 + 0.5;
    let all = [series("the server's tick", SERVER, &exact), series("shown for that tick", SHOWN, &shown)];
    let title = "Two players walk into each other: what is shown is corrected";
    check("reconciliation.svg", &draw(title, (begin, begin + 4.0), &[], &all));
}

/// Another player walks; updates come late, and for a while none comes.
#[test]
fn pictures_of_others() {
    let mut server = crate::line::server("moo", 4, 0, bad());
    let (mut players, mut now) = ([player(&mut server), player(&mut server)], Duration::ZERO);
    let (mut walker, mut heard) = (None, Vec::new());
    let mut shown = [Vec::new(), Vec::new(), Vec::new()];
    let (mut ticks, mut exact) = (Vec::new(), BTreeMap::new());
    let act = |players: &mut [Player], server: &mut _, now: Duration, frame: u64| {
        let (watcher, walks) = players.split_at_mut(1);
        walker = walker.or_else(|| Some(walks[0].prediction().world()?.own_player()?.0.into()));
        if frame.is_multiple_of(60) && walks[0].shown.is_some() {
            let way: u16 = if frame.is_multiple_of(120) { 0 } else { 32_768 };
            walks[0].command(server, "move", &[way.into()], now);
        }
        for (shown, parts) in shown.iter_mut().zip([(false, false), (true, false), (true, true)]) {
            let others = watcher[0].player.prediction_mut().track_remote_players();
            (others.interpolation_enabled, others.extrapolation_enabled) = parts;
            let place = watcher[0].player.remote_players(now).into_iter().find(|(id, _)| Some(*id) == walker);
            shown.extend(place.map(|(_, (x, _))| (now.as_secs_f64(), px(x))));
        }
        let tick = watcher[0].prediction().clock().render_tick(now).map_or(0, |tick| (tick >> 16) as u32);
        ticks.resize(shown[0].len(), tick);
    };
    let see = |at: usize, _: &Player, packet: &DecodedPacket<'_>, now: Duration| {
        if at == 0 && packet.row.name == "update" {
            heard.push(now.as_secs_f64());
        }
        let own = packet.get("own").and_then(Value::as_array).and_then(|own| own.get(2)?.as_i64());
        exact.extend(packet.integer::<u32>("tick").zip(own).filter(|_| at == 1));
    };
    play(&mut server, &mut players, &mut now, 40, act, see);
    // The frame in which dead reckoning helps most.
    let gain = |at: &usize| {
        let Some(exact) = exact.get(&ticks[*at]).map(|x| px(*x as i32)) else { return 0.0 };
        (shown[1][*at].1 - exact).abs() - (shown[2][*at].1 - exact).abs()
    };
    let max = (0..shown[1].len()).max_by(|a, b| gain(a).total_cmp(&gain(b))).expect("frames");
    let at = shown[1][max].0;
    let arrivals: Vec<(f64, f64)> = heard
        .iter()
        .filter_map(|at| shown[0].iter().find(|(then, _)| then >= at).map(|(_, px)| (*at, *px)))
        .collect();
    let [jumps, held, run_on] = &shown;
    let calm = heard[heard.len() / 2];
    let all = [
        dots("updates as they arrive", SERVER, &arrivals),
        series("shown without interpolation", OTHER, jumps),
        series("shown with it", SHOWN, held),
    ];
    check("interpolation.svg", &draw("Another player on this line", (calm, calm + 2.0), &[], &all));
    let all = [
        dots("updates as they arrive", SERVER, &arrivals),
        series("held without news", OTHER, held),
        series("run on (dead reckoning)", SHOWN, run_on),
    ];
    check("reckoning.svg", &draw("A loss: for a while no update comes", (at - 1.0, at + 1.0), &[], &all));
}

/// A tank is fired at: where it is on the shooter's screen, and on the server.
#[test]
fn picture_of_lag_compensation() {
    let Seen { on_screen, on_server, met, judged } = duel(3, 60, true).seen;
    let begin = met[met.len() / 2].0 - 1.0;
    let all = [
        series("target on the server", SERVER, &on_server),
        series("target on the screen", SHOWN, &on_screen),
        dots("hit on the screen", SHOWN, &met),
        dots("hit on the server", OTHER, &judged),
    ];
    check("lag.svg", &draw("A shot at a tank that drives past", (begin, begin + 3.0), &[], &all));
}
