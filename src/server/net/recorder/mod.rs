//! The recorder: a thread that writes the tap's traffic to a capture file.
//!
//! ```text
//!  --capture, "capture on" ─► subscription to the tap ─► thread: encoder ─► file, next file, …
//!                                                          └─► counts: status, metrics, capture
//! ```
//!
//! The recorder starts and stops on command, and writes files that Wireshark can open; see
//! PROTOCOL.md, "The capture file". Only the recorder's thread waits for a slow disk: data that
//! does not fit its queue is dropped and counted. A disk error or a closed pipe ends the capture,
//! not the server. At most one capture runs at a time, and no existing file is overwritten.

pub mod capture_encoder;
mod files;

use std::collections::BTreeSet;
use std::io;
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tracing::{info, warn};

use super::metrics::Metrics;
use super::tap::{EventKind, LostEvents, Subscription, Tap};
use crate::limits;
use crate::packet::PacketTables;
use crate::util::os::threads;
use crate::util::plural::count_noun;
use crate::util::sync::Mutex;
use capture_encoder::CaptureEncoder;
use files::CaptureOutput;
pub use files::CaptureTarget;

/// Limits at which a capture continues in a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// Maximum size of a file, in bytes.
    pub bytes: u64,
    /// Maximum age of a file; `None` for no limit.
    pub time: Option<Duration>,
}

impl Default for Rotation {
    fn default() -> Rotation {
        Rotation { bytes: limits::CAPTURE_FILE_MB * 1_000_000, time: None }
    }
}

/// The requested content of a capture.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// The only client to capture; `None` for all clients.
    pub only_client: Option<u64>,
    /// Whether to write packets only, for tools that expect one link type per file. Without records
    /// of the world, the capture cannot be replayed.
    pub is_plain: bool,
}

/// Starts and stops the capture of a server.
#[derive(Debug)]
pub struct Recorder {
    tap: Tap,
    rotation: Rotation,
    metrics: Arc<Metrics>,
    /// Start of the server's clock.
    started: Instant,
    /// Packet tables, written into each file.
    codes: Arc<PacketTables>,
    capture: Mutex<Option<ActiveCapture>>,
}

/// A started capture, possibly already ended by an error.
#[derive(Debug)]
struct ActiveCapture {
    shared: Arc<RecorderShared>,
    /// Disconnected once the thread has finished writing.
    ended: Receiver<()>,
}

/// State shared between a capture and its thread.
#[derive(Debug)]
struct RecorderShared {
    listener: Subscription,
    progress: Mutex<Progress>,
}

/// Progress of a capture over all of its files.
#[derive(Debug, Default)]
struct Progress {
    /// Name of the current file.
    name: String,
    /// Files started after the first.
    more_files: u64,
    packets: u64,
    bytes: u64,
    lost_items: u64,
    /// The error that ended the capture.
    error: Option<String>,
}

impl Progress {
    fn text(&self) -> String {
        let Progress { name, more_files, packets, bytes, lost_items: lost, error } = self;
        let ended = error.as_ref().map_or(String::new(), |error| format!("; ended: {error}"));
        let counts = format!(
            "{}, {}, messages and ticks lost: {lost}",
            count_noun(*packets, "packet"),
            count_noun(*bytes, "byte")
        );
        match more_files {
            0 => format!("{name}: {counts}{ended}"),
            more => format!("{} files, {counts}; the last is {name}{ended}", more + 1),
        }
    }
}

impl Recorder {
    /// Creates a recorder for this tap. No capture is running.
    pub fn new(
        tap: Tap,
        rotation: Rotation,
        metrics: Arc<Metrics>,
        (started, codes): (Instant, Arc<PacketTables>),
    ) -> Recorder {
        Recorder { tap, rotation, metrics, started, codes, capture: Mutex::default() }
    }

