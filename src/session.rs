//! One client's conversation: packets in, commands and answers out.
//!
//! ```text
//!              hello (native)            enter game
//!  Greeting ─────────────────► Watching ────────────► Playing      in any state, when the connection ends,
//!     MooMoo dialects begin here ──┘                               the driver queues a Leave
//! ```
//!
//! The driver calls [`Session::handle`] for each packet and carries out the [`Output`]s; a
//! [`Breach`] closes the client. The session issues commands only for the client's own
//! player, whatever player a packet claims to come from.

mod breach;
mod memory;

use std::time::Duration;

pub use breach::Breach;
pub use memory::Saved;

use crate::limits;
use crate::packet::client_packet::{ClanAction, Mode};
use crate::packet::{ClientPacket, ServerPacket};
use crate::world::{Action, Angle, Command, PlayerId, Selection, rules, text};

/// The result of a message; the driver carries the outputs out in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// A native client sent hello: the driver must send the welcome, whose content only the driver
    /// knows.
    Welcome,
    /// An answer.
    Reply(ServerPacket<'static>),
    /// The client asks for a body. The driver takes a number, calls [`Session::joined`], and queues
    /// the join.
    Join(Profile),
    /// A command for the world, meant for a tick if the dialect names one.
    Command(Command, Option<u32>),
    /// The player to watch without a body; `None` is the leader.
    Watch(Option<PlayerId>),
    /// The packet had no effect; the reason is a name for the metrics.
    Dropped(&'static str),
}

/// A body that a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The cleaned name, never empty.
    pub name: String,
    /// 0 to 9.
    pub skin: u8,
    /// Whether the client asks for resources at the start, as the MooMoo dialects can.
    pub gift: bool,
}

/// Why a packet has no effect: a name for the metrics, and what the client is answered, if anything.
type Useless = (&'static str, Option<&'static str>);

/// What a client may do once in an interval; the rule otherwise, and its remedy.
const PACES: [(Duration, &str, &str); 3] = [
    (limits::CHAT_INTERVAL, "chat_too_soon", "wait half a second between two chat lines"),
    (limits::MAP_PING_INTERVAL, "map_ping_too_soon", "wait a second between two map pings"),
    (limits::CLAN_INTERVAL, "clan_too_soon", "wait a quarter of a second between two clan commands"),
];
const CHAT: usize = 0;
const MAP_PING: usize = 1;
const CLAN: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Greeting,
    Watching,
    Playing(PlayerId),
}

/// See the [module](self).
#[derive(Debug)]
pub struct Session {
    state: State,
    /// The highest sequence of the present body: counted here, or claimed by a native client and
    /// checked. Native clients send 32 bits; this field has the width of a [`Command`]'s sequence.
    sequence: u64,
    /// When the client last did what [`PACES`] limits.
    paced: [Option<Duration>; PACES.len()],
    /// Whether the client attacks without holding a button.
    attacks: bool,
}

/// The version of the native protocol.
pub const NATIVE_VERSION: u16 = 1;

const _: () = {
    assert!(limits::NAME_CHARS == rules::NAME_CHARS, "the packet tables and the world agree on the maximum");
    assert!(limits::CHAT_CHARS == rules::CHAT_CHARS, "the packet tables and the world agree on the maximum");
};

impl Session {
    /// A new session. Native clients must send hello first; the others may enter at once.
    pub fn new(native: bool) -> Session {
        let state = if native { State::Greeting } else { State::Watching };
        Session { state, sequence: 0, paced: [None; PACES.len()], attacks: false }
    }

    /// Whether the client still has to send `hello`.
    pub fn awaits_hello(&self) -> bool {
        self.state == State::Greeting
    }

    fn player(&self) -> Option<PlayerId> {
        match self.state {
            State::Playing(player) => Some(player),
            State::Greeting | State::Watching => None,
        }
    }

    /// Sets the number of the client's new body.
    pub fn joined(&mut self, player: PlayerId) {
        self.state = State::Playing(player);
        self.sequence = 0;
        self.attacks = false;
    }

