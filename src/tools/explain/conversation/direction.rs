//! The state of one direction of a conversation.

use super::compressed::Inflation;
use super::resync::Resync;
use super::unfinished_message::UnfinishedMessage;
use crate::tools::explain::parse::head_search::HeadSearch;

/// The state of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct DirectionState {
    /// Bytes of the incomplete item.
    pub(super) waiting: Vec<u8>,
    pub(super) stage: DirectionStage,
    pub(super) open: UnfinishedMessage,
    /// Inflates the messages of this side.
    pub(super) inflation: Inflation,
    pub(super) search: Resync,
    /// The search for the end of an unfinished head.
    pub(super) head: Option<Box<HeadSearch>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DirectionStage {
    #[default]
    Begin,
    Frames,
    /// The position within a frame is unknown. The next plausible frame is searched for.
    Seek,
    /// After a head that is not part of an upgrade: the bytes are a body.
    Body,
    /// After a close frame: later bytes are not decoded.
    Closed,
    /// After a violation: later bytes are not decoded.
    Over,
}
