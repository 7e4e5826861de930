//! The fuzz targets: one program driven by libFuzzer, and an environment variable that selects the
//! target.
//!
//! The program takes the name of a target in `TICKWIRE_FUZZ` and libFuzzer's arguments; or `unpack`
//! and `pack`, see [`corpus`]. It panics in the first target whose oracle fails. Targets use no
//! file, socket or clock, so that a failing input always fails again. `scripts/fuzz.sh` builds and
//! runs it.

#![no_main]

mod corpus;
mod tally;
mod targets;

use std::sync::OnceLock;

/// The code that runs on each input.
static TARGET: OnceLock<targets::Target> = OnceLock::new();

libfuzzer_sys::fuzz_target!(init: begin(), |bytes: &[u8]| {
    TARGET.get().expect("chosen before the first input")(bytes)
});

/// Chooses the target, or does what else is asked and ends the program.
fn begin() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(done) = corpus::task(&arguments) {
        std::process::exit(if done.inspect_err(|error| eprintln!("{error}")).is_ok() { 0 } else { 2 });
    }
    let name = std::env::var("TICKWIRE_FUZZ").unwrap_or_default();
    match targets::ALL.iter().find(|(known, _)| *known == name) {
        Some((_, target)) => TARGET.set(*target).expect("chosen once"),
        None => {
            let names: Vec<&str> = targets::ALL.iter().map(|(name, _)| *name).collect();
            eprintln!("TICKWIRE_FUZZ has to be one of: {}", names.join(" "));
            std::process::exit(2);
        }
    }
}
