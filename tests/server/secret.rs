//! The random numbers of a game that hides something: no client can compute them from the seed.

use std::time::Duration;

use tickwire::game::simple::{Simple, SimpleGame, SimpleWorld};
use tickwire::game::{Game as _, UpdateRates};
use tickwire::internal::server::room::lockstep::LockstepConfig;
use tickwire::internal::server::room::{Room, RoomConfig, TickRequest};
use tickwire::sim::{Sim as _, WorldParams};

use crate::program_of_fog::Fog;
use crate::program_of_pong::Pong;

/// The checksum of a room's world after some ticks. A second world that executes its command frames
/// has the same one.
fn checksum<S: SimpleGame>(secret: u64, epoch: &str) -> u64 {
    let identity = WorldParams::default_for::<SimpleWorld<S>>(1);
    let options = RoomConfig {
        name: "".into(),
        epoch: epoch.to_owned(),
        secret,
        rates: UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 30 },
        delay_ticks: 0,
        resume_time: Duration::ZERO,
        absent_per_address: 9,
        max_clients: 9,
        lockstep: LockstepConfig::default(),
    };
    let mut room = Room::<Simple<S>>::new(SimpleWorld::new(&identity), options);
    let mut replica = SimpleWorld::<S>::new(&identity);
    let wanted = TickRequest { frame: true, checksum: true, snapshot: false, player_events: false };
    let mut last = 0;
    for tick in 1..6 {
        let ticked = room.tick(Duration::from_millis(tick * 33), wanted);
        last = ticked.checksum.expect("it is requested");
        assert_eq!(last, replica.checksum());
        let frame = (Simple::<S>::INFO.frame)(&ticked.frame.expect("it is requested")).expect("a frame");
        let commands = frame.commands.iter().filter_map(|command| command.decoded());
        replica.step(&mut commands.collect(), &mut Default::default());
    }
    last
}

#[test]
fn a_game_with_entity_lists_has_random_numbers_that_do_not_follow_from_the_seed() {
    let fog = checksum::<Fog>(7, "a");
    assert_eq!(fog, checksum::<Fog>(7, "a"));
    assert_ne!(fog, checksum::<Fog>(8, "a"), "another secret");
    assert_ne!(fog, checksum::<Fog>(7, "b"), "another run of the room");
    // Pong hides nothing: its seed decides everything.
    assert_eq!(checksum::<Pong>(7, "a"), checksum::<Pong>(8, "b"));
}
