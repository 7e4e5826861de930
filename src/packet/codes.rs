//! The code tables: which packets exist, their names, and their codes in each dialect.
//!
//! ```text
//!   direction  name  lane      legacy:str  letters:str  …  arguments              meaning
//!   to_server  move  reliable  33          9            …  direction:num.rad|nil  walk this way; nil stops
//! ```
//!
//! A table is tab-separated text with one row per packet and one column per dialect; `:str` and
//! `:int` give the type of the codes on the wire, and `-` means that the dialect does not have the
//! packet. The same code may mean different things in the two directions, but never in one. Where
//! dialects differ in arguments, a packet has several rows of the same name, each for other
//! dialects.
//!
//! The tables in `packet_codes/*.tsv` are built in. This module opens no file: the caller reads
//! other tables and passes their text. The result is [`Codes`], which provides the [`Dialect`]s, or
//! a [`TableError`] with file, line and reason.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::limits;

use super::dialect::Dialect;
use super::grammar;
use super::needs;
use super::row::{Code, Direction, Lane, Row};

/// The built-in tables, as file name and text.
pub const BUILTIN: [(&str, &str); 2] = [
    ("moomoo.tsv", include_str!("../../packet_codes/moomoo.tsv")),
    ("native.tsv", include_str!("../../packet_codes/native.tsv")),
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
        write!(out, "{}:{}: {}", self.file, self.line, self.reason)
    }
}

impl std::error::Error for TableError {}

/// All tables together.
pub struct Codes {
    tables: Vec<Table>,
    dialects: Vec<Arc<Dialect>>,
}

/// One file: its dialects and its rows.
pub struct Table {
    /// The file's name.
    pub file: String,
    /// The dialects, one for each code column.
    pub dialects: Vec<String>,
    /// The table's rows, in order.
    pub rows: Vec<Arc<Row>>,
}

/// Prints only the file names, because the tables are long.
impl fmt::Debug for Codes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.tables.iter().map(|table| &table.file)).finish()
    }
}

impl Codes {
    /// The tables that are built into the program. The tests check them like any other table.
    pub fn builtin() -> Arc<Codes> {
        static BUILT: OnceLock<Arc<Codes>> = OnceLock::new();
        let build = || Arc::new(Codes::from_texts(&BUILTIN).expect("the built-in tables are tested"));
        Arc::clone(BUILT.get_or_init(build))
    }

    /// Reads tables from (file name, text) pairs.
    pub fn from_texts<F: AsRef<str>, T: AsRef<str>>(texts: &[(F, T)]) -> Result<Codes, TableError> {
        let mut reader = Reader::default();
        let mut tables = Vec::new();
        for (file, text) in texts {
            tables.push(reader.table(file.as_ref(), text.as_ref())?);
        }
        let rows = || reader.rows.iter().cloned();
        let dialects = reader.columns.iter().map(|(name, _)| Arc::new(Dialect::new(name, rows())));
        let dialects = dialects.collect();
        Ok(Codes { tables, dialects })
    }

    /// The tables in the order in which they were given.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// All rows, table by table.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.tables.iter().flat_map(|table| table.rows.iter().map(Arc::as_ref))
    }

    /// A dialect by its name, as in the heading of a table and in `?dialect=`.
    pub fn dialect(&self, name: &str) -> Option<Arc<Dialect>> {
        self.dialects.iter().find(|dialect| dialect.name() == name).cloned()
    }

    /// Checks that each row to a client has the lane of the built-in table, in which the server
    /// makes it.
    pub fn check_lanes(&self) -> Result<(), String> {
        let builtin = Codes::builtin();
        for (table, row) in
            self.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)))
        {
            let is_other = |made: &&Row| {
                made.direction == Direction::ToClient
                    && (made.direction, &made.name) == (row.direction, &row.name)
                    && made.codes.iter().any(|(dialect, _)| row.code(dialect).is_some())
                    && made.lane != row.lane
            };
            if let Some(made) = builtin.rows().find(is_other) {
                let (name, lane) = (&row.name, made.lane.name());
                return Err(format!(
                    "{}: lane of {name}: must be {lane}, the lane in the built-in tables",
                    table.file
                ));
            }
        }
        Ok(())
    }

    /// All dialects, in the order of the columns.
    pub fn dialects(&self) -> impl Iterator<Item = &Arc<Dialect>> {
        self.dialects.iter()
    }
}

/// Whether a column's codes are text or numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodeKind {
    Str,
    Int,
}

/// The state of reading the tables.
#[derive(Default)]
struct Reader {
    /// Dialects in order, each with the file in whose heading it appears.
    columns: Vec<(String, String)>,
    rows: Vec<Arc<Row>>,
    /// Codes and names by dialect and direction, each with the file and line of its first use.
    taken: BTreeMap<(String, Direction, String), String>,
}

const LEADING: [&str; 3] = ["direction", "name", "lane"];
const TRAILING: [&str; 2] = ["arguments", "meaning"];

