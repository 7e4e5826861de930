//! Parses the filter of the frame list.
//!
//! ```text
//!   move aim                frames with one of these parts of names: packet, opcode, rule, and
//!                           messages of another protocol with one of these texts
//!   -ping   not broken      excludes frames
//!   packet = state          frames with this name, not with a longer one
//!   from client             the sender
//!   x > 7000                the value of a field: = != < <= > >=, and ~ for "contains"
//!   move.direction > 7000   a field of a packet
//!   name = "Ann"            a text field
//!   bytes > 100             the size of the frame in bytes
//!   connection = 7          the number of the connection in a capture
//!   "hello"                 text anywhere in the frame
//!   hex 81 85               bytes, as sent or unmasked
//!   move x > 3 or chat      all terms before `or`, or all terms after it
//! ```

use std::ops::Range;

use crate::limits;
use crate::tools::explain::hex;
use crate::ws::Side;

/// A parsed filter: alternatives of terms. A frame passes if all terms of one alternative match.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    /// The alternatives. If empty, every frame passes.
    pub alternatives: Vec<Vec<FilterTerm>>,
}

/// One term of a filter.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterTerm {
    /// Whether the term is negated.
    pub is_negated: bool,
    /// The test.
    pub test: Test,
    /// The term as typed.
    pub text: String,
}

/// The test of a filter term.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// A name of the frame contains one of these texts, in lower case. After [`EXACT`], the text is
    /// the whole name.
    Named(Vec<String>),
    /// The sender.
    From(Side),
    /// The frame breaks a rule.
    Broken,
    /// The size of the frame in bytes.
    Size(Operator, f64),
    /// The number of the connection in the capture.
    Connection(Operator, f64),
    /// The value of a field, given by its path.
    Field(Vec<String>, Operator, ExpectedValue),
    /// These bytes, as sent or unmasked.
    Bytes(Vec<u8>),
    /// This text, in lower case.
    Text(String),
}

/// Prefix of a text that is a whole name. No name has this character.
pub const EXACT: char = '=';

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Contains,
}

/// The value to compare a field with.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpectedValue {
    /// A number, with its unit, if given.
    Number(f64, Option<Unit>),
    /// A text.
    Text(String),
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Px,
    Degrees,
}

/// A syntax error of a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    /// The error in one sentence.
    pub message: String,
    /// The range of the error, in characters.
    pub place: Range<usize>,
}

impl Test {
    /// Whether the test needs the explanation of the frame, and not only its entry.
    pub fn needs_explanation(&self) -> bool {
        matches!(self, Test::Field(..) | Test::Bytes(_) | Test::Text(_))
    }
}

impl Filter {
    /// Parses a filter.
    ///
    /// # Errors
    /// The error and its position.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        let chars: Vec<char> = text.chars().collect();
        if chars.len() > limits::INSPECTOR_FILTER_CHARS {
            let sentence = format!("a filter has at most {} characters", limits::INSPECTOR_FILTER_CHARS);
            return Err(FilterError {
                message: sentence,
                place: limits::INSPECTOR_FILTER_CHARS..chars.len(),
            });
        }
        let tokens = tokens(&chars)?;
        let mut reader = FilterParser { chars: &chars, tokens: &tokens, at: 0 };
        let mut filter = Filter { alternatives: vec![Vec::new()] };
        while let Some(token) = reader.peek() {
            if token.is_word("or") {
                reader.at += 1;
                filter.alternatives.push(Vec::new());
                continue;
            }
            let part = reader.part()?;
            let last = filter.alternatives.last_mut().expect("there is one alternative at least");
            match part {
                Some(part) => add(last, part),
                None => continue,
            }
        }
        // An empty alternative, as in the incomplete filter `move or`, would pass every frame.
        filter.alternatives.retain(|parts| !parts.is_empty());
        for parts in &mut filter.alternatives {
            // Not sorted, because a sort takes 10 KB of the WebAssembly.
            let all = std::mem::take(parts).into_iter();
            let (slow, fast): (Vec<_>, Vec<_>) = all.partition(|part| part.test.needs_explanation());
            parts.extend(fast.into_iter().chain(slow));
        }
        Ok(filter)
    }
}

