//! The type grammar of the packet tables: parses the `arguments` cell of a row.
//!
//! ```text
//!   arguments = "-" | argument { " " argument }          argument = name ":" type
//!   type      = shape { "|" ("nil" | "0" | "loose") }
//!   shape     = scalar | "{" members "}" | "(" members ")" | "[" (members | type) "]" [bound]
//!   members   = argument { "," argument }                bound    = "<=" number
//!   scalar    = ("bool" | "flag" | "any" | "num" | "str" | "bin" | "u8" … "i32")
//!               [ "." unit ] [ bound ]
//! ```
//!
//! PROTOCOL.md defines the grammar in prose. A [`Type`] stores its notation, so it prints exactly
//! as in the table.

use std::fmt;

use crate::limits;

tickwire_sim::named_enum! {
    /// The unit of a number.
    Unit {
        Px "px" "Pixels of the map.";
        Hpx "hpx" "Half pixels.";
        Fix4 "fix4" "1/16 pixel.";
        Fix16 "fix16" "1/65,536 pixel.";
        Rad "rad" "Radians; 0 is right, a quarter turn is down.";
        Turn16 "turn16" "1/65,536 of a turn; 0 is right, a quarter is down.";
        Turn8 "turn8" "1/256 of a turn; 0 is right, a quarter is down.";
        Tick "tick" "Ticks of the world.";
        Ms "ms" "Milliseconds.";
        S "s" "Seconds.";
        Hz "hz" "Per second.";
        PxPerMs "px_per_ms" "Pixels per millisecond.";
    }
}

/// The integer types: name, bits, minimum and maximum.
const INTEGERS: [(&str, u32, i64, i64); 6] = [
    ("u8", u8::BITS, 0, u8::MAX as i64),
    ("u16", u16::BITS, 0, u16::MAX as i64),
    ("u32", u32::BITS, 0, u32::MAX as i64),
    ("i8", i8::BITS, i8::MIN as i64, i8::MAX as i64),
    ("i16", i16::BITS, i16::MIN as i64, i16::MAX as i64),
    ("i32", i32::BITS, i32::MIN as i64, i32::MAX as i64),
];

/// The shape of a value, before `|nil`, `|0` and `|loose`.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "bits, unit, max and members are described once, for all shapes")]
pub enum Shape {
    /// `true` or `false`; 0 and 1 are accepted.
    Bool,
    /// 0 or 1; `false` and `true` are accepted.
    Flag,
    /// Any value except NaN and infinities.
    Any,
    /// An integer of `bits` bits from `min` to `max`; a float without a fraction is accepted.
    Int { bits: u32, min: i64, max: i64, unit: Option<Unit> },
    /// A finite number, integer or float.
    Num { unit: Option<Unit> },
    /// Text of at most `max` characters; a longer text is truncated.
    Str { max: Option<usize> },
    /// At most `max` bytes; longer data is an error.
    Bin { max: Option<usize> },
    /// A map with these keys; other keys are dropped.
    Map(Vec<Argument>),
    /// An array with one value for each member: a packet within an argument.
    Tuple(Vec<Argument>),
    /// One flat array of at most `max` groups; the number of members is the stride.
    Groups { members: Vec<Argument>, max: Option<usize> },
    /// An array of at most `max` values of one type.
    List { each: Box<Type>, max: Option<usize> },
}

impl Shape {
    /// The name of the shape in the output of `tickwire codes --format json`.
    pub fn kind(&self) -> &'static str {
        match self {
            Shape::Bool => "bool",
            Shape::Flag => "flag",
            Shape::Any => "any",
            Shape::Int { .. } => "int",
            Shape::Num { .. } => "num",
            Shape::Str { .. } => "str",
            Shape::Bin { .. } => "bin",
            Shape::Map(_) => "map",
            Shape::Tuple(_) => "tuple",
            Shape::Groups { .. } => "groups",
            Shape::List { .. } => "list",
        }
    }
}

/// A type: a shape, and the other values that are accepted in its place. Prints as in the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Type {
    /// The shape of the value.
    pub shape: Shape,
    /// `|nil`: nil, or a missing trailing argument, means no value.
    pub or_nil: bool,
    /// `|0`: the number 0 means no value.
    pub or_zero: bool,
    /// `|loose`: a value of another type is converted as in JavaScript.
    pub is_loose: bool,
    notation: String,
}

/// A name and its type: an argument of a packet, a key of a map, a member of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// The name: lower-case letters, digits and `_`; unique among its siblings.
    pub name: String,
    /// The argument's type.
    pub ty: Type,
}

impl Argument {
    /// Whether the argument is a map with this key.
    pub(crate) fn has_key(&self, name: &str) -> bool {
        matches!(&self.ty.shape, Shape::Map(members) if members.iter().any(|member| member.name == name))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.notation)
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.name, self.ty)
    }
}

/// Formats arguments as a cell that [`parse_arguments`] accepts.
pub fn format_arguments(arguments: &[Argument]) -> String {
    if arguments.is_empty() {
        return "-".to_owned();
    }
    arguments.iter().map(Argument::to_string).collect::<Vec<_>>().join(" ")
}

/// The error in an `arguments` cell, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrammarError(String);

impl fmt::Display for GrammarError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for GrammarError {}

/// Parses the `arguments` cell of a table; `-` means no arguments.
///
/// # Errors
/// The first error in the cell.
pub fn parse_arguments(cell: &str) -> Result<Vec<Argument>, GrammarError> {
    if cell == "-" {
        return Ok(Vec::new());
    }
    let mut parser = Parser { rest: cell, depth: 0 };
    let arguments = parser.arguments(" ").map_err(GrammarError)?;
    if !parser.rest.is_empty() {
        return Err(GrammarError(format!("unexpected {:?} after the arguments", parser.rest)));
    }
    Ok(arguments)
}

