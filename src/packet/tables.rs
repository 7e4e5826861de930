//! The packet tables: the names, arguments and codes of all packets in each dialect.
//!
//! ```text
//!   direction  name  lane      legacy:str  letters:str  arguments              meaning
//!   to_server  move  reliable  33          9            direction:num.rad|nil  walk this way; …
//! ```
//!
//! `packet_codes/README.md` describes the columns. The tables of moo in `packet_codes/` are built
//! in. The caller reads other tables and passes their text.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::limits;
use crate::util::escape;

use super::dialect::Dialect;
use super::grammar;
use super::row::{Code, Direction, Lane, Row};

/// The built-in tables, as file name and text. Empty without the feature `built-in-games`.
#[cfg(not(feature = "built-in-games"))]
pub const BUILTIN: [(&str, &str); 0] = [];
/// The built-in tables, as file name and text.
#[cfg(feature = "built-in-games")]
pub const BUILTIN: [(&str, &str); 2] = [
    ("moomoo.tsv", include_str!("../../packet_codes/moo/moomoo.tsv")),
    ("native.tsv", include_str!("../../packet_codes/moo/native.tsv")),
];

/// The reason why packet tables are rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableError {
    /// A line is invalid.
    Line {
        /// The file's name, as given by the caller.
        file: String,
        /// The line number, from 1.
        line: usize,
        /// The error in the line.
        reason: String,
    },
    /// The tables are valid, but do not fit the game. The text names the row and the rule.
    Game(String),
    /// The tables of a capture are incomplete, invalid, or differ from the given ones.
    Capture(String),
}

/// A rule of the game.
impl From<String> for TableError {
    fn from(reason: String) -> TableError {
        TableError::Game(reason)
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::Line { file, line, reason } => {
                write!(out, "{}:{line}: {}", escape::escape_line(file), escape::escape_line(reason))
            }
            TableError::Game(reason) | TableError::Capture(reason) => out.write_str(reason),
        }
    }
}

impl std::error::Error for TableError {}

/// All tables together.
#[derive(Clone, Debug)]
pub struct PacketTables {
    /// The tables in the order in which they were given.
    pub tables: Vec<Table>,
    dialects: Vec<Arc<Dialect>>,
    /// Known paths by room name.
    paths: BTreeMap<String, RoomPaths>,
}

/// Paths below a room, each with its dialect.
pub type RoomPaths = Vec<(String, String)>;

/// One file: its dialects and its rows.
#[derive(Clone, Debug)]
pub struct Table {
    /// The file's name.
    pub file: String,
    /// The file's text.
    pub text: String,
    /// The dialects, one for each code column.
    pub dialects: Vec<String>,
    /// The table's rows, in order.
    pub rows: Vec<Arc<Row>>,
}

impl Table {
    /// The file's name without its directory.
    pub fn name(&self) -> &str {
        self.file.rsplit(['/', '\\']).next().unwrap_or_default()
    }
}

impl PacketTables {
    /// The tables that are built into the program; none without the feature `built-in-games`. Tests
    /// parse them, so this cannot fail.
    pub fn builtin() -> Arc<PacketTables> {
        Arc::clone(PacketTables::builtin_ref())
    }

