//! Exchanges bans, the notice and the best players with the other processes, through the store.

use std::time::Duration;

use tracing::{info, warn};

use super::membership::Cluster;
use super::redis_store::RedisStore;
use crate::limits;
use crate::server::cluster::StoreError;
use crate::server::cluster::shared_settings::{Exchanged, SettingGroup, SharedSetting, exchange};
use crate::server::net::ban_enforcement;
use crate::server::net::server_data::{NOTICE, SettingChanges, banned_prefix, is_known, unix_ms};
use crate::server::net::server_state::ServerState;
use crate::util::address_prefix::AddressPrefix;

/// The state of the renewal thread about shared settings.
#[derive(Debug, Default)]
pub struct SettingExchange {
    /// The number of the connection of the last exchange.
    connection: u64,
    /// Time of the last exchange of the best players.
    best_at: Option<Duration>,
    /// Whether the last exchange was refused because the store has the maximum of settings.
    is_full: bool,
}

impl SettingExchange {
    /// Exchanges settings through this connection, and executes what other processes have changed.
    ///
    /// # Errors
    /// The store does not respond.
    pub fn run(
        &mut self,
        host: &ServerState,
        (store, connection): (&mut RedisStore, u64),
        now: Duration,
    ) -> Result<(), StoreError> {
        if self.connection != connection {
            for group in [SettingGroup::Operator, SettingGroup::BestPlayers] {
                host.data().settings(group).lock().forget_store();
            }
            self.best_at = None;
        }
        let mut exchanged = Exchanged::default();
        let operator = host.data().settings(SettingGroup::Operator);
        let result = exchange(store, (SettingGroup::Operator, operator), unix_ms(), &mut exchanged);
        self.set_full(exchanged.refused);
        apply(host, exchanged.changed);
        result?;
        let is_due = |at: Duration| now.saturating_sub(at) >= limits::CLUSTER_BEST_PLAYERS_INTERVAL;
        if self.best_at.is_none_or(is_due) {
            let mut exchanged = Exchanged::default();
            let best = host.data().settings(SettingGroup::BestPlayers);
            let result = exchange(store, (SettingGroup::BestPlayers, best), unix_ms(), &mut exchanged);
            host.data().note_received_best(exchanged.changed);
            result?;
            self.best_at = Some(now);
        }
        // After an error, the next exchange is a full one.
        self.connection = connection;
        Ok(())
    }

    fn set_full(&mut self, refused: usize) {
        if refused > 0 && !self.is_full {
            warn!(
                refused,
                max = limits::CLUSTER_SETTINGS,
                "the cluster has its maximum of bans, and further ones hold in this process only"
            );
        }
        self.is_full = refused > 0;
    }
}

/// Executes changes by other processes.
fn apply(host: &ServerState, mut changes: SettingChanges) {
    changes.retain(|(key, _)| is_known(key));
    for (key, _) in &changes {
        if let Some(prefix) = banned_prefix(key) {
            apply_ban(host, prefix);
        } else if key == NOTICE {
            info!(notice = host.data().notice(), "another process has changed the notice");
        }
        host.metrics.cluster_setting_changes.inc();
    }
    let is_freed = |(_, setting): &(String, SharedSetting)| setting.value.is_none();
    if host.admission.bans().len() + 1 >= limits::MAX_BANS && changes.iter().any(is_freed) {
        // A ban that was ignored because the list was full may have space now.
        host.data().bans().into_iter().for_each(|prefix| apply_ban(host, prefix));
    }
    host.data().store_changes(changes);
}

/// Bans an address prefix or lifts its ban, as the settings say now.
fn apply_ban(host: &ServerState, prefix: AddressPrefix) {
    match (host.data().is_banned(prefix), host.admission.is_banned(prefix)) {
        (true, false) => match host.admission.ban(prefix) {
            Some(_) => {
                let closed = ban_enforcement::close_clients(host, prefix);
                info!(address = %prefix, closed, "another process has banned an address");
            }
            None => {
                warn!(address = %prefix, "the ban of another process is ignored: the list of bans is full")
            }
        },
        (false, true) => {
            host.admission.unban(prefix);
            info!(address = %prefix, "another process has lifted the ban of an address");
        }
        _ => {}
    }
}

/// Ends the relays of banned clients that the owners of their rooms have not closed in time.
pub fn end_banned_relays(host: &ServerState, cluster: &Cluster) {
    let banned = cluster.banned_relays(|prefix| host.admission.is_banned(prefix));
    banned.into_iter().for_each(|number| host.connections.abort(number));
}
