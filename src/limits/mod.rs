//! Every bound of the server in one place: value, unit, reason, and the effect of reaching it.
//!
//! No other module of the server contains a bound as a bare number; bots and attackers define their
//! own rates. The compile-time checks in `checks` compare the bounds with one another. The
//! constants of a world (speed, radius, map) are rules of the game and belong to the game.

#[cfg(not(target_family = "wasm"))]
mod agones;
mod checks;
mod client;
#[cfg(not(target_family = "wasm"))]
mod cluster;
mod intercept;
#[cfg(not(target_family = "wasm"))]
mod journal;
mod lane;
mod lockstep;
mod netem;
mod parsers;
mod playback;
mod prediction;
mod rooms;
mod tokens;
mod tools;
mod websocket;

use std::time::Duration;

#[cfg(not(target_family = "wasm"))]
pub use agones::*;
pub use client::*;
#[cfg(not(target_family = "wasm"))]
pub use cluster::*;
pub use intercept::*;
#[cfg(not(target_family = "wasm"))]
pub use journal::*;
pub use lane::*;
pub use lockstep::*;
pub use netem::*;
pub use parsers::*;
pub use playback::*;
pub use prediction::*;
pub use rooms::*;
pub use tokens::*;
pub use tools::*;
pub use websocket::*;

// ---- packet: MessagePack --------------------------------------------------------------------

/// Maximum nesting of arrays and maps in a packet. The deepest packet needs 5. A deeper one closes
/// the connection with 1007.
pub const PACKET_DEPTH: usize = 7;
/// Maximum number of values in one client packet, including containers. Limits the memory that a
/// few bytes can claim. A packet with more values closes the connection with 1007.
pub const PACKET_VALUES: usize = 1024;
/// Maximum number of values in one server packet, for tickwire's own client. An update of a crowded
/// screen contains a few thousand. A packet with more values makes the client disconnect.
pub const CLIENT_PACKET_VALUES: usize = 64 * 1024;
/// Maximum characters of client text (an unknown code, a wrong argument) quoted in an error. Longer
/// text is truncated.
pub const PACKET_EXCERPT_CHARS: usize = 24;
/// Maximum number of rows of all packet tables together. The server rejects larger tables at
/// startup.
pub const TABLE_ROWS: usize = 1024;

// ---- session: bounds on packets of a client -------------------------------------------------

/// Maximum characters of a player's name after trimming, as in the MooMoo client. Longer names are
/// truncated.
pub const NAME_CHARS: usize = 15;
/// Number of skin colours that a player can select, from 0. A higher number is replaced by 0.
pub const SKINS: u8 = 10;
/// Maximum characters of a chat line. Longer lines are truncated.
pub const CHAT_CHARS: usize = 30;
/// Minimum time between two chat lines of one player. Lines sent sooner are dropped and counted.
pub const CHAT_INTERVAL: Duration = Duration::from_millis(500);
/// Minimum time between two map pings of one player, because a ping is shown for about 2 s. Pings
/// sent sooner are dropped and counted.
pub const MAP_PING_INTERVAL: Duration = Duration::from_millis(1000);
/// Minimum time between two clan commands of one player, because each change is sent to every
/// client. Commands sent sooner are dropped and counted.
pub const CLAN_INTERVAL: Duration = Duration::from_millis(250);
/// Maximum number of join requests shown to a clan's owner. Further requests are shown after these
/// are answered.
pub const MAX_VISIBLE_CLAN_REQUESTS: usize = 20;
/// Minimum time between two messages to a client about founded and dissolved clans and the clans of
/// players in view. A player may change clans 4 times per second, and every client is informed.
/// Changes in between are sent together.
pub const CLAN_NEWS_INTERVAL: Duration = Duration::from_millis(1000);
/// Average bytes per second of messages about clans to one client. 60 players that found and leave
/// clans reach it. Above this rate, changes are sent later, together.
pub const CLAN_NEWS_BYTES_PER_SECOND: u32 = 1000;
/// Burst of messages about clans, as time at `CLAN_NEWS_BYTES_PER_SECOND`. Until the burst is used
/// up, a client is informed immediately that its player joined or left a clan. The longest member
/// list uses 3 s of the burst.
pub const CLAN_OWN_CREDIT: Duration = Duration::from_millis(4000);
/// Average messages per second that one client may send. Real MooMoo servers kick at 120. When the
/// burst is used up, the connection is closed with 1008.
pub const CLIENT_MESSAGES_PER_SECOND: u32 = 120;
/// Messages that one client may send at once, in addition to the rate.
pub const CLIENT_MESSAGES_BURST: u32 = 240;
/// Average bytes per second that one client may send: 120 messages of 128 bytes, with some margin.
/// When the burst is used up, the connection is closed with 1008.
pub const CLIENT_BYTES_PER_SECOND: u32 = 16 * 1024;
/// Bytes that one client may send at once, in addition to the rate.
pub const CLIENT_BYTES_BURST: u32 = 64 * 1024;
/// Divisor of a client's burst. When less than half the burst is left, the client is warned once
/// that its connection may be closed. At twice the allowed message rate, the warning precedes the
/// close by 1 s.
pub const RATE_WARNING_DIVISOR: u64 = 2;
/// Maximum lead of a command over the current tick, in milliseconds. A later target tick is reduced
/// to this bound.
pub const MAX_COMMAND_LEAD_MS: u32 = 1000;
/// Time within which a native client must send its `hello`. After this time, the connection is
/// closed with 1008.
pub const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

