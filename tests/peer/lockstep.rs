//! Lockstep: clients that run the room's world themselves, from its journal.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tickwire::client::follower::{Follower, Heard, Report};
use tickwire::game::{Game as _, Messages, Rates};
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::{Action, Identity, PlayerId, TickHz, World};
use tickwire::internal::host::audience::{Audience as _, Desk, Members, Served, Turns};
use tickwire::internal::host::backlog::Backlog;
use tickwire::internal::host::client::{Client, Line};
use tickwire::internal::host::conversation::{Asked, hear};
use tickwire::internal::host::door::Entry;
use tickwire::internal::host::tokens::Guard;
use tickwire::internal::household::Household;
use tickwire::internal::peer::{Ending, Endpoint};
use tickwire::internal::room::lockstep::{Access, Counts, Rules};
use tickwire::internal::room::{Options, Room, Wants};
use tickwire::limits;
use tickwire::packet::{Codes, Direction, Value};
use tickwire::sim::{Action as _, Raw};
use tickwire::ws::Side;
use tickwire::ws::frame::{self, Header, Opcode};

const NOW: Duration = Duration::from_secs(1);
const SNAPSHOT_TICKS: u32 = 20;
const CHECKSUM_TICKS: u32 = 5;

/// A line that keeps what it is given, or takes nothing.
#[derive(Debug, Default)]
struct Kept {
    bytes: Mutex<Vec<u8>>,
    is_stuck: AtomicBool,
}

impl Line for Kept {
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        if self.is_stuck.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let slices = slices.collect::<Vec<_>>().concat();
        self.bytes.lock().expect("no panic").extend(&slices);
        Ok(slices.len())
    }
    fn queued(&self, _client: &Client<Kept>, _frames: &[u8], _now: Duration) {}
    fn cut(&self) {}
}

struct All;

impl Turns<Kept> for All {
    fn now(&self) -> Duration {
        NOW
    }
    fn carry_out(&mut self, _: &Client<Kept>, turn: &mut dyn FnMut() -> Option<Served>) -> bool {
        turn();
        true
    }
}

/// One end of a connection, and the other.
struct End {
    client: Arc<Client<Kept>>,
    follower: Follower,
    reports: Vec<Report>,
    /// Ticks whose frames have come, in order.
    frames: Vec<u32>,
    /// Names of other packets.
    others: Vec<String>,
}

struct Hall {
    room: Room<Moo>,
    audience: Members<Moo, Kept>,
    desk: Desk,
    guard: Guard,
    budgets: tickwire::internal::host::budgets::Budgets,
    ends: Vec<End>,
    sequence: u64,
}

impl Hall {
    fn new(access: Access) -> Hall {
        let world = World::new(Identity { seed: 1, map_size_px: 3_000, tick_hz: TickHz::Hz30 });
        let options = Options {
            name: "".into(),
            epoch: "0".to_owned(),
            rates: Rates { tick_hz: 30, update_hz: 30, foreign_hz: 10 },
            delay_ticks: 0,
            seat_time: NOW,
            max_clients: 9,
            lockstep: Rules { access, snapshot_ticks: SNAPSHOT_TICKS, checksum_ticks: CHECKSUM_TICKS },
        };
        Hall {
            room: Room::new(world, options),
            audience: Members::default(),
            desk: Desk::default(),
            guard: Guard::default(),
            budgets: tickwire::internal::host::budgets::Budgets::new(true),
            ends: Vec::new(),
            sequence: 0,
        }
    }

    /// A client that says hello with this mode; its place in `ends`.
    fn client(&mut self, mode: u8, is_local: bool) -> usize {
        let endpoint = Endpoint::new(Codes::builtin().dialect("native").expect("built in"), false);
        let number = self.ends.len() as u64 + 1;
        let who = (number, "127.0.0.1:5000".parse().expect("an address"));
        let room = Arc::clone(self.room.handle());
        let entry = Entry { room, endpoint, inspect_key: None, token: None, is_local, response: Vec::new() };
        let client = Arc::new(Client::new(who, Kept::default(), entry, NOW));
        self.audience.take_up(Arc::clone(&client));
        let follower = Follower::new(Moo::ABOUT, Arc::clone(&client.endpoint.dialect));
        self.ends.push(End { client, follower, reports: Vec::new(), frames: Vec::new(), others: Vec::new() });
        let at = self.ends.len() - 1;
        self.say(at, "hello", &[1.into(), mode.into(), "Ann".into(), Value::Nil, Value::Nil]);
        at
    }

