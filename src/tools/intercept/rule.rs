//! Rules of the intercepting proxy: which messages wait, change or disappear.
//!
//! ```text
//!   client move: hold                  waits for a decision
//!   server "price": replace "9" "7"    changes a text
//!   ping: drop                         is not forwarded
//!   from server bytes > 1000: delay 200ms
//!   client chat: repeat 3              is sent three more times
//!   server "hello": break length       is sent with a broken header
//! ```
//!
//! The condition is a filter of the frame list; the words `client` and `server` at its start select
//! the sender, and `all` matches every message. The first matching rule applies.

use std::fmt;
use std::time::Duration;

use crate::limits;
use crate::tools::explain::Explanation;
use crate::tools::inspector::MessageFilter;
use crate::util::escape;
use crate::ws::Side;
use crate::ws::frame::Opcode;

/// A rule.
#[derive(Debug, Clone)]
pub struct Rule {
    text: String,
    from: Option<Side>,
    filter: MessageFilter,
    action: Action,
}

/// An action on a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The message waits for a decision; later messages of its sender wait for it.
    Hold,
    /// The message is not forwarded.
    Drop,
    /// The message is forwarded after this time; later messages of its sender wait for it.
    Delay(Duration),
    /// The message is forwarded, followed by this many copies.
    Repeat(u32),
    /// Every occurrence of the first text in the payload becomes the second.
    Replace(String, String),
    /// The message is sent with this fault.
    Break(Fault),
}

/// A fault that a rule puts into a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The MASK bit is wrong for the sender: RFC 6455, section 5.1.
    Mask,
    /// The length is not in its shortest form: RFC 6455, section 5.2.
    Length,
    /// The opcode is reserved: RFC 6455, section 5.2.
    Opcode,
    /// RSV3 is set, which no extension defines: RFC 6455, section 5.2.
    Reserved,
    /// FIN is not set, and no fragment follows: RFC 6455, section 5.4.
    Fin,
    /// The payload ends with a byte that no UTF-8 text has: RFC 6455, section 8.1.
    Utf8,
}

/// All faults, with their names in rules.
const FAULTS: [(&str, Fault); 6] = [
    ("mask", Fault::Mask),
    ("length", Fault::Length),
    ("opcode", Fault::Opcode),
    ("reserved", Fault::Reserved),
    ("fin", Fault::Fin),
    ("utf8", Fault::Utf8),
];

/// The words that select a sender.
const SENDERS: [&str; 2] = ["client", "server"];

/// The syntax of an action, for error messages.
const ACTIONS: &str = "hold, drop, delay 200ms, repeat 3, replace \"TEXT\" \"TEXT\", or break \
                       mask|length|opcode|reserved|fin|utf8";

impl Rule {
    /// Parses `CONDITION: ACTION`.
    ///
    /// # Errors
    /// One line with the text, the rule of the syntax and an example.
    pub fn parse(text: &str) -> Result<Rule, String> {
        let wrong = |why: String| format!("rule `{}`: {why}", escape::escape_line(text.trim()));
        let (condition, action) = split_outside_quotes(text)
            .ok_or_else(|| wrong("must be CONDITION: ACTION, such as client move: hold".to_owned()))?;
        let condition = condition.trim();
        let (word, rest) = condition.split_once(char::is_whitespace).unwrap_or((condition, ""));
        let (from, filter) = match word {
            "client" => (Some(Side::Client), rest),
            "server" => (Some(Side::Server), rest),
            "all" if rest.is_empty() => (None, ""),
            _ => (None, condition),
        };
        if let Some(meant) = SENDERS.into_iter().find(|name| is_misspelt(word, name)) {
            return Err(wrong(format!("{word} is not {meant}; write {word:?} to match this text")));
        }
        let filter = MessageFilter::parse(filter).map_err(|error| wrong(error.message))?;
        let action = parse_action(action.trim()).map_err(wrong)?;
        Ok(Rule { text: text.trim().to_owned(), from, filter, action })
    }

    /// Parses rules, at most [`limits::INTERCEPT_RULES`].
    ///
    /// # Errors
    /// As [`Rule::parse`], or the number of rules.
    pub fn parse_all<T: AsRef<str>>(texts: &[T]) -> Result<Vec<Rule>, String> {
        if texts.len() > limits::INTERCEPT_RULES {
            return Err(format!("{} rules: at most {}", texts.len(), limits::INTERCEPT_RULES));
        }
        texts.iter().map(|text| Rule::parse(text.as_ref())).collect()
    }

    /// Whether the rule may match messages of this side.
    pub fn concerns(&self, from: Side) -> bool {
        self.from.is_none_or(|side| side == from)
    }

    /// Whether the rule matches a message or a control frame of this connection. A rule that holds
    /// everything does not hold pings and pongs: the peer would close the connection.
    pub fn matches(&self, explained: &Explanation<'_>, connection: u64) -> bool {
        let header = explained.frames.first().and_then(|frame| frame.header);
        let is_automatic = header.is_some_and(|header| matches!(header.opcode, Opcode::Ping | Opcode::Pong));
        self.concerns(explained.from)
            && !(is_automatic && self.filter.is_empty() && self.action == Action::Hold)
            && self.filter.matches(explained, connection)
    }

