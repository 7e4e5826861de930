//! The input of an update.

use crate::game::LaneBaseline;
use crate::games::moo::feed::in_view::InView;
use crate::games::moo::feed::published_state::{PublicPlayer, PublicState};

/// The input of a comparison: the public state, and the client's view of it.
#[derive(Clone, Copy)]
pub struct UpdateInput<'a> {
    /// The public state.
    pub state: &'a PublicState,
    /// The entities in view.
    pub look: &'a InView,
    /// The client's player, alive or dead.
    pub own: Option<&'a PublicPlayer>,
    /// Index of the client's player if it is alive.
    pub body: Option<usize>,
    /// Whether the client has been granted a lane.
    pub has_lane: bool,
    /// The baseline of datagrams, while the client's lane is in use.
    pub lane: Option<LaneBaseline>,
    /// Whether the previous update went in the stream. The client may then lack any pose, because
    /// it drops older packets of the stream that arrive after the first datagram.
    pub is_lane_start: bool,
    /// Whether this is the first update in the stream after datagrams, which may be lost.
    pub is_after_lane: bool,
}

impl UpdateInput<'_> {
    /// Returns whether enters and leaves wait for a later update.
    pub fn holds_enters(&self) -> bool {
        self.lane.is_some_and(|lane| !lane.is_stream_due)
    }
}
