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

/// The value now has its type, or the error. Values are converted in place and the error is boxed,
/// because each level of a nested value is on the stack of a client's thread.
type Fitted = Result<(), Box<ArgumentError>>;

/// Coerces the arguments of one packet. Missing values become nil, and extra values are dropped.
///
/// # Errors
/// The first value that does not fit its type. The others may be converted.
pub fn coerce_arguments(arguments: &[Argument], values: &mut Vec<Value>) -> Fitted {
    values.resize_with(arguments.len(), || Value::Nil);
    // A loop, because a nested chain of iterators takes three times its stack at each level.
    for (argument, value) in arguments.iter().zip(values) {
        fit_named(argument, value)?;
    }
    Ok(())
}

fn fit_named(argument: &Argument, value: &mut Value) -> Fitted {
    coerce(&argument.ty, value).map_err(|wrong| at_path(&argument.name, wrong))
}

/// Creates the error for a value of the wrong type.
#[cold]
#[inline(never)]
fn wrong_value(expected: impl ToString, value: &Value) -> Box<ArgumentError> {
    Box::new(ArgumentError { found: describe(value), ..*wrong(expected, describe_type(value)) })
}

/// Creates the error for a wrong number of values or bytes.
#[cold]
#[inline(never)]
fn wrong(expected: impl ToString, found: impl ToString) -> Box<ArgumentError> {
    let (argument, expected, found) = (String::new(), expected.to_string(), found.to_string());
    Box::new(ArgumentError { argument, expected, found_type: found.clone(), found })
}

/// Prepends a name or an index to the path of an error.
#[cold]
#[inline(never)]
fn at_path(step: impl ToString, mut wrong: Box<ArgumentError>) -> Box<ArgumentError> {
    let below = if wrong.argument.is_empty() { String::new() } else { format!(".{}", wrong.argument) };
    wrong.argument = step.to_string() + &below;
    wrong
}

fn coerce(kind: &Type, value: &mut Value) -> Fitted {
    if value.is_nil() && kind.or_nil {
        return Ok(());
    }
    if kind.or_zero && as_integer(value) == Some(0) {
        *value = Value::from(0);
        return Ok(());
    }
    if kind.is_loose
        && let Some(converted) = converted(&kind.shape, value)
    {
        *value = converted;
    }
    match fit_shape(kind, value) {
        Err(_) if kind.is_loose && kind.or_nil => {
            *value = Value::Nil;
            Ok(())
        }
        fitted => fitted,
    }
}

/// Converts a value to this shape by the rules of JavaScript: any value to a bool, a bool or digits
/// to an integer, a bool or an integer to text. Returns `None` for other values.
#[inline(never)]
fn converted(shape: &Shape, value: &Value) -> Option<Value> {
    match (shape, value) {
        (Shape::Bool | Shape::Flag, _) => Some(Value::from(is_truthy(value))),
        (Shape::Int { .. }, Value::Boolean(truth)) => Some(Value::from(i64::from(*truth))),
        (Shape::Int { .. }, Value::String(text)) => text.as_str().and_then(index).map(Value::from),
        (Shape::Str { .. }, Value::Boolean(truth)) => Some(Value::from(truth.to_string())),
        (Shape::Str { .. }, Value::Integer(_) | Value::F32(_) | Value::F64(_)) => {
            as_integer(value).map(|number| Value::from(number.to_string()))
        }
        _ => None,
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
    let is_plain = text == "0" || !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

/// Coerces a value to a shape. The caller has already handled `|nil` and `|0`.
fn fit_shape(kind: &Type, value: &mut Value) -> Fitted {
    match (&kind.shape, &mut *value) {
        (Shape::Any, value) => return fit_any(value),
        (Shape::Map(members), Value::Map(pairs)) => return fit_map(members, pairs),
        (Shape::Tuple(members), Value::Array(values)) => return coerce_arguments(members, values),
        (Shape::Groups { members, max }, Value::Array(values)) => return fit_groups(members, *max, values),
        (Shape::List { each, max }, Value::Array(values)) => {
            check_count(values.len(), *max, "value")?;
            return fit_each(values, 1, |_, value| coerce(each, value));
        }
        (Shape::Bin { max }, Value::Binary(bytes)) => return check_count(bytes.len(), *max, "byte"),
        _ => {}
    }
    let fitted = match &kind.shape {
        Shape::Str { max } => value.as_str().is_some().then(|| truncated(value, *max)),
        shape => scalar(shape, value).map(Some),
    };
    match fitted {
        Some(Some(fitted)) => *value = fitted,
        Some(None) => {}
        None => return Err(wrong_value(kind, value)),
    }
    Ok(())
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

#[inline(never)]
fn fit_map(members: &[Argument], pairs: &mut Vec<(Value, Value)>) -> Fitted {
    let mut fitted = Vec::with_capacity(members.len());
    for member in members {
        let place = pairs.iter().position(|(key, _)| key.as_str() == Some(&member.name));
        let value = place.map_or(Value::Nil, |place| pairs.swap_remove(place).1);
        fitted.push((Value::from(member.name.as_str()), value));
    }
    *pairs = fitted;
    for (member, (_, value)) in members.iter().zip(pairs) {
        fit_named(member, value)?;
    }
    Ok(())
}

#[inline(never)]
fn fit_groups(members: &[Argument], max: Option<usize>, values: &mut [Value]) -> Fitted {
    let stride = members.len();
    if !values.len().is_multiple_of(stride) {
        return Err(wrong(format!("groups of {stride}"), count_noun(values.len(), "value")));
    }
    check_count(values.len() / stride, max, "group")?;
    fit_each(values, stride, |index, value| fit_named(&members[index % stride], value))
}

fn fit_each(values: &mut [Value], stride: usize, fit: impl Fn(usize, &mut Value) -> Fitted) -> Fitted {
    for (index, value) in values.iter_mut().enumerate() {
        fit(index, value).map_err(|wrong| at_path(index / stride, wrong))?;
    }
    Ok(())
}

#[inline(never)]
fn check_count(number: usize, max: Option<usize>, what: &str) -> Fitted {
    match max {
        Some(max) if number > max => {
            Err(wrong(format!("at most {}", count_noun(max, what)), count_noun(number, what)))
        }
        _ => Ok(()),
    }
}

/// The beginning of a text of more than `max` characters; `None` for a shorter one.
#[inline(never)]
fn truncated(text: &Value, max: Option<usize>) -> Option<Value> {
    let text = text.as_str()?;
    let (end, _) = text.char_indices().nth(max?)?;
    Some(Value::from(&text[..end]))
}

/// Accepts any value except NaN, infinities and extension types.
#[inline(never)]
fn fit_any(value: &mut Value) -> Fitted {
    match value {
        Value::F32(_) | Value::F64(_) => match as_finite(value) {
            Some(finite) => *value = finite,
            None => return Err(wrong_value("a finite number", value)),
        },
        Value::Array(values) => return fit_each(values, 1, |_, value| fit_any(value)),
        Value::Map(pairs) => {
            for (index, (_, value)) in pairs.iter_mut().enumerate() {
                fit_any(value).map_err(|wrong| at_path(index, wrong))?;
            }
        }
        Value::Ext(..) => return Err(wrong_value("a value without extension types", value)),
        _ => {}
    }
    Ok(())
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
