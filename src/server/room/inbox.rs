//! The inbox of a room: commands, ordered by the tick that will execute them.
//!
//! Three limits hold for players' commands: per player and tick, in count and bytes; in total; and
//! per address. What is too much for a tick moves to the next one, as after a stall of the line, which
//! delivers at once what was said over seconds; it is rejected when the ticks ahead are full. The
//! limit of an address is a dynamic threshold: an address that has `k` commands waiting may add
//! another only while `k` is less than the number of free entries. So an address with no command
//! waiting can take at most half of the free entries (rounded up), and can add a command unless the
//! inbox is full. A player's queued commands are discarded when the player leaves.
//!
//! A player's commands run in the order in which they came: none has an earlier tick than the one
//! before it. Otherwise a later command would run first, and the world would reject the earlier one
//! as repeated.
//!
//! Operator commands (including joins and leaves) are never rejected here: a tick takes
//! [`limits::OPERATOR_COMMANDS_PER_TICK`] of them, and the others move to the next tick in order.
//! This limit and the total for players together fit one command frame, so a capture has every
//! command of a tick.

use std::collections::{BTreeMap, HashMap};

use tickwire_sim::{EncodedAction, MAX_COMMANDS, PlayerId, RawCommand};

use super::acks::{CommandAck, TickCommands};
use crate::limits;
use crate::util::address_prefix::AddressPrefix;

const _: () = assert!(
    limits::INBOX_COMMANDS + limits::OPERATOR_COMMANDS_PER_TICK <= MAX_COMMANDS,
    "a command frame holds all commands of a tick"
);

/// Why a command was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxRejection {
    /// [`limits::INBOX_COMMANDS`] are waiting.
    Full,
    /// The address has as many commands waiting as there is room left.
    AddressShare,
    /// [`limits::COMMANDS_PER_PLAYER_TICK`] of this player are waiting for that tick, and it is the
    /// last.
    PlayerTick,
    /// With it, those of this player would have more than [`limits::COMMAND_BYTES_PER_PLAYER_TICK`]
    /// in that tick, and it is the last; or it has more by itself.
    PlayerBytes,
    /// Another connection has the player's seat.
    TakenOver,
}

impl InboxRejection {
    /// The reason's name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            InboxRejection::Full => "inbox_full",
            InboxRejection::AddressShare => "address_share_full",
            InboxRejection::PlayerTick => "player_tick_full",
            InboxRejection::PlayerBytes => "player_bytes_full",
            InboxRejection::TakenOver => "taken_over",
        }
    }
}

/// Identifies an operator command and the tick that runs it, so that its outcome can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandTicket {
    /// The tick in which it is stepped.
    pub tick: u32,
    /// Its sequence.
    pub sequence: u64,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Inbox {
    max_lead_ticks: u32,
    delay_ticks: u32,
    next_tick: u32,
    slots: BTreeMap<u32, TickQueue>,
    /// Commands of players, in all and by address. An address without any has no entry.
    queued: usize,
    by_address: HashMap<AddressPrefix, usize>,
    operator_sequence: u64,
    /// The tick of the operator's last command: later ones are not before it.
    operator_tick: u32,
    /// The same for each player that has commands waiting.
    last_ticks: HashMap<PlayerId, u32>,
    margins: HashMap<PlayerId, i16>,
    /// The answers to commands that were rejected since the last tick, and how many of each address.
    rejected: Vec<CommandAck>,
    rejected_of: HashMap<AddressPrefix, usize>,
}

/// The commands of one tick.
#[derive(Debug, Default)]
struct TickQueue {
    players: BTreeMap<PlayerId, PlayerQueue>,
    operator: Vec<RawCommand>,
}

/// What one player has queued for one tick.
#[derive(Debug)]
struct PlayerQueue {
    address: AddressPrefix,
    connection: u64,
    commands: Vec<RawCommand>,
    /// Of their actions.
    bytes: usize,
}

impl PlayerQueue {
    /// Whether one more command with an action of so many bytes has room.
    fn check_capacity(&self, bytes: usize) -> Result<(), InboxRejection> {
        if self.commands.len() >= limits::COMMANDS_PER_PLAYER_TICK {
            return Err(InboxRejection::PlayerTick);
        }
        let is_over = self.bytes + bytes > limits::COMMAND_BYTES_PER_PLAYER_TICK;
        if is_over { Err(InboxRejection::PlayerBytes) } else { Ok(()) }
    }
}

