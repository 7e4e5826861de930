//! Matches frames against a filter and, if none passes, describes why.
//!
//! Fields are found by their names in the explanation's tree. A number without a unit is compared
//! in pixels if the field is a position, otherwise with the encoded number.

use super::entry::{FrameEntry, NameTable};
use super::filter::{EXACT, ExpectedValue, Filter, FilterTerm, Operator, Test, Unit};
use crate::tools::explain::Explanation;
use crate::tools::explain::tree::Node;
use crate::util::plural::count_noun;

/// Filter word for datagrams that a stream would have held for a missing segment.
const HELD: &str = "held";

/// Applies a filter, and counts the matches of each term.
#[derive(Debug, Clone, Default)]
pub struct FilterMatcher {
    filter: Filter,
    tallies: Vec<Vec<TermStats>>,
}

/// Statistics of one term: how many frames it tested, and how many passed.
#[derive(Debug, Clone, Default)]
struct TermStats {
    tested: usize,
    passed: usize,
    /// The number of tested frames without the field.
    without: usize,
    /// The smallest and the largest value of the field.
    range: Option<(f64, f64)>,
}

impl FilterMatcher {
    /// Creates a matcher without counts.
    pub fn new(filter: Filter) -> FilterMatcher {
        let tallies =
            filter.alternatives.iter().map(|parts| vec![TermStats::default(); parts.len()]).collect();
        FilterMatcher { filter, tallies }
    }

    /// Whether the filter needs the explanation of this entry.
    pub fn needs_explanation(&self, entry: &FrameEntry) -> bool {
        self.filter.alternatives.iter().flatten().any(|part| needs_explanation(&part.test, entry))
    }

    /// Whether the filter has no terms.
    pub fn is_empty(&self) -> bool {
        self.filter.alternatives.is_empty()
    }

    /// Whether an entry may pass. Terms that need the explanation are assumed to match.
    pub fn may_pass(&self, entry: &FrameEntry, names: &NameTable) -> bool {
        let passes = |part: &FilterTerm| {
            needs_explanation(&part.test, entry) || matches_entry(part, entry, names) != part.is_negated
        };
        self.is_empty() || self.filter.alternatives.iter().any(|parts| parts.iter().all(passes))
    }

    /// Whether a frame passes. Without an explanation, tests that need one fail.
    pub fn passes(
        &mut self,
        entry: &FrameEntry,
        names: &NameTable,
        explained: Option<&Explanation<'_>>,
    ) -> bool {
        let mut is_wanted = self.is_empty();
        for (parts, tallies) in self.filter.alternatives.iter().zip(&mut self.tallies) {
            is_wanted |= parts.iter().zip(tallies).all(|(part, tally)| {
                tally.tested += 1;
                let deep = explained.filter(|_| needs_explanation(&part.test, entry));
                let holds = matches_entry(part, entry, names)
                    || deep.is_some_and(|explained| matches_explanation(&part.test, explained, tally));
                let passed = holds != part.is_negated;
                tally.passed += usize::from(passed);
                passed
            });
        }
        is_wanted
    }

    /// Describes in one sentence why no frame passed; empty if the filter has no terms.
    pub fn explain_no_match(&self, names: &NameTable) -> String {
        let why = |(parts, tallies): (&Vec<FilterTerm>, &Vec<TermStats>)| {
            let at = tallies.iter().position(|tally| tally.passed == 0).unwrap_or_default();
            let (part, tally) = (&parts[at], &tallies[at]);
            let before: Vec<String> = parts[..at].iter().map(|part| format!("`{}`", part.text)).collect();
            let of = match before.is_empty() {
                true => String::new(),
                false => format!("Of {} with {}, none matches", frames(tally.tested), before.join(" and ")),
            };
            let begin = if of.is_empty() { "No frame matches".to_owned() } else { of };
            format!("{begin} `{}`{}", part.text, detail(part, tally, names))
        };
        let all: Vec<String> = self.filter.alternatives.iter().zip(&self.tallies).map(why).collect();
        all.join(". ")
    }
}

/// Whether a test needs the explanation of this entry. The names of another protocol are words in
/// its messages.
fn needs_explanation(test: &Test, entry: &FrameEntry) -> bool {
    test.needs_explanation() || entry.is_foreign && matches!(test, Test::Named(_))
}

