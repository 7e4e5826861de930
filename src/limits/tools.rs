//! Bounds on the tools: captures, the inspector, `explain` and the command line.

use std::time::Duration;

use super::SEND_QUEUE_BYTES;

// ---- capture: files for Wireshark -----------------------------------------------------------

/// Maximum payload bytes of one TCP segment in a capture. With its headers it fits the 65,535 bytes
/// of an IP packet. More bytes become several segments.
pub const CAPTURE_SEGMENT_BYTES: usize = 60 * 1024;
/// Maximum number of frames in one TCP segment in a capture, because Wireshark shows about 250
/// messages per packet. More frames become several segments.
pub const CAPTURE_SEGMENT_FRAMES: usize = 200;
/// Maximum bytes of a snapshot in one record of a capture, because packet readers accept at most
/// 256 KiB. A longer snapshot becomes several records.
pub const CAPTURE_CHUNK_BYTES: usize = 32 * 1024;
/// Maximum bytes that wait to be written to a capture: several seconds of 200 clients, to bridge a
/// pause of the disk. Further bytes are dropped and counted.
pub const CAPTURE_QUEUE_BYTES: usize = 32 * 1024 * 1024;
/// Size in bytes of the write buffer of a capture.
pub const CAPTURE_BUFFER_BYTES: usize = 256 * 1024;
/// Default of `--capture-file-mb`: the size of a capture file in millions of bytes. Wireshark opens
/// it in a minute. The capture continues in the next file.
pub const CAPTURE_FILE_MB: u64 = 1_000;
/// Maximum bytes of a capture to read. A larger file is not read.
pub const CAPTURE_READ_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Maximum bytes at the start of a capture in which `--codes FILE` searches for its tables. A file
/// without tables there is rejected.
pub const CAPTURE_TABLES_BYTES: u64 = 4 * 1024 * 1024;
/// Maximum number of files of one capture. After the last one the capture ends.
pub const CAPTURE_FILES: u32 = 9_999;
/// Pause of the recorder between two writes, for large writes and few wake-ups. It is too short to
/// notice in a live view.
pub const CAPTURE_WRITE_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum time that the recorder waits for data before it checks the age of its file.
pub const CAPTURE_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Time to write the last bytes of a capture when it ends. After this time, the server reports the
/// failure and does not wait.
pub const CAPTURE_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Minimum time between two log lines about packets of one name with wrong arguments. Packets in
/// between are counted.
pub const MISFIT_LOG_EVERY: Duration = Duration::from_secs(60);

// ---- the inspector --------------------------------------------------------------------------

