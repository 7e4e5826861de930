//! A world without a server, for the tests of a game.

use tickwire_sim::{Command, PlayerId, Sim as _, StepResult, WorldParams};

use super::entities::{EntityValues, Viewer, visible_entities};
use super::published::SimpleEvents;
use super::rows::{FieldValue, ReceivedRow, RowValues, StateRows};
use super::simple_game::{Joining, SimpleGame};
use super::world::{SimpleAction, SimpleWorld};
use crate::game::report::Report;
use crate::packet::Value;

/// The world of a simple game without a server, for tests.
///
/// [`join`](TestWorld::join), [`act`](TestWorld::act) and the other commands are executed by the
/// next [`tick`](TestWorld::tick), in this order. [`game_mut`](TestWorld::game_mut) sets up any
/// state.
///
/// ```
/// # use tickwire::game::simple::Joining;
/// use tickwire::game::simple::{ActionResult, SimpleGame, StateRows, TestWorld, TickContext};
/// use tickwire::sim::{PlayerId, WorldParams, fields};
///
/// # const TABLE: &str = "direction\tname\tlane\tlamp:int\targuments\tmeaning\n\
/// #     to_server\tpress\treliable\t4\tsequence:u32 tick:u32.tick|nil\tpress the switch\n\
/// #     to_client\tstate\tlatest\t5\ttick:u32.tick is_on:bool\tthe state\n\
/// #     to_client\tbroken\treliable\t6\tplayer:u16\ta player broke the lamp\n";
/// # tickwire::rows! {
/// #     in TABLE;
/// #     enum Action { Press in "press" {} }
/// #     struct StateRow in "state" { is_on: bool }
/// #     struct Broken in "broken" { player: PlayerId }
/// # }
/// # fields! { struct Lamp { presses: u32, is_on: bool } }
/// # impl SimpleGame for Lamp {
/// #     const NAME: &'static str = "lamp";
/// #     const TABLE: (&'static str, &'static str) = ("lamp.tsv", TABLE);
/// #     const PAGE: &'static str = "";
/// #     type Action = Action;
/// #     fn new(_: &WorldParams) -> Lamp { Lamp { presses: 0, is_on: false } }
/// #     fn join(&mut self, _: PlayerId, _: &Joining<'_>, _: &mut TickContext<'_>) {}
/// #     fn leave(&mut self, _: PlayerId, _: &mut TickContext<'_>) {}
/// #     fn apply(&mut self, player: PlayerId, _: Action, context: &mut TickContext<'_>) -> ActionResult {
/// #         if self.presses == 100 { return Err("broken"); }
/// #         self.presses += 1;
/// #         self.is_on = !self.is_on && self.presses < 100;
/// #         if self.presses == 100 { context.broadcast(Broken { player }); }
/// #         Ok(())
/// #     }
/// #     fn tick(&mut self, _: &mut TickContext<'_>) {}
/// #     fn write_state(&self, rows: &mut StateRows) { rows.push(StateRow { is_on: self.is_on }); }
/// # }
/// // A lamp that breaks with its hundredth press.
/// let mut world = TestWorld::<Lamp>::new();
/// let ann = world.join("Ann");
/// world.act(ann, Action::Press {});
/// world.tick();
/// assert!(world.game().is_on);
///
/// world.game_mut().presses = 99;
/// world.act(ann, Action::Press {});
/// let tick = world.tick();
/// assert_eq!(tick.events_of(ann), [&Broken { player: ann }.into()]);
///
/// world.act(ann, Action::Press {});
/// assert_eq!(world.tick().rejected, [(ann, "broken")]);
/// ```
#[derive(Debug, Clone)]
pub struct TestWorld<S: SimpleGame> {
    world: SimpleWorld<S>,
    commands: Vec<Command<SimpleAction<S::Action>>>,
    sequence: u64,
    next_player: u16,
}

/// A tick of a [`TestWorld`].
#[derive(Debug)]
pub struct TestTick {
    /// The rejected actions: the player and the rule.
    pub rejected: Vec<(PlayerId, &'static str)>,
    /// What the game reports to the program around the server.
    pub reports: Vec<Report>,
    events: SimpleEvents,
}

impl<S: SimpleGame> Default for TestWorld<S> {
    fn default() -> TestWorld<S> {
        TestWorld::new()
    }
}

impl<S: SimpleGame> TestWorld<S> {
    /// Creates a world with the default options and the seed 1.
    pub fn new() -> TestWorld<S> {
        TestWorld::with_params(&WorldParams::default_for::<SimpleWorld<S>>(1))
    }

