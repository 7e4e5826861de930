//! The clients of a host.

use std::sync::Arc;

use super::inspector_queues::InspectorQueues;
use crate::connection::resume_key::ResumeKey;
use crate::server::clients::client::{Client, Transport};
use crate::server::clients::inspector_session;
use crate::tools::inspector::observed_format::Handshake;

/// A client, and its handshake for inspectors that select it later.
pub struct ListedClient<T> {
    /// The client.
    pub client: Arc<Client<T>>,
    /// Its handshake, with secrets redacted.
    pub opened: Handshake,
}

/// All clients.
pub struct HostClients<T> {
    /// In the order of their numbers.
    pub listed: Vec<ListedClient<T>>,
    /// Observed bytes for inspectors.
    pub inspector_queues: InspectorQueues,
    last: u64,
}

impl<T> Default for HostClients<T> {
    fn default() -> HostClients<T> {
        HostClients { listed: Vec::new(), inspector_queues: InspectorQueues::default(), last: 0 }
    }
}

impl<T: Transport> HostClients<T> {
    /// Returns the number of a new client.
    pub fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Adds a client.
    pub fn add(&mut self, client: &Arc<Client<T>>, opened: Handshake) {
        self.listed.push(ListedClient { client: Arc::clone(client), opened });
    }

    /// Removes a client.
    pub fn remove(&mut self, number: u64) {
        self.listed.retain(|listed| listed.client.id != number);
    }

    /// Returns the clients in the order of their numbers.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Client<T>>> {
        self.listed.iter().map(|listed| &listed.client)
    }

    /// Returns the client with this number, with its handshake.
    pub fn find(&self, number: u64) -> Option<&ListedClient<T>> {
        let place = self.listed.binary_search_by_key(&number, |listed| listed.client.id);
        place.ok().map(|place| &self.listed[place])
    }

    /// Returns the newest client with this key.
    pub fn own(&self, key: ResumeKey) -> Option<&Arc<Client<T>>> {
        self.iter().rfind(|client| client.resume_key == Some(key))
    }

    /// Returns the list of clients for inspectors.
    pub fn list(&self) -> String {
        inspector_session::list(self.iter().map(|client| &**client))
    }
}
