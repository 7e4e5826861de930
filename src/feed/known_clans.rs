//! The known set of one client for clans, which determines what may be sent next.
//!
//! Each player can found, join and leave clans up to four times a second, and each change concerns
//! every client. So a client receives all clans in its first update, and later changes at a
//! [`Pace`]: together, at most once a second, and in the long run within a byte rate. Changes by the
//! client's own player are sent at once, with the clans that they concern. A message never names a
//! clan or a mate that the client does not know yet.

use super::clans::Tag;
use super::pace::Pace;
use super::state::State;
use crate::world::ClanId;
use crate::world::clan::Clan;

/// Clans that ended, and clans that were founded.
#[derive(Debug, Default)]
pub struct ClanChanges {
    pub ended: Vec<Clan>,
    pub founded: Vec<Clan>,
}

/// The clans that one client knows.
#[derive(Debug, Default)]
pub struct KnownClans {
    /// Whether the client has received the initial list of clans.
    has_list: bool,
    /// The version of the clans that the client knows in full.
    version: u32,
    /// The clans that it knows, in the order of their numbers.
    list: Vec<Clan>,
    /// The clan that the client knows as its own, and whether its player owns it.
    own: Option<(ClanId, bool)>,
    /// The period in which the members' positions were last sent.
    period: Option<u32>,
    pace: Pace,
    due: Due,
}

/// What the present update may send.
#[derive(Debug, Clone, Copy, Default)]
struct Due {
    /// Clans that began and ended, and the clans of players in view.
    news: bool,
    /// The members of the client's own clan, and the players who ask to join.
    people: bool,
    /// The client's own joining or leaving of a clan.
    own: bool,
}

impl KnownClans {
    /// Begins an update: decides from earlier messages what this one may send.
    pub fn begin(&mut self, state: &State) {
        let (tick, hz) = (state.tick, state.tick_hz);
        self.due = Due {
            news: !self.has_list || self.pace.is_news_due(tick),
            people: self.pace.is_free(tick),
            own: self.pace.has_credit(tick, hz),
        };
    }

    /// Whether this update may send the clan of a player in view. A newcomer's clan needs no pause,
    /// but a clan that the client does not know yet waits for the next news.
    pub fn may_send_tag(&self, clan: Option<ClanId>, is_newcomer: bool) -> bool {
        self.due.news || is_newcomer && clan.is_none_or(|clan| self.place_of(clan).is_ok())
    }

    /// Like `may_send_tag`, for the client's own player.
    pub fn may_send_own_tag(&self, clan: Option<ClanId>) -> bool {
        self.due.own || clan == self.own.map(|(clan, _)| clan)
    }

    /// Whether this update may send the members of this clan, which the client knows as its own,
    /// and the players who ask to join it.
    pub fn may_send_people(&self, tag: &Tag) -> bool {
        self.due.people && self.knows_own(tag)
    }

    /// Like `may_send_people`, right after the client has joined.
    pub fn may_send_first_people(&self, tag: &Tag) -> bool {
        self.due.own && self.knows_own(tag)
    }

    /// Charges the bytes of messages about clans.
    pub fn charge(&mut self, bytes: usize, state: &State) {
        self.pace.spend(bytes, state.tick, state.tick_hz);
    }

    /// Charges the bytes of tags of players that the client already knew. Tags of newcomers are
    /// free.
    pub fn charge_tags(&mut self, bytes: usize, state: &State) {
        if bytes > 0 {
            self.charge(bytes, state);
            self.pace.sent_news(state.tick, state.tick_hz);
        }
    }

    /// All clans, the first time.
    pub fn take_list(&mut self, state: &State) -> Vec<Clan> {
        if self.has_list {
            return Vec::new();
        }
        let all = self.take_news(state).founded;
        self.has_list = true;
        all
    }

    /// The clans that ended and those that were founded since the last news, if news are due.
    pub fn take_news(&mut self, state: &State) -> ClanChanges {
        if !self.due.news || self.has_list && self.version == state.clans.version {
            return ClanChanges::default();
        }
        self.version = state.clans.version;
        if self.has_list {
            self.pace.sent_news(state.tick, state.tick_hz);
        }
        self.update(&state.clans.list, |_| true)
    }

    /// If the client's own player has joined or left a clan, and this update may send it: the clans
    /// concerned that ended and those that were founded, which the client must know first.
    pub fn take_own(&mut self, state: &State, tag: Option<&Tag>) -> Option<ClanChanges> {
        let (now, before) = (tag.map(|tag| (tag.id, tag.is_owner)), self.own);
        if now == before || !self.due.own {
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

    /// Whether the members' positions are due; true at most once per period.
    pub fn take_period(&mut self, period: u32) -> bool {
        self.period.replace(period) != Some(period)
    }

    fn knows_own(&self, tag: &Tag) -> bool {
        self.own == Some((tag.id, tag.is_owner))
    }

    fn place_of(&self, clan: ClanId) -> Result<usize, usize> {
        self.list.binary_search_by_key(&clan, |known| known.id)
    }

    /// Updates the list of the clans that `concerns` selects.
    fn update(&mut self, now: &[Clan], concerns: impl Fn(&Clan) -> bool) -> ClanChanges {
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
        ClanChanges { ended, founded }
    }
}
