//! The inbox of a room: the tick of each command, and the share of each player and address.

use std::collections::BTreeMap;

use tickwire::internal::games::moo::world::{Action, Command, PlayerId};
use tickwire::internal::limits;
use tickwire::internal::server::room::InboxRejection;
use tickwire::internal::server::room::acks::TickCommands;
use tickwire::internal::server::room::inbox::{CommandTicket, Inbox};
use tickwire::internal::util::address_prefix::AddressPrefix;
use tickwire::sim::{Action as _, EncodedAction, RawCommand, command_frame};

const PER_TICK: u32 = limits::COMMANDS_PER_PLAYER_TICK as u32;

/// A connection from an IPv4 address, both by number.
fn address(number: u32) -> (AddressPrefix, u64) {
    (AddressPrefix::from_ip(std::net::Ipv4Addr::from_bits(number).into()), number.into())
}

/// The connection of the honest player.
fn home() -> (AddressPrefix, u64) {
    address(u32::MAX)
}

fn stop(player: u16, sequence: u32) -> RawCommand {
    let action = Action::Move { direction: None };
    Command { player: PlayerId(player), sequence: sequence.into(), action }.encoded()
}

fn leave() -> EncodedAction {
    Action::Leave { player: PlayerId(1) }.encoded()
}

fn inbox() -> Inbox {
    Inbox::new(0, 0, 30, 0)
}

fn drained(inbox: &mut Inbox, tick: u32) -> Vec<RawCommand> {
    let mut batch = TickCommands::default();
    inbox.drain(tick, &mut batch, &mut []);
    batch.commands
}

fn sequences(inbox: &mut Inbox, tick: u32) -> Vec<u64> {
    drained(inbox, tick).iter().map(|command| command.sequence).collect()
}

#[test]
fn a_command_runs_in_its_tick_the_next_one_or_the_bound_and_one_without_a_tick_after_the_delay() {
    // The delay, the intended tick, the tick in which it runs, and how early it came.
    for (delay, target_tick, expected, margin) in [
        (0, Some(12), 12, 2),
        (0, Some(3), 10, -7),
        (0, None, 10, 0),
        (2, None, 12, 0),
        (2, Some(u32::MAX), 40, i16::MAX),
    ] {
        let mut inbox = Inbox::new(10, 0, 30, delay);
        inbox.push(home(), stop(1, 7), target_tick).unwrap();
        let (mut ran, mut margins, mut batch) = (Vec::new(), [0; 2], TickCommands::default());
        for tick in 10..=40 {
            inbox.drain(tick, &mut batch, &mut margins);
            ran.extend(batch.commands.iter().map(|command| (tick, command.sequence)));
        }
        assert_eq!(ran, [(expected, 7)], "{target_tick:?} with a delay of {delay}");
        assert_eq!(margins, [0, margin]);
    }
}

#[test]
fn a_command_never_runs_before_its_predecessor_until_the_player_is_forgotten() {
    let ran = |inbox: &mut Inbox, ticks: std::ops::RangeInclusive<u32>| -> Vec<(u32, u64)> {
        let each = |tick| sequences(inbox, tick).into_iter().map(move |sequence| (tick, sequence));
        ticks.flat_map(each).collect()
    };
    let mut inbox = inbox();
    for (sequence, target_tick) in [(1, Some(3)), (2, Some(1)), (3, None), (4, Some(5)), (5, Some(0))] {
        inbox.push(home(), stop(1, sequence), target_tick).unwrap();
    }
    inbox.push(home(), stop(2, 1), None).unwrap();
    assert_eq!(ran(&mut inbox, 0..=2), [(0, 1)], "another player does not wait");
    assert_eq!(ran(&mut inbox, 3..=3), [(3, 1), (3, 2), (3, 3)]);
    inbox.push(home(), stop(1, 6), None).unwrap();
    assert_eq!(ran(&mut inbox, 4..=5), [(5, 4), (5, 5), (5, 6)]);
    inbox.push(home(), stop(1, 7), None).unwrap();
    assert_eq!(ran(&mut inbox, 6..=6), [(6, 7)], "none waits, so it is at once");
    // One that claims the far future delays only its own commands, and by the bound at most.
    inbox.push(home(), stop(1, 8), Some(u32::MAX)).unwrap();
    inbox.push(home(), stop(1, 9), None).unwrap();
    inbox.push(home(), stop(2, 2), None).unwrap();
    assert_eq!(ran(&mut inbox, 7..=36), [(7, 2)]);
    assert_eq!(ran(&mut inbox, 37..=37), [(37, 8), (37, 9)]);
    // Another connection that takes the player over does not inherit that.
    inbox.push(home(), stop(1, 10), Some(u32::MAX)).unwrap();
    inbox.drop_player_commands(PlayerId(1));
    inbox.push(home(), stop(1, 1), None).unwrap();
    assert_eq!(ran(&mut inbox, 38..=80), [(38, 1)]);
}

