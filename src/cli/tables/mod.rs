//! `tickwire codes`: the packet tables, the `--codes` directory, and the choice of a dialect.

pub mod clients;
pub mod print;
pub(super) mod typescript;
pub(super) mod wireshark;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use self::clients::Language;
use self::print::TablesFormat;
use super::game_list::GameList;
use super::output::{CliError, print};
use crate::client::url::Url;
use crate::connection::WireFormat;
use crate::limits;
use crate::packet::{Dialect, PacketTables};
use crate::tools::capture;
use crate::ws::http::{Headers, RequestHead};

/// The dialect if neither a path nor the command line selects one.
pub const DIALECT: &str = "native";

const FORMATS: [&str; 8] =
    ["text", "markdown", "json", "wireshark", "typescript", "python", "csharp", "gdscript"];

/// Options of `codes`.
#[derive(Debug, Args)]
pub struct TablesArgs {
    /// Output format: text, markdown or json; wireshark for the dissector of these tables;
    /// typescript for the types of a client; python, csharp or gdscript for a client of one
    /// dialect.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = FORMATS)]
    format: String,
    /// Packet tables to print instead of the built-in tables: a directory of `.tsv` files, in it or
    /// in its subdirectories, one such file, or a capture that contains its tables.
    #[arg(long, value_name = "TABLES", env = "TICKWIRE_CODES")]
    codes: Option<PathBuf>,
    /// Dialect of a client in Python, C# or GDScript [default: native, otherwise the first].
    #[arg(long, value_name = "DIALECT")]
    dialect: Option<String>,
}

/// Prints the tables, or a client.
pub fn run(args: &TablesArgs, games: &GameList) -> Result<(), CliError> {
    let codes = load_or_built_in(args.codes.as_deref(), games)?;
    if let Some(language) = Language::from_format(&args.format) {
        let dialect = match &args.dialect {
            Some(name) => dialect_by_name(&codes, name)?,
            None => codes.default_dialect().ok_or("the tables have no dialect")?,
        };
        print(&clients::print(dialect, language));
        return Ok(());
    }
    if let Some(dialect) = &args.dialect {
        let format = &args.format;
        return Err(format!(
            "--dialect {dialect}: --format {format} prints all dialects: leave out --dialect"
        ));
    }
    let format = match args.format.as_str() {
        "markdown" => TablesFormat::Markdown,
        "json" => TablesFormat::Json,
        "wireshark" => TablesFormat::Wireshark,
        "typescript" => TablesFormat::Typescript,
        _ => TablesFormat::Text,
    };
    print(&print::print(&codes, format));
    Ok(())
}

/// The tables of the games, or the tables at the path `tables` as [`load_from`] reads them.
///
/// # Errors
/// As [`load_from`].
pub fn load_or_built_in(tables: Option<&Path>, games: &GameList) -> Result<Arc<PacketTables>, CliError> {
    tables.map_or_else(|| Ok(Arc::clone(&games.codes)), load_from)
}

/// The tables of a directory: every `.tsv` file in it and in its subdirectories, in the order of
/// their paths. For a single `.tsv` file, its table; for a capture, the tables in it.
///
/// # Errors
/// The directory or a file cannot be read, or a table is invalid. The message has the file, the
/// line and the reason.
pub fn load_from(directory: &Path) -> Result<Arc<PacketTables>, CliError> {
    let unreadable = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let is_table = |path: &Path| path.extension().is_some_and(|extension| extension == "tsv");
    if directory.is_file() && is_table(directory) {
        let text = fs::read_to_string(directory).map_err(|error| unreadable(directory, error))?;
        let texts = [(directory.display().to_string(), text)];
        return Ok(Arc::new(PacketTables::from_texts(&texts).map_err(|error| error.to_string())?));
    }
    if directory.is_file() {
        let mut bytes = Vec::new();
        let opened = File::open(directory).map(|file| file.take(limits::CAPTURE_TABLES_BYTES));
        let read = opened.and_then(|mut file| file.read_to_end(&mut bytes));
        read.map_err(|error| unreadable(directory, error))?;
        return tables_of_capture(&bytes).map_err(|why| format!("{}: {why}", directory.display()));
    }
    let entries = |directory: &Path| -> Result<Vec<PathBuf>, CliError> {
        let entries = fs::read_dir(directory).map_err(|error| unreadable(directory, error))?;
        Ok(entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
    };
    let (mut paths, others): (Vec<PathBuf>, Vec<PathBuf>) =
        entries(directory)?.into_iter().partition(|path| is_table(path));
    // One subdirectory for each game, as in packet_codes/. An unreadable subdirectory is skipped.
    let below = others.iter().filter(|path| path.is_dir()).filter_map(|path| entries(path).ok());
    paths.extend(below.flatten().filter(|path| is_table(path)));
    paths.sort();
    let mut texts = Vec::new();
    for path in &paths {
        let text = fs::read_to_string(path).map_err(|error| unreadable(path, error))?;
        texts.push((path.display().to_string(), text));
    }
    if texts.is_empty() {
        return Err(format!("{}: no .tsv file in this directory or in its folders", directory.display()));
    }
    Ok(Arc::new(PacketTables::from_texts(&texts).map_err(|error| error.to_string())?))
}

/// The tables in a capture, from its first bytes.
fn tables_of_capture(bytes: &[u8]) -> Result<Arc<PacketTables>, String> {
    let neither = "neither a directory of .tsv files, nor one such file, nor a capture";
    if let Some(packed) = capture::compressed_file::format(bytes) {
        return Err(packed.to_string());
    }
    let capture = capture::read(bytes).map_err(|error| format!("{neither}: {error}"))?;
    match capture.tables().map_err(|error| error.to_string())? {
        None => Err("this capture carries no packet tables".to_owned()),
        carried => PacketTables::for_capture(carried, None).map_err(|error| error.to_string()),
    }
}

/// The dialect of this name.
///
/// # Errors
/// No dialect has this name; the message lists the known dialects.
pub fn dialect_by_name<'c>(codes: &'c PacketTables, name: &str) -> Result<&'c Arc<Dialect>, CliError> {
    codes.dialects().find(|dialect| dialect.name() == name).ok_or_else(|| {
        let known: Vec<&str> = codes.dialects().map(|dialect| dialect.name()).collect();
        format!("unknown dialect {name:?}; the dialects are {}", known.join(", "))
    })
}

