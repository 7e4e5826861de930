//! Every bound of the server in one place: value, unit, reason, and what happens when it is reached.
//!
//! Nothing else in the server holds a bound as a bare number; the paces of bots and attackers are theirs. The compile-time checks at the end hold them against one
//! another. The world's constants (speed, radius, map) are rules of the game, not bounds of the server: they are in
//! `world::rules`.

use std::time::Duration;

// ---- ws: the request head ------------------------------------------------------------------------------------

/// Bytes of a request head, request line and headers together. A browser's is under 2 KiB. Beyond: 431.
pub const HEAD_BYTES: usize = 8 * 1024;
/// Header lines of a request head. A browser sends about 15. Beyond: 431.
pub const HEAD_HEADERS: usize = 64;
/// Bytes of the request target (path and query). Beyond: 431, since the whole head is what is too large.
pub const TARGET_BYTES: usize = 2 * 1024;
/// Subprotocols that a client may offer. We know one; beyond: 400.
pub const SUBPROTOCOLS: usize = 16;

// ---- ws: frames and messages ---------------------------------------------------------------------------------

/// Payload bytes of a control frame, RFC 6455 5.5. Beyond: close 1002.
pub const CONTROL_PAYLOAD_BYTES: usize = 125;
/// Bytes of one client message, all its fragments together. 4 KiB of MessagePack can grow to 0.6 MB of values, and no
/// packet of any dialect needs more than 200 bytes. Beyond: close 1009.
pub const MESSAGE_BYTES: usize = 4 * 1024;
/// Fragments of one client message, empty ones counted. Beyond: close 1008 with the rule's name.
pub const MESSAGE_FRAGMENTS: usize = 64;
/// Bytes that a driver may read at once since a frame says that they will come: fewer reads, and little memory for a mere word. A longer
/// frame is read in several steps.
pub const FRAME_AHEAD_BYTES: usize = 128 * 1024;
/// Bytes of a message that our own client accepts from a server: one update of a crowded screen is under 16 KiB.
pub const CLIENT_MESSAGE_BYTES: usize = 1024 * 1024;

// ---- packet: MessagePack -------------------------------------------------------------------------------------

/// Nesting of arrays and maps in a packet. The deepest packet of any dialect needs 5. Beyond: close 1007.
pub const PACKET_DEPTH: usize = 7;
/// Values in one packet, containers counted. Beyond: close 1007. Bounds the memory that small bytes can ask for.
pub const PACKET_VALUES: usize = 1024;
/// Values in one packet of a server, for our own client: an update of a crowded screen holds a few thousand.
/// Beyond: our client gives up the connection.
pub const CLIENT_PACKET_VALUES: usize = 64 * 1024;
/// Characters of client text (an unknown code, a wrong argument) that go into an error. Longer ones are cut.
pub const PACKET_EXCERPT_CHARS: usize = 24;
/// Rows of all code tables together. Beyond: the table is refused at start.
pub const TABLE_ROWS: usize = 1024;

// ---- session: what a client may say --------------------------------------------------------------------------

