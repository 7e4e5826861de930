//! `tickwire codes`: the packet tables, and reading them from a folder for `--codes`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::{Failure, print};
use crate::packet::Codes;
use crate::packet::codes_print::{self, Format};

/// What `codes` can be told.
#[derive(Debug, Args)]
pub struct CodesArgs {
    /// Form of the answer.
    #[arg(long, value_name = "FORM", default_value = "text", value_parser = ["text", "markdown", "json"])]
    format: String,
    /// Folder with `.tsv` tables to print instead of the built-in ones.
    #[arg(long, value_name = "DIR", env = "TICKWIRE_CODES")]
    codes: Option<PathBuf>,
}

/// Prints the tables.
pub fn run(args: &CodesArgs) -> Result<(), Failure> {
    let codes = load(args.codes.as_deref())?;
    let format = match args.format.as_str() {
        "markdown" => Format::Markdown,
        "json" => Format::Json,
        _ => Format::Text,
    };
    print(&codes_print::print(&codes, format));
    Ok(())
}

/// The built-in tables, or those of a folder: every `.tsv` file in it, in the order of their names.
///
/// # Errors
/// The folder or a file cannot be read, or a table is bad: file, line and reason.
pub fn load(folder: Option<&Path>) -> Result<Arc<Codes>, Failure> {
    let Some(folder) = folder else { return Ok(Codes::builtin()) };
    let unreadable = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, error))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "tsv"));
    paths.sort();
    let mut texts = Vec::new();
    for path in &paths {
        let text = fs::read_to_string(path).map_err(|error| unreadable(path, error))?;
        texts.push((path.display().to_string(), text));
    }
    if texts.is_empty() {
        return Err(format!("{}: no .tsv file in this folder", folder.display()));
    }
    Ok(Arc::new(Codes::from_texts(&texts).map_err(|error| error.to_string())?))
}
