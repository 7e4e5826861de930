//! Events that a room keeps for clients that come back: their real size, and only if a client can ask.

use std::sync::Arc;
use std::time::Duration;

use tickwire::game::UpdateRates;
use tickwire::game::simple::{
    ActionResult, GameAction, Joining, RowValues, Simple, SimpleGame, SimpleWorld, StateRows, TickContext,
};
use tickwire::internal::limits;
use tickwire::internal::server::room::lockstep::LockstepConfig;
use tickwire::internal::server::room::{JoinAttempt, Room, RoomConfig, RoomHandle, SeatKey, TickRequest};
use tickwire::internal::util::address_prefix::AddressPrefix;
use tickwire::packet::{DecodedPacket, Direction, PacketTables};
use tickwire::sim::{PlayerId, Sim as _, WorldParams, fields};

const NOW: Duration = Duration::from_secs(1);
/// Values of each event.
const VALUES: u32 = 10_000;

/// A game that sends each player a long list in each tick.
#[derive(Debug, Clone, PartialEq)]
struct Wide {
    players: Vec<PlayerId>,
}

fields!(Wide: players: Vec<PlayerId>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Nothing {
    unused: u8,
}

fields!(Nothing: unused: u8);

impl GameAction for Nothing {
    fn from_packet(_: &DecodedPacket<'_>) -> Option<Nothing> {
        None
    }

    fn to_packet(&self) -> RowValues {
        RowValues::new("", &[], Vec::new())
    }
}

const TABLE: &str = "direction\tname\tlane\ttest:int\targuments\tmeaning\n\
    to_server\thello\treliable\t1\tversion:u16 mode:u8<=1 name:str<=15|nil\tfirst\n\
    to_server\tjoin\treliable\t2\tname:str<=15|nil\tjoin\n\
    to_client\twelcome\treliable\t1\tversion:u16\twelcome\n\
    to_client\tspawned\tlatest\t2\tplayer:u16\tplays\n\
    to_client\tview\treliable\t3\tcells:[u16]\ta list\n";

tickwire::rows! { in TABLE; struct ViewRow in "view" { cells: Vec<u32> } }

impl SimpleGame for Wide {
    const NAME: &'static str = "wide";
    const TABLE: (&'static str, &'static str) = ("wide.tsv", TABLE);
    const DIALECT: &'static str = "test";
    const PAGE: &'static str = "";

    type Action = Nothing;

    fn new(_: &WorldParams) -> Self {
        Wide { players: Vec::new() }
    }

    fn join(&mut self, player: PlayerId, _: &Joining<'_>, _: &mut TickContext<'_>) {
        self.players.push(player);
    }

    fn leave(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.players.retain(|own| *own != player);
    }

    fn apply(&mut self, _: PlayerId, _: Nothing, _: &mut TickContext<'_>) -> ActionResult {
        Ok(())
    }

    fn tick(&mut self, context: &mut TickContext<'_>) {
        for player in &self.players {
            context.send_to(*player, ViewRow { cells: (0..VALUES).collect() });
        }
    }

    fn write_state(&self, _: &mut StateRows) {}
}

fn room() -> Room<Simple<Wide>> {
    let options = RoomConfig {
        name: "".into(),
        epoch: "0".to_owned(),
        secret: 7,
        rates: UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 30 },
        delay_ticks: 0,
        resume_time: Duration::from_secs(30),
        absent_per_address: 9,
        max_clients: 9,
        lockstep: LockstepConfig::default(),
    };
    Room::new(SimpleWorld::new(&WorldParams::default_for::<SimpleWorld<Wide>>(1)), options)
}

fn enter(handle: &RoomHandle, connection: u64, has_key: bool) {
    let from = AddressPrefix::from_ip(std::net::Ipv4Addr::LOCALHOST.into());
    let key = has_key.then_some(SeatKey([connection as u8; 16]));
    let profile = tickwire::game::JoinRequest::new("p", tickwire::sim::EncodedAction::new(&[]));
    handle.join(JoinAttempt { key, connection, from }, NOW, |entered| {
        (handle.game.join)(entered.player, &profile)
    });
}

/// The bytes of the events that are kept after so many ticks, and how many ticks have some.
fn kept(clients: u64, has_key: bool, can_ask: bool, ticks: u32) -> (usize, usize) {
    let mut room = room();
    let handle = Arc::clone(room.handle());
    (1..=clients).for_each(|connection| enter(&handle, connection, has_key));
    if can_ask {
        handle.keep_events();
    }
    let mut newest = 0;
    for _ in 0..ticks {
        newest = room.tick(NOW, TickRequest::default()).published.event_bytes();
    }
    let kept = handle.recent(0, u32::MAX).len();
    (newest * kept, kept)
}

#[test]
fn events_are_counted_with_the_bytes_of_their_lists_and_kept_within_the_bound() {
    let mut room = room();
    let handle = Arc::clone(room.handle());
    enter(&handle, 1, true);
    let published = room.tick(NOW, TickRequest::default()).published;
    let codes = PacketTables::from_texts(&[("wide.tsv", TABLE)]).expect("a table");
    let dialect = codes.dialect("test").expect("its dialect");
    let list = tickwire::packet::Value::Array((0..VALUES).map(Into::into).collect());
    let encoded = dialect.encode(Direction::ToClient, "view", &[list]).expect("by the table").len();
    let counted = published.event_bytes();
    assert!((encoded..encoded + 1_000).contains(&counted), "{counted} for {encoded} bytes");

    let (bytes, ticks) = kept(4, true, true, 200);
    assert!(bytes <= limits::RECENT_EVENT_BYTES, "{bytes}");
    assert!((2..100).contains(&ticks), "{ticks} ticks");
}

#[test]
fn no_events_are_kept_that_no_client_can_ask_for() {
    assert_eq!(kept(4, true, false, 20).1, 0, "the table has no resume_tick");
    assert_eq!(kept(4, false, true, 20).1, 0, "no player has a key to come back with");
    assert_eq!(kept(1, true, true, 5).1, 5);
}
