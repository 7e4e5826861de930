//! Former names of packets and arguments. A capture carries the packet tables of its server, and a
//! replay reads packets by the current names.

use std::sync::Arc;

use crate::packet::{PacketTables, Row};

/// Former names: the dialect (empty: all dialects), the packet, its argument (empty: the packet
/// itself was renamed), and the current name of the argument or packet.
const FORMER_NAMES: [(&str, &str, &str, &str); 7] = [
    ("", "enter", "", "join"),
    ("native", "follow", "", "spectate"),
    ("", "hello", "since", "resume_tick"),
    ("", "welcome", "code_hash", "rules_hash"),
    ("", "desync_report", "more", "omitted"),
    ("", "control", "fires", "is_firing"),
    ("", "control", "seen", "render_tick"),
];

/// Returns the tables with the current names.
pub(super) fn with_current_names(tables: Arc<PacketTables>) -> Arc<PacketTables> {
    let has_former_name = tables.rows().any(|row| former_names(row).next().is_some());
    if has_former_name { Arc::new(tables.with_rows(rename)) } else { tables }
}

/// The entries of [`FORMER_NAMES`] that this row contains.
fn former_names(
    row: &Row,
) -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str, &'static str)> {
    FORMER_NAMES.iter().filter(|(dialect, packet, argument, _)| {
        row.name == *packet
            && (dialect.is_empty() || row.code(dialect).is_some())
            && (argument.is_empty() || row.argument(argument).is_some())
    })
}

fn rename(row: &mut Row) {
    let names: Vec<_> = former_names(row).collect();
    for (_, _, argument, current) in names {
        match row.argument(argument) {
            Some(at) => row.arguments[at].name = (*current).to_owned(),
            None => row.name = (*current).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Direction::{ToClient, ToServer};

    const HEADING: &str = "direction\tname\tlane\tDIALECT:int\targuments\tmeaning\n";
    const ROWS: &str = "to_server\thello\treliable\t1\tversion:u16 since:u32.tick|nil\t-\n\
        to_server\tenter\treliable\t2\t-\t-\n\
        to_server\tfollow\treliable\t3\t-\t-\n\
        to_server\tcontrol\treliable\t4\tfires:bool seen:u32.tick|nil\t-\n\
        to_client\twelcome\treliable\t1\tcode_hash:str\t-\n";

    fn current(dialect: &str) -> Arc<PacketTables> {
        let text = HEADING.replace("DIALECT", dialect) + ROWS;
        with_current_names(Arc::new(PacketTables::from_texts(&[("t.tsv", text)]).expect("a good table")))
    }

    #[test]
    fn former_names_of_a_captures_tables_become_the_current_ones() {
        let all = |tables: &PacketTables, dialect: &str| {
            let dialect = tables.dialect(dialect).expect("it is there");
            let rows = [ToServer, ToClient].into_iter().flat_map(|direction| dialect.rows(direction));
            let text = |row: &Row| {
                let names = row.arguments.iter().map(|argument| argument.name.as_str());
                std::iter::once(row.name.as_str()).chain(names).collect::<Vec<_>>().join(" ")
            };
            rows.map(text).collect::<Vec<_>>().join(", ")
        };
        for (dialect, follow) in [("native", "spectate"), ("other", "follow")] {
            let expected = format!(
                "hello version resume_tick, join, {follow}, control is_firing render_tick, lane_request offer, \
                 welcome rules_hash, lane_offer connection key port answer"
            );
            assert_eq!(all(&current(dialect), dialect), expected);
        }
        let built = PacketTables::builtin();
        assert!(Arc::ptr_eq(&with_current_names(Arc::clone(&built)), &built));
    }
}
