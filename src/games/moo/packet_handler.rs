//! What a client's packets ask for: moves, attacks, chat and clans become actions of its own player.

use std::time::Duration;

use rmpv::Value;
use tickwire_sim::{Action as _, EncodedAction};

use crate::game::{JoinRequest, PacketEffect, PacketHandler as GameVerbs, SavedReader, SharedRateLimit};
use crate::games::moo::client_packet::{ClanAction, ClientPacket};
use crate::games::moo::world::command::text;
use crate::games::moo::world::{Action, Angle, PlayerId, Selection, rules};
use crate::limits;
use crate::packet::DecodedPacket;

/// Why a packet has no effect: a name for the metrics, and what the client is answered, if anything.
type IgnoredPacket = (&'static str, Option<&'static str>);

/// What a client may do once in an interval; the rule otherwise, and its remedy.
const ACTION_INTERVALS: [(Duration, &str, &str); 3] = [
    (limits::CHAT_INTERVAL, "chat_too_soon", "wait half a second between two chat lines"),
    (limits::MAP_PING_INTERVAL, "map_ping_too_soon", "wait a second between two map pings"),
    (limits::CLAN_INTERVAL, "clan_too_soon", "wait a quarter of a second between two clan commands"),
];
const CHAT: usize = 0;
const MAP_PING: usize = 1;
const CLAN: usize = 2;

/// A choice that no age offers.
const NO_CHOICE: u8 = u8::MAX;

/// What the clients of one address may do together, by the same numbers as [`PACES`].
static SHARED_RATE_LIMITS: [SharedRateLimit; ACTION_INTERVALS.len()] = [
    shared(CHAT, "address_chat_rate", "too many chat messages from your address: wait a second"),
    shared(MAP_PING, "address_map_ping_rate", "too many map pings from your address: wait a second"),
    shared(CLAN, "address_clan_rate", "too many clan commands from your address: wait a second"),
];

/// As often as some clients may do it that each wait in between.
const fn shared(slot: usize, rule: &'static str, detail: &'static str) -> SharedRateLimit {
    let burst = limits::ADDRESS_ACTION_RATE_FACTOR;
    let every = Duration::from_nanos(ACTION_INTERVALS[slot].0.as_nanos() as u64 / burst as u64);
    SharedRateLimit { slot, rule, detail, every, burst }
}

const _: () = {
    assert!(limits::NAME_CHARS == rules::NAME_CHARS, "the packet tables and the world agree on the maximum");
    assert!(limits::CHAT_CHARS == rules::CHAT_CHARS, "the packet tables and the world agree on the maximum");
};

/// See the [module](self).
#[derive(Debug, Default)]
pub struct MooPacketHandler {
    /// When the client last did what [`PACES`] limits; earlier for what waited during a pause of the server.
    last_action_at: [Option<Duration>; ACTION_INTERVALS.len()],
    /// The slack that each of them was credited, once for each pause. It is not saved.
    credited: [Duration; ACTION_INTERVALS.len()],
    /// Whether the client attacks without holding a button.
    attacks: bool,
    /// The bytes of an action.
    buffer: Vec<u8>,
}

