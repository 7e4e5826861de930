//! Reports of processes in Redis or Valkey: a hash of texts, and a sorted set of their ends, in
//! milliseconds of the store's clock.

use std::time::Duration;

use super::redis_store::{NOW, RedisStore};
use crate::limits;
use crate::server::cluster::StoreError;
use crate::server::cluster::reports::ReportStore;

/// Removes the reports that are over, before each script.
const EXPIRE: &str = "
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now)) do
  redis.call('ZREM', KEYS[2], id)
  redis.call('HDEL', KEYS[1], id)
end
";

/// Arguments: process, text, milliseconds, maximum number of processes.
const PUBLISH: &str = "
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) and redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[4]) then
  return 0
end
redis.call('ZADD', KEYS[2], now + ARGV[3], ARGV[1])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('ZCARD', KEYS[2])
";

/// Argument: process.
const REMOVE: &str = "
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[1], ARGV[1])
return 1
";

const READ: &str = "return redis.call('HVALS', KEYS[1])";

fn script(source: &str) -> redis::Cmd {
    let mut command = redis::cmd("EVAL");
    let keys = ["tickwire:reports", "tickwire:reports:until"];
    command.arg(format!("{NOW}{EXPIRE}{source}")).arg(keys.len()).arg(&keys);
    command
}

impl ReportStore for RedisStore {
    fn publish_report(&mut self, report: &str, time: Duration) -> Result<usize, StoreError> {
        let mut command = script(PUBLISH);
        command.arg(self.process()).arg(report).arg(time.as_millis() as u64);
        command.arg(limits::CLUSTER_PROCESSES);
        self.run(&command)
    }

    fn remove_report(&mut self) -> Result<(), StoreError> {
        let mut command = script(REMOVE);
        command.arg(self.process());
        self.run::<u8>(&command).map(drop)
    }

    fn reports(&mut self) -> Result<Vec<String>, StoreError> {
        self.run(&script(READ))
    }
}
