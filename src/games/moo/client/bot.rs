//! One bot: a link, a dialect, an observer and a policy, without I/O and without a clock.
//!
//! The driver passes in bytes, the end of the stream, and the time; the bot returns bytes to send. After each
//! input, drain the output; call [`Bot::act`] about ten times a second. The observer sees every packet
//! and keeps the [`Picture`] that the policy reads; a `Picture` alone is an observer.

use std::sync::Arc;
use std::time::Duration;

use super::heard::Heard;
use super::picture::Picture;
use super::policy::{Intent, Policy};
use crate::client::link::{Event, Link, LinkError};
use crate::packet::client_packet::Mode;
use crate::packet::{ClientPacket, Dialect, Direction, PacketError};
use crate::session::NATIVE_VERSION;

/// Time between two pings.
const PING_EVERY: Duration = Duration::from_millis(2_500);
/// Shortest time that a dead bot waits before it enters again. It must not be zero: a player who
/// returns within one update cannot be told from one who never died.
const MOURNING: Duration = Duration::from_millis(1_000);
/// Added to that for each of the next bots, up to [`MOURNERS`].
const MOURNING_STEP: Duration = Duration::from_millis(250);
/// Number of different waiting times.
const MOURNERS: usize = 8;
/// Skin colours that a bot chooses from.
const SKINS: usize = 10;

/// The stage of a bot's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The upgrade is under way, or the bot has no body yet.
    Coming,
    /// It has a body.
    Playing,
    /// It is leaving.
    Leaving,
    /// The connection is no longer usable.
    Over,
}

/// Observes a bot's traffic.
pub trait Observer {
    /// The picture of the world.
    fn picture(&self) -> &Picture;

    /// The bot sends a packet.
    fn said(&mut self, packet: &ClientPacket<'_>);

    /// The server has sent a packet, which arrived `now`.
    fn hear(&mut self, heard: &Heard, now: Duration);

    /// The server has sent a message that is not a packet of the dialect.
    fn garbled(&mut self, error: &PacketError) {
        self.error(error.name(), error.to_string());
    }

    /// Something is wrong: its name, and a description.
    fn error(&mut self, _name: &str, _detail: String) {}

    /// The numbers of bytes received and to be sent.
    fn moved(&mut self, _received: usize, _sent: usize) {}

    /// The connection ended before the bot wanted it to.
    fn ended(&mut self, _reason: &str) {}
}

impl Observer for Picture {
    fn picture(&self) -> &Picture {
        self
    }

    fn said(&mut self, packet: &ClientPacket<'_>) {
        Picture::said(self, packet);
    }

    fn hear(&mut self, heard: &Heard, _: Duration) {
        Picture::hear(self, heard);
    }
}

/// What the names of bots begin with.
const NAME: &str = "bot ";

/// Whether a bot would have this name.
pub fn is_bots_name(name: &str) -> bool {
    name.strip_prefix(NAME).is_some_and(|number| number.parse::<usize>().is_ok())
}

/// See the [module](self).
pub struct Bot<O> {
    link: Link,
    dialect: Arc<Dialect>,
    is_native: bool,
    /// Whether its endpoint is one of `?format=json`.
    pub is_json: bool,
    /// The name under which it plays.
    pub name: String,
    skin: u8,
    policy: Box<dyn Policy>,
    mourning: Duration,
    /// When a dead bot enters again.
    returns: Option<Duration>,
    stage: Stage,
    sequence: u32,
    nonce: u32,
    pinged: Option<Duration>,
    intents: Vec<Intent>,
    /// The observer.
    pub observer: O,
}

impl<O: Observer> Bot<O> {
    /// The bot with this index, counted from 0, on a new link: name, colour and waiting time after
    /// death follow from the index.
    pub fn new(
        index: usize,
        link: Link,
        dialect: Arc<Dialect>,
        policy: Box<dyn Policy>,
        observer: O,
    ) -> Bot<O> {
        let is_native = dialect.name() == "native";
        Bot {
            link,
            dialect,
            is_native,
            is_json: false,
            name: format!("{NAME}{index}"),
            skin: (index % SKINS) as u8,
            policy,
            mourning: MOURNING + MOURNING_STEP * (index % MOURNERS) as u32,
            returns: None,
            stage: Stage::Coming,
            sequence: 0,
            nonce: 0,
            pinged: None,
            intents: Vec::new(),
            observer,
        }
    }

    /// The bot's stage.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Takes bytes of the server that arrived `now`.
    pub fn receive(&mut self, bytes: &[u8], now: Duration) {
        self.observer.moved(bytes.len(), 0);
        self.link.receive(bytes);
        self.take_events(now);
    }

    /// Handles the end of the byte stream; `reason` is the socket's error, if any.
    pub fn receive_eof(&mut self, reason: Option<&str>, now: Duration) {
        if let Some(reason) = reason.filter(|_| self.stage != Stage::Over) {
            self.end(reason);
            return;
        }
        self.link.receive_eof();
        self.take_events(now);
    }

