//! tickwire: a multiplayer game server whose every byte you can inspect and whose every tick you
//! can replay.
//!
//! ```text
//!         bytes in                                             bytes out
//!  net/   ────┬──────────── threads, sockets, clocks ──────────────▲────
//!  peer/      │  Receiver                                          │ Sender (bounded)
//!  ws/        ▼  head → upgrade → frame → message    → frame ──────┤
//!  packet/    ▼  MessagePack → code → Packet         → bytes ──────┤
//!  session    ▼  Packet → Command                                  │
//!  games/     │  what packets mean    updates of each client ──────┤
//!  room/      └──────►   tick(commands) → state, events   ─────────┘
//! ```
//!
//! Input goes down the left side, the world ticks at the bottom, and output goes up the right side.
//! The decoder and the encoder of a layer are in the same file, except for typed packets: the
//! server decodes those of clients and encodes its own, and [`client`] does the reverse. Everything
//! except [`platform`], [`net`], [`client`], [`testkit`] and [`cli`] is pure: bytes in, values out;
//! no socket, no clock, no thread, no file. The library builds for WebAssembly without
//! [`platform`], [`net`], [`testkit`], [`cli`], the sockets of [`client`], and [`simulate`].
//!
//! A game is a type that implements [`game::Game`], or the simpler [`game::SimpleGame`]; [`serve`] runs
//! it as a program. `docs/your-first-game.md` writes one.
//!
//! The modules, in the order of the flow: [`limits`], [`sync`], [`household`], [`visible`], [`plural`], [`ws`],
//! [`packet`], [`sim`], [`game`], [`session`], [`peer`], [`games`], [`room`], [`host`], [`explain`],
//! [`capture`], [`inspector`], [`platform`], [`replay`], [`client`], [`embedded`], [`testkit`], [`simulate`],
//! [`net`], [`cli`].

pub mod limits;

pub mod sync;

pub mod household;

pub mod visible;

pub mod plural;

pub mod ws;

pub mod packet;

pub mod game;

pub mod session;

pub mod peer;

pub use tickwire_sim as sim;

pub mod games;

pub mod room;

pub mod host;

pub mod explain;

pub mod capture;

pub mod inspector;

#[cfg(not(target_family = "wasm"))]
pub mod platform;

pub mod replay;

pub mod client;

pub mod embedded;

#[cfg(not(target_family = "wasm"))]
pub mod testkit;

#[cfg(not(target_family = "wasm"))]
pub mod simulate;

#[cfg(not(target_family = "wasm"))]
pub mod net;

#[cfg(not(target_family = "wasm"))]
pub mod cli;

/// Runs a program whose game is this one: the whole command line, with `serve` as the default command.
///
/// ```no_run
/// # use tickwire::games::moo::Moo;
/// fn main() -> std::process::ExitCode {
///     tickwire::serve::<Moo>()
/// }
/// ```
///
/// In a browser there is no command line: the game becomes that of the server in the tab, which
/// `src/tab` starts.
pub fn serve<G: game::Game>() -> std::process::ExitCode {
    #[cfg(not(target_family = "wasm"))]
    let code = cli::run_of(&[cli::Registered::of::<G>()]);
    #[cfg(target_family = "wasm")]
    let code = {
        embedded::register::<G>();
        std::process::ExitCode::SUCCESS
    };
    code
}
