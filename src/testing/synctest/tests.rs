//! Games without bugs stay equal in all copies. Bugs in the rules of a game are reported.

use std::sync::atomic::{AtomicU16, Ordering};

use tickwire_sim::fields::Field;
use tickwire_sim::{PlayerId, WorldParams};

use super::*;
use crate::game::simple::{Joining, SimpleGame, StateRows, TickContext};
use crate::game::{Game, Simple};
use crate::games::moo::Moo;
use crate::games::tanks::Tanks;

fn plan<G: Game>(seed: u32, ticks: u32) -> SynctestPlan {
    SynctestPlan { game: EmbeddedGameFactory::for_game::<G>(), seed, ticks, players: 8, check_distance: 4 }
}

fn is_sound<G: Game>(seed: u32, kinds: &[&str]) {
    let run = || {
        let mut frames = Vec::new();
        let report = run(&plan::<G>(seed, 900), &mut |recorded| frames.push(recorded.frame.to_vec()));
        (report.expect("every tick is the same"), frames)
    };
    let (report, frames) = run();
    assert_eq!((report.ticks, report.copies, frames.len()), (900, 897, 900));
    // One of the eight bots may be disconnected for five seconds.
    assert!(report.min_acting_players.is_some_and(|players| players >= 6), "{:?}", report.min_acting_players);
    for kind in kinds {
        assert!(report.commands.get(*kind).is_some_and(|count| *count > 0), "{kind}: {:?}", report.commands);
    }
    assert_eq!(run(), (report, frames), "the same seed gives the same run");
}

#[test]
fn the_worlds_of_moo_run_again() {
    is_sound::<Moo>(1, &["join", "leave", "disconnect", "move", "aim", "attack", "announce"]);
}

#[test]
fn the_worlds_of_tanks_run_again() {
    is_sound::<Simple<Tanks>>(1, &["Join", "Leave", "Disconnect", "Control"]);
}

#[test]
fn a_run_that_would_compare_no_copy_is_refused() {
    let run = |ticks, back| run(&SynctestPlan { check_distance: back, ..plan::<Moo>(1, ticks) }, &mut |_| {});
    let refused = "8 ticks: must be more than the 8 ticks that the copies are back";
    assert_eq!(run(8, 8), Err(SynctestError::Failed(refused.to_owned())));
    assert_eq!(run(20, 1_000).map(|report| report.copies).ok(), None);
    assert_eq!(run(9, 8).map(|report| (report.ticks, report.copies)), Ok((9, 2)));
}

#[test]
fn the_world_after_the_last_tick_is_compared_too() {
    // The bug takes effect in tick 333, the last tick of a run of 334 ticks.
    for ticks in [333, 334] {
        let ran = run(&plan::<Simple<Mistaken<AT_ONCE>>>(1, ticks), &mut |_| {});
        assert_eq!(ran.is_err(), ticks == 334, "{ticks} ticks: {ran:?}");
    }
}

#[test]
fn a_snapshot_that_cannot_be_restored_is_named_with_its_seed_and_tick() {
    let Err(SynctestError::Failed(words)) = run(&plan::<Simple<Mistaken<UNREADABLE>>>(5, 300), &mut |_| {})
    else {
        panic!("it was restored");
    };
    assert!(words.starts_with("seed 5, after tick 0: the snapshot cannot be read: "), "{words}");
}

/// A game with a bug in its rules.
#[derive(Debug, Clone, PartialEq)]
struct Mistaken<const WHICH: u8> {
    steps: u16,
    sums: Vec<u16>,
    /// A field of the state that is missing in the field list.
    hidden: u16,
}

/// No bug.
const SOUND: u8 = 0;
/// Commands read a value outside the world.
const OUTSIDE: u8 = 1;
/// A missing field, with an early effect.
const AT_ONCE: u8 = 2;
/// A missing field, with a late effect.
const LATER: u8 = 3;
/// A state cannot be decoded.
const UNREADABLE: u8 = 4;

static COUNTER: AtomicU16 = AtomicU16::new(0);

impl<const WHICH: u8> Field for Mistaken<WHICH> {
    const MIN_BYTES: usize = u16::MIN_BYTES;

    fn write(&self, sink: &mut impl tickwire_sim::fields::Sink) {
        sink.enter("steps");
        self.steps.write(sink);
        sink.leave();
        sink.enter("sums");
        self.sums.write(sink);
        sink.leave();
    }

