//! No file of `src/` depends on itself through others: the files and the names that they use form no circle.
//!
//! A file depends on the file that *defines* a name which it uses: a path is followed through `mod` declarations and re-exports to the
//! definition. Declaring a module and re-exporting a name are no dependency, and neither is what only tests use. Of methods only those are
//! followed that a type calls on itself (`self.fight()`), to the file of the `impl` block: so a type whose `impl` blocks are in several
//! files hides no circle between them. Other calls of methods need the types of values, which tokens do not tell.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::rust::{self, Kind, Token};
use super::tree::{Breach, File};

/// Folders that may still hold circles. An entry without a circle fails, so that this list only shrinks.
pub const ALLOWED: [&str; 0] = [];

/// Words that begin an item, and that its name follows.
const ITEMS: [&str; 9] = ["const", "enum", "fn", "mod", "static", "struct", "trait", "type", "union"];

/// The packages within `src/` and their root modules. All other modules belong to `tickwire`.
const PACKAGES: [(&str, &[&str]); 3] = [
    ("tickwire_sim", &["sim"]),
    ("tickwire_moo_world", &["games", "moo", "world"]),
    ("tickwire_wasm", &["wasm"]),
];

/// Path of a module from the root of `src/`.
type Module<'a> = Vec<&'a str>;

/// One leaf of a `use`.
struct Import<'a> {
    path: Vec<&'a str>,
    /// The name that it has here.
    name: &'a str,
    public: bool,
}

/// An `impl` block of a type.
struct Block<'a> {
    of: &'a str,
    methods: BTreeSet<&'a str>,
    /// What the type calls on itself.
    calls: BTreeSet<&'a str>,
}

/// What the file of one module defines, imports and names.
struct Source<'a> {
    file: &'a File,
    definitions: BTreeSet<&'a str>,
    imports: Vec<Import<'a>>,
    /// Its `impl` blocks.
    blocks: Vec<Block<'a>>,
    /// Paths in code, outside `use`.
    paths: Vec<Vec<&'a str>>,
    /// All words in code, outside `use`.
    words: BTreeSet<&'a str>,
}

type Sources<'a> = BTreeMap<Module<'a>, Source<'a>>;

/// Each file, the files that it depends on, and for each of them one of the names used.
type Ties<'a> = BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>;

/// One breach for each circle that is not in a folder of the list, and for each folder of the list that has none.
pub fn circles(files: &[File], allowed: &[&str]) -> Vec<Breach> {
    let sources: Sources<'_> = files.iter().filter_map(read).collect();
    let ties = ties(&sources);
    let groups = groups(&ties);
    let is_within = |group: &[&str], directory: &str| {
        group.iter().all(|path| path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/')))
    };
    let mut breaches = Vec::new();
    for group in groups.iter().filter(|group| !allowed.iter().any(|directory| is_within(group, directory))) {
        let rule =
            format!("{} files import each other in a circle: {}", group.len(), circle(&ties, group[0]));
        breaches.push(Breach { path: group[0].to_owned(), line: 1, rule });
    }
    for directory in
        allowed.iter().filter(|directory| !groups.iter().any(|group| is_within(group, directory)))
    {
        let rule = format!("{directory} has no circle: take it off ALLOWED in tests/tidy/circles.rs");
        breaches.push(Breach { path: (*directory).to_owned(), line: 1, rule });
    }
    breaches
}

/// The module of a file of `src/` that is no test, and what the file says.
fn read(file: &File) -> Option<(Module<'_>, Source<'_>)> {
    let path = file.path.strip_prefix("src/")?.strip_suffix(".rs")?;
    if file.is_test() {
        return None;
    }
    let module = path.split('/').filter(|part| !matches!(*part, "mod" | "lib")).collect();
    let tokens = rust::tokens(&file.text);
    let tests = rust::tests(&tokens);
    let in_test = |at: usize| tests.iter().any(|range| range.contains(&at));
    let code: Vec<Token<'_>> =
        tokens.iter().enumerate().filter(|(at, _)| !in_test(*at)).map(|(_, token)| *token).collect();
    let mut source = Source {
        file,
        definitions: definitions(&code),
        blocks: blocks(&code),
        imports: Vec::new(),
        paths: Vec::new(),
        words: BTreeSet::new(),
    };
    let mut at = 0;
    while at < code.len() {
        if code[at].text == "use" && code.get(at + 1).is_some_and(|next| next.kind == Kind::Word) {
            let public = at > 0 && matches!(code[at - 1].text, "pub" | ")");
            at = import(&code, at + 1, &[], public, &mut source.imports);
            continue;
        }
        if code[at].kind == Kind::Word {
            source.words.insert(code[at].text);
            let (path, end) = path_at(&code, at);
            if path.len() > 1 {
                source.paths.push(path);
                at = end;
                continue;
            }
        }
        at += 1;
    }
    Some((module, source))
}

/// Names that the file defines at its top: those inside a block belong to the block.
fn definitions<'a>(code: &[Token<'a>]) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    let mut at = 0;
    while at + 1 < code.len() {
        if rust::reads(code, at, &["macro_rules", "!"]) {
            names.insert(code[at + 2].text);
        } else if ITEMS.contains(&code[at].text) && !rust::reads(code, at + 2, &[";"]) {
            names.insert(code[at + 1].text);
        }
        at = if matches!(code[at].text, "{" | "[" | "(") { rust::behind(code, at) } else { at + 1 };
    }
    names
}

