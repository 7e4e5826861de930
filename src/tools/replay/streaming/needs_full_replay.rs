//! Why a pass over a file is not enough: one of many reasons, which need not be told apart.

use crate::tools::capture::{CaptureError, OutOfOrder};
use crate::tools::replay::error::ReplayError;

/// The file needs [`replay`](super::super::replay).
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
