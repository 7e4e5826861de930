//! Every bound of the server in one place: value, unit, reason, and what happens beyond it.
//!
//! ```
//! use tickwire::limits;
//!
//! // The text of a chat field: the server rejects a longer one.
//! let field = format!("<input maxlength={}>", limits::CHAT_CHARS);
//! # assert!(field.contains("maxlength=30"), "{field}");
//! ```
//!
//! No other module of the server holds a bound as a bare number; bots and attackers define their
//! own rates. The compile-time checks in `checks` compare the bounds with one another. The world's
//! constants (speed, radius, map) are rules of the game, not bounds of the server; they are in
//! `world::rules`.

mod checks;
mod client;
mod lockstep;
mod netem;
mod parsers;
mod playback;
mod prediction;
mod rooms;
mod tokens;
mod websocket;

use std::time::Duration;

pub use client::*;
pub use lockstep::*;
pub use netem::*;
pub use parsers::*;
pub use playback::*;
pub use prediction::*;
pub use rooms::*;
pub use tokens::*;
pub use websocket::*;

// ---- packet: MessagePack --------------------------------------------------------------------

/// Nesting of arrays and maps in a packet. The deepest packet needs 5. Beyond: close 1007.
pub const PACKET_DEPTH: usize = 7;
/// Values in one packet, containers included: bounds what a few bytes can claim. Beyond: close 1007.
pub const PACKET_VALUES: usize = 1024;
/// Values in one server packet, for our own client. An update of a crowded screen holds a few
/// thousand. Beyond: our client drops the connection.
pub const CLIENT_PACKET_VALUES: usize = 64 * 1024;
/// Characters of client text (an unknown code, a wrong argument) quoted in an error. Longer text is
/// cut.
pub const PACKET_EXCERPT_CHARS: usize = 24;
/// Rows of all packet tables together. Beyond: the server rejects the tables at startup.
pub const TABLE_ROWS: usize = 1024;

// ---- session: what a client may say ---------------------------------------------------------

/// Characters of a player's name after trimming (as in the MooMoo client). Longer names are cut at
/// a character boundary.
pub const NAME_CHARS: usize = 15;
/// Skin colours that a player can choose, counted from 0. Beyond: taken as 0.
pub const SKINS: u8 = 10;
/// Characters of a chat line. Longer lines are cut at a character boundary.
pub const CHAT_CHARS: usize = 30;
/// Shortest time between two chat lines of one player. Earlier lines are dropped and counted.
pub const CHAT_INTERVAL: Duration = Duration::from_millis(500);
/// Shortest time between two map pings of one player: a ping is shown for about two seconds.
/// Earlier pings are dropped and counted.
pub const MAP_PING_INTERVAL: Duration = Duration::from_millis(1000);
/// Shortest time between two clan commands of one player: each change is sent to every client.
/// Earlier commands are dropped and counted.
pub const CLAN_INTERVAL: Duration = Duration::from_millis(250);
/// Join requests that a clan's owner is shown at once. Further requests are shown as these are
/// answered.
pub const MAX_VISIBLE_CLAN_REQUESTS: usize = 20;
/// Shortest time between two messages that tell a client which clans were founded or dissolved and
/// which clans the players in view belong to. A player may change clans four times a second, and
/// every client is informed. Changes in between are sent together.
pub const CLAN_NEWS_INTERVAL: Duration = Duration::from_millis(1000);
/// Average bytes per second about clans that one client is sent: sixty players who found and
/// leave clans use all of it. Beyond: the changes are sent later, together.
pub const CLAN_NEWS_BYTES_PER_SECOND: u32 = 1000;
/// How far beyond that rate a client is still informed at once that it joined or left a clan. The
/// longest member list uses three seconds of this credit.
pub const CLAN_OWN_CREDIT: Duration = Duration::from_millis(4000);
/// Messages a second that one client may send in the long run. Real MooMoo servers kick at 120.
/// Beyond the burst: close 1008.
pub const CLIENT_MESSAGES_PER_SECOND: u32 = 120;
/// Messages that one client may send at once on top of the rate.
pub const CLIENT_MESSAGES_BURST: u32 = 240;
/// Bytes a second that one client may send in the long run: 120 messages of 128 bytes, with some
/// margin. Beyond the burst: close 1008.
pub const CLIENT_BYTES_PER_SECOND: u32 = 16 * 1024;
/// Bytes that one client may send at once on top of the rate.
pub const CLIENT_BYTES_BURST: u32 = 64 * 1024;
/// Divisor of a client's burst: with less than half the burst left, the client is warned once that
/// it may be closed. At twice the allowed rate, the warning comes a second before the close.
pub const RATE_WARNING_DIVISOR: u64 = 2;
/// How far ahead of the current tick a command may be scheduled, in milliseconds. Later commands
/// are moved to this bound.
pub const MAX_COMMAND_LEAD_MS: u32 = 1000;
/// Time that a native client has to send its `hello`. Beyond: close 1008.
pub const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

