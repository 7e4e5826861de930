//! Explains bytes that a user has edited, and encodes a stored packet with other values.
//!
//! This module sends nothing, and does not change the stored frames.

use serde_json::Value as Json;

use super::packet_summary::SEQUENCE;
use super::{Inspector, frame_json};
use crate::packet::{DecodedPacket, Direction, Value};
use crate::tools::explain::{Conversation, Explanation, hex};
use crate::ws::Side;
use crate::ws::frame::{self, Opcode};

impl Inspector {
    /// Explains bytes as the next bytes of the inspected connection, after its unfinished message.
    /// The input is `{"from":"client"|"server","bytes":HEX}`. With `"dialect":NAME` the bytes are
    /// explained independently, after an upgrade; `"json":true` means that packets are JSON.
    ///
    /// # Errors
    /// One line that describes the invalid input.
    pub fn explain_bytes(&self, input: &str) -> Result<String, String> {
        let input = object(input)?;
        let bytes = hex::parse(text(&input, "bytes")?).map_err(|error| error.to_string())?;
        let from = match text(&input, "from")? {
            "client" => Side::Client,
            "server" => Side::Server,
            other => return Err(format!("from: {other:?} is neither client nor server")),
        };
        let mut conversation = match input["dialect"].as_str() {
            Some(name) => {
                let dialect = self.codes.dialects().find(|dialect| dialect.name() == name);
                let dialect = dialect.ok_or_else(|| format!("dialect: {name:?} is not in the tables"))?;
                let mut conversation = Conversation::in_dialect(dialect);
                conversation.start_after_upgrade(input["json"].as_bool().unwrap_or(false));
                conversation.set_own_server();
                conversation
            }
            None => {
                let log = self.log().ok_or("no handshake was seen")?;
                let mut conversation = log.conversation(&self.codes).ok_or("no handshake was seen")?;
                if from == Side::Client {
                    conversation.receive_each(from, log.unfinished(), |_| ());
                }
                conversation
            }
        };
        Ok(frame_json::bytes_json(&bytes, &conversation.explain(from, &bytes)))
    }

    /// Encodes a stored packet of the client with other values, under the same masking key. The
    /// input is `{"n":FRAME,"set":{ARGUMENT:VALUE}}`. With `"next":true` the packet gets the next
    /// sequence number, so that the server does not drop it as repeated. The result is
    /// `{"bytes":HEX}`.
    ///
    /// # Errors
    /// One line that describes why the packet cannot be encoded.
    pub fn rewrite(&self, input: &str) -> Result<String, String> {
        let input = object(input)?;
        let n = input["n"].as_u64().ok_or("n: the number of a frame is missing")?;
        let explained = self.log().and_then(|log| log.explanation(n, &self.codes));
        let explained = explained.map(|(_, explained)| explained);
        let decoded = explained.as_ref().and_then(Explanation::decoded);
        let (DecodedPacket { row, mut values }, key) =
            decoded.ok_or_else(|| format!("frame {n} is not a complete binary packet from the client"))?;
        let place = |name: &str| {
            let at = row.arguments.iter().position(|argument| argument.name == name);
            at.ok_or_else(|| format!("{} has no argument {name:?}", row.name))
        };
        for (name, value) in input["set"].as_object().into_iter().flatten() {
            values[place(name)?] = scalar(value).ok_or_else(|| format!("{name}: must be a single value"))?;
        }
        if input["next"] == true {
            values[place(SEQUENCE)?] = Value::from(self.next_sequence());
        }
        let dialect = self.log().and_then(|log| log.dialect(&self.codes)).ok_or("no handshake was seen")?;
        let payload = dialect.encode(Direction::ToServer, &row.name, &values);
        let payload = payload.map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        frame::write(&mut bytes, Opcode::Binary, key, &payload);
        Ok(format!("{{\"bytes\":\"{}\"}}", hex::digits(&bytes)))
    }

    /// The highest sequence number in the stored frames of the client, plus 1.
    fn next_sequence(&self) -> u64 {
        let Some(log) = self.log() else { return 1 };
        let numbers = log.ring.iter().filter(|kept| kept.from == Side::Client).filter_map(|kept| {
            let (_, explained) = log.explanation(kept.n, &self.codes)?;
            let (decoded, _) = explained.decoded()?;
            decoded.get(SEQUENCE)?.as_u64()
        });
        numbers.max().unwrap_or(0) + 1
    }
}

fn object(input: &str) -> Result<Json, String> {
    serde_json::from_str(input).map_err(|error| error.to_string())
}

fn text<'a>(input: &'a Json, name: &str) -> Result<&'a str, String> {
    input[name].as_str().ok_or_else(|| format!("{name}: text is missing"))
}

/// Converts a JSON value to a packet value; `None` for lists and objects.
fn scalar(value: &Json) -> Option<Value> {
    match value {
        Json::Null => Some(Value::Nil),
        Json::Bool(truth) => Some(Value::from(*truth)),
        Json::Number(number) => {
            let whole = number.as_i64().map(Value::from).or_else(|| number.as_u64().map(Value::from));
            whole.or_else(|| number.as_f64().map(Value::from))
        }
        Json::String(text) => Some(Value::from(text.as_str())),
        Json::Array(_) | Json::Object(_) => None,
    }
}