    /// Starts a capture. Returns the file's name.
    ///
    /// # Errors
    /// A capture is already running, or the file cannot be created.
    pub fn start(&self, target: CaptureTarget, wanted: Wanted) -> Result<String, String> {
        let Wanted { only_client: only, is_plain } = wanted;
        let mut capture = self.capture.lock();
        let is_on = |capture: &&ActiveCapture| capture.ended.try_recv() == Err(TryRecvError::Empty);
        if let Some(present) = capture.as_ref().filter(is_on) {
            return Err(format!("a capture is already running: {}", present.shared.progress.lock().name));
        }
        let name = target.to_string();
        let output = CaptureOutput::open(target).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => format!("{name} already exists"),
            _ => format!("{name}: {error}"),
        })?;
        let listener = self.tap.subscribe_with_world(only, limits::CAPTURE_QUEUE_BYTES);
        let progress = Progress { name: name.clone(), ..Progress::default() };
        let shared = Arc::new(RecorderShared { listener, progress: Mutex::new(progress) });
        let mut scribe = CaptureEncoder::new(epoch(self.started), Arc::clone(&self.codes));
        scribe.is_plain = is_plain;
        let writing = RecorderThread {
            tap: self.tap.clone(),
            shared: Arc::clone(&shared),
            output,
            rotation: self.rotation,
            encoder: scribe,
            started: self.started,
            metrics: Arc::clone(&self.metrics),
            last: Duration::ZERO,
        };
        let (end, ended) = mpsc::channel();
        let spawned = threads::spawn("recorder", move || writing.run(end));
        spawned.map_err(|error| format!("cannot start a thread to write {name}: {error}"))?;
        *capture = Some(ActiveCapture { shared, ended });
        info!(file = name, client = only, "capture begins");
        Ok(name)
    }

    /// Ends the capture and waits up to [`limits::CAPTURE_FLUSH_TIMEOUT`] for its last bytes.
    /// Returns a summary.
    ///
    /// # Errors
    /// No capture is running, or it cannot end because its pipe is not read.
    pub fn stop(&self) -> Result<String, String> {
        let mut capture = self.capture.lock();
        let ActiveCapture { shared, ended } = capture.as_ref().ok_or("no capture is running")?;
        shared.listener.close();
        let waited = ended.recv_timeout(limits::CAPTURE_FLUSH_TIMEOUT);
        let text = shared.progress.lock().text();
        if waited == Err(RecvTimeoutError::Timeout) {
            return Err(format!("{text}; the reader has stopped reading, so the rest cannot be written"));
        }
        *capture = None;
        Ok(text)
    }

    /// Ends a running capture when the server stops. Logs if the capture is incomplete.
    pub fn finish(&self) {
        let is_running = self.capture.lock().is_some();
        if is_running && let Err(why) = self.stop() {
            warn!("the capture is incomplete: {why}");
        }
    }

    /// Returns the progress of the capture as text.
    pub fn status(&self) -> String {
        let capture = self.capture.lock();
        let text = capture.as_ref().map(|capture| capture.shared.progress.lock().text());
        text.unwrap_or("no capture is running".to_owned())
    }
}

/// Returns the file of a capture started by an operator command, which cannot choose a path.
pub fn file_of_tick(directory: &Path, tick: u32) -> CaptureTarget {
    CaptureTarget::File(directory.join(format!("tickwire-{tick}.pcapng")))
}

/// Returns the time from 1970 to the start of the server's monotonic clock. Read once per file, so
/// that a change of the system clock does not change time differences within a file. The next file
/// uses the new time unless it is earlier.
fn epoch(started: Instant) -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().saturating_sub(started.elapsed())
}

/// The state of the recorder's thread.
struct RecorderThread {
    tap: Tap,
    shared: Arc<RecorderShared>,
    output: CaptureOutput,
    rotation: Rotation,
    encoder: CaptureEncoder,
    metrics: Arc<Metrics>,
    /// Start of the server's clock.
    started: Instant,
    /// Time of the last event.
    last: Duration,
}

