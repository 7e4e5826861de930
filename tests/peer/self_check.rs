//! `--self-check`: what is sent to the clients of a room is held against a world in lockstep.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tickwire::game::{Game as _, UpdateRates};
use tickwire::internal::connection::WireFormat;
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::{Action, Identity, PlayerId, TickHz, World};
use tickwire::internal::limits;
use tickwire::internal::server::admission::address_rate_limits::AddressRateLimits;
use tickwire::internal::server::admission::tokens::Authenticator;
use tickwire::internal::server::admission::upgrade_check::AcceptedClient;
use tickwire::internal::server::clients::backlog::Backlog;
use tickwire::internal::server::clients::client::{Client, Transport};
use tickwire::internal::server::clients::client_driver::{ClientDriver, DriverEvent};
use tickwire::internal::server::clients::update_group::{
    EncodeBuffers, TypedUpdateGroup, UpdateFn, UpdateGroup as _, UpdateRunner,
};
use tickwire::internal::server::room::lockstep::LockstepConfig;
use tickwire::internal::server::room::{Room, RoomConfig, TickRequest};
use tickwire::internal::server::self_check::{Finding, SelfCheck};
use tickwire::internal::util::address_prefix::AddressPrefix;
use tickwire::packet::{Direction, PacketTables, Value};
use tickwire::sim::command_frame::encode_raw;
use tickwire::sim::fixed::Angle;
use tickwire::sim::{Action as _, RawCommand};
use tickwire::ws::Side;
use tickwire::ws::frame::{self, Header, Opcode};

const NOW: Duration = Duration::from_secs(1);
/// Ticks in which a fault must be found.
const FOUND_TICKS: u32 = 100;

/// A line that takes everything, and notes it with the player at that time.
#[derive(Debug, Default)]
struct Noted(Mutex<Vec<(Option<PlayerId>, Vec<u8>)>>);

impl Transport for Noted {
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        Ok(slices.map(<[u8]>::len).sum())
    }
    fn on_queued(&self, client: &Client<Noted>, frames: &[u8], _: Duration) {
        self.0.lock().expect("no panic").push((client.player(), frames.to_vec()));
    }
    fn abort(&self) {}
}

struct All;

impl UpdateRunner<Noted> for All {
    fn now(&self) -> Duration {
        NOW
    }
    fn run(&mut self, _: &Client<Noted>, update: &mut UpdateFn<'_>) -> bool {
        update(&AddressRateLimits::new(true));
        true
    }
}

/// What goes wrong, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// In an update, a way that a player went is longer.
    WrongDelta,
    /// A client is sent what another one should be.
    WrongClient,
    /// A command frame is left out.
    SkippedFrame,
    /// A command frame has other commands.
    WrongCommands,
}

struct Hall {
    room: Room<Moo>,
    audience: TypedUpdateGroup<Moo, Noted>,
    buffers: EncodeBuffers,
    clients: Vec<Arc<Client<Noted>>>,
    check: SelfCheck,
    sequence: u64,
    findings: Vec<Finding>,
}

