//! Prints the packet tables as TypeScript types for a client: for each dialect the packets of each
//! direction with their values by name, and the codes.
//!
//! The file contains only types, so it works as `.ts` and as `.d.ts`, also for JavaScript with
//! JSDoc.

use std::fmt::Write as _;

use crate::packet::grammar::{Argument, Shape, Type, Unit};
use crate::packet::tables::Table;
use crate::packet::{Code, Direction, PacketTables, Row};

/// The start of the file: the format of a message, and the types that all packets share.
/// `TO_SERVER` and `TO_CLIENT` are placeholders for the types of the first dialect.
const TS_HEAD: &str = "\
// The packets of a tickwire server as types, printed by `tickwire codes --format typescript`. When the
// packet tables change, print this file again.
//
// They are the types of `connect` in a tickwire server's `/tickwire.js`, whose own types are beside it in
// `/tickwire.d.ts`: `connect<TO_SERVER, TO_CLIENT>()`. An argument that may be null may be left
// out of a packet to the server; in a packet to the client it is there.
//
// On the wire, a message is `[code, [argument, …]]` in MessagePack, or in JSON at a URL with `?format=json`.
// The arguments are in the order of a packet's properties here. The comment of a property has its type in
// the notation of the tables (PROTOCOL.md, \"The type grammar\"), and the unit of its number.

/** 0 or 1. */
export type Flag = 0 | 1;

/** The packets of one direction as a union: a name, and the values by name. */
export type Packet<Side> = { [Name in keyof Side]: { name: Name; values: Side[Name] } }[keyof Side];
";

/// Prints the whole file.
pub fn print(codes: &PacketTables) -> String {
    let first = codes.tables.iter().flat_map(|table| &table.dialects).next();
    let first = first.map_or("", String::as_str);
    let mut out = TS_HEAD
        .replace("TO_SERVER", &type_name(first, Direction::ToServer))
        .replace("TO_CLIENT", &type_name(first, Direction::ToClient));
    for table in &codes.tables {
        for direction in Direction::ALL {
            let mut printed: Vec<(&str, Vec<&Row>)> = Vec::new();
            for dialect in &table.dialects {
                let rows = rows(table, direction, dialect);
                let alike = printed.iter().find(|(_, known)| *known == rows).map(|(known, _)| *known);
                out.push('\n');
                out.push_str(&side(dialect, direction, &rows, alike));
                printed.push((dialect, rows));
            }
        }
    }
    out.push('\n');
    out + &all_codes(codes)
}

fn rows<'t>(table: &'t Table, direction: Direction, dialect: &str) -> Vec<&'t Row> {
    let rows = table.rows.iter().map(AsRef::as_ref);
    rows.filter(|row| row.direction == direction && row.code(dialect).is_some()).collect()
}

/// One direction of a dialect: its packets by name, and their union. A dialect with the same
/// packets as an earlier dialect refers to that dialect.
fn side(dialect: &str, direction: Direction, rows: &[&Row], alike: Option<&str>) -> String {
    let name = type_name(dialect, direction);
    let (from, to) = match direction {
        Direction::ToServer => ("client", "server"),
        Direction::ToClient => ("server", "client"),
    };
    let mut out =
        format!("/** Packets of the dialect {dialect} from a {from} to the {to}: values by name. */\n");
    match alike {
        Some(known) => {
            let _ = writeln!(out, "export type {name} = {};", type_name(known, direction));
        }
        None => {
            let _ = writeln!(out, "export interface {name} {{");
            rows.iter().for_each(|row| out.push_str(&packet(row)));
            out.push_str("}\n");
        }
    }
    let _ = writeln!(out, "/** One of those packets. */\nexport type {name}Packet = Packet<{name}>;");
    out
}

