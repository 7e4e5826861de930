//! Records of the MooMoo layout: each thing encoded once a tick, for the clients of all dialects.

use std::sync::OnceLock;

use crate::feed::animals::{self, Animal};
use crate::feed::objects::{Built, Natural};
use crate::feed::records::{Encoding, Records, ThingRecords};
use crate::feed::state::{Seen, State};
use crate::packet::angle;
use crate::packet::msgpack::{write_f64_2dec, write_int, write_nil, write_str, write_uint};
use crate::world::{EntityId, Fixed, PlayerId};

/// The names that MooMoo clients choose from for cows and pigs. The other kinds have one name each,
/// whatever the number.
const NAMES: u64 = 45;

/// Prepares the records of each tick.
#[derive(Debug)]
pub struct Encoder(ThingRecords);

impl Default for Encoder {
    fn default() -> Encoder {
        let encoding = &Encoding { natural: write_natural, built: write_built, animal: write_animal };
        Encoder(ThingRecords::new(encoding))
    }
}

impl Encoder {
    /// The records of this state.
    pub fn next(&mut self, state: &State) -> Encoded {
        Encoded { things: self.0.next(state), players: OnceLock::new() }
    }
}

/// The records of one tick, made on first use.
#[derive(Debug)]
pub struct Encoded {
    /// Objects and animals.
    pub things: ThingRecords,
    players: OnceLock<Records>,
}

impl Encoded {
    /// The records of the players.
    pub fn players(&self, state: &State) -> &Records {
        self.players.get_or_init(|| Records::new(state.players.iter(), write_player))
    }
}

/// The number of an object on the wire.
pub fn object_number(id: EntityId) -> u64 {
    (id.0 - EntityId::FIRST_OTHER.0).into()
}

/// Px in 16.16, rounded to the nearest whole px.
pub fn round_px(at: Fixed) -> i64 {
    (i64::from(at.0) + (1 << 15)) >> 16
}

/// The 13 values of a player: sid, x, y, dir, build index, weapon, variant, team, is leader, skin, tail, icon, z index.
fn write_player(out: &mut Vec<u8>, seen: &Seen) {
    write_uint(out, seen.player.0.into());
    [seen.x, seen.y].iter().for_each(|at| write_int(out, round_px(*at)));
    write_f64_2dec(out, angle::to_radians_2dec(seen.heading.0));
    write_int(out, seen.hand.item.map_or(-1, i64::from));
    write_uint(out, seen.hand.weapon.into());
    write_uint(out, 0);
    match &seen.tag {
        Some(tag) => write_str(out, &tag.name),
        None => write_nil(out),
    }
    write_uint(out, seen.tag.as_ref().is_some_and(|tag| tag.is_owner).into());
    (0..4).for_each(|_| write_uint(out, 0));
}

/// The 8 values of an object: sid, x, y, dir, scale, type, item, owner. A natural object has no
/// item and no owner.
fn write_natural(out: &mut Vec<u8>, thing: &Natural) {
    write_uint(out, object_number(thing.id));
    [thing.place.x_px, thing.place.y_px].iter().for_each(|px| write_int(out, (*px).into()));
    write_uint(out, 0);
    write_int(out, thing.place.radius_px.into());
    write_uint(out, thing.kind as u64);
    write_nil(out);
    write_int(out, -1);
}

/// The 8 values of a structure: it has an item and no type. A structure of the operator has no
/// owner.
fn write_built(out: &mut Vec<u8>, thing: &Built) {
    write_uint(out, object_number(thing.id));
    [thing.place.x_px, thing.place.y_px].iter().for_each(|px| write_int(out, (*px).into()));
    write_f64_2dec(out, angle::to_radians_2dec(thing.heading.0));
    write_int(out, thing.place.radius_px.into());
    write_nil(out);
    write_uint(out, thing.item.into());
    match thing.owner {
        PlayerId::OPERATOR => write_int(out, -1),
        PlayerId(owner) => write_uint(out, owner.into()),
    }
}

/// The 7 values of an animal: sid, type, x, y, dir, health, number of its name.
fn write_animal(out: &mut Vec<u8>, animal: &Animal) {
    write_uint(out, animals::number(animal.id));
    write_uint(out, animal.kind.into());
    [animal.x, animal.y].iter().for_each(|at| write_int(out, at.to_px().into()));
    write_f64_2dec(out, angle::to_radians_2dec(animal.heading.0));
    write_uint(out, animal.health.into());
    write_uint(out, animals::number(animal.id) % NAMES);
}
