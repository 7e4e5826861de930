//! Fits values to types: converts what the grammar tolerates to canonical form, and names what it
//! does not tolerate.
//!
//! A [`Type`] and any value give the same value in canonical form (as our own encoder would write
//! it), or a [`WrongArgument`]. Nothing is guessed: text is never parsed as a number, and a number
//! with a fraction is not an integer.

use rmpv::Value;

use crate::limits;

use super::grammar::{Argument, Shape, Type, WrongArgument};
use super::msgpack::as_whole;

/// Converts the arguments of one packet to canonical form, one value for each: missing trailing
/// arguments become nil, and extra values are dropped.
pub fn fit_arguments(arguments: &[Argument], values: Vec<Value>) -> Result<Vec<Value>, WrongArgument> {
    fit_members(arguments, values, &mut Path::default())
}

/// The path to a value, as names and positions. It is formatted only when an error is reported.
#[derive(Default)]
struct Path<'a> {
    steps: Vec<Step<'a>>,
}

enum Step<'a> {
    Name(&'a str),
    Place(usize),
}

impl<'a> Path<'a> {
    fn within<T>(
        &mut self,
        step: Step<'a>,
        work: impl FnOnce(&mut Self) -> Result<T, WrongArgument>,
    ) -> Result<T, WrongArgument> {
        self.steps.push(step);
        let done = work(self);
        self.steps.pop();
        done
    }

    fn wrong(&self, expected: impl ToString, found: impl ToString) -> WrongArgument {
        let steps = self.steps.iter().map(|step| match step {
            Step::Name(name) => (*name).to_owned(),
            Step::Place(place) => place.to_string(),
        });
        WrongArgument {
            argument: steps.collect::<Vec<_>>().join("."),
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }
}

fn fit<'a>(kind: &'a Type, value: Value, path: &mut Path<'a>) -> Result<Value, WrongArgument> {
    if value.is_nil() && kind.or_nil {
        return Ok(Value::Nil);
    }
    if kind.or_zero && whole(&value) == Some(0) {
        return Ok(Value::from(0));
    }
    match &kind.shape {
        Shape::Any => fit_any(value, path),
        Shape::Bool => truth(&value).map(Value::from).ok_or_else(|| path.wrong(kind, describe(&value))),
        Shape::Flag => truth(&value)
            .map(|truth| Value::from(i64::from(truth)))
            .ok_or_else(|| path.wrong(kind, describe(&value))),
        Shape::Int { width, most, .. } => {
            let (lowest, highest) = width.range();
            let fits = |number: &i64| (lowest..=most.unwrap_or(highest)).contains(number);
            whole(&value).filter(fits).map(Value::from).ok_or_else(|| path.wrong(kind, describe(&value)))
        }
        Shape::Num { .. } => fit_number(value, kind, path),
        Shape::Str { most } => fit_text(value, *most, kind, path),
        Shape::Map(members) => fit_map(members, value, kind, path),
        Shape::Tuple(members) => match value {
            Value::Array(values) => fit_members(members, values, path).map(Value::Array),
            other => Err(path.wrong(kind, describe(&other))),
        },
        Shape::Groups { members, most } => fit_groups(members, *most, value, kind, path),
        Shape::List { each, most } => fit_list(each, *most, value, kind, path),
    }
}

fn fit_members<'a>(
    members: &'a [Argument],
    values: Vec<Value>,
    path: &mut Path<'a>,
) -> Result<Vec<Value>, WrongArgument> {
    let mut values = values.into_iter();
    let mut fitted = Vec::with_capacity(members.len());
    for member in members {
        let value = values.next().unwrap_or(Value::Nil);
        fitted.push(path.within(Step::Name(&member.name), |path| fit(&member.kind, value, path))?);
    }
    Ok(fitted)
}

fn fit_map<'a>(
    members: &'a [Argument],
    value: Value,
    kind: &'a Type,
    path: &mut Path<'a>,
) -> Result<Value, WrongArgument> {
    let Value::Map(mut pairs) = value else {
        return Err(path.wrong(kind, describe(&value)));
    };
    let mut fitted = Vec::with_capacity(members.len());
    for member in members {
        let place = pairs.iter().position(|(key, _)| key.as_str() == Some(&member.name));
        let value = place.map_or(Value::Nil, |place| pairs.swap_remove(place).1);
        let value = path.within(Step::Name(&member.name), |path| fit(&member.kind, value, path))?;
        fitted.push((Value::from(member.name.as_str()), value));
    }
    Ok(Value::Map(fitted))
}