/// Adds a term. Adjacent names become alternatives of one term.
fn add(parts: &mut Vec<FilterTerm>, part: FilterTerm) {
    if let (Test::Named(names), false) = (&part.test, part.is_negated)
        && let Some(before) =
            parts.iter_mut().find(|part| matches!(part.test, Test::Named(_)) && !part.is_negated)
        && let Test::Named(known) = &mut before.test
    {
        known.extend(names.iter().cloned());
        before.text = format!("{} {}", before.text, part.text);
        return;
    }
    parts.push(part);
}

#[derive(Debug, Clone, PartialEq)]
enum TokenKind {
    Word(String),
    Quoted(String),
    Operator(Operator),
}

#[derive(Debug, Clone, PartialEq)]
struct FilterToken {
    what: TokenKind,
    place: Range<usize>,
}

impl FilterToken {
    fn is_word(&self, word: &str) -> bool {
        matches!(&self.what, TokenKind::Word(known) if known.eq_ignore_ascii_case(word))
    }
}

const OPERATOR_CHARS: &str = "=<>!~";

fn tokens(chars: &[char]) -> Result<Vec<FilterToken>, FilterError> {
    let (mut tokens, mut at) = (Vec::new(), 0);
    while at < chars.len() {
        let begin = at;
        let ch = chars[at];
        let what = if ch.is_whitespace() || ch == ',' {
            at += 1;
            continue;
        } else if ch == '"' {
            let end = chars[at + 1..].iter().position(|ch| *ch == '"').map(|end| at + 1 + end);
            let Some(end) = end else {
                return error("the quotation mark is not closed", begin..chars.len());
            };
            at = end + 1;
            TokenKind::Quoted(chars[begin + 1..end].iter().collect())
        } else if OPERATOR_CHARS.contains(ch) {
            at += 1;
            if chars.get(at) == Some(&'=') {
                at += 1;
            }
            let text: String = chars[begin..at].iter().collect();
            TokenKind::Operator(
                operator(&text)
                    .map_or_else(|| error("`!` alone compares nothing: write `!=`", begin..at), Ok)?,
            )
        } else {
            let ends = |ch: &char| ch.is_whitespace() || OPERATOR_CHARS.contains(*ch) || "\",".contains(*ch);
            at += chars[at..].iter().position(ends).unwrap_or(chars.len() - at);
            TokenKind::Word(chars[begin..at].iter().collect())
        };
        tokens.push(FilterToken { what, place: begin..at });
    }
    Ok(tokens)
}

fn operator(text: &str) -> Option<Operator> {
    Some(match text {
        "=" | "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::AtMost,
        ">" => Operator::Greater,
        ">=" => Operator::AtLeast,
        "~" | "~=" => Operator::Contains,
        _ => return None,
    })
}

fn error<T>(sentence: impl Into<String>, place: Range<usize>) -> Result<T, FilterError> {
    Err(FilterError { message: sentence.into(), place })
}

struct FilterParser<'a> {
    chars: &'a [char],
    tokens: &'a [FilterToken],
    at: usize,
}

