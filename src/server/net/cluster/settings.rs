//! The settings of a process in a cluster.

use std::net::SocketAddr;

use super::redis_store::check_url;

/// The settings of a cluster.
#[derive(Debug, Clone)]
pub struct ClusterConfig {
    /// The URL of the lease store, which may contain a password.
    pub url: String,
    /// The address at which other processes reach this one. `None`: the bound address.
    pub address: Option<ClusterAddress>,
    /// The URL at which browsers reach this process. `None`: they reach its rooms by relays.
    pub public: Option<PublicUrl>,
}

impl ClusterConfig {
    /// Creates the settings of a server with this number of rooms on demand, and with other rooms
    /// if `has_other_rooms`.
    ///
    /// # Errors
    /// The setting that breaks a rule, and the rule.
    pub fn new(
        url: &str,
        (address, public): (Option<&str>, Option<&str>),
        rooms_on_demand: usize,
        has_other_rooms: bool,
    ) -> Result<ClusterConfig, (&'static str, String)> {
        check_url(url).map_err(|rule| ("cluster", rule))?;
        if rooms_on_demand == 0 {
            return Err(("cluster", "needs rooms on demand: only they have leases".to_owned()));
        }
        if has_other_rooms {
            let rule =
                "cannot be combined with other rooms than the default room: each process would have them";
            return Err(("cluster", rule.to_owned()));
        }
        let address = address.map(str::parse).transpose();
        let address = address.map_err(|rule| ("cluster_address", rule))?;
        let public = public.map(str::parse).transpose();
        let public = public.map_err(|rule| ("cluster_public", rule))?;
        Ok(ClusterConfig { url: url.to_owned(), address, public })
    }
}

impl ClusterConfig {
    /// Returns the address at which other processes reach this one, which listens at `bound`.
    ///
    /// # Errors
    /// The bound address is not a specific one, and no other is set.
    pub fn advertised(&self, bound: SocketAddr) -> Result<String, String> {
        match &self.address {
            Some(ClusterAddress { host, port }) => Ok(format!("{host}:{}", port.unwrap_or(bound.port()))),
            None if bound.ip().is_unspecified() => {
                Err(format!("{} is no address that other processes reach: set one", bound.ip()))
            }
            None => Ok(bound.to_string()),
        }
    }
}

/// An advertised address: `http://HOST` or `http://HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterAddress {
    host: String,
    /// `None`: the bound port.
    port: Option<u16>,
}

/// A URL for browsers: `http://HOST[:PORT]` or `https://HOST[:PORT]`. With `http` and without a
/// port, the port is the bound one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    is_secure: bool,
    address: ClusterAddress,
}

impl PublicUrl {
    /// Returns the URL of a process that listens at `bound`.
    pub fn url(&self, bound: SocketAddr) -> String {
        let PublicUrl { is_secure, address: ClusterAddress { host, port } } = self;
        match (is_secure, port) {
            (true, None) => format!("https://{host}"),
            (true, Some(port)) => format!("https://{host}:{port}"),
            (false, port) => format!("http://{host}:{}", port.unwrap_or(bound.port())),
        }
    }
}

impl std::str::FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<PublicUrl, String> {
        let rest = text.strip_prefix("https://");
        let plain = rest.map_or_else(|| text.to_owned(), |rest| format!("http://{rest}"));
        let rule = || "must be https://HOST[:PORT] or http://HOST[:PORT], without a path".to_owned();
        Ok(PublicUrl { is_secure: rest.is_some(), address: plain.parse().map_err(|_: String| rule())? })
    }
}

impl std::str::FromStr for ClusterAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<ClusterAddress, String> {
        let rule = || "must be http://HOST or http://HOST:PORT, without a path".to_owned();
        let rest = text.strip_prefix("http://").ok_or_else(rule)?.trim_end_matches('/');
        let is_v6_without_port = rest.ends_with(']');
        let (host, port) = match rest.rsplit_once(':').filter(|_| !is_v6_without_port) {
            None => (rest, None),
            Some((host, port)) => (host, Some(port.parse().map_err(|_| rule())?)),
        };
        let is_host_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_host_byte) {
            return Err(rule());
        }
        Ok(ClusterAddress { host: host.to_owned(), port })
    }
}
