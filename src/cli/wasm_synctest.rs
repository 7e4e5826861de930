//! `synctest --wasm`: executes the commands of a run in the WebAssembly build of the program's own
//! game, and compares the checksum of each tick.
//!
//! ```text
//!  native run ─► command frames, checksums ─► Node.js with the world module ─► checksums: equal?
//!                                                    │ at a difference
//!                                                    └ snapshot ─► the fields that differ
//! ```

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::Arc;

use serde_json::Value as Json;

use super::cargo_program::CargoProgram;
use super::game_list::GameList;
use super::output::{CliError, print_error};
use super::wasm_module::WasmModule;
use crate::game::{DynWorld, GameInfo};
use crate::server::embedded::TickRecord;
use crate::testing::synctest::Desync;
use crate::tools::explain::hex;

/// The module with the world of the program's game.
const MODULE: WasmModule = WasmModule {
    command: "synctest",
    conditions: &["tickwire_prediction", "tickwire_world_module"],
    opt_level: "1",
};
/// The script that runs the module.
const SCRIPT: &str = include_str!("wasm_synctest.cjs");
/// Maximum number of differing fields in a report.
const MAX_REPORTED_FIELDS: usize = 4;

/// The WebAssembly build of the program's own game.
#[derive(Debug)]
pub(super) struct WasmBuild {
    module: PathBuf,
}

/// The ticks of a native run.
#[derive(Debug, Default)]
pub(super) struct RecordedRun {
    /// For each tick: the command frame, and the checksum of the world before the tick.
    ticks: Vec<(Arc<[u8]>, u64)>,
}

/// The result of the WebAssembly build.
#[derive(Debug, PartialEq)]
enum WasmResult {
    /// The same checksums in all ticks.
    Same,
    /// Another checksum after this many ticks, with the snapshot of the world.
    Differs(u32, Vec<u8>),
    /// The module stopped after this many ticks.
    Stopped(u32, String),
}

impl WasmBuild {
    /// Builds the module of the running program.
    ///
    /// # Errors
    /// The program has no game of its own, or the module cannot be built or run.
    pub fn new(games: &GameList) -> Result<WasmBuild, CliError> {
        if games.is_built_in() {
            return Err(
                "--wasm works in a program with its own game; scripts/again.sh tests the built-in games"
                    .to_owned(),
            );
        }
        let program = CargoProgram::current("synctest --wasm")?;
        if let Some(reason) = MODULE.missing_target(&program)? {
            return Err(reason);
        }
        let node = Command::new("node").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !node.is_ok_and(|status| status.success()) {
            return Err("--wasm needs Node.js, which runs the WebAssembly: the command node fails".to_owned());
        }
        print_error("building the game for WebAssembly");
        Ok(WasmBuild { module: MODULE.build(&program)? })
    }

    /// Executes the ticks of a native run, which ended with this checksum. Returns the number of
    /// compared checksums.
    ///
    /// # Errors
    /// The first difference, with the seed, the tick and the fields.
    pub fn compare(
        &self,
        info: &GameInfo,
        seed: u32,
        run: &RecordedRun,
        checksum: u64,
    ) -> Result<u64, CliError> {
        let path = std::env::temp_dir().join(format!("tickwire-synctest-{}.trace", process::id()));
        fs::write(&path, run.trace(info.name, seed, checksum)).map_err(|error| failure(&path, &error))?;
        let output = Command::new("node")
            .args(["-e", SCRIPT, "--"])
            .args([&self.module, &path])
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output();
        let _ = fs::remove_file(&path);
        let output = output.map_err(|error| format!("node cannot be run: {error}"))?;
        let result = parse_result(&output.stdout)
            .ok_or_else(|| format!("node has not run the module {}", self.module.display()))?;
        match result {
            WasmResult::Same => Ok(run.ticks.len() as u64 + 1),
            WasmResult::Stopped(tick, error) => {
                Err(format!("seed {seed}, after tick {tick}: the WebAssembly build stopped: {error}"))
            }
            WasmResult::Differs(tick, snapshot) => Err(run.describe(info, seed, tick, &snapshot)?),
        }
    }
}

impl RecordedRun {
    /// Adds a tick.
    pub fn push(&mut self, recorded: &TickRecord) {
        self.ticks.push((Arc::clone(&recorded.frame), recorded.checksum));
    }

