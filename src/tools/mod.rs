//! TODO: tools

pub mod capture;
pub mod explain;
pub mod inspector;
pub mod playback;
pub mod replay;
