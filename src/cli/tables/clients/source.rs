//! Lines of source, names and comments of the clients in other languages.

use crate::game::simple::{ChangeList, EntityLayout, Velocity};
use crate::packet::grammar::{Argument, Shape, Type, Unit};
use crate::packet::{Code, Dialect, Direction, Row};

/// Lines of source with an indentation.
pub struct Lines {
    pub text: String,
    unit: &'static str,
    depth: usize,
}

impl Lines {
    pub fn new(unit: &'static str) -> Lines {
        Lines { text: String::new(), unit, depth: 0 }
    }

    /// Appends a line. An empty line has no indentation.
    pub fn line(&mut self, line: impl AsRef<str>) {
        if !line.as_ref().is_empty() {
            self.text.push_str(&self.unit.repeat(self.depth));
            self.text.push_str(line.as_ref());
        }
        self.text.push('\n');
    }

    /// Appends a line, after which the lines up to [`Lines::close`] are indented.
    pub fn open(&mut self, line: impl AsRef<str>) {
        self.line(line);
        self.depth += 1;
    }

    pub fn close(&mut self) {
        self.depth -= 1;
    }
}

/// The class name of a packet, of an argument or of a dialect: without the `_` or `-` before a
/// letter. Two names never become the same class name.
pub fn class_name(name: &str) -> String {
    let mut out = String::new();
    let mut chars = name.replace('-', "_");
    if !chars.starts_with(|first: char| first.is_ascii_lowercase()) {
        // A dialect may begin with a digit.
        chars.insert(0, '_');
    }
    let mut chars = chars.chars().peekable();
    let mut begins = true;
    while let Some(ch) = chars.next() {
        let is_dropped = ch == '_' && chars.peek().is_some_and(char::is_ascii_lowercase);
        if !is_dropped {
            out.push(if begins { ch.to_ascii_uppercase() } else { ch });
        }
        begins = is_dropped;
    }
    out
}

/// The name, followed by `_` if it is one of the reserved words, also with `_` at its end. Two
/// names never become the same name.
pub fn escaped(name: String, reserved: &str) -> String {
    let is_reserved = reserved.split(' ').any(|word| word == name.trim_end_matches('_'));
    if is_reserved { name + "_" } else { name }
}

/// The class name of the records of an argument.
pub fn record_name(argument: &str) -> String {
    class_name(argument) + "Record"
}

/// The members of the record in a type: of a map, a tuple, a group, or the entries of a list.
pub fn record_of(ty: &Type) -> Option<&[Argument]> {
    match &ty.shape {
        Shape::Map(members) | Shape::Tuple(members) | Shape::Groups { members, .. } => Some(members),
        Shape::List { each, .. } => record_of(each),
        _ => None,
    }
}

/// Whether the number 0 in place of a value means that there is none. For a number or a bool, it is
/// a value.
pub fn may_be_zero(ty: &Type) -> bool {
    let is_scalar =
        matches!(ty.shape, Shape::Int { .. } | Shape::Num { .. } | Shape::Bool | Shape::Flag | Shape::Any);
    ty.or_zero && !is_scalar
}

/// Whether the connection sets this argument: the number of a command.
pub fn is_sequence(row: &Row, argument: &Argument) -> bool {
    row.direction == Direction::ToServer && argument.name == "sequence" && !argument.ty.or_nil
}

/// The type in the notation of the tables, and the meaning of its unit. Empty for a container
/// without a bound, whose members have their own notes.
pub fn note(ty: &Type) -> String {
    match &ty.shape {
        Shape::Int { unit: Some(unit), .. } | Shape::Num { unit: Some(unit) } => {
            format!("{ty}: {}", unit_sentence(*unit))
        }
        _ if record_of(ty).is_some() => match container_note(ty) {
            note if note.chars().count() == "[…]".chars().count() => String::new(),
            note => note,
        },
        _ => ty.to_string(),
    }
}

/// A note as a comment after code, with the mark that begins a comment.
pub fn remark(mark: &str, note: &str) -> String {
    if note.is_empty() { String::new() } else { format!("{mark}{note}") }
}

