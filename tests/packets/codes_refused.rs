//! Invalid tables: each reason to refuse a table has a row, with the line and the words that the
//! error must contain.

use tickwire::game::Game as _;
use tickwire::game::simple::Simple;
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::tanks::Tanks;
use tickwire::internal::limits;
use tickwire::internal::packet::tables::BUILTIN;
use tickwire::packet::{PacketTables, TableError};

const HEADING: &str = "direction\tname\tlane\tlegacy:str\tnative:int\targuments\tmeaning";

/// A table of the heading and these rows, in which `|` between spaces stands for a tab.
fn table(rows: &[&str]) -> String {
    let mut text = format!("{HEADING}\n");
    for row in rows {
        text.push_str(&row.replace(" | ", "\t"));
        text.push('\n');
    }
    text
}

fn refused(texts: &[(&str, &str)]) -> TableError {
    PacketTables::from_texts(texts).expect_err("should be refused")
}

/// File, line and reason of an invalid line.
fn line(error: &TableError) -> (&str, usize, &str) {
    let TableError::Line { file, line, reason } = error else { panic!("{error} is about no line") };
    (file, *line, reason)
}

#[test]
fn the_table_that_the_rows_below_spoil_is_good() {
    let text = table(&[
        "to_server | wave | reliable | w | 1 | to:u16|nil | waves",
        "to_client | wave | latest | w | 1 | - | ",
    ]);
    let codes = PacketTables::from_texts(&[("good.tsv", &text)]).expect("a good table");
    assert_eq!(codes.rows().count(), 2);
    assert_eq!(codes.dialects().count(), 2);
}

