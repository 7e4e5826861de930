//! The command `traffic`: the bytes that clients are sent, by packet and by field.
//!
//! Frames and bytes of a packet are exact. The shares of its fields come from sampled frames.

use std::fmt::Write as _;

use crate::server::net::metrics::{FieldBytes, FrameCount};
use crate::server::net::server_state::ServerState;

/// Fields with a smaller share are not listed, in percent.
const MIN_SHARE: u64 = 1;

/// Returns one packet per line, with the most bytes first: its name, frames, bytes, its share of
/// all bytes, and the shares of its fields.
pub fn report(host: &ServerState) -> String {
    let mut packets: Vec<_> = host.metrics.sent_packets().into_iter().collect();
    packets.sort_by_key(|(_, count)| std::cmp::Reverse(count.bytes));
    let total = packets.iter().map(|(_, count)| count.bytes).sum();
    let sampled = host.metrics.sampled_fields();
    let mut text = format!("{:<20}  {:>12}  {:>14}  {:>5}  fields\n", "packet", "frames", "bytes", "share");
    for (packet, FrameCount { frames, bytes }) in packets {
        let (share, fields) = (percent(bytes, total), field_shares(packet, &sampled));
        writeln!(text, "{packet:<20}  {frames:>12}  {bytes:>14}  {share:>3} %  {fields}")
            .expect("writing to a string does not fail");
    }
    text
}

/// Returns the shares of a packet's fields, the largest first: `moved.dx 24 %, tick 6 %`; `-`
/// without a sample.
fn field_shares(packet: &str, sampled: &[FieldBytes]) -> String {
    let mut fields: Vec<_> = sampled.iter().filter(|field| field.packet == packet).collect();
    fields.sort_by_key(|field| std::cmp::Reverse(field.bytes));
    let total = fields.iter().map(|field| field.bytes).sum();
    let shares = fields.iter().map(|field| (&*field.field, percent(field.bytes, total)));
    let listed = shares.filter(|(_, share)| *share >= MIN_SHARE);
    let texts: Vec<_> = listed.map(|(field, share)| format!("{field} {share} %")).collect();
    if texts.is_empty() { "-".to_owned() } else { texts.join(", ") }
}

/// Returns a part in percent, rounded to the nearest whole number.
fn percent(part: u64, total: u64) -> u64 {
    (100 * part + total / 2).checked_div(total).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_listed_from_the_largest_share_to_the_smallest() {
        let field = |packet: &str, field: &str, bytes| FieldBytes {
            packet: packet.to_owned(),
            field: field.to_owned(),
            bytes,
        };
        let sampled = [
            field("update", "tick", 60),
            field("update", "moved.dx", 539),
            field("pong", "code", 7),
            field("update", "moved.dy", 400),
            field("update", "left", 1),
        ];
        assert_eq!(field_shares("update", &sampled), "moved.dx 54 %, moved.dy 40 %, tick 6 %");
        assert_eq!(field_shares("pong", &sampled), "code 100 %");
        assert_eq!(field_shares("welcome", &sampled), "-");
    }
}
