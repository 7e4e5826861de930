//! Network conditions: what a line does to the bytes of a TCP connection, computed in virtual time.
//!
//! ```text
//!  write ─► queue ─► line ─► flight ─► read        one direction: a Stream, timed by a Channel
//!           rate     loss    delay ± jitter
//! ```
//!
//! The model is that of a stream, not of packets: bytes arrive in order and complete, only later.
//! A lost segment arrives when TCP has sent it again, and all bytes behind it wait for it, which a
//! player sees as a stall. Nothing here reads a clock or opens a socket: time is an argument, and a
//! seed determines all random numbers. `tickwire net` applies the model to sockets, `tickwire
//! simulate --net` to its peers, and the tab edition to the page's connection.
//!
//! Not modelled: congestion control, the faster repair of a loss in a dense stream (fast
//! retransmit), and loss of acknowledgements.

mod conditions;
mod delay_histogram;
mod presets;
mod segment_scheduler;
mod stream;
mod units;

pub use conditions::{Conditions, Direction};
pub use delay_histogram::DelayHistogram;
pub use presets::{PRESETS, Preset, preset};
pub use segment_scheduler::{SegmentCounts, SegmentScheduler};
pub use stream::{Arrival, DelayedStream, DuplexLink};
pub use units::{parse_loss, parse_rate, parse_time};

#[cfg(test)]
mod tests;
