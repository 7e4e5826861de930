//! The shim: the world as functions that a browser can call.
//!
//! Comes in: numbers, and bytes that the caller wrote into the input buffer. Goes out: numbers, and bytes in the output
//! buffer. Never: a rule of the game; those are in `tickwire_world`, which this crate only passes through.
//!
//! This is the one crate with `unsafe`: WebAssembly knows numbers only, so an instance goes over the border as an address.
//! Every function but [`instance_new`] demands the same of its caller: `instance` is 0, or what `instance_new` returned and
//! [`instance_free`] has not been given. The address 0 is answered with [`NO_WORLD`] or 0 and does nothing. JavaScript on a
//! page is single-threaded and calls one function at a time, so no two references to an instance exist at once.
//!
//! To give bytes: `instance_input(instance, length)`, then write them at the address that comes back. To take bytes:
//! `instance_output(instance)` and `instance_output_length(instance)`. Addresses hold until the next call.

#![deny(unsafe_op_in_unsafe_fn)]

use tickwire_world::command::decode_frame;
use tickwire_world::{code_hash, Identity, TickHz, World};

/// It was done.
pub const DONE: u32 = 0;
/// There is no world yet, or no instance at this address.
pub const NO_WORLD: u32 = 1;
/// The bytes or numbers that came in make no sense.
pub const BAD_INPUT: u32 = 2;
/// The command frame is for another tick than the next.
pub const WRONG_TICK: u32 = 3;

/// Bytes that a caller may write at once: more than the largest world's snapshot. More room is not made.
pub const INPUT_BYTES: usize = 16 * 1024 * 1024;

/// One world and the two buffers beside it.
#[derive(Default)]
pub struct Instance {
    world: Option<World>,
    input: Vec<u8>,
    output: Vec<u8>,
}

/// An instance without a world.
#[no_mangle]
pub extern "C" fn instance_new() -> *mut Instance {
    Box::into_raw(Box::default())
}

/// Ends an instance.
///
/// # Safety
/// See the module; the address must not be used again.
#[no_mangle]
pub unsafe extern "C" fn instance_free(instance: *mut Instance) {
    if !instance.is_null() {
        // SAFETY: by the module's contract it came from `Box::into_raw` and was not freed before.
        drop(unsafe { Box::from_raw(instance) });
    }
}

/// Room for `length` bytes to come in, at most [`INPUT_BYTES`]; 0 when there is none.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn instance_input(instance: *mut Instance, length: usize) -> *mut u8 {
    // SAFETY: see the module.
    match unsafe { instance.as_mut() } {
        Some(instance) if length <= INPUT_BYTES => {
            instance.input.clear();
            instance.input.resize(length, 0);
            instance.input.as_mut_ptr()
        }
        _ => std::ptr::null_mut(),
    }
}

/// The bytes that the last call put out.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn instance_output(instance: *mut Instance) -> *const u8 {
    // SAFETY: see the module.
    unsafe { instance.as_ref() }.map_or(std::ptr::null(), |instance| instance.output.as_ptr())
}

/// How many bytes the last call put out.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn instance_output_length(instance: *mut Instance) -> usize {
    // SAFETY: see the module.
    unsafe { instance.as_ref() }.map_or(0, |instance| instance.output.len())
}

/// Puts a new world into the instance. [`BAD_INPUT`] for a tick rate that does not exist.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn world_new(instance: *mut Instance, seed: u32, map_size_px: u32, hz: u32) -> u32 {
    // SAFETY: see the module.
    let instance = match unsafe { instance.as_mut() } {
        Some(instance) => instance,
        None => return NO_WORLD,
    };
    match TickHz::try_from(hz) {
        Ok(tick_hz) => {
            instance.world = Some(World::new(Identity { seed, map_size_px, tick_hz }));
            DONE
        }
        Err(_) => BAD_INPUT,
    }
}

/// Puts the world of the snapshot in the input into the instance. [`BAD_INPUT`] when it is none; then the output says why,
/// as text.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn world_restore(instance: *mut Instance) -> u32 {
    // SAFETY: see the module.
    let instance = match unsafe { instance.as_mut() } {
        Some(instance) => instance,
        None => return NO_WORLD,
    };
    instance.output.clear();
    match World::restore(&instance.input) {
        Ok(world) => {
            instance.world = Some(world);
            DONE
        }
        Err(error) => {
            instance.output = error.to_string().into_bytes();
            BAD_INPUT
        }
    }
}

/// Steps the world by the command frame in the input. When that is not a frame, or one of another tick, nothing happens.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn world_step(instance: *mut Instance) -> u32 {
    // SAFETY: see the module.
    let (world, input) = match unsafe { instance.as_mut() } {
        Some(Instance { world: Some(world), input, .. }) => (world, input),
        _ => return NO_WORLD,
    };
    match decode_frame(input) {
        Ok(frame) if frame.tick != world.tick() => WRONG_TICK,
        Ok(mut frame) => {
            world.step(&mut frame.commands);
            DONE
        }
        Err(_) => BAD_INPUT,
    }
}

/// How many commands of the last step were refused.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn world_refused(instance: *mut Instance) -> u32 {
    // SAFETY: see the module.
    unsafe { world(instance) }.map_or(0, |world| world.outcome().refused.len() as u32)
}

/// Ticks completed.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn world_tick(instance: *mut Instance) -> u32 {
    // SAFETY: see the module.
    unsafe { world(instance) }.map_or(0, World::tick)
}

/// The checksum over every field.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn world_checksum(instance: *mut Instance) -> u64 {
    // SAFETY: see the module.
    unsafe { world(instance) }.map_or(0, World::checksum)
}

/// Puts a snapshot of the world out.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn world_snapshot(instance: *mut Instance) -> u32 {
    // SAFETY: see the module.
    match unsafe { instance.as_mut() } {
        Some(Instance { world: Some(world), output, .. }) => {
            *output = world.snapshot();
            DONE
        }
        _ => NO_WORLD,
    }
}

/// The number of this code, which a server must have too.
#[no_mangle]
pub extern "C" fn world_code_hash() -> u64 {
    code_hash()
}

/// # Safety
/// See the module; the reference must not outlive the call.
unsafe fn world<'a>(instance: *mut Instance) -> Option<&'a World> {
    // SAFETY: see the module.
    unsafe { instance.as_ref() }.and_then(|instance| instance.world.as_ref())
}
