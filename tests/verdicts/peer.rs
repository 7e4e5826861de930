//! What the receiving half of the server's peer does with a client's bytes.

use std::time::Duration;

use tickwire::game::{Game as _, JoinRequest, SharedRateLimit};
use tickwire::internal::connection::receiver::{Denial, ReadTime, RoomInfo};
use tickwire::internal::connection::{DisconnectReason, Driver, Receiver, WireFormat};
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::{Identity, PlayerId, TickHz};
use tickwire::internal::packet::routes::DEFAULT_PATHS;
use tickwire::limits;
use tickwire::packet::PacketTables;
use tickwire::sim::RawCommand;
use tickwire::ws::Side;
use tickwire::ws::close;
use tickwire::ws::frame::{Header, Opcode};
use tickwire::ws::http::HeadReader;

const AT: ReadTime = ReadTime { now: Duration::from_secs(9), tick: 33, slack: Duration::ZERO };

/// Grants everything.
struct Grants;

impl Driver for Grants {
    fn answer(&mut self, _frames: &[u8]) {}
    fn start_updates(&mut self, _lockstep: bool) {}
    fn join(&mut self, _profile: JoinRequest, _since: Option<u32>) -> Result<PlayerId, Denial> {
        Ok(PlayerId(7))
    }
    fn command(
        &mut self,
        _command: RawCommand,
        _intended: Option<u32>,
        _shared: Option<&'static SharedRateLimit>,
    ) -> Result<(), Denial> {
        Ok(())
    }
    fn set_spectated(&mut self, _player: Option<PlayerId>) {}
}

/// How a connection ends: the rule, empty if the client closed; code and reason of the close frame.
#[derive(Debug, PartialEq, Eq)]
pub struct End {
    pub rule: String,
    pub code: Option<u16>,
    pub reason: String,
}

/// How the connection ends by these pieces of the client, the first of which is the request.
pub fn end(pieces: &[&[u8]]) -> Option<End> {
    let (request, frames) = pieces.split_first().expect("a request");
    let head = HeadReader::new(limits::HEAD_LIMITS).receive(request).expect("HTTP").expect("whole");
    let endpoint = WireFormat::find(&PacketTables::builtin(), &DEFAULT_PATHS, &head).expect("our path");
    let identity = Identity { seed: 1, map_size_px: 1_440, tick_hz: TickHz::Hz30 }.into();
    let room = RoomInfo { about: Moo::INFO, epoch: "e".into(), identity, update_hz: 30 };
    let mut receiver = Receiver::new(endpoint.clone(), room, AT.now);
    receiver.begin(1, &mut Grants).ok()?;
    let ending = frames.iter().find_map(|piece| receiver.receive(piece, AT, &mut Grants).err())?;
    let rule = if matches!(ending, DisconnectReason::PeerClosed(_)) { "" } else { ending.name() };
    let frames = ending.frames(&endpoint);
    let (header, at) = Header::decode(&frames, Side::Server).expect("good").expect("whole");
    assert_eq!((header.opcode, header.length as usize), (Opcode::Close, frames.len() - at), "{ending}");
    let close = close::decode(&frames[at..]).expect("a body");
    let code = close.code.map(|code| code.get());
    Some(End { rule: rule.to_owned(), code, reason: close.reason.to_owned() })
}