/// Characters of a player's name after trimming (as in the MooMoo client). Longer names are cut at a character.
pub const NAME_CHARS: usize = 15;
/// Skin colours that a player can choose from, counted from 0. Others are taken as 0.
pub const SKINS: u8 = 10;
/// Characters of a chat line. Longer lines are cut at a character.
pub const CHAT_CHARS: usize = 30;
/// Shortest time between two chat lines of one player. Lines that come sooner are dropped and counted.
pub const CHAT_INTERVAL: Duration = Duration::from_millis(500);
/// Shortest time between two pings on the map of one player: a ping is shown for about two seconds. Sooner ones are dropped and
/// counted.
pub const MAP_PING_INTERVAL: Duration = Duration::from_millis(1000);
/// Shortest time between two wishes of one player about clans: each change is told to everyone. Sooner ones are dropped and counted.
pub const CLAN_INTERVAL: Duration = Duration::from_millis(250);
/// Players who ask to join a clan that its owner is told of at once; the others follow when these were answered.
pub const CLAN_ASKS_TOLD: usize = 20;
/// Shortest time between two messages that tell a client which clans began and ended, and which clans the players in view
/// show: each player changes clans four times a second if it likes, and everyone is told. Sooner changes are told together.
pub const CLAN_NEWS_EVERY: Duration = Duration::from_millis(1000);
/// Bytes a second about clans that one client is told in the long run: sixty players who found and leave clans fill it. Beyond:
/// the changes are told later, together.
pub const CLAN_NEWS_BYTES_PER_SECOND: u32 = 1000;
/// How far beyond that rate a client is still told at once that it joined or left a clan: the longest list of members takes
/// three seconds of it.
pub const CLAN_OWN_CREDIT: Duration = Duration::from_millis(4000);
/// Messages a second that one client may send in the long run. Real MooMoo servers kick at 120. Beyond the burst:
/// close 1008.
pub const CLIENT_MESSAGES_PER_SECOND: u32 = 120;
/// Messages that one client may send at once on top of the rate.
pub const CLIENT_MESSAGES_BURST: u32 = 240;
/// Bytes a second that one client may send in the long run: 120 messages of 128 bytes, and some room. Beyond the
/// burst: close 1008.
pub const CLIENT_BYTES_PER_SECOND: u32 = 16 * 1024;
/// Bytes that one client may send at once on top of the rate.
pub const CLIENT_BYTES_BURST: u32 = 64 * 1024;
/// Part of a client's burst below which it is warned, once, that it will be closed if it goes on: the half, which is a second before at
/// twice the rate.
pub const BUDGET_WARNING: u64 = 2;
/// How far ahead of the running tick a command may be meant, in milliseconds. Later ones are taken at this bound.
pub const COMMAND_AHEAD_MS: u32 = 1000;
/// Time that a native client has for its `hello`. Beyond: close 1008.
pub const HELLO_TIME: Duration = Duration::from_secs(10);
/// How often one that has not said it is looked at, whether it is being closed.
pub const HELLO_LOOK: Duration = Duration::from_millis(500);

// ---- net: connections ----------------------------------------------------------------------------------------

