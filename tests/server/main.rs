//! A whole server in this process or as a program of its own, and those who talk to it: other libraries, bots, operators.

mod admin;
mod bots_agree;
mod bots_play;
mod bots_walk;
mod capture;
mod clients;
mod command;
mod console;
mod conversations;
mod hostile_clients;
#[path = "../support/program.rs"]
mod program;
mod proxied;
#[path = "../support/raw.rs"]
mod raw;
mod replay;
mod resources;
#[path = "../support/mod.rs"]
mod support;
mod talk;
mod wire;
