//! Corpora: one text file per target in the repository, one directory of files for libFuzzer.
//!
//! ```text
//!   tests/fuzz/corpus/head.hex   one input a line, in hexadecimal, the shortest first ◄──pack── folder
//!                                                                                     ──unpack─► folder
//! ```
//!
//! `unpack FILE FOLDER` and `pack FOLDER FILE` convert between them. No input occurs twice.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use tickwire::explain::hex;

/// Does what the arguments ask for, if that concerns a corpus.
pub fn task(arguments: &[String]) -> Option<io::Result<()>> {
    match arguments {
        [task, file, directory] if task == "unpack" => Some(unpack(file.as_ref(), directory.as_ref())),
        [task, directory, file] if task == "pack" => Some(pack(directory.as_ref(), file.as_ref())),
        _ => None,
    }
}

/// Writes each line of the file as a file of its own, named by the line's number.
fn unpack(file: &Path, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for (index, line) in fs::read_to_string(file)?.lines().enumerate() {
        let bytes = hex::parse(line)
            .map_err(|error| io::Error::other(format!("{}:{}: {error}", file.display(), index + 1)))?;
        fs::write(directory.join(format!("seed-{:05}", index + 1)), bytes)?;
    }
    Ok(())
}

/// Writes all files of the folder as lines. An empty input is left out: libFuzzer always begins with it.
fn pack(directory: &Path, file: &Path) -> io::Result<()> {
    let mut inputs = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let bytes = fs::read(entry?.path())?;
        inputs.insert((bytes.len(), bytes));
    }
    let lines = inputs.iter().filter(|(length, _)| *length > 0).map(|(_, bytes)| {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        digits + "\n"
    });
    fs::write(file, lines.collect::<String>())
}
