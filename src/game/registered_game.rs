//! The game of a world module: WebAssembly with the rules of the program's own game, for
//! `synctest --wasm`.

use std::sync::OnceLock;

use super::info::GameInfo;

static REGISTERED: OnceLock<&'static GameInfo> = OnceLock::new();

/// Registers the program's own game. Only the first call has an effect.
pub fn register(game: &'static GameInfo) {
    let _ = REGISTERED.set(game);
}

/// Returns the registered game.
pub fn registered() -> Option<&'static GameInfo> {
    REGISTERED.get().copied()
}