/// The type name for one direction of a dialect, such as `Letters_2024ToServer`. Dialect names
/// contain no `_` and no capitals, so type names are unique.
fn type_name(dialect: &str, direction: Direction) -> String {
    let dialect = dialect.replace('-', "_");
    let (first, rest) = dialect.split_at_checked(1).unwrap_or_default();
    // A type name cannot start with a digit.
    let mark = if first.bytes().all(|byte| byte.is_ascii_lowercase()) { "" } else { "$" };
    let direction = match direction {
        Direction::ToServer => "ToServer",
        Direction::ToClient => "ToClient",
    };
    format!("{mark}{}{rest}{direction}", first.to_ascii_uppercase())
}

fn packet(row: &Row) -> String {
    let mut out = if row.meaning.is_empty() { String::new() } else { comment(2, &row.meaning) };
    if row.arguments.is_empty() {
        let _ = writeln!(out, "  {}: {{}};", row.name);
        return out;
    }
    let _ = writeln!(out, "  {}: {{", row.name);
    for argument in &row.arguments {
        let mark = if argument.ty.or_nil { "?" } else { "" };
        out.push_str(&comment(4, &notes(&argument.ty)));
        let _ = writeln!(out, "    {}{mark}: {};", argument.name, value(&argument.ty));
    }
    out + "  };\n"
}

fn comment(indent: usize, text: &str) -> String {
    let text = text.replace("*/", "* /");
    format!("{:indent$}/** {text} */\n", "")
}

/// The type in the notation of the tables, and the meaning of its units.
fn notes(kind: &Type) -> String {
    let mut units = Vec::new();
    collect_units(kind, &mut units);
    let meanings = units.iter().map(|unit| format!(" {}: {}", unit.name(), unit.sentence()));
    format!("`{kind}`.{}", meanings.collect::<String>())
}

fn collect_units(kind: &Type, units: &mut Vec<Unit>) {
    match &kind.shape {
        Shape::Int { unit: Some(unit), .. } | Shape::Num { unit: Some(unit) } if !units.contains(unit) => {
            units.push(*unit);
        }
        Shape::Map(members) | Shape::Tuple(members) | Shape::Groups { members, .. } => {
            members.iter().for_each(|member| collect_units(&member.ty, units));
        }
        Shape::List { each, .. } => collect_units(each, units),
        _ => {}
    }
}

/// The TypeScript type of a value.
fn value(kind: &Type) -> String {
    let shape = match &kind.shape {
        Shape::Bool => "boolean".to_owned(),
        Shape::Flag => "Flag".to_owned(),
        Shape::Any => "unknown".to_owned(),
        Shape::Int { .. } | Shape::Num { .. } => "number".to_owned(),
        Shape::Str { .. } => "string".to_owned(),
        Shape::Bin { .. } => "Uint8Array".to_owned(),
        Shape::Map(members) => format!("{{ {} }}", labelled(members, "; ", true)),
        Shape::Tuple(members) => format!("{{ {} }}", labelled(members, "; ", false)),
        Shape::Groups { members, .. } => format!("Array<{{ {} }}>", labelled(members, "; ", false)),
        Shape::List { each, .. } => match &each.shape {
            // Stays a tuple as on the wire, because `codes.json` does not list the members of an
            // entry.
            Shape::Tuple(members) => format!("Array<[{}]>", labelled(members, ", ", false)),
            _ => format!("Array<{}>", value(each)),
        },
    };
    let or = |is: bool, text: &str| if is { format!(" | {text}") } else { String::new() };
    shape + &or(kind.or_zero, "0") + &or(kind.or_nil, "null")
}

/// Members with their names. In a map, a member that may be null is optional.
fn labelled(members: &[Argument], separator: &str, is_optional: bool) -> String {
    let member = |member: &Argument| {
        let mark = if is_optional && member.ty.or_nil { "?" } else { "" };
        format!("{}{mark}: {}", member.name, value(&member.ty))
    };
    members.iter().map(member).collect::<Vec<_>>().join(separator)
}

