//! What an agent is told that follows in lockstep.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use tickwire::client::bots::lockstep_agent::LockstepAgent;
use tickwire::game::Game as _;
use tickwire::game::bots::{Agent, AgentOutput, ViewStats};
use tickwire::game::lockstep_packets::{COMMAND_FRAME, SNAPSHOT, STATE_SYNC, SnapshotParts, snapshot_parts};
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::{Action, Identity, PlayerId, TickHz, World};
use tickwire::internal::limits;
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

    fn on_open(&mut self, _out: &mut AgentOutput) {}

    fn on_packet(&mut self, packet: &DecodedPacket<'_>, _now: Duration, _out: &mut AgentOutput) {
        let mut heard = self.0.lock();
        heard.spawned += u32::from(packet.row.name == "spawned");
        heard.updates += u32::from(packet.row.name == "update");
    }

    fn act(&mut self, _now: Duration, _out: &mut AgentOutput) {}

    fn is_playing(&self) -> bool {
        self.0.lock().spawned > 0
    }

    fn view_stats(&self) -> ViewStats {
        ViewStats { visible_players: 0, is_waiting: self.0.lock().waits }
    }
}

/// A world, and an agent that follows it.
struct Both {
    world: World,
    agent: LockstepAgent<Listener>,
    heard: Listener,
}

impl Both {
    fn new() -> Both {
        let world = World::new(Identity { seed: 1, map_size_px: 1_500, tick_hz: TickHz::Hz30 });
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let heard = Listener::default();
        Both { world, agent: LockstepAgent::new(Moo::INFO, dialect, heard.clone()), heard }
    }

    fn tell(&mut self, name: &str, values: &[Value]) {
        let faults = self.heard_faults(name, values);
        assert!(faults.is_empty(), "{faults:?}");
    }

    fn heard_faults(&mut self, name: &str, values: &[Value]) -> Vec<String> {
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let bytes = dialect.encode(Direction::ToClient, name, values).expect("as in the table");
        let packet = dialect.decode(Direction::ToClient, &bytes).expect("just encoded");
        let mut out = AgentOutput::default();
        self.agent.on_packet(&packet, Duration::ZERO, &mut out);
        out.faults.into_iter().map(|fault| fault.detail).collect()
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

/// The fault after the packets: of each its name, the tick, and the bytes of the part.
fn fault(packets: &[(&str, u32, usize)]) -> String {
    let mut both = Both::new();
    let mut faults = Vec::new();
    for (name, tick, length) in packets {
        let tick = Value::from(*tick);
        let values = match *name {
            STATE_SYNC => vec![ANN.0.into(), tick.clone(), tick, 100.into(), "1".into()],
            SNAPSHOT => vec![tick, Value::Binary(vec![7; *length])],
            _ => vec![Value::Binary(vec![0; 6])],
        };
        faults.extend(both.heard_faults(name, &values));
    }
    faults.join("; ")
}

#[test]
fn parts_of_a_snapshot_that_are_not_in_order_are_a_fault_that_names_both() {
    const PART: usize = limits::SNAPSHOT_PART_BYTES;
    let sync = (STATE_SYNC, 9, 0);
    let part = (SNAPSHOT, 9, PART);
    let rows: [(&[_], &str); 5] = [
        (&[sync, part], ""),
        (
            &[sync, part, (COMMAND_FRAME, 0, 0)],
            "command_frame came after 524288 bytes of the snapshot of tick 9: a part is missing",
        ),
        (
            &[sync, part, part, sync],
            "state_sync came after 1048576 bytes of the snapshot of tick 9: a part is missing",
        ),
        (
            &[sync, part, (SNAPSHOT, 12, 5)],
            "a snapshot part of tick 12 came after 524288 bytes of tick 9: a part is missing",
        ),
        (
            &[sync, part, (SNAPSHOT, 9, PART + 1)],
            "a snapshot part of tick 9 has 524289 bytes: must be at most 524288",
        ),
    ];
    for (packets, sentence) in rows {
        assert_eq!(fault(packets), sentence, "{packets:?}");
    }
    let max = limits::SNAPSHOT_REASSEMBLED_BYTES;
    let mut parts = SnapshotParts::default();
    let part = vec![0; PART];
    (0..max / PART).for_each(|_| assert_eq!(parts.add(9, &part), Ok(None)));
    let error = parts.add(9, &[0]).expect_err("too long");
    assert_eq!(error.to_string(), format!("the snapshot of tick 9 is longer than {max} bytes"));
}

#[test]
fn a_snapshot_whose_parts_are_swapped_or_lack_one_is_refused() {
    let mut both = Both::new();
    both.world = World::new(Identity { seed: 1, map_size_px: 32_000, tick_hz: TickHz::Hz30 });
    let join = |player| Action::Join { player: PlayerId(player), name: "Ann".into(), skin: 0 };
    let (player, actions) = (PlayerId::OPERATOR, (2..7_002).map(join));
    let command = |(sequence, action)| Command { player, sequence, action };
    both.world.step(&mut (1..).zip(actions).map(command).collect());
    let state = both.world.snapshot();
    let parts: Vec<&[u8]> = snapshot_parts(&state).collect();
    assert!(parts.len() >= 3, "{}", parts.len());
    let mut faults = |order: &[usize]| -> Vec<String> {
        let part = |at: &usize| [both.world.tick().into(), Value::Binary(parts[*at].to_vec())];
        let packets: Vec<_> = order.iter().map(part).collect();
        packets.iter().flat_map(|values| both.heard_faults(SNAPSHOT, values)).collect()
    };
    assert_eq!(faults(&[0, 1, 2]), Vec::<String>::new());
    for order in [&[1, 0, 2][..], &[0, 2], &[1, 2], &[2, 0, 1]] {
        assert_eq!(faults(order).len(), 1, "{order:?}");
        faults(&[2]);
    }
}

#[test]
fn parts_put_together_are_the_snapshot_and_one_packet_of_an_earlier_server_is_one_too() {
    const PART: usize = limits::SNAPSHOT_PART_BYTES;
    for (length, count) in [(0, 1), (PART - 1, 1), (PART, 2), (PART + 1, 2), (2 * PART, 3)] {
        let state: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        let mut parts = SnapshotParts::default();
        let added: Vec<_> =
            snapshot_parts(&state).map(|part| parts.add(4, part).expect("in order")).collect();
        assert_eq!(added.len(), count, "{length} bytes");
        assert!(added[..count - 1].iter().all(Option::is_none));
        assert_eq!(added[count - 1].as_ref(), Some(&state));
    }
    let whole = vec![1; PART + 1];
    assert_eq!(SnapshotParts::default().add(4, &whole), Ok(Some(whole.clone())));
}
