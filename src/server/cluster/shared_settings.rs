//! Settings that all processes of a cluster share: bans, the operator's notice, and for each game
//! the best player of the day.
//!
//! ```text
//!  process A ── ban, unban, notice ──► version ──► store: key ─► version, value, or "removed"
//!  process B ◄── read if the change number differs ───┘
//! ```
//!
//! Each process has all settings, so that it continues without the store. Each change has a
//! [`SettingVersion`], and the greater version wins, in the store and in each process, whichever
//! arrives first. The version of an operator's change is its time in milliseconds, but greater than
//! each version that the process has seen: a change by an operator who has seen another change wins
//! even if a clock is wrong. Of two changes in processes that are separated from the store, the
//! later one wins, by the clocks of the two.
//!
//! A removed setting remains as an entry without a value, so that a process that was away does not
//! bring it back. After [`CLUSTER_REMOVED_SETTING_TIME`](limits::CLUSTER_REMOVED_SETTING_TIME) the
//! entry is forgotten.
//!
//! A store that has lost its data has another change number. Each process then writes again the
//! settings that the store lacks.

use std::collections::{BTreeMap, BTreeSet};

use super::store::StoreError;
use crate::limits;
use crate::util::sync::Mutex;

/// Digits of each number of an encoded version.
const DIGITS: usize = 20;

/// The version of a setting. The greater one wins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SettingVersion {
    /// The time of an operator's change in milliseconds since 1970, or the day of a best player.
    pub primary: u64,
    /// A random number for an operator's change, or the score of a best player.
    pub secondary: u64,
}

impl SettingVersion {
    /// Encodes the version as decimal digits, whose order as text is the order of versions.
    pub fn encode(self) -> String {
        format!("{:0DIGITS$}{:0DIGITS$}", self.primary, self.secondary)
    }
}

/// The last change of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedSetting {
    /// The version.
    pub version: SettingVersion,
    /// The value; `None` if the setting was removed.
    pub value: Option<String>,
}

impl SharedSetting {
    /// Encodes the setting for the store: its version, then `1` and the value, or `0`.
    pub fn encode(&self) -> String {
        let value = self.value.as_ref().map_or("0".to_owned(), |value| format!("1{value}"));
        self.version.encode() + &value
    }

    /// Decodes a setting of the store. `None` if it is malformed or too long.
    pub fn decode(text: &str) -> Option<SharedSetting> {
        let number = |at: usize| text.get(at..at + DIGITS)?.parse().ok();
        let version = SettingVersion { primary: number(0)?, secondary: number(DIGITS)? };
        let value = match text.get(2 * DIGITS..)? {
            "0" => None,
            value => Some(value.strip_prefix('1')?.to_owned()),
        };
        let is_short = text.len() <= limits::CLUSTER_SETTING_BYTES;
        is_short.then_some(SharedSetting { version, value })
    }
}

/// A set of settings with a record of its own in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingGroup {
    /// Bans and the notice.
    Operator,
    /// The best players, which change often.
    BestPlayers,
}

/// The settings in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSettings {
    /// The change number: another one after each change, also after a loss of data.
    pub change: String,
    /// All settings; `None` if the change number is the known one.
    pub settings: Option<BTreeMap<String, SharedSetting>>,
}

/// The store of settings, as one process uses it. A request is executed at once or not at all.
pub trait SettingStore {
    /// Returns all settings of a group, unless `known` is their change number.
    ///
    /// # Errors
    /// The store does not respond.
    fn read_settings(&mut self, group: SettingGroup, known: &str) -> Result<StoredSettings, StoreError>;

    /// Writes each setting whose version is greater than the stored one. Returns how many new ones
    /// were refused because the store has [`limits::CLUSTER_SETTINGS`].
    ///
    /// # Errors
    /// The store does not respond.
    fn write_settings(
        &mut self,
        group: SettingGroup,
        settings: &[(String, SharedSetting)],
    ) -> Result<usize, StoreError>;

    /// Removes the entries that still have these versions.
    ///
    /// # Errors
    /// The store does not respond.
    fn forget_settings(
        &mut self,
        group: SettingGroup,
        settings: &[(String, SettingVersion)],
    ) -> Result<(), StoreError>;
}

/// The settings of one process.
#[derive(Debug, Default)]
pub struct SharedSettings {
    entries: BTreeMap<String, SharedSetting>,
    /// The greatest primary number of a version seen so far.
    latest: u64,
    /// Keys of settings that the store may not have.
    unsent: BTreeSet<String>,
    /// The change number of the last read.
    known: String,
}

impl SharedSettings {
    /// Sets or removes a setting at this time, by the process's clock. Returns the change. `tie` is
    /// a random number.
    pub fn set(&mut self, key: &str, value: Option<&str>, now_ms: u64, tie: u64) -> SharedSetting {
        let version = SettingVersion { primary: now_ms.max(self.latest + 1), secondary: tie };
        let setting = SharedSetting { version, value: value.map(str::to_owned) };
        self.merge(key, setting.clone());
        setting
    }