/// The code of each packet, as literal types.
fn all_codes(codes: &PacketTables) -> String {
    let mut out =
        "/** The code of each packet, by dialect and direction. */\nexport interface Codes {\n".to_owned();
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    for table in &codes.tables {
        for dialect in &table.dialects {
            let _ = writeln!(out, "  {}: {{", quoted(dialect));
            for direction in Direction::ALL {
                let rows = rows(table, direction, dialect);
                let _ = writeln!(out, "    {}: {{", direction.name());
                for row in rows {
                    let code = match row.code(dialect) {
                        Some(Code::Int(code)) => code.to_string(),
                        Some(Code::Str(code)) => quoted(code),
                        None => continue,
                    };
                    let _ = writeln!(out, "      {}: {code};", row.name);
                }
                out.push_str("    };\n");
            }
            out.push_str("  };\n");
        }
    }
    out + "}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
direction\tname\tlane\tone-2:str\t2two:int\tthree:int\targuments\tmeaning
to_server\tgo\treliable\tg\"\\\t1\t1\twhere:{x:num.px,y:num.px|nil}|nil state:flag at:u32.tick|nil\tgo */ there
to_server\tstop\treliable\ts\t-\t-\t-\t
to_client\tmap\tlatest\tm\t2\t3\tcells:[[u8]]|0|nil body:(x:i32.hpx,name:str<=3) moved:[id:u16,is:bool]<=9 pairs:[(a:u8,b:str)] more:any|nil\tthe map
";

    const EXPECTED: &str = r#"
/** Packets of the dialect one-2 from a client to the server: values by name. */
export interface One_2ToServer {
  /** go * / there */
  go: {
    /** `{x:num.px,y:num.px|nil}|nil`. px: Pixels of the map. */
    where?: { x: number; y?: number | null } | null;
    /** `flag`. */
    state: Flag;
    /** `u32.tick|nil`. tick: Ticks of the world. */
    at?: number | null;
  };
  stop: {};
}
/** One of those packets. */
export type One_2ToServerPacket = Packet<One_2ToServer>;

/** Packets of the dialect 2two from a client to the server: values by name. */
export interface $2twoToServer {
  /** go * / there */
  go: {
    /** `{x:num.px,y:num.px|nil}|nil`. px: Pixels of the map. */
    where?: { x: number; y?: number | null } | null;
    /** `flag`. */
    state: Flag;
    /** `u32.tick|nil`. tick: Ticks of the world. */
    at?: number | null;
  };
}
/** One of those packets. */
export type $2twoToServerPacket = Packet<$2twoToServer>;

/** Packets of the dialect three from a client to the server: values by name. */
export type ThreeToServer = $2twoToServer;
/** One of those packets. */
export type ThreeToServerPacket = Packet<ThreeToServer>;

/** Packets of the dialect one-2 from a server to the client: values by name. */
export interface One_2ToClient {
  /** the map */
  map: {
    /** `[[u8]]|0|nil`. */
    cells?: Array<Array<number>> | 0 | null;
    /** `(x:i32.hpx,name:str<=3)`. hpx: Half pixels. */
    body: { x: number; name: string };
    /** `[id:u16,is:bool]<=9`. */
    moved: Array<{ id: number; is: boolean }>;
    /** `[(a:u8,b:str)]`. */
    pairs: Array<[a: number, b: string]>;
    /** `any|nil`. */
    more?: unknown | null;
  };
}
"#;

    #[test]
    fn each_shape_is_a_type() {
        let text = print(&PacketTables::from_texts(&[("t.tsv", TABLE)]).expect("a good table"));
        let at = text.find("\n/** Packets").expect("the first side");
        assert!(text[..at].contains("`connect<One_2ToServer, One_2ToClient>()`"), "{text}");
        assert!(text[at..].starts_with(EXPECTED), "{}", &text[at..]);
        let codes = r#"export interface Codes {
  "one-2": {
    to_server: {
      go: "g\"\\";
      stop: "s";
    };
    to_client: {
      map: "m";
    };
  };
  "2two": {
    to_server: {
      go: 1;
    };
"#;
        assert!(text.contains(codes), "{text}");
        assert!(text.ends_with("  };\n}\n"));
    }
}