impl RecorderThread {
    /// Runs the thread.
    fn run(mut self, _end: Sender<()>) {
        let written = self.write_all();
        // Without a reader the subscription's queue would only fill up.
        self.shared.listener.close();
        let is_error = written.is_err();
        let text = {
            let mut progress = self.shared.progress.lock();
            progress.error = written.err().map(|error| error.to_string());
            progress.text()
        };
        if is_error { warn!("capture ends: {text}") } else { info!("capture ends: {text}") }
    }

    fn write_all(&mut self) -> io::Result<()> {
        let (mut began, mut awaits_part) = (Duration::ZERO, true);
        // For a pipe: rooms with a world in the stream.
        let mut begun: BTreeSet<Arc<str>> = BTreeSet::new();
        loop {
            let taken = self.shared.listener.receive(limits::CAPTURE_POLL_INTERVAL);
            let mut parts = taken.parts.iter().peekable();
            for (at, event) in taken.items.iter().enumerate() {
                self.last = event.at;
                let is_part = parts.next_if_eq(&&at).is_some();
                // A pipe has no second file, and `replay` refuses records of a restarted room in
                // the same file.
                if is_part && (self.output.is_file() || !self.encoder.has_begun) {
                    self.begin_file(event.at)?;
                    (began, awaits_part) = (event.at, false);
                }
                let is_world = matches!(event.kind, EventKind::World { .. });
                if is_world && !self.output.is_file() && !begun.insert(Arc::clone(&event.room)) {
                    continue;
                }
                self.encoder.write_event(event);
                if self.encoder.writer.blocks.len() >= limits::CAPTURE_BUFFER_BYTES {
                    self.flush()?;
                }
            }
            self.record_loss(&taken.lost);
            if taken.is_closed {
                self.encoder.finish();
                return self.flush();
            }
            self.flush()?;
            let is_old = self.rotation.time.is_some_and(|time| self.last.saturating_sub(began) >= time);
            let is_large = self.output.written_bytes() >= self.rotation.bytes;
            if !awaits_part && self.output.is_file() && (is_old || is_large) {
                awaits_part = true;
                self.shared.listener.request_worlds();
            }
            thread::sleep(limits::CAPTURE_WRITE_INTERVAL);
        }
    }

    fn begin_file(&mut self, at: Duration) -> io::Result<()> {
        self.flush()?;
        if self.encoder.has_begun {
            let name = self.output.next()?;
            info!(file = name, "capture continues in the next file");
            let mut progress = self.shared.progress.lock();
            progress.name = name;
            progress.more_files += 1;
        }
        self.encoder.writer.set_epoch(epoch(self.started));
        self.encoder.begin_file(at);
        Ok(())
    }

    /// Records lost events, and writes the clients that connected or left in the gap.
    fn record_loss(&mut self, lost: &LostEvents) {
        let (messages, bytes) = (lost.missed.messages, lost.missed.bytes);
        if messages > 0 {
            warn!(messages, bytes, "the capture cannot keep up: messages are missing");
            self.encoder.write_loss(lost, &self.tap.reintroduce(&lost.opened), self.last);
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        // Updated before the write, which may fail or block.
        let lost = self.encoder.lost;
        self.metrics
            .capture_dropped
            .inc_by(lost - mem::replace(&mut self.shared.progress.lock().lost_items, lost));
        let blocks = &mut self.encoder.writer.blocks;
        if blocks.is_empty() {
            return Ok(());
        }
        self.output.write(blocks)?;
        let (packets, bytes) = (self.encoder.writer.packets, blocks.len() as u64);
        blocks.clear();
        let mut progress = self.shared.progress.lock();
        self.metrics.capture_packets.inc_by(packets - mem::replace(&mut progress.packets, packets));
        self.metrics.capture_bytes.inc_by(bytes);
        progress.bytes += bytes;
        Ok(())
    }
}
