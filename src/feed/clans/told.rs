//! What one client knows of clans, which decides what may be sent next.
//!
//! A message never names a clan or a mate that the client does not know yet: every message first
//! updates the client's list of the clans that it concerns.

use super::{Tag, of};
use crate::feed::pace::Pace;
use crate::feed::publish::Published;
use crate::world::clan::Clan;
use crate::world::{ClanId, PlayerId};

/// The clans that one client knows.
#[derive(Debug, Default)]
pub struct Told {
    /// Whether the client has received the initial list of clans.
    pub(super) has_list: bool,
    /// The version of the clans that the client knows in full.
    version: u32,
    /// The clans that it knows, in the order of their numbers.
    list: Vec<Clan>,
    /// The clan that the client knows as its own, and whether its player owns it.
    pub(super) own: Option<(ClanId, bool)>,
    /// The last message about its own clan.
    pub(super) said: Vec<u8>,
    /// The members that the client knows, in order.
    members: Vec<PlayerId>,
    /// The players whose request to join has been sent, in the MooMoo dialects.
    pub(super) asking: Vec<PlayerId>,
    /// The second in which the members' positions were last sent.
    second: Option<u32>,
    /// Whether any positions have been sent.
    pub(super) has_places: bool,
    pub(super) pace: Pace,
    pub(super) due: Due,
    /// The tick of its last turn.
    pub(super) turn_tick: Option<u32>,
}

/// What the present turn may send.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Due {
    /// Clans that began and ended, and the clans of players in view.
    news: bool,
    /// The members of the client's own clan, and the players who ask to join.
    pub(super) people: bool,
    /// The client's own joining or leaving of a clan.
    pub(super) own: bool,
}

impl Told {
    /// Begins a turn: decides from earlier messages what this turn may send.
    pub fn begin_turn(&mut self, published: &Published) {
        let (tick, hz) = (published.tick, published.tick_hz);
        self.turn_tick = Some(tick);
        self.due = Due {
            news: !self.has_list || self.pace.is_news_due(tick),
            people: self.pace.is_free(tick),
            own: self.pace.has_credit(tick, hz),
        };
    }

    /// Whether this turn may send the clan of a player in view. A newcomer's clan needs no pause,
    /// but a clan that the client does not know yet waits for the next news.
    pub fn may_tell_tag(&self, clan: Option<ClanId>, is_newcomer: bool) -> bool {
        self.due.news || is_newcomer && clan.is_none_or(|clan| self.place_of(clan).is_ok())
    }

    /// Like `may_tell_tag`, for the client's own player.
    pub fn may_tell_own_tag(&self, clan: Option<ClanId>) -> bool {
        self.due.own || clan == self.own.map(|(clan, _)| clan)
    }

    /// Charges the bytes of tags of players that the client already knew. Tags of newcomers are
    /// free.
    pub fn told_tags(&mut self, bytes: usize, published: &Published) {
        if bytes > 0 {
            self.pace.spend(bytes, published.tick, published.tick_hz);
            self.pace.told_news(published.tick, published.tick_hz);
        }
    }

    fn place_of(&self, clan: ClanId) -> Result<usize, usize> {
        self.list.binary_search_by_key(&clan, |known| known.id)
    }

    /// Whether the client knows this clan as its own, and the player as a member.
    pub(super) fn is_known_mate(&self, clan: ClanId, player: PlayerId) -> bool {
        self.own.is_some_and(|(own, _)| own == clan) && self.members.binary_search(&player).is_ok()
    }

    /// Updates the list of the clans that `concerns` selects; returns the clans that ended and
    /// those that were founded.
    fn update(&mut self, now: &[Clan], concerns: impl Fn(&Clan) -> bool) -> (Vec<Clan>, Vec<Clan>) {
        // A clan keeps its name and its owner, so comparing numbers is enough.
        let is_in = |list: &[Clan], id: ClanId| list.binary_search_by_key(&id, |clan| clan.id).is_ok();
        let founded: Vec<Clan> =
            now.iter().filter(|clan| concerns(clan) && !is_in(&self.list, clan.id)).cloned().collect();
        let (ended, mut list): (Vec<Clan>, Vec<Clan>) = std::mem::take(&mut self.list)
            .into_iter()
            .partition(|clan| concerns(clan) && !is_in(now, clan.id));
        list.extend(founded.iter().cloned());
        list.sort_unstable_by_key(|clan| clan.id);
        self.list = list;
        (ended, founded)
    }

    /// Returns the clans that ended and those that were founded since the last news, if news are
    /// due; the first time, all clans.
    pub(super) fn take_news(&mut self, published: &Published) -> (Vec<Clan>, Vec<Clan>) {
        if !self.due.news || self.has_list && self.version == published.clans.version {
            return (Vec::new(), Vec::new());
        }
        self.version = published.clans.version;
        if self.has_list {
            self.pace.told_news(published.tick, published.tick_hz);
        }
        self.update(&published.clans.list, |_| true)
    }

    /// If the client's own player has joined or left a clan, and this turn may send it: the clans
    /// concerned that ended and those that were founded, which the client must know first.
    pub(super) fn take_own(
        &mut self,
        published: &Published,
        tag: Option<&Tag>,
    ) -> Option<(Vec<Clan>, Vec<Clan>)> {
        let (now, before) = (tag.map(|tag| (tag.id, tag.is_owner)), self.own);
        if now == before || !self.due.own {
            return None;
        }
        self.own = now;
        self.said.clear();
        self.members.clear();
        self.asking.clear();
        let concerned = [before, now].map(|own| own.map(|(clan, _)| clan));
        let name = tag.map(|tag| tag.name.clone());
        // The MooMoo dialects identify clans by name alone: an ended clan must be removed before a
        // new one of the same name is added.
        let is_concerned =
            |clan: &Clan| concerned.contains(&Some(clan.id)) || name.as_ref() == Some(&clan.name);
        Some(self.update(&published.clans.list, is_concerned))
    }

    /// Whether the client knows this clan as its own.
    pub(super) fn knows_own(&self, tag: &Tag) -> bool {
        self.own == Some((tag.id, tag.is_owner))
    }

    /// Records which members of its clan are sent to the client.
    pub(super) fn told_members(&mut self, published: &Published, clan: ClanId) {
        self.members = of(published, &published.rolls().members, clan).map(|seen| seen.player).collect();
    }

    /// Whether positions are due; true at most once per second.
    pub(super) fn is_due(&mut self, second: u32) -> bool {
        let due = self.second != Some(second);
        self.second = Some(second);
        due
    }
}