    /// Handles one packet and appends the results to `outputs`. `tick` is the world's present one.
    ///
    /// # Errors
    /// The rule for which the client is closed.
    pub fn handle(
        &mut self,
        packet: ClientPacket<'_>,
        now: Duration,
        tick: u32,
        outputs: &mut Vec<Output>,
    ) -> Result<(), Breach> {
        if self.state == State::Greeting {
            return self.greet(packet, outputs);
        }
        let (sequence, intended, action) = match packet {
            ClientPacket::Hello { .. } => (None, None, Err(("hello_again", None))),
            ClientPacket::Unused(_) => (None, None, Err(("unused_packet", None))),
            ClientPacket::EnterGame { name, skin, moofoll } => {
                self.enter(name.as_deref(), skin, moofoll, outputs);
                return Ok(());
            }
            ClientPacket::Ping { nonce } => {
                outputs.push(Output::Reply(ServerPacket::Pong { nonce: nonce.unwrap_or(0), tick }));
                return Ok(());
            }
            ClientPacket::Follow { player } => {
                outputs.push(Output::Watch(player.map(PlayerId)));
                return Ok(());
            }
            ClientPacket::Move { sequence, tick, direction } => {
                (sequence, tick, Ok(Action::Move { direction: direction.map(Angle) }))
            }
            ClientPacket::Aim { sequence, tick, heading } => {
                (sequence, tick, Ok(Action::Aim { heading: Angle(heading) }))
            }
            ClientPacket::Attack { sequence, tick, state, heading } => {
                // An attack with a heading, as in the dialects without sequences, first turns the player there.
                if let Some(heading) = heading.filter(|_| sequence.is_none()).map(Angle) {
                    self.command(None, tick, Action::Aim { heading }, outputs);
                }
                // Auto-attack continues when a button is released.
                (sequence, tick, Ok(Action::Attack { on: state || self.attacks }))
            }
            ClientPacket::ToggleAttack => {
                self.attacks = !self.attacks;
                (None, None, Ok(Action::Attack { on: self.attacks }))
            }
            ClientPacket::Select { sequence, tick, id, is_weapon } => {
                let what = if is_weapon { Selection::Weapon } else { Selection::Item };
                (sequence, tick, number(id).map(|id| Action::Select { what: what(id) }))
            }
            ClientPacket::Upgrade { sequence, tick, choice } => {
                (sequence, tick, number(choice).map(|choice| Action::Upgrade { choice }))
            }
            ClientPacket::Chat { sequence, tick, text } => (sequence, tick, self.chat(&text, now)),
            ClientPacket::Clan { sequence, tick, action } => (sequence, tick, self.clan(action, now)),
            ClientPacket::MapPing { sequence, tick } => {
                (sequence, tick, self.pace(MAP_PING, now).map(|()| Action::Ping))
            }
        };
        match action {
            Ok(action) => self.command(sequence, intended, action, outputs),
            Err(useless) => refuse(outputs, useless),
        }
        Ok(())
    }

    fn greet(&mut self, packet: ClientPacket<'_>, outputs: &mut Vec<Output>) -> Result<(), Breach> {
        let ClientPacket::Hello { version, mode, name, skin } = packet else {
            return Err(Breach::HelloFirst);
        };
        if version != NATIVE_VERSION {
            return Err(Breach::HelloVersion);
        }
        self.state = State::Watching;
        outputs.push(Output::Welcome);
        if mode == Mode::Play {
            self.enter(name.as_deref(), skin, false, outputs);
        }
        Ok(())
    }

    fn enter(&mut self, name: Option<&str>, skin: Option<u8>, gift: bool, outputs: &mut Vec<Output>) {
        let name = text::clean_name(name.unwrap_or_default());
        let name = if name.is_empty() { text::NO_NAME.to_owned() } else { name };
        let skin = skin.filter(|skin| *skin < limits::SKINS).unwrap_or(0);
        match self.player() {
            None => outputs.push(Output::Join(Profile { name, skin, gift })),
            // The world decides whether the player is dead: it rejects a respawn of a living
            // player.
            Some(_) => {
                self.attacks = false;
                self.command(None, None, Action::Respawn { name, skin }, outputs);
            }
        }
    }

    /// Notes that the client does what it may do once in an interval.
    fn pace(&mut self, what: usize, now: Duration) -> Result<(), Useless> {
        let (interval, rule, detail) = PACES[what];
        if self.paced[what].is_some_and(|before| now.saturating_sub(before) < interval) {
            return Err((rule, Some(detail)));
        }
        self.paced[what] = Some(now);
        Ok(())
    }

    fn chat(&mut self, line: &str, now: Duration) -> Result<Action, Useless> {
        let text = text::clean_chat(line).ok_or(("chat_empty", Some("the chat line is empty")))?;
        self.pace(CHAT, now).map(|()| Action::Chat { text })
    }

    /// Names are cleaned as chat is; the world rejects the empty rest of a name of only spaces.
    fn clan(&mut self, action: ClanAction, now: Duration) -> Result<Action, Useless> {
        self.pace(CLAN, now)?;
        let cleaned = |name: &str| text::clean_clan_name(name).unwrap_or_default();
        let number = |player: u32| PlayerId(u16::try_from(player).unwrap_or(u16::MAX));
        Ok(match action {
            ClanAction::Create { name } => Action::ClanCreate { name: cleaned(&name) },
            ClanAction::Leave => Action::ClanLeave,
            ClanAction::Request { name } => Action::ClanRequest { name: cleaned(&name) },
            ClanAction::Answer { player, accept } => Action::ClanAnswer { player: number(player), accept },
            ClanAction::Kick { player } => Action::ClanKick { player: number(player) },
        })
    }

    /// A command of the client's own body. For dialects without sequences, the session counts them.
    fn command(
        &mut self,
        sequence: Option<u32>,
        tick: Option<u32>,
        action: Action,
        outputs: &mut Vec<Output>,
    ) {
        let Some(player) = self.player() else {
            return refuse(outputs, ("not_playing", None));
        };
        let sequence = sequence.map_or(self.sequence.saturating_add(1), u64::from);
        if sequence <= self.sequence {
            let detail = "a sequence number must be greater than the previous one";
            return refuse(outputs, ("repeated", Some(detail)));
        }
        self.sequence = sequence;
        outputs.push(Output::Command(Command { player, sequence, action }, tick));
    }
}

/// No number of the game is above 255.
fn number(number: u16) -> Result<u8, Useless> {
    u8::try_from(number).map_err(|_| ("unknown_number", None))
}

fn refuse(outputs: &mut Vec<Output>, (rule, detail): Useless) {
    outputs.push(Output::Dropped(rule));
    outputs.extend(detail.map(|detail| Output::Reply(ServerPacket::Error { rule, detail })));
}
