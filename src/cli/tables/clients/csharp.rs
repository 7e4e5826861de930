//! Prints a client in C#: each packet is a class, whose method `Arguments` names its fields in the
//! order of the table.

use super::source::{
    Lines, change_statements, class_name, code_literal, entity_layout, escaped, first_packet, is_hidden,
    is_sequence, may_be_zero, note, quoted, record_name, record_of, side_comment, side_name,
    velocity_comment, velocity_names,
};
use crate::game::simple::{EntityLayout, Velocity};
use crate::packet::grammar::{Argument, Shape, Type};
use crate::packet::{Dialect, Direction, Row};

/// The parts of the file that are the same for all tables. `DIALECT`, `NAMESPACE` and `FIRST` (a
/// packet) are placeholders.
const RUNTIME: [&str; 3] = [
    include_str!("runtime/codec.cs"),
    include_str!("runtime/messagepack.cs"),
    include_str!("runtime/connection.cs"),
];

/// Keywords, which become names with `@` before them.
const KEYWORDS: &str = "\
    abstract as base bool break byte case catch char checked class const continue decimal \
    default delegate do double else enum event explicit extern false finally fixed float for \
    foreach goto if implicit in int interface internal is lock long namespace new null object \
    operator out override params private protected public readonly ref return sbyte sealed short \
    sizeof stackalloc static string struct switch this throw true try typeof uint ulong \
    unchecked unsafe ushort using virtual void volatile while";

/// Names of locals and parameters in the methods of a packet, which a field cannot have.
const LOCALS: &str = "codec entities entity one change known number";

/// Names that the class of a packet cannot have.
const RESERVED: &str = "Packet Record Codec Wire Create Func";

/// Prints the whole file.
pub fn print(dialect: &Dialect) -> String {
    let mut out = Lines::new("    ");
    open(&mut out, &format!("namespace Tickwire.{}", class_name(dialect.name())));
    out.line("using System;");
    out.line("using System.Collections.Generic;");
    out.line("");
    let title = "// ---- the packets ";
    out.line(format!("{title}{}", "-".repeat(116 - title.len())));
    for direction in Direction::ALL {
        out.line("");
        summary(&mut out, side_comment(direction));
        open(&mut out, &format!("public static class {}", side_name(direction)));
        create(&mut out, dialect, direction);
        dialect.rows(direction).for_each(|row| packet(&mut out, row, dialect));
        close(&mut out);
    }
    close(&mut out);
    let runtime = RUNTIME.join("\n");
    let runtime = runtime
        .replace("DIALECT", dialect.name())
        .replace("NAMESPACE", &class_name(dialect.name()))
        .replace("FIRST", &first_packet(dialect));
    format!("{runtime}\n{}", out.text)
}

fn open(out: &mut Lines, line: &str) {
    out.line(line);
    out.open("{");
}

fn close(out: &mut Lines) {
    out.close();
    out.line("}");
}

/// A comment before code, if there is a text.
fn summary(out: &mut Lines, text: &str) {
    if text.is_empty() {
        return;
    }
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    out.line(format!("/// <summary>{text}</summary>"));
}

/// The function that returns a new packet by its code.
fn create(out: &mut Lines, dialect: &Dialect, direction: Direction) {
    summary(out, "A new packet by its code, or null.");
    open(out, "public static Packet Create(object code)");
    for row in dialect.rows(direction) {
        let code = code_object(row, dialect);
        out.line(format!("if (code.Equals({code})) return new {}();", packet_class(row)));
    }
    out.line("return null;");
    close(out);
}

/// The code as a `long` or a `string`.
fn code_object(row: &Row, dialect: &Dialect) -> String {
    let code = code_literal(row, dialect);
    if code.starts_with('"') { code } else { code + "L" }
}

fn packet_class(row: &Row) -> String {
    escaped(class_name(&row.name), RESERVED)
}

fn packet(out: &mut Lines, row: &Row, dialect: &Dialect) {
    out.line("");
    summary(out, &row.meaning);
    open(out, &format!("public sealed class {} : Packet", packet_class(row)));
    out.line(format!("public override string Name {{ get {{ return \"{}\"; }} }}", row.name));
    out.line(format!("public override object Code {{ get {{ return {}; }} }}", code_object(row, dialect)));
    if row.arguments.iter().any(|argument| is_sequence(row, argument)) {
        out.line("public override long? Sequence { get { return sequence; } set { sequence = value; } }");
    }
    members(out, &row.arguments, Some(row));
    if let Some(layout) = entity_layout(row) {
        apply(out, row, &layout);
    }
    close(out);
}

