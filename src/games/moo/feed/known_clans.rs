//! The clans known to one client, and limits on the messages about clans.
//!
//! Each player can found, join and leave clans up to four times per second, and each change is sent
//! to every client. A client therefore receives all clans in its first update, and later changes
//! within a [`ByteRateLimit`]: in one list at most once per second, within a long-run byte rate.
//! Changes by the client's own player are sent immediately, together with the clans involved. A
//! message never refers to a clan or member that the client does not know yet.

use super::byte_rate::ByteRateLimit;
use super::merge_diff::{Change, diff_sorted};
use super::published_state::{ClanTag, PublicState};
use crate::games::moo::world::ClanId;
use crate::games::moo::world::clan::Clan;

/// Clans that ended or were founded since the last list of clan changes.
#[derive(Debug, Default)]
pub struct ClanChanges {
    pub ended: Vec<Clan>,
    pub founded: Vec<Clan>,
}

/// The clans known to one client. Bytes are charged after an update is complete, so the limits
/// depend only on earlier updates.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownClans {
    /// Version of the last complete list of clans that was sent; `None` before the first list.
    version: Option<u32>,
    /// The known clans, in ascending order of ID.
    list: Vec<Clan>,
    /// The clan that was sent as the client's own, and whether the client's player owns the clan.
    own: Option<(ClanId, bool)>,
    pace: ByteRateLimit,
}

impl KnownClans {
    /// Whether this update may send the clan tag of a player in view. The tag of a player that
    /// enters the view needs no pause, unless it names a clan that the client does not know yet.
    pub fn may_send_tag(&self, clan: Option<ClanId>, is_newcomer: bool, state: &PublicState) -> bool {
        let is_known = |clan| self.list.binary_search_by_key(&clan, |known| known.id).is_ok();
        self.are_changes_due(state) || is_newcomer && clan.is_none_or(is_known)
    }

    /// Like `may_send_tag`, for the client's own player.
    pub fn may_send_own_tag(&self, clan: Option<ClanId>, state: &PublicState) -> bool {
        self.pace.has_credit(state.tick, state.tick_hz) || clan == self.own.map(|(clan, _)| clan)
    }

    /// Whether this update may send the members and applicants of the client's own clan. No pause
    /// is required if the client has just joined (`has_joined_now`).
    pub fn may_send_people(&self, tag: &ClanTag, has_joined_now: bool, state: &PublicState) -> bool {
        let is_free = self.pace.may_send(state.tick);
        self.own == Some((tag.id, tag.is_owner))
            && (is_free || has_joined_now && self.pace.has_credit(state.tick, state.tick_hz))
    }

    /// Charges the bytes of messages about clans.
    pub fn charge(&mut self, bytes: usize, state: &PublicState) {
        self.pace.charge(bytes, state.tick, state.tick_hz);
    }

    /// Charges the bytes of tags of players that the client already knew. Tags of entering players
    /// are free.
    pub fn charge_tags(&mut self, bytes: usize, state: &PublicState) {
        if bytes > 0 {
            self.charge(bytes, state);
            self.pace.on_changes_sent(state.tick, state.tick_hz);
        }
    }

    /// Returns the clan changes since the last list, if a list is due. The flag is `true` for the
    /// first list, which contains all clans and is not charged.
    pub fn take_changes(&mut self, state: &PublicState) -> (ClanChanges, bool) {
        let is_first = self.version.is_none();
        if self.version == Some(state.clans.version) || !self.are_changes_due(state) {
            return (ClanChanges::default(), is_first);
        }
        self.version = Some(state.clans.version);
        if !is_first {
            self.pace.on_changes_sent(state.tick, state.tick_hz);
        }
        (self.update(&state.clans.list, |_| true), is_first)
    }

    /// If the client's own player has joined or left a clan and this update may send the change,
    /// returns the ended and founded clans that the client must receive first.
    pub fn take_own(&mut self, state: &PublicState, tag: Option<&ClanTag>) -> Option<ClanChanges> {
        let (now, before) = (tag.map(|tag| (tag.id, tag.is_owner)), self.own);
        if now == before || !self.pace.has_credit(state.tick, state.tick_hz) {
            return None;
        }
        self.own = now;
        let concerned = [before, now].map(|own| own.map(|(clan, _)| clan));
        let name = tag.map(|tag| &tag.name);
        // The MooMoo dialects identify clans by name alone, so an ended clan must be removed before
        // a new clan with the same name is added.
        let is_concerned = |clan: &Clan| concerned.contains(&Some(clan.id)) || name == Some(&clan.name);
        Some(self.update(&state.clans.list, is_concerned))
    }

    /// Whether this clan was sent as the client's own. The client's player need not be its owner.
    pub fn is_in(&self, clan: ClanId) -> bool {
        self.own.is_some_and(|(own, _)| own == clan)
    }

    fn are_changes_due(&self, state: &PublicState) -> bool {
        self.version.is_none() || self.pace.are_changes_due(state.tick)
    }

    /// Updates the known clans that `concerns` selects. The name and the owner of a clan never
    /// change, so comparing IDs is enough.
    fn update(&mut self, now: &[Clan], concerns: impl Fn(&Clan) -> bool) -> ClanChanges {
        let mut news = ClanChanges::default();
        let before = std::mem::take(&mut self.list);
        for change in diff_sorted(before, |known| known.id, now, |now| now.id) {
            match change {
                Change::Removed(ended) if concerns(&ended) => news.ended.push(ended),
                Change::Removed(known) | Change::Present(_, Some(known)) => self.list.push(known),
                Change::Present(founded, None) if concerns(founded) => {
                    self.list.push(founded.clone());
                    news.founded.push(founded.clone());
                }
                Change::Present(..) => {}
            }
        }
        news
    }
}