// ---- net: connections -----------------------------------------------------------------------

/// Maximum number of connections that wait to be accepted. With 128, the value of `std`, 9,900
/// simultaneous connection attempts take 52 s instead of 0.8 s.
pub const LISTEN_BACKLOG: i32 = 4096;
/// Default of `--max-clients`: the maximum number of clients after the handshake. An address with
/// clients gets another slot only while it has fewer clients than there are free slots. This
/// reserves slots for new addresses. Further clients are refused with 503.
pub const CLIENTS_DEFAULT: usize = 2_000;
/// Default of `--max-clients-per-address`: the maximum number of clients of one address. If it
/// equals the maximum number of all clients, one address may use every slot. A home or a
/// school class fits; bots use many loopback addresses (`--source`). Further clients are refused
/// with 503.
pub const CLIENTS_PER_ADDRESS: usize = 64;
/// Maximum number of connections with an unfinished request or page, over all addresses; at most a
/// quarter of the machine's capacity. An eighth of the slots is reserved for new addresses. An
/// address with such connections gets another slot only while it has fewer of them than there are
/// free unreserved slots. When only the reserved slots are left, a connection from a new address
/// displaces the oldest connection of the address with the most connections. Further connections
/// are refused with 503, without a thread.
pub const MAX_PENDING_REQUESTS: usize = 1024;
/// Maximum time that the listener waits for a displaced connection to end, if all other slots are
/// occupied. The displaced thread has been woken and needs a processor. After this time, the new
/// connection is refused with 503.
pub const DISPLACED_WAIT: Duration = Duration::from_millis(500);
/// Maximum number of connections of one address with an unfinished request or page. A school class
/// of 40 at one address loads the page at once, with 6 connections each. Further connections are
/// refused with 503: without a thread, or with a trusted proxy once the head has named the client's
/// address.
pub const MAX_PENDING_REQUESTS_PER_ADDRESS: usize = 256;
/// Maximum time from accept to the end of the request head, however slowly it arrives. Then the
/// connection is closed: with 408, or without a response if no byte arrived.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time to write a page. After this time, the connection is dropped.
pub const PAGE_WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of requests on one connection: the page makes 98, and a browser spreads them over
/// 6 connections. The last response closes the connection.
pub const MAX_REQUESTS_PER_CONNECTION: u32 = 128;
/// Maximum time between a response and the first byte of the next request on the same connection. A
/// page makes its requests in bursts, some round trips apart. After this time, the connection is
/// closed.
pub const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time without a received message after which a client is pinged, because proxies drop a tunnel
/// after 60 s. Whole messages and control frames, such as the pong, restart the time; bytes of an
/// unfinished frame do not.
pub const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Time without a received message after which a client counts as lost: three unanswered pings. The
/// connection is closed with 1011.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(65);
/// Minimum length of a server pause that rate limits and deadlines take into account. A worker
/// checks each client at least every [`WORKER_IDLE_WAKEUP`]. The bursts of the rate limits cover
/// shorter pauses.
pub const PAUSE_LEAST: Duration = Duration::from_secs(1);
/// Time after a pause during which rate limits and deadlines take the pause into account. In this
/// time every thread reads the bytes that waited in its sockets, and clients resend lost bytes.
/// Afterwards the limits apply as usual.
pub const PAUSE_SLACK_TIME: Duration = Duration::from_secs(10);
/// Maximum pause that rate limits and deadlines take into account. A longer pause counts as this
/// long. A page disconnects from a silent server after a shorter time.
pub const PAUSE_SLACK_MOST: Duration = Duration::from_secs(60);
/// Time between the server's close frame and the end of the connection, even if the peer does not
/// respond.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Time that clients have at shutdown to respond to the close frame. After this time, their
/// connections are closed.
pub const SHUTDOWN_CLOSE_TIMEOUT: Duration = Duration::from_millis(1500);
/// Time that connection threads have to end after their connections were closed at shutdown. They
/// end immediately unless the machine is overloaded. After this time, shutdown reports the
/// remaining threads, also in the exit code.
pub const SHUTDOWN_JOIN_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval at which a thread that flushes its final frames checks whether they have been sent.
pub const FLUSH_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Interval of status lines in the log.
pub const STATUS_LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum bytes that are read and dropped after the server's final frame. Closing with unread
/// bytes would reset the connection before the peer has read that frame. When the limit is reached,
/// as by a flooding client, the connection is closed.
pub const MAX_DRAIN_BYTES: usize = 256 * 1024;
/// Stack of a client thread in bytes. Backtraces fit, and only touched pages cost memory.
pub const CLIENT_STACK_BYTES: usize = 256 * 1024;
/// Stack in bytes of a thread that handles requests and the first packets of clients. glibc gives a
/// new thread the stack of an ended one if that has at most four times the size. A client thread
/// must not get this one, because the pages that were used once stay in memory.
pub const CONNECTION_STACK_BYTES: usize = 5 * CLIENT_STACK_BYTES;
/// Time after the upgrade for which the connection's thread handles the packets of a client, unless
/// the client plays earlier. A client's `hello` arrives in this time, and a bot's join, too.
pub const CLIENT_SETUP_TIME: Duration = Duration::from_millis(250);
/// Stack of a thread that compresses, in bytes. A compressor has 320 KB, and code without
/// optimisations builds it on the stack.
pub const COMPRESSOR_STACK_BYTES: usize = 2 * 1024 * 1024;
/// Maximum bytes of one read by a client thread. Messages of clients are short, and each connection
/// has such a buffer.
pub const CLIENT_READ_BYTES: usize = 512;
/// Maximum bytes of the reply buffer that a connection keeps between two reads. A pong fits, so
/// that pings allocate nothing; a `welcome` is sent once, and does not stay.
pub const RETAINED_REPLY_BYTES: usize = 64;
/// Maximum bytes of one read by any other thread with a connection.
pub const READ_BYTES: usize = 4 * 1024;
/// Memory mappings of one thread on Linux. With more mappings than `vm.max_map_count`, a new thread
/// aborts.
pub const MAPPINGS_PER_THREAD: usize = 4;
/// Memory mappings reserved for everything except connection threads: heap, libraries, other
/// threads, and threads of requests that have just become clients, which end.
pub const RESERVED_MAPPINGS: usize = 2_048;
/// File descriptors reserved for everything except clients and requests: listener, standard
/// streams, files, inspectors.
pub const RESERVED_DESCRIPTORS: usize = 64;
/// Minimum number of connections that the machine must support: two requests and six clients. With
/// fewer, the server does not start.
pub const MIN_CONNECTIONS: usize = 8;
/// Consecutive errors of `accept` after which a listener pauses before it retries. Aborted
/// connections cause fewer consecutive errors (ECONNABORTED). The cost of up to this many immediate
/// retries is negligible.
pub const ACCEPT_ERRORS: u32 = 8;
/// Pause of a listener before each further retry, for example while no file descriptor is free.
/// Without it, `accept` would fail a million times per second.
pub const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Average connections per second of one address: more than one page of 99 connections. A further
/// request on a connection counts as a connection. `--address-rate-limits off` disables the limit.
/// When the burst is used up, a connection is refused with 429: without a thread, or with a trusted
/// proxy once the head has named the client's address.
pub const ADDRESS_CONNECTIONS_PER_SECOND: u32 = 128;
/// Connections that one address may make at once. The page makes 98 requests, with one connection
/// each, and a WebSocket: a class of 40 that loads it at once from one address makes 3,960.
pub const ADDRESS_CONNECTIONS_BURST: u32 = 4_096;
/// Average client handshakes per second of one address. `--address-rate-limits off` disables the
/// limit. When the burst is used up, a handshake is refused with 429.
pub const ADDRESS_CLIENTS_PER_SECOND: u32 = 4;
/// Client handshakes that one address may make at once: four times its maximum number of clients,
/// for example after restarts of the server.
pub const ADDRESS_CLIENTS_BURST: u32 = 256;
/// Average joins per second of one address, because each join is sent to every client.
/// `--address-rate-limits off` disables the limit. When the burst is used up, the join is rejected,
/// and the client remains a spectator.
pub const ADDRESS_JOINS_PER_SECOND: u32 = 2;
/// Joins that one address may make at once: twice its maximum number of clients.
pub const ADDRESS_JOINS_BURST: u32 = 128;
/// Average lanes per second that one address may request. A data channel begins with a DTLS
/// handshake, whose signature and key exchange cost more than any packet. `--address-rate-limits
/// off` disables the limit. Further requests are rejected.
pub const ADDRESS_LANES_PER_SECOND: u32 = 2;
/// Lanes that one address may request at once: twice its maximum number of clients.
pub const ADDRESS_LANES_BURST: u32 = 128;
/// Rate limit of one address for the chat lines, map pings and clan commands of all its clients
/// together, as a multiple of one client's limit. `--address-rate-limits off` disables the limit.
/// Further actions are rejected and counted.
pub const ADDRESS_ACTION_RATE_FACTOR: u32 = 4;
/// Maximum number of addresses with stored rate limits, at about 140 bytes each; full token buckets
/// are not stored. When it is reached, an eighth of the entries is removed: first the addresses
/// that have used the least.
pub const MAX_TRACKED_ADDRESSES: usize = 16 * 1024;

