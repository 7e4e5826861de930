//! Passes a client's bytes to the server's connection, and returns the reason if it closes.

use std::time::Duration;

use tickwire::game::Game as _;
use tickwire::internal::connection::{
    Answer, ClientRequest, ConnectionOutput, DisconnectReason, ReadTime, RoomInfo, ServerConnection,
    WireFormat,
};
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::{Identity, PlayerId, TickHz};
use tickwire::internal::limits;
use tickwire::internal::packet::routes::DEFAULT_PATHS;
use tickwire::packet::PacketTables;
use tickwire::ws::Side;
use tickwire::ws::close;
use tickwire::ws::frame::{Header, Opcode};
use tickwire::ws::http::HeadReader;

const AT: ReadTime = ReadTime { now: Duration::from_secs(9), tick: 33, slack: Duration::ZERO };

/// Grants all requests. Returns the reason if the connection ends.
fn drain(connection: &mut ServerConnection) -> Result<(), DisconnectReason> {
    while let Some(output) = connection.next_output()? {
        let answer = match output {
            ConnectionOutput::Request(ClientRequest::Authenticate) => Answer::Authenticated(Ok(())),
            ConnectionOutput::Request(ClientRequest::Join { .. }) => Answer::Joined(Ok(PlayerId(7))),
            ConnectionOutput::Request(ClientRequest::Command { .. }) => Answer::CommandQueued(Ok(())),
            _ => continue,
        };
        connection.answer(answer);
    }
    Ok(())
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
    let format = WireFormat::find(&PacketTables::builtin(), &DEFAULT_PATHS, &head).expect("our path");
    let identity = Identity { seed: 1, map_size_px: 1_440, tick_hz: TickHz::Hz30 }.into();
    let room = RoomInfo { game: Moo::INFO, epoch: "e".into(), identity, update_hz: 30 };
    let mut connection = ServerConnection::new(format.clone(), room, AT.now);
    connection.begin(1);
    drain(&mut connection).ok()?;
    let ending = frames.iter().find_map(|piece| {
        connection.receive(piece, AT);
        drain(&mut connection).err()
    })?;
    let rule = if matches!(ending, DisconnectReason::PeerClosed(_)) { "" } else { ending.name() };
    let frames = ending.frames(&format);
    let (header, at) = Header::decode(&frames, Side::Server).expect("good").expect("whole");
    assert_eq!((header.opcode, header.length as usize), (Opcode::Close, frames.len() - at), "{ending}");
    let close = close::decode(&frames[at..]).expect("a body");
    let code = close.code.map(|code| code.get());
    Some(End { rule: rule.to_owned(), code, reason: close.reason.to_owned() })
}
