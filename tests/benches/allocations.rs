//! Once its buffers have grown, a connection receives and answers, and a client's update is written, without asking for memory. A
//! program of its own with a single test, since it counts every allocation of the process.
#![allow(
    unsafe_code,
    reason = "an allocator that counts can only be written with it; no product code is here"
)]

mod counting;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tickwire::game::{Messages, Publisher as _, UpdateRates, View as _};
use tickwire::internal::connection::WireFormat;
use tickwire::internal::games::moo::world::{Action, Angle, Command, Identity, PlayerId, TickHz, World};
use tickwire::internal::games::moo::{Moo, MooPublisher, MooScratch, MooView};
use tickwire::internal::limits::{ECHO_FRAGMENTS, ECHO_MESSAGE_BYTES, ECHO_READ_BYTES};
use tickwire::internal::server::admission::address_rate_limits::AddressRateLimits;
use tickwire::internal::server::admission::upgrade_check::AcceptedClient;
use tickwire::internal::server::clients::backlog::Backlog;
use tickwire::internal::server::clients::client::{Client, Transport};
use tickwire::internal::server::clients::update_group::{
    EncodeBuffers, TypedUpdateGroup, UpdateFn, UpdateGroup as _, UpdateRunner,
};
use tickwire::internal::server::room::lockstep::LockstepConfig;
use tickwire::internal::server::room::{JoinAttempt, JoinOutcome, Room, RoomConfig, TickRequest};
use tickwire::internal::util::address_prefix::AddressPrefix;
use tickwire::packet::PacketTables;
use tickwire::sim::{Action as _, RawCommand};
use tickwire::ws::extension::{DeflateParameters, SenderParameters};
use tickwire::ws::frame::{Header, Opcode, mask};
use tickwire::ws::{Connection, Event, Limits, Role, frame};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

fn push(bytes: &mut Vec<u8>, fin: bool, opcode: Opcode, payload: &[u8]) {
    Header { fin, compressed: false, opcode, mask: Some(KEY), length: payload.len() as u64 }.encode(bytes);
    let start = bytes.len();
    bytes.extend_from_slice(payload);
    mask(&mut bytes[start..], KEY, 0);
}

/// Frames of every kind but close, short and long, texts with characters of all lengths.
fn frames() -> Vec<u8> {
    let mut bytes = Vec::new();
    for size in [0, 1, 125, 126, 1_024, 65_535, 65_536, 200_000] {
        push(&mut bytes, true, Opcode::Binary, &vec![size as u8; size]);
        let text: String = "añ€𐍈".chars().cycle().take(size / 3).collect();
        push(&mut bytes, true, Opcode::Text, text.as_bytes());
        push(&mut bytes, true, Opcode::Ping, &vec![1; size.min(125)]);
        // Cut inside a character.
        let (first, rest) = text.as_bytes().split_at(text.len() / 2);
        push(&mut bytes, false, Opcode::Text, first);
        push(&mut bytes, true, Opcode::Pong, b"");
        push(&mut bytes, true, Opcode::Continuation, rest);
    }
    bytes
}

/// Receives all of it in pieces of this size and echoes it. Gives how many messages there were.
fn echo(conn: &mut Connection, bytes: &[u8], piece_bytes: usize, output: &mut Vec<u8>) -> usize {
    let mut messages = 0;
    for piece in bytes.chunks(piece_bytes) {
        conn.recv_buffer(piece_bytes)[..piece.len()].copy_from_slice(piece);
        conn.commit(piece.len());
        while let Some(event) = conn.next_event().expect("no rule is broken") {
            match event {
                Event::Text(text) => frame::write_text(output, text),
                Event::Binary(payload) => frame::write_binary(output, payload),
                _ => continue,
            }
            messages += 1;
        }
        conn.drain_output(output);
        output.clear();
    }
    messages
}

#[test]
fn no_frame_and_no_update_allocates_after_the_first_ones() {
    no_frame_allocates();
    no_compressed_message_allocates();
    no_update_allocates();
    no_answer_allocates();
}

