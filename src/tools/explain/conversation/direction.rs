//! The state of one direction of a conversation.

use super::resync::Resync;
use super::unfinished_message::UnfinishedMessage;
use crate::tools::explain::parse::head_search::HeadSearch;

/// One direction.
#[derive(Clone, Debug, Default)]
pub(super) struct DirectionState {
    /// Bytes that do not form a whole item yet.
    pub(super) waiting: Vec<u8>,
    pub(super) stage: DirectionStage,
    pub(super) open: UnfinishedMessage,
    pub(super) search: Resync,
    /// The search for the end of an unfinished head.
    pub(super) head: Option<Box<HeadSearch>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DirectionStage {
    #[default]
    Begin,
    Frames,
    /// Anywhere: the first frame that makes sense has to be found.
    Seek,
    /// The bytes after a head that is not an upgrade.
    Body,
    /// After a close frame: later bytes are not read.
    Closed,
    /// After a violation: later bytes are not read.
    Over,
}
