//! Tables that differ from the built-in ones in everything in which tables may: every code is
//! another, an argument is wider, and an optional packet of each direction is missing.

use tickwire::internal::packet::tables::BUILTIN;

/// Direction and name of the packets that the native dialect lacks.
const MISSING: [[&str; 2]; 2] = [["to_server", "map_ping"], ["to_client", "leaderboard"]];

/// The tables, as file name and text.
pub fn others() -> Vec<(String, String)> {
    let table = |(file, text): (&str, &str)| {
        let mut lines: Vec<Vec<String>> =
            text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect();
        let is_missing = |cells: &[String]| {
            file == "native.tsv" && MISSING.iter().any(|missing| cells[..2] == missing.map(str::to_owned))
        };
        lines.retain(|cells| !is_missing(cells));
        for direction in ["to_server", "to_client"] {
            (3..lines[0].len() - 2).for_each(|column| rotate(&mut lines, direction, column));
        }
        let text = lines.iter().map(|cells| cells.join("\t") + "\n").collect::<String>();
        (file.to_owned(), text.replace("moved:[player:u16,", "moved:[player:u32,"))
    };
    BUILTIN.into_iter().map(table).collect()
}

/// Gives each packet of a direction the code of the next one, in the dialect of a column.
fn rotate(lines: &mut [Vec<String>], direction: &str, column: usize) {
    let has_code = |cells: &&mut Vec<String>| cells[0] == direction && cells[column] != "-";
    let mut cells: Vec<&mut Vec<String>> = lines.iter_mut().filter(has_code).collect();
    let codes: Vec<String> = cells.iter().map(|cells| cells[column].clone()).collect();
    for (cells, code) in cells.iter_mut().zip(codes.iter().cycle().skip(1)) {
        cells[column].clone_from(code);
    }
}
