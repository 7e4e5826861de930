//! Journals in Redis or Valkey (`--journal redis`).
//!
//! ```text
//!   tickwire:journal:ROOM         hash: the time of the last change of each file, in milliseconds
//!   tickwire:journal:ROOM:FILE    string: the bytes of the file
//! ```
//!
//! Each operation is one command or script, and can be repeated: an append names its offset, so
//! that a request whose reply was lost is not executed twice. A record is as durable as Redis makes
//! it before it replies: with `appendfsync always` it is on the disk.
//!
//! The writer thread waits while Redis cannot be reached. If Redis has lost a file or the end of
//! one, an append fails with `NotFound`, and the room begins its journal again with a snapshot.

use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use redis::{Client, Cmd, Connection, ErrorKind as RedisErrorKind, FromRedisValue, RedisError};
use tracing::warn;

use crate::limits;
use crate::server::journal::{FileInfo, JournalStorage};
use crate::util::sync::Mutex;

const KEY_PREFIX: &str = "tickwire:journal:";
/// The records of leases: see [`crate::server::net::cluster`].
const LEASE_PREFIX: &str = "tickwire:room:";

/// Codes of errors after which the same request can succeed: Redis is starting, executes a long
/// script, cannot write its files, has too few replicas, or has become a replica.
const TEMPORARY: [&str; 7] =
    ["BUSY", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "READONLY", "TRYAGAIN"];

/// The time of the store in milliseconds, before each script.
const NOW: &str =
    "local t = redis.call('TIME') local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)) ";

/// Keys: index, file. Arguments: file. Replaces an existing file.
const CREATE: &str = "redis.call('SET', KEYS[2], '') redis.call('HSET', KEYS[1], ARGV[1], now) return 1";

/// Keys: index, file. Arguments: file, offset, bytes. Returns 0 if the file does not end there.
const APPEND: &str = "
local length, offset = redis.call('STRLEN', KEYS[2]), tonumber(ARGV[2])
if redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
if length == offset then
  redis.call('APPEND', KEYS[2], ARGV[3])
elseif length ~= offset + #ARGV[3] or redis.call('GETRANGE', KEYS[2], offset, -1) ~= ARGV[3] then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], now)
return 1
";

/// Keys: index, file, file with the new name. Arguments: both names. A repeated request finds the
/// new name only.
const RENAME: &str = "
if redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('RENAME', KEYS[2], KEYS[3])
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('HSET', KEYS[1], ARGV[2], now)
  return 1
end
return redis.call('EXISTS', KEYS[3])
";

/// Keys: index, file. Arguments: file, bytes.
const TRUNCATE: &str = "
local bytes = tonumber(ARGV[2])
if redis.call('STRLEN', KEYS[2]) > bytes then
  redis.call('SET', KEYS[2], bytes == 0 and '' or redis.call('GETRANGE', KEYS[2], 0, bytes - 1))
end
redis.call('HSET', KEYS[1], ARGV[1], now)
return 1
";

/// Keys: index, file. Arguments: file.
const REMOVE: &str = "redis.call('DEL', KEYS[2]) redis.call('HDEL', KEYS[1], ARGV[1]) return 1";

/// Keys: index. Returns name, length and time of each file.
const LIST: &str = "
local files, all = {}, redis.call('HGETALL', KEYS[1])
for at = 1, #all, 2 do
  files[#files + 1] = all[at]
  files[#files + 1] = tostring(redis.call('STRLEN', KEYS[1] .. ':' .. all[at]))
  files[#files + 1] = all[at + 1]
end
return files
";

/// Keys: index, new index. Renames all files of a room, unless the new room has files. A repeated
/// request finds the new room only.
const SET_ASIDE: &str = "
if redis.call('EXISTS', KEYS[1]) == 0 then return redis.call('EXISTS', KEYS[2]) end
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
for _, file in ipairs(redis.call('HKEYS', KEYS[1])) do
  if redis.call('EXISTS', KEYS[1] .. ':' .. file) == 1 then
    redis.call('RENAME', KEYS[1] .. ':' .. file, KEYS[2] .. ':' .. file)
  end
end
redis.call('RENAME', KEYS[1], KEYS[2])
return 1
";

/// Keys: the record of a lease.
const IS_LEASED: &str = "
local till = redis.call('HGET', KEYS[1], 'until')
return till and tonumber(till) > tonumber(now) and 1 or 0
";

/// The journals of all rooms of a Redis database.
pub struct RedisJournals {
    client: Client,
    connections: Mutex<Vec<Connection>>,
    /// The time at which the writer thread no longer waits for Redis.
    give_up_at: Mutex<Option<Instant>>,
}

impl fmt::Debug for RedisJournals {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may contain a password.
        out.debug_struct("RedisJournals").finish_non_exhaustive()
    }
}

impl fmt::Display for RedisJournals {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "redis://{}", self.client.get_connection_info().addr())
    }
}

