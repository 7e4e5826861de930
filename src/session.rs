//! One client's conversation: packets in, commands and answers out.
//!
//! ```text
//!              hello (native)            enter game
//!  Greeting ─────────────────► Watching ────────────► Playing      leaving is the connection's end, in any state:
//!     MooMoo dialects begin here ──┘                               the driver then queues a Leave for `player()`
//! ```
//!
//! The driver calls [`Session::handle`] for each packet and carries out the [`Output`]s; a
//! [`Breach`] closes the client. Packets are typed and may be of any dialect; time
//! and tick are arguments. The session never trusts an issuer, a name or a number that a client
//! claims for another player.

mod breach;
mod memory;

use std::time::Duration;

pub use breach::Breach;
pub use memory::Saved;

use crate::limits;
use crate::packet::client_packet::{ClanWish, Mode};
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
    Join {
        /// The cleaned name, never empty.
        name: String,
        /// 0 to 9.
        skin: u8,
        /// Whether the client asks for resources at the start, as the MooMoo dialects can.
        gift: bool,
    },
    /// A command for the world, meant for a tick if the dialect names one.
    Command(Command, Option<u32>),
    /// The player to watch without a body; `None` is the leader.
    Watch(Option<PlayerId>),
    /// The packet had no effect; the reason is a name for the metrics.
    Dropped(&'static str),
}

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
    chatted: Option<Duration>,
    pinged: Option<Duration>,
    wished: Option<Duration>,
    /// Whether the client attacks without holding a button.
    attacks: bool,
}

/// The version of the native protocol.
pub const NATIVE_VERSION: u16 = 1;

const _: () = {
    assert!(limits::NAME_CHARS == rules::NAME_CHARS, "what the tables promise, the world takes");
    assert!(limits::CHAT_CHARS == rules::CHAT_CHARS, "what the tables promise, the world takes");
};

impl Session {
    /// A new session. Native clients must send hello first; the others may enter at
    /// once.
    pub fn new(native: bool) -> Session {
        Session {
            state: if native { State::Greeting } else { State::Watching },
            sequence: 0,
            chatted: None,
            pinged: None,
            wished: None,
            attacks: false,
        }
    }

    /// Whether the client still has to send `hello`.
    pub fn awaits_hello(&self) -> bool {
        self.state == State::Greeting
    }

    /// The client's body, if it has one.
    pub fn player(&self) -> Option<PlayerId> {
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
        match packet {
            ClientPacket::Hello { .. } => outputs.push(Output::Dropped("hello_again")),
            ClientPacket::EnterGame { name, skin, moofoll } => {
                self.enter(name.as_deref(), skin, moofoll, outputs);
            }
            ClientPacket::Ping { nonce } => {
                outputs.push(Output::Reply(ServerPacket::Pong { nonce: nonce.unwrap_or(0), tick }));
            }
            ClientPacket::Follow { player } => outputs.push(Output::Watch(player.map(PlayerId))),
            ClientPacket::Move { sequence, tick, direction } => {
                let direction = direction.map(Angle);
                self.command(sequence, tick, Action::Move { direction }, outputs);
            }
            ClientPacket::Aim { sequence, tick, heading } => {
                self.command(sequence, tick, Action::Aim { heading: Angle(heading) }, outputs);
            }
            ClientPacket::Attack { sequence, tick, state, heading } => {
                self.attack(sequence, tick, state, heading.map(Angle), outputs);
            }
            ClientPacket::Select { sequence, tick, id, is_weapon } => {
                let what = if is_weapon { Selection::Weapon } else { Selection::Item };
                self.numbered(id, |id| Action::Select { what: what(id) }, sequence, tick, outputs);
            }
            ClientPacket::Upgrade { sequence, tick, choice } => {
                self.numbered(choice, |choice| Action::Upgrade { choice }, sequence, tick, outputs);
            }
            ClientPacket::Chat { sequence, tick, text } => self.chat(sequence, tick, &text, now, outputs),
            ClientPacket::Clan { sequence, tick, wish } => self.clan(sequence, tick, wish, now, outputs),
            ClientPacket::MapPing { sequence, tick } => self.map_ping(sequence, tick, now, outputs),
            ClientPacket::ToggleAttack => {
                self.attacks = !self.attacks;
                self.command(None, None, Action::Attack { on: self.attacks }, outputs);
            }
            ClientPacket::Unused(_) => outputs.push(Output::Dropped("unused_packet")),
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
            None => outputs.push(Output::Join { name, skin, gift }),
            // The world decides whether the player is dead: it rejects a respawn of a living
            // player.
            Some(_) => {
                self.attacks = false;
                self.command(None, None, Action::Respawn { name, skin }, outputs);
            }
        }
    }

