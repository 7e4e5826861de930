//! Prediction of this game: the local player in the client's world, simulated with the rules of the
//! world.

use crate::game;
use crate::game::prediction::{Acked, LocalWorld, Position, RemotePlayers};
use crate::games::moo::packet_handler::MooPacketHandler;
use crate::games::moo::world::client_world::{ClientWorld, OwnRecord, OwnState, is_predicted};
use crate::games::moo::world::{Action, Angle, Fixed, Identity, PlayerId, TickHz, rules_hash};
use crate::packet::{DecodedPacket, Dialect, Value};
use tickwire_sim::Command;

/// The world of one client, with the values that the server has sent for its player.
#[derive(Debug)]
pub struct MooLocalWorld {
    local: ClientWorld,
    tick_hz: u32,
    own: Option<PlayerId>,
    /// The last exact record. It remains valid if an update contains no exact record.
    exact: Option<OwnRecord>,
    own_state: OwnPlayerState,
}

/// Values of the local player that the server sends only when they change. The values are retained
/// after the death of the player.
#[derive(Debug, Clone, Default)]
struct OwnPlayerState {
    resources: Option<[u32; 4]>,
    /// The weapon, and the item held in its place.
    hand: Option<(u8, Option<u8>)>,
    weapons: Vec<u8>,
    items: Vec<u8>,
    /// Structure counts by group.
    counts: Vec<(usize, u8)>,
}

impl OwnPlayerState {
    /// Applies the known values to the local player.
    fn apply(&self, state: &mut OwnState) {
        let Some(player) = state.player_mut() else { return };
        player.resources = self.resources.unwrap_or(player.resources);
        if let Some((weapon, item)) = self.hand {
            (player.hand.weapon, player.hand.item) = (weapon, item);
        }
        if !self.weapons.is_empty() {
            player.kit.equip(&self.weapons, &self.items);
        }
        for (group, count) in &self.counts {
            player.kit.built.get_mut(*group).into_iter().for_each(|built| *built = *count);
        }
    }

    /// Applies a server packet. Returns whether it contained values of the local player.
    fn apply_packet(&mut self, packet: &DecodedPacket<'_>, own: Option<PlayerId>) -> bool {
        let is_own = |id: Option<i64>| own.is_some() && player(id) == own;
        let ids = |name| groups(packet, name).filter_map(|[id]| u8::try_from(id?).ok()).collect::<Vec<u8>>();
        match packet.row.name.as_str() {
            "held_items" => {
                let hand = groups::<3>(packet, "held_items").find(|[id, ..]| is_own(*id));
                let Some([_, weapon, item]) = hand else { return false };
                let id = |value: Option<i64>| value.and_then(|id| u8::try_from(id).ok());
                self.hand = Some((id(weapon).unwrap_or_default(), id(item)));
            }
            "stats" => {
                let stock = |name: &str| packet.integer(name).unwrap_or(0);
                self.resources = Some(["wood", "food", "stone", "gold"].map(stock));
            }
            "inventory" => {
                (self.weapons, self.items) = (ids("weapons"), ids("items"));
                let counts = groups(packet, "counts").filter_map(|[group, count]| {
                    Some((usize::try_from(group?).ok()?, u8::try_from(count?).ok()?))
                });
                self.counts = counts.collect();
            }
            _ => return false,
        }
        true
    }
}

/// The weapon of a swing, and whether the swing hits an entity known to the client.
pub type Swing = (u8, bool);

/// The groups of `N` values in a list argument of a packet.
fn groups<const N: usize>(packet: &DecodedPacket<'_>, name: &str) -> impl Iterator<Item = [Option<i64>; N]> {
    let list = packet.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let numbers: Vec<Option<i64>> = list.iter().map(Value::as_i64).collect();
    let groups: Vec<[Option<i64>; N]> =
        numbers.chunks_exact(N).filter_map(|group| group.try_into().ok()).collect();
    groups.into_iter()
}

fn fixed(value: Option<i64>) -> Option<Fixed> {
    i32::try_from(value?).ok().map(Fixed)
}