#[test]
fn all_that_a_line_delivers_after_a_stall_runs_in_order_and_in_time() {
    let mut inbox = Inbox::new(100, 0, 30, 0);
    // Those of two seconds and more, each meant for a tick of that time.
    for sequence in 1..=limits::CLIENT_MESSAGES_BURST {
        inbox.push(home(), stop(1, sequence), Some(40 + sequence / 4)).unwrap();
    }
    let mut ran = Vec::new();
    for tick in 100..115 {
        let of_tick = sequences(&mut inbox, tick);
        assert_eq!(of_tick.len(), PER_TICK as usize, "tick {tick}");
        ran.extend(of_tick);
    }
    assert_eq!(ran, (1..=u64::from(limits::CLIENT_MESSAGES_BURST)).collect::<Vec<_>>());
    assert!(inbox.is_empty());
}

#[test]
fn a_tick_holds_so_many_bytes_of_one_player_and_the_rest_moves_to_the_next() {
    const MOST: usize = limits::COMMAND_BYTES_PER_PLAYER_TICK;
    let long = |sequence: u32, bytes: usize| {
        let action = EncodedAction::new(&vec![7; bytes]);
        RawCommand { player: PlayerId(1), sequence: sequence.into(), action }
    };
    let mut inbox = Inbox::new(0, 0, 1, 0);
    assert_eq!(inbox.push(home(), long(1, MOST + 1), None), Err(InboxRejection::PlayerBytes), "in no tick");
    for (sequence, bytes) in [(2, MOST - 1), (3, 1), (4, MOST - 10)] {
        inbox.push(home(), long(sequence, bytes), None).unwrap();
    }
    assert_eq!(inbox.push(home(), long(5, 11), None), Err(InboxRejection::PlayerBytes), "all ticks are full");
    inbox.push(home(), long(6, 10), None).unwrap();
    assert_eq!([0, 1].map(|tick| sequences(&mut inbox, tick)), [vec![2, 3], vec![4, 6]]);
}

#[test]
fn commands_of_a_client_that_kept_playing_during_a_pause_are_all_queued_in_order() {
    // Five seconds at two commands a tick: the client's ticks went on, those of the world did not.
    let (count, lead) = (300, 3);
    let push_all = |push: &mut dyn FnMut(RawCommand, u32) -> Result<(), InboxRejection>| {
        (0..count).filter(|at| push(stop(1, at + 1), lead + at / 2).is_err()).count()
    };
    let mut usual = inbox();
    let lost = push_all(&mut |command, tick| usual.push(home(), command, Some(tick)));
    assert!(lost > 200, "without a pause the last tick ahead is full: {lost}");
    let mut paused = inbox();
    paused.push_operator(vec![leave()]);
    let lost = push_all(&mut |command, tick| {
        paused.make_room(&command);
        paused.push(home(), command, Some(tick))
    });
    assert_eq!((lost, paused.waiting()), (0, count as usize));
    let run: Vec<Vec<u64>> = (0..=30).map(|tick| sequences(&mut paused, tick)).collect();
    assert!(run.iter().all(|tick| tick.len() <= 1 + PER_TICK as usize));
    let of_player: Vec<u64> = run.concat().into_iter().skip(1).collect();
    assert_eq!(of_player, (1..=u64::from(count)).collect::<Vec<_>>());
    assert_eq!((paused.waiting(), paused.is_empty()), (0, true));
    // The ticks ahead are still the bound.
    let mut full = 0..2 * 31 * PER_TICK;
    let max = full.position(|at| {
        paused.make_room(&stop(1, 1 + at));
        paused.push(home(), stop(1, 1 + at), Some(at)).is_err()
    });
    assert_eq!(max, Some(31 * PER_TICK as usize));
}

#[test]
fn one_player_cannot_fill_the_ticks_ahead_and_all_addresses_together_not_the_inbox() {
    let (mut inbox, ahead) = (inbox(), 31 * PER_TICK);
    for sequence in 0..ahead {
        inbox.push(home(), stop(1, sequence), None).unwrap();
    }
    assert_eq!(inbox.push(home(), stop(1, ahead), None), Err(InboxRejection::PlayerTick));
    // Each address pushes until it is stopped; then the next one comes.
    let mut stopped = BTreeMap::new();
    for number in 2..u16::MAX {
        let mut push = |sequence| inbox.push(address(number.into()), stop(number, sequence), None);
        if let Err(reason) = (0..PER_TICK).try_for_each(&mut push) {
            *stopped.entry(reason.name()).or_insert(0) += 1;
            if reason == InboxRejection::Full {
                break;
            }
        }
    }
    assert_eq!(stopped["inbox_full"], 1, "{stopped:?}");
    inbox.drop_player_commands(PlayerId(1));
    inbox.push(home(), stop(60_000, 1), None).expect("the room of the player that left");
    assert_eq!(drained(&mut inbox, 0).len(), limits::INBOX_COMMANDS + 1 - ahead as usize);
}

