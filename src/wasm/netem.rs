//! A simulated line between a page and its server: when each message arrives.

use std::cell::RefCell;
use std::time::Duration;

use tickwire::internal::util::netem::{Conditions, Direction, PRESETS, SegmentScheduler};

use super::buffers::with;

/// The conditions, and the two directions of the connection.
struct Line {
    conditions: Conditions,
    up: SegmentScheduler,
    down: SegmentScheduler,
}

impl Line {
    fn new(conditions: Conditions, seed: u64) -> Line {
        let channel = |direction| SegmentScheduler::new(&conditions, direction, seed);
        Line { conditions, up: channel(Direction::Up), down: channel(Direction::Down) }
    }
}

thread_local! {
    static LINE: RefCell<Line> = RefCell::new(Line::new(Conditions::default(), 0));
}

/// Puts out the named conditions, a line for each: its name, a tab, and what it is.
#[unsafe(no_mangle)]
pub extern "C" fn netem_presets() -> usize {
    let lines: String = PRESETS.map(|preset| format!("{}\t{}\n", preset.name, preset.description)).concat();
    with(|buffers| buffers.put_out(lines.into_bytes()))
}

/// Takes the input as conditions, such as `wifi`; none for a perfect line. Puts out `+` and all their
/// figures, or `-` and why there are no such conditions; then nothing changes.
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
                });
                format!("+{conditions}")
            }
            Err(why) => format!("-{why}"),
        };
        buffers.put_out(output.into_bytes())
    })
}

/// Begins a connection.
#[unsafe(no_mangle)]
pub extern "C" fn netem_open(seed: u32) {
    LINE.with_borrow_mut(|line| *line = Line::new(line.conditions, seed.into()));
}

/// The time at which a message of so many bytes has arrived that leaves now, in milliseconds of the
/// page's clock. `is_up`: 1 from the page to the server.
#[unsafe(no_mangle)]
pub extern "C" fn netem_send(is_up: u32, now_ms: f64, bytes: usize) -> f64 {
    let now = Duration::try_from_secs_f64(now_ms / 1000.0).unwrap_or_default();
    LINE.with_borrow_mut(|line| {
        let channel = if is_up == 0 { &mut line.down } else { &mut line.up };
        let mut arrives = now;
        // What has left the line by now no longer counts.
        channel.queued(now);
        channel.send(now, bytes, |_, at| arrives = arrives.max(at));
        arrives.as_secs_f64() * 1000.0
    })
}