/// The `impl` blocks of types; those of a trait belong to the trait.
fn blocks<'a>(code: &[Token<'a>]) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let head = code[at..].iter().take_while(|token| token.text != "{").count();
        let (from, open) = (at, at + head);
        at = if matches!(code[at].text, "{" | "[" | "(") { rust::behind(code, at) } else { at + 1 };
        let words: Vec<&str> = code[from..open].iter().map(|token| token.text).collect();
        if words.first() != Some(&"impl") || words.contains(&"for") {
            continue;
        }
        // Behind the generics of `impl<...>` comes the type.
        let generics = if words.get(1) == Some(&"<") { closing(&words, 1) + 1 } else { 1 };
        let end = rust::behind(code, open);
        let inside = &code[open.min(end)..end];
        let after = |before: &[&str], behind: &[&str]| {
            let hits = (0..inside.len()).filter(|at| rust::reads(inside, *at, before));
            let names = hits.map(|at| at + before.len()).filter(|at| rust::reads(inside, at + 1, behind));
            names.map(|at| inside[at].text).collect::<BTreeSet<&str>>()
        };
        let of = words.get(generics).copied().unwrap_or_default();
        let calls = &after(&["self", "."], &["("]) | &after(&["Self", ":", ":"], &["("]);
        blocks.push(Block { of, methods: after(&["fn"], &[]), calls });
        at = end;
    }
    blocks
}

/// Index of the `>` that closes the `<` at `open`.
fn closing(words: &[&str], open: usize) -> usize {
    let mut depth = 0;
    for (at, word) in words.iter().enumerate().skip(open) {
        match *word {
            "<" => depth += 1,
            ">" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    words.len()
}

/// Collects the leaves of the `use` tree at `at`; gives the index behind it.
fn import<'a>(
    code: &[Token<'a>],
    mut at: usize,
    above: &[&'a str],
    public: bool,
    imports: &mut Vec<Import<'a>>,
) -> usize {
    let mut path = above.to_vec();
    while at < code.len() {
        if code[at].text == "{" {
            at += 1;
            while at < code.len() && code[at].text != "}" {
                at = import(code, at, &path, public, imports);
                at += usize::from(rust::reads(code, at, &[","]));
            }
            return at + 1;
        }
        if code[at].text != "self" || path.is_empty() {
            path.push(code[at].text);
        }
        at += 1;
        if !rust::reads(code, at, &[":", ":"]) {
            break;
        }
        at += 2;
    }
    let mut name = path.last().copied().unwrap_or_default();
    if rust::reads(code, at, &["as"]) {
        name = code.get(at + 1).map_or("_", |alias| alias.text);
        at += 2;
    }
    imports.push(Import { path, name, public });
    at
}

/// The path that begins at a word, and the index behind it.
fn path_at<'a>(code: &[Token<'a>], mut at: usize) -> (Vec<&'a str>, usize) {
    let mut path = vec![code[at].text];
    at += 1;
    while rust::reads(code, at, &[":", ":"]) && code.get(at + 2).is_some_and(|next| next.kind == Kind::Word) {
        path.push(code[at + 2].text);
        at += 3;
    }
    (path, at)
}

fn ties<'a>(sources: &Sources<'a>) -> Ties<'a> {
    let mut ties = Ties::new();
    for (module, source) in sources {
        let own = source.file.path.as_str();
        let used =
            source.imports.iter().filter(|import| !import.public || source.words.contains(import.name));
        let paths = used.map(|import| &import.path).chain(&source.paths);
        let entry = ties.entry(own).or_default();
        for (target, name) in source.blocks.iter().flat_map(|block| methods(sources, module, block)) {
            entry.entry(target).or_insert(name);
        }
        for path in paths {
            if let Some((target, name)) =
                resolve(sources, module, path, 0).filter(|(target, _)| *target != own)
            {
                entry.entry(target).or_insert(name);
            }
        }
    }
    ties
}

