//! A client's knowledge of the world, built from server packets of any dialect.
//!
//! [`WorldModel::apply`] applies the packets from the server, and [`WorldModel::on_sent`] the
//! client's own packets, in order. Policies use the result for their decisions. Positions are the
//! last known positions, in px. If a packet contradicts the model, the model applies the consistent
//! part; the `checker` reports the contradiction.

use std::collections::BTreeMap;

use super::received::{
    AddedPlayer, Animal, Clan, EnteredPlayer, Inventory, MoomooPlayer, MoomooValue, Object, OwnClan, Pose,
    ServerPacket, Update, UpgradeOffers,
};
use crate::games::moo::client_packet::{ClanAction, ClientPacket};
use crate::games::moo::world::rules::{self, CHOICE_ITEMS, Group};

/// A known player.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelPlayer {
    /// Name; untrusted text.
    pub name: String,
    /// x coordinate, in px from the left edge.
    pub x_px: f64,
    /// y coordinate, in px from the top edge.
    pub y_px: f64,
    /// Direction of view, as a binary angle: 65,536 per turn.
    pub heading: u16,
    /// Whether the player is in view. In the MooMoo dialects, players out of view stay known.
    pub in_view: bool,
    /// Health points.
    pub health: u32,
    /// Maximum health points.
    pub max_health: u32,
    /// Native: whether spawn protection prevents damage.
    pub is_protected: bool,
}

/// The client's knowledge of clans.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClanState {
    /// All clans: name and owner.
    pub clans: BTreeMap<String, u32>,
    /// The clan names of the known players.
    pub tags: BTreeMap<u32, String>,
    /// Name of the client's own clan.
    pub own: Option<String>,
    /// Whether the client's player owns this clan.
    pub is_owner: bool,
    /// Members of the client's clan.
    pub members: Vec<u32>,
    /// Applicants to the client's clan. Known only to the clan's owner.
    pub join_requests: Vec<u32>,
}

impl ClanState {
    /// Sets the client's own clan. The members follow in another packet.
    fn set_own_clan(&mut self, name: Option<String>, is_owner: bool) {
        if name.is_none() || !is_owner {
            self.join_requests.clear();
        }
        self.members.clear();
        (self.own, self.is_owner) = (name, is_owner);
    }

    /// Whether a player is in the client's own clan.
    pub fn is_mate(&self, player: u32) -> bool {
        self.own.is_some() && self.members.contains(&player)
    }
}

/// A client's model of the world.
#[derive(Debug, Clone, PartialEq)]
pub struct WorldModel {
    /// The client's own player, once it is in the world.
    pub own_player_id: Option<u32>,
    /// Whether the client's player is dead. Reset by its respawn.
    pub is_dead: bool,
    /// All known players, including the client's own.
    pub players: BTreeMap<u32, ModelPlayer>,
    /// All known objects, including objects out of view.
    pub objects: BTreeMap<u32, Object>,
    /// Resources: wood, food, stone, gold.
    pub stock: [u32; 4],
    /// The client's weapons, items and structure counts.
    pub inventory: Inventory,
    /// The upgrades that the client may choose.
    pub offers: UpgradeOffers,
    /// Age in the current life; 0 if unknown.
    pub age: u32,
    /// The animals in view.
    pub animals: BTreeMap<u32, Animal>,
    /// Clan membership.
    pub clan_state: ClanState,
    /// Side length of the map, in px. The default for the MooMoo dialects, which do not send it.
    pub map_size_px: f64,
    /// Native: sequence number of the client's last command that the world applied.
    pub applied_sequence: u32,
    /// Number of received updates.
    pub updates: u64,
    /// Number of other players in view.
    pub others_in_view: usize,
    /// Native: the player of a `spawned` packet, until it enters in an update.
    pub(crate) announced: Option<u32>,
    /// MooMoo: player ID of each identifier.
    pub(crate) ids: BTreeMap<String, u32>,
    /// Native: clan names by clan ID.
    pub(crate) clan_names: BTreeMap<u32, String>,
    pub(crate) is_native: bool,
}

impl WorldModel {
    /// An empty model, with the default map size.
    pub fn new() -> WorldModel {
        WorldModel {
            own_player_id: None,
            is_dead: false,
            players: BTreeMap::new(),
            objects: BTreeMap::new(),
            stock: [0; 4],
            inventory: initial_inventory(),
            offers: UpgradeOffers::default(),
            age: 0,
            animals: BTreeMap::new(),
            clan_state: ClanState::default(),
            map_size_px: f64::from(rules::MAP_SIZE_PX),
            applied_sequence: 0,
            updates: 0,
            others_in_view: 0,
            announced: None,
            ids: BTreeMap::new(),
            clan_names: BTreeMap::new(),
            is_native: false,
        }
    }

    /// The client's own player, once it is in the world.
    pub fn own(&self) -> Option<&ModelPlayer> {
        self.players.get(&self.own_player_id?)
    }

