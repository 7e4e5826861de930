//! Packets and their tables: accepted and rejected input, and round trips.

mod actions;
mod angles;
mod arguments;
mod client_rows;
mod clients;
mod codes_builtin;
mod codes_protocol;
mod codes_refused;
mod fixtures;
mod hidden;
mod json;
mod msgpack_rows;
mod packet_rows;
mod roundtrip;
#[path = "../rows"]
mod rows {
    pub mod hex;
    pub mod messages;
    pub mod packets;
    pub mod values;
    pub mod wrong;
}
