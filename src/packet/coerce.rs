//! Converts values to the types of the table. The result is in canonical form, in which tickwire's
//! encoder writes values. A value that does not fit its type is an [`ArgumentError`].
//!
//! Canonical form removes the variations that the types tolerate: a float without a fraction
//! becomes an integer, 1 becomes true, missing trailing arguments become nil, a text that is too
//! long is truncated, and a value for a loose type is converted.

use std::fmt;

use rmpv::Value;

use crate::limits;

use super::grammar::{Argument, Shape, Type};
use super::msgpack::float_to_integer;
use crate::util::plural::count_noun;

/// A value that does not fit its type.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentError {
    /// The path to the value: names separated by dots, and indexes from 0, as in `players.2.x`.
    pub argument: String,
    /// The expected type, in the notation of the grammar.
    pub expected: String,
    /// A short description of the value. Text from the client is truncated and quoted.
    pub found: String,
    /// Like `found`, but without text from the client, such as a name. For logs and close frames.
    pub found_type: String,
}

impl ArgumentError {
    /// Returns the error without text from the client.
    pub fn without_text(&self) -> ArgumentError {
        ArgumentError { found: self.found_type.clone(), ..self.clone() }
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.argument {
            "" => write!(out, "the arguments")?,
            path => write!(out, "argument {path}")?,
        }
        write!(out, " should be {}, found {}", self.expected, self.found)
    }
}

/// A value of its type, or the error. The error is boxed, because each level of a nested value has
/// several results on the stack of a client's thread.
type Fitted<T> = Result<T, Box<ArgumentError>>;

/// Coerces the arguments of one packet. Missing values become nil, and extra values are dropped.
pub fn coerce_arguments(arguments: &[Argument], mut values: Vec<Value>) -> Fitted<Vec<Value>> {
    values.resize(arguments.len(), Value::Nil);
    // In place, and with a loop: a nested chain of iterators takes three times its stack at each
    // level.
    for (argument, value) in arguments.iter().zip(&mut values) {
        *value = fit_named(argument, std::mem::replace(value, Value::Nil))?;
    }
    Ok(values)
}

fn fit_named(argument: &Argument, value: Value) -> Fitted<Value> {
    coerce(&argument.ty, value).map_err(|wrong| at_path(&argument.name, wrong))
}

/// Creates the error for a value of the wrong type.
#[cold]
fn wrong_value(expected: impl ToString, value: &Value) -> Box<ArgumentError> {
    Box::new(ArgumentError { found: describe(value), ..*wrong(expected, describe_type(value)) })
}

/// Creates the error for a wrong number of values or bytes.
#[cold]
fn wrong(expected: impl ToString, found: impl ToString) -> Box<ArgumentError> {
    let (argument, expected, found) = (String::new(), expected.to_string(), found.to_string());
    Box::new(ArgumentError { argument, expected, found_type: found.clone(), found })
}

/// Prepends a name or an index to the path of an error.
#[cold]
fn at_path(step: impl ToString, mut wrong: Box<ArgumentError>) -> Box<ArgumentError> {
    let below = if wrong.argument.is_empty() { String::new() } else { format!(".{}", wrong.argument) };
    wrong.argument = step.to_string() + &below;
    wrong
}

fn coerce(kind: &Type, value: Value) -> Fitted<Value> {
    if value.is_nil() && kind.or_nil {
        return Ok(Value::Nil);
    }
    if kind.or_zero && as_integer(&value) == Some(0) {
        return Ok(Value::from(0));
    }
    if !kind.is_loose {
        return fit_shape(kind, value);
    }
    match fit_shape(kind, converted(&kind.shape, value)) {
        Err(_) if kind.or_nil => Ok(Value::Nil),
        fitted => fitted,
    }
}

