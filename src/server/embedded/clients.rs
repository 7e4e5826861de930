//! The clients of the embedded server, and what they are told of each tick.

use std::sync::Arc;
use std::time::Duration;

use super::memory_transport::{Pipe, Sight};
use crate::connection::resume_key::InspectKey;
use crate::server::admission::address_rate_limits::Budgets;
use crate::server::clients::backlog::Backlog;
use crate::server::clients::client::Client;
use crate::server::clients::inspector_session;
use crate::server::clients::update_group::{Audience, Desk, Serve, Turns};
use crate::server::room::Ticked;
use crate::tools::inspector::observed_format::Opened;

/// A client, and its handshake for a watcher who comes later.
pub struct Listed {
    /// The client.
    pub client: Arc<Client<Pipe>>,
    /// Its handshake, without secrets.
    pub opened: Opened,
}

/// See the [module](self).
pub struct Clients {
    /// In the order of their numbers.
    pub listed: Vec<Listed>,
    /// What watchers see.
    pub sight: Sight,
    audience: Box<dyn Audience<Pipe>>,
    desk: Desk,
    players: usize,
    last: u64,
}

/// Turns at one time. A panic ends the program, as it would anywhere else in it.
struct Now<'a>(Duration, &'a Budgets);

impl Turns<Pipe> for Now<'_> {
    fn now(&self) -> Duration {
        self.0
    }

    fn carry_out(&mut self, _: &Client<Pipe>, turn: &mut Serve<'_>) -> bool {
        turn(self.1);
        true
    }
}

impl Clients {
    /// No clients, of a room with this audience.
    pub fn new(audience: Box<dyn Audience<Pipe>>) -> Clients {
        let (listed, sight, desk) = (Vec::new(), Sight::default(), Desk::default());
        Clients { listed, sight, audience, desk, players: 0, last: 0 }
    }

    /// A number for a new client.
    pub fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Adds a client, which follows the room as soon as it wants to.
    pub fn add(&mut self, client: &Arc<Client<Pipe>>, opened: Opened) {
        self.listed.push(Listed { client: Arc::clone(client), opened });
        self.audience.take_up(Arc::clone(client));
    }

    /// Removes a client.
    pub fn remove(&mut self, number: u64) {
        self.listed.retain(|listed| listed.client.id != number);
    }

    /// The number of clients.
    pub fn len(&self) -> usize {
        self.listed.len()
    }

    /// The number of players after the last tick.
    pub fn players(&self) -> usize {
        self.players
    }

    /// The newest client with this key.
    pub fn own(&self, key: InspectKey) -> Option<&Arc<Client<Pipe>>> {
        let own = self.listed.iter().rfind(|listed| listed.client.inspect_key == Some(key));
        own.map(|listed| &listed.client)
    }

    /// The list that watchers are sent.
    pub fn list(&self) -> String {
        inspector_session::list(self.listed.iter().map(|listed| &*listed.client))
    }

    /// Sends each client the update of a tick, and does what is due by its deadlines.
    pub fn tell(&mut self, ticked: Ticked, budgets: &Budgets, now: Duration) {
        self.players = ticked.published.players();
        let backlog = Backlog::new(ticked.published, ticked.answers);
        self.audience.visit(Some(&backlog), &mut std::iter::empty(), now);
        self.audience.serve(Some(&backlog), &mut self.desk, &mut Now(now, budgets));
    }
}
