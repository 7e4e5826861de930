//! A simulated network between a page and its server. Returns the arrival time of each message.

use std::cell::RefCell;
use std::time::Duration;

use tickwire::internal::util::netem::{Conditions, DelayedDatagrams, Direction, PRESETS, SegmentScheduler};

use super::buffers::with;

/// The conditions, and the two directions of the connection.
struct NetemLink {
    conditions: Conditions,
    up: SegmentScheduler,
    down: SegmentScheduler,
    up_datagrams: DelayedDatagrams,
    down_datagrams: DelayedDatagrams,
}

impl NetemLink {
    fn new(conditions: Conditions, seed: u64) -> NetemLink {
        let channel = |direction| SegmentScheduler::new(&conditions, direction, seed);
        NetemLink {
            conditions,
            up: channel(Direction::Up),
            down: channel(Direction::Down),
            up_datagrams: DelayedDatagrams::new(&conditions, Direction::Up, seed.rotate_left(32)),
            down_datagrams: DelayedDatagrams::new(&conditions, Direction::Down, !seed.rotate_left(32)),
        }
    }
}

thread_local! {
    static LINE: RefCell<NetemLink> = RefCell::new(NetemLink::new(Conditions::default(), 0));
}

/// Outputs the presets, one per line: name, tab, description.
#[unsafe(no_mangle)]
pub extern "C" fn netem_presets() -> usize {
    let lines: String = PRESETS.map(|preset| format!("{}\t{}\n", preset.name, preset.description)).concat();
    with(|buffers| buffers.put_out(lines.into_bytes()))
}

/// Sets the conditions in the input, such as `wifi`; an empty input sets a perfect network. Outputs
/// `+` and all values, or `-` and an error. After an error the conditions are unchanged.
#[unsafe(no_mangle)]
pub extern "C" fn netem_set() -> usize {
    with(|buffers| {
        let text = String::from_utf8_lossy(&buffers.input).into_owned();
        let conditions = if text.is_empty() { Ok(Conditions::default()) } else { text.parse::<Conditions>() };
        let output = match conditions {
            Ok(conditions) => {
                LINE.with_borrow_mut(|line| {
                    line.conditions = conditions;
                    line.up.set_conditions(&conditions);
                    line.down.set_conditions(&conditions);
                    line.up_datagrams.set_conditions(&conditions);
                    line.down_datagrams.set_conditions(&conditions);
                });
                format!("+{conditions}")
            }
            Err(why) => format!("-{why}"),
        };
        buffers.put_out(output.into_bytes())
    })
}

/// Starts a new connection with the same conditions.
#[unsafe(no_mangle)]
pub extern "C" fn netem_open(seed: u32) {
    LINE.with_borrow_mut(|line| *line = NetemLink::new(line.conditions, seed.into()));
}

/// Returns the arrival time of a message of this many bytes sent at `now_ms`, in milliseconds of
/// the page's clock. `is_up` is 1 for a message from the page to the server, otherwise 0.
#[unsafe(no_mangle)]
pub extern "C" fn netem_send(is_up: u32, now_ms: f64, bytes: usize) -> f64 {
    let now = Duration::try_from_secs_f64(now_ms / 1000.0).unwrap_or_default();
    LINE.with_borrow_mut(|line| {
        let channel = if is_up == 0 { &mut line.down } else { &mut line.up };
        let mut arrives = now;
        // Removes bytes that have left the queue by now.
        channel.queued(now);
        channel.send(now, bytes, |_, at| arrives = arrives.max(at));
        arrives.as_secs_f64() * 1000.0
    })
}

/// Like [`netem_send`], for a datagram. Returns a negative number if the datagram is lost.
#[unsafe(no_mangle)]
pub extern "C" fn netem_send_datagram(is_up: u32, now_ms: f64, bytes: usize) -> f64 {
    let now = Duration::try_from_secs_f64(now_ms / 1000.0).unwrap_or_default();
    LINE.with_borrow_mut(|line| {
        let datagrams = if is_up == 0 { &mut line.down_datagrams } else { &mut line.up_datagrams };
        datagrams.schedule(bytes, false, now).map_or(-1.0, |arrives| arrives.as_secs_f64() * 1000.0)
    })
}
