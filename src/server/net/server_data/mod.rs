//! State of the server that is not a world: bans, the operator's notice, and the best player of the
//! day in each game.
//!
//! ```text
//!  ban, unban, notice ──► ServerData ── one transaction ──► file (--database)
//!  room: scores, once a second ──┤ └── thread "database", every 10 s at most ──┘
//!  other processes of a cluster ─┘
//! ```
//!
//! Without a file, the state lasts until the server stops. An error of the file is logged and
//! counted, and the server continues with the state in memory. In a cluster, all processes share
//! the state: [`crate::server::cluster::shared_settings`] has the rules.

mod best_of_day;
mod database_file;
mod setting_keys;

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use tracing::error;

pub use best_of_day::{BestOfDay, BestPlayer};
use database_file::DatabaseFile;
pub use setting_keys::{NOTICE, ban_key, banned_prefix, is_known};

use super::metrics::Metrics;
use crate::limits;
use crate::server::cluster::shared_settings::{SettingGroup, SettingVersion, SharedSetting, SharedSettings};
use crate::util::address_prefix::AddressPrefix;
use crate::util::os;
use crate::util::sync::{Condvar, Mutex};

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

/// Changes of settings, each with its key.
pub type SettingChanges = Vec<(String, SharedSetting)>;

/// The state, and the file that stores it.
#[derive(Debug, Default)]
pub struct ServerData {
    /// Bans and the notice.
    settings: Mutex<SharedSettings>,
    /// The best player of each game, as other processes of a cluster receive it.
    scores: Mutex<SharedSettings>,
    state: Mutex<DataState>,
    /// Notified when there is something for the thread "database".
    changed: Condvar,
    file: Option<DatabaseFile>,
}

#[derive(Debug, Default)]
struct DataState {
    best: BestOfDay,
    /// Whether `best` has changed since the last write.
    is_best_unsaved: bool,
    /// Changes by other processes since the last write.
    unsaved: SettingChanges,
    is_closed: bool,
}

/// The next transactions of the thread "database".
struct NextWrite {
    best: Option<BestOfDay>,
    settings: SettingChanges,
}

impl ServerData {
    /// Opens the file, and creates it if necessary.
    ///
    /// # Errors
    /// The file cannot be used: another process uses it, or it is no database of this program.
    pub fn open(path: &Path) -> Result<ServerData, String> {
        let failed = |why: String| format!("--database {}: {why}", path.display());
        let file = DatabaseFile::open(path).map_err(failed)?;
        let (stored, best) = (file.settings().map_err(failed)?, file.best().map_err(failed)?);
        let data = ServerData { file: Some(file), ..ServerData::default() };
        let mut settings = data.settings.lock();
        for (key, setting) in stored {
            settings.merge(&key, setting);
        }
        drop(settings);
        for (game, best) in best.iter() {
            data.note_best(game, best.clone());
        }
        data.state.lock().is_best_unsaved = false;
        Ok(data)
    }

    /// Whether a file stores the state.
    pub fn is_stored(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the settings of a group.
    pub fn settings(&self, group: SettingGroup) -> &Mutex<SharedSettings> {
        match group {
            SettingGroup::Operator => &self.settings,
            SettingGroup::BestPlayers => &self.scores,
        }
    }

    /// Returns the banned address prefixes.
    pub fn bans(&self) -> Vec<AddressPrefix> {
        self.settings.lock().keys().filter_map(banned_prefix).collect()
    }

    /// Returns whether an address prefix is banned.
    pub fn is_banned(&self, prefix: AddressPrefix) -> bool {
        self.settings.lock().get(&ban_key(prefix)).is_some()
    }

    /// Records a new ban, or removes one. It changes also if the file cannot be written.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set_ban(&self, prefix: AddressPrefix, is_banned: bool) -> Result<(), String> {
        self.set(&ban_key(prefix), is_banned.then_some(""))
    }

    /// Returns the operator's notice.
    pub fn notice(&self) -> Option<String> {
        self.settings.lock().get(NOTICE).map(str::to_owned)
    }

