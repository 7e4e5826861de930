//! The error of a streaming replay. It has no reason, because the full replay reports it.

use crate::tools::capture::{CaptureError, OutOfOrder};
use crate::tools::replay::error::ReplayError;

/// The capture must be replayed by [`replay`](super::super::replay).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeedsFullReplay;

impl From<CaptureError> for NeedsFullReplay {
    fn from(_: CaptureError) -> NeedsFullReplay {
        NeedsFullReplay
    }
}

impl From<OutOfOrder> for NeedsFullReplay {
    fn from(_: OutOfOrder) -> NeedsFullReplay {
        NeedsFullReplay
    }
}

impl From<ReplayError> for NeedsFullReplay {
    fn from(_: ReplayError) -> NeedsFullReplay {
        NeedsFullReplay
    }
}