    /// A client sends a packet.
    fn say(&self, at: usize, name: &str, values: &[Value]) {
        let dialect = &self.ends[at].client.endpoint.dialect;
        let message = dialect.encode(Direction::ToServer, name, values).expect("by the table");
        self.send(at, &message);
    }

    fn send(&self, at: usize, message: &[u8]) {
        let client = &self.ends[at].client;
        let mut bytes = Vec::new();
        frame::write(&mut bytes, Opcode::Binary, Some([1, 2, 3, 4]), message);
        let now = client.at(NOW);
        let (budgets, guard) = (&self.budgets, &self.guard);
        let mut asked = Asked { client, budgets, guard, books: &(), at: now };
        if let Err(ending) = hear(client, &bytes, now, &mut asked) {
            client.close(ending, NOW);
        }
    }

    /// One tick, in which all players walk; then everybody hears what came.
    fn tick(&mut self) {
        self.sequence += 1;
        for player in self.players() {
            let direction = (self.sequence * 7_919 + u64::from(player.0) * 20_011) as u16;
            let action = Action::Move { direction: Some(tickwire::sim::fixed::Angle(direction)) }.encoded();
            let command = Raw { player, sequence: self.sequence, action };
            let connection =
                self.ends.iter().find(|end| end.client.player() == Some(player)).expect("of a client");
            let household = Household::of(std::net::Ipv4Addr::LOCALHOST.into());
            self.room.handle().push((household, connection.client.id), command, None).expect("there is room");
        }
        let ticked = self.room.tick(NOW, Wants::default());
        let backlog = Backlog::new(ticked.published, ticked.answers);
        self.audience.serve(Some(&backlog), &mut self.desk, &mut All);
        (0..self.ends.len()).for_each(|at| self.listen(at));
    }

    fn players(&self) -> Vec<PlayerId> {
        self.ends.iter().filter_map(|end| end.client.player()).collect()
    }

    fn ticks(&mut self, count: u32) {
        (0..count).for_each(|_| self.tick());
    }

    /// Decodes what a client was sent, and sends what its follower says.
    fn listen(&mut self, at: usize) {
        let mut bytes = std::mem::take(&mut *self.ends[at].client.line.bytes.lock().expect("no panic"));
        let (mut say, mut told) = (Vec::new(), Messages::default());
        let End { client, follower, reports, frames, others } = &mut self.ends[at];
        while let Ok(Some((header, from))) = Header::decode(&bytes, Side::Server) {
            let end = from + header.length as usize;
            if header.opcode == Opcode::Binary {
                let packet = client.endpoint.dialect.decode(Direction::ToClient, &bytes[from..end]);
                let packet = packet.expect("by the table");
                match follower.hear(&packet, &mut say, &mut told).expect("the same rules") {
                    Heard::Report(report) => reports.push(report),
                    Heard::Stepped(tick) => frames.push(tick - 1),
                    Heard::Began(_) | Heard::Noted => {}
                    Heard::Other => others.push(packet.row.name.clone()),
                }
            }
            bytes.drain(..end);
        }
        say.iter().for_each(|message| self.send(at, message));
    }

    fn counts(&self) -> Counts {
        self.room.handle().lockstep.counts()
    }

    /// The room's world after the last tick.
    fn checksum(&mut self) -> u64 {
        let wants = Wants { snapshot: true, ..Wants::default() };
        let snapshot = self.room.tick(NOW, wants).snapshot.expect("wanted");
        World::restore(&snapshot.bytes).expect("its own").checksum()
    }

    /// Whether the worlds of these clients are that of the room.
    fn agree(&mut self, ends: &[usize]) {
        let tick = self.room.handle().tick();
        let own: Vec<u64> = ends
            .iter()
            .map(|at| {
                let world = self.ends[*at].follower.world().expect("it follows");
                assert_eq!(world.tick(), tick);
                world.checksum()
            })
            .collect();
        let room = self.checksum();
        assert!(own.iter().all(|own| *own == room), "{own:x?}, not {room:x}");
    }
}

