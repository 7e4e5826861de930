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
mod echo;
mod hostile_clients;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/raw.rs"]
mod raw;
mod replay;
#[path = "../support/mod.rs"]
mod support;
mod talk;
mod wire;
