//! The type grammar of the code tables: parse, print, and convert a value to canonical form.
//!
//! ```text
//!   arguments = "-" | argument { " " argument }          argument = name ":" type
//!   type      = shape { "|" ("nil" | "0") }
//!   shape     = scalar | "{" members "}" | "(" members ")" | "[" (members | type) "]" [bound]
//!   members   = argument { "," argument }                 bound    = "<=" number
//!   scalar    = ("bool" | "flag" | "any" | "num" | "str" | "u8" … "i32") [ "." unit ] [ bound ]
//! ```
//!
//! A cell of a table is parsed into a [`Type`]. A value from the wire is then converted to the
//! type's canonical form, in which the tolerances of the grammar are removed (a float without a
//! fraction becomes an integer, 1 becomes true, missing trailing arguments become nil, a text that
//! is too long is cut), or rejected with the type that was expected. PROTOCOL.md defines the
//! grammar for people who do not read Rust.

use std::fmt;

use crate::limits;

/// Generates [`Unit`] and its names from the rows.
macro_rules! units {
    ($($variant:ident $name:literal $meaning:literal;)+) => {
        /// The unit of a number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Unit {
            $(#[doc = $meaning] $variant,)+
        }

        impl Unit {
            const ALL: &[(Unit, &'static str)] = &[$((Unit::$variant, $name)),+];
        }
    };
}

units! {
    Px "px" "Pixels of the map.";
    Hpx "hpx" "Half pixels.";
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

impl Unit {
    /// The unit's name in the tables.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(unit, _)| *unit == self).map_or("", |(_, name)| name)
    }

    fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(unit, _)| *unit)
    }
}

/// The width and sign of an integer type: the range of its values, not the number of bytes on the
/// wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// 0 to 255
    U8,
    /// 0 to 65,535
    U16,
    /// 0 to 4,294,967,295
    U32,
    /// -128 to 127
    I8,
    /// -32,768 to 32,767
    I16,
    /// -2,147,483,648 to 2,147,483,647
    I32,
}

impl Width {
    const ALL: [(Width, &'static str, i64, i64); 6] = [
        (Width::U8, "u8", 0, u8::MAX as i64),
        (Width::U16, "u16", 0, u16::MAX as i64),
        (Width::U32, "u32", 0, u32::MAX as i64),
        (Width::I8, "i8", i8::MIN as i64, i8::MAX as i64),
        (Width::I16, "i16", i16::MIN as i64, i16::MAX as i64),
        (Width::I32, "i32", i32::MIN as i64, i32::MAX as i64),
    ];

    fn entry(self) -> &'static (Width, &'static str, i64, i64) {
        Self::ALL.iter().find(|entry| entry.0 == self).unwrap_or(&Self::ALL[0])
    }

    /// The name in the tables.
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// The smallest and the largest value.
    pub fn range(self) -> (i64, i64) {
        (self.entry().2, self.entry().3)
    }
}

/// The shape of a value, before `|nil` and `|0`.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// `true` or `false`; 0 and 1 are accepted.
    Bool,
    /// 0 or 1; `false` and `true` are accepted.
    Flag,
    /// Any value except NaN and infinities.
    Any,
    /// An integer; a float without a fraction is accepted.
    Int {
        /// The range of values.
        width: Width,
        /// The unit, if any.
        unit: Option<Unit>,
        /// The largest allowed value, if it is less than the width allows.
        most: Option<i64>,
    },
    /// A finite number, integer or float.
    Num {
        /// The unit, if any.
        unit: Option<Unit>,
    },
    /// Text.
    Str {
        /// The maximum number of characters; a longer text is cut.
        most: Option<usize>,
    },
    /// A map with these keys; other keys are ignored.
    Map(Vec<Argument>),
    /// An array with one value for each member: a packet within an argument.
    Tuple(Vec<Argument>),
    /// One flat array of groups; the number of members is the stride.
    Groups {
        /// The members of one group, in order.
        members: Vec<Argument>,
        /// The maximum number of groups.
        most: Option<usize>,
    },
    /// An array of values of one type.
    List {
        /// The type of each value.
        each: Box<Type>,
        /// The maximum number of values.
        most: Option<usize>,
    },
}