fn angle(value: Option<i64>) -> Option<Angle> {
    u16::try_from(value?).ok().map(Angle)
}

fn player(value: Option<i64>) -> Option<PlayerId> {
    u16::try_from(value?).ok().map(PlayerId)
}

fn pixels(value: Option<i64>) -> Option<Fixed> {
    i16::try_from(value?).ok().map(|px| Fixed::from_px(px.into()))
}

/// The exact record in an update, and the margin of the last command.
fn parse_own_record(update: &DecodedPacket<'_>) -> Option<(OwnRecord, i16)> {
    let [sequence, margin, x, y, vx, vy, heading, direction] = groups(update, "own").next()?;
    let exact = OwnRecord {
        sequence: u64::try_from(sequence?).ok()?,
        at: (fixed(x)?, fixed(y)?),
        velocity: (fixed(vx)?, fixed(vy)?),
        heading: angle(heading)?,
        direction: angle(direction),
    };
    Some((exact, i16::try_from(margin?).unwrap_or_default()))
}

impl LocalWorld for MooLocalWorld {
    type Action = Action;
    type State = OwnState;
    type Event = Swing;

    const UPDATE: &'static str = "update";
    const UPDATE_HAS_ENTERS: bool = true;

    fn new(welcome: &DecodedPacket<'_>) -> Option<MooLocalWorld> {
        let is_same = welcome.text("rules_hash")? == format!("{:016x}", rules_hash());
        let tick_hz: u32 = welcome.integer("tick_hz")?;
        let identity = Identity {
            seed: welcome.integer("seed")?,
            map_size_px: welcome.integer("map_size_px")?,
            tick_hz: TickHz::try_from(tick_hz).ok()?,
        };
        is_same.then(|| MooLocalWorld {
            local: ClientWorld::new(identity),
            tick_hz,
            own: None,
            exact: None,
            own_state: OwnPlayerState::default(),
        })
    }

    fn tick_hz(&self) -> u32 {
        self.tick_hz
    }

    fn packet_handler(_: &Dialect) -> Box<dyn game::PacketHandler> {
        Box::<MooPacketHandler>::default()
    }

    fn is_predicted(action: &Action) -> bool {
        is_predicted(action)
    }

    fn acked(update: &DecodedPacket<'_>) -> Option<Acked> {
        parse_own_record(update)
            .map(|(OwnRecord { sequence, .. }, margin_ticks)| Acked { sequence, margin_ticks })
    }

    fn apply_packet(&mut self, packet: &DecodedPacket<'_>, state: &mut Option<OwnState>) -> bool {
        match packet.row.name.as_str() {
            "spawned" => {
                (self.own, self.exact) = (packet.integer("player").map(PlayerId), None);
                self.own_state.hand = None;
                *state = None;
            }
            "died" => {
                self.own = None;
                *state = None;
            }
            "update" => self.update(packet, state),
            "structures" => {
                for [id, item, owner, x, y, heading] in groups(packet, "structures") {
                    self.structure((id, item, owner), (x, y), heading);
                }
            }
            "structures_gone" => {
                let gone = groups(packet, "objects").filter_map(|[id]| u32::try_from(id?).ok());
                gone.for_each(|id| self.local.remove_structure(id));
            }
            "clan" => {
                let members = packet.get("members").and_then(Value::as_array);
                let numbers = members.into_iter().flatten().step_by(2);
                let mates: Vec<PlayerId> = numbers.filter_map(|member| player(member.as_i64())).collect();
                self.local.set_mates(&mates);
            }
            "health" => return self.health(packet, state).is_some(),
            _ => {
                let is_applied = self.own_state.apply_packet(packet, self.own);
                state.iter_mut().filter(|_| is_applied).for_each(|state| self.own_state.apply(state));
                return is_applied;
            }
        }
        true
    }

