//! The lease store in Redis or Valkey.
//!
//! Each room has a hash `tickwire:room:NAME` with the fields `process`, `address`, `relay_key`,
//! `public_url`, `fence` and `until`, the end of the lease in milliseconds of the store's clock.
//! Scripts change it, so that no other request is executed in between. `model_store` has the same
//! rules, and a test compares the two.

use std::fmt;
use std::time::Duration;

use redis::{Client, Connection, FromRedisValue, RedisError};

use crate::limits;
use crate::server::cluster::{AcquireReply, Holder, LeaseStore, RenewReply, StoreError};

const KEY_PREFIX: &str = "tickwire:room:";

/// Returns the time of the store in milliseconds, before each script.
pub const NOW: &str = "local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000) ";

/// Arguments: process, address, relay key, public URL, milliseconds of a lease and of a record,
/// minimum fence. A fence is at least the time in milliseconds, so that a store that has lost its
/// records grants no lower one.
const ACQUIRE: &str = "
local r = redis.call('HMGET', KEYS[1], 'process', 'address', 'relay_key', 'public_url', 'fence', 'until')
if r[1] and r[1] ~= ARGV[1] and tonumber(r[6]) > now then
  return {'held', r[1], r[2], r[3], r[4], tostring(tonumber(r[6]) - now)}
end
local fence = string.format('%.0f', math.max(tonumber(r[5] or '0'), tonumber(ARGV[7]), now) + 1)
redis.call('HSET', KEYS[1], 'process', ARGV[1], 'address', ARGV[2], 'relay_key', ARGV[3],
  'public_url', ARGV[4], 'fence', fence, 'until', string.format('%.0f', now + ARGV[5]))
redis.call('PEXPIRE', KEYS[1], ARGV[6])
return {'acquired', fence}
";

/// Arguments as for `ACQUIRE`, then the fence of each key instead of the minimum.
const RENEW: &str = "
local replies = {}
for at, key in ipairs(KEYS) do
  local r, fence = redis.call('HMGET', key, 'process', 'fence'), ARGV[6 + at]
  local found = tonumber(r[2] or '-1')
  if found < tonumber(fence) or (found == tonumber(fence) and r[1] == ARGV[1]) then
    redis.call('HSET', key, 'process', ARGV[1], 'address', ARGV[2], 'relay_key', ARGV[3],
      'public_url', ARGV[4], 'fence', fence, 'until', string.format('%.0f', now + ARGV[5]))
    redis.call('PEXPIRE', key, ARGV[6])
    replies[at] = 1
  else
    replies[at] = 0
  end
end
return replies
";

/// Arguments: process, fence.
const RELEASE: &str = "
local r = redis.call('HMGET', KEYS[1], 'process', 'fence')
if r[1] == ARGV[1] and r[2] == ARGV[2] then redis.call('HSET', KEYS[1], 'until', '0') end
return 1
";

const LOOK_UP: &str = "
local r = redis.call('HMGET', KEYS[1], 'process', 'address', 'relay_key', 'public_url', 'until')
if r[1] and tonumber(r[5]) > now then return {r[1], r[2], r[3], r[4]} end
return {}
";

/// The lease store of one process, with one connection.
pub struct RedisStore {
    client: Client,
    holder: Holder,
    connection: Option<Connection>,
    connections: u64,
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may contain a password.
        out.debug_struct("RedisStore").field("connections", &self.connections).finish_non_exhaustive()
    }
}

/// Checks the URL of a store: `redis://HOST:PORT`, with `/DB` and with a password if necessary.
///
/// # Errors
/// The broken rule. It does not contain the URL, which may contain a password.
pub fn check_url(url: &str) -> Result<(), String> {
    if !url.starts_with("redis://") {
        return Err("must be redis://HOST:PORT or redis://HOST:PORT/DB".to_owned());
    }
    Client::open(url).map(drop).map_err(|error| format!("is no URL of Redis: {error}"))
}

impl RedisStore {
    /// Creates a store without a connection.
    ///
    /// # Errors
    /// The URL breaks a rule.
    pub fn new(url: &str, holder: Holder) -> Result<RedisStore, String> {
        check_url(url)?;
        let client = Client::open(url).map_err(|error| error.to_string())?;
        Ok(RedisStore { client, holder, connection: None, connections: 0 })
    }

    /// Checks that the store responds.
    ///
    /// # Errors
    /// The store does not respond.
    pub fn ping(&mut self) -> Result<(), StoreError> {
        self.run::<String>(&redis::cmd("PING")).map(drop)
    }

