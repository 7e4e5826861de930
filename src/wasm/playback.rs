//! Playback of a capture in a page. A module instance plays one file, and one room of it.
//!
//! The updates for the page are output as records of kind 0, as in [`lockstep`](super::lockstep).

use std::cell::RefCell;

use serde_json::{Value, json};
use tickwire::game::{GameInfo, Messages};
use tickwire::internal::games;
use tickwire::internal::server::embedded;
use tickwire::internal::tools::playback::{FileEnd, MarkerKind, Playback, PlaybackRoom, RoomPlayback};
use tickwire::packet::PacketTables;
use tickwire::sim::PlayerId;

use super::buffers::with;
use super::lockstep::{UPDATE, record};

#[derive(Default)]
struct PlaybackPage {
    playback: Option<Playback>,
    /// The open room.
    room: String,
}

thread_local! {
    static PAGE: RefCell<PlaybackPage> = RefCell::default();
}

fn call<T: Default>(call: impl FnOnce(&mut PlaybackPage, &mut Playback) -> T) -> T {
    PAGE.with_borrow_mut(|page| {
        let Some(mut playback) = page.playback.take() else { return T::default() };
        let reply = call(page, &mut playback);
        page.playback = Some(playback);
        reply
    })
}

fn with_room_playback<T: Default>(act: impl FnOnce(&mut RoomPlayback) -> T) -> T {
    call(|page, playback| playback.room_playback(&page.room).map(act).unwrap_or_default())
}

/// Starts a playback of a file. [`playback_feed`] passes in its bytes.
#[unsafe(no_mangle)]
pub extern "C" fn playback_start() {
    let own = embedded::game(None).map(|factory| factory.info);
    let mut all: Vec<&'static GameInfo> = own.into_iter().collect();
    for info in games::INFO {
        if !all.contains(info) {
            all.push(info);
        }
    }
    PAGE.set(PlaybackPage { playback: Some(Playback::new(all)), room: String::new() });
}

/// Handles the next bytes of the file in the input.
#[unsafe(no_mangle)]
pub extern "C" fn playback_feed() {
    with(|buffers| call(|_, playback| playback.feed(&buffers.input)));
}

/// Marks the end of the file.
#[unsafe(no_mangle)]
pub extern "C" fn watch_finish() {
    call(|_, playback| playback.finish());
}

/// Outputs the state of the file as JSON: bytes read, end, rooms, and the name of this program's
/// own game.
#[unsafe(no_mangle)]
pub extern "C" fn watch_file() -> usize {
    let reply = call(|_, playback| Some(file(playback))).unwrap_or_else(|| json!({ "error": NONE }));
    with(|buffers| buffers.put_out(reply.to_string().into_bytes()))
}

const NONE: &str = "no capture was opened";

fn file(playback: &Playback) -> Value {
    let end = playback.end().map(|end| match end {
        FileEnd::Whole => json!({ "whole": true }),
        FileEnd::Truncated(at) => json!({ "cut_at": at }),
        FileEnd::Damaged(why) => json!({ "why": why }),
    });
    let rooms = playback.rooms().iter().map(|(name, room)| match room {
        PlaybackRoom::Buffering(_) => json!({ "name": name.raw() }),
        PlaybackRoom::Failed(why) => json!({ "name": name.raw(), "why": why.raw() }),
        PlaybackRoom::Ready(show) => {
            json!({ "name": name.raw(), "game": show.info().name, "tick_hz": show.identity().tick_hz,
                    "first": show.first(), "last": show.last() })
        }
    });
    let rooms: Vec<Value> = rooms.collect();
    let own = embedded::game(None).map(|factory| factory.info.name);
    json!({ "own_game": own, "bytes": playback.bytes(), "end": end, "why": playback.unavailable_reason(), "rooms": rooms })
}

/// Opens a room. The input has a line with its name, a line with the name of the dialect, and then
/// the packet table. Outputs `{}`.
#[unsafe(no_mangle)]
pub extern "C" fn watch_open() -> usize {
    with(|buffers| {
        let reply = open(&buffers.input).map_or_else(|error| json!({ "error": error }), |()| json!({}));
        buffers.put_out(reply.to_string().into_bytes())
    })
}

fn open(input: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(input).map_err(|error| error.to_string())?;
    let mut parts = text.splitn(3, '\n');
    let [room, dialect, table] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    let codes = PacketTables::from_texts(&[("table.tsv", table)]).map_err(|error| error.to_string())?;
    let dialect = codes.dialect(dialect).ok_or("the tables lack the dialect")?;
    let opened = call(|page, playback| {
        room.clone_into(&mut page.room);
        playback.room_playback(room).map(|show| show.open(&dialect))
    });
    opened.unwrap_or_else(|| Err("this room cannot be watched".to_owned()))
}

/// Outputs the status of the room, and its markers starting at index `marks_from`.
#[unsafe(no_mangle)]
pub extern "C" fn watch_status(marks_from: usize) -> usize {
    let reply = call(|page, playback| {
        let begin_ns = playback.begin_ns();
        Some(status(playback.room_playback(&page.room)?, begin_ns, marks_from))
    });
    let reply = reply.unwrap_or_else(|| json!({ "error": NONE }));
    with(|buffers| buffers.put_out(reply.to_string().into_bytes()))
}

