//! Fits values to types: a [`Type`] and any value give the value in canonical form (as our own
//! encoder would write it), or a [`WrongArgument`].
//!
//! Canonical form removes the variations that the types tolerate: a float without a fraction
//! becomes an integer, 1 becomes true, missing trailing arguments become nil, a text that is too
//! long is cut.

use std::fmt;

use rmpv::Value;

use crate::limits;

use super::grammar::{Argument, Shape, Type};
use super::msgpack::as_whole;
use crate::plural::count;

/// A value that does not fit its type.
#[derive(Debug, Clone, PartialEq)]
pub struct WrongArgument {
    /// The path to the value: names joined by dots, and indexes from 0, as in `players.2.x`.
    pub argument: String,
    /// The expected type, in the notation of the grammar.
    pub expected: String,
    /// A short description of the value found; text from the client is cut and quoted.
    pub found: String,
}

impl fmt::Display for WrongArgument {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.argument {
            "" => write!(out, "the arguments")?,
            path => write!(out, "argument {path}")?,
        }
        write!(out, " should be {}, found {}", self.expected, self.found)
    }
}

/// Fits the arguments of one packet, one value for each; extra values are dropped.
pub fn fit_arguments(arguments: &[Argument], values: Vec<Value>) -> Result<Vec<Value>, WrongArgument> {
    let mut values = values.into_iter();
    let fitted = arguments.iter().map(|argument| fit_named(argument, values.next().unwrap_or(Value::Nil)));
    fitted.collect()
}

fn fit_named(argument: &Argument, value: Value) -> Result<Value, WrongArgument> {
    fit(&argument.kind, value).map_err(|wrong| within(&argument.name, wrong))
}

fn wrong(expected: impl ToString, found: impl ToString) -> WrongArgument {
    WrongArgument { argument: String::new(), expected: expected.to_string(), found: found.to_string() }
}

/// Puts a name or an index before the path to a wrong value.
fn within(step: impl ToString, mut wrong: WrongArgument) -> WrongArgument {
    let below = if wrong.argument.is_empty() { String::new() } else { format!(".{}", wrong.argument) };
    wrong.argument = step.to_string() + &below;
    wrong
}

fn fit(kind: &Type, value: Value) -> Result<Value, WrongArgument> {
    if value.is_nil() && kind.or_nil {
        return Ok(Value::Nil);
    }
    if kind.or_zero && whole(&value) == Some(0) {
        return Ok(Value::from(0));
    }
    match (&kind.shape, value) {
        (Shape::Any, value) => fit_any(value),
        (Shape::Map(members), Value::Map(pairs)) => fit_map(members, pairs),
        (Shape::Tuple(members), Value::Array(values)) => fit_arguments(members, values).map(Value::Array),
        (Shape::Groups { members, most }, Value::Array(values)) => fit_groups(members, *most, values),
        (Shape::List { each, most }, Value::Array(values)) => {
            check_count(values.len(), *most, "value")?;
            fit_each(values, 1, |_, value| fit(each, value))
        }
        (Shape::Str { most }, value) if value.as_str().is_some() => Ok(cut(value, *most)),
        (Shape::Bin { most }, Value::Binary(bytes)) => {
            check_count(bytes.len(), *most, "byte")?;
            Ok(Value::Binary(bytes))
        }
        (shape, value) => scalar(shape, &value).ok_or_else(|| wrong(kind, describe(&value))),
    }
}

/// A number or a truth; `None` if the value does not fit.
fn scalar(shape: &Shape, value: &Value) -> Option<Value> {
    match shape {
        Shape::Bool => truth(value).map(Value::from),
        Shape::Flag => truth(value).map(|truth| Value::from(i64::from(truth))),
        Shape::Int { least, most, .. } => {
            whole(value).filter(|number| (*least..=*most).contains(number)).map(Value::from)
        }
        Shape::Num { .. } => finite(value),
        _ => None,
    }
}

