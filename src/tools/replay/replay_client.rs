//! Replays one client of a capture: passes its bytes to a [`ServerConnection`], as the server
//! did.
//!
//! The input is the client's pieces in order, each with its time and tick and, if the server
//! granted a join, the player; and the saved session, if any. The output is the commands
//! ([`DecodedCommand`]) and the server's replies. The replayed connection ends for the same reason
//! as on the server; later bytes are ignored.

use std::time::Duration;

use tickwire_sim::{PlayerId, RawCommand};

use super::error::ReplayError;
use super::recording::ClientRecord as Client;
use super::replay_input::BufferedDatagram;
use super::server_replies::{self, RecordedRejection, ReplyDiff, ServerReplies};
use crate::connection::{
    Answer, ClientRequest, ConnectionOutput, Denial, DisconnectReason, ReadTime, RoomInfo, ServerConnection,
    WireFormat,
};
use crate::datagram::header::HEADER_BYTES;
use crate::game::GameInfo;
use crate::limits;
use crate::packet::routes;
use crate::tools::capture::{StreamPiece, TcpConnection, TcpSide, Untrusted};
use crate::ws::http::{HeadReader, RequestHead, ResponseReader};

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
    pub commands: Vec<DecodedCommand>,
    /// The number of equal replies, and the first different one.
    pub answers: usize,
    pub differing: Option<ReplyDiff>,
    /// The sequence number of the last command before the capture.
    pub last_sequence_before: u64,
}

/// The inputs of a replay that apply to all clients.
pub struct ReplayContext<'a> {
    /// The earliest time of a packet, in nanoseconds since 1970.
    pub first_ns: u64,
    /// Returns the wire format that a request selects.
    pub find: RouteFn<'a>,
    /// The opened datagrams from all clients, in order.
    pub datagrams: &'a [BufferedDatagram],
    /// Returns the number of completed ticks and the slack at the time when a packet was captured.
    pub time_of: &'a dyn Fn(usize) -> (u32, Duration),
}

/// Replays all bytes of a client of this room.
pub fn replay_client(
    hearing: &ReplayContext<'_>,
    connection: &TcpConnection<'_>,
    recorded_client: Client<'_>,
    mut room: RoomInfo,
) -> Result<ClientReplay, ReplayError> {
    let ReplayContext { first_ns, find, time_of, datagrams } = hearing;
    let (mut replayed, mut before) = (RecordedAnswers::default(), 0);
    let (mut reader, mut format, mut open) = (Some(HeadReader::new(limits::HEAD_LIMITS)), None, None);
    let mut resumed = recorded_client.resumed;
    let pieces = received(connection, datagrams);
    for (at, piece) in pieces.iter().enumerate() {
        let now = Duration::from_nanos(piece.at_ns);
        if let Some(past) = resumed.take_if(|past| past.packet < piece.packet) {
            let past_now = Duration::from_nanos(past.at_ns);
            let restore = |format| ServerConnection::restore(format, room.clone(), past.session, past_now);
            let Some(restored) = format.clone().and_then(restore) else {
                let refused = ReplayError::at(
                    *first_ns,
                    (past.packet, past.at_ns),
                    "the recorded state of the session cannot be decoded",
                );
                return Err(ReplayError { client: Some(connection.client), ..refused });
            };
            // Replies before the saved session are unknown.
            (before, replayed.answers) = (restored.sequence(), ServerReplies::from_packet(past.packet));
            open = Some(restored);
        }
        // The server may reject a join. A join record is in the file before the client's next
        // bytes.
        let next = pieces.get(at + 1).map_or(usize::MAX, |next| next.packet);
        let joins = recorded_client.joined.filter(|(packet, _)| (piece.packet..next).contains(packet));
        (replayed.packet, replayed.joins) = (piece.packet, joins.map(|(_, player)| player));
        let mut rest = None;
        if let Some(reading) = reader.as_mut().filter(|_| !piece.is_datagram) {
            let head = match reading.receive(piece.bytes) {
                Ok(None) => continue,
                Ok(head) => head,
                Err(_) => None,
            };
            rest = Some(reading.rest().to_vec());
            reader = None;
            format = with_compression(head.and_then(|head| find(room.game, &head)), connection);
            if let Some(format) = &format {
                let number = server_replies::infer_room_info(connection, format, &mut room);
                replayed.rejected = server_replies::find_rejection(connection, format);
                let begun = open.insert(ServerConnection::new(format.clone(), room.clone(), now));
                begun.begin(number);
                if let Err(reason) = replayed.drain(begun) {
                    replayed.answers.add(piece.packet, &reason.frames(format));
                    open = None;
                }
            }
        }
        let (Some(current), Some(format)) = (&mut open, &format) else { continue };
        let bytes = rest.as_deref().unwrap_or(piece.bytes);
        let (tick, slack) = time_of(piece.packet);
        let at = ReadTime { now, tick, slack };
        piece.pass(bytes, current, at);
        if let Err(reason) = replayed.drain(current) {
            replayed.answers.add(piece.packet, &reason.frames(format));
            open = None;
        }
    }
    let compared = format.map(|format| replayed.answers.compare(connection, &format));
    let (answers, differing) = compared.unwrap_or_default();
    Ok(ClientReplay { commands: replayed.commands, answers, differing, last_sequence_before: before })
}

