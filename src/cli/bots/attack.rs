//! The clients of `bots` that play moo alone: `--attack` and `--resume-rate`, and the server of
//! `--sink`.

use std::net::SocketAddr;
use std::time::Duration;

use super::args::{BotsArgs, local_source};
use crate::cli::output::{CliError, print};
use crate::cli::tables;
use crate::packet::PacketTables;
use crate::packet::routes::DEFAULT_PATHS;
use crate::testing::abuse::{attack, sink};
use crate::testing::load::resume_test;
use crate::testing::source_addresses::SourceAddresses;

/// Runs the clients that `args` selects.
///
/// # Errors
/// The URL does not fit, the server cannot be reached, or a client did not resume.
pub fn run(
    args: &BotsArgs,
    to: SocketAddr,
    source: Option<SourceAddresses>,
    time: Duration,
) -> Result<(), CliError> {
    if args.sink {
        return run_sink(args, to);
    }
    if args.url.room_prefix().is_none() {
        // The URL must fit the native dialect, because these clients use it.
        tables::dialect_at_url(&PacketTables::builtin(), &DEFAULT_PATHS, &args.url, Some("native"))?;
    }
    let url = args.url.clone().with_dialect_path(&DEFAULT_PATHS, "native");
    let (source, count) = (source.unwrap_or_else(local_source), args.count as usize);
    if let Some(kind) = args.attack {
        let (addresses, reconnects) = (args.addresses.map(|addresses| addresses as usize), true);
        let plan = attack::AttackPlan { kind, url, source, addresses, count, time, reconnects };
        let report = attack::run(&plan).map_err(|error| format!("{}: {error}", args.url))?;
        print(&if args.json { report.json(kind) + "\n" } else { report.text(kind) });
    } else if let Some(per_second) = args.resume_rate {
        let plan = resume_test::Plan { url, source, count, per_second, time };
        return run_resume_test(&plan, args);
    }
    Ok(())
}

fn run_resume_test(plan: &resume_test::Plan, args: &BotsArgs) -> Result<(), CliError> {
    let returned = resume_test::run(plan).map_err(|error| format!("{}: {error}", args.url))?;
    print(&if args.json { returned.json() } else { returned.text() });
    if returned.passed() && returned.came == plan.count {
        return Ok(());
    }
    Err("not every client resumed its own player".to_owned())
}

fn run_sink(args: &BotsArgs, to: SocketAddr) -> Result<(), CliError> {
    let listener = sink::bind(to).map_err(|error| format!("{}: {error}", args.url))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    print(&format!("sink {address}\n"));
    sink::run(&listener);
    Ok(())
}
