//! Compares an answer with the model, and names the first wrong bit.

use std::ops::Range;

use super::Verdict;
use super::frames;
use super::layout::Layout;
use crate::limits;
use crate::packet::Dialect;
use crate::tools::explain::input::{self, InputContent, Notation};
use crate::tools::explain::tree::BYTE;
use crate::tools::explain::{Explanation, Problem};
use crate::util::plural::count_noun;
use crate::ws::deflate::{Inflater, MAX_WINDOW_BITS};
use crate::ws::frame::{self, MASK_KEY_BYTES};
use crate::ws::{Side, Violation};

/// What an answer is compared with.
#[derive(Clone, Debug)]
pub enum Expected {
    /// These bytes.
    Bytes {
        /// A right answer.
        model: Vec<u8>,
        /// The names of its bits.
        layout: Layout,
        /// What an answer may choose.
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
    /// These numbers, in any order.
    Numbers(Vec<i64>),
}

/// What an answer may choose.
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
            Expected::Text(_) | Expected::Numbers(_) => None,
        }
    }
}

/// Reads the bytes of an answer in any notation of `tickwire explain`.
///
/// # Errors
/// One sentence with the rule.
pub fn read_bytes(text: &str) -> Result<Vec<u8>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("no bytes: an answer needs at least one, two hexadecimal digits each".to_owned());
    }
    if text.len() > limits::QUIZ_ANSWER_CHARS {
        let (length, most) = (text.len(), limits::QUIZ_ANSWER_CHARS);
        return Err(format!("{length} characters: an answer has at most {most}"));
    }
    let input = input::read(text.as_bytes())?;
    match input.content {
        InputContent::Pieces(pieces) if input.notation != Notation::Bytes => {
            Ok(pieces.into_iter().flat_map(|piece| piece.bytes).collect())
        }
        _ => Err("this is text: an answer is bytes, two hexadecimal digits each, such as 81 05".to_owned()),
    }
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
        Expected::Numbers(numbers) => compare_numbers(answer, numbers),
    }
}

