//! Prints a client in GDScript for Godot 4: each packet is a class, whose method `arguments` names
//! its variables in the order of the table.
//!
//! GDScript rejects a class with the name of a class of Godot, such as `Timer`, so that the classes
//! of packets end in `Packet`.

use super::source::{
    Lines, change_statements, class_name, code_literal, entity_layout, escaped, is_hidden, is_sequence,
    may_be_zero, note, quoted, record_name, record_of, remark, side_comment, side_name, velocity_comment,
    velocity_names,
};
use crate::game::simple::EntityLayout;
use crate::packet::grammar::{Argument, Shape, Type};
use crate::packet::{Dialect, Direction, Row};

/// The parts of the file that are the same for all tables. `DIALECT` is a placeholder.
const RUNTIME: [&str; 3] = [
    include_str!("runtime/client.gd"),
    include_str!("runtime/messagepack.gd"),
    include_str!("runtime/connection.gd"),
];

/// Names that an argument cannot have: keywords and types, members of all objects, functions that
/// it would shadow, and the names that the methods of a packet use.
const RESERVED: &str = "\
    and as assert await bool break breakpoint class class_name const continue elif else enum \
    export extends false float for func if in int is master match namespace not null onready or \
    pass preload puppet remote return self setget signal static super sync tool trait true var \
    void when while yield call connect disconnect free get get_class is_class notification \
    reference script set tr to_string unreference abs ceil char clamp convert exp floor hash \
    inverse_lerp len lerp load log max min pow print range round seed sign sqrt str apply \
    arguments change codec entities entity number one to_dictionary with";

/// Prints the whole file.
pub fn print(dialect: &Dialect) -> String {
    let mut out = Lines::new("\t");
    let title = "# ---- the packets ";
    out.line(format!("{title}{}", "-".repeat(120 - title.len())));
    for direction in Direction::ALL {
        out.line("");
        out.line(format!("# {}", side_comment(direction)));
        out.open(format!("class {}:", side_name(direction)));
        create(&mut out, dialect, direction);
        dialect.rows(direction).for_each(|row| packet(&mut out, row, dialect));
        out.close();
        out.line("");
    }
    let runtime = RUNTIME.map(str::trim_end).join("\n\n\n").replace("DIALECT", dialect.name());
    format!("{runtime}\n\n\n{}", out.text)
}

/// The function that returns a new packet by its code.
fn create(out: &mut Lines, dialect: &Dialect, direction: Direction) {
    out.line("# A new packet by its code, or null.");
    out.open("static func create(code):");
    out.open("match code:");
    for row in dialect.rows(direction) {
        out.line(format!("{}: return {}.new()", code_literal(row, dialect), packet_class(row)));
    }
    out.close();
    out.line("return null");
    out.close();
}

fn packet_class(row: &Row) -> String {
    class_name(&row.name) + "Packet"
}

fn packet(out: &mut Lines, row: &Row, dialect: &Dialect) {
    out.line("");
    if !row.meaning.is_empty() {
        out.line(format!("# {}", row.meaning));
    }
    out.open(format!("class {} extends Packet:", packet_class(row)));
    members(out, &row.arguments, Some(row));
    function(out, "packet_name() -> String", &format!("return \"{}\"", row.name));
    function(out, "packet_code()", &format!("return {}", code_literal(row, dialect)));
    if let Some(layout) = entity_layout(row) {
        apply(out, row, &layout);
    }
    out.close();
}

fn function(out: &mut Lines, head: &str, body: &str) {
    out.line("");
    out.open(format!("func {head}:"));
    out.line(body);
    out.close();
}

/// The record classes of some members, a variable for each member, and the method that names them.
/// `row` is the packet that has these members as its arguments.
fn members(out: &mut Lines, members: &[Argument], row: Option<&Row>) {
    let is_sequence = |member: &Argument| row.is_some_and(|row| is_sequence(row, member));
    for member in members {
        let Some(record) = record_of(&member.ty) else { continue };
        out.line(format!("# A record of `{}`.", member.name));
        out.open(format!("class {} extends Record:", record_name(&member.name)));
        self::members(out, record, None);
        out.close();
        out.line("");
    }
    for member in members {
        let name = variable_name(&member.name);
        let (value, set) = match is_sequence(member) {
            true => (" = null".to_owned(), "; null: set by `send`"),
            false => (type_and_value(&member.ty, &record_name(&member.name)), ""),
        };
        out.line(format!("var {name}{value}{}", remark(" # ", &(note(&member.ty) + set))));
    }
    if members.is_empty() {
        // The method of the base class names nothing.
        return;
    }
    out.line("");
    out.open("func arguments(codec) -> void:");
    for member in members {
        let name = variable_name(&member.name);
        let (method, options) = method(&member.ty, &record_name(&member.name));
        let options: String = options.iter().map(|option| format!(", {option}")).collect();
        out.line(format!("{name} = codec.{method}({}, {name}{options})", quoted(&member.name)));
    }
    out.close();
}

fn variable_name(name: &str) -> String {
    escaped(name.to_owned(), RESERVED)
}

