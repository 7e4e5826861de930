//! Objects on the map (scenery and structures), and the objects known to one client.
//!
//! The list and the index of structures are rebuilt only after a structure was built or destroyed.
//! Each object is sent once, when the client first comes near the object, so most updates need no
//! search for objects.

use super::interest::{Circle, EntityIndex, Located, ViewWindow};
use crate::games::moo::world::{Angle, EntityId, PlayerId, SceneryKind, World};

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
    let natural = world.scenery().map(|thing| PublicScenery {
        id: thing.id,
        kind: thing.kind,
        place: Circle { x_px: thing.x_px, y_px: thing.y_px, radius_px: thing.scale_px },
    });
    EntityIndex::new(natural.collect())
}

impl Structures {
    /// The current structures of a world.
    pub fn of(world: &World, version: u32) -> Structures {
        let built = world.structures().map(|structure| PublicStructure {
            id: structure.id,
            item: structure.item.id,
            owner: structure.owner,
            place: Circle { x_px: structure.x_px, y_px: structure.y_px, radius_px: structure.item.scale_px },
            heading: structure.heading,
            ends_tick: structure.ends_tick,
        });
        Structures { version, index: EntityIndex::new(built.collect()) }
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
        Structures { version, index: things }: &Structures,
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
        if self.version == *version && covers(self.structures_from, window) {
            return;
        }
        if self.version != *version {
            self.structures.retain(|id| {
                let stands = things.index_of(id).is_some();
                if !stands {
                    on_change(ObjectChange::Removed(*id));
                }
                stands
            });
        }
        (self.version, self.structures_from) = (*version, Some(window));
        things.for_each_near(window, MARGIN_PX, |index| {
            let id = things[index].id;
            if let Err(place) = self.structures.binary_search(&id) {
                self.structures.insert(place, id);
                on_change(ObjectChange::Built(index));
            }
        });
    }
}

/// Whether a search with window `from` also covers `window`.
fn covers(from: Option<ViewWindow>, window: ViewWindow) -> bool {
    from.is_some_and(|from| (from.x - window.x).abs() < MARGIN_PX && (from.y - window.y).abs() < MARGIN_PX)
}
