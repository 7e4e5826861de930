//! A multiplayer game server whose every byte you can inspect and whose every tick you can replay.
//!
//! A game consists of a type with a few functions, a table of its packets (with columns separated
//! by tabs, `\t`), and a page. This is a complete game: every player can press a button, and every
//! page shows the number of presses.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use tickwire::prelude::*;
//!
//! rows! {
//!     in TABLE;
//!
//!     /// The actions of a player.
//!     enum Action { Press in "press" {} }
//!
//!     /// What every client sees.
//!     struct StateRow in "state" { count: u32 }
//! }
//!
//! fields! {
//!     /// The state of the game.
//!     struct Presses { count: u32 }
//! }
//!
//! impl SimpleGame for Presses {
//!     const NAME: &'static str = "presses";
//!     const DIALECT: &'static str = "presses";
//!     const TABLE: (&'static str, &'static str) = ("presses.tsv", TABLE);
//!     const PAGE: &'static str = PAGE;
//!     type Action = Action;
//!
//!     fn new(_: &WorldParams) -> Presses {
//!         Presses { count: 0 }
//!     }
//!     fn join(&mut self, _: PlayerId, _: &Joining<'_>, _: &mut TickContext<'_>) {}
//!     fn leave(&mut self, _: PlayerId, _: &mut TickContext<'_>) {}
//!     fn apply(&mut self, _: PlayerId, _: Action, _: &mut TickContext<'_>) -> ActionResult {
//!         self.count += 1;
//!         Ok(())
//!     }
//!     fn tick(&mut self, _: &mut TickContext<'_>) {}
//!     fn write_state(&self, rows: &mut StateRows) {
//!         rows.push(StateRow { count: self.count });
//!     }
//! }
//!
//! const TABLE: &str = "direction\tname\tlane\tpresses:int\targuments\tmeaning
//! to_server\thello\treliable\t1\tversion:u16 mode:u8<=1 name:str<=15|nil\tthe first packet
//! to_server\tjoin\treliable\t2\tname:str<=15|nil\tjoin the game
//! to_server\tping\treliable\t3\tnonce:u32\tanswered immediately
//! to_server\tpress\treliable\t4\tsequence:u32 tick:u32.tick|nil\tpress the button
//! to_client\twelcome\treliable\t1\tversion:u16 rules_hash:str seed:u32 tick_hz:u8 \
//!     update_hz:u8 epoch:str tick:u32.tick\tresponse to hello
//! to_client\tspawned\tlatest\t2\tplayer:u16\tthe client has a player
//! to_client\tpong\treliable\t3\tnonce:u32 tick:u32.tick\tresponse to ping
//! to_client\terror\treliable\t4\trule:str detail:str\ta packet was dropped
//! to_client\tstate\tlatest\t5\ttick:u32.tick count:u32\tthe whole state
//! ";
//!
//! const PAGE: &str = "<!doctype html><title>Presses</title><button>0</button>
//! <script type=module>
//!   import { connect } from './tickwire.js';
//!   const button = document.querySelector('button');
//!   const state = ({ count }) => { button.textContent = count; };
//!   const game = await connect({ name: 'guest', on: { state } });
//!   button.onclick = () => game.send('press');
//! </script>";
//!
//! fn main() -> ExitCode {
//!     tickwire::serve::<Simple<Presses>>()
//! }
//! ```
//!
//! The program has a command line. Without arguments it serves the game at
//! `http://localhost:3000/`, with an inspector of all its traffic at `/wire`. `--help` lists the
//! other commands, such as captures, replay, bots and a simulation. `docs/your-first-game.md` in
//! the repository develops a game step by step.
//!
//! # To write a game
//!
//! - [`prelude`]: the imports of a simple game.
//! - [`game`]: the traits [`SimpleGame`](game::SimpleGame), for games in which every client sees
//!   the same state, and [`Game`](game::Game), for all others.
//! - [`sim`]: the parts of a deterministic world: fields, commands, random numbers, fixed-point
//!   numbers and angles.
//! - [`packet`]: the packet tables, and packets with their values.
//! - [`serve()`]: runs the program, with its command line.
//! - [`synctest()`]: a check for a game's tests that finds state missing from its snapshots.
//! - [`Server`]: starts a server in another program, without a command line.
//!
//! Without the default feature `built-in-games`, a program compiles its own game alone:
//! `cargo add tickwire --no-default-features`. The games of the repository, their packet tables
//! ([`packet::PacketTables::builtin`] is then empty) and `bots --attack` are absent.
//!
//! # To write a client
//!
//! - [`client`]: a client that sends packets and waits for answers, as tests do; bots; a connection
//!   without I/O.
//!
//! # WebSocket alone
//!
//! - [`ws`]: RFC 6455 for servers and clients, without I/O.
//!
//! # Inspecting traffic
//!
//! - [`explain`]: the meaning of every bit of some bytes, and the rule that they break.
//! - [`capture`]: reads captures for Wireshark.
//!
//! # How it works
//!
//! ```text
//!               bytes in                                           bytes out
//!  server/net   ───┬─────────── threads, sockets, clocks ────────────▲────
//!  connection      │  ServerConnection                               │ Sender (bounded queue)
//!  ws              ▼  head → upgrade → frame → message    → frame ───┤
//!  packet          ▼  MessagePack → code → packet         → bytes ───┤
//!  connection      ▼  session: packet → command                      │
//!  games           │                       updates of each client ───┤
//!  server/room     └──────►   step(commands) → state, events ────────┘
//! ```
//!
//! Input goes down the left side, the world ticks at the bottom, and output goes up the right side.
//! Most of the code is pure: bytes in, values out; no socket, no clock, no thread, no file. A whole
//! server therefore also runs in virtual time, and in a browser. ARCHITECTURE.md in the repository
//! has the details.

