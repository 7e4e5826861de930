//! One client's conversation: packets in, commands and answers out.
//!
//! ```text
//!              hello (native)            enter game
//!  Greeting ─────────────────► Watching ────────────► Playing      leaving is the connection's end, in any state:
//!     MooMoo dialects begin here ──┘                               the driver then queues a Leave for `player()`
//! ```
//!
//! [`Session::spend_bytes`] what is read, [`Session::spend_message`] each message and control frame, [`Session::handle`]
//! each packet, and carry out the outputs. Comes in: typed packets of any dialect, with time and tick as arguments. Goes out: [`Output`]s, or the [`Breach`] for which the client
//! is closed. Never: an issuer, a name or a number that the client claims for somebody else.

mod breach;

use std::time::Duration;

pub use breach::Breach;

use crate::limits;
use crate::packet::client_packet::Mode;
use crate::packet::{ClientPacket, ServerPacket};
use crate::world::{Action, Angle, Command, PlayerId, Selection, rules, text};

/// What a message leads to; the driver carries the outputs out in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// A native client said hello: it is to be welcomed with what only the driver knows.
    Welcome,
    /// An answer.
    Reply(ServerPacket<'static>),
    /// The client wants a body. The driver takes a number, says [`Session::joined`], and queues the join.
    Join {
        /// Cleaned, never empty.
        name: String,
        /// 0 to 9.
        skin: u8,
    },
    /// A command for the world, meant for a tick if the dialect names one.
    Command(Command, Option<u32>),
    /// Whom to watch while without a body; `None` is the leader.
    Watch(Option<PlayerId>),
    /// The packet had no effect, and why: a name for the metrics.
    Dropped(&'static str),
}

/// A bucket of tokens that fills at a rate, up to a burst.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    per_second: u32,
    burst: u64,
    /// In billionths of a token, so that small times are not lost.
    tokens_nano: u64,
    filled: Duration,
}

impl Bucket {
    fn full(per_second: u32, burst: u32, now: Duration) -> Bucket {
        let burst = u64::from(burst) * 1_000_000_000;
        Bucket { per_second, burst, tokens_nano: burst, filled: now }
    }

    fn take(&mut self, tokens: usize, now: Duration) -> bool {
        let elapsed = now.saturating_sub(self.filled).as_nanos().min(1 << 40) as u64;
        let gained = elapsed.saturating_mul(self.per_second.into());
        self.tokens_nano = self.tokens_nano.saturating_add(gained).min(self.burst);
        self.filled = self.filled.max(now);
        let wanted = (tokens as u64).saturating_mul(1_000_000_000);
        let enough = wanted <= self.tokens_nano;
        self.tokens_nano = self.tokens_nano.saturating_sub(wanted);
        enough
    }
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
    /// The highest sequence of the present body: counted here, or claimed by a native client and checked.
    sequence: u32,
    chatted: Option<Duration>,
    messages: Bucket,
    bytes: Bucket,
}

/// The version of the native protocol.
pub const NATIVE_VERSION: u16 = 1;

const _: () = {
    assert!(limits::NAME_CHARS == rules::NAME_CHARS, "what the tables promise, the world takes");
    assert!(limits::CHAT_CHARS == rules::CHAT_CHARS, "what the tables promise, the world takes");
};

impl Session {
    /// A session that begins `now`. Native clients speak first; the others may enter at once.
    pub fn new(native: bool, now: Duration) -> Session {
        let rate = limits::CLIENT_MESSAGES_PER_SECOND;
        Session {
            state: if native { State::Greeting } else { State::Watching },
            sequence: 0,
            chatted: None,
            messages: Bucket::full(rate, limits::CLIENT_MESSAGES_BURST, now),
            bytes: Bucket::full(limits::CLIENT_BYTES_PER_SECOND, limits::CLIENT_BYTES_BURST, now),
        }
    }

    /// Whether a `hello` is still due.
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

    /// The client's body has this number from now on.
    pub fn joined(&mut self, player: PlayerId) {
        self.state = State::Playing(player);
        self.sequence = 0;
    }

    /// Books one message or control frame.
    ///
    /// # Errors
    /// The budget is spent.
    pub fn spend_message(&mut self, now: Duration) -> Result<(), Breach> {
        if self.messages.take(1, now) { Ok(()) } else { Err(Breach::MessageRate) }
    }

    /// Books bytes as they are read, headers included, so that fragments and frames without payload cost as well.
    ///
    /// # Errors
    /// The budget is spent.
    pub fn spend_bytes(&mut self, bytes: usize, now: Duration) -> Result<(), Breach> {
        if self.bytes.take(bytes, now) { Ok(()) } else { Err(Breach::ByteRate) }
    }