fn no_frame_allocates() {
    let limits = Limits { message_bytes: ECHO_MESSAGE_BYTES, fragments: ECHO_FRAGMENTS, ..Limits::DEFAULT };
    let (bytes, mut output) = (frames(), Vec::new());
    for piece_bytes in [1, 100, ECHO_READ_BYTES] {
        let mut conn = Connection::new(Role::Server, limits);
        let warm_up = counting::allocations();
        for _ in 0..3 {
            assert_eq!(echo(&mut conn, &bytes, piece_bytes, &mut output), 24);
        }
        assert!(counting::allocations() > warm_up, "the buffers of a new connection grow, and this is seen");
        let before = counting::allocations();
        for _ in 0..3 {
            assert_eq!(echo(&mut conn, &bytes, piece_bytes, &mut output), 24);
        }
        assert_eq!(counting::allocations() - before, 0, "pieces of {piece_bytes} bytes");
    }
}

/// A client and a server with compression: the client sends texts, and the server echoes them.
fn no_compressed_message_allocates() {
    let text = "añ€𐍈 again and ".repeat(10_000);
    for context_takeover in [true, false] {
        let sender = SenderParameters { context_takeover, window_bits: 15 };
        let ends = [Role::Client { mask_key: || KEY }, Role::Server];
        let [mut client, mut server] = ends.map(|role| {
            let mut conn = Connection::new(role, Limits::default());
            conn.enable_compression(DeflateParameters { server: sender, client: sender }, 32);
            conn
        });
        let mut bytes = Vec::new();
        let mut exchange = || {
            for end in [100, 1_000, text.len()] {
                client.send_binary(&text.as_bytes()[..end]);
                client.drain_output(&mut bytes);
                server.receive(&bytes);
                bytes.clear();
                while let Some((event, sending)) = server.next_event_with_sender().expect("no rule is broken")
                {
                    let Event::Binary(payload) = event else { panic!("{event}") };
                    sending.binary(payload);
                }
                server.drain_output(&mut bytes);
                client.receive(&bytes);
                bytes.clear();
                let event = client.next_event().expect("no rule is broken");
                assert!(event == Some(Event::Binary(&text.as_bytes()[..end])));
            }
        };
        (0..5).for_each(|_| exchange());
        let before = counting::allocations();
        (0..5).for_each(|_| exchange());
        assert_eq!(counting::allocations() - before, 0, "context takeover: {context_takeover}");
    }
}

/// Twenty players walk about on a small map. The first view of each layout makes the records of a tick; the others only copy them.
fn no_update_allocates() {
    let mut world = World::new(Identity { seed: 1, map_size_px: 1_440, tick_hz: TickHz::Hz30 });
    let mut publisher = MooPublisher::new(&world, UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 30 });
    let command = |player, sequence, action| Command { player: PlayerId(player), sequence, action };
    let join = |number| Action::Join { player: PlayerId(number), name: format!("p{number}"), skin: 1 };
    world.step(&mut (1..=20).map(|number| command(0, number.into(), join(number))).collect());
    for name in ["native", "letters"] {
        let dialect = PacketTables::builtin().dialect(name).expect("built in");
        let mut views: Vec<MooView> = (0..4).map(|_| MooView::new(&dialect)).collect();
        let (mut scratch, mut messages, mut written) = (MooScratch::default(), Messages::default(), 0);
        for tick in 0..90u16 {
            let direction = |number: u16| Some(Angle((tick / 10 + number).wrapping_mul(9_000)));
            let walk =
                |number| command(number, world.tick().into(), Action::Move { direction: direction(number) });
            world.step(&mut (1..=20).map(walk).collect());
            let published = publisher.publish(&world, &|_| 0);
            let mut before = 0;
            for (number, view) in (1..).zip(&mut views) {
                messages.clear();
                view.set_subject(Some(PlayerId(number)), None);
                view.update(&[], &published, false, &dialect, &mut scratch, &mut messages);
                written += messages.iter().count();
                if number == 1 {
                    before = counting::allocations();
                }
            }
            // The players meet one another in the first second; the leaderboard is made once a second, by the first view.
            assert!(tick < 45 || counting::allocations() == before, "{name}, tick {tick}");
        }
        assert!(written > 90, "{name}: {written} messages");
    }
}

