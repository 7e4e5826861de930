//! Checks which layers import which: the picture in `src/lib.rs` as a table, compared with every
//! path in the code. Naming a layer counts as depending on it.

use super::layer_table::{IMPURE, LAYERS, MACHINE, PURE, SYSTEM};
use super::rust::{self, Kind, Token};
use super::tree::{Breach, File};

/// The layers that decode packets to the server: the one way from a client's bytes to commands, and what explains.
const DECODERS: [&str; 4] = ["packet", "connection", "tools/explain", "tools/inspector"];

/// Places outside [`DECODERS`] that decode packets to the server.
pub fn decoders(file: &File) -> Vec<Breach> {
    // A client's own packets, before they are sent.
    let own = [
        "src/game/prediction",
        "src/client/bots/lockstep_agent.rs",
        "src/server/self_check.rs",
        "src/testing/simulate/lockstep_bot.rs",
    ];
    let is_own = own.iter().any(|path| file.is_in(path));
    if layer(file).is_none_or(|layer| DECODERS.contains(&layer)) || file.is_test() || is_own {
        return Vec::new();
    }
    let tokens = rust::tokens(&file.text);
    let tests = rust::tests(&tokens);
    let is_test = |at: &usize| tests.iter().any(|test| test.contains(at));
    let decodes = |at: &usize| {
        // A game gives a meaning to what the peer has decoded.
        let typed = rust::reads(&tokens, *at, &["ClientPacket", ":", ":", "from_decoded"])
            && layer(file) != Some("games");
        let by_table = matches!(tokens[*at].text, "decode" | "decode_json")
            && rust::reads(&tokens, *at + 1, &["(", "Direction", ":", ":", "ToServer"]);
        typed || by_table
    };
    let found = (0..tokens.len()).filter(|at| decodes(at) && !is_test(at));
    found
        .map(|at| {
            Breach::new(
                file,
                tokens[at].line,
                "only connection, explain and inspector decode packets to the server",
            )
        })
        .collect()
}

/// Names of this crate and of those without the server, and the layer at their root.
const CRATES: [(&str, &[&str]); 3] =
    [("tickwire", &[]), ("tickwire_sim", &["sim"]), ("tickwire_moo_world", &["games", "moo", "world"])];

/// The layer of a file, or nothing for files that only declare modules, and for what is not under `src/`.
fn layer(file: &File) -> Option<&str> {
    let path = file.path.strip_prefix("src/")?.strip_suffix(".rs")?;
    let path: Vec<&str> = path.split('/').collect();
    let declares = matches!(path[..], ["lib"] | ["server" | "testing" | "tools" | "util", "mod"]);
    (!declares).then(|| layer_at(&path))
}

/// The layer of a folder's part, or the name of the part, which is no layer.
fn part_of<'a>(directory: &str, name: &'a str) -> &'a str {
    let mut layers = LAYERS.iter().map(|(layer, _)| *layer);
    layers.find(|layer| layer.split_once('/') == Some((directory, name))).unwrap_or(name)
}

/// The layer of a path from the root of `src/`: its first part, or the part of a game that is a layer of its own.
fn layer_at<'a>(path: &[&'a str]) -> &'a str {
    match path {
        // Another package of this repository names a private layer so.
        ["internal", path @ ..] => layer_at(path),
        ["games", _, "world", ..] => "games/*/world",
        ["games", _, "feed", ..] => "games/*/feed",
        [directory @ ("server" | "testing" | "tools"), part, ..] => part_of(directory, part),
        ["util", "netem", ..] => "util/netem",
        ["util", "os", ..] => "util/os",
        [first, ..] => first,
        [] => "the whole crate",
    }
}

/// Paths into layers that the file may not see.
pub fn imports(file: &File) -> Vec<Breach> {
    let Some(layer) = layer(file) else { return Vec::new() };
    let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == layer) else {
        return vec![Breach::new(
            file,
            1,
            format!("`{layer}` is no layer yet: say in tests/tidy/layer_table.rs what it may see"),
        )];
    };
    let tokens = rust::tokens(&file.text);
    let mut breaches = Vec::new();
    let tests = rust::tests(&tokens);
    let is_test = |line: usize| {
        let lines =
            tests.iter().filter_map(|range| Some((tokens.get(range.start)?, tokens.get(range.end - 1)?)));
        lines.into_iter().any(|(first, last)| (first.line..=last.line).contains(&line))
    };
    for (path, line) in paths(file, &tokens) {
        if is_test(line) {
            continue;
        }
        let target = layer_at(&path);
        if target != layer && !allowed.contains(&target) {
            let may = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") };
            breaches.push(Breach::new(
                file,
                line,
                format!("{layer} must not import {target}: it may see {may}"),
            ));
        }
    }
    breaches
}

