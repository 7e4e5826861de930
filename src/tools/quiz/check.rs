//! Compares an answer with the model, and names the first wrong bit.

use std::ops::Range;

use super::encode;
use super::layout::Layout;
use crate::limits;
use crate::packet::Dialect;
use crate::tools::explain::input::{self, InputContent, Notation};
use crate::tools::explain::tree::{BYTE, Node};
use crate::tools::explain::{Explanation, Problem};
use crate::util::plural::count_noun;
use crate::ws::deflate::{Inflater, MAX_WINDOW_BITS};
use crate::ws::frame::MASK_KEY_BYTES;
use crate::ws::{Side, Violation};

/// The verdict on an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the answer is right.
    pub is_right: bool,
    /// The first wrong bit with its field, or another reason, in one line.
    pub text: String,
    /// The wrong bits of the answer. Bits count from its start, most significant bit first within
    /// a byte.
    pub bits: Option<Range<usize>>,
}

/// The expected answer of a question.
#[derive(Clone, Debug)]
pub enum Expected {
    /// These bytes.
    Bytes {
        /// A right answer.
        model: Vec<u8>,
        /// The names of its bits.
        layout: Layout,
        /// The free choices of the answer.
        freedom: Freedom,
    },
    /// Any bytes of a side whose first broken rule is this one.
    Rule {
        /// The rule.
        rule: Violation,
        /// The sender.
        from: Side,
        /// A right answer.
        model: Vec<u8>,
    },
    /// This text.
    Text(String),
    /// Numbers, in any order.
    Numbers {
        /// The right numbers.
        numbers: Vec<i64>,
        /// The reason why they are right: a part of a sentence.
        reason: String,
    },
}

