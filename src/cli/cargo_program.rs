//! A program that cargo has built on this machine, with its sources.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use super::output::CliError;

/// A program built by cargo from sources on this machine.
#[derive(Debug)]
pub(super) struct CargoProgram {
    pub(super) path: PathBuf,
    pub(super) name: String,
    is_example: bool,
    /// The target directory of cargo.
    pub(super) target: PathBuf,
    /// Name of the cargo profile.
    profile: String,
    /// The directory of the package.
    pub(super) package: PathBuf,
}

impl CargoProgram {
    /// The running program. `command` is the command that needs its sources, for the error.
    ///
    /// # Errors
    /// The program is not in a cargo target directory.
    pub(super) fn current(command: &str) -> Result<CargoProgram, CliError> {
        let path = env::current_exe().map_err(|error| format!("no path of this program: {error}"))?;
        CargoProgram::at(&path).ok_or_else(|| {
            format!(
                "{}: {command} works for a program that cargo has built, in the folder of its package: cargo run -- {command}",
                path.display()
            )
        })
    }

    /// The program at a path. `None` if the path is not in a cargo target directory.
    fn at(path: &Path) -> Option<CargoProgram> {
        let mut directory = path.parent()?;
        let is_example = directory.ends_with("examples");
        if is_example {
            directory = directory.parent()?;
        }
        let name = path.file_stem()?.to_str()?;
        let profile = directory.file_name()?.to_str()?;
        let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).or(env::current_dir().ok())?;
        if !package.join("Cargo.toml").is_file() || !path.with_extension("d").is_file() {
            return None;
        }
        Some(CargoProgram {
            name: name.to_owned(),
            is_example,
            target: directory.parent()?.to_owned(),
            profile: if profile == "debug" { "dev".to_owned() } else { profile.to_owned() },
            package,
            path: path.to_owned(),
        })
    }

    /// The directory of the journal, from which the next server continues the worlds.
    pub(super) fn journal(&self) -> PathBuf {
        self.target.join(format!("{}.journal", self.name))
    }

    /// The modification time of each source file.
    pub(super) fn sources(&self) -> Result<BTreeMap<PathBuf, Option<SystemTime>>, CliError> {
        let list = self.path.with_extension("d");
        let text = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
        let mut files = parse_depfile(&text);
        files.push(self.package.join("Cargo.toml"));
        Ok(files.into_iter().map(|file| (file.clone(), modified_time(&file))).collect())
    }

    /// Returns whether the program can load its own packet tables, which every command loads first.
    /// After a failure, the program has printed the file, the line and the reason.
    pub(super) fn loads_its_tables(&self) -> Result<bool, CliError> {
        let mut command = Command::new(&self.path);
        let status = command.arg("codes").stdin(Stdio::null()).stdout(Stdio::null()).status();
        Ok(status.map_err(|error| format!("{}: {error}", self.path.display()))?.success())
    }

    /// Builds the program. Returns whether the build succeeded.
    pub(super) fn build(&self) -> Result<bool, CliError> {
        let mut command = self.cargo_build(&self.profile, &self.target);
        let status = command.status();
        Ok(status.map_err(|error| format!("cargo cannot be run: {error}"))?.success())
    }

    /// The command that builds the program with a profile, in a target directory.
    pub(super) fn cargo_build(&self, profile: &str, target: &Path) -> Command {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet", "--profile", profile]);
        command.args([if self.is_example { "--example" } else { "--bin" }, &self.name]);
        command.arg("--manifest-path").arg(self.package.join("Cargo.toml"));
        command.arg("--target-dir").arg(target).stdin(Stdio::null());
        command
    }

    /// The folder of the program in a folder with the profile's results.
    pub(super) fn result_folder(&self, profile: &Path) -> PathBuf {
        if self.is_example { profile.join("examples") } else { profile.to_owned() }
    }
}

/// The Rust files of the running program's own package, without its dependencies.
pub(super) fn own_sources() -> Result<Vec<PathBuf>, CliError> {
    let program = CargoProgram::current("synctest")?;
    let directory = program.package.join(if program.is_example { "examples" } else { "src" });
    let is_own = |file: &PathBuf| {
        file.starts_with(&directory) && file.extension().is_some_and(|extension| extension == "rs")
    };
    Ok(program.sources()?.into_keys().filter(is_own).collect())
}

/// The modification time of a file; `None` if it does not exist.
pub(super) fn modified_time(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|metadata| metadata.modified()).ok()
}

/// The files in a dependency list in the syntax of `make`: after the colon, separated by spaces. A
/// space in a name follows a backslash.
fn parse_depfile(text: &str) -> Vec<PathBuf> {
    let line = text.lines().next().unwrap_or_default();
    let (_, files) = line.split_once(": ").unwrap_or_default();
    let files = files.replace("\\ ", "\0");
    files.split_whitespace().map(|file| PathBuf::from(file.replace('\0', " "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_list_may_have_spaces_in_their_names() {
        let text = "/t/debug/game: /a/src/main.rs /a/my\\ table.tsv C:\\game\\page.html\n\n/a/src/main.rs:\n";
        let files = ["/a/src/main.rs", "/a/my table.tsv", "C:\\game\\page.html"];
        assert_eq!(parse_depfile(text), files.map(PathBuf::from));
        assert!(parse_depfile("").is_empty());
    }
}
