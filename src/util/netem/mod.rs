//! Simulated network conditions for the bytes of a TCP connection, computed in virtual time.
//!
//! ```text
//!  write ─► queue ─► rate ─► loss ─► delay ± jitter ─► read
//!
//!  one direction: a DelayedStream, timed by a SegmentScheduler
//! ```
//!
//! The stream is modelled as a stream, not as packets: bytes arrive complete and in order, only
//! later. A lost segment arrives when TCP has resent it, and all bytes after it wait for it, which
//! a player sees as a stall. The module reads no clock and opens no socket: time is an argument,
//! and a seed determines all random numbers. `tickwire netem` applies the model to sockets,
//! `tickwire simulate --netem` to its connections, and the browser edition to the page's
//! connection.
//!
//! [`DelayedDatagrams`] are the datagrams of a lane under the same conditions: each is lost or
//! arrives by itself.
//!
//! Not modelled: congestion control, fast retransmit (which repairs a loss in a dense stream
//! sooner), and loss of acknowledgements.

mod conditions;
mod datagrams;
mod delay_histogram;
mod presets;
mod segment_scheduler;
mod stream;
mod units;

pub use conditions::{Conditions, Direction};
pub use datagrams::{DatagramLink, DelayedDatagrams};
pub use delay_histogram::DelayHistogram;
pub use presets::{PRESETS, Preset, preset};
pub use segment_scheduler::{SegmentCounts, SegmentScheduler};
pub use stream::{Arrival, DelayedStream, DuplexLink};
pub use units::{parse_loss, parse_rate, parse_time};

#[cfg(test)]
mod tests;