    fn collect_remote_players(&self, packet: &DecodedPacket<'_>, others: &mut RemotePlayers) {
        let Some(tick) = packet.integer("tick").filter(|_| packet.row.name == "update") else { return };
        let number = |id: Option<i64>| {
            u32::try_from(id?).ok().filter(|id| self.own.map(|own| own.0.into()) != Some(*id))
        };
        let half = |value: Option<i64>| i32::try_from(value?).ok()?.checked_mul(1 << 15);
        for [id] in groups(packet, "leaves") {
            number(id).into_iter().for_each(|id| others.remove(id));
        }
        for [id, _, _, x, y, _] in groups(packet, "enters") {
            if let (Some(id), Some(x), Some(y)) = (number(id), half(x), half(y)) {
                others.push(id, tick, (x, y));
            }
        }
        for [id, x, y, _] in groups(packet, "full") {
            if let (Some(id), Some(x), Some(y)) = (number(id), half(x), half(y)) {
                others.update(id, tick, (x, y));
            }
        }
        for [id, dx, dy] in groups(packet, "moved") {
            if let (Some(id), Some(dx), Some(dy)) = (number(id), half(dx), half(dy)) {
                others.apply_delta(id, tick, (dx, dy));
            }
        }
    }

    fn own_player(&self) -> Option<PlayerId> {
        self.own
    }

    fn step(
        &mut self,
        tick: u32,
        state: &mut OwnState,
        commands: &mut Vec<Command<Action>>,
    ) -> Option<Swing> {
        self.local.step(tick, state, commands)
    }

    fn position(state: &OwnState) -> Position {
        let (x, y) = state.at();
        (x.0, y.0)
    }

    /// Writes the heading in 1/65,536 turn, the weapon, and the item in the hand or -1. Then, for
    /// each unconfirmed structure: item, x and y in px, heading.
    fn export_numbers(state: &OwnState, out: &mut Vec<i32>) {
        out.push(state.heading().0.into());
        let (weapon, item) = state.hand();
        out.extend([weapon.into(), item.map_or(-1, i32::from)]);
        for standing in &state.built {
            out.extend([standing.item.id.into(), standing.x.to_px(), standing.y.to_px()]);
            out.push(standing.heading.0.into());
        }
    }

    fn event_numbers((weapon, hits): &Swing) -> [i32; 2] {
        [(*weapon).into(), i32::from(*hits)]
    }

    fn extrapolate(&self, (x, y): Position, (vx, vy): Position, ticks: u32) -> Position {
        let (x, y) = self.local.extrapolate((Fixed(x), Fixed(y)), (Fixed(vx), Fixed(vy)), ticks);
        (x.0, y.0)
    }
}

impl MooLocalWorld {
    fn update(&mut self, packet: &DecodedPacket<'_>, state: &mut Option<OwnState>) {
        let before = self.exact.map(|exact| exact.sequence);
        if let Some((exact, _)) = parse_own_record(packet) {
            self.exact = Some(exact);
        }
        let (Some(own), Some(exact)) = (self.own, &self.exact) else { return };
        // The hand and the other values follow the update in which they change. An update that
        // acknowledges no further command does not change them, so the last values are still valid.
        let is_quiet = before == Some(exact.sequence);
        match state {
            Some(state) => {
                self.local.correct(state, exact);
                if is_quiet {
                    self.own_state.apply(state);
                }
            }
            None => {
                let mut new = self.local.appear(own, packet.integer("tick").unwrap_or(0), exact);
                self.own_state.apply(&mut new);
                *state = Some(new);
            }
        }
    }

    fn structure(
        &mut self,
        (id, item, owner): (Option<i64>, Option<i64>, Option<i64>),
        (x, y): (Option<i64>, Option<i64>),
        heading: Option<i64>,
    ) -> Option<()> {
        let (id, item) = (u32::try_from(id?).ok()?, u8::try_from(item?).ok()?);
        let heading = Angle(u16::try_from(heading?).ok()?.wrapping_shl(8));
        self.local.add_structure(id, item, player(owner)?, (pixels(x)?, pixels(y)?), heading);
        Some(())
    }

    fn health(&self, packet: &DecodedPacket<'_>, state: &mut Option<OwnState>) -> Option<()> {
        let [_, health] =
            groups(packet, "health").find(|[id, _]| self.own.is_some() && player(*id) == self.own)?;
        state.as_mut()?.set_health(u16::try_from(health?).ok()?);
        Some(())
    }
}
