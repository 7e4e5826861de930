//! Updates of lockstep clients: the entries of the room's journal instead of a view of the world.
//!
//! While older bytes are queued for a client, no entry is sent and its journal position stays. Once
//! the room has dropped the entry at that position, the client restarts from a snapshot. A snapshot
//! is sent only while nothing else is queued, and [`AddressRateLimits`] decides when a client may
//! have one.

use std::sync::Arc;
use std::time::Duration;

use rmpv::Value;
use tickwire_sim::PlayerId;

use super::client::{Client, Transport};
use crate::connection::sender::Frames;
use crate::connection::{DisconnectReason, MessageCompression, WireFormat};
use crate::game::CloseReason;
use crate::game::lockstep_packets::{COMMAND_FRAME, DESYNC_REPORT, SNAPSHOT, STATE_SYNC, snapshot_parts};
use crate::limits;
use crate::server::admission::address_rate_limits::AddressRateLimits;
use crate::server::admission::sync_scheduler::SyncRequest;
use crate::server::room::RoomHandle;
use crate::server::room::lockstep::{DesyncReport, EntryContent, FormatKey, JournalEntry, NextEntries};

/// A client's position in the journal and its wire format. Owned by an update worker.
#[derive(Debug)]
pub struct LockstepFeed {
    format_key: FormatKey,
    /// The last player number that was sent to the client.
    announced_player: Option<PlayerId>,
    /// Time of the client's last snapshot.
    last_sync: Option<Duration>,
}

impl LockstepFeed {
    /// Creates the feed of a client that has received nothing yet.
    pub fn new(format: &WireFormat) -> LockstepFeed {
        let max_compressed_bytes = format.compression.as_ref().map(MessageCompression::max_message_bytes);
        LockstepFeed {
            format_key: FormatKey {
                dialect: format.dialect.name().into(),
                is_json: format.is_json,
                max_compressed_bytes: max_compressed_bytes.unwrap_or_default(),
            },
            announced_player: None,
            last_sync: None,
        }
    }

    /// Appends the next entries to `frames`. A snapshot is sent at once, after the bytes in
    /// `frames`. Call it only while nothing is queued for the client. Writes the journal only up to
    /// tick `until`, because the acks of later ticks are not written yet. A snapshot waits for a
    /// token of the snapshot rate limit.
    pub fn write<L: Transport>(
        &mut self,
        client: &Client<L>,
        (address_limits, until): (&AddressRateLimits, u32),
        frames: &mut Vec<u8>,
        now: Duration,
    ) {
        let (player, synced) = (client.joined.as_of(client.room.tick()), self.last_sync);
        let (prefix, connection) = (client.prefix(), client.id);
        let may_sync = |part: &JournalEntry| {
            address_limits.try_start_sync(
                &SyncRequest { prefix, connection, last_sync: synced, bytes: part.bytes() },
                now,
            )
        };
        let next = client.room.lockstep.next_until(client.id, until, limits::LOCKSTEP_UPDATE_BYTES, may_sync);
        if let Some(snapshot) = &next.snapshot {
            let bytes = self.encoded(snapshot, &client.format);
            if bytes.len() > limits::SNAPSHOT_MOST_BYTES {
                client.room.lockstep.count_too_large();
                return client.close(DisconnectReason::Closed(CloseReason::LockstepTooLarge), now);
            }
            self.last_sync = Some(now);
            write_state_sync((&client.room, player), &client.format, snapshot, frames);
            client.send(Frames::Borrowed(frames), now);
            frames.clear();
            client.send(Frames::Shared(&bytes), now);
        } else if let Some(player) = player.filter(|player| self.announced_player != Some(*player)) {
            client.format.write_packet(frames, "spawned", &[("player", player.0.into())]);
        }
        self.announced_player = player;
        let place = self.append(client, &next, frames, now);
        client.room.lockstep.on_sent(client.id, &next, place);
    }

