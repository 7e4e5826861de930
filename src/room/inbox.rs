//! The inbox of a room: commands, ordered by the tick that will execute them.
//!
//! Readers push their players' commands, each with its intended tick; once a tick, the room drains
//! the inbox, with how early or late each player's last command arrived.
//!
//! Three limits hold for players' commands: per player and tick, in total, and per address. The
//! limit of an address is a dynamic threshold: an address that has `k` commands waiting may add
//! another only while `k` is less than the number of free entries. So `n` addresses that push
//! without end leave one part in `n + 1` free, and an address that has no command waiting can
//! always add one, regardless of the others. A player's queued commands are dropped when the player
//! leaves, so clients that come and go do not fill the ticks ahead.
//!
//! Operator commands (including joins and leaves) are never dropped: a tick takes
//! [`limits::OPERATOR_COMMANDS_PER_TICK`] of them, and the others move to the next tick in order.
//! There are at most a few for each of [`limits::PLAYERS`]. Both limits together fit one command
//! frame, so a capture has every command of a tick.

use std::collections::{BTreeMap, HashMap};

use crate::household::Household;
use crate::limits;
use crate::world::{Action, Command, PlayerId, command};

const _: () = assert!(
    limits::INBOX_COMMANDS + limits::OPERATOR_COMMANDS_PER_TICK <= command::FRAME_COMMANDS,
    "a command frame holds all commands of a tick"
);

/// Why a command was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejected {
    /// [`limits::INBOX_COMMANDS`] are waiting.
    Full,
    /// The address has as many commands waiting as there is room left.
    AddressShare,
    /// [`limits::COMMANDS_PER_PLAYER_TICK`] of this player are waiting for that tick.
    PlayerTick,
}

impl Rejected {
    /// The reason's name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Rejected::Full => "inbox_full",
            Rejected::AddressShare => "address_share_full",
            Rejected::PlayerTick => "player_tick_full",
        }
    }
}

/// Identifies an operator command and the tick that runs it, so that its outcome can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// The tick in which it is stepped.
    pub tick: u32,
    /// Its sequence.
    pub sequence: u64,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Inbox {
    ahead_ticks: u32,
    delay_ticks: u32,
    next_tick: u32,
    slots: BTreeMap<u32, Slot>,
    /// Commands of players, in all and by address. An address without any has no entry.
    waiting: usize,
    by_address: HashMap<Household, usize>,
    operator_sequence: u64,
    /// The tick of the operator's last command: later ones are not before it.
    operator_tick: u32,
    margins: HashMap<PlayerId, i16>,
}

/// The commands of one tick.
#[derive(Debug, Default)]
struct Slot {
    players: BTreeMap<PlayerId, Queued>,
    operator: Vec<Command>,
}

/// What one player has queued for one tick.
#[derive(Debug)]
struct Queued {
    address: Household,
    commands: Vec<Command>,
}

impl Inbox {
    /// An inbox for a world whose next tick is `next_tick`, and whose last operator command has
    /// `operator_sequence`. A command may name a tick at most `ahead_ticks` later; a command that
    /// names no tick waits `delay_ticks`.
    pub fn new(next_tick: u32, operator_sequence: u64, ahead_ticks: u32, delay_ticks: u32) -> Inbox {
        Inbox {
            ahead_ticks,
            delay_ticks: delay_ticks.min(ahead_ticks),
            next_tick,
            slots: BTreeMap::new(),
            waiting: 0,
            by_address: HashMap::new(),
            operator_sequence,
            operator_tick: next_tick,
            margins: HashMap::new(),
        }
    }

    /// Queues a player's command for `max(intended, next)`, at most `ahead_ticks` ahead. `address`
    /// is the address of the player's connection.
    ///
    /// # Errors
    /// [`Rejected`] when a bound is reached; the command is then lost.
    pub fn push(
        &mut self,
        address: Household,
        command: Command,
        intended: Option<u32>,
    ) -> Result<(), Rejected> {
        self.has_room(address)?;
        let (next, player) = (self.next_tick, command.player);
        let latest = next.saturating_add(self.ahead_ticks);
        let tick = match intended {
            Some(tick) => tick.clamp(next, latest),
            None => next.saturating_add(self.delay_ticks),
        };
        let queued = self.slots.entry(tick).or_default().players.entry(player);
        let queued = queued.or_insert_with(|| Queued { address, commands: Vec::new() });
        if queued.commands.len() >= limits::COMMANDS_PER_PLAYER_TICK {
            return Err(Rejected::PlayerTick);
        }
        queued.commands.push(command);
        self.waiting += 1;
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
        self.waiting
    }

