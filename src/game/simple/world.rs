//! The world of a simple game: its state and its players.

use std::fmt::Debug;
use std::sync::Arc;

use tickwire_sim::fields::{ByteSink, Field, Sink};
use tickwire_sim::migrate::{NamedState, NamedWriter};
use tickwire_sim::{
    Action, Command, Malformed, MembershipChange, OptionSpec, PlayerId, Reader, RejectedCommand,
    RestoreError, Rng, Sim, StepResult, WorldParams, command_frame,
};

use super::simple_game::{Joining, OutgoingEvent, SimpleGame, TickContext};
use crate::game::report::Report;

/// Actions in the world of a simple game: joins, leaves, and the game's own actions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SimpleAction<A> {
    /// A player joins with this name, and with its account on a server with tokens.
    Join(PlayerId, String, Option<String>),
    /// A player leaves.
    Leave(PlayerId),
    /// A player's seat is suspended.
    Disconnect(PlayerId),
    /// An action of a player, or of the operator.
    Act(A),
    /// A client resumes a player's suspended seat.
    Reconnect(PlayerId),
    /// The random numbers of a new world restart from this secret state.
    Reseed(u64),
}

/// The kinds of encoded actions. Captures contain them, so a number never changes its meaning.
const JOIN: u8 = 0;
const LEAVE: u8 = 1;
const ACT: u8 = 2;
const DISCONNECT: u8 = 3;
const RECONNECT: u8 = 4;
const JOIN_WITH_ACCOUNT: u8 = 5;
const RESEED: u8 = 6;

impl<A: Field + Clone + Debug + Ord + Send + 'static> Action for SimpleAction<A> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            SimpleAction::Join(player, name, account) => {
                out.push(if account.is_some() { JOIN_WITH_ACCOUNT } else { JOIN });
                out.extend(player.0.to_le_bytes());
                command_frame::write_text(name, out);
                account.iter().for_each(|account| command_frame::write_text(account, out));
            }
            SimpleAction::Leave(player) => write_player(LEAVE, *player, out),
            SimpleAction::Disconnect(player) => write_player(DISCONNECT, *player, out),
            SimpleAction::Reconnect(player) => write_player(RECONNECT, *player, out),
            SimpleAction::Reseed(state) => {
                out.push(RESEED);
                out.extend(state.to_le_bytes());
            }
            SimpleAction::Act(action) => {
                out.push(ACT);
                let mut bytes = ByteSink(std::mem::take(out));
                action.write(&mut bytes);
                *out = bytes.0;
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<SimpleAction<A>, Malformed> {
        match from.u8()? {
            JOIN => Ok(SimpleAction::Join(PlayerId(from.u16()?), from.text()?, None)),
            JOIN_WITH_ACCOUNT => {
                Ok(SimpleAction::Join(PlayerId(from.u16()?), from.text()?, Some(from.text()?)))
            }
            LEAVE => Ok(SimpleAction::Leave(PlayerId(from.u16()?))),
            ACT => A::read(from).map(SimpleAction::Act),
            DISCONNECT => Ok(SimpleAction::Disconnect(PlayerId(from.u16()?))),
            RECONNECT => Ok(SimpleAction::Reconnect(PlayerId(from.u16()?))),
            RESEED => from.u64().map(SimpleAction::Reseed),
            kind => Err(Malformed::Kind(kind)),
        }
    }

    fn membership(&self) -> Option<MembershipChange> {
        match self {
            SimpleAction::Join(player, name, _) => Some(MembershipChange::Joined(*player, name.clone())),
            SimpleAction::Leave(player) => Some(MembershipChange::Left(*player)),
            SimpleAction::Disconnect(player) => Some(MembershipChange::Disconnected(*player)),
            SimpleAction::Reconnect(player) => Some(MembershipChange::Reconnected(*player)),
            SimpleAction::Reseed(_) | SimpleAction::Act(_) => None,
        }
    }
}

