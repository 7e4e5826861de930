//! The game of `examples/kites.rs`: entities that their owner's client simulates, through the whole server.

use tickwire::game::simple::{
    BotView, ReceivedPackets, Simple, SimpleAction, SimpleGame as _, SimpleWorld, StateRows,
};
use tickwire::game::{BotRng, Game, client_authority};
use tickwire::packet::{DecodedPacket, Direction, PacketTables, Value};
use tickwire::sim::{Command, PlayerId, Rng, Sim, StepResult, WorldParams, command_frame};

use crate::guest::{Guest, server_of};
use crate::program_of_kites::{Action, Kites};
use crate::same_world::three_ways;

type Game_ = Simple<Kites>;

const ANN: PlayerId = PlayerId(1);
const BOB: PlayerId = PlayerId(2);

/// Lets a kite go at a place in px.
fn fly(number: u16, x: u16, y: u16) -> Action {
    Action::Fly { number, x, y }
}

/// Reports a kite at a place in px, which flies with this speed in px/s.
fn report(id: u32, x: u16, y: u16, vx: i16) -> Action {
    Action::Report { id, x, y, vx, vy: 0 }
}

/// A world with Ann and Bob in it, its commands by tick, and what became of them.
struct Sky {
    world: SimpleWorld<Kites>,
    sequence: u64,
    frames: Vec<Vec<u8>>,
}

impl Sky {
    fn new() -> Sky {
        let world = SimpleWorld::new(&WorldParams::default_for::<SimpleWorld<Kites>>(7));
        let mut sky = Sky { world, sequence: 0, frames: Vec::new() };
        let join =
            |player, name: &str| (PlayerId::OPERATOR, SimpleAction::Join(player, name.to_owned(), None));
        assert_eq!(sky.tick(vec![join(ANN, "Ann"), join(BOB, "Bob")]), [""; 0]);
        sky
    }

    /// Runs a tick; returns why commands were rejected.
    fn tick(&mut self, actions: Vec<(PlayerId, SimpleAction<Action>)>) -> Vec<&'static str> {
        let mut command = |(player, action)| {
            self.sequence += 1;
            Command { player, sequence: self.sequence, action }
        };
        let mut commands: Vec<_> = actions.into_iter().map(&mut command).collect();
        let raw: Vec<_> = commands.iter().map(Command::encoded).collect();
        let mut bytes = Vec::new();
        command_frame::encode_raw(self.world.tick(), &raw, &mut bytes).expect("few commands");
        self.frames.push(bytes);
        let mut stepped = StepResult::default();
        self.world.step(&mut commands, &mut stepped);
        stepped.rejected.iter().map(|rejected| rejected.reason).collect()
    }

    fn act(&mut self, player: PlayerId, act: Action) -> Vec<&'static str> {
        self.tick(vec![(player, SimpleAction::Act(act))])
    }

    fn wait(&mut self, ticks: u32) {
        (0..ticks).for_each(|_| assert_eq!(self.tick(Vec::new()), [""; 0]));
    }

    /// The kites in the packet `state`: id, x and y in px.
    fn kites(&self) -> Vec<(u32, i64, i64)> {
        let codes = PacketTables::from_texts(Game_::TABLES).expect("its table");
        let dialect = codes.dialect("kites").expect("its dialect");
        let mut state = StateRows::new(30);
        self.world.game().write_state(&mut state);
        let message =
            state.rows()[0].encode(&dialect, &[("tick", self.world.tick().into())]).expect("it fits");
        kites(&dialect.decode(Direction::ToClient, &message).expect("by the table"))
    }
}

fn kites(state: &DecodedPacket<'_>) -> Vec<(u32, i64, i64)> {
    let list = state.get("kites").and_then(Value::as_array).expect("a list");
    let numbers: Vec<i64> = list.iter().filter_map(Value::as_i64).collect();
    numbers.chunks(5).map(|one| (one[0] as u32, one[1], one[2])).collect()
}