// ---- net: connections -----------------------------------------------------------------------

/// Connections waiting to be accepted. `std` requests 128, with which 9,900 simultaneous connection
/// attempts take 52 s instead of 0.8 s.
pub const LISTEN_BACKLOG: i32 = 4096;
/// Clients after the handshake, unless `--max-clients` says otherwise. An address that already has
/// clients gets another only while it has fewer than there are free places, which leaves room for
/// new addresses. Beyond: 503.
pub const CLIENTS_DEFAULT: usize = 2_000;
/// Clients of one address, unless `--max-clients-per-address` says otherwise; a value equal to all
/// clients also lifts the address's share. A household or a school class fits; bots use many
/// loopback addresses (`--source`). Beyond: 503.
pub const CLIENTS_PER_ADDRESS: usize = 64;
/// Connections whose request is being read or whose page is being written, over all addresses; at
/// most a quarter of what the machine can carry. An address that already has such connections gets
/// another only while it has fewer than there are free places, less an eighth reserved for new
/// addresses. When only that eighth is left, a connection from a new address displaces the oldest
/// one of the address that has the most. Beyond: 503 without a thread.
pub const MAX_PENDING_REQUESTS: usize = 1024;
/// Time that the listener waits for a displaced connection to end when only displaced connections
/// keep a new one out: the thread has been woken, and needs a processor. Beyond: 503.
pub const DISPLACED_WAIT: Duration = Duration::from_millis(500);
/// Connections of one address whose request is being read or whose page is being written: a class
/// of forty behind one address loads the page at once, with six connections each. Beyond: 503
/// without a thread, or behind a trusted proxy once the head has named the client's address.
pub const MAX_PENDING_REQUESTS_PER_ADDRESS: usize = 256;
/// Time from accept to the end of the request head, however slowly it arrives. Beyond: 408, or
/// nothing if no byte arrived, and the connection is closed.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Time that writing a page may take. Beyond: the connection is dropped.
pub const PAGE_WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Silence after which a client is pinged: proxies drop a tunnel after 60 s. Whole messages and
/// control frames, such as the pong, end a silence; bytes of an unfinished frame do not.
pub const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Silence after which a client counts as gone: three unanswered pings. Beyond: close 1011.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(65);
/// Shortest pause of the server after which rate limits and deadlines allow for the pause. A worker looks
/// after each client at least every [`WORKER_IDLE_WAKEUP`]. Shorter: the bursts of the rate limits cover it.
pub const PAUSE_LEAST: Duration = Duration::from_secs(1);
/// Time after a pause in which rate limits and deadlines allow for it: until every thread has read what has
/// waited in its socket, and clients have sent again what was lost. Later: the limits apply as usual.
pub const PAUSE_SLACK_TIME: Duration = Duration::from_secs(10);
/// Longest pause that rate limits and deadlines allow for: a page gives up a silent server before. Longer:
/// counts as this long.
pub const PAUSE_SLACK_MOST: Duration = Duration::from_secs(60);
/// Time between our close frame and the end of the connection, whether or not the peer answered.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Time that shutdown gives clients to answer the close frame. Beyond: their connections are cut.
pub const SHUTDOWN_CLOSE_TIMEOUT: Duration = Duration::from_millis(1500);
/// Time that connection threads have to end after their connections were cut, which is immediate
/// unless the machine is overloaded. Beyond: shutdown reports the remaining threads, also in the
/// exit code.
pub const SHUTDOWN_JOIN_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a thread that is flushing its final frames checks whether they have been sent.
pub const FLUSH_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Time between two status lines in the log.
pub const STATUS_LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Bytes still read and dropped after our final frame, so that closing does not reset the
/// connection before the peer has read that frame. Beyond (a flooding client): the connection is
/// cut.
pub const MAX_DRAIN_BYTES: usize = 256 * 1024;
/// Stack of a client thread, in bytes: backtraces fit; only touched pages cost memory.
pub const CLIENT_STACK_BYTES: usize = 256 * 1024;
/// Bytes that a client thread reads at once.
pub const READ_BYTES: usize = 4 * 1024;
/// Memory mappings that one thread costs on Linux. Beyond `vm.max_map_count`, a new thread aborts.
pub const MAPPINGS_PER_THREAD: usize = 4;
/// Memory mappings reserved for everything but connection threads: heap, libraries, other threads.
pub const RESERVED_MAPPINGS: usize = 2_048;
/// Descriptors reserved for everything but clients and requests: listener, standard streams, files,
/// watchers.
pub const RESERVED_DESCRIPTORS: usize = 64;
/// Connections that the machine must be able to carry: two requests and six clients. Below: the
/// server does not start.
pub const MIN_CONNECTIONS: usize = 8;
/// Errors of `accept` in a row that a listener retries at once: more than one error of single
/// connections (ECONNABORTED), and too few to cost anything.
pub const ACCEPT_ERRORS: u32 = 8;
/// Pause of a listener before each further retry, such as while no descriptor is left; without it,
/// accept would fail a million times a second.
pub const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Connections a second of one address in the long run, unless `--address-budgets off` lifts the
/// limit: more than one page of 99 connections. Beyond the burst: 429 without a thread, or, with a
/// trusted proxy, once the head has named the client's address.
pub const ADDRESS_CONNECTIONS_PER_SECOND: u32 = 128;
/// Connections that one address may make at once. The page makes 98 requests, with one connection
/// each, and a WebSocket: a class of forty that loads it at once from one address makes 3,960.
pub const ADDRESS_CONNECTIONS_BURST: u32 = 4_096;
/// Client handshakes a second of one address in the long run, unless `--address-budgets off` lifts
/// the limit. Beyond the burst: 429.
pub const ADDRESS_CLIENTS_PER_SECOND: u32 = 4;
/// Client handshakes that one address may make at once: four times its maximum number of clients,
/// for instance after restarts of the server.
pub const ADDRESS_CLIENTS_BURST: u32 = 256;
/// Joins a second of one address in the long run, unless `--address-budgets off` lifts the limit:
/// each join is sent to every client. Beyond the burst: the join is rejected, and the client stays
/// a watcher.
pub const ADDRESS_JOINS_PER_SECOND: u32 = 2;
/// Joins that one address may make at once: twice its maximum number of clients.
pub const ADDRESS_JOINS_BURST: u32 = 128;
/// Rate limit of one address, as a multiple of one client's, for the chat lines, map pings and clan
/// commands of all its clients together, unless `--address-budgets off` lifts it. Beyond: rejected
/// and counted.
pub const ADDRESS_ACTION_RATE_FACTOR: u32 = 4;
/// Addresses whose budgets are kept, at about 140 bytes each; full budgets are not kept. Beyond: an eighth
/// of all are forgotten at once, those that have spent the least first.
pub const MAX_TRACKED_ADDRESSES: usize = 16 * 1024;