impl Hall {
    /// A room with so many players, of whom one plays as JSON, and a spectator.
    fn new(seed: u32, players: usize) -> Hall {
        let world = World::new(Identity { seed, map_size_px: 1_500, tick_hz: TickHz::Hz30 });
        let options = RoomConfig {
            name: "".into(),
            epoch: "0".to_owned(),
            secret: 7,
            rates: UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 10 },
            delay_ticks: 0,
            resume_time: NOW,
            absent_per_address: 9,
            max_clients: 9,
            lockstep: LockstepConfig::default(),
        };
        let room = Room::new(world, options);
        let check = SelfCheck::new(room.handle(), format(false)).expect("it has lockstep");
        let mut hall = Hall {
            room,
            audience: TypedUpdateGroup::default(),
            buffers: EncodeBuffers::default(),
            clients: Vec::new(),
            check,
            sequence: 0,
            findings: Vec::new(),
        };
        (0..players).for_each(|at| hall.client(1, at == 1));
        hall.client(0, false);
        hall
    }

    fn client(&mut self, mode: u8, is_json: bool) {
        let number = self.clients.len() as u64 + 1;
        let format = format(is_json);
        self.check.on_open(number, &format);
        let who = (number, "127.0.0.1:5000".parse().expect("an address"));
        let room = Arc::clone(self.room.handle());
        let entry = AcceptedClient {
            room,
            format,
            resume_key: None,
            token: None,
            is_local: true,
            response: Vec::new(),
            declined: String::new(),
        };
        let client = Arc::new(Client::new(who, Noted::default(), entry, NOW));
        self.audience.add_client(Arc::clone(&client));
        let dialect = &client.format.dialect;
        let hello = [1.into(), mode.into(), "Ann".into(), Value::Nil];
        let mut bytes = Vec::new();
        if is_json {
            let text = format!(r#"["hello",[1,{mode},"Ann",null]]"#);
            frame::write(&mut bytes, Opcode::Text, Some([1, 2, 3, 4]), text.as_bytes());
        } else {
            let hello = dialect.encode(Direction::ToServer, "hello", &hello).expect("by the table");
            frame::write(&mut bytes, Opcode::Binary, Some([1, 2, 3, 4]), &hello);
        }
        let (address_limits, authenticator) = (
            tickwire::internal::server::admission::address_rate_limits::AddressRateLimits::new(true),
            Authenticator::default(),
        );
        let driver = ClientDriver {
            client: &client,
            address_limits: &address_limits,
            authenticator: &authenticator,
            read_time: client.read_time(NOW),
            is_observed: false,
            on_event: |_: DriverEvent<'_>| {},
        };
        driver.begin().expect("no rule is broken");
        driver.receive(&bytes).expect("no rule is broken");
        self.clients.push(client);
    }

    /// One tick, in which all players walk; then what was sent is followed, perhaps with a fault.
    /// Returns whether the fault was planted.
    fn tick(&mut self, fault: Option<Fault>) -> bool {
        self.sequence += 1;
        for client in &self.clients {
            let Some(player) = client.player() else { continue };
            let direction = (self.sequence / 9 * 7_919 + u64::from(player.0) * 20_011) as u16;
            let action = Action::Move { direction: Some(Angle(direction)) }.encoded();
            let command = RawCommand { player, sequence: self.sequence, action };
            let from = (AddressPrefix::from_ip(std::net::Ipv4Addr::LOCALHOST.into()), client.id);
            self.room.handle().push(from, command, None, Duration::ZERO).expect("there is room");
        }
        let ticked = self.room.tick(NOW, TickRequest::default());
        let backlog = Backlog::new(ticked.published, ticked.acks);
        self.audience.update_all(Some(&backlog), &mut self.buffers, &mut All);
        let mut is_planted = false;
        let mut journal = self.check.take_journal_frames();
        if fault == Some(Fault::WrongCommands) {
            let spoilt = astray(&journal);
            is_planted = spoilt != journal;
            journal = spoilt;
        }
        if fault == Some(Fault::SkippedFrame) && !journal.is_empty() {
            (journal, is_planted) = (Vec::new(), true);
        }
        self.check.apply_journal(&journal);
        let mut said: Vec<_> = self
            .clients
            .iter()
            .map(|client| std::mem::take(&mut *client.transport.0.lock().expect("no panic")))
            .collect();
        if fault == Some(Fault::WrongClient) && said[0].len() == 1 && said[2].len() == 1 {
            said[0][0].1 = said[2][0].1.clone();
            is_planted = true;
        }
        if let (Some(Fault::WrongDelta), Some((_, frames))) = (fault, said[0].last_mut()) {
            is_planted = spoil(frames);
        }
        for (client, said) in self.clients.iter().zip(said) {
            said.iter().for_each(|(player, frames)| self.check.on_frames_queued(client.id, *player, frames));
        }
        self.findings.extend(self.check.take_findings());
        is_planted
    }
}

fn format(is_json: bool) -> WireFormat {
    WireFormat::new(PacketTables::builtin().dialect("native").expect("built in"), is_json)
}

