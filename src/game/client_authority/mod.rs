//! Entities that their owner's client simulates. The client spawns them, moves them by whatever it
//! computes, and reports; the world validates each report, and everybody sees the entity in the world.
//!
//! ```text
//!   owner's client ─ spawn, report, remove ─► command ─► Entities: possible? in time? not too far?
//!                  ◄─ command_rejected, and where the ─┘    │ yes: the entity is as reported
//!                     world has the entity                  ▼
//!                                          state ─► all clients; without news, Kind::run_on
//! ```
//!
//! What a client says of its own entity is a command like any other: it is in the journal, in captures and in
//! command frames, so the world stays a function of its commands, whatever the client computes with.
//!
//! A game keeps [`OwnedEntities`] in its state, implements [`OwnedState`] for what is reported, and calls
//! [`spawn`](OwnedEntities::spawn), [`report`](OwnedEntities::report) and [`remove`](OwnedEntities::remove) in its `act`,
//! [`tick`](OwnedEntities::tick) once in each tick, [`away`](OwnedEntities::away) and [`leave`](OwnedEntities::leave). When a report
//! is refused, the game tells its client the state of the entity, from which it goes on:
//! `examples/kites.rs` is a whole game.
//!
//! # What is validated, and what cannot be
//!
//! The owner is the issuer of the command, never a number in the packet, so nobody acts on another's entity. A
//! state is possible, by the game's own function. What is reported never goes farther in any stretch of time than the
//! speed allows in that time, and in [`AuthorityRules::slack_ticks`] more. Within these bounds the world believes the owner: it
//! cannot know whether the wind blew so. What must not be believed, such as who hits whom, is for the game to decide by
//! the states that it has accepted.
//!
//! # The clock of an entity
//!
//! Reports come late, in bunches, or not at all. Each entity therefore has a clock. A report moves it on by the time
//! that the motion takes at full speed, and by [`AuthorityRules::report_ticks`] at least; it never passes that of
//! the world ([`ReportError::TooFast`], [`ReportError::TooSoon`]) and is never more than the slack behind it. So reports that
//! arrive at once after a stall as long as the slack are accepted, and a longer jump is not.

use std::fmt::Debug;

use tickwire_sim::PlayerId;
use tickwire_sim::fields::{Field, Malformed, Reader, Sink};
use tickwire_sim::fixed::square_root;

/// What a client reports of an entity of its own: a type with [`fields!`](tickwire_sim::fields!).
pub trait OwnedState: Field + Clone + Debug + PartialEq {
    /// What its owners may do.
    const RULES: AuthorityRules;

    /// Whether an entity can be so at all: within the map, and no field beyond its bounds.
    fn is_valid(&self) -> bool;

    /// Where it is, in units of the game.
    fn place(&self) -> (i32, i32);

    /// The controller: one tick without news of its owner. The entity stays as it is if the result is
    /// not possible, or too far for its speed. A client in Rust may run the same.
    fn extrapolate(&mut self);
}

/// What the owners of a kind may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthorityRules {
    /// Entities of one owner, at most.
    pub max_per_player: u8,
    /// Ticks between two spawns of an owner, at least: otherwise removing and spawning would be a way to
    /// jump.
    pub spawn_ticks: u32,
    /// Ticks between two reports of an entity, at least. Those that come late may come at once.
    pub report_ticks: u32,
    /// Units of [`OwnedState::place`] that an entity goes in a tick, at most; at least 1.
    pub speed: u32,
    /// The lag that is tolerated, in ticks: an entity without reports may make up for so much time at
    /// once. At least `report_ticks`, whatever is said here.
    pub slack_ticks: u32,
    /// Ticks without news for which the world runs an entity on; no more than the slack, so that its owner can
    /// always go on from there.
    pub extrapolation_ticks: u32,
    /// Ticks without news for which an entity lives.
    pub timeout_ticks: u32,
    /// What becomes of it then.
    pub on_timeout: TimeoutAction,
    /// What becomes of it when the connection of its owner is gone, and its seat waits for another. When
    /// the owner leaves, it is gone.
    pub on_disconnect: TimeoutAction,
}

