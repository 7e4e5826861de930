//! TODO: tools/explain/print

pub(super) mod bit_diagram;
pub(super) mod json;
pub(super) mod report;
pub(crate) mod streaming;