    fn read(reader: &mut tickwire_sim::Reader<'_>) -> Result<Self, tickwire_sim::Malformed> {
        if WHICH == UNREADABLE {
            return Err(tickwire_sim::Malformed::Truncated);
        }
        Ok(Mistaken { steps: Field::read(reader)?, sums: Field::read(reader)?, hidden: 0 })
    }
}

const TABLE: &str = "direction\tname\tlane\ttest:int\targuments\tmeaning\n\
    to_server\thello\treliable\t1\tversion:u16 mode:u8<=1 name:str<=15|nil\tfirst\n\
    to_server\tjoin\treliable\t2\tname:str<=15|nil\tjoin\n\
    to_server\tping\treliable\t3\tnonce:u32\tping\n\
    to_server\tstep\treliable\t4\tsequence:u32 tick:u32.tick|nil by:u8\ta step\n\
    to_client\twelcome\treliable\t1\tversion:u16 rules_hash:str<=16 seed:u32 tick_hz:u8.hz update_hz:u8.hz epoch:str<=16 tick:u32.tick\twelcome\n\
    to_client\tspawned\tlatest\t2\tplayer:u16\tplays\n\
    to_client\tpong\treliable\t3\tnonce:u32 tick:u32.tick\tpong\n\
    to_client\terror\treliable\t4\trule:str detail:str\terror\n\
    to_client\tstate\tlatest\t5\ttick:u32.tick steps:u16\tthe state\n";

crate::game::simple::rows! {
    in TABLE;

    enum Action { Step in "step" { by: u8 } }
    struct StateRow in "state" { steps: u16 }
}

impl<const WHICH: u8> SimpleGame for Mistaken<WHICH> {
    const NAME: &'static str = "mistaken";
    const TABLE: (&'static str, &'static str) = ("mistaken.tsv", TABLE);
    const DIALECT: &'static str = "test";
    const PAGE: &'static str = "";

    type Action = Action;

    fn new(_: &WorldParams) -> Self {
        Mistaken { steps: 0, sums: vec![0; 3], hidden: 0 }
    }

    fn join(&mut self, _: PlayerId, _: &Joining<'_>, _: &mut TickContext<'_>) {}

    fn leave(&mut self, _: PlayerId, _: &mut TickContext<'_>) {}

    fn apply(&mut self, _: PlayerId, action: Action, _: &mut TickContext<'_>) -> Result<(), &'static str> {
        let Action::Step { by } = action;
        let by = if WHICH == OUTSIDE { COUNTER.fetch_add(1, Ordering::Relaxed) } else { by.into() };
        self.steps = self.steps.wrapping_add(by);
        Ok(())
    }

    fn tick(&mut self, context: &mut TickContext<'_>) {
        if WHICH == AT_ONCE && context.tick == 333 {
            self.sums[2] = self.hidden;
        }
        // The missing field counts the ticks since the start or, in a copy, since the restore.
        self.hidden = self.hidden.saturating_add(1);
        if WHICH == LATER && context.tick == 777 {
            self.sums[2] = u16::from((300..600).contains(&self.hidden));
        }
    }

    fn write_state(&self, rows: &mut StateRows) {
        rows.push(StateRow { steps: self.steps });
    }
}

/// The difference in a run of this game.
fn desync<G: Game>(back: u32) -> Desync {
    match run(&SynctestPlan { check_distance: back, ..plan::<G>(1, 900) }, &mut |_| {}) {
        Err(SynctestError::Desync(desync)) => desync,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_mistake_of_a_games_author_is_named_with_its_tick_and_field() {
    synctest::<Simple<Mistaken<SOUND>>>(900, 1).expect("a sound game");

    let outside = desync::<Simple<Mistaken<OUTSIDE>>>(4);
    assert_eq!(outside.fields[0].entity, "steps", "{outside}");

    let at_once = desync::<Simple<Mistaken<AT_ONCE>>>(4);
    let words = at_once.to_string();
    assert!(
        words.starts_with("seed 1, after tick 334: the copy of a snapshot differs: sums [2]: "),
        "{words}"
    );
    assert_eq!(at_once.fields.len(), 1, "{words}");

    // Only in the copy that runs to the end, the missing field is from 300 to 599 in tick 777.
    let later = desync::<Simple<Mistaken<LATER>>>(4);
    assert_eq!((later.tick, later.fields.len()), (800, 1), "{later}");
    assert_eq!(later.fields[0].path(), "sums [2]");
}
