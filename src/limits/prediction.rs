//! The bounds of prediction in clients.

use std::time::Duration;

/// Ticks that a client runs at once at most: 8 s at 30 a second. Beyond: it goes on from a later
/// tick.
pub const PREDICTED_TICKS: u32 = 240;
/// Commands of a client that wait for the server's answer. Beyond: the oldest is given up.
pub const PREDICTED_COMMANDS: usize = 512;
/// Time without any news in which the own player still moves. The page sends a ping every 2 s, so a
/// longer silence is a dead line. Beyond: it stands until there is news.
pub const PREDICTION_IDLE_LIMIT: Duration = Duration::from_secs(3);
/// Time after which a command that the server has not applied counts as rejected.
pub const PREDICTED_UNANSWERED: Duration = Duration::from_secs(2);
/// The lead of a client covers the delays of this time: long enough that a line that loses a segment
/// every few seconds keeps its lead.
pub const LEAD_WINDOW: Duration = Duration::from_secs(60);
/// The part of it in which a single delay counts.
pub const LEAD_RECENT: Duration = Duration::from_secs(5);
/// Events of the own player that a client has not taken, such as swings while its page is hidden. Beyond: the oldest is
/// forgotten.
pub const PREDICTED_EVENTS: usize = 16;
/// How far back the clock may go before the own player is shown as it was then. It slows down by less.
pub const MAX_RESIMULATION: Duration = Duration::from_millis(200);
/// Delays that are remembered for the lead. Beyond: the oldest is forgotten.
pub const LEAD_SAMPLES: usize = 512;
/// How much longer than the shortest delay a lead may be: one loss on a line of 150 ms takes about
/// 400 ms. Longer delays are corrected.
pub const MAX_LEAD_JITTER: Duration = Duration::from_millis(500);
/// Time in which most of a correction is made up on the screen.
pub const CORRECTION_TIME: Duration = Duration::from_millis(100);
/// Corrections up to this distance in px are made up smoothly; a longer one is a jump.
pub const CORRECTION_SMOOTHED_PX: i64 = 400;
/// Corrections that are remembered for percentiles: a minute and more of updates.
pub const CORRECTION_SAMPLES: usize = 4_096;
/// Time for which others are run on without news: on a line that loses 2 %, more makes the rare long errors longer.
/// Beyond: they stand.
pub const MAX_EXTRAPOLATION: Duration = Duration::from_millis(500);
/// Time in which others glide from where they were run on to where they are, once that is heard.
pub const EXTRAPOLATION_BLEND_TIME: Duration = Duration::from_millis(100);
/// Most time by which others are shown behind the newest update, however bad the line.
pub const MAX_INTERPOLATION_DELAY: Duration = Duration::from_millis(400);
/// Positions of another player that a client remembers: a second and more.
pub const TRACK_SAMPLES: usize = 64;
