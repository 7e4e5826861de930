//! Values generated from the types of the tables, for tests of every packet of every dialect.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tickwire::packet::grammar::{Argument, Shape, Type};
use tickwire::packet::{Direction, PacketTables, Value};

/// Canonical values of a type.
fn values_of(kind: &Type) -> BoxedStrategy<Value> {
    let shape = match &kind.shape {
        Shape::Bool => any::<bool>().prop_map(Value::from).boxed(),
        Shape::Flag => (0i64..=1).prop_map(Value::from).boxed(),
        Shape::Any => any::<i32>().prop_map(Value::from).boxed(),
        Shape::Int { min: least, max: most, .. } => {
            prop_oneof![Just(*least), Just(*most), *least..=*most].prop_map(Value::from).boxed()
        }
        Shape::Num { .. } => prop_oneof![
            any::<i32>().prop_map(Value::from),
            (-1e9..1e9f64).prop_filter("canonical", |number| number.fract() != 0.0).prop_map(Value::from),
        ]
        .boxed(),
        Shape::Str { max: most } => proptest::collection::vec(any::<char>(), 0..=most.unwrap_or(40))
            .prop_map(|signs| Value::from(signs.into_iter().collect::<String>()))
            .boxed(),
        Shape::Bin { max: most } => {
            proptest::collection::vec(any::<u8>(), 0..=most.unwrap_or(40)).prop_map(Value::Binary).boxed()
        }
        Shape::Map(members) => {
            let names: Vec<Value> = members.iter().map(|member| Value::from(member.name.as_str())).collect();
            arguments(members)
                .prop_map(move |values| Value::Map(names.iter().cloned().zip(values).collect()))
                .boxed()
        }
        Shape::Tuple(members) => arguments(members).prop_map(Value::Array).boxed(),
        Shape::Groups { members, max: most } => {
            proptest::collection::vec(arguments(members), 0..=most.unwrap_or(5))
                .prop_map(|groups| Value::Array(groups.concat()))
                .boxed()
        }
        Shape::List { each, max: most } => {
            proptest::collection::vec(values_of(each), 0..=most.unwrap_or(9)).prop_map(Value::Array).boxed()
        }
    };
    match (kind.or_nil, kind.or_zero) {
        (false, false) => shape,
        (true, false) => prop_oneof![1 => Just(Value::Nil), 3 => shape].boxed(),
        (false, true) => prop_oneof![1 => Just(Value::from(0)), 3 => shape].boxed(),
        (true, true) => prop_oneof![1 => Just(Value::Nil), 1 => Just(Value::from(0)), 3 => shape].boxed(),
    }
}

pub fn arguments(members: &[Argument]) -> BoxedStrategy<Vec<Value>> {
    members.iter().map(|member| values_of(&member.ty)).collect::<Vec<_>>().boxed()
}

/// Runs a check over generated arguments of every row of every dialect in both directions; returns the rows seen.
pub fn for_every_row(
    cases: u32,
    check: impl Fn(&tickwire::packet::Dialect, Direction, &str, Vec<Value>),
) -> usize {
    let codes = PacketTables::builtin();
    let mut rows = 0;
    for dialect in codes.dialects() {
        for direction in Direction::ALL {
            for row in dialect.rows(direction) {
                let mut runner =
                    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
                let outcome = runner.run(&arguments(&row.arguments), |values| {
                    check(dialect, direction, &row.name, values);
                    Ok(())
                });
                outcome.unwrap_or_else(|error| panic!("{} {}: {error}", dialect.name(), row.name));
                rows += 1;
            }
        }
    }
    rows
}