/// Appends an action of this kind that consists of a player.
fn write_player(kind: u8, player: PlayerId, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend(player.0.to_le_bytes());
}

/// A player in the world of a simple game.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayerEntry {
    /// The player number.
    pub player: PlayerId,
    /// The name.
    pub name: Arc<str>,
    /// Sequence number of its last command.
    pub(super) sequence: u64,
}

tickwire_sim::fields!(PlayerEntry: player: PlayerId, name: Arc<str>, sequence: u64);

/// The world of a simple game: the game's state, and the fields of every world.
#[derive(Debug, Clone, PartialEq)]
pub struct SimpleWorld<S> {
    identity: WorldParams,
    pub(super) tick: u32,
    operator_sequence: u64,
    pub(super) random: Rng,
    /// Sorted by number.
    pub(super) players: Vec<PlayerEntry>,
    pub(super) game: S,
    /// The events of the last tick. They are not part of the state.
    pub(super) events: Vec<OutgoingEvent>,
    /// The reports of the last tick. They are not part of the state.
    pub(super) reports: Vec<Report>,
}

/// First bytes of the snapshots of all simple games. The game's name follows.
const MAGIC: &[u8] = b"TWSG";

impl<S: SimpleGame> SimpleWorld<S> {
    /// Returns the state of the game.
    pub fn game(&self) -> &S {
        &self.game
    }

    /// Returns the state of the game, without the fields of every world.
    pub fn into_game(self) -> S {
        self.game
    }

    fn seat(&self, player: PlayerId) -> Result<usize, usize> {
        self.players.binary_search_by_key(&player, |seat| seat.player)
    }

    /// Returns the game, and the context of this tick.
    fn game_and_context(&mut self) -> (&mut S, TickContext<'_>) {
        let SimpleWorld { identity, tick, random, game, events, reports, .. } = self;
        (game, TickContext { tick: *tick, tick_hz: identity.tick_hz, random, events, reports })
    }

    /// Executes one tick, in which `tick` runs after the commands.
    pub(super) fn step_with(
        &mut self,
        commands: &mut Vec<Command<SimpleAction<S::Action>>>,
        out: &mut StepResult,
        tick: impl FnOnce(&mut S, &mut TickContext<'_>),
    ) {
        out.clear();
        self.events.clear();
        self.reports.clear();
        // Equal commands are equal in every field, so the result of an unstable sort is unique.
        commands.sort_unstable();
        for command in commands.drain(..) {
            let (player, sequence) = (command.player, command.sequence);
            let joining = match &command.action {
                SimpleAction::Join(player, ..) => Some(*player),
                _ => None,
            };
            match self.apply(command) {
                Ok(left) => out.departed.extend(left),
                Err(reason) => out.rejected.push(RejectedCommand { player, sequence, joining, reason }),
            }
        }
        let (game, mut context) = self.game_and_context();
        tick(game, &mut context);
        self.tick = self.tick.wrapping_add(1);
    }

    /// Executes a command. Returns the player that has left, if any.
    ///
    /// # Errors
    /// The rule that the command violates.
    fn apply(&mut self, command: Command<SimpleAction<S::Action>>) -> Result<Option<PlayerId>, &'static str> {
        let Command { player, sequence, action } = command;
        if player == PlayerId::OPERATOR {
            if sequence <= self.operator_sequence {
                return Err("repeated");
            }
            self.operator_sequence = sequence;
        } else {
            let at = self.seat(player).map_err(|_| "unknown_issuer")?;
            if sequence <= self.players[at].sequence {
                return Err("repeated");
            }
            self.players[at].sequence = sequence;
        }
        match action {
            SimpleAction::Act(action) if player != PlayerId::OPERATOR => {
                let (game, mut context) = self.game_and_context();
                let acted = game.apply(player, action, &mut context).map(|()| None);
                acted.inspect_err(|rule| context.reject(player, rule))
            }
            SimpleAction::Act(action) => {
                let (game, mut context) = self.game_and_context();
                game.operate(action, &mut context).map(|()| None)
            }
            _ if player != PlayerId::OPERATOR => Err("operator_only"),
            SimpleAction::Reseed(state) => {
                self.random = Rng::from_state(state);
                Ok(None)
            }
            SimpleAction::Join(player, name, account) => {
                let Err(at) = self.seat(player) else { return Err("already_joined") };
                if player == PlayerId::OPERATOR {
                    return Err("reserved_player");
                }
                let name: Arc<str> = name.into();
                let (game, mut context) = self.game_and_context();
                let joining = Joining { name: &name, account: account.as_deref() };
                game.join(player, &joining, &mut context);
                self.players.insert(at, PlayerEntry { player, name, sequence: 0 });
                Ok(None)
            }
            SimpleAction::Disconnect(player) => {
                let at = self.seat(player).map_err(|_| "unknown_player")?;
                self.players[at].sequence = 0;
                let (game, mut context) = self.game_and_context();
                game.disconnect(player, &mut context);
                Ok(None)
            }
            SimpleAction::Reconnect(player) => {
                self.seat(player).map_err(|_| "unknown_player")?;
                let (game, mut context) = self.game_and_context();
                game.reconnect(player, &mut context);
                Ok(None)
            }
            SimpleAction::Leave(player) => {
                let at = self.seat(player).map_err(|_| "unknown_player")?;
                self.players.remove(at);
                let (game, mut context) = self.game_and_context();
                game.leave(player, &mut context);
                Ok(Some(player))
            }
        }
    }
}

