//! Why a pass over a file is not enough: one of many reasons, which need not be told apart.

use crate::capture::{CaptureError, Disorder};
use crate::replay::refusal::NotReplayable;

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
