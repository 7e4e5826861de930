//! Prints a client in Python: each packet is a dataclass, whose fields have the types of the table.

use super::source::{
    Lines, change_statements, class_name, code_literal, entity_layout, escaped, first_packet, is_sequence,
    may_be_zero, note, record_name, record_of, remark, side_comment, side_name, velocity_comment,
    velocity_names,
};
use crate::game::simple::EntityLayout;
use crate::packet::grammar::{Argument, Shape, Type};
use crate::packet::{Dialect, Direction, Row};

/// The part of the file that is the same for all tables. `DIALECT` and `FIRST` (a packet)
/// are placeholders.
const RUNTIME: &str = include_str!("runtime/python.py");

/// Names that an argument cannot have: keywords, the names that the fields of a class use, and the
/// method of entity lists.
const RESERVED: &str = "\
    and as assert async await break class continue def del elif else except finally for from \
    global if import in is lambda nonlocal not or pass raise return try while with yield apply \
    argument bool bytes float int list object str";

/// Prints the whole file.
pub fn print(dialect: &Dialect) -> String {
    let mut out = Lines::new("    ");
    for direction in Direction::ALL {
        out.line("");
        out.line("");
        out.open(format!("class {}:", side_name(direction)));
        out.line(docstring(side_comment(direction)));
        dialect.rows(direction).for_each(|row| packet(&mut out, row, dialect));
        out.close();
    }
    let title = "# ---- the packets ".to_owned();
    let rule = "-".repeat(120 - title.len());
    format!(
        "{}\n\n{title}{rule}\n{}",
        RUNTIME.replace("DIALECT", dialect.name()).replace("FIRST", &first_packet(dialect)),
        out.text
    )
}

fn packet(out: &mut Lines, row: &Row, dialect: &Dialect) {
    out.line("");
    out.line("@dataclass(kw_only=True)");
    out.open(format!("class {}(Packet):", escaped(class_name(&row.name), "Packet")));
    if !row.meaning.is_empty() {
        out.line(docstring(&row.meaning));
        out.line("");
    }
    out.line(format!("NAME = \"{}\"", row.name));
    out.line(format!("CODE = {}", code_literal(row, dialect)));
    fields(out, &row.arguments, Some(row));
    if let Some(layout) = entity_layout(row) {
        apply(out, row, &layout);
    }
    out.close();
}

/// The record classes of some members, then a field for each member. `row` is the packet that has
/// these members as its arguments.
fn fields(out: &mut Lines, members: &[Argument], row: Option<&Row>) {
    for member in members {
        let Some(record) = record_of(&member.ty) else { continue };
        out.line("");
        out.line("@dataclass(kw_only=True)");
        out.open(format!("class {}:", record_name(&member.name)));
        out.line(docstring(&format!("A record of `{}`.", member.name)));
        out.line("");
        fields(out, record, None);
        out.close();
    }
    if members.iter().any(|member| record_of(&member.ty).is_some()) {
        out.line("");
    }
    for member in members {
        let class = record_name(&member.name);
        let name = field_name(&member.name);
        let renamed = if name == member.name { String::new() } else { format!(", \"{}\"", member.name) };
        let (hint, default) = match row.is_some_and(|row| is_sequence(row, member)) {
            true => (format!("{} | None", annotation(&member.ty, &class)), ", default=None"),
            false => (annotation(&member.ty, &class), ""),
        };
        let kind = kind(&member.ty, &class);
        let set = if default.is_empty() { "" } else { "; None: set by `send`" };
        let remark = remark("  # ", &(note(&member.ty) + set));
        out.line(format!("{name}: {hint} = argument({kind}{renamed}{default}){remark}"));
    }
}

fn field_name(name: &str) -> String {
    escaped(name.to_owned(), RESERVED)
}

