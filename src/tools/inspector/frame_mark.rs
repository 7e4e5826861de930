//! The intervention of an inspector or a proxy in a frame.

use serde_json::{Value as Json, json};

/// The intervention of an inspector or a proxy in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameMark {
    /// It was sent although its sender did not send it.
    Injected,
    /// It was forwarded after this many milliseconds.
    Delayed(u32),
    /// It was not forwarded.
    Dropped,
    /// It was not forwarded; the next row was sent instead.
    Changed,
    /// It was sent instead of the row before.
    Substitute,
    /// It was forwarded, followed by this many copies.
    Repeated(u32),
}

impl FrameMark {
    /// The mark of an outcome; `None` for a message that was forwarded.
    pub fn new(outcome: &str, detail: u64) -> Option<FrameMark> {
        let detail = u32::try_from(detail).unwrap_or(u32::MAX);
        match outcome {
            "injected" => Some(FrameMark::Injected),
            "delayed" => Some(FrameMark::Delayed(detail)),
            "dropped" => Some(FrameMark::Dropped),
            "changed" => Some(FrameMark::Changed),
            "repeated" => Some(FrameMark::Repeated(detail)),
            _ => None,
        }
    }

    /// Whether the receiver got the frame.
    pub fn has_passed(self) -> bool {
        !matches!(self, FrameMark::Dropped | FrameMark::Changed)
    }

    /// The comment of a packet in a capture.
    pub fn comment(self) -> String {
        match self {
            FrameMark::Injected => "injected by the proxy".to_owned(),
            FrameMark::Delayed(ms) => format!("delayed by the proxy: {ms} ms"),
            FrameMark::Substitute => "changed by the proxy".to_owned(),
            FrameMark::Repeated(copies) => format!("repeated by the proxy: {copies} more"),
            FrameMark::Dropped | FrameMark::Changed => String::new(),
        }
    }

    /// The mark of a comment; `None` for other comments.
    pub fn from_comment(comment: &str) -> Option<FrameMark> {
        let number = |begin: &str, end: &str| comment.strip_prefix(begin)?.strip_suffix(end)?.parse().ok();
        match comment {
            "injected by the proxy" => Some(FrameMark::Injected),
            "changed by the proxy" => Some(FrameMark::Substitute),
            _ => number("delayed by the proxy: ", " ms")
                .map(FrameMark::Delayed)
                .or_else(|| number("repeated by the proxy: ", " more").map(FrameMark::Repeated)),
        }
    }

    /// Adds a mark and the compressed size to the JSON of a row.
    pub fn add_to(row: &mut Json, mark: Option<FrameMark>, compressed_bytes: Option<u32>) {
        if let Some(bytes) = compressed_bytes {
            row["compressed"] = bytes.into();
        }
        row["mark"] = match mark {
            None => return,
            Some(FrameMark::Injected) => {
                row["injected"] = true.into();
                return;
            }
            Some(FrameMark::Delayed(ms)) => json!({ "name": "delayed", "ms": ms }),
            Some(FrameMark::Dropped) => json!({ "name": "dropped" }),
            Some(FrameMark::Changed) => json!({ "name": "changed" }),
            Some(FrameMark::Substitute) => json!({ "name": "substitute" }),
            Some(FrameMark::Repeated(copies)) => json!({ "name": "repeated", "copies": copies }),
        };
    }
}
