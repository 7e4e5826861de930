//! A whole server in this process or as a program of its own, and those who talk to it: other libraries, bots, operators.

mod access;
mod address_limits;
mod admin;
mod agones;
#[path = "../support/agones_sidecar.rs"]
mod agones_sidecar;
mod any_room;
#[cfg(target_os = "linux")]
mod between;
mod bots_agree;
mod bots_fill;
mod bots_play;
mod bots_walk;
mod builder_flags;
#[cfg(target_os = "linux")]
mod capture;
mod checksums;
mod clients;
mod clock;
#[cfg(target_os = "linux")]
mod cluster;
mod coins;
#[cfg(target_os = "linux")]
mod command;
mod compression;
#[cfg(target_os = "linux")]
mod console;
mod conversations;
mod dashboards;
mod database;
#[path = "../support/diary.rs"]
mod diary;
mod drain;
#[cfg(target_os = "linux")]
mod echo;
mod figures;
mod guest;
mod hostile_clients;
mod inputs;
mod journal;
mod keep_alive;
mod kites;
#[cfg(target_os = "linux")]
mod lane;
mod last_words;
mod library;
mod life;
mod lockstep;
mod manifests;
mod merged_ticks;
mod old_http;
mod page_files;
mod pong;

#[path = "../support/program.rs"]
mod program;
#[allow(dead_code, reason = "its `main` is of the example")]
#[path = "../../examples/coins.rs"]
mod program_of_coins;
#[allow(dead_code, reason = "its `main` is of the example")]
#[path = "../../examples/fog.rs"]
mod program_of_fog;
#[allow(dead_code, reason = "its `main` is of the example")]
#[path = "../../examples/kites.rs"]
mod program_of_kites;
#[allow(dead_code, reason = "its `main` is of the example")]
#[path = "../../examples/paint.rs"]
mod program_of_paint;
#[allow(dead_code, reason = "its `main` is of the example")]
#[path = "../../examples/pong.rs"]
mod program_of_pong;
#[allow(dead_code, reason = "its `main` is of the example")]
#[path = "../../examples/units.rs"]
mod program_of_units;
mod proxied;
mod quiz;
#[path = "../support/raw.rs"]
mod raw;
#[cfg(target_os = "linux")]
mod relay;
mod replay;
mod replay_asked;
#[cfg(target_os = "linux")]
mod resources;
mod resume;
mod room_demand;
mod room_life;
mod rooms;
mod rows_answers;
mod rows_live;
mod rows_wire;
#[path = "../support/same_world.rs"]
mod same_world;
mod scribe;
mod secret;
mod self_check;
#[path = "../support/mod.rs"]
mod support;
mod tables;
#[path = "../support/tables.rs"]
mod tables_of;
mod talk;
#[cfg(feature = "tls")]
mod talk_foreign;
mod tanks;
mod tanks_bots;
mod tap;
mod tap_runs;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod tokens;
mod units;
mod untrusted;
mod wire;
#[path = "../rows"]
mod rows {
    pub mod frames;
    pub mod frames_close;
    pub mod frames_limits;
    pub mod frames_text;
    pub mod heads;
    pub mod heads_http;
    pub mod heads_unfinished;
    pub mod heads_upgrade;
    pub mod hex;
    pub mod messages;
    pub mod packets;
    pub mod pieces;
    pub mod wrong;
}
