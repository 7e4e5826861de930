//! Properties of a room, by which clients choose one: `state: lobby, map: 3`.
//!
//! A game writes them after each tick; they are no part of its state. [`RoomConditions`] are the
//! properties that a client wants, from `?where=` of its request.

use std::fmt;

use crate::limits;

/// Property that limits the clients of a room for [`?room=any`](RoomConditions): a room with as
/// many clients and suspended players is full.
pub const MAX_PLAYERS: &str = "max_players";

/// The value of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PropertyValue {
    /// A number.
    Number(i64),
    /// `true` or `false`.
    Flag(bool),
    /// A text of at most 32 characters, without control characters and commas.
    Text(String),
}

impl fmt::Display for PropertyValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PropertyValue::Number(number) => write!(out, "{number}"),
            PropertyValue::Flag(flag) => write!(out, "{flag}"),
            PropertyValue::Text(text) => out.write_str(text),
        }
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl From<$number> for PropertyValue {
            fn from(number: $number) -> PropertyValue {
                PropertyValue::Number(number.into())
            }
        })*
    };
}

numbers!(i8 i16 i32 i64 u8 u16 u32);

impl From<usize> for PropertyValue {
    /// A number of things in memory, which an `i64` can count.
    fn from(count: usize) -> PropertyValue {
        PropertyValue::Number(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl From<bool> for PropertyValue {
    fn from(flag: bool) -> PropertyValue {
        PropertyValue::Flag(flag)
    }
}

impl From<&str> for PropertyValue {
    fn from(text: &str) -> PropertyValue {
        PropertyValue::Text(text.to_owned())
    }
}

impl From<String> for PropertyValue {
    fn from(text: String) -> PropertyValue {
        PropertyValue::Text(text)
    }
}

/// The properties of a room, in the order in which the game has set them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoomProperties {
    entries: Vec<(&'static str, PropertyValue)>,
    misfit: Option<String>,
}

impl RoomProperties {
    /// Sets a property. The name has 1 to 16 characters of a-z, 0-9 and _, and a room has at most 8
    /// properties. A property that breaks a rule is left out, and the server logs the rule.
    pub fn set(&mut self, name: &'static str, value: impl Into<PropertyValue>) {
        let value = value.into();
        match self.check(name, &value) {
            Err(rule) => self.misfit = self.misfit.take().or(Some(rule)),
            Ok(()) => match self.entries.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = value,
                None => self.entries.push((name, value)),
            },
        }
    }

    fn check(&self, name: &str, value: &PropertyValue) -> Result<(), String> {
        check_name(name)?;
        if let PropertyValue::Text(text) = value {
            check_text(name, text)?;
        }
        let is_new = self.get(name).is_none();
        if is_new && self.entries.len() == limits::ROOM_PROPERTIES {
            let max = limits::ROOM_PROPERTIES;
            return Err(format!("the property {name}: a room has at most {max} properties; leave one out"));
        }
        Ok(())
    }

    /// Returns a property.
    pub fn get(&self, name: &str) -> Option<&PropertyValue> {
        self.entries.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns all properties.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &PropertyValue)> {
        self.entries.iter().map(|(name, value)| (*name, value))
    }

    /// Returns the number of clients at which `?room=any` finds the room full: the property
    /// `max_players`. `None` without the property.
    pub fn max_players(&self) -> Option<usize> {
        match self.get(MAX_PLAYERS)? {
            PropertyValue::Number(players) => Some(usize::try_from(*players).unwrap_or(0)),
            _ => None,
        }
    }

    /// Returns the first rule that a property of the last tick broke.
    pub fn misfit(&self) -> Option<&str> {
        self.misfit.as_deref()
    }

    /// Removes all properties, before the game writes the next ones.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.misfit = None;
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let max = limits::ROOM_PROPERTY_NAME_CHARS;
    match (1..=max).contains(&name.len()) && name.bytes().all(is_good) {
        true => Ok(()),
        false => Err(format!("the property {name:?}: a name has 1 to {max} characters of a-z, 0-9 and _")),
    }
}

fn check_text(name: &str, text: &str) -> Result<(), String> {
    let max = limits::ROOM_PROPERTY_TEXT_CHARS;
    let is_wrong = |ch: char| ch.is_control() || ch == ',';
    match (1..=max).contains(&text.chars().count()) && !text.contains(is_wrong) {
        true => Ok(()),
        false => Err(format!(
            "the property {name} with the text {text:?}: a text has 1 to {max} characters, no comma and no control character"
        )),
    }
}

/// The properties that a client wants from a room.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoomConditions {
    wanted: Vec<(String, String)>,
}

/// The part of a text that is not a condition, or that is one too many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionError {
    /// The part between two commas, as received.
    pub part: String,
}

impl fmt::Display for ConditionError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(
            "the value of where must be name:value, with a comma between two of them, as in state:lobby,map:3",
        )
    }
}

impl std::error::Error for ConditionError {}

