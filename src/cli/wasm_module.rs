//! Builds a module of WebAssembly from a program with its own game.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cargo_program::CargoProgram;
use super::output::CliError;

/// The compiler's name for WebAssembly without an operating system.
pub(super) const TARGET: &str = "wasm32-unknown-unknown";
/// Overrides of the profile `release`: soon built.
const PROFILE: [(&str, &str); 5] =
    [("LTO", "off"), ("CODEGEN_UNITS", "1"), ("PANIC", "abort"), ("DEBUG", "false"), ("STRIP", "symbols")];

/// A module that the library exports functions for.
#[derive(Debug, Clone, Copy)]
pub(super) struct WasmModule {
    /// The command that builds it. Also the folder of the build in the target directory.
    pub command: &'static str,
    /// The compiler's conditions that select the exports.
    pub conditions: &'static [&'static str],
    /// The optimisation level.
    pub opt_level: &'static str,
}

impl WasmModule {
    /// Returns why the module cannot be built; `None` if the compiler has the target.
    ///
    /// # Errors
    /// The compiler cannot be run.
    pub fn missing_target(&self, program: &CargoProgram) -> Result<Option<String>, CliError> {
        let mut command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        command.args(["--print", "target-libdir", "--target", TARGET]).current_dir(&program.package);
        let output = command.output().map_err(|error| format!("rustc cannot be run: {error}"))?;
        let directory = String::from_utf8_lossy(&output.stdout);
        let is_there = output.status.success() && Path::new(directory.trim()).is_dir();
        let command = self.command;
        Ok((!is_there)
            .then(|| format!("{command} needs the compiler's target {TARGET}: rustup target add {TARGET}")))
    }

    /// Builds the program for WebAssembly. Returns the path of the file.
    ///
    /// # Errors
    /// The program does not build. Cargo has printed the reason.
    pub fn build(&self, program: &CargoProgram) -> Result<PathBuf, CliError> {
        let target = program.target.join(self.command);
        let mut command = program.cargo_build("release", &target);
        command.args(["--target", TARGET]);
        let mut flags = vec!["-Awarnings".to_owned()];
        for condition in self.conditions {
            flags.extend(["--cfg".to_owned(), (*condition).to_owned()]);
        }
        // Pages load the file, so it contains no paths of this machine.
        let library = Path::new(env!("CARGO_MANIFEST_DIR"));
        let home = env::home_dir();
        let folders = [(home.as_deref(), "~"), (Some(library), "tickwire"), (Some(&*program.package), ".")];
        for (directory, name) in folders {
            flags.extend(
                directory.map(|directory| format!("--remap-path-prefix={}={name}", directory.display())),
            );
        }
        command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
        command.envs(PROFILE.map(|(name, value)| (format!("CARGO_PROFILE_RELEASE_{name}"), value)));
        command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", self.opt_level);
        let status = command.status().map_err(|error| format!("cargo cannot be run: {error}"))?;
        if !status.success() {
            return Err(format!("{}: the program does not build for WebAssembly", self.command));
        }
        let directory = program.result_folder(&target.join(TARGET).join("release"));
        Ok(directory.join(format!("{}.wasm", program.name)))
    }
}