#[test]
fn whenever_a_client_joins_it_gets_each_frame_once_and_has_the_world_of_the_room() {
    for join in [0, 1, 4, 5, 19, 20, 21, 47] {
        let mut hall = Hall::new(Access::Open);
        let first = hall.client(3, false);
        hall.ticks(join);
        let late = hall.client(2, false);
        hall.ticks(66);
        for at in [first, late] {
            let frames = &hall.ends[at].frames;
            assert!(frames.is_sorted_by(|one, next| next - one == 1), "{frames:?}");
            assert_eq!(hall.ends[at].follower.counts().syncs, 1);
            assert!(hall.ends[at].reports.is_empty());
        }
        assert_eq!(hall.ends[first].follower.player(), Some(PlayerId(1)));
        assert_eq!(hall.ends[late].follower.player(), None);
        assert_eq!(hall.players().len(), 1);
        hall.agree(&[first, late]);
        assert_eq!((hall.counts().desyncs, hall.counts().syncs), (0, 2));
        assert!(hall.counts().checksums > 20, "{:?}", hall.counts());
        // What a stream consists of is not sent, what answers is.
        let others = &hall.ends[first].others;
        assert!(
            others.iter().all(|name| ["welcome", "command_accepted"].contains(&name.as_str())),
            "{others:?}"
        );
    }
}

#[test]
fn nothing_is_kept_or_made_while_nobody_follows() {
    let mut hall = Hall::new(Access::Open);
    let stream = hall.client(1, false);
    hall.ticks(30);
    assert!(hall.ends[stream].others.contains(&"update".to_owned()));
    assert_eq!(hall.room.tick(NOW, Wants::default()).frame, None);
    let follows = hall.client(2, false);
    hall.ticks(3);
    assert!(hall.room.tick(NOW, Wants::default()).frame.is_some());
    hall.ends[follows].client.leave_world(NOW);
    hall.tick();
    assert_eq!(hall.room.tick(NOW, Wants::default()).frame, None);
    // A client that comes then begins at a snapshot of that time.
    let next = hall.client(2, false);
    hall.ticks(3);
    hall.agree(&[next]);
}

#[test]
fn a_world_with_a_changed_field_is_named_to_all_and_comes_back_by_itself() {
    for seed in 0..40 {
        let mut hall = Hall::new(Access::Open);
        let (one, other) = (hall.client(3, false), hall.client(2, false));
        let stream = hall.client(1, false);
        hall.ticks(23);
        hall.ends[one].follower.corrupt(seed);
        hall.ticks(12);
        let (tick, changed) = hall.ends[one].follower.corrupted().expect("a field was changed").clone();
        for at in [one, other] {
            let [report] = &hall.ends[at].reports[..] else { panic!("{:?}", hall.ends[at].reports) };
            assert_eq!((report.tick, report.more), (tick, 0));
            assert!(report.names("player 1") && !report.names("spectator 2"));
            let has = |(participant, group): (usize, &str)| {
                report.groups.get(participant).is_some_and(|(_, all)| all.iter().any(|one| one == group))
            };
            assert!(has((0, "server")) && has((0, "spectator 2")) && has((1, "player 1")), "{report:?}");
            let [(who, field)] = &report.fields[..] else { panic!("{:?}", report.fields) };
            assert_eq!((who.as_str(), field), ("player 1", &changed), "seed {seed}");
        }
        assert!(hall.ends[stream].reports.is_empty());
        assert_eq!(hall.ends[one].follower.counts().syncs, 2);
        hall.agree(&[one, other]);
        hall.ticks(30);
        assert_eq!(hall.counts().desyncs, 1, "once");
    }
}

#[test]
fn a_false_checksum_is_reported_once_for_its_tick_whatever_else_is_claimed() {
    let mut hall = Hall::new(Access::Open);
    let (honest, liar) = (hall.client(2, false), hall.client(3, false));
    hall.ticks(2);
    let wrong = |checksum: &str| [Value::from(5), checksum.into()];
    for checksum in ["00000000000000ff", "0000000000000001", "0000000000000002"] {
        hall.say(liar, "checksum", &wrong(checksum));
    }
    // No checksums: another number of digits, a sign, a tick that is no checksum tick, one too far ahead, one of long ago.
    for (tick, checksum) in
        [(5, "ff"), (5, "+0000000000000ff"), (6, "00000000000000ff"), (500, "00000000000000ff")]
    {
        hall.say(liar, "checksum", &[tick.into(), checksum.into()]);
    }
    // It says nothing of what differs, which the report waits for.
    hall.ticks(38);
    let [report] = &hall.ends[honest].reports[..] else { panic!("{:?}", hall.ends[honest].reports) };
    assert_eq!(report.tick, 5);
    assert_eq!(report.groups[1], ("00000000000000ff".to_owned(), vec!["player 1".to_owned()]));
    assert_eq!(hall.counts().desyncs, 1);
    // Its own follower never differed: it goes on, from another snapshot.
    hall.agree(&[honest, liar]);
    assert_eq!((hall.counts().desyncs, hall.ends[liar].reports.len()), (1, 1));
}