// ---- net: echo ------------------------------------------------------------------------------

/// Bytes of one message to `echo`, all its fragments together, unless `--max-message` says
/// otherwise. Beyond: close 1009.
pub const ECHO_MESSAGE_BYTES: usize = 1024 * 1024;
/// Largest value of `--max-message`, in bytes: the longest message of the Autobahn test suite.
/// Beyond: `echo` does not start.
pub const MAX_ECHO_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Fragments of one message to `echo`, empty ones included: the Autobahn test suite cuts 4 MiB into
/// 65,536 pieces of 64 bytes and appends an empty one. Beyond: close 1008.
pub const ECHO_FRAGMENTS: usize = 65_536 + 1;
/// Bytes that all clients of `echo` together can come to hold. Beyond: further clients get 503.
pub const ECHO_MEMORY_BYTES: usize = 1024 * 1024 * 1024;
/// Copies of one client's longest message in memory in the worst case: the received bytes, the
/// fragments, the answer, and the buffer from which the previous answer was written.
pub const ECHO_COPIES: usize = 4;
/// Clients of `echo` at once, even with short messages: `echo` is for trying out. While only one
/// address has clients, it may have half of them. Beyond: 503.
pub const ECHO_CLIENTS: usize = 256;
/// Bytes that a thread of `echo` reads at once: messages are long here.
pub const ECHO_READ_BYTES: usize = 16 * 1024;
/// Lowest mean rate, in bytes a second, at which a message to `echo` must arrive: that of a modem.
/// Slower: close 1011, [`IDLE_TIMEOUT`] after the longest message would have arrived.
pub const MIN_ECHO_BYTES_PER_SECOND: u64 = 4 * 1024;
/// How often a thread of `echo` pauses reading to check for shutdown.
pub const ECHO_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time that a client of `echo` has to receive an answer: the longest one at half a megabyte a
/// second. Beyond: the connection is dropped.
pub const ECHO_WRITE_TIME: Duration = Duration::from_secs(30);

