//! A dump: lines with an offset, bytes in hexadecimal, and perhaps the bytes as characters.
//!
//! ```text
//!   xxd, Chrome     00000000: 8185 37fa 213d 7f9f 4d51 58              ..7.!=..MQX
//!   hexdump -C      00000000  81 85 37 fa 21 3d 7f 9f  4d 51 58        |..7.!=..MQX|
//!   Wireshark       0000   81 85 37 fa 21 3d 7f 9f 4d 51 58   ..7.!=..MQX
//! ```
//!
//! The offsets are hexadecimal, octal (`od`), decimal (`od -A d`), or the number of the line
//! (Chrome). They must continue, so that no line is missing. An offset of 0 starts another piece.
//! If some lines are indented, as in Wireshark's "Follow TCP Stream", they are bytes of the server,
//! and the others of the client. The characters are not read; they show where the bytes of a line
//! end.

use super::types::{EMPTY, InputPiece, InvalidText};
use crate::limits;
use crate::tools::explain::hex;
use crate::ws::Side;

/// Minimum digits of an offset.
const OFFSET_DIGITS: usize = 4;
/// Minimum digits of a first offset other than 0, before a colon.
const COLON_DIGITS: usize = 6;
/// Maximum digits of an offset.
const MAX_OFFSET_DIGITS: usize = 16;
/// Bytes before the gap in the middle of a line.
const HALF_LINE: usize = 8;
/// Additional columns of the lines of the server.
const SERVER_INDENT: usize = 4;
/// Columns of a tab.
const TAB: usize = 8;
/// The radixes of offsets.
const RADIXES: [u32; 3] = [16, 8, 10];
/// Digits of an offset of `od` and of `hexdump` without `-C`.
const OD_DIGITS: usize = 7;
/// Maximum digits of a first offset without a colon.
const MAX_BARE_DIGITS: usize = 8;
/// Characters of a line that an error shows.
const QUOTED_CHARS: usize = 20;

/// A line that begins like a line of a dump.
#[derive(Clone, Copy)]
struct Line<'a> {
    /// The offset of the line in the text.
    at: usize,
    /// Columns before the offset.
    indent: usize,
    /// The digits of the offset.
    digits: &'a str,
    /// The rest of the line, after the colon, if any.
    rest: &'a str,
    has_colon: bool,
}

impl<'a> Line<'a> {
    fn new(at: usize, line: &'a str) -> Option<Line<'a>> {
        let start = line.len() - line.trim_start().len();
        let indent = line[..start].chars().map(|ch| if ch == '\t' { TAB } else { 1 }).sum();
        let text = &line[start..];
        let end = text.find(|ch: char| !ch.is_ascii_hexdigit()).unwrap_or(text.len());
        let (digits, rest) = text.split_at(end);
        let has_colon = rest.starts_with(':');
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        let is_offset = (OFFSET_DIGITS..=MAX_OFFSET_DIGITS).contains(&digits.len())
            && (rest.is_empty() || rest.starts_with([' ', '\t', '\r']));
        is_offset.then_some(Line { at: at + start, indent, digits, rest, has_colon })
    }

    fn offset(&self, radix: u32) -> Option<u64> {
        u64::from_str_radix(self.digits, radix).ok()
    }

    /// Whether the line has the form of `hexdump` without `-C` or `od` without `-t x1`: words of 16
    /// bits, hexadecimal or octal, in the byte order of the machine.
    fn has_words(&self) -> bool {
        let group = self.rest.split_whitespace().next().unwrap_or_default();
        let is_word = match group.len() {
            4 => group.bytes().all(|digit| digit.is_ascii_hexdigit()),
            6 => u16::from_str_radix(group, 8).is_ok(),
            _ => false,
        };
        !self.has_colon && self.digits.len() == OD_DIGITS && is_word
    }

    /// The groups of digits after the offset: the columns before each, and its range in `rest`.
    fn groups(&self) -> Vec<(usize, std::ops::Range<usize>)> {
        let (mut groups, mut at) = (Vec::new(), 0);
        loop {
            let rest = &self.rest[at..];
            let gap = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            let start = at + gap;
            let group = self.rest[start..].split([' ', '\t', '\r']).next().unwrap_or_default();
            let is_length = if self.has_colon { group.len().is_multiple_of(2) } else { group.len() == 2 };
            if group.is_empty() || !is_length || !group.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return groups;
            }
            at = start + group.len();
            groups.push((gap, start..at));
        }
    }

