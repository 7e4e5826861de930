//! The list of all clients together.
//!
//! Each client has its own log, because its messages are explained after its own handshake. While a
//! message is processed, the log of its client is the last one, and has the merged list instead of
//! its own.

use super::client_log::ClientLog;
use super::list::{FrameList, ListRequest};
use super::observed_format::{ObservedKind, ObservedRecord};
use crate::limits;

/// The number in a message about lost messages of any client.
const NO_CLIENT: u64 = 0;

/// The list of all clients together, up to [`limits::INSPECTOR_MERGED_CLIENTS`].
#[derive(Debug)]
pub struct MergedList {
    /// Entries of all clients, in the order in which they were received.
    pub list: FrameList,
    /// The logs of clients that were selected one by one.
    pub single_logs: Vec<ClientLog>,
    /// The number of visible entries that were removed with the logs of ended clients.
    gone: usize,
}

impl MergedList {
    /// Creates an empty list. `single_logs` are put aside.
    pub fn new(single_logs: Vec<ClientLog>, request: &ListRequest) -> MergedList {
        let mut list = FrameList::default();
        list.apply(request);
        MergedList { list, single_logs, gone: 0 }
    }

    /// Prepares for a message of this client. Returns whether the client is inspected.
    pub fn begin_message(&mut self, logs: &mut Vec<ClientLog>, client: u64) -> bool {
        if client == NO_CLIENT {
            return false;
        }
        let known = logs.iter().position(|log| log.client == client);
        if known.is_none() && logs.len() >= limits::INSPECTOR_MERGED_CLIENTS {
            let Some(ended) = logs.iter().position(|log| log.is_ended) else { return false };
            let ended = logs.remove(ended);
            self.gone += ended.ring.iter().map(|frame| self.list.remove(frame.n)).sum::<usize>();
        }
        let mut log = known.map_or_else(|| ClientLog::new(client), |at| logs.remove(at));
        std::mem::swap(&mut log.list, &mut self.list);
        logs.push(log);
        true
    }

    /// Ends a message. Returns the number of visible entries that were removed before it.
    pub fn end_message(&mut self, logs: &mut [ClientLog]) -> usize {
        if let Some(log) = logs.last_mut() {
            std::mem::swap(&mut log.list, &mut self.list);
        }
        std::mem::take(&mut self.gone)
    }

    /// The log with this frame.
    pub fn log_with<'l>(&self, logs: &'l [ClientLog], n: u64) -> Option<&'l ClientLog> {
        let client = u64::from(self.list.get(n)?.client);
        logs.iter().find(|log| log.client == client)
    }
}

/// Counts the messages in records without a log: of one client too many, or, for client 0, the
/// messages of any client that were lost. After lost messages, the next bytes of each client begin
/// a message.
pub fn skip_records(logs: &mut [ClientLog], client: u64, records: &[ObservedRecord<'_>]) -> u64 {
    if client == NO_CLIENT {
        logs.iter_mut().for_each(ClientLog::forget_unfinished);
    }
    let count = |record: &ObservedRecord<'_>| match record.what {
        ObservedKind::Lost(messages) => messages,
        ObservedKind::Ended(_) => 0,
        _ => 1,
    };
    records.iter().map(count).sum()
}
