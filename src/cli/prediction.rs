//! `tickwire prediction`: builds the prediction module of a program with its own game.
//!
//! ```text
//!  the program's package ─► cargo, for WebAssembly, with `--cfg tickwire_prediction`
//!       ─► NAME.prediction.wasm next to the program ─► its server ─► pages: `predict: true`
//! ```
//! The module has the rules of the game, and nothing of the server: `src/lib.rs`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;

use super::cargo_program::{CargoProgram, modified_time};
use super::game_list::GameList;
use super::output::{CliError, print};
use super::wasm_module::WasmModule;
use crate::game::GameInfo;
use crate::games;
use crate::server::net::ServerConfig;
use crate::server::net::pages::prediction_module::PredictionModule;

/// The prediction module: a small file, because pages load it.
const MODULE: WasmModule =
    WasmModule { command: "prediction", conditions: &["tickwire_prediction"], opt_level: "s" };

/// Options of `prediction`.
#[derive(Debug, Args)]
pub struct PredictionArgs {
    /// For `dev`: do nothing for a game without prediction, and succeed without the compiler for
    /// WebAssembly.
    #[arg(long, hide = true)]
    if_possible: bool,
}

/// Builds the module.
pub fn run(args: &PredictionArgs, games: &GameList) -> Result<(), CliError> {
    if let Some(why) = no_module(games) {
        return if args.if_possible { Ok(()) } else { Err(why) };
    }
    let program = CargoProgram::current("prediction")?;
    if let Some(why) = MODULE.missing_target(&program)? {
        return if args.if_possible {
            print(&format!("{why}\n"));
            Ok(())
        } else {
            Err(why)
        };
    }
    let built = MODULE.build(&program).map_err(|error| format!("{error}; pages go on as before"))?;
    let module = module_path(&program.path);
    let failure = |error| format!("{}: {error}", module.display());
    // A page never loads half a file.
    let part = module.with_extension("part");
    let size = fs::copy(&built, &part).map_err(failure)?;
    fs::rename(&part, &module).map_err(failure)?;
    print(&format!("prediction: {}, {size} bytes\n", module.display()));
    Ok(())
}

/// Returns why a program with these games has no prediction module; `None` if it has one.
fn no_module(games: &GameList) -> Option<String> {
    if games.is_built_in() {
        return Some("the prediction module of the built-in games is part of this program".to_owned());
    }
    let game = games.factories.first().map(|factory| factory.info).filter(|game| !game.is_predicted)?;
    let name = game.name;
    Some(format!(
        "the game {name} has no prediction: implement PredictedGame, and set SimpleGame::PREDICTION"
    ))
}

/// The path of a program's prediction module.
pub(super) fn module_path(program: &Path) -> PathBuf {
    program.with_extension("prediction.wasm")
}

/// Reads the prediction module of the running program. `None` if there is none.
pub(super) fn load(games: &GameList) -> Option<PredictionModule> {
    let module = env::current_exe().ok().map(|program| module_path(&program))?;
    let bytes = if games.is_built_in() { return None } else { fs::read(module).ok()? };
    // Served until the program ends.
    Some(PredictionModule::new(Box::leak(bytes.into_boxed_slice())))
}

/// Returns why pages of this server have no prediction, or an old one; `None` if all is well.
pub(super) fn problem(config: &ServerConfig) -> Option<String> {
    let is_own = |game: &GameInfo| game.is_predicted && !games::INFO.contains(&game);
    config.games.iter().find(|factory| is_own(factory.info))?;
    let program = env::current_exe().ok()?;
    let module = module_path(&program);
    let command = "the command `prediction` of this program builds it, and `dev` with every change";
    if config.prediction_module.is_none() {
        return Some(format!("pages have no prediction: {} is missing; {command}", module.display()));
    }
    let is_old = modified_time(&module) < modified_time(&program);
    is_old.then(|| {
        format!("{} is older than this program, whose rules may have changed; {command}", module.display())
    })
}

/// Builds the module in another process, by the program as it is now. A failed build has reported
/// the reason, and pages go on with the module before.
pub(super) fn build_for_dev(program: &CargoProgram) -> Result<(), CliError> {
    let mut command = Command::new(&program.path);
    let status = command.args(["prediction", "--if-possible"]).stdin(Stdio::null()).status();
    status.map(drop).map_err(|error| format!("{}: {error}", program.path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_games_need_no_module_of_their_own() {
        let games = GameList::built_in();
        let error = run(&PredictionArgs { if_possible: false }, &games);
        assert_eq!(
            error,
            Err("the prediction module of the built-in games is part of this program".to_owned())
        );
        assert_eq!(run(&PredictionArgs { if_possible: true }, &games), Ok(()));
        assert!(load(&games).is_none());
    }

    #[test]
    fn a_module_stands_next_to_its_program() {
        assert_eq!(module_path(Path::new("/t/debug/coins")), Path::new("/t/debug/coins.prediction.wasm"));
        assert_eq!(module_path(Path::new("coins.exe")), Path::new("coins.prediction.wasm"));
    }
}
