//! Applies commands.
//!
//! A command is checked completely before it changes anything, so a rejected command leaves no
//! trace in the state.

use crate::command::text::{check_announcement, check_chat, check_name};
use crate::command::{Action, Command, Rejection, Selection};
use crate::controller::kit::Choice;
use crate::controller::{Controller, Player};
use crate::entity::Embodied as _;
use crate::entity::{Body, Entity, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules;
use crate::spawn::spawn_point;
use crate::world::World;

impl World {
    /// Applies a command, or records the reason for its rejection.
    pub(crate) fn apply(&mut self, command: Command) {
        match self.check(&command) {
            Err(rejection) => {
                self.record_rejected(&command, rejection);
                self.outcome.rejected.push((command, rejection));
            }
            Ok(()) => {
                self.outcome.accepted[usize::from(command.action.kind())] += 1;
                self.record_sequence(command.player, command.sequence);
                self.execute(command.player, command.action);
            }
        }
    }

    /// Reports a rejected upgrade to MooMoo.io clients, because these clients compute the offers of
    /// an age themselves, and display the offers until the server replies. The choice `u8::MAX`
    /// stands for an upgrade that this game lacks. The server replies to such a choice even if the
    /// player has no upgrade to choose.
    fn record_rejected(&mut self, command: &Command, rejection: Rejection) {
        let Action::Upgrade { choice } = command.action else { return };
        let has_choices = |choices| choices > 0 || choice == u8::MAX;
        if rejection == Rejection::NotOffered
            && self.player(command.player).is_some_and(|player| has_choices(player.choices))
        {
            self.outcome.events.push(WorldEvent::NotOffered { player: command.player });
        }
    }

    fn check(&self, command: &Command) -> Result<(), Rejection> {
        let last = self.last_sequence(command.player)?;
        if command.sequence <= last {
            return Err(Rejection::Repeated);
        }
        let by_operator = command.player == PlayerId::OPERATOR;
        match &command.action {
            Action::Spawn { .. } | Action::Announce { .. } | Action::Disconnect { .. } if !by_operator => {
                Err(Rejection::OperatorOnly)
            }
            Action::Join { .. } | Action::Leave { .. } | Action::Grant { .. } if !by_operator => {
                Err(Rejection::OperatorOnly)
            }
            Action::Move { .. } | Action::Aim { .. } | Action::Chat { .. } if by_operator => {
                Err(Rejection::PlayerOnly)
            }
            Action::Attack { .. } | Action::Respawn { .. } if by_operator => Err(Rejection::PlayerOnly),
            Action::Upgrade { .. } | Action::Select { .. } if by_operator => Err(Rejection::PlayerOnly),
            Action::ClanCreate { .. } | Action::ClanLeave | Action::ClanRequest { .. } if by_operator => {
                Err(Rejection::PlayerOnly)
            }
            Action::ClanAnswer { .. } | Action::ClanKick { .. } | Action::Ping if by_operator => {
                Err(Rejection::PlayerOnly)
            }
            Action::Spawn { .. } => self.check_spawn(command),
            Action::Announce { text } => check_announcement(text),
            Action::Join { player, .. } if *player == PlayerId::OPERATOR => Err(Rejection::ReservedPlayer),
            Action::Join { player, .. } if self.find(*player).is_ok() => Err(Rejection::AlreadyJoined),
            Action::Join { name, .. } => check_name(name),
            Action::Leave { player } | Action::Disconnect { player } | Action::Grant { player, .. } => {
                self.find(*player).map(drop).map_err(|_| Rejection::UnknownPlayer)
            }
            Action::Respawn { .. } if self.is_alive(command.player) => Err(Rejection::Alive),
            Action::Respawn { name, .. } => check_name(name),
            _ if !self.is_alive(command.player) => Err(Rejection::Dead),
            Action::Move { .. } | Action::Aim { .. } => Ok(()),
            Action::Chat { text } => check_chat(text),
            Action::ClanCreate { .. } | Action::ClanLeave | Action::ClanRequest { .. } => {
                self.check_clan(command.player, &command.action)
            }
            Action::ClanAnswer { .. } | Action::ClanKick { .. } => {
                self.check_clan(command.player, &command.action)
            }
            Action::Ping => Ok(()),
            _ => self.check_preconditions(command),
        }
    }

    /// Checks that depend on the player's kit, resources and position.
    fn check_preconditions(&self, command: &Command) -> Result<(), Rejection> {
        let at = self.find(command.player).map_err(|_| Rejection::UnknownIssuer)?;
        let Entity { body, controller, .. } = &self.state.players[at];
        let player = match controller {
            Controller::Player(player) => player,
            _ => return Err(Rejection::UnknownIssuer),
        };
        let (offered, owned) = match &command.action {
            Action::Attack { on: true } => match player.hand.item.and_then(rules::item) {
                Some(item) => return self.check_use(player, body, item),
                None => (true, true),
            },
            Action::Upgrade { choice } => {
                let age = player.choices().next();
                (age.is_some_and(|age| player.kit.is_offered(*choice, age)), true)
            }
            Action::Select { what: Selection::Weapon(id) } => (true, player.kit.has_weapon(*id)),
            Action::Select { what: Selection::Item(id) } => (true, player.kit.has_item(*id)),
            _ => (true, true),
        };
        match (offered, owned) {
            (false, _) => Err(Rejection::NotOffered),
            (_, false) => Err(Rejection::NotOwned),
            (true, true) => Ok(()),
        }
    }

    fn is_alive(&self, player: PlayerId) -> bool {
        self.find(player).is_ok_and(|at| self.state.players[at].is_alive())
    }

    fn last_sequence(&self, issuer: PlayerId) -> Result<u64, Rejection> {
        if issuer == PlayerId::OPERATOR {
            return Ok(self.state.operator_sequence);
        }
        let at = self.find(issuer).map_err(|_| Rejection::UnknownIssuer)?;
        match &self.state.players[at].controller {
            Controller::Player(player) => Ok(player.sequence),
            _ => Err(Rejection::UnknownIssuer),
        }
    }

    fn record_sequence(&mut self, issuer: PlayerId, sequence: u64) {
        if issuer == PlayerId::OPERATOR {
            self.state.operator_sequence = sequence;
        } else if let Some((player, _)) = self.player_mut(issuer) {
            player.sequence = sequence;
        }
    }

    fn execute(&mut self, issuer: PlayerId, action: Action) {
        match action {
            Action::Join { player, name, skin } => self.join(player, &name, skin),
            Action::Leave { player } => self.leave(player),
            Action::Move { direction } => {
                if let Some((player, _)) = self.player_mut(issuer) {
                    player.direction = direction;
                }
            }
            Action::Aim { heading } => {
                if let Some((_, body)) = self.player_mut(issuer) {
                    body.heading = heading;
                }
            }
            Action::Chat { text } => self.outcome.events.push(WorldEvent::Chat { player: issuer, text }),
            Action::Attack { on } => self.attack(issuer, on),
            Action::Upgrade { choice } => {
                if let (Some((player, _)), Some(choice)) =
                    (self.player_mut(issuer), Choice::from_number(choice))
                {
                    player.choose(choice);
                }
            }
            Action::Select { what } => {
                if let Some((player, _)) = self.player_mut(issuer) {
                    player.hand.select(what);
                }
            }
            Action::Respawn { name, skin } => self.respawn(issuer, &name, skin),
            Action::Grant { player, resource, amount } => {
                if let Some((player, _)) = self.player_mut(player) {
                    player.give(resource, amount);
                }
            }
            action @ Action::ClanCreate { .. }
            | action @ Action::ClanLeave
            | action @ Action::ClanRequest { .. }
            | action @ Action::ClanAnswer { .. }
            | action @ Action::ClanKick { .. } => self.perform_clan(issuer, action),
            Action::Ping => self.outcome.events.push(WorldEvent::Pinged { player: issuer }),
            Action::Spawn { what, x_px, y_px } => self.spawn(what, (x_px, y_px)),
            Action::Announce { text } => self.outcome.events.push(WorldEvent::Announced { text }),
            Action::Disconnect { player } => self.stop_player(player),
        }
    }

    /// Stops a player after the loss of its connection. Its next connection starts with sequence
    /// number 1.
    fn stop_player(&mut self, id: PlayerId) {
        if let Some((player, _)) = self.player_mut(id) {
            player.direction = None;
            player.hand.attack(false);
            player.sequence = 0;
        }
    }

    fn attack(&mut self, id: PlayerId, on: bool) {
        if let Some((player, _)) = self.player_mut(id) {
            match player.hand.item.and_then(rules::item).filter(|_| on) {
                Some(item) => self.use_item(id, item),
                None => player.hand.attack(on),
            }
        }
    }

    fn join(&mut self, id: PlayerId, name: &str, skin: u8) {
        if let Err(at) = self.find(id) {
            let name = &self.name_for(id, name);
            let state = &mut self.state;
            self.player_index.update(&state.players);
            let (x, y) = spawn_point::choose_spawn_position(
                (&state.players, &state.animals),
                &self.player_index,
                &self.terrain,
                &mut state.rng,
            );
            let newcomer = newcomer(id, name, skin, self.state.tick, (x, y));
            self.state.players.insert(at, newcomer);
            self.player_index.invalidate();
            self.index_players();
            self.reserve();
            self.outcome.events.push(WorldEvent::Joined { player: id });
        }
    }

    fn leave(&mut self, id: PlayerId) {
        self.demolish_all_owned_by(id);
        self.leave_clan(id);
        if let Ok(at) = self.find(id) {
            self.state.players.remove(at);
            self.player_index.invalidate();
            self.index_players();
            self.clear_owner(id);
            self.outcome.events.push(WorldEvent::Left { player: id });
        }
    }
}

pub(crate) fn newcomer(id: PlayerId, name: &str, skin: u8, tick: u32, (x, y): (Fixed, Fixed)) -> Entity {
    let body = Body {
        x,
        y,
        vx: Fixed::ZERO,
        vy: Fixed::ZERO,
        heading: Angle(0),
        radius_px: rules::PLAYER_RADIUS_PX,
        health: rules::PLAYER_HEALTH,
        owner: id,
    };
    let player = Player::new(name, skin, tick);
    Entity { id: id.entity(), body, controller: Controller::Player(player) }
}
