//! Bots of one process share a world in lockstep, as long as it is the world of each of them.

use tickwire::game::{Game as _, Messages, SpectatorWorld};
use tickwire::internal::client::shared_world::{SharedWorldHandle, SharedWorlds};
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::{Action, Identity, PlayerId, TickHz, World};
use tickwire::internal::limits;
use tickwire::packet::PacketTables;
use tickwire::sim::fixed::Angle;
use tickwire::sim::{Command, command_frame};

const ANN: PlayerId = PlayerId(1);

fn snapshot() -> Vec<u8> {
    World::new(Identity { seed: 1, map_size_px: 1_500, tick_hz: TickHz::Hz30 }).snapshot()
}

fn own(snapshot: &[u8]) -> Box<dyn SpectatorWorld> {
    let dialect = PacketTables::builtin().dialect("native").expect("built in");
    (Moo::INFO.new_spectator_world)(snapshot, &dialect).expect("its own")
}

/// The frame of a tick, in which a player walks.
fn frame_of(tick: u32, turn: u16) -> Vec<u8> {
    let mut commands: Vec<Command<Action>> = Vec::new();
    if tick == 0 {
        let join = Action::Join { player: ANN, name: "Ann".to_owned(), skin: 0 };
        commands.push(Command { player: PlayerId::OPERATOR, sequence: 1, action: join });
    }
    let action = Action::Move { direction: Some(Angle(turn)) };
    commands.push(Command { player: ANN, sequence: u64::from(tick) + 1, action });
    let mut bytes = Vec::new();
    command_frame::encode(tick, &commands, &mut bytes).expect("a short name");
    bytes
}

#[test]
fn all_are_told_of_one_world_and_have_its_checksums() {
    let worlds = SharedWorlds::new(Moo::INFO);
    let share = || SharedWorldHandle::of(&worlds, "1", own(&snapshot())).expect("the same world");
    let (mut one, mut other) = (share(), share());
    let mut alone = own(&snapshot());
    let (mut heard, mut heard_too, mut heard_alone) = (Vec::new(), Vec::new(), Vec::new());
    for tick in 0..60 {
        let (bytes, who) = (frame_of(tick, tick as u16 * 900), (Some(ANN), None));
        let mut told = Messages::default();
        assert!(one.step(&bytes, 0, who, &mut told));
        heard.extend(told.iter().map(<[u8]>::to_vec));
        // The other is always one behind.
        if tick > 0 {
            told.clear();
            assert!(other.step(&frame_of(tick - 1, (tick - 1) as u16 * 900), 0, who, &mut told));
            heard_too.extend(told.iter().map(<[u8]>::to_vec));
        }
        told.clear();
        let commands = (Moo::INFO.frame)(&bytes).expect("just encoded").commands;
        alone.step(&commands, Some(ANN), None, &mut told);
        heard_alone.extend(told.iter().map(<[u8]>::to_vec));
        assert_eq!(one.checksum(), Some(alone.world().checksum()), "after tick {tick}");
    }
    assert_eq!(heard, heard_alone);
    assert!(heard.len() > 50, "{}", heard.len());
    assert!(heard.starts_with(&heard_too) && heard_too.len() + 3 > heard.len());
    assert_ne!(one.checksum(), other.checksum());
}

#[test]
fn another_world_another_frame_and_a_bot_that_is_too_late_do_not_share() {
    let worlds = SharedWorlds::new(Moo::INFO);
    let mut changed = own(&snapshot());
    let mut one = SharedWorldHandle::of(&worlds, "1", own(&snapshot())).expect("the first");
    let mut late = SharedWorldHandle::of(&worlds, "1", own(&snapshot())).expect("the same world");
    changed.world_mut().corrupt(5).expect("a field is changed");
    let changed = SharedWorldHandle::of(&worlds, "1", changed).expect_err("another world");
    assert!(SharedWorldHandle::of(&worlds, "2", changed).is_ok(), "in another run it is the first");
    let (who, mut told) = ((None, None), Messages::default());
    assert!(one.step(&frame_of(0, 0), 0, who, &mut told));
    let before = late.checksum();
    for wrong in [frame_of(0, 1), frame_of(1, 0), vec![], vec![0xff; 9]] {
        told.clear();
        assert!(!late.step(&wrong, 0, who, &mut told) && told.is_empty());
    }
    assert_eq!((late.tick(), late.checksum()), (0, before));
    let ticks = limits::SHARED_WORLD_TICKS as u32;
    (1..=ticks).for_each(|tick| assert!(one.step(&frame_of(tick, 0), 0, who, &mut told)));
    assert!(!late.step(&frame_of(0, 0), 0, who, &mut told), "what there was to tell is forgotten");
    // One that joins from an old snapshot is as far without running anything, and is told of the present.
    let mut joins = SharedWorldHandle::of(&worlds, "1", own(&snapshot())).expect("the checksum is known");
    told.clear();
    (0..ticks).for_each(|tick| assert!(joins.step(&frame_of(tick, 0), ticks + 1, who, &mut told)));
    assert!(
        told.is_empty() && joins.step(&frame_of(ticks, 0), ticks + 1, who, &mut told) && !told.is_empty()
    );
    assert_eq!((joins.tick(), joins.checksum()), (one.tick(), one.checksum()));
    let max = limits::SHARED_WORLD_LOG_TICKS as u32;
    (ticks + 1..=max).for_each(|tick| assert!(one.step(&frame_of(tick, 0), 0, who, &mut told)));
    assert!(SharedWorldHandle::of(&worlds, "1", own(&snapshot())).is_err(), "that tick is forgotten");
}
