//! A simple game that writes down what happens to its players, and reports some of it.

use std::sync::Arc;

use tickwire::game::simple::{Joining, NamedValues, SimpleGame, TickContext};
use tickwire::packet::DecodedPacket;
use tickwire::sim::{PlayerId, WorldParams, fields};

#[derive(Debug, Clone, PartialEq)]
pub struct Diary {
    pub lines: Vec<Arc<str>>,
}

fields!(Diary: lines: Vec<Arc<str>>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    pub number: u8,
}

fields!(Note: number: u8);

impl Diary {
    fn write(&mut self, line: String) {
        self.lines.push(line.into());
    }
}

impl SimpleGame for Diary {
    const NAME: &'static str = "diary";
    const TABLE: (&'static str, &'static str) = (
        "diary.tsv",
        "direction\tname\tlane\tdiary:int\targuments\tmeaning\n\
        to_server\thello\treliable\t1\tversion:u16 mode:u8<=1 name:str<=15|nil\tfirst\n\
        to_server\tjoin\treliable\t2\tname:str<=15|nil\tjoin\n\
        to_server\tping\treliable\t3\tnonce:u32\tping\n\
        to_server\tnote\treliable\t4\tsequence:u32 tick:u32.tick|nil number:u8\tnote a number\n\
        to_client\twelcome\treliable\t1\tversion:u16 rules_hash:str seed:u32 tick_hz:u8 update_hz:u8 \
        epoch:str tick:u32.tick\tanswers hello\n\
        to_client\tspawned\tlatest\t2\tplayer:u16\tplays\n\
        to_client\tpong\treliable\t3\tnonce:u32 tick:u32.tick\tanswers ping\n\
        to_client\terror\treliable\t4\trule:str detail:str\tan error\n\
        to_client\tstate\tlatest\t5\ttick:u32.tick lines:u16\tthe number of lines\n",
    );
    const DIALECT: &'static str = "diary";
    const PAGE: &'static str = "";

    type Action = Note;

    fn new(_: &WorldParams) -> Diary {
        Diary { lines: Vec::new() }
    }

    fn action(packet: &DecodedPacket<'_>) -> Option<Note> {
        let number = packet.integer("number");
        number.filter(|_| packet.row.name == "note").map(|number| Note { number })
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

    fn apply(
        &mut self,
        player: PlayerId,
        note: Note,
        context: &mut TickContext<'_>,
    ) -> Result<(), &'static str> {
        self.write(format!("{} notes {}", player.0, note.number));
        context.report("noted", |row| {
            row.set("player", player.0);
            row.set("number", note.number);
            row.set("line", self.lines.last().map(|line| line.to_string()).unwrap_or_default());
        });
        Ok(())
    }

    fn operate(&mut self, note: Note, _: &mut TickContext<'_>) -> Result<(), &'static str> {
        if note.number == 0 {
            return Err("zero");
        }
        self.write(format!("the operator notes {}", note.number));
        Ok(())
    }

    fn tick(&mut self, _: &mut TickContext<'_>) {}

    fn write_state(&self, row: &mut NamedValues) {
        row.set("lines", self.lines.len() as u16);
    }
}