/// Makes a way in an update longer, if there is one.
fn spoil(frames: &mut Vec<u8>) -> bool {
    let dialect = format(false).dialect;
    let (mut out, mut rest, mut is_done) = (Vec::new(), &frames[..], false);
    while let Ok(Some((header, from))) = Header::decode(rest, Side::Server) {
        let message = &rest[from..from + header.length as usize];
        rest = &rest[from + header.length as usize..];
        let packet = dialect.decode(Direction::ToClient, message).expect("by the table");
        let mut values = packet.values.clone();
        let at = packet.row.argument("moved").filter(|_| packet.row.name == "update");
        if let Some(Value::Array(moved)) = at.map(|at| &mut values[at])
            && let Some(dx) = moved.get_mut(1)
        {
            *dx = Value::from(dx.as_i64().expect("a number") + 2);
            is_done = true;
        }
        let message = dialect.encode(Direction::ToClient, &packet.row.name, &values).expect("by the table");
        frame::write_binary(&mut out, &message);
    }
    *frames = out;
    is_done
}

#[test]
fn nothing_is_found_in_what_a_sound_server_sends() {
    let mut hall = Hall::new(1, 4);
    (0..400).for_each(|_| _ = hall.tick(None));
    assert_eq!(hall.findings, []);
    let counts = hall.check.counts();
    assert!(counts.compared > 4 * 380, "{counts:?}");
    assert_eq!(counts.checksums, hall.room.handle().lockstep.counts().checksums);
    assert!(counts.checksums >= 3, "{counts:?}");
}

#[test]
fn each_planted_fault_is_found_within_a_hundred_ticks_and_named() {
    for fault in [Fault::WrongDelta, Fault::WrongClient, Fault::SkippedFrame] {
        for seed in 1..=5 {
            let mut hall = Hall::new(seed, 4);
            (0..50).for_each(|_| _ = hall.tick(None));
            assert_eq!(hall.findings, [], "{fault:?} is not planted yet");
            let planted = (0..50).find(|_| hall.tick(Some(fault)));
            assert!(planted.is_some(), "{fault:?} was never planted");
            let planted = hall.room.handle().tick();
            while hall.findings.is_empty() && hall.room.handle().tick() < planted + FOUND_TICKS {
                hall.tick(None);
            }
            let found = hall.room.handle().tick() - planted;
            let [finding, ..] = &hall.findings[..] else { panic!("{fault:?}, seed {seed}: not found") };
            println!(
                "{fault:?}, seed {seed}, planted at tick {planted}, found {found} ticks later: {finding}"
            );
            let is_named = match fault {
                Fault::SkippedFrame => (finding.client, finding.rule) == (None, "frame_order"),
                _ => (finding.client, finding.player) == (Some(1), Some(PlayerId(1))),
            };
            assert!(is_named, "{fault:?}: {finding}");
            assert!(hall.findings.iter().all(|other| other.client == finding.client), "{:?}", hall.findings);
        }
    }
}

#[test]
fn after_a_skipped_frame_the_own_world_begins_again_and_goes_on() {
    let mut hall = Hall::new(3, 2);
    (0..30).for_each(|_| _ = hall.tick(None));
    assert!(hall.tick(Some(Fault::SkippedFrame)));
    (0..5).for_each(|_| _ = hall.tick(None));
    let (found, compared) = (hall.findings.len(), hall.check.counts().compared);
    (0..50).for_each(|_| _ = hall.tick(None));
    assert_eq!((found, hall.findings.len()), (1, 1), "{:?}", hall.findings);
    assert!(hall.check.counts().compared > compared + 90);
}

/// A message of the journal, as a frame.
fn message(name: &str, values: &[Value]) -> Vec<u8> {
    let message = format(false).dialect.encode(Direction::ToClient, name, values).expect("by the table");
    let mut frames = Vec::new();
    frame::write_binary(&mut frames, &message);
    frames
}

#[test]
fn frames_that_break_a_rule_are_one_finding_and_the_own_world_begins_again() {
    let mut hall = Hall::new(2, 2);
    (0..30).for_each(|_| _ = hall.tick(None));
    // An opcode that there is not, and what was behind it.
    hall.check.apply_journal(&[0x8f; 4_000]);
    (0..5).for_each(|_| _ = hall.tick(None));
    let compared = hall.check.counts().compared;
    (0..50).for_each(|_| _ = hall.tick(None));
    let [finding] = &hall.findings[..] else { panic!("{:?}", hall.findings) };
    assert_eq!((finding.client, finding.rule), (None, "reserved_opcode"), "{finding}");
    assert!(hall.check.counts().compared > compared + 90);
}