    /// The action for a message that the rule matches.
    pub fn action(&self) -> &Action {
        &self.action
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// Whether a word differs from a name by one letter: another, a missing or an additional one, or
/// two that are exchanged.
fn is_misspelt(word: &str, name: &str) -> bool {
    let (word, name) = (word.as_bytes(), name.as_bytes());
    let same = word.iter().zip(name).take_while(|(a, b)| a == b).count();
    let (word, name) = (&word[same..], &name[same..]);
    let rests = [(1, 1), (1, 0), (0, 1)];
    let is_one_letter = rests.into_iter().any(|(skipped, left_out)| {
        word.get(skipped..).zip(name.get(left_out..)).is_some_and(|(word, name)| word == name)
    });
    let is_exchanged =
        matches!((word, name), ([a, b, word @ ..], [c, d, name @ ..]) if a == d && b == c && word == name);
    word != name && (is_one_letter || is_exchanged)
}

/// Splits at the first colon outside quotation marks.
fn split_outside_quotes(text: &str) -> Option<(&str, &str)> {
    let mut is_quoted = false;
    let at = text.find(|ch| {
        is_quoted ^= ch == '"';
        ch == ':' && !is_quoted
    })?;
    Some((&text[..at], &text[at + 1..]))
}

fn parse_action(text: &str) -> Result<Action, String> {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    match word {
        "hold" if rest.is_empty() => Ok(Action::Hold),
        "drop" if rest.is_empty() => Ok(Action::Drop),
        "delay" => delay(rest).map(Action::Delay),
        "repeat" => {
            let copies =
                rest.parse().ok().filter(|copies| (1..=limits::INTERCEPT_MAX_COPIES).contains(copies));
            let expected = format!("repeat {rest}: expected 1 to {} copies", limits::INTERCEPT_MAX_COPIES);
            copies.map(Action::Repeat).ok_or(expected)
        }
        "replace" => match quoted_texts(rest)[..] {
            [old, new] if !old.is_empty() => Ok(Action::Replace(old.to_owned(), new.to_owned())),
            _ => Err("replace needs two texts, such as replace \"old\" \"new\"".to_owned()),
        },
        "break" => {
            let fault = FAULTS.iter().find(|(name, _)| *name == rest);
            fault.map(|(_, fault)| Action::Break(*fault)).ok_or_else(|| {
                let names: Vec<&str> = FAULTS.iter().map(|(name, _)| *name).collect();
                format!("break {rest}: expected one of {}", names.join(", "))
            })
        }
        _ => Err(format!("`{}` is no action; expected {ACTIONS}", escape::escape_line(text))),
    }
}

fn delay(text: &str) -> Result<Duration, String> {
    let expected = || {
        format!(
            "delay {text}: expected a time up to {} s, such as 200ms or 2s",
            limits::INTERCEPT_MAX_DELAY.as_secs()
        )
    };
    let (digits, unit_us) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1e3),
        None => (text.strip_suffix('s').ok_or_else(expected)?, 1e6),
    };
    let time: f64 = digits.trim().parse().map_err(|_| expected())?;
    let us = time * unit_us;
    let is_valid = us >= 0.0 && us <= limits::INTERCEPT_MAX_DELAY.as_micros() as f64;
    is_valid.then(|| Duration::from_micros(us as u64)).ok_or_else(expected)
}

/// The texts in quotation marks.
fn quoted_texts(text: &str) -> Vec<&str> {
    text.split('"').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_a_side_a_filter_and_an_action() {
        for (text, from, action) in [
            ("client move: hold", Some(Side::Client), Action::Hold),
            ("server : drop", Some(Side::Server), Action::Drop),
            ("all: drop", None, Action::Drop),
            ("from server bytes > 9: delay 200ms", None, Action::Delay(Duration::from_millis(200))),
            ("ping: delay 1.5s", None, Action::Delay(Duration::from_millis(1500))),
            ("client \"a: b\": repeat 3", Some(Side::Client), Action::Repeat(3)),
            ("chat: replace \"a: b\" \"\"", None, Action::Replace("a: b".to_owned(), String::new())),
            ("bytes > 100: break length", None, Action::Break(Fault::Length)),
        ] {
            let rule = Rule::parse(text).expect(text);
            assert_eq!((rule.from, &rule.action, rule.to_string()), (from, &action, text.to_owned()));
        }
    }

    #[test]
    fn errors_name_the_text_and_what_is_expected() {
        for (text, expected) in [
            ("hold", "CONDITION: ACTION"),
            ("move: wait", "hold, drop, delay"),
            ("move: delay 1h", "up to 600 s"),
            ("move: delay 601s", "up to 600 s"),
            ("move: repeat 0", "1 to 1000 copies"),
            ("move: replace \"a\"", "two texts"),
            ("move: replace \"\" \"a\"", "two texts"),
            ("move: break bones", "mask, length"),
            ("move >: hold", "rule"),
            ("chat \"a\\b\": wait", "rule `chat \"a\\b\": wait`: `wait` is no action"),
        ] {
            let error = Rule::parse(text).expect_err(text);
            assert!(error.contains(expected) && error.lines().count() == 1, "{text}: {error}");
        }
        let many = vec!["all: hold"; limits::INTERCEPT_RULES + 1];
        assert!(Rule::parse_all(&many).expect_err("too many").contains("at most 64"));
    }
}