/// What becomes of an entity without news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutAction {
    /// It stands where it is, until its owner reports again.
    Freeze,
    /// It is gone.
    Despawn,
}

/// Why an owner may not do something. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportError {
    /// The entity is another player's.
    NotYours,
    /// There is no such entity.
    Unknown,
    /// The owner has an entity of this number.
    Taken,
    /// The owner has [`AuthorityRules::most_each`].
    TooMany,
    /// [`OwnedState::is_possible`] says no.
    OutOfBounds,
    /// [`AuthorityRules::spawn_ticks`] or [`AuthorityRules::report_ticks`] have not passed.
    TooSoon,
    /// The entity cannot have come so far in the time.
    TooFast,
}

impl ReportError {
    /// All of them.
    pub const ALL: [ReportError; 7] = [
        ReportError::NotYours,
        ReportError::Unknown,
        ReportError::Taken,
        ReportError::TooMany,
        ReportError::OutOfBounds,
        ReportError::TooSoon,
        ReportError::TooFast,
    ];

    /// Its name, as the reason in `command_rejected`.
    pub const fn name(self) -> &'static str {
        match self {
            ReportError::NotYours => "not_yours",
            ReportError::Unknown => "unknown",
            ReportError::Taken => "number_taken",
            ReportError::TooMany => "too_many",
            ReportError::OutOfBounds => "out_of_bounds",
            ReportError::TooSoon => "too_soon",
            ReportError::TooFast => "too_fast",
        }
    }
}

impl From<ReportError> for &'static str {
    fn from(refusal: ReportError) -> &'static str {
        refusal.name()
    }
}

/// The number of an entity in the world: that of its owner, and behind it the one that the owner has
/// chosen. So the owner knows it before the server has answered.
pub const fn id(owner: PlayerId, number: u16) -> u32 {
    (owner.0 as u32) << 16 | number as u32
}

/// The owner of the entity with this number.
pub const fn owner_of(id: u32) -> PlayerId {
    PlayerId((id >> 16) as u16)
}

/// An entity.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedEntity<K> {
    /// Its number in the world: see [`id`].
    pub id: u32,
    /// How it is: as reported last, and run on since.
    pub state: K,
    /// As reported last.
    said: K,
    /// Its own time: see the [module](self). In 1/65,536 of a tick.
    clock: u64,
    /// Ticks since the last news; [`AWAY`] if none is expected.
    silent_ticks: u32,
}

/// The owner has no connection.
const OWNER_DISCONNECTED: u32 = u32::MAX;

/// Ticks on the clock of an entity.
const fn clock(ticks: u32) -> u64 {
    (ticks as u64) << 16
}

impl<K: OwnedState> OwnedEntity<K> {
    /// Its owner, who alone may act on it.
    pub fn owner(&self) -> PlayerId {
        owner_of(self.id)
    }

    /// How far its clock may be behind that of the world.
    fn slack() -> u64 {
        clock(K::RULES.slack_ticks.max(K::RULES.report_ticks))
    }

    fn apply_report(&mut self, state: K, tick: u32) -> Result<(), ReportError> {
        let (now, least) = (clock(tick), clock(K::RULES.report_ticks));
        let from = self.clock.max(now.saturating_sub(OwnedEntity::<K>::slack()));
        let took = (way(self.said.place(), state.place()) << 16) / u64::from(K::RULES.speed.max(1));
        if from + took.max(least) > now {
            return Err(if took > least { ReportError::TooFast } else { ReportError::TooSoon });
        }
        self.clock = from + took.max(least);
        (self.said, self.state, self.silent_ticks) = (state.clone(), state, 0);
        Ok(())
    }