    /// The bytes of the line.
    fn bytes(&self) -> Result<Vec<u8>, InvalidText> {
        let groups = self.groups();
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        for (_, group) in &groups {
            bytes.extend(hex::parse(&self.rest[group.clone()]).unwrap_or_default());
            ends.push(bytes.len());
        }
        let after = |count: usize| &self.rest[groups[count - 1].1.end..];
        let shows =
            |count: usize| after(count).starts_with("  ") && shows(after(count), &bytes[..ends[count - 1]]);
        // The characters may look like digits, so they are compared with the bytes before them.
        if let Some(count) = (1..=groups.len()).rev().find(|count| shows(*count)) {
            bytes.truncate(ends[count - 1]);
            return Ok(bytes);
        }
        let is_gap = |(index, (gap, _)): &(usize, &(usize, std::ops::Range<usize>))| {
            *index > 0 && *gap > 1 && !(*gap == 2 && ends[index - 1] == HALF_LINE)
        };
        let count = groups.iter().enumerate().find(is_gap).map_or(groups.len(), |(index, _)| index);
        let rest = if count == 0 { self.rest } else { after(count) };
        let is_end = rest.trim().is_empty() || rest.starts_with("  ") || rest.starts_with(" |");
        if count == 0 && !rest.trim().is_empty() || !is_end {
            let gap = rest.len() - rest.trim_start().len();
            let offset = self.rest.as_ptr() as usize - self.digits.as_ptr() as usize + self.rest.len()
                - rest.len()
                + gap;
            let found = rest.split_whitespace().next().unwrap_or_default();
            let message =
                format!("{found:?} in a hex dump: a byte has two hexadecimal digits; copy the line again");
            return Err(InvalidText::new(self.at + offset, message));
        }
        bytes.truncate(if count == 0 { 0 } else { ends[count - 1] });
        Ok(bytes)
    }
}

/// Whether the characters at the end of a line show these bytes. A byte that is not printable may
/// be any character. Wireshark writes a space between two halves.
fn shows(characters: &str, bytes: &[u8]) -> bool {
    let text = characters.trim();
    let text = [('|', '|'), ('>', '<')]
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close))
        .unwrap_or(text);
    let is_shown = |byte: u8, ch: char| !matches!(byte, b' '..=b'~') || char::from(byte) == ch;
    let matches = |chars: &[char], bytes: &[u8]| {
        chars.len() == bytes.len() && bytes.iter().zip(chars).all(|(byte, ch)| is_shown(*byte, *ch))
    };
    let trimmed = bytes.trim_ascii();
    // Spaces at the ends may be missing.
    let starts = if text.len() < bytes.len() { &[trimmed, bytes][..] } else { &[bytes, trimmed] };
    let mut chars: Vec<char> = text.chars().collect();
    if starts.iter().any(|bytes| matches(&chars, bytes)) {
        return true;
    }
    if chars.get(HALF_LINE) == Some(&' ') {
        chars.remove(HALF_LINE);
    }
    starts.iter().any(|bytes| matches(&chars, bytes))
}

/// The offsets of the lines of one side. Several ways of counting may fit the first lines.
#[derive(Clone, Copy, Default)]
struct Offsets {
    /// The first offset, in hexadecimal, octal and decimal.
    start: Option<[Option<u64>; 3]>,
    bytes: u64,
    lines: u64,
    /// Whether each way of counting fits so far: hexadecimal, octal, decimal, and line numbers.
    fits: [bool; 4],
}

impl Offsets {
    /// Whether the line follows the lines before it.
    fn follow(&mut self, line: &Line<'_>) -> bool {
        let now = RADIXES.map(|radix| line.offset(radix));
        let start = *self.start.get_or_insert_with(|| {
            self.fits = [true; 4];
            now
        });
        let is_at = |way: usize, count: u64| {
            start[way]
                .and_then(|start| start.checked_add(count))
                .is_some_and(|expected| now[way] == Some(expected))
        };
        let fits = [is_at(0, self.bytes), is_at(1, self.bytes), is_at(2, self.bytes), is_at(0, self.lines)];
        self.fits = [0, 1, 2, 3].map(|way| self.fits[way] && fits[way]);
        self.fits.contains(&true)
    }

    /// The bytes that the line `*` before this line stands for. Seven digits are octal, as in `od`.
    fn repeated(&self, line: &Line<'_>) -> Option<u64> {
        let is_octal = line.digits.len() == OD_DIGITS && self.fits[1];
        let way = if is_octal { 1 } else { self.fits.iter().position(|fits| *fits)? };
        let end = line.offset(*RADIXES.get(way)?)?.checked_sub(self.start?[way]?)?;
        end.checked_sub(self.bytes)
    }
}

/// Whether the text begins with a line of a dump.
fn is_dump(text: &str) -> bool {
    let mut lines = lines(text).filter_map(|(at, line)| Line::new(at, line));
    let first = text.lines().find(|line| !line.trim().is_empty());
    let Some((line, first)) = lines.next().zip(first) else { return false };
    if !first.trim_start().starts_with(line.digits) {
        return false;
    }
    let is_zero = line.offset(16) == Some(0);
    let bytes: usize = line.groups().iter().map(|(_, group)| group.len() / 2).sum();
    if line.has_colon {
        return bytes > 0 && (is_zero || line.digits.len() >= COLON_DIGITS);
    }
    let continues = |next: Line<'_>| {
        let after = |radix| Some(next.offset(radix)?.checked_sub(line.offset(radix)?)? as usize == bytes);
        RADIXES.into_iter().any(|radix| after(radix) == Some(true))
    };
    line.digits.len() <= MAX_BARE_DIGITS
        && (bytes > 0 || line.has_words())
        && (is_zero || lines.next().is_some_and(continues))
}