/// The free choices of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freedom {
    /// Nothing: one answer is right.
    None,
    /// The masking key, which begins at this byte.
    Key(usize),
    /// The length of the first of two fragments of this text, with a ping between them.
    Cut(&'static str),
    /// The DEFLATE data that inflates to this text.
    Deflate(&'static str),
}

impl Expected {
    /// Expects exactly these bytes.
    pub fn exact(model: Vec<u8>, layout: Layout) -> Expected {
        Expected::Bytes { model, layout, freedom: Freedom::None }
    }

    /// The names of the bits of an answer; `None` if the answer is text.
    pub fn layout(&self) -> Option<Layout> {
        match self {
            Expected::Bytes { layout, .. } => Some(layout.clone()),
            Expected::Rule { from, .. } => Some(Layout::Frames(*from)),
            Expected::Text(_) | Expected::Numbers { .. } => None,
        }
    }
}

/// Reads the bytes of an answer in any notation of `tickwire explain`.
///
/// # Errors
/// One sentence with the rule.
pub fn read_bytes(text: &str) -> Result<Vec<u8>, String> {
    if text.len() > limits::QUIZ_ANSWER_CHARS {
        let (length, max) = (text.len(), limits::QUIZ_ANSWER_CHARS);
        return Err(format!("{length} characters: an answer has at most {max}"));
    }
    let input = input::read(text.as_bytes())?;
    let mut bytes = Vec::new();
    if let (InputContent::Pieces(pieces), false) = (input.content, input.notation == Notation::Bytes) {
        pieces.iter().for_each(|piece| bytes.extend_from_slice(&piece.bytes));
    }
    if bytes.is_empty() {
        return Err("no bytes: an answer is two hexadecimal digits for each byte, such as 81 05".to_owned());
    }
    Ok(bytes)
}

/// Checks the text of an answer.
///
/// # Errors
/// One sentence: the text is no answer.
pub fn check(dialect: &Dialect, expected: &Expected, answer: &str) -> Result<Verdict, String> {
    match expected {
        Expected::Bytes { model, layout, freedom } => {
            let answer = read_bytes(answer)?;
            let model = freedom.fit(model, &answer);
            Ok(compare(dialect, &answer, &model, layout))
        }
        Expected::Rule { rule, from, .. } => {
            let bytes = read_bytes(answer)?;
            Ok(check_rule(&Layout::Frames(*from).explain(dialect, &bytes), *rule))
        }
        Expected::Text(text) => Ok(compare_text(answer.trim(), text)),
        Expected::Numbers { numbers, reason } => compare_numbers(answer.trim(), numbers, reason),
    }
}

impl Freedom {
    /// Returns the model with the choices of the answer.
    fn fit(self, model: &[u8], answer: &[u8]) -> Vec<u8> {
        let mut model = model.to_vec();
        match self {
            Freedom::Key(start) => {
                let payload = start + MASK_KEY_BYTES;
                if let Some(key) = answer.get(start..payload) {
                    for at in payload..model.len() {
                        let place = (at - payload) % MASK_KEY_BYTES;
                        model[at] ^= model[start + place] ^ key[place];
                    }
                    model[start..payload].copy_from_slice(key);
                }
            }
            Freedom::Cut(text) => {
                let first = answer.get(1).map(|length| usize::from(*length));
                if let Some(first) = first.filter(|first| *first <= text.len()) {
                    return encode::with_ping(text, first);
                }
            }
            Freedom::Deflate(text) => {
                let (mut inflater, mut out) = (Inflater::new(MAX_WINDOW_BITS, false), Vec::new());
                let is_valid = inflater.inflate(answer, limits::QUIZ_ANSWER_CHARS, &mut out).is_ok();
                if is_valid && out == text.as_bytes() {
                    return answer.to_vec();
                }
            }
            Freedom::None => {}
        }
        model
    }
}

/// The place of a bit in prose, with its field: `byte 1, bit 0 (mask)`.
fn place(bit: usize, field: Option<&Node>) -> String {
    let name = field.map_or("after the end", |leaf| leaf.name.as_str());
    format!("byte {}, bit {} ({name})", bit / BYTE, bit % BYTE)
}

/// The leaf of a bit.
fn leaf(tree: &Node, bit: usize) -> Option<&Node> {
    tree.leaves().into_iter().find(|leaf| leaf.bits.contains(&bit))
}

fn wrong(text: String, bits: Option<Range<usize>>) -> Verdict {
    Verdict { is_right: false, text, bits }
}

fn right() -> Verdict {
    Verdict { is_right: true, text: "right".to_owned(), bits: None }
}

/// Compares bytes with the only right ones.
fn compare(dialect: &Dialect, answer: &[u8], model: &[u8], layout: &Layout) -> Verdict {
    if answer == model {
        return right();
    }
    let tree = layout.explain(dialect, model).tree();
    let (end, all) = (answer.len() * BYTE, model.len() * BYTE);
    let Some(at) = answer.iter().zip(model).position(|(own, right)| own != right) else {
        let (count, to) = (answer.len().abs_diff(model.len()), all.min(end));
        let what = if end < all { "missing" } else { "too many" };
        let text = format!(
            "right so far; {} {what}, from {}",
            count_noun(count, "byte"),
            place(to, leaf(&tree, to))
        );
        return wrong(text, Some(to..end));
    };
    let (own, must) = (answer[at], model[at]);
    let within = (own ^ must).leading_zeros() as usize;
    let bit = at * BYTE + within;
    let digit = must >> (BYTE - 1 - within) & 1;
    let field = leaf(&tree, bit);
    let mut text = format!("{}: is {}, must be {digit}", place(bit, field), digit ^ 1);
    if field.is_some_and(|leaf| leaf.bits.len() >= BYTE) {
        text += &format!(" (the byte {must:02x}, not {own:02x})");
    }
    match layout.explain(dialect, answer).problem() {
        Some(Problem::Violation { rule, address, description, bits, .. }) if bits.contains(&bit) => {
            let description = description.strip_suffix('.').unwrap_or(description);
            text.extend([": ", description, " (", rule, ", ", address, ")"]);
        }
        _ => {
            if let Some(leaf) = field.filter(|leaf| !leaf.value.is_empty()) {
                text.extend(["; ", &leaf.name, " must be ", &leaf.value]);
            }
        }
    }
    wrong(text, Some(bit..bit + 1))
}

/// Checks that the first broken rule is this one.
fn check_rule(explanation: &Explanation<'_>, wanted: Violation) -> Verdict {
    let wanted = wanted.name();
    let Some(Problem::Violation { rule, address, bits, .. }) = explanation.problem() else {
        return wrong(["no rule is broken so far, so not ", wanted].concat(), None);
    };
    let place = place(bits.start, leaf(&explanation.tree(), bits.start));
    if *rule == wanted {
        return Verdict { text: ["right: ", rule, " at ", &place].concat(), ..right() };
    }
    let text = [&place, ": breaks ", rule, " first (", address, "), not ", wanted].concat();
    wrong(text, Some(bits.clone()))
}

/// Compares ASCII text.
fn compare_text(answer: &str, text: &str) -> Verdict {
    if answer == text {
        return right();
    }
    let at = answer.bytes().zip(text.bytes()).take_while(|(own, right)| own == right).count();
    let must = text.get(at..=at).unwrap_or("the end");
    wrong(format!("character {at}: must be {must}"), None)
}

/// Compares numbers, separated by spaces or commas, in any order.
fn compare_numbers(answer: &str, numbers: &[i64], reason: &str) -> Result<Verdict, String> {
    let because = |what: String| wrong([&what, ": ", reason].concat(), None);
    let mut own = Vec::new();
    for word in answer.split([',', ' ']).filter(|word| !word.is_empty()) {
        let number = read_number(word)
            .ok_or_else(|| format!("{word}: an answer is whole numbers, such as 7, 0x07 or 7 12"))?;
        if !numbers.contains(&number) {
            return Ok(because(format!("{word} is wrong")));
        }
        own.push(number);
    }
    if own.is_empty() {
        return Err("no number: an answer is whole numbers, such as 7, 0x07 or 7 12".to_owned());
    }
    let lacking = numbers.iter().find(|number| !own.contains(number));
    Ok(lacking.map_or_else(right, |number| because(format!("right so far; {number} is missing"))))
}

/// Reads a decimal number, or a hexadecimal one after `0x`.
fn read_number(word: &str) -> Option<i64> {
    let (is_negative, digits) = word.strip_prefix('-').map_or((false, word), |digits| (true, digits));
    let number = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    // A second sign is no digit.
    let number = number.ok().filter(|_| digits.starts_with(|first: char| first.is_ascii_digit()))?;
    (number >= 0).then_some(if is_negative { -number } else { number })
}