/// Converts a value to this shape by the rules of JavaScript: any value to a bool, a bool or digits
/// to an integer, a bool or an integer to text. Returns other values unchanged.
fn converted(shape: &Shape, value: Value) -> Value {
    match (shape, &value) {
        (Shape::Bool | Shape::Flag, _) => Value::from(is_truthy(&value)),
        (Shape::Int { .. }, Value::Boolean(truth)) => Value::from(i64::from(*truth)),
        (Shape::Int { .. }, Value::String(text)) => text.as_str().and_then(index).map_or(value, Value::from),
        (Shape::Str { .. }, Value::Boolean(truth)) => Value::from(truth.to_string()),
        (Shape::Str { .. }, Value::Integer(_) | Value::F32(_) | Value::F64(_)) => {
            as_integer(&value).map_or(value, |number| Value::from(number.to_string()))
        }
        _ => value,
    }
}

/// Whether the value is truthy in JavaScript.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Nil => false,
        Value::Boolean(truth) => *truth,
        Value::Integer(_) => as_integer(value) != Some(0),
        Value::F32(_) | Value::F64(_) => {
            value.as_f64().is_some_and(|number| number != 0.0 && !number.is_nan())
        }
        Value::String(text) => !text.as_bytes().is_empty(),
        Value::Binary(_) | Value::Array(_) | Value::Map(_) | Value::Ext(..) => true,
    }
}