impl RoomConditions {
    /// Reads the value of `?where=`, such as `state:lobby,map:3`. An empty text has no conditions.
    ///
    /// # Errors
    /// The first part that is not `name:value`, or that is one too many.
    pub fn parse(text: &str) -> Result<RoomConditions, ConditionError> {
        let mut wanted = Vec::new();
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let error = || ConditionError { part: part.to_owned() };
            let (name, value) = part.split_once(':').ok_or_else(error)?;
            if check_name(name).is_err()
                || check_text(name, value).is_err()
                || wanted.len() == limits::ROOM_PROPERTIES
            {
                return Err(error());
            }
            wanted.push((name.to_owned(), value.to_owned()));
        }
        Ok(RoomConditions { wanted })
    }

    /// Returns whether a room has every wanted property. Values are compared as text.
    pub fn fit(&self, properties: &RoomProperties) -> bool {
        let has = |(name, value): &(String, String)| {
            properties.get(name).is_some_and(|found| match found {
                PropertyValue::Text(text) => text == value,
                other => other.to_string() == *value,
            })
        };
        self.wanted.iter().all(has)
    }

    /// Returns whether every wanted property has the wanted text. `text` returns the text of a
    /// property of the room.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn fit_texts(&self, text: impl Fn(&str) -> Option<String>) -> bool {
        self.wanted.iter().all(|(name, value)| text(name).is_some_and(|found| found == *value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_that_breaks_a_rule_is_left_out_and_the_rule_is_named() {
        for (name, value, rule) in [
            ("state", PropertyValue::from("lobby"), ""),
            ("map_2", 3_u8.into(), ""),
            ("is_open", true.into(), ""),
            ("", 1_u8.into(), "1 to 16 characters of a-z"),
            ("Map", 1_u8.into(), "the property \"Map\": a name has"),
            ("a_name_of_17_chars", 1_u8.into(), "1 to 16 characters"),
            ("text", "x".repeat(32).into(), ""),
            ("text", "x".repeat(33).into(), "a text has 1 to 32 characters"),
            ("text", "".into(), "a text has 1 to 32"),
            ("text", "a,b".into(), "no comma"),
            ("text", "a\nb".into(), "\"a\\nb\": a text has"),
        ] {
            let mut properties = RoomProperties::default();
            properties.set(name, value.clone());
            let misfit = properties.misfit().unwrap_or_default();
            assert!(
                misfit.contains(rule) && misfit.is_empty() == rule.is_empty(),
                "{name} {value}: {misfit}"
            );
            assert_eq!(properties.get(name), Some(&value).filter(|_| rule.is_empty()), "{name} {value}");
        }
    }

    #[test]
    fn a_room_has_a_limited_number_of_properties_and_a_name_once() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let mut properties = RoomProperties::default();
        names.into_iter().for_each(|name| properties.set(name, 1_u8));
        properties.set("a", 2_u8);
        assert_eq!((properties.iter().count(), properties.misfit()), (limits::ROOM_PROPERTIES, None));
        assert_eq!(properties.get("a"), Some(&PropertyValue::Number(2)));
        properties.set("i", 1_u8);
        assert!(properties.misfit().is_some_and(|rule| rule.contains("at most 8 properties")));
        assert_eq!(properties.get("i"), None);
    }

    #[test]
    fn conditions_are_compared_with_the_text_of_each_value() {
        let mut room = RoomProperties::default();
        room.set("state", "lobby");
        room.set("map", 3_u8);
        room.set("ranked", false);
        room.set("time", "12:30");
        for (conditions, fits) in [
            ("", true),
            ("state:lobby", true),
            ("state:lobby,map:3,ranked:false", true),
            ("time:12:30", true),
            ("state:Lobby", false),
            ("map:03", false),
            ("state:lobby,map:4", false),
            ("mode:ffa", false),
        ] {
            let parsed = RoomConditions::parse(conditions).expect(conditions);
            assert_eq!(parsed.fit(&room), fits, "{conditions}");
        }
    }

    #[test]
    fn conditions_that_no_property_can_meet_are_an_error() {
        let nine = ["a:1"; 9].join(",");
        for (conditions, part) in [
            ("state", "state"),
            ("state=lobby", "state=lobby"),
            ("state:", "state:"),
            ("state:lobby,", ""),
            ("map:3,Map:3", "Map:3"),
            (&nine, "a:1"),
        ] {
            assert_eq!(
                RoomConditions::parse(conditions),
                Err(ConditionError { part: part.to_owned() }),
                "{conditions}"
            );
        }
    }

    #[test]
    fn max_players_is_a_number_that_is_not_negative() {
        for (value, max) in
            [(PropertyValue::from(4_u8), Some(4)), ((-1_i32).into(), Some(0)), ("four".into(), None)]
        {
            let mut properties = RoomProperties::default();
            properties.set(MAX_PLAYERS, value);
            assert_eq!(properties.max_players(), max);
        }
    }
}
