//! Tools that read traffic: captures, explanations, the inspector's frame list, exercises, replay
//! and playback. They depend on no server, client or list of games.

pub mod capture;
pub mod explain;
pub mod inspector;
#[cfg(not(target_family = "wasm"))]
pub mod intercept;
pub mod playback;
pub mod quiz;
pub mod replay;