impl Inbox {
    /// An inbox for a world whose next tick is `next_tick`, and whose last operator command has
    /// `operator_sequence`. A command may name a tick at most `ahead_ticks` later; a command that
    /// names no tick waits `delay_ticks`.
    pub fn new(next_tick: u32, operator_sequence: u64, ahead_ticks: u32, delay_ticks: u32) -> Inbox {
        Inbox {
            max_lead_ticks: ahead_ticks,
            delay_ticks: delay_ticks.min(ahead_ticks),
            next_tick,
            slots: BTreeMap::new(),
            queued: 0,
            by_address: HashMap::new(),
            operator_sequence,
            operator_tick: next_tick,
            last_ticks: HashMap::new(),
            margins: HashMap::new(),
            rejected: Vec::new(),
            rejected_of: HashMap::new(),
        }
    }

    /// Queues a player's command for `max(intended, next)`, at most `ahead_ticks` ahead, and not
    /// before the player's previous command; for the tick after that if it is full. The connection is
    /// the one that has the player's seat, with its address.
    ///
    /// # Errors
    /// [`InboxRejection`] when a bound is reached; the command is then lost, and the next tick answers so.
    pub fn push(
        &mut self,
        from: (AddressPrefix, u64),
        command: RawCommand,
        intended: Option<u32>,
    ) -> Result<(), InboxRejection> {
        let sequence = command.sequence;
        let queued = self.enqueue(from, command, intended);
        queued.inspect_err(|reason| self.reject(from, sequence, reason.name()))
    }

    /// Makes room for a command that may have waited during a pause of the server. The client named ticks
    /// as if the world had gone on, so the last tick ahead may be full while earlier ones are not: then
    /// the player's waiting commands move to the first ticks with room, in order, even before their own.
    pub fn make_room(&mut self, command: &RawCommand) {
        let (player, bytes) = (command.player, command.action.bytes().len());
        let latest = self.next_tick.saturating_add(self.max_lead_ticks);
        let has_room = |tick| self.check_player_tick(player, tick, bytes).is_ok();
        if has_room(latest) || !(self.next_tick..latest).any(has_room) {
            return;
        }
        let slots = self.slots.values_mut();
        let queued: Vec<PlayerQueue> = slots.filter_map(|slot| slot.players.remove(&player)).collect();
        let mut tick = self.next_tick;
        for PlayerQueue { address, connection, commands, .. } in queued {
            for command in commands {
                if self.check_player_tick(player, tick, command.action.bytes().len()).is_err() {
                    tick += 1;
                }
                self.add(player, tick, (address, connection), command);
            }
        }
    }

    /// Queues a command in this tick, after the other commands of its player.
    fn add(
        &mut self,
        player: PlayerId,
        tick: u32,
        (address, connection): (AddressPrefix, u64),
        command: RawCommand,
    ) {
        let queued = self.slots.entry(tick).or_default().players.entry(player);
        let queued =
            queued.or_insert_with(|| PlayerQueue { address, connection, commands: Vec::new(), bytes: 0 });
        queued.bytes += command.action.bytes().len();
        queued.commands.push(command);
        self.last_ticks.insert(player, tick);
    }

    /// Notes the answer to a command that is not executed: the next tick has it. Of the
    /// [`limits::COMMAND_REJECTIONS`] of a tick an address may have as many as there is room left, as of
    /// the commands that wait; beyond that there is no answer.
    pub fn reject(
        &mut self,
        (address, connection): (AddressPrefix, u64),
        sequence: u64,
        reason: &'static str,
    ) {
        let own = self.rejected_of.entry(address).or_default();
        if *own < limits::COMMAND_REJECTIONS - self.rejected.len() {
            *own += 1;
            self.rejected.push(CommandAck::rejected(connection, sequence, reason));
        }
    }

    fn enqueue(
        &mut self,
        (address, connection): (AddressPrefix, u64),
        command: RawCommand,
        intended: Option<u32>,
    ) -> Result<(), InboxRejection> {
        self.has_room(address)?;
        let (next, player) = (self.next_tick, command.player);
        let latest = next.saturating_add(self.max_lead_ticks);
        let tick = match intended {
            Some(tick) => tick.clamp(next, latest),
            None => next.saturating_add(self.delay_ticks),
        };
        let tick = tick.max(self.last_ticks.get(&player).copied().unwrap_or_default());
        let bytes = command.action.bytes().len();
        let tick = match self.check_player_tick(player, tick, bytes) {
            Ok(()) => tick,
            Err(reason) if tick >= latest => return Err(reason),
            // None of the player's commands waits for a later tick than its last one.
            Err(_) => self.check_player_tick(player, tick + 1, bytes).map(|()| tick + 1)?,
        };
        self.add(player, tick, (address, connection), command);
        self.queued += 1;
        *self.by_address.entry(address).or_default() += 1;
        if let Some(tick) = intended {
            let margin = i64::from(tick) - i64::from(next);
            let margin = margin.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
            self.margins.insert(player, margin);
        }
        Ok(())
    }

