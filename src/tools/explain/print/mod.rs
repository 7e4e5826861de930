//! Explanations as text: bit diagrams, reports, JSON, and a stream printed while it arrives.

pub(super) mod bit_diagram;
pub(super) mod json;
pub(super) mod report;
pub(crate) mod streaming;