// ---- net: echo ------------------------------------------------------------------------------

/// Default of `--max-message`: the maximum bytes of one message to `echo`, all its fragments
/// together. A longer message closes the connection with 1009.
pub const ECHO_MESSAGE_BYTES: usize = 1024 * 1024;
/// Maximum of `--max-message`, in bytes: the longest message of the Autobahn test suite. With a
/// larger value, `echo` does not start.
pub const MAX_ECHO_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Maximum number of fragments of one message to `echo`, including empty ones. The Autobahn test
/// suite splits 4 MiB into 65,536 fragments of 64 bytes and appends an empty one. More fragments
/// close the connection with 1008.
pub const ECHO_FRAGMENTS: usize = 65_536 + 1;
/// Maximum memory in bytes of all clients of `echo` together, in the worst case. Further clients
/// are refused with 503.
pub const ECHO_MEMORY_BYTES: usize = 1024 * 1024 * 1024;
/// Copies of one client's longest message in memory in the worst case: the received bytes, the
/// fragments, the compressed response, the response, and the buffer of the previous response.
pub const ECHO_COPIES: usize = 5;
/// Memory in bytes of a client of `echo` for compression: 320 KB to compress, and 60 KB to inflate.
/// It counts toward `ECHO_MEMORY_BYTES`.
pub const ECHO_COMPRESSION_BYTES: usize = 384 * 1024;
/// Maximum number of clients of `echo`, even with short messages, because `echo` is only for
/// experiments. While only one address has clients, it may use half of the slots. Further clients
/// are refused with 503.
pub const ECHO_CLIENTS: usize = 256;
/// Maximum bytes of one read by a thread of `echo`, where messages are long.
pub const ECHO_READ_BYTES: usize = 16 * 1024;
/// Minimum mean rate, in bytes per second, at which a message to `echo` must arrive: the speed of a
/// modem. A slower connection is closed with 1011, [`IDLE_TIMEOUT`] after the longest message would
/// have arrived.
pub const MIN_ECHO_BYTES_PER_SECOND: u64 = 4 * 1024;
/// Interval at which a thread of `echo` interrupts reading to check for shutdown.
pub const ECHO_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time within which a client of `echo` must receive a response: the longest one at half a megabyte
/// per second. After this time, the connection is dropped.
pub const ECHO_WRITE_TIME: Duration = Duration::from_secs(30);

