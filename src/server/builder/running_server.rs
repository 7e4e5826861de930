//! A server that a program has started.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use super::{RoomAccess, StartError};
use crate::game::OperatorCommandError;
use crate::packet::PacketTables;
use crate::server::net::console::Source;
use crate::server::net::recorder::CaptureTarget;
use crate::server::net::{self};

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct RunningServer {
    server: net::ServerHandle,
}

impl RunningServer {
    pub(super) fn new(server: net::ServerHandle) -> RunningServer {
        RunningServer { server }
    }

    /// Starts the capture of [`Server::capture`](super::Server::capture).
    pub(super) fn capture(&self, file: PathBuf, is_plain: bool) -> Result<(), StartError> {
        let target = CaptureTarget::File(file);
        let started = if is_plain { self.server.capture_plain(target) } else { self.server.capture(target) };
        started.map(drop).map_err(|rule| StartError::setting("capture", rule))
    }

    /// Returns the address on which the server listens, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Returns the packet tables in use.
    pub fn tables(&self) -> &Arc<PacketTables> {
        &self.server.config().codes
    }

    /// Returns the token for `/admin`.
    pub fn admin_token(&self) -> &str {
        self.server.config().admin_token.expose()
    }

    /// Returns the room of this name, to read its world and to send it actions. The default room's
    /// name is empty; a private room has an alias. Returns `None` if there is no such room.
    pub fn room(&self, name: &str) -> Option<RoomAccess> {
        self.server.room(name)
    }

    /// Executes an operator command, such as `players` or `kick NAME`; `help` lists them. Commands
    /// that write files write them to [`Server::save_dir`](super::Server::save_dir).
    ///
    /// # Errors
    /// The line is no command, or the command had no effect.
    pub fn command(&self, line: &str) -> Result<String, OperatorCommandError> {
        self.server.console().execute(line, Source::Program).unwrap_or_else(|| Ok(String::new()))
    }

    /// Whether an operator has entered `stop`, with [`RunningServer::command`] or at `/admin`, or a
    /// drain (`drain 60`) has ended. Call [`RunningServer::stop`] then.
    pub fn is_stop_requested(&self) -> bool {
        self.server.is_stop_requested()
    }

    /// Returns the metrics as Prometheus text.
    pub fn metrics(&self) -> String {
        self.server.metrics_text()
    }

    /// Accepts no more connections, closes all clients with 1001, and waits for the threads:
    /// usually a few milliseconds, at most about two seconds, and longer for a slow hook of
    /// [`Server::on_event`](super::Server::on_event) or a slow disk of
    /// [`Server::journal`](super::Server::journal).
    pub fn stop(mut self) {
        self.shut_down();
    }

    fn shut_down(&mut self) {
        self.server.shut_down();
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.shut_down();
    }
}
