//! Checks what a user of the library sees: the crate's page lists its public modules, and examples and
//! documents use no others.

use super::rust;
use super::tree::{Breach, File};

/// Public modules that the page of the crate does not list, and entries of its lists that are no public
/// module.
pub fn modules(lib: &File) -> Vec<Breach> {
    let lines: Vec<&str> = lib.text.lines().collect();
    let mut public: Vec<(usize, &str)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let module = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(';'));
        let package =
            line.strip_prefix("pub use ").and_then(|rest| rest.strip_suffix(';')?.split_once(" as "));
        let name = module.or(package.map(|(_, name)| name));
        let is_hidden = at > 0 && lines[at - 1] == "#[doc(hidden)]";
        public.extend(name.filter(|_| !is_hidden).map(|name| (at + 1, name)));
        // Public modules of a private folder: `pub use tools::{capture, explain};`.
        let group = line.strip_prefix("pub use ").and_then(|rest| rest.strip_suffix("};")?.split_once("::{"));
        let is_inline = at > 0 && lines[at - 1] == "#[doc(inline)]";
        let names = group.filter(|_| is_inline).map_or("", |(_, names)| names);
        public.extend(names.split(", ").filter(|name| !name.is_empty()).map(|name| (at + 1, name)));
    }
    let entries = lines.iter().enumerate().filter_map(|(at, line)| {
        let (name, _) = line.strip_prefix("//! - [`")?.split_once("`]")?;
        let is_module = name.chars().all(|ch| ch == '_' || ch.is_ascii_lowercase());
        is_module.then_some((at + 1, name))
    });
    let entries: Vec<(usize, &str)> = entries.collect();
    let lacks = |list: &[(usize, &str)], name: &str| list.iter().all(|(_, other)| *other != name);
    let unlisted = public.iter().filter(|(_, name)| lacks(&entries, name)).map(|(line, name)| {
        Breach::new(lib, *line, format!("the page of the crate has no entry for its public module {name}"))
    });
    let unknown = entries.iter().filter(|(_, name)| lacks(&public, name)).map(|(line, name)| {
        Breach::new(lib, *line, format!("the page of the crate lists {name}, which is not a public module"))
    });
    unlisted.chain(unknown).collect()
}

/// Other packages that the WebSocket layer names: it can be used alone, and needs three.
pub fn packages_of_ws(file: &File, manifest: &File) -> Vec<Breach> {
    if !file.is_in("src/ws") {
        return Vec::new();
    }
    let dependencies = manifest.text.lines().filter_map(|line| line.split_once(" = "));
    let names: Vec<String> = dependencies.map(|(name, _)| name.replace('-', "_")).collect();
    let tokens = rust::tokens(&file.text);
    let is_package = |at: &usize| {
        let begins = *at < 2 || !rust::reads(&tokens, at - 2, &[":", ":"]);
        let name = tokens[*at].text;
        begins && rust::reads(&tokens, at + 1, &[":", ":"]) && names.iter().any(|own| own == name)
    };
    let may = ["base64", "miniz_oxide", "sha1_smol"];
    let found = (0..tokens.len()).filter(is_package).filter(|at| !may.contains(&tokens[*at].text));
    let rule = |at: usize| format!("src/ws needs {} alone, not {}", may.join(" and "), tokens[at].text);
    found.map(|at| Breach::new(file, tokens[at].line, rule(at))).collect()
}

/// Uses of what is not public in examples, and in documents for users.
pub fn internals(file: &File) -> Vec<Breach> {
    if !["examples", "docs", "README.md"].iter().any(|users| file.is_in(users)) {
        return Vec::new();
    }
    let uses = file.text.lines().enumerate().filter(|(_, line)| line.contains("tickwire::internal"));
    let rule = "examples and documents use public modules alone";
    uses.map(|(at, _)| Breach::new(file, at + 1, rule)).collect()
}

/// Files that code of the package includes, and that the list `include` of its manifest leaves out: it
/// would not build from a registry.
pub fn unpackaged(files: &[File]) -> Vec<Breach> {
    let manifest = files.iter().find(|file| file.path == "Cargo.toml").expect("Cargo.toml is there");
    let list = manifest.text.split("\ninclude = [").nth(1).and_then(|rest| rest.split(']').next());
    let packaged: Vec<&str> = list.unwrap_or_default().split('"').skip(1).step_by(2).collect();
    let is_packaged = |path: &str| {
        let within = |part: &&str| path.strip_prefix(part.trim_start_matches('/'));
        packaged.iter().filter_map(within).any(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut breaches = Vec::new();
    for file in files.iter().filter(|file| file.extension() == "rs" && is_packaged(&file.path)) {
        let tokens = rust::tokens(&file.text);
        let tests = rust::tests(&tokens);
        for at in
            (0..tokens.len()).filter(|at| !file.is_test() && !tests.iter().any(|test| test.contains(at)))
        {
            if !matches!(tokens[at].text, "include_str" | "include_bytes") {
                continue;
            }
            // A path that a macro puts together begins with its folder.
            let literal = tokens[at + 1..].iter().take(6).find(|token| token.text.starts_with('"'));
            let Some(literal) = literal.map(|token| token.text.trim_matches('"')) else { continue };
            let mut parts: Vec<&str> = file.path.split('/').collect();
            parts.pop();
            for part in literal.split('/').filter(|part| !part.is_empty()) {
                match part {
                    ".." => _ = parts.pop(),
                    _ => parts.push(part),
                }
            }
            let path = parts.join("/");
            if !is_packaged(&path) {
                let rule = format!("{path} is not in the package: see `include` in Cargo.toml");
                breaches.push(Breach::new(file, tokens[at].line, rule));
            }
        }
    }
    breaches
}
