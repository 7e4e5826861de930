//! Objects: natural objects, which never change, and structures, which players build; and the
//! objects that one client knows.
//!
//! Structures are listed and indexed again only after one was built or destroyed. A client is sent
//! each object once, when it first comes near the object, so most turns need not look for objects
//! at all.

use super::interest::{Circle, Located, SpatialIndex, ViewWindow};
use crate::games::moo::world::{Angle, EntityId, PlayerId, SceneryKind, World};

/// The margin in px by which a turn widens the window for objects, so that another look is needed
/// only once the centre has moved that far.
const MARGIN_PX: i32 = 64;

/// A natural object as everyone may see it.
#[derive(Debug, Clone, Copy)]
pub struct PublicScenery {
    pub id: EntityId,
    pub kind: SceneryKind,
    /// Its position, and the size of its picture.
    pub place: Circle,
}

/// A structure as everyone may see it.
#[derive(Debug, Clone, Copy)]
pub struct PublicStructure {
    pub id: EntityId,
    /// The number of its item.
    pub item: u8,
    pub owner: PlayerId,
    /// Its position, and the size of its picture.
    pub place: Circle,
    /// The direction in which it points.
    pub heading: Angle,
    /// The tick after which it is gone, if it ends by itself; it never changes.
    pub ends_tick: Option<u32>,
}

/// What an event needs of the object that it concerns.
#[derive(Debug, Clone, Copy)]
pub struct ObjectRef {
    pub id: EntityId,
    /// Its index among the natural objects, if it is one.
    pub nature: Option<usize>,
    /// Its position and size.
    pub place: Circle,
}

/// All structures, as of the last change.
#[derive(Debug)]
pub struct Structures {
    /// Counts the changes.
    pub version: u32,
    pub index: SpatialIndex<PublicStructure>,
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

/// The natural objects of a world.
pub fn scenery(world: &World, map_size_px: i32) -> SpatialIndex<PublicScenery> {
    let natural = world.scenery().map(|thing| PublicScenery {
        id: thing.id,
        kind: thing.kind,
        place: Circle { x_px: thing.x_px, y_px: thing.y_px, radius_px: thing.scale_px },
    });
    SpatialIndex::new(map_size_px, natural.collect())
}

impl Structures {
    /// The present structures of a world.
    pub fn of(world: &World, map_size_px: i32, version: u32) -> Structures {
        let built = world.structures().map(|structure| PublicStructure {
            id: structure.id,
            item: structure.item.id,
            owner: structure.owner,
            place: Circle { x_px: structure.x_px, y_px: structure.y_px, radius_px: structure.item.scale_px },
            heading: structure.heading,
            ends_tick: structure.ends_tick,
        });
        Structures { version, index: SpatialIndex::new(map_size_px, built.collect()) }
    }
}

/// Finds an object of either kind.
pub fn find(
    nature: &SpatialIndex<PublicScenery>,
    structures: &Structures,
    id: EntityId,
) -> Option<ObjectRef> {
    let index = nature.index_of(&id);
    let place = match index {
        Some(index) => nature[index].place,
        None => structures.index.find(&id)?.place,
    };
    Some(ObjectRef { id, nature: index, place })
}

/// The objects that one client knows.
#[derive(Debug, Default)]
pub struct KnownObjects {
    /// A bit for each natural object.
    nature: Vec<u64>,
    /// The window at the last look for natural objects.
    nature_from: Option<ViewWindow>,
    /// The numbers of the structures, in order.
    structures: Vec<EntityId>,
    /// The version of [`Structures`], and the window, at the last look for structures.
    version: u32,
    structures_from: Option<ViewWindow>,
}

/// A change of the objects that a client knows.
#[derive(Debug, Clone, Copy)]
pub enum ObjectChange {
    /// The natural object of this index came into range.
    Natural(usize),
    /// This structure is gone.
    Removed(EntityId),
    /// The structure of this index came into range.
    Built(usize),
}

impl KnownObjects {
    /// Whether the client knows this object.
    pub fn knows(&self, object: &ObjectRef) -> bool {
        match object.nature {
            Some(index) => self.nature.get(index / 64).is_some_and(|word| word & (1 << (index % 64)) != 0),
            None => self.structures.binary_search(&object.id).is_ok(),
        }
    }

    /// Calls `tell` with each change since the last update, in the order of [`ObjectChange`].
    pub fn compare(
        &mut self,
        nature: &SpatialIndex<PublicScenery>,
        Structures { version, index: things }: &Structures,
        window: ViewWindow,
        mut tell: impl FnMut(ObjectChange),
    ) {
        if !covers(self.nature_from, window) {
            self.nature_from = Some(window);
            self.nature.resize(nature.len().div_ceil(64), 0);
            nature.for_each_near(window, MARGIN_PX, |index| {
                let (word, bit) = (&mut self.nature[index / 64], 1u64 << (index % 64));
                if *word & bit == 0 {
                    *word |= bit;
                    tell(ObjectChange::Natural(index));
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
                    tell(ObjectChange::Removed(*id));
                }
                stands
            });
        }
        (self.version, self.structures_from) = (*version, Some(window));
        things.for_each_near(window, MARGIN_PX, |index| {
            let id = things[index].id;
            if let Err(place) = self.structures.binary_search(&id) {
                self.structures.insert(place, id);
                tell(ObjectChange::Built(index));
            }
        });
    }
}

/// Whether the last look, from that window, found everything that this window needs.
fn covers(from: Option<ViewWindow>, window: ViewWindow) -> bool {
    from.is_some_and(|from| (from.x - window.x).abs() < MARGIN_PX && (from.y - window.y).abs() < MARGIN_PX)
}