/// The record classes of some members, a field for each member, and the method that names them.
/// `row` is the packet that has these members as its arguments.
fn members(out: &mut Lines, members: &[Argument], row: Option<&Row>) {
    let is_sequence = |member: &Argument| row.is_some_and(|row| is_sequence(row, member));
    for member in members {
        let Some(record) = record_of(&member.ty) else { continue };
        out.line("");
        summary(out, &format!("A record of `{}`.", member.name));
        open(out, &format!("public sealed class {} : Record", record_name(&member.name)));
        self::members(out, record, None);
        close(out);
    }
    if members.iter().any(|member| record_of(&member.ty).is_some()) {
        out.line("");
    }
    for member in members {
        let set = if is_sequence(member) { "; null: set by SendAsync" } else { "" };
        let class = record_name(&member.name);
        let name = field_name(&member.name);
        summary(out, &(note(&member.ty) + set));
        let (ty, value) = match is_sequence(member) {
            true => ("long?".to_owned(), String::new()),
            false => (field_type(&member.ty, &class), initial_value(&member.ty, &class)),
        };
        out.line(format!("public {ty} {name}{value};"));
    }
    out.line("");
    open(out, "public override void Arguments(Codec codec)");
    for member in members {
        let name = field_name(&member.name);
        let call = match is_sequence(member) {
            // The field is nullable, and a `long` for all integers.
            true => format!("codec.Int(\"sequence\", {name}, {})", bounds(&member.ty)),
            false => call("codec", &quoted(&member.name), &name, &member.ty),
        };
        out.line(format!("{name} = {call};"));
    }
    close(out);
}

/// The name in camel case, such as `coinX`.
fn field_name(name: &str) -> String {
    let class = class_name(name);
    let (first, rest) = class.split_at(1);
    let name = escaped(first.to_ascii_lowercase() + rest, LOCALS);
    if KEYWORDS.split(' ').any(|word| word == name) { format!("@{name}") } else { name }
}

fn is_optional(ty: &Type) -> bool {
    ty.or_nil || may_be_zero(ty)
}

/// The type of a value: `long` for integers that an `int` cannot hold.
fn field_type(ty: &Type, class: &str) -> String {
    let (some, is_value) = match &ty.shape {
        Shape::Bool | Shape::Flag => ("bool".to_owned(), true),
        Shape::Any => ("object".to_owned(), false),
        Shape::Int { .. } => (integer_type(ty).to_owned(), true),
        Shape::Num { .. } => ("double".to_owned(), true),
        Shape::Str { .. } => ("string".to_owned(), false),
        Shape::Bin { .. } => ("byte[]".to_owned(), false),
        Shape::Map(_) | Shape::Tuple(_) => (class.to_owned(), false),
        Shape::Groups { .. } => (format!("List<{class}>"), false),
        Shape::List { each, .. } => (format!("List<{}>", field_type(each, class)), false),
    };
    some + if is_value && ty.or_nil { "?" } else { "" }
}

fn integer_type(ty: &Type) -> &'static str {
    match ty.shape {
        Shape::Int { max, .. } if max > i64::from(i32::MAX) => "long",
        _ => "int",
    }
}

/// The value of a field that must not be null.
fn initial_value(ty: &Type, class: &str) -> String {
    match &ty.shape {
        _ if is_optional(ty) => String::new(),
        Shape::Str { .. } => " = \"\"".to_owned(),
        Shape::Bin { .. } => " = new byte[0]".to_owned(),
        Shape::Map(_) | Shape::Tuple(_) | Shape::Groups { .. } | Shape::List { .. } => {
            format!(" = new {}()", field_type(ty, class))
        }
        _ => String::new(),
    }
}

fn bounds(ty: &Type) -> String {
    match ty.shape {
        Shape::Int { min, max, .. } => format!("{min}, {max}"),
        _ => String::new(),
    }
}

