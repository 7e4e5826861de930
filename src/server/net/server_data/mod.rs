//! State of the server that is not a world: bans, the operator's notice, and the best player of the
//! day in each game.
//!
//! ```text
//!  ban, unban, notice ──► ServerData ── one transaction ──► file (--database)
//!  room: scores, once a second ──┘ └── thread "database", every 10 s at most ──┘
//! ```
//!
//! Without a file, the state lasts until the server stops. An error of the file is logged and
//! counted, and the server continues with the state in memory.

mod best_of_day;
mod database_file;

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use tracing::error;

pub use best_of_day::{BestOfDay, BestPlayer};
use database_file::DatabaseFile;

use super::metrics::Metrics;
use crate::limits;
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::{Condvar, Mutex};

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

/// The state, and the file that stores it.
#[derive(Debug, Default)]
pub struct ServerData {
    state: Mutex<DataState>,
    /// Notified when there is something for the thread of the database.
    changed: Condvar,
    file: Option<DatabaseFile>,
    /// The bans in the file when it was opened.
    bans: Vec<AddressPrefix>,
}

#[derive(Debug, Default)]
struct DataState {
    notice: Option<String>,
    best: BestOfDay,
    /// Whether `best` has changed since the last write.
    is_unsaved: bool,
    is_closed: bool,
}

impl ServerData {
    /// Opens the file, and creates it if necessary.
    ///
    /// # Errors
    /// The file cannot be used: another process uses it, or it is no database of this program.
    pub fn open(path: &Path) -> Result<ServerData, String> {
        let failed = |why: String| format!("--database {}: {why}", path.display());
        let file = DatabaseFile::open(path).map_err(failed)?;
        let bans = file.bans().map_err(failed)?;
        let (notice, best) = (file.notice().map_err(failed)?, file.best().map_err(failed)?);
        let state = Mutex::new(DataState { notice, best, ..DataState::default() });
        Ok(ServerData { state, changed: Condvar::default(), file: Some(file), bans })
    }

    /// Whether a file stores the state.
    pub fn is_stored(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the bans with which the server starts.
    pub fn stored_bans(&self) -> &[AddressPrefix] {
        &self.bans
    }

    /// Stores a new ban, or removes one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn store_ban(&self, prefix: AddressPrefix, is_banned: bool) -> Result<(), String> {
        self.file.as_ref().map_or(Ok(()), |file| file.set_ban(prefix, is_banned.then(unix_seconds)))
    }

    /// Returns the operator's notice.
    pub fn notice(&self) -> Option<String> {
        self.state.lock().notice.clone()
    }

    /// Sets the notice, or removes it. It changes also if the file cannot be written.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set_notice(&self, notice: Option<&str>) -> Result<(), String> {
        self.state.lock().notice = notice.map(str::to_owned);
        self.file.as_ref().map_or(Ok(()), |file| file.set_notice(notice))
    }

    /// Returns today's best player of a game.
    pub fn best_of_day(&self, game: &str) -> Option<BestPlayer> {
        self.state.lock().best.of(game, today()).cloned()
    }

    /// Records a score of today, if it is the best one of the game.
    pub fn note_score(&self, game: &str, name: &str, score: i64) {
        let mut state = self.state.lock();
        if state.best.note(game, today(), name, score) && self.file.is_some() {
            state.is_unsaved = true;
            self.changed.notify_one();
        }
    }

    /// Makes the thread of the database write what is unsaved, and end.
    pub fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_one();
    }

    /// Waits until there is something to write. Returns `None` after [`ServerData::close`].
    fn next_write(&self) -> Option<BestOfDay> {
        let mut state = self.state.lock();
        while !state.is_unsaved && !state.is_closed {
            self.changed.wait(&mut state);
        }
        std::mem::take(&mut state.is_unsaved).then(|| state.best.clone())
    }

    /// Waits for this time, or until [`ServerData::close`].
    fn pause(&self, time: Duration) {
        let (until, mut state) = (Instant::now() + time, self.state.lock());
        while !state.is_closed && !self.changed.wait_until(&mut state, until).timed_out() {}
    }

    /// Writes the best players until [`ServerData::close`]: the body of the thread "database".
    pub fn run(&self, metrics: &Metrics) {
        let Some(file) = &self.file else { return };
        while let Some(best) = self.next_write() {
            if let Err(why) = file.set_best(&best) {
                log_error(metrics, &why);
            }
            self.pause(limits::DATABASE_WRITE_INTERVAL);
        }
    }
}