fn fit_groups<'a>(
    members: &'a [Argument],
    most: Option<usize>,
    value: Value,
    kind: &'a Type,
    path: &mut Path<'a>,
) -> Result<Value, WrongArgument> {
    let Value::Array(values) = value else {
        return Err(path.wrong(kind, describe(&value)));
    };
    let stride = members.len();
    if values.len() % stride != 0 {
        return Err(path.wrong(format!("groups of {stride}"), format!("{} values", values.len())));
    }
    check_count(values.len() / stride, most, "groups", path)?;
    let mut fitted = Vec::with_capacity(values.len());
    for (index, value) in values.into_iter().enumerate() {
        let member = &members[index % stride];
        let value = path.within(Step::Place(index / stride), |path| {
            path.within(Step::Name(&member.name), |path| fit(&member.kind, value, path))
        })?;
        fitted.push(value);
    }
    Ok(Value::Array(fitted))
}

fn fit_list<'a>(
    each: &'a Type,
    most: Option<usize>,
    value: Value,
    kind: &'a Type,
    path: &mut Path<'a>,
) -> Result<Value, WrongArgument> {
    let Value::Array(values) = value else {
        return Err(path.wrong(kind, describe(&value)));
    };
    check_count(values.len(), most, "values", path)?;
    let values = values.into_iter().enumerate();
    let fitted: Result<Vec<_>, _> =
        values.map(|(index, value)| path.within(Step::Place(index), |path| fit(each, value, path))).collect();
    fitted.map(Value::Array)
}

fn check_count(count: usize, most: Option<usize>, what: &str, path: &Path<'_>) -> Result<(), WrongArgument> {
    match most {
        Some(most) if count > most => {
            Err(path.wrong(format!("at most {most} {what}"), format!("{count} {what}")))
        }
        _ => Ok(()),
    }
}

fn fit_number(value: Value, kind: &Type, path: &Path<'_>) -> Result<Value, WrongArgument> {
    match &value {
        Value::Integer(_) => Ok(value),
        Value::F32(number) if number.is_finite() => Ok(canonical(f64::from(*number))),
        Value::F64(number) if number.is_finite() => Ok(canonical(*number)),
        _ => Err(path.wrong(kind, describe(&value))),
    }
}

fn fit_text(value: Value, most: Option<usize>, kind: &Type, path: &Path<'_>) -> Result<Value, WrongArgument> {
    let Some(text) = value.as_str() else {
        return Err(path.wrong(kind, describe(&value)));
    };
    let cut = most.and_then(|most| text.char_indices().nth(most)).map(|(offset, _)| &text[..offset]);
    Ok(cut.map(Value::from).unwrap_or(value))
}

/// Accepts any value except NaN and infinities.
fn fit_any<'a>(value: Value, path: &mut Path<'a>) -> Result<Value, WrongArgument> {
    match value {
        Value::F32(_) | Value::F64(_) => match value.as_f64().filter(|number| number.is_finite()) {
            Some(number) => Ok(canonical(number)),
            None => Err(path.wrong("a finite number", describe(&value))),
        },
        Value::Array(values) => {
            let values = values.into_iter().enumerate();
            let fitted: Result<Vec<_>, _> = values
                .map(|(index, value)| path.within(Step::Place(index), |path| fit_any(value, path)))
                .collect();
            fitted.map(Value::Array)
        }
        Value::Map(pairs) => {
            let pairs = pairs.into_iter().enumerate();
            let fitted: Result<Vec<_>, _> = pairs
                .map(|(index, (key, value))| {
                    Ok((key, path.within(Step::Place(index), |path| fit_any(value, path))?))
                })
                .collect();
            fitted.map(Value::Map)
        }
        Value::Ext(..) => Err(path.wrong("a value without extension types", describe(&value))),
        other => Ok(other),
    }
}

/// Converts a finite number to canonical form: an integer if it has no fraction.
fn canonical(number: f64) -> Value {
    as_whole(number).map_or(Value::F64(number), Value::from)
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
        Value::Nil => "nil".to_owned(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::F32(number) => number.to_string(),
        Value::F64(number) => number.to_string(),
        Value::String(text) => format!("text \"{}\"", excerpt(text.as_str().unwrap_or(""))),
        Value::Binary(bytes) => format!("{} bytes", bytes.len()),
        Value::Array(values) => format!("an array of {}", values.len()),
        Value::Map(pairs) => format!("a map of {}", pairs.len()),
        Value::Ext(..) => "an extension type".to_owned(),
    }
}
