//! Shared settings in Redis or Valkey.
//!
//! Each group has a hash: each key with its encoded setting, and the field `#` with the change
//! number. `model_settings` has the same rules, and a test compares the two.

use std::collections::BTreeMap;

use super::redis_store::{NOW, RedisStore};
use crate::limits;
use crate::server::cluster::StoreError;
use crate::server::cluster::shared_settings::{
    SettingGroup, SettingStore, SettingVersion, SharedSetting, StoredSettings,
};

/// The field with the change number, which is no key of a setting.
const CHANGE: &str = "#";

/// Arguments: the known change number. Replies with the number, then, if it differs, the fields and
/// their values.
const READ: &str = "
local change = redis.call('HGET', KEYS[1], '#') or '0'
if change == ARGV[1] then return {change} end
local reply = redis.call('HGETALL', KEYS[1])
table.insert(reply, 1, change)
return reply
";

/// Arguments: the maximum number of settings, then keys and settings. The first 40 characters of a
/// setting are the digits of its version. A change number is at least the time in milliseconds, so
/// that a store that has lost its data has another one.
const WRITE: &str = "
local count = redis.call('HLEN', KEYS[1]) - redis.call('HEXISTS', KEYS[1], '#')
local refused, changed = 0, false
for at = 2, #ARGV, 2 do
  local key, new = ARGV[at], ARGV[at + 1]
  local old = redis.call('HGET', KEYS[1], key)
  if not old and count >= tonumber(ARGV[1]) then
    refused = refused + 1
  elseif not old or string.sub(old, 1, 40) < string.sub(new, 1, 40) then
    redis.call('HSET', KEYS[1], key, new)
    changed = true
    if not old then count = count + 1 end
  end
end
if changed then
  local change = tonumber(redis.call('HGET', KEYS[1], '#') or '0')
  redis.call('HSET', KEYS[1], '#', string.format('%.0f', math.max(change + 1, now)))
end
return refused
";

/// Arguments: keys and the digits of their versions.
const FORGET: &str = "
for at = 1, #ARGV, 2 do
  local old = redis.call('HGET', KEYS[1], ARGV[at])
  if old and string.sub(old, 1, 40) == ARGV[at + 1] then redis.call('HDEL', KEYS[1], ARGV[at]) end
end
return 1
";

fn script(source: &str, group: SettingGroup) -> redis::Cmd {
    let key = match group {
        SettingGroup::Operator => "tickwire:settings:operator",
        SettingGroup::BestPlayers => "tickwire:settings:best",
    };
    let mut command = redis::cmd("EVAL");
    command.arg(format!("{NOW}{source}")).arg(1).arg(key);
    command
}

impl SettingStore for RedisStore {
    fn read_settings(&mut self, group: SettingGroup, known: &str) -> Result<StoredSettings, StoreError> {
        let mut command = script(READ, group);
        command.arg(known);
        let reply: Vec<String> = self.run(&command)?;
        let (change, fields) = reply.split_first().ok_or_else(|| StoreError("an empty reply".to_owned()))?;
        let is_known = change == known;
        let fields = fields.chunks_exact(2).filter(|field| field[0] != CHANGE);
        // A setting that no version of this program has written is ignored.
        let settings: BTreeMap<String, SharedSetting> = fields
            .filter_map(|field| Some((field[0].clone(), SharedSetting::decode(&field[1])?)))
            .take(limits::CLUSTER_SETTINGS)
            .collect();
        Ok(StoredSettings { change: change.clone(), settings: (!is_known).then_some(settings) })
    }

    fn write_settings(
        &mut self,
        group: SettingGroup,
        settings: &[(String, SharedSetting)],
    ) -> Result<usize, StoreError> {
        let mut command = script(WRITE, group);
        command.arg(limits::CLUSTER_SETTINGS);
        for (key, setting) in settings {
            command.arg(key).arg(setting.encode());
        }
        self.run(&command)
    }

    fn forget_settings(
        &mut self,
        group: SettingGroup,
        settings: &[(String, SettingVersion)],
    ) -> Result<(), StoreError> {
        let mut command = script(FORGET, group);
        for (key, version) in settings {
            command.arg(key).arg(version.encode());
        }
        self.run::<u8>(&command).map(drop)
    }
}