fn fit_map(members: &[Argument], mut pairs: Vec<(Value, Value)>) -> Result<Value, WrongArgument> {
    let fitted = members.iter().map(|member| {
        let place = pairs.iter().position(|(key, _)| key.as_str() == Some(&member.name));
        let value = place.map_or(Value::Nil, |place| pairs.swap_remove(place).1);
        Ok((Value::from(member.name.as_str()), fit_named(member, value)?))
    });
    fitted.collect::<Result<_, _>>().map(Value::Map)
}

fn fit_groups(members: &[Argument], most: Option<usize>, values: Vec<Value>) -> Result<Value, WrongArgument> {
    let stride = members.len();
    if !values.len().is_multiple_of(stride) {
        return Err(wrong(format!("groups of {stride}"), count(values.len(), "value")));
    }
    check_count(values.len() / stride, most, "group")?;
    fit_each(values, stride, |index, value| fit_named(&members[index % stride], value))
}

fn fit_each(
    values: Vec<Value>,
    stride: usize,
    fit: impl Fn(usize, Value) -> Result<Value, WrongArgument>,
) -> Result<Value, WrongArgument> {
    let values = values.into_iter().enumerate();
    let fitted =
        values.map(|(index, value)| fit(index, value).map_err(|wrong| within(index / stride, wrong)));
    fitted.collect::<Result<_, _>>().map(Value::Array)
}

fn check_count(number: usize, most: Option<usize>, what: &str) -> Result<(), WrongArgument> {
    match most {
        Some(most) if number > most => {
            Err(wrong(format!("at most {}", count(most, what)), count(number, what)))
        }
        _ => Ok(()),
    }
}

/// Cuts a text that is too long.
fn cut(text: Value, most: Option<usize>) -> Value {
    let end = most.and_then(|most| Some(text.as_str()?.char_indices().nth(most)?.0));
    match (end, text.as_str()) {
        (Some(end), Some(long)) => Value::from(&long[..end]),
        _ => text,
    }
}

/// Accepts any value except NaN and infinities.
fn fit_any(value: Value) -> Result<Value, WrongArgument> {
    match value {
        Value::F32(_) | Value::F64(_) => {
            finite(&value).ok_or_else(|| wrong("a finite number", describe(&value)))
        }
        Value::Array(values) => fit_each(values, 1, |_, value| fit_any(value)),
        Value::Map(pairs) => {
            let pairs = pairs.into_iter().enumerate();
            let fitted = pairs.map(|(index, (key, value))| {
                Ok((key, fit_any(value).map_err(|wrong| within(index, wrong))?))
            });
            fitted.collect::<Result<_, _>>().map(Value::Map)
        }
        Value::Ext(..) => Err(wrong("a value without extension types", describe(&value))),
        other => Ok(other),
    }
}

/// A number in canonical form: an integer if it has no fraction; `None` for NaN and infinities.
fn finite(value: &Value) -> Option<Value> {
    if let Value::Integer(_) = value {
        return Some(value.clone());
    }
    let number = value.as_f64().filter(|number| number.is_finite())?;
    Some(as_whole(number).map_or(Value::F64(number), Value::from))
}

/// The value as an integer, if it is an integer or a float without a fraction.
pub(super) fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(number) => number.as_i64(),
        Value::F32(_) | Value::F64(_) => value.as_f64().and_then(as_whole),
        _ => None,
    }
}

fn truth(value: &Value) -> Option<bool> {
    match (value, whole(value)) {
        (Value::Boolean(truth), _) => Some(*truth),
        (_, Some(0)) => Some(false),
        (_, Some(1)) => Some(true),
        _ => None,
    }
}

/// The first characters of a text from the wire, escaped for use in a log line.
pub(super) fn excerpt(text: &str) -> String {
    text.chars().take(limits::PACKET_EXCERPT_CHARS).flat_map(char::escape_debug).collect()
}

/// Describes a value in a few words.
fn describe(value: &Value) -> String {
    match value {
        Value::String(text) => format!("text \"{}\"", excerpt(text.as_str().unwrap_or(""))),
        Value::Binary(bytes) => count(bytes.len(), "byte"),
        Value::Array(values) => format!("an array of {}", values.len()),
        Value::Map(pairs) => format!("a map of {}", pairs.len()),
        Value::Ext(..) => "an extension type".to_owned(),
        scalar => scalar.to_string(),
    }
}