    /// Stores a setting with a version, unless its version is greater already. The store may not
    /// have it. Returns whether it is new.
    pub fn merge(&mut self, key: &str, setting: SharedSetting) -> bool {
        let is_new = self.version(key).is_none_or(|own| own < setting.version);
        if is_new {
            self.insert(key, setting);
            self.unsent.insert(key.to_owned());
        }
        is_new
    }

    fn insert(&mut self, key: &str, setting: SharedSetting) {
        // The clock of another process may be wrong by any time.
        self.latest = self.latest.max(setting.version.primary.min(u64::MAX - 1));
        self.entries.insert(key.to_owned(), setting);
    }

    fn version(&self, key: &str) -> Option<SettingVersion> {
        self.entries.get(key).map(|setting| setting.version)
    }

    /// Returns the value of a setting.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.get(key)?.value.as_deref()
    }

    /// Returns the last change of a setting.
    pub fn setting(&self, key: &str) -> Option<&SharedSetting> {
        self.entries.get(key)
    }

    /// Returns the keys of settings with values, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(|(_, setting)| setting.value.is_some()).map(|(key, _)| &**key)
    }

    /// Makes the next read a full one: after a new connection to the store, which may have lost its
    /// data.
    pub fn forget_store(&mut self) {
        self.known.clear();
    }

    /// Applies the settings of the store. Returns the settings that have changed here.
    fn on_read(&mut self, stored: StoredSettings) -> Vec<(String, SharedSetting)> {
        self.known = stored.change;
        let Some(stored) = stored.settings else { return Vec::new() };
        let is_missing = |(key, own): &(&String, &SharedSetting)| {
            stored.get(*key).is_none_or(|stored| stored.version < own.version)
        };
        self.unsent = self.entries.iter().filter(is_missing).map(|(key, _)| key.clone()).collect();
        let mut changed = Vec::new();
        for (key, setting) in stored {
            let own = self.entries.get(&key);
            // Two settings may have the same version: then all processes take the stored one.
            if own.is_none_or(|own| own.version <= setting.version && *own != setting) {
                self.insert(&key, setting.clone());
                changed.push((key, setting));
            }
        }
        changed
    }

    fn unsent(&self) -> Vec<(String, SharedSetting)> {
        let setting = |key: &String| Some((key.clone(), self.entries.get(key)?.clone()));
        self.unsent.iter().filter_map(setting).collect()
    }

    fn on_written(&mut self, written: &[(String, SharedSetting)]) {
        for (key, setting) in written {
            if self.version(key) == Some(setting.version) {
                self.unsent.remove(key);
            }
        }
    }

    /// Forgets removed settings after their time, and the oldest ones above the maximum number of
    /// settings. Returns them.
    pub fn forget_removed(&mut self, now_ms: u64) -> Vec<(String, SettingVersion)> {
        let removed = self.entries.iter().filter(|(_, setting)| setting.value.is_none());
        let mut removed: Vec<_> = removed.map(|(key, setting)| (key.clone(), setting.version)).collect();
        removed.sort_by_key(|(_, version)| *version);
        let surplus = self.entries.len().saturating_sub(limits::CLUSTER_SETTINGS);
        let time_ms = limits::CLUSTER_REMOVED_SETTING_TIME.as_millis() as u64;
        let is_old =
            |version: SettingVersion| version.primary.checked_add(time_ms).is_some_and(|end| end < now_ms);
        let count = surplus.max(removed.iter().take_while(|(_, version)| is_old(*version)).count());
        removed.truncate(count);
        for (key, _) in &removed {
            self.entries.remove(key);
            self.unsent.remove(key);
        }
        removed
    }
}

/// The result of an exchange with the store.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Exchanged {
    /// The settings that have changed here, because another process has changed them.
    pub changed: Vec<(String, SharedSetting)>,
    /// Number of settings that the store has refused, because it has the maximum.
    pub refused: usize,
}

/// Reads the settings from the store if they have changed, and writes those that the store lacks.
/// No lock is held during a request.
///
/// # Errors
/// The store does not respond. The next exchange sends the unsent settings; changes that were read
/// before the error are in `exchanged`.
pub fn exchange(
    store: &mut impl SettingStore,
    (group, settings): (SettingGroup, &Mutex<SharedSettings>),
    now_ms: u64,
    exchanged: &mut Exchanged,
) -> Result<(), StoreError> {
    let known = settings.lock().known.clone();
    let stored = store.read_settings(group, &known)?;
    let (forgotten, unsent) = {
        let mut settings = settings.lock();
        exchanged.changed = settings.on_read(stored);
        (settings.forget_removed(now_ms), settings.unsent())
    };
    if !forgotten.is_empty() {
        store.forget_settings(group, &forgotten)?;
    }
    if !unsent.is_empty() {
        exchanged.refused = store.write_settings(group, &unsent)?;
        settings.lock().on_written(&unsent);
    }
    Ok(())
}