    /// Drops a player's waiting commands.
    pub fn forget(&mut self, player: PlayerId) {
        let queued: Vec<Queued> =
            self.slots.values_mut().filter_map(|slot| slot.players.remove(&player)).collect();
        queued.iter().for_each(|queued| self.release(queued));
        self.margins.remove(&player);
    }

    /// Moves the commands of `tick` into `commands` and passes the new margins to `margin`. Later
    /// pushes go to later ticks.
    pub fn drain(&mut self, tick: u32, commands: &mut Vec<Command>, mut margin: impl FnMut(PlayerId, i16)) {
        self.next_tick = tick + 1;
        commands.clear();
        while let Some(slot) = self.slots.first_entry().filter(|slot| *slot.key() <= tick) {
            let slot = slot.remove();
            commands.extend(slot.operator);
            for queued in slot.players.into_values() {
                self.release(&queued);
                commands.extend(queued.commands);
            }
        }
        for (player, ticks) in self.margins.drain() {
            margin(player, ticks);
        }
    }

    /// Whether one more command of this address has room.
    fn has_room(&self, address: Household) -> Result<(), Rejected> {
        let room = limits::INBOX_COMMANDS - self.waiting;
        let own = self.by_address.get(&address).copied().unwrap_or(0);
        match room {
            0 => Err(Rejected::Full),
            _ if own >= room => Err(Rejected::AddressShare),
            _ => Ok(()),
        }
    }

    /// Forgets what no longer waits.
    fn release(&mut self, queued: &Queued) {
        let count = queued.commands.len();
        self.waiting -= count;
        if let Some(own) = self.by_address.get_mut(&queued.address) {
            *own -= count;
            if *own == 0 {
                self.by_address.remove(&queued.address);
            }
        }
    }

