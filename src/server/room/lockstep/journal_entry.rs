//! The parts of a room's journal, and the report of worlds that differ.

use std::sync::Arc;

use crate::limits;
use crate::util::escape;
use crate::util::sync::Mutex;

/// One piece of the log, and its encodings.
#[derive(Debug)]
pub struct JournalEntry {
    /// What it is.
    pub content: EntryContent,
    encoded: Mutex<Vec<(FormatKey, Arc<[u8]>)>>,
}

/// What a part is.
#[derive(Debug)]
pub enum EntryContent {
    /// The world before this tick, as `Sim::restore` takes it.
    Snapshot(u32, Arc<[u8]>),
    /// The commands of a tick, as a command frame.
    Frame(Arc<[u8]>),
    /// Worlds differ.
    Report(DesyncReport),
}

/// How a client is spoken to: the name of its dialect, and whether as JSON.
pub type FormatKey = (Arc<str>, bool);

impl JournalEntry {
    /// A part that is not encoded yet.
    pub(super) fn new(content: EntryContent) -> Arc<JournalEntry> {
        Arc::new(JournalEntry { content, encoded: Mutex::default() })
    }

    /// The part in this form: made at most once.
    pub fn encoded(&self, form: &FormatKey, make: impl FnOnce(&EntryContent) -> Vec<u8>) -> Arc<[u8]> {
        let mut encoded = self.encoded.lock();
        if let Some((_, bytes)) = encoded.iter().find(|(own, _)| own == form) {
            return Arc::clone(bytes);
        }
        let bytes: Arc<[u8]> = make(&self.content).into();
        encoded.push((form.clone(), Arc::clone(&bytes)));
        bytes
    }

    /// The bytes of its content: fewer than any encoding has.
    pub fn bytes(&self) -> usize {
        match &self.content {
            EntryContent::Snapshot(_, bytes) | EntryContent::Frame(bytes) => bytes.len(),
            EntryContent::Report(report) => report.bytes(),
        }
    }
}

/// The worlds of some participants differ from the room's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesyncReport {
    /// Ticks completed.
    pub tick: u32,
    /// The checksums, the room's own first, each with the participants that have it.
    pub groups: Vec<(u64, Vec<String>)>,
    /// Participants that are not listed.
    pub omitted: usize,
    /// What participants found different.
    pub fields: Vec<(String, FieldDiff)>,
}

impl DesyncReport {
    /// The bytes of its texts.
    fn bytes(&self) -> usize {
        let groups = self.groups.iter().flat_map(|(_, labels)| labels).map(String::len);
        let texts = self.fields.iter().flat_map(|(label, field)| {
            let values = [&field.room, &field.own].into_iter().flatten();
            [label, &field.entity, &field.field].into_iter().chain(values).map(String::len)
        });
        groups.chain(texts).sum()
    }
}

/// A field that differs, as a participant says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDiff {
    /// The entity: `players[17]`.
    pub entity: String,
    /// The path of the field in it: `body.x`.
    pub field: String,
    /// The value in the room; `None` if it has none there.
    pub room: Option<String>,
    /// The participant's own value.
    pub own: Option<String>,
}

impl FieldDiff {
    /// The field as others are shown it: without hidden characters, and each text cut to
    /// [`limits::LOCKSTEP_FIELD_CHARS`].
    pub(super) fn shown(self) -> FieldDiff {
        let shown = |text: String| -> String {
            escape::escape_line(&text).chars().take(limits::LOCKSTEP_FIELD_CHARS).collect()
        };
        FieldDiff {
            entity: shown(self.entity),
            field: shown(self.field),
            room: self.room.map(shown),
            own: self.own.map(shown),
        }
    }
}
