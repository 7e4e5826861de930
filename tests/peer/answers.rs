//! The answers to commands: what a tick brings, and what a client is told of it.

use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tickwire::game::UpdateRates;
use tickwire::internal::connection::WireFormat;
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::{Action, Identity, PlayerId, Selection, TickHz, World};
use tickwire::internal::limits;
use tickwire::internal::server::admission::address_rate_limits::AddressRateLimits;
use tickwire::internal::server::admission::upgrade_check::AcceptedClient;
use tickwire::internal::server::clients::backlog::Backlog;
use tickwire::internal::server::clients::client::{Client, Transport};
use tickwire::internal::server::clients::update_group::{
    EncodeBuffers, TypedUpdateGroup, UpdateFn, UpdateGroup as _, UpdateRunner,
};
use tickwire::internal::server::room::acks::{AckOutcome, CommandAck};
use tickwire::internal::server::room::inbox::InboxRejection;
use tickwire::internal::server::room::lockstep::LockstepConfig;
use tickwire::internal::server::room::{
    JoinAttempt, JoinOutcome, Room, RoomConfig, RoomHandle, SeatKey, TickRequest, TickResult,
};
use tickwire::internal::util::address_prefix::AddressPrefix;
use tickwire::packet::{Direction, PacketTables};
use tickwire::sim::{Action as _, EncodedAction, RawCommand};
use tickwire::ws::Side;
use tickwire::ws::frame::Header;

const NOW: Duration = Duration::from_secs(1);

fn home() -> AddressPrefix {
    AddressPrefix::from_ip(std::net::Ipv4Addr::LOCALHOST.into())
}

/// A room that updates its clients this often, with players on these connections.
fn room(update_hz: u32, connections: &[u64]) -> (Room<Moo>, Vec<PlayerId>) {
    let world = World::new(Identity { seed: 1, map_size_px: 3_000, tick_hz: TickHz::Hz30 });
    let rates = UpdateRates { tick_hz: 30, update_hz, foreign_hz: 10 };
    let (name, epoch) = ("".into(), "0".to_owned());
    let options = RoomConfig {
        name,
        epoch,
        secret: 7,
        rates,
        delay_ticks: 0,
        resume_time: NOW,
        absent_per_address: 9,
        max_clients: 9,
        lockstep: LockstepConfig::default(),
    };
    let mut room = Room::new(world, options);
    let handle = Arc::clone(room.handle());
    let players = connections.iter().map(|connection| enter(&handle, None, *connection).player).collect();
    assert_eq!(tick(&mut room).acks, None, "the operator's commands have none here");
    (room, players)
}

/// A client enters from a connection.
fn enter(handle: &RoomHandle, key: Option<SeatKey>, connection: u64) -> JoinOutcome {
    let client = JoinAttempt { key, connection, from: home() };
    let join = |JoinOutcome { player, .. }| {
        vec![Action::Join { player, name: format!("p{connection}"), skin: 0 }.encoded()]
    };
    handle.join(client, NOW, join).expect("there are numbers")
}

fn tick(room: &mut Room<Moo>) -> TickResult {
    room.tick(NOW, TickRequest::default())
}

/// Queues a command; whether it is accepted depends on what it does.
fn push(handle: &RoomHandle, connection: u64, player: PlayerId, sequence: u64, does: &EncodedAction) {
    let command = RawCommand { player, sequence, action: does.clone() };
    handle.push((home(), connection), command, None, Duration::ZERO).expect("there is room");
}

fn stop() -> EncodedAction {
    Action::Move { direction: None }.encoded()
}

/// No player has this weapon at first.
fn not_owned() -> EncodedAction {
    Action::Select { what: Selection::Weapon(5) }.encoded()
}

