//! The server's end of one connection. It reads like the server's network code, but in steps of
//! virtual time, and checks each step of the host.

use core::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::{PlayerId, RawCommand};

use super::connection_twin::{AnsweredRequest, ConnectionTwin, RequestRecord};
use super::counts::SimulationCounts;
use super::failure::{InjectedBug, InvariantFailure};
use super::server_models::ServerModels;
use super::sim_server::SimServer;
use super::virtual_tcp::{ReadResult, ServerTransport, VirtualTcp};
use crate::connection::{Answer, ClientRequest, ConnectionOutput, Denial, DisconnectReason};
use crate::datagram::DatagramError;
use crate::game::BotRng;
use crate::limits;
use crate::server::admission::address_rate_limits::LimitedAction;
use crate::server::admission::refusal::Refusal;
use crate::server::clients::client::Client;
use crate::server::host::connection::HostConnection;
use crate::server::host::{HostObserver, HostState, HostTransport};
use crate::util::address_prefix::AddressPrefix;
use crate::ws::http::RequestHead;

/// The server's end of one connection.
pub struct SimConnection {
    /// The connection of the host.
    pub host_end: HostConnection<ServerTransport>,
    twin: Option<ConnectionTwin>,
    rng: BotRng,
}

/// Passes the steps of a connection to the models and to the connection's twin.
struct SimObserver<'a> {
    models: &'a mut ServerModels,
    counts: &'a mut SimulationCounts,
    twin: &'a mut Option<ConnectionTwin>,
    rng: &'a mut BotRng,
    broken: Option<InvariantFailure>,
}

impl SimConnection {
    /// Accepts a connection like the server's listener. Returns `None` if the connection is
    /// refused.
    pub fn accept(
        address: SocketAddr,
        wire: &Arc<VirtualTcp>,
        seed: u64,
        host: &mut SimServer,
        counts: &mut SimulationCounts,
    ) -> Option<SimConnection> {
        let (line, now) = (ServerTransport(Arc::clone(wire)), host.now());
        let accepted = HostConnection::accept(address, line.clone(), &host.state);
        let rate = LimitedAction::Connection;
        if !matches!(&accepted, Err(refusal) if refusal.rule == rate.rule()) {
            host.models.on_charged(address, rate, now);
        }
        match accepted {
            Ok(host_end) => Some(SimConnection { host_end, twin: None, rng: BotRng::new(seed) }),
            Err(refusal) => {
                counts.add(match refusal.rule == rate.rule() {
                    true => "refused: connection rate",
                    false => "refused: no place for a request",
                });
                line.write(&refusal.response);
                line.close_output();
                None
            }
        }
    }

    /// Reads the bytes that have arrived.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn step(
        &mut self,
        host: &mut SimServer,
        counts: &mut SimulationCounts,
    ) -> Result<(), InvariantFailure> {
        let now = host.now();
        for _ in 0..16 {
            if self.host_end.is_over() || self.host_end.is_past_deadline(now) {
                break;
            }
            let max = match self.rng.below(6) {
                0 => 1 + self.rng.below(40) as usize,
                _ => limits::CLIENT_READ_BYTES,
            };
            let read = self.host_end.line.0.server_read(max);
            if read == ReadResult::Nothing {
                break;
            }
            self.with_observer(host, counts, |end, state, observer| match read {
                ReadResult::Bytes(bytes) => end.receive(&bytes, state, observer),
                _ => end.on_disconnected(state, observer),
            })?;
        }
        while let Some((from, datagram)) = self.host_end.line.0.udp.server_receive() {
            self.with_observer(host, counts, |end, state, observer| {
                end.receive_datagram((&datagram, Some(from)), state, observer);
            })?;
        }
        self.with_observer(host, counts, |end, state, observer| end.poll(state, observer))
    }

    /// Runs a step of the host. The error is the first failure that the observer found.
    fn with_observer(
        &mut self,
        host: &mut SimServer,
        counts: &mut SimulationCounts,
        step: impl FnOnce(
            &mut HostConnection<ServerTransport>,
            &mut HostState<ServerTransport>,
            &mut SimObserver<'_>,
        ),
    ) -> Result<(), InvariantFailure> {
        let SimConnection { host_end, twin, rng } = self;
        let SimServer { state, models, .. } = host;
        let mut observer = SimObserver { models, counts, twin, rng, broken: None };
        step(host_end, state, &mut observer);
        observer.broken.map_or(Ok(()), Err)
    }
}

