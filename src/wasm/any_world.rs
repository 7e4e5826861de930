//! The world of any game without a server: command frames in, checksums out.
//!
//! No page uses this module. `tests/wasm/games.mjs` and `synctest --wasm` use it to compare the
//! world in the browser with the native one.

use std::cell::RefCell;

use tickwire::game::{DynWorld, GameInfo};

use super::buffers::with;

/// The frame was executed.
const DONE: u32 = 0;
/// There is no world.
const NO_WORLD: u32 = 1;
/// The input is not a command frame of the game, or it is for another tick.
const BAD_INPUT: u32 = 2;

thread_local! {
    static WORLD: RefCell<Option<(&'static GameInfo, Box<dyn DynWorld>)>> = RefCell::default();
}

/// Returns the game of this name.
#[cfg(not(tickwire_world_module))]
fn find_game(name: &str) -> Option<&'static GameInfo> {
    tickwire::internal::server::embedded::game(Some(name)).map(|game| game.info)
}

/// Returns the program's own game, which has registered it in its `main`.
#[cfg(tickwire_world_module)]
fn find_game(name: &str) -> Option<&'static GameInfo> {
    tickwire::game::registered_game::registered().filter(|game| game.name == name)
}

/// Replaces the world by a new one of the game named in the input. Returns 0, or 1 for an unknown
/// game.
#[unsafe(no_mangle)]
pub extern "C" fn any_world_start(seed: u32) -> u32 {
    let game = with(|buffers| find_game(std::str::from_utf8(&buffers.input).ok()?));
    let Some(info) = game else { return NO_WORLD };
    WORLD.set(Some((info, (info.new_world)(&(info.identity)(seed)))));
    DONE
}

/// Steps the world with the command frame in the input. Returns 0; 1 without a world; 2 if the
/// input is not a frame for the next tick. After an error the world is unchanged.
#[unsafe(no_mangle)]
pub extern "C" fn any_world_step() -> u32 {
    with(|buffers| {
        WORLD.with_borrow_mut(|world| {
            let Some((info, world)) = world else { return NO_WORLD };
            match (info.frame)(&buffers.input) {
                Ok(frame) if frame.tick == world.tick() => {
                    world.step(&frame.commands);
                    DONE
                }
                _ => BAD_INPUT,
            }
        })
    })
}

/// Returns the checksum of the world; 0 without one.
#[unsafe(no_mangle)]
pub extern "C" fn any_world_checksum() -> u64 {
    WORLD.with_borrow(|world| world.as_ref().map_or(0, |(_, world)| world.checksum()))
}

/// Writes the snapshot of the world to the output. Returns its length; 0 without a world.
#[unsafe(no_mangle)]
pub extern "C" fn any_world_snapshot() -> usize {
    let snapshot = WORLD.with_borrow(|world| world.as_ref().map(|(_, world)| world.snapshot()));
    with(|buffers| buffers.put_out(snapshot.unwrap_or_default()))
}