    /// The players' commands that wait.
    pub fn waiting(&self) -> usize {
        self.queued
    }

    /// Whether no command waits, of players or of the operator.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Drops a player's waiting commands. The next one runs as if it were the first.
    pub fn drop_player_commands(&mut self, player: PlayerId) {
        let queued: Vec<PlayerQueue> =
            self.slots.values_mut().filter_map(|slot| slot.players.remove(&player)).collect();
        queued.iter().for_each(|queued| self.uncount(queued));
        self.margins.remove(&player);
        self.last_ticks.remove(&player);
    }

    /// Moves the commands of `tick` and the answers that wait for it into `batch`, and the new margins
    /// into `margins`, by player number. Later pushes go to later ticks.
    pub fn drain(&mut self, tick: u32, batch: &mut TickCommands, margins: &mut [i16]) {
        self.next_tick = tick + 1;
        batch.clear();
        batch.rejected.append(&mut self.rejected);
        self.rejected_of.clear();
        while let Some(slot) = self.slots.first_entry().filter(|slot| *slot.key() <= tick) {
            let slot = slot.remove();
            batch.commands.extend(slot.operator);
            for (player, queued) in slot.players {
                self.uncount(&queued);
                // A later tick holds more of them, or the next command is not bound to any tick.
                if self.last_ticks.get(&player).is_some_and(|last| *last <= tick) {
                    self.last_ticks.remove(&player);
                }
                batch.senders.push((queued.connection, queued.commands.len()));
                batch.commands.extend(queued.commands);
            }
        }
        for (player, ticks) in self.margins.drain() {
            if let Some(margin) = margins.get_mut(usize::from(player.0)) {
                *margin = ticks;
            }
        }
    }

    /// Whether one more command of this player, with an action of so many bytes, has room in a tick.
    fn check_player_tick(&self, player: PlayerId, tick: u32, bytes: usize) -> Result<(), InboxRejection> {
        match self.slots.get(&tick).and_then(|slot| slot.players.get(&player)) {
            Some(queued) => queued.check_capacity(bytes),
            None if bytes > limits::COMMAND_BYTES_PER_PLAYER_TICK => Err(InboxRejection::PlayerBytes),
            None => Ok(()),
        }
    }

    /// Whether one more command of this address has room.
    fn has_room(&self, address: AddressPrefix) -> Result<(), InboxRejection> {
        let room = limits::INBOX_COMMANDS - self.queued;
        let own = self.by_address.get(&address).copied().unwrap_or(0);
        match room {
            0 => Err(InboxRejection::Full),
            _ if own >= room => Err(InboxRejection::AddressShare),
            _ => Ok(()),
        }
    }

    /// Forgets what no longer waits.
    fn uncount(&mut self, queued: &PlayerQueue) {
        let count = queued.commands.len();
        self.queued -= count;
        if let Some(own) = self.by_address.get_mut(&queued.address) {
            *own -= count;
            if *own == 0 {
                self.by_address.remove(&queued.address);
            }
        }
    }

    /// Ticks completed after which all operator commands that are queued now have run.
    pub fn settled_tick(&self) -> u32 {
        self.operator_tick + 1
    }

    /// Queues commands of issuer 0 that belong together, so that no client sees the first without the
    /// others, for the first tick that has room for all of them, not before any queued earlier.
    pub fn push_operator(&mut self, actions: Vec<EncodedAction>) -> CommandTicket {
        self.operator_tick = self.operator_tick.max(self.next_tick);
        let waiting = self.slots.get(&self.operator_tick).map_or(0, |slot| slot.operator.len());
        if waiting > 0 && waiting + actions.len() > limits::OPERATOR_COMMANDS_PER_TICK {
            self.operator_tick += 1;
        }
        let slot = self.slots.entry(self.operator_tick).or_default();
        for action in actions {
            self.operator_sequence += 1;
            let command = RawCommand { player: PlayerId::OPERATOR, sequence: self.operator_sequence, action };
            slot.operator.push(command);
        }
        CommandTicket { tick: self.operator_tick, sequence: self.operator_sequence }
    }
}
