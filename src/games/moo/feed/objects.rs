//! Objects on the map (scenery and structures), and the objects known to one client.
//!
//! The list and the index of structures are rebuilt only after a structure was built or destroyed.
//! Each object is sent once, when the client first comes near the object. Most updates need no
//! search: while the client is near the place of its last search, only the newest changes of
//! structures are compared.

use std::sync::Arc;

use super::interest::{Circle, EntityIndex, Located, ViewWindow};
use crate::games::moo::world::{Angle, EntityId, PlayerId, SceneryKind, World};
use crate::limits;

/// Margin in px by which the search for objects widens the window. The next search is needed only
/// after the centre has moved that far.
const MARGIN_PX: i32 = 64;

/// The public state of a scenery object.
#[derive(Debug, Clone, Copy)]
pub struct PublicScenery {
    pub id: EntityId,
    pub kind: SceneryKind,
    /// Position, and size of the drawn image.
    pub place: Circle,
}

/// The public state of a structure.
#[derive(Debug, Clone, Copy)]
pub struct PublicStructure {
    pub id: EntityId,
    /// ID of the structure's item.
    pub item: u8,
    pub owner: PlayerId,
    /// Position, and size of the drawn image.
    pub place: Circle,
    /// The direction in which the structure points.
    pub heading: Angle,
    /// Last tick of the structure, if it expires by itself. The value never changes.
    pub ends_tick: Option<u32>,
}

/// An object as referred to by an event.
#[derive(Debug, Clone, Copy)]
pub struct ObjectRef {
    pub id: EntityId,
    /// Whether it is scenery; otherwise it is a structure.
    pub is_natural: bool,
    /// Position and size.
    pub place: Circle,
}

/// All structures as of the last change.
#[derive(Debug)]
pub struct Structures {
    /// Incremented with each change.
    pub version: u32,
    pub index: EntityIndex<PublicStructure>,
    /// The newest changes, at most [`limits::STRUCTURE_CHANGES_KEPT`]. The last led to `version`.
    changes: Vec<Arc<StructureChange>>,
}

/// The structures built and destroyed in one tick.
#[derive(Debug, Default)]
pub struct StructureChange {
    pub built: Vec<EntityId>,
    pub destroyed: Vec<EntityId>,
}

impl Located for PublicScenery {
    type Id = EntityId;

    fn id(&self) -> EntityId {
        self.id
    }

    fn place(&self) -> Circle {
        self.place
    }
}

impl Located for PublicStructure {
    type Id = EntityId;

    fn id(&self) -> EntityId {
        self.id
    }

    fn place(&self) -> Circle {
        self.place
    }
}

/// The scenery of a world.
pub fn scenery(world: &World) -> EntityIndex<PublicScenery> {
    let natural = world.scenery().map(|scenery| PublicScenery {
        id: scenery.id,
        kind: scenery.kind,
        place: Circle { x_px: scenery.x_px, y_px: scenery.y_px, radius_px: scenery.scale_px },
    });
    EntityIndex::new(natural.collect())
}

/// The structures of a world.
pub fn structures(world: &World) -> EntityIndex<PublicStructure> {
    let built = world.structures().map(|structure| PublicStructure {
        id: structure.id,
        item: structure.item.id,
        owner: structure.owner,
        place: Circle { x_px: structure.x_px, y_px: structure.y_px, radius_px: structure.item.scale_px },
        heading: structure.heading,
        ends_tick: structure.ends_tick,
    });
    EntityIndex::new(built.collect())
}

impl StructureChange {
    pub fn is_empty(&self) -> bool {
        self.built.is_empty() && self.destroyed.is_empty()
    }
}

impl Structures {
    /// All structures at the start, without earlier changes.
    pub fn new(index: EntityIndex<PublicStructure>) -> Structures {
        Structures { version: 0, index, changes: Vec::new() }
    }

    /// All structures after this change.
    pub fn after(&self, change: StructureChange, index: EntityIndex<PublicStructure>) -> Structures {
        let first = (self.changes.len() + 1).saturating_sub(limits::STRUCTURE_CHANGES_KEPT);
        let changes = self.changes[first..].iter().cloned().chain([Arc::new(change)]).collect();
        Structures { version: self.version.wrapping_add(1), index, changes }
    }