    /// Appends entries up to [`limits::LOCKSTEP_UPDATE_BYTES`]. If the first entry alone exceeds
    /// this limit, it is sent at once. Returns the position after the appended entries.
    fn append<L: Transport>(
        &self,
        client: &Client<L>,
        next: &NextEntries,
        frames: &mut Vec<u8>,
        now: Duration,
    ) -> u64 {
        let max_bytes = frames.len() + limits::LOCKSTEP_UPDATE_BYTES;
        for (at, (place, part)) in next.parts.iter().enumerate() {
            let bytes = self.encoded(part, &client.format);
            if frames.len() + bytes.len() <= max_bytes {
                frames.extend_from_slice(&bytes);
                continue;
            }
            if at > 0 || next.snapshot.is_some() {
                return *place;
            }
            client.send(Frames::Borrowed(frames), now);
            frames.clear();
            client.send(Frames::Shared(&bytes), now);
            return place + 1;
        }
        next.end
    }

    /// Like [`LockstepFeed::write`], for a lockstep connection without a [`Client`], such as the
    /// connection of the self-check. A snapshot is appended as well and is exempt from the rate
    /// limit.
    pub fn write_without_client(
        &self,
        (room, connection): (&RoomHandle, u64),
        format: &WireFormat,
        frames: &mut Vec<u8>,
    ) {
        let next = room.lockstep.next(connection, limits::LOCKSTEP_UPDATE_BYTES, |_| true);
        if let Some(snapshot) = &next.snapshot {
            write_state_sync((room, None), format, snapshot, frames);
        }
        for part in next.snapshot.iter().chain(next.parts.iter().map(|(_, part)| part)) {
            frames.extend_from_slice(&self.encoded(part, format));
        }
        room.lockstep.on_sent(connection, &next, next.end);
    }

    fn encoded(&self, part: &JournalEntry, format: &WireFormat) -> Arc<[u8]> {
        part.encoded(&self.format_key, |content| encode(content, format))
    }
}

/// Encodes the `state_sync` packet, which precedes a snapshot.
fn write_state_sync(
    (room, player): (&RoomHandle, Option<PlayerId>),
    format: &WireFormat,
    snapshot: &JournalEntry,
    frames: &mut Vec<u8>,
) {
    let EntryContent::Snapshot(tick, _) = &snapshot.content else { return };
    let values: [(&str, Value); 5] = [
        ("player", player.map_or(Value::Nil, |player| player.0.into())),
        ("tick", room.tick().into()),
        ("snapshot_tick", (*tick).into()),
        ("checksum_ticks", room.lockstep.rules().checksum_ticks.into()),
        ("epoch", room.options.epoch.as_str().into()),
    ];
    format.write_packet(frames, STATE_SYNC, &values);
}

/// Encodes an entry as whole frames.
fn encode(content: &EntryContent, format: &WireFormat) -> Vec<u8> {
    let mut out = Vec::new();
    let mut write = |name, values: &[(&str, Value)]| {
        if let Some(message) = format.encode_packet(name, values) {
            format.write_message(&mut out, &message);
        }
    };
    match content {
        EntryContent::Snapshot(tick, bytes) => {
            for part in snapshot_parts(bytes) {
                write(SNAPSHOT, &[("tick", (*tick).into()), ("state", Value::Binary(part.to_vec()))]);
            }
        }
        EntryContent::Frame(bytes) => write(COMMAND_FRAME, &[("frame", Value::Binary(bytes.to_vec()))]),
        EntryContent::Report(report) => write(DESYNC_REPORT, &values(report)),
    }
    out
}

fn values(report: &DesyncReport) -> [(&'static str, Value); 4] {
    let groups = report.groups.iter().flat_map(|(checksum, participants)| {
        let participants = participants.iter().map(|one| one.as_str().into()).collect();
        [Value::from(format!("{checksum:016x}")), Value::Array(participants)]
    });
    let or_nil = |text: &Option<String>| text.as_deref().map_or(Value::Nil, Value::from);
    let fields = report.fields.iter().flat_map(|(participant, field)| {
        [
            Value::from(participant.as_str()),
            Value::from(field.entity.as_str()),
            Value::from(field.field.as_str()),
            or_nil(&field.ours),
            or_nil(&field.theirs),
        ]
    });
    [
        ("tick", report.tick.into()),
        ("groups", groups.collect()),
        ("omitted", u16::try_from(report.omitted).unwrap_or(u16::MAX).into()),
        ("fields", fields.collect()),
    ]
}