    /// One tick; whether it lives on.
    fn tick(&mut self) -> bool {
        let AuthorityRules {
            extrapolation_ticks, slack_ticks, timeout_ticks, on_timeout: lapsed, speed, ..
        } = K::RULES;
        if self.silent_ticks == OWNER_DISCONNECTED {
            return true;
        }
        if self.silent_ticks > timeout_ticks {
            return lapsed == TimeoutAction::Freeze;
        }
        if (1..=extrapolation_ticks.min(slack_ticks)).contains(&self.silent_ticks) {
            let mut next = self.state.clone();
            next.extrapolate();
            // Its owner can always go on from here: it could have come so far by itself.
            let most = u64::from(speed) * u64::from(self.silent_ticks);
            if next.is_valid() && way(self.said.place(), next.place()) <= most {
                self.state = next;
            }
        }
        self.silent_ticks = self.silent_ticks.saturating_add(1);
        true
    }
}

/// The length of a way, rounded up: nobody is faster on a slant.
fn way((x, y): (i32, i32), (to_x, to_y): (i32, i32)) -> u64 {
    let square = |side: u32| u64::from(side) * u64::from(side);
    let whole = square(x.abs_diff(to_x)).saturating_add(square(y.abs_diff(to_y)));
    let root = square_root(whole);
    root + u64::from(root.saturating_mul(root) < whole)
}

/// When an owner may spawn again.
#[derive(Clone, Debug, PartialEq)]
struct SpawnCooldown {
    player: PlayerId,
    /// Not before this tick.
    tick: u32,
}

tickwire_sim::fields!(SpawnCooldown: player: PlayerId, tick: u32);

/// The entities of a kind, of all owners: part of the state of a game. At most [`AuthorityRules::most_each`] for
/// each player, whatever their clients say.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedEntities<K> {
    /// By id, and so by owner.
    list: Vec<OwnedEntity<K>>,
    /// By player: those who have spawned something since they came.
    spawners: Vec<SpawnCooldown>,
}

impl<K> Default for OwnedEntities<K> {
    fn default() -> OwnedEntities<K> {
        OwnedEntities { list: Vec::new(), spawners: Vec::new() }
    }
}

impl<K: OwnedState> OwnedEntities<K> {
    /// All of them, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &OwnedEntity<K>> {
        self.list.iter()
    }

    /// Those of one owner.
    pub fn owned_by(&self, player: PlayerId) -> impl Iterator<Item = &OwnedEntity<K>> {
        let begin = self.list.partition_point(|one| one.owner() < player);
        self.list[begin..].iter().take_while(move |one| one.owner() == player)
    }

    /// The entity with this id.
    pub fn get(&self, id: u32) -> Option<&OwnedEntity<K>> {
        self.find(id).ok().map(|at| &self.list[at])
    }

    /// A player spawns an entity, under a number that it chooses among its own; returns its [`id`]. Where
    /// it may do so, besides what is possible, is for the game to say beforehand.
    ///
    /// # Errors
    /// The rule that it would break; nothing has changed.
    pub fn spawn(&mut self, player: PlayerId, number: u16, state: K, tick: u32) -> Result<u32, ReportError> {
        let id = id(player, number);
        let Err(at) = self.find(id) else { return Err(ReportError::Taken) };
        let spawner = self.spawners.binary_search_by_key(&player, |one| one.player);
        if self.owned_by(player).count() >= K::RULES.max_per_player.into() {
            return Err(ReportError::TooMany);
        }
        if !state.is_valid() {
            return Err(ReportError::OutOfBounds);
        }
        if spawner.is_ok_and(|at| tick < self.spawners[at].tick) {
            return Err(ReportError::TooSoon);
        }
        let next = SpawnCooldown { player, tick: tick.saturating_add(K::RULES.spawn_ticks) };
        match spawner {
            Ok(at) => self.spawners[at] = next,
            Err(at) => self.spawners.insert(at, next),
        }
        // Its first reports may come with it, if the line has held it back.
        let clock = clock(tick).saturating_sub(OwnedEntity::<K>::slack());
        let said = state.clone();
        self.list.insert(at, OwnedEntity { id, state, said, clock, silent_ticks: 0 });
        Ok(id)
    }

    /// A player reports how its entity is.
    ///
    /// # Errors
    /// The rule that it would break; nothing has changed.
    pub fn report(&mut self, player: PlayerId, id: u32, state: K, tick: u32) -> Result<(), ReportError> {
        let at = self.own(player, id)?;
        if !state.is_valid() {
            return Err(ReportError::OutOfBounds);
        }
        self.list[at].apply_report(state, tick)
    }

    /// A player removes its entity.
    ///
    /// # Errors
    /// The rule that it would break; nothing has changed.
    pub fn remove(&mut self, player: PlayerId, id: u32) -> Result<(), ReportError> {
        let at = self.own(player, id)?;
        self.list.remove(at);
        Ok(())
    }

    /// One tick passes, after the commands of all players: entities without news are run on, stand, or
    /// are gone.
    pub fn tick(&mut self) {
        self.list.retain_mut(OwnedEntity::tick);
    }

    /// The connection of a player is gone, and its seat waits for another: [`AuthorityRules::away`].
    pub fn disconnect(&mut self, player: PlayerId) {
        let is_gone = K::RULES.on_disconnect == TimeoutAction::Despawn;
        self.list.retain(|one| !is_gone || one.owner() != player);
        let own = self.list.iter_mut().filter(|one| one.owner() == player);
        own.for_each(|one| one.silent_ticks = OWNER_DISCONNECTED);
    }

    /// A player leaves, and its entities are gone.
    pub fn leave(&mut self, player: PlayerId) {
        self.list.retain(|one| one.owner() != player);
        self.spawners.retain(|one| one.player != player);
    }

    fn find(&self, id: u32) -> Result<usize, usize> {
        self.list.binary_search_by_key(&id, |one| one.id)
    }

    fn own(&self, player: PlayerId, id: u32) -> Result<usize, ReportError> {
        let at = self.find(id).map_err(|_| ReportError::Unknown)?;
        if owner_of(id) == player { Ok(at) } else { Err(ReportError::NotYours) }
    }
}