/// The methods that a type calls on itself and that an `impl` block of another file has: the file, and the name.
fn methods<'a>(sources: &Sources<'a>, module: &[&'a str], block: &Block<'a>) -> Vec<(&'a str, &'a str)> {
    let of = |module: &[&'a str], name| resolve(sources, module, &["self", name], 0);
    let own = of(module, block.of);
    let mut found = Vec::new();
    for (other, source) in sources.iter().filter(|(other, _)| own.is_some() && other[..] != *module) {
        for theirs in
            source.blocks.iter().filter(|theirs| theirs.of == block.of && of(other, theirs.of) == own)
        {
            let shared = theirs.methods.intersection(&block.calls);
            found.extend(shared.map(|name| (source.file.path.as_str(), *name)));
        }
    }
    found
}

/// Re-exports that a path may pass on its way.
const RE_EXPORTS_MOST: usize = 16;

/// The file that defines what a path names in a module, and the name. Nothing when the path leads out of `src/`, or names a whole
/// module.
fn resolve<'a>(
    sources: &Sources<'a>,
    module: &[&'a str],
    path: &[&'a str],
    depth: usize,
) -> Option<(&'a str, &'a str)> {
    let mut at: Module<'a> = module.to_vec();
    for (i, word) in path.iter().enumerate() {
        let source = sources.get(&at);
        match *word {
            "self" if i == 0 => {}
            "super" => drop(at.pop()),
            word if i == 0 && (word == "crate" || is_package(word)) => at = root(word, module),
            "internal" if i == 1 && path[0] == "tickwire" => {}
            word if sources.contains_key(&[&at[..], &[word]].concat()) && !is_defined(source, word) => {
                at.push(word)
            }
            word => {
                let source = source?;
                if source.definitions.contains(word) {
                    return Some((&source.file.path, word));
                }
                let import = source.imports.iter().find(|import| import.name == word);
                return match import {
                    Some(import) if depth < RE_EXPORTS_MOST => {
                        let path: Vec<&str> = import.path.iter().chain(&path[i + 1..]).copied().collect();
                        // A name imported from itself (`use serde_json;`) leads out.
                        if import.path == [word] { None } else { resolve(sources, &at, &path, depth + 1) }
                    }
                    // Made by a macro of that file; a bare word that nothing here explains leads out.
                    _ if i > 0 => Some((&source.file.path, word)),
                    _ => None,
                };
            }
        }
    }
    None
}

fn is_defined(source: Option<&Source<'_>>, word: &str) -> bool {
    source.is_some_and(|source| source.definitions.contains(word))
}

fn is_package(word: &str) -> bool {
    word == "tickwire" || PACKAGES.iter().any(|(name, _)| *name == word)
}

/// The root module of a package by its name, or of the package of this module for `crate`.
fn root<'a>(word: &str, module: &[&'a str]) -> Module<'a> {
    let is_root = |(name, root): &&(&str, &[&str])| {
        if word == "crate" { module.starts_with(root) } else { *name == word }
    };
    PACKAGES.iter().find(is_root).map_or_else(Vec::new, |(_, root)| root.to_vec())
}

/// Files of which each depends on each, in the order of their paths.
fn groups<'a>(ties: &Ties<'a>) -> Vec<Vec<&'a str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        ties.keys().map(|file| (*file, reachable(ties, file))).collect();
    let mut groups: Vec<Vec<&str>> = Vec::new();
    for file in ties.keys().filter(|file| reach[*file].contains(**file)) {
        if !groups.iter().any(|group| group.contains(file)) {
            groups.push(reach[file].iter().filter(|other| reach[*other].contains(*file)).copied().collect());
        }
    }
    groups
}

fn reachable<'a>(ties: &Ties<'a>, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(file) = waiting.pop() {
        for next in ties.get(file).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(*next) {
                waiting.push(next);
            }
        }
    }
    found
}

/// The shortest way from a file back to itself, with the name that each step uses.
fn circle(ties: &Ties<'_>, start: &str) -> String {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(file) = waiting.pop_front() {
        for next in ties.get(file).into_iter().flat_map(BTreeMap::keys) {
            if !came_from.contains_key(next) {
                came_from.insert(next, file);
                waiting.push_back(next);
            }
        }
    }
    let mut steps = vec![start];
    let mut at = came_from[start];
    while at != start {
        steps.push(at);
        at = came_from[at];
    }
    steps.push(start);
    steps.reverse();
    let mut text = start.to_owned();
    for pair in steps.windows(2) {
        text.push_str(&format!(" -> {} ({})", pair[1], ties[pair[0]][pair[1]]));
    }
    text
}
