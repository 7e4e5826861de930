//! The inbox of the world: commands by the tick that will run them.
//!
//! Comes in: commands of client threads, each with the tick it is meant for. Goes out: once a tick, all commands of that
//! tick, and how early or late each player's last one came. Bounded in all and per player and tick; joins and leaves
//! do not count, because a leave must always have room and a join was admitted before. Never: waiting.

use std::collections::{BTreeMap, HashMap};

use super::sync::Mutex;
use crate::limits;
use crate::world::{Action, Command, PlayerId};

/// Why a command was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// [`limits::INBOX_COMMANDS`] are waiting.
    InboxFull,
    /// [`limits::COMMANDS_PER_PLAYER_TICK`] of this player are waiting for that tick.
    PlayerTickFull,
}

impl Dropped {
    /// The reason's name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Dropped::InboxFull => "inbox_full",
            Dropped::PlayerTickFull => "player_tick_full",
        }
    }
}

/// Which command of the operator's it was, and when it runs: enough to find out what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// The tick in which it is stepped.
    pub tick: u32,
    /// Its sequence.
    pub sequence: u32,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Inbox {
    state: Mutex<State>,
    ahead_ticks: u32,
    delay_ticks: u32,
}

#[derive(Debug)]
struct State {
    next_tick: u32,
    slots: BTreeMap<u32, Slot>,
    waiting: usize,
    operator_sequence: u32,
    margins: HashMap<PlayerId, i16>,
}

impl State {
    fn push_operator(&mut self, action: Action) -> Ticket {
        self.operator_sequence += 1;
        let command = Command { player: PlayerId(0), sequence: self.operator_sequence, action };
        let ticket = Ticket { tick: self.next_tick, sequence: self.operator_sequence };
        self.slots.entry(ticket.tick).or_default().commands.push(command);
        self.waiting += 1;
        ticket
    }
}

#[derive(Debug, Default)]
struct Slot {
    commands: Vec<Command>,
    per_player: HashMap<PlayerId, usize>,
}

impl Inbox {
    /// An inbox for a world whose next tick is `next_tick`. Commands may be meant for `ahead_ticks` later at most; those that
    /// name no tick wait `delay_ticks`.
    pub fn new(next_tick: u32, ahead_ticks: u32, delay_ticks: u32) -> Inbox {
        let state = State {
            next_tick,
            slots: BTreeMap::new(),
            waiting: 0,
            operator_sequence: 0,
            margins: HashMap::new(),
        };
        Inbox { state: Mutex::new(state), ahead_ticks, delay_ticks: delay_ticks.min(ahead_ticks) }
    }

    /// The same inbox for a world in which the operator has commanded before: its sequences go on from there.
    pub fn after_sequence(self, operator_sequence: u32) -> Inbox {
        self.state.lock().operator_sequence = operator_sequence;
        self
    }

    /// Queues a player's command for `max(intended, next)`, bounded ahead.
    ///
    /// # Errors
    /// [`Dropped`] when a bound is reached; the command is then lost.
    pub fn push(&self, command: Command, intended: Option<u32>) -> Result<(), Dropped> {
        let mut state = self.state.lock();
        if state.waiting >= limits::INBOX_COMMANDS {
            return Err(Dropped::InboxFull);
        }
        let (next, player) = (state.next_tick, command.player);
        let latest = next.saturating_add(self.ahead_ticks);
        let tick = match intended {
            Some(tick) => tick.clamp(next, latest),
            None => next.saturating_add(self.delay_ticks),
        };
        let slot = state.slots.entry(tick).or_default();
        let count = slot.per_player.entry(player).or_default();
        if *count >= limits::COMMANDS_PER_PLAYER_TICK {
            return Err(Dropped::PlayerTickFull);
        }
        *count += 1;
        slot.commands.push(command);
        state.waiting += 1;
        if let Some(tick) = intended {
            let margin = i64::from(tick) - i64::from(next);
            let margin = margin.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
            state.margins.insert(player, margin);
        }
        Ok(())
    }

    /// Queues a command of issuer 0 for the next tick, past any bound: joins and leaves are as many as the clients, and whoever
    /// types waits for each answer.
    pub fn push_operator(&self, action: Action) -> Ticket {
        self.state.lock().push_operator(action)
    }

