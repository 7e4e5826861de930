//! Received frames, for `expect`: names, and messages whose content can be compared.
//!
//! The number of frames and their bytes are bounded; the oldest frame is dropped first.

use std::collections::VecDeque;

use serde_json::Value as Json;

use super::explained_connection::WireFormat;
use crate::limits;
use crate::packet::{Direction, Value, json, msgpack};
use crate::tools::explain::Explanation;

/// A frame to wait for: its name, and conditions on its message.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// A packet's name or code, a frame type, a broken rule, or a close frame's code or reason.
    pub name: String,
    /// All of them must hold.
    pub conditions: Vec<Condition>,
    /// The name and the conditions as typed.
    pub text: String,
}

/// A condition on the message of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// The message contains this text.
    Text(String),
    /// The value at this JSON pointer (RFC 6901) equals this one. The value of a packet is an
    /// object of its arguments.
    Field(String, Json),
}

impl Condition {
    /// Parses `"text"`, `/pointer=value` or `argument=value`.
    ///
    /// # Errors
    /// One line that describes the error.
    pub fn parse(word: &str) -> Result<Condition, String> {
        if word.starts_with('"') {
            let text: Option<String> = serde_json::from_str(word).ok();
            return text.map(Condition::Text).ok_or_else(|| format!("{word} is not a text in quotes"));
        }
        let (name, value) = word.split_once('=').ok_or_else(|| {
            format!("{word:?} is no condition: must be \"TEXT\", /POINTER=VALUE or ARGUMENT=VALUE")
        })?;
        let pointer =
            if name.starts_with('/') || name.is_empty() { name.to_owned() } else { format!("/{name}") };
        let value = match value {
            "nil" => Json::Null,
            _ => serde_json::from_str(value).unwrap_or_else(|_| Json::from(value)),
        };
        Ok(Condition::Field(pointer, value))
    }

    fn holds(&self, message: &[u8], value: Option<&Json>) -> bool {
        match self {
            Condition::Text(text) => String::from_utf8_lossy(message).contains(text),
            Condition::Field(pointer, expected) => {
                value.and_then(|value| value.pointer(pointer)).is_some_and(|found| is_equal(found, expected))
            }
        }
    }
}

/// Whether two values are equal; `1` equals `1.0`.
fn is_equal(found: &Json, expected: &Json) -> bool {
    found == expected || found.is_number() && found.as_f64() == expected.as_f64()
}

/// A received frame.
#[derive(Debug)]
struct ReceivedFrame {
    names: Vec<String>,
    /// The payload; for a final fragment, the whole message.
    message: Vec<u8>,
}

/// The frames received since the last expected one.
#[derive(Debug, Default)]
pub struct ReceivedFrames {
    frames: VecDeque<ReceivedFrame>,
    bytes: usize,
    /// The number of the first stored frame, from 0.
    first: usize,
}

impl ReceivedFrames {
    /// Stores a frame of the server.
    pub fn push(&mut self, item: &Explanation<'_>) {
        let message = item.frames.first().map(|frame| {
            frame.message.as_ref().map_or_else(|| frame.payload.clone(), |whole| whole.payload.clone())
        });
        let frame = ReceivedFrame { names: item.names(), message: message.unwrap_or_default() };
        self.bytes += frame.message.len();
        self.frames.push_back(frame);
        while self.frames.len() > limits::CONNECT_MAX_RECEIVED || self.bytes > limits::CONNECT_RECEIVED_BYTES
        {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        if let Some(frame) = self.frames.pop_front() {
            self.bytes -= frame.message.len();
            self.first += 1;
        }
    }

    /// Drops the frames up to the first one that meets the expectation, and returns whether there
    /// is one. Skips the frames before number `*checked`, which is then set to the next number.
    pub fn take(&mut self, expectation: &Expectation, format: WireFormat<'_>, checked: &mut usize) -> bool {
        let skipped = checked.saturating_sub(self.first);
        *checked = self.first + self.frames.len();
        let place = self.frames.iter().skip(skipped).position(|frame| frame.meets(expectation, format));
        if let Some(place) = place {
            (0..=skipped + place).for_each(|_| self.drop_first());
        }
        place.is_some()
    }
}

impl ReceivedFrame {
    fn meets(&self, expectation: &Expectation, format: WireFormat<'_>) -> bool {
        if !self.names.contains(&expectation.name) {
            return false;
        }
        let value = if expectation.conditions.is_empty() { None } else { self.value(format) };
        expectation.conditions.iter().all(|condition| condition.holds(&self.message, value.as_ref()))
    }