impl SimObserver<'_> {
    fn note(&mut self, checked: Result<(), InvariantFailure>) {
        self.broken = self.broken.take().or(checked.err());
    }

    /// Passes the requests of received bytes to the models.
    fn check_record(
        &mut self,
        client: &Client<ServerTransport>,
        record: &RequestRecord,
        now: Duration,
    ) -> Result<(), InvariantFailure> {
        let requests = &record.requests;
        for action in requests.iter().filter_map(charged_action) {
            self.models.on_charged(client.address, action, now);
        }
        for (tick, checksum) in requests.iter().filter_map(reported_checksum) {
            self.models.worlds.on_checksum(client, tick, checksum)?;
        }
        for command in requests.iter().filter_map(queued_command) {
            self.models.on_command(client, command)?;
        }
        let joined = requests.iter().filter_map(joined_player).next_back();
        joined.map_or(Ok(()), |player| self.models.on_joined(client, player, now, self.counts))
    }
}

impl HostObserver<ServerTransport> for SimObserver<'_> {
    fn on_refused(
        &mut self,
        host: &HostState<ServerTransport>,
        address: SocketAddr,
        refusal: &Refusal,
        head: Option<&RequestHead>,
    ) {
        self.counts.add(match (head, refusal.is_capacity, refusal.status) {
            (None, _, 408) => "refused: late request",
            (None, ..) => "refused: not a request",
            (_, true, 429) => "refused: client rate",
            (_, true, _) => "refused: no place for a client",
            _ => "refused: request",
        });
        let has_no_slot = head.is_some() && refusal.is_capacity && refusal.status != 429;
        if has_no_slot && self.models.injected_bug == Some(InjectedBug::BudgetOvercharged) {
            let prefix = AddressPrefix::from_ip(address.ip());
            let _ = host.address_limits.take(prefix, LimitedAction::Client, host.now);
        }
    }

    fn begin(
        &mut self,
        host: &HostState<ServerTransport>,
        client: &Client<ServerTransport>,
    ) -> Result<(), DisconnectReason> {
        self.models.on_charged(client.address, LimitedAction::Client, host.now);
        self.models.marks.insert(client.id, Vec::new());
        let twin = self.twin.insert(ConnectionTwin::new(client, self.rng.bits()));
        let (driver, mut record) = (host.driver(client), RequestRecord::default());
        let begun = driver.begin_with(|output| record.execute(output, &driver));
        let is_same = twin.begin(client.id, record);
        self.note(is_same);
        if let Err(reason) = &begun {
            self.note(Err(InvariantFailure::new("everyone may play", reason.to_string())));
        }
        begun
    }

    fn receive(
        &mut self,
        host: &HostState<ServerTransport>,
        client: &Client<ServerTransport>,
        bytes: &[u8],
    ) -> Result<(), DisconnectReason> {
        let is_closing = client.sender.disconnect_reason().is_some();
        let (driver, mut record) = (host.driver(client), RequestRecord::default());
        let received = driver.receive_with(bytes, |output| record.execute(output, &driver));
        let mut checked = self.check_record(client, &record, host.now);
        if let Some(twin) = self.twin.as_mut().filter(|_| !is_closing) {
            checked = twin.receive(bytes, driver.read_time, record).and(checked);
        }
        self.note(checked);
        received
    }

    fn receive_datagram(
        &mut self,
        host: &HostState<ServerTransport>,
        client: &Client<ServerTransport>,
        (datagram, from): (&[u8], Option<SocketAddr>),
    ) -> Result<(), DatagramError> {
        let (driver, mut record, mut opened) = (host.driver(client), RequestRecord::default(), None);
        let repeats = self.models.injected_bug == Some(InjectedBug::CommandRepeated);
        let execute = |output: ConnectionOutput<'_>| {
            let repeated = match &output {
                ConnectionOutput::Request(request @ ClientRequest::Command { .. }) if repeats => {
                    Some(request.clone())
                }
                _ => None,
            };
            let answer = record.execute(output, &driver);
            repeated.and_then(|request| driver.execute(ConnectionOutput::Request(request)));
            answer
        };
        let on_opened = |messages: &[u8]| opened = Some(messages.to_vec());
        let received = driver.receive_datagram_with(datagram, from, on_opened, execute);
        let Some(opened) = opened else { return received };
        self.counts.add("lane: datagrams opened by the server");
        let mut checked = self.check_record(client, &record, host.now);
        if let Some(twin) = self.twin.as_mut() {
            checked = twin.receive_datagram(&opened, driver.read_time, record).and(checked);
        }
        self.note(checked);
        received
    }

    fn leave_world(&mut self, host: &HostState<ServerTransport>, client: &Client<ServerTransport>) {
        if let Some(reason) = client.sender.disconnect_reason() {
            self.counts.add(disconnect_counter(&reason));
        }
        self.models.leave_world(client, host.now, self.counts);
    }
}

