//! What an agent is told that follows in lockstep.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use tickwire::client::bots::lockstep_agent::InLockstep;
use tickwire::game::Game as _;
use tickwire::game::bots::{Agent, Outcome, Sight};
use tickwire::game::lockstep_packets::{COMMAND_FRAME, SNAPSHOT, STATE_SYNC};
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::{Action, Identity, PlayerId, TickHz, World};
use tickwire::packet::{DecodedPacket, Direction, PacketTables, Value};
use tickwire::sim::{Command, command_frame};

const ANN: PlayerId = PlayerId(1);

/// What the agent has heard, and whether it waits to be born.
#[derive(Default)]
struct Heard {
    spawned: u32,
    updates: u32,
    waits: bool,
}

#[derive(Default, Clone)]
struct Listener(Arc<Mutex<Heard>>);

impl Agent for Listener {
    fn name(&self) -> &str {
        "Ann"
    }

    fn begin(&mut self, _out: &mut Outcome) {}

    fn hear(&mut self, packet: &DecodedPacket<'_>, _now: Duration, _out: &mut Outcome) {
        let mut heard = self.0.lock();
        heard.spawned += u32::from(packet.row.name == "spawned");
        heard.updates += u32::from(packet.row.name == "update");
    }

    fn act(&mut self, _now: Duration, _out: &mut Outcome) {}

    fn is_playing(&self) -> bool {
        self.0.lock().spawned > 0
    }

    fn sight(&self) -> Sight {
        Sight { others: 0, waits: self.0.lock().waits }
    }
}

/// A world, and an agent that follows it.
struct Both {
    world: World,
    agent: InLockstep<Listener>,
    heard: Listener,
}

impl Both {
    fn new() -> Both {
        let world = World::new(Identity { seed: 1, map_size_px: 1_500, tick_hz: TickHz::Hz30 });
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let heard = Listener::default();
        Both { world, agent: InLockstep::new(Moo::ABOUT, dialect, heard.clone()), heard }
    }

    fn tell(&mut self, name: &str, values: &[Value]) {
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let bytes = dialect.encode(Direction::ToClient, name, values).expect("as in the table");
        let packet = dialect.decode(Direction::ToClient, &bytes).expect("just encoded");
        let mut out = Outcome::default();
        self.agent.hear(&packet, Duration::ZERO, &mut out);
        assert!(out.faults.is_empty(), "{:?}", out.faults);
    }

    /// The client begins at the world as it is.
    fn sync(&mut self) {
        let tick = self.world.tick();
        let sync = [ANN.0.into(), tick.into(), tick.into(), 100.into(), "1".into()];
        self.tell(STATE_SYNC, &sync);
        self.tell(SNAPSHOT, &[tick.into(), Value::Binary(self.world.snapshot())]);
    }

    fn step(&mut self, actions: Vec<Action>) {
        let tick = self.world.tick();
        let command = |(sequence, action)| Command { player: PlayerId::OPERATOR, sequence, action };
        let mut commands: Vec<_> = (1 + 10 * u64::from(tick)..).zip(actions).map(command).collect();
        let mut bytes = Vec::new();
        command_frame::encode(tick, &commands, &mut bytes).expect("short names");
        self.world.step(&mut commands);
        self.tell(COMMAND_FRAME, &[Value::Binary(bytes)]);
    }
}

#[test]
fn an_agent_is_told_of_each_birth_once_also_when_its_world_begins_again() {
    let join = || vec![Action::Join { player: ANN, name: "Ann".to_owned(), skin: 0 }];
    let mut both = Both::new();
    let heard = both.heard.0.clone();
    both.sync();
    both.step(join());
    both.step(vec![]);
    assert_eq!(heard.lock().spawned, 1);
    both.sync();
    both.step(vec![]);
    assert!(heard.lock().updates > 0);
    assert_eq!(heard.lock().spawned, 1, "it knows that");
    both.step(vec![Action::Leave { player: ANN }]);
    both.step(join());
    assert_eq!(heard.lock().spawned, 2, "born again");
    // It has died, and is born again in a tick that its new world has behind it.
    heard.lock().waits = true;
    both.sync();
    both.step(vec![]);
    assert_eq!(heard.lock().spawned, 3, "it has not been told");
}
