//! A simple game that records the events of its players, and reports some of them.

use std::sync::Arc;

use tickwire::game::simple::{ActionResult, Joining, SimpleGame, StateRows, TickContext};
use tickwire::rows;
use tickwire::sim::{PlayerId, WorldParams, fields};

const TABLE: &str = "direction\tname\tlane\tdiary:int\targuments\tmeaning\n\
    to_server\thello\treliable\t1\tversion:u16 mode:u8<=1 name:str<=15|nil\tfirst\n\
    to_server\tjoin\treliable\t2\tname:str<=15|nil\tjoin\n\
    to_server\tping\treliable\t3\tnonce:u32\tping\n\
    to_server\tnote\treliable\t4\tsequence:u32 tick:u32.tick|nil number:u8\tnote a number\n\
    to_client\twelcome\treliable\t1\tversion:u16 rules_hash:str seed:u32 tick_hz:u8 update_hz:u8 \
    epoch:str tick:u32.tick\tanswers hello\n\
    to_client\tspawned\tlatest\t2\tplayer:u16\tplays\n\
    to_client\tpong\treliable\t3\tnonce:u32 tick:u32.tick\tanswers ping\n\
    to_client\terror\treliable\t4\trule:str detail:str\tan error\n\
    to_client\tstate\tlatest\t5\ttick:u32.tick lines:u16\tthe number of lines\n";

rows! {
    in TABLE;

    pub enum Action {
        /// A player notes a number.
        Note in "note" { number: u8 },
        /// The operator notes a number.
        Remark { number: u8 },
    }

    struct StateRow in "state" { lines: u16 }
}

fields! {
    pub struct Diary {
        pub lines: Vec<Arc<str>>,
    }
}

impl Diary {
    fn write(&mut self, line: String) {
        self.lines.push(line.into());
    }
}

impl SimpleGame for Diary {
    const NAME: &'static str = "diary";
    const TABLE: (&'static str, &'static str) = ("diary.tsv", TABLE);
    const DIALECT: &'static str = "diary";
    const PAGE: &'static str = "";

    type Action = Action;

    fn new(_: &WorldParams) -> Diary {
        Diary { lines: Vec::new() }
    }

    fn join(&mut self, player: PlayerId, joining: &Joining<'_>, _: &mut TickContext<'_>) {
        let account = joining.account.unwrap_or("nobody");
        self.write(format!("{} joins: {} of {account}", player.0, joining.name));
    }

    fn leave(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.write(format!("{} leaves", player.0));
    }

    fn disconnect(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.write(format!("{} disconnects", player.0));
    }

    fn reconnect(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.write(format!("{} reconnects", player.0));
    }

    fn apply(&mut self, player: PlayerId, action: Action, context: &mut TickContext<'_>) -> ActionResult {
        let Action::Note { number } = action else { return Err("operator_only") };
        self.write(format!("{} notes {number}", player.0));
        context.report("noted", |report| {
            report.set("player", player.0);
            report.set("number", number);
            report.set("line", self.lines.last().map(|line| line.to_string()).unwrap_or_default());
        });
        Ok(())
    }

    fn operate(&mut self, action: Action, _: &mut TickContext<'_>) -> ActionResult {
        let Action::Remark { number } = action else { return Err("player_only") };
        if number == 0 {
            return Err("zero");
        }
        self.write(format!("the operator notes {number}"));
        Ok(())
    }

    fn tick(&mut self, _: &mut TickContext<'_>) {}

    fn write_state(&self, rows: &mut StateRows) {
        rows.push(StateRow { lines: self.lines.len() as u16 });
    }
}
