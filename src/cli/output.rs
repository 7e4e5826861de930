//! The output of the commands: results, errors, and failures to write them.

use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::OnceLock;

use crate::server::net::accept;
use crate::util::escape;

/// An error in one line.
pub(super) type CliError = String;

/// Reports a failure in one line on standard error. A closed standard error does not cause a panic.
pub(super) fn print_error(line: &str) {
    let _ = writeln!(io::stderr().lock(), "tickwire: {}", escape::escape_line(line));
}

/// The first error of writing to standard output.
static FIRST_WRITE_ERROR: OnceLock<CliError> = OnceLock::new();

/// Prints to standard output, which contains a command's result. A closed pipe (`| head`) is not an
/// error; [`check_written`] reports other errors. The output is flushed, because a prompt has no
/// line end. Control characters are escaped, whatever their source.
pub(super) fn print(text: &str) {
    let mut out = io::stdout().lock();
    record_write_error(out.write_all(escape::escape_output(text).as_bytes()).and_then(|()| out.flush()));
}

pub(super) fn record_write_error(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        let _ = FIRST_WRITE_ERROR.set(format!("standard output: {error}"));
    }
}

/// An error, if some output could not be written.
pub(super) fn check_written() -> Result<(), CliError> {
    FIRST_WRITE_ERROR.get().map_or(Ok(()), |failure| Err(failure.clone()))
}

/// Clears the terminal's current line and returns to its start.
pub(super) fn clear_line() {
    record_write_error(io::stdout().lock().write_all(b"\r\x1b[K"));
}

/// Prints to standard error, for a capture on standard output.
pub(super) fn print_to_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(escape::escape_output(text).as_bytes());
}

/// Warns on standard error if another program may respond at `localhost` with this port.
pub(super) fn warn_of_other_localhost(address: SocketAddr) {
    if let Some(other) = accept::other_localhost(address) {
        print_to_stderr(&other_localhost_warning(address.port(), other));
    }
}

fn other_localhost_warning(port: u16, other: SocketAddr) -> String {
    let own = if other.is_ipv6() { "127.0.0.1" } else { "[::1]" };
    format!(
        "tickwire: another program listens on {other}: a browser may show it at http://localhost:{port}/. \
         Open http://{own}:{port}/ instead, or stop the other program.\n"
    )
}

/// An address for a browser: "all addresses" becomes `localhost`, or `127.0.0.1` if another program
/// may respond at `localhost`.
pub(super) fn reachable(address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() && accept::other_localhost(address).is_some() => {
            format!("127.0.0.1:{}", address.port())
        }
        IpAddr::V4(ip) if ip.is_unspecified() => format!("localhost:{}", address.port()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => format!("localhost:{}", address.port()),
        _ => address.to_string(),
    }
}