    /// Applies a packet that the client sends.
    pub fn on_sent(&mut self, packet: &ClientPacket<'_>) {
        if let ClientPacket::Clan { action: ClanAction::Answer { player, .. }, .. } = packet {
            self.clan_state.join_requests.retain(|requester| requester != player);
        }
    }

    /// Applies a server packet.
    pub fn apply(&mut self, packet: &ServerPacket) {
        match packet {
            ServerPacket::Welcome(welcome) => {
                self.is_native = true;
                self.map_size_px = f64::from(welcome.map_size_px);
            }
            ServerPacket::Update(update) => self.update(update),
            ServerPacket::Spawned { player } => self.announced = Some(*player),
            ServerPacket::AddPlayer(added) => self.add(added),
            ServerPacket::RemovePlayer { id } => self.remove(id),
            ServerPacket::Players(players) => self.players(players),
            ServerPacket::Died => self.die(),
            ServerPacket::Objects(objects) => {
                self.objects.extend(objects.iter().map(|object| (object.id, *object)))
            }
            ServerPacket::ObjectsRemoved(gone) => {
                gone.iter().for_each(|object| _ = self.objects.remove(object));
            }
            ServerPacket::Health(list) => {
                for (player, health) in list {
                    if let Some(known) = self.players.get_mut(player) {
                        known.health = *health;
                    }
                }
            }
            ServerPacket::SpawnProtection(list) => {
                for (player, is_protected) in list {
                    if let Some(known) = self.players.get_mut(player) {
                        known.is_protected = *is_protected;
                    }
                }
            }
            ServerPacket::Stats { resources, age, .. } => (self.stock, self.age) = (*resources, *age),
            ServerPacket::Value { what: MoomooValue::Resource(kind), amount } => self.stock[*kind] = *amount,
            ServerPacket::Age { age } => self.age = *age,
            ServerPacket::Setup { .. } => self.inventory.counts.clear(),
            ServerPacket::Inventory(inventory) => {
                let count =
                    |group: Group| (group as u8, inventory.counts.get(&(group as u8)).copied().unwrap_or(0));
                self.inventory = Inventory { counts: Group::ALL.map(count).into(), ..inventory.clone() };
            }
            ServerPacket::Bar { ids, weapons: true } => self.inventory.weapons.clone_from(ids),
            ServerPacket::Bar { ids, weapons: false } => self.inventory.items.clone_from(ids),
            ServerPacket::Count { group, count } => drop(self.inventory.counts.insert(*group, *count)),
            ServerPacket::UpgradeOffers(offers) => {
                self.offers =
                    UpgradeOffers { choices: Some(choices(&self.inventory, offers)), ..offers.clone() };
            }
            ServerPacket::Animals(animals) => {
                if !self.is_native {
                    self.animals.clear();
                }
                self.animals.extend(animals.iter().map(|animal| (animal.id, *animal)));
            }
            ServerPacket::AnimalsRemoved(gone) => {
                gone.iter().for_each(|animal| _ = self.animals.remove(animal));
            }
            _ => self.clans(packet),
        }
    }

