//! Lockstep for a page: its own copy of the room's world.
//!
//! Messages are output as consecutive records: one byte, 0 for an update that a server would send
//! to a client without lockstep, 1 for a packet to send to the server; the length as u32, least
//! significant byte first; the message in MessagePack.

use std::cell::RefCell;
use std::sync::Arc;

use serde_json::{Value, json};
use tickwire::client::lockstep_follower::{DesyncReport, FollowEvent, LockstepFollower};
use tickwire::game::Messages;
use tickwire::internal::server::embedded;
use tickwire::packet::{self, Dialect, Direction, PacketTables};
use tickwire::sim::PlayerId;

use super::buffers::with;

/// A record with an update for the page.
pub const UPDATE: u8 = 0;
/// A record with a packet to send.
const TO_SERVER: u8 = 1;

struct Page {
    follower: LockstepFollower,
    dialect: Arc<Dialect>,
    /// The arguments of the last `welcome`. After a resync from a snapshot, the page receives this
    /// `welcome` again, because its state may come from a world that differed from the server's.
    welcome: Vec<packet::Value>,
    /// Whether the page must receive `welcome` again.
    is_resync: bool,
    /// The last desync report.
    report: Option<DesyncReport>,
    /// The reason why the follower cannot continue.
    error: Option<String>,
}

thread_local! {
    static PAGE: RefCell<Option<Page>> = RefCell::default();
}

/// Starts a new follower. The input has a line with the name of the game (empty for the program's
/// own), a line with the name of the dialect, and then the packet table. Returns 1, or 0 for an
/// unknown game or an invalid table.
#[unsafe(no_mangle)]
pub extern "C" fn follow_begin() -> u32 {
    let page = with(|buffers| {
        let text = std::str::from_utf8(&buffers.input).ok()?;
        let (game, rest) = text.split_once('\n')?;
        let (dialect, table) = rest.split_once('\n')?;
        let codes = PacketTables::from_texts(&[("table.tsv", table)]).ok()?;
        let dialect: Arc<_> = codes.dialect(dialect)?;
        let info = embedded::game((!game.is_empty()).then_some(game))?.info;
        let follower = LockstepFollower::new(info, Arc::clone(&dialect));
        Some(Page { follower, dialect, welcome: Vec::new(), is_resync: false, report: None, error: None })
    });
    let is_there = page.is_some();
    PAGE.set(page);
    u32::from(is_there)
}

/// Handles the server's message in the input. Outputs the resulting records. A message that does
/// not belong to lockstep is output unchanged.
#[unsafe(no_mangle)]
pub extern "C" fn follow_hear() -> usize {
    with(|buffers| {
        let message = std::mem::take(&mut buffers.input);
        let records = PAGE.with_borrow_mut(|page| page.as_mut().map(|page| page.receive(&message)));
        buffers.put_out(records.unwrap_or_default())
    })
}

/// Returns the number of completed ticks; 0 before the first snapshot.
#[unsafe(no_mangle)]
pub extern "C" fn follow_tick() -> u32 {
    PAGE.with_borrow(|page| {
        page.as_ref().and_then(|page| page.follower.world()).map_or(0, |world| world.tick())
    })
}

/// Sets the spectated player while the client does not play; 0 for the leader.
#[unsafe(no_mangle)]
pub extern "C" fn follow_watch(player: u32) {
    let player = u16::try_from(player).ok().and_then(|player| PlayerId(player).as_player());
    PAGE.with_borrow_mut(|page| page.iter_mut().for_each(|page| page.follower.set_spectated(player)));
}

/// Changes a field of the page's world at the next checksum tick.
#[unsafe(no_mangle)]
pub extern "C" fn follow_corrupt(seed: u32) {
    PAGE.with_borrow_mut(|page| page.iter_mut().for_each(|page| page.follower.corrupt(seed.into())));
}

/// Outputs the status as JSON: completed ticks, counts, the last corrupted field, the last report.
#[unsafe(no_mangle)]
pub extern "C" fn follow_status() -> usize {
    let status = PAGE.with_borrow(|page| page.as_ref().map_or(Value::Null, Page::status));
    with(|buffers| buffers.put_out(status.to_string().into_bytes()))
}

impl Page {
    fn receive(&mut self, message: &[u8]) -> Vec<u8> {
        let Page { follower, dialect, welcome, is_resync, report, error } = self;
        let (mut records, mut outgoing, mut messages) = (Vec::new(), Vec::new(), Messages::default());
        let Ok(packet) = dialect.decode(Direction::ToClient, message) else {
            // The page reports a packet that it cannot decode.
            record(UPDATE, message, &mut records);
            return records;
        };
        if packet.row.name == "welcome" {
            welcome.clone_from(&packet.values);
        }
        match follower.on_packet(&packet, &mut outgoing, &mut messages) {
            Ok(FollowEvent::Handled) => {}
            Ok(FollowEvent::Synced(_)) => *is_resync = follower.counts().syncs > 1,
            Ok(FollowEvent::Stepped(tick)) if *is_resync && !messages.is_empty() => {
                *is_resync = false;
                let again = welcomed(dialect, welcome, tick);
                again.into_iter().for_each(|message| record(UPDATE, &message, &mut records));
            }
            Ok(FollowEvent::Stepped(_)) => {}
            Ok(FollowEvent::Other) => record(UPDATE, message, &mut records),
            Ok(FollowEvent::Report(new)) => *report = Some(new),
            Err(reason) => *error = Some(reason.to_string()),
        }
        messages.iter().for_each(|message| record(UPDATE, message, &mut records));
        outgoing.iter().for_each(|message| record(TO_SERVER, message, &mut records));
        records
    }

    fn status(&self) -> Value {
        let Page { follower, report, error, .. } = self;
        let counts = follower.counts();
        let corrupted = follower.corrupted().map(|(tick, field)| {
            json!({ "tick": tick, "entity": field.entity, "field": field.field, "before": field.ours, "after": field.theirs })
        });
        let report = report.as_ref().map(|report| {
            let fields = report.fields.iter().map(|(participant, field)| {
                json!({ "participant": participant, "entity": field.entity, "field": field.field,
                        "server": field.ours, "own": field.theirs })
            });
            let fields: Vec<Value> = fields.collect();
            json!({ "tick": report.tick, "groups": report.groups, "omitted": report.omitted, "fields": fields })
        });
        json!({
            "tick": follower.world().map(|world| world.tick()),
            "player": follower.player().map(|player| player.0),
            "ticks": counts.ticks,
            "syncs": counts.syncs,
            "checksums": counts.checksums,
            "differed": counts.desyncs,
            "bytes": counts.bytes,
            "corrupted": corrupted,
            "report": report,
            "error": error,
        })
    }
}

/// The `welcome` of a server that has completed this number of ticks.
fn welcomed(dialect: &Dialect, values: &[packet::Value], tick: u32) -> Option<Vec<u8>> {
    let at = dialect.row(Direction::ToClient, "welcome")?.argument("tick");
    let mut values = values.to_vec();
    at.and_then(|at| values.get_mut(at)).into_iter().for_each(|value| *value = tick.into());
    dialect.encode(Direction::ToClient, "welcome", &values).ok()
}

/// Appends a record.
pub fn record(kind: u8, message: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend((message.len() as u32).to_le_bytes());
    out.extend_from_slice(message);
}
