//! No time limit of a group in `scripts/test.sh` includes a compiler, which takes as long as the machine
//! is busy.

use crate::tree::{Breach, File};

const GROUPS: &str = "scripts/test.sh";
/// Commands of a shell script that compile. A line with the variable does so only if the caller has not.
const COMMANDS: [&str; 4] = ["cargo build", "cargo run", "cargo test", "build-wasm-game.sh"];
/// Calls of a test in JavaScript that compile.
const CALLS: [&str; 2] = ["'cargo'", "tabEdition(["];
const UNLESS: &str = "TICKWIRE_BUILT";

/// Each line of `scripts/test.sh` that limits the time of a program that compiles.
pub fn limited_compilers(files: &[File]) -> Vec<Breach> {
    let Some(groups) = files.iter().find(|file| file.path == GROUPS) else { return Vec::new() };
    let lines = groups.text.lines().enumerate();
    let limited = lines.flat_map(|(at, line)| line.split("timeout ").skip(1).map(move |run| (at, run)));
    let breach = |(at, run): (usize, &str)| {
        let program =
            run.split(' ').find(|word| word.starts_with("scripts/") || word.starts_with("tests/"))?;
        let program = program.trim_end_matches(';');
        let place = compiles(files, program)?;
        Some(Breach::new(
            groups,
            at + 1,
            format!("compile outside of the time limit: {program} does so in {place}"),
        ))
    };
    limited.filter_map(breach).collect()
}

/// The first line of a script, or of a script that it reads, that compiles.
fn compiles(files: &[File], path: &str) -> Option<String> {
    let file = files.iter().find(|file| file.path == path)?;
    file.text.lines().enumerate().find_map(|(at, line)| {
        let is_code = !line.trim_start().starts_with(['#', '/', '*']);
        let compilers = if file.extension() == "sh" { &COMMANDS[..] } else { &CALLS[..] };
        if is_code && compilers.iter().any(|word| line.contains(word)) && !line.contains(UNLESS) {
            return Some(format!("{path}:{}", at + 1));
        }
        compiles(files, &read_by(path, line)?)
    })
}

/// The script that a line reads: `source PATH`, or an import.
fn read_by(path: &str, line: &str) -> Option<String> {
    if let Some(sourced) = line.strip_prefix("source ") {
        return Some(sourced.to_owned());
    }
    let (_, imported) = line.strip_prefix("import ")?.split_once(" from './")?;
    let (directory, _) = path.rsplit_once('/')?;
    Some(format!("{directory}/{}", imported.trim_end_matches("';")))
}