/// Logs and counts an error of the file.
fn log_error(metrics: &Metrics, why: &str) {
    metrics.database_errors.inc();
    error!("the database has failed: {why}; the server continues with the state in memory");
}

/// As [`log_error`]. Returns the error for the operator: what was `done` holds in memory only.
pub fn note_error(metrics: &Metrics, why: &str, done: &str) -> String {
    log_error(metrics, why);
    format!("{done}, but only until the server stops: the database has failed: {why}")
}

fn unix_seconds() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO).as_secs()
}

/// The number of this day since 1970, in UTC.
fn today() -> u32 {
    (unix_seconds() / SECONDS_PER_DAY) as u32
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A path of no file, which is removed at the end.
    struct TempFile(PathBuf);

    impl TempFile {
        fn new(name: &str) -> TempFile {
            let path = std::env::temp_dir().join(format!("tickwire-data-{name}-{}", std::process::id()));
            let _ = std::fs::remove_file(&path);
            TempFile(path)
        }
    }

    impl Drop for TempFile {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn the_file_keeps_bans_notice_and_best_player() {
        let path = TempFile::new("kept");
        let prefix = |text: &str| AddressPrefix::from_ip(text.parse().expect("an address"));
        let data = ServerData::open(&path.0).expect("created");
        assert_eq!(data.stored_bans(), []);
        for (address, is_banned) in [("203.0.113.9", true), ("2001:db8::9", true), ("203.0.113.9", false)] {
            data.store_ban(prefix(address), is_banned).expect("stored");
        }
        data.set_notice(Some("Maintenance at noon")).expect("stored");
        data.note_score("moo", "Ann", 12);
        data.note_score("moo", "Bo", 11);
        data.close();
        data.run(&Metrics::default());
        assert!(ServerData::open(&path.0).expect_err("in use").contains("another process uses it"));
        drop(data);

        let data = ServerData::open(&path.0).expect("opened");
        assert_eq!(data.stored_bans(), [prefix("2001:db8::1")]);
        assert_eq!(data.notice().as_deref(), Some("Maintenance at noon"));
        let best = data.best_of_day("moo").map(|best| (best.name, best.score));
        assert_eq!((best, data.best_of_day("tanks")), (Some(("Ann".to_owned(), 12)), None));
        data.set_notice(None).expect("stored");
        drop(data);
        assert_eq!(ServerData::open(&path.0).expect("opened").notice(), None);
    }

    #[test]
    fn a_file_that_is_no_database_is_refused_and_stays_as_it_is() {
        let path = TempFile::new("text");
        let text = b"not a database\n".repeat(1000);
        std::fs::write(&path.0, &text).expect("written");
        let why = ServerData::open(&path.0).expect_err("refused");
        assert!(why.starts_with(&format!("--database {}: ", path.0.display())), "{why}");
        assert_eq!(std::fs::read(&path.0).expect("read"), text);
    }

    #[test]
    fn without_a_file_the_state_is_in_memory_and_the_thread_ends_at_once() {
        let data = ServerData::default();
        data.set_notice(Some("hello")).expect("in memory");
        data.note_score("moo", "Ann", 1);
        data.run(&Metrics::default());
        assert_eq!((data.notice().as_deref(), data.is_stored()), (Some("hello"), false));
        assert_eq!(data.best_of_day("moo").map(|best| best.score), Some(1));
    }
}
