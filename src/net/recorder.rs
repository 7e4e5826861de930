//! The recorder: a thread that writes the tap's traffic to a capture file.
//!
//! ```text
//!  --capture, "capture on" ─► listener of the tap ─► thread: scribe ─► file, and the next one when it is full
//!                                                          └─► packets, bytes, what was lost: status, metrics, the file itself
//! ```
//!
//! The recorder starts and stops on command, and writes files that Wireshark can open; see
//! PROTOCOL.md, "The capture file". Only its thread waits for a slow disk: data that does not fit
//! its queue is lost and counted. A disk error or a closed pipe ends the capture, not the server.
//! There is never more than one capture at a time, and no existing file is overwritten.

mod files;
mod scribe;

use std::io;
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use prometheus_client::metrics::counter::Counter;
use tracing::{info, warn};

use super::tap::{Listener, Lost, Tap, What};
use crate::limits;
use crate::sync::Mutex;
use files::Output;
pub use files::Target;
use scribe::Scribe;

/// When a file is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// At this many bytes.
    pub bytes: u64,
    /// After this time, if set.
    pub time: Option<Duration>,
}

impl Default for Rotation {
    fn default() -> Rotation {
        Rotation { bytes: limits::CAPTURE_FILE_MB * 1_000_000, time: None }
    }
}

/// See the [module](self).
#[derive(Debug)]
pub struct Recorder {
    tap: Tap,
    rotation: Rotation,
    counts: Counts,
    /// When the server's clock began.
    started: Instant,
    running: Mutex<Option<Running>>,
}

/// A capture that was started, even if it has since ended by itself.
#[derive(Debug)]
struct Running {
    listener: Arc<Listener>,
    progress: Arc<Progress>,
    ended: Receiver<()>,
}

/// The progress of a capture.
#[derive(Debug, Default)]
struct Progress {
    name: Mutex<String>,
    /// Its thread has nothing more to write.
    is_over: AtomicBool,
    /// Why it ended by itself.
    error: Mutex<Option<String>>,
    /// Files that were begun after the first. What follows counts all of them.
    more_files: AtomicU64,
    packets: AtomicU64,
    bytes: AtomicU64,
    lost: AtomicU64,
}

impl Progress {
    fn text(&self) -> String {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (name, error) = (self.name.lock().clone(), self.error.lock().clone());
        let ended = error.map_or(String::new(), |error| format!("; ended: {error}"));
        let (packets, bytes, lost) = (of(&self.packets), of(&self.bytes), of(&self.lost));
        match of(&self.more_files) {
            0 => format!("{name}: {packets} packets, {bytes} bytes, {lost} lost{ended}"),
            more => {
                let files = more + 1;
                format!(
                    "{files} files, {packets} packets, {bytes} bytes, {lost} lost; the last is {name}{ended}"
                )
            }
        }
    }
}

impl Recorder {
    /// A recorder of what this tap sees, with no capture running.
    pub fn new(tap: Tap, rotation: Rotation, counts: Counts, started: Instant) -> Recorder {
        Recorder { tap, rotation, counts, started, running: Mutex::default() }
    }

    /// Starts a capture of one client or of all. Returns the file's name.
    ///
    /// # Errors
    /// A capture is already running, or the file cannot be created.
    pub fn start(&self, target: Target, only: Option<u64>) -> Result<String, String> {
        let mut running = self.running.lock();
        if let Some(present) = running.as_ref().filter(|present| present.is_on()) {
            return Err(format!("a capture is already running: {}", present.progress.name.lock()));
        }
        let named = match &target {
            Target::File(path) => path.display().to_string(),
            Target::Stdout => "standard output".to_owned(),
        };
        let output = Output::open(target).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => format!("{named} already exists"),
            _ => format!("{named}: {error}"),
        })?;
        let name = output.name();
        let progress = Arc::new(Progress::default());
        name.clone_into(&mut progress.name.lock());
        let listener = self.tap.listen_with_world(only, limits::CAPTURE_QUEUE_BYTES);
        let (end, ended) = mpsc::channel();
        let writing = Writing {
            tap: self.tap.clone(),
            listener: Arc::clone(&listener),
            progress: Arc::clone(&progress),
            output,
            rotation: self.rotation,
            scribe: Scribe::new(epoch_ns(self.started)),
            counts: self.counts.clone(),
            last: Duration::ZERO,
        };
        let spawned = thread::Builder::new().name("recorder".to_owned()).spawn(move || writing.run(end));
        spawned.map_err(|error| format!("cannot start a thread to write {named}: {error}"))?;
        *running = Some(Running { listener, progress, ended });
        info!(file = name, client = only, "capture begins");
        Ok(name)
    }

    /// Ends the capture, and waits briefly for its last bytes. Returns a summary.
    ///
    /// # Errors
    /// No capture is running, or it cannot end because nothing reads the pipe that it writes to.
    pub fn stop(&self) -> Result<String, String> {
        let mut running = self.running.lock();
        let present = running.as_ref().ok_or("no capture is running")?;
        present.listener.close();
        if present.ended.recv_timeout(limits::CAPTURE_END_TIME) == Err(RecvTimeoutError::Timeout) {
            return Err(format!(
                "{}; the reader has stopped reading, so the rest cannot be written",
                present.progress.text()
            ));
        }
        let text = present.progress.text();
        *running = None;
        Ok(text)
    }

    /// The progress of the capture.
    pub fn status(&self) -> String {
        self.running
            .lock()
            .as_ref()
            .map_or("no capture is running".to_owned(), |running| running.progress.text())
    }
}