/// The type of a variable and its first value. A variable that may be null has no type.
fn type_and_value(ty: &Type, class: &str) -> String {
    if ty.or_nil || may_be_zero(ty) {
        return " = null".to_owned();
    }
    match &ty.shape {
        Shape::Bool | Shape::Flag => ": bool = false".to_owned(),
        Shape::Any => " = null".to_owned(),
        Shape::Int { .. } => ": int = 0".to_owned(),
        Shape::Num { .. } => ": float = 0.0".to_owned(),
        Shape::Str { .. } => ": String = \"\"".to_owned(),
        Shape::Bin { .. } => ": PackedByteArray = PackedByteArray()".to_owned(),
        Shape::Map(_) | Shape::Tuple(_) => format!(" = {class}.new()"),
        Shape::Groups { .. } | Shape::List { .. } => ": Array = []".to_owned(),
    }
}

/// The method of the codec for a type, and its arguments after the name and the value.
fn method(ty: &Type, class: &str) -> (String, Vec<String>) {
    let most = |max: &Option<usize>| max.map_or("0x7fffffff".to_owned(), |max| max.to_string());
    let absent = [ty.or_nil.to_string(), may_be_zero(ty).to_string()];
    let (name, options) = match &ty.shape {
        Shape::Any => return ("any".to_owned(), Vec::new()),
        Shape::Bool => ("boolean", vec![]),
        Shape::Flag => ("flag", vec![]),
        Shape::Num { .. } => ("number", vec![]),
        Shape::Int { min, max, .. } => ("integer", vec![min.to_string(), max.to_string()]),
        Shape::Str { max } => ("string", vec![most(max)]),
        Shape::Bin { max } => ("bytes", vec![most(max)]),
        Shape::Map(_) => ("map", vec![class.to_owned()]),
        Shape::Tuple(_) => ("tuple", vec![class.to_owned()]),
        Shape::Groups { members, max } => {
            ("groups", vec![class.to_owned(), members.len().to_string(), most(max)])
        }
        Shape::List { max, .. } => ("list", vec![most(max)]),
    };
    let is_scalar = matches!(ty.shape, Shape::Bool | Shape::Flag | Shape::Num { .. } | Shape::Int { .. });
    if is_scalar {
        return (format!("{}{name}", if ty.or_nil { "optional_" } else { "" }), options);
    }
    let mut options = [options, absent.to_vec()].concat();
    if let Shape::List { each, .. } = &ty.shape {
        let (name, each_options) = method(each, class);
        options.extend([quoted(&name), format!("[{}]", each_options.join(", "))]);
    }
    (name.to_owned(), options)
}

/// The method of an entity list that applies it to the known entities.
fn apply(out: &mut Lines, row: &Row, layout: &EntityLayout) {
    let id = variable_name(&layout.fields[0].name);
    out.line("");
    apply_head(out, layout);
    let list = |name: &str| list(row, layout, name);
    out.open(format!("for entity in {}:", list("leave")));
    out.line("entities.erase(entity)");
    out.close();
    out.open(format!("for one in {}:", list("enter")));
    out.line(format!("entities[one.{id}] = one"));
    out.close();
    if layout.change_lists.iter().any(|changes| changes.has_id_differences) {
        out.line("var number := 0");
    }
    for changes in &layout.change_lists {
        if changes.has_id_differences {
            out.line("number = 0");
        }
        out.open(format!("for change in {}:", list(&changes.name)));
        let key = match changes.has_id_differences {
            true => {
                out.line(format!("number += change.{}", variable_name(&changes.id_name(layout))));
                "number".to_owned()
            }
            false => format!("change.{id}"),
        };
        out.open(format!("if not entities.has({key}):"));
        out.line(format!(
            "push_error(\"{}.{} names an unknown entity: clear the entities at `welcome`\")",
            row.name, changes.name
        ));
        out.line("continue");
        out.close();
        let entity = format!("entities[{key}]");
        for statement in change_statements(layout, changes, &entity, variable_name, |_| "") {
            out.line(statement);
        }
        out.close();
    }
    out.close();
}

/// The signature and the comment of `apply`. Entities with velocities advance to the tick of the
/// packet.
fn apply_head(out: &mut Lines, layout: &EntityLayout) {
    out.line("# Applies the packet to the known entities by id, which are empty at `welcome`.");
    if layout.velocities.is_empty() {
        out.open("func apply(entities: Dictionary) -> void:");
        return;
    }
    velocity_comment("last_tick", "-1").iter().for_each(|line| out.line(format!("# {line}")));
    out.open("func apply(entities: Dictionary, last_tick: int) -> void:");
    out.line("var ticks: int = tick - last_tick if 0 <= last_tick and last_tick < tick else 0");
    out.open("for one in entities.values():");
    for [field, velocity] in velocity_names(layout, variable_name) {
        out.line(format!("one.{field} += one.{velocity} * ticks"));
    }
    out.close();
}

/// An argument that is a list, empty for null.
fn list(row: &Row, layout: &EntityLayout, name: &str) -> String {
    let argument = row.argument(name).map(|index| &row.arguments[index]);
    let this = if is_hidden(layout, name) { "self." } else { "" };
    let name = format!("{this}{}", variable_name(name));
    match argument.is_some_and(|argument| argument.ty.or_nil) {
        true => format!("({name} if {name} != null else [])"),
        false => name,
    }
}
