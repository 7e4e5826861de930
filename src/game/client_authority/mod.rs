//! Entities that their owner's client simulates. The client spawns and moves an entity and reports
//! its state. The world validates each report, and all clients see the accepted state.
//!
//! ```text
//!   owner's client ─ spawn, report, remove ─► command ─► OwnedEntities: possible? in time? near?
//!                  ◄─ command_rejected and the world's ◄─┘ no     │ yes: the reported state
//!                     state of the entity                         ▼
//!                                          state ─► all clients; without reports: extrapolate
//! ```
//!
//! A report is an ordinary command: it is in the journal, in captures and in command frames. So the
//! world remains a function of its commands, no matter how the client computes its reports.
//!
//! A game stores [`OwnedEntities`] in its state and implements [`OwnedState`] for the reported
//! data. Its `act` calls [`spawn`](OwnedEntities::spawn), [`report`](OwnedEntities::report) and
//! [`remove`](OwnedEntities::remove). It also calls [`tick`](OwnedEntities::tick) once per tick,
//! [`disconnect`](OwnedEntities::disconnect) and [`leave`](OwnedEntities::leave). When it rejects a
//! report, it sends the entity's state to the owner, which continues from there.
//! `examples/kites.rs` is a complete game.
//!
//! # Validation and trust
//!
//! The owner is the issuer of the command, never a number in the packet, so a player can only act
//! on its own entities. The game checks whether a state is possible ([`OwnedState::is_valid`]).
//! In any period, an entity moves no farther than its speed allows in that time plus
//! [`AuthorityRules::slack_ticks`]. Within these bounds the world trusts the owner, because it
//! cannot know more, for example about the wind. A game must decide everything else, such as hits,
//! from the accepted states.
//!
//! # The clock of an entity
//!
//! Reports arrive late, in bursts, or not at all. Each entity therefore has a clock. A report
//! advances the clock by the time that the motion takes at full speed, and at least by
//! [`AuthorityRules::report_ticks`]. The clock of an entity must not pass the world's clock
//! ([`ReportError::TooFast`], [`ReportError::TooSoon`]), and never falls behind it by more than the
//! slack. Reports that a stall delayed by at most the slack are therefore accepted at once. A jump
//! that takes more time than the slack is rejected.

use std::fmt::Debug;

use tickwire_sim::PlayerId;
use tickwire_sim::fields::{Field, Malformed, Reader, Sink};
use tickwire_sim::fixed::square_root;

/// The state that a client reports for its own entity: a type with
/// [`fields!`](tickwire_sim::fields!).
pub trait OwnedState: Field + Clone + Debug + PartialEq {
    /// Limits for the owners.
    const RULES: AuthorityRules;

    /// Returns whether this state is valid: within the map, and each field within its bounds.
    fn is_valid(&self) -> bool;

    /// Returns the position, in units of the game.
    fn position(&self) -> (i32, i32);

    /// Extrapolates one tick without a report. The result is discarded if it is invalid, or farther
    /// away than the speed allows. A client in Rust may call the same function.
    fn extrapolate(&mut self);
}

/// Limits for the owners of one kind of entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthorityRules {
    /// Maximum number of entities per owner.
    pub max_per_player: u8,
    /// Minimum ticks between two spawns of an owner. Without this limit, removing and spawning an
    /// entity would allow jumps.
    pub spawn_ticks: u32,
    /// Minimum ticks between two reports of an entity. Reports that the network delayed may be
    /// applied in the same tick.
    pub report_ticks: u32,
    /// Maximum speed in units of [`OwnedState::position`] per tick. 0 counts as 1.
    pub speed: u32,
    /// Tolerated lag in ticks. After this time without reports, an entity may move at once as far
    /// as its speed allows in this time. A value less than `report_ticks` counts as `report_ticks`.
    pub slack_ticks: u32,
    /// Ticks without a report during which the world extrapolates an entity. Limited to
    /// `slack_ticks`, so that the owner can always continue from the extrapolated state.
    pub extrapolation_ticks: u32,
    /// Ticks without a report until the timeout.
    pub timeout_ticks: u32,
    /// Effect of the timeout.
    pub on_timeout: TimeoutAction,
    /// Effect when the owner's seat is suspended. When the owner leaves, its entities are removed.
    pub on_disconnect: TimeoutAction,
}

