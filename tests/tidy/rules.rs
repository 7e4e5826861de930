//! Rules about a single file: sizes, docs, leftovers, limits, and what the world must not contain.

use super::rust::{self, Kind, Token};
use super::tree::{Breach, File};

/// Maximum length of a code file in lines, including tests; split longer files.
const FILE_LINES: usize = 520;
/// Functions must be shorter than this, from the name to the closing brace, in lines.
const FUNCTION_LINES: usize = 70;
/// Extensions of files with hand-written code.
const CODE: [&str; 9] = ["rs", "js", "mjs", "sh", "py", "lua", "css", "cs", "gd"];
/// Files of code that a script puts together from parts which keep these rules.
const MADE: [&str; 1] = ["scripts/wireshark/tickwire.lua"];

/// Files and functions stay short.
pub fn sizes(file: &File) -> Vec<Breach> {
    let is_code = CODE.contains(&file.extension()) || file.is_in("scripts") || file.is_in(".ci");
    if !is_code || file.extension() == "md" || MADE.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let lines = file.text.lines().count();
    let mut breaches = Vec::new();
    if lines > FILE_LINES {
        breaches.push(Breach::new(
            file,
            lines,
            format!("a file has at most {FILE_LINES} lines; this one is two"),
        ));
    }
    let functions = match file.extension() {
        "rs" => rust::functions(&rust::tokens(&file.text)),
        "js" | "mjs" | "sh" | "" => indented_functions(&file.text),
        _ => Vec::new(),
    };
    for (name, first, last) in functions {
        let length = last - first + 1;
        if length >= FUNCTION_LINES {
            let rule = format!("a function has under {FUNCTION_LINES} lines; {name} has {length}");
            breaches.push(Breach::new(file, first, rule));
        }
    }
    breaches
}

/// Functions of JavaScript and shell, by their indentation: from a line that opens one to the next closing brace below
/// it.
fn indented_functions(text: &str) -> Vec<(&str, usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let closes = |other: &&str| other.strip_prefix(indent).is_some_and(|rest| rest.starts_with('}'));
        let length = lines[at + 1..].iter().position(closes).unwrap_or(lines.len() - at - 1);
        found.push((name, at + 1, at + 2 + length));
    }
    found
}

/// The name of the function, method or arrow function that a line opens.
fn function_name(line: &str) -> Option<&str> {
    let text = line.trim().strip_suffix('{')?.trim_end();
    let (before, _) = text.split_once('(')?;
    if text.ends_with("=>") {
        return before
            .split_whitespace()
            .find(|word| !matches!(*word, "const" | "let" | "export" | "=" | "async"));
    }
    let name = before.rsplit([' ', '*']).next()?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_$#".contains(c));
    let is_control = matches!(name, "if" | "for" | "while" | "switch" | "catch" | "with");
    (is_name && !is_control && text.ends_with(')')).then_some(name)
}

/// Every Rust module and every module of the page begins by saying what it is.
pub fn module_docs(file: &File) -> Vec<Breach> {
    let starts: &[&str] = match file.extension() {
        "rs" => &["//! "],
        "js" | "mjs" => &["// ", "/** ", "/**\n", "/* ", "/*\n", "#!"],
        _ => return Vec::new(),
    };
    if starts.iter().any(|start| file.text.starts_with(start)) {
        return Vec::new();
    }
    vec![Breach::new(file, 1, format!("a module begins with its docs: `{}`", starts[0].trim()))]
}

/// Marks of unfinished work, tests that are switched off, panics without a reason.
pub fn leftovers(file: &File) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let marks = [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X"), concat!("HA", "CK")];
    let is_code =
        CODE.contains(&file.extension()) || matches!(file.extension(), "html" | "toml" | "tsv" | "");
    for (number, line) in lines(file).filter(|_| is_code) {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        if let Some(word) = words.find(|word| marks.contains(word)) {
            breaches.push(Breach::new(file, number, format!("unfinished: {word}; do it or write an issue")));
        }
    }
    match file.extension() {
        "rs" => breaches.extend(rust_leftovers(file)),
        "js" | "mjs" => breaches.extend(script_leftovers(file)),
        _ => {}
    }
    breaches
}

