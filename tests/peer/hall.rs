//! A room with clients that run its world themselves: what the tests of lockstep share.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tickwire::client::lockstep_follower::{DesyncReport, FollowEvent, LockstepFollower};
use tickwire::game::{Game as _, Messages, UpdateRates};
use tickwire::internal::connection::{DisconnectReason, WireFormat};
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::{Action, Identity, PlayerId, TickHz, World};
use tickwire::internal::limits;
use tickwire::internal::server::admission::address_rate_limits::AddressRateLimits;
use tickwire::internal::server::admission::tokens::{Authenticator, OfferedToken};
use tickwire::internal::server::admission::upgrade_check::AcceptedClient;
use tickwire::internal::server::clients::backlog::Backlog;
use tickwire::internal::server::clients::client::{Client, Transport};
use tickwire::internal::server::clients::client_driver::{ClientDriver, DriverEvent};
use tickwire::internal::server::clients::update_group::{
    EncodeBuffers, TypedUpdateGroup, UpdateFn, UpdateGroup as _, UpdateRunner,
};
use tickwire::internal::server::room::lockstep::{LockstepAccess, LockstepConfig, LockstepCounts};
use tickwire::internal::server::room::{Room, RoomConfig, TickRequest};
use tickwire::internal::util::address_prefix::AddressPrefix;
use tickwire::packet::{Direction, PacketTables, Value};
use tickwire::sim::{Action as _, RawCommand};
use tickwire::ws::Side;
use tickwire::ws::frame::{self, Header, Opcode};

/// When a hall begins.
pub const START: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_nanos(1_000_000_000 / 30);

/// A line that keeps what it is given, or takes nothing.
#[derive(Debug)]
pub struct Kept {
    bytes: Mutex<Vec<u8>>,
    /// The bytes that it takes at most, of each send.
    pub takes: AtomicUsize,
    /// The time in which its machine was suspended.
    pub suspended_ms: AtomicU64,
}

impl Transport for Kept {
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let mut slices = slices.collect::<Vec<_>>().concat();
        slices.truncate(self.takes.load(Ordering::Relaxed));
        self.bytes.lock().expect("no panic").extend(&slices);
        Ok(slices.len())
    }
    fn on_queued(&self, _client: &Client<Kept>, _frames: &[u8], _now: Duration) {}
    fn suspended(&self) -> Duration {
        Duration::from_millis(self.suspended_ms.load(Ordering::Relaxed))
    }
    fn abort(&self) {}
}

type Driver<'a> = ClientDriver<'a, Kept, fn(DriverEvent<'_>)>;

struct All<'a>(Duration, &'a AddressRateLimits);

impl UpdateRunner<Kept> for All<'_> {
    fn now(&self) -> Duration {
        self.0
    }
    fn run(&mut self, _: &Client<Kept>, update: &mut UpdateFn<'_>) -> bool {
        update(self.1);
        true
    }
}

/// One end of a connection, and the other.
pub struct End {
    pub client: Arc<Client<Kept>>,
    pub follower: LockstepFollower,
    pub reports: Vec<DesyncReport>,
    /// Ticks whose frames have come, in order.
    pub frames: Vec<u32>,
    /// Names of other packets.
    pub others: Vec<String>,
}

/// A client that is not the usual one.
#[derive(Debug, Clone, Copy)]
pub struct Who {
    pub mode: u8,
    pub is_local: bool,
    pub is_json: bool,
    /// Its address is 127.0.0.x.
    pub address: u8,
    pub token: Option<&'static str>,
}

/// A spectator in lockstep.
pub const SPECTATOR: Who = Who { mode: 2, is_local: false, is_json: false, address: 1, token: None };

pub struct Hall {
    pub room: Room<Moo>,
    audience: TypedUpdateGroup<Moo, Kept>,
    buffers: EncodeBuffers,
    pub authenticator: Authenticator,
    pub address_limits: Arc<AddressRateLimits>,
    pub ends: Vec<End>,
    pub now: Duration,
    /// The sequence of the last command with which all players walk.
    pub sequence: u64,
}

impl Hall {
    pub fn new(access: LockstepAccess) -> Hall {
        Hall::with((access, 20, 5), Arc::new(AddressRateLimits::new(true)))
    }

