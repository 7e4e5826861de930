//! The packet tables: which packets exist, their names, and their codes in each dialect.
//!
//! ```text
//!   direction  name  lane      legacy:str  letters:str  …  arguments              meaning
//!   to_server  move  reliable  33          9            …  direction:num.rad|nil  walk this way; nil stops
//! ```
//!
//! `packet_codes/README.md` describes the columns. The tables in `packet_codes/` are built in;
//! the caller reads other tables and passes their text.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::limits;
use crate::util::escape;

use super::dialect::Dialect;
use super::grammar;
use super::row::{Code, Direction, Lane, Row};

/// The built-in tables, as file name and text.
pub const BUILTIN: [(&str, &str); 2] = [
    ("moomoo.tsv", include_str!("../../packet_codes/moo/moomoo.tsv")),
    ("native.tsv", include_str!("../../packet_codes/moo/native.tsv")),
];

/// A table that was rejected, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableError {
    /// The file's name, as given by the caller.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with the line.
    pub reason: String,
}

impl fmt::Display for TableError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TableError { file, line, reason } = self;
        write!(out, "{}:{line}: {}", escape::escape_line(file), escape::escape_line(reason))
    }
}

impl std::error::Error for TableError {}

/// All tables together.
#[derive(Clone, Debug)]
pub struct PacketTables {
    /// The tables in the order in which they were given.
    pub tables: Vec<Table>,
    dialects: Vec<Arc<Dialect>>,
    /// The paths of the rooms of which they are known.
    paths: BTreeMap<String, RoomPaths>,
}

/// Paths below a room, and the dialects spoken there.
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
    /// The file's name without its directory, which says nothing about the table.
    pub fn name(&self) -> &str {
        self.file.rsplit(['/', '\\']).next().unwrap_or_default()
    }
}

impl PacketTables {
    /// The tables that are built into the program. The tests check them like any other table.
    pub fn builtin() -> Arc<PacketTables> {
        Arc::clone(PacketTables::builtin_ref())
    }

    /// The same, for values that borrow tables for as long as the program runs.
    pub fn builtin_ref() -> &'static Arc<PacketTables> {
        static BUILT: OnceLock<Arc<PacketTables>> = OnceLock::new();
        let build = || Arc::new(PacketTables::from_texts(&BUILTIN).expect("the built-in tables are tested"));
        BUILT.get_or_init(build)
    }

    /// Reads tables from (file name, text) pairs.
    pub fn from_texts<F: AsRef<str>, T: AsRef<str>>(texts: &[(F, T)]) -> Result<PacketTables, TableError> {
        let mut reader = TableParser::default();
        for (file, text) in texts {
            reader.read(file.as_ref(), text.as_ref())?;
        }
        let tables = reader.tables;
        let rows = || tables.iter().flat_map(|table| table.rows.iter().cloned());
        let names = tables.iter().flat_map(|table| &table.dialects);
        let dialects = names.map(|name| Arc::new(Dialect::new(name, rows()))).collect();
        Ok(PacketTables { tables, dialects, paths: BTreeMap::new() })
    }

    /// The same tables, with the paths of these rooms. The name of the default room is empty.
    #[must_use]
    pub fn with_room_paths(self, paths: BTreeMap<String, RoomPaths>) -> PacketTables {
        PacketTables { paths, ..self }
    }

    /// The paths of a room, if they are known.
    pub fn paths(&self, room: &str) -> Option<&[(String, String)]> {
        self.paths.get(room).map(Vec::as_slice)
    }

    /// Whether rooms' paths are known.
    pub fn has_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    /// The tables by which a capture is read: those that it carries, otherwise the given ones,
    /// otherwise the built-in ones.
    ///
    /// # Errors
    /// One line: the capture's own tables are invalid here, or the given ones are others.
    pub fn for_capture(
        carried: Option<Vec<(String, String)>>,
        given: Option<Arc<PacketTables>>,
    ) -> Result<Arc<PacketTables>, String> {
        let Some(carried) = carried else { return Ok(given.unwrap_or_else(PacketTables::builtin)) };
        let own = PacketTables::from_texts(&carried)
            .map_err(|error| format!("this version cannot use the packet tables in the capture: {error}"))?;
        match given.and_then(|given| own.first_difference(&given)) {
            None => Ok(Arc::new(own)),
            Some(difference) => Err(format!(
                "the capture carries packet tables of its own, which differ from the given ones: {difference}; \
                 leave out --codes (and TICKWIRE_CODES)"
            )),
        }
    }

    /// The tables as file name and text, as [`PacketTables::from_texts`] reads them again.
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

    /// A dialect by its name, as in the heading of a table and in `?dialect=`.
    pub fn dialect(&self, name: &str) -> Option<Arc<Dialect>> {
        self.dialects.iter().find(|dialect| dialect.name() == name).cloned()
    }

    /// The dialect if nothing names one: `native`, or the first if these tables do not have it.
    pub fn default_dialect(&self) -> Option<&Arc<Dialect>> {
        self.dialects.iter().find(|dialect| dialect.name() == "native").or(self.dialects.first())
    }
}

/// A dialect's column: its name, and how its codes are read.
type Column = (String, fn(&str) -> Option<Code>);

/// The state of reading the tables.
#[derive(Default)]
struct TableParser {
    tables: Vec<Table>,
    rows: usize,
    /// Codes and names by dialect and direction, each with the file and line of its first use.
    taken: BTreeMap<(String, Direction, String), String>,
}

const LEADING: [&str; 3] = ["direction", "name", "lane"];
const TRAILING: [&str; 2] = ["arguments", "meaning"];

impl TableParser {
    fn read(&mut self, file: &str, text: &str) -> Result<(), TableError> {
        let error = |line: usize, reason: String| TableError { file: file.to_owned(), line, reason };
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

    /// Reads the first line: the fixed columns, and the dialects between them.
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
            let fits = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-';
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

    /// Reads a row and checks it; `here` is its file and line.
    fn row(&mut self, line: &str, columns: &[Column], here: &str) -> Result<Row, String> {
        if self.rows == limits::TABLE_ROWS {
            return Err(format!("too many rows: the maximum for all tables is {}", limits::TABLE_ROWS));
        }
        self.rows += 1;
        let row = read_row(line, columns)?;
        self.reserve_codes(&row, here)?;
        Ok(row)
    }

    /// Reserves the row's codes and names, which must be free in its direction.
    fn reserve_codes(&mut self, row: &Row, here: &str) -> Result<(), String> {
        for (dialect, code) in &row.codes {
            for what in [format!("code {code}"), format!("name {}", row.name)] {
                let key = (dialect.clone(), row.direction, what.clone());
                if let Some(before) = self.taken.insert(key, here.to_owned()) {
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
    let arguments = grammar::parse_arguments(arguments)?;
    Ok(Row { direction, name: (*name).to_owned(), lane, codes, arguments, meaning: (*meaning).to_owned() })
}

/// A code of 1 to 16 printable ASCII characters.
fn parse_text_code(cell: &str) -> Option<Code> {
    let fits = (1..=16).contains(&cell.len()) && cell.bytes().all(|sign| sign.is_ascii_graphic());
    fits.then(|| Code::Str(cell.to_owned()))
}

/// A code that MessagePack writes in one byte.
fn parse_number_code(cell: &str) -> Option<Code> {
    let is_plain = cell.bytes().all(|digit| digit.is_ascii_digit());
    cell.parse().ok().filter(|code| is_plain && *code <= 127).map(Code::Int)
}
