//! The packets that acknowledge commands: their names, and the required rows.
//!
//! These packets are the same in every game. A dialect with both rows has acks. In other dialects,
//! a client only receives `error` packets for its own faults.

use crate::packet::{Dialect, Direction, Lane, Value};

/// Executed commands, each with its tick.
pub const ACCEPTED: &str = "command_accepted";
/// Rejected commands, each with the reason.
pub const REJECTED: &str = "command_rejected";

/// Returns whether a dialect has acks.
pub fn has_command_acks(dialect: &Dialect) -> bool {
    dialect.row(Direction::ToClient, REJECTED).is_some()
}

/// Checks that a dialect has both packets or neither, and that their rows fit the server's values.
///
/// # Errors
/// A message with the invalid row and the rule that it breaks.
pub fn check(dialect: &Dialect) -> Result<(), String> {
    let largest = [Value::from(u32::MAX), Value::from(u8::MAX), Value::from(u32::MAX)];
    let reason = [Value::from(u32::MAX), Value::from("a reason's name, which may be long")];
    let samples = [(ACCEPTED, &largest[..]), (REJECTED, &reason[..])];
    let rows = samples.map(|(name, _)| dialect.row(Direction::ToClient, name));
    let name = dialect.name();
    let (Some(_), Some(_)) = (rows[0], rows[1]) else {
        let has_none = rows.iter().all(Option::is_none);
        let no = format!("the dialect {name} has one of {ACCEPTED} and {REJECTED}: it needs both or none");
        return if has_none { Ok(()) } else { Err(no) };
    };
    for (row, (packet, values)) in rows.into_iter().flatten().zip(samples) {
        let written = Value::Array(values.to_vec());
        let encoded = dialect.encode(Direction::ToClient, packet, std::slice::from_ref(&written));
        let decoded = encoded.and_then(|bytes| dialect.decode(Direction::ToClient, &bytes));
        let is_equal = decoded.is_ok_and(|packet| packet.values.first() == Some(&written));
        if row.lane != Lane::Reliable || row.arguments.len() != 1 || !is_equal {
            return Err(format!(
                "the packet {packet} of the dialect {name} must be reliable, and have as its only argument a list: \
                 [sequence:u32,count:u8,tick:u32.tick] for {ACCEPTED}, [sequence:u32,reason:str] for {REJECTED}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketTables;

    const RIGHT: [&str; 2] = [
        "command_accepted\treliable\t1\tcommands:[sequence:u32,count:u8,tick:u32.tick]",
        "command_rejected\treliable\t2\tcommands:[sequence:u32,reason:str]",
    ];

    fn checked(rows: &[&str]) -> Result<(), String> {
        let rows: String = rows.iter().map(|row| format!("to_client\t{row}\ta meaning\n")).collect();
        let text = format!("direction\tname\tlane\ttest:int\targuments\tmeaning\n{rows}");
        let codes =
            PacketTables::from_texts(&[("test.tsv", text.as_str())]).map_err(|error| error.to_string())?;
        check(&codes.dialect("test").expect("its dialect"))
    }

    #[test]
    fn tables_have_both_rows_or_none_as_the_server_writes_them() {
        let other = "pong\treliable\t3\t-";
        assert_eq!((checked(&RIGHT), checked(&[other])), (Ok(()), Ok(())));
        for one in RIGHT {
            assert!(checked(&[one, other]).is_err_and(|why| why.contains("both or none")));
        }
        for (at, from, to) in [
            (0, "reliable", "latest"),
            (0, "count:u8", "count:u8<=3"),
            (0, "tick:u32.tick", "tick:u16.tick"),
            (0, "count:u8,", ""),
            (1, "sequence:u32", "sequence:u8"),
            (1, "reason:str", "reason:str<=8"),
            (1, "reason:str]", "reason:str] more:u8|nil"),
        ] {
            let mut rows = RIGHT.map(str::to_owned);
            rows[at] = rows[at].replace(from, to);
            let wrong = checked(&rows.each_ref().map(String::as_str));
            assert!(wrong.is_err_and(|why| why.contains("must be reliable")), "{from} as {to}");
        }
    }
}
