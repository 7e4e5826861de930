//! The `tickwire` program. Its commands are in `src/cli/`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tickwire::internal::cli::run()
}
