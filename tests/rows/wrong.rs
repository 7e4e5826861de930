//! Messages with wrong types and wrong counts, generated from the packet tables: every packet of
//! every dialect, each argument once with each kind of value, one argument too few, and one too
//! many. The type rules of PROTOCOL.md are implemented here a second time.

#![allow(dead_code, reason = "each test program uses its part")]

use tickwire::packet::grammar::{Argument, Shape, Type};
use tickwire::packet::{Code, Dialect, Direction, Row, Value};

/// A message, and whether it is the packet: otherwise it is dropped for `wrong_arguments`.
pub struct Case {
    /// Packet, argument, and what was put there.
    pub what: String,
    /// The message.
    pub bytes: Vec<u8>,
    /// Whether its arguments fit.
    pub fits: bool,
}

/// All messages of a dialect and a direction.
pub fn cases(dialect: &Dialect, direction: Direction) -> Vec<Case> {
    dialect.rows(direction).flat_map(|row| cases_of(row, dialect.name())).collect()
}

fn cases_of(row: &Row, dialect: &str) -> Vec<Case> {
    let right: Vec<Value> = row.arguments.iter().map(|argument| right(&argument.ty)).collect();
    let case = |what: String, values: &[Value], fits: bool| {
        let what = format!("{dialect} {} {}: {what}", row.direction.name(), row.name);
        Case { what, bytes: message(row.code(dialect).expect("a row of the dialect"), values), fits }
    };
    let mut cases = vec![case("as it is right".to_owned(), &right, true)];
    for (at, Argument { name, ty: kind }) in row.arguments.iter().enumerate() {
        for (what, value) in odd_values() {
            let mut values = right.clone();
            let fits = fits(kind, &value);
            values[at] = value;
            cases.push(case(format!("{name} is {what}"), &values, fits));
        }
    }
    if let Some((last, fewer)) = row.arguments.split_last() {
        let is_optional = |argument: &Argument| fits(&argument.ty, &Value::Nil);
        cases.push(case("one too few".to_owned(), &right[..fewer.len()], is_optional(last)));
        cases.push(case("none".to_owned(), &[], row.arguments.iter().all(is_optional)));
    }
    cases.push(case("one too many".to_owned(), &[&right[..], &[Value::from("more")]].concat(), true));
    cases
}

fn message(code: &Code, values: &[Value]) -> Vec<u8> {
    let code = match code {
        Code::Str(code) => Value::from(code.as_str()),
        Code::Int(code) => Value::from(*code),
    };
    let mut bytes = Vec::new();
    let envelope = Value::Array(vec![code, Value::Array(values.to_vec())]);
    rmpv::encode::write_value(&mut bytes, &envelope).expect("a Vec");
    bytes
}

/// One value of each kind; those that are numbers are ones that few types take.
fn odd_values() -> [(&'static str, Value); 13] {
    [
        ("nil", Value::Nil),
        ("true", Value::from(true)),
        ("2^40", Value::from(1u64 << 40)),
        ("the largest u64", Value::from(u64::MAX)),
        ("the smallest i64", Value::from(i64::MIN)),
        ("half of one", Value::from(0.5)),
        ("NaN", Value::from(f64::NAN)),
        ("infinity", Value::from(f32::INFINITY)),
        ("text", Value::from("1")),
        ("bytes", Value::Binary(vec![1])),
        ("an array of arrays", Value::Array(vec![Value::Array(Vec::new())])),
        ("an empty array", Value::Array(Vec::new())),
        ("a map of numbers", Value::Map(vec![(Value::from("name"), Value::from(7))])),
    ]
}

/// A value that fits.
fn right(kind: &Type) -> Value {
    let all = |members: &[Argument]| members.iter().map(|member| right(&member.ty)).collect::<Vec<_>>();
    match &kind.shape {
        Shape::Bool => Value::from(true),
        Shape::Flag | Shape::Int { .. } | Shape::Any => Value::from(1),
        Shape::Num { .. } => Value::from(1.5),
        Shape::Str { .. } => Value::from("a"),
        Shape::Bin { .. } => Value::Binary(vec![7]),
        Shape::Map(members) => {
            let names = members.iter().map(|member| Value::from(member.name.as_str()));
            Value::Map(names.zip(all(members)).collect())
        }
        Shape::Tuple(members) | Shape::Groups { members, .. } => Value::Array(all(members)),
        Shape::List { each, .. } => Value::Array(vec![right(each)]),
    }
}

/// Whether one of the odd values fits a type, in the words of PROTOCOL.md.
fn fits(kind: &Type, value: &Value) -> bool {
    let number = value.as_f64().filter(|number| number.is_finite());
    let all_may_be_nil = |members: &[Argument]| members.iter().all(|member| member.ty.or_nil);
    if kind.is_loose {
        return kind.or_nil || is_converted(&kind.shape, value);
    }
    match (&kind.shape, value) {
        (_, Value::Nil) => kind.or_nil,
        (Shape::Any, Value::F32(_) | Value::F64(_)) => number.is_some(),
        (Shape::Any, _) => true,
        (Shape::Bool | Shape::Flag, Value::Boolean(_)) => true,
        (Shape::Num { .. }, _) => number.is_some(),
        (Shape::Str { .. }, Value::String(_)) => true,
        (Shape::Bin { .. }, Value::Binary(_)) => true,
        // An empty array is no group and no value; as one value it is an array all the same.
        (Shape::Groups { .. } | Shape::List { .. }, Value::Array(values)) if values.is_empty() => true,
        (Shape::Groups { members, .. }, Value::Array(values)) => {
            values.len() % members.len() == 0
                && members.iter().zip(values).all(|(member, value)| fits(&member.ty, value))
        }
        (Shape::List { each, .. }, Value::Array(values)) => values.iter().all(|value| fits(each, value)),
        (Shape::Tuple(members), Value::Array(values)) => members
            .iter()
            .enumerate()
            .all(|(at, member)| fits(&member.ty, values.get(at).unwrap_or(&Value::Nil))),
        (Shape::Map(members), Value::Map(pairs)) => {
            let others: Vec<Argument> =
                members.iter().filter(|member| member.name != "name").cloned().collect();
            let named = members.iter().find(|member| member.name == "name");
            all_may_be_nil(&others) && named.is_none_or(|member| fits(&member.ty, &pairs[0].1))
        }
        _ => false,
    }
}

/// Whether one of the odd values becomes one of a loose type that may not be nil.
fn is_converted(shape: &Shape, value: &Value) -> bool {
    match (shape, value) {
        (Shape::Bool | Shape::Flag, _) => true,
        (Shape::Int { max: most, .. }, Value::Integer(number)) => {
            number.as_i64().is_some_and(|number| (0..=*most).contains(&number))
        }
        (Shape::Int { .. }, Value::Boolean(_) | Value::String(_)) => true,
        (Shape::Str { .. }, Value::Boolean(_) | Value::String(_)) => true,
        (Shape::Str { .. }, Value::Integer(number)) => number.as_i64().is_some(),
        _ => false,
    }
}