/// what, rows, the line that is named, words of the reason
const BAD_ROWS: [(&str, &[&str], usize, &str); 42] = [
    ("a column too few", &["to_server | wave | reliable | w | 1 | -"], 2, "6 columns, but the heading has 7"),
    ("a column too many", &["to_server | wave | reliable | w | 1 | - | x | y"], 2, "8 columns"),
    ("an empty line", &["to_server | wave | reliable | w | 1 | - | x", ""], 3, "1 columns"),
    ("a comment", &["# notes"], 2, "1 columns"),
    ("bad direction", &["up | wave | reliable | w | 1 | - | x"], 2, "bad direction \"up\""),
    ("bad lane", &["to_server | wave | fast | w | 1 | - | x"], 2, "bad lane \"fast\""),
    ("no name", &["to_server |  | reliable | w | 1 | - | x"], 2, "bad name \"\""),
    ("a name in capitals", &["to_server | Wave | reliable | w | 1 | - | x"], 2, "bad name \"Wave\""),
    ("a name that begins with a digit", &["to_server | 2 | reliable | w | 1 | - | x"], 2, "bad name \"2\""),
    ("no dialect has it", &["to_server | wave | reliable | - | - | - | x"], 2, "no dialect has a code"),
    ("an empty code", &["to_server | wave | reliable |  | 1 | - | x"], 2, "bad code \"\""),
    ("a code with a space", &["to_server | wave | reliable | w w | 1 | - | x"], 2, "bad code \"w w\""),
    ("a long code", &["to_server | wave | reliable | wwwwwwwwwwwwwwwww | 1 | - | x"], 2, "bad code"),
    ("text as number", &["to_server | wave | reliable | w | one | - | x"], 2, "bad code \"one\""),
    ("a number with a sign", &["to_server | wave | reliable | w | +1 | - | x"], 2, "bad code \"+1\""),
    ("a number beyond one byte", &["to_server | wave | reliable | w | 128 | - | x"], 2, "bad code \"128\""),
    (
        "duplicate code",
        &["to_server | wave | reliable | w | 1 | - | x", "to_server | bow | reliable | w | 2 | - | x"],
        3,
        "duplicate code w of legacy to_server, first at bad.tsv:2",
    ),
    (
        "duplicate number",
        &["to_client | wave | reliable | w | 1 | - | x", "to_client | bow | reliable | b | 1 | - | x"],
        3,
        "duplicate code 1 of native to_client, first at bad.tsv:2",
    ),
    (
        "duplicate name",
        &["to_server | wave | reliable | w | 1 | - | x", "to_server | wave | reliable | v | 2 | - | x"],
        3,
        "duplicate name wave of legacy to_server, first at bad.tsv:2",
    ),
    ("no arguments cell", &["to_server | wave | reliable | w | 1 |  | x"], 2, "bad name \"\""),
    ("unknown type", &["to_server | wave | reliable | w | 1 | to:u17 | x"], 2, "unknown type \"u17\""),
    ("no type", &["to_server | wave | reliable | w | 1 | to | x"], 2, "\"to\" has no type"),
    ("an empty type", &["to_server | wave | reliable | w | 1 | to: | x"], 2, "unknown type \"\""),
    ("two spaces", &["to_server | wave | reliable | w | 1 | a:u8  b:u8 | x"], 2, "bad name \"\""),
    ("a space at the end", &["to_server | wave | reliable | w | 1 | a:u8  | x"], 2, "bad name \"\""),
    (
        "a comma between arguments",
        &["to_server | wave | reliable | w | 1 | a:u8,b:u8 | x"],
        2,
        "unexpected \",b:u8\"",
    ),
    (
        "the same argument twice",
        &["to_server | wave | reliable | w | 1 | a:u8 a:u8 | x"],
        2,
        "\"a\" appears twice",
    ),
    ("unknown unit", &["to_server | wave | reliable | w | 1 | a:u8.miles | x"], 2, "unknown unit \"miles\""),
    ("an empty bound", &["to_server | wave | reliable | w | 1 | a:u8<= | x"], 2, "bad bound \"\""),
    (
        "a bound that is no number",
        &["to_server | wave | reliable | w | 1 | a:u8<=x | x"],
        2,
        "bad bound \"x\"",
    ),
    ("a bound beyond the type", &["to_server | wave | reliable | w | 1 | a:u8<=256 | x"], 2, "bad bound: u8"),
    (
        "a bound that bounds nothing",
        &["to_server | wave | reliable | w | 1 | a:u8<=255 | x"],
        2,
        "bad bound: u8",
    ),
    (
        "text of no characters",
        &["to_server | wave | reliable | w | 1 | a:str<=0 | x"],
        2,
        "must be at least 1",
    ),
    (
        "unknown alternative",
        &["to_server | wave | reliable | w | 1 | a:u8|1 | x"],
        2,
        "unknown alternative \"1\"",
    ),
    (
        "an alternative twice",
        &["to_server | wave | reliable | w | 1 | a:u8|nil|nil | x"],
        2,
        "|nil appears twice",
    ),
    ("an open map", &["to_server | wave | reliable | w | 1 | a:{b:u8 | x"], 2, "expected '}'"),
    ("a map without keys", &["to_server | wave | reliable | w | 1 | a:{} | x"], 2, "bad name \"\""),
    ("an open list", &["to_server | wave | reliable | w | 1 | a:[u8 | x"], 2, "expected ']'"),
    (
        "brackets that do not match",
        &["to_server | wave | reliable | w | 1 | a:(b:u8] | x"],
        2,
        "expected ')'",
    ),
    ("an empty list", &["to_server | wave | reliable | w | 1 | a:[] | x"], 2, "unknown type \"\""),
    (
        "the same member twice",
        &["to_server | wave | reliable | w | 1 | a:[b:u8,b:u8] | x"],
        2,
        "\"b\" appears twice",
    ),
    (
        "too deep",
        &["to_server | wave | reliable | w | 1 | a:[[[[[[u8]]]]]] | x"],
        2,
        "containers are nested more than",
    ),
];

#[test]
fn each_bad_row_is_refused_with_its_line_and_reason() {
    for (what, rows, line, reason) in BAD_ROWS {
        let error = refused(&[("bad.tsv", &table(rows))]);
        let (file, at, found) = self::line(&error);
        assert_eq!((file, at), ("bad.tsv", line), "{what}: {error}");
        assert!(found.contains(reason), "{what}: {error}");
        assert!(error.to_string().starts_with(&format!("bad.tsv:{line}: ")), "{what}");
    }
}