/// Maximum number of inspectors at `/wire`; half of them for one address, such as a class. Each has
/// a thread and at most [`INSPECTOR_QUEUE_BYTES`] of copies. Further inspectors are refused with
/// 503.
pub const MAX_INSPECTORS: usize = 24;
/// Maximum bytes that wait in the tap for an inspector: half a second of the most crowded screen.
/// Further events are dropped, counted and reported to the inspector.
pub const INSPECTOR_QUEUE_BYTES: usize = 512 * 1024;
/// Interval of sending to an inspector: it receives updates at most 20 times per second, and its
/// requests are read at least as often.
pub const INSPECTOR_SEND_INTERVAL: Duration = Duration::from_millis(50);
/// Minimum timeout for reading an inspector's request, even after a slow send, because a socket
/// treats a timeout of zero as none.
pub const MIN_INSPECTOR_READ_TIMEOUT: Duration = Duration::from_millis(1);
/// Minimum time between two client lists for an inspector. A list is sent only if it has changed.
pub const INSPECTOR_CLIENT_LIST_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum number of clients in an inspector's list. With more clients, the list contains only the
/// most recent ones.
pub const MAX_INSPECTOR_LISTED_CLIENTS: usize = 512;
/// Maximum number of ended clients that inspectors can still select. The oldest is removed for a
/// new one.
pub const WIRE_ENDED: usize = 20;
/// Maximum number of ended clients of one address that inspectors can still select. The oldest of
/// this address is removed for a new one.
pub const WIRE_ENDED_PER_ADDRESS: usize = 10;
/// Maximum bytes stored of the most recent traffic of a client for inspectors: some hundred frames.
/// The oldest bytes are dropped.
pub const WIRE_TAIL_BYTES: usize = 64 * 1024;
/// Maximum bytes of the stored recent traffic of all connected clients together, while an inspector
/// is connected. With many clients, each stores an equal share.
pub const WIRE_TAILS_BYTES: usize = 8 * 1024 * 1024;
/// Time within which an inspector must receive sent bytes. After this time, the connection is
/// dropped.
pub const INSPECTOR_WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum bytes that an inspector may send as its own client: enough for any frame worth editing.
/// More bytes close the inspector's connection.
pub const MAX_INJECTED_BYTES: usize = 4 * 1024;
/// Maximum bytes of one message to the browser's inspector: a full tap queue, with 17 bytes around
/// each frame. A longer message is refused.
pub const INSPECTOR_MESSAGE_BYTES: usize = 8 * 1024 * 1024;
/// Maximum number of frames that the browser's inspector stores for each side of a connection: over
/// a minute of one client. The oldest frame of that side is dropped.
pub const INSPECTOR_FRAMES: usize = 4096;
/// Maximum bytes of the frames that the browser's inspector stores for each side of a connection:
/// 10 s of the most crowded screen. The oldest frames of that side are dropped.
pub const INSPECTOR_RING_BYTES: usize = 2 * 1024 * 1024;
/// Maximum number of selected clients with stored frames. The least recently selected one is
/// removed.
pub const INSPECTOR_CLIENTS: usize = 8;
/// Maximum number of clients that the inspector shows at the same time. Each may store
/// [`INSPECTOR_RING_BYTES`] for each sender. Frames of further clients are counted, not shown.
pub const INSPECTOR_MERGED_CLIENTS: usize = 32;
/// Maximum bytes of a capture that the page opens or replays, because it is held in memory. A
/// larger file is refused with a hint.
pub const INSPECTOR_FILE_BYTES: usize = 256 * 1024 * 1024;
/// Maximum number of connections of a capture in the page's menu. Further connections are counted,
/// and can be selected with the filter.
pub const INSPECTOR_FILE_CONNECTIONS: usize = 1_000;
/// Maximum number of frames of a capture that the page lists, at about 80 bytes each. Further
/// frames are omitted, and the page reports it.
pub const INSPECTOR_FILE_FRAMES: usize = 2_000_000;
/// Number of frames of a connection between two checkpoints. Explaining a frame decodes up to this
/// many frames before it.
pub const INSPECTOR_CHECKPOINT_FRAMES: usize = 256;
/// Maximum number of pings of a connection that wait for their pong. The oldest is removed.
pub const INSPECTOR_PINGS: usize = 64;
/// Maximum characters of a filter. A longer one is refused, with the position of the excess.
pub const INSPECTOR_FILTER_CHARS: usize = 500;
/// Maximum number of rows that the page gets at once, because a screen has under 100. Further rows
/// are omitted.
pub const INSPECTOR_ROWS: usize = 2000;
/// Maximum number of entries that are searched for an earlier frame. A frame further back is
/// treated as missing.
pub const INSPECTOR_SEARCH_ENTRIES: usize = 50_000;
/// Maximum number of differing fields of two frames that the page shows. Further fields are only
/// counted.
pub const INSPECTOR_CHANGES: usize = 200;
/// Maximum bytes of a frame in a link, because browsers accept a URL of 32,000 characters. A longer
/// frame is refused.
pub const INSPECTOR_LINK_BYTES: usize = 16_000;
/// Maximum number of packet names with separate byte counts, and of fields of each packet with such
/// counts. Others are counted as `other`. The built-in tables have 98 packets.
pub const INSPECTOR_PACKET_KINDS: usize = 128;

// ---- server: samples of sent frames ---------------------------------------------------------

/// Number of frames of a packet for each frame that is sampled for the byte counts by field. The
/// worker copies a sampled frame under a lock, so it samples few.
pub const FRAMES_PER_SAMPLE: u64 = 256;
/// Maximum number of samples of a packet that an update worker stores until the counts are read.
/// Newer ones then replace the oldest.
pub const FRAME_SAMPLES: usize = 4;
/// Maximum bytes of a sample: longer frames are rare, and not sampled. With [`FRAME_SAMPLES`], a
/// worker stores at most 32 KiB of each packet.
pub const FRAME_SAMPLE_BYTES: usize = 8 * 1024;

// ---- cli: the terminal ----------------------------------------------------------------------

/// Interval at which the console checks whether the program is in the terminal's foreground. A
/// background program must not read, because the shell would stop it.
pub const FOREGROUND_POLL_INTERVAL: Duration = Duration::from_millis(300);

// ---- explain --------------------------------------------------------------------------------

/// Maximum bytes searched for the first valid frame of an incomplete stream: twice the longest
/// server frame. If they contain none, the bytes before the first possible frame are skipped, or
/// half of all bytes if the search has reached its decoding limit.
pub const RESYNC_SEARCH_BYTES: usize = 2 * SEND_QUEUE_BYTES;
/// Maximum payload bytes, over all dialects, that the search for the first valid frame decodes for
/// each byte searched. In real traffic, few wrong offsets look like a frame. At the limit the
/// search stops, and continues from there when more bytes arrive.
pub const RESYNC_DECODE_FACTOR: usize = 16;
/// Number of messages by which a candidate dialect may fall behind the best one, for a connection
/// without its upgrade. At this deficit the dialect is no longer decoded, so that a long connection
/// is decoded once and not once for each dialect.
pub const DIALECT_GUESS_MAX_DEFICIT: usize = 8;
/// Maximum bytes of the head of a request or response of another protocol. A longer head is shown
/// as incomplete.
pub const EXPLAIN_HEAD_BYTES: usize = 64 * 1024;