impl<S: SimpleGame> Sim for SimpleWorld<S> {
    type Action = SimpleAction<S::Action>;

    const OPTIONS: &'static [OptionSpec] = S::OPTIONS;
    const TICK_RATES: &'static [u32] = S::TICK_RATES;

    fn new(identity: &WorldParams) -> SimpleWorld<S> {
        let mut own = WorldParams::default_for::<SimpleWorld<S>>(identity.seed);
        if S::TICK_RATES.contains(&identity.tick_hz) {
            own.tick_hz = identity.tick_hz;
        }
        for option in S::OPTIONS {
            let given = identity.option(option.name).unwrap_or(option.default);
            own.set(option.name, given.clamp(option.min, option.max));
        }
        SimpleWorld {
            tick: 0,
            operator_sequence: 0,
            random: Rng::new(own.seed, 0),
            players: Vec::new(),
            game: S::new(&own),
            events: Vec::new(),
            reports: Vec::new(),
            identity: own,
        }
    }

    fn identity(&self) -> WorldParams {
        self.identity.clone()
    }

    fn tick(&self) -> u32 {
        self.tick
    }

    fn operator_sequence(&self) -> u64 {
        self.operator_sequence
    }

    fn players(&self) -> impl Iterator<Item = PlayerId> {
        self.players.iter().map(|seat| seat.player)
    }

    fn step(&mut self, commands: &mut Vec<Command<Self::Action>>, out: &mut StepResult) {
        self.step_with(commands, out, S::tick);
    }
    /// The fields of the game and of every world are on one level of the state.
    fn write(&self, sink: &mut impl Sink) {
        sink.enter("identity");
        field(sink, "seed", &self.identity.seed);
        field(sink, "tick_hz", &self.identity.tick_hz);
        self.identity.options.iter().for_each(|(name, value)| field(sink, name, value));
        sink.leave();
        field(sink, "tick", &self.tick);
        field(sink, "operator_sequence", &self.operator_sequence);
        field(sink, "random", &self.random);
        field(sink, "seats", &self.players);
        self.game.write(sink);
    }