    /// The changes since an earlier version, the oldest first. `None` if they are not kept.
    fn since(&self, version: u32) -> Option<&[Arc<StructureChange>]> {
        let count = self.version.wrapping_sub(version) as usize;
        self.changes.len().checked_sub(count).map(|first| &self.changes[first..])
    }
}

/// Finds a scenery object or a structure by its ID.
pub fn find(nature: &EntityIndex<PublicScenery>, structures: &Structures, id: EntityId) -> Option<ObjectRef> {
    let index = nature.index_of(&id);
    let place = match index {
        Some(index) => nature[index].place,
        None => structures.index.find(&id)?.place,
    };
    Some(ObjectRef { id, is_natural: index.is_some(), place })
}

/// The objects known to one client.
#[derive(Debug, Default)]
pub struct KnownObjects {
    /// One bit per scenery object.
    nature: Vec<u64>,
    /// Window of the last search for scenery.
    nature_from: Option<ViewWindow>,
    /// IDs of the known structures, in ascending order.
    structures: Vec<EntityId>,
    /// Version of [`Structures`] in the last search for structures.
    version: u32,
    /// Window of the last search for structures.
    structures_from: Option<ViewWindow>,
}

/// A change of the known objects.
#[derive(Debug, Clone, Copy)]
pub enum ObjectChange {
    /// A scenery object, by index, came into range.
    Natural(usize),
    /// A known structure no longer exists.
    Removed(EntityId),
    /// A structure, by index, came into range.
    Built(usize),
}

impl KnownObjects {
    /// Version of [`Structures`] in the last search.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Calls `on_change` with each change since the last update, in the order of the variants of
    /// [`ObjectChange`].
    pub fn compare(
        &mut self,
        nature: &EntityIndex<PublicScenery>,
        structures: &Structures,
        window: ViewWindow,
        mut on_change: impl FnMut(ObjectChange),
    ) {
        if !covers(self.nature_from, window) {
            self.nature_from = Some(window);
            self.nature.resize(nature.len().div_ceil(64), 0);
            nature.for_each_near(window, MARGIN_PX, |index| {
                let (word, bit) = (&mut self.nature[index / 64], 1u64 << (index % 64));
                if *word & bit == 0 {
                    *word |= bit;
                    on_change(ObjectChange::Natural(index));
                }
            });
        }
        let is_covered = covers(self.structures_from, window);
        if self.version == structures.version && is_covered {
            return;
        }
        let changes = structures.since(self.version);
        self.version = structures.version;
        self.remove_destroyed(structures, changes, &mut on_change);
        match changes.filter(|_| is_covered) {
            Some(changes) => self.add_built(structures, changes, on_change),
            None => {
                self.structures_from = Some(window);
                structures.index.for_each_near(window, MARGIN_PX, |index| {
                    self.add(structures.index[index].id, index, &mut on_change);
                });
            }
        }
    }

    /// Removes the known structures that these changes have destroyed. Without the changes, finds
    /// each known structure in the list of all.
    fn remove_destroyed(
        &mut self,
        structures: &Structures,
        changes: Option<&[Arc<StructureChange>]>,
        on_change: &mut impl FnMut(ObjectChange),
    ) {
        let Some(changes) = changes else {
            self.structures.retain(|id| {
                let stands = structures.index.index_of(id).is_some();
                if !stands {
                    on_change(ObjectChange::Removed(*id));
                }
                stands
            });
            return;
        };
        for id in changes.iter().flat_map(|change| &change.destroyed) {
            if let Ok(place) = self.structures.binary_search(id) {
                on_change(ObjectChange::Removed(self.structures.remove(place)));
            }
        }
    }

    /// Adds the structures that these changes have built in the range of the last search.
    fn add_built(
        &mut self,
        structures: &Structures,
        changes: &[Arc<StructureChange>],
        mut on_change: impl FnMut(ObjectChange),
    ) {
        let Some(from) = self.structures_from else { return };
        for id in changes.iter().flat_map(|change| &change.built) {
            // It may be destroyed already.
            let Some(index) = structures.index.index_of(id) else { continue };
            if from.intersects_with_margin(structures.index[index].place, MARGIN_PX) {
                self.add(*id, index, &mut on_change);
            }
        }
    }

