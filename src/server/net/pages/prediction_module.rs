//! `wasm/prediction.wasm`: the module by which a page predicts the local player. It depends on the
//! game of the room.

use std::sync::OnceLock;

use super::page_response::{PageResponse, entity_tag};
use crate::game::GameInfo;
use crate::games;

/// Path of the module, relative to a room.
pub const FILE: &str = "wasm/prediction.wasm";
const CONTENT_TYPE: &str = "application/wasm";

/// A module and its entity tag.
#[derive(Debug, Clone)]
pub struct PredictionModule {
    bytes: &'static [u8],
    tag: String,
}

impl PredictionModule {
    /// A module with these bytes.
    pub fn new(bytes: &'static [u8]) -> PredictionModule {
        PredictionModule { bytes, tag: entity_tag(bytes) }
    }
}

/// Returns the response for a room of this game: the module of the program's own game, or the one
/// of the built-in games. The latter is also for games without prediction, because it simulates
/// networks.
pub fn respond(
    own: Option<&PredictionModule>,
    game: Option<&GameInfo>,
    built_in: &'static [u8],
) -> PageResponse {
    static BUILT_IN: OnceLock<PredictionModule> = OnceLock::new();
    let is_own = game.is_some_and(|game| game.is_predicted && !games::INFO.contains(&game));
    let built_in = || BUILT_IN.get_or_init(|| PredictionModule::new(built_in));
    let PredictionModule { bytes, tag } = own.filter(|_| is_own).unwrap_or_else(built_in);
    PageResponse { entity_tag: Some(tag.clone()), ..PageResponse::new(200, CONTENT_TYPE, *bytes) }
}