/// Connections waiting to be accepted. `std` asks for 128, which makes 9,900 connects take 52 s instead of 0.8 s.
pub const LISTEN_BACKLOG: i32 = 4096;
/// Clients after the handshake, unless `--max-clients` says otherwise. An address that has some gets another only while it has fewer than
/// are free, so that there is room for addresses that have none. Beyond: 503.
pub const CLIENTS_DEFAULT: usize = 2_000;
/// Clients that one address may have, unless `--max-clients-per-address` says otherwise; as many as all clients lifts its share as well.
/// Beyond: 503. A household or a school class fits; bots take many loopback addresses (`--source`).
pub const CLIENTS_PER_ADDRESS: usize = 64;
/// Connections whose request is being read or whose page is being written, in all; at most a quarter of what the machine
/// carries. An address that has some gets another only while it has fewer than are free, less an eighth that is kept for addresses that
/// have none. Such a newcomer displaces the oldest of the address that has most when only that eighth is left. Beyond: 503 without a thread.
pub const HEADS_PENDING: usize = 1024;
/// Time that the listener waits for the end of a displaced connection when only these are in the way of a newcomer: the thread has been woken, and
/// needs a processor. Beyond: 503.
pub const DISPLACED_TIME: Duration = Duration::from_millis(500);
/// Connections whose request is being read or whose page is being written, for one address: a class of
/// forty behind one address, six connections each, loads the page at once. Beyond: 503 without a thread, or behind a trusted proxy once the
/// head has said whose it is.
pub const HEADS_PENDING_PER_ADDRESS: usize = 256;
/// Time from accept to the end of the request head, however it drips. Beyond: 408 and the end.
pub const HEAD_TIME: Duration = Duration::from_secs(5);
/// Time that a page may take to be written to its reader. Beyond: the connection is dropped.
pub const PAGE_TIME: Duration = Duration::from_secs(10);
/// Silence after which a client is pinged: proxies drop a tunnel after 60 s. Whole messages and control frames, such as the pong, end a
/// silence; bytes of an unfinished frame do not.
pub const PING_EVERY: Duration = Duration::from_secs(20);
/// Silence after which a client is given up: three pings without an answer. Then: close 1011.
pub const SILENCE: Duration = Duration::from_secs(65);
/// Time between our close frame and the end of the connection, whether the answer came or not.
pub const CLOSE_TIME: Duration = Duration::from_secs(2);
/// Time that a stop gives clients to answer the close frame, before their connections are cut.
pub const STOP_TIME: Duration = Duration::from_millis(1500);
/// Time that the threads of connections have to end after they were cut, which takes them no time on a machine that is not overloaded:
/// the rest is reported, and the exit code says it.
pub const CUT_TIME: Duration = Duration::from_secs(5);
/// How often a thread that waits for its last words to go looks whether they are gone.
pub const LAST_WORDS_LOOK: Duration = Duration::from_millis(20);
/// Time between two status lines in the log.
pub const STATUS_EVERY: Duration = Duration::from_secs(10);
/// Bytes that are still read and dropped after our last word, so that closing does not reset the connection under it. Who
/// floods sends more, and is cut.
pub const DRAIN_BYTES: usize = 256 * 1024;
/// Stack of a client thread, in bytes: bounded recursion and backtraces fit; only touched pages count.
pub const CLIENT_STACK_BYTES: usize = 256 * 1024;
/// Bytes that a client thread reads at once.
pub const READ_BYTES: usize = 4 * 1024;
/// Memory mappings that one thread costs on Linux. At the ceiling of `vm.max_map_count` a new thread aborts.
pub const MAPPINGS_PER_THREAD: usize = 4;
/// Memory mappings left for everything that is not a connection's thread: heap, libraries, the other threads.
pub const MAPPINGS_KEPT: usize = 2_048;
/// Descriptors left for everything that is not a client or a request: listener, standard streams, files, watchers.
pub const DESCRIPTORS_KEPT: usize = 64;
/// Connections that the machine has to carry at least: two requests and six clients. Below: no start.
pub const CONNECTIONS_LEAST: usize = 8;
/// Time after which a request that was refused for now may be made again, as the 503 or 429 says it, unless it is known better: an
/// unfinished request is over by then.
pub const RETRY_AFTER: Duration = Duration::from_secs(5);
/// Pause of the listener when no descriptor is left, instead of failing a million times a second.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Connections a second of one address in the long run, unless `--address-budgets off` lifts the limit: two pages of 60 files. Beyond the burst: 429
/// without a thread, or behind a trusted proxy once the head has said whose it is.
pub const ADDRESS_CONNECTIONS_PER_SECOND: u32 = 128;
/// Connections that one address may make at once: the page has 60 files and a connection for each, and a class of forty behind one
/// address that loads it at once makes 2,440.
pub const ADDRESS_CONNECTIONS_BURST: u32 = 4_096;
/// Handshakes a second that make a client, of one address in the long run, unless `--address-budgets off` lifts the limit. Beyond the
/// burst: 429.
pub const ADDRESS_CLIENTS_PER_SECOND: u32 = 4;
/// Such handshakes that one address may make at once: four times all the clients it may have, such as after restarts of the server.
pub const ADDRESS_CLIENTS_BURST: u32 = 256;
/// Joins a second of one address in the long run, unless `--address-budgets off` lifts the limit: each is told to everyone. Beyond the burst:
/// rejected, and the client goes on watching.
pub const ADDRESS_JOINS_PER_SECOND: u32 = 2;
/// Joins that one address may make at once: twice all the clients it may have.
pub const ADDRESS_JOINS_BURST: u32 = 128;
/// Clients for which one address may speak, unless `--address-budgets off` lifts the limit: chat lines, pings on the map and wishes about
/// clans of all its clients together are limited to so many times what one client may say. Beyond: rejected and counted.
pub const ADDRESS_SAYS_AS_CLIENTS: u32 = 4;
/// Addresses whose budgets are kept, at 80 bytes each; one whose budgets are full is not. Beyond: those that have spent the least are
/// forgotten, an eighth of all at once.
pub const BUDGET_ADDRESSES: usize = 16 * 1024;

// ---- net: echo -------------------------------------------------------------------------------------------------

