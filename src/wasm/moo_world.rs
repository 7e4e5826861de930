//! The world of `moo` without a server: command frames in, checksums and snapshots out.
//!
//! No page uses this module. `tests/wasm/check.mjs` uses it to compare the world in the browser
//! with the native one. The functions contain no rule of the game.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tickwire::internal::games::moo::world::command::decode_frame;
use tickwire::internal::games::moo::world::{Identity, TickHz, World, rules_hash};
use tickwire::internal::limits;

use super::buffers::with;

/// The frame was executed.
const DONE: u32 = 0;
/// There is no world of this number.
const NO_WORLD: u32 = 1;
/// The input is not a command frame.
const BAD_INPUT: u32 = 2;
/// The command frame is not for the next tick.
const WRONG_TICK: u32 = 3;

/// The worlds by number.
#[derive(Default)]
struct Worlds {
    worlds: BTreeMap<u32, World>,
    last: u32,
}

thread_local! {
    static WORLDS: RefCell<Worlds> = RefCell::default();
}

fn store(world: World) -> u32 {
    WORLDS.with_borrow_mut(|Worlds { worlds, last }| {
        if worlds.len() >= limits::EMBEDDED_WORLDS {
            return 0;
        }
        *last += 1;
        worlds.insert(*last, world);
        *last
    })
}

/// Calls a function with a world. Returns `otherwise` for an unknown world.
fn call<T>(number: u32, otherwise: T, call: impl FnOnce(&mut World) -> T) -> T {
    WORLDS.with_borrow_mut(|worlds| worlds.worlds.get_mut(&number).map_or(otherwise, call))
}

/// Creates a world. Returns its number; 0 for an unknown tick rate, or if there are too many
/// worlds.
#[unsafe(no_mangle)]
pub extern "C" fn moo_world_new(seed: u32, map_size_px: u32, hz: u32) -> u32 {
    TickHz::try_from(hz).map_or(0, |tick_hz| store(World::new(Identity { seed, map_size_px, tick_hz })))
}

/// Restores a world from the snapshot in the input. Returns its number; 0 if there are too many
/// worlds. Also 0 for an invalid snapshot, with the error as text in the output.
#[unsafe(no_mangle)]
pub extern "C" fn world_restore() -> u32 {
    with(|buffers| match World::restore(&buffers.input) {
        Ok(world) => store(world),
        Err(error) => {
            buffers.put_out(error.to_string().into_bytes());
            0
        }
    })
}

/// Drops a world.
#[unsafe(no_mangle)]
pub extern "C" fn world_drop(number: u32) {
    WORLDS.with_borrow_mut(|worlds| worlds.worlds.remove(&number));
}

/// Steps a world with the command frame in the input. Returns 0; 1 for an unknown world, 2 for an
/// invalid frame, 3 for a frame of another tick. After an error the world is unchanged.
#[unsafe(no_mangle)]
pub extern "C" fn world_step(number: u32) -> u32 {
    with(|buffers| {
        call(number, NO_WORLD, |world| match decode_frame(&buffers.input) {
            Ok(frame) if frame.tick != world.tick() => WRONG_TICK,
            Ok(mut frame) => {
                world.step(&mut frame.commands);
                DONE
            }
            Err(_) => BAD_INPUT,
        })
    })
}

/// Returns the number of completed ticks; 0 for an unknown world.
#[unsafe(no_mangle)]
pub extern "C" fn world_tick(number: u32) -> u32 {
    call(number, 0, |world| world.tick())
}

/// Returns the checksum of a world; 0 for an unknown one.
#[unsafe(no_mangle)]
pub extern "C" fn world_checksum(number: u32) -> u64 {
    call(number, 0, |world| world.checksum())
}

/// Outputs a snapshot of a world. Returns its length; 0 for an unknown world.
#[unsafe(no_mangle)]
pub extern "C" fn world_snapshot(number: u32) -> usize {
    let snapshot = call(number, Vec::new(), |world| world.snapshot());
    with(|buffers| buffers.put_out(snapshot))
}

/// Returns the hash of this code, which must equal the server's.
#[unsafe(no_mangle)]
pub extern "C" fn moo_world_rules_hash() -> u64 {
    rules_hash()
}