    /// A command that carries a number; no number of the game is above 255.
    fn numbered(
        &mut self,
        number: u16,
        action: impl FnOnce(u8) -> Action,
        sequence: Option<u32>,
        tick: Option<u32>,
        outputs: &mut Vec<Output>,
    ) {
        match u8::try_from(number) {
            Ok(number) => self.command(sequence, tick, action(number), outputs),
            Err(_) => outputs.push(Output::Dropped("unknown_number")),
        }
    }

    /// An attack with a heading, as in the dialects without sequences, first turns the player
    /// there.
    fn attack(
        &mut self,
        sequence: Option<u32>,
        tick: Option<u32>,
        on: bool,
        heading: Option<Angle>,
        outputs: &mut Vec<Output>,
    ) {
        if let Some(heading) = heading.filter(|_| sequence.is_none()) {
            self.command(None, tick, Action::Aim { heading }, outputs);
        }
        // Auto-attack continues when a button is released.
        let on = on || self.attacks;
        self.command(sequence, tick, Action::Attack { on }, outputs);
    }

    fn chat(
        &mut self,
        sequence: Option<u32>,
        tick: Option<u32>,
        line: &str,
        now: Duration,
        outputs: &mut Vec<Output>,
    ) {
        let too_soon = self.chatted.is_some_and(|before| now.saturating_sub(before) < limits::CHAT_INTERVAL);
        match text::clean_chat(line) {
            None => refuse(outputs, "chat_empty", "the chat line is empty"),
            Some(_) if too_soon => {
                refuse(outputs, "chat_too_soon", "wait half a second between two chat lines")
            }
            Some(text) => {
                self.chatted = Some(now);
                self.command(sequence, tick, Action::Chat { text }, outputs);
            }
        }
    }

    /// Names are cleaned as chat is; the world rejects the empty rest of a name of only spaces.
    fn clan(
        &mut self,
        sequence: Option<u32>,
        tick: Option<u32>,
        wish: ClanWish,
        now: Duration,
        outputs: &mut Vec<Output>,
    ) {
        let too_soon = |before: Duration| now.saturating_sub(before) < limits::CLAN_INTERVAL;
        if self.wished.is_some_and(too_soon) {
            refuse(outputs, "clan_too_soon", "wait a quarter of a second between two clan requests");
            return;
        }
        self.wished = Some(now);
        let cleaned = |name: &str| text::clean_clan_name(name).unwrap_or_default();
        let number = |player: u32| PlayerId(u16::try_from(player).unwrap_or(u16::MAX));
        let action = match wish {
            ClanWish::Create { name } => Action::ClanCreate { name: cleaned(&name) },
            ClanWish::Leave => Action::ClanLeave,
            ClanWish::Request { name } => Action::ClanRequest { name: cleaned(&name) },
            ClanWish::Answer { player, accept } => Action::ClanAnswer { player: number(player), accept },
            ClanWish::Kick { player } => Action::ClanKick { player: number(player) },
        };
        self.command(sequence, tick, action, outputs);
    }

    fn map_ping(
        &mut self,
        sequence: Option<u32>,
        tick: Option<u32>,
        now: Duration,
        outputs: &mut Vec<Output>,
    ) {
        let too_soon = |before: Duration| now.saturating_sub(before) < limits::MAP_PING_INTERVAL;
        if self.pinged.is_some_and(too_soon) {
            refuse(outputs, "map_ping_too_soon", "wait a second between two map pings");
        } else {
            self.pinged = Some(now);
            self.command(sequence, tick, Action::Ping, outputs);
        }
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
            outputs.push(Output::Dropped("not_playing"));
            return;
        };
        let sequence = sequence.map_or(self.sequence.saturating_add(1), u64::from);
        if sequence <= self.sequence {
            refuse(outputs, "repeated", "a sequence number must be greater than the previous one");
            return;
        }
        self.sequence = sequence;
        outputs.push(Output::Command(Command { player, sequence, action }, tick));
    }
}

fn refuse(outputs: &mut Vec<Output>, rule: &'static str, detail: &'static str) {
    outputs.push(Output::Dropped(rule));
    outputs.push(Output::Reply(ServerPacket::Error { rule, detail }));
}

#[cfg(test)]
mod tests;
