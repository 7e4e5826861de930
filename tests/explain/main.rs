//! Explanations of bytes: drawings, trees, captures, and the table shared with the Wireshark
//! dissector.

mod broken_rules;
mod capture;
mod cuts;
mod foreign;
mod golden;
mod guess;
mod hidden;
mod in_wasm;
mod lessons;
mod notations;
mod pasted;
mod property;
mod stream;
mod wireshark_table;
#[path = "../rows"]
mod rows {
    pub mod hex;
    pub mod values;
}