    /// Like [`PacketTables::builtin`], for values that borrow the tables with a static lifetime.
    pub fn builtin_ref() -> &'static Arc<PacketTables> {
        static BUILT: OnceLock<Arc<PacketTables>> = OnceLock::new();
        let build = || Arc::new(PacketTables::from_texts(&BUILTIN).expect("the built-in tables are tested"));
        BUILT.get_or_init(build)
    }

    /// Parses tables from (file name, text) pairs.
    pub fn from_texts<F: AsRef<str>, T: AsRef<str>>(texts: &[(F, T)]) -> Result<PacketTables, TableError> {
        let mut reader = TableParser::default();
        for (file, text) in texts {
            reader.read(file.as_ref(), text.as_ref())?;
        }
        Ok(PacketTables::from_tables(reader.tables))
    }

    fn from_tables(tables: Vec<Table>) -> PacketTables {
        let rows = || tables.iter().flat_map(|table| table.rows.iter().cloned());
        let names = tables.iter().flat_map(|table| &table.dialects);
        let dialects = names.map(|name| Arc::new(Dialect::new(name, rows()))).collect();
        PacketTables { tables, dialects, paths: BTreeMap::new() }
    }

    /// Returns the tables with changed rows. Their texts and paths are the same.
    #[must_use]
    pub(crate) fn with_rows(&self, change: impl Fn(&mut Row)) -> PacketTables {
        let mut tables = self.tables.clone();
        tables.iter_mut().flat_map(|table| &mut table.rows).for_each(|row| change(Arc::make_mut(row)));
        PacketTables { paths: self.paths.clone(), ..PacketTables::from_tables(tables) }
    }

    /// Returns the tables with the paths of these rooms. The name of the default room is empty.
    #[must_use]
    pub(crate) fn with_room_paths(self, paths: BTreeMap<String, RoomPaths>) -> PacketTables {
        PacketTables { paths, ..self }
    }

    /// The paths of a room; `None` if they are unknown.
    pub fn paths(&self, room: &str) -> Option<&[(String, String)]> {
        self.paths.get(room).map(Vec::as_slice)
    }

    /// Whether the paths of any room are known.
    pub fn has_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    /// Selects the tables for a capture: its own tables, otherwise the given ones, otherwise the
    /// built-in ones.
    ///
    /// # Errors
    /// [`TableError::Capture`] if the capture's own tables are invalid or differ from the given
    /// ones.
    pub fn for_capture(
        carried: Option<Vec<(String, String)>>,
        given: Option<Arc<PacketTables>>,
    ) -> Result<Arc<PacketTables>, TableError> {
        let Some(carried) = carried else { return Ok(given.unwrap_or_else(PacketTables::builtin)) };
        let own = PacketTables::from_texts(&carried)
            .map_err(|error| format!("this version cannot use the packet tables in the capture: {error}"))
            .map_err(TableError::Capture)?;
        match given.and_then(|given| own.first_difference(&given)) {
            None => Ok(Arc::new(own)),
            Some(difference) => Err(TableError::Capture(format!(
                "the capture carries packet tables of its own, which differ from the given ones: {difference}; \
                 leave out --codes (and TICKWIRE_CODES)"
            ))),
        }
    }

    /// The tables as file name and text, the format that [`PacketTables::from_texts`] parses.
    pub fn texts(&self) -> Vec<(&str, &str)> {
        self.tables.iter().map(|table| (table.name(), &*table.text)).collect()
    }

    /// All rows, table by table.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.tables.iter().flat_map(|table| table.rows.iter().map(Arc::as_ref))
    }

    /// All dialects, in the order of the columns.
    pub fn dialects(&self) -> impl Iterator<Item = &Arc<Dialect>> {
        self.dialects.iter()
    }

    /// Finds a dialect by its name in the heading of a table and in `?dialect=`.
    pub fn dialect(&self, name: &str) -> Option<Arc<Dialect>> {
        self.dialects.iter().find(|dialect| dialect.name() == name).cloned()
    }

    /// The dialect for requests that name none: `native`, or the first dialect if these tables have
    /// no `native`.
    pub fn default_dialect(&self) -> Option<&Arc<Dialect>> {
        self.dialects.iter().find(|dialect| dialect.name() == "native").or(self.dialects.first())
    }
}

/// The column of a dialect: its name, and the parser of its codes.
type Column = (String, fn(&str) -> Option<Code>);

/// Parses tables, and stores the state that all of them share.
#[derive(Default)]
struct TableParser {
    tables: Vec<Table>,
    rows: usize,
    /// Used codes and names by dialect and direction, each with the file and line of its first use.
    taken: BTreeMap<(String, Direction, String), String>,
}

const LEADING: [&str; 3] = ["direction", "name", "lane"];
const TRAILING: [&str; 2] = ["arguments", "meaning"];

impl TableParser {
    fn read(&mut self, file: &str, text: &str) -> Result<(), TableError> {
        let error = |line: usize, reason: String| TableError::Line { file: file.to_owned(), line, reason };
        let heading = text.lines().next().unwrap_or("");
        let columns = self.heading(heading).map_err(|reason| error(1, reason))?;
        let mut rows = Vec::new();
        for (line, text) in text.lines().enumerate().skip(1).map(|(index, text)| (index + 1, text)) {
            let row = self.row(text, &columns, &format!("{file}:{line}"));
            rows.push(Arc::new(row.map_err(|reason| error(line, reason))?));
        }
        let dialects = columns.into_iter().map(|(dialect, _)| dialect).collect();
        self.tables.push(Table { file: file.to_owned(), text: text.to_owned(), dialects, rows });
        Ok(())
    }

