//! A filter for single messages outside of a frame list.

use super::entry::{FrameEntry, NameTable};
use super::filter::{Filter, FilterError};
use super::filter_match::FilterMatcher;
use crate::tools::explain::Explanation;

/// A filter in the syntax of the frame list.
#[derive(Debug, Clone, Default)]
pub struct MessageFilter(Filter);

impl MessageFilter {
    /// Parses a filter. An empty one matches every message.
    ///
    /// # Errors
    /// The error and its position.
    pub fn parse(text: &str) -> Result<MessageFilter, FilterError> {
        Filter::parse(text).map(MessageFilter)
    }

    /// Whether the filter is empty.
    pub fn is_empty(&self) -> bool {
        self.0.alternatives.is_empty()
    }

    /// Whether a frame of this connection passes. The last frame of a fragmented message has the
    /// opcode and the payload of the message.
    pub fn matches(&self, explained: &Explanation<'_>, connection: u64) -> bool {
        let mut names = NameTable::default();
        let mut entry = FrameEntry::new(0, connection as u32, explained, &mut names);
        let message = explained.frames.first().and_then(|frame| frame.message.as_ref());
        entry.opcode = message.map(|message| message.opcode).or(entry.opcode);
        FilterMatcher::new(self.0.clone()).passes(&entry, &names, Some(explained))
    }
}
