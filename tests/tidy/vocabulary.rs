//! The vocabulary of CONTRIBUTING.md: words that comments and names of `src` avoid, each with the word to use.

use super::rust::{self, Kind};
use super::tree::{Breach, File};

/// Maximum width of a comment line in columns, with its indentation.
const COMMENT_COLUMNS: usize = 100;

/// Words and phrases that no comment contains, each with its replacement.
const COMMENT_WORDS: [(&str, &str); 20] = [
    ("told", "sent, received"),
    ("tell", "send, report"),
    ("tells", "sends, reports"),
    ("hear", "receive"),
    ("hears", "receives"),
    ("heard", "received"),
    ("whom", "the noun: the client, the player"),
    ("whoever", "the noun: any client"),
    ("nobody", "no client, no player"),
    ("somebody", "a client, a player"),
    ("oneself", "the local player"),
    ("anew", "again, from the start"),
    ("those of", "the noun"),
    ("that of", "the noun"),
    ("those who", "the noun"),
    ("of which", "a second sentence"),
    ("comes back", "resumes, returns"),
    ("come back", "resume, return"),
    ("beside", "next to, compared with"),
    ("behind", "after, below, older than"),
];

/// Phrases that contain such a word in its standard meaning.
const STANDARD_PHRASES: [&str; 5] =
    ["fall behind", "falls behind", "fell behind", "falling behind", "behind a proxy"];

/// Words that no name contains, each with its replacement.
const NAME_WORDS: [(&str, &str); 27] = [
    ("told", "sent, received, events, messages"),
    ("tell", "send, report, deliver"),
    ("tells", "sends, reports"),
    ("said", "sent, offered, text"),
    ("say", "send, outgoing, chat"),
    ("says", "sends, fields, has_"),
    ("hear", "receive, on_packet"),
    ("heard", "received, packet"),
    ("hears", "receives"),
    ("ask", "request"),
    ("asked", "requested, request, options"),
    ("asks", "requests, effects"),
    ("talk", "session, conversation, client"),
    ("talks", "sessions, connections"),
    ("household", "address_prefix, prefix"),
    ("households", "prefixes"),
    ("whose", "owner, client"),
    ("whoever", "the noun"),
    ("nobody", "no_player, no_client"),
    ("somebody", "a_player, a_client"),
    ("anew", "restart, from_start"),
    ("whom", "client, player"),
    ("oneself", "local player"),
    ("mourning", "respawn delay"),
    ("onlooker", "spectator"),
    ("foreseen", "predicted"),
    ("befit", "coerce"),
];

/// How many of them, from the first, the pages may still contain.
const RUST_ONLY_WORDS: usize = 21;

/// Further words that no name, class or id of the pages contains.
const WEB_NAME_WORDS: [(&str, &str); 4] = [
    ("told", "sent, received, text"),
    ("said", "sent, reported"),
    ("heard", "received"),
    ("foresee", "predict"),
];

/// Files in which the rule of names does not hold: an export of the WebAssembly changes with its page. At most
/// ten.
const NAME_EXCEPTIONS: [&str; 1] = ["src/wasm/lockstep.rs"];

/// Files in which the rules of comments do not hold, each with its reason. At most ten.
const EXCEPTIONS: [(&str, &str); 3] = [
    ("src/web/game/draw/arms.js", "the picture has parts behind others"),
    ("src/web/game/draw/players.js", "the picture has parts behind others"),
    ("src/web/game/draw/tools.js", "the picture has parts behind others"),
];

/// The words of comments.
pub fn comment_words(file: &File) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (line, text) in comment_lines(file) {
        let text = without_code(text).to_lowercase();
        let text = STANDARD_PHRASES.iter().fold(text, |text, phrase| text.replace(phrase, ""));
        for (word, instead) in COMMENT_WORDS.iter().filter(|(word, _)| has_phrase(&text, word)) {
            breaches.push(Breach::new(file, line, format!("a comment without `{word}`: {instead}")));
        }
    }
    breaches
}

/// The width of comments.
pub fn comment_width(file: &File) -> Vec<Breach> {
    // A hidden line of an example is code.
    let is_code = |text: &str| text.starts_with("/// # ") || text.starts_with("//! # ");
    let comments = comment_lines(file).into_iter().filter(|(_, text)| !is_code(text)).map(|(line, _)| line);
    let mut breaches = Vec::new();
    let lines: Vec<&str> = file.text.lines().collect();
    for line in comments {
        let columns = lines[line - 1].chars().count();
        if columns > COMMENT_COLUMNS {
            let rule = format!("a comment has at most {COMMENT_COLUMNS} columns; this line has {columns}");
            breaches.push(Breach::new(file, line, rule));
        }
    }
    breaches.dedup();
    breaches
}

/// The words of names in the pages: of scripts, styles and HTML.
pub fn web_name_words(file: &File) -> Vec<Breach> {
    if !file.is_in("src/web") || !matches!(file.extension(), "js" | "css" | "html") {
        return Vec::new();
    }
    let mut breaches = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        for name in line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            let parts = name_parts(name);
            let words = NAME_WORDS[RUST_ONLY_WORDS..].iter().chain(&WEB_NAME_WORDS);
            for (word, instead) in words.filter(|(word, _)| parts.iter().any(|part| part == word)) {
                let rule = format!("`{name}`: a name without `{word}`: {instead}");
                breaches.push(Breach::new(file, at + 1, rule));
            }
        }
    }
    breaches
}

/// The words of names.
pub fn name_words(file: &File) -> Vec<Breach> {
    if !applies(file) || file.extension() != "rs" || NAME_EXCEPTIONS.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let mut breaches = Vec::new();
    for token in rust::tokens(&file.text).iter().filter(|token| token.kind == Kind::Word) {
        let parts = name_parts(token.text);
        for (word, instead) in NAME_WORDS.iter().filter(|(word, _)| parts.iter().any(|part| part == word)) {
            let rule = format!("`{}`: a name without `{word}`: {instead}", token.text);
            breaches.push(Breach::new(file, token.line, rule));
        }
    }
    breaches
}

fn applies(file: &File) -> bool {
    let is_code = matches!(file.extension(), "rs" | "js" | "css");
    file.is_in("src") && is_code && !EXCEPTIONS.iter().any(|(path, _)| file.path == *path)
}

/// Each line that has a comment, with the comment's text on it.
fn comment_lines(file: &File) -> Vec<(usize, &str)> {
    if !applies(file) {
        return Vec::new();
    }
    if file.extension() == "rs" {
        return rust::comments(&file.text);
    }
    let starts = |line: &str| ["//", "/*", "*"].iter().any(|start| line.trim_start().starts_with(start));
    let comment = |line: &'_ str| if starts(line) { Some(0) } else { line.find(" // ") };
    let lines = file.text.lines().enumerate();
    lines.filter_map(|(at, line)| Some((at + 1, &line[comment(line)?..]))).collect()
}

/// The text without what stands in backticks.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

fn has_phrase(text: &str, phrase: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(phrase)
        .any(|(at, _)| !text[..at].ends_with(is_word) && !text[at + phrase.len()..].starts_with(is_word))
}

/// The words of a name in snake_case or CamelCase, in lower case.
fn name_parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut previous = '_';
    for c in name.chars() {
        if c == '_' || c.is_uppercase() && previous.is_lowercase() {
            parts.push(String::new());
        }
        if c != '_' {
            parts.last_mut().expect("there is one").extend(c.to_lowercase());
        }
        previous = c;
    }
    parts
}