impl MooPacketHandler {
    /// Records an action that is limited to one per interval. An action that waited during a pause is
    /// recorded at the earliest time within `slack` that keeps the interval.
    fn check_interval(&mut self, what: usize, now: Duration, slack: Duration) -> Result<(), IgnoredPacket> {
        let (interval, rule, detail) = ACTION_INTERVALS[what];
        let earliest = now.saturating_sub(slack);
        // A clock that stood still in a suspended machine has counted less than the slack since then.
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

    /// Names are cleaned as chat is; the world rejects the empty rest of a name of only spaces.
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

    fn act(&mut self, action: &Action) -> PacketEffect {
        PacketEffect::Command(action.encoded_in(&mut self.buffer), shared_rate_limit_of(action))
    }
}

/// The budget that the clients of an address share for an action.
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
    fn begin(&self, connection: &str) -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
        let teams = Value::Map(vec![(Value::from("teams"), Value::Array(Vec::new()))]);
        vec![("io_init", vec![("socket_id", Value::from(connection))]), ("init_data", vec![("data", teams)])]
    }

    fn is_join_packet(&self, name: &str) -> bool {
        matches!(name, "enter" | "enter_game")
    }

    fn join_request(&self, packet: &DecodedPacket<'_>) -> JoinRequest {
        let name = text::clean_name(&packet.text("name").unwrap_or_default());
        let name = if name.is_empty() { text::NO_NAME.to_owned() } else { name };
        let skin = packet.integer("skin").filter(|skin| *skin < limits::SKINS).unwrap_or(0);
        let gift = packet.bool_value("moofoll").unwrap_or(false);
        JoinRequest { name, game_data: JoinData { skin, gift }.encoded() }
    }

    /// The world decides whether the player is dead: it rejects a respawn of a living player.
    fn rejoin(&mut self, profile: &JoinRequest) -> PacketEffect {
        self.attacks = false;
        let JoinData { skin, .. } = JoinData::of(profile);
        self.act(&Action::Respawn { name: profile.name.clone(), skin })
    }

    fn joined(&mut self) {
        self.attacks = false;
    }

    fn packet(
        &mut self,
        packet: &DecodedPacket<'_>,
        now: Duration,
        slack: Duration,
        asks: &mut Vec<PacketEffect>,
    ) {
        let action = match ClientPacket::from_decoded(packet) {
            ClientPacket::Move { direction, .. } => Ok(Action::Move { direction: direction.map(Angle) }),
            ClientPacket::Aim { heading, .. } => Ok(Action::Aim { heading: Angle(heading) }),
            ClientPacket::Attack { sequence, state, heading, .. } => {
                // An attack with a heading, as in the dialects without sequences, first turns the player there.
                if let Some(heading) = heading.filter(|_| sequence.is_none()).map(Angle) {
                    asks.push(self.act(&Action::Aim { heading }));
                }
                // Auto-attack continues when a button is released.
                Ok(Action::Attack { on: state || self.attacks })
            }
            ClientPacket::ToggleAttack => {
                self.attacks = !self.attacks;
                Ok(Action::Attack { on: self.attacks })
            }
            ClientPacket::Select { id, is_weapon, .. } => {
                let what = if is_weapon { Selection::Weapon } else { Selection::Item };
                number(id).map(|id| Action::Select { what: what(id) })
            }
            // The world answers a choice that it does not offer, which clients without answers to
            // commands get as a line of chat.
            ClientPacket::Upgrade { sequence: None, choice, .. } => {
                Ok(Action::Upgrade { choice: number(choice).unwrap_or(NO_CHOICE) })
            }
            ClientPacket::Unused(row) if row.name == "store" => Ok(Action::Upgrade { choice: NO_CHOICE }),
            ClientPacket::Upgrade { choice, .. } => number(choice).map(|choice| Action::Upgrade { choice }),
            ClientPacket::Chat { text, .. } => self.chat(&text, now, slack),
            ClientPacket::Clan { action, .. } => self.clan(action, now, slack),
            ClientPacket::MapPing { .. } => self.check_interval(MAP_PING, now, slack).map(|()| Action::Ping),
            _ => Err(("unused_packet", None)),
        };
        asks.push(match action {
            Ok(action) => self.act(&action),
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

/// What a client chooses besides its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinData {
    /// 0 to 9.
    pub skin: u8,
    /// Whether the client asks for resources at the start, as the MooMoo dialects can.
    pub gift: bool,
}

impl JoinData {
    /// The bytes in a [`JoinRequest`].
    pub fn encoded(self) -> EncodedAction {
        EncodedAction::new(&[self.skin, u8::from(self.gift)])
    }

    /// What a profile says.
    pub fn of(profile: &JoinRequest) -> JoinData {
        let [skin, gift] = profile.game_data.bytes().try_into().unwrap_or_default();
        JoinData { skin, gift: gift != 0 }
    }
}

/// No number of the game is above 255.
fn number(number: u16) -> Result<u8, IgnoredPacket> {
    u8::try_from(number).map_err(|_| ("unknown_number", None))
}
