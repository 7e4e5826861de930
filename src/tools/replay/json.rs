//! Formats the result of a replay as JSON, for `tickwire replay --json` and for the page.

use std::sync::Arc;

use serde_json::{Value, json};
use tickwire_sim::state_tree::FieldDiff;

use super::{
    BisectReport, CommandDiff, ForeignChecksum, ReplayError, ReplayInput, ReplayOptions, ReplyDiff,
    ReplyFrame, Report, WorldResults, replay,
};
use crate::game::GameInfo;
use crate::packet::PacketTables;
use crate::packet::json::json_object;
use crate::tools::capture::Untrusted;

/// Maximum number of bytes shown of a reply.
const MAX_HEX_BYTES: usize = 64;

/// Replays the bytes of a capture file. Returns the reports of its rooms, or the reason why it
/// cannot be replayed. `given` are the packet tables for a file that has none; the default is the
/// built-in ones. `games` is as in [`replay`].
///
/// # Errors
/// One line that describes why the file cannot be read.
pub fn of_file(
    bytes: &[u8],
    games: &[&'static GameInfo],
    given: Option<Arc<PacketTables>>,
) -> Result<Value, String> {
    let input = ReplayInput::read(bytes, given).map_err(|error| error.to_string())?;
    let replayed = replay(&input, games, ReplayOptions::default(), WorldResults::default);
    Ok(replayed.map_or_else(|reason| error_json(&reason), |reports| rooms(&reports)))
}

/// The counts of a report: JSON key, label, value.
pub fn counts(report: &Report) -> [(&'static str, &'static str, usize); 11] {
    [
        ("ticks", "ticks", report.ticks as usize),
        ("clients", "clients", report.clients),
        ("matched", "client commands", report.matched),
        ("server", "server commands", report.server),
        ("operator", "operator commands", report.operator),
        ("sent_before", "sent before the capture", report.sent_before),
        ("not_captured", "from clients not captured", report.not_captured),
        ("dropped_on_leave", "dropped when the client left", report.dropped_on_leave),
        ("dropped_while_connected", "dropped while connected", report.dropped_while_connected),
        ("after_end", "for a tick after the end", report.after_end),
        ("replies", "server replies", report.answers),
    ]
}

/// The reports of all rooms. If there is only the default room, its report is not in a list.
pub fn rooms(rooms: &[(Untrusted, Report)]) -> Value {
    if let [(name, report)] = rooms
        && name.is_empty()
    {
        return report_json(report);
    }
    let room = |(name, report): &(Untrusted, Report)| {
        let mut all = report_json(report);
        all["room"] = name.raw().into();
        all
    };
    let is_same = rooms.iter().all(|(_, report)| report.is_same());
    let rooms: Vec<Value> = rooms.iter().map(room).collect();
    json!({ "verdict": if is_same { "same" } else { "differs" }, "rooms": rooms })
}

fn report_json(report: &Report) -> Value {
    let mut all = json!({
        "verdict": if report.is_same() { "same" } else { "differs" },
        "first_tick": report.first_tick,
        "checksum": format!("{:016x}", report.checksum),
        "cut_at_byte": report.ends_at_byte,
        "truncated_at_packet": report.truncated_at,
    });
    for (name, _, count) in counts(report) {
        all[name] = count.into();
    }
    if let Some(tick) = report.last_tick {
        all["ends_at_tick"] = tick.into();
    }
    if let Some((client, ReplyDiff { recorded, replayed })) = &report.answer {
        all["reply"] = json!({
            "client": client.to_string(),
            "packet": recorded.as_ref().or(replayed.as_ref()).map(|frame| frame.packet),
            "recorded": recorded.as_ref().map(|_| hex(recorded)),
            "replayed": replayed.as_ref().map(|_| hex(replayed)),
        });
    }
    if let Some(difference) = &report.difference {
        let hex = |checksum: u64| format!("{checksum:016x}");
        all["difference"] = json!({
            "tick": difference.tick,
            "recorded_checksum": difference.checksums.map(|(recorded, _)| hex(recorded)),
            "replayed_checksum": difference.checksums.map(|(_, replayed)| hex(replayed)),
            "command": difference.command.as_ref().map(|(tick, CommandDiff { command, recorded, decoded })| json!({
                "tick": tick,
                "player": command.0.0,
                "sequence": command.1,
                "recorded": recorded.raw(),
                "decoded": decoded.as_ref().map(Untrusted::raw),
            })),
        });
    }
    if let Some(fields) = &report.fields {
        all["fields"] = json!({
            "tick": fields.tick,
            "foreign_from_tick": fields.first_foreign_tick,
            "recorded_and_replayed": places(&fields.diffs),
        });
    }
    if let Some(state) = &report.state {
        let entity = |(name, fields): &(String, Vec<(String, String)>)| {
            let fields =
                json_object(fields.iter().map(|(field, value)| (field.clone(), value.as_str().into())));
            (name.clone(), Value::Object(fields))
        };
        all["state"] = Value::Object(json_object(state.iter().map(entity)));
    }
    all
}

/// Formats differing fields.
fn places(places: &[FieldDiff]) -> Vec<Value> {
    let place = |FieldDiff { entity, field, ours, theirs }: &FieldDiff| json!([entity, field, ours, theirs]);
    places.iter().map(place).collect()
}

fn raw(texts: &[Untrusted]) -> Vec<&str> {
    texts.iter().map(Untrusted::raw).collect()
}

/// Formats the comparison of two captures.
pub fn bisect_json(bisected: &BisectReport) -> Value {
    let verdict = |is_same| if is_same { "same" } else { "differs" };
    let hex = |checksum: u64| format!("{checksum:016x}");
    let foreign = |foreign: &Option<ForeignChecksum>| {
        foreign.map(|ForeignChecksum { tick, recorded, computed }| {
            json!({ "tick": tick, "recorded_checksum": hex(recorded), "computed_checksum": hex(computed) })
        })
    };
    let rooms = bisected.rooms.iter().map(|(name, parting)| {
        json!({
            "room": name.raw(),
            "verdict": verdict(parting.is_same()),
            "first_tick": parting.first_tick,
            "ticks": parting.ticks,
            "ends": parting.ends,
            "identity": parting.identity,
            "recorded": parting.recorded.iter().map(foreign).collect::<Vec<_>>(),
            "commands": parting.commands.as_ref().map(|(tick, [ours, theirs])| json!({
                "tick": tick, "only_first": raw(ours), "only_second": raw(theirs),
            })),
            "worlds": parting.worlds.as_ref().map(|(tick, [ours, theirs], list)| json!({
                "tick": tick, "first_checksum": hex(*ours), "second_checksum": hex(*theirs), "fields": places(list),
            })),
        })
    });
    json!({
        "verdict": verdict(bisected.is_same()),
        "rooms": rooms.collect::<Vec<Value>>(),
        "rooms_only_first": raw(&bisected.unmatched_rooms[0]),
        "rooms_only_second": raw(&bisected.unmatched_rooms[1]),
        "cut_at_byte": bisected.cut_at,
        "truncated_at_packet": bisected.truncated_at,
    })
}

/// Formats the first bytes of a frame in hexadecimal.
pub fn hex(frame: &Option<ReplyFrame>) -> String {
    let Some(ReplyFrame { bytes, .. }) = frame else { return "nothing".to_owned() };
    let prefix = &bytes[..bytes.len().min(MAX_HEX_BYTES)];
    let hex: String = prefix.iter().map(|byte| format!("{byte:02x}")).collect();
    if prefix.len() < bytes.len() { format!("{hex}… of {} bytes", bytes.len()) } else { hex }
}

/// Formats the reason why a capture cannot be replayed.
pub fn error_json(refused: &ReplayError) -> Value {
    json!({
        "verdict": "not replayable",
        "reason": refused.reason.raw(),
        "client": refused.client.map(|client| client.to_string()),
        "packet": refused.location.map(|(packet, _)| packet),
        "after_s": refused.location.map(|(_, after)| after.as_secs_f64()),
    })
}
