//! Clans change as often as clients like. What a client that does nothing is told of it is bounded, and true in the end; what a
//! client did itself, it is told at once.

use std::collections::BTreeMap;

use tickwire::game::{Publisher as _, UpdateRates};
use tickwire::internal::games::moo::MooPublisher;
use tickwire::internal::games::moo::feed::interest::{Circle, ViewWindow};
use tickwire::internal::games::moo::world::{Action, Body, Command, Identity, PlayerId, TickHz, World};
use tickwire::packet::Value;

use crate::told::Client;

/// The client that does nothing but see.
const BYSTANDER: u16 = 1;
/// The largest number of a player: as many as one address may have.
const LAST: u16 = 64;
const HZ: u32 = 30;
/// What a bystander may be told, bytes a second.
const MOST: usize = 2_000;
/// All that is told of clans alone.
const OF_CLANS: [&str; 12] = [
    "clans",
    "clan_changes",
    "clan",
    "clan_tags",
    "clan_mates",
    "add_clan",
    "remove_clan",
    "own_clan",
    "clan_members",
    "join_request",
    "minimap",
    "map_ping",
];

/// Sixty-four players in one place, and the clients that see it.
struct Village {
    world: World,
    publisher: MooPublisher,
    sequence: BTreeMap<u16, u16>,
    clients: Vec<Client>,
}

impl Village {
    fn new(clients: &[(u16, &str)]) -> Village {
        // The bystander stands near the middle, but not in the river, so that it has nearly everybody in view.
        let is_middle = |village: &Village| {
            let body = village.bystander();
            let away_px = (body.y.to_px() - 720).abs();
            (190..1_250).contains(&body.x.to_px()) && (60..120).contains(&away_px) && body.vx.0 == 0
        };
        (1..1_000).map(|seed| Village::of(seed, clients)).find(is_middle).expect("one of the seeds")
    }

    fn bystander(&self) -> &Body {
        self.world.player(PlayerId(BYSTANDER)).expect("in the world").body
    }

    fn of(seed: u32, clients: &[(u16, &str)]) -> Village {
        let world = World::new(Identity { seed, map_size_px: 1_440, tick_hz: TickHz::Hz30 });
        let publisher = MooPublisher::new(&world, UpdateRates { tick_hz: HZ, update_hz: 30, foreign_hz: 10 });
        let clients = clients.iter().map(|(player, dialect)| Client::new(*player, dialect)).collect();
        let mut village = Village { world, publisher, sequence: BTreeMap::new(), clients };
        let name = |number| format!("player {number:08}");
        let join = |number| Action::Join { player: PlayerId(number), name: name(number), skin: 0 };
        village.step((1..=LAST).map(|number| (0, join(number))).collect());
        village.wait(1);
        village.forget();
        village
    }

    fn step(&mut self, actions: Vec<(u16, Action)>) {
        let commands = actions.into_iter().map(|(player, action)| {
            let sequence = self.sequence.entry(player).or_default();
            *sequence += 1;
            Command { player: PlayerId(player), sequence: (*sequence).into(), action }
        });
        self.world.step(&mut commands.collect());
        let published = self.publisher.publish(&self.world, &|_| 0);
        self.clients.iter_mut().for_each(|client| client.hear(&published));
    }

    fn wait(&mut self, seconds: u32) {
        (0..seconds * HZ).for_each(|_| self.step(Vec::new()));
    }

    fn forget(&mut self) {
        for client in &mut self.clients {
            client.heard.clear();
            client.bytes.clear();
        }
    }

    /// For so many seconds, each of `players` does something four times a second: what `act` says for its n-th time.
    fn stir(
        &mut self,
        seconds: u32,
        players: std::ops::RangeInclusive<u16>,
        act: impl Fn(u16, u32) -> Action,
    ) {
        for tick in 0..seconds * HZ {
            let turns = |player: u16, tick: u32| (tick * 4 + u32::from(player)) / HZ;
            let due = players.clone().filter(|player| turns(*player, tick + 1) != turns(*player, tick));
            let actions = due.map(|player| (player, act(player, turns(player, tick)))).collect();
            self.step(actions);
        }
    }

