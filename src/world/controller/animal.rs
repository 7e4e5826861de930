//! The animal's controller: walks where it has decided to.
//!
//! Comes in: the body, the terrain, the constants of the tick rate. Goes out: the body one tick later. Never: a look at
//! anyone else. What an animal decides, by looking around, is the world's business (`herd`).

use crate::fields::fields;
use crate::rules::AnimalKind;

/// What an animal is and does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Animal {
    /// What it is.
    pub kind: AnimalKind,
}

fields!(Animal: kind: AnimalKind);
