//! What one client was told of clans, and so what it may be told next.
//!
//! A message never names a clan, or a mate, of which the client does not know yet: whatever is told brings the list of clans
//! up to date first, as far as it is about them.

use super::{Tag, of};
use crate::feed::pace::Pace;
use crate::feed::publish::Published;
use crate::world::clan::Clan;
use crate::world::{ClanId, PlayerId};

/// What one client was told of clans.
#[derive(Debug, Default)]
pub struct Told {
    /// Whether it was told which clans there were when it came.
    pub(super) has_list: bool,
    /// The change up to which it knows all clans.
    version: u32,
    /// The clans that it knows, in the order of their numbers.
    list: Vec<Clan>,
    /// The clan that it knows to be its own, and whether it owns it.
    pub(super) own: Option<(ClanId, bool)>,
    /// What was said of its own clan last.
    pub(super) said: Vec<u8>,
    /// The members of it that it knows, in order.
    members: Vec<PlayerId>,
    /// The players of whose wish to join it was told, in the MooMoo dialects.
    pub(super) asking: Vec<PlayerId>,
    /// The second in which it was told where its clan is.
    second: Option<u32>,
    /// Whether it was told of places at all.
    pub(super) has_places: bool,
    pub(super) pace: Pace,
    pub(super) due: Due,
    /// The tick of its last turn.
    pub(super) turn_tick: Option<u32>,
}

/// What may be told in the turn at hand.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Due {
    /// Which clans began and ended, and which clans players in view show now.
    news: bool,
    /// Who is in the client's own clan, and who asks to be.
    pub(super) people: bool,
    /// That the client itself joined or left a clan.
    pub(super) own: bool,
}

impl Told {
    /// A turn begins: what may be told in it follows from what was told before.
    pub fn begin_turn(&mut self, published: &Published) {
        let (tick, hz) = (published.tick, published.tick_hz);
        self.turn_tick = Some(tick);
        self.due = Due {
            news: !self.has_list || self.pace.is_news_due(tick),
            people: self.pace.is_free(tick),
            own: self.pace.has_credit(tick, hz),
        };
    }

    /// Whether the client may be told in this turn that a player in view shows this clan now. A newcomer's clan needs no pause,
    /// but a clan of which the client does not know yet waits for the news.
    pub fn may_tell_tag(&self, clan: Option<ClanId>, is_newcomer: bool) -> bool {
        self.due.news || is_newcomer && clan.is_none_or(|clan| self.place_of(clan).is_ok())
    }

    /// The same of the client's own player.
    pub fn may_tell_own_tag(&self, clan: Option<ClanId>) -> bool {
        self.due.own || clan == self.own.map(|(clan, _)| clan)
    }

    /// The tags of players that the client knew before took so many bytes. Those of newcomers cost nothing.
    pub fn told_tags(&mut self, bytes: usize, published: &Published) {
        if bytes > 0 {
            self.pace.spend(bytes, published.tick, published.tick_hz);
            self.pace.told_news(published.tick, published.tick_hz);
        }
    }

    fn place_of(&self, clan: ClanId) -> Result<usize, usize> {
        self.list.binary_search_by_key(&clan, |known| known.id)
    }

    /// Whether this is the clan that the client knows to be its own, and the player a member that it knows.
    pub(super) fn is_known_mate(&self, clan: ClanId, player: PlayerId) -> bool {
        self.own.is_some_and(|(own, _)| own == clan) && self.members.binary_search(&player).is_ok()
    }

    /// Brings the list up to date, as far as `concerns` goes: gives the clans that ended and those that were founded.
    fn update(&mut self, now: &[Clan], concerns: impl Fn(&Clan) -> bool) -> (Vec<Clan>, Vec<Clan>) {
        // A clan keeps its name and its owner, so its number says all.
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

    /// The clans that ended and those that were founded since they were told last, if it is time; the first time all there are.
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

    /// If the client's own player has joined or left a clan, and it may be told: the clans among these that ended and those
    /// that were founded, of which the client has to know first.
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
        // The MooMoo dialects know clans by name alone: an ended clan of the same name has to go before the new one comes.
        let is_concerned =
            |clan: &Clan| concerned.contains(&Some(clan.id)) || name.as_ref() == Some(&clan.name);
        Some(self.update(&published.clans.list, is_concerned))
    }

    /// Whether the client knows that this is its own clan.
    pub(super) fn knows_own(&self, tag: &Tag) -> bool {
        self.own == Some((tag.id, tag.is_owner))
    }

    /// Notes which members of its clan the client is told of.
    pub(super) fn told_members(&mut self, published: &Published, clan: ClanId) {
        self.members = of(published, &published.rolls().members, clan).map(|seen| seen.player).collect();
    }

    /// A second in which places are due comes once.
    pub(super) fn is_due(&mut self, second: u32) -> bool {
        let due = self.second != Some(second);
        self.second = Some(second);
        due
    }
}