    /// Pings, respawns, and carries out the policy's intents.
    pub fn act(&mut self, now: Duration) {
        if self.stage != Stage::Playing {
            return;
        }
        if self.pinged.is_none_or(|before| now.saturating_sub(before) >= PING_EVERY) {
            self.pinged = Some(now);
            self.nonce += 1;
            let nonce = self.is_native.then_some(self.nonce);
            self.say(&ClientPacket::Ping { nonce });
        }
        if self.observer.picture().is_dead {
            self.mourn(now);
        } else {
            self.returns = None;
        }
        let mut intents = std::mem::take(&mut self.intents);
        self.policy.decide(self.observer.picture(), now, &mut intents);
        intents.drain(..).for_each(|intent| self.carry_out(intent));
        self.intents = intents;
    }

    /// Waits, and enters again.
    fn mourn(&mut self, now: Duration) {
        let returns = *self.returns.get_or_insert(now + self.mourning);
        if now >= returns {
            self.returns = None;
            // Entering again is a command like any other, and uses a sequence implicitly.
            self.sequence += 1;
            let (name, skin) = (Some(self.name.clone()), Some(self.skin));
            self.say(&ClientPacket::EnterGame { name, skin, moofoll: false });
        }
    }

    /// Leaves: from now on, a close by the server is not a disconnect.
    pub fn leave(&mut self) {
        if self.stage != Stage::Over {
            self.stage = Stage::Leaving;
            self.link.close();
        }
    }

    /// Moves the bytes to send to the end of `into`.
    pub fn drain_output(&mut self, into: &mut Vec<u8>) {
        let before = into.len();
        self.link.drain_output(into);
        self.observer.moved(0, into.len() - before);
    }

    fn carry_out(&mut self, intent: Intent) {
        let sequence = self.is_native.then(|| {
            self.sequence += 1;
            self.sequence
        });
        let tick = None;
        self.say(&match intent {
            Intent::Walk(direction) => ClientPacket::Move { sequence, tick, direction },
            Intent::Aim(heading) => ClientPacket::Aim { sequence, tick, heading },
            Intent::Attack { on, heading } => {
                ClientPacket::Attack { sequence, tick, state: on, heading: Some(heading) }
            }
            Intent::Select { id, is_weapon } => {
                ClientPacket::Select { sequence, tick, id: id.into(), is_weapon }
            }
            Intent::Upgrade(choice) => ClientPacket::Upgrade { sequence, tick, choice: choice.into() },
            Intent::Clan(action) => ClientPacket::Clan { sequence, tick, action },
            Intent::Ping => ClientPacket::MapPing { sequence, tick },
            Intent::Chat(text) => ClientPacket::Chat { sequence, tick, text },
        });
    }

    fn say(&mut self, packet: &ClientPacket<'_>) {
        let is_needed = matches!(packet, ClientPacket::Hello { .. } | ClientPacket::EnterGame { .. });
        if !is_needed && !packet.is_in(&self.dialect) {
            return;
        }
        let message = packet.encode(&self.dialect);
        if message.is_empty() {
            self.observer.error("not_in_dialect", format!("{packet:?}"));
            return;
        }
        self.observer.said(packet);
        if !self.is_json {
            self.link.send_binary(&message);
        } else if let Ok(text) = self.dialect.json_from_msgpack(Direction::ToServer, &message) {
            self.link.send_text(&text);
        }
    }

    fn enter(&mut self) {
        let (name, skin) = (Some(self.name.clone()), Some(self.skin));
        if self.is_native {
            self.say(&ClientPacket::Hello { version: NATIVE_VERSION, mode: Mode::Play, name, skin });
        } else {
            self.say(&ClientPacket::EnterGame { name, skin, moofoll: false });
        }
    }

    fn take_events(&mut self, now: Duration) {
        loop {
            let heard = match self.link.next_event() {
                Ok(None) => return,
                Ok(Some(Event::Open)) => {
                    self.enter();
                    continue;
                }
                Ok(Some(Event::Binary(message))) => decode(&self.dialect, message),
                Ok(Some(Event::Text(text))) if self.is_json => self
                    .dialect
                    .decode_json(Direction::ToClient, text)
                    .map(|decoded| Heard::from_decoded(&decoded)),
                Ok(Some(Event::Text(text))) => {
                    self.observer.error("text_message", text.chars().take(80).collect());
                    continue;
                }
                Ok(Some(Event::Control)) => continue,
                Ok(Some(Event::Closed { code, reason })) => {
                    let code = code.map_or(1005, |code| code.get());
                    let reason = format!("{code} {reason}");
                    return self.end(reason.trim_end());
                }
                Ok(Some(Event::Ended)) => return self.end("end without a close frame"),
                Err(error) => return self.fail(error),
            };
            self.hear(heard, now);
        }
    }

    fn hear(&mut self, heard: Result<Heard, PacketError>, now: Duration) {
        match heard {
            Ok(heard) => self.observer.hear(&heard, now),
            Err(error) => self.observer.garbled(&error),
        }
        if self.stage == Stage::Coming && self.observer.picture().me.is_some() {
            self.stage = Stage::Playing;
        }
    }

