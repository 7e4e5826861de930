//! `tickwire dev`: rebuilds the program when its sources change, and restarts its server. The
//! worlds and players continue.
//!
//! ```text
//!  sources ─ change ─► cargo build ─ fails ─► the old server continues
//!                          └─ new program ─► its tables load ─► its prediction module
//!               ─► `stop`: the old server ends its journal ─► the new server continues it
//! ```
//! Pages load the new prediction module when they reconnect.
//!
//! Cargo lists the source files of the program in `NAME.d`, in the directory of the program.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use super::cargo_program::{CargoProgram, modified_time};
use super::output::{CliError, print};
use super::{prediction, signals};
use crate::limits;
use crate::util::os::threads;
use crate::util::sync::Mutex;

/// Options of `dev`.
#[derive(Debug, Args)]
pub struct DevArgs {
    /// Options of `serve`, except --journal.
    #[arg(value_name = "SERVE OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    serve: Vec<OsString>,
}

/// Standard input of the running server.
type Input = Arc<Mutex<Option<ChildStdin>>>;

/// Runs until the server ends without a restart, or a signal stops the program.
pub fn run(args: &DevArgs) -> Result<(), CliError> {
    let program = CargoProgram::current("dev")?;
    let (serve, journal) = (with_one_port(&args.serve)?, program.journal());
    // A killed run leaves this directory.
    let _ = fs::remove_dir_all(&journal);
    let start = |input: &Input| {
        let mut command = Command::new(&program.path);
        command.arg("serve").args(&serve).arg("--journal").arg(&journal);
        command.args(["--durability", "none", "--on-refused-journal", "new-world"]).stdin(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", program.path.display()))?;
        *input.lock() = child.stdin.take();
        Ok::<Child, CliError>(child)
    };
    let (input, is_ending) = (Input::default(), Arc::new(AtomicBool::new(false)));
    let ending = Arc::clone(&is_ending);
    signals::on_stop(move || ending.store(true, Ordering::Relaxed))?;
    prediction::build_for_dev(&program)?;
    let mut server = start(&input)?;
    forward(&input)?;
    let mut last_sources = program.sources()?;
    print(&format!(
        "dev: watching {} files; a change rebuilds and restarts the server\n",
        last_sources.len()
    ));
    let ended = loop {
        thread::sleep(limits::DEV_POLL_INTERVAL);
        let gone = server.try_wait().map_err(|error| error.to_string())?;
        if is_ending.load(Ordering::Relaxed) {
            break stop(&mut server, &input);
        }
        if gone.is_some_and(|status| status.success()) {
            break Ok(());
        }
        let now = program.sources()?;
        if now == last_sources {
            continue;
        }
        // Waits, because editors write several files and cargo must see all of them.
        thread::sleep(limits::DEV_POLL_INTERVAL);
        last_sources = program.sources()?;
        let (began, before) = (Instant::now(), modified_time(&program.path));
        print("dev: the sources have changed; building\n");
        if !program.build()? {
            print("dev: the build failed; the server goes on as it is\n");
            continue;
        }
        if modified_time(&program.path) == before && gone.is_none() {
            print("dev: the program is the same\n");
            continue;
        }
        if !program.loads_its_tables()? {
            print("dev: the new program does not start; the server goes on as it is\n");
            continue;
        }
        prediction::build_for_dev(&program)?;
        let (built, stops) = (began.elapsed(), Instant::now());
        if gone.is_none() {
            stop(&mut server, &input)?;
        }
        server = start(&input)?;
        print(&format!(
            "dev: built in {} ms, replaced in {} ms\n",
            built.as_millis(),
            stops.elapsed().as_millis()
        ));
    };
    let _ = fs::remove_dir_all(&journal);
    ended
}

/// Stops the server, which saves its worlds.
fn stop(server: &mut Child, input: &Input) -> Result<(), CliError> {
    // Fails if the server has already ended, which is not an error.
    input.lock().take().into_iter().for_each(|mut input| drop(input.write_all(b"stop\n")));
    let until = Instant::now() + limits::DEV_STOP_TIMEOUT;
    while server.try_wait().map_err(|error| error.to_string())?.is_none() {
        if Instant::now() > until {
            print(
                "dev: the server does not stop, and is killed: a program with other rules begins new worlds\n",
            );
            let _ = server.kill();
            let _ = server.wait();
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Forwards lines of standard input to the running server.
fn forward(input: &Input) -> Result<(), CliError> {
    let input = Arc::clone(input);
    let run = move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if let Some(server) = &mut *input.lock() {
                let _ = server.write_all(format!("{line}\n").as_bytes());
            }
        }
    };
    let spawned = threads::spawn("dev input", run);
    spawned.map(drop).map_err(|error| format!("cannot start the thread for standard input: {error}"))
}

/// The options with port 0 replaced by a free port, because all runs of the server must use the
/// same port.
fn with_one_port(serve: &[OsString]) -> Result<Vec<OsString>, CliError> {
    let mut serve = serve.to_vec();
    for at in 0..serve.len() {
        let Some(text) = serve[at].to_str() else { continue };
        let (place, value) = match text.strip_prefix("--bind") {
            Some("") if at + 1 < serve.len() => (at + 1, serve[at + 1].to_str().unwrap_or_default()),
            Some(rest) => (at, rest.trim_start_matches('=')),
            None => continue,
        };
        let Some(bind) = value.parse::<SocketAddr>().ok().filter(|bind| bind.port() == 0) else { continue };
        let found = TcpListener::bind(bind).and_then(|listener| listener.local_addr());
        let found = found.map_err(|error| format!("cannot listen on {bind}: {error}"))?;
        serve[place] = if place == at { format!("--bind={found}") } else { found.to_string() }.into();
    }
    Ok(serve)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_0_becomes_one_free_port() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        for text in ["--seed 3 --bind 127.0.0.1:0", "--bind=127.0.0.1:0"] {
            let serve = with_one_port(&words(text)).expect("a port is free");
            let last = serve.last().and_then(|last| last.to_str()).expect("it is text");
            let bind: SocketAddr = last.trim_start_matches("--bind=").parse().expect("an address");
            assert_ne!(bind.port(), 0);
        }
        let same = words("--bind 127.0.0.1:3000 --seed 0 --bind");
        assert_eq!(with_one_port(&same), Ok(same));
    }
}