    /// Queues commands of issuer 0 that belong together, so that no client sees the first without the
    /// others, for the first tick that has room for all of them, not before any queued earlier.
    pub fn push_operator(&mut self, actions: Vec<Action>) -> Ticket {
        self.operator_tick = self.operator_tick.max(self.next_tick);
        let waiting = self.slots.get(&self.operator_tick).map_or(0, |slot| slot.operator.len());
        if waiting > 0 && waiting + actions.len() > limits::OPERATOR_COMMANDS_PER_TICK {
            self.operator_tick += 1;
        }
        let slot = self.slots.entry(self.operator_tick).or_default();
        for action in actions {
            self.operator_sequence += 1;
            let command = Command { player: PlayerId::OPERATOR, sequence: self.operator_sequence, action };
            slot.operator.push(command);
        }
        Ticket { tick: self.operator_tick, sequence: self.operator_sequence }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 address, by number.
    fn address(number: u32) -> Household {
        Household::of(std::net::Ipv4Addr::from_bits(number).into())
    }

    /// The address of the honest player.
    fn home() -> Household {
        address(u32::MAX)
    }

    fn stop(player: u16, sequence: u32) -> Command {
        let action = Action::Move { direction: None };
        Command { player: PlayerId(player), sequence: sequence.into(), action }
    }

    fn drained(inbox: &mut Inbox, tick: u32) -> Vec<u64> {
        let mut commands = Vec::new();
        inbox.drain(tick, &mut commands, |_, _| {});
        commands.iter().map(|command| command.sequence).collect()
    }

    #[test]
    fn a_command_runs_in_its_tick_the_next_one_or_the_bound_and_one_without_a_tick_after_the_delay() {
        // The delay, the intended tick, the tick in which it runs, and how early it came.
        for (delay, intended, expected, margin) in [
            (0, Some(12), 12, Some(2)),
            (0, Some(3), 10, Some(-7)),
            (0, None, 10, None),
            (2, None, 12, None),
            (2, Some(u32::MAX), 40, Some(i16::MAX)),
        ] {
            let mut inbox = Inbox::new(10, 0, 30, delay);
            inbox.push(home(), stop(1, 7), intended).unwrap();
            let (mut ran, mut margins) = (Vec::new(), Vec::new());
            for tick in 10..=40 {
                let mut commands = Vec::new();
                inbox.drain(tick, &mut commands, |player, ticks| margins.push((player, ticks)));
                ran.extend(commands.iter().map(|command| (tick, command.sequence)));
            }
            assert_eq!(ran, [(expected, 7)], "{intended:?} with a delay of {delay}");
            assert_eq!(margins, Vec::from_iter(margin.map(|ticks| (PlayerId(1), ticks))));
        }
    }

    #[test]
    fn the_operators_sequences_go_on_and_a_ticket_says_when() {
        let mut inbox = Inbox::new(10, 70, 30, 5);
        let leave = || vec![Action::Leave { player: PlayerId(1) }];
        assert_eq!(inbox.push_operator(leave()), Ticket { tick: 10, sequence: 71 });
        assert_eq!(drained(&mut inbox, 10), [71]);
        assert_eq!(inbox.push_operator(leave()), Ticket { tick: 11, sequence: 72 });
    }

    #[test]
    fn one_player_cannot_fill_a_tick_and_all_addresses_together_not_the_inbox() {
        let mut inbox = Inbox::new(0, 0, 30, 0);
        let per_tick = limits::COMMANDS_PER_PLAYER_TICK as u32;
        for sequence in 0..per_tick {
            inbox.push(home(), stop(1, sequence), None).unwrap();
        }
        assert_eq!(inbox.push(home(), stop(1, per_tick), None), Err(Rejected::PlayerTick));
        // Each address pushes until it is stopped; then the next one comes.
        let mut stopped = BTreeMap::new();
        for number in 2..u16::MAX {
            let pushed = (0..per_tick)
                .try_for_each(|sequence| inbox.push(address(number.into()), stop(number, sequence), None));
            if let Err(reason) = pushed {
                *stopped.entry(reason.name()).or_insert(0) += 1;
                if reason == Rejected::Full {
                    break;
                }
            }
        }
        assert_eq!(stopped["inbox_full"], 1, "{stopped:?}");
        let mut commands = Vec::new();
        inbox.forget(PlayerId(1));
        inbox.push(home(), stop(60_000, 1), None).expect("the room of the player that left");
        inbox.drain(0, &mut commands, |_, _| {});
        assert_eq!(commands.len(), limits::INBOX_COMMANDS + 1 - per_tick as usize);
    }

    /// A handful of addresses fill the ticks ahead; each has 64 players, who leave at once or stay. Gives how many of the 70 commands of
    /// an honest player are accepted meanwhile.
    fn honest_commands_accepted(stays: bool) -> usize {
        let (mut inbox, mut newcomer, mut accepted) = (Inbox::new(0, 0, 30, 0), 2, 0);
        for tick in 0..10 {
            for number in 0..80 {
                for ahead in 0..=30 {
                    for sequence in 0..limits::COMMANDS_PER_PLAYER_TICK as u32 {
                        let _ = inbox.push(address(number % 4), stop(newcomer, sequence), Some(tick + ahead));
                    }
                }
                if !stays {
                    inbox.forget(PlayerId(newcomer));
                }
                newcomer += 1;
            }
            let mut honest = |at: u32| inbox.push(home(), stop(1, tick * 7 + at), Some(tick + 2)).is_ok();
            accepted += (0..7).filter(|at| honest(*at)).count();
            drained(&mut inbox, tick);
        }
        accepted
    }

    #[test]
    fn clients_of_a_few_addresses_leave_room_for_every_honest_command_whether_they_stay_or_go() {
        assert_eq!([false, true].map(honest_commands_accepted), [70, 70]);
    }

    #[test]
    fn an_address_gets_a_share_of_the_room_and_one_without_commands_always_has_some() {
        let mut inbox = Inbox::new(0, 0, 30, 0);
        let fill = |number: u32| {
            let mut count = 0;
            for player in 0..10_000u16 {
                for sequence in 0..limits::COMMANDS_PER_PLAYER_TICK as u32 {
                    let player = number as u16 * 10_000 + player;
                    match inbox.push(address(number), stop(player, sequence), None) {
                        Ok(()) => count += 1,
                        Err(reason) => {
                            assert_eq!(reason, Rejected::AddressShare);
                            return count;
                        }
                    }
                }
            }
            count
        };
        // The first leaves half of the room, the second half of that, and so on.
        let counts = [0, 1, 2, 3].map(fill);
        assert_eq!(counts, [2, 4, 8, 16].map(|part| limits::INBOX_COMMANDS / part));
        inbox.push(home(), stop(60_000, 1), None).expect("an address that has nothing waiting");
        drained(&mut inbox, 0);
        assert!(inbox.by_address.is_empty() && inbox.waiting == 0);
    }

    #[test]
    fn forget_drops_the_queued_commands_of_one_player_only() {
        let mut inbox = Inbox::new(0, 0, 30, 0);
        for (player, sequence, tick) in [(1, 1, 0), (2, 2, 0), (1, 3, 4), (2, 4, 4), (1, 5, 30)] {
            inbox.push(home(), stop(player, sequence), Some(tick)).unwrap();
        }
        inbox.forget(PlayerId(1));
        let mut commands = Vec::new();
        inbox.drain(0, &mut commands, |player, _| assert_eq!(player, PlayerId(2)));
        assert_eq!(commands.iter().map(|command| command.player.0).collect::<Vec<_>>(), [2]);
        assert_eq!((1..=30).flat_map(|tick| drained(&mut inbox, tick)).collect::<Vec<_>>(), [4]);
        assert_eq!(inbox.waiting, 0);
    }

    #[test]
    fn operator_commands_past_the_bound_move_to_the_next_tick_in_order_and_tickets_say_so() {
        let (mut inbox, bound) = (Inbox::new(7, 0, 30, 0), limits::OPERATOR_COMMANDS_PER_TICK as u32);
        let leave = || Action::Leave { player: PlayerId(1) };
        let mut tickets: Vec<Ticket> =
            (0..2 * bound - 1).map(|_| inbox.push_operator(vec![leave()])).collect();
        // Two that belong together do not fit the rest of the second tick.
        tickets.push(inbox.push_operator(vec![leave(), leave()]));
        tickets.push(inbox.push_operator(vec![leave()]));
        for (tick, expected) in [(7, bound), (8, bound - 1), (9, 3)] {
            let sequences = drained(&mut inbox, tick);
            assert_eq!(sequences.len(), expected as usize, "tick {tick}");
            assert!(sequences.is_sorted(), "tick {tick}");
            for ticket in tickets.iter().filter(|ticket| sequences.contains(&ticket.sequence)) {
                assert_eq!(ticket.tick, tick, "of sequence {}", ticket.sequence);
            }
        }
        assert_eq!(inbox.push_operator(vec![leave()]).tick, 10, "room again");
    }

    #[test]
    fn a_command_frame_holds_all_commands_of_the_fullest_tick() {
        let mut inbox = Inbox::new(0, 0, 30, 0);
        for number in 0..u16::MAX {
            for sequence in 0..limits::COMMANDS_PER_PLAYER_TICK as u32 {
                let _ = inbox.push(address(number.into()), stop(number, sequence), None);
            }
            inbox.push_operator(vec![Action::Leave { player: PlayerId(number) }]);
        }
        let (mut commands, mut bytes) = (Vec::new(), Vec::new());
        inbox.drain(0, &mut commands, |_, _| {});
        command::encode_frame(0, &commands, &mut bytes).expect("the inbox bounds a tick");
        let frame = command::decode_frame(&bytes).expect("our own frame");
        assert_eq!(commands.len(), limits::INBOX_COMMANDS + limits::OPERATOR_COMMANDS_PER_TICK);
        assert_eq!(frame.commands, commands);
    }
}