/// A type: a shape, and whether `nil` or `0` may replace it.
#[derive(Debug, Clone, PartialEq)]
pub struct Type {
    /// The shape of the value.
    pub shape: Shape,
    /// `|nil`: nil (and so a missing trailing argument) stands for no value.
    pub or_nil: bool,
    /// `|0`: the number 0 stands for no value.
    pub or_zero: bool,
}

/// A name and its type: an argument of a packet, a key of a map, a member of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// The name: lower case, digits and `_`; unique among its neighbours.
    pub name: String,
    /// The argument's type.
    pub kind: Type,
}

/// A value that does not fit its type.
#[derive(Debug, Clone, PartialEq)]
pub struct WrongArgument {
    /// The path to the value: names joined by dots, and indexes from 0, as in `players.2.x`.
    pub argument: String,
    /// The expected type, in the notation of the grammar.
    pub expected: String,
    /// A short description of the value found; text from the client is cut and quoted.
    pub found: String,
}

impl fmt::Display for WrongArgument {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "argument {} should be {}, found {}", self.argument, self.expected, self.found)
    }
}

/// Parses the `arguments` cell of a table; `-` is a packet without arguments. The error describes
/// the problem.
pub fn parse_arguments(cell: &str) -> Result<Vec<Argument>, String> {
    if cell == "-" {
        return Ok(Vec::new());
    }
    let mut parser = Parser { rest: cell, depth: 0 };
    let arguments = parser.arguments(' ')?;
    if !parser.rest.is_empty() {
        return Err(format!("unexpected {:?} after the arguments", parser.rest));
    }
    Ok(arguments)
}

/// A cursor over one cell. Recursion is bounded by the maximum nesting depth of a packet.
struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn take(&mut self, sign: &str) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn word(&mut self) -> String {
        let end = self.rest.find(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '_'));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word.to_owned()
    }

    fn arguments(&mut self, separator: char) -> Result<Vec<Argument>, String> {
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
            arguments.push(Argument { name, kind: self.kind()? });
            if !self.take(separator.encode_utf8(&mut [0; 4])) {
                return Ok(arguments);
            }
        }
    }

    fn kind(&mut self) -> Result<Type, String> {
        let shape = self.shape()?;
        let (mut or_nil, mut or_zero) = (false, false);
        while self.take("|") {
            let word = self.word();
            let twice = match word.as_str() {
                "nil" => std::mem::replace(&mut or_nil, true),
                "0" => std::mem::replace(&mut or_zero, true),
                _ => return Err(format!("unknown alternative {word:?}: only |nil and |0 exist")),
            };
            if twice {
                return Err(format!("|{word} appears twice"));
            }
        }
        Ok(Type { shape, or_nil, or_zero })
    }

    fn shape(&mut self) -> Result<Shape, String> {
        let Some(bracket) = ["{", "(", "["].into_iter().find(|bracket| self.rest.starts_with(bracket)) else {
            return self.scalar();
        };
        // The envelope and its list of arguments are two of the containers that count towards the
        // nesting depth of a packet.
        if self.depth + 2 >= limits::PACKET_DEPTH {
            return Err(format!("containers are nested more than {} deep", limits::PACKET_DEPTH));
        }
        self.depth += 1;
        self.take(bracket);
        let shape = match bracket {
            "{" => self.members('}').map(Shape::Map),
            "(" => self.members(')').map(Shape::Tuple),
            _ => self.array(),
        };
        self.depth -= 1;
        shape
    }

    fn members(&mut self, end: char) -> Result<Vec<Argument>, String> {
        let members = self.arguments(',')?;
        if self.take(end.encode_utf8(&mut [0; 4])) {
            return Ok(members);
        }
        Err(format!("expected {end:?} before {:?}", self.rest))
    }

    fn array(&mut self) -> Result<Shape, String> {
        let named = self.rest.find(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '_'));
        if named.is_some_and(|end| self.rest[end..].starts_with(':')) {
            let members = self.members(']')?;
            return Ok(Shape::Groups { members, most: self.count()? });
        }
        let each = Box::new(self.kind()?);
        if !self.take("]") {
            return Err(format!("expected ']' before {:?}", self.rest));
        }
        Ok(Shape::List { each, most: self.count()? })
    }

    fn scalar(&mut self) -> Result<Shape, String> {
        let word = self.word();
        if let Some(entry) = Width::ALL.iter().find(|entry| entry.1 == word) {
            let unit = self.unit()?;
            let most = self.bound()?;
            if most.is_some_and(|most| most < 0 || most >= entry.3) {
                return Err(format!("bad bound: {word} cannot have this bound"));
            }
            return Ok(Shape::Int { width: entry.0, unit, most });
        }
        match word.as_str() {
            "bool" => Ok(Shape::Bool),
            "flag" => Ok(Shape::Flag),
            "any" => Ok(Shape::Any),
            "num" => Ok(Shape::Num { unit: self.unit()? }),
            "str" => Ok(Shape::Str { most: self.count()? }),
            _ => Err(format!("unknown type {word:?}")),
        }
    }

    fn unit(&mut self) -> Result<Option<Unit>, String> {
        if !self.take(".") {
            return Ok(None);
        }
        let word = self.word();
        Unit::by_name(&word).map(Some).ok_or_else(|| format!("unknown unit {word:?}"))
    }

    fn count(&mut self) -> Result<Option<usize>, String> {
        let count = self.bound()?.map(|bound| usize::try_from(bound).unwrap_or(0));
        if count == Some(0) { Err("bad bound: 0 allows no value".to_owned()) } else { Ok(count) }
    }

    fn bound(&mut self) -> Result<Option<i64>, String> {
        if !self.take("<=") {
            return Ok(None);
        }
        let word = self.word();
        let plain = !word.is_empty() && word.bytes().all(|digit| digit.is_ascii_digit());
        let bound = word.parse::<u32>().ok().filter(|_| plain);
        bound.map(|bound| Some(i64::from(bound))).ok_or_else(|| format!("bad bound {word:?}"))
    }
}