#[test]
fn each_bad_heading_is_refused() {
    for (what, heading, reason) in [
        ("nothing", "", "the heading must be"),
        ("no dialect", "direction\tname\tlane\targuments\tmeaning", "the heading must be"),
        ("another order", "name\tdirection\tlane\tlegacy:str\targuments\tmeaning", "the heading must be"),
        ("no meaning", "direction\tname\tlane\tlegacy:str\tletters:str\targuments", "the heading must be"),
        ("no kind of code", "direction\tname\tlane\tlegacy\targuments\tmeaning", "must end in :str or :int"),
        ("another kind", "direction\tname\tlane\tlegacy:bin\targuments\tmeaning", "must end in :str or :int"),
        ("no name", "direction\tname\tlane\t:str\targuments\tmeaning", "bad dialect name"),
        ("a name in capitals", "direction\tname\tlane\tG1:str\targuments\tmeaning", "bad dialect name"),
        ("a dialect twice", "direction\tname\tlane\ta:str\ta:int\targuments\tmeaning", "two columns"),
    ] {
        let error = refused(&[("bad.tsv", heading)]);
        let (file, line, found) = line(&error);
        assert_eq!((line, file), (1, "bad.tsv"), "{what}");
        assert!(found.contains(reason), "{what}: {error}");
    }
}

#[test]
fn a_dialect_belongs_to_one_file() {
    let text = table(&["to_server | wave | reliable | w | 1 | - | x"]);
    let error = refused(&[("a.tsv", &text), ("b.tsv", &text)]);
    let (file, line, reason) = line(&error);
    assert_eq!((file, line), ("b.tsv", 1));
    assert!(reason.contains("already has a column in a.tsv"), "{error}");
}

#[test]
fn too_many_rows_are_refused() {
    let rows = |count: usize| {
        let heading = "direction\tname\tlane\tx:str\targuments\tmeaning\n".to_owned();
        (0..count).fold(heading, |text, row| text + &format!("to_server\tp{row}\treliable\tc{row}\t-\t\n"))
    };
    assert!(PacketTables::from_texts(&[("full.tsv", rows(limits::TABLE_ROWS))]).is_ok());
    let error = refused(&[("bad.tsv", &rows(limits::TABLE_ROWS + 1))]);
    let (_, line, reason) = line(&error);
    assert_eq!(line, limits::TABLE_ROWS + 2);
    assert!(reason.contains("too many rows"), "{error}");
}

/// The built-in tables with one text replaced.
fn spoiled(from: &str, to: &str) -> Result<PacketTables, TableError> {
    let texts = BUILTIN.map(|(file, text)| (file, text.replacen(from, to, 1)));
    assert!(
        texts.iter().zip(BUILTIN).any(|(spoiled, whole)| spoiled.1 != whole.1),
        "{from} is not in the tables"
    );
    PacketTables::from_texts(&texts)
}

#[test]
fn packets_that_the_server_speaks_or_needs_must_fit() {
    for (from, to, reason) in [
        ("direction:num.rad|nil", "angle:num.rad|nil", "move lacks the argument \"direction\""),
        ("direction:num.rad|nil", "direction:str", "the argument direction:str of move has a type"),
        ("mode:u8<=3", "mode:str", "the argument mode:str of hello has a type"),
        ("text:str<=30", "text:u8", "the argument text:u8 of chat has a type"),
        (" is_you:bool", "", "sends more arguments than add_player has"),
        (" is_you:bool", " is_you:flag", "own packet add_player would not keep its values"),
        ("players:[sid:u32,", "players:[sid:u32,clan:u32,", "own packet update_players does not match"),
        ("hat:u16,", "hat:str,", "own packet update_players does not match"),
        (
            "moved:[player:u16,dx:i32.hpx,dy:i32.hpx]",
            "moved:[player:u16]",
            "own packet update does not match",
        ),
    ] {
        let error = (Moo::INFO.check)(&spoiled(from, to).expect("a table")).expect_err(to).to_string();
        assert!(error.contains(reason), "{to:?}: {error}");
        let is_row = |file: &str, line: usize| error.starts_with(&format!("{file}:{line}: "));
        let lines = |(file, text): (&'static str, &'static str)| {
            text.lines().zip(1..).map(move |(line, at)| (file, line, at))
        };
        let mut rows = BUILTIN.into_iter().flat_map(lines);
        assert!(rows.any(|(file, line, at)| line.contains(from) && is_row(file, at)), "{error}");
    }
}

#[test]
fn other_tables_may_leave_packets_out_and_name_others() {
    let codes =
        PacketTables::from_texts(&[("mine.tsv", table(&["to_server | wave | reliable | w | 1 | - | x"]))]);
    let codes = codes.expect("a good table");
    let legacy = codes.dialect("legacy").expect("its column");
    assert_eq!(legacy.prefix(tickwire::packet::Direction::ToClient, "update_players"), None);
    assert!(codes.dialect("letters").is_none());
}

