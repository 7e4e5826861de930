//! Replays one client of a capture: passes its bytes to a [`Receiver`], as the server did.
//!
//! The input is the client's pieces in order, each with its time and tick and, if the server
//! granted a join, the player; and the saved session, if any. The output is the commands
//! ([`DecodedCommand`]) and the server's replies. The replayed connection ends for the same reason
//! as on the server; later bytes are ignored.

use std::time::Duration;

use tickwire_sim::{PlayerId, RawCommand};

use super::error::ReplayError;
use super::recording::ClientRecord as Client;
use super::server_replies::{self, ReplyDiff, ServerReplies};
use crate::connection::receiver::{Denial, ReadTime, RoomInfo};
use crate::connection::{Driver, Receiver, WireFormat};
use crate::game::{GameInfo, JoinRequest, SharedRateLimit};
use crate::limits;
use crate::packet::routes;
use crate::tools::capture::{TcpConnection, TcpSide, Untrusted};
use crate::ws::http::{HeadReader, RequestHead};

/// Returns the wire format that a request selects in a room of a game; `None` if it is not for the
/// game.
pub type RouteFn<'a> = &'a dyn Fn(&GameInfo, &RequestHead) -> Option<WireFormat>;

/// A command decoded from a client's bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedCommand {
    /// The command.
    pub command: RawCommand,
    /// The number of the packet that completed the command.
    pub packet: usize,
}

/// The commands of a client, and the comparison of the server's replies.
pub struct ClientReplay {
    pub said: Vec<DecodedCommand>,
    /// The number of equal replies, and the first different one.
    pub answers: usize,
    pub differing: Option<ReplyDiff>,
    /// The sequence number of the last command before the capture.
    pub before: u64,
}

/// The inputs of a replay that apply to all clients.
pub struct ReplayContext<'a> {
    /// The earliest time of a packet, in nanoseconds since 1970.
    pub first_ns: u64,
    /// Returns the wire format that a request selects.
    pub find: RouteFn<'a>,
    /// Returns the number of completed ticks and the slack, when a packet was captured.
    pub time_of: &'a dyn Fn(usize) -> (u32, Duration),
}

/// Replays all bytes of a client of this room.
pub fn replay_client(
    hearing: &ReplayContext<'_>,
    connection: &TcpConnection<'_>,
    about: Client<'_>,
    mut room: RoomInfo,
) -> Result<ClientReplay, ReplayError> {
    let ReplayContext { first_ns, find, time_of } = hearing;
    let (mut asked, mut before) = (RecordedDriver::default(), 0);
    let (mut reader, mut endpoint, mut receiver) = (Some(HeadReader::new(limits::HEAD_LIMITS)), None, None);
    let mut resumed = about.resumed;
    let pieces: Vec<_> = connection.pieces.iter().filter(|piece| piece.from == TcpSide::Client).collect();
    for (at, piece) in pieces.iter().enumerate() {
        let now = Duration::from_nanos(piece.at_ns);
        if let Some(past) = resumed.take_if(|past| past.packet < piece.packet) {
            let past_now = Duration::from_nanos(past.at_ns);
            let restore = |endpoint| Receiver::restore(endpoint, room.clone(), past.session, past_now);
            let Some(restored) = endpoint.clone().and_then(restore) else {
                let refused = ReplayError::at(
                    *first_ns,
                    (past.packet, past.at_ns),
                    "the recorded state of the session cannot be decoded",
                );
                return Err(ReplayError { client: Some(connection.client), ..refused });
            };
            // Replies before the saved session are unknown.
            (before, asked.answers) = (restored.sequence(), ServerReplies::from_packet(past.packet));
            receiver = Some(restored);
        }
        // The server may reject a join. A join record is in the file before the client's next
        // bytes.
        let next = pieces.get(at + 1).map_or(usize::MAX, |next| next.packet);
        let joins = about.joined.filter(|(packet, _)| (piece.packet..next).contains(packet));
        (asked.packet, asked.joins) = (piece.packet, joins.map(|(_, player)| player));
        let mut rest = None;
        if let Some(reading) = &mut reader {
            let head = match reading.receive(piece.bytes) {
                Ok(None) => continue,
                Ok(head) => head,
                Err(_) => None,
            };
            rest = Some(reading.rest().to_vec());
            reader = None;
            endpoint = head.and_then(|head| find(room.about, &head));
            if let Some(endpoint) = &endpoint {
                let number = server_replies::infer_room_info(connection, endpoint, &mut room);
                asked.is_turned_away = server_replies::was_rejected(connection, endpoint);
                let begun = receiver.insert(Receiver::new(endpoint.clone(), room.clone(), now));
                if let Err(ending) = begun.begin(number, &mut asked) {
                    asked.answers.add(piece.packet, &ending.frames(endpoint));
                    receiver = None;
                }
            }
        }
        let (Some(open), Some(endpoint)) = (&mut receiver, &endpoint) else { continue };
        let bytes = rest.as_deref().unwrap_or(piece.bytes);
        let (tick, slack) = time_of(piece.packet);
        let at = ReadTime { now, tick, slack };
        if let Err(ending) = open.receive(bytes, at, &mut asked) {
            asked.answers.add(piece.packet, &ending.frames(endpoint));
            receiver = None;
        }
    }
    let compared = endpoint.map(|endpoint| asked.answers.compare(connection, &endpoint));
    let (answers, differing) = compared.unwrap_or_default();
    Ok(ClientReplay { said: asked.said, answers, differing, before })
}

/// The name of the room that the request of a connection selects.
pub fn room_of(connection: &TcpConnection<'_>) -> Untrusted {
    let mut reader = HeadReader::new(limits::HEAD_LIMITS);
    let mut pieces = connection.pieces.iter().filter(|piece| piece.from == TcpSide::Client);
    let head = pieces.find_map(|piece| reader.receive(piece.bytes).ok().flatten());
    head.map_or_else(Untrusted::default, |head| routes::split_room_path(head.path()).0.into())
}

/// Executes the client's requests as recorded.
#[derive(Default)]
struct RecordedDriver {
    /// The packet of the current bytes, and the player of a join that the server granted for them.
    packet: usize,
    joins: Option<PlayerId>,
    /// Whether the server rejected the client's `hello`. The decision depends on data that the
    /// recording lacks.
    is_turned_away: bool,
    said: Vec<DecodedCommand>,
    answers: ServerReplies,
}

impl Driver for RecordedDriver {
    fn answer(&mut self, frames: &[u8]) {
        self.answers.add(self.packet, frames);
    }

    fn authenticate(&mut self, _token: Option<&str>, _lockstep: bool) -> Result<(), Denial> {
        if self.is_turned_away { Err(Denial::Silent) } else { Ok(()) }
    }

    fn start_updates(&mut self, _lockstep: bool) {}

    /// The client of a rejected join remains a spectator. The recording has the reply.
    fn join(&mut self, _profile: JoinRequest, _since: Option<u32>) -> Result<PlayerId, Denial> {
        self.joins.ok_or(Denial::Silent)
    }

    fn command(
        &mut self,
        command: RawCommand,
        _intended: Option<u32>,
        _shared: Option<&'static SharedRateLimit>,
    ) -> Result<(), Denial> {
        self.said.push(DecodedCommand { command, packet: self.packet });
        Ok(())
    }

    fn set_spectated(&mut self, _player: Option<PlayerId>) {}
}