// ---- cli: explain ---------------------------------------------------------------------------

/// Maximum bytes of a capture that `explain` reads, because the whole file is held in memory with a
/// list of its packets. A larger file is not read.
pub const EXPLAIN_BYTES: u64 = 512 * 1024 * 1024;
/// Maximum bytes of a file or of standard input that is not a capture: pasted text, or a session in
/// hexadecimal. The output is a hundred times as long. Larger input is not read.
pub const EXPLAIN_PASTED_BYTES: u64 = 8 * 1024 * 1024;
/// Maximum bytes of a HAR file that `explain` reads, because all of its JSON is held in memory,
/// with the bodies of pages and pictures. A larger file is not read.
pub const EXPLAIN_HAR_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum bytes of a compressed message that `explain` inflates, if the limit of its receiver is
/// unknown. Of a longer message, and of later messages that may refer to it, only the compressed
/// form is shown.
pub const EXPLAIN_INFLATED_BYTES: usize = 16 * 1024 * 1024;

// ---- quiz -----------------------------------------------------------------------------------

/// Maximum characters of an answer to an exercise; the longest right answer has fewer than 200. A
/// longer answer is rejected with an error.
pub const QUIZ_ANSWER_CHARS: usize = 4 * 1024;
/// Maximum bytes of a line that `quiz` reads from standard input. A longer line ends the program
/// with an error.
pub const QUIZ_LINE_BYTES: u64 = 64 * 1024;
/// Maximum bytes of a file or of standard input with answers for `quiz --check`: 10,000 answers of
/// a class. More is not read.
pub const QUIZ_CHECK_BYTES: u64 = 4 * 1024 * 1024;

// ---- cli: connect ------------------------------------------------------------------------------

/// Maximum bytes of one line typed at `connect`. The longest message that the server accepts fits,
/// in hexadecimal with spaces, and so do somewhat longer messages to test the limit. A longer line
/// is rejected.
pub const CONNECT_MAX_LINE_BYTES: usize = 64 * 1024;
/// Maximum number of lines that wait for `connect` to execute them. Further lines stay in the pipe.
pub const CONNECT_QUEUED_LINES: usize = 64;
/// Maximum number of lines in the history of `connect`. The oldest is dropped.
pub const CONNECT_HISTORY_LINES: usize = 1_000;
/// Default timeout of `expect`. After this time, the script fails.
pub const CONNECT_EXPECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time that `connect` sleeps without an event. It is only a fallback, because every event
/// wakes it.
pub const CONNECT_IDLE_WAIT: Duration = Duration::from_secs(60);
/// Maximum number of received frames that a later `expect` can match. The oldest is dropped.
pub const CONNECT_MAX_RECEIVED: usize = 4096;
/// Maximum bytes of the received messages that a later `expect` can match: the longest message of a
/// server fits. The oldest is dropped.
pub const CONNECT_RECEIVED_BYTES: usize = 16 * 1024 * 1024;
/// Maximum bytes of a file that `file` and `text-file` send, because the message is in memory
/// several times, masked and explained. A larger file is refused.
pub const CONNECT_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum characters of a message without a packet table in a line of `explain`, of `between` and
/// of a list. A longer message is cut; its tree and `--full` have all of it.
pub const FOREIGN_LINE_CHARS: usize = 200;
/// Maximum characters of a message of another protocol in one line of `connect`. A longer message
/// is cut; `--full` prints all of it.
pub const CONNECT_LINE_CHARS: usize = 2_000;

// ---- cli: the log ---------------------------------------------------------------------------

/// Maximum number of log lines that wait to be written, at about 100 bytes each. Further lines are
/// dropped and counted, because a logging thread must not wait.
pub const MAX_QUEUED_LOG_LINES: usize = 4096;
/// Number of queued log lines that are reserved for warnings and errors.
pub const LOG_LINES_RESERVED: usize = MAX_QUEUED_LOG_LINES / 4;
/// Average time between two lines of one call site. Five sites that log constantly write 40 lines,
/// or 5 kB, per second. When the burst is used up, lines are dropped and counted.
pub const LOG_SITE_INTERVAL: Duration = Duration::from_millis(125);
/// Lines of one call site that may be logged at once: a school class of 40 that joins.
pub const LOG_SITE_BURST: u32 = 40;
/// Interval of summaries of dropped log lines.
pub const LOG_SUMMARY_EVERY: Duration = Duration::from_secs(1);
/// Time to write the last log lines when the program ends. A paused terminal thus does not delay
/// the exit.
pub const LOG_FLUSH_TIME: Duration = Duration::from_millis(200);
/// Interval at which the exiting program checks whether the last log lines are written.
pub const LOG_FLUSH_POLL_INTERVAL: Duration = Duration::from_millis(2);
