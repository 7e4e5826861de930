//! The `tickwire` program: see [`tickwire::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    tickwire::cli::run()
}
