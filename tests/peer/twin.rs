//! A client that reads a few bytes a second for a minute, then everything, compared with an
//! unhindered twin: both watch one player of a busy room, each through its own view and sender.

use std::time::Duration;

use tickwire::game::{Messages, StateOutcome, UpdateRates, View as _};
use tickwire::internal::connection::WireFormat;
use tickwire::internal::connection::deadlines::DueAction;
use tickwire::internal::connection::sender::Frames;
use tickwire::internal::games::moo::bot::received::ServerPacket;
use tickwire::internal::games::moo::bot::world_model::WorldModel;
use tickwire::internal::games::moo::world::rules::AnimalKind;
use tickwire::internal::games::moo::world::{
    Action, Angle, Command, Identity, PlayerId, Selection, Spawned, TickHz, World,
};
use tickwire::internal::games::moo::{Moo, MooScratch, MooView};
use tickwire::internal::limits;
use tickwire::internal::server::room::handle::RoomConfig;
use tickwire::internal::server::room::lockstep::LockstepConfig;
use tickwire::internal::server::room::{JoinAttempt, JoinOutcome, Room, TickRequest, TickResult};
use tickwire::internal::util::address_prefix::AddressPrefix;
use tickwire::packet::{Direction, Lane, PacketTables};
use tickwire::sim::Action as _;
use tickwire::ws::Side;
use tickwire::ws::message::{Limits, Message, MessageReader};

use crate::sender::Line;

const HZ: u32 = 30;
const PLAYERS: u16 = 6;
/// The watched player.
const WATCHED: PlayerId = PlayerId(1);

/// A room in which players walk, strike, build, chat and die.
struct Busy {
    room: Room<Moo>,
    now: Duration,
    tick: u32,
}

impl Busy {
    fn new() -> Busy {
        let world = World::new(Identity { seed: 11, map_size_px: 1_440, tick_hz: TickHz::Hz30 });
        let rates = UpdateRates { tick_hz: HZ, update_hz: HZ, foreign_hz: 10 };
        let (name, epoch, seat_time) = ("".into(), "0".to_owned(), Duration::ZERO);
        let options = RoomConfig {
            name,
            epoch,
            secret: 7,
            rates,
            delay_ticks: 0,
            resume_time: seat_time,
            absent_per_address: 9,
            max_clients: 9,
            lockstep: LockstepConfig::default(),
        };
        let room = Room::new(world, options);
        for number in 1..=PLAYERS {
            let join = |JoinOutcome { player, .. }| {
                vec![Action::Join { player, name: format!("p{number}"), skin: 0 }.encoded()]
            };
            let from = AddressPrefix::from_ip(std::net::Ipv4Addr::LOCALHOST.into());
            let client = JoinAttempt { key: None, connection: number.into(), from };
            room.handle().join(client, Duration::ZERO, join).expect("a number");
        }
        for (kind, x_px) in [(AnimalKind::Wolf, 300), (AnimalKind::Cow, 700), (AnimalKind::Cow, 900)] {
            let spawn = Action::Spawn { what: Spawned::Animal(kind), x_px, y_px: 700 };
            room.handle().push_operator(vec![spawn.encoded()]);
        }
        Busy { room, now: Duration::ZERO, tick: 0 }
    }

    fn tick(&mut self) -> TickResult {
        for number in 1..=PLAYERS {
            let roll = (self.tick + u32::from(number) * 7).wrapping_mul(2_654_435_761) >> 16;
            let action = match roll % 40 {
                0..4 => Action::Move { direction: Some(Angle(roll as u16)) },
                4 => Action::Attack { on: roll & 64 != 0 },
                5 => Action::Select { what: Selection::Item((roll >> 6) as u8 % 6) },
                6 => Action::Select { what: Selection::Weapon(0) },
                7 if roll & 3 == 0 => Action::Chat { text: format!("line {}", self.tick) },
                8 if roll & 15 == 0 => Action::Respawn { name: format!("p{number}"), skin: 1 },
                9 if roll & 15 == 0 => Action::ClanCreate { name: format!("c{number}") },
                _ => continue,
            };
            let sequence = u64::from(self.tick) + 1;
            let command = Command { player: PlayerId(number), sequence, action };
            let home = AddressPrefix::from_ip(std::net::Ipv4Addr::from_bits(number.into()).into());
            self.room
                .handle()
                .push((home, number.into()), command.encoded(), None, Duration::ZERO)
                .expect("there is room");
        }
        if self.tick.is_multiple_of(45) {
            let say = Action::Announce { text: format!("say {}", self.tick) };
            self.room.handle().push_operator(vec![say.encoded()]);
        }
        self.now += Duration::from_secs(1) / HZ;
        self.tick += 1;
        self.room.tick(self.now, TickRequest::default())
    }
}

/// A client of the room: its view, its sender, and the kernel that it reads from.
struct Client {
    format: WireFormat,
    view: MooView,
    line: Line,
    scratch: MooScratch,
    messages: Messages,
    held_back: usize,
}