/// A line that takes everything and keeps nothing.
#[derive(Debug)]
struct Open;

impl Transport for Open {
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        Ok(slices.map(<[u8]>::len).sum())
    }
    fn on_queued(&self, _: &Client<Open>, _: &[u8], _: Duration) {}
    fn abort(&self) {}
}

/// The turns of two clients. The first one makes the records of the tick; counts what the second asks for.
struct Counted(u64);

impl UpdateRunner<Open> for Counted {
    fn now(&self) -> Duration {
        Duration::ZERO
    }
    fn run(&mut self, client: &Client<Open>, update: &mut UpdateFn<'_>) -> bool {
        let before = counting::allocations();
        let served = update(&AddressRateLimits::new(true));
        if client.id == 2 {
            self.0 = counting::allocations() - before;
            assert!(served.is_some_and(|served| served.send_calls == Some(1)), "it is told something");
        }
        true
    }
}

/// A client sends two commands in each tick, of which the world rejects one, and is told so.
fn no_answer_allocates() {
    let rates = UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 30 };
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
    let world = World::new(Identity { seed: 1, map_size_px: 1_440, tick_hz: TickHz::Hz30 });
    let mut room = Room::<Moo>::new(world, options);
    let handle = Arc::clone(room.handle());
    let (mut audience, mut desk) = (TypedUpdateGroup::<Moo, Open>::default(), EncodeBuffers::default());
    let mut enter = |connection| {
        let from = AddressPrefix::from_ip(core::net::Ipv4Addr::LOCALHOST.into());
        let join = |JoinOutcome { player, .. }| {
            vec![Action::Join { player, name: format!("p{connection}"), skin: 0 }.encoded()]
        };
        let entered = handle.join(JoinAttempt { key: None, connection, from }, Duration::ZERO, join);
        let entered = entered.expect("a number");
        let format = WireFormat::new(PacketTables::builtin().dialect("native").expect("built in"), false);
        let (room, resume_key, response) = (Arc::clone(&handle), None, Vec::new());
        let entry = AcceptedClient {
            room,
            format,
            resume_key,
            token: None,
            is_local: false,
            response,
            declined: String::new(),
        };
        let who = (connection, "127.0.0.1:5000".parse().expect("an address"));
        let client = Arc::new(Client::new(who, Open, entry, Duration::ZERO));
        client.set_player(entered, "p", None);
        client.start_updates(false);
        audience.add_client(client);
        entered.player
    };
    let [_, player] = [1, 2].map(&mut enter);
    let home = AddressPrefix::from_ip(std::net::Ipv4Addr::LOCALHOST.into());
    for tick in 0..90_u16 {
        let walk = Action::Move { direction: Some(Angle((tick / 10).wrapping_mul(9_000))) };
        for (sequence, action) in (u64::from(tick) * 2 + 1..).zip([walk, Action::ClanLeave]) {
            let command = RawCommand { player, sequence, action: action.encoded() };
            handle.push((home, 2), command, None, Duration::ZERO).expect("there is room");
        }
        let ticked = room.tick(Duration::ZERO, TickRequest::default());
        assert_eq!(ticked.acks.as_ref().expect("some").for_connection(2).len(), 2);
        let backlog = Backlog::new(ticked.published, ticked.acks);
        let mut counted = Counted(0);
        audience.update_all(Some(&backlog), &mut desk, &mut counted);
        assert!(tick < 45 || counted.0 == 0, "tick {tick}: {} allocations", counted.0);
    }
}
