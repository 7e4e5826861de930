//! The clients of the embedded server and their updates.

use std::sync::Arc;
use std::time::Duration;

use super::memory_transport::{InspectorQueues, MemoryTransport};
use crate::connection::resume_key::ResumeKey;
use crate::server::admission::address_rate_limits::AddressRateLimits;
use crate::server::clients::backlog::Backlog;
use crate::server::clients::client::Client;
use crate::server::clients::inspector_session;
use crate::server::clients::update_group::{EncodeBuffers, UpdateFn, UpdateGroup, UpdateRunner};
use crate::server::room::TickResult;
use crate::tools::inspector::observed_format::Handshake;

/// A client, and its handshake for inspectors that select it later.
pub struct ListedClient {
    /// The client.
    pub client: Arc<Client<MemoryTransport>>,
    /// Its handshake, with secrets redacted.
    pub opened: Handshake,
}

/// All clients, and the buffers of their updates.
pub struct Clients {
    /// In the order of their numbers.
    pub listed: Vec<ListedClient>,
    /// Observed bytes for inspectors.
    pub inspector_queues: InspectorQueues,
    audience: Box<dyn UpdateGroup<MemoryTransport>>,
    buffers: EncodeBuffers,
    players: usize,
    last: u64,
}

/// Runs updates with one fixed time. Does not catch panics, because the program has no other thread
/// to continue.
struct DirectRunner<'a>(Duration, &'a AddressRateLimits);

impl UpdateRunner<MemoryTransport> for DirectRunner<'_> {
    fn now(&self) -> Duration {
        self.0
    }

    fn run(&mut self, _: &Client<MemoryTransport>, turn: &mut UpdateFn<'_>) -> bool {
        turn(self.1);
        true
    }
}

impl Clients {
    /// Creates an empty list for a room with this update group.
    pub fn new(audience: Box<dyn UpdateGroup<MemoryTransport>>) -> Clients {
        let (listed, sight, desk) = (Vec::new(), InspectorQueues::default(), EncodeBuffers::default());
        Clients { listed, inspector_queues: sight, audience, buffers: desk, players: 0, last: 0 }
    }

    /// Returns the number of a new client.
    pub fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Adds a client. It receives updates once it requests them.
    pub fn add(&mut self, client: &Arc<Client<MemoryTransport>>, opened: Handshake) {
        self.listed.push(ListedClient { client: Arc::clone(client), opened });
        self.audience.add_client(Arc::clone(client));
    }

    /// Removes a client.
    pub fn remove(&mut self, number: u64) {
        self.listed.retain(|listed| listed.client.id != number);
    }

    /// Number of clients.
    pub fn len(&self) -> usize {
        self.listed.len()
    }

    /// Number of players after the last tick.
    pub fn players(&self) -> usize {
        self.players
    }

    /// Returns the newest client with this key.
    pub fn own(&self, key: ResumeKey) -> Option<&Arc<Client<MemoryTransport>>> {
        let own = self.listed.iter().rfind(|listed| listed.client.resume_key == Some(key));
        own.map(|listed| &listed.client)
    }

    /// Returns the list of clients for inspectors.
    pub fn list(&self) -> String {
        inspector_session::list(self.listed.iter().map(|listed| &*listed.client))
    }

    /// Sends each client the update of a tick, and polls its deadlines.
    pub fn send_updates(&mut self, ticked: TickResult, budgets: &AddressRateLimits, now: Duration) {
        self.players = ticked.published.players();
        let backlog = Backlog::new(ticked.published, ticked.answers);
        self.audience.begin_pass(Some(&backlog), &mut std::iter::empty(), now);
        self.audience.update_all(Some(&backlog), &mut self.buffers, &mut DirectRunner(now, budgets));
    }
}