// ---- net: the operator's console ------------------------------------------------------------

/// Maximum bytes of an operator command line. The longest valid line, `announce` with 60
/// characters, has less than 300. A longer line is rejected.
pub const MAX_OPERATOR_LINE_BYTES: usize = 512;
/// Maximum characters of the operator's `notice`: two lines on the title of a page. At 4 bytes each
/// they fit [`MAX_OPERATOR_LINE_BYTES`].
pub const NOTICE_CHARS: usize = 120;
/// Minimum time between two writes of best scores to the database. A crash loses at most the
/// scores since the last write.
pub const DATABASE_WRITE_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum bytes of the body of a request to `/admin`: a page of lines. A longer body is refused
/// with 413.
pub const ADMIN_BODY_BYTES: usize = 4 * 1024;
/// Maximum number of lines of one request to `/admin`, because each may wait for a tick. More lines
/// are refused with 413.
pub const MAX_ADMIN_LINES: usize = 32;
/// Maximum number of operator queries that wait for a room. A further query fails, and the operator
/// can retry.
pub const MAX_ROOM_QUERIES: usize = 64;
/// Time to wait for the result of a room query. The result arrives with the next tick unless the
/// machine is overloaded. After this time, the operator gets an error.
pub const ROOM_QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum bytes of a file to restore. A world with three players takes 25 kB, so thousands of
/// players fit. With a larger file, the server does not start.
pub const MAX_RESTORE_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum number of addresses (or IPv6 /64) that the operator can ban. Further bans are rejected.
pub const MAX_BANS: usize = 4096;

