//! The game of `examples/units.rs`: one command names many targets, and those that are not the player's own
//! are refused one by one.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tickwire::game::simple::{Simple, SimpleAction};
use tickwire::game::{Game, JoinRequest};
use tickwire::internal::server::net::ServerHandle;
use tickwire::packet::msgpack::write_value;
use tickwire::packet::{DecodedPacket, PacketTables, Value};
use tickwire::sim::{Command, EncodedAction, PlayerId, Rng, Sim, StepResult, WorldParams};

use crate::guest::{Guest, config_of, server_of};
use crate::program_of_units::{Action, Units};
use crate::same_world::three_ways;
use crate::support::PATIENCE;

/// The owner and the x of each unit, by its number.
fn units(state: &DecodedPacket<'_>) -> Vec<(u16, u16, u64)> {
    let flat: Vec<u64> = state
        .get("units")
        .and_then(Value::as_array)
        .expect("a list")
        .iter()
        .filter_map(Value::as_u64)
        .collect();
    flat.chunks(4).map(|unit| (unit[0] as u16, unit[1] as u16, unit[2])).collect()
}

fn march(guest: &mut Guest, targets: &[u16]) {
    let targets = targets.iter().map(|number| Value::from(*number)).collect();
    guest.act("march", &[Value::Array(targets), 600.into(), 200.into()]);
}

#[test]
fn units_of_others_are_refused_one_by_one_and_the_own_ones_march() {
    let server = server_of::<Simple<Units>>();
    let [mut ann, mut bob] = [(); 2].map(|()| Guest::connect(&server));
    let (ann_is, bob_is) = (ann.enter("Ann"), bob.enter("Bob"));
    let state = ann.hear("state", |state| units(state).len() == 12);
    let all = units(&state);
    let of = |player| all.iter().filter(|unit| unit.1 == player).map(|unit| unit.0).collect::<Vec<u16>>();
    let (own, others) = (of(ann_is), of(bob_is));
    march(&mut ann, &[own[0], others[3], 999, own[1]]);
    for (unit, rule) in [(others[3], "not_owned"), (999, "unknown_unit")] {
        let refused = ann.hear("refused", |_| true);
        assert_eq!((refused.integer("unit"), refused.text("rule")), (Some(unit), Some(rule.to_owned())));
    }
    let x_of = |state: &DecodedPacket<'_>, number| {
        units(state).iter().find(|unit| unit.0 == number).map(|unit| unit.2)
    };
    bob.hear("state", |state| x_of(state, own[0]) == Some(600) && x_of(state, own[1]) == Some(600));
    let others_stay = |state: &DecodedPacket<'_>| {
        others.iter().zip(0..).all(|(unit, at)| x_of(state, *unit) == Some(40 + at * 40))
    };
    // Bob is not told what was refused to Ann: his next packets are the states and his own refusal.
    march(&mut bob, &[own[0]]);
    assert_eq!(bob.hear("refused", |_| true).integer("unit"), Some(own[0]));
    let too_many = Value::Array(vec![Value::from(1); 65]);
    let arguments = vec![Value::from(9), Value::Nil, too_many, 0.into(), 0.into()];
    let mut message = Vec::new();
    write_value(&mut message, &Value::Array(vec![4.into(), Value::Array(arguments)]));
    bob.peer.send(&message);
    assert_eq!(bob.hear("error", |_| true).text("rule"), Some("wrong_arguments".to_owned()));
    march(&mut ann, &[own[2]]);
    ann.hear("state", |state| others_stay(state) && x_of(state, own[2]) == Some(600));
    server.stop();
}

/// The table of this server cannot carry what the rules tell.
#[test]
fn a_packet_that_does_not_fit_its_table_is_counted() {
    let mut config = config_of::<Simple<Units>>();
    let texts: Vec<(&str, String)> = Simple::<Units>::TABLES
        .iter()
        .map(|(name, text)| (*name, text.replace("unit:u16 rule:str\t", "unit:u8 rule:str\t")))
        .collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, &**text)).collect();
    config.codes = Arc::new(PacketTables::from_texts(&texts).expect("a table"));
    let server = ServerHandle::start(config).expect("a free port");
    let mut ann = Guest::connect(&server);
    ann.enter("Ann");
    let count = |server: &ServerHandle| {
        let text = server.metrics_text();
        let line = text.lines().find(|line| line.starts_with("tickwire_packets_misfit_total"));
        line.map(str::to_owned)
    };
    assert_eq!(count(&server).as_deref(), Some("tickwire_packets_misfit_total 0"));
    march(&mut ann, &[999]);
    assert_eq!(ann.hear("error", |_| true).text("rule"), Some("misfit".to_owned()));
    // The packet is counted after the update with its error was sent.
    let deadline = Instant::now() + PATIENCE;
    while count(&server).as_deref() != Some("tickwire_packets_misfit_total 1") {
        assert!(Instant::now() < deadline, "{:?}", count(&server));
        thread::sleep(Duration::from_millis(5));
    }
    server.stop();
}

#[test]
fn the_world_is_the_same_in_any_order_and_from_any_snapshot() {
    let act = |random: &mut Rng| {
        let targets = (0..random.below(5)).map(|_| random.below(60) as u16).collect();
        SimpleAction::Act(Action::March { targets, x: random.below(700) as u16, y: random.below(500) as u16 })
    };
    let checksums = [1, 2].map(|seed| three_ways::<Simple<Units>>(seed, 10_000, act));
    assert_eq!(
        checksums.map(|checksum| format!("{checksum:016x}")),
        ["8f92abd8d97259b9", "96d05c9bf83d8b03"]
    );
}

#[test]
fn the_units_of_an_absent_player_stand_where_they_are_and_march_when_it_is_back() {
    type World = <Simple<Units> as Game>::Sim;
    let (ann, mut sequence) = (PlayerId(1), 0);
    let mut world = World::new(&WorldParams::default_for::<World>(1));
    let mut step = |player: PlayerId, action: Option<SimpleAction<Action>>| {
        sequence += 1;
        let command = action.map(|action| Command { player, sequence, action });
        world.step(&mut command.into_iter().collect(), &mut StepResult::default());
        (0..5).for_each(|_| world.step(&mut Vec::new(), &mut StepResult::default()));
        // All of the state but the tick.
        format!("{:?}", world.game())
    };
    let profile = JoinRequest::new("Ann", EncodedAction::new(&[]));
    step(PlayerId::OPERATOR, Simple::<Units>::join(ann, &profile).pop());
    let march = || Some(SimpleAction::Act(Action::March { targets: vec![1, 2], x: 600, y: 400 }));
    let marched = step(ann, march());
    assert_ne!(step(ann, None), marched, "they are on their way");
    step(PlayerId::OPERATOR, Some(Simple::<Units>::disconnect(ann)));
    let stands = step(ann, None);
    assert_eq!(step(ann, None), stands);
    assert_ne!(step(ann, march()), stands);
}
