//! Checks everything that a bot of the simulation receives, with all checks of the test kit and
//! those of the simulation itself.

use std::time::Duration;

use crate::games::moo::check::{Check, Deeds, Fault, Rule};
use crate::games::moo::client::bot::Observer;
use crate::games::moo::client::heard::Heard;
use crate::games::moo::client::picture::Picture;
use crate::packet::ClientPacket;

/// The prefix of the operator's lines that the simulation counts.
pub const NOTICE: &str = "notice ";

/// See the [module](self).
#[derive(Debug)]
pub struct Checker {
    check: Check,
    /// Rules that the server broke, with details.
    pub faults: Vec<(&'static str, String)>,
    /// The numbers of the operator's lines.
    pub notices: Vec<u32>,
    /// Why the connection ended before the bot wanted it to.
    pub ending: Option<String>,
    /// The actions of the bot.
    pub deeds: Deeds,
    /// Messages received.
    pub messages: u64,
    /// Whether the bot's connection had network faults: packets without a tick may then arrive
    /// late.
    pub is_troubled: bool,
    /// Whether the operator has granted the bot resources, so that it has more than it earned.
    pub is_granted: bool,
}

impl Checker {
    /// The checks of a bot of this layout.
    pub fn new(is_native: bool) -> Checker {
        Checker {
            check: Check::new(is_native),
            faults: Vec::new(),
            notices: Vec::new(),
            ending: None,
            deeds: Deeds::default(),
            messages: 0,
            is_troubled: false,
            is_granted: false,
        }
    }

    /// Whether the simulation itself, and not the server, causes this fault.
    fn is_excused(&self, Fault { rule, detail }: &Fault) -> bool {
        let is_moomoo = !self.picture().is_native;
        match rule {
            // A packet without a tick is dated by its time of arrival, which network faults
            // distort.
            Rule::TooFast => self.is_troubled && is_moomoo,
            Rule::GainUnearned => self.is_granted || self.is_troubled && is_moomoo,
            // A stalled connection delivers at once what was sent over time; and the address is
            // shared with misbehaving clients.
            Rule::ServerError => {
                detail.starts_with("address_") || self.is_troubled && detail.contains("_too_soon")
            }
            _ => false,
        }
    }
}

impl Observer for Checker {
    fn picture(&self) -> &Picture {
        self.check.picture()
    }

    fn said(&mut self, packet: &ClientPacket<'_>) {
        self.check.said(packet);
    }

    fn hear(&mut self, heard: &Heard, now: Duration) {
        self.messages += 1;
        for fault in self.check.hear(heard, now) {
            if !self.is_excused(&fault) {
                self.faults.push((fault.rule.name(), fault.detail));
            }
        }
        self.deeds.add(&self.check.take_deeds());
        if let Heard::Say { text } | Heard::Chat { text, .. } = heard {
            self.notices.extend(text.strip_prefix(NOTICE).and_then(|number| number.parse::<u32>().ok()));
        }
    }

    fn error(&mut self, name: &str, detail: String) {
        self.faults.push(("garbled", format!("{name}: {detail}")));
    }

    fn ended(&mut self, reason: &str) {
        self.ending = Some(reason.to_owned());
    }
}