// ---- net: the operator's console ------------------------------------------------------------

/// Bytes of one line of the operator. The longest line that the world accepts, `say` with 60
/// characters, has under 300. Beyond: the command is rejected.
pub const MAX_OPERATOR_LINE_BYTES: usize = 512;
/// Bytes of the body of a request to `/admin`: a page of lines. Beyond: 413.
pub const ADMIN_BODY_BYTES: usize = 4 * 1024;
/// Lines of one request to `/admin`, because each may wait for a tick. Beyond: 413.
pub const MAX_ADMIN_LINES: usize = 32;
/// Questions of the operator that wait for a room. Beyond: the operator gets an error, and may ask
/// again.
pub const MAX_ROOM_QUERIES: usize = 64;
/// Time to wait for a room's answer, which comes with the next tick unless the machine is
/// overloaded. Beyond: the operator gets an error.
pub const ROOM_QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of a file to restore: a world with three players takes 25 kB, so thousands of players fit.
/// Beyond: the server does not start.
pub const MAX_RESTORE_BYTES: u64 = 64 * 1024 * 1024;
/// Addresses, or /64 of IPv6, that the operator bans. Beyond: the command is rejected.
pub const MAX_BANS: usize = 4096;

// ---- capture: files for Wireshark -----------------------------------------------------------

/// Payload bytes of one TCP segment in a capture: with its headers it fits the 65,535 bytes of an
/// IP packet. Beyond: several segments.
pub const CAPTURE_SEGMENT_BYTES: usize = 60 * 1024;
/// Frames of one TCP segment in a capture: Wireshark shows about 250 messages of a packet. Beyond: several segments.
pub const CAPTURE_SEGMENT_FRAMES: usize = 200;
/// Bytes of a snapshot in one record of a capture: packet readers accept 256 KiB at most. Beyond:
/// several records.
pub const CAPTURE_CHUNK_BYTES: usize = 32 * 1024;
/// Bytes that wait to be written to a capture: several seconds of two hundred clients, to bridge a
/// pause of the disk. Beyond: lost, and counted.
pub const CAPTURE_QUEUE_BYTES: usize = 32 * 1024 * 1024;
/// Bytes written to a capture at once.
pub const CAPTURE_BUFFER_BYTES: usize = 256 * 1024;
/// Size of a capture file in millions of bytes, unless `--capture-file-mb` says otherwise:
/// Wireshark opens it in a minute. Beyond: the next file.
pub const CAPTURE_FILE_MB: u64 = 1_000;
/// Bytes of a capture that is read back: the whole file is held in memory. Beyond: the file is not
/// read.
pub const CAPTURE_READ_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Bytes of a capture in which `--codes FILE` looks for its tables, which begin it. Beyond: rejected.
pub const CAPTURE_TABLES_BYTES: u64 = 4 * 1024 * 1024;
/// Files of one capture. Beyond: the capture ends.
pub const CAPTURE_FILES: u32 = 9_999;
/// Pause of the recorder between two writes, for large writes and few wake-ups; too short to notice
/// in a live view.
pub const CAPTURE_WRITE_INTERVAL: Duration = Duration::from_millis(10);
/// How long the recorder waits for data before it checks the age of its file.
pub const CAPTURE_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Time that the last bytes of a capture have to be written when it ends. Beyond: the server
/// reports it and does not wait.
pub const CAPTURE_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Time between two log lines about packets of one name that do not fit their table. Beyond: counted.
pub const MISFIT_LOG_EVERY: Duration = Duration::from_secs(60);