// An own game does not use what only the built-in games, the tests and the browser package use.
#![cfg_attr(not(feature = "built-in-games"), allow(dead_code, unused_imports))]

#[cfg(all(test, not(feature = "built-in-games")))]
compile_error!("the tests play the built-in games: they need the feature `built-in-games`");

// A prediction module, which the command `prediction` of a program builds for its page with
// `--cfg tickwire_prediction`, has the rules of the game and nothing of the server.

// Public modules come first, in the order of the data flow, then the modules that only this
// repository uses.

pub mod ws;

pub mod packet;

#[doc(inline)]
pub use tickwire_sim as sim;

pub mod game;

pub mod prelude;

#[cfg(not(tickwire_prediction))]
#[doc(inline)]
pub use tools::{capture, explain};

#[cfg(not(tickwire_prediction))]
pub mod client;

mod limits;

mod util;

#[cfg(not(tickwire_prediction))]
mod datagram;

#[cfg(all(feature = "webrtc", not(target_family = "wasm")))]
mod webrtc;

#[cfg(not(tickwire_prediction))]
mod connection;

#[cfg(not(tickwire_prediction))]
mod games;

#[cfg(not(tickwire_prediction))]
mod tools;

#[cfg(not(tickwire_prediction))]
mod server;

#[cfg(tickwire_prediction)]
extern crate self as tickwire;

/// The exports of a program's prediction module.
#[cfg(tickwire_prediction)]
#[path = "wasm/lib.rs"]
mod wasm;

#[cfg(not(target_family = "wasm"))]
mod testing;

#[cfg(not(target_family = "wasm"))]
mod cli;

#[cfg(not(target_family = "wasm"))]
pub use testing::synctest::{Desync, SynctestError, SynctestReport, synctest};

#[cfg(not(target_family = "wasm"))]
pub use server::builder::{
    ClientProfile, Durability, LaneMode, Lockstep, OnJournalError, OnRefusedJournal, PlayerProfile,
    RoomAccess, RoomError, RoomSpec, RunningServer, Server, ServerEvent, ServerEventKind, StartError,
};

