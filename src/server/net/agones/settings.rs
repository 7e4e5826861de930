//! The settings of the reports to Agones.

use super::sidecar_url::SidecarUrl;

/// The settings of `--agones`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgonesSettings {
    /// The sidecar.
    pub sidecar: SidecarUrl,
    /// Whether the server allocates itself while it has players.
    pub allocates: bool,
}
