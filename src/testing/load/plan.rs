//! The plan of a crowd of bots.

use std::sync::Arc;
use std::time::Duration;

use super::report::CrowdReport;
use crate::client::bots::lockstep_agent::LockstepAgent;
use crate::client::bots::shared_world::SharedWorlds;
use crate::client::url::Url;
use crate::game::GameInfo;
use crate::game::bots::{Agent, BotBehavior, BotSpec, Tolerance};
use crate::packet::Dialect;
use crate::testing::source_addresses::SourceAddresses;

/// The plan of a crowd.
#[derive(Debug, Clone)]
pub struct CrowdPlan {
    /// The server. Each bot connects to the endpoint of its dialect.
    pub url: Url,
    /// The game of the server.
    pub game: &'static GameInfo,
    /// The dialects, assigned to bots in turn.
    pub dialects: Vec<Arc<Dialect>>,
    /// Number of bots.
    pub count: usize,
    /// The measured time.
    pub time: Duration,
    /// Source addresses; `None` leaves the choice to the system.
    pub source: Option<SourceAddresses>,
    /// The behaviour of the bots.
    pub behavior: BotBehavior,
    /// Seed of the bots' random choices.
    pub seed: u64,
    /// Whether the bots use lockstep.
    pub lockstep: bool,
    /// Whether the bots request lanes for datagrams.
    pub lane: bool,
    /// Whether acks may come after the update with the effect of their commands.
    pub late_acks: bool,
    /// With `Some`, a bot whose connection is lost reconnects with its resume key, and must receive
    /// its own player. The number is how many connections per second the crowd itself cuts, in
    /// turn.
    pub reconnects: Option<u32>,
}

impl CrowdPlan {
    /// Index of a bot's dialect in the list of dialects.
    pub fn dialect(&self, index: usize) -> usize {
        index % self.dialects.len()
    }

    /// Creates an empty report for each dialect.
    pub fn empty_reports(&self, time: Duration) -> Vec<CrowdReport> {
        self.dialects.iter().map(|dialect| CrowdReport::new(dialect.name(), time)).collect()
    }

    /// The agent of a bot; `None` if the game has no bots.
    pub fn agent(&self, index: usize, worlds: &Arc<SharedWorlds>) -> Option<Box<dyn Agent>> {
        let dialect = &self.dialects[self.dialect(index)];
        let mut agent = self.game.agent(&BotSpec {
            index,
            count: self.count,
            seed: self.seed.wrapping_add(index as u64),
            crowd_seed: self.seed,
            behavior: self.behavior,
            name: None,
            spares_visitors: false,
            is_checking: true,
            dialect: Arc::clone(dialect),
        })?;
        // The bots of an address may together exceed its rate limit for clan commands.
        agent.tolerate(Tolerance::SharedAddress);
        if self.late_acks {
            agent.tolerate(Tolerance::LateAcks);
        }
        if !self.lockstep {
            return Some(agent);
        }
        Some(Box::new(LockstepAgent::sharing(worlds, self.game, Arc::clone(dialect), agent)))
    }
}