    /// Formats the run as lines for the script: the game, then for each tick the checksum before it
    /// and its command frame, and the last checksum.
    fn trace(&self, game: &str, seed: u32, checksum: u64) -> String {
        let mut text = format!("game {game} {seed}\n");
        for (frame, checksum) in &self.ticks {
            let _ = write!(text, "checksum {checksum:016x}\nframe ");
            frame.iter().for_each(|byte| _ = write!(text, "{byte:02x}"));
            text.push('\n');
        }
        let _ = writeln!(text, "checksum {checksum:016x}");
        text
    }

    /// Describes the difference of a world of the WebAssembly build after `tick` ticks.
    fn describe(&self, info: &GameInfo, seed: u32, tick: u32, snapshot: &[u8]) -> Result<String, CliError> {
        let mut world: Box<dyn DynWorld> = (info.new_world)(&(info.identity)(seed));
        for (frame, _) in self.ticks.iter().take(tick as usize) {
            let frame = (info.frame)(frame).map_err(|error| error.to_string())?;
            world.step(&frame.commands);
        }
        let other = (info.restore)(snapshot)
            .map_err(|error| format!("the snapshot of the WebAssembly build cannot be read: {error}"))?;
        let fields = world.state().differences(&other.state(), MAX_REPORTED_FIELDS);
        let desync = Desync { seed, tick, what: "the world of the WebAssembly build", fields };
        Ok(format!(
            "{desync}. The first value is the one of this build. A rule computes with a float, or with something else that depends on the build"
        ))
    }
}

/// Parses the line that the script prints. `None` if it is no such line.
fn parse_result(output: &[u8]) -> Option<WasmResult> {
    let line: Json = serde_json::from_slice(output).ok()?;
    if line.get("ticks").is_some() {
        return Some(WasmResult::Same);
    }
    let tick = line.get("tick")?.as_u64()?.try_into().ok()?;
    if let Some(error) = line.get("error") {
        return Some(WasmResult::Stopped(tick, error.as_str()?.to_owned()));
    }
    let snapshot = hex::parse(line.get("snapshot")?.as_str()?).ok()?;
    Some(WasmResult::Differs(tick, snapshot))
}

fn failure(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::simple::Simple;
    use crate::game::{Game, GameInfo};
    use crate::games::tanks::Tanks;
    use crate::testing::synctest::{self, SynctestPlan};

    const INFO: &GameInfo = <Simple<Tanks> as Game>::INFO;

    fn recorded(ticks: u32) -> (RecordedRun, u64) {
        let game = crate::server::embedded::game(Some("tanks")).expect("a built-in game");
        let plan = SynctestPlan { game, ticks, seed: 3, players: 2, check_distance: 4 };
        let mut run = RecordedRun::default();
        let report = synctest::run(&plan, &mut |tick| run.push(tick)).expect("no difference");
        (run, report.checksum)
    }

    #[test]
    fn a_trace_has_the_checksum_before_each_tick_and_after_the_last() {
        let (run, checksum) = recorded(5);
        let trace = run.trace("tanks", 3, checksum);
        let words: Vec<&str> = trace.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(words, [&["game"][..], &["checksum", "frame"].repeat(5), &["checksum"]].concat());
        assert!(trace.ends_with(&format!("checksum {checksum:016x}\n")), "{trace}");
    }

    #[test]
    fn a_difference_is_described_by_its_fields() {
        let (run, _) = recorded(40);
        let mut other = (INFO.new_world)(&(INFO.identity)(3));
        for (frame, _) in &run.ticks[..30] {
            other.step(&(INFO.frame)(frame).expect("a frame").commands);
        }
        let changed = other.corrupt(1).expect("a field");
        let text = run.describe(INFO, 3, 30, &other.snapshot()).expect("a snapshot");
        assert!(
            text.starts_with("seed 3, after tick 30: the world of the WebAssembly build differs: "),
            "{text}"
        );
        assert!(
            text.contains(&changed.to_string().split(':').next().unwrap_or_default().to_owned()),
            "{text}"
        );
    }

    #[test]
    fn the_line_of_the_script_is_read() {
        for (line, expected) in [
            (r#"{"ticks":300}"#, Some(WasmResult::Same)),
            (r#"{"tick":7,"checksum":"00","snapshot":"00ff"}"#, Some(WasmResult::Differs(7, vec![0, 255]))),
            (
                r#"{"tick":8,"error":"RuntimeError: unreachable"}"#,
                Some(WasmResult::Stopped(8, "RuntimeError: unreachable".to_owned())),
            ),
            ("", None),
            (r#"{"tick":8}"#, None),
        ] {
            assert_eq!(parse_result(line.as_bytes()), expected, "{line}");
        }
    }
}