// ---- net: events for the program around the server -------------------------------------------

/// Maximum number of events that wait for the hook of `Server::on_event`: a few per player when
/// thousands join at once. Further ones are dropped, counted and logged, because a tick never waits
/// for the hook.
pub const SERVER_EVENTS: usize = 16 * 1024;
/// Time that a stopping server waits for the hook to handle the queued events. After this time, the
/// others are dropped and logged.
pub const SERVER_EVENTS_STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Minimum time between two log lines about dropped events.
pub const SERVER_EVENTS_LOG_INTERVAL: Duration = Duration::from_secs(10);

// ---- bots of a server ------------------------------------------------------------------------

/// Players of a room that is filled with bots, on the command line: enough company on one screen.
/// As many people play without bots.
pub const BOTS_DEFAULT: usize = 12;
/// Maximum number of players that a room may be filled with, because each bot of a room has
/// another name of a list. With more, the server does not start.
pub const BOTS: usize = 40;
/// Maximum number of bots of all rooms of a server, because one thread runs them. Further bots are
/// not created.
pub const SERVER_BOTS: usize = 200;
/// Interval at which the thread of the bots lets them receive and act: a bot decides about ten
/// times per second.
pub const BOTS_STEP_INTERVAL: Duration = Duration::from_millis(50);
/// Interval at which the thread of the bots compares the number of bots in each room with the
/// number of people. In each of these intervals at most one bot enters a room.
pub const BOTS_COUNT_INTERVAL: Duration = Duration::from_millis(100);
/// Time for which the thread of the bots sleeps while a room may need bots and there are none: a
/// player may leave the world without closing its connection, or after a time without one.
pub const BOTS_IDLE_INTERVAL: Duration = Duration::from_secs(1);

// ---- embedded: a server inside another program -----------------------------------------------

/// Maximum number of connections of an embedded server, including its bots. Further connections are
/// refused.
pub const EMBEDDED_CONNECTIONS: usize = 128;
/// Maximum number of worlds without a server in a browser, for tests. No further world is created.
pub const EMBEDDED_WORLDS: usize = 8;
/// Maximum number of bots of an embedded server. Each has a connection, and a browser runs them all
/// in one thread. Further bots are not created.
pub const EMBEDDED_BOTS: usize = 64;
/// Maximum number of ticks that an embedded server executes at once to catch up, after its program
/// was busy: a third of a second. Further ticks are skipped.
pub const EMBEDDED_MAX_CATCH_UP_TICKS: u32 = 10;

// ---- connection: queued bytes of a client ---------------------------------------------------

