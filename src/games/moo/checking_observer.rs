//! An observer that checks the packets that an agent of this game receives.

use std::time::Duration;

use super::bot::agent::PacketObserver;
use super::bot::received::ServerPacket;
use super::bot::world_model::WorldModel;
use super::checker::{CheckRule, Fault, MooBotStats as Counted, PacketChecker};
use crate::game::bots::{AgentOutput, BotStats, Tolerance};
use crate::games::moo::client_packet::ClientPacket;

/// Prefix of operator messages that carry a number, so that a test can check their order.
pub const NOTICE: &str = "notice ";

/// Checks all received packets of an agent, and counts its statistics.
#[derive(Debug)]
pub struct CheckingObserver {
    check: PacketChecker,
    deeds: Counted,
    /// The received numbers of operator messages.
    notices: Vec<u32>,
    shares_address: bool,
    /// Whether network faults may delay packets without a tick.
    is_troubled: bool,
    /// Whether the operator may have granted it resources.
    is_granted: bool,
}

impl CheckingObserver {
    /// Creates the observer of an agent, for the native or the MooMoo layout.
    pub fn new(is_native: bool) -> CheckingObserver {
        CheckingObserver {
            check: PacketChecker::new(is_native),
            deeds: Counted::default(),
            notices: Vec::new(),
            shares_address: false,
            is_troubled: false,
            is_granted: false,
        }
    }

    /// Whether a fault is tolerated, because the circumstances caused it and not the server.
    fn is_excused(&self, Fault { rule, detail }: &Fault) -> bool {
        let is_moomoo = !self.picture().is_native;
        match rule {
            // A packet without a tick is dated by its arrival time, which network faults distort.
            CheckRule::TooFast => self.is_troubled && is_moomoo,
            CheckRule::GainUnearned => self.is_granted || self.is_troubled && is_moomoo,
            // A stalled connection delivers at once what was sent over a longer time.
            CheckRule::ServerError => {
                self.shares_address && detail.starts_with("address_")
                    || self.is_troubled && detail.contains("_too_soon")
            }
            _ => false,
        }
    }
}

impl PacketObserver for CheckingObserver {
    fn picture(&self) -> &WorldModel {
        self.check.picture()
    }

    fn said(&mut self, packet: &ClientPacket<'_>) {
        self.check.said(packet);
    }

    fn on_packet(&mut self, heard: &ServerPacket, now: Duration, out: &mut AgentOutput) {
        for fault in self.check.check_packet(heard, now) {
            if !self.is_excused(&fault) {
                out.fault(fault.rule.name(), fault.detail);
            }
        }
        self.deeds.add(&self.check.take_deeds());
        if let ServerPacket::Say { text } | ServerPacket::Chat { text, .. } = heard {
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

    fn excuse(&mut self, excuse: Tolerance) {
        match excuse {
            Tolerance::SharedAddress => self.shares_address = true,
            Tolerance::Network => self.is_troubled = true,
            Tolerance::Gift => self.is_granted = true,
            Tolerance::Return => self.check.returns(),
        }
    }

    fn take_deeds(&mut self) -> BotStats {
        std::mem::take(&mut self.deeds).named()
    }

    fn marks(&self) -> &[u32] {
        &self.notices
    }
}
