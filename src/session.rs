//! One client's session: packets in, commands and answers out.
//!
//! ```text
//!              hello (if the dialect has it)     enter
//!  Greeting ───────────────────────► Watching ────────► Playing      in any state, when the connection ends,
//!     other dialects begin here ─────────┘                           the driver queues a leave
//! ```
//!
//! The driver calls [`Session::handle`] for each packet and carries out the [`Output`]s; a
//! [`Breach`] closes the client. The session issues commands only for the client's own
//! player, whatever player a packet claims to come from. What the packets of a game mean is up to
//! its [`Verbs`]. Whether the client may be greeted at all is for the driver to say: a client that it
//! turns away ([`Session::turn_away`]) is told nothing, and everything that it sends is ignored.

use std::time::Duration;

use tickwire_sim::{Encoded, PlayerId, Raw};

use crate::game::{About, Ask, Breach, Profile, Saved, Shared, Verbs};
use crate::packet::{Decoded, Dialect, Direction};

/// The result of a message; the driver carries the outputs out in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// The client said hello: the driver must send the welcome, whose content only the driver
    /// knows.
    Welcome,
    /// The answer to a ping with this nonce.
    Pong(u32),
    /// The client asks for a body. The driver takes a number, calls [`Session::joined`], and queues
    /// the join.
    Join(Profile),
    /// A command for the world, meant for a tick if the packet names one, and the budget that the
    /// clients of an address share for it.
    Command(Raw, Option<u32>, Option<&'static Shared>),
    /// The player to watch without a body; `None` is the leader.
    Watch(Option<PlayerId>),
    /// The packet had no effect; a rule's name for the metrics, and what the client is told, if
    /// anything.
    Refused(&'static str, Option<&'static str>),
    /// The same for a packet of a player with a sequence, which is first: a command that is answered.
    Rejected(u64, &'static str, Option<&'static str>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Greeting,
    Watching,
    Playing(PlayerId),
    TurnedAway,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Session {
    state: State,
    /// The highest sequence of the present body: counted here, or claimed by the client and
    /// checked. Clients send 32 bits; this field has the width of a command's sequence.
    sequence: u64,
    verbs: Box<dyn Verbs>,
    asks: Vec<Ask>,
}

/// The version of the protocol that clients name in their hello.
pub const NATIVE_VERSION: u16 = 1;

/// Whether clients of a dialect speak first, with `hello`.
pub fn says_hello(dialect: &Dialect) -> bool {
    dialect.row(Direction::ToServer, "hello").is_some()
}

impl Session {
    /// A new session of a game. A client whose dialect has a hello must send it first; another may
    /// enter at once.
    pub fn new(about: &About, dialect: &Dialect) -> Session {
        let state = if says_hello(dialect) { State::Greeting } else { State::Watching };
        Session { state, sequence: 0, verbs: (about.verbs)(dialect), asks: Vec::new() }
    }

    /// Whether the client still has to send `hello`.
    pub fn awaits_hello(&self) -> bool {
        self.state == State::Greeting
    }

    /// Whether the client has been greeted: before that it is told nothing.
    pub fn is_greeted(&self) -> bool {
        matches!(self.state, State::Watching | State::Playing(_))
    }

    /// The client may neither play nor watch: nothing that it sends has an effect any more.
    pub fn turn_away(&mut self) {
        self.state = State::TurnedAway;
    }

    /// The game's part of the session.
    pub fn verbs(&self) -> &dyn Verbs {
        &*self.verbs
    }

    /// The sequence of the session's last command.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    fn player(&self) -> Option<PlayerId> {
        match self.state {
            State::Playing(player) => Some(player),
            State::Greeting | State::Watching | State::TurnedAway => None,
        }
    }

    /// Sets the number of the client's new body.
    pub fn joined(&mut self, player: PlayerId) {
        self.state = State::Playing(player);
        self.sequence = 0;
        self.verbs.joined();
    }

    /// Handles one packet and appends the results to `outputs`.
    ///
    /// # Errors
    /// The rule for which the client is closed.
    pub fn handle(
        &mut self,
        packet: &Decoded<'_>,
        now: Duration,
        outputs: &mut Vec<Output>,
    ) -> Result<(), Breach> {
        match self.state {
            State::Greeting => return self.greet(packet, outputs),
            State::TurnedAway => return Ok(()),
            State::Watching | State::Playing(_) => {}
        }
        match packet.row.name.as_str() {
            "hello" => outputs.push(Output::Refused("hello_again", None)),
            "ping" => outputs.push(Output::Pong(packet.number("nonce").unwrap_or(0))),
            "follow" => outputs.push(Output::Watch(packet.number("player").map(PlayerId))),
            name if self.verbs.is_enter(name) => self.enter(packet, outputs),
            _ => {
                let (sequence, tick) = (packet.number("sequence"), packet.number("tick"));
                let mut asks = std::mem::take(&mut self.asks);
                self.verbs.packet(packet, now, &mut asks);
                asks.drain(..).for_each(|ask| self.grant(sequence, tick, ask, outputs));
                self.asks = asks;
            }
        }
        Ok(())
    }

    fn greet(&mut self, packet: &Decoded<'_>, outputs: &mut Vec<Output>) -> Result<(), Breach> {
        let version = packet.number::<u16>("version").filter(|_| packet.row.name == "hello");
        let (Some(version), Some(mode)) = (version, packet.number::<u8>("mode")) else {
            return Err(Breach::HelloFirst);
        };
        if version != NATIVE_VERSION {
            return Err(Breach::HelloVersion);
        }
        self.state = State::Watching;
        outputs.push(Output::Welcome);
        if mode != 0 {
            self.enter(packet, outputs);
        }
        Ok(())
    }

    fn enter(&mut self, packet: &Decoded<'_>, outputs: &mut Vec<Output>) {
        let profile = self.verbs.profile(packet);
        match self.player() {
            None => outputs.push(Output::Join(profile)),
            Some(_) => {
                let ask = self.verbs.enter_again(&profile);
                self.grant(None, None, ask, outputs);
            }
        }
    }

    fn grant(&mut self, sequence: Option<u32>, tick: Option<u32>, ask: Ask, outputs: &mut Vec<Output>) {
        match ask {
            Ask::Act(action, shared) => self.command(sequence, tick, (action, shared), outputs),
            Ask::Refuse(rule, detail) => outputs.push(self.refused(sequence, rule, detail)),
        }
    }

    fn refused(&self, sequence: Option<u32>, rule: &'static str, detail: Option<&'static str>) -> Output {
        match sequence.filter(|_| self.player().is_some()) {
            Some(sequence) => Output::Rejected(sequence.into(), rule, detail),
            None => Output::Refused(rule, detail),
        }
    }

    /// A command of the client's own body. For packets without sequences, the session counts them.
    fn command(
        &mut self,
        sequence: Option<u32>,
        tick: Option<u32>,
        (action, shared): (Encoded, Option<&'static Shared>),
        outputs: &mut Vec<Output>,
    ) {
        let Some(player) = self.player() else {
            return outputs.push(Output::Refused("not_playing", None));
        };
        let next = sequence.map_or(self.sequence.saturating_add(1), u64::from);
        if next <= self.sequence {
            let detail = "a sequence number must be greater than the previous one";
            return outputs.push(self.refused(sequence, "repeated", Some(detail)));
        }
        let sequence = next;
        self.sequence = sequence;
        outputs.push(Output::Command(Raw { player, sequence, action }, tick, shared));
    }
}

const GREETING: u8 = 0;
const WATCHING: u8 = 1;
const PLAYING: u8 = 2;
const TURNED_AWAY: u8 = 3;

/// A session's state as bytes, for a capture that begins in the middle of a connection:
///
/// ```text
///   state u8 · player u16 · sequence u64 · what the game's verbs remember
/// ```
impl Session {
    /// Appends everything that decides how the session handles the next packet, `now`.
    pub fn save(&self, now: Duration, out: &mut Vec<u8>) {
        let (state, player) = match self.state {
            State::Greeting => (GREETING, 0),
            State::Watching => (WATCHING, 0),
            State::Playing(player) => (PLAYING, player.0),
            State::TurnedAway => (TURNED_AWAY, 0),
        };
        out.push(state);
        out.extend(player.to_le_bytes());
        out.extend(self.sequence.to_le_bytes());
        self.verbs.save(now, out);
    }

    /// What saved bytes say without knowing the game: whether the client still has to say hello, and
    /// the sequence of its last command.
    pub fn peek(saved: &[u8]) -> Option<(bool, u64)> {
        let mut saved = Saved::new(saved, Duration::ZERO);
        let (state, _) = (saved.u8()?, saved.array::<2>()?);
        Some((state == GREETING, saved.u64()?))
    }

    /// Reads what [`Session::save`] wrote, into a new session; `None` if the bytes are wrong.
    pub fn restore(mut self, saved: &mut Saved<'_>) -> Option<Session> {
        let (state, player) = (saved.u8()?, PlayerId(u16::from_le_bytes(saved.array()?)));
        self.state = match state {
            GREETING => State::Greeting,
            WATCHING => State::Watching,
            PLAYING => State::Playing(player),
            TURNED_AWAY => State::TurnedAway,
            _ => return None,
        };
        self.sequence = saved.u64()?;
        self.verbs.restore(saved)?;
        Some(self)
    }
}
