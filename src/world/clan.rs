//! A clan: a number, a name and an owner. Who is in it stands with the players; what clans do is in `clans`.

use std::sync::Arc;

use crate::fields::{fields, scalar};
use crate::id::PlayerId;

/// The number of a clan. It is never given twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClanId(pub u32);

scalar!(ClanId, 4, |value| u64::from(value.0), |raw| Some(ClanId(raw as u32)));

/// A clan. Who is in it stands with the players.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clan {
    /// Which.
    pub id: ClanId,
    /// Its name; no other clan has it.
    pub name: Arc<str>,
    /// Whose it is; a member.
    pub owner: PlayerId,
}

fields!(Clan: id: ClanId, name: Arc<str>, owner: PlayerId);
