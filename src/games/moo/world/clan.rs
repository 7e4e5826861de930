//! A clan: a number, a name and an owner. Its members are stored with the players; its behaviour is
//! in `clans`.

use std::sync::Arc;

use crate::fields::{fields, scalar};
use crate::id::PlayerId;

/// The number of a clan, which is never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClanId(pub u32);

scalar!(ClanId, 4, |value| u64::from(value.0), |raw| Some(ClanId(raw as u32)));

/// A clan. Its members are stored with the players.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clan {
    /// The number.
    pub id: ClanId,
    /// The name; unique among clans.
    pub name: Arc<str>,
    /// The owner, who is a member.
    pub owner: PlayerId,
}

fields!(Clan: id: ClanId, name: Arc<str>, owner: PlayerId);