impl RedisJournals {
    /// Uses the database of a URL, `redis://HOST:PORT[/DB]`. Does not connect yet.
    ///
    /// # Errors
    /// The broken rule.
    pub fn new(url: &str) -> Result<Arc<RedisJournals>, String> {
        let client = Client::open(url).map_err(|error| format!("is no URL of Redis: {error}"))?;
        let (connections, give_up_at) = (Mutex::default(), Mutex::default());
        Ok(Arc::new(RedisJournals { client, connections, give_up_at }))
    }

    /// Ends the waiting of the writer thread at this time, if Redis cannot be reached until then.
    pub fn give_up_at(&self, at: Instant) {
        self.give_up_at.lock().get_or_insert(at);
    }

    /// Returns the names of the rooms with files, sorted.
    ///
    /// # Errors
    /// Redis does not respond, or refuses the command.
    pub fn rooms(&self) -> io::Result<Vec<String>> {
        let (mut rooms, mut cursor) = (Vec::new(), "0".to_owned());
        loop {
            let mut command = redis::cmd("SCAN");
            command.arg(&cursor).arg("MATCH").arg(format!("{KEY_PREFIX}*")).arg("TYPE").arg("hash");
            let (next, keys): (String, Vec<String>) = self.query(&command)?;
            rooms.extend(keys.iter().filter_map(|key| key.strip_prefix(KEY_PREFIX).map(str::to_owned)));
            if next == "0" {
                break;
            }
            cursor = next;
        }
        rooms.sort_unstable();
        rooms.dedup();
        Ok(rooms)
    }

    /// Renames the files of a room. Returns whether the other name was free.
    ///
    /// # Errors
    /// Redis does not respond, or refuses the command.
    pub fn set_aside(&self, room: &str, aside: &str) -> io::Result<bool> {
        let keys = [index(room), index(aside)];
        self.query::<u8>(&script(SET_ASIDE, &keys)).map(|reply| reply == 1)
    }

    /// Returns whether a process has the lease of a room.
    ///
    /// # Errors
    /// Redis does not respond, or refuses the command.
    pub fn is_leased(&self, room: &str) -> io::Result<bool> {
        self.query::<u8>(&script(IS_LEASED, &[format!("{LEASE_PREFIX}{room}")])).map(|reply| reply == 1)
    }

    /// Sends a command: through a connection that is not in use, and if that is broken, through a
    /// new one.
    fn query<T: FromRedisValue>(&self, command: &Cmd) -> io::Result<T> {
        let idle = self.connections.lock().pop();
        let mut broken = None;
        if let Some(mut connection) = idle {
            match command.query(&mut connection) {
                Err(error) if error.is_io_error() && !error.is_timeout() => broken = Some(error),
                replied => return self.finish(connection, replied),
            }
        }
        if broken.is_some() {
            // The other ones are as old.
            self.connections.lock().clear();
        }
        let timeout = limits::JOURNAL_STORE_TIMEOUT;
        let mut connection = self.client.get_connection_with_timeout(timeout).map_err(io_error)?;
        connection.set_read_timeout(Some(timeout)).map_err(io_error)?;
        connection.set_write_timeout(Some(timeout)).map_err(io_error)?;
        let replied = command.query(&mut connection);
        self.finish(connection, replied)
    }

    /// Returns a reply. Closes the connection after an error, because a reply may still arrive.
    fn finish<T>(&self, connection: Connection, replied: Result<T, RedisError>) -> io::Result<T> {
        let mut idle = self.connections.lock();
        if replied.is_ok() && idle.len() < limits::JOURNAL_STORE_IDLE_CONNECTIONS {
            idle.push(connection);
        }
        replied.map_err(io_error)
    }

    fn has_given_up(&self) -> bool {
        self.give_up_at.lock().is_some_and(|at| Instant::now() >= at)
    }
}

/// Converts an error. [`ErrorKind::NotConnected`] is for errors after which the same request can
/// succeed.
fn io_error(error: RedisError) -> io::Error {
    let is_temporary = error.code().is_some_and(|code| TEMPORARY.contains(&code));
    let is_unreachable = error.is_io_error() || error.kind() == RedisErrorKind::Io || is_temporary;
    let kind = if is_unreachable { ErrorKind::NotConnected } else { ErrorKind::Other };
    io::Error::new(kind, format!("Redis: {error}"))
}