fn rust_leftovers(file: &File) -> Vec<Breach> {
    let tokens = rust::tokens(&file.text);
    let tests = rust::tests(&tokens);
    let in_product =
        |at: usize| file.is_in("src") && !file.is_test() && !tests.iter().any(|range| range.contains(&at));
    let mut breaches = Vec::new();
    for at in 0..tokens.len() {
        let here = |words: &[&str]| rust::reads(&tokens, at, words);
        let rule = if ["todo", "unimplemented", "dbg"].iter().any(|name| here(&[name, "!"])) {
            "a leftover of writing"
        } else if here(&["#", "[", "ignore"]) {
            "a test that does not run is no test"
        } else if in_product(at) && here(&[".", "unwrap", "(", ")"]) {
            "say with `expect` why it cannot fail, or return the error"
        } else {
            continue;
        };
        breaches.push(Breach::new(file, tokens[at].line, format!("{}: {rule}", shown(&tokens, at))));
    }
    breaches
}

fn shown(tokens: &[Token<'_>], at: usize) -> String {
    tokens[at..tokens.len().min(at + 3)].iter().map(|token| token.text).collect()
}

fn script_leftovers(file: &File) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let skipping = ["test.skip(", "it.skip(", "describe.skip(", "test.only(", "it.only(", "test.todo("];
    for (number, line) in lines(file) {
        if line.trim() == "debugger;" || file.is_in("src") && line.contains("console.log(") {
            breaches.push(Breach::new(file, number, "a leftover of writing"));
        }
        if skipping.iter().any(|call| line.contains(call)) {
            breaches.push(Breach::new(file, number, "a test that does not run is no test"));
        }
    }
    breaches
}

/// The exceptions are the shim that exports to a browser, and the allocator of the benchmarks that counts.
pub fn no_unsafe(file: &File) -> Vec<Breach> {
    let excepted = ["src/wasm", "tests/benches"];
    if file.extension() != "rs" || excepted.iter().any(|directory| file.is_in(directory)) {
        return Vec::new();
    }
    let tokens = rust::tokens(&file.text);
    let found = tokens.iter().filter(|token| matches!(token.text, "unsafe" | "unsafe_code"));
    found.map(|token| Breach::new(file, token.line, "unsafe stays in src/wasm")).collect()
}

/// The same on every machine: no floating point, no order that depends on a hash.
pub fn exact_world(file: &File) -> Vec<Breach> {
    // A bot is a client: it may compute as it likes.
    let is_rules =
        file.is_in("src/games/moo/world") || file.is_in("src/games/tanks") && !file.path.ends_with("/bot.rs");
    if file.extension() != "rs" || !is_rules || file.is_test() {
        return Vec::new();
    }
    let tokens = rust::tokens(&file.text);
    let unlike = ["f32", "f64", "HashMap", "HashSet", "RandomState", "DefaultHasher"];
    let found = tokens.iter().filter(|token| {
        let is_float =
            token.kind == Kind::Number && (token.text.contains('.') || token.text.ends_with("f64"));
        is_float || token.kind == Kind::Word && unlike.contains(&token.text)
    });
    let rule =
        |token: &Token<'_>| format!("{}: the world has integers and ordered collections only", token.text);
    found.map(|token| Breach::new(file, token.line, rule(token))).collect()
}

