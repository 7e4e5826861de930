//! Collects the faults that a bot of the simulation finds.

use std::time::Duration;

use crate::client::bots::BotObserver;
use crate::game::bots::{ServerFault, ViewStats};

/// Observer of a bot: collects its faults and counts its messages.
#[derive(Debug, Default)]
pub struct BotChecker {
    /// Rules that the server broke, with details.
    pub faults: Vec<(String, String)>,
    /// Reason why the connection ended before the bot closed it.
    pub ending: Option<String>,
    /// Number of messages received.
    pub messages: u64,
}

impl BotObserver for BotChecker {
    fn on_view(&mut self, _: bool, _: ViewStats, _: Duration) {
        self.messages += 1;
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