fn frames(number: usize) -> String {
    count_noun(number, "frame")
}

/// Describes the values that were found instead.
fn detail(part: &FilterTerm, tally: &TermStats, names: &NameTable) -> String {
    match &part.test {
        Test::Field(path, ..) => {
            let field = path.join(".");
            let has = |count: usize| if count == 1 { "has" } else { "have" };
            let with = tally.tested - tally.without;
            let them = if tally.without == 0 { "every frame" } else { "the others" };
            let without = match tally.without {
                0 => String::new(),
                some => format!("; {} {} no field {field}", frames(some), has(some)),
            };
            match tally.range {
                Some((min, max)) if min == max => {
                    format!("{without}; in {them}, the field is {min}")
                }
                Some((min, max)) => format!("{without}; in {them}, the field is {min} to {max}"),
                None if with > 0 => format!("{without}; in {them}, the field has other values"),
                None => without,
            }
        }
        Test::Named(_) if !part.is_negated && names.iter().next().is_some() => {
            let mut known: Vec<&str> = names.iter().collect();
            known.sort_unstable();
            format!("; the names here are {}", known.join(", "))
        }
        _ => String::new(),
    }
}

/// Tests an entry without its explanation.
fn matches_entry(part: &FilterTerm, entry: &FrameEntry, names: &NameTable) -> bool {
    match &part.test {
        Test::Named(expected) => {
            let datagram = entry.datagram.as_deref();
            let fate = datagram.and_then(|datagram| datagram.fate.name());
            let held = datagram.and_then(|datagram| datagram.wait_us()).map(|_| HELD);
            let own = [names.name(entry.packet), names.name(entry.rule), entry.kind_name(), fate, held];
            let packets = datagram.into_iter().flat_map(|datagram| &datagram.packets);
            let packets = packets.filter_map(|(packet, _)| names.name(*packet));
            own.into_iter().flatten().chain(packets).any(|name| {
                let name = name.to_lowercase();
                expected.iter().any(|word| match word.strip_prefix(EXACT) {
                    Some(word) => name == word,
                    None => name.contains(word),
                })
            })
        }
        Test::From(side) => entry.from == *side,
        Test::Broken => !matches!(names.name(entry.rule), None | Some("incomplete")),
        Test::Size(operator, number) => {
            compare(*operator, f64::from(entry.compressed_bytes.unwrap_or(entry.bytes)), *number)
        }
        Test::Connection(operator, number) => compare(*operator, f64::from(entry.client), *number),
        Test::Field(..) | Test::Bytes(_) | Test::Text(_) => false,
    }
}

fn matches_explanation(test: &Test, explained: &Explanation<'_>, tally: &mut TermStats) -> bool {
    let Some(frame) = explained.frames.first() else { return false };
    match test {
        Test::Field(path, operator, expected) => {
            let mut look =
                FieldSearch { path, operator: *operator, expected, holds: false, is_present: false, tally };
            look.walk(&frame.tree, &mut Vec::new());
            if let Some(whole) = &frame.message {
                look.walk(&whole.tree, &mut Vec::new());
            }
            let FieldSearch { holds, is_present: is_there, .. } = look;
            tally.without += usize::from(!is_there);
            holds
        }
        Test::Bytes(bytes) => {
            let whole = frame.message.as_ref().map(|whole| &whole.payload[..]).unwrap_or_default();
            [&explained.bytes[..], &frame.payload, whole].iter().any(|all| contains(all, bytes))
        }
        Test::Text(text) => has_any_text(explained, std::slice::from_ref(text)),
        Test::Named(words) => has_any_text(explained, words),
        Test::From(_) | Test::Broken | Test::Size(..) | Test::Connection(..) => false,
    }
}

/// Whether the message or its line has one of these texts, which are in lower case.
fn has_any_text(explained: &Explanation<'_>, texts: &[String]) -> bool {
    let Some(frame) = explained.frames.first() else { return false };
    let payload = if frame.payload.is_empty() { &explained.bytes } else { &frame.payload };
    let whole = frame.message.as_ref().map(|whole| &whole.payload).unwrap_or(payload);
    let lines = [String::from_utf8_lossy(whole).into_owned(), frame.to_string()];
    lines.iter().any(|line| {
        let line = line.to_lowercase();
        texts.iter().any(|text| line.contains(text))
    })
}

