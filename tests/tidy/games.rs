//! Checks that a game is named in its own folder, and elsewhere only on the line that registers it.
//!
//! A name is a word of an identifier or of a string; `src/cli/` also has its help in doc comments. Other
//! comments may name a game as an example.

use std::collections::BTreeSet;

use super::rust::{self, Kind};
use super::tree::{Breach, File};

/// Files that name a game all the same, and why.
pub const ALLOWED: [(&str, &str); 12] = [
    ("src/limits/mod.rs", "every limit is there, also those of games"),
    ("src/packet/tables.rs", "captures of before they carried their tables are read by those of moo"),
    ("src/packet/routes.rs", "a path in a capture that names no game is read as one of moo"),
    ("src/server/net/pages/mod.rs", "the files of src/web, whose page of the game is that of moo"),
    ("src/wasm/lib.rs", "declares the file of moo's world"),
    ("src/wasm/moo_world.rs", "exports moo's world to its page; only this package may export"),
    ("src/client/local_worlds.rs", "a client in Rust names the game whose rules it runs"),
    ("src/testing/abuse/attack/behavior.rs", "misbehaving clients play moo"),
    ("src/testing/abuse/attack/victim.rs", "misbehaving clients play moo"),
    ("src/testing/abuse/client.rs", "misbehaving clients play moo"),
    ("src/testing/load/resume_test.rs", "clients that come back play moo"),
    ("src/cli/room_arg.rs", "the name of a flag, which users have in their scripts"),
];

/// Words of games besides the names of their folders: words that could mean nothing else.
const WORDS: [(&str, &[&str]); 2] = [
    (
        "moo",
        &["moomoo", "moofoll", "clan", "clans", "hat", "hats", "windmill", "windmills", "tickwire_moo_world"],
    ),
    ("tanks", &["tank"]),
];

/// The file in which the games are registered.
const LIST: &str = "src/games/mod.rs";

/// Names of games where they do not belong, and exceptions that are not needed.
pub fn names(files: &[File], allowed: &[(&str, &str)]) -> Vec<Breach> {
    let directory = |file: &&File| Some(file.path.strip_prefix("src/games/")?.split_once('/')?.0.to_owned());
    let games: BTreeSet<String> = files.iter().filter_map(|file| directory(&file)).collect();
    let is_product = |file: &&File| file.is_in("src") && file.extension() == "rs" && !file.is_test();
    let (mut breaches, mut used) = (Vec::new(), BTreeSet::new());
    for file in files.iter().filter(is_product) {
        let words = words(file);
        for game in games.iter().filter(|game| !file.is_in(&format!("src/games/{game}"))) {
            let lines = lines_naming(&words, game);
            if file.path == LIST {
                if lines.len() != 1 {
                    let rule = format!("one line registers the game {game}, not {}", lines.len());
                    breaches.push(Breach::new(file, 1, rule));
                }
            } else if allowed.iter().any(|(path, _)| *path == file.path) {
                used.extend(lines.first().map(|_| file.path.as_str()));
            } else {
                let rule = |word| format!("{word} is of the game {game}: only src/games/{game}/ names it");
                breaches.extend(lines.iter().map(|(line, word)| Breach::new(file, *line, rule(word))));
            }
        }
    }
    for (path, _) in allowed.iter().filter(|(path, _)| !used.contains(path)) {
        let rule = "names no game: take it off ALLOWED in tests/tidy/games.rs".to_owned();
        breaches.push(Breach { path: (*path).to_owned(), line: 1, rule });
    }
    breaches
}

/// The lines with a word of this game, each once.
fn lines_naming<'a>(words: &'a [(usize, String)], game: &str) -> Vec<(usize, &'a str)> {
    let more = WORDS.iter().filter(|(name, _)| *name == game).flat_map(|(_, words)| *words);
    let own: BTreeSet<&str> = more.copied().chain([game]).collect();
    let mut lines: Vec<_> = words.iter().filter(|(_, word)| own.contains(word.as_str())).collect();
    lines.dedup_by_key(|(line, _)| *line);
    lines.into_iter().map(|(line, word)| (*line, word.as_str())).collect()
}

/// The words of a file's code outside its tests, in lower case, with their lines.
fn words(file: &File) -> Vec<(usize, String)> {
    let tokens = rust::tokens(&file.text);
    let tests = rust::tests(&tokens);
    let is_test = |at: usize| tests.iter().any(|range| range.contains(&at));
    let mut words = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(at, _)| !is_test(*at)) {
        if token.kind == Kind::Word {
            words.push((token.line, token.text.to_owned()));
        }
        if matches!(token.kind, Kind::Word | Kind::Quoted) {
            words.extend(parts(token.text).map(|part| (tokens[at].line, part)));
        }
    }
    if file.is_in("src/cli") {
        let help = file.text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("///"));
        words.extend(help.flat_map(|(at, line)| parts(line).map(move |part| (at + 1, part))));
        words.sort();
    }
    words
}

/// The words of a name or a text: `MooMoo`, `clan_create` and `/moomoo` have moo, clan, create and moomoo.
fn parts(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut parts = vec![String::new()];
    let mut before = ' ';
    for ch in text.chars() {
        if !ch.is_alphanumeric() || before.is_lowercase() && ch.is_uppercase() {
            parts.push(String::new());
        }
        if ch.is_alphanumeric() {
            parts.last_mut().expect("begun with one").extend(ch.to_lowercase());
        }
        before = ch;
    }
    parts.into_iter().filter(|part| !part.is_empty())
}