/// Bytes of one message to `echo`, all its fragments together, unless `--max-message` says otherwise. Beyond: close 1009.
pub const ECHO_MESSAGE_BYTES: usize = 1024 * 1024;
/// Bytes that `--max-message` may allow: the longest message of the Autobahn test suite. Beyond: no start.
pub const ECHO_MESSAGE_BYTES_MOST: usize = 16 * 1024 * 1024;
/// Fragments of one message to `echo`, empty ones counted: the Autobahn test suite cuts 4 MiB into 65,536 pieces of 64 bytes and sends an empty
/// one behind them. Beyond: close 1008.
pub const ECHO_FRAGMENTS: usize = 65_536 + 1;
/// Bytes that all clients of `echo` together may come to hold. Beyond: 503 for who comes later.
pub const ECHO_MEMORY_BYTES: usize = 1024 * 1024 * 1024;
/// How often one client's longest message is in memory at worst: as it came, its fragments, the answer, and the buffer that the answer
/// was written from before.
pub const ECHO_COPIES: usize = 4;
/// Clients of `echo` at once, half of them for one address while no other has any, even if their messages are short: it is for trying out. Beyond: 503.
pub const ECHO_CLIENTS: usize = 256;
/// Bytes that a thread of `echo` reads at once: messages are long here.
pub const ECHO_READ_BYTES: usize = 16 * 1024;
/// Bytes a second at which a message to `echo` has to arrive at least, in the mean: a modem's. Slower: close 1011, [`SILENCE`] after the
/// longest message would have been there.
pub const ECHO_BYTES_PER_SECOND_LEAST: u64 = 4 * 1024;
/// How often a thread of `echo` looks up from reading, whether the server stops.
pub const ECHO_LOOK: Duration = Duration::from_millis(100);
/// Time that a client of `echo` has to take an answer: the longest one at half a megabyte a second. Beyond: the connection is dropped.
pub const ECHO_WRITE_TIME: Duration = Duration::from_secs(30);

// ---- net: the operator's console --------------------------------------------------------------------------------

/// Bytes of one line of the operator's: the longest that the world takes, `say` with 60 characters, has under 300. Beyond: refused.
pub const ORDER_BYTES: usize = 512;
/// Bytes of the body of a request to `/admin`: a page of lines. Beyond: 413.
pub const ADMIN_BODY_BYTES: usize = 4 * 1024;
/// Lines of one request to `/admin`, since each may wait for a tick. Beyond: 413.
pub const ADMIN_LINES: usize = 32;
/// Characters of the token of `/admin` at least: nobody guesses 16 at the rate that [`ADMIN_FAILURES`] allows. Below: no start.
pub const TOKEN_CHARS_LEAST: usize = 16;
/// Characters of the token of `/admin` at most: a request head has room for it. Beyond: no start.
pub const TOKEN_CHARS_MOST: usize = 256;
/// Wrong tokens of one address, or one /64 of IPv6, within [`ADMIN_FAILURE_TIME`], over all its connections. Beyond: 429, whatever the
/// token.
pub const ADMIN_FAILURES: u32 = 10;
/// Time after which the wrong tokens of an address are forgotten, from the first of them on.
pub const ADMIN_FAILURE_TIME: Duration = Duration::from_secs(60);
/// Addresses whose wrong tokens are remembered. Beyond: the one that began first is forgotten.
pub const ADMIN_FAILURE_ADDRESSES: usize = 1024;
/// Questions of the operator that wait for the world thread. Beyond: refused, to be asked again.
pub const INQUIRIES: usize = 64;
/// Time that an answer of the world thread is waited for: it comes with the next tick, unless the machine is overloaded. Beyond: it says
/// that none came.
pub const ANSWER_TIME: Duration = Duration::from_secs(5);
/// Bytes of a file to restore: a world with three players has 25 kB, so thousands have room. Beyond: no start.
pub const RESTORE_BYTES: u64 = 64 * 1024 * 1024;
/// Addresses, or /64 of IPv6, that the operator bans. Beyond: refused.
pub const BANS: usize = 4096;

// ---- capture: files for Wireshark ------------------------------------------------------------------------------

/// Payload bytes of a TCP segment that is written: with its headers it fits the 65,535 bytes of an IP packet. More is written as several.
pub const CAPTURE_SEGMENT_BYTES: usize = 60 * 1024;
/// Bytes of a snapshot in one record of a capture: readers of packets take 256 KiB at most. A larger one is several records.
pub const CAPTURE_PART_BYTES: usize = 32 * 1024;
/// Bytes that wait to be written into a capture: seconds of two hundred clients, so that a disk may pause. Beyond: lost, and counted.
pub const CAPTURE_QUEUE_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of a client's unfinished message that are kept for the next file: four times the longest message, for its headers and pings in
/// between. Beyond: the rest of the message is a hole in that file.
pub const CAPTURE_UNFINISHED_BYTES: usize = 16 * 1024;
/// Bytes that are written into a capture at once.
pub const CAPTURE_BUFFER_BYTES: usize = 256 * 1024;
/// Size of a capture file in millions of bytes, unless `--capture-file-mb` says otherwise: Wireshark opens it in a minute. Beyond: the next.
pub const CAPTURE_FILE_MB: u64 = 1_000;
/// Bytes of a capture that is read back: it is held in memory as a whole. Beyond: refused.
pub const CAPTURE_READ_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Files of one capture. Beyond: it ends.
pub const CAPTURE_FILES: u32 = 9_999;
/// Pause of the recorder between two writes, so that it writes much at once and wakes seldom; who watches live does not see it.
pub const CAPTURE_PAUSE: Duration = Duration::from_millis(10);
/// How long the recorder waits for something to write before it looks whether its file is too old.
pub const CAPTURE_LOOK: Duration = Duration::from_millis(500);
/// Time that the last bytes of a capture have to be written when it is ended. Beyond: it is said so, and nobody waits.
pub const CAPTURE_END_TIME: Duration = Duration::from_secs(1);