/// Maximum unsent bytes of one client. More unsent bytes close the connection with 1008
/// `slow_client`.
pub const SEND_QUEUE_BYTES: usize = 64 * 1024;
/// Time during which the kernel accepts no bytes for a client although bytes are queued. After this
/// time, the connection is closed with 1008 `slow_client`.
pub const SEND_STALL_TIME: Duration = Duration::from_secs(10);
/// Maximum number of buffers of a queue that one system call sends; a queue usually has one or two.
/// More buffers need another call.
pub const MAX_IOVECS: usize = 16;
/// Kernel send buffer of a client, in bytes. With this size, a client that reads nothing occupies
/// about 107 kB instead of 4.3 MB.
pub const SEND_BUFFER_BYTES: usize = 16 * 1024;

// ---- net: the tap ---------------------------------------------------------------------------

/// Bytes added to the payload of each item in a tap's queue. The sum is about the memory that the
/// item occupies.
pub const TAP_ITEM_BYTES: usize = 160;

// ---- room and update workers ----------------------------------------------------------------

/// Maximum number of players in a world, and so of player ids, which every dialect encodes in 16
/// bits. A further client is closed with 1013 `world_full`.
pub const PLAYERS: u16 = 20_000;
/// Maximum number of players that enter the view of one client in one update; the others follow in
/// later updates. In a crowd, all of them at once would exceed [`SEND_QUEUE_BYTES`], and a client
/// that reads promptly would be closed as slow.
pub const ENTERS_PER_UPDATE: usize = 64;
/// States with which a spectator's view compares its own after an update, per spectated player, to
/// store one of them instead. Bounds the time for views that never reach the same state; beyond it,
/// a view stays on its own.
pub const SHARED_STATE_COMPARISONS: usize = 16;
/// Most unused places in the list that stores a client's known players: 512 bytes. With more, as
/// after a crowd, the list is allocated again, with half of them. An update in which a few players
/// come and go allocates nothing.
pub const KNOWN_PLAYERS_SPARE: usize = 16;
/// Ticks with changed structures that a published state keeps, about a second of a busy world. A
/// client that missed more of them compares each structure that it knows.
pub const STRUCTURE_CHANGES_KEPT: usize = 32;
/// Time before a player id is reused. A packet about the previous player is not in flight for
/// longer.
pub const PLAYER_ID_COOLDOWN: Duration = Duration::from_secs(10);
/// Time before a player id is reused when no other is free. It exceeds [`MAX_COMMAND_LEAD_MS`], so
/// that a queued command of the previous player is not applied to the new one. At this value, 7,000
/// joins and leaves per second (measured, one address) still leave free ids.
pub const MIN_PLAYER_ID_COOLDOWN: Duration = Duration::from_secs(2);
/// Maximum number of queued player commands of all clients. 2,000 clients that send 120 messages
/// per second, each scheduled 0.1 s ahead, have at most 24,000. An address with `k` queued commands
/// may add another only while `k` is below the free capacity, so that a few addresses cannot fill
/// the inbox. Further commands are rejected and counted.
pub const INBOX_COMMANDS: usize = 48 * 1024;
/// Maximum number of operator commands in one tick, including joins and leaves. Together with
/// [`INBOX_COMMANDS`] they fit the 65,535 commands of one command frame. Further ones move to the
/// next tick, in order.
pub const OPERATOR_COMMANDS_PER_TICK: usize = 16 * 1024 - 1;
/// Maximum bytes of the events of one room that wait for an update worker: half a minute of a
/// crowded fight with 100 events per tick. Above the limit, the connections of the worker's clients
/// in that room are closed with 1013 `overloaded`, because they would miss events.
pub const MISSED_EVENT_BYTES: usize = 8 * 1024 * 1024;
/// Interval at which the program checks that the default room's thread still runs.
pub const ROOM_WATCHDOG_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum time between two visits of a client whose view is quiet: the interval of the
/// leaderboard, which such a client gets.
pub const QUIET_CLIENT_INTERVAL: Duration = Duration::from_secs(1);
/// Number of clients whose memory an update worker loads into the CPU cache together: enough that
/// most waits for memory overlap, and few enough that all of it, about 5 KiB each with the kernel's
/// sockets, is still in the cache of a core when the last one is updated.
pub const PREFETCHED_CLIENTS: usize = 16;
/// Maximum sleep of a worker without a tick, so that it still checks its clients' deadlines.
pub const WORKER_IDLE_WAKEUP: Duration = Duration::from_millis(100);