    /// With so many ticks between snapshots and between checksums, in a host with these budgets.
    pub fn with(
        (access, snapshot_ticks, checksum_ticks): (LockstepAccess, u32, u32),
        address_limits: Arc<AddressRateLimits>,
    ) -> Hall {
        let world = World::new(Identity { seed: 1, map_size_px: 3_000, tick_hz: TickHz::Hz30 });
        let options = RoomConfig {
            name: "".into(),
            epoch: "0".to_owned(),
            secret: 7,
            rates: UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 10 },
            delay_ticks: 0,
            resume_time: START,
            absent_per_address: 99,
            max_clients: 99,
            lockstep: LockstepConfig { access, snapshot_ticks, checksum_ticks },
        };
        Hall {
            room: Room::new(world, options),
            audience: TypedUpdateGroup::default(),
            buffers: EncodeBuffers::default(),
            authenticator: Authenticator::default(),
            address_limits,
            ends: Vec::new(),
            now: START,
            sequence: 0,
        }
    }

    /// Its world begins anew, with a map of this size. Nobody has come yet.
    pub fn is_as_large_as(&mut self, map_size_px: u32) {
        let world = World::new(Identity { seed: 1, map_size_px, tick_hz: TickHz::Hz30 });
        self.room = Room::new(world, self.room.handle().options.clone());
    }

    /// So many bodies without clients join, which no seat makes leave.
    pub fn is_crowded(&mut self, bodies: u16) {
        let join =
            |player: u16| Action::Join { player: PlayerId(10_000 + player), name: "Ann".into(), skin: 0 };
        self.room.handle().push_operator((0..bodies).map(|body| join(body).encoded()).collect());
        self.tick();
    }

    /// A client that says hello with this mode; its place in `ends`.
    pub fn client(&mut self, mode: u8, is_local: bool) -> usize {
        self.comes(Who { mode, is_local, ..SPECTATOR })
    }

    pub fn comes(&mut self, Who { mode, is_local, is_json, address, token }: Who) -> usize {
        let format = WireFormat::new(PacketTables::builtin().dialect("native").expect("built in"), is_json);
        let number = self.ends.len() as u64 + 1;
        let who = (number, SocketAddr::from(([127, 0, 0, address], 5_000)));
        let room = Arc::clone(self.room.handle());
        let entry = AcceptedClient {
            room,
            format,
            resume_key: None,
            token: token.map(|token| OfferedToken(token.to_owned())),
            is_local,
            response: Vec::new(),
            declined: String::new(),
        };
        let client = Arc::new(Client::new(
            who,
            Kept {
                bytes: Mutex::default(),
                takes: AtomicUsize::new(usize::MAX),
                suspended_ms: AtomicU64::new(0),
            },
            entry,
            self.now,
        ));
        self.audience.add_client(Arc::clone(&client));
        let follower = LockstepFollower::new(Moo::INFO, Arc::clone(&client.format.dialect));
        self.ends.push(End { client, follower, reports: Vec::new(), frames: Vec::new(), others: Vec::new() });
        let at = self.ends.len() - 1;
        self.drive(at, |driver| driver.begin());
        self.say(at, "hello", &[1.into(), mode.into(), "Ann".into()]);
        at
    }

    /// A client sends a packet.
    pub fn say(&self, at: usize, name: &str, values: &[Value]) {
        let dialect = &self.ends[at].client.format.dialect;
        let message = dialect.encode(Direction::ToServer, name, values).expect("by the table");
        self.send(at, &message);
    }

    pub fn send(&self, at: usize, message: &[u8]) {
        let client = &self.ends[at].client;
        let mut bytes = Vec::new();
        if client.format.is_json {
            let text = client.format.dialect.json_from_msgpack(Direction::ToServer, message);
            let text = text.expect("just encoded");
            frame::write(&mut bytes, Opcode::Text, Some([1, 2, 3, 4]), text.as_bytes());
        } else {
            frame::write(&mut bytes, Opcode::Binary, Some([1, 2, 3, 4]), message);
        }
        self.drive(at, |driver| driver.receive(&bytes));
    }

    fn drive(&self, at: usize, input: impl FnOnce(Driver<'_>) -> Result<(), DisconnectReason>) {
        let client = &self.ends[at].client;
        let driver = ClientDriver {
            client,
            address_limits: &self.address_limits,
            authenticator: &self.authenticator,
            read_time: client.read_time(self.now),
            is_observed: false,
            on_event: (|_| {}) as fn(DriverEvent<'_>),
        };
        if let Err(reason) = input(driver) {
            client.close(reason, self.now);
        }
    }

    /// One tick, in which all players walk; then everybody hears what came.
    pub fn tick(&mut self) {
        let backlog = self.run();
        self.serve(&backlog);
    }

    /// The room runs a tick, in which all players walk.
    pub fn run(&mut self) -> Backlog {
        self.sequence += 1;
        self.now += TICK;
        for player in self.players() {
            let direction = (self.sequence * 7_919 + u64::from(player.0) * 20_011) as u16;
            let action = Action::Move { direction: Some(tickwire::sim::fixed::Angle(direction)) }.encoded();
            let command = RawCommand { player, sequence: self.sequence, action };
            let connection =
                self.ends.iter().find(|end| end.client.player() == Some(player)).expect("of a client");
            let prefix = AddressPrefix::from_ip(std::net::Ipv4Addr::LOCALHOST.into());
            self.room
                .handle()
                .push((prefix, connection.client.id), command, None, Duration::ZERO)
                .expect("there is room");
        }
        let ticked = self.room.tick(self.now, TickRequest::default());
        Backlog::new(ticked.published, ticked.acks)
    }

    /// The worker sends what a tick has brought, and the clients receive it.
    pub fn serve(&mut self, backlog: &Backlog) {
        self.audience.begin_pass(Some(backlog), &mut std::iter::empty(), self.now);
        self.audience.update_all(Some(backlog), &mut self.buffers, &mut All(self.now, &self.address_limits));
        (0..self.ends.len()).for_each(|at| self.listen(at));
    }

    pub fn players(&self) -> Vec<PlayerId> {
        self.ends.iter().filter_map(|end| end.client.player()).collect()
    }

    pub fn ticks(&mut self, count: u32) {
        (0..count).for_each(|_| self.tick());
    }

    /// Decodes what a client was sent, and sends what its follower says.
    pub fn listen(&mut self, at: usize) {
        let bytes = std::mem::take(&mut *self.ends[at].client.transport.bytes.lock().expect("no panic"));
        let (mut say, mut told) = (Vec::new(), Messages::default());
        let End { client, follower, reports, frames, others } = &mut self.ends[at];
        let mut rest = &bytes[..];
        while let Ok(Some((header, from))) = Header::decode(rest, Side::Server) {
            let end = from + header.length as usize;
            let Some(message) = rest.get(from..end) else { break };
            rest = &rest[end..];
            assert!(message.len() <= limits::CLIENT_MESSAGE_BYTES, "{} bytes", message.len());
            if matches!(header.opcode, Opcode::Binary | Opcode::Text) {
                let dialect = &client.format.dialect;
                let packet = match header.opcode {
                    Opcode::Text => {
                        let text = std::str::from_utf8(message).expect("JSON");
                        dialect.decode_json(Direction::ToClient, text)
                    }
                    _ => dialect.decode(Direction::ToClient, message),
                };
                let packet = packet.expect("by the table");
                match follower.on_packet(&packet, &mut say, &mut told).expect("the same rules") {
                    FollowEvent::Report(report) => reports.push(report),
                    FollowEvent::Stepped(tick) => frames.push(tick - 1),
                    FollowEvent::Synced(_) | FollowEvent::Handled => {}
                    FollowEvent::Other => others.push(packet.row.name.clone()),
                }
            }
        }
        let rest = rest.to_vec();
        self.ends[at].client.transport.bytes.lock().expect("no panic").splice(..0, rest);
        say.iter().for_each(|message| self.send(at, message));
    }

    pub fn counts(&self) -> LockstepCounts {
        self.room.handle().lockstep.counts()
    }

    /// The room's world after the last tick.
    pub fn checksum(&mut self) -> u64 {
        let wants = TickRequest { snapshot: true, ..TickRequest::default() };
        let snapshot = self.room.tick(self.now, wants).snapshot.expect("wanted");
        World::restore(&snapshot.bytes).expect("its own").checksum()
    }

    /// Whether the worlds of these clients are that of the room.
    pub fn agree(&mut self, ends: &[usize]) {
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