/// Names of packets, arguments and members: lower case, digits and `_`, a letter first.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let fits = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_';
    if name.starts_with(|sign: char| sign.is_ascii_lowercase()) && name.chars().all(fits) {
        return Ok(());
    }
    Err(format!("bad name {name:?}: use lower-case letters, digits and _, and begin with a letter"))
}

/// Prints arguments as a cell that [`parse_arguments`] reads.
pub fn print_arguments(arguments: &[Argument]) -> String {
    if arguments.is_empty() {
        return "-".to_owned();
    }
    arguments.iter().map(Argument::to_string).collect::<Vec<_>>().join(" ")
}

fn print_members(members: &[Argument]) -> String {
    members.iter().map(Argument::to_string).collect::<Vec<_>>().join(",")
}

fn print_bound<N: fmt::Display>(most: &Option<N>) -> String {
    most.as_ref().map(|most| format!("<={most}")).unwrap_or_default()
}

fn print_unit(unit: &Option<Unit>) -> String {
    unit.map(|unit| format!(".{}", unit.name())).unwrap_or_default()
}

impl fmt::Display for Argument {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.name, self.kind)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.shape)?;
        out.write_str(if self.or_zero { "|0" } else { "" })?;
        out.write_str(if self.or_nil { "|nil" } else { "" })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => out.write_str("bool"),
            Self::Flag => out.write_str("flag"),
            Self::Any => out.write_str("any"),
            Self::Int { width, unit, most } => {
                write!(out, "{}{}{}", width.name(), print_unit(unit), print_bound(most))
            }
            Self::Num { unit } => write!(out, "num{}", print_unit(unit)),
            Self::Str { most } => write!(out, "str{}", print_bound(most)),
            Self::Map(members) => write!(out, "{{{}}}", print_members(members)),
            Self::Tuple(members) => write!(out, "({})", print_members(members)),
            Self::Groups { members, most } => {
                write!(out, "[{}]{}", print_members(members), print_bound(most))
            }
            Self::List { each, most } => write!(out, "[{each}]{}", print_bound(most)),
        }
    }
}