    fn fail(&mut self, error: LinkError) {
        let name = match error {
            LinkError::Refused(status) => return self.end(&format!("status {status}")),
            LinkError::Violation(violation) => violation.name(),
        };
        self.observer.error(name, error.to_string());
        self.end(name);
    }

    fn end(&mut self, reason: &str) {
        if !matches!(self.stage, Stage::Leaving | Stage::Over) {
            self.observer.ended(reason);
        }
        self.stage = Stage::Over;
    }
}

fn decode(dialect: &Dialect, message: &[u8]) -> Result<Heard, PacketError> {
    Ok(Heard::from_decoded(&dialect.decode(Direction::ToClient, message)?))
}

#[cfg(test)]
mod tests {
    use super::super::policy::Wanderer;
    use super::*;
    use crate::client::link::Keys;
    use crate::packet::Codes;
    use crate::packet::codes::BUILTIN;
    use crate::ws::conn::{self, Conn, Role};
    use crate::ws::http::HeadReader;
    use crate::ws::message::Limits;
    use crate::ws::upgrade;

    const NOW: Duration = Duration::from_secs(1);

    /// A bot whose upgrade is done, and the server's end of its connection.
    fn connected(dialect: &str) -> (Bot<Picture>, Conn, Arc<Dialect>) {
        connected_with(&Codes::builtin(), dialect)
    }

    fn connected_with(codes: &Codes, dialect: &str) -> (Bot<Picture>, Conn, Arc<Dialect>) {
        let dialect = codes.dialect(dialect).unwrap();
        let policy = Box::new(Wanderer::new(1, 1));
        let keys = Keys { upgrade: [1; 16], mask: || [1, 2, 3, 4] };
        let link = Link::new("localhost:3000", "/", dialect.name() == "native", keys);
        let mut bot = Bot::new(3, link, Arc::clone(&dialect), policy, Picture::new());
        let mut request = Vec::new();
        bot.drain_output(&mut request);
        let head = HeadReader::new().receive(&request).unwrap().unwrap();
        bot.receive(&upgrade::accept(&head, &["tickwire.v1"]).unwrap().response, NOW);
        (bot, Conn::new(Role::Server, Limits::SERVER), dialect)
    }

    /// The packets that the bot has sent since.
    fn said(bot: &mut Bot<Picture>, conn: &mut Conn, dialect: &Dialect) -> Vec<String> {
        let (mut bytes, mut packets) = (Vec::new(), Vec::new());
        bot.drain_output(&mut bytes);
        conn.receive(&bytes);
        while let Some(event) = conn.next_event().unwrap() {
            if let conn::Event::Binary(message) = event {
                packets.push(dialect.decode(Direction::ToServer, message).unwrap().row.name.clone());
            }
        }
        packets
    }

    fn tell(bot: &mut Bot<Picture>, conn: &mut Conn, message: &[u8]) {
        let mut bytes = Vec::new();
        conn.send_binary(message);
        conn.drain_output(&mut bytes);
        bot.receive(&bytes, NOW);
    }

    /// Gives the bot a body, and lets it act.
    fn enter(bot: &mut Bot<Picture>, conn: &mut Conn, dialect: &Dialect) {
        let json = [
            r#"["welcome",[1,"0",1,14400,30,30,"0",5]]"#,
            r#"["spawned",[9]]"#,
            r#"["update",[6,[0,0,65536000,65536000,0,0,0,null],[],[9,"bot 3",3,2000,2000,0]]]"#,
        ];
        for text in json {
            let packet = dialect.decode_json(Direction::ToClient, text).unwrap();
            let message = dialect.encode(Direction::ToClient, &packet.row.name, &packet.values).unwrap();
            tell(bot, conn, &message);
        }
        assert_eq!(bot.stage(), Stage::Playing);
        bot.act(NOW);
    }

    #[test]
    fn a_native_bot_says_hello_and_walks_once_it_has_a_body() {
        let (mut bot, mut conn, dialect) = connected("native");
        assert_eq!(said(&mut bot, &mut conn, &dialect), ["hello"]);
        bot.act(NOW);
        assert_eq!(said(&mut bot, &mut conn, &dialect), [""; 0]);
        enter(&mut bot, &mut conn, &dialect);
        assert_eq!(said(&mut bot, &mut conn, &dialect), ["ping", "move", "aim"]);
        bot.leave();
        assert_eq!(bot.stage(), Stage::Leaving);
    }

    #[test]
    fn a_bot_leaves_out_what_the_tables_lack() {
        let is_kept = |line: &&str| !line.starts_with("to_server\taim\t");
        let texts = BUILTIN.map(|(file, text)| {
            (file, text.lines().filter(is_kept).map(|line| format!("{line}\n")).collect::<String>())
        });
        let (mut bot, mut conn, dialect) = connected_with(&Codes::from_texts(&texts).unwrap(), "native");
        enter(&mut bot, &mut conn, &dialect);
        assert_eq!(said(&mut bot, &mut conn, &dialect), ["hello", "ping", "move"]);
    }
}