/// Adds the compression that the server agreed to.
fn with_compression(format: Option<WireFormat>, connection: &TcpConnection<'_>) -> Option<WireFormat> {
    Some(WireFormat { compression: server_replies::find_compression(connection), ..format? })
}

/// Bytes of a client: a piece of its stream, or an opened datagram.
struct ReceivedPiece<'a> {
    at_ns: u64,
    packet: usize,
    bytes: &'a [u8],
    is_datagram: bool,
}

impl ReceivedPiece<'_> {
    /// Passes the bytes to the connection as the server did.
    fn pass(&self, bytes: &[u8], connection: &mut ServerConnection, at: ReadTime) {
        if self.is_datagram {
            // The rest of a datagram that breaks a rule is dropped here, as on the server.
            let _ = connection.receive_datagram(bytes.get(HEADER_BYTES..).unwrap_or_default(), at);
        } else {
            connection.receive(bytes, at);
        }
    }
}

/// Everything that a client sent, in the order of the capture.
fn received<'a>(connection: &TcpConnection<'a>, datagrams: &'a [BufferedDatagram]) -> Vec<ReceivedPiece<'a>> {
    let stream = connection.pieces.iter().filter(|piece| piece.from == TcpSide::Client).map(|piece| {
        let StreamPiece { at_ns, packet, bytes, .. } = *piece;
        ReceivedPiece { at_ns, packet, bytes, is_datagram: false }
    });
    let is_of_client = |datagram: &&BufferedDatagram| {
        datagram.connection == connection.client && datagram.packet > connection.first_packet
    };
    let lane = datagrams.iter().filter(is_of_client).map(|datagram| {
        let BufferedDatagram { at_ns, packet, ref bytes, .. } = *datagram;
        ReceivedPiece { at_ns, packet, bytes, is_datagram: true }
    });
    let mut all: Vec<_> = stream.chain(lane).collect();
    all.sort_by_key(|piece| piece.packet);
    all
}

/// The name of the room of a connection: the one that the server has chosen for it, by the header
/// of the response, otherwise the one that its request selects.
pub fn room_of(connection: &TcpConnection<'_>) -> Untrusted {
    let pieces = |side| connection.pieces.iter().filter(move |piece| piece.from == side);
    let mut response = ResponseReader::new(limits::HEAD_LIMITS);
    let answer = pieces(TcpSide::Server).find_map(|piece| response.receive(piece.bytes).ok().flatten());
    let chosen = answer.as_ref().and_then(|head| head.headers.get(routes::ROOM_HEADER));
    if let Some(name) = chosen.and_then(routes::room_of_page) {
        return name.into();
    }
    let mut request = HeadReader::new(limits::HEAD_LIMITS);
    let head = pieces(TcpSide::Client).find_map(|piece| request.receive(piece.bytes).ok().flatten());
    head.map_or_else(Untrusted::default, |head| routes::split_room_path(head.path()).0.into())
}

/// Answers the client's requests as recorded.
#[derive(Default)]
struct RecordedAnswers {
    /// The packet of the current bytes, and the player of a join that the server granted for them.
    packet: usize,
    joins: Option<PlayerId>,
    /// The parts of the handshake that the server rejected. The server's decision depends on data
    /// that the recording lacks.
    rejected: RecordedRejection,
    commands: Vec<DecodedCommand>,
    answers: ServerReplies,
}

impl RecordedAnswers {
    /// Executes the outputs of the last input.
    fn drain(&mut self, connection: &mut ServerConnection) -> Result<(), DisconnectReason> {
        while let Some(output) = connection.next_output()? {
            let answer = match output {
                ConnectionOutput::Send(frames) => {
                    self.answers.add(self.packet, frames);
                    None
                }
                ConnectionOutput::Request(request) => self.answer(request),
                ConnectionOutput::Datagram(_)
                | ConnectionOutput::Observed { .. }
                | ConnectionOutput::Event(_) => None,
            };
            if let Some(answer) = answer {
                connection.answer(answer);
            }
        }
        Ok(())
    }

    fn answer(&mut self, request: ClientRequest) -> Option<Answer> {
        match request {
            ClientRequest::Authenticate => Some(Answer::Authenticated(silent_if(self.rejected.token))),
            ClientRequest::Lockstep => Some(Answer::LockstepChecked(silent_if(self.rejected.lockstep))),
            // The client of a rejected join remains a spectator. The recording has the reply.
            ClientRequest::Join { .. } => Some(Answer::Joined(self.joins.ok_or(Denial::Silent))),
            ClientRequest::Command { command, .. } => {
                self.commands.push(DecodedCommand { command, packet: self.packet });
                Some(Answer::CommandQueued(Ok(())))
            }
            _ => None,
        }
    }
}

/// The answer to a check of the client. The recording has the reply to a rejected client.
fn silent_if(is_rejected: bool) -> Result<(), Denial> {
    if is_rejected { Err(Denial::Silent) } else { Ok(()) }
}