/// The effect of a missing owner on an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutAction {
    /// The entity stays at its position until its owner reports again.
    Freeze,
    /// The entity is removed.
    Despawn,
}

tickwire_sim::named_enum! {
    /// The reason why an owner's command is rejected. The entities are unchanged.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ReportError {
        /// The entity belongs to another player.
        NotYours => "not_yours",
        /// The entity does not exist.
        Unknown => "unknown",
        /// The owner already has an entity with this number.
        Taken => "number_taken",
        /// The owner has [`AuthorityRules::max_per_player`] entities.
        TooMany => "too_many",
        /// [`OwnedState::is_valid`] returned false.
        OutOfBounds => "out_of_bounds",
        /// [`AuthorityRules::spawn_ticks`] or [`AuthorityRules::report_ticks`] have not elapsed.
        TooSoon => "too_soon",
        /// The distance is too long for the elapsed time.
        TooFast => "too_fast",
    }
}

impl From<ReportError> for &'static str {
    fn from(refusal: ReportError) -> &'static str {
        refusal.name()
    }
}

/// Returns the id of an entity: the owner's number in the upper half, and a number chosen by the
/// owner in the lower half. So the owner knows the id before the server's ack.
pub const fn entity_id(owner: PlayerId, number: u16) -> u32 {
    (owner.0 as u32) << 16 | number as u32
}

/// Returns the owner of the entity with this id.
pub const fn owner_of(id: u32) -> PlayerId {
    PlayerId((id >> 16) as u16)
}

/// An entity and its clock.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedEntity<K> {
    /// The id; see [`entity_id`].
    pub id: u32,
    /// The current state: the last reported state, extrapolated since then.
    pub state: K,
    /// The last reported state.
    last_reported: K,
    /// The entity's clock (see the [module](self)) in 1/65,536 tick.
    clock: u64,
    /// Ticks since the last report. [`OWNER_DISCONNECTED`] while the owner's seat is suspended.
    silent_ticks: u32,
}

/// Value of `silent_ticks` while the owner has no connection.
const OWNER_DISCONNECTED: u32 = u32::MAX;

/// Converts ticks to the unit of an entity's clock.
const fn clock(ticks: u32) -> u64 {
    (ticks as u64) << 16
}

impl<K: OwnedState> OwnedEntity<K> {
    /// Returns the owner. Only the owner may act on the entity.
    pub fn owner_of(&self) -> PlayerId {
        owner_of(self.id)
    }

    /// Returns the maximum lag of an entity's clock.
    fn slack() -> u64 {
        clock(K::RULES.slack_ticks.max(K::RULES.report_ticks))
    }

    fn apply_report(&mut self, state: K, tick: u32) -> Result<(), ReportError> {
        let (now, min_interval) = (clock(tick), clock(K::RULES.report_ticks));
        let from = self.clock.max(now.saturating_sub(OwnedEntity::<K>::slack()));
        let took = (distance(self.last_reported.position(), state.position()) << 16)
            / u64::from(K::RULES.speed.max(1));
        if from + took.max(min_interval) > now {
            return Err(if took > min_interval { ReportError::TooFast } else { ReportError::TooSoon });
        }
        self.clock = from + took.max(min_interval);
        (self.last_reported, self.state, self.silent_ticks) = (state.clone(), state, 0);
        Ok(())
    }

    /// Advances the entity by one tick. Returns whether it continues to exist.
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
            // The owner can always continue from this position, because its next report may cover
            // the same distance.
            let max_distance = u64::from(speed) * u64::from(self.silent_ticks);
            if next.is_valid() && distance(self.last_reported.position(), next.position()) <= max_distance {
                self.state = next;
            }
        }
        self.silent_ticks = self.silent_ticks.saturating_add(1);
        true
    }
}

/// Returns the distance, rounded up, so that diagonal motion gains nothing.
fn distance((x, y): (i32, i32), (to_x, to_y): (i32, i32)) -> u64 {
    let square = |side: u32| u64::from(side) * u64::from(side);
    let whole = square(x.abs_diff(to_x)).saturating_add(square(y.abs_diff(to_y)));
    let root = square_root(whole);
    root + u64::from(root.saturating_mul(root) < whole)
}

