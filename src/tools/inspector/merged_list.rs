//! The list of all clients together.
//!
//! Each client has its own log, because its messages are explained after its own handshake. While a
//! message is processed, the log of its client has the merged list instead of its own.

use super::Inspector;
use super::byte_counts::ByteCounts;
use super::client_log::ClientLog;
use super::list::FrameList;
use super::observed_format::{ObservedKind, ObservedRecord};
use crate::limits;

/// The number in a message about lost messages of any client.
const NO_CLIENT: u64 = 0;

/// The list of all clients together.
#[derive(Debug, Default)]
pub struct MergedList {
    /// Entries of all clients, in the order in which they were received.
    pub list: FrameList,
    /// The logs of clients that were selected one by one.
    single_logs: Vec<ClientLog>,
    /// The number of visible entries that were removed with the logs of ended clients.
    gone: usize,
}

impl Inspector {
    /// Inspects all clients, up to [`limits::INSPECTOR_MERGED_CLIENTS`]. Begins with an empty list.
    pub fn select_all(&mut self) {
        self.select_client(None);
        let mut merged = MergedList { single_logs: std::mem::take(&mut self.logs), ..MergedList::default() };
        merged.list.apply(&self.request);
        self.merged = Some(merged);
        self.has_selection = true;
        self.fields = ByteCounts::default();
    }

    /// Ends the inspection of all clients. Their logs are dropped.
    pub(super) fn leave_merged(&mut self) {
        if let Some(merged) = self.merged.take() {
            self.logs = merged.single_logs;
            self.has_selection = false;
        }
    }

    /// Prepares for a message of this client: its log becomes the last one. Returns whether the
    /// client is inspected.
    pub(super) fn enter(&mut self, client: u64) -> bool {
        let Some(merged) = &mut self.merged else {
            return self.log().is_some_and(|log| log.client == client);
        };
        if client == NO_CLIENT {
            return false;
        }
        let known = self.logs.iter().position(|log| log.client == client);
        if known.is_none() && self.logs.len() >= limits::INSPECTOR_MERGED_CLIENTS {
            let Some(ended) = self.logs.iter().position(|log| log.is_ended) else { return false };
            let ended = self.logs.remove(ended);
            merged.gone += ended.ring.iter().map(|frame| merged.list.remove(frame.n)).sum::<usize>();
        }
        let mut log = known.map_or_else(|| ClientLog::new(client), |at| self.logs.remove(at));
        std::mem::swap(&mut log.list, &mut merged.list);
        self.logs.push(log);
        true
    }

    /// Counts the messages in records without a log: of one client too many, or, for client 0, the
    /// messages of any client that were lost. After lost messages, the next bytes of each client
    /// begin a message.
    pub(super) fn skip_records(&mut self, client: u64, records: &[ObservedRecord<'_>]) -> u64 {
        if client == NO_CLIENT {
            self.logs.iter_mut().for_each(ClientLog::forget_unfinished);
        }
        let count = |record: &ObservedRecord<'_>| match record.what {
            ObservedKind::Lost(messages) => messages,
            ObservedKind::Ended(_) => 0,
            _ => 1,
        };
        records.iter().map(count).sum()
    }

    /// Ends a message. Returns the number of visible entries that were removed before it.
    pub(super) fn leave_log(&mut self) -> usize {
        let (Some(merged), Some(log)) = (&mut self.merged, self.logs.last_mut()) else { return 0 };
        std::mem::swap(&mut log.list, &mut merged.list);
        std::mem::take(&mut merged.gone)
    }

    /// The log with this frame.
    pub(super) fn log_with(&self, n: u64) -> Option<&ClientLog> {
        match &self.merged {
            Some(merged) => {
                let client = u64::from(merged.list.get(n)?.client);
                self.logs.iter().find(|log| log.client == client)
            }
            None => self.log(),
        }
    }
}
