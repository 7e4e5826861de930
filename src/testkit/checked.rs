//! A bot's observer that checks what the server sends, and measures it.

use std::sync::Arc;
use std::time::Duration;

use super::tally::Tally;
use crate::client::link::Link;
use crate::games::moo::check::Check;
use crate::games::moo::client::bot::{Bot, Observer};
use crate::games::moo::client::heard::Heard;
use crate::games::moo::client::picture::Picture;
use crate::games::moo::client::policy::Policy;
use crate::packet::{ClientPacket, Dialect, PacketError};

/// A bot that checks what it receives.
pub type CheckingBot = Bot<Checked>;

/// See the [module](self).
#[derive(Debug)]
pub struct Checked {
    /// The bot's name, for the details of faults.
    name: String,
    check: Check,
    /// When the last update arrived, unless the bot has died since.
    updated: Option<Duration>,
    /// Its measurements.
    pub tally: Tally,
}

/// The checking bot with this index on a new link.
pub fn bot(index: usize, link: Link, dialect: Arc<Dialect>, policy: Box<dyn Policy>) -> CheckingBot {
    let check = Check::new(dialect.name() == "native");
    let observer = Checked { name: String::new(), check, updated: None, tally: Tally::new() };
    let mut bot = Bot::new(index, link, dialect, policy, observer);
    bot.observer.name.clone_from(&bot.name);
    bot
}

impl Checked {
    /// Starts the measured time: earlier measurements do not count, but errors do.
    pub fn begin(&mut self) {
        self.tally.begin();
        // A bot that gets no update because nothing changes still has players in view.
        self.tally.view(self.picture().others_in_view);
        self.updated = None;
    }
}

impl Observer for Checked {
    fn picture(&self) -> &Picture {
        self.check.picture()
    }

    fn said(&mut self, packet: &ClientPacket<'_>) {
        self.check.said(packet);
        self.tally.said();
    }

    fn hear(&mut self, heard: &Heard, now: Duration) {
        self.tally.heard();
        for fault in self.check.hear(heard, now) {
            self.tally.error(fault.rule.name(), format!("{}, {}", self.name, fault.detail));
        }
        self.tally.deeds.add(&self.check.take_deeds());
        if matches!(heard, Heard::Update(_) | Heard::Players(_)) {
            let gap = self.updated.replace(now).map(|before| now.saturating_sub(before));
            self.tally.update(gap, self.check.picture().others_in_view);
        }
        if self.check.picture().is_dead {
            // A dead bot gets no updates, so a gap over that time would mean nothing.
            self.updated = None;
        }
    }

    fn garbled(&mut self, error: &PacketError) {
        self.tally.heard();
        self.tally.error(error.name(), error.to_string());
    }

    fn error(&mut self, name: &str, detail: String) {
        self.tally.error(name, detail);
    }

    fn moved(&mut self, received: usize, sent: usize) {
        self.tally.bytes_in += received as u64;
        self.tally.bytes_out += sent as u64;
    }

    fn ended(&mut self, reason: &str) {
        self.tally.disconnect(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::link::Keys;
    use crate::games::moo::client::bot::Stage;
    use crate::games::moo::client::policy::Still;
    use crate::packet::{Codes, ServerPacket};
    use crate::testkit::tally::Report;
    use crate::ws::conn::{Conn, Role};
    use crate::ws::http::HeadReader;
    use crate::ws::message::Limits;
    use crate::ws::{CloseCode, upgrade};

    const NOW: Duration = Duration::from_secs(1);

    #[test]
    fn faults_and_the_end_of_a_connection_are_counted_by_name() {
        let dialect = Codes::builtin().dialect("legacy").unwrap();
        let keys = Keys { upgrade: [1; 16], mask: || [1, 2, 3, 4] };
        let link = Link::new("localhost:3000", "/", false, keys);
        let mut bot = bot(3, link, Arc::clone(&dialect), Box::new(Still));
        let mut bytes = Vec::new();
        bot.drain_output(&mut bytes);
        let head = HeadReader::new().receive(&bytes).unwrap().unwrap();
        bot.receive(&upgrade::accept(&head, &[]).unwrap().response, NOW);
        let mut server = Conn::new(Role::Server, Limits::SERVER);
        let mut bytes = Vec::new();
        server.send_binary(&ServerPacket::Setup { sid: 4 }.encode(&dialect));
        server.send_binary(b"\xc1");
        server.close(CloseCode::POLICY, "message_rate");
        server.drain_output(&mut bytes);
        bot.receive(&bytes, NOW);
        assert_eq!(bot.stage(), Stage::Over);
        let tally = bot.observer.tally.clone();
        let json = Report { dialect: String::new(), bots: 1, playing: 0, time: NOW, tally }.json();
        assert!(json.contains(r#""errors":{"greeting":1,"packet_reserved_byte":1}"#), "{json}");
        assert!(json.contains(r#""disconnects":{"1008 message_rate":1}"#), "{json}");
    }
}
