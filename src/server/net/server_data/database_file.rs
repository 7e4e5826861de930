//! The file of [`ServerData`](super::ServerData): a `redb` database with one table for each kind of
//! state. Each change is one durable transaction.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, Error, ReadableDatabase as _, ReadableTable as _};
use redb::{ReadTransaction, TableDefinition, WriteTransaction};

use super::best_of_day::{BestOfDay, BestPlayer};
use super::setting_keys::{NOTICE, ban_key, banned_prefix};
use crate::server::cluster::shared_settings::{SettingVersion, SharedSetting};
use crate::util::address_prefix::AddressPrefix;
use crate::util::os;

/// Number of the layout below. A program with another layout refuses the file.
const FORMAT: u64 = 1;

/// `format` is the number of the layout.
const ABOUT: TableDefinition<'_, &str, u64> = TableDefinition::new("about");
/// Prefix, as `bans` lists it, to the time of the ban in seconds since 1970.
const BANS: TableDefinition<'_, &str, u64> = TableDefinition::new("bans");
/// The notice, if there is one, as the only row.
const NOTICES: TableDefinition<'_, (), &str> = TableDefinition::new("notice");
/// Key of a ban or of the notice to its version, also of removed ones. A row of the other tables
/// without a version was written by an earlier version of the program.
const VERSIONS: TableDefinition<'_, &str, (u64, u64)> = TableDefinition::new("versions");
/// Game to day, name and score of its best player.
const BEST: TableDefinition<'_, &str, (u32, &str, i64)> = TableDefinition::new("best_of_day");

/// The open file. It is locked for other processes.
pub struct DatabaseFile(Database);

impl DatabaseFile {
    /// Opens the file, and creates it if necessary. After a crash, it has the last transaction.
    pub fn open(path: &Path) -> Result<DatabaseFile, String> {
        let file = os::open_private(path).map_err(|error| error.to_string())?;
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err("must be a regular file".to_owned());
        }
        let mut builder = Builder::new();
        builder.set_check_integrity_on_open(true);
        // The library panics on some damaged files.
        let open = || builder.create_with_backend(FileBackend::new(file)?);
        let opened = catch_unwind(AssertUnwindSafe(open));
        let database = opened.map_err(|_| "is damaged".to_owned())?.map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => "another process uses it".to_owned(),
            error => error.to_string(),
        })?;
        let database = DatabaseFile(database);
        match database.write(|transaction| {
            let mut about = transaction.open_table(ABOUT)?;
            let found = about.get("format")?.map(|format| format.value());
            if found.is_none() {
                about.insert("format", FORMAT)?;
            }
            // With all tables, a reader needs no case for a missing one.
            transaction.open_table(BANS)?;
            transaction.open_table(NOTICES)?;
            transaction.open_table(VERSIONS)?;
            transaction.open_table(BEST)?;
            Ok(found.unwrap_or(FORMAT))
        })? {
            FORMAT => {
                path.parent().into_iter().for_each(os::sync_directory);
                Ok(database)
            }
            other => Err(format!("has format {other}, and this program reads format {FORMAT}")),
        }
    }

    /// Returns the bans and the notice, also removed ones. A row that is no prefix is ignored.
    pub fn settings(&self) -> Result<BTreeMap<String, SharedSetting>, String> {
        self.read(|transaction| {
            let mut settings = BTreeMap::new();
            let mut add = |key, (primary, secondary), value| {
                let version = SettingVersion { primary, secondary };
                settings.insert(key, SharedSetting { version, value });
            };
            for row in transaction.open_table(BANS)?.iter()? {
                let (prefix, since) = row?;
                if let Some(prefix) = AddressPrefix::parse(prefix.value()) {
                    add(ban_key(prefix), (since.value().saturating_mul(1_000), 0), Some(String::new()));
                }
            }
            if let Some(notice) = transaction.open_table(NOTICES)?.get(())? {
                add(NOTICE.to_owned(), (1, 0), Some(notice.value().to_owned()));
            }
            for row in transaction.open_table(VERSIONS)?.iter()? {
                let (key, version) = row?;
                let (primary, secondary) = version.value();
                let version = SettingVersion { primary, secondary };
                let removed = SharedSetting { version, value: None };
                settings.entry(key.value().to_owned()).or_insert(removed).version = version;
            }
            Ok(settings)
        })
    }

    /// Stores changes of bans and of the notice, unless the file has later ones, and forgets
    /// removed ones, in one transaction.
    pub fn set_settings(
        &self,
        changes: &[(String, SharedSetting)],
        forgotten: &[(String, SettingVersion)],
    ) -> Result<(), String> {
        self.write(|transaction| {
            let mut versions = transaction.open_table(VERSIONS)?;
            let (mut bans, mut notices) = (transaction.open_table(BANS)?, transaction.open_table(NOTICES)?);
            for (key, SharedSetting { version, value }) in changes {
                let numbers = (version.primary, version.secondary);
                // Another thread has already stored a later change.
                if versions.get(&**key)?.is_some_and(|stored| stored.value() > numbers) {
                    continue;
                }
                let prefix = banned_prefix(key).map(|prefix| prefix.to_string());
                match (prefix, value) {
                    (Some(prefix), Some(_)) => {
                        bans.insert(&*prefix, version.primary / 1_000)?;
                    }
                    (Some(prefix), None) => {
                        bans.remove(&*prefix)?;
                    }
                    (None, Some(notice)) => {
                        notices.insert((), &**notice)?;
                    }
                    (None, None) => {
                        notices.remove(())?;
                    }
                }
                versions.insert(&**key, numbers)?;
            }
            for (key, _) in forgotten {
                versions.remove(&**key)?;
            }
            Ok(())
        })
    }

    /// Returns the best players.
    pub fn best(&self) -> Result<BestOfDay, String> {
        self.read(|transaction| {
            let mut best = BestOfDay::default();
            for row in transaction.open_table(BEST)?.iter()? {
                let (game, value) = row?;
                let (day, name, score) = value.value();
                best.insert(game.value().to_owned(), BestPlayer { day, name: name.to_owned(), score });
            }
            Ok(best)
        })
    }

    /// Stores the best players.
    pub fn set_best(&self, best: &BestOfDay) -> Result<(), String> {
        self.write(|transaction| {
            let mut table = transaction.open_table(BEST)?;
            for (game, BestPlayer { day, name, score }) in best.iter() {
                table.insert(game, (*day, &**name, *score))?;
            }
            Ok(())
        })
    }

    fn read<T>(&self, read: impl FnOnce(&ReadTransaction) -> Result<T, Error>) -> Result<T, String> {
        let transaction = self.0.begin_read().map_err(Error::from);
        transaction.and_then(|transaction| read(&transaction)).map_err(|error| error.to_string())
    }

    /// Executes one transaction. After an error, it has no effect.
    fn write<T>(&self, write: impl FnOnce(&WriteTransaction) -> Result<T, Error>) -> Result<T, String> {
        let execute = || {
            let transaction = self.0.begin_write()?;
            let written = write(&transaction)?;
            transaction.commit()?;
            Ok(written)
        };
        execute().map_err(|error: Error| error.to_string())
    }
}

impl fmt::Debug for DatabaseFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("DatabaseFile")
    }
}
