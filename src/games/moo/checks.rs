//! Checks of this game in a simulation.

use tickwire_sim::{Action as _, PlayerId};

use super::Moo;
use super::checking_observer::NOTICE_PREFIX;
use super::published::PublishedState;
use crate::connection::session::NATIVE_VERSION;
use crate::game::bots::{
    ClientVariant, GameChecks, OperatorEvent, OperatorInput, StateMismatch, StressPacket,
};
use crate::game::{BotRng, DynTick};
use crate::games::moo::client_packet::{ClanAction, ClientPacket, Mode};
use crate::games::moo::world::rules::{self, AnimalKind};
use crate::games::moo::world::{Action, Fixed, Resource, Spawned};
use crate::packet::Dialect;

/// Maximum distance by which walking bodies push an absent, unhurt player, in px. It is less than a
/// player walks in 4 s.
const MAX_ABSENT_PUSH_PX: i32 = 1_200;

impl GameChecks for Moo {
    const CLIENT_VARIANTS: &'static [ClientVariant] = &[
        ("native", "/play", false),
        ("legacy", "/moomoo", false),
        ("letters", "/moomoo", false),
        ("native", "/play", false),
        ("letters-2023", "/moomoo", false),
        ("native", "/play", true),
        ("letters-2024", "/moomoo", false),
        ("native", "/play", false),
        ("legacy", "/moomoo", false),
        ("letters", "/moomoo", true),
    ];

    /// An absent player keeps its name. While it lives, it keeps its possessions. Bodies can push
    /// it, its windmills pay, and its arrows and traps may still kill.
    fn compare_absence(
        before: &dyn DynTick,
        after: &dyn DynTick,
        player: PlayerId,
    ) -> Result<bool, StateMismatch> {
        let states =
            (before.state().downcast_ref::<PublishedState>(), after.state().downcast_ref::<PublishedState>());
        let (Some(before), Some(after)) = states else { return Ok(false) };
        let find = |state: &PublishedState| state.players.iter().find(|one| one.player == player).cloned();
        let (Some(was), Some(is)) = (find(before), find(after)) else { return Ok(false) };
        let same_player = (&was.name, was.joined_tick) == (&is.name, is.joined_tick);
        if !same_player || is.alive && !was.alive {
            return Err(format!("player {} was {was:?} and is {is:?}", player.0).into());
        }
        if !is.alive {
            return Ok(false);
        }
        let [wood, food, stone, gold] = is.resources;
        let paid = [was.resources[0], was.resources[2]] == [wood, stone] && was.resources[1] <= food;
        if !paid || was.resources[3] > gold || was.score > is.score || was.age > is.age {
            return Err(format!("player {} had {was:?} and has {is:?}", player.0).into());
        }
        let is_untouched = (was.health, was.score) == (is.health, is.score);
        // The river moves bodies along x, so only y is compared.
        let way_px = (was.body.y.to_px() - is.body.y.to_px()).abs();
        if is_untouched && way_px > MAX_ABSENT_PUSH_PX {
            return Err(format!("player {} was moved by {way_px} px", player.0).into());
        }
        Ok(true)
    }

    fn operator_event(
        (draw, player, notice, published): OperatorInput<'_>,
        rng: &mut BotRng,
    ) -> Option<OperatorEvent> {
        let operated = |name, action: Action| OperatorEvent {
            name,
            action: action.encoded(),
            is_gift: matches!(action, Action::Grant { .. }),
            is_notice: matches!(action, Action::Announce { .. }),
        };
        Some(match (draw, player) {
            (7..=60, Some(player)) => {
                let resource = Resource::ALL[rng.below(4) as usize];
                let amount = rng.below(300);
                operated("operator: grant", Action::Grant { player, resource, amount })
            }
            (61..=130, Some(player)) => operated("operator: spawn", spawn(player, published?, rng)?),
            _ => {
                operated("operator: announce", Action::Announce { text: format!("{NOTICE_PREFIX}{notice}") })
            }
        })
    }

    fn stress_packet(dialect: &Dialect, packet: StressPacket) -> Vec<u8> {
        let is_native = dialect.name() == "native";
        let (name, skin) = (Some("bot 1".to_owned()), Some(3));
        let hello = |mode| ClientPacket::Hello { version: NATIVE_VERSION, mode, name: name.clone(), skin };
        let own = |sequence| is_native.then_some(sequence);
        let stress = match packet {
            StressPacket::Join if is_native => hello(Mode::Play),
            StressPacket::Join => ClientPacket::EnterGame { name, skin, moofoll: true },
            StressPacket::Watch if is_native => hello(Mode::Spectate),
            StressPacket::Spectate(player) if is_native => ClientPacket::Spectate { player },
            StressPacket::Watch | StressPacket::Spectate(_) => return Vec::new(),
            StressPacket::Act(sequence, bits) => {
                ClientPacket::Move { sequence: own(sequence), tick: None, direction: Some(bits as u16) }
            }
            StressPacket::Share(sequence, begins) => {
                let action = match begins {
                    false => ClanAction::Leave,
                    true => ClanAction::Create { name: "owls".to_owned() },
                };
                ClientPacket::Clan { sequence: own(sequence), tick: None, action }
            }
        };
        stress.encode(dialect)
    }
}

fn spawn(player: PlayerId, published: &dyn DynTick, rng: &mut BotRng) -> Option<Action> {
    let state = published.state().downcast_ref::<PublishedState>()?;
    let body = &state.players.iter().find(|one| one.player == player)?.body;
    let kinds = [AnimalKind::Wolf, AnimalKind::Cow];
    let what = match rng.below(4) {
        number @ (0 | 1) => Spawned::Animal(kinds[number as usize]),
        _ => Spawned::Item([3, 17][rng.below(2) as usize]),
    };
    let mut px = |at: Fixed| {
        let px = at.to_px() + rng.below(800) as i32 - 400;
        px.clamp(0, rules::MAP_SIZE_PX as i32) as u16
    };
    let (x_px, y_px) = (px(body.x), px(body.y));
    Some(Action::Spawn { what, x_px, y_px })
}
