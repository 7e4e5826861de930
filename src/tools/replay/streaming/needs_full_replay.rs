//! Why a pass over a file is not enough: one of many reasons, which need not be told apart.

use crate::tools::capture::{CaptureError, Disorder};
use crate::tools::replay::error::NotReplayable;

/// The file needs [`replay`](super::super::replay).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfit;

impl From<CaptureError> for Unfit {
    fn from(_: CaptureError) -> Unfit {
        Unfit
    }
}

impl From<Disorder> for Unfit {
    fn from(_: Disorder) -> Unfit {
        Unfit
    }
}

impl From<NotReplayable> for Unfit {
    fn from(_: NotReplayable) -> Unfit {
        Unfit
    }
}