/// The call that writes, reads or prints a value.
fn call(codec: &str, name: &str, value: &str, ty: &Type) -> String {
    let optional = if ty.or_nil { "Optional" } else { "" };
    let most = |max: &Option<usize>| max.unwrap_or(i32::MAX as usize).min(i32::MAX as usize);
    let absent = match may_be_zero(ty) {
        true => format!("{}, true", ty.or_nil),
        false => ty.or_nil.to_string(),
    };
    match &ty.shape {
        Shape::Bool => format!("{codec}.{optional}Bool({name}, {value})"),
        Shape::Flag => format!("{codec}.{optional}Flag({name}, {value})"),
        Shape::Num { .. } => format!("{codec}.{optional}Num({name}, {value})"),
        Shape::Any => format!("{codec}.Any({name}, {value})"),
        Shape::Int { .. } => {
            let cast = match (integer_type(ty), ty.or_nil) {
                ("int", true) => "(int?)",
                ("int", false) => "(int)",
                _ => "",
            };
            format!("{cast}{codec}.{optional}Int({name}, {value}, {})", bounds(ty))
        }
        Shape::Str { max } => format!("{codec}.Text({name}, {value}, {}, {absent})", most(max)),
        Shape::Bin { max } => format!("{codec}.Bytes({name}, {value}, {}, {absent})", most(max)),
        Shape::Tuple(_) => format!("{codec}.Tuple({name}, {value}, {absent})"),
        Shape::Map(members) => {
            let keys: Vec<String> = members.iter().map(|member| quoted(&member.name)).collect();
            format!("{codec}.Map({name}, {value}, new[] {{ {} }}, {absent})", keys.join(", "))
        }
        Shape::Groups { members, max } => {
            format!("{codec}.Groups({name}, {value}, {}, {}, {absent})", members.len(), most(max))
        }
        Shape::List { each, max } => {
            // A nested lambda needs other names than the outer one.
            let (inner, one) = match codec {
                "codec" => ("c".to_owned(), "one".to_owned()),
                _ => (format!("{codec}c"), format!("{value}s")),
            };
            let each = call(&inner, "null", &one, each);
            let absent = format!("{}, {}", ty.or_nil, may_be_zero(ty));
            format!("{codec}.List({name}, {value}, {}, {absent}, ({inner}, {one}) => {each})", most(max))
        }
    }
}

/// The method of an entity list that applies it to the known entities.
fn apply(out: &mut Lines, row: &Row, layout: &EntityLayout) {
    let id = field_name(&layout.fields[0].name);
    let id_type = integer_type(&layout.fields[0].ty);
    let record = record_name("enter");
    out.line("");
    apply_head(out, layout, &format!("IDictionary<{id_type}, {record}> entities"));
    let list = |name: &str, each: &str| list(row, layout, name, each);
    out.line(format!("foreach (var entity in {}) entities.Remove(entity);", list("leave", id_type)));
    out.line(format!("foreach (var one in {}) entities[one.{id}] = one;", list("enter", &record)));
    if layout.change_lists.iter().any(|changes| changes.has_id_differences) {
        out.line(format!("{id_type} number;"));
    }
    for changes in &layout.change_lists {
        let record = record_name(&changes.name);
        if changes.has_id_differences {
            out.line("number = 0;");
        }
        open(out, &format!("foreach (var change in {})", list(&changes.name, &record)));
        let key = match changes.has_id_differences {
            true => {
                out.line(format!("number += change.{};", field_name(&changes.id_name(layout))));
                "number".to_owned()
            }
            false => format!("change.{id}"),
        };
        out.line(format!("var known = Wire.Known(entities, {key}, \"{}.{}\");", row.name, changes.name));
        let cast = |of: &Velocity| {
            let [field, velocity] =
                [of.field, of.velocity].map(|field| integer_type(&layout.fields[field].ty));
            if (field, velocity) == ("int", "long") { "(int)" } else { "" }
        };
        for statement in change_statements(layout, changes, "known", field_name, cast) {
            out.line(statement + ";");
        }
        close(out);
    }
    close(out);
}

/// The signature and the comment of `Apply`. Entities with velocities advance to the tick of the
/// packet.
fn apply_head(out: &mut Lines, layout: &EntityLayout, entities: &str) {
    summary(out, "Applies the packet to the known entities by id, which are empty at `welcome`.");
    if layout.velocities.is_empty() {
        open(out, &format!("public void Apply({entities})"));
        return;
    }
    out.line("/// <remarks>");
    velocity_comment("lastTick", "null").iter().for_each(|line| out.line(format!("/// {line}")));
    out.line("/// </remarks>");
    open(out, &format!("public void Apply({entities}, long? lastTick)"));
    out.line("long ticks = lastTick < tick ? tick - lastTick.Value : 0;");
    open(out, "foreach (var one in entities.Values)");
    for (of, [field, velocity]) in layout.velocities.iter().zip(velocity_names(layout, field_name)) {
        let cast = if integer_type(&layout.fields[of.field].ty) == "int" { "(int)" } else { "" };
        out.line(format!("one.{field} += {cast}(one.{velocity} * ticks);"));
    }
    close(out);
}

/// An argument that is a list, empty for null.
fn list(row: &Row, layout: &EntityLayout, name: &str, each: &str) -> String {
    let argument = row.argument(name).map(|index| &row.arguments[index]);
    let this = if is_hidden(layout, name) { "this." } else { "" };
    let name = format!("{this}{}", field_name(name));
    match argument.is_some_and(|argument| argument.ty.or_nil) {
        true => format!("{name} ?? new List<{each}>()"),
        false => name,
    }
}