    /// The same for several commands of one tick, so that nobody sees the first without the others.
    pub fn push_operator_with(&self, action: Action, more: impl IntoIterator<Item = Action>) {
        let mut state = self.state.lock();
        state.push_operator(action);
        for action in more {
            state.push_operator(action);
        }
    }

    /// Takes the commands of `tick` into `commands` and the margins that came since into `margin`. Later pushes are for later ticks.
    pub fn drain(&self, tick: u32, commands: &mut Vec<Command>, mut margin: impl FnMut(PlayerId, i16)) {
        let mut state = self.state.lock();
        state.next_tick = tick + 1;
        commands.clear();
        while let Some(slot) = state.slots.first_entry().filter(|slot| *slot.key() <= tick) {
            commands.extend(slot.remove().commands);
        }
        state.waiting -= commands.len();
        for (player, ticks) in state.margins.drain() {
            margin(player, ticks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(player: u16, sequence: u32) -> Command {
        Command { player: PlayerId(player), sequence, action: Action::Move { direction: None } }
    }

    fn drained(inbox: &Inbox, tick: u32) -> Vec<u32> {
        let mut commands = Vec::new();
        inbox.drain(tick, &mut commands, |_, _| {});
        commands.iter().map(|command| command.sequence).collect()
    }

    #[test]
    fn a_command_runs_in_the_tick_it_is_meant_for_or_the_next_one() {
        let inbox = Inbox::new(10, 30, 0);
        inbox.push(stop(1, 1), Some(12)).unwrap();
        inbox.push(stop(1, 2), Some(3)).unwrap();
        inbox.push(stop(1, 3), None).unwrap();
        assert_eq!(drained(&inbox, 10), [2, 3]);
        assert_eq!(drained(&inbox, 11), [0; 0]);
        assert_eq!(drained(&inbox, 12), [1]);
    }

    #[test]
    fn the_operators_sequences_go_on_and_a_ticket_says_when() {
        let inbox = Inbox::new(10, 30, 5).after_sequence(70);
        let leave = || Action::Leave { player: PlayerId(1) };
        assert_eq!(inbox.push_operator(leave()), Ticket { tick: 10, sequence: 71 });
        assert_eq!(drained(&inbox, 10), [71]);
        assert_eq!(inbox.push_operator(leave()), Ticket { tick: 11, sequence: 72 });
    }

    #[test]
    fn the_far_future_is_cut_to_the_bound() {
        let inbox = Inbox::new(0, 30, 0);
        inbox.push(stop(1, 1), Some(u32::MAX)).unwrap();
        assert_eq!(drained(&inbox, 29), [0; 0]);
        assert_eq!(drained(&inbox, 30), [1]);
    }

    #[test]
    fn commands_without_a_tick_wait_the_delay() {
        let inbox = Inbox::new(5, 30, 2);
        inbox.push(stop(1, 1), None).unwrap();
        assert_eq!(drained(&inbox, 6), [0; 0]);
        assert_eq!(drained(&inbox, 7), [1]);
    }

    #[test]
    fn the_margin_says_how_early_or_late() {
        let inbox = Inbox::new(10, 30, 0);
        inbox.push(stop(1, 1), Some(13)).unwrap();
        inbox.push(stop(2, 1), Some(8)).unwrap();
        let mut margins = BTreeMap::new();
        inbox.drain(10, &mut Vec::new(), |player, ticks| {
            margins.insert(player, ticks);
        });
        assert_eq!(margins, BTreeMap::from([(PlayerId(1), 3), (PlayerId(2), -2)]));
    }

    #[test]
    fn one_player_cannot_fill_a_tick_and_all_together_not_the_inbox() {
        let inbox = Inbox::new(0, 30, 0);
        let per_tick = limits::COMMANDS_PER_PLAYER_TICK as u32;
        for sequence in 0..per_tick {
            inbox.push(stop(1, sequence), None).unwrap();
        }
        assert_eq!(inbox.push(stop(1, per_tick), None), Err(Dropped::PlayerTickFull));
        for player in 2.. {
            let full = (0..per_tick).find_map(|sequence| inbox.push(stop(player, sequence), None).err());
            if let Some(reason) = full {
                assert_eq!(reason, Dropped::InboxFull);
                break;
            }
        }
        inbox.push_operator(Action::Leave { player: PlayerId(1) });
        let mut commands = Vec::new();
        inbox.drain(0, &mut commands, |_, _| {});
        assert_eq!(commands.len(), limits::INBOX_COMMANDS + 1, "a leave has room when nothing else has");
    }
}
