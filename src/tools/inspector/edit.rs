//! Edited bytes: explains bytes that a user might send, and writes a kept packet with other values.
//!
//! This module sends nothing, and does not change what the inspector keeps.

use serde_json::Value as Json;

use super::{Inspector, frame_json};
use crate::packet::{DecodedPacket, Direction, Value};
use crate::tools::explain::{Conversation, Explanation, hex};
use crate::ws::Side;
use crate::ws::frame::{self, Opcode};

/// The argument that numbers the commands of a client: the server drops a packet that repeats a
/// number.
const SEQUENCE: &str = "sequence";

impl Inspector {
    /// Explains bytes as the next ones of the watched connection, after its unfinished message. The
    /// input is `{"from":"client"|"server","bytes":HEX}`. With `"dialect":NAME`, and `"json":true`
    /// if packets are JSON, the bytes stand alone, after an upgrade.
    ///
    /// # Errors
    /// One line that says what is wrong with the input.
    pub fn explain_bytes(&self, input: &str) -> Result<String, String> {
        let input = object(input)?;
        let bytes = hex::parse(text(&input, "bytes")?)?;
        let from = match text(&input, "from")? {
            "client" => Side::Client,
            "server" => Side::Server,
            other => return Err(format!("from: {other:?} is neither client nor server")),
        };
        let mut talk = match input["dialect"].as_str() {
            Some(name) => {
                let dialect = self.codes.dialects().find(|dialect| dialect.name() == name);
                let dialect = dialect.ok_or_else(|| format!("dialect: {name:?} is not in the tables"))?;
                let mut talk = Conversation::in_dialect(dialect);
                talk.start_after_upgrade(input["json"].as_bool().unwrap_or(false));
                talk.set_own_server();
                talk
            }
            None => {
                let log = self.log().ok_or("no handshake was seen")?;
                let mut talk = log.conversation(&self.codes).ok_or("no handshake was seen")?;
                if from == Side::Client {
                    talk.receive_each(from, log.unfinished(), |_| ());
                }
                talk
            }
        };
        Ok(frame_json::bytes(&bytes, &talk.explain(from, &bytes)))
    }

    /// The bytes of a kept packet of the client with other values, under the same masking key. The
    /// input is `{"n":FRAME,"set":{ARGUMENT:VALUE}}`; with `"next":true` the packet gets the
    /// sequence number that the server expects next, so that it is not dropped as repeated. The
    /// result is `{"bytes":HEX}`.
    ///
    /// # Errors
    /// One line that says why there is no such packet.
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

    /// One more than the highest sequence number that the client has sent in the frames that are kept.
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

/// A value of a packet from JSON; `None` for lists and objects.
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
