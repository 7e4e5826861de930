//! Packets and their tables: what is read, what is refused, and that everything comes back as it went.

mod angles;
mod arguments;
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