// ---- the inspector --------------------------------------------------------------------------

/// Watchers of `/wire` at once, half of them for one address: a class at one address. Each has a
/// thread and at most [`INSPECTOR_QUEUE_BYTES`] of copies. Beyond: 503.
pub const MAX_INSPECTORS: usize = 24;
/// Bytes that wait in the tap for a watcher: half a second of the most crowded screen. Beyond:
/// omitted, counted and reported to the watcher.
pub const INSPECTOR_QUEUE_BYTES: usize = 512 * 1024;
/// A watcher's turn: it is sent updates at most 20 times a second, and its requests are read at
/// least that often.
pub const INSPECTOR_SEND_INTERVAL: Duration = Duration::from_millis(50);
/// Shortest wait for a watcher's request, even after a long turn: a socket reads a timeout of zero
/// as no timeout.
pub const MIN_INSPECTOR_READ_TIMEOUT: Duration = Duration::from_millis(1);
/// Time between two client lists for a watcher, if the list has changed.
pub const INSPECTOR_CLIENT_LIST_INTERVAL: Duration = Duration::from_millis(500);
/// Clients in a watcher's list. Beyond: only the most recent ones.
pub const MAX_INSPECTOR_LISTED_CLIENTS: usize = 512;
/// Ended clients that watchers can still inspect. Beyond: the oldest goes.
pub const WIRE_ENDED: usize = 20;
/// Ended clients of one address among them. Beyond: the oldest of this address goes.
pub const WIRE_ENDED_PER_ADDRESS: usize = 10;
/// Last bytes of a client that are kept for watchers, some hundred frames. Beyond: the oldest are dropped.
pub const WIRE_TAIL_BYTES: usize = 64 * 1024;
/// Those bytes of all connected clients, while a watcher is connected. Beyond: each client keeps its share.
pub const WIRE_TAILS_BYTES: usize = 8 * 1024 * 1024;
/// Time that a watcher has to receive what it is sent. Beyond: its connection is dropped.
pub const INSPECTOR_WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes that a watcher may send as its own client: any frame worth editing. Beyond: it is closed.
pub const MAX_INJECTED_BYTES: usize = 4 * 1024;
/// Bytes of one message to the inspector: a full tap, with 17 bytes around each frame. Beyond: refused.
pub const INSPECTOR_MESSAGE_BYTES: usize = 8 * 1024 * 1024;
/// Frames that the inspector keeps of each side of a connection: over a minute of one client. Beyond: the
/// oldest of that side is dropped.
pub const INSPECTOR_FRAMES: usize = 4096;
/// Bytes of these frames, on each side: ten seconds of the most crowded screen. Beyond: the oldest of that
/// side are dropped.
pub const INSPECTOR_RING_BYTES: usize = 2 * 1024 * 1024;
/// Watched clients whose frames the inspector keeps. Beyond: the one watched longest ago is forgotten.
pub const INSPECTOR_CLIENTS: usize = 8;
/// Bytes of a capture that the page opens or replays, held in memory. Beyond: refused, with a hint.
pub const INSPECTOR_FILE_BYTES: usize = 256 * 1024 * 1024;
/// Connections of a capture that the page's menu is given. Beyond: counted, and reached by the filter.
pub const INSPECTOR_FILE_CONNECTIONS: usize = 1_000;
/// Frames of a capture that the page lists, at about 80 bytes each. Beyond: left out, as it says.
pub const INSPECTOR_FILE_FRAMES: usize = 2_000_000;
/// Frames of a connection between two checkpoints: so many are read again before one is explained.
pub const INSPECTOR_CHECKPOINT_FRAMES: usize = 256;
/// Pings of a connection that wait for their pong. Beyond: the oldest is forgotten.
pub const INSPECTOR_PINGS: usize = 64;
/// Characters of a filter. Beyond: refused, with the place.
pub const INSPECTOR_FILTER_CHARS: usize = 500;
/// Lines that the page gets at once: a screen has under a hundred. Beyond: left out.
pub const INSPECTOR_ROWS: usize = 2000;
/// Entries that are searched for an earlier frame. Beyond: taken as not there.
pub const INSPECTOR_SEARCH_ENTRIES: usize = 50_000;
/// Fields that differ between two frames, as the page shows them. Beyond: counted only.
pub const INSPECTOR_CHANGES: usize = 200;
/// Bytes of a frame in a link: browsers accept an address of 32,000 characters. Beyond: refused.
pub const INSPECTOR_LINK_BYTES: usize = 16_000;
/// Kinds of packets that are counted in a second, and fields of each. Beyond: counted as `other`.
pub const INSPECTOR_PACKET_KINDS: usize = 64;

