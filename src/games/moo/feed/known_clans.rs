//! The clans that one client knows, which determine what may be sent next.
//!
//! Each player can found, join and leave clans up to four times a second, and each change concerns
//! every client. So a client receives all clans in its first update, and later changes at a
//! [`ByteRateLimit`]: together, at most once a second, and in the long run within a byte rate. Changes by the
//! client's own player are sent at once, with the clans that they concern. A message never names a
//! clan or a mate that the client does not know yet.

use super::byte_rate::ByteRateLimit;
use super::merge_diff::{Change, diff_sorted};
use super::published_state::{ClanTag, PublicState};
use crate::games::moo::world::ClanId;
use crate::games::moo::world::clan::Clan;

/// Clans that ended, and clans that were founded.
#[derive(Debug, Default)]
pub struct ClanChanges {
    pub ended: Vec<Clan>,
    pub founded: Vec<Clan>,
}

/// The clans that one client knows. What an update may send depends on earlier updates alone, so
/// each charges its bytes when it has written all.
#[derive(Debug, Default)]
pub struct KnownClans {
    /// The version of the clans that the client knows in full; `None` before its first list.
    version: Option<u32>,
    /// The clans that it knows, in the order of their numbers.
    list: Vec<Clan>,
    /// The clan that the client knows as its own, and whether its player owns it.
    own: Option<(ClanId, bool)>,
    pace: ByteRateLimit,
}

impl KnownClans {
    /// Whether this update may send the clan of a player in view. A newcomer's clan needs no pause,
    /// but a clan that the client does not know yet waits for the next news.
    pub fn may_send_tag(&self, clan: Option<ClanId>, is_newcomer: bool, state: &PublicState) -> bool {
        let is_known = |clan| self.list.binary_search_by_key(&clan, |known| known.id).is_ok();
        self.are_changes_due(state) || is_newcomer && clan.is_none_or(is_known)
    }

    /// Like `may_send_tag`, for the client's own player.
    pub fn may_send_own_tag(&self, clan: Option<ClanId>, state: &PublicState) -> bool {
        self.pace.has_credit(state.tick, state.tick_hz) || clan == self.own.map(|(clan, _)| clan)
    }

    /// Whether this update may send the members of this clan, which the client knows as its own,
    /// and the players who ask to join it; at once if the client `has_joined` just now.
    pub fn may_send_people(&self, tag: &ClanTag, has_joined_now: bool, state: &PublicState) -> bool {
        let is_free = self.pace.may_send(state.tick);
        self.own == Some((tag.id, tag.is_owner))
            && (is_free || has_joined_now && self.pace.has_credit(state.tick, state.tick_hz))
    }

    /// Charges the bytes of messages about clans.
    pub fn charge(&mut self, bytes: usize, state: &PublicState) {
        self.pace.charge(bytes, state.tick, state.tick_hz);
    }

    /// Charges the bytes of tags of players that the client already knew. Tags of newcomers are
    /// free.
    pub fn charge_tags(&mut self, bytes: usize, state: &PublicState) {
        if bytes > 0 {
            self.charge(bytes, state);
            self.pace.on_changes_sent(state.tick, state.tick_hz);
        }
    }

    /// If news are due, the clans that ended and those that were founded since the last ones, and
    /// whether these are the first, which are all clans and are not charged.
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

    /// If the client's own player has joined or left a clan, and this update may send it: the clans
    /// concerned that ended and those that were founded, which the client must know first.
    pub fn take_own(&mut self, state: &PublicState, tag: Option<&ClanTag>) -> Option<ClanChanges> {
        let (now, before) = (tag.map(|tag| (tag.id, tag.is_owner)), self.own);
        if now == before || !self.pace.has_credit(state.tick, state.tick_hz) {
            return None;
        }
        self.own = now;
        let concerned = [before, now].map(|own| own.map(|(clan, _)| clan));
        let name = tag.map(|tag| &tag.name);
        // The MooMoo dialects identify clans by name alone: an ended clan must be removed before a
        // new one of the same name is added.
        let is_concerned = |clan: &Clan| concerned.contains(&Some(clan.id)) || name == Some(&clan.name);
        Some(self.update(&state.clans.list, is_concerned))
    }

    /// Whether the client knows this clan as its own, whoever owns it.
    pub fn is_in(&self, clan: ClanId) -> bool {
        self.own.is_some_and(|(own, _)| own == clan)
    }

    fn are_changes_due(&self, state: &PublicState) -> bool {
        self.version.is_none() || self.pace.are_changes_due(state.tick)
    }

    /// Updates the list of the clans that `concerns` selects. A clan keeps its name and its owner, so
    /// comparing numbers is enough.
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
