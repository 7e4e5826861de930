//! tickwire without `net`, `client` and `cli`: the pure part, which can be fuzzed. Of `client` there is the encoder
//! of typed packets.
//!
//! It compiles the sources of `src/` unchanged, under the same module names, so that a target reads
//! like a test.

use std::sync::OnceLock;

#[path = "../../src"]
#[allow(dead_code, reason = "targets use less of them than the server and the inspector")]
mod product {
    pub mod capture;
    pub mod explain;
    pub mod game;
    /// The games without the list of them, whose entries are of hosts.
    pub mod games {
        pub mod moo;
    }
    pub mod limits;
    pub mod packet;
    pub mod peer;
    pub mod plural;
    pub mod replay;
    pub mod session;
    pub mod sync;
    pub mod visible;
    pub mod ws;
}

pub use games::moo::{feed, world};
pub use product::{
    capture, explain, game, games, limits, packet, peer, plural, replay, session, sync, visible, ws,
};
pub use tickwire_sim as sim;

#[path = "../../src/internal/parts.rs"]
pub mod internal;

/// Whether the bug that `planted.tsv` has for a target is awake. Only the copy of the sources that `scripts/fuzz.sh --planted` makes
/// asks; `TICKWIRE_PLANTED` answers.
pub fn planted(target: &str) -> bool {
    static AWAKE: OnceLock<String> = OnceLock::new();
    AWAKE.get_or_init(|| std::env::var("TICKWIRE_PLANTED").unwrap_or_default()) == target
}
