//! The bare world, without a server: command frames in, checksums and snapshots out.
//!
//! No page calls this. `tests/wasm/check.mjs` does, to compare the world that the browser runs with
//! the native one. The functions contain no rule of the game.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tickwire::internal::games::moo::world::command::decode_frame;
use tickwire::internal::games::moo::world::{Identity, TickHz, World, rules_hash};
use tickwire::limits;

use super::buffers::with;

/// The frame was executed.
const DONE: u32 = 0;
/// There is no world of this number.
const NO_WORLD: u32 = 1;
/// The input is not a command frame.
const BAD_INPUT: u32 = 2;
/// The command frame is not for the next tick.
const WRONG_TICK: u32 = 3;

/// The worlds, by number.
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

/// Calls with a world; `otherwise` if there is no such world.
fn call<T>(number: u32, otherwise: T, call: impl FnOnce(&mut World) -> T) -> T {
    WORLDS.with_borrow_mut(|worlds| worlds.worlds.get_mut(&number).map_or(otherwise, call))
}

/// A new world; 0 if there is no such tick rate, or there are too many worlds.
#[unsafe(no_mangle)]
pub extern "C" fn moo_world_new(seed: u32, map_size_px: u32, hz: u32) -> u32 {
    TickHz::try_from(hz).map_or(0, |tick_hz| store(World::new(Identity { seed, map_size_px, tick_hz })))
}

/// A world from the snapshot in the input; 0 if it is no snapshot, with the reason as text, or if
/// there are too many worlds.
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

/// Steps a world with the command frame in the input. Returns 0; or 1 without a world, 2 if the
/// input is no frame, 3 if it is for another tick, and then nothing happens.
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

/// The number of completed ticks; 0 without a world.
#[unsafe(no_mangle)]
pub extern "C" fn world_tick(number: u32) -> u32 {
    call(number, 0, |world| world.tick())
}

/// The checksum of a world; 0 without one.
#[unsafe(no_mangle)]
pub extern "C" fn world_checksum(number: u32) -> u64 {
    call(number, 0, |world| world.checksum())
}

/// A snapshot of a world: the length of the output; 0 without a world.
#[unsafe(no_mangle)]
pub extern "C" fn world_snapshot(number: u32) -> usize {
    let snapshot = call(number, Vec::new(), |world| world.snapshot());
    with(|buffers| buffers.put_out(snapshot))
}

/// The number of this code, which a server must have too.
#[unsafe(no_mangle)]
pub extern "C" fn moo_world_rules_hash() -> u64 {
    rules_hash()
}
