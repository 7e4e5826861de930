//! Splits Rust source into tokens, enough to distinguish code from comments, strings and tests.
//!
//! It also finds tests and functions. There is no syntax tree; the compiler checks the syntax.

use std::ops::Range;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A name or keyword.
    Word,
    /// A number with its suffix.
    Number,
    /// A string, character or lifetime, with its quotes.
    Quoted,
    /// Any other single character.
    Mark,
}

/// One token.
#[derive(Debug, Clone, Copy)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its text.
    pub text: &'a str,
    /// Its first line, counted from 1.
    pub line: usize,
}

/// The tokens of a source text, comments left out.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let (mut tokens, mut at, mut line) = (Vec::new(), 0, 1);
    while at < text.len() {
        let (kind, length) = next(&text[at..]);
        let piece = &text[at..at + length];
        if let Some(kind) = kind {
            tokens.push(Token { kind, text: piece, line });
        }
        line += piece.matches('\n').count();
        at += length;
    }
    tokens
}

/// The lines of comments: their numbers, counted from 1, and the text of the comment on each.
pub fn comments(text: &str) -> Vec<(usize, &str)> {
    let (mut comments, mut at, mut line) = (Vec::new(), 0, 1);
    while at < text.len() {
        let (_, length) = next(&text[at..]);
        let piece = &text[at..at + length];
        if piece.starts_with("//") || piece.starts_with("/*") {
            comments.extend(piece.lines().enumerate().map(|(below, comment)| (line + below, comment)));
        }
        line += piece.matches('\n').count();
        at += length;
    }
    comments
}

/// Kind and length of what the text begins with; no kind for what is not code.
fn next(text: &str) -> (Option<Kind>, usize) {
    let first = text.chars().next().expect("there is text left");
    if text.starts_with("//") {
        (None, text.find('\n').unwrap_or(text.len()))
    } else if text.starts_with("/*") {
        (None, block_comment(text))
    } else if let Some(length) = string(text) {
        (Some(Kind::Quoted), length)
    } else if first == '\'' {
        (Some(Kind::Quoted), character(text))
    } else if first.is_ascii_digit() {
        (Some(Kind::Number), number(text))
    } else if is_word(first) {
        (Some(Kind::Word), text.find(|c| !is_word(c)).unwrap_or(text.len()))
    } else if first.is_whitespace() {
        (None, first.len_utf8())
    } else {
        (Some(Kind::Mark), first.len_utf8())
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        match (rest.starts_with(b"/*"), rest.starts_with(b"*/")) {
            (true, _) => (depth, at) = (depth + 1, at + 2),
            (_, true) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Length of the string that the text begins with: plain, byte or C string, raw or not.
fn string(text: &str) -> Option<usize> {
    let open = text.find('"')?;
    let prefix = &text[..open];
    let hashes = prefix.len() - prefix.trim_end_matches('#').len();
    match prefix.trim_end_matches('#') {
        "r" | "br" | "cr" => {
            let end = format!("\"{}", "#".repeat(hashes));
            let length = text[open + 1..].find(&end).map_or(text.len(), |found| open + 1 + found + end.len());
            Some(length)
        }
        "" | "b" | "c" if hashes == 0 => Some(open + quoted(&text[open..], b'"')),
        _ => None,
    }
}

/// Length of a character, or of a lifetime, which has no closing quote.
fn character(text: &str) -> usize {
    let mut chars = text.chars().skip(1);
    let (first, second) = (chars.next(), chars.next());
    if first.is_some_and(is_word) && second != Some('\'') {
        1 + text[1..].find(|c| !is_word(c)).unwrap_or(text.len() - 1)
    } else {
        quoted(text, b'\'')
    }
}

/// Length up to and with the closing quote, backslashes minded.
fn quoted(text: &str, quote: u8) -> usize {
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        if byte == b'\\' {
            bytes.next();
        } else if byte == quote {
            return at + 1;
        }
    }
    text.len()
}

fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let is_fraction = bytes[at] == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        if !is_fraction && !is_word(bytes[at] as char) {
            break;
        }
        at += 1;
    }
    at
}

/// Whether the tokens from `at` on read like this.
pub fn reads(tokens: &[Token<'_>], at: usize, wanted: &[&str]) -> bool {
    tokens.len() >= at + wanted.len()
        && wanted.iter().enumerate().all(|(i, text)| tokens[at + i].text == *text)
}

/// Index behind the bracket that closes the one at `open`.
pub fn behind(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match (token.kind, token.text) {
            (Kind::Mark, "{" | "(" | "[") => depth += 1,
            (Kind::Mark, "}" | ")" | "]") => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Where the body that follows `at` opens: the first brace outside of brackets; nothing when a semicolon or the end of a block
/// comes first.
fn body(tokens: &[Token<'_>], mut at: usize) -> Option<usize> {
    while at < tokens.len() {
        match tokens[at].text {
            "{" => return Some(at),
            ";" | "}" => return None,
            "(" | "[" => at = behind(tokens, at),
            _ => at += 1,
        }
    }
    None
}

/// The token ranges of what is compiled for tests only.
pub fn tests(tokens: &[Token<'_>]) -> Vec<Range<usize>> {
    let starts = (0..tokens.len()).filter(|&at| {
        reads(tokens, at, &["#", "[", "cfg", "(", "test", ")", "]"])
            || reads(tokens, at, &["#", "[", "test", "]"])
    });
    starts
        .map(|at| at..body(tokens, behind(tokens, at + 1)).map_or(at, |open| behind(tokens, open)))
        .collect()
}

/// A function: name, first line, last line.
pub fn functions<'a>(tokens: &[Token<'a>]) -> Vec<(&'a str, usize, usize)> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let is_function =
            tokens[at].text == "fn" && tokens.get(at + 1).is_some_and(|name| name.kind == Kind::Word);
        if let (true, Some(open)) = (is_function, body(tokens, at)) {
            let last = tokens[behind(tokens, open) - 1].line;
            found.push((tokens[at + 1].text, tokens[at].line, last));
        }
    }
    found
}
