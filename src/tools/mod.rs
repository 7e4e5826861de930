//! What reads traffic: captures, explanations, the inspector's frame list, replay and playback. Nothing here
//! knows a server, a client or the list of games.

pub mod capture;
pub mod explain;
pub mod inspector;
pub mod playback;
pub mod replay;