/// What the exports of a prediction module use.
#[cfg(tickwire_prediction)]
#[doc(hidden)]
pub mod internal {
    pub mod limits {
        pub use crate::limits::*;
    }
    pub mod util {
        pub use crate::util::*;
    }
}

// Hidden from rustdoc, which would otherwise treat links between private modules as links between
// public ones. An own game does not compile functions that only this module exports.
#[cfg(all(not(any(doc, tickwire_prediction)), feature = "built-in-games"))]
#[doc(hidden)]
pub mod internal {
    //! Private modules that this repository's program, tests, benchmarks and browser package use.
    //! Anything here may change or disappear in any version.

    /// Exports modules of this crate under their own names, with their public items.
    macro_rules! modules {
        ($($name:ident)*) => {
            $(pub mod $name {
                pub use crate::$name::*;
            })*
        };
    }

    /// Exports private modules of a public module under their own names, with their public items.
    macro_rules! private_modules {
        ($($parent:ident: $($name:ident)*;)*) => {
            $(pub mod $parent {
                $(pub mod $name {
                    pub use crate::$parent::$name::*;
                })*
            })*
        };
    }

    modules! { connection datagram games limits server util }
    private_modules! {
        ws: utf8;
        packet: angle credentials routes tables tables_json;
    }

    #[cfg(not(target_family = "wasm"))]
    modules! { cli testing }

    pub mod client {
        /// Worlds that bots in lockstep share.
        pub mod shared_world {
            pub use crate::client::bots::shared_world::*;
        }
        /// The client of `tickwire echo`.
        #[cfg(not(target_family = "wasm"))]
        pub mod echo {
            pub use crate::client::echo::*;
        }
        #[cfg(not(target_family = "wasm"))]
        pub use crate::client::recv_buffer::connect_with_recv_buffer;
    }

    pub mod tools {
        pub use crate::tools::{inspector, playback, quiz, replay};

        pub mod explain {
            pub mod color {
                pub use crate::tools::explain::color::*;
            }
            pub mod dialect_guess {
                pub use crate::tools::explain::dialect_guess::*;
            }
            pub mod input {
                pub use crate::tools::explain::input::*;
            }
            pub mod print {
                pub mod streaming {
                    pub use crate::tools::explain::print::streaming::*;
                }
            }
        }

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
            pub mod writer {
                pub use crate::tools::capture::writer::*;
            }
        }
    }
}

/// Runs a program with this game: the whole command line, with `serve` as the default command. The
/// [crate documentation](crate) has an example. If the game has bots that play it
/// ([`SimpleGame::bot_policy`](game::simple::SimpleGame::bot_policy)), they fill the rooms up to 12
/// players until people come; `--bots 0` turns them off.
///
/// A browser has no command line: there this registers the game for the server that `src/wasm` in
/// the repository starts, or the prediction of the game.
pub fn serve<G: game::Game>() -> std::process::ExitCode {
    #[cfg(not(target_family = "wasm"))]
    let code = cli::run_of(&[cli::GameEntry::of::<G>()]);
    #[cfg(tickwire_prediction)]
    let code = {
        game::prediction::register(G::PREDICTOR);
        #[cfg(tickwire_world_module)]
        game::registered_game::register(G::INFO);
        std::process::ExitCode::SUCCESS
    };
    #[cfg(all(target_family = "wasm", not(tickwire_prediction)))]
    let code = {
        server::embedded::register::<G>();
        std::process::ExitCode::SUCCESS
    };
    code
}

/// As [`serve()`], with a function for the [events](ServerEvent) of the server, as
/// [`Server::on_event`] describes. The other commands, such as `replay`, have no events.
#[cfg(not(target_family = "wasm"))]
pub fn serve_with_events<G: game::Game>(
    on_event: impl FnMut(ServerEvent) + Send + 'static,
) -> std::process::ExitCode {
    let hook = server::net::server_events::EventHook::new(on_event);
    cli::run_with_events(&[cli::GameEntry::of::<G>()], hook)
}
