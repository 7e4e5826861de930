//! One world for all agents of a process that follow the same room in lockstep.
//!
//! Worlds that begin alike and run the same command frames are the same: so a crowd of bots on one machine
//! need not run one for each of them. Each bot still reads its own frames, which must be byte by byte those
//! with which the shared world was stepped, is told what its own player sees, and sends its own checksums.
//! A bot whose own world has another checksum, or whose frames differ, does not share.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tickwire_sim::PlayerId;

use crate::game::{ClientFeed, DynTick, GameInfo, Messages, SpectatorWorld};
use crate::limits;
use crate::util::sync::Mutex;

/// The shared worlds, by the run of their room.
#[derive(Debug)]
pub struct SharedWorlds {
    about: &'static GameInfo,
    rooms: Mutex<BTreeMap<String, SharedWorld>>,
}

#[derive(Debug)]
struct SharedWorld {
    world: Box<dyn SpectatorWorld>,
    /// The newest ticks, the newest last.
    executed: VecDeque<ExecutedTick>,
    undelivered: Messages,
}

/// A tick that was run.
#[derive(Debug)]
struct ExecutedTick {
    tick: u32,
    /// The world's checksum before it.
    checksum: u64,
    frame: Vec<u8>,
    /// What there is to tell of it, while it is new.
    published: Option<Arc<dyn DynTick>>,
}

/// One agent's share.
#[derive(Debug)]
pub struct SharedWorldHandle {
    worlds: Arc<SharedWorlds>,
    epoch: String,
    /// Ticks completed.
    tick: u32,
    viewer: Box<dyn ClientFeed>,
}

impl SharedWorlds {
    /// None yet, of rooms of this game.
    pub fn new(about: &'static GameInfo) -> Arc<SharedWorlds> {
        Arc::new(SharedWorlds { about, rooms: Mutex::default() })
    }
}

impl SharedWorldHandle {
    /// A share for an agent with a world of its own in this run of a room, if that is the shared one: the own
    /// world is then not needed any more, or is the shared one from now on.
    ///
    /// # Errors
    /// The own world, if the shared one is another, or is not as far yet.
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

    /// Ticks completed.
    pub fn tick(&self) -> u32 {
        self.tick
    }

    /// The checksum of the world now.
    pub fn checksum(&self) -> Option<u64> {
        self.worlds.rooms.lock().get(&self.epoch)?.checksum(self.tick)
    }

    /// Runs the next tick with this command frame, and appends what is told of it; nothing before `present`
    /// ticks are completed. Returns whether that was the next frame, and the one of all who share; if not,
    /// nothing happens.
    pub fn step(
        &mut self,
        frame: &[u8],
        present: u32,
        (player, watched): (Option<PlayerId>, Option<PlayerId>),
        told: &mut Messages,
    ) -> bool {
        let published = {
            let mut rooms = self.worlds.rooms.lock();
            let shared = rooms.get_mut(&self.epoch);
            shared.and_then(|shared| shared.run(self.worlds.about, self.tick, frame))
        };
        let has_ack_packets = self.tick + 1 >= present;
        match published {
            None => return false,
            Some(None) if has_ack_packets => return false,
            Some(Some(published)) if has_ack_packets => {
                self.viewer.append_update(&*published, player, watched, told)
            }
            Some(_) => {}
        }
        self.tick += 1;
        true
    }
}

impl SharedWorld {
    /// The checksum after so many ticks.
    fn checksum(&self, tick: u32) -> Option<u64> {
        if self.world.world().tick() == tick {
            return Some(self.world.world().checksum());
        }
        self.ran(tick).map(|ran| ran.checksum)
    }

    /// A tick that was run: they are in order, without a gap.
    fn ran(&self, tick: u32) -> Option<&ExecutedTick> {
        let first = self.executed.front()?.tick;
        self.executed.get(tick.checked_sub(first)? as usize)
    }

    /// Runs a tick with this frame, if nobody has done so. Returns what there is to tell of it, if it is still
    /// there; `None` if it was run with another frame, or does not come next.
    fn run(&mut self, about: &GameInfo, tick: u32, frame: &[u8]) -> Option<Option<Arc<dyn DynTick>>> {
        if let Some(ran) = self.ran(tick) {
            return (ran.frame == frame).then(|| ran.published.clone());
        }
        let commands = (about.frame)(frame).ok().filter(|frame| frame.tick == tick)?.commands;
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
