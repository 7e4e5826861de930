//! Parses parts of a stream to trees of bits: HTTP heads, frame headers, payloads, packets.

pub(crate) mod datagram;
pub(super) mod encoding;
pub(super) mod frame_header;
pub(crate) mod head_search;
pub(super) mod http_head;
pub(super) mod json_text;
pub(crate) mod packet;
pub(super) mod payload;
pub(super) mod units;
