//! Random packets by a table: values of the right types, some of them extreme.

use std::f64::consts::TAU;

use crate::game::{BotRng, lockstep_packets};
use crate::packet::grammar::{Argument, Shape, Type};
use crate::packet::{Dialect, Direction, Row, Value, lane_packets};

/// Packets of every game that are not actions of a player.
pub const COMMON: [&str; 7] = [
    "hello",
    "join",
    "ping",
    lane_packets::REQUEST,
    lockstep_packets::STATE_SYNC_REQUEST,
    lockstep_packets::CHECKSUM,
    lockstep_packets::DESYNC_DETAILS,
];
/// Maximum entries of a random list.
const MAX_LIST_ENTRIES: u32 = 4;
/// Maximum characters of a random text.
const MAX_TEXT_CHARS: usize = 12;
/// The characters of extreme texts.
const HOSTILE_CHARS: [char; 6] = ['\0', '\u{7f}', ' ', '"', '\u{202e}', '\u{1f600}'];

/// Encodes a client packet with the `given` values by name, and random values for its other
/// arguments. Returns `None` if the table cannot encode the values.
pub fn random_packet(
    dialect: &Dialect,
    row: &Row,
    given: &[(&str, Value)],
    rng: &mut BotRng,
    is_absurd: bool,
) -> Option<Vec<u8>> {
    let values = row.arguments.iter().map(|argument| {
        let own = given.iter().find(|(name, _)| *name == argument.name);
        own.map_or_else(|| value(&argument.ty, rng, is_absurd), |(_, own)| own.clone())
    });
    let values: Vec<Value> = values.collect();
    dialect.encode(Direction::ToServer, &row.name, &values).ok()
}

fn value(kind: &Type, rng: &mut BotRng, is_absurd: bool) -> Value {
    if kind.or_nil && rng.below(4) == 0 {
        return Value::Nil;
    }
    match &kind.shape {
        Shape::Bool => (rng.below(2) == 0).into(),
        Shape::Flag => rng.below(2).into(),
        Shape::Any => rng.below(9).into(),
        Shape::Int { min, max, .. } => whole(*min, *max, rng, is_absurd).into(),
        Shape::Num { .. } if is_absurd => [0.0, -1e9, 1e9, 5e-324][rng.below(4) as usize].into(),
        Shape::Num { .. } => (f64::from(rng.below(1 << 16)) / 65_536.0 * TAU).into(),
        Shape::Str { max } => text(max.unwrap_or(MAX_TEXT_CHARS), rng, is_absurd).into(),
        Shape::Bin { max } => {
            let length = rng.below(max.map_or(MAX_TEXT_CHARS, |max| max.min(MAX_TEXT_CHARS)) as u32 + 1);
            Value::Binary((0..length).map(|_| rng.below(256) as u8).collect())
        }
        Shape::Map(members) => {
            let pair =
                |member: &Argument| (Value::from(member.name.as_str()), value(&member.ty, rng, is_absurd));
            Value::Map(members.iter().map(pair).collect())
        }
        Shape::Tuple(members) => {
            Value::Array(members.iter().map(|member| value(&member.ty, rng, is_absurd)).collect())
        }
        Shape::Groups { members, max } => {
            let count = entries(*max, rng, is_absurd);
            let group = (0..count).flat_map(|_| members);
            Value::Array(group.map(|member| value(&member.ty, rng, is_absurd)).collect())
        }
        Shape::List { each, max } => {
            let count = entries(*max, rng, is_absurd);
            Value::Array((0..count).map(|_| value(each, rng, is_absurd)).collect())
        }
    }
}

/// Three quarters of the numbers are at most 15 from zero, because these often have a meaning.
fn whole(min: i64, max: i64, rng: &mut BotRng, is_absurd: bool) -> i64 {
    if is_absurd && rng.below(2) == 0 {
        return [min, max][rng.below(2) as usize];
    }
    let reach = match rng.below(4) {
        0 | 1 => 1,
        2 => 15,
        _ => i64::MAX,
    };
    let (least, most) = (min.max(-reach).min(max), max.min(reach).max(min));
    let span = most.abs_diff(least).saturating_add(1);
    least.saturating_add_unsigned(rng.bits() % span)
}

fn text(max: usize, rng: &mut BotRng, is_absurd: bool) -> String {
    let count = rng.below(max.min(MAX_TEXT_CHARS) as u32 + 1);
    let ch = |rng: &mut BotRng| match is_absurd {
        true => HOSTILE_CHARS[rng.below(HOSTILE_CHARS.len() as u32) as usize],
        false => char::from(b'a' + rng.below(26) as u8),
    };
    (0..count).map(|_| ch(rng)).collect()
}

fn entries(max: Option<usize>, rng: &mut BotRng, is_absurd: bool) -> u32 {
    let max = max.map_or(MAX_LIST_ENTRIES, |most| u32::try_from(most).unwrap_or(MAX_LIST_ENTRIES));
    if is_absurd { max } else { rng.below(max.min(MAX_LIST_ENTRIES) + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketTables;

    const TABLE: &str = "direction\tname\tlane\ttest:int\targuments\tmeaning\n\
        to_server\tall\treliable\t1\ta:bool b:i8 c:u16<=3 d:num e:str<=4 f:[u16]<=3 g:[x:u16,y:i32]<=2 h:u8|nil i:any\tall types\n";

    #[test]
    fn every_packet_is_right_by_its_table_and_given_values_are_kept() {
        let codes = PacketTables::from_texts(&[("test.tsv", TABLE)]).expect("a table");
        let dialect = codes.dialect("test").expect("its dialect");
        let row = dialect.row(Direction::ToServer, "all").expect("its packet");
        let mut names = std::collections::BTreeSet::new();
        for seed in 0..2_000 {
            let (mut rng, is_absurd) = (BotRng::new(seed), seed % 2 == 0);
            let message =
                random_packet(&dialect, row, &[("b", 7.into())], &mut rng, is_absurd).expect("encoded");
            let decoded = dialect.decode(Direction::ToServer, &message).expect("decoded");
            assert_eq!(decoded.integer("b"), Some(7));
            names.insert(decoded.integer::<u16>("c").expect("a number"));
        }
        assert_eq!(names, (0..=3).collect());
    }
}