/// In the layers of the server that face the network a time or a size is a name from `limits`, so that all bounds stand in one place.
pub fn bounds(file: &File) -> Vec<Breach> {
    let facing = ["src/server/net", "src/ws", "src/connection/session.rs"];
    // Those who use the WebSocket layer alone have no `limits`; a server names its own.
    let is_default = file.path == "src/ws/defaults.rs";
    let is_facing = !is_default && facing.iter().any(|directory| file.is_in(directory));
    if file.extension() != "rs" || file.is_test() || !is_facing {
        return Vec::new();
    }
    let tokens = rust::tokens(&file.text);
    let tests = rust::tests(&tokens);
    let mut breaches = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_value = token.kind == Kind::Number && !tests.iter().any(|range| range.contains(&at));
        if is_value && (is_time(&tokens, at) || is_size(&tokens, at)) {
            let rule =
                format!("{}: a bound is a constant of src/limits/mod.rs with unit and reason", token.text);
            breaches.push(Breach::new(file, token.line, rule));
        }
    }
    breaches
}

/// Whether a number is a length of time. One second is a unit, as in `Duration::from_secs(1) / hz`.
fn is_time(tokens: &[Token<'_>], at: usize) -> bool {
    let call = ["Duration", ":", ":"];
    let is_call = at >= 5 && rust::reads(tokens, at - 5, &call) && tokens[at - 2].text.starts_with("from_");
    is_call && !(tokens[at - 2].text == "from_secs" && tokens[at].text == "1")
}

/// Whether a number is an amount of memory: kibibytes, a capacity, the length of a queue or of a buffer.
fn is_size(tokens: &[Token<'_>], at: usize) -> bool {
    let is_capacity = at >= 2
        && tokens[at - 1].text == "("
        && matches!(tokens[at - 2].text, "with_capacity" | "sync_channel" | "reserve");
    let is_kibi = tokens[at].text == "1024";
    let fills = at >= 3 && tokens[at - 1].text == ";" && rust::reads(tokens, at + 1, &["]"]);
    let is_buffer = fills && tokens[at - 2].text.starts_with('0') && tokens[at].text.len() > 2;
    is_capacity || is_kibi || is_buffer
}

/// Every bound says its reason, and somebody keeps it.
pub fn documented_limits(file: &File) -> Vec<Breach> {
    if !super::docs::LIMITS.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let all: Vec<&str> = file.text.lines().collect();
    let bare = |at: usize| all[at].starts_with("pub const ") && !(at > 0 && all[at - 1].starts_with("/// "));
    let rule = "a bound says its unit, its reason and what happens when it is reached";
    (0..all.len()).filter(|at| bare(*at)).map(|at| Breach::new(file, at + 1, rule)).collect()
}

/// Nothing in the repository knows the machine on which it was written. A script may name what `mktemp` gave it.
pub fn no_machine_paths(file: &File) -> Vec<Breach> {
    if file.text.starts_with("#!") && file.text.contains("mktemp") {
        return Vec::new();
    }
    let folders = ["tmp", "root", "work", "home"].map(|name| format!("/{name}/"));
    let names = |line: &str| {
        folders.iter().any(|directory| {
            line.match_indices(directory.as_str())
                .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '.'))
        })
    };
    let found = lines(file).filter(|(_, line)| names(line));
    found.map(|(number, _)| Breach::new(file, number, "a path of one machine")).collect()
}

/// The page loads nothing from elsewhere: names of XML namespaces are the only addresses.
pub fn page_stands_alone(file: &File) -> Vec<Breach> {
    if !file.is_in("src/web") {
        return Vec::new();
    }
    let foreign = |line: &str| {
        // A link that a reader may follow loads nothing.
        let line = line
            .replace("http://www.w3.org/", "")
            .replace("https://www.rfc-editor.org/rfc/rfc", "")
            .replace("<a href=\"https://github.com/tickwire/tickwire", "");
        ["http://", "https://", "=\"//", "url(//"].iter().any(|address| line.contains(address))
    };
    let found = lines(file).filter(|(_, line)| foreign(line));
    found.map(|(number, _)| Breach::new(file, number, "the page loads nothing from another host")).collect()
}

fn lines(file: &File) -> impl Iterator<Item = (usize, &str)> {
    file.text.lines().enumerate().map(|(at, line)| (at + 1, line))
}