/// Parses an array index as JavaScript does: digits without a sign and without leading zeros.
fn index(text: &str) -> Option<i64> {
    let is_plain = text == "0" || !text.starts_with('0') && text.bytes().all(|sign| sign.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

/// Coerces a value to a shape. The caller has already handled `|nil` and `|0`.
fn fit_shape(kind: &Type, value: Value) -> Fitted<Value> {
    match (&kind.shape, value) {
        (Shape::Any, value) => fit_any(value),
        (Shape::Map(members), Value::Map(pairs)) => fit_map(members, pairs),
        (Shape::Tuple(members), Value::Array(values)) => coerce_arguments(members, values).map(Value::Array),
        (Shape::Groups { members, max }, Value::Array(values)) => fit_groups(members, *max, values),
        (Shape::List { each, max }, Value::Array(values)) => {
            check_count(values.len(), *max, "value")?;
            fit_each(values, 1, |_, value| coerce(each, value))
        }
        (Shape::Str { max }, value) if value.as_str().is_some() => Ok(truncate(value, *max)),
        (Shape::Bin { max }, Value::Binary(bytes)) => {
            check_count(bytes.len(), *max, "byte")?;
            Ok(Value::Binary(bytes))
        }
        (shape, value) => scalar(shape, &value).ok_or_else(|| wrong_value(kind, &value)),
    }
}

/// Coerces a number or a bool; `None` if the value does not fit.
fn scalar(shape: &Shape, value: &Value) -> Option<Value> {
    match shape {
        Shape::Bool => as_bool(value).map(Value::from),
        Shape::Flag => as_bool(value).map(|truth| Value::from(i64::from(truth))),
        Shape::Int { min, max, .. } => {
            as_integer(value).filter(|number| (*min..=*max).contains(number)).map(Value::from)
        }
        Shape::Num { .. } => as_finite(value),
        _ => None,
    }
}

fn fit_map(members: &[Argument], mut pairs: Vec<(Value, Value)>) -> Fitted<Value> {
    let mut fitted = Vec::with_capacity(members.len());
    for member in members {
        let place = pairs.iter().position(|(key, _)| key.as_str() == Some(&member.name));
        let value = place.map_or(Value::Nil, |place| pairs.swap_remove(place).1);
        fitted.push((Value::from(member.name.as_str()), fit_named(member, value)?));
    }
    Ok(Value::Map(fitted))
}

fn fit_groups(members: &[Argument], max: Option<usize>, values: Vec<Value>) -> Fitted<Value> {
    let stride = members.len();
    if !values.len().is_multiple_of(stride) {
        return Err(wrong(format!("groups of {stride}"), count_noun(values.len(), "value")));
    }
    check_count(values.len() / stride, max, "group")?;
    fit_each(values, stride, |index, value| fit_named(&members[index % stride], value))
}

fn fit_each(values: Vec<Value>, stride: usize, fit: impl Fn(usize, Value) -> Fitted<Value>) -> Fitted<Value> {
    let values = values.into_iter().enumerate();
    let fitted =
        values.map(|(index, value)| fit(index, value).map_err(|wrong| at_path(index / stride, wrong)));
    fitted.collect::<Result<_, _>>().map(Value::Array)
}

fn check_count(number: usize, max: Option<usize>, what: &str) -> Fitted<()> {
    match max {
        Some(max) if number > max => {
            Err(wrong(format!("at most {}", count_noun(max, what)), count_noun(number, what)))
        }
        _ => Ok(()),
    }
}

/// Truncates a text of more than `max` characters.
fn truncate(text: Value, max: Option<usize>) -> Value {
    let end = max.and_then(|max_chars| Some(text.as_str()?.char_indices().nth(max_chars)?.0));
    match (end, text.as_str()) {
        (Some(end), Some(long)) => Value::from(&long[..end]),
        _ => text,
    }
}

/// Accepts any value except NaN, infinities and extension types.
fn fit_any(value: Value) -> Fitted<Value> {
    match value {
        Value::F32(_) | Value::F64(_) => {
            as_finite(&value).ok_or_else(|| wrong_value("a finite number", &value))
        }
        Value::Array(values) => fit_each(values, 1, |_, value| fit_any(value)),
        Value::Map(pairs) => {
            let pairs = pairs.into_iter().enumerate();
            let fitted = pairs.map(|(index, (key, value))| {
                Ok((key, fit_any(value).map_err(|wrong| at_path(index, wrong))?))
            });
            fitted.collect::<Result<_, _>>().map(Value::Map)
        }
        Value::Ext(..) => Err(wrong_value("a value without extension types", &value)),
        other => Ok(other),
    }
}

/// Returns a number in canonical form: an integer if it has no fraction. `None` for NaN and
/// infinities.
fn as_finite(value: &Value) -> Option<Value> {
    if let Value::Integer(_) = value {
        return Some(value.clone());
    }
    let number = value.as_f64().filter(|number| number.is_finite())?;
    Some(float_to_integer(number).map_or(Value::F64(number), Value::from))
}

/// Converts an integer or a float without a fraction to an integer.
pub(super) fn as_integer(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(number) => number.as_i64(),
        Value::F32(_) | Value::F64(_) => value.as_f64().and_then(float_to_integer),
        _ => None,
    }
}

fn as_bool(value: &Value) -> Option<bool> {
    match (value, as_integer(value)) {
        (Value::Boolean(truth), _) => Some(*truth),
        (_, Some(0)) => Some(false),
        (_, Some(1)) => Some(true),
        _ => None,
    }
}

/// The first characters of text from a client, escaped for a log line.
pub(super) fn excerpt(text: &str) -> String {
    text.chars().take(limits::PACKET_EXCERPT_CHARS).flat_map(char::escape_debug).collect()
}

/// Describes a value in a few words: its MessagePack type, and the value of a number or a text.
fn describe(value: &Value) -> String {
    match value {
        Value::String(text) => format!("text \"{}\"", excerpt(text.as_str().unwrap_or(""))),
        Value::Integer(number) => format!("the integer {number}"),
        other => describe_type(other),
    }
}

/// Describes the MessagePack type of a value. Includes the value of a number only if it is too
/// short to be a token.
fn describe_type(value: &Value) -> String {
    match value {
        Value::Nil => "nil".to_owned(),
        Value::Boolean(truth) => format!("the bool {truth}"),
        Value::Integer(number) if number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()) => {
            format!("the integer {number}")
        }
        Value::Integer(_) => "an integer of more than 32 bits".to_owned(),
        Value::F32(_) | Value::F64(_) => match value.as_f64() {
            Some(number) if number.abs() < 1e9 => format!("the float {number:.3}"),
            Some(number) if number.is_finite() => "a large float".to_owned(),
            _ => "a float that is no number".to_owned(),
        },
        Value::String(_) => "text".to_owned(),
        Value::Binary(bytes) => format!("bin of {}", count_noun(bytes.len(), "byte")),
        Value::Array(values) => format!("an array of {}", values.len()),
        Value::Map(pairs) => format!("a map of {}", pairs.len()),
        Value::Ext(..) => "an extension type".to_owned(),
    }
}