#[test]
fn a_snapshot_may_be_as_long_as_a_world_that_can_be_restored() {
    let mut hall = Hall::new(2, 1);
    (0..30).for_each(|_| _ = hall.tick(None));
    let bytes = vec![0; 2 * limits::CLIENT_MESSAGE_BYTES];
    hall.check.apply_journal(&message("snapshot", &[30.into(), Value::Binary(bytes)]));
    let findings = hall.check.take_findings();
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(finding.rule, "snapshot", "it is read, and is not one: {finding}");
}

/// A command frame of the journal in which a player walks another way, as whole frames.
fn astray(journal: &[u8]) -> Vec<u8> {
    let dialect = format(false).dialect;
    let (mut out, mut rest) = (Vec::new(), journal);
    while let Ok(Some((header, from))) = Header::decode(rest, Side::Server) {
        let end = from + header.length as usize;
        let packet = dialect.decode(Direction::ToClient, &rest[from..end]).expect("by the table");
        let Some(bytes) = packet.get("frame").and_then(Value::as_slice) else { return journal.to_vec() };
        let mut frame = (Moo::INFO.frame)(bytes).expect("a command frame");
        let action = Action::Move { direction: Some(Angle(12_345)) }.encoded();
        frame.commands.iter_mut().for_each(|command| command.action = action.clone());
        let mut bytes = Vec::new();
        encode_raw(frame.tick, &frame.commands, &mut bytes).expect("few commands");
        out.extend(message("command_frame", &[Value::Binary(bytes)]));
        rest = &rest[end..];
    }
    out
}

#[test]
fn an_own_world_that_differs_is_found_by_itself_among_many_others() {
    let mut hall = Hall::new(4, 3);
    (0..60).for_each(|_| _ = hall.tick(None));
    // More participants with checksums of their own than a report names.
    let lockstep = &hall.room.handle().lockstep;
    let liars = || 0..4 * limits::LOCKSTEP_MAX_REPORT_GROUPS as u64;
    liars().for_each(|liar| {
        lockstep.add_follower(1_000 + liar, AddressPrefix::from_ip(std::net::Ipv4Addr::LOCALHOST.into()));
        lockstep.next(1_000 + liar, 1, |_| true);
    });
    assert!(hall.tick(Some(Fault::WrongCommands)));
    while hall.room.handle().tick() < 200 {
        let tick = hall.room.handle().tick();
        let lockstep = &hall.room.handle().lockstep;
        liars().for_each(|liar| lockstep.checksum(1_000 + liar, || format!("liar {liar}"), tick, liar));
        hall.tick(None);
    }
    let own: Vec<&Finding> = hall.findings.iter().filter(|finding| finding.client.is_none()).collect();
    let [finding] = own[..] else { panic!("{:?}", hall.findings) };
    assert_eq!(finding.rule, "desync");
    assert!(finding.detail.starts_with("after tick 100: players["), "{finding}");
}

#[test]
fn a_room_with_clients_in_lockstep_alone_is_followed_until_they_leave() {
    let mut hall = Hall::new(1, 0);
    hall.client(3, false);
    hall.client(2, true);
    (0..30).for_each(|_| _ = hall.tick(None));
    hall.check.on_close(1);
    assert_eq!(hall.check.len(), 0, "no stream is left");
    hall.check.on_bytes_lost(2);
    assert!(!hall.check.is_empty());
    (0..200).for_each(|_| _ = hall.tick(None));
    assert_eq!((&hall.findings[..], hall.check.counts().checksums), (&[][..], 2));
    hall.check.on_close(2);
    assert!(!hall.check.is_empty());
    hall.check.on_close(3);
    assert!(hall.check.is_empty());
}

#[test]
fn only_so_many_clients_are_followed_and_their_places_are_free_again() {
    let mut hall = Hall::new(1, 1);
    let format = format(false);
    let max = limits::SELF_CHECK_CLIENTS as u64;
    (100..100 + max).for_each(|client| hall.check.on_open(client, &format));
    assert_eq!((hall.check.len() as u64, hall.check.counts().skipped), (max, 2));
    hall.check.on_close(100);
    hall.check.on_open(1_000, &format);
    assert_eq!((hall.check.len() as u64, hall.check.counts().skipped), (max, 2));
    let legacy = WireFormat::new(PacketTables::builtin().dialect("legacy").expect("built in"), false);
    assert!(SelfCheck::new(hall.room.handle(), legacy).is_none(), "its updates do not say their tick");
}