    /// Creates a world.
    pub fn with_params(params: &WorldParams) -> TestWorld<S> {
        TestWorld { world: SimpleWorld::new(params), commands: Vec::new(), sequence: 0, next_player: 1 }
    }

    /// Lets a player join in the next tick. Returns its number.
    pub fn join(&mut self, name: &str) -> PlayerId {
        self.join_as(Joining::new(name))
    }

    /// As [`TestWorld::join`], with an account.
    pub fn join_as(&mut self, joining: Joining<'_>) -> PlayerId {
        let player = PlayerId(self.next_player);
        self.next_player += 1;
        let (name, account) = (joining.name.to_owned(), joining.account.map(str::to_owned));
        self.push(PlayerId::OPERATOR, SimpleAction::Join(player, name, account));
        player
    }

    /// Lets a player leave in the next tick.
    pub fn leave(&mut self, player: PlayerId) {
        self.push(PlayerId::OPERATOR, SimpleAction::Leave(player));
    }

    /// Suspends the seat of a player in the next tick.
    pub fn disconnect(&mut self, player: PlayerId) {
        self.push(PlayerId::OPERATOR, SimpleAction::Disconnect(player));
    }

    /// Resumes the suspended seat of a player in the next tick.
    pub fn reconnect(&mut self, player: PlayerId) {
        self.push(PlayerId::OPERATOR, SimpleAction::Reconnect(player));
    }

    /// Lets the operator act in the next tick.
    pub fn operate(&mut self, action: S::Action) {
        self.push(PlayerId::OPERATOR, SimpleAction::Act(action));
    }

    /// Lets a player act in the next tick.
    pub fn act(&mut self, player: PlayerId, action: S::Action) {
        self.push(player, SimpleAction::Act(action));
    }

    /// Executes the commands and one tick.
    pub fn tick(&mut self) -> TestTick {
        let mut result = StepResult::default();
        self.world.step(&mut self.commands, &mut result);
        let SimpleWorld { tick, game, players, events, reports, .. } = &self.world;
        let rejected = result.rejected.iter().map(|rejected| (rejected.player, rejected.reason));
        TestTick {
            rejected: rejected.collect(),
            reports: reports.clone(),
            events: SimpleEvents::new(*tick, events.clone(), game, players),
        }
    }

    /// Executes some ticks.
    pub fn ticks(&mut self, count: u32) {
        (0..count).for_each(|_| drop(self.tick()));
    }

    /// Returns the state of the game.
    pub fn game(&self) -> &S {
        &self.world.game
    }

    /// Returns the state of the game, for changes.
    pub fn game_mut(&mut self) -> &mut S {
        &mut self.world.game
    }

    /// Returns the ids of the entities of a list that a player sees, in ascending order.
    pub fn visible(&self, player: PlayerId, packet: &str) -> Vec<u32> {
        let visible = self.visible_entities(player, packet);
        visible.map_or_else(Vec::new, |(list, visible)| visible.iter().map(|at| list.ids[*at]).collect())
    }

    /// Returns the entities of a list that a player sees, in ascending order of their ids.
    pub fn visible_rows<R: ReceivedRow>(&self, player: PlayerId) -> Vec<R> {
        let Some((list, visible)) = self.visible_entities(player, R::PACKET) else { return Vec::new() };
        visible.iter().filter_map(|at| read(list.fields, list.row(*at))).collect()
    }

    /// Returns a state row. `None` if the game writes none of this packet.
    pub fn state_row<R: ReceivedRow>(&self) -> Option<R> {
        let mut rows = StateRows::new(self.world.identity().tick_hz);
        self.game().write_state(&mut rows);
        let row = rows.rows().iter().find(|row| row.packet() == R::PACKET)?;
        let (fields, values): (Vec<_>, Vec<_>) =
            row.iter().map(|(name, value)| (name, value.clone())).unzip();
        read(&fields, &values)
    }