#[test]
fn a_checksum_that_comes_after_its_interval_counts_while_its_snapshot_is_kept() {
    let mut hall = Hall::new(Access::Open);
    let honest = hall.client(2, false);
    let journal = Arc::clone(hall.room.handle());
    journal.lockstep.follow(77, Household::of(std::net::Ipv4Addr::LOCALHOST.into()));
    hall.ticks(33);
    journal.lockstep.checksum(77, || "late".to_owned(), 5, 1);
    assert_eq!(hall.counts().desyncs, 1);
    hall.ticks(20);
    // The snapshot before tick 5 is forgotten.
    journal.lockstep.checksum(77, || "late".to_owned(), 10, 1);
    assert_eq!(hall.counts().desyncs, 1);
    hall.ticks(20);
    let [report] = &hall.ends[honest].reports[..] else { panic!("{:?}", hall.ends[honest].reports) };
    assert_eq!((report.tick, &report.groups[1].1[..]), (5, &["late".to_owned()][..]));
}

#[test]
fn a_client_that_does_not_read_is_queued_no_frames_and_begins_again_at_a_snapshot() {
    let mut hall = Hall::new(Access::Open);
    let (slow, fast) = (hall.client(3, false), hall.client(2, false));
    hall.ticks(10);
    hall.ends[slow].client.line.is_stuck.store(true, Ordering::Relaxed);
    hall.ticks(70);
    assert!(hall.ends[slow].client.sender.backlog() < 200, "{}", hall.ends[slow].client.sender.backlog());
    assert!(hall.ends[slow].client.sender.is_open());
    hall.ends[slow].client.line.is_stuck.store(false, Ordering::Relaxed);
    hall.ticks(3);
    assert_eq!(hall.ends[slow].follower.counts().syncs, 2);
    hall.agree(&[slow, fast]);
    assert_eq!(hall.counts().desyncs, 0);
}

#[test]
fn snapshots_are_limited_for_each_address_and_requests_for_one_are_one() {
    let mut hall = Hall::new(Access::Open);
    let asks = hall.client(2, false);
    hall.ticks(2);
    hall.say(asks, "state_sync_request", &[]);
    hall.ticks(2);
    assert_eq!(hall.counts().syncs, 2);
    let number = hall.ends[asks].client.id;
    for _ in 0..300 {
        // Faster than a client may send.
        (0..3).for_each(|_| hall.room.handle().lockstep.ask(number));
        hall.tick();
    }
    // The burst of its address, and one a second.
    let most = u64::from(limits::LOCKSTEP_SYNC_BURST) + 304 / 30;
    let syncs = hall.counts().syncs;
    assert!(syncs <= most && syncs + 2 > most, "{syncs} of {most}");
    hall.agree(&[asks]);
    // Others of the address wait as well, and get theirs.
    let next = hall.client(2, false);
    hall.ticks(2);
    assert!(hall.ends[next].follower.world().is_none());
    // One request of the first still waits.
    hall.ticks(62);
    hall.agree(&[next]);
}

#[test]
fn who_may_follow_in_lockstep_is_up_to_the_server() {
    for (access, is_local, may) in [
        (Access::Off, true, false),
        (Access::Token, false, false),
        (Access::Token, true, true),
        (Access::Open, false, true),
    ] {
        let mut hall = Hall::new(access);
        let at = hall.client(3, is_local);
        hall.ticks(3);
        assert_eq!(hall.ends[at].follower.world().is_some(), may, "{access:?} {is_local}");
        let client = &hall.ends[at].client;
        client.look_after(NOW + limits::TOKEN_WRONG_DELAY);
        let ending = client.sender.ending();
        let off = Ending::Breach(tickwire::game::Breach::LockstepOff);
        assert_eq!(ending, (!may).then_some(off), "{access:?} {is_local}");
        // As a stream it may in any case.
        let stream = hall.client(1, false);
        hall.ticks(3);
        assert!(hall.ends[stream].client.sender.is_open());
        assert!(hall.ends[stream].others.contains(&"update".to_owned()));
        // Packets of lockstep mean nothing there, and are answered.
        hall.say(stream, "state_sync_request", &[]);
        hall.ticks(1);
        assert!(hall.ends[stream].others.contains(&"error".to_owned()));
    }
}