/// The type for readers and type checkers.
fn annotation(ty: &Type, class: &str) -> String {
    let some = match &ty.shape {
        Shape::Bool | Shape::Flag => "bool".to_owned(),
        Shape::Any => "object".to_owned(),
        Shape::Int { .. } => "int".to_owned(),
        Shape::Num { .. } => "float".to_owned(),
        Shape::Str { .. } => "str".to_owned(),
        Shape::Bin { .. } => "bytes".to_owned(),
        Shape::Map(_) | Shape::Tuple(_) => class.to_owned(),
        Shape::Groups { .. } => format!("list[{class}]"),
        Shape::List { each, .. } => format!("list[{}]", annotation(each, class)),
    };
    some + if ty.or_nil || may_be_zero(ty) { " | None" } else { "" }
}

/// The type as an object of the runtime.
fn kind(ty: &Type, class: &str) -> String {
    let bound = |max: &Option<usize>| max.map_or(String::new(), |max| max.to_string());
    let and_bound = |max: &Option<usize>| max.map_or(String::new(), |max| format!(", {max}"));
    let some = match &ty.shape {
        Shape::Bool => "Bool()".to_owned(),
        Shape::Flag => "Flag()".to_owned(),
        Shape::Any => "Any()".to_owned(),
        Shape::Int { min, max, .. } => format!("Int({min}, {max})"),
        Shape::Num { .. } => "Num()".to_owned(),
        Shape::Str { max } => format!("Str({})", bound(max)),
        Shape::Bin { max } => format!("Bin({})", bound(max)),
        Shape::Map(_) => format!("Map({class})"),
        Shape::Tuple(_) => format!("Tuple({class})"),
        Shape::Groups { max, .. } => format!("Groups({class}{})", and_bound(max)),
        Shape::List { each, max } => format!("List({}{})", kind(each, class), and_bound(max)),
    };
    let some = if may_be_zero(ty) { format!("Zero({some})") } else { some };
    if ty.or_nil { format!("Nil({some})") } else { some }
}

/// The method of an entity list that applies it to the known entities.
fn apply(out: &mut Lines, row: &Row, layout: &EntityLayout) {
    let id = field_name(&layout.fields[0].name);
    out.line("");
    apply_head(out, layout);
    out.line(format!("for entity in {}:", list(row, "leave")));
    out.line("    entities.pop(entity, None)");
    out.line(format!("for one in {}:", list(row, "enter")));
    out.line(format!("    entities[one.{id}] = one"));
    for changes in &layout.change_lists {
        let key = match changes.has_id_differences {
            true => {
                out.line("entity = 0");
                out.open(format!("for change in {}:", list(row, &changes.name)));
                out.line(format!("entity += change.{}", field_name(&changes.id_name(layout))));
                "entity".to_owned()
            }
            false => {
                out.open(format!("for change in {}:", list(row, &changes.name)));
                format!("change.{id}")
            }
        };
        out.line(format!("one = known(entities, {key}, \"{}.{}\")", row.name, changes.name));
        for statement in change_statements(layout, changes, "one", field_name, |_| "") {
            out.line(statement);
        }
        out.close();
    }
    out.close();
}

/// The signature and the comment of `apply`. Entities with velocities advance to the tick of the
/// packet.
fn apply_head(out: &mut Lines, layout: &EntityLayout) {
    let comment = "Applies the packet to a dict of the known entities by id, which is empty at `welcome`.";
    if layout.velocities.is_empty() {
        out.open("def apply(self, entities):");
        out.line(docstring(comment));
        return;
    }
    out.open("def apply(self, entities, last_tick):");
    out.line(format!("\"\"\"{comment}"));
    out.line("");
    let [parameter, rules] = velocity_comment("last_tick", "None");
    out.line(parameter);
    out.line(format!("{rules}\"\"\""));
    out.line("ticks = 0 if last_tick is None else max(self.tick - last_tick, 0)");
    out.line("for one in entities.values():");
    for [field, velocity] in velocity_names(layout, field_name) {
        out.line(format!("    one.{field} += one.{velocity} * ticks"));
    }
}

/// An argument that is a list, empty for None.
fn list(row: &Row, name: &str) -> String {
    let argument = row.argument(name).map(|index| &row.arguments[index]);
    let or_empty = if argument.is_some_and(|one| one.ty.or_nil) { " or ()" } else { "" };
    format!("self.{}{or_empty}", field_name(name))
}

fn docstring(text: &str) -> String {
    // A quote at the end would join the closing quotes.
    format!("\"\"\"{}\"\"\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