    fn clans(&mut self, packet: &ServerPacket) {
        let clan_state = &mut self.clan_state;
        match packet {
            ServerPacket::Clans(clans) => {
                clan_state.clans = clans.iter().map(|clan| (clan.name.clone(), clan.owner)).collect();
                let named = clans.iter().filter_map(|clan| Some((clan.id?, clan.name.clone())));
                self.clan_names = named.collect();
            }
            ServerPacket::ClanChanges { ended, founded } => {
                for name in ended.iter().filter_map(|id| self.clan_names.remove(id)) {
                    clan_state.clans.remove(&name);
                }
                for Clan { id, name, owner } in founded {
                    self.clan_names.extend(id.map(|id| (id, name.clone())));
                    clan_state.clans.insert(name.clone(), *owner);
                }
            }
            ServerPacket::AddClan(clan) => drop(clan_state.clans.insert(clan.name.clone(), clan.owner)),
            ServerPacket::RemoveClan { name } => drop(clan_state.clans.remove(name)),
            ServerPacket::OwnClan(own) => {
                let name = self.name_of(own);
                self.clan_state.set_own_clan(name, own.is_owner);
                if own.id.is_some() {
                    self.clan_state.members.clone_from(&own.members);
                }
                self.clan_state.join_requests.clone_from(&own.join_requests);
            }
            ServerPacket::OwnName { name, is_owner } => clan_state.set_own_clan(name.clone(), *is_owner),
            ServerPacket::Members(members) => clan_state.members.clone_from(members),
            ServerPacket::JoinRequest { player } => clan_state.join_requests.push(*player),
            ServerPacket::ClanTags(tags) => {
                for (player, clan) in tags {
                    match clan.map(|clan| self.clan_names.get(&clan)) {
                        None => drop(clan_state.tags.remove(player)),
                        Some(Some(name)) => drop(clan_state.tags.insert(*player, name.clone())),
                        Some(None) => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// The name of the client's own clan; its ID while the name is unknown.
    pub(crate) fn name_of(&self, own: &OwnClan) -> Option<String> {
        own.id.map(|id| self.clan_names.get(&id).cloned().unwrap_or_else(|| id.to_string()))
    }

    fn update(&mut self, update: &Update) {
        for player in &update.leaves {
            self.players.remove(player);
            self.clan_state.tags.remove(player);
            // Sequence numbers continue, because the next life belongs to the same player.
            self.own_player_id = self.own_player_id.filter(|me| me != player);
        }
        for EnteredPlayer { pose, name, .. } in &update.enters {
            let health = u32::from(rules::PLAYER_HEALTH);
            self.add_player(pose, name, true, (health, health));
            // An entering player has no clan until its tag is received.
            self.clan_state.tags.remove(&pose.player);
            if self.announced == Some(pose.player) {
                self.announced = None;
                self.spawn_own(pose.player);
            }
        }
        update.full.iter().for_each(|pose| self.set_position(pose));
        for moved in &update.moved {
            if let Some(known) = self.players.get_mut(&moved.player) {
                (known.x_px, known.y_px) = (known.x_px + moved.dx_px, known.y_px + moved.dy_px);
                known.in_view = true;
            }
        }
        for (player, heading) in &update.turned {
            if let Some(known) = self.players.get_mut(player) {
                known.heading = *heading;
            }
        }
        if let Some((me, own)) = self.own_player_id.zip(update.own.as_ref()) {
            self.set_position(&own.pose(me));
            self.applied_sequence = own.sequence;
        }
        self.end_update();
    }

    fn add(&mut self, added: &AddedPlayer) {
        self.add_player(&added.pose, &added.name, false, (added.health, added.max_health));
        self.ids.insert(added.id.clone(), added.pose.player);
        if added.is_you {
            self.spawn_own(added.pose.player);
        }
    }

    fn remove(&mut self, id: &str) {
        if let Some(player) = self.ids.remove(id) {
            self.players.remove(&player);
            self.own_player_id = self.own_player_id.filter(|me| *me != player);
        }
    }

    fn players(&mut self, visible: &[MoomooPlayer]) {
        self.clan_state.tags.clear();
        let tags = visible.iter().filter_map(|player| Some((player.pose.player, player.clan.clone()?)));
        self.clan_state.tags.extend(tags);
        if self.own_player_id.is_none() {
            return;
        }
        self.players.values_mut().for_each(|known| known.in_view = false);
        visible.iter().for_each(|player| self.set_position(&player.pose));
        self.end_update();
    }

    fn die(&mut self) {
        // Resets the age before any packet about the next life.
        (self.is_dead, self.age) = (true, 0);
        if self.is_native {
            return;
        }
        if let Some(me) = self.own_player_id.take() {
            self.players.remove(&me);
            self.ids.retain(|_, player| *player != me);
        }
        // Until the respawn no player is in view. The last positions become unreliable, because
        // players may respawn elsewhere.
        self.players.values_mut().for_each(|known| known.in_view = false);
    }

    fn add_player(&mut self, pose: &Pose, name: &str, in_view: bool, (health, max_health): (u32, u32)) {
        let Pose { player, x_px, y_px, heading } = *pose;
        let name = name.to_owned();
        let is_protected = false;
        self.players.insert(
            player,
            ModelPlayer { name, x_px, y_px, heading, in_view, health, max_health, is_protected },
        );
    }

    fn spawn_own(&mut self, player: u32) {
        (self.own_player_id, self.is_dead) = (Some(player), false);
    }

    fn set_position(&mut self, pose: &Pose) {
        if let Some(known) = self.players.get_mut(&pose.player) {
            (known.x_px, known.y_px, known.heading) = (pose.x_px, pose.y_px, pose.heading);
            known.in_view = true;
        }
    }

    fn end_update(&mut self) {
        self.updates += 1;
        let others = self
            .players
            .iter()
            .filter(|(player, known)| known.in_view && Some(**player) != self.own_player_id);
        self.others_in_view = others.count();
    }
}

/// The upgrades that an offer allows with this inventory: weapon IDs, then item IDs plus
/// [`CHOICE_ITEMS`].
pub(crate) fn choices(inventory: &Inventory, offers: &UpgradeOffers) -> Vec<u8> {
    if offers.points == 0 {
        return Vec::new();
    }
    let has = |needs: Option<u8>, list: &[u8]| needs.is_none_or(|needed| list.contains(&needed));
    let of_age = |one: Option<u8>| one.map(u32::from) == Some(offers.age);
    let weapons = rules::WEAPONS.iter().filter(|one| of_age(one.age) && has(one.needs, &inventory.weapons));
    let items = rules::ITEMS.iter().filter(|one| of_age(one.age) && has(one.needs, &inventory.items));
    weapons.map(|weapon| weapon.id).chain(items.map(|item| item.id + CHOICE_ITEMS)).collect()
}

/// The initial weapons and items.
fn initial_inventory() -> Inventory {
    let (weapons, items) = (vec![rules::FIRST_WEAPON], rules::FIRST_ITEMS.to_vec());
    Inventory { weapons, items, counts: BTreeMap::new() }
}

impl Default for WorldModel {
    fn default() -> WorldModel {
        WorldModel::new()
    }
}