/// The dialect at a URL, and whether its packets are JSON. The URL's path selects the dialect, as
/// on the server. Without a path, the requested dialect applies. A path that the server refuses
/// also counts as no path, because the user may want to see the refusal.
///
/// # Errors
/// The dialect does not exist, or the path selects another one than requested.
pub fn dialect_at_url(
    codes: &PacketTables,
    paths: &[(&str, &str)],
    url: &Url,
    requested: Option<&str>,
) -> Result<(Arc<Dialect>, bool), CliError> {
    find_dialect(codes, paths, url, requested, url.room_prefix().is_none())
}

/// Like [`dialect_at_url`], but the caller decides whether the URL is an endpoint. The path `/` may
/// be an endpoint or the page of a room.
///
/// # Errors
/// As [`dialect_at_url`].
pub fn find_dialect(
    codes: &PacketTables,
    paths: &[(&str, &str)],
    url: &Url,
    requested: Option<&str>,
    is_endpoint: bool,
) -> Result<(Arc<Dialect>, bool), CliError> {
    let first = paths.first().map_or("", |(_, dialect)| dialect);
    let requested_dialect = dialect_by_name(codes, requested.unwrap_or(first));
    let head = RequestHead {
        method: "GET".to_owned(),
        target: url.target.clone(),
        is_http_1_0: false,
        headers: Headers::default(),
    };
    match WireFormat::find(codes, paths, &head) {
        Ok(found) if is_endpoint => {
            let is_other = requested.is_some() && requested_dialect?.name() != found.dialect.name();
            if is_other {
                let name = found.dialect.name();
                return Err(format!(
                    "{url} selects the dialect {name}: leave out either its path and query, or --dialect"
                ));
            }
            Ok((found.dialect, found.is_json))
        }
        _ => Ok((Arc::clone(requested_dialect?), false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::packet::routes::DEFAULT_PATHS;

    fn dialect_for_url(url: &str, requested: Option<&str>) -> Result<(String, bool), CliError> {
        let (dialect, json) = dialect_at_url(
            &PacketTables::builtin(),
            &DEFAULT_PATHS,
            &url.parse().expect("a URL"),
            requested,
        )?;
        Ok((dialect.name().to_owned(), json))
    }

    #[test]
    fn the_path_selects_the_dialect_and_otherwise_the_flag() {
        for (url, requested, name, json) in [
            ("ws://a:1", None, "native", false),
            ("ws://a:1/", Some("letters-2023"), "letters-2023", false),
            ("ws://a:1/play", None, "native", false),
            ("ws://a:1/server", None, "letters", false),
            ("ws://a:1/moomoo", Some("legacy"), "legacy", false),
            ("ws://a:1/server?dialect=letters%2D2024", None, "letters-2024", false),
            ("ws://a:1?dialect=native", Some("native"), "native", false),
            ("ws://a:1/play?format=json", None, "native", true),
            // A path that the server will refuse.
            ("ws://a:1/nothing/here", None, "native", false),
            ("ws://a:1/nothing/here", Some("letters"), "letters", false),
            ("ws://a:1/server?dialect=morse", Some("legacy"), "legacy", false),
        ] {
            assert_eq!(dialect_for_url(url, requested), Ok((name.to_owned(), json)), "{url} {requested:?}");
        }
    }

    #[test]
    fn only_a_client_has_a_dialect_and_it_must_exist() {
        let error = |format: &str, dialect: &str| {
            let (format, dialect) = (format.to_owned(), Some(dialect.to_owned()));
            run(&TablesArgs { format, codes: None, dialect }, &GameList::built_in()).expect_err("an error")
        };
        let unknown = error("python", "morse");
        assert!(unknown.starts_with("unknown dialect \"morse\"; the dialects are legacy, "), "{unknown}");
        assert_eq!(
            error("json", "native"),
            "--dialect native: --format json prints all dialects: leave out --dialect"
        );
    }

    #[test]
    fn a_path_and_a_flag_that_differ_are_refused() {
        let refused = |url, requested| dialect_for_url(url, Some(requested)).expect_err(url);
        assert_eq!(
            refused("ws://a:1/server", "legacy"),
            "ws://a:1/server selects the dialect letters: leave out either its path and query, or --dialect"
        );
        assert!(
            refused("ws://a:1/server?dialect=legacy", "letters").contains(" selects the dialect legacy: ")
        );
        for url in ["ws://a:1", "ws://a:1/play", "ws://a:1/nothing/here"] {
            assert_eq!(
                refused(url, "morse"),
                "unknown dialect \"morse\"; the dialects are legacy, letters-2023, letters-2024, letters, native"
            );
        }
    }
}