/// The next time at which an owner may spawn.
#[derive(Clone, Debug, PartialEq)]
struct SpawnCooldown {
    player: PlayerId,
    /// The earliest tick of the next spawn.
    tick: u32,
}

tickwire_sim::fields!(SpawnCooldown: player: PlayerId, tick: u32);

/// All entities of one kind, stored in the state of a game: at most
/// [`AuthorityRules::max_per_player`] for each player.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedEntities<K> {
    /// Sorted by id, and so by owner.
    list: Vec<OwnedEntity<K>>,
    /// Players that have spawned an entity since their join, sorted by number.
    spawners: Vec<SpawnCooldown>,
}

impl<K> Default for OwnedEntities<K> {
    fn default() -> OwnedEntities<K> {
        OwnedEntities { list: Vec::new(), spawners: Vec::new() }
    }
}

impl<K: OwnedState> OwnedEntities<K> {
    /// Iterates over all entities in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &OwnedEntity<K>> {
        self.list.iter()
    }

    /// Iterates over the entities of one owner.
    pub fn owned_by(&self, player: PlayerId) -> impl Iterator<Item = &OwnedEntity<K>> {
        let begin = self.list.partition_point(|one| one.owner_of() < player);
        self.list[begin..].iter().take_while(move |one| one.owner_of() == player)
    }

    /// Returns the entity with this id.
    pub fn get(&self, id: u32) -> Option<&OwnedEntity<K>> {
        self.find(id).ok().map(|at| &self.list[at])
    }

    /// Spawns an entity of a player, with a number that the player chooses. Returns the entity's
    /// [`entity_id`]. The game must check beforehand whether the player may spawn at this position.
    ///
    /// # Errors
    /// The violated rule.
    pub fn spawn(&mut self, player: PlayerId, number: u16, state: K, tick: u32) -> Result<u32, ReportError> {
        let id = entity_id(player, number);
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
        // The clock starts with the maximum lag, because a network stall may deliver the first
        // reports together with the spawn.
        let clock = clock(tick).saturating_sub(OwnedEntity::<K>::slack());
        let last_reported = state.clone();
        self.list.insert(at, OwnedEntity { id, state, last_reported, clock, silent_ticks: 0 });
        Ok(id)
    }

    /// Applies a player's report for its own entity.
    ///
    /// # Errors
    /// The violated rule.
    pub fn report(&mut self, player: PlayerId, id: u32, state: K, tick: u32) -> Result<(), ReportError> {
        let at = self.own(player, id)?;
        if !state.is_valid() {
            return Err(ReportError::OutOfBounds);
        }
        self.list[at].apply_report(state, tick)
    }

    /// Removes a player's own entity.
    ///
    /// # Errors
    /// The violated rule.
    pub fn remove(&mut self, player: PlayerId, id: u32) -> Result<(), ReportError> {
        let at = self.own(player, id)?;
        self.list.remove(at);
        Ok(())
    }

    /// Advances all entities by one tick. Call it after the commands of all players. Entities
    /// without reports are extrapolated, stopped or removed.
    pub fn tick(&mut self) {
        self.list.retain_mut(OwnedEntity::tick);
    }

    /// Applies [`AuthorityRules::on_disconnect`] to the entities of a player with a suspended seat.
    pub fn disconnect(&mut self, player: PlayerId) {
        let is_gone = K::RULES.on_disconnect == TimeoutAction::Despawn;
        self.list.retain(|one| !is_gone || one.owner_of() != player);
        let own = self.list.iter_mut().filter(|one| one.owner_of() == player);
        own.for_each(|one| one.silent_ticks = OWNER_DISCONNECTED);
    }

    /// Removes all entities of a player that has left.
    pub fn leave(&mut self, player: PlayerId) {
        self.list.retain(|one| one.owner_of() != player);
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
        write("said", &self.last_reported, sink);
        write("clock", &self.clock, sink);
        write("silent_ticks", &self.silent_ticks, sink);
    }

    fn read(reader: &mut Reader<'_>) -> Result<OwnedEntity<K>, Malformed> {
        Ok(OwnedEntity {
            id: read("id", reader)?,
            state: read("state", reader)?,
            last_reported: read("last_reported", reader)?,
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
