//! `tickwire explain`: any bytes of a frame, drawn and named.

use clap::Args;

use super::{Failure, codes, print};
use crate::explain;
use crate::ws::Side;

/// What `explain` can be told.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The bytes in hex; spaces, colons, `0x` and line breaks may stand between them.
    #[arg(required = true, value_name = "HEX")]
    hex: Vec<String>,
    /// Dialect of the packet inside: native, legacy, letters, letters-2024, letters-2023.
    #[arg(long, value_name = "NAME", default_value = "native")]
    dialect: String,
    /// Who sent them: client or server. Without it, masked frames are a client's.
    #[arg(long, value_name = "WHO", value_parser = ["client", "server"])]
    from: Option<String>,
    /// Print JSON for programs, one line.
    #[arg(long)]
    json: bool,
    /// Folder with `.tsv` tables to use instead of the built-in ones.
    #[arg(long, value_name = "DIR", env = "TICKWIRE_CODES")]
    codes: Option<std::path::PathBuf>,
}

/// Prints the explanation.
pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let codes = codes::load(args.codes.as_deref())?;
    let dialect = codes.dialect(&args.dialect).ok_or_else(|| {
        let known: Vec<&str> = codes.dialects().map(|dialect| dialect.name()).collect();
        format!("no dialect {:?}; there are {}", args.dialect, known.join(", "))
    })?;
    let from = args.from.as_deref().map(|who| match who {
        "client" => Side::Client,
        _ => Side::Server,
    });
    let explanation = explain::explain(&explain::hex::parse(&args.hex.join(" "))?, &dialect, from);
    print(&if args.json { explanation.json() + "\n" } else { explanation.report() });
    Ok(())
}
