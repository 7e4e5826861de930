//! Entries of a room's journal, and the report of a desync.

use std::sync::Arc;

use tickwire_sim::state_tree::FieldDiff;

use crate::limits;
use crate::util::escape;
use crate::util::sync::Mutex;

/// A journal entry with its cached encodings.
#[derive(Debug)]
pub struct JournalEntry {
    /// The content.
    pub content: EntryContent,
    encoded: Mutex<Vec<(FormatKey, Arc<[u8]>)>>,
}

/// The content of a journal entry.
#[derive(Debug)]
pub enum EntryContent {
    /// The snapshot before this tick, as `Sim::restore` reads it.
    Snapshot(u32, Arc<[u8]>),
    /// The commands of a tick, as a command frame.
    Frame(Arc<[u8]>),
    /// The report of a desync.
    Report(DesyncReport),
}

/// Key of a cached encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatKey {
    /// Name of the dialect.
    pub dialect: Arc<str>,
    /// Whether packets are JSON.
    pub is_json: bool,
    /// Maximum bytes of a message that is compressed; 0 without compression.
    pub max_compressed_bytes: usize,
}

impl JournalEntry {
    /// Creates an entry without encodings.
    pub(super) fn new(content: EntryContent) -> Arc<JournalEntry> {
        Arc::new(JournalEntry { content, encoded: Mutex::default() })
    }

    /// Returns the entry in this format. Calls `make` only on the first use of the format.
    pub fn encoded(&self, form: &FormatKey, make: impl FnOnce(&EntryContent) -> Vec<u8>) -> Arc<[u8]> {
        let mut encoded = self.encoded.lock();
        if let Some((_, bytes)) = encoded.iter().find(|(own, _)| own == form) {
            return Arc::clone(bytes);
        }
        let bytes: Arc<[u8]> = make(&self.content).into();
        encoded.push((form.clone(), Arc::clone(&bytes)));
        bytes
    }

    /// Size of the content and of its cached encodings in bytes.
    pub fn stored_bytes(&self) -> usize {
        let encoded = self.encoded.lock();
        self.bytes() + encoded.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    }

    /// Size of the content in bytes. Every encoding is longer.
    pub fn bytes(&self) -> usize {
        match &self.content {
            EntryContent::Snapshot(_, bytes) | EntryContent::Frame(bytes) => bytes.len(),
            EntryContent::Report(report) => report.bytes(),
        }
    }
}

/// A desync: some participants' worlds differ from the room's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesyncReport {
    /// Ticks completed.
    pub tick: u32,
    /// The checksums, each with its participants. The room's own is first.
    pub groups: Vec<(u64, Vec<String>)>,
    /// Number of participants that are not listed.
    pub omitted: usize,
    /// Differing fields, each with the participant that found it. `ours` is the value in the room.
    pub fields: Vec<(String, FieldDiff)>,
}

impl DesyncReport {
    /// Total bytes of the texts.
    fn bytes(&self) -> usize {
        let groups = self.groups.iter().flat_map(|(_, labels)| labels).map(String::len);
        let texts = self.fields.iter().flat_map(|(label, field)| {
            let values = [&field.ours, &field.theirs].into_iter().flatten();
            [label, &field.entity, &field.field].into_iter().chain(values).map(String::len)
        });
        groups.chain(texts).sum()
    }
}

/// Escapes control characters and truncates each text of a reported field to
/// [`limits::LOCKSTEP_FIELD_CHARS`], because the report is sent to other clients.
pub(super) fn sanitized_field(field: FieldDiff) -> FieldDiff {
    let sanitized = |text: String| -> String {
        escape::escape_line(&text).chars().take(limits::LOCKSTEP_FIELD_CHARS).collect()
    };
    FieldDiff {
        entity: sanitized(field.entity),
        field: sanitized(field.field),
        ours: field.ours.map(sanitized),
        theirs: field.theirs.map(sanitized),
    }
}
