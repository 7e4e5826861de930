//! Formats values with their units, and converted to pixels or degrees.
//!
//! The text is safe for a terminal: received text is quoted and escaped.

use crate::packet::Value;
use crate::packet::grammar::{Shape, Unit};
use crate::packet::msgpack::typed_text;
use crate::util::plural::count_noun;

/// Formats a value; the type determines its unit. A flag is printed as 1 or 0, and a bool as true
/// or false, even if the other form was received.
pub fn print(value: &Value, shape: Option<&Shape>) -> String {
    match (shape, as_bool(value)) {
        (Some(Shape::Flag), Some(truth)) => return u8::from(truth).to_string(),
        (Some(Shape::Bool), Some(truth)) => return truth.to_string(),
        _ => {}
    }
    let unit = match shape {
        Some(Shape::Int { unit, .. } | Shape::Num { unit }) => *unit,
        _ => None,
    };
    match (value, value.as_f64(), unit) {
        (Value::Nil, ..) => "nil".to_owned(),
        (Value::Boolean(truth), ..) => truth.to_string(),
        (Value::String(text), ..) => format!("{:?}", typed_text(text.as_bytes()).unwrap_or_default()),
        (Value::Binary(bytes), ..) => count_noun(bytes.len(), "byte"),
        (_, Some(number), Some(unit)) => {
            format!("{number} {}{}", unit_name(unit), convert_unit(number, unit))
        }
        (_, Some(number), None) if value.is_f32() || value.is_f64() => number.to_string(),
        (other, ..) => other.to_string(),
    }
}

/// The value of a boolean, or of the number 1 or 0.
fn as_bool(value: &Value) -> Option<bool> {
    match (value, value.as_f64()) {
        (Value::Boolean(truth), _) => Some(*truth),
        (_, Some(number)) if number == 0.0 || number == 1.0 => Some(number == 1.0),
        _ => None,
    }
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::PxPerMs => "px/ms",
        Unit::Hz => "Hz",
        Unit::Tick => "ticks",
        other => other.name(),
    }
}

/// Formats the number in pixels or degrees, as a suffix; empty if the unit needs no conversion.
fn convert_unit(number: f64, unit: Unit) -> String {
    let degrees = |turns: f64| format!(" = {}°", round(turns * 360.0, 10.0));
    match unit {
        Unit::Hpx => format!(" = {} px", number / 2.0),
        Unit::Fix4 => format!(" = {} px", number / 16.0),
        Unit::Fix16 => format!(" = {} px", round(number / 65_536.0, 1000.0)),
        Unit::Rad => degrees(number / std::f64::consts::TAU),
        Unit::Turn16 => degrees(number / 65_536.0),
        Unit::Turn8 => degrees(number / 256.0),
        Unit::Px | Unit::Tick | Unit::Ms | Unit::S | Unit::Hz | Unit::PxPerMs => String::new(),
    }
}

fn round(number: f64, parts: f64) -> f64 {
    (number * parts).round() / parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_one_or_zero_and_a_bool_true_or_false_whichever_travels() {
        for (value, flag, bool) in [
            (Value::Boolean(true), "1", "true"),
            (Value::from(1), "1", "true"),
            (Value::F64(1.0), "1", "true"),
            (Value::Boolean(false), "0", "false"),
            (Value::from(0), "0", "false"),
            (Value::from(5), "5", "5"),
            (Value::Nil, "nil", "nil"),
        ] {
            assert_eq!(print(&value, Some(&Shape::Flag)), flag, "{value}");
            assert_eq!(print(&value, Some(&Shape::Bool)), bool, "{value}");
        }
        assert_eq!(print(&Value::Boolean(true), None), "true");
    }
}