#[test]
fn what_the_game_refuses_has_a_reason_and_changes_no_kite() {
    let mut sky = Sky::new();
    let (mine, others) = (client_authority::entity_id(ANN, 1), client_authority::entity_id(BOB, 1));
    assert_eq!(sky.act(ANN, fly(1, 100, 560)), [""; 0]);
    assert_eq!(sky.act(BOB, fly(1, 900, 560)), [""; 0]);
    sky.wait(60);
    for (act, reason) in [
        (fly(2, 480, 100), "not_on_the_ground"),
        (fly(1, 100, 560), "number_taken"),
        (report(others, 890, 560, 0), "not_yours"),
        (Action::Land { id: others }, "not_yours"),
        (report(client_authority::entity_id(ANN, 2), 100, 560, 0), "unknown"),
        (report(mine, 961, 560, 0), "out_of_bounds"),
        (report(mine, 100, 560, 451), "out_of_bounds"),
        (report(mine, 330, 560, 0), "too_fast"),
    ] {
        assert_eq!(sky.act(ANN, act.clone()), [reason], "{act:?}");
        assert_eq!(sky.kites(), [(mine, 100, 560), (others, 900, 560)], "{act:?}");
    }
    // Half a second of silence is as much as a kite makes up for: 225 px.
    assert_eq!(sky.act(ANN, report(mine, 325, 560, 0)), [""; 0]);
    assert_eq!(sky.act(ANN, report(mine, 325, 560, 0)), ["too_soon"]);
    for number in 2..=4 {
        let answer = sky.act(ANN, fly(number, 100, 560));
        assert_eq!(answer, [&["too_many"][..], &[]][usize::from(number < 4)]);
        sky.wait(30);
    }
    assert_eq!(sky.act(PlayerId(3), fly(1, 9, 560)), ["unknown_issuer"]);
    assert_eq!(sky.kites().len(), 4);
}

#[test]
fn a_kite_flies_on_without_news_waits_for_an_absent_owner_and_goes_with_it() {
    let mut sky = Sky::new();
    let mine = client_authority::entity_id(ANN, 1);
    sky.act(ANN, fly(1, 100, 560));
    sky.wait(2);
    assert_eq!(sky.act(ANN, report(mine, 100, 560, 300)), [""; 0]);
    assert_eq!(sky.kites(), [(mine, 100, 560)]);
    sky.wait(3);
    assert_eq!(sky.kites(), [(mine, 130, 560)], "300 px a second");
    let away = (PlayerId::OPERATOR, SimpleAction::Disconnect(ANN));
    assert_eq!(sky.tick(vec![away]), [""; 0]);
    sky.wait(600);
    assert_eq!(sky.kites(), [(mine, 130, 560)], "it waits");
    assert_eq!(sky.act(ANN, report(mine, 140, 555, 0)), [""; 0]);
    sky.wait(300);
    assert_eq!(sky.kites(), [(mine, 140, 555)]);
    sky.wait(1);
    assert_eq!(sky.kites(), [], "10 s without news");
    sky.act(ANN, fly(1, 100, 560));
    assert_eq!(sky.tick(vec![(PlayerId::OPERATOR, SimpleAction::Leave(ANN))]), [""; 0]);
    assert_eq!(sky.kites(), []);
}

/// The command frames are what a capture has, and what a client in lockstep is sent.
#[test]
fn a_world_of_command_frames_alone_is_the_same() {
    let mut random = Rng::new(3, 1);
    let mut sky = Sky::new();
    let (mut accepted, mut rejected) = (0, Vec::new());
    for _ in 0..3_000 {
        let count = random.below(3);
        let actions: Vec<_> =
            (0..count).map(|_| ([ANN, BOB][random.below(2) as usize], act(&mut random))).collect();
        let said = actions.len();
        let reasons = sky.tick(actions);
        accepted += said - reasons.len();
        rejected.extend(reasons);
    }
    let mut follower = SimpleWorld::<Kites>::new(&WorldParams::default_for::<SimpleWorld<Kites>>(7));
    for (tick, bytes) in (0..).zip(&sky.frames) {
        let mut commands = command_frame::decode(bytes).expect("our own frame").commands;
        follower.step(&mut commands, &mut StepResult::default());
        if tick == 1_500 {
            follower = SimpleWorld::restore(&follower.snapshot()).expect("our own snapshot");
        }
    }
    assert_eq!(follower.checksum(), sky.world.checksum());
    assert!(accepted > 300, "{accepted} accepted");
    for refusal in client_authority::ReportError::ALL {
        assert!(rejected.contains(&refusal.name()), "never: {refusal:?}");
    }
}