// ---- net: the inspector ---------------------------------------------------------------------------------------------

/// Watchers at `/wire` at once, half of them for one address: each explains every frame of a client anew. Beyond: 503.
pub const WATCHERS: usize = 8;
/// Frames that a watcher's ring keeps: over a minute of one client. Beyond: the oldest is forgotten.
pub const WIRE_FRAMES: usize = 4096;
/// Bytes of the frames that a watcher's ring keeps: about ten seconds of the most crowded screen. Beyond: the oldest are forgotten.
pub const WIRE_RING_BYTES: usize = 2 * 1024 * 1024;
/// Bytes that wait in the tap for a watcher, which is half a second of the most crowded screen. Beyond: left out, counted and shown.
pub const WIRE_TAP_BYTES: usize = 512 * 1024;
/// Bytes of one frame that a watcher puts together; no message of ours is longer than [`OUTBOX_BYTES`]. Beyond: shown as far as it has come, and
/// nothing after it of that direction.
pub const WIRE_FRAME_BYTES: usize = 128 * 1024;
/// Frames that a watcher is told of in one turn: a client at its own bound sends 240 at once. Beyond: left out, counted and shown.
pub const WIRE_FRAMES_PER_TURN: usize = 512;
/// A watcher's turn: what happened is told at most 20 times a second, and its wishes are heard at least so often.
pub const WIRE_TURN: Duration = Duration::from_millis(50);
/// Time that a wish is waited for at least, also when a turn took long: a socket takes no time at all for no bound at all.
pub const WIRE_WISH_TIME: Duration = Duration::from_millis(1);
/// Time between two lists of the clients for a watcher, if something has changed.
pub const WIRE_CLIENTS_EVERY: Duration = Duration::from_millis(500);
/// Time between two counts of bytes for a watcher.
pub const WIRE_FIELDS_EVERY: Duration = Duration::from_secs(1);
/// Clients that a watcher is shown. Beyond: those that came last.
pub const WIRE_CLIENTS: usize = 512;
/// Kinds of packets that are counted for a watcher in a second, and fields of each: the largest has under 40. Beyond: counted as `other`.
pub const WIRE_KINDS: usize = 64;
/// Time that a watcher has to take what it is told. Beyond: its connection is dropped.
pub const WIRE_WRITE_TIME: Duration = Duration::from_secs(5);

// ---- client: a connection of our own -----------------------------------------------------------------------------

/// Time that a connection may take to come about, and a server to answer the request. Beyond: the client gives up.
pub const DIAL_TIME: Duration = Duration::from_secs(10);
/// Silence after which `echo --connect` gives its server up: as long as the common proxies wait.
pub const CLIENT_SILENCE: Duration = Duration::from_secs(60);
/// Time that a server has to end the connection once both ends have closed: RFC 6455 section 7.1.1 wants it to end first. Beyond: the
/// client ends it.
pub const CLIENT_END_TIME: Duration = Duration::from_secs(5);

// ---- cli: the terminal -------------------------------------------------------------------------------------------

/// How often the console looks whether the program has the terminal to itself: in the background it must not read, or the shell
/// would halt the whole program.
pub const TERMINAL_LOOK: Duration = Duration::from_millis(300);

// ---- explain -------------------------------------------------------------------------------------------------

