//! Formats the arguments of a packet as one JSON object, by the names of the table.

use crate::packet::grammar::{Argument, Shape, Type};
use crate::packet::{Dialect, Direction, Value, json};
use crate::tools::explain::explanation::{Content, ExplainedFrame, Explanation};
use crate::tools::explain::hex::digits as hex;
use crate::ws::Side;
use crate::ws::frame::Opcode;

/// Returns the arguments of the packet in a frame. `None` if the frame completes no valid packet.
pub fn arguments(explanation: &Explanation<'_>, frame: &ExplainedFrame<'_>) -> Option<String> {
    let Content::Packet(Some(_), Some(_)) = frame.content else { return None };
    let direction = match explanation.from {
        Side::Client => Direction::ToServer,
        Side::Server => Direction::ToClient,
    };
    let (opcode, payload) = match &frame.message {
        Some(message) => (message.opcode, &message.payload),
        None => (frame.header.as_ref()?.opcode, &frame.payload),
    };
    decode(explanation.dialect, direction, opcode, payload)
}

fn decode(dialect: &Dialect, direction: Direction, opcode: Opcode, payload: &[u8]) -> Option<String> {
    let packet = match opcode {
        Opcode::Text => dialect.decode_json(direction, str::from_utf8(payload).ok()?),
        _ => dialect.decode(direction, payload),
    };
    let packet = packet.ok()?;
    Some(object(&packet.row.arguments, &packet.values))
}

fn object(members: &[Argument], values: &[Value]) -> String {
    let values = values.iter().chain(std::iter::repeat(&Value::Nil));
    let members = members.iter().zip(values);
    let members: Vec<String> = members
        .map(|(member, value)| format!("{}:{}", text(&member.name), named(&member.ty, value)))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// Formats a value of a type. The records of a flat list become objects.
fn named(ty: &Type, value: &Value) -> String {
    let list = |items: Vec<String>| format!("[{}]", items.join(","));
    match (&ty.shape, value) {
        (Shape::Groups { members, .. }, Value::Array(values)) => {
            list(values.chunks(members.len()).map(|record| object(members, record)).collect())
        }
        (Shape::Tuple(members), Value::Array(values)) => object(members, values),
        (Shape::List { each, .. }, Value::Array(values)) => {
            list(values.iter().map(|value| named(each, value)).collect())
        }
        (Shape::Map(members), Value::Map(pairs)) => {
            let of = |member: &Argument| {
                pairs.iter().find(|(key, _)| key.as_str() == Some(&*member.name)).map(|(_, value)| value)
            };
            let values: Vec<Value> =
                members.iter().map(|member| of(member).cloned().unwrap_or(Value::Nil)).collect();
            object(members, &values)
        }
        (_, Value::Binary(bytes)) => text(&hex(bytes)),
        _ => json::to_text(value),
    }
}

fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketTables;

    const TABLE: &str = "direction\tname\tlane\tcards:int\targuments\tmeaning\n\
        to_server\tplay\treliable\t1\tsequence:u32 card:u8|nil text:str<=9|nil proof:bin|nil\tplay a card\n\
        to_client\thand\tlatest\t1\ttick:u32.tick is_open:bool enter:[id:u16,owner:u16|nil] leave:[u16] at:(x:u8,y:u8)\ta hand\n";

    #[test]
    fn arguments_have_the_names_of_the_table_and_records_their_members() {
        let tables = PacketTables::from_texts(&[("cards.tsv", TABLE)]).expect("a table");
        let dialect = tables.dialect("cards").expect("its dialect");
        for (direction, message, expected) in [
            (
                Direction::ToClient,
                r#"["hand",[7,true,[3,1,4,null],[5,6],[8,9]]]"#,
                r#"{"tick":7,"is_open":true,"enter":[{"id":3,"owner":1},{"id":4,"owner":null}],"leave":[5,6],"at":{"x":8,"y":9}}"#,
            ),
            (
                Direction::ToServer,
                r#"["play",[1,2,"a\"b",{"base64":"/wA="}]]"#,
                r#"{"sequence":1,"card":2,"text":"a\"b","proof":"ff00"}"#,
            ),
            (
                Direction::ToServer,
                r#"["play",[1]]"#,
                r#"{"sequence":1,"card":null,"text":null,"proof":null}"#,
            ),
        ] {
            let packet = dialect.decode_json(direction, message).expect("by the table");
            let binary = dialect.encode(direction, &packet.row.name, &packet.values).expect("by the table");
            for (opcode, payload) in [(Opcode::Text, message.as_bytes()), (Opcode::Binary, &*binary)] {
                assert_eq!(decode(&dialect, direction, opcode, payload).as_deref(), Some(expected));
            }
        }
        assert_eq!(decode(&dialect, Direction::ToServer, Opcode::Text, b"[1,[-1]]"), None);
    }
}
