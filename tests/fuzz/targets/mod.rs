//! The targets, and their common code.
//!
//! A target takes arbitrary bytes and panics if an invariant is violated. No state outlives an
//! input, except tables that are built once.

mod capture;
mod datagram;
mod deflate;
mod dialects;
mod explain;
mod frame;
mod head;
mod msgpack;
mod session;
mod stream;

/// The code that runs on each input: it panics if an invariant is violated.
pub type Target = fn(&[u8]);

/// All of them, by the name that `scripts/fuzz.sh` takes.
pub const ALL: [(&str, Target); 10] = [
    ("head", head::run),
    ("frame", frame::run),
    ("stream", stream::run),
    ("msgpack", msgpack::run),
    ("dialects", dialects::run),
    ("explain", explain::run),
    ("session", session::run),
    ("capture", capture::run),
    ("datagram", datagram::run),
    ("deflate", deflate::run),
];

/// Takes the first byte off, as a choice among so many; the first of them when there is none.
fn choose(bytes: &mut &[u8], among: usize) -> usize {
    let Some((first, rest)) = bytes.split_first() else { return 0 };
    *bytes = rest;
    usize::from(*first) % among
}