#[test]
fn a_tick_answers_each_command_to_the_connection_that_sent_it() {
    let (mut room, players) = room(30, &[70, 40]);
    let handle = Arc::clone(room.handle());
    for (sequence, does) in [(3, stop()), (4, stop()), (5, not_owned()), (6, stop()), (9, stop())] {
        push(&handle, 70, players[0], sequence, &does);
    }
    push(&handle, 40, players[1], u64::from(u32::MAX) + 7, &stop());
    let long = RawCommand { player: players[1], sequence: 2, action: EncodedAction::new(&[0; 9_000]) };
    assert_eq!(handle.push((home(), 40), long, None, Duration::ZERO), Err(InboxRejection::PlayerBytes));
    let stolen = RawCommand { player: players[1], sequence: 10, action: stop() };
    assert_eq!(handle.push((home(), 70), stolen, None, Duration::ZERO), Err(InboxRejection::TakenOver));
    handle.reject((home(), 70), 11, "chat_too_soon");

    let ticked = tick(&mut room);
    let acks = ticked.acks.expect("some");
    assert_eq!(acks.tick, ticked.tick, "by the number that commands name");
    let of = |connection| -> Vec<(u32, AckOutcome)> {
        let of = acks.for_connection(connection).iter();
        of.map(|CommandAck { sequence, verdict, .. }| (*sequence, *verdict)).collect()
    };
    let expected = [
        (3, AckOutcome::Accepted(2)),
        (5, AckOutcome::Rejected("not_owned")),
        (6, AckOutcome::Accepted(1)),
        (9, AckOutcome::Accepted(1)),
        (10, AckOutcome::Rejected("taken_over")),
        (11, AckOutcome::Rejected("chat_too_soon")),
    ];
    assert_eq!(of(70), expected);
    assert_eq!(of(40), [(2, AckOutcome::Rejected("player_bytes_full")), (u32::MAX, AckOutcome::Accepted(1))]);
    assert_eq!([of(41), of(0), of(99)], [[], [], []]);
    assert_eq!(tick(&mut room).acks, None, "once");
}

#[test]
fn a_connection_that_takes_a_player_over_is_not_told_of_commands_that_it_did_not_send() {
    let (mut room, _) = room(30, &[]);
    let (handle, key) = (Arc::clone(room.handle()), Some(SeatKey([7; 16])));
    let player = enter(&handle, key, 1).player;
    tick(&mut room);
    push(&handle, 1, player, 5, &stop());
    assert_eq!(enter(&handle, key, 2).player, player);
    push(&handle, 2, player, 1, &stop());
    let acks = tick(&mut room).acks.expect("some");
    assert_eq!((acks.for_connection(1).len(), acks.for_connection(2)[0].sequence), (0, 1));
}

#[test]
fn rejections_that_wait_for_a_tick_are_bounded() {
    let (mut room, _) = room(30, &[1]);
    let flood = |last: u8, connection: u64| {
        let from = AddressPrefix::from_ip(std::net::Ipv4Addr::new(203, 0, 113, last).into());
        let all = 0..limits::COMMAND_REJECTIONS as u64 + 10;
        all.for_each(|sequence| room.handle().reject((from, connection), sequence, "repeated"));
    };
    (1..=4).for_each(|last| flood(last, last.into()));
    room.handle().reject((home(), 9), 1, "repeated");
    let acks = tick(&mut room).acks.expect("some");
    let told: usize = (1..=4).map(|connection| acks.for_connection(connection).len()).sum();
    assert!((limits::COMMAND_REJECTIONS / 2..limits::COMMAND_REJECTIONS).contains(&told), "{told}");
    assert_eq!(acks.for_connection(9).len(), 1, "of an address that has none yet");
}

/// A line that keeps what it takes, if it takes anything.
#[derive(Debug, Default)]
struct Kept {
    is_shut: AtomicBool,
    bytes: Mutex<Vec<u8>>,
}

impl Transport for Kept {
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        if self.is_shut.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let slices: Vec<u8> = slices.flatten().copied().collect();
        self.bytes.lock().expect("no panic").extend(&slices);
        Ok(slices.len())
    }
    fn on_queued(&self, _client: &Client<Kept>, _frames: &[u8], _now: Duration) {}
    fn abort(&self) {}
}

struct All;

impl UpdateRunner<Kept> for All {
    fn now(&self) -> Duration {
        NOW
    }
    fn run(&mut self, _: &Client<Kept>, update: &mut UpdateFn<'_>) -> bool {
        update(&AddressRateLimits::new(true));
        true
    }
}

/// A player that no client has come back to.
fn nobody(player: PlayerId) -> JoinOutcome {
    JoinOutcome { player, is_resumed: false, from_tick: 0, taken_at_tick: 0 }
}

/// A room, and its clients at one worker.
struct Told {
    room: Room<Moo>,
    audience: TypedUpdateGroup<Moo, Kept>,
    buffers: EncodeBuffers,
}

impl Told {
    fn client(&mut self, connection: u64, dialect: &str, player: PlayerId) -> Arc<Client<Kept>> {
        self.client_of(connection, dialect, nobody(player), None)
    }

