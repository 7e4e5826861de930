//! An observer that checks the packets that an agent of this game receives.

use std::time::Duration;

use super::bot::agent::PacketObserver;
use super::bot::received::ServerPacket;
use super::bot::world_model::WorldModel;
use super::checker::{CheckRule, Fault, MooBotStats as Counted, PacketChecker};
use crate::game::bots::{AgentOutput, BotStats, Tolerance};
use crate::games::moo::client_packet::ClientPacket;

/// Prefix of operator messages that carry a number, so that a test can check their order.
pub const NOTICE_PREFIX: &str = "notice ";

/// Checks all received packets of an agent, and counts its statistics.
#[derive(Debug)]
pub struct CheckingObserver {
    check: PacketChecker,
    stats: Counted,
    /// The received numbers of operator messages.
    notices: Vec<u32>,
    shares_address: bool,
    /// Whether network faults may have delayed packets.
    had_network_fault: bool,
    /// Whether the operator may have granted resources to the player.
    got_operator_gift: bool,
    /// Whether datagrams may overtake the stream.
    has_lane: bool,
}

impl CheckingObserver {
    /// Creates the observer of an agent, for the native or the MooMoo layout.
    pub fn new(is_native: bool) -> CheckingObserver {
        CheckingObserver {
            check: PacketChecker::new(is_native),
            stats: Counted::default(),
            notices: Vec::new(),
            shares_address: false,
            had_network_fault: false,
            got_operator_gift: false,
            has_lane: false,
        }
    }

    /// Whether a fault is tolerated, because the network, the operator or another client may have
    /// caused it.
    fn is_tolerated(&self, Fault { rule, detail }: &Fault) -> bool {
        let is_moomoo = !self.world_model().is_native;
        match rule {
            // Packets of the MooMoo dialects have no tick, so the check depends on their arrival
            // times, which network faults distort. With a lane, an update by datagram may overtake
            // an older update of the stream.
            CheckRule::TooFast => self.had_network_fault && is_moomoo || self.has_lane,
            // After a respawn, a datagram may overtake the enter of the new body. The attack of an
            // animal in the stream may overtake the animal.
            CheckRule::OwnPositionDiffers | CheckRule::AnimalUnknown => self.has_lane,
            // The check counts updates, and updates by datagram may overtake the hits in the
            // stream.
            CheckRule::GainUnearned => {
                self.got_operator_gift || self.had_network_fault && is_moomoo || self.has_lane
            }
            // After a stall or after lost datagrams, commands that the agent sent at intervals
            // reach the server together.
            CheckRule::ServerError => {
                self.shares_address && detail.starts_with("address_")
                    || (self.had_network_fault || self.has_lane) && detail.contains("_too_soon")
            }
            _ => false,
        }
    }
}

impl PacketObserver for CheckingObserver {
    fn world_model(&self) -> &WorldModel {
        self.check.world_model()
    }

    fn on_sent(&mut self, packet: &ClientPacket<'_>) {
        self.check.on_sent(packet);
    }

    fn on_packet(&mut self, packet: &ServerPacket, now: Duration, out: &mut AgentOutput) {
        for fault in self.check.check_packet(packet, now) {
            if !self.is_tolerated(&fault) {
                out.add_fault(fault.rule.name(), fault.detail);
            }
        }
        self.stats.add(&self.check.take_stats());
        if let ServerPacket::Notice { text } | ServerPacket::Chat { text, .. } = packet {
            let number = text.strip_prefix(NOTICE_PREFIX).and_then(|number| number.parse::<u32>().ok());
            if let Some((number, before)) =
                number.zip(self.notices.last()).filter(|(number, last)| number <= last)
            {
                out.add_fault("notice_order", format!("notice {number} after {before}"));
            }
            self.notices.extend(number);
        }
    }

    fn checks(&self) -> bool {
        true
    }

    fn tolerate(&mut self, reason: Tolerance) {
        match reason {
            Tolerance::SharedAddress => self.shares_address = true,
            Tolerance::Network => self.had_network_fault = true,
            Tolerance::OperatorGift => self.got_operator_gift = true,
            Tolerance::Resumed => self.check.on_resumed(),
            Tolerance::Lane => {
                self.has_lane = true;
                self.check.on_lane();
            }
            Tolerance::LateAcks => {}
        }
    }

    fn take_stats(&mut self) -> BotStats {
        std::mem::take(&mut self.stats).to_bot_stats()
    }

    fn marks(&self) -> &[u32] {
        &self.notices
    }
}
