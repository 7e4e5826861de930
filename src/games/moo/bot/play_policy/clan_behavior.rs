//! Clans: some bots found them, the others request to join, and owners accept requests while there
//! is space. Occasionally a member sends its position or leaves, or is kicked.
//!
//! The input is the clan state of the [`WorldModel`] and the time; the output is at most one
//! [`Intent`] per decision.

use std::time::Duration;

use crate::game::BotRng;
use crate::games::moo::bot::policy::Intent;
use crate::games::moo::bot::world_model::WorldModel;
use crate::games::moo::client_packet::ClanAction;

/// One in this many bots founds a clan.
const FOUNDER_ONE_IN: u32 = 8;
/// Minimum and maximum time between two decisions of a bot about its clan.
const THOUGHT: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(8)];
/// Number of members at which an owner starts to decline requests. A screen full of clan mates
/// would not fight.
const MEMBERS: usize = 8;
/// One in this many decisions of a clan member is a ping.
const PING_ONE_IN: u32 = 8;
/// One in this many decisions is to leave or, for an owner, to kick a member.
const LEAVE_ONE_IN: u32 = 40;
/// Names of clans, one character shorter than the limit, for a digit if the name is taken.
const NAMES: [&str; 16] = [
    "Foxes", "Bears", "Otters", "Owls", "Wolves", "Hares", "Ravens", "Lynxes", "Moose", "Bison", "Crows",
    "Elks", "Bees", "Hawks", "Toads", "Boars",
];

/// The schedule of a bot's clan decisions, and whether it founds a clan.
#[derive(Debug)]
pub(super) struct ClanBehavior {
    is_founder: bool,
    thinks: Option<Duration>,
}

impl ClanBehavior {
    /// Chooses at random whether the bot founds a clan or joins a clan.
    pub(super) fn new(rng: &mut BotRng) -> ClanBehavior {
        ClanBehavior { is_founder: rng.below(FOUNDER_ONE_IN) == 0, thinks: None }
    }

    /// Appends a clan intent if a decision is due.
    pub(super) fn act(
        &mut self,
        world_model: &WorldModel,
        now: Duration,
        rng: &mut BotRng,
        intents: &mut Vec<Intent>,
    ) {
        let first = rng.between(Duration::ZERO, THOUGHT[1]);
        if now >= *self.thinks.get_or_insert(now + first) {
            self.thinks = Some(now + rng.between(THOUGHT[0], THOUGHT[1]));
            intents.extend(self.intent(world_model, rng));
        }
    }

    fn intent(&self, world_model: &WorldModel, rng: &mut BotRng) -> Option<Intent> {
        let clan_state = &world_model.clan_state;
        let one_of = |rng: &mut BotRng, count: usize| rng.below(count as u32) as usize;
        if clan_state.own.is_none() {
            if self.is_founder {
                let mut name = NAMES[one_of(rng, NAMES.len())].to_owned();
                if clan_state.clans.contains_key(&name) {
                    name.push_str(&(2 + clan_state.clans.len() % 8).to_string());
                }
                return Some(Intent::Clan(ClanAction::Create { name }));
            }
            let clans: Vec<&String> = clan_state.clans.keys().collect();
            let name = clans.get(one_of(rng, clans.len().max(1)))?.to_string();
            return Some(Intent::Clan(ClanAction::Request { name }));
        }
        if let Some(player) = clan_state.join_requests.first().filter(|_| clan_state.is_owner) {
            let accept = clan_state.members.len() < MEMBERS;
            return Some(Intent::Clan(ClanAction::Answer { player: *player, accept }));
        }
        if rng.below(LEAVE_ONE_IN) == 0 {
            let others: Vec<u32> = clan_state
                .members
                .iter()
                .copied()
                .filter(|member| Some(*member) != world_model.own_player_id)
                .collect();
            let player = others.get(one_of(rng, others.len().max(1))).filter(|_| clan_state.is_owner);
            return Some(Intent::Clan(
                player.map_or(ClanAction::Leave, |player| ClanAction::Kick { player: *player }),
            ));
        }
        (rng.below(PING_ONE_IN) == 0).then_some(Intent::Ping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The intents of a founder, or of another bot, in a hundred decisions on the same world model.
    fn intents(is_founder: bool, world_model: &WorldModel) -> Vec<Intent> {
        let company = ClanBehavior { is_founder, thinks: None };
        (0..100).filter_map(|seed| company.intent(world_model, &mut BotRng::new(seed))).collect()
    }

    fn in_clan(is_owner: bool, members: &[u32], requesters: &[u32]) -> WorldModel {
        let mut world_model = WorldModel { own_player_id: Some(1), ..WorldModel::new() };
        world_model.clan_state.own = Some("owls".to_owned());
        world_model.clan_state.is_owner = is_owner;
        (world_model.clan_state.members, world_model.clan_state.join_requests) =
            (members.into(), requesters.into());
        world_model
    }

    #[test]
    fn founders_found_clans_and_the_others_request_to_join_one() {
        let mut world_model = WorldModel::new();
        assert_eq!(intents(false, &world_model), []);
        let is_short = |intent: &Intent| {
            let Intent::Clan(ClanAction::Create { name }) = intent else { return false };
            name.len() <= crate::games::moo::world::rules::CLAN_CHARS
        };
        assert!(intents(true, &world_model).iter().all(is_short));
        world_model.clan_state.clans.insert("owls".to_owned(), 2);
        let request = Intent::Clan(ClanAction::Request { name: "owls".to_owned() });
        assert_eq!(intents(false, &world_model), vec![request; 100]);
    }

    #[test]
    fn owners_admit_requests_while_the_clan_has_room() {
        let answer = |accept| Intent::Clan(ClanAction::Answer { player: 5, accept });
        assert_eq!(intents(true, &in_clan(true, &[1], &[5, 6])), vec![answer(true); 100]);
        let many = [1, 2, 3, 4, 6, 7, 8, 9];
        assert_eq!(intents(true, &in_clan(true, &many, &[5])), vec![answer(false); 100]);
    }

    #[test]
    fn members_show_their_place_and_sometimes_part() {
        let member = intents(false, &in_clan(false, &[1, 2], &[]));
        assert!(member.contains(&Intent::Ping) && member.contains(&Intent::Clan(ClanAction::Leave)));
        let owner = intents(true, &in_clan(true, &[1, 2], &[]));
        assert!(owner.contains(&Intent::Clan(ClanAction::Kick { player: 2 })));
        assert!(!owner.contains(&Intent::Clan(ClanAction::Leave)));
    }

    #[test]
    fn it_thinks_of_it_every_few_seconds() {
        let (mut rng, mut intents) = (BotRng::new(1), Vec::new());
        let mut company = ClanBehavior { is_founder: true, thinks: None };
        for tenth in 0..600 {
            company.act(&WorldModel::new(), Duration::from_millis(100 * tenth), &mut rng, &mut intents);
        }
        assert!((7..=30).contains(&intents.len()), "{} in a minute", intents.len());
    }
}
