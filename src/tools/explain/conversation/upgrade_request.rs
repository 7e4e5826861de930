//! The target and the offers of an upgrade request.

/// The subprotocols that a tickwire server accepts.
pub const KNOWN: [&str; 1] = ["tickwire.v1"];

/// The target and the offers of an upgrade request.
#[derive(Clone, Debug)]
pub struct UpgradeRequest {
    /// The path.
    pub path: String,
    /// The query parameter `dialect`.
    pub dialect: Option<String>,
    /// The query parameter `format`.
    pub format: Option<String>,
    /// The key, which determines the accept key of the response.
    pub key: String,
    /// The offered subprotocols.
    pub offered: Vec<String>,
    /// The names of the offered extensions.
    pub extensions: Vec<String>,
}