impl Freedom {
    /// Returns the model with the choices of the answer.
    fn fit(self, model: &[u8], answer: &[u8]) -> Vec<u8> {
        let mut model = model.to_vec();
        match self {
            Freedom::Key(start) => {
                let payload = start + MASK_KEY_BYTES;
                let key = |bytes: &[u8]| bytes.get(start..payload).and_then(|key| key.try_into().ok());
                if let (Some(own), Some(other)) = (key(&model), key(answer)) {
                    frame::mask(&mut model[payload..], own, 0);
                    frame::mask(&mut model[payload..], other, 0);
                    model[start..payload].copy_from_slice(&other);
                }
            }
            Freedom::Cut(text) => {
                let first = answer.get(1).map(|length| usize::from(*length));
                if let Some(first) = first.filter(|first| *first <= text.len()) {
                    return frames::with_ping(text, first);
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
fn place(explanation: &Explanation<'_>, bit: usize) -> String {
    let tree = explanation.tree();
    let leaf = tree.leaves().into_iter().find(|leaf| leaf.bits.contains(&bit));
    let name = leaf.map_or(String::new(), |leaf| format!(" ({})", leaf.name));
    format!("byte {}, bit {}{name}", bit / BYTE, bit % BYTE)
}

fn wrong(text: String, bits: Range<usize>) -> Verdict {
    Verdict { is_right: false, text, bits: Some(bits) }
}

fn right() -> Verdict {
    Verdict { is_right: true, text: "right".to_owned(), bits: None }
}

/// Compares bytes with the only right ones.
fn compare(dialect: &Dialect, answer: &[u8], model: &[u8], layout: &Layout) -> Verdict {
    let (end, all) = (answer.len() * BYTE, model.len() * BYTE);
    let meant = layout.explain(dialect, model);
    let Some(at) = answer.iter().zip(model).position(|(own, right)| own != right) else {
        return match (end, all) {
            _ if end < all => {
                let lacking = count_noun(model.len() - answer.len(), "byte");
                wrong(format!("right so far; {lacking} missing, from {}", place(&meant, end)), end..end)
            }
            _ if end > all => {
                let extra = count_noun(answer.len() - model.len(), "byte");
                wrong(format!("right up to byte {}, and {extra} too many", model.len() - 1), all..end)
            }
            _ => right(),
        };
    };
    let (own, must) = (answer[at], model[at]);
    let within = (own ^ must).leading_zeros() as usize;
    let (bit, shift) = (at * BYTE + within, BYTE - 1 - within);
    let mut text = place(&meant, bit);
    text += &format!(": is {}, must be {}", own >> shift & 1, must >> shift & 1);
    let tree = meant.tree();
    if let Some(leaf) = tree.leaves().into_iter().find(|leaf| leaf.bits.contains(&bit)) {
        if leaf.bits.len() > BYTE {
            text += &format!(" (the byte {must:02x}, not {own:02x})");
        }
        if !leaf.value.is_empty() {
            text += &format!("; {} must be {}", leaf.name, leaf.value);
        }
    }
    if let Some(Problem::Violation { rule, address, description, bits, .. }) =
        layout.explain(dialect, answer).problem()
        && bits.contains(&bit)
    {
        text += &format!("; {rule}: {description} ({address})");
    }
    wrong(text, bit..bit + 1)
}

/// Checks that the first broken rule is this one.
fn check_rule(explanation: &Explanation<'_>, asked: Violation) -> Verdict {
    let asked = asked.name();
    match explanation.problem() {
        Some(Problem::Violation { rule, bits, .. }) if *rule == asked => {
            Verdict { text: format!("right: {rule} at {}", place(explanation, bits.start)), ..right() }
        }
        Some(Problem::Violation { rule, address, bits, .. }) => {
            let place = place(explanation, bits.start);
            wrong(format!("{place}: breaks {rule} first ({address}), not {asked}"), bits.clone())
        }
        Some(Problem::Incomplete { .. }) => {
            let end = explanation.bytes.len() * BYTE;
            wrong(
                format!("the last frame is incomplete, and no rule is broken so far, so not {asked}"),
                end..end,
            )
        }
        None => Verdict {
            text: format!("these bytes break no rule, so not {asked}"),
            is_right: false,
            bits: None,
        },
    }
}

fn compare_text(answer: &str, text: &str) -> Verdict {
    if answer == text {
        return right();
    }
    let same = answer.chars().zip(text.chars()).take_while(|(own, right)| own == right).count();
    let [own, must] = [answer, text].map(|text| text.chars().nth(same));
    let name = |sign: Option<char>| sign.map_or("the end".to_owned(), |sign| format!("{sign:?}"));
    let text = format!("character {same}: is {}, must be {}", name(own), name(must));
    Verdict { is_right: false, text, bits: None }
}

/// Compares numbers, separated by spaces or commas, in any order.
fn compare_numbers(answer: &str, numbers: &[i64]) -> Result<Verdict, String> {
    let mut own = Vec::new();
    for word in answer.split([',', ' ', '\t']).filter(|word| !word.is_empty()) {
        own.push(word.trim().parse::<i64>().map_err(|_| {
            let word: String = word.chars().take(limits::QUIZ_WORD_CHARS).collect();
            format!("{word:?} is no whole number: write numbers in decimal, such as 7 or 7 12")
        })?);
    }
    let lacking = numbers.iter().find(|number| !own.contains(number));
    let text = match (own.iter().find(|number| !numbers.contains(number)), lacking) {
        (Some(number), _) => format!("{number} is wrong"),
        (None, Some(_)) if own.is_empty() => return Err("no number: write at least one".to_owned()),
        (None, Some(number)) => format!("right so far; {number} is missing"),
        (None, None) => return Ok(right()),
    };
    Ok(Verdict { is_right: false, text, bits: None })
}
