//! The command frames of all ticks as bytes, and a second world that executes the same commands.
//!
//! It panics at the first tick at which the two worlds differ.

use tickwire::games::moo::world::Command;
use tickwire::games::moo::world::World;
use tickwire::games::moo::world::command::{decode_frame, encode_frame};

/// Command frames, each with the world's checksum before it.
#[derive(Default)]
pub struct Log(Vec<(u64, Vec<u8>)>);

impl Log {
    /// Records the tick that is about to be executed.
    pub fn note(&mut self, world: &World, commands: &[Command]) {
        let mut frame = Vec::new();
        encode_frame(world.tick(), commands, &mut frame).expect("few commands");
        self.0.push((world.checksum(), frame));
    }

    /// Runs everything again.
    pub fn replay(&self, start: &World, end: &World) {
        let mut world = start.clone();
        for (checksum, bytes) in &self.0 {
            let frame = decode_frame(bytes).expect("our own frame");
            assert_eq!((world.tick(), world.checksum()), (frame.tick, *checksum), "before the tick");
            let mut commands = frame.commands;
            // Their order is the world's business.
            commands.reverse();
            world.step(&mut commands);
        }
        assert_eq!(world.checksum(), end.checksum(), "after the last tick");
        assert!(world == *end, "the same checksum, and another world");
    }
}