    fn client_of(
        &mut self,
        connection: u64,
        dialect: &str,
        entered: JoinOutcome,
        resume_tick: Option<u32>,
    ) -> Arc<Client<Kept>> {
        let format = WireFormat::new(PacketTables::builtin().dialect(dialect).expect("built in"), false);
        let who = (connection, "127.0.0.1:5000".parse().expect("an address"));
        let room = Arc::clone(self.room.handle());
        let entry = AcceptedClient {
            room,
            format,
            resume_key: None,
            token: None,
            is_local: false,
            response: Vec::new(),
            declined: String::new(),
        };
        let client = Arc::new(Client::new(who, Kept::default(), entry, NOW));
        client.set_player(entered, "p", resume_tick);
        client.sender.deadlines.on_hello();
        client.start_updates(false);
        self.audience.add_client(Arc::clone(&client));
        client
    }

    /// Runs so many ticks, of which the worker hears at once.
    fn ticks(&mut self, count: usize) {
        let mut backlog = None;
        (0..count).for_each(|_| self.tick(&mut backlog));
        self.audience.update_all(backlog.as_ref(), &mut self.buffers, &mut All);
    }

    /// Runs a tick, of which the worker hears later.
    fn tick(&mut self, backlog: &mut Option<Backlog>) {
        let TickResult { published, acks, .. } = tick(&mut self.room);
        match backlog {
            Some(backlog) => backlog.push(published, acks),
            None => *backlog = Some(Backlog::new(published, acks)),
        }
    }
}

/// The packets that the client has been sent since, in order.
fn packets(client: &Client<Kept>) -> Vec<String> {
    let mut bytes = std::mem::take(&mut *client.transport.bytes.lock().expect("no panic"));
    let mut packets = Vec::new();
    while let Ok(Some((header, at))) = Header::decode(&bytes, Side::Server) {
        let end = at + header.length as usize;
        let packet = client.format.dialect.decode(Direction::ToClient, &bytes[at..end]);
        packets.push(packet.expect("by the table").to_string());
        bytes.drain(..end);
    }
    packets
}

/// Those that are answers or errors, and the first of all.
fn told(client: &Client<Kept>) -> (Vec<String>, String) {
    let mut packets = packets(client);
    let first = packets.first().cloned().unwrap_or_default();
    packets.retain(|packet| packet.starts_with("command_") || packet.starts_with("error"));
    (packets, first)
}