fn status(show: &RoomPlayback, begin_ns: u64, marks_from: usize) -> Value {
    let marks = show.marks().iter().skip(marks_from).map(|mark| {
        let kind = match mark.kind {
            MarkerKind::Joined => "joined",
            MarkerKind::Left => "left",
            MarkerKind::Disconnected => "away",
            MarkerKind::Reconnected => "back",
            MarkerKind::Killed => "killed",
        };
        json!([mark.tick, kind, mark.name, mark.killer])
    });
    let marks: Vec<Value> = marks.collect();
    let hex = |checksum: u64| format!("{checksum:016x}");
    let differs = show.differs().map(|found| {
        json!({ "tick": found.tick, "recorded": hex(found.recorded), "replayed": hex(found.replayed) })
    });
    let (snapshots, snapshot_bytes) = show.snapshots();
    json!({
        "tick": show.tick(),
        "first": show.first(),
        "last": show.last(),
        "tick_hz": show.identity().tick_hz,
        "ended": show.ended(),
        "indexed": show.indexed(),
        "differs": differs,
        "snapshots": snapshots,
        "snapshot_bytes": snapshot_bytes,
        "begin_ms": begin_ns as f64 / 1e6,
        "marks": marks,
    })
}

/// Starts a seek to the world after this number of ticks.
#[unsafe(no_mangle)]
pub extern "C" fn watch_seek(tick: u32) {
    with_room_playback(|show| show.seek(tick));
}

/// Selects the player to spectate, or the leader with 0.
#[unsafe(no_mangle)]
pub extern "C" fn watch_follow(player: u32) {
    let player = u16::try_from(player).ok().and_then(|player| PlayerId(player).as_player());
    with_room_playback(|show| show.follow(player));
}

/// Continues a seek or the index for about this many ticks. Outputs one byte, which is 1 if work is
/// left. After the end of a seek, the records for a new client follow this byte.
#[unsafe(no_mangle)]
pub extern "C" fn watch_work(ticks: u32) -> usize {
    let mut reply = Messages::default();
    let done = with_room_playback(|show| show.work(ticks, &mut reply));
    let mut out = vec![u8::from(done.more)];
    done.welcome.iter().for_each(|message| record(UPDATE, message, &mut out));
    reply.iter().for_each(|message| record(UPDATE, message, &mut out));
    with(|buffers| buffers.put_out(out))
}

/// Plays this number of ticks. Outputs their updates as records.
#[unsafe(no_mangle)]
pub extern "C" fn watch_play(ticks: u32) -> usize {
    let (mut reply, mut out) = (Messages::default(), Vec::new());
    with_room_playback(|show| show.play(ticks, &mut reply));
    reply.iter().for_each(|message| record(UPDATE, message, &mut out));
    with(|buffers| buffers.put_out(out))
}

/// Returns the number of completed ticks at the current position; 0 without a world.
#[unsafe(no_mangle)]
pub extern "C" fn watch_tick() -> u32 {
    with_room_playback(|show| show.tick().unwrap_or_default())
}

/// Returns the checksum at the current position; 0 without a world.
#[unsafe(no_mangle)]
pub extern "C" fn watch_checksum() -> u64 {
    with_room_playback(|show| show.checksum().unwrap_or_default())
}

/// Returns the recorded checksum after this number of ticks; 0 if none was recorded.
#[unsafe(no_mangle)]
pub extern "C" fn watch_recorded(tick: u32) -> u64 {
    with_room_playback(|show| show.recorded(tick).unwrap_or_default())
}

/// Outputs the players at the current position: numbers and names.
#[unsafe(no_mangle)]
pub extern "C" fn watch_players() -> usize {
    let players = with_room_playback(|show| show.players());
    let players: Vec<Value> = players.iter().map(|(player, name)| json!([player.0, name])).collect();
    with(|buffers| buffers.put_out(json!({ "players": players }).to_string().into_bytes()))
}

/// Returns the time at which a tick was recorded, in milliseconds since the first packet of the
/// file.
#[unsafe(no_mangle)]
pub extern "C" fn playback_ms_of_tick(tick: u32) -> f64 {
    call(|page, playback| {
        let begin_ns = playback.begin_ns();
        playback
            .room_playback(&page.room)
            .map_or(0.0, |show| show.at_ns(tick).saturating_sub(begin_ns) as f64 / 1e6)
    })
}

/// Returns the number of completed ticks at a time, in milliseconds since the first packet of the
/// file.
#[unsafe(no_mangle)]
pub extern "C" fn watch_tick_at(ms: f64) -> u32 {
    call(|page, playback| {
        let at_ns = playback.begin_ns().saturating_add((ms.max(0.0) * 1e6) as u64);
        playback.room_playback(&page.room).map_or(0, |show| show.tick_at(at_ns))
    })
}
