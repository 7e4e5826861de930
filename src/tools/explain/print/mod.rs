//! Formats explanations: bit diagrams, reports, JSON, and frame by frame.

mod arguments;
pub(super) mod bit_diagram;
pub(super) mod json;
pub(super) mod report;
pub(crate) mod streaming;
