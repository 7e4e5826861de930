//! Converts client packets such as moves, attacks, chat and clan commands to actions of the
//! client's player.

use std::time::Duration;

use rmpv::Value;
use tickwire_sim::{Action as _, EncodedAction};

use crate::game::{JoinRequest, PacketEffect, PacketHandler as GameVerbs, SavedReader, SharedRateLimit};
use crate::games::moo::client_packet::{ClanAction, ClientPacket};
use crate::games::moo::world::command::text;
use crate::games::moo::world::{Action, Angle, PlayerId, Selection, rules};
use crate::limits;
use crate::packet::DecodedPacket;

/// Why a packet is rejected: the reason in metrics, and the text for the client, if any.
type IgnoredPacket = (&'static str, Option<&'static str>);

/// Rate-limited actions: minimum interval, rejection reason, and remedy.
const ACTION_INTERVALS: [(Duration, &str, &str); 3] = [
    (limits::CHAT_INTERVAL, "chat_too_soon", "wait half a second between two chat lines"),
    (limits::MAP_PING_INTERVAL, "map_ping_too_soon", "wait a second between two map pings"),
    (limits::CLAN_INTERVAL, "clan_too_soon", "wait a quarter of a second between two clan commands"),
];
const CHAT: usize = 0;
const MAP_PING: usize = 1;
const CLAN: usize = 2;

/// An upgrade that no age offers.
const NO_CHOICE: u8 = u8::MAX;

/// The limits shared by all clients of an address, with the same indices as [`ACTION_INTERVALS`].
static SHARED_RATE_LIMITS: [SharedRateLimit; ACTION_INTERVALS.len()] = [
    shared(CHAT, "address_chat_rate", "too many chat messages from your address: wait a second"),
    shared(MAP_PING, "address_map_ping_rate", "too many map pings from your address: wait a second"),
    shared(CLAN, "address_clan_rate", "too many clan commands from your address: wait a second"),
];

/// Allows [`limits::ADDRESS_ACTION_RATE_FACTOR`] times the rate of a single client.
const fn shared(slot: usize, rule: &'static str, detail: &'static str) -> SharedRateLimit {
    let burst = limits::ADDRESS_ACTION_RATE_FACTOR;
    let every = Duration::from_nanos(ACTION_INTERVALS[slot].0.as_nanos() as u64 / burst as u64);
    SharedRateLimit { slot, rule, detail, every, burst }
}

const _: () = {
    assert!(limits::NAME_CHARS == rules::NAME_CHARS, "the packet tables and the world agree on the maximum");
    assert!(limits::CHAT_CHARS == rules::CHAT_CHARS, "the packet tables and the world agree on the maximum");
};

/// Converts the packets of one client to actions, and limits their rate.
#[derive(Debug, Default)]
pub struct MooPacketHandler {
    /// Time of the client's last action of each kind in [`ACTION_INTERVALS`]. The stored time is
    /// earlier than the arrival for an action that waited during a pause of the server.
    last_action_at: [Option<Duration>; ACTION_INTERVALS.len()],
    /// Slack already credited for each kind, so that each pause counts once. Not saved.
    credited: [Duration; ACTION_INTERVALS.len()],
    /// Whether auto-attack is on.
    attacks: bool,
    /// Buffer for an encoded action.
    buffer: Vec<u8>,
}

impl MooPacketHandler {
    /// Records a rate-limited action, or rejects it within the interval. An action that waited
    /// during a pause is recorded at the earliest time within `slack` that respects the interval.
    fn check_interval(&mut self, what: usize, now: Duration, slack: Duration) -> Result<(), IgnoredPacket> {
        let (interval, rule, detail) = ACTION_INTERVALS[what];
        let earliest = now.saturating_sub(slack);
        // On a suspended machine the clock may stop, so less time than the slack may have passed
        // since the last action.
        let credit = slack.saturating_sub(self.credited[what]);
        self.credited[what] = slack;
        let done = self.last_action_at[what].map_or(earliest, |before| {
            let uncounted = credit.saturating_sub(now.saturating_sub(before));
            (before + interval).saturating_sub(uncounted).max(earliest)
        });
        if done > now {
            return Err((rule, Some(detail)));
        }
        self.last_action_at[what] = Some(done);
        Ok(())
    }

    fn chat(&mut self, line: &str, now: Duration, slack: Duration) -> Result<Action, IgnoredPacket> {
        let text = text::clean_chat(line).ok_or(("chat_empty", Some("the chat line is empty")))?;
        self.check_interval(CHAT, now, slack).map(|()| Action::Chat { text })
    }

    /// Clan names are cleaned like chat. The world rejects a name that is empty after cleaning.
    fn clan(&mut self, action: ClanAction, now: Duration, slack: Duration) -> Result<Action, IgnoredPacket> {
        self.check_interval(CLAN, now, slack)?;
        let cleaned = |name: &str| text::clean_clan_name(name).unwrap_or_default();
        let number = |player: u32| PlayerId(u16::try_from(player).unwrap_or(u16::MAX));
        Ok(match action {
            ClanAction::Create { name } => Action::ClanCreate { name: cleaned(&name) },
            ClanAction::Leave => Action::ClanLeave,
            ClanAction::Request { name } => Action::ClanRequest { name: cleaned(&name) },
            ClanAction::Answer { player, accept } => Action::ClanAnswer { player: number(player), accept },
            ClanAction::Kick { player } => Action::ClanKick { player: number(player) },
        })
    }

    fn command_effect(&mut self, action: &Action) -> PacketEffect {
        PacketEffect::Command(action.encoded_in(&mut self.buffer), shared_rate_limit_of(action))
    }
}