#[test]
fn a_client_is_told_with_its_next_update_first_of_all_and_behind_a_stall_of_its_line_too() {
    let (room, players) = room(10, &[1, 2]);
    let mut all = Told { room, audience: TypedUpdateGroup::default(), buffers: EncodeBuffers::default() };
    let native = all.client(1, "native", players[0]);
    let moomoo = all.client(2, "legacy", players[1]);
    let handle = Arc::clone(all.room.handle());
    all.ticks(6);
    told(&native);
    // Updates are due in every third tick: after 9, 12 and so on.
    push(&handle, 1, players[0], 1, &stop());
    push(&handle, 2, players[1], 1, &not_owned());
    all.ticks(1);
    push(&handle, 1, players[0], 2, &not_owned());
    push(&handle, 1, players[0], 3, &stop());
    assert_eq!(told(&native).0, [""; 0], "it is not its turn");
    all.ticks(2);
    let (packets, first) = told(&native);
    let accepted = "command_accepted commands=[1,1,7,3,1,8]";
    assert_eq!(packets, [accepted, r#"command_rejected commands=[2,"not_owned"]"#]);
    assert_eq!(first, accepted, "before what shows the effect");
    assert_eq!(told(&moomoo).0, [""; 0], "its dialects have no answers");

    native.transport.is_shut.store(true, Ordering::Relaxed);
    native.send(tickwire::internal::connection::sender::Frames::Borrowed(&[0x89, 0]), NOW);
    push(&handle, 1, players[0], 4, &stop());
    all.ticks(3);
    push(&handle, 1, players[0], 5, &stop());
    all.ticks(3);
    native.transport.is_shut.store(false, Ordering::Relaxed);
    native.flush(NOW);
    let bytes = native.transport.bytes.lock().expect("no panic").split_off(2);
    *native.transport.bytes.lock().expect("no panic") = bytes;
    assert_eq!(told(&native).0, ["command_accepted commands=[4,1,10]", "command_accepted commands=[5,1,13]"]);
}

#[test]
fn a_client_is_told_the_events_of_the_ticks_since_it_began_to_follow_however_late_its_worker_is() {
    let (room, players) = room(30, &[1]);
    let mut all = Told { room, audience: TypedUpdateGroup::default(), buffers: EncodeBuffers::default() };
    let older = all.client(1, "native", players[0]);
    all.ticks(3);
    packets(&older);
    let handle = Arc::clone(all.room.handle());
    let mut backlog = None;
    let mut say = |all: &mut Told, text: &str| {
        handle.push_operator(vec![Action::Announce { text: text.to_owned() }.encoded()]);
        all.tick(&mut backlog);
    };
    say(&mut all, "one");
    say(&mut all, "two");
    let newer = all.client(2, "native", players[0]);
    say(&mut all, "three");
    say(&mut all, "four");
    let newest = all.client(3, "native", players[0]);
    all.audience.update_all(backlog.as_ref(), &mut all.buffers, &mut All);
    let said =
        |client: &Client<Kept>| packets(client).iter().filter(|packet| packet.starts_with("notice")).count();
    assert_eq!([&older, &newer, &newest].map(|client| said(client)), [4, 2, 0]);
    all.ticks(1);
    assert!(packets(&newest).iter().any(|said| said.starts_with("update")));
}

#[test]
fn a_client_that_takes_its_player_over_is_never_shown_what_an_earlier_connection_has_done() {
    let (room, _) = room(30, &[]);
    let mut all = Told { room, audience: TypedUpdateGroup::default(), buffers: EncodeBuffers::default() };
    let (handle, key) = (Arc::clone(all.room.handle()), Some(SeatKey([7; 16])));
    let entered = enter(&handle, key, 1);
    let before = all.client_of(1, "native", entered, None);
    all.ticks(2);
    packets(&before);
    push(&handle, 1, entered.player, 900, &stop());
    all.ticks(1);
    let own = |client: &Client<Kept>| {
        packets(client).into_iter().find_map(|packet| {
            let sequence = packet.split_once("own=[")?.1.split(',').next()?.to_owned();
            sequence.parse::<u32>().is_ok().then_some(sequence)
        })
    };
    assert_eq!(own(&before).as_deref(), Some("900"));
    let after = all.client(2, "native", PlayerId(0));
    let mut backlog = None;
    all.tick(&mut backlog);
    // The worker serves it that tick after the take-over.
    after.set_player(enter(&handle, key, 2), "p", None);
    all.audience.update_all(backlog.as_ref(), &mut all.buffers, &mut All);
    assert_eq!(packets(&after), [""; 0], "it does not watch meanwhile");
    all.ticks(1);
    assert_eq!(own(&after).as_deref(), Some("0"));
}

#[test]
fn a_client_that_comes_back_is_told_once_what_the_operator_said_meanwhile() {
    let (room, _) = room(30, &[]);
    let mut all = Told { room, audience: TypedUpdateGroup::default(), buffers: EncodeBuffers::default() };
    let (handle, key) = (Arc::clone(all.room.handle()), Some(SeatKey([7; 16])));
    let say = |all: &mut Told, text: &str| {
        handle.push_operator(vec![Action::Announce { text: text.to_owned() }.encoded()]);
        all.ticks(1);
        handle.tick()
    };
    say(&mut all, "before it came");
    let before = all.client_of(1, "native", enter(&handle, key, 1), None);
    all.ticks(1);
    let told = say(&mut all, "heard");
    handle.disconnect(enter(&handle, key, 1).player, 1, NOW);
    say(&mut all, "missed");
    say(&mut all, "missed, too");
    all.ticks(3);
    let after = all.client_of(2, "native", enter(&handle, key, 2), Some(told));
    say(&mut all, "new");
    all.ticks(2);
    let said = |client: &Client<Kept>| -> Vec<String> {
        packets(client)
            .into_iter()
            .filter_map(|one| Some(one.strip_prefix("notice text=")?.to_owned()))
            .collect()
    };
    assert_eq!(said(&before).first().map(String::as_str), Some(r#""heard""#));
    assert_eq!(said(&after), [r#""missed""#, r#""missed, too""#, r#""new""#]);
    // It claims more than it can have missed.
    let again = all.client_of(3, "native", enter(&handle, key, 3), Some(0));
    all.ticks(2);
    assert_eq!(said(&again), [r#""heard""#, r#""missed""#, r#""missed, too""#, r#""new""#]);
    let silent = all.client_of(4, "native", enter(&handle, key, 4), None);
    all.ticks(2);
    assert_eq!(said(&silent), [""; 0], "it does not say what it knows");
}