#[test]
fn tables_that_a_server_cannot_serve_are_refused_by_file_and_packet() {
    let row = |name: &str| {
        let (_, native) = BUILTIN[1];
        let found = native.lines().find(|line| line.starts_with(name));
        format!("{}\n", found.expect("a row"))
    };
    let say = row("to_client\tnotice");
    for (from, to, reason) in [
        (row("to_server\thello"), String::new(), Some("native lacks the packet hello to_server")),
        (row("to_client\tupdate"), String::new(), Some("native lacks the packet update to_client")),
        (say.clone(), say.replace("reliable", "latest"), Some("lane of notice: must be reliable")),
        (
            "player:u16 x:u16.px y:u16.px".to_owned(),
            "player:u16 y:u16.px x:u16.px".to_owned(),
            Some("arguments of map_ping: y is in the place of x"),
        ),
        (
            "moved:[player:u16,dx:i32.hpx,dy:i32.hpx]".to_owned(),
            "moved:[player:u16,dy:i32.hpx,dx:i32.hpx]".to_owned(),
            Some("arguments of update: moved:player,dy,dx is in the place of moved:player,dx,dy"),
        ),
        (say.clone(), String::new(), None),
        (say.clone(), say.replace("text:str<=60", "text:str<=90 colour:u8|nil"), None),
    ] {
        let served = (Moo::INFO.check)(&spoiled(&from, &to).expect("good tables"));
        match (served, reason) {
            (Ok(()), None) => {}
            (Err(TableError::Game(error)), Some(reason)) => {
                assert!(error.contains(reason) && error.starts_with("native.tsv: "), "{error}");
            }
            other => panic!("{to:?}: {other:?}"),
        }
    }
}

#[test]
fn a_capture_brings_its_tables_and_others_are_refused() {
    let own = |text: &str| vec![("mine.tsv".to_owned(), text.to_owned())];
    let (good, other) = (
        table(&["to_server | wave | reliable | w | 1 | - | x"]),
        table(&["to_server | wave | reliable | w | 2 | - | x"]),
    );
    let given =
        |text: &str| Some(PacketTables::from_texts(&[("given.tsv", text)]).expect("a good table").into());
    let of = |carried, given| {
        let codes = PacketTables::for_capture(carried, given);
        codes.map(|codes| codes.tables[0].file.clone()).map_err(|error| error.to_string())
    };
    assert_eq!(of(None, None).as_deref(), Ok("moomoo.tsv"));
    assert_eq!(of(None, given(&good)).as_deref(), Ok("given.tsv"));
    assert_eq!(of(Some(own(&good)), None).as_deref(), Ok("mine.tsv"));
    assert_eq!(of(Some(own(&good)), given(&good)).as_deref(), Ok("mine.tsv"));
    let refused = of(Some(own(&good)), given(&other)).expect_err("others");
    assert!(
        refused.contains("native:1") && refused.contains("native:2") && refused.contains("--codes"),
        "{refused}"
    );
    let refused = of(Some(own("nonsense")), None).expect_err("no table");
    assert!(refused.contains("cannot use the packet tables in the capture: mine.tsv:1: "), "{refused}");
}

/// A row in the other lane would break what the table promises, and ends every client of a debug build.
#[test]
fn a_game_of_one_file_refuses_each_packet_to_clients_that_has_the_other_lane() {
    let (file, text) = Simple::<Tanks>::TABLES[0];
    let check = |text: &str| {
        Simple::<Tanks>::INFO.check_tables(&PacketTables::from_texts(&[(file, text)]).expect("a table"))
    };
    assert_eq!(check(text), Ok(()));
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("to_client\t")).collect();
    for row in &rows {
        let cells: Vec<&str> = row.split('\t').collect();
        let (lane, other) = (cells[2], if cells[2] == "latest" { "reliable" } else { "latest" });
        let moved = row.replacen(&format!("\t{lane}\t"), &format!("\t{other}\t"), 1);
        let error = check(&text.replace(row, &moved)).expect_err(row).to_string();
        assert!(error.contains(cells[1]) && error.contains(lane), "{row}: {error}");
    }
    // An event that only this game has.
    let event = "to_client\tview\tlatest\t99\ttext:str\tan event\n";
    let error = check(&format!("{text}{event}")).expect_err("it cannot be sent");
    assert_eq!(
        error.to_string(),
        "the packet view to clients has the lane latest: must be reliable, because it is an event, and \
         every event arrives; change the lane in its row of the table"
    );
}
