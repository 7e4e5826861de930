//! The destination of a capture: a sequence of files, or a pipe.
//!
//! No existing file is overwritten. A pipe has no second file.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

use crate::limits;
use crate::util::os;

/// The requested destination of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaptureTarget {
    /// A file, followed by numbered files in the same directory: `a.pcapng`, `a.1.pcapng`. If the
    /// path is a device, the capture is written to it directly.
    File(PathBuf),
    /// Standard output.
    Stdout,
}

impl fmt::Display for CaptureTarget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureTarget::File(path) => path.display().fmt(out),
            CaptureTarget::Stdout => out.write_str("standard output"),
        }
    }
}

/// An open destination.
pub struct CaptureOutput {
    /// Path of the first file; `None` for a pipe or a device.
    first: Option<PathBuf>,
    /// Number of the current file, from 0.
    number: u32,
    sink: Box<dyn Write + Send>,
    written_bytes: u64,
}

impl CaptureOutput {
    /// Opens the first file.
    ///
    /// # Errors
    /// The file exists, the file is a named pipe (which would block until a reader opens it), or an
    /// I/O operation failed.
    pub fn open(target: CaptureTarget) -> io::Result<CaptureOutput> {
        let (first, sink): (_, Box<dyn Write + Send>) = match target {
            CaptureTarget::Stdout => (None, Box::new(io::stdout())),
            CaptureTarget::File(path) => match path.metadata() {
                Ok(metadata) if os::is_named_pipe(&metadata) => {
                    let rule = "opening a named pipe blocks until it has a reader; use --capture - >PIPE";
                    return Err(io::Error::new(ErrorKind::InvalidInput, rule));
                }
                // A device, such as a terminal.
                Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
                    (None, Box::new(OpenOptions::new().write(true).open(path)?))
                }
                _ => {
                    let file = os::create_private(&path)?;
                    (Some(path), Box::new(file))
                }
            },
        };
        Ok(CaptureOutput { first, number: 0, sink, written_bytes: 0 })
    }

    /// Whether the destination is a file, so that another one can follow.
    pub fn is_file(&self) -> bool {
        self.first.is_some()
    }

    /// Returns the number of bytes in the current file.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Closes the file and creates the next one, with the next unused number: `a.pcapng` is
    /// followed by `a.1.pcapng`. Returns its name.
    ///
    /// # Errors
    /// [`limits::CAPTURE_FILES`] files already exist, or an I/O operation failed.
    pub fn next(&mut self) -> io::Result<String> {
        self.sink.flush()?;
        let first = self.first.clone().unwrap_or_default();
        let dot = first.extension().map(|extension| format!(".{}", extension.to_string_lossy()));
        while self.number < limits::CAPTURE_FILES {
            self.number += 1;
            let path = first.with_extension(format!("{}{}", self.number, dot.as_deref().unwrap_or("")));
            match os::create_private(&path) {
                Ok(file) => {
                    (self.sink, self.written_bytes) = (Box::new(file), 0);
                    return Ok(path.display().to_string());
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!("the file numbers 1 to {} are already in use", limits::CAPTURE_FILES)))
    }

    /// Writes bytes through to the file.
    ///
    /// # Errors
    /// The disk is full or the pipe is closed.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink.write_all(bytes)?;
        self.sink.flush()?;
        self.written_bytes += bytes.len() as u64;
        Ok(())
    }
}
