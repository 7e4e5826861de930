//! The inbox of a room: queued commands, ordered by target tick.
//!
//! Players' commands are limited per player and tick (count and bytes), in total, and per address
//! prefix. A command that exceeds the limit of its tick moves to the next tick, because after a
//! network stall the commands of several seconds arrive at once. It is rejected if the last
//! possible tick is full. The limit per prefix is a dynamic threshold: a prefix with `k` queued
//! commands may add another only while `k` is less than the number of free entries. So a prefix
//! without queued commands can take at most half of the free entries (rounded up), and can add a
//! command unless the inbox is full. The queued commands of a player are dropped when the player
//! leaves.
//!
//! A player's commands are executed in order of arrival: a target tick is never earlier than the
//! target tick of the player's previous command. Otherwise a later command would be executed first,
//! and the world would reject the earlier one as repeated.
//!
//! Operator commands (including joins and leaves) are never rejected here. A tick executes up to
//! [`limits::OPERATOR_COMMANDS_PER_TICK`] of them, and the others move to the next tick in order.
//! This limit and the total limit for players together fit one command frame, so a capture contains
//! every command of a tick.

use std::collections::{BTreeMap, HashMap};

use tickwire_sim::{EncodedAction, MAX_COMMANDS, PlayerId, RawCommand};

use super::acks::{CommandAck, TickCommands};
use crate::limits;
use crate::util::address_prefix::AddressPrefix;

const _: () = assert!(
    limits::INBOX_COMMANDS + limits::OPERATOR_COMMANDS_PER_TICK <= MAX_COMMANDS,
    "a command frame holds all commands of a tick"
);

tickwire_sim::named_enum! {
    /// The reason why the inbox rejected a command.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum InboxRejection {
        /// [`limits::INBOX_COMMANDS`] commands are queued.
        Full => "inbox_full",
        /// The address prefix has as many queued commands as there are free entries.
        AddressShare => "address_share_full",
        /// The player has [`limits::COMMANDS_PER_PLAYER_TICK`] commands queued for the last
        /// possible tick.
        PlayerTick => "player_tick_full",
        /// The player's commands would exceed [`limits::COMMAND_BYTES_PER_PLAYER_TICK`] in the last
        /// possible tick, or this command exceeds it alone.
        PlayerBytes => "player_bytes_full",
        /// Another connection has the player's seat.
        TakenOver => "taken_over",
    }
}

/// Identifies an operator command and its tick, so that its outcome can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandTicket {
    /// The tick that executes the command.
    pub tick: u32,
    /// The command's sequence number.
    pub sequence: u64,
}

/// Queues commands by target tick, and collects the acks of rejected commands.
#[derive(Debug)]
pub struct Inbox {
    max_lead_ticks: u32,
    delay_ticks: u32,
    next_tick: u32,
    slots: BTreeMap<u32, TickQueue>,
    /// Number of queued commands of all players.
    queued: usize,
    /// Number of queued commands by address prefix. A prefix without queued commands has no entry.
    by_address: HashMap<AddressPrefix, usize>,
    operator_sequence: u64,
    /// Target tick of the operator's last command. Later commands get the same tick or a later one.
    operator_tick: u32,
    /// Target tick of the last command of each player with queued commands.
    last_ticks: HashMap<PlayerId, u32>,
    margins: HashMap<PlayerId, i16>,
    /// Acks of commands that were rejected since the last tick.
    rejected: Vec<CommandAck>,
    /// Number of these acks by address prefix.
    rejected_of: HashMap<AddressPrefix, usize>,
}

/// The commands of one tick.
#[derive(Debug, Default)]
struct TickQueue {
    players: BTreeMap<PlayerId, PlayerQueue>,
    operator: Vec<RawCommand>,
}

/// The commands of one player for one tick.
#[derive(Debug)]
struct PlayerQueue {
    address: AddressPrefix,
    connection: u64,
    commands: Vec<RawCommand>,
    /// Total bytes of the actions.
    bytes: usize,
}

impl PlayerQueue {
    /// Checks whether one more command with an action of `bytes` bytes fits.
    fn check_capacity(&self, bytes: usize) -> Result<(), InboxRejection> {
        if self.commands.len() >= limits::COMMANDS_PER_PLAYER_TICK {
            return Err(InboxRejection::PlayerTick);
        }
        let is_over = self.bytes + bytes > limits::COMMAND_BYTES_PER_PLAYER_TICK;
        if is_over { Err(InboxRejection::PlayerBytes) } else { Ok(()) }
    }
}

impl Inbox {
    /// Creates an inbox. `next_tick` is the world's next tick, `operator_sequence` the number of
    /// its last operator command. Target ticks are limited to `ahead_ticks` after the next tick. A
    /// command without a target tick is delayed by `delay_ticks`.
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

