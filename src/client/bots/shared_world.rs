//! One world for all agents of a process in lockstep with the same room.
//!
//! Equal worlds stay equal if they run the same command frames. Therefore many bots on one machine
//! can share one world. Each bot still reads its own frames, which must equal the frames of the
//! shared world byte by byte. Each bot also receives the updates of its own player and sends its
//! own checksums. A bot does not share if the checksum of its world or one of its frames differs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tickwire_sim::PlayerId;

use crate::game::{ClientFeed, DynTick, GameInfo, Messages, SpectatorWorld};
use crate::limits;
use crate::util::sync::Mutex;

/// The shared worlds, by the epoch of their room.
#[derive(Debug)]
pub struct SharedWorlds {
    info: &'static GameInfo,
    rooms: Mutex<BTreeMap<String, SharedWorld>>,
}

#[derive(Debug)]
struct SharedWorld {
    world: Box<dyn SpectatorWorld>,
    /// The newest ticks, the newest last.
    executed: VecDeque<ExecutedTick>,
    undelivered: Messages,
}

/// A tick that the shared world has executed.
#[derive(Debug)]
struct ExecutedTick {
    tick: u32,
    /// Checksum of the world before the tick.
    checksum: u64,
    frame: Vec<u8>,
    /// Published state of the tick; `None` once the tick is old.
    published: Option<Arc<dyn DynTick>>,
}

/// One agent's share of a world.
#[derive(Debug)]
pub struct SharedWorldHandle {
    worlds: Arc<SharedWorlds>,
    epoch: String,
    /// Number of completed ticks.
    tick: u32,
    viewer: Box<dyn ClientFeed>,
}

impl SharedWorlds {
    /// Creates an empty set of shared worlds, for rooms of this game.
    pub fn new(info: &'static GameInfo) -> Arc<SharedWorlds> {
        Arc::new(SharedWorlds { info, rooms: Mutex::default() })
    }
}

impl SharedWorldHandle {
    /// Creates a share for an agent that has a world of the room with this epoch. If there is no
    /// shared world yet, the agent's world becomes the shared one. Otherwise the agent's world is
    /// dropped.
    ///
    /// # Errors
    /// Returns the agent's world if the shared world differs from it, or has not reached its tick.
    pub fn of(
        worlds: &Arc<SharedWorlds>,
        epoch: &str,
        mut own: Box<dyn SpectatorWorld>,
    ) -> Result<SharedWorldHandle, Box<dyn SpectatorWorld>> {
        let mut rooms = worlds.rooms.lock();
        let tick = own.world().tick();
        let is_same = |shared: &SharedWorld| shared.checksum(tick) == Some(own.world().checksum());
        if !rooms.get(epoch).is_none_or(is_same) {
            return Err(own);
        }
        let share = SharedWorldHandle {
            worlds: Arc::clone(worlds),
            epoch: epoch.to_owned(),
            tick,
            viewer: own.detach_feed(),
        };
        rooms.entry(epoch.to_owned()).or_insert_with(|| SharedWorld {
            world: own,
            executed: VecDeque::new(),
            undelivered: Messages::default(),
        });
        Ok(share)
    }

    /// Number of completed ticks.
    pub fn tick(&self) -> u32 {
        self.tick
    }

    /// Checksum of the world after the completed ticks.
    pub fn checksum(&self) -> Option<u64> {
        self.worlds.rooms.lock().get(&self.epoch)?.checksum(self.tick)
    }

    /// Runs the next tick with this command frame, and appends its updates to `messages` unless the
    /// tick is before `present`. Returns false, without an effect, in three cases: the frame is not
    /// the next one, it differs from the frame of the shared world, or the published state of its
    /// tick is already dropped.
    pub fn step(
        &mut self,
        frame: &[u8],
        present: u32,
        (player, spectated): (Option<PlayerId>, Option<PlayerId>),
        messages: &mut Messages,
    ) -> bool {
        let published = {
            let mut rooms = self.worlds.rooms.lock();
            let shared = rooms.get_mut(&self.epoch);
            shared.and_then(|shared| shared.run(self.worlds.info, self.tick, frame))
        };
        let is_sent = self.tick + 1 >= present;
        match published {
            None => return false,
            Some(None) if is_sent => return false,
            Some(Some(published)) if is_sent => {
                self.viewer.append_update(&*published, player, spectated, messages)
            }
            Some(_) => {}
        }
        self.tick += 1;
        true
    }
}

impl SharedWorld {
    /// The checksum after this number of ticks.
    fn checksum(&self, tick: u32) -> Option<u64> {
        if self.world.world().tick() == tick {
            return Some(self.world.world().checksum());
        }
        self.ran(tick).map(|ran| ran.checksum)
    }

    /// Returns a stored tick; `None` if it is not stored. The index is computed, because `executed`
    /// is in order and has no gaps.
    fn ran(&self, tick: u32) -> Option<&ExecutedTick> {
        let first = self.executed.front()?.tick;
        self.executed.get(tick.checked_sub(first)? as usize)
    }

    /// Runs a tick with this frame, if the tick has not run yet. Returns the published state of the
    /// tick, or `Some(None)` if the state is no longer stored. Returns `None` if the tick ran with
    /// another frame, or is not the next one.
    fn run(&mut self, info: &GameInfo, tick: u32, frame: &[u8]) -> Option<Option<Arc<dyn DynTick>>> {
        if let Some(ran) = self.ran(tick) {
            return (ran.frame == frame).then(|| ran.published.clone());
        }
        let commands = (info.frame)(frame).ok().filter(|frame| frame.tick == tick)?.commands;
        if self.world.world().tick() != tick {
            return None;
        }
        let checksum = self.world.world().checksum();
        self.undelivered.clear();
        self.world.step(&commands, None, None, &mut self.undelivered);
        let published = self.world.published()?;
        if self.executed.len() >= limits::SHARED_WORLD_LOG_TICKS {
            self.executed.pop_front();
        }
        let published = Some(published);
        self.executed.push_back(ExecutedTick {
            tick,
            checksum,
            frame: frame.to_vec(),
            published: published.clone(),
        });
        let old = self.executed.len().checked_sub(limits::SHARED_WORLD_TICKS + 1);
        if let Some(ran) = old.and_then(|at| self.executed.get_mut(at)) {
            ran.published = None;
        }
        Some(published)
    }
}