impl Reader {
    fn table(&mut self, file: &str, text: &str) -> Result<Table, TableError> {
        let error = |line: usize| {
            let file = file.to_owned();
            move |reason: String| TableError { file, line, reason }
        };
        let mut lines = text.lines();
        let columns = heading(lines.next().unwrap_or("")).map_err(error(1))?;
        for (dialect, _) in &columns {
            if let Some((_, other)) = self.columns.iter().find(|(known, _)| known == dialect) {
                return Err(error(1)(format!("the dialect {dialect:?} already has a column in {other}")));
            }
            self.columns.push((dialect.clone(), file.to_owned()));
        }
        let first = self.rows.len();
        for (index, line) in lines.enumerate() {
            let number = index + 2;
            if self.rows.len() == limits::TABLE_ROWS {
                return Err(error(number)(format!(
                    "too many rows: the maximum for all tables is {}",
                    limits::TABLE_ROWS
                )));
            }
            let row = read_row(line, &columns).map_err(error(number))?;
            let fits = self.claim(&row, &format!("{file}:{number}"));
            fits.and_then(|()| needs::check_row(&row)).map_err(error(number))?;
            self.rows.push(Arc::new(row));
        }
        let rows = self.rows[first..].to_vec();
        let dialects = columns.into_iter().map(|(dialect, _)| dialect).collect();
        Ok(Table { file: file.to_owned(), dialects, rows })
    }

    /// Reserves the row's codes and names, which must be free in its direction.
    fn claim(&mut self, row: &Row, here: &str) -> Result<(), String> {
        let direction = row.direction;
        for (dialect, code) in &row.codes {
            for what in [format!("code {code}"), format!("name {}", row.name)] {
                let key = (dialect.clone(), direction, what.clone());
                if let Some(before) = self.taken.insert(key, here.to_owned()) {
                    let direction = direction.name();
                    return Err(format!("duplicate {what} of {dialect} {direction}, first at {before}"));
                }
            }
        }
        Ok(())
    }
}

/// Reads the first line: the fixed columns, and the dialects between them.
fn heading(line: &str) -> Result<Vec<(String, CodeKind)>, String> {
    let cells: Vec<&str> = line.split('\t').collect();
    let middle = cells.len().checked_sub(LEADING.len() + TRAILING.len()).filter(|dialects| *dialects > 0);
    let fixed = |from: usize, names: &[&str]| cells.get(from..from + names.len()) == Some(names);
    let Some(middle) = middle.filter(|middle| fixed(0, &LEADING) && fixed(LEADING.len() + middle, &TRAILING))
    else {
        return Err(
            "the heading must be: direction, name, lane, one or more dialects, arguments, meaning".to_owned()
        );
    };
    let mut columns: Vec<(String, CodeKind)> = Vec::new();
    for cell in &cells[LEADING.len()..LEADING.len() + middle] {
        let (name, kind) = match cell.split_once(':') {
            Some((name, "str")) => (name, CodeKind::Str),
            Some((name, "int")) => (name, CodeKind::Int),
            _ => return Err(format!("the dialect column {cell:?} must end in :str or :int")),
        };
        let fits = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-';
        if name.is_empty() || !name.chars().all(fits) {
            return Err(format!("bad dialect name {name:?}: use lower-case letters, digits and -"));
        }
        if columns.iter().any(|(known, _)| known == name) {
            return Err(format!("the dialect {name:?} has two columns"));
        }
        columns.push((name.to_owned(), kind));
    }
    Ok(columns)
}

fn read_row(line: &str, columns: &[(String, CodeKind)]) -> Result<Row, String> {
    let cells: Vec<&str> = line.split('\t').collect();
    let expected = LEADING.len() + columns.len() + TRAILING.len();
    if cells.len() != expected {
        return Err(format!("{} columns, but the heading has {expected}", cells.len()));
    }
    let direction = Direction::ALL.into_iter().find(|direction| direction.name() == cells[0]);
    let direction =
        direction.ok_or_else(|| format!("bad direction {:?}: to_server or to_client", cells[0]))?;
    grammar::check_name(cells[1])?;
    let lane = [Lane::Reliable, Lane::Latest].into_iter().find(|lane| lane.name() == cells[2]);
    let lane = lane.ok_or_else(|| format!("bad lane {:?}: reliable or latest", cells[2]))?;
    let mut codes = Vec::new();
    for ((dialect, kind), cell) in columns.iter().zip(&cells[LEADING.len()..]) {
        if *cell != "-" {
            codes.push((dialect.clone(), read_code(cell, *kind)?));
        }
    }
    if codes.is_empty() {
        return Err("no dialect has a code for this packet".to_owned());
    }
    let arguments = grammar::parse_arguments(cells[expected - 2])?;
    let meaning = cells[expected - 1].to_owned();
    Ok(Row { direction, name: cells[1].to_owned(), lane, codes, arguments, meaning })
}

/// Codes are short: text of 1 to 16 printable ASCII characters, or a number that MessagePack writes in one byte.
fn read_code(cell: &str, kind: CodeKind) -> Result<Code, String> {
    const LONGEST: usize = 16;
    const LARGEST: u32 = 127;
    let bad = || format!("bad code {cell:?}");
    match kind {
        CodeKind::Str => {
            let fits =
                (1..=LONGEST).contains(&cell.len()) && cell.bytes().all(|sign| sign.is_ascii_graphic());
            fits.then(|| Code::Str(cell.to_owned())).ok_or_else(bad)
        }
        CodeKind::Int => {
            let plain = cell.bytes().all(|digit| digit.is_ascii_digit());
            let code = cell.parse().ok().filter(|code| plain && *code <= LARGEST);
            code.map(Code::Int).ok_or_else(bad)
        }
    }
}