    /// Queues a player's command for `max(target_tick, next)`, at most `max_lead_ticks` ahead and
    /// not before the player's previous command. If that tick is full, the command moves to the
    /// following one. `from` is the connection that has the player's seat, with its address prefix.
    ///
    /// # Errors
    /// [`InboxRejection`] when a limit is reached. The command is then dropped, and the next tick
    /// brings an ack with the reason.
    pub fn push(
        &mut self,
        from: (AddressPrefix, u64),
        command: RawCommand,
        target_tick: Option<u32>,
    ) -> Result<(), InboxRejection> {
        let sequence = command.sequence;
        let queued = self.enqueue(from, command, target_tick);
        queued.inspect_err(|reason| self.reject(from, sequence, reason.name()))
    }

    /// Makes space for a command that was delayed by a pause of the server. The client chose target
    /// ticks as if the world had continued, so the last possible tick may be full while earlier
    /// ones are not. In this case the player's queued commands move, in order, to the first ticks
    /// with space, even before their target ticks.
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

    /// Queues a command for this tick, after the other commands of its player.
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

    /// Queues the ack of a rejected command for the next tick. A tick has at most
    /// [`limits::COMMAND_REJECTIONS`] of these acks. An address prefix may have at most as many as
    /// are still free. An ack beyond these limits is dropped.
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
        target_tick: Option<u32>,
    ) -> Result<(), InboxRejection> {
        self.has_room(address)?;
        let (next, player) = (self.next_tick, command.player);
        let latest = next.saturating_add(self.max_lead_ticks);
        let tick = match target_tick {
            Some(tick) => tick.clamp(next, latest),
            None => next.saturating_add(self.delay_ticks),
        };
        let tick = tick.max(self.last_ticks.get(&player).copied().unwrap_or_default());
        let bytes = command.action.bytes().len();
        let tick = match self.check_player_tick(player, tick, bytes) {
            Ok(()) => tick,
            Err(reason) if tick >= latest => return Err(reason),
            // The player has no command for a later tick, so the following tick has space for it.
            Err(_) => self.check_player_tick(player, tick + 1, bytes).map(|()| tick + 1)?,
        };
        self.add(player, tick, (address, connection), command);
        self.queued += 1;
        *self.by_address.entry(address).or_default() += 1;
        if let Some(tick) = target_tick {
            let margin = i64::from(tick) - i64::from(next);
            let margin = margin.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
            self.margins.insert(player, margin);
        }
        Ok(())
    }

    /// Returns the number of queued commands of players.
    pub fn waiting(&self) -> usize {
        self.queued
    }

    /// Returns whether nothing is queued. A queue whose commands were all dropped counts as queued
    /// until the next tick.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Drops a player's queued commands. The player's next command may have an earlier target tick
    /// than the dropped commands.
    pub fn drop_player_commands(&mut self, player: PlayerId) {
        let queued: Vec<PlayerQueue> =
            self.slots.values_mut().filter_map(|slot| slot.players.remove(&player)).collect();
        queued.iter().for_each(|queued| self.uncount(queued));
        self.margins.remove(&player);
        self.last_ticks.remove(&player);
    }

    /// Makes a player's commands that are queued from now on wait for this tick.
    pub fn delay_player_commands(&mut self, player: PlayerId, tick: u32) {
        let last = self.last_ticks.entry(player).or_default();
        *last = tick.max(*last);
    }

    /// Moves the commands of `tick` and the queued acks into `batch`, and the new leads into
    /// `margins`, indexed by player number. Commands queued afterwards get later ticks.
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
                // If the player's last command is for a later tick, the player still has queued
                // commands.
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

    /// Checks whether one more command of this player, with an action of `bytes` bytes, fits a
    /// tick.
    fn check_player_tick(&self, player: PlayerId, tick: u32, bytes: usize) -> Result<(), InboxRejection> {
        match self.slots.get(&tick).and_then(|slot| slot.players.get(&player)) {
            Some(queued) => queued.check_capacity(bytes),
            None if bytes > limits::COMMAND_BYTES_PER_PLAYER_TICK => Err(InboxRejection::PlayerBytes),
            None => Ok(()),
        }
    }

    /// Checks whether one more command of this address prefix fits.
    fn has_room(&self, address: AddressPrefix) -> Result<(), InboxRejection> {
        let room = limits::INBOX_COMMANDS - self.queued;
        let own = self.by_address.get(&address).copied().unwrap_or(0);
        match room {
            0 => Err(InboxRejection::Full),
            _ if own >= room => Err(InboxRejection::AddressShare),
            _ => Ok(()),
        }
    }

    /// Subtracts these commands from the counts.
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

    /// Returns the number of ticks after which all operator commands queued so far have been
    /// executed.
    pub fn settled_tick(&self) -> u32 {
        self.operator_tick + 1
    }

    /// Queues related operator commands for the same tick, so that no client sees only some of
    /// them. Takes the first tick with space for all of them, but no tick before the operator's
    /// previous command.
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