    /// Sets the notice, or removes it. It changes also if the file cannot be written.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set_notice(&self, notice: Option<&str>) -> Result<(), String> {
        self.set(NOTICE, notice)
    }

    fn set(&self, key: &str, value: Option<&str>) -> Result<(), String> {
        let (setting, forgotten) = {
            let mut settings = self.settings.lock();
            let tie = u64::from_le_bytes(os::random());
            (settings.set(key, value, unix_ms(), tie), settings.forget_removed(unix_ms()))
        };
        let changes = [(key.to_owned(), setting)];
        self.file.as_ref().map_or(Ok(()), |file| file.set_settings(&changes, &forgotten))
    }

    /// Makes the thread "database" store changes by other processes of the cluster.
    pub fn store_changes(&self, changes: SettingChanges) {
        if self.file.is_some() && !changes.is_empty() {
            self.state.lock().unsaved.extend(changes);
            self.changed.notify_one();
        }
    }

    /// Returns today's best player of a game.
    pub fn best_of_day(&self, game: &str) -> Option<BestPlayer> {
        self.state.lock().best.of(game, today()).cloned()
    }

    /// Records a score of today, if it is the best one of the game.
    pub fn note_score(&self, game: &str, name: &str, score: i64) {
        self.note_best(game, BestPlayer { day: today(), name: name.to_owned(), score });
    }

    /// Records the best player of a game, if it is better than the known one. Ignores one of a
    /// later day than tomorrow: a wrong clock must not replace the best players until that day.
    fn note_best(&self, game: &str, best: BestPlayer) {
        if best.day > today() + 1 {
            return;
        }
        let mut state = self.state.lock();
        if state.best.note(game, best.day, &best.name, best.score) {
            state.is_best_unsaved = true;
            self.changed.notify_one();
            drop(state);
            self.scores.lock().merge(game, best_setting(best));
        }
    }

    /// Records best players that other processes of the cluster have sent.
    pub fn note_received_best(&self, changes: SettingChanges) {
        for (game, SharedSetting { version, value }) in changes {
            if let (Ok(day), Some(name)) = (version.primary.try_into(), value) {
                let score = (version.secondary ^ SIGN_BIT).cast_signed();
                self.note_best(&game, BestPlayer { day, name, score });
            }
        }
    }

    /// Makes the thread "database" write all unsaved changes, and end.
    pub fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_one();
    }

    /// Waits until there is something to write. Returns `None` after [`ServerData::close`].
    fn next_write(&self) -> Option<NextWrite> {
        let mut state = self.state.lock();
        while !state.is_best_unsaved && state.unsaved.is_empty() {
            if state.is_closed {
                return None;
            }
            self.changed.wait(&mut state);
        }
        let best = std::mem::take(&mut state.is_best_unsaved).then(|| state.best.clone());
        Some(NextWrite { best, settings: std::mem::take(&mut state.unsaved) })
    }

    /// Waits for this time, or until [`ServerData::close`].
    fn pause(&self, time: Duration) {
        let (until, mut state) = (Instant::now() + time, self.state.lock());
        while !state.is_closed && !self.changed.wait_until(&mut state, until).timed_out() {}
    }

    /// Writes the best players, and changes by other processes, until [`ServerData::close`]: the
    /// body of the thread "database".
    pub fn run(&self, metrics: &Metrics) {
        let Some(file) = &self.file else { return };
        while let Some(NextWrite { best, settings }) = self.next_write() {
            let best = best.map_or(Ok(()), |best| file.set_best(&best));
            let settings = match settings.is_empty() {
                true => Ok(()),
                false => file.set_settings(&self.current(settings), &[]),
            };
            for why in [best.err(), settings.err()].iter().flatten() {
                log_error(metrics, why);
            }
            self.pause(limits::DATABASE_WRITE_INTERVAL);
        }
    }

    /// Returns the settings that were changed, as they are now: a later change by the operator of
    /// this process is in the file already.
    fn current(&self, changes: SettingChanges) -> SettingChanges {
        let settings = self.settings.lock();
        let current = |(key, _): (String, _)| Some((settings.setting(&key)?.clone(), key));
        changes.into_iter().filter_map(current).map(|(setting, key)| (key, setting)).collect()
    }
}

const SIGN_BIT: u64 = 1 << 63;

/// Returns a best player as a setting: of two, the later day wins, then the higher score.
fn best_setting(best: BestPlayer) -> SharedSetting {
    let secondary = best.score.cast_unsigned() ^ SIGN_BIT;
    let version = SettingVersion { primary: best.day.into(), secondary };
    SharedSetting { version, value: Some(best.name) }
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

/// Returns the time of the machine's clock, in milliseconds since 1970.
pub fn unix_ms() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO).as_millis() as u64
}