fn contains(all: &[u8], part: &[u8]) -> bool {
    all.len() >= part.len() && all.windows(part.len()).any(|window| window == part)
}

fn compare(operator: Operator, number: f64, expected: f64) -> bool {
    match operator {
        Operator::Equal => number == expected,
        Operator::NotEqual => number != expected,
        Operator::Less => number < expected,
        Operator::AtMost => number <= expected,
        Operator::Greater => number > expected,
        Operator::AtLeast => number >= expected,
        Operator::Contains => number.to_string().contains(&expected.to_string()),
    }
}

/// Searches a tree for a field.
struct FieldSearch<'a> {
    path: &'a [String],
    operator: Operator,
    expected: &'a ExpectedValue,
    holds: bool,
    is_present: bool,
    tally: &'a mut TermStats,
}

impl FieldSearch<'_> {
    fn walk<'n>(&mut self, node: &'n Node, above: &mut Vec<&'n str>) {
        if node.children.is_empty() {
            if self.matches_path(&node.name, above) {
                self.is_present = true;
                self.holds |= self.judge(node);
            }
            return;
        }
        above.push(&node.name);
        node.children.iter().for_each(|child| self.walk(child, above));
        above.pop();
    }

    /// Whether the path ends with this name. The other names of the path must occur in `above`, in
    /// the same order.
    fn matches_path(&self, name: &str, above: &[&str]) -> bool {
        let Some((last, before)) = self.path.split_last() else { return false };
        let mut above = above.iter();
        name.eq_ignore_ascii_case(last)
            && before.iter().all(|expected| above.any(|name| name.eq_ignore_ascii_case(expected)))
    }

    fn judge(&mut self, node: &Node) -> bool {
        match self.expected {
            ExpectedValue::Number(expected, unit) => {
                let Some(number) = number(node, *unit) else { return self.operator == Operator::NotEqual };
                let (min, max) = self.tally.range.unwrap_or((number, number));
                self.tally.range = Some((min.min(number), max.max(number)));
                compare(self.operator, number, *expected)
            }
            ExpectedValue::Text(expected) => {
                let raw = node.raw.as_ref().and_then(|raw| raw.as_str()).unwrap_or(&node.value);
                let is = raw == expected || node.value.split(", ").any(|part| part == expected);
                match self.operator {
                    Operator::NotEqual => !is,
                    Operator::Contains => raw.to_lowercase().contains(&expected.to_lowercase()),
                    _ => is,
                }
            }
        }
    }
}