impl<'a> FilterParser<'a> {
    fn peek(&self) -> Option<&'a FilterToken> {
        self.tokens.get(self.at)
    }

    /// The position after the end, for an error about missing text.
    fn end(&self) -> Range<usize> {
        self.chars.len()..self.chars.len() + 1
    }

    /// Parses the next term. `None` at the end, and for words without effect, such as `and`.
    fn part(&mut self) -> Result<Option<FilterTerm>, FilterError> {
        let Some(token) = self.peek() else { return Ok(None) };
        self.at += 1;
        let begin = token.place.start;
        let (is_not, test) = match &token.what {
            TokenKind::Operator(_) => {
                return error("the name of a field is missing before this", token.place.clone());
            }
            TokenKind::Quoted(text) => (false, Test::Text(text.to_lowercase())),
            TokenKind::Word(word) if word == "-" || word.eq_ignore_ascii_case("and") => return Ok(None),
            TokenKind::Word(word) if word.eq_ignore_ascii_case("not") => {
                let Some(part) = self.part()? else { return Ok(None) };
                (!part.is_negated, part.test)
            }
            TokenKind::Word(word) => match word.strip_prefix('-') {
                Some(rest) => (true, self.word(rest, token)?),
                None => (false, self.word(word, token)?),
            },
        };
        let end = self.tokens[self.at - 1].place.end;
        let text = self.chars[begin..end].iter().collect();
        Ok(Some(FilterTerm { is_negated: is_not, test, text }))
    }

    fn word(&mut self, word: &str, token: &FilterToken) -> Result<Test, FilterError> {
        if let Some(FilterToken { what: TokenKind::Operator(operator), place }) = self.peek() {
            self.at += 1;
            return self.comparison(word, *operator, place);
        }
        match word.to_lowercase().as_str() {
            "hex" => self.hex(token),
            "from" => self.from(),
            "text" => match self.peek() {
                Some(FilterToken { what: TokenKind::Quoted(text) | TokenKind::Word(text), .. }) => {
                    self.at += 1;
                    Ok(Test::Text(text.to_lowercase()))
                }
                _ => error("the text to look for is missing; example: text \"hello\"", self.end()),
            },
            "broken" => Ok(Test::Broken),
            name => Ok(Test::Named(vec![name.to_owned()])),
        }
    }

    fn comparison(&mut self, name: &str, operator: Operator, at: &Range<usize>) -> Result<Test, FilterError> {
        let Some(FilterToken { what, place }) = self.peek() else {
            return error(format!("a value is missing after this; example: {name} > 7000"), at.clone());
        };
        self.at += 1;
        let wanted = match what {
            TokenKind::Operator(_) => return error("a value is missing before this", place.clone()),
            TokenKind::Quoted(text) => ExpectedValue::Text(text.clone()),
            TokenKind::Word(text) => number(text).unwrap_or_else(|| ExpectedValue::Text(text.clone())),
        };
        let orders =
            matches!(operator, Operator::Less | Operator::AtMost | Operator::Greater | Operator::AtLeast);
        let name = name.to_lowercase();
        match (&wanted, name.as_str()) {
            (ExpectedValue::Text(text), _) if orders => {
                error(format!("{text:?} is not a number; only = != and ~ compare text"), place.clone())
            }
            (ExpectedValue::Number(number, None), "bytes") => Ok(Test::Size(operator, *number)),
            (ExpectedValue::Number(number, None), "connection") => Ok(Test::Connection(operator, *number)),
            (_, "bytes") => {
                error("bytes can only be compared with a number; example: bytes > 100", place.clone())
            }
            (ExpectedValue::Text(text), "packet" | "rule") if operator == Operator::Equal => {
                Ok(Test::Named(vec![format!("{EXACT}{}", text.to_lowercase())]))
            }
            (ExpectedValue::Text(text), "from") if operator == Operator::Equal => sender(text, place),
            _ => Ok(Test::Field(name.split('.').map(str::to_owned).collect(), operator, wanted)),
        }
    }

    fn from(&mut self) -> Result<Test, FilterError> {
        match self.peek() {
            Some(FilterToken { what: TokenKind::Word(text), place }) => {
                self.at += 1;
                sender(text, place)
            }
            _ => error("a direction is missing: from client, or from server", self.end()),
        }
    }

    fn hex(&mut self, token: &FilterToken) -> Result<Test, FilterError> {
        let mut bytes = Vec::new();
        while let Some(FilterToken { what: TokenKind::Word(word), place }) = self.peek() {
            if !word.chars().all(|ch| ch.is_ascii_hexdigit() || ":xX".contains(ch)) {
                break;
            }
            match hex::parse(word) {
                Ok(more) => bytes.extend(more),
                Err(reason) => return error(reason.to_string(), place.clone()),
            }
            self.at += 1;
        }
        if bytes.is_empty() {
            let place = self.peek().map_or(token.place.clone(), |token| token.place.clone());
            return error("bytes are missing; write each as two digits, for example hex 81 85", place);
        }
        Ok(Test::Bytes(bytes))
    }
}

fn sender(text: &str, place: &Range<usize>) -> Result<Test, FilterError> {
    match text.to_lowercase().as_str() {
        "client" => Ok(Test::From(Side::Client)),
        "server" => Ok(Test::From(Side::Server)),
        _ => error(format!("{text:?} is not a direction; use client or server"), place.clone()),
    }
}

