//! The `tickwire` program.
fn main() {}
