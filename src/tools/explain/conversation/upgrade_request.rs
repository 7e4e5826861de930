//! The target of a request for the upgrade, and what it offers.

/// Subprotocols that our server accepts.
pub const KNOWN: [&str; 1] = ["tickwire.v1"];

/// The target of a request.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The path.
    pub path: String,
    /// `?dialect=`
    pub dialect: Option<String>,
    /// `?format=`
    pub format: Option<String>,
    /// The key, from which the answer follows.
    pub key: String,
    /// The subprotocols on offer.
    pub offered: Vec<String>,
    /// The names of the extensions on offer.
    pub extensions: Vec<String>,
}