    /// Parses the first line: the fixed columns, and the dialects between them.
    fn heading(&self, line: &str) -> Result<Vec<Column>, String> {
        let cells: Vec<&str> = line.split('\t').collect();
        let middle = cells.strip_prefix(&LEADING).and_then(|cells| cells.strip_suffix(&TRAILING));
        let Some(middle) = middle.filter(|dialects| !dialects.is_empty()) else {
            let columns = "direction, name, lane, one or more dialects, arguments, meaning";
            return Err(format!("the heading must be: {columns}"));
        };
        let mut columns: Vec<Column> = Vec::new();
        for cell in middle {
            let (name, read): (_, fn(&str) -> _) = match cell.split_once(':') {
                Some((name, "str")) => (name, parse_text_code),
                Some((name, "int")) => (name, parse_number_code),
                _ => return Err(format!("the dialect column {cell:?} must end in :str or :int")),
            };
            let fits = |ch: char| ch.is_ascii_lowercase() || ch.is_ascii_digit() || ch == '-';
            if name.is_empty() || !name.chars().all(fits) {
                return Err(format!("bad dialect name {name:?}: use lower-case letters, digits and -"));
            }
            if columns.iter().any(|(known, _)| known == name) {
                return Err(format!("the dialect {name:?} has two columns"));
            }
            let mut tables = self.tables.iter();
            if let Some(other) = tables.find(|table| table.dialects.iter().any(|known| known == name)) {
                return Err(format!("the dialect {name:?} already has a column in {}", other.file));
            }
            columns.push((name.to_owned(), read));
        }
        Ok(columns)
    }

    /// Parses and checks a row; `location` is its file and line.
    fn row(&mut self, line: &str, columns: &[Column], location: &str) -> Result<Row, String> {
        if self.rows == limits::TABLE_ROWS {
            return Err(format!("too many rows: the maximum for all tables is {}", limits::TABLE_ROWS));
        }
        self.rows += 1;
        let row = read_row(line, columns)?;
        self.reserve_codes(&row, location)?;
        Ok(row)
    }

    /// Reserves the row's codes and names, which must be unused in its direction.
    fn reserve_codes(&mut self, row: &Row, location: &str) -> Result<(), String> {
        for (dialect, code) in &row.codes {
            for what in [format!("code {code}"), format!("name {}", row.name)] {
                let key = (dialect.clone(), row.direction, what.clone());
                if let Some(before) = self.taken.insert(key, location.to_owned()) {
                    let direction = row.direction.name();
                    return Err(format!("duplicate {what} of {dialect} {direction}, first at {before}"));
                }
            }
        }
        Ok(())
    }
}

fn read_row(line: &str, columns: &[Column]) -> Result<Row, String> {
    let cells: Vec<&str> = line.split('\t').collect();
    let expected = LEADING.len() + columns.len() + TRAILING.len();
    let ([direction, name, lane, codes @ .., arguments, meaning], true) =
        (&cells[..], cells.len() == expected)
    else {
        return Err(format!("{} columns, but the heading has {expected}", cells.len()));
    };
    let known = Direction::ALL.into_iter().find(|known| known.name() == *direction);
    let direction =
        known.ok_or_else(|| format!("bad direction {direction:?}: expected to_server or to_client"))?;
    grammar::check_name(name)?;
    let known = Lane::ALL.into_iter().find(|known| known.name() == *lane);
    let lane = known.ok_or_else(|| format!("bad lane {lane:?}: expected reliable or latest"))?;
    let present = columns.iter().zip(codes).filter(|(_, cell)| **cell != "-");
    let codes = present.map(|((dialect, read), cell)| {
        Ok((dialect.clone(), read(cell).ok_or_else(|| format!("bad code {cell:?}"))?))
    });
    let codes: Vec<(String, Code)> = codes.collect::<Result<_, String>>()?;
    if codes.is_empty() {
        return Err("no dialect has a code for this packet".to_owned());
    }
    let arguments = grammar::parse_arguments(arguments).map_err(|error| error.to_string())?;
    Ok(Row { direction, name: (*name).to_owned(), lane, codes, arguments, meaning: (*meaning).to_owned() })
}

/// Parses a code of 1 to 16 printable ASCII characters.
fn parse_text_code(cell: &str) -> Option<Code> {
    let fits = (1..=16).contains(&cell.len()) && cell.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then(|| Code::Str(cell.to_owned()))
}

/// Parses a code from 0 to 127, which MessagePack encodes in one byte.
fn parse_number_code(cell: &str) -> Option<Code> {
    let is_plain = cell.bytes().all(|digit| digit.is_ascii_digit());
    cell.parse().ok().filter(|code| is_plain && *code <= 127).map(Code::Int)
}