/// The number of this day since 1970, in UTC.
fn today() -> u32 {
    (unix_ms() / 1_000 / SECONDS_PER_DAY) as u32
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::server::cluster::model_settings::ModelSettings;
    use crate::server::cluster::shared_settings::{Exchanged, exchange};

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
        assert_eq!(data.bans(), []);
        for (address, is_banned) in [("203.0.113.9", true), ("2001:db8::9", true), ("203.0.113.9", false)] {
            data.set_ban(prefix(address), is_banned).expect("stored");
        }
        data.set_notice(Some("Maintenance at noon")).expect("stored");
        data.note_score("moo", "Ann", 12);
        data.note_score("moo", "Bo", 11);
        data.close();
        data.run(&Metrics::default());
        assert!(ServerData::open(&path.0).expect_err("in use").contains("another process uses it"));
        drop(data);

        let data = ServerData::open(&path.0).expect("opened");
        assert_eq!(data.bans(), [prefix("2001:db8::1")]);
        assert_eq!(data.notice().as_deref(), Some("Maintenance at noon"));
        let best = data.best_of_day("moo").map(|best| (best.name, best.score));
        assert_eq!((best, data.best_of_day("tanks")), (Some(("Ann".to_owned(), 12)), None));
        data.set_notice(None).expect("stored");
        drop(data);
        assert_eq!(ServerData::open(&path.0).expect("opened").notice(), None);
    }

    #[test]
    fn processes_exchange_the_best_player_and_the_higher_score_of_the_later_day_wins() {
        let mut store = ModelSettings::default();
        let [a, b] = [ServerData::default(), ServerData::default()];
        let mut exchange = |data: &ServerData| {
            let (group, mut exchanged) = (SettingGroup::BestPlayers, Exchanged::default());
            let settings = data.settings(group);
            exchange(&mut store, (group, settings), unix_ms(), &mut exchanged).expect("a reply");
            data.note_received_best(exchanged.changed);
        };
        let best = |day, name: &str, score| BestPlayer { day, name: name.to_owned(), score };
        a.note_best("moo", best(today(), "Ann", 12));
        b.note_best("moo", best(today(), "Bo", 11));
        b.note_best("tanks", best(today(), "Cy", -3));
        a.note_best("tanks", best(today() - 1, "Ann", 99));
        // From a process with a wrong clock.
        a.note_best("moo", best(today() + 400, "Di", 99));
        [&a, &b, &a].into_iter().for_each(&mut exchange);
        for data in [&a, &b] {
            let name = |game| data.best_of_day(game).map(|best| (best.name, best.score));
            assert_eq!(name("moo"), Some(("Ann".to_owned(), 12)));
            assert_eq!(name("tanks"), Some(("Cy".to_owned(), -3)));
        }
    }

    #[test]
    fn the_file_keeps_that_a_ban_was_lifted_and_changes_by_other_processes() {
        let path = TempFile::new("lifted");
        let [lifted, other] = ["203.0.113.9", "203.0.113.10"]
            .map(|text| AddressPrefix::from_ip(text.parse().expect("an address")));
        let data = ServerData::open(&path.0).expect("created");
        data.set_ban(lifted, true).expect("stored");
        data.set_ban(lifted, false).expect("stored");
        let version = SettingVersion { primary: unix_ms(), secondary: 7 };
        let change = (ban_key(other), SharedSetting { version, value: Some(String::new()) });
        data.settings(SettingGroup::Operator).lock().merge(&change.0, change.1.clone());
        data.store_changes(vec![change.clone()]);
        data.close();
        data.run(&Metrics::default());
        let removed = data.settings.lock().setting(&ban_key(lifted)).cloned();
        // A thread that is late does not replace a later change.
        let version = SettingVersion { primary: 1, secondary: 0 };
        let late = [(ban_key(lifted), SharedSetting { version, value: Some(String::new()) })];
        data.file.as_ref().expect("a file").set_settings(&late, &[]).expect("stored");
        drop(data);

        let data = ServerData::open(&path.0).expect("opened");
        assert_eq!((data.bans(), data.is_banned(lifted)), (vec![other], false));
        let settings = data.settings.lock();
        assert_eq!(settings.setting(&ban_key(lifted)).cloned(), removed);
        assert_eq!(settings.setting(&change.0), Some(&change.1));
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
