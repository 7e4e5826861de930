//! Bounds of prediction in clients.

use std::time::Duration;

/// Maximum number of ticks that a client predicts at once: 8 s at 30 Hz. With more ticks,
/// prediction starts at a later tick.
pub const PREDICTED_TICKS: u32 = 240;
/// Maximum number of commands of a client that wait for an ack. The oldest is dropped.
pub const PREDICTED_COMMANDS: usize = 512;
/// Time without received packets during which the local player still moves. The page sends a ping
/// every 2 s, so a longer silence means a lost connection. After this time, the player stops until
/// a packet arrives.
pub const PREDICTION_IDLE_LIMIT: Duration = Duration::from_secs(3);
/// Time after which a command without an ack counts as rejected.
pub const PREDICTED_UNANSWERED: Duration = Duration::from_secs(2);
/// Time over which past delays determine the lead of a client. A connection that loses a segment
/// every few seconds therefore retains a longer lead.
pub const LEAD_WINDOW: Duration = Duration::from_secs(60);
/// The most recent part of [`LEAD_WINDOW`]. A single long delay in this part increases the lead. An
/// older delay counts only if it was repeated.
pub const LEAD_RECENT: Duration = Duration::from_secs(5);
/// Maximum number of events of the local player that the client has not processed, such as swings
/// while its page is hidden. The oldest is dropped.
pub const PREDICTED_EVENTS: usize = 16;
/// Maximum time by which the predicted state may be ahead of the client's clock, after the clock
/// has slowed down. If the clock steps back by more, the local player is re-simulated for the
/// earlier tick.
pub const MAX_RESIMULATION: Duration = Duration::from_millis(200);
/// Maximum number of stored delays for the lead. The oldest is dropped.
pub const LEAD_SAMPLES: usize = 512;
/// Maximum difference between the lead and the shortest delay. At 150 ms of delay, a packet loss
/// delays the data by about 400 ms. Longer delays are handled by corrections.
pub const MAX_LEAD_JITTER: Duration = Duration::from_millis(500);
/// Time in which most of a prediction error fades on the screen.
pub const CORRECTION_TIME: Duration = Duration::from_millis(100);
/// Maximum distance of a correction that is blended, in px. A longer correction is applied at once.
pub const CORRECTION_SMOOTHED_PX: i64 = 400;
/// Number of corrections that are stored for percentiles: more than a minute of updates.
pub const CORRECTION_SAMPLES: usize = 4_096;
/// Maximum time of extrapolation of remote players without updates. At 2 % loss, a longer time
/// increases the rare large errors. After this time, remote players stop.
pub const MAX_EXTRAPOLATION: Duration = Duration::from_millis(500);
/// Time in which remote players blend from the extrapolated to the received position.
pub const EXTRAPOLATION_BLEND_TIME: Duration = Duration::from_millis(100);
/// Maximum interpolation delay of remote players, even with high jitter.
pub const MAX_INTERPOLATION_DELAY: Duration = Duration::from_millis(400);
/// Number of stored positions of a remote player: more than a second.
pub const TRACK_SAMPLES: usize = 64;
