//! The destination of a capture: a sequence of files, or a pipe.
//!
//! An existing file is never overwritten, and a pipe is never followed by a second file.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::limits;
use crate::net::platform;

/// The requested destination of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// This file, then numbered files beside it when it is full: `a.pcapng`, `a.1.pcapng`. A device
    /// of this name is written to directly.
    File(PathBuf),
    /// Standard output.
    Stdout,
}

/// An open destination.
pub struct Output {
    target: Target,
    /// Number of the file, from 0.
    number: u32,
    path: Option<PathBuf>,
    sink: Box<dyn Write + Send>,
    written_bytes: u64,
}

impl Output {
    /// Opens the first file.
    ///
    /// # Errors
    /// The file exists; it is a named pipe, which would block until a reader opens it; or any error
    /// of the disk.
    pub fn open(target: Target) -> io::Result<Output> {
        let (path, sink): (_, Box<dyn Write + Send>) = match &target {
            Target::Stdout => (None, Box::new(io::stdout())),
            Target::File(path) if is_named_pipe(path) => {
                let rule = "opening a named pipe blocks until it has a reader; use --capture - >PIPE";
                return Err(io::Error::new(ErrorKind::InvalidInput, rule));
            }
            Target::File(path) if is_device(path) => {
                (None, Box::new(OpenOptions::new().write(true).open(path)?))
            }
            Target::File(path) => (Some(path.clone()), Box::new(create(path)?)),
        };
        Ok(Output { target, number: 0, path, sink, written_bytes: 0 })
    }

    /// Whether another file can follow; a pipe has no successor.
    pub fn is_file(&self) -> bool {
        self.path.is_some()
    }

    /// The name of the destination.
    pub fn name(&self) -> String {
        match (&self.path, &self.target) {
            (Some(path), _) | (None, Target::File(path)) => path.display().to_string(),
            (None, Target::Stdout) => "standard output".to_owned(),
        }
    }

    /// Bytes in the present file.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Ends the file and creates the next one, with the next unused number.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn next(&mut self) -> io::Result<()> {
        let Target::File(first) = &self.target else { return Ok(()) };
        self.sink.flush()?;
        for number in self.number + 1..=limits::CAPTURE_FILES {
            let path = numbered(first, number);
            match create(&path) {
                Ok(file) => {
                    (self.number, self.path, self.sink) = (number, Some(path), Box::new(file));
                    self.written_bytes = 0;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!("{} files with this name already exist", limits::CAPTURE_FILES)))
    }

    /// Writes bytes through to the file.
    ///
    /// # Errors
    /// The disk is full, the pipe closed.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink.write_all(bytes)?;
        self.sink.flush()?;
        self.written_bytes += bytes.len() as u64;
        Ok(())
    }
}

fn create(path: &Path) -> io::Result<File> {
    // It holds what everybody says, and where from.
    platform::create_private(path)
}

fn is_named_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.file_type().is_fifo())
}

/// Whether this name exists and is not a regular file, such as a terminal.
fn is_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// `a.pcapng` and 3 give `a.3.pcapng`.
fn numbered(first: &Path, number: u32) -> PathBuf {
    match first.extension() {
        Some(extension) => first.with_extension(format!("{number}.{}", extension.to_string_lossy())),
        None => first.with_extension(number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_named_pipe_is_refused_at_once() {
        let path = std::env::temp_dir().join(format!("tickwire-pipe-{}", std::process::id()));
        assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo runs").success());
        let (say, said) = mpsc::channel();
        let target = Target::File(path.clone());
        thread::spawn(move || say.send(Output::open(target).err().map(|error| error.to_string())));
        let refused = said.recv_timeout(Duration::from_secs(20));
        std::fs::remove_file(&path).expect("it was there");
        let refused = refused.expect("nobody waits for a reader").expect("no capture");
        assert!(refused.ends_with("use --capture - >PIPE"), "{refused}");
    }

    #[test]
    fn every_file_is_for_its_owner_alone() {
        let chance = u64::from_le_bytes(platform::random());
        let path = std::env::temp_dir().join(format!("tickwire-capture-{chance:016x}.pcapng"));
        let mut output = Output::open(Target::File(path.clone())).expect("a new file");
        output.next().expect("the next file");
        for path in [path.clone(), numbered(&path, 1)] {
            let mode = path.metadata().expect("it is there").permissions().mode();
            std::fs::remove_file(&path).expect("it was there");
            assert_eq!(mode & 0o7777, 0o600, "{}", path.display());
        }
    }

    #[test]
    fn the_next_file_has_the_next_number_before_its_extension() {
        assert_eq!(numbered(Path::new("a/b.pcapng"), 3), Path::new("a/b.3.pcapng"));
        assert_eq!(numbered(Path::new("b"), 1), Path::new("b.1"));
    }
}