    fn snapshot(&self) -> Vec<u8> {
        let mut out = ByteSink(MAGIC.to_vec());
        S::NAME.bytes().chain([0]).for_each(|byte| out.0.push(byte));
        out.0.extend(rules_hash::<S>().to_le_bytes());
        self.write(&mut out);
        out.0.extend(self.checksum().to_le_bytes());
        out.0
    }

    fn is_snapshot(bytes: &[u8]) -> bool {
        let name = bytes.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(S::NAME.as_bytes()));
        name.is_some_and(|rest| rest.first() == Some(&0))
    }

    fn restore(bytes: &[u8]) -> Result<SimpleWorld<S>, RestoreError> {
        if !Self::is_snapshot(bytes) {
            return Err(RestoreError::NotASnapshot { game: S::NAME });
        }
        let rest = &bytes[MAGIC.len() + S::NAME.len() + 1..];
        let mut reader = Reader::new(rest);
        let (found, expected) = (reader.scalar(8)?, rules_hash::<S>());
        if found != expected {
            return Err(RestoreError::OtherRules { found, expected });
        }
        Ok(read(&mut reader)?)
    }

    fn save_named(&self) -> Vec<u8> {
        let mut out = NamedWriter::default();
        out.field("tick", &self.tick);
        out.field("operator_sequence", &self.operator_sequence);
        out.field("random", &self.random);
        out.field("seats", &self.players);
        out.field("game", &self.game);
        out.bytes(S::NAME)
    }

    fn migrate(identity: &WorldParams, saved: &NamedState) -> Result<SimpleWorld<S>, RestoreError> {
        let fresh = SimpleWorld::<S>::new(identity);
        let carried = || -> Result<SimpleWorld<S>, Malformed> {
            Ok(SimpleWorld {
                tick: saved.field("tick", &fresh.tick)?,
                operator_sequence: saved.field("operator_sequence", &fresh.operator_sequence)?,
                random: saved.field("random", &fresh.random)?,
                players: saved.field("seats", &fresh.players)?,
                game: saved.field("game", &fresh.game)?,
                events: Vec::new(),
                reports: Vec::new(),
                identity: fresh.identity.clone(),
            })
        };
        let mut world = carried()?;
        world.players.iter_mut().for_each(|seat| seat.sequence = 0);
        let is_sorted = world.players.is_sorted_by(|one, next| one.player < next.player);
        if is_sorted {
            Ok(world)
        } else {
            Err(RestoreError::Invalid("the players are not in order".to_owned()))
        }
    }
}

fn field(sink: &mut impl Sink, name: &'static str, value: &impl Field) {
    sink.enter(name);
    value.write(sink);
    sink.leave();
}

fn read<S: SimpleGame>(reader: &mut Reader<'_>) -> Result<SimpleWorld<S>, Malformed> {
    let (seed, tick_hz) = (u32::read(reader)?, u32::read(reader)?);
    let mut identity = WorldParams { seed, tick_hz, options: Vec::new() };
    for option in S::OPTIONS {
        identity.options.push((option.name, u32::read(reader)?));
    }
    let world = SimpleWorld {
        identity,
        tick: Field::read(reader)?,
        operator_sequence: Field::read(reader)?,
        random: Field::read(reader)?,
        players: Field::read(reader)?,
        game: Field::read(reader)?,
        events: Vec::new(),
        reports: Vec::new(),
    };
    let is_sorted = world.players.is_sorted_by(|one, next| one.player < next.player);
    if reader.scalar(8)? != world.checksum() || !reader.rest().is_empty() {
        return Err(Malformed::Value("checksum"));
    }
    if is_sorted { Ok(world) } else { Err(Malformed::Value("order of the players")) }
}

/// FNV-1a over everything that identifies the rules. A game must change its name, table or version
/// together with its rules.
pub fn rules_hash<S: SimpleGame>() -> u64 {
    let bytes = S::NAME.bytes().chain(S::TABLE.1.bytes()).chain(S::VERSION.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
