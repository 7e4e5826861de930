//! The game of a simulated cluster: each body counts the commands that it has executed.

use tickwire_sim::{PlayerId, WorldParams};

use crate::game::simple::{Joining, SimpleGame, StateRows, TickContext};

const TABLE: &str = "direction\tname\tlane\ttally:int\targuments\tmeaning\n\
    to_server\thello\treliable\t1\tversion:u16 mode:u8<=1 name:str<=15|nil\tfirst\n\
    to_server\tjoin\treliable\t2\tname:str<=15|nil\tjoin\n\
    to_server\tping\treliable\t3\tnonce:u32\tping\n\
    to_server\tstep\treliable\t4\tsequence:u32 tick:u32.tick|nil number:u32 heading:u8\ta numbered step\n\
    to_client\twelcome\treliable\t1\tversion:u16 rules_hash:str<=16 seed:u32 tick_hz:u8.hz update_hz:u8.hz epoch:str<=16 tick:u32.tick\twelcome\n\
    to_client\tspawned\tlatest\t2\tplayer:u16\tplays\n\
    to_client\tpong\treliable\t3\tnonce:u32 tick:u32.tick\tpong\n\
    to_client\terror\treliable\t4\trule:str detail:str\terror\n\
    to_client\tstate\tlatest\t5\ttick:u32.tick bodies:u16\tthe state\n";

crate::game::simple::rows! {
    in TABLE;

    /// The action of a player.
    pub enum Action { Step in "step" { number: u32, heading: u8 } }
    /// The published state.
    struct StateRow in "state" { bodies: u16 }
}

/// A body. Its player numbers all steps, also over several connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The player number.
    pub player: PlayerId,
    /// The identity of the client, from the name with which it has joined.
    pub identity: u32,
    x: i32,
    y: i32,
    /// The number of the last executed step.
    pub last: u32,
    /// Steps that were executed although the same or a later one had been executed before.
    pub repeated: u32,
    /// The numbers before `last` that were not executed, as ranges with both ends.
    pub gaps: Vec<(u32, u32)>,
}

tickwire_sim::fields!(Body:
    player: PlayerId, identity: u32, x: i32, y: i32, last: u32, repeated: u32, gaps: Vec<(u32, u32)>,
);

/// The world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// The bodies, sorted by player.
    pub bodies: Vec<Body>,
}

tickwire_sim::fields!(Tally: bodies: Vec<Body>);

impl Tally {
    /// Returns the body of a player.
    pub fn body(&self, player: PlayerId) -> Option<&Body> {
        self.bodies.binary_search_by_key(&player, |body| body.player).ok().map(|at| &self.bodies[at])
    }
}

impl SimpleGame for Tally {
    const NAME: &'static str = "tally";
    const TABLE: (&'static str, &'static str) = ("tally.tsv", TABLE);
    const PAGE: &'static str = "";
    // A low rate, because the rules do not depend on it.
    const TICK_RATES: &'static [u32] = &[10];

    type Action = Action;

    fn new(_: &WorldParams) -> Self {
        Tally { bodies: Vec::new() }
    }

    fn join(&mut self, player: PlayerId, joining: &Joining<'_>, context: &mut TickContext<'_>) {
        let Err(at) = self.bodies.binary_search_by_key(&player, |body| body.player) else { return };
        let mut place = || context.random.between(-1_000, 1_000);
        let (identity, x, y) = (joining.name.parse().unwrap_or_default(), place(), place());
        self.bodies.insert(at, Body { player, identity, x, y, last: 0, repeated: 0, gaps: Vec::new() });
    }

    fn leave(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.bodies.retain(|body| body.player != player);
    }

    fn apply(
        &mut self,
        player: PlayerId,
        action: Action,
        _: &mut TickContext<'_>,
    ) -> Result<(), &'static str> {
        let Action::Step { number, heading } = action;
        let at = self.bodies.binary_search_by_key(&player, |body| body.player).map_err(|_| "no_body")?;
        let body = &mut self.bodies[at];
        if number <= body.last {
            body.repeated += 1;
            return Ok(());
        }
        if number > body.last + 1 {
            body.gaps.push((body.last + 1, number - 1));
        }
        body.last = number;
        match heading % 4 {
            0 => body.x += 1,
            1 => body.x -= 1,
            2 => body.y += 1,
            _ => body.y -= 1,
        }
        Ok(())
    }

    fn tick(&mut self, _: &mut TickContext<'_>) {}

    fn write_state(&self, rows: &mut StateRows) {
        rows.push(StateRow { bodies: self.bodies.len() as u16 });
    }
}