impl Client {
    fn new(dialect: &str, room: usize) -> Client {
        let format = WireFormat::new(PacketTables::builtin().dialect(dialect).expect("built in"), false);
        let mut view = MooView::new(&format.dialect);
        view.set_subject(Some(WATCHED), None);
        let line = Line::with_room(room);
        Client {
            format,
            view,
            line,
            scratch: MooScratch::default(),
            messages: Messages::default(),
            held_back: 0,
        }
    }

    /// What the server does for its client after a tick.
    fn serve(&mut self, ticked: &TickResult, now: Duration) {
        self.line.drive(now);
        self.messages.clear();
        let is_behind = !self.line.sender.state().is_empty;
        let dialect = &self.format.dialect;
        let turn = self.view.update(
            &[],
            ticked.published.of::<Moo>().expect("the game of the room"),
            is_behind,
            dialect,
            &mut self.scratch,
            &mut self.messages,
        );
        self.held_back += usize::from(turn == StateOutcome::Deferred);
        let mut frames = Vec::new();
        for message in self.messages.iter() {
            let decoded = dialect.decode(Direction::ToClient, message).expect("our own message");
            assert!(!is_behind || decoded.row.lane == Lane::Reliable, "{} while behind", decoded.row.name);
            self.format.write_message(&mut frames, message);
        }
        if !frames.is_empty() {
            assert_eq!(self.line.offer(Frames::Borrowed(&frames), now), Some(true), "within the bound");
        }
        self.line.sender.deadlines.alive(now);
        assert!(!matches!(self.line.sender.poll(now, Duration::ZERO), DueAction::Close(_)));
    }

    /// What the client knows from the bytes that it read, and the reliable lines among them.
    fn read(&self) -> (WorldModel, Vec<String>) {
        let mut reader = MessageReader::new(
            Side::Server,
            Limits { message_bytes: limits::CLIENT_MESSAGE_BYTES, fragments: 1, ..Limits::DEFAULT },
        );
        reader.receive(&self.line.got);
        let (mut world_model, mut lines) = (WorldModel::new(), Vec::new());
        while let Some(message) = reader.next_message().expect("the server's frames") {
            let Message::Binary(message) = message else { panic!("{message:?}") };
            let decoded = self.format.dialect.decode(Direction::ToClient, message).expect("a packet");
            if ["notice", "kill", "died", "chat"].contains(&decoded.row.name.as_str()) {
                lines.push(decoded.to_string());
            }
            world_model.apply(&ServerPacket::from_decoded(&decoded));
        }
        assert!(reader.is_between_messages(), "half a frame");
        world_model.updates = 0;
        // A client that was slow has not received what happened out of view in the meantime.
        world_model.players.values_mut().filter(|player| !player.in_view).for_each(|player| {
            (player.x_px, player.y_px, player.heading, player.health) = (0.0, 0.0, 0, 0);
        });
        (world_model, lines)
    }
}

fn slow_beside_twin(dialect: &str, bytes_per_second: usize) {
    let mut busy = Busy::new();
    let (mut twin, mut slow) = (Client::new(dialect, usize::MAX), Client::new(dialect, 2_000));
    for tick in 0..80 * HZ {
        let ticked = busy.tick();
        if tick.is_multiple_of(HZ) {
            // A minute of a few bytes a second, then everything.
            slow.line.room = if tick < 60 * HZ { bytes_per_second } else { usize::MAX };
        }
        twin.serve(&ticked, busy.now);
        slow.serve(&ticked, busy.now);
    }
    assert_eq!(twin.held_back, 0);
    assert!(slow.held_back > 100, "the line was slow: {}", slow.held_back);
    for client in [&twin, &slow] {
        assert_eq!(client.line.sender.backlog(), 0);
        assert_eq!(client.line.got, client.line.observed, "everything queued arrived, in order");
    }
    assert!(slow.line.got.len() < twin.line.got.len(), "fewer states");
    let ((knows, said), (slowly_knows, slowly_said)) = (twin.read(), slow.read());
    assert_eq!(slowly_knows, knows);
    assert!(said.len() > 40, "{}", said.len());
    // The MooMoo dialects show the operator's lines above the client's own player, so there they depend on when the client knows it.
    let others =
        |lines: &[String]| lines.iter().filter(|line| !line.contains("\"say ")).cloned().collect::<Vec<_>>();
    assert_eq!(others(&slowly_said), others(&said));
    assert!(dialect != "native" || slowly_said == said);
}

#[test]
fn a_slow_reader_that_catches_up_knows_what_its_twin_knows() {
    for (dialect, bytes_per_second) in [("native", 40), ("letters", 60), ("legacy", 60)] {
        slow_beside_twin(dialect, bytes_per_second);
    }
}

/// A picture and lines differ when a byte of the queue is lost: the comparison can fail.
#[test]
fn a_lost_state_would_show() {
    let mut busy = Busy::new();
    let (mut twin, mut other) = (Client::new("native", usize::MAX), Client::new("native", usize::MAX));
    for tick in 0..20 * HZ {
        let ticked = busy.tick();
        twin.serve(&ticked, busy.now);
        // For a while, what the view takes for sent never leaves.
        let is_lost = (10 * HZ..12 * HZ).contains(&tick);
        let length = other.line.got.len();
        other.serve(&ticked, busy.now);
        if is_lost {
            other.line.got.truncate(length);
        }
    }
    assert_ne!(twin.read(), other.read());
}