/// Code for one operating system outside the files that are for it.
pub fn systems(file: &File) -> Vec<Breach> {
    if layer(file).is_none_or(|layer| layer == "util/os") || file.is_test() {
        return Vec::new();
    }
    let tokens = rust::tokens(&file.text);
    let is_system = |at: &usize| SYSTEM.iter().any(|words| rust::reads(&tokens, *at, words));
    let found = (0..tokens.len()).filter(|at| tokens[*at].kind == Kind::Word && is_system(at));
    let rule = "calls of one system belong to src/util/os/, which has a form of them for every system";
    found.map(|at| Breach::new(file, tokens[at].line, rule)).collect()
}

/// Uses of sockets, threads, files and clocks where only values belong.
pub fn purity(file: &File) -> Vec<Breach> {
    let Some(layer) = layer(file) else { return Vec::new() };
    let is_part = |part: &&&str| ["", ".rs"].iter().any(|end| file.is_in(&format!("src/{part}{end}")));
    let part = PURE.iter().find(is_part);
    if part.is_none() && (IMPURE.contains(&layer) || layer == "main") || file.is_test() {
        return Vec::new();
    }
    let tokens = rust::tokens(&file.text);
    let tests = rust::tests(&tokens);
    let code = (0..tokens.len()).filter(|at| !tests.iter().any(|range| range.contains(at)));
    let code = code.filter(|at| tokens[*at].kind == Kind::Word);
    let mut breaches = Vec::new();
    for at in code {
        if let Some(words) = MACHINE.iter().find(|words| rust::reads(&tokens, at, words)) {
            let pure = part.map_or(layer, |part| *part);
            let rule = format!("{} belongs to {}; {pure} is pure", words.concat(), IMPURE.join(", "));
            breaches.push(Breach::new(file, tokens[at].line, rule));
        }
        if rust::reads(&tokens, at, &["std", ":", ":", "{"]) {
            breaches.push(Breach::new(
                file,
                tokens[at].line,
                "write one `use` a module of std, so that this test can read it",
            ));
        }
    }
    breaches
}

/// All paths of a file that begin at a crate or climb by `super`, as they read from the root of `src/`.
fn paths<'a>(file: &'a File, tokens: &[Token<'a>]) -> Vec<(Vec<&'a str>, usize)> {
    let mut found = Vec::new();
    let mut inline: Vec<(&str, usize)> = Vec::new();
    for at in 0..tokens.len() {
        inline.retain(|(_, end)| at < *end);
        if tokens[at].text == "mod" && tokens.get(at + 2).is_some_and(|token| token.text == "{") {
            inline.push((tokens[at + 1].text, rust::behind(tokens, at + 2)));
        }
        let begins = at < 2 || !rust::reads(tokens, at - 2, &[":", ":"]);
        if tokens[at].kind != Kind::Word || !begins || !rust::reads(tokens, at + 1, &[":", ":"]) {
            continue;
        }
        let mut base = module(file);
        base.extend(inline.iter().map(|(name, _)| *name));
        if let Some(base) = begin(tokens[at].text, base, file) {
            let mut ends = Vec::new();
            follow(tokens, at + 3, base, &mut ends);
            found.extend(ends.into_iter().map(|path| (path, tokens[at].line)));
        }
    }
    found
}

/// The module that a file is, from the root of `src/`.
fn module(file: &File) -> Vec<&str> {
    let path = file.path.trim_start_matches("src/").trim_end_matches(".rs");
    path.split('/').filter(|part| !matches!(*part, "mod" | "lib" | "main")).collect()
}

/// Where a path stands after its first word; nothing when it begins at neither a crate nor a parent.
fn begin<'a>(word: &str, mut base: Vec<&'a str>, file: &File) -> Option<Vec<&'a str>> {
    match word {
        "crate" if file.is_in("src/games/moo/world") => Some(vec!["games", "moo", "world"]),
        "crate" if file.is_in("src/sim") => Some(vec!["sim"]),
        "crate" => Some(Vec::new()),
        "super" => {
            base.pop();
            Some(base)
        }
        _ => CRATES.iter().find(|(name, _)| *name == word).map(|(_, root)| root.to_vec()),
    }
}

/// Follows a path, and every branch of a group, to its ends; gives the index behind it.
fn follow<'a>(
    tokens: &[Token<'a>],
    mut at: usize,
    mut path: Vec<&'a str>,
    ends: &mut Vec<Vec<&'a str>>,
) -> usize {
    while at < tokens.len() {
        if tokens[at].text == "{" {
            at += 1;
            while at < tokens.len() && tokens[at].text != "}" {
                at = follow(tokens, at, path.clone(), ends);
                at += usize::from(rust::reads(tokens, at, &[","]));
            }
            return at + 1;
        }
        if tokens[at].text == "super" {
            path.pop();
        } else if tokens[at].kind == Kind::Word && tokens[at].text != "self" {
            path.push(tokens[at].text);
        }
        at += 1;
        if !rust::reads(tokens, at, &[":", ":"]) {
            break;
        }
        at += 2;
    }
    at += 2 * usize::from(rust::reads(tokens, at, &["as"]));
    ends.push(path);
    at
}