/// The number of a leaf: in `unit` if given, otherwise in pixels for a position.
fn number(node: &Node, unit: Option<Unit>) -> Option<f64> {
    let text = node.value.rsplit(" = ").next().unwrap_or_default();
    let of = |end: &str| text.strip_suffix(end).and_then(|number| number.trim().parse::<f64>().ok());
    match unit {
        Some(Unit::Degrees) => of("°"),
        Some(Unit::Px) => of("px"),
        None => of(" px").or_else(|| node.raw.as_ref().and_then(|raw| raw.as_f64())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Direction, PacketTables, Value};
    use crate::tools::explain::{Conversation, explain, hex};
    use crate::tools::inspector::message_filter::MessageFilter;
    use crate::ws::Side;
    use crate::ws::frame::Opcode;

    /// Returns the native frames that pass a filter, and the reason if none passes.
    fn judge(filter: &str, frames: &[Vec<u8>]) -> (Vec<usize>, String) {
        let codes = PacketTables::builtin();
        let dialect = codes.dialect("native").expect("built in");
        let (mut names, mut judge) =
            (NameTable::default(), FilterMatcher::new(Filter::parse(filter).expect("a filter")));
        let mut passed = Vec::new();
        for (at, bytes) in frames.iter().enumerate() {
            let explained = explain(bytes, &dialect, None);
            let entry = FrameEntry::new(at as u64 + 1, 1, &explained, &mut names);
            let may = judge.may_pass(&entry, &names);
            if judge.passes(&entry, &names, Some(&explained)) {
                assert!(may, "{filter}: {at}");
                passed.push(at);
            }
        }
        (passed, judge.explain_no_match(&names))
    }

    fn packet(direction: Direction, name: &str, values: &[Value]) -> Vec<u8> {
        let codes = PacketTables::builtin();
        let payload =
            codes.dialect("native").expect("built in").encode(direction, name, values).expect("fits");
        let mut bytes = Vec::new();
        let mask = (direction == Direction::ToServer).then_some([1, 2, 3, 4]);
        crate::ws::frame::write(&mut bytes, crate::ws::frame::Opcode::Binary, mask, &payload);
        bytes
    }

    fn frames() -> Vec<Vec<u8>> {
        let moves =
            |direction: u16| packet(Direction::ToServer, "move", &[1.into(), Value::Nil, direction.into()]);
        let join = packet(Direction::ToServer, "join", &["Ann".into(), Value::Nil]);
        let trees: Value = vec![7.into(), 0.into(), 7100.into(), 50.into(), 30.into()]
            .into_iter()
            .collect::<Vec<Value>>()
            .into();
        let objects = packet(Direction::ToClient, "objects", &[trees]);
        let broken = hex::parse("8a80").expect("hex");
        vec![moves(5000), moves(16384), join, objects, broken, hex::parse("8902abcd").expect("hex")]
    }

    #[test]
    fn frames_pass_by_names_fields_text_bytes_and_direction() {
        for (filter, passed) in [
            ("", &[0, 1, 2, 3, 4, 5][..]),
            ("move", &[0, 1]),
            ("MOVE join", &[0, 1, 2]),
            ("-move -objects", &[2, 4, 5]),
            ("-packet=move -packet=object", &[2, 3, 4, 5]),
            ("from server", &[3, 5]),
            ("move.direction > 7000", &[1]),
            ("direction = 90°", &[1]),
            ("join.direction > 7000", &[]),
            ("move direction < 7000 or name = Ann", &[0, 2]),
            ("name ~ an", &[2]),
            ("not name ~ an from client", &[0, 1, 4]),
            ("x > 7000", &[3]),
            ("objects.y < 51px", &[3]),
            ("opcode = ping", &[5]),
            ("opcode = 2 from server", &[3]),
            ("hex ab cd", &[5]),
            ("hex 82 88", &[0, 1, 2]),
            ("hex a3 41 6e 6e", &[2]),
            ("\"ann\"", &[2]),
            ("bytes < 5", &[4, 5]),
        ] {
            assert_eq!(judge(filter, &frames()).0, passed, "{filter}");
        }
    }

    #[test]
    fn messages_of_another_protocol_pass_by_their_words_and_the_keys_of_their_json() {
        let codes = PacketTables::builtin();
        let dialect = codes.dialect("native").expect("built in");
        let mut conversation = Conversation::foreign(&dialect);
        conversation.start_after_upgrade(false);
        let texts = [r#"{"type":"buy","price":7,"of":{"name":"Ann"}}"#, "a plain Word", r#"["price", 8]"#];
        for (filter, passed) in [
            ("price = 7", &[0][..]),
            ("price > 7", &[]),
            ("type = buy", &[0]),
            ("of.name = Ann", &[0]),
            ("buy", &[0]),
            ("price", &[0, 2]),
            ("word buy", &[0, 1]),
            ("-price", &[1]),
            ("opcode = text", &[0, 1, 2]),
        ] {
            let filter = MessageFilter::parse(filter).expect("a filter");
            let found = (0..texts.len()).filter(|at| {
                let mut frame = Vec::new();
                crate::ws::frame::write(&mut frame, Opcode::Text, None, texts[*at].as_bytes());
                filter.matches(&conversation.explain(Side::Server, &frame), 1)
            });
            assert_eq!(found.collect::<Vec<_>>(), passed, "{filter:?}");
        }
    }

    #[test]
    fn an_empty_result_is_explained() {
        for (filter, why) in [
            (
                "x > 8000",
                "No frame matches `x > 8000`; 5 frames have no field x; in the others, the field is 7100",
            ),
            ("y > 8000 move", "Of 2 frames with `move`, none matches `y > 8000`; 2 frames have no field y"),
            (
                "direction > 20000",
                "No frame matches `direction > 20000`; 4 frames have no field direction; in the others, the field is 5000 to 16384",
            ),
            ("mvoe", "No frame matches `mvoe`; the names here are incomplete, join, move, objects"),
            ("hex ff ff ff", "No frame matches `hex ff ff ff`"),
        ] {
            assert_eq!(judge(filter, &frames()), (vec![], why.to_owned()), "{filter}");
        }
    }
}