// ---- embedded: a server inside another program -----------------------------------------------

/// Connections of an embedded server, those of its bots included. Beyond: a connection is refused.
pub const EMBEDDED_CONNECTIONS: usize = 128;
/// Worlds without a server in a browser, for tests. Beyond: no world is made.
pub const EMBEDDED_WORLDS: usize = 8;
/// Bots of an embedded server: each has a connection, and a browser must run them all in one thread.
/// Beyond: fewer are made.
pub const EMBEDDED_BOTS: usize = 64;
/// Ticks that an embedded server makes up for at once after its program was busy: a third of a
/// second. Beyond: the ticks are skipped.
pub const EMBEDDED_MAX_CATCH_UP_TICKS: u32 = 10;

// ---- cli: the terminal ----------------------------------------------------------------------

/// How often the console checks whether the program is in the terminal's foreground: a background
/// program must not read, or the shell would stop it.
pub const FOREGROUND_POLL_INTERVAL: Duration = Duration::from_millis(300);

// ---- explain --------------------------------------------------------------------------------

/// Bytes searched for the first valid frame where the beginning is missing: our longest frame fits,
/// with as much before it. Beyond: the bytes before the first possible frame are given up, or half
/// of all if the search is out of tries.
pub const RESYNC_SEARCH_BYTES: usize = 2 * SEND_QUEUE_BYTES;
/// Payload bytes that one such search decodes, for each byte searched, over all dialects. A
/// session's bytes look like a frame at few wrong places. Beyond: the search continues from there
/// when there is more.
pub const RESYNC_DECODE_FACTOR: usize = 16;
/// How many messages fewer than the best guess a dialect may have read, for a connection without
/// its upgrade. Beyond: that dialect is dropped, so that a long connection is decoded once and not
/// once for each dialect.
pub const DIALECT_GUESS_MAX_DEFICIT: usize = 8;
/// Bytes of the head of a request or response of another protocol. Beyond: the bytes are shown as an incomplete head.
pub const EXPLAIN_HEAD_BYTES: usize = 64 * 1024;

// ---- cli: explain ---------------------------------------------------------------------------

/// Bytes of a capture that `explain` reads: it is held in memory as a whole, with a list of its
/// packets. Beyond: the file is not read.
pub const EXPLAIN_BYTES: u64 = 512 * 1024 * 1024;
/// Bytes of a file or of standard input that is not a capture: pasted text, or a session in
/// hexadecimal. Its drawing is a hundred times as long, which nobody reads. Beyond: the input is
/// not read.
pub const EXPLAIN_PASTED_BYTES: u64 = 8 * 1024 * 1024;

// ---- cli: talk ------------------------------------------------------------------------------

/// Bytes of one line typed at `talk`: the longest message that the server accepts fits, in
/// hexadecimal with spaces, and somewhat longer ones to try the limit. Beyond: the line is
/// rejected.
pub const CONNECT_MAX_LINE_BYTES: usize = 64 * 1024;
/// Time that `expect` waits by default. Beyond: the script fails.
pub const CONNECT_EXPECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long `talk` sleeps without an event. It is only a fallback: every event wakes it.
pub const CONNECT_IDLE_WAIT: Duration = Duration::from_secs(60);
/// Received frames that a later `expect` can match. Beyond: the oldest is dropped.
pub const CONNECT_MAX_RECEIVED: usize = 4096;

// ---- cli: the log ---------------------------------------------------------------------------