/// The notation of a container without its members.
pub fn container_note(ty: &Type) -> String {
    let (text, mut out, mut depth) = (ty.to_string(), String::new(), 0);
    for ch in text.chars() {
        let is_close = matches!(ch, '}' | ')' | ']');
        depth -= usize::from(is_close);
        if depth == 0 {
            out.push_str(if is_close { "…" } else { "" });
            out.push(ch);
        }
        depth += usize::from(matches!(ch, '{' | '(' | '['));
    }
    out
}

pub fn unit_sentence(unit: Unit) -> String {
    let sentence = unit.sentence().trim_end_matches('.');
    let (first, rest) = sentence.split_at(1);
    first.to_ascii_lowercase() + rest
}

/// The code as a literal, which all three languages share: a number, or text in quotes.
pub fn code_literal(row: &Row, dialect: &Dialect) -> String {
    match row.code(dialect.name()) {
        Some(Code::Int(code)) => code.to_string(),
        Some(Code::Str(code)) => quoted(code),
        None => String::new(),
    }
}

/// The class name of the first packet to the server, for an example.
pub fn first_packet(dialect: &Dialect) -> String {
    dialect.rows(Direction::ToServer).next().map_or("Hello".to_owned(), |row| class_name(&row.name))
}

/// A string literal, which all three languages share.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The comment of one direction.
pub fn side_comment(direction: Direction) -> &'static str {
    match direction {
        Direction::ToServer => "Packets from the client to the server.",
        Direction::ToClient => "Packets from the server to the client.",
    }
}

pub fn side_name(direction: Direction) -> &'static str {
    match direction {
        Direction::ToServer => "ToServer",
        Direction::ToClient => "ToClient",
    }
}

/// The layout of an entity list; `None` if the row is no entity list, or an invalid one.
pub fn entity_layout(row: &Row) -> Option<EntityLayout> {
    EntityLayout::of(row)?.ok()
}

/// The sentences about velocities in the comment of `apply`: its last parameter, and the rules.
pub fn velocity_comment(parameter: &str, none: &str) -> [String; 2] {
    [
        format!(
            "`{parameter}` is the tick of the previous packet of this list, {none} for the first one after `welcome`."
        ),
        "Entities first advance by their velocities. A changed velocity applies to the last tick already."
            .to_owned(),
    ]
}

/// Whether a local of `apply` in a layout with velocities hides the argument with this name.
pub fn is_hidden(layout: &EntityLayout, argument: &str) -> bool {
    !layout.velocities.is_empty() && ["last_tick", "ticks"].contains(&argument)
}

/// The names of each field with a velocity and of its velocity.
pub fn velocity_names(layout: &EntityLayout, field_name: fn(&str) -> String) -> Vec<[String; 2]> {
    let name = |field: usize| field_name(&layout.fields[field].name);
    layout.velocities.iter().map(|of| [name(of.field), name(of.velocity)]).collect()
}

/// The statements, without an end, that apply the record `change` of a change list to an entity.
/// `cast` precedes a velocity that is added to its field.
pub fn change_statements(
    layout: &EntityLayout,
    changes: &ChangeList,
    entity: &str,
    field_name: fn(&str) -> String,
    cast: impl Fn(&Velocity) -> &'static str,
) -> Vec<String> {
    let member_of = |field: usize| format!("{entity}.{}", field_name(&layout.fields[field].name));
    let mut statements = Vec::new();
    for member in &changes.members {
        let (operator, prefix) = if member.difference.is_some() { ("+=", "d") } else { ("=", "") };
        let changed = field_name(&format!("{prefix}{}", layout.fields[member.field].name));
        let target = member_of(member.field);
        // In the last tick, the entity has moved with the new velocity already.
        let velocity = layout.velocities.iter().find(|velocity| velocity.velocity == member.field);
        let moved = |operator: &str| {
            velocity.map(|velocity| {
                format!("{} {operator} {}{target}", member_of(velocity.field), cast(velocity))
            })
        };
        statements.extend(moved("-="));
        statements.push(format!("{target} {operator} change.{changed}"));
        statements.extend(moved("+="));
    }
    statements
}
