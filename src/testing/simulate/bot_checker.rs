//! Collects the faults that a bot of the simulation finds.

use std::time::Duration;

use super::failure::InjectedBug;
use crate::client::bots::{BotObserver, DatagramPacketUse};
use crate::game::bots::{ServerFault, ViewStats};
use crate::packet::DecodedPacket;

/// Observer of a bot: collects its faults and counts its messages.
#[derive(Debug, Default)]
pub struct BotChecker {
    /// Rules that the server broke, with details.
    pub faults: Vec<(String, String)>,
    /// Reason why the connection ended before the bot closed it.
    pub ending: Option<String>,
    /// Number of messages received.
    pub messages: u64,
    /// Number of packets received by datagram.
    pub by_datagram: u64,
    /// Number of these packets that were counted before.
    pub counted: u64,
    /// The injected bug.
    pub injected_bug: Option<InjectedBug>,
}

impl BotObserver for BotChecker {
    fn on_view(&mut self, _: bool, _: ViewStats, _: Duration) {
        self.messages += 1;
    }

    fn on_datagram_packet(&mut self, _: &DecodedPacket<'_>) -> DatagramPacketUse {
        self.by_datagram += 1;
        match self.injected_bug {
            Some(InjectedBug::DatagramIgnored) if self.by_datagram.is_multiple_of(5) => {
                DatagramPacketUse::Drop
            }
            Some(InjectedBug::DatagramAsStream) => DatagramPacketUse::AsStream,
            _ => DatagramPacketUse::Handle,
        }
    }

    fn on_fault(&mut self, fault: ServerFault) {
        self.faults.push((fault.rule.to_owned(), fault.detail));
    }

    fn on_error(&mut self, name: &str, detail: String) {
        self.faults.push(("garbled".to_owned(), format!("{name}: {detail}")));
    }

    fn on_closed(&mut self, reason: &str) {
        self.ending = Some(reason.to_owned());
    }
}
