//! Whatever a server says, prediction neither panics nor takes long.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tickwire::client::local_worlds::{MooLocalWorld, TanksLocalWorld};
use tickwire::game::prediction::{LocalWorld, Prediction};
use tickwire::internal::server::embedded::game;
use tickwire::packet::{DecodedPacket, Dialect, Direction, PacketTables, Value};

use crate::values::arguments;

/// A right welcome of a game, as its server says it.
fn welcome(dialect: &Dialect, game_name: &str) -> Vec<Value> {
    let game = game(Some(game_name)).expect("a game").info;
    let row = dialect.row(Direction::ToClient, "welcome").expect("its row");
    let value = |name: &str| match name {
        "version" => 1.into(),
        "rules_hash" => format!("{:016x}", (game.rules_hash)()).into(),
        "seed" => 3.into(),
        "map_size_px" => 14_400.into(),
        "tick_hz" | "update_hz" => (game.identity)(3).tick_hz.into(),
        "epoch" => "0".into(),
        _ => 100.into(),
    };
    row.arguments.iter().map(|argument| value(&argument.name)).collect()
}

/// `begins` is the first packet in which the own player stands somewhere.
fn survives<W: LocalWorld>(game_name: &str, name: &str, begins: (&str, Vec<Value>)) {
    let tables = game(Some(game_name)).expect("a game").info.tables;
    let codes = PacketTables::from_texts(tables).expect("good tables");
    let dialect = codes.dialect(name).expect("the dialect");
    let rows: Vec<_> = dialect.rows(Direction::ToClient).map(|row| row.name.clone()).collect();
    let commands: Vec<_> = dialect.rows(Direction::ToServer).map(|row| row.name.clone()).collect();
    // What prediction listens to comes often.
    let often = [
        "spawned",
        "update",
        "own",
        "own_state",
        "state",
        "structures",
        "command_accepted",
        "pong",
        "inventory",
    ];
    let one = |direction: Direction, name: &String| {
        let row = dialect.row(direction, name).expect("its row");
        let weight = if often.contains(&name.as_str()) || direction == Direction::ToServer { 6 } else { 1 };
        (
            weight,
            arguments(&row.arguments)
                .prop_map({
                    let name = name.clone();
                    move |values| (direction, name.clone(), values)
                })
                .boxed(),
        )
    };
    let heard = rows.iter().map(|name| one(Direction::ToClient, name));
    let said = commands.iter().map(|name| one(Direction::ToServer, name));
    let packets = prop::collection::vec(
        (prop::strategy::Union::new_weighted(heard.chain(said).collect()), 0_u64..400),
        1..60,
    );
    let mut runner = TestRunner::new(Config { cases: 100, failure_persistence: None, ..Config::default() });
    let had_body = std::cell::Cell::new(0);
    let result = runner.run(&packets, |packets| {
        let mut prediction = Prediction::<W>::new(&dialect);
        prediction.track_remote_players();
        let mut now = Duration::ZERO;
        let row = |direction, name: &str| dialect.row(direction, name).expect("its row");
        let hello =
            DecodedPacket { row: row(Direction::ToClient, "welcome"), values: welcome(&dialect, game_name) };
        prediction.on_packet(&hello, now);
        let (begin, values) = begins.clone();
        for (name, values) in [("spawned", vec![1.into()]), (begin, values)] {
            prediction.on_packet(&DecodedPacket { row: row(Direction::ToClient, name), values }, now);
        }
        for ((direction, name, values), ms) in packets {
            now += Duration::from_millis(ms);
            if direction == Direction::ToClient {
                prediction.on_packet(&DecodedPacket { row: row(direction, &name), values }, now);
            } else if let Ok(message) = dialect.encode(direction, &name, &values) {
                prop_assert!(prediction.on_sent(&dialect, &message, now).is_ok());
            }
            prediction.advance(now);
            prediction.others(now);
        }
        had_body.set(had_body.get() + u32::from(prediction.state().is_some()));
        Ok(())
    });
    assert!(had_body.get() > 3, "{} cases had an own player", had_body.get());
    result.unwrap_or_else(|error| panic!("{game_name}: {error}"));
}

#[test]
fn moo_survives_every_server() {
    let at = Value::from(5_000 << 16);
    let own = [0.into(), 0.into(), at.clone(), at, 0.into(), 0.into(), 0.into(), Value::Nil];
    let values = [100.into(), Value::Array(own.into())].into_iter().chain(vec![Value::Nil; 5]).collect();
    survives::<MooLocalWorld>("moo", "native", ("update", values));
}

#[test]
fn tanks_survive_every_server() {
    let at = Value::from(1_500 << 16);
    let values = [100, 0, 0].map(Value::from).into_iter().chain([at.clone(), at]);
    let values = values.chain([0, 0, 0, 100, 5, 5].map(Value::from)).collect();
    survives::<TanksLocalWorld>("tanks", "tanks", ("own_state", values));
}