    fn visible_entities(&self, player: PlayerId, packet: &str) -> Option<(EntityValues, Vec<usize>)> {
        let viewer = Viewer { player: Some(player), spectated: None };
        visible_entities(self.game(), self.world.identity().tick_hz, viewer, packet)
    }

    fn push(&mut self, player: PlayerId, action: SimpleAction<S::Action>) {
        self.sequence += 1;
        self.commands.push(Command { player, sequence: self.sequence, action });
    }
}

/// Reads a row from the values of its fields.
fn read<R: ReceivedRow>(fields: &[&str], values: &[FieldValue]) -> Option<R> {
    let values: Vec<Value> = values.iter().map(Value::from).collect();
    R::from_values(|name| values.get(fields.iter().position(|field| *field == name)?))
}

impl TestTick {
    /// Returns the events that a player receives.
    pub fn events_of(&self, player: PlayerId) -> Vec<&RowValues> {
        let events = self.events.for_viewer(Viewer { player: Some(player), spectated: None });
        let received = events.filter(|(event, is_addressed)| *is_addressed && !event.is_answer);
        received.map(|(event, _)| &event.row).collect()
    }
}

#[cfg(test)]
mod tests {
    use tickwire_sim::fields;

    use super::*;
    use crate::game::simple::{ActionResult, Entities, EntityInfo, Sight, TickContext};

    const TABLE: &str = "direction\tname\tlane\toven:int\targuments\tmeaning\n\
        to_server\topen\treliable\t4\tsequence:u32 tick:u32.tick|nil\topen the oven\n\
        to_client\tstate\tlatest\t5\ttick:u32.tick left_s:u16.s\tseconds until the bread is done\n\
        to_client\tloaves\tlatest\t6\ttick:u32.tick enter:[id:u16,left_s:u16.s] leave:[u16]\tthe same\n";

    crate::rows! {
        in TABLE;
        enum Action { Open in "open" {} }
        struct StateRow in "state" { left_s: u32 }
        struct Loaf in "loaves" { id: u16, left_s: u32 }
        struct Other in "loaves" { id: u16 }
    }

    fields! { struct Oven { left: u32 } }

    impl SimpleGame for Oven {
        const NAME: &'static str = "oven";
        const TABLE: (&'static str, &'static str) = ("oven.tsv", TABLE);
        const PAGE: &'static str = "";
        type Action = Action;
        fn new(_: &WorldParams) -> Oven {
            Oven { left: 120 }
        }
        fn join(&mut self, _: PlayerId, _: &Joining<'_>, _: &mut TickContext<'_>) {}
        fn leave(&mut self, _: PlayerId, _: &mut TickContext<'_>) {}
        fn apply(&mut self, _: PlayerId, _: Action, _: &mut TickContext<'_>) -> ActionResult {
            Err("too_hot")
        }
        fn tick(&mut self, _: &mut TickContext<'_>) {
            self.left -= 1;
        }
        fn write_state(&self, rows: &mut StateRows) {
            rows.push(StateRow { left_s: self.left.div_ceil(rows.tick_hz()) });
        }
        fn write_entities(&self, entities: &mut Entities) {
            for id in [2, 1] {
                let left_s = self.left.div_ceil(entities.tick_hz());
                entities.push(EntityInfo::default().owned_by(PlayerId(id)), Loaf { id, left_s });
            }
        }
        fn sight(&self, viewer: Viewer, _: &str) -> Sight {
            viewer.player.map_or(Sight::EVERYTHING, |player| Sight::NOTHING.owned_by(player))
        }
    }

    #[test]
    fn a_game_writes_seconds_of_its_tick_rate() {
        for (tick_hz, left_s) in [(60, 2), (30, 4)] {
            let params = WorldParams { tick_hz, ..WorldParams::default_for::<SimpleWorld<Oven>>(1) };
            let mut world = TestWorld::<Oven>::with_params(&params);
            assert_eq!(world.state_row(), Some(StateRow { left_s }));
            assert_eq!(world.visible_rows::<Loaf>(PlayerId(1)), [Loaf { id: 1, left_s }]);
            world.ticks(tick_hz);
            assert_eq!(world.state_row(), Some(StateRow { left_s: left_s - 1 }));
            assert_eq!(world.visible_rows::<Other>(PlayerId(2)), [Other { id: 2 }]);
        }
    }
}