/// The key of a room's index.
fn index(room: &str) -> String {
    format!("{KEY_PREFIX}{room}")
}

fn script(source: &str, keys: &[String]) -> Cmd {
    let mut command = redis::cmd("EVAL");
    command.arg(format!("{NOW}{source}")).arg(keys.len()).arg(keys);
    command
}

/// The files of one room.
#[derive(Debug)]
pub struct RedisStorage {
    journals: Arc<RedisJournals>,
    room: String,
    /// Name and length of the file that was last written.
    written: Option<(String, u64)>,
    is_patient: bool,
}

impl RedisStorage {
    /// Uses the files of a room, which may not exist.
    pub fn new(journals: Arc<RedisJournals>, room: &str) -> RedisStorage {
        RedisStorage { journals, room: room.to_owned(), written: None, is_patient: false }
    }

    fn index(&self) -> String {
        index(&self.room)
    }

    fn key(&self, name: &str) -> String {
        format!("{}:{name}", self.index())
    }

    /// Returns the script of an operation on a file.
    fn script(&self, source: &str, name: &str) -> Cmd {
        let mut command = script(source, &[self.index(), self.key(name)]);
        command.arg(name);
        command
    }

    /// Sends a command. The storage of the writer thread waits until Redis can be reached.
    fn run<T: FromRedisValue>(&self, command: &Cmd) -> io::Result<T> {
        let mut is_logged = false;
        loop {
            match self.journals.query(command) {
                Err(error)
                    if error.kind() == ErrorKind::NotConnected
                        && self.is_patient
                        && !self.journals.has_given_up() =>
                {
                    if !std::mem::replace(&mut is_logged, true) {
                        warn!(%error, "the journal waits for Redis");
                    }
                    thread::sleep(limits::JOURNAL_STORE_RETRY_INTERVAL);
                }
                replied => return replied,
            }
        }
    }

    /// Sends a command whose reply is 1 on success.
    fn run_checked(&self, command: &Cmd, name: &str) -> io::Result<()> {
        match self.run::<u8>(command)? {
            1 => Ok(()),
            _ => Err(missing(name)),
        }
    }
}

fn missing(name: &str) -> io::Error {
    io::Error::new(ErrorKind::NotFound, format!("Redis does not have {name}, or has lost its end"))
}

impl JournalStorage for RedisStorage {
    fn list(&self) -> io::Result<Vec<FileInfo>> {
        let reply: Vec<String> = self.run(&script(LIST, &[self.index()]))?;
        let unusable = || io::Error::other("Redis: an unusable reply");
        let files = reply.chunks(3).map(|file| match file {
            [name, bytes, modified_ms] => Ok(FileInfo {
                name: name.clone(),
                bytes: bytes.parse().map_err(|_| unusable())?,
                modified_ms: modified_ms.parse().map_err(|_| unusable())?,
            }),
            _ => Err(unusable()),
        });
        files.collect()
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.run(redis::cmd("HKEYS").arg(self.index()))
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let bytes: Option<Vec<u8>> = self.run(redis::cmd("GET").arg(self.key(name)))?;
        bytes.ok_or_else(|| missing(name))
    }

    fn create(&mut self, name: &str) -> io::Result<()> {
        self.run_checked(&self.script(CREATE, name), name)?;
        self.written = Some((name.to_owned(), 0));
        Ok(())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let known = self.written.as_ref().filter(|(written, _)| written == name).map(|(_, length)| *length);
        let offset = match known {
            Some(length) => length,
            None => self.run(redis::cmd("STRLEN").arg(self.key(name)))?,
        };
        let mut command = self.script(APPEND, name);
        command.arg(offset).arg(bytes);
        self.run_checked(&command, name)?;
        self.written = Some((name.to_owned(), offset + bytes.len() as u64));
        Ok(())
    }

    fn sync(&mut self, _: &str) -> io::Result<()> {
        // Redis has replied to each append.
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let mut command = script(RENAME, &[self.index(), self.key(from), self.key(to)]);
        command.arg(from).arg(to);
        self.run_checked(&command, from)?;
        match &mut self.written {
            Some((written, _)) if written == from => to.clone_into(written),
            Some((written, _)) if written == to => self.written = None,
            _ => {}
        }
        Ok(())
    }

    fn truncate(&mut self, name: &str, bytes: u64) -> io::Result<()> {
        let mut command = self.script(TRUNCATE, name);
        command.arg(bytes);
        self.written = None;
        self.run_checked(&command, name)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.run_checked(&self.script(REMOVE, name), name)
    }

    fn sync_directory(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wait_for_store(&mut self) {
        self.is_patient = true;
    }
}
