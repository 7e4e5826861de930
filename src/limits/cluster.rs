//! Bounds of a cluster: leases of rooms, requests to the lease store, relayed connections.

use std::time::Duration;

/// Time for which the store grants a lease. A room whose process has died can be taken after at
/// most this time, and must be back within 5 s; one lost renewal must not end a lease.
pub const CLUSTER_LEASE: Duration = Duration::from_secs(3);
/// Time by which an owner considers its lease expired before the store does: clocks whose rates
/// differ by 5 % over a lease, and the resolution of the store's clock.
pub const CLUSTER_LEASE_MARGIN: Duration = Duration::from_millis(300);
/// Interval of renewals. Four renewals fit in a lease.
pub const CLUSTER_RENEW_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum time of one request to the store, and of connecting to it. After this time, the request
/// counts as lost and the connection is closed.
pub const CLUSTER_STORE_TIMEOUT: Duration = Duration::from_millis(500);
/// Time after a failed request in which further requests fail immediately, so that threads of
/// connections do not queue for a store that does not respond.
pub const CLUSTER_STORE_RETRY_DELAY: Duration = Duration::from_millis(250);
/// Time without a successful renewal after which a process ends its rooms: the records of the store
/// last longer, so that a process never renews a lease whose record has expired.
pub const CLUSTER_MAX_OUTAGE: Duration = Duration::from_secs(600);
/// Time for which the store retains the record of a lease after its last change. The record has the
/// fencing number, without which an earlier owner could renew.
pub const CLUSTER_RECORD_TIME: Duration = Duration::from_secs(3600);
/// Maximum time that a request waits for its room: until the lease of a process that has died is
/// over, and until this process may acquire leases. After this time, it is refused with 503.
pub const CLUSTER_ROOM_WAIT: Duration = Duration::from_secs(5);
/// Interval at which such a request looks for its room.
pub const CLUSTER_ROOM_POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Maximum number of requests that wait for their rooms: each occupies a thread. Further requests
/// are refused with 503.
pub const CLUSTER_WAITING_REQUESTS: usize = 256;
/// Maximum time to connect to the process that has a room. After this time, the process counts as
/// unreachable, and the request waits for the room.
pub const CLUSTER_CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
/// Bytes that a relay reads at once, in each direction. A relay stores no other bytes: it reads
/// only after it has written.
pub const CLUSTER_RELAY_BYTES: usize = 16 * 1024;
/// Stack in bytes of the thread for the second direction of a relayed connection.
pub const CLUSTER_RELAY_STACK_BYTES: usize = 128 * 1024;
/// Maximum number of shared settings in the store, including removed ones: twice [`MAX_BANS`], so
/// that each ban and as many lifted ones have space. Above it, the oldest removed ones are
/// forgotten, and the store refuses new ones.
///
/// [`MAX_BANS`]: super::MAX_BANS
pub const CLUSTER_SETTINGS: usize = 2 * super::MAX_BANS;
/// Maximum bytes of a shared setting in the store: the longest notice with 4 bytes for each
/// character, and the version. A longer one is ignored.
pub const CLUSTER_SETTING_BYTES: usize = 1_024;
/// Time for which processes retain that a setting was removed: a process with a database that is
/// away for a shorter time does not bring back a ban that was lifted.
pub const CLUSTER_REMOVED_SETTING_TIME: Duration = Duration::from_secs(30 * 24 * 3600);
/// Interval at which processes exchange the best players, which change every second in a game
/// whose scores grow.
pub const CLUSTER_BEST_PLAYERS_INTERVAL: Duration = Duration::from_secs(5);
/// Time after which a process ends the relays of a banned address. Before, the owner of the room
/// can close the client with a reason.
pub const CLUSTER_BANNED_RELAY_TIME: Duration = Duration::from_secs(2);
/// Maximum number of processes with reports. Further processes have rooms, which the others do not
/// list.
pub const CLUSTER_PROCESSES: usize = 64;
/// Time for which the store retains the report of a process: after its death, its rooms are listed
/// as long as its leases last.
pub const CLUSTER_REPORT_TIME: Duration = CLUSTER_LEASE;
/// Minimum time between two reads of the reports by one process, however many requests need them.
pub const CLUSTER_REPORT_READ_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of rooms in the report of a process, so that a report with long properties has
/// half a megabyte. Further rooms are neither listed by other processes nor chosen for `?room=any`.
pub const CLUSTER_REPORT_ROOMS: usize = 256;
/// Maximum bytes of a room in a report: 8 properties of maximum length, and the other fields. A
/// longer room is left out.
pub const CLUSTER_ROOM_REPORT_BYTES: usize = 2 * 1_024;
