//! Both ends of a bot's connection: the bot, and its client at the server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tracing::debug;

use crate::connection::DisconnectReason;
use crate::limits;
use crate::server::admission::refusal::Refusal;
use crate::server::admission::upgrade_check::{AcceptedClient, UpgradeCheck};
use crate::server::bots::LocalBot;
use crate::server::clients::memory_stream::MemoryStream;
use crate::server::net::client_thread::ClientEvents;
use crate::server::net::rooms::RunningRoom;
use crate::server::net::server_state::ServerState;
use crate::server::net::tap::{EventKind, EventSource};
use crate::server::net::tcp_client::{ClientStream, TcpClient};
use crate::ws::http::HeadReader;

/// Port of the addresses of bots, which no socket uses: the first ephemeral port of RFC 6335,
/// section 6.
const PORT: u16 = 49_152;

/// A bot in a room.
pub struct BotClient {
    /// The room.
    pub room: Arc<RunningRoom>,
    bot: LocalBot,
    /// The bot's client at the server; `None` before the connection, and between two connections.
    client: Option<Arc<TcpClient>>,
}

impl BotClient {
    /// Creates a bot of this room without a connection.
    pub fn new(room: Arc<RunningRoom>, bot: LocalBot) -> BotClient {
        BotClient { room, bot, client: None }
    }

    /// Returns the number of the bot.
    pub fn number(&self) -> usize {
        self.bot.number()
    }

    /// Returns the name of the bot's player.
    pub fn name(&self) -> &str {
        self.bot.name.as_deref().unwrap_or_default()
    }

    /// Connects the bot if it has no connection, then lets it receive, act and send.
    pub fn step(&mut self, host: &ServerState) {
        let now = host.now();
        if self.client.is_none() && !self.bot.is_waiting(now) {
            self.client = self.connect(host, now);
        }
        let Some(client) = self.client.clone() else { return };
        let ClientStream::Memory(stream) = &client.transport.stream else { return };
        let mut bytes = Vec::new();
        stream.take(&mut bytes);
        self.bot.receive(&bytes, !stream.is_aborted(), now);
        bytes.clear();
        self.bot.act(now, &mut bytes);
        let received = match bytes.is_empty() {
            true => Ok(()),
            false => ClientEvents { host, client: &client }.driver().receive(&bytes),
        };
        host.metrics.bytes_in.inc_by(bytes.len() as u64);
        if !bytes.is_empty() {
            // A room without clients and players sleeps, and a join has to wake it.
            self.room.wake();
        }
        let reason = received.err().or_else(|| client.sender.disconnect_reason());
        if let Some(reason) = reason.or_else(|| self.bot.is_over().then_some(DisconnectReason::PeerLost)) {
            self.end(host, reason);
            self.pause(host);
        }
    }

    /// Lets the bot wait before its next connection.
    pub fn pause(&mut self, host: &ServerState) {
        self.bot.reconnect_later(host.now());
    }

    /// Sends the bot's request to the server, and registers its client. `None` if the server does
    /// not accept it.
    fn connect(&mut self, host: &ServerState, now: Duration) -> Option<Arc<TcpClient>> {
        match self.accept(host, now) {
            Ok(client) => Some(client),
            Err(refusal) => {
                debug!(room = self.room.label(), rule = refusal.rule, "a bot of this server is refused");
                self.bot.reconnect_later(now);
                None
            }
        }
    }

    fn accept(&mut self, host: &ServerState, now: Duration) -> Result<Arc<TcpClient>, Refusal> {
        let request = self.bot.request(now);
        let head = HeadReader::new(limits::HEAD_LIMITS).receive(&request)?;
        let head = head.ok_or_else(|| Refusal::from_rule(400, "bot_without_request"))?;
        let check = UpgradeCheck {
            origins: &[],
            codes: &host.config.codes,
            compression: None,
            room: Some(&self.room.handle),
            is_room_full: false,
            address_limits: host.address_limits(),
            is_stopping: false,
        };
        let (accepted, format) = check.check(&head)?;
        let entry = AcceptedClient {
            room: Arc::clone(&self.room.handle),
            format,
            resume_key: None,
            token: None,
            is_local: false,
            response: accepted.response,
            declined: String::new(),
        };
        let stream = MemoryStream::default();
        stream.write(&entry.response);
        let id = host.next_client.fetch_add(1, Ordering::Relaxed);
        let address = SocketAddr::from((self.bot.ip(), PORT));
        let (dialect, json) = (entry.format.dialect.name(), entry.format.is_json);
        debug!(client = id, room = self.room.label(), dialect, name = self.name(), "bot connected");
        let mut raw = request;
        self.room.redact_name(&mut raw);
        let (info, response) = (self.room.handle.game, entry.response.clone());
        let what = EventKind::opened((address, host.config.bind), info, (dialect, json), raw, response);
        let source = EventSource { client: id, player: 0, at: now, tick: self.room.handle.tick() };
        host.tap.record_open(source, &self.room.run(), what);
        let (room, stream) = (Arc::clone(&self.room), ClientStream::Memory(stream));
        let transport = host.transport((id, &entry.format), room, stream);
        let client = Arc::new(TcpClient::new((id, address), transport, entry, now));
        ClientEvents { host, client: &client }.register(&client);
        Ok(client)
    }

    /// Closes the bot's connection, and removes its player from the world.
    pub fn end(&mut self, host: &ServerState, reason: DisconnectReason) {
        let Some(client) = self.client.take() else { return };
        client.close(reason.clone(), host.now());
        let reason = client.sender.disconnect_reason().unwrap_or(reason);
        let events = ClientEvents { host, client: &client };
        client.leave_world(host.now());
        events.driver().ignore(&[]);
        events.release(reason.name());
        self.room.wake();
    }
}
