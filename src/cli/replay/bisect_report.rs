//! The text of a comparison of two recordings.

use std::fmt::Write;

use crate::tools::capture::Untrusted;
use crate::tools::replay::{BisectReport, Divergence, ForeignChecksum};

/// Names of the two recordings.
const NAMES: [&str; 2] = ["the first", "the second"];

/// The differences of each room, and the rooms that only one recording has.
pub(super) fn bisect_as_text(bisected: &BisectReport) -> String {
    let mut text = String::new();
    for (name, offset) in NAMES.iter().zip(bisected.cut_at) {
        if let Some(offset) = offset {
            let _ = writeln!(text, "{name} file ends in the middle of the block at byte {offset}");
        }
    }
    for (name, packet) in NAMES.iter().zip(bisected.truncated_at) {
        if let Some(packet) = packet {
            let _ = writeln!(text, "{name} has truncated packets (snapshot length) from packet {packet} on");
        }
    }
    let has_names = bisected.rooms.len() > 1 || bisected.unmatched_rooms.iter().any(|only| !only.is_empty());
    for (name, parting) in &bisected.rooms {
        if has_names || !name.is_empty() {
            let _ = writeln!(text, "{}", room(name));
        }
        write_room(&mut text, parting);
    }
    for (which, only) in NAMES.iter().zip(&bisected.unmatched_rooms) {
        only.iter().for_each(|name| _ = writeln!(text, "only in {which}: {}", room(name)));
    }
    text
}

fn room(name: &Untrusted) -> String {
    if name.is_empty() { "default room".to_owned() } else { format!("room {name}") }
}

fn write_room(text: &mut String, parting: &Divergence) {
    if !parting.identity.is_empty() {
        let _ = writeln!(text, "they differ from the beginning: {}", parting.identity.join("; "));
        return;
    }
    let _ = writeln!(text, "first tick in both  {}", parting.first_tick);
    let _ = writeln!(text, "ticks compared      {}", parting.ticks);
    for (name, foreign) in NAMES.iter().zip(&parting.recorded) {
        if let Some(ForeignChecksum { tick, recorded, computed }) = foreign {
            let _ = writeln!(
                text,
                "recorded checksums of {name} differ from the computed ones after tick {tick}: recorded {recorded:016x}, \
                computed {computed:016x}"
            );
        }
    }
    if let Some((tick, [ours, theirs])) = &parting.commands {
        let _ = writeln!(text, "commands differ in tick {tick}");
        ours.iter().for_each(|command| _ = writeln!(text, "  only in the first   {command}"));
        theirs.iter().for_each(|command| _ = writeln!(text, "  only in the second  {command}"));
    }
    if let Some((tick, [ours, theirs], places)) = &parting.worlds {
        let when =
            if parting.ticks == 0 { "from the beginning".to_owned() } else { format!("after tick {tick}") };
        let _ = writeln!(text, "worlds differ {when}: checksum {ours:016x}, the second {theirs:016x}");
        places.iter().for_each(|place| _ = writeln!(text, "  {place}"));
    }
    let [ours, theirs] = parting.ends;
    if ours != theirs {
        let (shorter, longer) = if ours < theirs { (0, 1) } else { (1, 0) };
        let _ = writeln!(
            text,
            "{} ends at tick {}, {} goes on to tick {}",
            NAMES[shorter], parting.ends[shorter], NAMES[longer], parting.ends[longer]
        );
    }
    if parting.is_same() {
        text.push_str("same\n");
    }
}
