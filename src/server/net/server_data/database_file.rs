//! The file of [`ServerData`](super::ServerData): a `redb` database with one table for each kind of
//! state. Each change is one durable transaction.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, Error, ReadableDatabase as _, ReadableTable as _};
use redb::{ReadTransaction, TableDefinition, WriteTransaction};

use super::best_of_day::{BestOfDay, BestPlayer};
use crate::util::address_prefix::AddressPrefix;
use crate::util::os;

/// Number of the layout below. A program with another layout refuses the file.
const FORMAT: u64 = 1;

/// `format` is the number of the layout.
const ABOUT: TableDefinition<'_, &str, u64> = TableDefinition::new("about");
/// Prefix, as `bans` lists it, to the time of the ban in seconds since 1970.
const BANS: TableDefinition<'_, &str, u64> = TableDefinition::new("bans");
/// The notice, if there is one, as the only row.
const NOTICE: TableDefinition<'_, (), &str> = TableDefinition::new("notice");
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
            transaction.open_table(NOTICE)?;
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

    /// Returns the banned prefixes. A row that is no prefix is ignored.
    pub fn bans(&self) -> Result<Vec<AddressPrefix>, String> {
        self.read(|transaction| {
            let table = transaction.open_table(BANS)?;
            let rows: Vec<String> =
                table.iter()?.map(|row| Ok(row?.0.value().to_owned())).collect::<Result<_, Error>>()?;
            Ok(rows.iter().filter_map(|row| AddressPrefix::parse(row)).collect())
        })
    }

    /// Stores the time of a ban, or removes the ban.
    pub fn set_ban(&self, prefix: AddressPrefix, since: Option<u64>) -> Result<(), String> {
        self.write(|transaction| {
            let (mut table, key) = (transaction.open_table(BANS)?, prefix.to_string());
            match since {
                Some(since) => table.insert(&*key, since)?,
                None => table.remove(&*key)?,
            };
            Ok(())
        })
    }

    /// Returns the notice.
    pub fn notice(&self) -> Result<Option<String>, String> {
        self.read(|transaction| {
            let table = transaction.open_table(NOTICE)?;
            Ok(table.get(())?.map(|row| row.value().to_owned()))
        })
    }

    /// Stores the notice, or removes it.
    pub fn set_notice(&self, notice: Option<&str>) -> Result<(), String> {
        self.write(|transaction| {
            let mut table = transaction.open_table(NOTICE)?;
            match notice {
                Some(notice) => table.insert((), notice)?,
                None => table.remove(())?,
            };
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
