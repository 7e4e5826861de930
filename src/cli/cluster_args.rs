//! Many machines: `--cluster` and `--cluster-address`.

use clap::Args;

use super::output::CliError;
use crate::server::net::cluster::settings::ClusterConfig;

/// The options of `serve` for a cluster.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// Share rooms with other processes: each room at /r/NAME/ runs in one of them, and clients
    /// reach it through any. URL is redis://HOST:PORT[/DB], a Redis or Valkey server that holds the
    /// leases of rooms. Needs --rooms-on-demand. With --journal DIR on storage that all processes
    /// share, a room continues in another process after a crash or a stop.
    #[arg(
        long,
        value_name = "URL",
        env = "TICKWIRE_CLUSTER",
        hide_env_values = true,
        conflicts_with = "restore"
    )]
    cluster: Option<String>,
    /// Address at which the other processes of the cluster reach this one. Default: the address of
    /// --bind, if it is a specific one.
    #[arg(long, value_name = "http://HOST[:PORT]", env = "TICKWIRE_CLUSTER_ADDRESS", requires = "cluster")]
    cluster_address: Option<String>,
    /// URL at which browsers reach this process itself, not through a balancer. Pages then connect
    /// directly to the process that has their room. Default: other processes relay them.
    #[arg(long, value_name = "http[s]://HOST[:PORT]", env = "TICKWIRE_CLUSTER_PUBLIC", requires = "cluster")]
    cluster_public: Option<String>,
}

impl ClusterArgs {
    /// The URL of the cluster.
    pub fn url(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    /// Whether the server belongs to a cluster.
    pub fn is_on(&self) -> bool {
        self.cluster.is_some()
    }

    /// Checks the options.
    pub fn config(
        &self,
        rooms_on_demand: u16,
        has_other_rooms: bool,
    ) -> Result<Option<ClusterConfig>, CliError> {
        let Some(url) = &self.cluster else { return Ok(None) };
        let addresses = (self.cluster_address.as_deref(), self.cluster_public.as_deref());
        ClusterConfig::new(url, addresses, rooms_on_demand.into(), has_other_rooms)
            .map(Some)
            .map_err(|(setting, rule)| format!("--{}: {rule}", setting.replace('_', "-")))
    }
}