/// Something about the first kites of some players, near enough to be accepted now and then.
fn act(random: &mut Rng) -> SimpleAction<Action> {
    let number = 1 + random.below(4) as u16;
    let id = client_authority::entity_id(PlayerId(1 + random.below(3) as u16), number);
    let (x, vx) = (random.between(300, 460) as u16, random.between(-460, 460) as i16);
    SimpleAction::Act(match random.below(12) {
        0 | 1 => fly(number, x, 560),
        2 => Action::Land { id },
        3 => report(id, 5 * x, 560, vx),
        4 => report(id, x + 400, 560, vx),
        _ => report(id, x, 560, vx),
    })
}

#[test]
fn the_world_is_the_same_in_any_order_and_from_any_snapshot() {
    let checksums = [1, 2].map(|seed| three_ways::<Game_>(seed, 10_000, act));
    // Of every build on every machine.
    assert_eq!(
        checksums.map(|checksum| format!("{checksum:016x}")),
        ["13567d72cfaa20d5", "cff3c4dfb3d2cc56"]
    );
}

#[test]
fn bots_in_rust_own_kites_and_every_tick_can_be_run_again() {
    // Before its first kite it may never hear of a tick: no state is sent while nothing changes.
    let codes = PacketTables::from_texts(Game_::TABLES).expect("its table");
    let none = ReceivedPackets::new(&codes.dialect("kites").expect("its dialect"));
    let begun =
        Kites::bot_policy().and_then(|mut bot| bot.decide(&BotView::new(ANN, &none), &mut BotRng::new(1)));
    assert!(matches!(begun, Some(Action::Fly { .. })));
    let report = tickwire::synctest::<Game_>(3_000, 1).expect("the same in every copy");
    let stats = format!("{:?}", report.stats);
    let count = |kind: &str| report.commands.get(kind).copied().unwrap_or_default();
    assert!(count("Report") > 3_000 && count("Fly") > 50 && count("Land") > 5, "{:?}", report.commands);
    let of = |name| report.stats.0.iter().find(|(own, ..)| *own == name).map_or(0, |(.., count)| *count);
    assert!(of("commands_accepted") > 5 * of("commands_rejected"), "{stats}");
    // One report in thirty is a cheat, and hardly another one is refused.
    assert!((of("reports") / 60..of("reports") / 20).contains(&of("corrections")), "{stats}");
}

#[test]
fn an_owner_is_told_what_was_refused_and_others_see_what_was_not() {
    let server = server_of::<Game_>();
    let [mut ann, mut bob] = [(); 2].map(|()| Guest::connect(&server));
    let (ann_is, _) = (ann.enter("Ann"), bob.enter("Bob"));
    let id = client_authority::entity_id(PlayerId(ann_is), 5);
    ann.act("fly", &[5.into(), 200.into(), 560.into()]);
    bob.hear("state", |state| kites(state) == [(id, 200, 560)]);
    ann.act("report", &[id.into(), 900.into(), 560.into(), 0.into(), 0.into()]);
    let corrected = ann.hear("corrected", |_| true);
    assert_eq!((corrected.integer("id"), corrected.integer("x")), (Some(id), Some(200)));
    bob.act("report", &[id.into(), 200.into(), 560.into(), 0.into(), 0.into()]);
    let rejected = bob.hear("command_rejected", |_| true);
    let rejected = rejected.get("commands").and_then(Value::as_array).cloned();
    assert_eq!(rejected, Some(vec![1.into(), "not_yours".into()]));
    // Bob is not told of Ann's correction.
    ann.act("report", &[id.into(), 210.into(), 556.into(), 0.into(), 0.into()]);
    bob.hear("state", |state| kites(state) == [(id, 210, 556)]);
    server.stop();
}
