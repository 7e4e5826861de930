//! The packets `own_state`, which correct the prediction of each player.

use std::borrow::Cow;
use std::sync::OnceLock;

use tickwire_sim::PlayerId;

use super::encode_once::encode_once;
use super::rows::{FieldValue, PlainPacket, RowError, RowRef};
use super::simple_game::SimpleGame;
use super::world::SimpleWorld;
use crate::packet::Dialect;

/// The own states of all players after a tick.
#[derive(Debug, Default)]
pub struct OwnStates {
    packet: &'static str,
    fields: &'static [&'static str],
    /// In ascending order of their players.
    commands: Vec<LastCommand>,
    /// The values of all players, `fields.len()` for each.
    values: Vec<FieldValue>,
    plain: OnceLock<(String, Option<PlainPacket>)>,
}

/// The last executed command of a player.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct LastCommand {
    player: PlayerId,
    sequence: u64,
    /// How many ticks before its execution it arrived.
    margin_ticks: i16,
}

/// The own state of one player.
#[derive(Debug, Clone, Copy)]
pub struct OwnState<'a> {
    row: RowRef<'a>,
    command: LastCommand,
    plain: Option<&'a PlainPacket>,
}

/// The own state that a client has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SentOwnState {
    command: LastCommand,
    values: Vec<FieldValue>,
}

impl OwnStates {
    /// Replaces the states by the ones in a world. A game without prediction has none.
    pub fn write<S: SimpleGame>(&mut self, world: &SimpleWorld<S>, margin: &dyn Fn(PlayerId) -> i16) {
        self.commands.clear();
        self.values.clear();
        // Uses one function of the prediction: the linker leaves the others out.
        let Some((row, push)) = S::PREDICTION.map(|prediction| prediction.own_state) else { return };
        (self.packet, self.fields) = row;
        for seat in &world.players {
            let start = self.values.len();
            if push(&world.game, seat.player, &mut self.values) {
                self.values.resize(start + self.fields.len(), FieldValue::Nil);
                let (player, sequence) = (seat.player, seat.sequence);
                self.commands.push(LastCommand { player, sequence, margin_ticks: margin(player) });
            }
        }
    }

    /// Returns the state of a player, if it has one.
    pub fn of(&self, player: PlayerId, dialect: &Dialect) -> Option<OwnState<'_>> {
        let at = self.commands.binary_search_by_key(&player, |command| command.player).ok()?;
        let state = self.state(at);
        let plain = encode_once(&self.plain, dialect, || {
            PlainPacket::new(state.row, &state.server_values(0), dialect)
        });
        // Another dialect needs its own encoding: see `encode_once`.
        let plain = if let Cow::Borrowed(plain) = plain { plain.as_ref() } else { None };
        Some(OwnState { plain, ..state })
    }

    fn state(&self, at: usize) -> OwnState<'_> {
        let OwnStates { packet, fields, ref commands, ref values, .. } = *self;
        let values = &values[at * fields.len()..][..fields.len()];
        OwnState { row: RowRef { packet, fields, values }, command: commands[at], plain: None }
    }
}

impl OwnState<'_> {
    /// Stores the state as the one that the client has. Returns whether it had another one.
    pub fn store(self, sent: &mut Option<SentOwnState>) -> bool {
        let is_new = sent.is_none();
        let SentOwnState { command, values } = sent.get_or_insert_default();
        if !is_new && *command == self.command && *values == self.row.values {
            return false;
        }
        *command = self.command;
        values.clear();
        values.extend_from_slice(self.row.values);
        true
    }

    /// Appends the packet as of this tick.
    ///
    /// # Errors
    /// The rule that the values violate.
    pub fn encode_to(self, tick: u32, dialect: &Dialect, out: &mut Vec<u8>) -> Result<(), RowError> {
        let server = self.server_values(tick);
        if self.plain.is_some_and(|plain| plain.append(self.row, &server, out)) {
            return Ok(());
        }
        self.row.encode_to(dialect, &server, out)
    }

    /// Returns the arguments that the server sets.
    fn server_values(self, tick: u32) -> [(&'static str, i64); 3] {
        let LastCommand { sequence, margin_ticks, .. } = self.command;
        [("tick", tick.into()), ("sequence", sequence as i64), ("margin", margin_ticks.into())]
    }
}
