//! The output of the commands: results and errors, and whether they could be written.

use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

use crate::visible;

/// A usage error, in one line.
pub(super) type Failure = String;

/// Reports a failure on standard error. A closed standard error is no reason to panic.
pub(super) fn tell_error(line: &str) {
    let _ = writeln!(io::stderr().lock(), "tickwire: {}", visible::printed(line));
}

/// Why some output could not be written, the first time.
static UNWRITTEN: OnceLock<Failure> = OnceLock::new();

/// Prints to standard output, which carries a command's result. A closed pipe (`| head`) is no
/// error; [`written`] reports other errors. The output is flushed, because a prompt has no line
/// end. Control characters are escaped, whoever wrote them.
pub(super) fn print(text: &str) {
    let mut out = io::stdout().lock();
    keep_failure(out.write_all(visible::printed(text).as_bytes()).and_then(|()| out.flush()));
}

pub(super) fn keep_failure(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        let _ = UNWRITTEN.set(format!("standard output: {error}"));
    }
}

/// Whether all output was written.
pub(super) fn written() -> Result<(), Failure> {
    UNWRITTEN.get().map_or(Ok(()), |failure| Err(failure.clone()))
}

/// The same on standard error, for when standard output carries a capture.
pub(super) fn print_aside(text: &str) {
    let _ = io::stderr().lock().write_all(visible::printed(text).as_bytes());
}