    /// What a client was told a second, of all packets and of clans alone.
    fn rates(&self, client: usize, seconds: usize) -> (usize, usize) {
        let bytes = &self.clients[client].bytes;
        let of_clans = bytes.iter().filter(|(name, _)| OF_CLANS.contains(&name.as_str()));
        (bytes.values().sum::<usize>() / seconds, of_clans.map(|(_, bytes)| bytes).sum::<usize>() / seconds)
    }

    /// The clans that there are: number, name, owner.
    fn clans(&self) -> Vec<(u32, String, u16)> {
        let clans = self.world.clans().iter();
        clans.map(|clan| (clan.id.0, clan.name.to_string(), clan.owner.0)).collect()
    }

    /// The clans of the others that the bystander has in view.
    fn tags(&self) -> BTreeMap<u16, u32> {
        let (x, y) = (self.bystander().x.to_px(), self.bystander().y.to_px());
        let window = ViewWindow { x, y };
        let is_seen = |body: &Body| {
            window.intersects(Circle {
                x_px: body.x.to_px(),
                y_px: body.y.to_px(),
                radius_px: body.radius_px,
            })
        };
        let others = self.world.players().filter(|player| player.id != PlayerId(BYSTANDER));
        let seen = others.filter(|player| is_seen(player.body));
        seen.filter_map(|player| Some((player.id.0, player.clan?.0))).collect()
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn number(value: &Value) -> u32 {
    value.as_u64().and_then(|number| u32::try_from(number).ok()).expect("a number")
}

/// What a native client makes of what it is told: all clans, and the clans of those in view.
#[derive(Default)]
struct Native {
    clans: BTreeMap<u32, (String, u16)>,
    tags: BTreeMap<u16, u32>,
}

impl Native {
    fn of(client: &Client) -> Native {
        let mut native = Native::default();
        for (name, values) in &client.heard {
            match name.as_str() {
                "clans" => {
                    native.clans.clear();
                    native.found(list(values.first()));
                }
                "clan_changes" => {
                    for ended in list(values.first()) {
                        assert!(native.clans.remove(&number(ended)).is_some(), "only what is known ends");
                    }
                    native.found(list(values.get(1)));
                }
                "clan" if !values[0].is_nil() => assert!(native.clans.contains_key(&number(&values[0]))),
                "update" => {
                    for gone in list(values.get(2)) {
                        native.tags.remove(&(number(gone) as u16));
                    }
                }
                "clan_tags" => list(values.first()).chunks(2).for_each(|pair| native.tag(pair)),
                _ => {}
            }
        }
        native
    }

    fn found(&mut self, clans: &[Value]) {
        for clan in clans.chunks(3) {
            let (name, owner) = (clan[1].as_str().expect("a name").to_owned(), number(&clan[2]) as u16);
            assert!(self.clans.insert(number(&clan[0]), (name, owner)).is_none(), "no clan is told of twice");
        }
    }

    fn tag(&mut self, pair: &[Value]) {
        let player = number(&pair[0]) as u16;
        if pair[1].is_nil() {
            self.tags.remove(&player);
        } else {
            assert!(self.clans.contains_key(&number(&pair[1])), "a tag is of a clan that is known");
            self.tags.insert(player, number(&pair[1]));
        }
    }

    fn list(&self) -> Vec<(u32, String, u16)> {
        self.clans.iter().map(|(id, (name, owner))| (*id, name.clone(), *owner)).collect()
    }
}

/// What a MooMoo client makes of it: the names of all clans, and their owners.
fn moomoo(client: &Client) -> BTreeMap<String, u16> {
    let mut clans = BTreeMap::new();
    for (name, values) in &client.heard {
        match name.as_str() {
            "add_clan" => {
                let get = |key: &str| {
                    let pairs = values[0].as_map().expect("a map").iter();
                    pairs.clone().find(|(name, _)| name.as_str() == Some(key)).expect("there").1.clone()
                };
                let name = get("sid").as_str().expect("a name").to_owned();
                assert!(clans.insert(name, number(&get("owner")) as u16).is_none(), "no name is there twice");
            }
            "remove_clan" => {
                let name = values[0].as_str().expect("a name");
                assert!(clans.remove(name).is_some(), "only what is known ends");
            }
            _ => {}
        }
    }
    clans
}

/// Founds a clan of a new name of seven characters, each of them four bytes long if `is_wide`, or leaves it again.
fn found_or_leave(player: u16, time: u32, is_wide: bool) -> Action {
    if !time.is_multiple_of(2) {
        return Action::ClanLeave;
    }
    let digits = format!("{player:03}{time:04}");
    let wide = |digit: char| char::from_u32(0x1F300 + digit as u32).expect("a picture");
    Action::ClanCreate { name: if is_wide { digits.chars().map(wide).collect() } else { digits } }
}

#[test]
fn sixty_three_clients_that_change_clans_cost_a_bystander_two_kilobytes_a_second_at_most() {
    for is_wide in [false, true] {
        let mut village = Village::new(&[(BYSTANDER, "native"), (BYSTANDER, "legacy")]);
        village.stir(10, BYSTANDER + 1..=LAST, |player, time| found_or_leave(player, time, is_wide));
        assert!(village.clans().len() > 20, "clans come and go: {:?}", village.clans());
        let (native, of_clans) = village.rates(0, 10);
        assert!(native <= MOST, "native: {native} bytes a second, {of_clans} of clans; wide: {is_wide}");
        let (_, of_clans) = village.rates(1, 10);
        assert!(of_clans <= MOST, "legacy: {of_clans} bytes a second of clans; wide: {is_wide}");
        village.wait(5);
        let picture = Native::of(&village.clients[0]);
        assert_eq!(picture.list(), village.clans());
        assert_eq!(picture.tags, village.tags());
        assert!(picture.tags.len() + 8 > village.clans().len(), "nearly all are in view");
        let named = village.clans().into_iter().map(|(_, name, owner)| (name, owner)).collect();
        assert_eq!(moomoo(&village.clients[1]), named);
    }
}

#[test]
fn own_clan_changes_are_sent_in_the_next_turn_regardless_of_other_clients() {
    let mut village = Village::new(&[(BYSTANDER, "native"), (BYSTANDER, "legacy")]);
    village.stir(5, BYSTANDER + 1..=LAST, |player, time| found_or_leave(player, time, false));
    for is_founding in [true, false, true] {
        village.forget();
        let action =
            if is_founding { Action::ClanCreate { name: "own".to_owned() } } else { Action::ClanLeave };
        village.step(vec![(BYSTANDER, action)]);
        (0..3).for_each(|_| village.step(Vec::new()));
        let [native, legacy] = [0, 1].map(|client| &village.clients[client]);
        let own = &native.all("clan")[0];
        assert_eq!(own[0].is_nil(), !is_founding);
        let place = |name: &str| native.heard.iter().position(|(heard, _)| heard == name).expect("told");
        assert!(place("clan_changes") < place("clan"), "the clan is known before it is one's own");
        let named = legacy.all("own_clan")[0][0].as_str();
        assert_eq!(named, is_founding.then_some("own"));
        village.stir(1, BYSTANDER + 1..=LAST, |player, time| found_or_leave(player, time, false));
    }
}

/// The MooMoo dialects know clans by name: whichever clan has it, `remove_clan` takes the name away.
#[test]
fn a_clan_with_the_name_of_one_that_ended_just_now_stays_known_to_a_moomoo_client() {
    let (own, other) = (BYSTANDER, BYSTANDER + 1);
    let mut village = Village::new(&[(own, "legacy")]);
    let found = |player| (player, Action::ClanCreate { name: "wolves".to_owned() });
    village.step(vec![found(other)]);
    village.wait(3);
    // The news of another clan begin the pause in which the name changes hands.
    village.step(vec![(other + 1, Action::ClanCreate { name: "bears".to_owned() })]);
    (0..4).for_each(|_| village.step(Vec::new()));
    village.step(vec![(other, Action::ClanLeave)]);
    village.step(vec![found(own)]);
    village.wait(5);
    let mut known: Vec<&str> = Vec::new();
    for (name, values) in &village.clients[0].heard {
        match name.as_str() {
            "add_clan" => known.push(values[0].as_map().expect("a clan")[0].1.as_str().expect("its name")),
            "remove_clan" => known.retain(|clan| Some(*clan) != values[0].as_str()),
            _ => {}
        }
    }
    known.sort_unstable();
    assert_eq!(known, ["bears", "wolves"]);
}

#[test]
fn endless_clan_requests_reach_the_owner_within_the_rate_limit() {
    let (one, two) = (BYSTANDER, BYSTANDER + 1);
    let mut village = Village::new(&[(one, "native"), (one, "letters")]);
    village.step(vec![(one, Action::ClanCreate { name: "one".to_owned() })]);
    village.step(vec![(two, Action::ClanCreate { name: "two".to_owned() })]);
    village.wait(1);
    village.forget();
    village.stir(10, two + 1..=LAST, |_, time| Action::ClanRequest {
        name: if time.is_multiple_of(2) { "one" } else { "two" }.to_owned(),
    });
    let [(native, _), (_, of_clans)] = [village.rates(0, 10), village.rates(1, 10)];
    assert!(native <= MOST && of_clans <= MOST, "{native} and {of_clans} bytes a second to the owner");
    let ask = |player| (player, Action::ClanRequest { name: "one".to_owned() });
    village.step((two + 1..=LAST).map(ask).collect());
    village.wait(5);
    let asks = village.clients[0].all("clan").last().expect("told")[3].clone();
    let told: Vec<u16> = list(Some(&asks)).chunks(2).map(|pair| number(&pair[0]) as u16).collect();
    assert_eq!(told, (two + 1..two + 21).collect::<Vec<u16>>(), "twenty at a time");

    village.forget();
    let answer = Action::ClanAnswer { player: PlayerId(two + 1), accept: false };
    village.step(vec![(one, answer)]);
    village.step(vec![ask(two + 1)]);
    village.wait(2);
    let requests = village.clients[1].all("join_request");
    assert!(
        requests.iter().any(|values| number(&values[0]) == u32::from(two) + 1),
        "who asks again is told again"
    );
}

#[test]
fn members_that_join_and_leave_cost_clan_mates_no_more_than_the_rate_limit() {
    let owner = BYSTANDER + 1;
    let mut village = Village::new(&[(BYSTANDER, "native"), (BYSTANDER, "legacy"), (owner, "native")]);
    let ask = |player| (player, Action::ClanRequest { name: "all".to_owned() });
    let accept = |player| Action::ClanAnswer { player: PlayerId(player), accept: true };
    village.step(vec![(owner, Action::ClanCreate { name: "all".to_owned() })]);
    let members = (BYSTANDER..=40).filter(|player| *player != owner);
    village.step(members.clone().map(ask).collect());
    village.step(members.map(|player| (owner, accept(player))).collect());
    village.wait(5);
    assert_eq!(list(village.clients[0].all("clan").last().map(|values| &values[2])).len(), 40 * 2);
    village.forget();
    // They leave and ask; the owner lets in whoever asks first.
    for _ in 0..10 {
        village.stir(1, owner..=40, |player, time| match (player == owner, time.is_multiple_of(2)) {
            (true, _) => accept(0),
            (false, true) => Action::ClanLeave,
            (false, false) => ask(player).1,
        });
    }
    let [(native, _), (_, of_clans)] = [village.rates(0, 10), village.rates(1, 10)];
    assert!(native <= MOST && of_clans <= MOST, "{native} and {of_clans} bytes a second to a member");
    village.wait(5);
    let clan = village.world.clans()[0].id;
    let there = village.world.players().filter(|player| player.clan == Some(clan));
    let there: Vec<u32> = there.map(|player| player.id.0.into()).collect();
    let [native, legacy] = [0, 1].map(|client| &village.clients[client]);
    for members in
        [&native.all("clan").last().expect("told")[2], &legacy.all("clan_members").last().expect("told")[0]]
    {
        let told: Vec<u32> = list(Some(members)).chunks(2).map(|pair| number(&pair[0])).collect();
        assert_eq!(told, there);
    }
}

#[test]
fn a_moomoo_client_gets_its_clan_members_after_the_update_that_shows_the_clan() {
    let mut village = Village::new(&[(BYSTANDER, "legacy")]);
    village.step(vec![(BYSTANDER, Action::ClanCreate { name: "own".to_owned() })]);
    village.wait(1);
    let heard = &village.clients[0].heard;
    let first = |name: &str, has: &dyn Fn(&[Value]) -> bool| {
        heard.iter().position(|(heard, values)| heard == name && has(values)).expect("told")
    };
    let shows_clan = |values: &[Value]| list(values.first())[7].as_str() == Some("own");
    let own = first("own_clan", &|_| true);
    let shown = first("update_players", &shows_clan);
    let members = first("clan_members", &|_| true);
    assert!(own < shown && shown < members, "own_clan {own}, update_players {shown}, clan_members {members}");
    assert_eq!(members, shown + 1, "in the same turn");
}
