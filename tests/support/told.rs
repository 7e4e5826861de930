//! One client of the feed without a socket: what it was told, by the packet's name, in order.

#![allow(dead_code, reason = "each test looks at another part")]

use std::collections::BTreeMap;
use std::sync::Arc;

use tickwire::game::{self, Messages, View as _};
use tickwire::internal::games::moo::feed::Events;
use tickwire::internal::games::moo::world::PlayerId;
use tickwire::internal::games::moo::{Moo, MooScratch, MooView};
use tickwire::packet::{Dialect, Direction, PacketTables, Value};
use tickwire::ws::frame;

/// A tick of the game.
pub type Published = game::Published<Moo>;

/// Everything that one client was told, by the packet's name, in order.
pub struct Client {
    view: MooView,
    dialect: Arc<Dialect>,
    scratch: MooScratch,
    /// Whether anything waits for the client, so that the state is held back.
    pub is_behind: bool,
    pub heard: Vec<(String, Vec<Value>)>,
    /// Bytes of the frames of each packet.
    pub bytes: BTreeMap<String, usize>,
}

impl Client {
    pub fn new(player: u16, dialect: &str) -> Client {
        Client::of(player, PacketTables::builtin().dialect(dialect).expect("built in"))
    }

    pub fn of(player: u16, dialect: Arc<Dialect>) -> Client {
        let mut view = MooView::new(&dialect);
        view.set_subject(Some(PlayerId(player)), None);
        let (scratch, heard, bytes) = Default::default();
        Client { view, dialect, scratch, is_behind: false, heard, bytes }
    }

    pub fn hear(&mut self, published: &Published) {
        self.hear_after(&[], published);
    }

    /// The update of a worker that has missed the ticks of these events.
    pub fn hear_after(&mut self, missed: &[Arc<Events>], published: &Published) {
        let mut messages = Messages::default();
        self.view.update(missed, published, self.is_behind, &self.dialect, &mut self.scratch, &mut messages);
        for message in messages.iter() {
            let decoded = self.dialect.decode(Direction::ToClient, message).expect("our own message");
            let mut frame = Vec::new();
            frame::write_binary(&mut frame, message);
            *self.bytes.entry(decoded.row.name.clone()).or_default() += frame.len();
            self.heard.push((decoded.row.name.clone(), decoded.values));
        }
    }

    pub fn messages(&mut self, published: &Published, is_behind: bool, messages: &mut Messages) {
        self.view.update(&[], published, is_behind, &self.dialect, &mut self.scratch, messages);
    }

    pub fn watch(&mut self, watched: Option<u16>) {
        self.view.set_subject(None, watched.map(PlayerId));
    }

    pub fn name(&self, message: &[u8]) -> String {
        let row = self.dialect.decode(Direction::ToClient, message).expect("our own message").row;
        format!("{} {}", self.dialect.name().starts_with('n'), row.name)
    }

    pub fn all(&self, name: &str) -> Vec<&Vec<Value>> {
        self.heard.iter().filter(|(heard, _)| heard == name).map(|(_, values)| values).collect()
    }

    /// The values of a list of whole numbers, all packets of this name together.
    pub fn numbers(&self, name: &str) -> Vec<i64> {
        let numbers = self.numbers_with_nil(name);
        assert!(numbers.iter().all(|number| *number != i64::MIN), "nil in {name}");
        numbers
    }

    /// The same where nil may stand among them, as the smallest number.
    pub fn numbers_with_nil(&self, name: &str) -> Vec<i64> {
        let lists =
            self.all(name).into_iter().map(|values| values[0].as_array().cloned().unwrap_or_default());
        lists.flatten().map(|value| value.as_i64().unwrap_or(i64::MIN)).collect()
    }
}