impl Running {
    fn is_on(&self) -> bool {
        !self.progress.is_over.load(Ordering::Acquire)
    }
}

/// The file of a capture that an operator command starts: the command cannot choose a path.
pub fn file_of_tick(folder: &Path, tick: u32) -> Target {
    Target::File(folder.join(format!("tickwire-{tick}.pcapng")))
}

/// Nanoseconds from 1970 to the start of the server's clock. Read once per capture, so that changes
/// to the machine's clock do not affect the packets of one capture.
fn epoch_ns(started: Instant) -> u64 {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(now.saturating_sub(started.elapsed()).as_nanos()).unwrap_or_default()
}

/// Counters of captures, for the metrics.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Packets written.
    pub packets: Counter,
    /// Bytes written.
    pub bytes: Counter,
    /// Events that were not written.
    pub lost: Counter,
}

/// What the thread holds.
struct Writing {
    tap: Tap,
    listener: Arc<Listener>,
    progress: Arc<Progress>,
    output: Output,
    rotation: Rotation,
    scribe: Scribe,
    counts: Counts,
    /// When something was last seen.
    last: Duration,
}

impl Writing {
    /// The thread's life.
    fn run(mut self, _end: Sender<()>) {
        let written = self.write_all();
        // A listener that nobody takes from would fill up.
        self.listener.close();
        match written {
            Ok(()) => info!("capture ends: {}", self.progress.text()),
            Err(error) => {
                *self.progress.error.lock() = Some(error.to_string());
                warn!("capture ends: {}", self.progress.text());
            }
        }
        self.progress.is_over.store(true, Ordering::Release);
    }

    fn write_all(&mut self) -> io::Result<()> {
        let (mut buffer, mut began, mut is_full) = (Vec::new(), Duration::ZERO, false);
        let (mut is_first, mut is_front) = (true, false);
        loop {
            let taken = self.listener.take(limits::CAPTURE_LOOK);
            for seen in &taken.items {
                self.last = seen.at;
                // The worlds of all rooms come together, and the first of them begins a file.
                let was_front = mem::replace(&mut is_front, matches!(seen.what, What::World { .. }));
                if is_front && !was_front {
                    self.flush(&mut buffer)?;
                    if !is_first {
                        self.output.next()?;
                        self.output.name().clone_into(&mut self.progress.name.lock());
                        self.progress.more_files.fetch_add(1, Ordering::Relaxed);
                        info!(file = self.output.name(), "capture continues in the next file");
                    }
                    (began, is_first, is_full) = (seen.at, false, false);
                }
                if let What::Missed(missed) = seen.what {
                    self.count_lost(missed.messages);
                }
                self.scribe.take(seen, &mut buffer);
                if buffer.len() >= limits::CAPTURE_BUFFER_BYTES {
                    self.flush(&mut buffer)?;
                }
            }
            self.lose(&taken.lost, &mut buffer);
            if taken.over {
                self.scribe.finish(&mut buffer);
                return self.flush(&mut buffer);
            }
            self.flush(&mut buffer)?;
            let is_old = self.rotation.time.is_some_and(|time| self.last.saturating_sub(began) >= time);
            let is_large = self.output.written_bytes() >= self.rotation.bytes;
            if !is_first && !is_full && self.output.is_file() && (is_old || is_large) {
                is_full = true;
                self.listener.renew();
            }
            thread::sleep(limits::CAPTURE_PAUSE);
        }
    }

    /// What is lost is said, and who came or went meanwhile is found out.
    fn lose(&mut self, lost: &Lost, buffer: &mut Vec<u8>) {
        if lost.messages == 0 {
            return;
        }
        warn!(messages = lost.messages, bytes = lost.bytes, "the capture cannot keep up and lacks messages");
        self.count_lost(lost.messages);
        let came = self.tap.introduce(&lost.opened);
        self.scribe.lose(lost, &came, self.last, buffer);
    }

    fn count_lost(&self, messages: u64) {
        self.progress.lost.fetch_add(messages, Ordering::Relaxed);
        self.counts.lost.inc_by(messages);
    }

    fn flush(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        if buffer.is_empty() {
            return Ok(());
        }
        self.output.write(buffer)?;
        let (packets, bytes) = (self.scribe.packets(), buffer.len() as u64);
        self.counts.packets.inc_by(packets - self.progress.packets.swap(packets, Ordering::Relaxed));
        self.counts.bytes.inc_by(bytes);
        self.progress.bytes.fetch_add(bytes, Ordering::Relaxed);
        buffer.clear();
        Ok(())
    }
}
