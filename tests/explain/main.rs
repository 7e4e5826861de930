//! What is said about bytes: drawings, trees, captures, and the table that Wireshark shares.

mod broken_rules;
mod capture;
mod cuts;
mod golden;
mod guess;
mod hidden;
mod property;
mod stream;
mod wireshark_table;
#[path = "../rows"]
mod rows {
    pub mod hex;
    pub mod values;
}
