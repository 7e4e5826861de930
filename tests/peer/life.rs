//! The life of a player in a simple game: accounts, suspended seats, actions of the operator and reports.

use std::sync::Arc;
use std::time::Duration;

use tickwire::game::simple::{Simple, SimpleAction, SimpleWorld};
use tickwire::game::{Game as _, JoinRequest, UpdateRates};
use tickwire::internal::server::room::lockstep::LockstepConfig;
use tickwire::internal::server::room::{
    JoinAttempt, JoinOutcome, PlayerChange, Room, RoomConfig, RoomHandle, SeatKey, TickRequest, TickResult,
};
use tickwire::internal::util::address_prefix::AddressPrefix;
use tickwire::sim::{Action as _, EncodedAction, PlayerId, RawCommand, Sim as _, WorldParams};

use crate::diary::{Action, Diary};
use crate::support::{hex, to_hex};

const ANN: PlayerId = PlayerId(1);
const KEY: SeatKey = SeatKey([7; 16]);
const WANTS: TickRequest = TickRequest { frame: true, checksum: true, snapshot: false, player_events: true };

/// A room of diary, and a second world that executes its command frames.
struct Running {
    room: Room<Simple<Diary>>,
    handle: Arc<RoomHandle>,
    replica: Box<dyn tickwire::game::DynWorld>,
    now: Duration,
    /// The events of the players, without reports.
    events: Vec<(PlayerChange, u16, String, bool)>,
}

impl Running {
    fn new() -> Running {
        let options = RoomConfig {
            name: "".into(),
            epoch: "0".to_owned(),
            secret: 7,
            rates: UpdateRates { tick_hz: 60, update_hz: 60, foreign_hz: 30 },
            delay_ticks: 0,
            resume_time: Duration::from_secs(30),
            absent_per_address: 9,
            max_clients: 9,
            lockstep: LockstepConfig::default(),
        };
        let identity = WorldParams::default_for::<SimpleWorld<Diary>>(1);
        let room = Room::new(SimpleWorld::new(&identity), options);
        let replica = (Simple::<Diary>::INFO.new_world)(&identity);
        Running { handle: Arc::clone(room.handle()), room, replica, now: Duration::ZERO, events: Vec::new() }
    }

    fn enter(&self, key: Option<SeatKey>, connection: u64, account: Option<&str>) -> JoinOutcome {
        let from = AddressPrefix::from_ip(std::net::Ipv4Addr::LOCALHOST.into());
        let account = account.map(Into::into);
        let profile = JoinRequest::new("Ann", EncodedAction::new(&[])).with_account(account);
        let join = |entered: JoinOutcome| (self.handle.game.join)(entered.player, &profile);
        self.handle.join(JoinAttempt { key, connection, from }, self.now, join).expect("a number is free")
    }

    fn note(&self, connection: u64, sequence: u64, number: u8) {
        let action = SimpleAction::Act(Action::Note { number }).encoded();
        let from = AddressPrefix::from_ip(std::net::Ipv4Addr::LOCALHOST.into());
        let command = RawCommand { player: ANN, sequence, action };
        self.handle.push((from, connection), command, None, Duration::ZERO).expect("it has the seat");
    }

    /// Executes a tick, and its frame in the second world, which must have the same checksum.
    fn tick(&mut self) -> TickResult {
        self.now += Duration::from_millis(17);
        let ticked = self.room.tick(self.now, WANTS);
        assert_eq!(ticked.checksum, Some(self.replica.checksum()), "before tick {}", ticked.tick);
        let frame = ticked.frame.as_ref().expect("it is requested");
        self.replica.step(&(Simple::<Diary>::INFO.frame)(frame).expect("a frame").commands);
        self.events.extend(
            ticked
                .player_events
                .iter()
                .map(|event| (event.change, event.player.0, event.name.to_string(), event.key.is_some())),
        );
        ticked
    }

    fn lines(&self) -> Vec<String> {
        let world = SimpleWorld::<Diary>::restore(&self.replica.snapshot()).expect("its own snapshot");
        world.into_game().lines.iter().map(|line| line.to_string()).collect()
    }
}

