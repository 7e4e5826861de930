//! Clans: ID, name and owner. The list of members is part of the players' state; the rules of clans
//! are in `tick::clans`.

use std::sync::Arc;

use crate::fields::{fields, scalar};
use crate::id::PlayerId;

/// ID of a clan. IDs are never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClanId(pub u32);

scalar!(ClanId, 4, |value| u64::from(value.0), |raw| Some(ClanId(raw as u32)));

/// A clan. The players' state contains its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clan {
    /// The ID.
    pub id: ClanId,
    /// The name, unique among clans.
    pub name: Arc<str>,
    /// The owner, always a member.
    pub owner: PlayerId,
}

fields!(Clan: id: ClanId, name: Arc<str>, owner: PlayerId);