    /// Adds a structure that is not known yet.
    fn add(&mut self, id: EntityId, index: usize, on_change: &mut impl FnMut(ObjectChange)) {
        if let Err(place) = self.structures.binary_search(&id) {
            self.structures.insert(place, id);
            on_change(ObjectChange::Built(index));
        }
    }
}

/// Whether a search with window `from` also covers `window`.
fn covers(from: Option<ViewWindow>, window: ViewWindow) -> bool {
    from.is_some_and(|from| (from.x - window.x).abs() < MARGIN_PX && (from.y - window.y).abs() < MARGIN_PX)
}

#[cfg(test)]
mod tests {
    use tickwire_sim::Rng;

    use super::*;

    fn index_of(standing: &[PublicStructure]) -> EntityIndex<PublicStructure> {
        EntityIndex::new(standing.to_vec())
    }

    /// A client and the structures that it was sent.
    #[derive(Default)]
    struct Client {
        known: KnownObjects,
        sent: Vec<EntityId>,
    }

    impl Client {
        fn update(&mut self, structures: &Structures, window: ViewWindow) {
            let (nature, mut removed_last) = (EntityIndex::new(Vec::new()), true);
            self.known.compare(&nature, structures, window, |change| match change {
                ObjectChange::Natural(_) => panic!("there is no scenery"),
                ObjectChange::Removed(id) => {
                    assert!(removed_last, "removals come first");
                    let place = self.sent.iter().position(|sent| *sent == id).expect("it was sent");
                    self.sent.swap_remove(place);
                }
                ObjectChange::Built(index) => {
                    let id = structures.index[index].id;
                    assert!(!self.sent.contains(&id), "{id:?} was sent before");
                    self.sent.push(id);
                    removed_last = false;
                }
            });
        }
    }

    /// A client that misses no change, one that misses a few, and one that misses more than are
    /// kept walk through a world in which structures are built and destroyed.
    #[test]
    fn clients_know_every_structure_in_their_window_and_none_that_is_destroyed() {
        let mut rng = Rng::new(34, 0);
        let mut below = |max: u32| rng.below(max);
        let (mut standing, mut next_id) = (Vec::new(), 1);
        let mut structures = Structures::new(index_of(&standing));
        let mut clients: [(usize, Client); 3] = [1, 7, 50].map(|every| (every, Client::default()));
        let (mut window, mut seen_count) = (ViewWindow { x: 3_000, y: 3_000 }, 0);
        for tick in 1..2_000 {
            let mut change = StructureChange::default();
            for _ in 0..below(3) {
                let (x_px, y_px) = (below(6_000) as i32, below(6_000) as i32);
                let (id, place) = (EntityId(next_id), Circle { x_px, y_px, radius_px: 50 });
                let (item, owner, heading, ends_tick) = (1, PlayerId(1), Angle(0), None);
                standing.push(PublicStructure { id, item, owner, place, heading, ends_tick });
                change.built.push(id);
                next_id += 1;
            }
            while standing.len() > 150 {
                change.destroyed.push(standing.remove(below(150) as usize).id);
            }
            if !change.is_empty() {
                structures = structures.after(change, index_of(&standing));
            }
            window.x = (window.x + below(41) as i32 - 20).clamp(0, 6_000);
            window.y = (window.y + below(41) as i32 - 20).clamp(0, 6_000);
            for (every, client) in &mut clients {
                if tick % *every != 0 {
                    continue;
                }
                client.update(&structures, window);
                client.sent.sort_unstable();
                assert_eq!(client.sent, client.known.structures, "tick {tick}, every {every}");
                let seen = structures.index.iter().filter(|structure| window.intersects(structure.place));
                seen_count += seen.clone().count();
                assert!(
                    seen.map(|seen| seen.id).all(|id| client.sent.binary_search(&id).is_ok()),
                    "tick {tick}"
                );
                assert!(client.sent.iter().all(|id| structures.index.find(id).is_some()), "tick {tick}");
            }
        }
        assert!(seen_count > 10_000, "the clients saw {seen_count} structures");
        assert_eq!(structures.changes.len(), limits::STRUCTURE_CHANGES_KEPT);
    }
}