#[test]
fn a_seat_that_is_resumed_reconnects_before_the_first_action_of_its_new_connection() {
    let mut running = Running::new();
    running.enter(Some(KEY), 7, Some("ann-s"));
    running.tick();
    running.note(7, 1, 5);
    running.tick();
    running.handle.disconnect(ANN, 7, running.now);
    running.tick();
    let back = running.enter(Some(KEY), 8, Some("ann-s"));
    assert!(back.is_resumed);
    running.note(8, 1, 6);
    running.tick();
    let expected = ["1 joins: Ann of ann-s", "1 notes 5", "1 disconnects", "1 reconnects", "1 notes 6"];
    assert_eq!(running.lines(), expected);
    running.handle.dismiss(ANN, running.now);
    running.tick();
    let event = |change| (change, 1, "Ann".to_owned(), true);
    let expected =
        [PlayerChange::Joined, PlayerChange::Disconnected, PlayerChange::Reconnected, PlayerChange::Left];
    assert_eq!(running.events, expected.map(event));
}

#[test]
fn a_seat_that_is_taken_over_disconnects_and_reconnects_in_one_tick() {
    let mut running = Running::new();
    running.enter(Some(KEY), 7, None);
    running.tick();
    running.note(7, 1, 5);
    assert!(running.enter(Some(KEY), 8, None).is_resumed);
    running.note(8, 1, 6);
    let ticked = running.tick();
    assert_eq!(running.lines()[1..], ["1 disconnects", "1 reconnects", "1 notes 6"]);
    assert_eq!(ticked.player_events.len(), 2, "{:?}", ticked.player_events);
}

#[test]
fn an_action_of_the_operator_is_a_command_of_the_world_with_an_outcome() {
    let mut running = Running::new();
    let act = |running: &Running, number| {
        let action = SimpleAction::Act(Action::Remark { number }).encoded();
        running.handle.command(action).expect("few queries")
    };
    let (good, zero) = (act(&running, 3), act(&running, 0));
    running.tick();
    assert_eq!((good.recv(), zero.recv()), (Ok(Ok(())), Ok(Err("zero"))));
    assert_eq!(running.lines(), ["the operator notes 3"]);
}

#[test]
fn a_report_is_of_the_tick_and_is_no_event_of_a_client() {
    let mut running = Running::new();
    running.enter(None, 7, None);
    assert!(running.tick().published.reports().is_empty());
    running.note(7, 1, 5);
    let published = running.tick().published;
    let [report] = published.reports() else { panic!("{:?}", published.reports()) };
    assert_eq!((report.name, report.integer("number")), ("noted", Some(5)));
    assert_eq!((report.text("line"), report.text("number")), (Some("1 notes 5"), None));
    assert_eq!(report.integer::<u8>("other"), None);
    // The table has no packet `noted`: a client that received it would see a misfit.
    assert_eq!(published.event_bytes(), 0);
    assert!(running.tick().published.reports().is_empty(), "only once");
}

#[test]
fn an_action_without_account_has_the_bytes_of_older_captures() {
    let name = || "Ann".to_owned();
    let rows: [(SimpleAction<Action>, &str); 6] = [
        (SimpleAction::Join(ANN, name(), None), "00010003416e6e"),
        (SimpleAction::Join(ANN, name(), Some("a".to_owned())), "05010003416e6e0161"),
        (SimpleAction::Leave(ANN), "010100"),
        (SimpleAction::Act(Action::Note { number: 9 }), "020009"),
        (SimpleAction::Disconnect(ANN), "030100"),
        (SimpleAction::Reconnect(ANN), "040100"),
    ];
    for (action, bytes) in rows {
        let bytes = hex(bytes);
        assert_eq!(to_hex(action.encoded().bytes()), to_hex(&bytes), "{action:?}");
        assert_eq!(EncodedAction::new(&bytes).decoded(), Some(action.clone()), "{action:?}");
        for length in 0..bytes.len() {
            let cut = EncodedAction::new(&bytes[..length]).decoded::<SimpleAction<Action>>();
            assert_eq!(cut, None, "{length} bytes of {action:?}");
        }
    }
    assert_eq!(EncodedAction::new(&[6, 1, 0]).decoded::<SimpleAction<Action>>(), None, "no kind 6");
}