    /// Handles one packet: what it leads to is appended to `outputs`. `tick` is the world's present one.
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
            ClientPacket::EnterGame { name, skin, .. } => self.enter(name.as_deref(), skin, outputs),
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
            _ => outputs.push(Output::Dropped("unused_packet")),
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
            self.enter(name.as_deref(), skin, outputs);
        }
        Ok(())
    }

    fn enter(&mut self, name: Option<&str>, skin: Option<u8>, outputs: &mut Vec<Output>) {
        let name = text::clean_name(name.unwrap_or_default());
        let name = if name.is_empty() { "unknown".to_owned() } else { name };
        let skin = skin.filter(|skin| *skin < limits::SKINS).unwrap_or(0);
        match self.player() {
            None => outputs.push(Output::Join { name, skin }),
            // Whether it is dead is for the world to say: it refuses who lives.
            Some(_) => self.command(None, None, Action::Respawn { name, skin }, outputs),
        }
    }

    /// A command about the thing of a number; no number of the game is above 255.
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

    /// A blow that names where to, as in the dialects that count no sequences, is a look there first.
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
            None => refuse(outputs, "chat_empty", "there is nothing to say"),
            Some(_) if too_soon => refuse(outputs, "chat_too_soon", "wait half a second between two lines"),
            Some(text) => {
                self.chatted = Some(now);
                self.command(sequence, tick, Action::Chat { text }, outputs);
            }
        }
    }

    /// A command of the client's own body. Dialects without sequences are counted here.
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
        let sequence = sequence.unwrap_or(self.sequence.saturating_add(1));
        if sequence <= self.sequence {
            refuse(outputs, "repeated", "a sequence must be above the one before");
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
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(100);

    fn hello(mode: Mode) -> ClientPacket<'static> {
        ClientPacket::Hello { version: 1, mode, name: Some("Ada".into()), skin: Some(3) }
    }

    fn step(sequence: Option<u32>) -> ClientPacket<'static> {
        ClientPacket::Move { sequence, tick: None, direction: Some(0) }
    }

    fn handled(session: &mut Session, packet: ClientPacket<'_>) -> Vec<Output> {
        let mut outputs = Vec::new();
        session.handle(packet, START, 7, &mut outputs).expect("no breach");
        outputs
    }

    fn playing(native: bool) -> Session {
        let mut session = Session::new(native, START);
        session.joined(PlayerId(5));
        session
    }

    #[test]
    fn hello_comes_first() {
        let mut session = Session::new(true, START);
        let breach = session.handle(step(Some(1)), START, 0, &mut Vec::new());
        assert_eq!(breach, Err(Breach::HelloFirst));
        let join = Output::Join { name: "Ada".into(), skin: 3 };
        assert_eq!(handled(&mut session, hello(Mode::Play)), [Output::Welcome, join]);
        assert!(!session.awaits_hello());
        assert_eq!(handled(&mut session, hello(Mode::Play)), [Output::Dropped("hello_again")]);
    }

    #[test]
    fn an_unknown_version_is_refused() {
        let packet = ClientPacket::Hello { version: 2, mode: Mode::Play, name: None, skin: None };
        let breach = Session::new(true, START).handle(packet, START, 0, &mut Vec::new());
        assert_eq!(breach, Err(Breach::HelloVersion));
    }

    #[test]
    fn one_who_watches_moves_nothing() {
        let mut session = Session::new(true, START);
        handled(&mut session, hello(Mode::Watch));
        assert_eq!(handled(&mut session, step(Some(1))), [Output::Dropped("not_playing")]);
    }

    #[test]
    fn a_sequence_must_rise_and_is_counted_where_there_is_none() {
        let mut session = playing(true);
        assert!(matches!(handled(&mut session, step(Some(4)))[..], [Output::Command(..)]));
        assert_eq!(handled(&mut session, step(Some(4)))[0], Output::Dropped("repeated"));
        let mut session = playing(false);
        for expected in 1..4 {
            let outputs = handled(&mut session, step(None));
            let Output::Command(command, None) = &outputs[0] else { panic!("{outputs:?}") };
            assert_eq!((command.sequence, command.player), (expected, PlayerId(5)));
        }
    }

    #[test]
    fn chat_is_cleaned_and_paced() {
        let mut session = playing(false);
        let chat = |text: &str| ClientPacket::Chat { sequence: None, tick: None, text: text.into() };
        let outputs = handled(&mut session, chat(" \u{202e}hi\n\u{7}there "));
        let Output::Command(command, _) = &outputs[0] else { panic!("{outputs:?}") };
        assert_eq!(command.action, Action::Chat { text: "hithere".into() });
        assert_eq!(handled(&mut session, chat("again"))[0], Output::Dropped("chat_too_soon"));
        assert_eq!(handled(&mut session, chat(" \n "))[0], Output::Dropped("chat_empty"));
    }

    #[test]
    fn names_are_cut_at_a_character_and_never_empty() {
        let mut session = Session::new(false, START);
        let enter = ClientPacket::EnterGame { name: Some("Ä".repeat(20)), skin: None, moofoll: false };
        assert_eq!(handled(&mut session, enter), [Output::Join { name: "Ä".repeat(15), skin: 0 }]);
        let enter = ClientPacket::EnterGame { name: Some("  ".into()), skin: Some(200), moofoll: false };
        assert_eq!(handled(&mut session, enter), [Output::Join { name: "unknown".into(), skin: 0 }]);
    }

    #[test]
    fn budgets_allow_a_burst_then_the_rate() {
        let mut session = Session::new(true, START);
        for _ in 0..limits::CLIENT_MESSAGES_BURST {
            session.spend_message(START).unwrap();
        }
        assert_eq!(session.spend_message(START), Err(Breach::MessageRate));
        let later = START + Duration::from_secs(1);
        for _ in 0..limits::CLIENT_MESSAGES_PER_SECOND {
            session.spend_message(later).unwrap();
        }
        assert_eq!(session.spend_message(later), Err(Breach::MessageRate));
    }

    #[test]
    fn bytes_have_a_budget_of_their_own() {
        let mut session = Session::new(true, START);
        let reads = limits::CLIENT_BYTES_BURST as usize / 4096;
        (0..reads).for_each(|_| session.spend_bytes(4096, START).unwrap());
        assert_eq!(session.spend_bytes(1, START), Err(Breach::ByteRate));
    }

    #[test]
    fn every_breach_has_a_name_and_a_code_that_may_be_sent() {
        for breach in Breach::ALL {
            assert!(breach.name().chars().all(|c| c.is_ascii_lowercase() || c == '_'));
            assert!(
                (1000..1016).contains(&breach.close_code())
                    && ![1005, 1006, 1015].contains(&breach.close_code())
            );
        }
    }
}