fn number(text: &str) -> Option<ExpectedValue> {
    let (digits, unit) = if let Some(digits) = text.strip_suffix("px") {
        (digits, Some(Unit::Px))
    } else if let Some(digits) = text.strip_suffix('°').or(text.strip_suffix("deg")) {
        (digits, Some(Unit::Degrees))
    } else {
        (text, None)
    };
    let number = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()? as f64,
        // Excludes words such as `nan`.
        None if digits.starts_with(|ch: char| ch.is_ascii_digit() || "+-.".contains(ch)) => {
            digits.parse().ok()?
        }
        None => return None,
    };
    Some(ExpectedValue::Number(number, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Test {
        let filter = Filter::parse(text).expect("a filter");
        assert_eq!((filter.alternatives.len(), filter.alternatives[0].len()), (1, 1), "{text}");
        filter.alternatives[0][0].test.clone()
    }

    #[test]
    fn each_kind_of_part_is_read() {
        let path = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
        for (text, test) in [
            ("Move", Test::Named(vec!["move".to_owned()])),
            ("move, aim", Test::Named(vec!["move".to_owned(), "aim".to_owned()])),
            ("from client", Test::From(Side::Client)),
            ("from=server", Test::From(Side::Server)),
            ("broken", Test::Broken),
            ("connection = 7", Test::Connection(Operator::Equal, 7.0)),
            ("bytes>=100", Test::Size(Operator::AtLeast, 100.0)),
            ("x > 7000", Test::Field(path("x"), Operator::Greater, ExpectedValue::Number(7000.0, None))),
            (
                "x>-1.5px",
                Test::Field(path("x"), Operator::Greater, ExpectedValue::Number(-1.5, Some(Unit::Px))),
            ),
            (
                "dir <= 90°",
                Test::Field(path("dir"), Operator::AtMost, ExpectedValue::Number(90.0, Some(Unit::Degrees))),
            ),
            ("key = 0xff", Test::Field(path("key"), Operator::Equal, ExpectedValue::Number(255.0, None))),
            (
                "move.direction != nil",
                Test::Field(
                    path("move.direction"),
                    Operator::NotEqual,
                    ExpectedValue::Text("nil".to_owned()),
                ),
            ),
            (
                "name = \"Ann B\"",
                Test::Field(path("name"), Operator::Equal, ExpectedValue::Text("Ann B".to_owned())),
            ),
            (
                "name ~ an",
                Test::Field(path("name"), Operator::Contains, ExpectedValue::Text("an".to_owned())),
            ),
            ("hex 81 85", Test::Bytes(vec![0x81, 0x85])),
            ("hex 0x8185:37", Test::Bytes(vec![0x81, 0x85, 0x37])),
            ("\"Hello\"", Test::Text("hello".to_owned())),
            ("text hello", Test::Text("hello".to_owned())),
            ("packet = move", Test::Named(vec!["=move".to_owned()])),
        ] {
            assert_eq!(one(text), test, "{text}");
        }
    }

    #[test]
    fn parts_are_combined_and_those_that_need_an_explanation_come_last() {
        let filter = Filter::parse("x > 3 move -ping aim and not broken or hex 81 -").expect("a filter");
        let texts = |at: usize| -> Vec<(String, bool)> {
            filter.alternatives[at].iter().map(|part| (part.text.clone(), part.is_negated)).collect()
        };
        let expected = [("move aim", false), ("-ping", true), ("not broken", true), ("x > 3", false)];
        assert_eq!(texts(0), expected.map(|(text, is_not)| (text.to_owned(), is_not)));
        assert_eq!(texts(1), [("hex 81".to_owned(), false)]);
        for text in ["", "  ", "-", "and", "or", "not"] {
            assert_eq!(Filter::parse(text), Ok(Filter::default()), "{text:?} asks for nothing");
        }
    }

    #[test]
    fn a_wrong_filter_is_refused_with_its_place() {
        for (text, place, words) in [
            ("x >", 2..3, "a value is missing"),
            ("move > > 3", 7..8, "a value is missing before this"),
            ("> 3", 0..1, "the name of a field is missing"),
            ("x > Ann", 4..7, "\"Ann\" is not a number"),
            ("move hex", 5..8, "bytes are missing"),
            ("hex zz", 4..6, "bytes are missing"),
            ("hex 818", 4..7, "odd number of digits"),
            ("from above", 5..10, "not a direction"),
            ("from", 4..5, "a direction is missing"),
            ("name = \"Ann", 7..11, "not closed"),
            ("x ! 3", 2..3, "write `!=`"),
            ("bytes > 3px", 8..11, "compared with a number"),
        ] {
            let error = Filter::parse(text).expect_err(text);
            assert_eq!(error.place, place, "{text}: {}", error.message);
            assert!(error.message.contains(words), "{text}: {}", error.message);
        }
        let long = "a".repeat(limits::INSPECTOR_FILTER_CHARS + 1);
        assert!(Filter::parse(&long).is_err());
    }
}