    /// The arguments of a packet as an object, or the value of a message in JSON or MessagePack.
    fn value(&self, format: WireFormat<'_>) -> Option<Json> {
        let text = std::str::from_utf8(&self.message).ok();
        if let Some(dialect) = format.dialect {
            let decoded = match text.filter(|_| format.json) {
                Some(text) => dialect.decode_json(Direction::ToClient, text),
                None => dialect.decode(Direction::ToClient, &self.message),
            };
            if let Ok(packet) = decoded {
                let names = packet.row.arguments.iter().map(|argument| argument.name.clone());
                return Some(Json::Object(names.zip(packet.values.iter().map(as_json)).collect()));
            }
        }
        let of_text = text.and_then(|text| serde_json::from_str(text).ok());
        of_text
            .or_else(|| msgpack::read(&self.message, Direction::ToClient).ok().map(|value| as_json(&value)))
    }
}

fn as_json(value: &Value) -> Json {
    serde_json::from_str(&json::to_text(value)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketTables;

    fn stored(names: &[&str], message: &[u8]) -> ReceivedFrame {
        ReceivedFrame {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            message: message.to_vec(),
        }
    }

    fn meets(frame: &ReceivedFrame, condition: &str, format: WireFormat<'_>) -> bool {
        let conditions = vec![Condition::parse(condition).expect(condition)];
        let name = frame.names[0].clone();
        frame.meets(&Expectation { name, conditions, text: String::new() }, format)
    }

    #[test]
    fn conditions_are_about_text_json_messagepack_and_packets() {
        let other = WireFormat { dialect: None, json: false };
        let json = stored(&["text"], br#"{"op": 1, "d": {"list": [1, "two"]}, "n": null}"#);
        let packed = stored(&["binary"], &[0x81, 0xa1, b'a', 0xca, 0x3f, 0xc0, 0, 0]);
        for (frame, condition, expected) in [
            (&json, "\"\\\"two\\\"\"", true),
            (&json, "\"three\"", false),
            (&json, "op=1", true),
            (&json, "op=1.0", true),
            (&json, "op=2", false),
            (&json, "/d/list/1=two", true),
            (&json, "/d/list=[1,\"two\"]", true),
            (&json, "/d/list/2=two", false),
            (&json, "n=nil", true),
            (&json, "missing=nil", false),
            (&packed, "a=1.5", true),
            (&packed, "/a=2", false),
        ] {
            assert_eq!(meets(frame, condition, other), expected, "{condition}");
        }
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let pong = dialect.encode(Direction::ToClient, "pong", &[7.into(), 3.into()]).expect("a packet");
        let frame = stored(&["pong"], &pong);
        let native = WireFormat { dialect: Some(&dialect), json: false };
        assert!(meets(&frame, "nonce=7", native) && meets(&frame, "/tick=3", native));
        assert!(!meets(&frame, "nonce=8", native));
    }

    #[test]
    fn an_expectation_takes_the_frames_up_to_its_own_and_looks_at_each_once() {
        let format = WireFormat { dialect: None, json: false };
        let expectation =
            |name: &str| Expectation { name: name.to_owned(), conditions: Vec::new(), text: name.to_owned() };
        let (mut received, mut checked) = (ReceivedFrames::default(), 0);
        received.frames.extend(["a", "b", "a"].map(|name| stored(&[name], b"")));
        assert!(!received.take(&expectation("c"), format, &mut checked));
        assert_eq!((checked, received.frames.len()), (3, 3));
        assert!(received.take(&expectation("b"), format, &mut 0));
        assert_eq!((received.first, received.frames.len()), (2, 1));
        assert!(!received.take(&expectation("b"), format, &mut 0));
        assert!(received.take(&expectation("a"), format, &mut 0));
    }
}
