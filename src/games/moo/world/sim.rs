//! Implements [`tickwire_sim::Sim`], through which a room runs the world.

use tickwire_sim::migrate::NamedState;
use tickwire_sim::{OptionSpec, RejectedCommand, RestoreError, Sim, StepResult};

use crate::command::{Action, Command};
use crate::entity::PlayerId;
use crate::event::WorldEvent;
use crate::fields::{Field as _, Sink};
use crate::rules::{self, TickHz};
use crate::snapshot::MAGIC;
use crate::state::Identity;
use crate::world::World;

/// Name of the option for the side length of the map.
const MAP_SIZE: &str = "map_size_px";

impl From<Identity> for tickwire_sim::WorldParams {
    fn from(Identity { seed, map_size_px, tick_hz }: Identity) -> Self {
        let options = vec![(MAP_SIZE, map_size_px)];
        tickwire_sim::WorldParams { seed, tick_hz: tick_hz.get(), options }
    }
}

impl From<&tickwire_sim::WorldParams> for Identity {
    fn from(identity: &tickwire_sim::WorldParams) -> Identity {
        Identity {
            seed: identity.seed,
            map_size_px: identity.option(MAP_SIZE).unwrap_or(rules::MAP_SIZE_PX),
            tick_hz: TickHz::try_from(identity.tick_hz).unwrap_or(TickHz::Hz30),
        }
    }
}

impl Sim for World {
    type Action = Action;

    const OPTIONS: &'static [OptionSpec] = &[OptionSpec::new(
        MAP_SIZE,
        "side of the square map",
        rules::MAP_SIZE_PX,
        rules::MAP_SIZE_MIN_PX..=rules::MAP_SIZE_MAX_PX,
    )
    .with_flag("map-size")
    .with_unit("px")];

    const TICK_RATES: &'static [u32] = &[30, 15, 20, 60];

    fn new(identity: &tickwire_sim::WorldParams) -> World {
        World::new(identity.into())
    }

    fn identity(&self) -> tickwire_sim::WorldParams {
        (*self.identity()).into()
    }

    fn tick(&self) -> u32 {
        self.tick()
    }

    fn operator_sequence(&self) -> u64 {
        self.operator_sequence()
    }

    fn players(&self) -> impl Iterator<Item = PlayerId> {
        self.players().map(|player| player.id)
    }

    fn step(&mut self, commands: &mut Vec<Command>, out: &mut StepResult) {
        out.clear();
        let outcome = self.step(commands);
        out.departed.extend(outcome.events.iter().filter_map(|event| match event {
            WorldEvent::Left { player } => Some(*player),
            _ => None,
        }));
        out.rejected.extend(outcome.rejected.iter().map(|(command, rejection)| {
            let joining = match command.action {
                Action::Join { player, .. } => Some(player),
                _ => None,
            };
            let Command { player, sequence, .. } = *command;
            RejectedCommand { player, sequence, joining, reason: rejection.name() }
        }));
    }

    fn write(&self, sink: &mut impl Sink) {
        self.state.write(sink);
    }

    fn checksum(&self) -> u64 {
        self.checksum()
    }

    fn snapshot(&self) -> Vec<u8> {
        self.snapshot()
    }

    fn is_snapshot(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    fn restore(bytes: &[u8]) -> Result<World, RestoreError> {
        Ok(World::restore(bytes)?)
    }

    fn save_named(&self) -> Vec<u8> {
        self.named()
    }

    fn migrate(identity: &tickwire_sim::WorldParams, saved: &NamedState) -> Result<World, RestoreError> {
        Ok(World::carried(Identity::from(identity), saved)?)
    }
}
