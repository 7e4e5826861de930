//! A server whose update workers are slower than its ticks.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tickwire::game::simple::{Entities, EntityInfo, EntityRef, Sight, Viewer};
use tickwire::internal::server::net::ServerHandle;
use tickwire::prelude::*;

use crate::guest::{Guest, server_of};
use crate::lockstep::metric;
use crate::program_of_units::Action;
use crate::support::PATIENCE;

const ROWS: &str = "\
direction\tname\tlane\tdots:int\targuments\tmeaning
to_server\thello\treliable\t1\tversion:u16 mode:u8<=1 name:str<=15|nil\tthe first packet
to_server\tjoin\treliable\t2\tname:str<=15|nil\tjoins
to_server\tping\treliable\t3\tnonce:u32\tmeasures the round trip
to_client\twelcome\treliable\t1\tversion:u16 rules_hash:str<=16 seed:u32 tick_hz:u8.hz update_hz:u8.hz epoch:str<=16 tick:u32.tick\tanswers hello
to_client\tspawned\tlatest\t2\tplayer:u16\tthe client plays
to_client\tpong\treliable\t3\tnonce:u32 tick:u32.tick\tanswers ping
to_client\terror\treliable\t4\trule:str detail:str\tan error
to_client\tdots\tlatest\t5\ttick:u32.tick enter:[id:u32,x:u16] leave:[u32] moved:[id:u32,x:u16]\tdots
";

/// A test that holds this lock stops all updates, because each asks the game what its client sees.
static UPDATES: Mutex<()> = Mutex::new(());

fn stop_updates() -> MutexGuard<'static, ()> {
    UPDATES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A dot that moves in each tick.
#[derive(Clone, Debug, PartialEq)]
struct Dots {
    x: u16,
}

fields!(Dots: x: u16);

rows! {
    in ROWS;

    struct DotRow in "dots" { id: u32, x: u16 }
}

impl SimpleGame for Dots {
    const NAME: &'static str = "dots";
    const DIALECT: &'static str = "dots";
    const TABLE: (&'static str, &'static str) = ("dots.tsv", ROWS);
    const PAGE: &'static str = "";

    type Action = Action;

    fn new(_: &WorldParams) -> Dots {
        Dots { x: 0 }
    }

    fn join(&mut self, _: PlayerId, _: &Joining<'_>, _: &mut TickContext<'_>) {}

    fn leave(&mut self, _: PlayerId, _: &mut TickContext<'_>) {}

    fn apply(&mut self, _: PlayerId, _: Action, _: &mut TickContext<'_>) -> ActionResult {
        Ok(())
    }

    fn tick(&mut self, _: &mut TickContext<'_>) {
        self.x = self.x.wrapping_add(1);
    }

    fn write_state(&self, _: &mut StateRows) {}

    fn write_entities(&self, entities: &mut Entities) {
        entities.push(EntityInfo::at((0, 0)), DotRow { id: 1, x: self.x });
    }

    fn sight(&self, _: Viewer, _: &str) -> Sight {
        drop(stop_updates());
        Sight::EVERYTHING
    }

    fn sees(&self, _: Viewer, _: &EntityRef<'_>) -> bool {
        true
    }
}

/// Waits until a metric of the server is at least this.
fn wait_for(server: &ServerHandle, name: &str, min: u64) {
    let deadline = Instant::now() + PATIENCE;
    while metric(server, name) < min {
        assert!(Instant::now() < deadline, "{name} is {}, not {min}", metric(server, name));
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn ticks_during_a_long_update_reach_the_client_together_and_are_counted() {
    let server = server_of::<Simple<Dots>>();
    let mut guest = Guest::connect(&server);
    guest.enter("ann");
    let tick = |guest: &mut Guest| -> u32 { guest.hear("dots", |_| true).integer("tick").expect("a tick") };
    let mut last = tick(&mut guest);
    let merged = metric(&server, "ticks_merged_total");
    let stopped = stop_updates();
    let resumed_at = metric(&server, "ticks_total") + 8;
    wait_for(&server, "ticks_total", resumed_at);
    drop(stopped);
    let mut longest = 0;
    while u64::from(last) <= resumed_at {
        let next = tick(&mut guest);
        longest = longest.max(next - last);
        last = next;
    }
    assert!(longest >= 5, "no update covers more than {longest} ticks");
    wait_for(&server, "ticks_merged_total", merged + 4);
    server.stop();
}
