//! Clans: groups of players that cannot harm each other.
//!
//! The owner of a clan is always a member, and a member of a clan has no pending request.

use std::sync::Arc;

use tickwire_sim::similar_names::are_confusable;

use crate::clan::{Clan, ClanId};
use crate::command::text::check_clan_name;
use crate::command::{Action, Rejection};
use crate::controller::{Controller, Player};
use crate::entity::{Entity, PlayerId};
use crate::event::WorldEvent;
use crate::rules;
use crate::world::World;

/// Whether two players are in the same clan.
pub(crate) fn share_clan(a: &Entity, b: &Entity) -> bool {
    let clan = |entity| player_of(entity).and_then(|player| player.clan);
    clan(a).is_some_and(|of_a| clan(b) == Some(of_a))
}

fn player_of(entity: &Entity) -> Option<&Player> {
    match &entity.controller {
        Controller::Player(player) => Some(player),
        _ => None,
    }
}

impl World {
    /// Whether both players exist and are in the same clan, so that they cannot harm each other.
    pub fn are_mates(&self, a: PlayerId, b: PlayerId) -> bool {
        match (self.find(a), self.find(b)) {
            (Ok(a), Ok(b)) => share_clan(&self.state.players[a], &self.state.players[b]),
            _ => false,
        }
    }

    /// Checks whether a player may perform a clan action.
    ///
    /// # Errors
    /// The first rule that the action breaks.
    pub(crate) fn check_clan(&self, issuer: PlayerId, action: &Action) -> Result<(), Rejection> {
        let fits = |fits: bool, rejection| if fits { Ok(()) } else { Err(rejection) };
        match action {
            Action::ClanCreate { name } => {
                fits(self.clan_of(issuer).is_none(), Rejection::InClan)?;
                check_clan_name(name)?;
                let is_taken = self.state.clans.iter().any(|clan| are_confusable(&clan.name, name));
                fits(!is_taken, Rejection::ClanNameTaken)?;
                let is_room = self.state.clans.len() < rules::MAX_CLANS && self.state.next_clan < u32::MAX;
                fits(is_room, Rejection::TooMany)
            }
            Action::ClanRequest { name } => {
                fits(self.clan_of(issuer).is_none(), Rejection::InClan)?;
                fits(self.clan_named(name).is_some(), Rejection::UnknownClan)
            }
            Action::ClanLeave => fits(self.clan_of(issuer).is_some(), Rejection::NoClan),
            Action::ClanAnswer { player, accept } => {
                let own = self.clan_owned_by(issuer)?;
                fits(self.requester_of(own, *player).is_some(), Rejection::NotAsking)?;
                fits(!accept || self.members_of(own) < rules::MAX_CLAN_MEMBERS, Rejection::TooMany)
            }
            Action::ClanKick { player } => {
                let own = self.clan_owned_by(issuer)?;
                fits(*player != issuer && self.clan_of(*player) == Some(own), Rejection::NotMember)
            }
            _ => Ok(()),
        }
    }

    /// Performs a clan action that was checked.
    pub(crate) fn perform_clan(&mut self, issuer: PlayerId, action: Action) {
        match action {
            Action::ClanCreate { name } => self.found_clan(issuer, &name),
            Action::ClanRequest { name } => self.request_to_join(issuer, &name),
            Action::ClanLeave => self.leave_clan(issuer),
            Action::ClanAnswer { player, accept } => self.answer(issuer, player, accept),
            Action::ClanKick { player } => self.leave_clan(player),
            _ => {}
        }
    }

    fn found_clan(&mut self, owner: PlayerId, name: &str) {
        let id = ClanId(self.state.next_clan);
        self.state.next_clan += 1;
        // IDs only increase, so the list stays sorted.
        self.state.clans.push(Clan { id, name: Arc::from(name), owner });
        self.enter_clan(owner, id);
    }

    fn request_to_join(&mut self, id: PlayerId, name: &str) {
        let (clan, owner) = match self.clan_named(name) {
            Some(clan) => (clan.id, clan.owner),
            None => return,
        };
        // A repeated request causes no second event.
        if let Some((player, _)) = self.player_mut(id).filter(|(player, _)| player.join_request != Some(clan))
        {
            player.join_request = Some(clan);
            self.outcome.events.push(WorldEvent::JoinRequested { player: id, owner });
        }
    }

    fn answer(&mut self, owner: PlayerId, asker: PlayerId, accept: bool) {
        let own = match self.clan_owned_by(owner) {
            Ok(own) => own,
            Err(_) => return,
        };
        match self.requester_of(own, asker) {
            Some(asker) if accept => self.enter_clan(asker, own),
            Some(asker) => {
                if let Some((player, _)) = self.player_mut(asker) {
                    player.join_request = None;
                }
            }
            None => {}
        }
    }

    fn enter_clan(&mut self, id: PlayerId, clan: ClanId) {
        if let Some((player, _)) = self.player_mut(id) {
            player.clan = Some(clan);
            player.join_request = None;
        }
    }

    /// Removes a player from its clan, if the player is in a clan. If the player owns the clan, the
    /// clan is dissolved, and requests to join it are withdrawn.
    pub(crate) fn leave_clan(&mut self, id: PlayerId) {
        let clan = match self.player_mut(id) {
            Some((player, _)) => player.clan.take(),
            None => return,
        };
        let at = match self.state.clans.iter().position(|of| Some(of.id) == clan && of.owner == id) {
            Some(at) => at,
            None => return,
        };
        self.state.clans.remove(at);
        for entity in &mut self.state.players {
            if let Controller::Player(player) = &mut entity.controller {
                player.clan = player.clan.filter(|of| Some(*of) != clan);
                player.join_request = player.join_request.filter(|of| Some(*of) != clan);
            }
        }
    }

    fn clan_of(&self, id: PlayerId) -> Option<ClanId> {
        let at = self.find(id).ok()?;
        player_of(&self.state.players[at])?.clan
    }

    fn members_of(&self, clan: ClanId) -> usize {
        let of = |entity: &&Entity| player_of(entity).and_then(|player| player.clan) == Some(clan);
        self.state.players.iter().filter(of).count()
    }

    fn clan_named(&self, name: &str) -> Option<&Clan> {
        self.state.clans.iter().find(|clan| *clan.name == *name)
    }

    fn clan_owned_by(&self, id: PlayerId) -> Result<ClanId, Rejection> {
        let clan = self.clan_of(id).ok_or(Rejection::NoClan)?;
        let is_owner = self.state.clans.iter().any(|of| of.id == clan && of.owner == id);
        if is_owner {
            Ok(clan)
        } else {
            Err(Rejection::ClanOwnerOnly)
        }
    }

    /// Returns the player if it has requested to join; for ID 0, the applicant with the lowest ID.
    fn requester_of(&self, clan: ClanId, id: PlayerId) -> Option<PlayerId> {
        let has_request =
            |entity: &&Entity| player_of(entity).is_some_and(|player| player.join_request == Some(clan));
        let entity = match id {
            PlayerId::OPERATOR => self.state.players.iter().find(has_request),
            _ => self.find(id).ok().map(|at| &self.state.players[at]).filter(has_request),
        };
        entity.and_then(|entity| entity.id.player())
    }
}
