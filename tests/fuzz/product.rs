//! tickwire without `net`, `client` and `cli`: the pure part, which can be fuzzed. Of `client` there is the encoder
//! of typed packets.
//!
//! It compiles the sources of `src/` unchanged, under the same module names, so that a target reads
//! like a test.

use std::sync::OnceLock;

#[path = "../../src"]
#[allow(dead_code, reason = "targets use less of them than the server and the inspector")]
mod product {
    pub mod connection;
    pub mod datagram;
    pub mod game;
    /// The games without their list.
    pub mod games {
        pub mod moo;
    }
    pub mod limits;
    pub mod packet;
    pub mod tools {
        pub mod capture;
        pub mod explain;
        pub mod replay;
    }
    pub mod util {
        pub mod address_prefix;
        pub mod escape;
        pub mod plural;
        pub mod sync;
    }
    pub mod ws;
}

pub use games::moo::{feed, world};
pub use product::tools::{capture, explain, replay};
pub use product::{connection, datagram, game, games, limits, packet, tools, util, ws};
pub use tickwire_sim as sim;

/// Private modules under the names that `tickwire::internal` gives them.
pub mod internal {
    pub mod packet {
        pub mod routes {
            pub use crate::packet::routes::*;
        }
    }
    pub mod tools {
        pub mod capture {
            pub mod packet {
                pub use crate::tools::capture::packet::*;
            }
            pub mod pcapng {
                pub use crate::tools::capture::pcapng::*;
            }
            pub mod world_record {
                pub use crate::tools::capture::world_record::*;
            }
        }
        pub mod explain {
            pub mod input {
                pub use crate::tools::explain::input::*;
            }
        }
    }
}

/// Whether the bug that `planted.tsv` has for a target is awake. Only the copy of the sources that `scripts/fuzz.sh --planted` makes
/// asks; `TICKWIRE_PLANTED` answers.
pub fn planted(target: &str) -> bool {
    static AWAKE: OnceLock<String> = OnceLock::new();
    AWAKE.get_or_init(|| std::env::var("TICKWIRE_PLANTED").unwrap_or_default()) == target
}