impl<K: OwnedState> Field for OwnedEntity<K> {
    const MIN_BYTES: usize = 4 + 2 * K::MIN_BYTES + 8 + 4;

    fn write(&self, sink: &mut impl Sink) {
        write("id", &self.id, sink);
        write("state", &self.state, sink);
        write("said", &self.said, sink);
        write("clock", &self.clock, sink);
        write("silent_ticks", &self.silent_ticks, sink);
    }

    fn read(reader: &mut Reader<'_>) -> Result<OwnedEntity<K>, Malformed> {
        Ok(OwnedEntity {
            id: read("id", reader)?,
            state: read("state", reader)?,
            said: read("said", reader)?,
            clock: read("clock", reader)?,
            silent_ticks: read("silent_ticks", reader)?,
        })
    }
}

impl<K: OwnedState> Field for OwnedEntities<K> {
    const MIN_BYTES: usize = 4 + 4;

    fn write(&self, sink: &mut impl Sink) {
        write("list", &self.list, sink);
        write("spawners", &self.spawners, sink);
    }

    fn read(reader: &mut Reader<'_>) -> Result<OwnedEntities<K>, Malformed> {
        let (list, spawners) = (read("list", reader)?, read("spawners", reader)?);
        let all = OwnedEntities::<K> { list, spawners };
        let is_sorted = all.list.is_sorted_by(|one, next| one.id < next.id)
            && all.spawners.is_sorted_by(|one, next| one.player < next.player);
        if is_sorted { Ok(all) } else { Err(Malformed::Value("order of the entities")) }
    }
}

fn write(name: &'static str, value: &impl Field, sink: &mut impl Sink) {
    sink.enter(name);
    value.write(sink);
    sink.leave();
}

fn read<T: Field>(name: &'static str, reader: &mut Reader<'_>) -> Result<T, Malformed> {
    reader.enter(name);
    let value = T::read(reader)?;
    reader.leave();
    Ok(value)
}

#[cfg(test)]
mod tests;