/// Log lines that wait to be written, at about 100 bytes each. Beyond: left out and counted,
/// because a logging thread must not wait.
pub const MAX_QUEUED_LOG_LINES: usize = 4096;
/// Of these, lines reserved for warnings and errors.
pub const LOG_LINES_RESERVED: usize = MAX_QUEUED_LOG_LINES / 4;
/// Time between two lines of one kind (one place in the code) in the long run: five kinds that log
/// constantly make 40 lines a second, which is 5 kB. Beyond the burst: left out and counted.
pub const LOG_SITE_INTERVAL: Duration = Duration::from_millis(125);
/// Lines of one kind that may come at once: a class of forty joins.
pub const LOG_SITE_BURST: u32 = 40;
/// Time between two summaries of the lines left out of the log.
pub const LOG_SUMMARY_EVERY: Duration = Duration::from_secs(1);
/// Time that the last log lines have to be written when the program ends. A paused terminal does
/// not delay the exit.
pub const LOG_FLUSH_TIME: Duration = Duration::from_millis(200);
/// How often the exiting program checks whether they are written.
pub const LOG_FLUSH_POLL_INTERVAL: Duration = Duration::from_millis(2);

// ---- peer: what waits for a client ----------------------------------------------------------

/// Unsent bytes kept for one client. Beyond: close 1008 `slow_client`.
pub const SEND_QUEUE_BYTES: usize = 64 * 1024;
/// Time in which the peer's kernel accepts no byte although bytes wait. Beyond: close 1008
/// `slow_client`.
pub const SEND_STALL_TIME: Duration = Duration::from_secs(10);
/// Pieces of a queue that one system call sends; a queue usually has one or two. Beyond: another
/// call.
pub const MAX_IOVECS: usize = 16;
/// Kernel send buffer of a client, in bytes: a peer that reads nothing holds about 107 kB instead
/// of 4.3 MB.
pub const SEND_BUFFER_BYTES: usize = 16 * 1024;

// ---- net: the tap ---------------------------------------------------------------------------

/// Bytes that each item of a tap's queue counts towards its bound besides its payload: about its
/// actual cost.
pub const TAP_ITEM_BYTES: usize = 160;

// ---- room and fan-out -----------------------------------------------------------------------

/// Players in the world at once, and so player numbers: they fit the 16 bits that every dialect
/// gives them, with room to spare. Beyond: close 1013 `full`.
pub const PLAYERS: u16 = 20_000;
/// Players introduced to one client in one turn; the others follow in the next turns. In a crowd,
/// all of them at once would not fit [`SEND_QUEUE_BYTES`], and a client that reads promptly would be
/// closed as slow.
pub const ENTERS_PER_UPDATE: usize = 64;
/// Time before a player number is reused: longer than any packet about its first owner can be in
/// flight.
pub const PLAYER_ID_COOLDOWN: Duration = Duration::from_secs(10);
/// Time before a player number is reused when no other is left: a command of the first owner can
/// wait for [`MAX_COMMAND_LEAD_MS`] and must not reach the second. At this value, 7,000 joins and
/// leaves a second (measured, one address) lock nobody out.
pub const MIN_PLAYER_ID_COOLDOWN: Duration = Duration::from_secs(2);
/// Player commands that wait for the world, over all clients: 2,000 clients that send 120 messages
/// a second, each scheduled 0.1 s ahead, have at most 24,000 waiting. An address with `k` waiting
/// commands gets another only while `k` is below the room left, so that a few addresses cannot fill
/// the inbox. Beyond: rejected and counted.
pub const INBOX_COMMANDS: usize = 48 * 1024;
/// Operator commands, joins and leaves among them, in one tick: together with [`INBOX_COMMANDS`]
/// they fit the 65,535 commands of one command frame. Beyond: moved to the next tick, in order.
pub const OPERATOR_COMMANDS_PER_TICK: usize = 16 * 1024 - 1;
/// Bytes of the events of one room that wait for a fan-out worker: half a minute of a crowded fight,
/// with 100 events a tick. Beyond: the worker's clients in that room are closed with 1013
/// `overloaded`, because they would miss events.
pub const MISSED_EVENT_BYTES: usize = 8 * 1024 * 1024;
/// How often the program checks that the default room's thread is still running.
pub const ROOM_WATCHDOG_INTERVAL: Duration = Duration::from_millis(500);
/// How long a worker sleeps when no tick comes, so that it still checks its clients' deadlines.
pub const WORKER_IDLE_WAKEUP: Duration = Duration::from_millis(100);
