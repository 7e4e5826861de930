//! An observer that checks what an agent of this game is told.

use std::time::Duration;

use super::bot::agent::Observer;
use super::bot::received::Heard;
use super::bot::world_model::Picture;
use super::checker::{Check, Deeds as Counted, Fault, Rule};
use crate::game::bots::{Deeds, Excuse, Outcome};
use crate::games::moo::client_packet::ClientPacket;

/// The prefix of the operator's lines whose numbers are marks.
pub const NOTICE: &str = "notice ";

/// See the [module](self).
#[derive(Debug)]
pub struct Checked {
    check: Check,
    deeds: Counted,
    /// The numbers of the operator's lines.
    notices: Vec<u32>,
    shares_address: bool,
    /// Packets without a tick may arrive late.
    is_troubled: bool,
    /// It has more than it earned.
    is_granted: bool,
}

impl Checked {
    /// The checks of an agent of this layout.
    pub fn new(is_native: bool) -> Checked {
        Checked {
            check: Check::new(is_native),
            deeds: Counted::default(),
            notices: Vec::new(),
            shares_address: false,
            is_troubled: false,
            is_granted: false,
        }
    }

    /// Whether the circumstances, and not the server, cause this fault.
    fn is_excused(&self, Fault { rule, detail }: &Fault) -> bool {
        let is_moomoo = !self.picture().is_native;
        match rule {
            // A packet without a tick is dated by its time of arrival, which network faults
            // distort.
            Rule::TooFast => self.is_troubled && is_moomoo,
            Rule::GainUnearned => self.is_granted || self.is_troubled && is_moomoo,
            // A stalled connection delivers at once what was sent over time.
            Rule::ServerError => {
                self.shares_address && detail.starts_with("address_")
                    || self.is_troubled && detail.contains("_too_soon")
            }
            _ => false,
        }
    }
}

impl Observer for Checked {
    fn picture(&self) -> &Picture {
        self.check.picture()
    }

    fn said(&mut self, packet: &ClientPacket<'_>) {
        self.check.said(packet);
    }

    fn hear(&mut self, heard: &Heard, now: Duration, out: &mut Outcome) {
        for fault in self.check.hear(heard, now) {
            if !self.is_excused(&fault) {
                out.fault(fault.rule.name(), fault.detail);
            }
        }
        self.deeds.add(&self.check.take_deeds());
        if let Heard::Say { text } | Heard::Chat { text, .. } = heard {
            let number = text.strip_prefix(NOTICE).and_then(|number| number.parse::<u32>().ok());
            if let Some((number, before)) =
                number.zip(self.notices.last()).filter(|(number, last)| number <= last)
            {
                out.fault("notice_order", format!("notice {number} after {before}"));
            }
            self.notices.extend(number);
        }
    }

    fn checks(&self) -> bool {
        true
    }

    fn excuse(&mut self, excuse: Excuse) {
        match excuse {
            Excuse::SharedAddress => self.shares_address = true,
            Excuse::Network => self.is_troubled = true,
            Excuse::Gift => self.is_granted = true,
            Excuse::Return => self.check.returns(),
        }
    }

    fn take_deeds(&mut self) -> Deeds {
        std::mem::take(&mut self.deeds).named()
    }

    fn marks(&self) -> &[u32] {
        &self.notices
    }
}