    /// Sends a command. Closes the connection after an error, because a reply may still arrive.
    ///
    /// # Errors
    /// The store does not respond, or with an error.
    pub fn run<T: FromRedisValue>(&mut self, command: &redis::Cmd) -> Result<T, StoreError> {
        let connection = self.connection.as_mut().ok_or_else(|| StoreError("no connection".to_owned()))?;
        command.query(connection).map_err(|error: RedisError| {
            self.connection = None;
            store_error(error)
        })
    }

    /// Returns the identity of this process.
    pub fn process(&self) -> &str {
        &self.holder.process
    }

    fn script(source: &str, rooms: &[&str]) -> redis::Cmd {
        let mut command = redis::cmd("EVAL");
        command.arg(format!("{NOW}{source}")).arg(rooms.len());
        for room in rooms {
            command.arg(format!("{KEY_PREFIX}{room}"));
        }
        command
    }

    /// Appends the arguments that describe this process and its leases.
    fn own_arguments(&self, command: &mut redis::Cmd) {
        let Holder { process, address, relay_key, public_url } = &self.holder;
        command.arg(process).arg(address).arg(relay_key).arg(public_url);
        for time in [limits::CLUSTER_LEASE, limits::CLUSTER_RECORD_TIME] {
            command.arg(time.as_millis() as u64);
        }
    }
}

/// Creates a holder from the fields of a record.
fn holder(fields: [&String; 4]) -> Holder {
    let [process, address, relay_key, public_url] = fields.map(String::clone);
    Holder { process, address, relay_key, public_url }
}

fn store_error(error: RedisError) -> StoreError {
    match error.is_timeout() {
        true => StoreError(format!("no response within {:?}", limits::CLUSTER_STORE_TIMEOUT)),
        false => StoreError(error.to_string()),
    }
}

fn unusable(reply: &[String]) -> StoreError {
    StoreError(format!("an unusable reply of {} texts", reply.len()))
}

impl LeaseStore for RedisStore {
    fn connect(&mut self) -> Result<u64, StoreError> {
        if self.connection.is_none() {
            let timeout = limits::CLUSTER_STORE_TIMEOUT;
            let connection = self.client.get_connection_with_timeout(timeout).map_err(store_error)?;
            connection.set_read_timeout(Some(timeout)).map_err(store_error)?;
            connection.set_write_timeout(Some(timeout)).map_err(store_error)?;
            self.connection = Some(connection);
            self.connections += 1;
        }
        Ok(self.connections)
    }

    fn acquire(&mut self, room: &str, above: u64) -> Result<AcquireReply, StoreError> {
        let mut command = RedisStore::script(ACQUIRE, &[room]);
        self.own_arguments(&mut command);
        command.arg(above);
        let reply: Vec<String> = self.run(&command)?;
        match &reply[..] {
            [kind, fence] if kind == "acquired" => {
                let fence = fence.parse().map_err(|_| unusable(&reply))?;
                Ok(AcquireReply::Acquired { fence })
            }
            [kind, process, address, relay_key, public_url, left] if kind == "held" => {
                let left = Duration::from_millis(left.parse().map_err(|_| unusable(&reply))?);
                Ok(AcquireReply::Held { holder: holder([process, address, relay_key, public_url]), left })
            }
            _ => Err(unusable(&reply)),
        }
    }

    fn renew(&mut self, leases: &[(String, u64)]) -> Result<Vec<RenewReply>, StoreError> {
        let rooms: Vec<&str> = leases.iter().map(|(room, _)| &**room).collect();
        let mut command = RedisStore::script(RENEW, &rooms);
        self.own_arguments(&mut command);
        for (_, fence) in leases {
            command.arg(*fence);
        }
        let replies: Vec<u8> = self.run(&command)?;
        if replies.len() != leases.len() {
            return Err(StoreError(format!("{} replies to {} renewals", replies.len(), leases.len())));
        }
        let reply = |reply: u8| if reply == 1 { RenewReply::Renewed } else { RenewReply::Taken };
        Ok(replies.into_iter().map(reply).collect())
    }

    fn release(&mut self, room: &str, fence: u64) -> Result<(), StoreError> {
        let mut command = RedisStore::script(RELEASE, &[room]);
        command.arg(&self.holder.process).arg(fence);
        self.run::<u8>(&command).map(drop)
    }

    fn look_up(&mut self, room: &str) -> Result<Option<Holder>, StoreError> {
        let reply: Vec<String> = self.run(&RedisStore::script(LOOK_UP, &[room]))?;
        match &reply[..] {
            [process, address, relay_key, public_url] => {
                Ok(Some(holder([process, address, relay_key, public_url])))
            }
            [] => Ok(None),
            _ => Err(unusable(&reply)),
        }
    }
}