/// Bytes in which the first frame that makes sense is sought, where the beginning is missing: the longest frame of ours fits, and as
/// much before it. Beyond: the bytes in front at which no frame begins are given up, or half of all if the search is out of tries.
pub const EXPLAIN_SEEK_BYTES: usize = 2 * OUTBOX_BYTES;
/// Bytes of payloads that one search for such a frame decodes, for each byte that it goes over, over all dialects. What a session says looks
/// like a frame at few wrong places. Beyond: the search goes on from there when there is more.
pub const EXPLAIN_SEEK_TRIES: usize = 16;
/// Messages that a dialect has to read less than the best guess of a connection without its upgrade. Beyond: it is tried no more, so that
/// a long connection is decoded once and not once for each dialect.
pub const EXPLAIN_GUESS_BEHIND: usize = 8;

// ---- cli: explain --------------------------------------------------------------------------------------------

/// Bytes of a capture that `explain` reads: it is held in memory as a whole, with a list of its packets. Beyond: refused.
pub const EXPLAIN_BYTES: u64 = 512 * 1024 * 1024;
/// Bytes of a file or of standard input that is no capture: what people paste, or a session in hexadecimal. Its drawing is a hundred times as
/// long, which nobody reads. Beyond: refused.
pub const EXPLAIN_PASTED_BYTES: u64 = 8 * 1024 * 1024;

// ---- cli: talk -----------------------------------------------------------------------------------------------

/// Bytes of one line that is typed at `talk`: the longest message that the server takes fits, in hexadecimal with blanks, and some that
/// are too long for it. Beyond: refused.
pub const TALK_LINE_BYTES: usize = 64 * 1024;
/// Time that `expect` waits when none is said. Beyond: the script has failed.
pub const TALK_EXPECT_TIME: Duration = Duration::from_secs(5);
/// How long `talk` sleeps when nobody says anything: only to look around, since whatever happens wakes it.
pub const TALK_LOOK: Duration = Duration::from_secs(60);
/// Frames heard that a later `expect` can still be about. Beyond: the oldest is forgotten.
pub const TALK_HEARD: usize = 4096;

// ---- cli: the log --------------------------------------------------------------------------------------------

/// Lines of the log that wait to be written, at about 100 bytes each. Beyond: left out and counted, since who logs must not wait.
pub const LOG_LINES: usize = 4096;
/// Of these, lines that are kept free for warnings and errors.
pub const LOG_LINES_KEPT: usize = LOG_LINES / 4;
/// Time between two lines of one kind (one place in the code) in the long run: five kinds that come all the time have 40 lines a second,
/// which is 5 kB. Beyond the burst: left out and counted.
pub const LOG_KIND_EVERY: Duration = Duration::from_millis(125);
/// Lines of one kind that may come at once: a class of forty joins.
pub const LOG_KIND_BURST: u32 = 40;
/// Time between two summaries of what was left out of the log.
pub const LOG_SUMMARY_EVERY: Duration = Duration::from_secs(1);
/// Time that the last lines of the log have at the end of the program. A terminal that is held does not hold the end.
pub const LOG_FLUSH_TIME: Duration = Duration::from_millis(200);
/// How often the end of the program looks whether they are written.
pub const LOG_FLUSH_LOOK: Duration = Duration::from_millis(2);

// ---- net: outbox ---------------------------------------------------------------------------------------------

/// Unsent bytes kept for one client. Beyond: close 1008 `slow_client`.
pub const OUTBOX_BYTES: usize = 64 * 1024;
/// Time without any byte taken by the peer's kernel while bytes wait. Beyond: close 1008 `slow_client`.
pub const OUTBOX_GRACE: Duration = Duration::from_secs(10);
/// Kernel send buffer of a client, in bytes: a peer that reads nothing holds about 107 kB instead of 4.3 MB.
pub const SEND_BUFFER_BYTES: usize = 16 * 1024;

// ---- net: the tap ----------------------------------------------------------------------------------------------

/// What one thing in a listener's queue counts towards the queue's bound beside its bytes: about what it costs.
pub const TAP_ITEM_BYTES: usize = 160;

// ---- net: world thread and fan-out ---------------------------------------------------------------------------