/// The lines with their offsets in the text, without empty ones.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let start = text.as_ptr() as usize;
    let lines = text.lines().map(move |line| (line.as_ptr() as usize - start, line));
    lines.filter(|(_, line)| !line.trim().is_empty())
}

/// The bytes of a dump, while its lines are read.
#[derive(Default)]
struct Dump {
    offsets: [Offsets; 2],
    pieces: Vec<InputPiece>,
    /// The side of the last line.
    side: usize,
    last_line: Vec<u8>,
    is_repeating: bool,
    total: usize,
}

impl Dump {
    fn line(&mut self, line: &Line<'_>, side: usize) -> Result<(), InvalidText> {
        if line.has_words() {
            let message =
                "words of 16 bits, whose bytes are in another order: use xxd, hexdump -C or od -t x1";
            return Err(InvalidText::new(line.at, message));
        }
        let bytes = line.bytes()?;
        if std::mem::take(&mut self.is_repeating)
            && let Some(count) = self.offsets[side].repeated(line).filter(|_| !self.last_line.is_empty())
        {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            self.check_total(line, count)?;
            let repeated: Vec<u8> = self.last_line.iter().copied().cycle().take(count).collect();
            self.add(side, &repeated);
        }
        let before = self.offsets[side];
        let mut is_new = self.pieces.is_empty() || self.side != side;
        if !self.offsets[side].follow(line) {
            if line.offset(16) != Some(0) || bytes.is_empty() {
                let end = before.start.and_then(|start| start[0]).unwrap_or_default() + before.bytes;
                let message = format!(
                    "the offset {} must be {end:0width$x}, because the lines before it end there: copy all lines",
                    line.digits,
                    width = line.digits.len()
                );
                return Err(InvalidText::new(line.at, message));
            }
            self.offsets[side] = Offsets::default();
            self.offsets[side].follow(line);
            is_new = true;
        }
        self.check_total(line, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        if is_new {
            self.pieces.push(InputPiece { from: None, bytes: Vec::new() });
            self.side = side;
        }
        self.add(side, &bytes);
        self.offsets[side].lines += 1;
        self.last_line = bytes;
        Ok(())
    }

    fn add(&mut self, side: usize, bytes: &[u8]) {
        if let Some(piece) = self.pieces.last_mut() {
            piece.bytes.extend_from_slice(bytes);
        }
        self.offsets[side].bytes += bytes.len() as u64;
        self.total += bytes.len();
    }

    /// Bounds the bytes that `*` may stand for.
    fn check_total(&self, line: &Line<'_>, more: usize) -> Result<(), InvalidText> {
        let max = usize::try_from(limits::EXPLAIN_PASTED_BYTES).unwrap_or(usize::MAX);
        if self.total.saturating_add(more) <= max {
            return Ok(());
        }
        let message = format!("the dump has more than the maximum of {} MiB", max >> 20);
        Err(InvalidText::new(line.at, message))
    }
}

/// Reads a dump; `None` if the text is none.
pub fn read(text: &str) -> Option<Result<Vec<InputPiece>, InvalidText>> {
    is_dump(text).then(|| read_lines(text))
}

fn read_lines(text: &str) -> Result<Vec<InputPiece>, InvalidText> {
    let all = || lines(text).filter_map(|(at, line)| Line::new(at, line));
    let indent = all().map(|line| line.indent).min().unwrap_or_default();
    let is_server = |line: &Line<'_>| line.indent >= indent + SERVER_INDENT;
    let has_sides = all().any(|line| is_server(&line));
    let (mut dump, mut sides) = (Dump::default(), Vec::new());
    for (at, text) in lines(text) {
        if text.trim() == "*" {
            dump.is_repeating = true;
            continue;
        }
        let Some(line) = Line::new(at, text) else {
            let found = text.trim().chars().take(QUOTED_CHARS).collect::<String>();
            let message =
                format!("{found:?} is no line of the hex dump, which begins with an offset: remove it");
            return Err(InvalidText::new(at, message));
        };
        let side = is_server(&line);
        dump.line(&line, usize::from(side))?;
        sides.resize(dump.pieces.len(), if side { Side::Server } else { Side::Client });
    }
    if has_sides {
        dump.pieces.iter_mut().zip(sides).for_each(|(piece, side)| piece.from = Some(side));
    }
    if dump.pieces.is_empty() { Err(InvalidText::new(0, EMPTY)) } else { Ok(dump.pieces) }
}