/// The shared limit of an action; `None` if the action has none.
fn shared_rate_limit_of(action: &Action) -> Option<&'static SharedRateLimit> {
    let slot = match action {
        Action::Chat { .. } => CHAT,
        Action::Ping => MAP_PING,
        Action::ClanCreate { .. }
        | Action::ClanLeave
        | Action::ClanRequest { .. }
        | Action::ClanAnswer { .. }
        | Action::ClanKick { .. } => CLAN,
        _ => return None,
    };
    Some(&SHARED_RATE_LIMITS[slot])
}

impl GameVerbs for MooPacketHandler {
    fn first_packets(&self, connection: &str) -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
        let teams = Value::Map(vec![(Value::from("teams"), Value::Array(Vec::new()))]);
        vec![("io_init", vec![("socket_id", Value::from(connection))]), ("init_data", vec![("data", teams)])]
    }

    fn is_join_packet(&self, name: &str) -> bool {
        matches!(name, "join" | "enter_game")
    }

    fn join_request(&self, packet: &DecodedPacket<'_>) -> JoinRequest {
        let name = text::clean_name(&packet.text("name").unwrap_or_default());
        let name = if name.is_empty() { text::NO_NAME.to_owned() } else { name };
        let skin = packet.integer("skin").filter(|skin| *skin < limits::SKINS).unwrap_or(0);
        let gift = packet.bool_value("moofoll").unwrap_or(false);
        JoinRequest { name, game_data: JoinData { skin, gift }.encoded(), account: None }
    }

    /// The world rejects a respawn of a living player.
    fn rejoin(&mut self, profile: &JoinRequest) -> PacketEffect {
        self.attacks = false;
        let JoinData { skin, .. } = JoinData::of(profile);
        self.command_effect(&Action::Respawn { name: profile.name.clone(), skin })
    }

    fn joined(&mut self) {
        self.attacks = false;
    }

    fn handle_packet(
        &mut self,
        packet: &DecodedPacket<'_>,
        now: Duration,
        slack: Duration,
        effects: &mut Vec<PacketEffect>,
    ) {
        let action = match ClientPacket::from_decoded(packet) {
            ClientPacket::Move { direction, .. } => Ok(Action::Move { direction: direction.map(Angle) }),
            ClientPacket::Aim { heading, .. } => Ok(Action::Aim { heading: Angle(heading) }),
            ClientPacket::Attack { sequence, state, heading, .. } => {
                // An attack with a heading, as in the dialects without sequence numbers, first sets
                // the direction of view.
                if let Some(heading) = heading.filter(|_| sequence.is_none()).map(Angle) {
                    effects.push(self.command_effect(&Action::Aim { heading }));
                }
                // Auto-attack continues when the button is released.
                Ok(Action::Attack { on: state || self.attacks })
            }
            ClientPacket::ToggleAttack => {
                self.attacks = !self.attacks;
                Ok(Action::Attack { on: self.attacks })
            }
            ClientPacket::Select { id, is_weapon, .. } => {
                let what = if is_weapon { Selection::Weapon } else { Selection::Item };
                check_number(id).map(|id| Action::Select { what: what(id) })
            }
            // The world replies to an upgrade that is not offered. Clients without acks receive the
            // reply as a chat message.
            ClientPacket::Upgrade { sequence: None, choice, .. } => {
                Ok(Action::Upgrade { choice: check_number(choice).unwrap_or(NO_CHOICE) })
            }
            ClientPacket::Unused(row) if row.name == "store" => Ok(Action::Upgrade { choice: NO_CHOICE }),
            ClientPacket::Upgrade { choice, .. } => {
                check_number(choice).map(|choice| Action::Upgrade { choice })
            }
            ClientPacket::Chat { text, .. } => self.chat(&text, now, slack),
            ClientPacket::Clan { action, .. } => self.clan(action, now, slack),
            ClientPacket::MapPing { .. } => self.check_interval(MAP_PING, now, slack).map(|()| Action::Ping),
            _ => Err(("unused_packet", None)),
        };
        effects.push(match action {
            Ok(action) => self.command_effect(&action),
            Err((rule, detail)) => PacketEffect::Error(rule, detail),
        });
    }

    fn save(&self, now: Duration, out: &mut Vec<u8>) {
        out.push(u8::from(self.attacks));
        self.last_action_at.iter().for_each(|at| SavedReader::write_age(out, now, *at));
    }

    fn restore(&mut self, saved: &mut SavedReader<'_>) -> Option<()> {
        self.attacks = saved.u8().filter(|attacks| *attacks <= 1)? == 1;
        self.last_action_at = [saved.age()?, saved.age()?, saved.age()?];
        self.credited = [Duration::MAX; ACTION_INTERVALS.len()];
        Some(())
    }
}

/// The choices of a joining client, in addition to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinData {
    /// Colour index, 0 to 9.
    pub skin: u8,
    /// Whether the client requests resources at the start, as the MooMoo dialects can.
    pub gift: bool,
}

impl JoinData {
    /// Encodes the choices for a [`JoinRequest`].
    pub fn encoded(self) -> EncodedAction {
        EncodedAction::new(&[self.skin, u8::from(self.gift)])
    }

    /// Decodes the choices of a join request; the default if they are malformed.
    pub fn of(profile: &JoinRequest) -> JoinData {
        let [skin, gift] = profile.game_data.bytes().try_into().unwrap_or_default();
        JoinData { skin, gift: gift != 0 }
    }
}

/// Converts an ID. All IDs of the game are at most 255.
fn check_number(number: u16) -> Result<u8, IgnoredPacket> {
    u8::try_from(number).map_err(|_| ("unknown_number", None))
}