/// Players in the world at once, and so player numbers: they fit the 16 bits that every dialect gives them, with room.
/// Beyond: close 1013 `full`.
pub const PLAYERS: u16 = 20_000;
/// Players that one client is introduced to in one turn; the others follow in the next turns. In a throng all of them at once
/// would not fit [`OUTBOX_BYTES`], and a client that reads well would be closed as slow.
pub const NEWCOMERS_PER_TURN: usize = 64;
/// Rest of a player number between two owners: longer than any packet about the first can be under way.
pub const PLAYER_NUMBER_REST: Duration = Duration::from_secs(10);
/// Rest of a player number when no other is left: a command of the first owner can wait for [`COMMAND_AHEAD_MS`] and must not
/// find the second. With it, joining and leaving 7,000 times a second (measured, one address) locks nobody out.
pub const PLAYER_NUMBER_REST_LEAST: Duration = Duration::from_secs(2);
/// Commands of players that wait for the world, in all: 2,000 clients that send 120 messages a second, each meant for 0.1 s later,
/// have 24,000 waiting at most. Beyond: dropped and counted. An address that has `k` commands waiting gets another only while `k` is below the
/// room that is left, so a few addresses cannot fill the inbox.
pub const INBOX_COMMANDS: usize = 48 * 1024;
/// Commands of the operator, joins and leaves among them, in one tick: with [`INBOX_COMMANDS`] they fit the 65,535 commands of one command
/// frame. Beyond: they move to the next tick, in order.
pub const OPERATOR_COMMANDS_PER_TICK: usize = 16 * 1024 - 1;
/// Commands of one player in one tick. Beyond: dropped and counted.
pub const COMMANDS_PER_PLAYER_TICK: usize = 16;
/// Published ticks that wait for a fan-out worker. Beyond: the oldest is dropped and counted.
pub const PUBLISHED_TICKS: usize = 64;
/// How often the program looks whether the world still goes on.
pub const WORLD_LOOK: Duration = Duration::from_millis(500);
/// How long a worker sleeps when no tick comes, so that it still watches over its clients.
pub const WORKER_IDLE: Duration = Duration::from_millis(100);

const _: () = {
    assert!(CONTROL_PAYLOAD_BYTES < 126, "RFC 6455 5.5: a control frame has a 7-bit length");
    assert!(TARGET_BYTES < HEAD_BYTES);
    assert!(MESSAGE_BYTES < CLIENT_BYTES_BURST as usize, "one full message must pass the byte budget");
    assert!(READ_BYTES < CLIENT_STACK_BYTES / 8);
    assert!(PING_EVERY.as_secs() <= 25, "nginx and HAProxy drop idle tunnels after 60 s: two pings must fit");
    assert!(SILENCE.as_secs() > 3 * PING_EVERY.as_secs());
    assert!(HEADS_PENDING_PER_ADDRESS < HEADS_PENDING);
    assert!(DISPLACED_TIME.as_millis() < STOP_TIME.as_millis(), "a stop joins the listener");
    assert!(
        ADDRESS_CLIENTS_BURST as usize > CLIENTS_PER_ADDRESS
            && ADDRESS_JOINS_BURST as usize > CLIENTS_PER_ADDRESS
    );
    assert!(ADDRESS_CLIENTS_BURST < ADDRESS_CONNECTIONS_BURST, "a client is a connection first");
    assert!(PLAYER_NUMBER_REST_LEAST.as_millis() > COMMAND_AHEAD_MS as u128);
    assert!(PLAYER_NUMBER_REST_LEAST.as_millis() < PLAYER_NUMBER_REST.as_millis());
    assert!(HEAD_TIME.as_secs() < HELLO_TIME.as_secs());
    assert!(ORDER_BYTES < ADMIN_BODY_BYTES);
    assert!(
        ECHO_COPIES * ECHO_MESSAGE_BYTES_MOST <= ECHO_MEMORY_BYTES,
        "there is room for one client at least"
    );
    assert!(EXPLAIN_PASTED_BYTES < EXPLAIN_BYTES);
    assert!(TALK_LINE_BYTES > 4 * MESSAGE_BYTES, "the longest message can be typed in hexadecimal");
    assert!(TOKEN_CHARS_MOST * 4 < HEAD_BYTES);
    assert!(
        MESSAGE_BYTES + 14 * MESSAGE_FRAGMENTS < CAPTURE_UNFINISHED_BYTES,
        "the longest message is kept whole"
    );
    assert!(CAPTURE_SEGMENT_BYTES + 128 < 65_535, "an IP packet has 16 bits for its length");
    assert!(OUTBOX_BYTES < WIRE_FRAME_BYTES && WIRE_FRAME_BYTES < WIRE_RING_BYTES);
    assert!(CLIENT_MESSAGES_BURST < WIRE_FRAMES_PER_TURN as u32);
};