/// A handful of addresses fill the ticks ahead; each has players, who leave at once or stay. Gives
/// how many of the 70 commands of an honest player are accepted meanwhile.
fn honest_commands_accepted(stays: bool) -> usize {
    let (mut inbox, mut newcomer, mut accepted) = (inbox(), 2, 0);
    for tick in 0..10 {
        for number in 0..80 {
            for (ahead, sequence) in (0..=30).flat_map(|ahead| (0..PER_TICK).map(move |at| (ahead, at))) {
                let _ = inbox.push(address(number % 4), stop(newcomer, sequence), Some(tick + ahead));
            }
            if !stays {
                inbox.drop_player_commands(PlayerId(newcomer));
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
    let mut inbox = inbox();
    let mut fill = |number: u32| {
        let players = (0..10_000_u16).map(|player| number as u16 * 10_000 + player);
        let mut commands = players.flat_map(|player| (0..PER_TICK).map(move |at| stop(player, at)));
        let refused =
            commands.by_ref().position(|command| inbox.push(address(number), command, None).is_err());
        refused.expect("it is stopped")
    };
    // The first leaves half of the room, the second half of that, and so on.
    let counts = [0, 1, 2, 3].map(&mut fill);
    assert_eq!(counts, [2, 4, 8, 16].map(|part| limits::INBOX_COMMANDS / part));
    assert_eq!(inbox.push(address(0), stop(9, 9), None), Err(InboxRejection::AddressShare));
    inbox.push(home(), stop(60_000, 1), None).expect("an address that has nothing waiting");
    drained(&mut inbox, 0);
    assert_eq!(inbox.waiting(), 0);
}

#[test]
fn forget_drops_the_queued_commands_of_one_player_only() {
    let (mut inbox, mut margins) = (inbox(), [0; 3]);
    for (player, sequence, tick) in [(1, 1, 1), (2, 2, 1), (1, 3, 4), (2, 4, 4), (1, 5, 30)] {
        inbox.push(home(), stop(player, sequence), Some(tick)).unwrap();
    }
    inbox.drop_player_commands(PlayerId(1));
    inbox.drain(0, &mut TickCommands::default(), &mut margins);
    assert_eq!(margins, [0, 0, 4]);
    let ran: Vec<u64> = (1..=30).flat_map(|tick| sequences(&mut inbox, tick)).collect();
    assert_eq!((ran, inbox.waiting()), (vec![2, 4], 0));
}

#[test]
fn operator_commands_past_the_bound_move_to_the_next_tick_in_order_and_tickets_say_so() {
    let (mut inbox, bound) = (Inbox::new(7, 70, 30, 5), limits::OPERATOR_COMMANDS_PER_TICK as u32);
    let mut tickets: Vec<CommandTicket> =
        (0..2 * bound - 1).map(|_| inbox.push_operator(vec![leave()])).collect();
    assert_eq!(tickets[0], CommandTicket { tick: 7, sequence: 71 }, "the sequences go on");
    // Two that belong together do not fit the rest of the second tick.
    tickets.push(inbox.push_operator(vec![leave(), leave()]));
    tickets.push(inbox.push_operator(vec![leave()]));
    for (tick, expected) in [(7, bound), (8, bound - 1), (9, 3)] {
        let sequences = sequences(&mut inbox, tick);
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
    let mut inbox = inbox();
    for number in 0..u16::MAX {
        for sequence in 0..PER_TICK {
            let _ = inbox.push(address(number.into()), stop(number, sequence), None);
        }
        inbox.push_operator(vec![leave()]);
    }
    let (commands, mut bytes) = (drained(&mut inbox, 0), Vec::new());
    command_frame::encode_raw(0, &commands, &mut bytes).expect("the inbox bounds a tick");
    assert_eq!(commands.len(), limits::INBOX_COMMANDS + limits::OPERATOR_COMMANDS_PER_TICK);
    assert_eq!(command_frame::decode_raw::<Action>(&bytes).expect("our own frame").commands, commands);
    let typed: Option<Vec<Command>> = commands.iter().map(RawCommand::decoded).collect();
    let frame = command_frame::decode::<Action>(&bytes).expect("our own frame");
    assert_eq!(Some(frame.commands), typed);
}