/// Checks the name of a packet, an argument or a member: lower-case letters, digits and `_`, a
/// letter first.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let fits = |ch: char| ch.is_ascii_lowercase() || ch.is_ascii_digit() || ch == '_';
    if name.starts_with(|ch: char| ch.is_ascii_lowercase()) && name.chars().all(fits) {
        return Ok(());
    }
    Err(format!("bad name {name:?}: use lower-case letters, digits and _, and begin with a letter"))
}

/// A cursor in one cell. The maximum nesting depth of a packet limits the recursion.
struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Splits the rest of the cell after the word at the cursor.
    fn split_word(&self) -> (&'a str, &'a str) {
        let end = self.rest.find(|ch: char| !(ch.is_ascii_alphanumeric() || ch == '_'));
        self.rest.split_at(end.unwrap_or(self.rest.len()))
    }

    fn word(&mut self) -> String {
        let (word, rest) = self.split_word();
        self.rest = rest;
        word.to_owned()
    }

    fn arguments(&mut self, separator: &str) -> Result<Vec<Argument>, String> {
        let mut arguments: Vec<Argument> = Vec::new();
        loop {
            let name = self.word();
            check_name(&name)?;
            if arguments.iter().any(|argument| argument.name == name) {
                return Err(format!("the name {name:?} appears twice"));
            }
            if !self.take(":") {
                return Err(format!("{name:?} has no type; expected ':' before {:?}", self.rest));
            }
            arguments.push(Argument { name, ty: self.kind()? });
            if !self.take(separator) {
                return Ok(arguments);
            }
        }
    }

    fn kind(&mut self) -> Result<Type, String> {
        let begin = self.rest;
        let shape = self.shape()?;
        let (mut or_nil, mut or_zero, mut is_loose) = (false, false, false);
        while self.take("|") {
            let word = self.word();
            let twice = match word.as_str() {
                "nil" => std::mem::replace(&mut or_nil, true),
                "0" => std::mem::replace(&mut or_zero, true),
                "loose" => std::mem::replace(&mut is_loose, true),
                _ => return Err(format!("unknown alternative {word:?}: only |nil, |0 and |loose exist")),
            };
            if twice {
                return Err(format!("|{word} appears twice"));
            }
        }
        let notation = begin[..begin.len() - self.rest.len()].to_owned();
        Ok(Type { shape, or_nil, or_zero, is_loose, notation })
    }

    fn shape(&mut self) -> Result<Shape, String> {
        let brackets = [("{", '}'), ("(", ')'), ("[", ']')];
        let Some((open, close)) = brackets.into_iter().find(|(open, _)| self.take(open)) else {
            return self.scalar();
        };
        // The envelope and its list of arguments count towards the nesting depth of a packet.
        if self.depth + 2 >= limits::PACKET_DEPTH {
            return Err(format!("containers are nested more than {} deep", limits::PACKET_DEPTH));
        }
        self.depth += 1;
        let mut shape = match open {
            "{" => Shape::Map(self.arguments(",")?),
            "(" => Shape::Tuple(self.arguments(",")?),
            _ if self.split_word().1.starts_with(':') => {
                Shape::Groups { members: self.arguments(",")?, max: None }
            }
            _ => Shape::List { each: Box::new(self.kind()?), max: None },
        };
        self.depth -= 1;
        if !self.take(close.encode_utf8(&mut [0; 4])) {
            return Err(format!("expected {close:?} before {:?}", self.rest));
        }
        if let Shape::Groups { max, .. } | Shape::List { max, .. } = &mut shape {
            *max = self.count()?;
        }
        Ok(shape)
    }

    fn scalar(&mut self) -> Result<Shape, String> {
        let word = self.word();
        if let Some(&(_, bits, min, highest)) = INTEGERS.iter().find(|(name, ..)| *name == word) {
            let (unit, bound) = (self.unit()?, self.bound()?.map(i64::from));
            if bound.is_some_and(|bound| bound >= highest) {
                return Err(format!("bad bound: {word} cannot have this bound"));
            }
            return Ok(Shape::Int { bits, min, max: bound.unwrap_or(highest), unit });
        }
        match word.as_str() {
            "bool" => Ok(Shape::Bool),
            "flag" => Ok(Shape::Flag),
            "any" => Ok(Shape::Any),
            "num" => Ok(Shape::Num { unit: self.unit()? }),
            "str" => Ok(Shape::Str { max: self.count()? }),
            "bin" => Ok(Shape::Bin { max: self.count()? }),
            _ => Err(format!("unknown type {word:?}")),
        }
    }

    fn unit(&mut self) -> Result<Option<Unit>, String> {
        if !self.take(".") {
            return Ok(None);
        }
        let word = self.word();
        let unit = Unit::ALL.into_iter().find(|unit| unit.name() == word);
        unit.map(Some).ok_or_else(|| format!("unknown unit {word:?}"))
    }

    fn count(&mut self) -> Result<Option<usize>, String> {
        match self.bound()? {
            Some(0) => Err("bad bound: must be at least 1".to_owned()),
            bound => Ok(bound.map(|bound| bound as usize)),
        }
    }

    fn bound(&mut self) -> Result<Option<u32>, String> {
        if !self.take("<=") {
            return Ok(None);
        }
        // A word contains no sign, so the bound cannot be negative.
        let word = self.word();
        word.parse().map(Some).map_err(|_| format!("bad bound {word:?}"))
    }
}
