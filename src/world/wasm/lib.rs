//! The shim that exports the world to a browser as functions of numbers.
//!
//! Bytes are passed in an input buffer and an output buffer. The shim contains no game rules; those
//! are in `tickwire_world`.
//!
//! This is the only crate with `unsafe`: WebAssembly functions take only numbers, so an instance is
//! passed as an address. Every function except [`instance_new`] has the same requirement:
//! `instance` is 0, or an address that [`instance_new`] returned and that was not passed to
//! [`instance_free`]. For the address 0 a function does nothing and returns [`NO_WORLD`] or 0.
//! JavaScript on a page is single-threaded and calls one function at a time, so there are never two
//! references to an instance at once.
//!
//! To pass bytes, call `instance_input(instance, length)` and write them at the returned address.
//! To read bytes, call `instance_output(instance)` and `instance_output_length(instance)`.
//! Addresses are valid until the next call.

#![deny(unsafe_op_in_unsafe_fn)]

use tickwire_world::command::decode_frame;
use tickwire_world::{code_hash, Identity, TickHz, World};

/// Success.
pub const DONE: u32 = 0;
/// There is no world yet, or no instance at this address.
pub const NO_WORLD: u32 = 1;
/// The input bytes or numbers are invalid.
pub const BAD_INPUT: u32 = 2;
/// The command frame is not for the next tick.
pub const WRONG_TICK: u32 = 3;

/// Maximum length of the input, in bytes: more than the largest world's snapshot.
pub const INPUT_BYTES: usize = 16 * 1024 * 1024;

/// A world and its two buffers.
#[derive(Default)]
pub struct Instance {
    world: Option<World>,
    input: Vec<u8>,
    output: Vec<u8>,
}

/// Creates an instance without a world.
#[no_mangle]
pub extern "C" fn instance_new() -> *mut Instance {
    Box::into_raw(Box::default())
}

/// Frees an instance.
///
/// # Safety
/// See the module docs; the address must not be used again.
#[no_mangle]
pub unsafe extern "C" fn instance_free(instance: *mut Instance) {
    if !instance.is_null() {
        // SAFETY: by the module's contract it came from `Box::into_raw` and was not freed before.
        drop(unsafe { Box::from_raw(instance) });
    }
}

/// Reserves `length` bytes of input, at most [`INPUT_BYTES`], and returns their address; 0 if there
/// is none.
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

/// The address of the last call's output.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn instance_output(instance: *mut Instance) -> *const u8 {
    // SAFETY: see the module.
    unsafe { instance.as_ref() }.map_or(std::ptr::null(), |instance| instance.output.as_ptr())
}

/// The length of the last call's output, in bytes.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn instance_output_length(instance: *mut Instance) -> usize {
    // SAFETY: see the module.
    unsafe { instance.as_ref() }.map_or(0, |instance| instance.output.len())
}

/// Creates a world in the instance. [`BAD_INPUT`] if the tick rate does not exist.
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

/// Restores a world from the snapshot in the input. [`BAD_INPUT`] if it is not a snapshot; then the
/// output is the reason, as text.
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

/// Steps the world with the command frame in the input. If the input is not a frame, or a frame for
/// another tick, nothing happens.
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

/// The number of commands that the last step rejected.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn world_refused(instance: *mut Instance) -> u32 {
    // SAFETY: see the module.
    unsafe { world(instance) }.map_or(0, |world| world.outcome().rejected.len() as u32)
}

/// The number of completed ticks.
///
/// # Safety
/// See the module.
#[no_mangle]
pub unsafe extern "C" fn world_tick(instance: *mut Instance) -> u32 {
    // SAFETY: see the module.
    unsafe { world(instance) }.map_or(0, World::tick)
}

/// The checksum of the world.
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