/// The name under which a disconnect reason is counted.
fn disconnect_counter(reason: &DisconnectReason) -> &'static str {
    match reason {
        DisconnectReason::PeerClosed(_) => "ended: the peer closed",
        DisconnectReason::PeerLost => "ended: the peer was lost",
        DisconnectReason::Violation(_) => "ended: broke a rule of RFC 6455",
        DisconnectReason::Packet(_) => "ended: a broken packet",
        DisconnectReason::Closed(close_reason) => match close_reason.name() {
            "message_rate" => "ended: message_rate",
            "byte_rate" => "ended: byte_rate",
            "hello_late" => "ended: hello_late",
            "slow_client" => "ended: slow_client",
            "idle_timeout" => "ended: idle_timeout",
            "kicked" => "ended: kicked",
            "banned" => "ended: banned",
            "going_away" => "ended: going_away",
            "taken_over" => "ended: taken_over",
            "wrong_frame_type" => "ended: wrong_frame_type",
            "hello_first" => "ended: hello_first",
            _ => "ended: broke another rule of the server",
        },
    }
}

/// The player that the server assigned in response to a request.
fn joined_player((_, answer): &AnsweredRequest) -> Option<PlayerId> {
    match answer {
        Some(Answer::Joined(player)) => player.ok(),
        _ => None,
    }
}

/// The command of a request, if the room queued it.
fn queued_command((request, answer): &AnsweredRequest) -> Option<&RawCommand> {
    match (request, answer) {
        (ClientRequest::Command { command, .. }, Some(Answer::CommandQueued(Ok(())))) => Some(command),
        _ => None,
    }
}

/// The checksum that a request reported.
fn reported_checksum((request, _): &AnsweredRequest) -> Option<(u32, u64)> {
    match request {
        ClientRequest::Checksum { tick, checksum } => Some((*tick, *checksum)),
        _ => None,
    }
}

/// The rate limit that a request consumed.
fn charged_action((request, answer): &AnsweredRequest) -> Option<LimitedAction> {
    let is_rejected = matches!(
        answer,
        Some(Answer::Joined(Err(Denial::Rejected(..))) | Answer::CommandQueued(Err(Denial::Rejected(..))))
    );
    match request {
        _ if is_rejected => None,
        ClientRequest::Join { .. } => Some(LimitedAction::Join),
        ClientRequest::Command { shared, .. } => shared.map(LimitedAction::Shared),
        _ => None,
    }
}
