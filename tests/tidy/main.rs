//! Tests for the invariants of ARCHITECTURE.md that can be checked in the files themselves.
//!
//! Each violated rule is one failure, with file, line and what to do. Each checker is also tested
//! on a snippet that breaks its rule, so that a checker that detects nothing fails.

mod circles;
mod delivery;
mod docs;
mod games;
mod layer_table;
mod layers;
mod readme;
mod rules;
mod rust;
mod surface;
mod time_limits;
mod tree;
mod vocabulary;
mod web_world;

use tree::{Breach, File};

/// Holds every file against a rule, and shows every breach at once.
fn keep(check: impl Fn(&File) -> Vec<Breach>) {
    let files = tree::files();
    assert!(files.len() > 50, "only {} files found", files.len());
    report(files.iter().flat_map(check).collect());
}

fn report(mut breaches: Vec<Breach>) {
    breaches.sort();
    let lines: Vec<String> =
        breaches.iter().map(|breach| format!("  {}:{}: {}", breach.path, breach.line, breach.rule)).collect();
    assert!(lines.is_empty(), "{} breaches of a rule:\n{}", lines.len(), lines.join("\n"));
}

/// Fails unless the rule finds exactly these lines in a snippet.
#[track_caller]
fn finds(check: impl Fn(&File) -> Vec<Breach>, path: &str, text: &str, lines: &[usize]) {
    let found: Vec<usize> = check(&File::new(path, text)).iter().map(|breach| breach.line).collect();
    assert_eq!(found, lines, "in {path}:\n{text}");
}

#[test]
fn layers_see_only_what_they_may() {
    keep(layers::imports);
    finds(
        layers::imports,
        "src/ws/frame.rs",
        "use crate::limits::HEAD_BYTES;\nuse super::close::CloseCode;\n",
        &[1],
    );
    finds(layers::imports, "src/ws/frame.rs", "use crate::packet::Codes;\n", &[1]);
    finds(layers::imports, "src/ws/frame.rs", "fn f(x: crate::server::net::Config) {}\n", &[1]);
    finds(layers::imports, "src/ws/frame.rs", "use super::super::server::net;\n", &[1]);
    finds(
        layers::imports,
        "src/ws/frame.rs",
        "mod tests {\n    use super::*;\n    use super::super::conn;\n}\n",
        &[],
    );
    finds(
        layers::imports,
        "src/ws/frame.rs",
        "mod tests {\n    use super::super::super::server::net;\n}\n",
        &[2],
    );
    finds(layers::imports, "src/packet/tables.rs", "use crate::{limits, server::{Angle, Body}};\n", &[1, 1]);
    finds(layers::imports, "src/games/moo/feed/view.rs", "use crate::*;\n", &[1]);
    finds(
        layers::imports,
        "src/games/moo/feed/view.rs",
        "// use crate::net;\nconst A: &str = \"crate::net::X\";\n",
        &[],
    );
    finds(layers::imports, "src/server/net/tap.rs", "use super::a;\nuse crate::testing::load;\n", &[2]);
    finds(layers::imports, "src/client/bots/mod.rs", "let a = crate::server::net::Server::start;\n", &[1]);
    finds(layers::imports, "src/client/bots/mod.rs", "use crate::testing::abuse::sink::Sink;\n", &[1]);
    finds(layers::imports, "src/testing/load/crowd.rs", "use crate::client::bots::Bot;\n", &[]);
    finds(layers::imports, "src/games/moo/world/state.rs", "use crate::fixed::Angle;\n", &[]);
    finds(layers::imports, "src/games/moo/world/state.rs", "use tickwire::limits;\n", &[1]);
    finds(layers::imports, "src/limits/mod.rs", "use super::packet;\n", &[1]);
    finds(layers::imports, "src/newcomer.rs", "//! New.\n", &[1]);
}

#[test]
fn users_of_the_library_see_its_public_modules_alone() {
    keep(surface::internals);
    let files = tree::files();
    let lib = files.iter().find(|file| file.path == "src/lib.rs").expect("src/lib.rs is there");
    report(surface::modules(lib));
    finds(surface::internals, "examples/a.rs", "use tickwire::ws;\nuse tickwire::internal::net;\n", &[2]);
    finds(surface::internals, "docs/a.md", "`tickwire::internal::net`\n", &[1]);
    finds(surface::internals, "tests/a.rs", "use tickwire::internal::net;\n", &[]);
    let text = "//! - [`ws`]: it.\n//! - [`old`]: gone.\n//! - [`serve()`]: runs.\npub mod ws;\npub mod packet;\n\
                mod net;\npub use tickwire_sim as sim;\n#[doc(hidden)]\npub mod internal;\n";
    finds(surface::modules, "src/lib.rs", text, &[5, 7, 2]);
}

#[test]
fn the_websocket_layer_needs_no_other_package() {
    let files = tree::files();
    let manifest = files.iter().find(|file| file.path == "Cargo.toml").expect("Cargo.toml is there");
    report(files.iter().flat_map(|file| surface::packages_of_ws(file, manifest)).collect());
    let text = "use base64::Engine as _;\nuse serde_json::Value;\nfn f() {\n    tickwire_sim::f();\n}\n";
    finds(|file| surface::packages_of_ws(file, manifest), "src/ws/a.rs", text, &[2, 4]);
    finds(|file| surface::packages_of_ws(file, manifest), "src/server/net/a.rs", text, &[]);
}

#[test]
fn what_the_package_includes_is_in_the_package() {
    report(surface::unpackaged(&tree::files()));
    let manifest = File::new("Cargo.toml", "[package]\ninclude = [\n    \"/src\",\n    \"/data\",\n]\n");
    let inside = File::new("src/a/b.rs", "const A: &str = include_str!(\"../../data/a.txt\");\n");
    let outside = "const A: &str = include_str!(concat!(\"../../tests/\", $name));\n";
    let outside = File::new("src/a/c.rs", outside);
    let found = surface::unpackaged(&[manifest, inside, outside]);
    assert_eq!(found.iter().map(|breach| breach.path.as_str()).collect::<Vec<_>>(), ["src/a/c.rs"]);
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    report(circles::circles(&tree::files(), &circles::ALLOWED));
}

/// The circles of some files.
fn circle(sources: &[(&str, &str)], allowed: &[&str]) -> Vec<String> {
    let files: Vec<File> = sources.iter().map(|(path, text)| File::new(path, text)).collect();
    circles::circles(&files, allowed).into_iter().map(|breach| breach.rule).collect()
}

#[test]
fn a_circle_is_found_behind_modules_re_exports_and_other_names() {
    let parent = ("src/a/mod.rs", "mod b;\npub mod c;\npub use b::{Top, make as create};\n");
    let b = ("src/a/b.rs", "use super::c;\npub struct Top(c::Low);\npub fn make() {}\n");
    let found = "2 files import each other in a circle: src/a/b.rs -> src/a/c.rs (Low) -> src/a/b.rs";
    for uses in [
        "use super::Top;",
        "use crate::a::{self, Top};",
        "use super::b::Top as Other;",
        "use super::super::a;\nfn f(x: a::Top) {}",
        "pub(crate) use super::Top;\nfn f(x: Top) {}",
        "fn f() {\n    let x = tickwire::a::Top::new();\n}",
    ] {
        let c = format!("{uses}\npub struct Low;\n");
        assert_eq!(circle(&[parent, b, ("src/a/c.rs", &c)], &[]), [format!("{found} (Top)")], "{c}");
        assert_eq!(circle(&[parent, b, ("src/a/c.rs", &c)], &["src/a"]), [""; 0]);
    }
    let renamed = ("src/a/c.rs", "use super::create;\npub struct Low;\n");
    assert_eq!(circle(&[parent, b, renamed], &[]), [format!("{found} (make)")]);
    for innocent in [
        "pub use super::Top;",
        "// use super::Top;",
        "use super::b;",
        "use std::fmt::Top;",
        "#[cfg(test)]\nmod tests {\n    use crate::a::Top;\n}",
    ] {
        let c = format!("{innocent}\npub struct Low;\n");
        assert_eq!(circle(&[parent, b, ("src/a/c.rs", &c)], &[]), [""; 0], "{c}");
    }
    let defines = ("src/a/mod.rs", "mod b;\nmod c;\nuse b::Top;\npub enum Error { A(Top) }\n");
    let c = ("src/a/c.rs", "use super::Error;\npub struct Low;\n");
    assert_eq!(
        circle(&[defines, b, c], &[]),
        ["3 files import each other in a circle: \
          src/a/b.rs -> src/a/c.rs (Low) -> src/a/mod.rs (Error) -> src/a/b.rs (Top)"]
    );
    for (directory, package) in
        [("games/moo/world", "tickwire_moo_world"), ("sim", "tickwire_sim"), ("wasm", "tickwire_wasm")]
    {
        let (x, y) = (format!("src/{directory}/x.rs"), format!("src/{directory}/y.rs"));
        let back = format!("use {package}::x::X;\npub struct Y;\n");
        let sources = [(x.as_str(), "use crate::y::Y;\npub struct X;\n"), (y.as_str(), back.as_str())];
        assert_eq!(circle(&sources, &[]).len(), 1, "{directory}");
    }
    let parent_alone = ("src/a/mod.rs", "mod b;\n");
    let stale = "src/a has no circle: take it off ALLOWED in tests/tidy/circles.rs";
    assert_eq!(circle(&[parent_alone, b], &["src/a"]), [stale]);
}

#[test]
fn a_circle_is_found_between_impl_blocks_of_a_type() {
    let types = ("src/a/mod.rs", "mod b;\nmod c;\nmod d;\npub use d::Top;\n");
    let top = ("src/a/d.rs", "pub struct Top;\n");
    let b =
        ("src/a/b.rs", "use super::Top;\nimpl Top {\n    fn top(&self) {\n        self.low();\n    }\n}\n");
    let split = |call: &str| {
        let c = format!("use super::Top;\nimpl Top {{\n    fn low(&self) {{\n        {call};\n    }}\n}}\n");
        circle(&[types, top, b, ("src/a/c.rs", &c)], &[])
    };
    assert_eq!(split("other.top()"), [""; 0]);
    let found = "2 files import each other in a circle: src/a/b.rs -> src/a/c.rs (low) -> src/a/b.rs (top)";
    assert_eq!(split("self.top()"), [found]);
}

#[test]
fn only_the_outer_layers_touch_the_machine() {
    keep(layers::purity);
    finds(layers::purity, "src/ws/connection.rs", "use std::time::Duration;\n", &[]);
    finds(layers::purity, "src/ws/connection.rs", "use std::net::TcpStream;\n", &[1]);
    finds(layers::purity, "src/connection/session.rs", "fn f() {\n    let now = Instant::now();\n}\n", &[2]);
    finds(layers::purity, "src/games/moo/feed/view.rs", "use std::{fs, io};\n", &[1]);
    finds(
        layers::purity,
        "src/games/moo/feed/view.rs",
        "#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n",
        &[],
    );
    finds(layers::purity, "src/games/moo/feed/view.rs", "#[cfg(test)]\nmod tests {}\nuse std::fs;\n", &[3]);
    finds(layers::purity, "src/server/net/tcp_client.rs", "use std::net::TcpStream;\n", &[]);
    finds(layers::purity, "src/client/blocking_client.rs", "use std::net::TcpStream;\n", &[]);
    finds(layers::purity, "src/client/bots/mod.rs", "use std::net::TcpStream;\n", &[1]);
    finds(layers::purity, "src/testing/load/report.rs", "use std::time::Instant;\n", &[1]);
}

#[test]
fn only_the_platform_depends_on_the_system() {
    keep(layers::systems);
    let linux = "use rustix::net::send;\n#[cfg(target_os = \"linux\")]\nuse std::os::fd::AsFd;\n";
    finds(layers::systems, "src/server/net/a.rs", linux, &[1, 2, 3]);
    finds(layers::systems, "src/util/os/linux.rs", linux, &[]);
    finds(layers::systems, "src/cli/a.rs", "fn f() {\n    g(cfg!(windows));\n}\n", &[2]);
    finds(layers::systems, "src/cli/a.rs", "#[cfg(not(target_family = \"wasm\"))]\nmod a;\n", &[]);
}

#[test]
fn a_game_is_named_in_its_folder_and_where_it_is_registered() {
    report(games::names(&tree::files(), &games::ALLOWED));
    let list = ("src/games/mod.rs", "games! {\n    moo: moo::Moo,\n    chess: chess::Chess,\n}\n");
    let folders = [("src/games/moo/mod.rs", ""), ("src/games/chess/mod.rs", "")];
    let named = |path: &str, text: &str, allowed: &[(&str, &str)]| {
        let planted = [list, folders[0], folders[1], (path, text)];
        let files: Vec<File> = planted.map(|(path, text)| File::new(path, text)).into();
        let breaches = games::names(&files, allowed);
        breaches.into_iter().map(|breach| (breach.path, breach.line)).collect::<Vec<_>>()
    };
    for (path, name) in [
        ("src/server/net/a.rs", "use crate::games::moo::Moo;"),
        ("src/server/net/a.rs", "use crate::games::{chess};"),
        ("src/server/net/a.rs", "use tickwire_moo_world::World;"),
        ("src/server/net/a.rs", "struct ClanAction;"),
        ("src/server/net/a.rs", "const MAX_WINDMILLS: u8 = 3;"),
        ("src/server/net/a.rs", "let a = \"/moomoo\";"),
        ("src/server/net/a.rs", "let a = \"MooMoo dialects\";"),
        ("src/cli/a.rs", "/// The game, such as moo."),
        ("src/games/chess/a.rs", "use crate::games::moo::Moo;"),
        ("src/games/a.rs", "fn moo() {}"),
    ] {
        assert_eq!(named(path, &format!("//! A.\n{name}\n"), &[]), [(path.to_owned(), 2)], "{name}");
        assert_eq!(named(path, &format!("//! A.\n{name}\n"), &[(path, "a reason")]), [], "{name}");
    }
    for (path, innocent) in [
        ("src/server/net/a.rs", "/// As moo does.\nlet that = chat;\n"),
        ("src/server/net/a.rs", "#[cfg(test)]\nmod tests {\n    use crate::games::moo::Moo;\n}\n"),
        ("src/server/net/tests.rs", "use crate::games::moo::Moo;\n"),
        ("src/games/moo/a.rs", "use crate::games::moo::Moo;\n"),
        ("tests/server/a.rs", "use tickwire::games::moo::Moo;\n"),
    ] {
        assert_eq!(named(path, innocent, &[]), [], "{innocent}");
    }
    // A game is registered once, and an exception that is not needed any more is found.
    assert_eq!(named("src/games/none/mod.rs", "", &[]), [("src/games/mod.rs".to_owned(), 1)]);
    assert_eq!(
        named("src/server/net/a.rs", "", &[("src/server/net/a.rs", "a reason")]),
        [("src/server/net/a.rs".to_owned(), 1)]
    );
}

#[test]
fn only_peer_explain_and_inspector_decode_packets_to_the_server() {
    keep(layers::decoders);
    let decode =
        "fn f() {\n    dialect.decode(Direction::ToServer, bytes);\n    ClientPacket::from_decoded(&a);\n}\n";
    finds(layers::decoders, "src/server/net/a.rs", decode, &[2, 3]);
    finds(layers::decoders, "src/connection/a.rs", decode, &[]);
    finds(
        layers::decoders,
        "src/server/net/a.rs",
        "fn f() {\n    dialect.decode(Direction::ToClient, bytes);\n}\n",
        &[],
    );
    finds(layers::decoders, "src/server/net/a.rs", &format!("#[cfg(test)]\nmod tests {{\n{decode}}}\n"), &[]);
}

#[test]
fn files_and_functions_stay_short() {
    keep(rules::sizes);
    let body = "    x();\n".repeat(68);
    let rust = |inner: &str| format!("//! Docs.\nfn long() {{\n{inner}}}\n");
    finds(rules::sizes, "src/ws/a.rs", &rust(&body), &[2]);
    finds(rules::sizes, "src/ws/a.rs", &rust(&body[9..]), &[]);
    finds(rules::sizes, "src/ws/a.rs", &"// line\n".repeat(521), &[521]);
    finds(rules::sizes, "src/web/a.js", &format!("function long(a) {{\n{body}}}\n"), &[1]);
    finds(rules::sizes, "src/web/a.js", &format!("class A {{\n  #long(a, b) {{\n{body}  }}\n}}\n"), &[2]);
    finds(rules::sizes, "src/web/a.js", &format!("export const long = (a) => {{\n{body}}};\n"), &[1]);
    finds(rules::sizes, "scripts/a.sh", &format!("long() {{\n{body}}}\n"), &[1]);
    finds(rules::sizes, "packet_codes/a/a.tsv", &"line\n".repeat(521), &[]);
}

#[test]
fn comments_and_names_use_the_vocabulary() {
    keep(vocabulary::comment_words);
    keep(vocabulary::comment_width);
    keep(vocabulary::name_words);
    keep(vocabulary::web_name_words);
    let path = "src/ws/a.rs";
    finds(vocabulary::comment_words, path, "//! What it is told.\n", &[1]);
    finds(vocabulary::comment_words, path, "fn f() {} // Of those\n// of it: Nobody.\n", &[2]);
    finds(
        vocabulary::comment_words,
        path,
        "/// `told` falls behind, untold.\nconst A: &str = \"// told\";\n",
        &[],
    );
    finds(
        vocabulary::comment_words,
        "src/web/a.js",
        "const url = 'http://told';\nf(); // anew\n/** told */\n",
        &[2, 3],
    );
    finds(vocabulary::comment_words, "tests/a.rs", "// told\n", &[]);
    finds(vocabulary::comment_width, path, &format!("// {}\n// {}\n", "x".repeat(97), "x".repeat(98)), &[2]);
    finds(vocabulary::name_words, path, "struct WhomTwice;\nfn unwhom() {}\nlet last_heard = 1;\n", &[1, 3]);
    finds(vocabulary::web_name_words, "src/web/a.js", "let toldMs = 0;\nlet untold;\nforeseen();\n", &[1, 3]);
    finds(vocabulary::web_name_words, "src/web/a.css", "#log .said { color: red; }\n", &[1]);
}

#[test]
fn modules_begin_with_what_they_are() {
    keep(rules::module_docs);
    finds(rules::module_docs, "src/ws/a.rs", "use std::fmt;\n//! Late.\n", &[1]);
    finds(rules::module_docs, "src/web/a.js", "const a = 1;\n", &[1]);
    finds(rules::module_docs, "src/web/a.js", "// The camera.\n", &[]);
}

#[test]
fn nothing_is_left_over() {
    keep(rules::leftovers);
    let mark = ["// FIX", "ME later\n"].concat();
    finds(rules::leftovers, "src/ws/a.rs", &mark, &[1]);
    finds(rules::leftovers, "scripts/a.sh", &mark, &[1]);
    finds(rules::leftovers, "src/ws/a.rs", "fn f() {\n    todo!()\n}\n", &[2]);
    finds(rules::leftovers, "tests/a.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}\n", &[2]);
    finds(rules::leftovers, "src/server/net/a.rs", "fn f() {\n    a.unwrap();\n}\n", &[2]);
    finds(rules::leftovers, "src/server/net/a.rs", "#[test]\nfn f() {\n    a.unwrap();\n}\n", &[]);
    finds(rules::leftovers, "src/web/a.js", "console.log(1);\n  debugger;\n", &[1, 2]);
    finds(rules::leftovers, "tests/browser/a.mjs", "console.log(1);\ntest.skip('a', f);\n", &[2]);
}

#[test]
fn unsafe_stays_in_the_shim() {
    keep(rules::no_unsafe);
    finds(rules::no_unsafe, "src/server/net/a.rs", "fn f() {\n    unsafe { g() }\n}\n", &[2]);
    finds(rules::no_unsafe, "src/server/net/a.rs", "#![allow(unsafe_code)]\n", &[1]);
    finds(rules::no_unsafe, "src/server/net/a.rs", "// unsafe\nconst A: &str = \"unsafe\";\n", &[]);
    finds(rules::no_unsafe, "src/wasm/lib.rs", "#[unsafe(no_mangle)]\nfn f() {}\n", &[]);
}

#[test]
fn the_world_is_exact() {
    keep(rules::exact_world);
    finds(rules::exact_world, "src/games/moo/world/a.rs", "const A: f64 = 1.5;\n", &[1, 1]);
    finds(rules::exact_world, "src/games/moo/world/a.rs", "use std::collections::HashMap;\n", &[1]);
    finds(rules::exact_world, "src/games/moo/world/a.rs", "// f64\nlet a = b.0 + (0..4).len();\n", &[]);
    finds(rules::exact_world, "src/games/moo/world/tests/a.rs", "const A: f64 = 1.5;\n", &[]);
    finds(rules::exact_world, "src/games/tanks/a.rs", "const A: f64 = 1.5;\n", &[1, 1]);
    for path in ["src/packet/a.rs", "src/games/tanks/bot.rs"] {
        finds(rules::exact_world, path, "const A: f64 = 1.5;\n", &[]);
    }
}

#[test]
fn bounds_stand_in_limits() {
    keep(rules::bounds);
    keep(rules::documented_limits);
    finds(rules::bounds, "src/server/net/a.rs", "const A: Duration = Duration::from_millis(20);\n", &[1]);
    finds(rules::bounds, "src/server/net/a.rs", "let a = Duration::from_secs(1) / hz;\n", &[]);
    finds(rules::bounds, "src/ws/a.rs", "let a = 4 * 1024;\nlet b = [0; 512];\nlet c = [0; 10];\n", &[1, 2]);
    finds(rules::bounds, "src/ws/a.rs", "let a = Vec::with_capacity(64);\nlet b = [Rfc(6455); 200];\n", &[1]);
    finds(rules::bounds, "src/ws/a.rs", "#[cfg(test)]\nmod tests {\n    const A: u32 = 9999;\n}\n", &[]);
    finds(
        rules::documented_limits,
        "src/limits/mod.rs",
        "/// Why.\npub const A: u8 = 1;\npub const B: u8 = 2;\n",
        &[3],
    );
}

#[test]
fn no_path_of_one_machine() {
    keep(rules::no_machine_paths);
    let path = ["/ho", "me/someone/x"].concat();
    finds(rules::no_machine_paths, "README.md", &format!("see {path}\n"), &[1]);
    finds(rules::no_machine_paths, "README.md", &format!("see https://example.org{path}\n"), &[]);
    finds(rules::no_machine_paths, "scripts/a.sh", &format!("#!/bin/sh\nmktemp\n{path}\n"), &[]);
}

#[test]
fn the_page_stands_alone() {
    keep(rules::page_stands_alone);
    finds(rules::page_stands_alone, "src/web/a.html", "<script src=\"https://cdn.example/x.js\">\n", &[1]);
    finds(rules::page_stands_alone, "src/web/a.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\">\n", &[]);
}

#[test]
fn documents_are_true_to_the_tree() {
    let files = tree::files();
    report(docs::dead_links(&files));
    report(docs::unknown_names(&files));
    report(docs::unknown_documents(&files));
    report(docs::unnamed_dependencies(&files));
    report(docs::unused_limits(&files));
    report(docs::world_alone(&files));
    let broken = [
        File::new(
            "A.md",
            "[a](src/none.rs) and [b](#top)\n`src/none/` but `src/kept.rs`\n`a_test_that_was_lost`\n",
        ),
        File::new("src/kept.rs", "//! Kept. See (notes/B.md 3), A.md.\n"),
        File::new(
            "Cargo.toml",
            "[dependencies]\n# Why.\nsurprise = \"1\"\n[target.a.dependencies]\nother = \"1\"\n",
        ),
        File::new("ARCHITECTURE.md", "no word of it\n"),
        File::new(
            "src/limits/mod.rs",
            "pub const LONELY: u8 = 1;\npub const KEPT: u8 = 1;\nassert!(LONELY > 0);\n",
        ),
        File::new("src/ws/a.rs", "use crate::limits::KEPT;\n"),
        File::new("src/games/moo/world/Cargo.toml", "edition = \"2024\"\n[dependencies]\nrand = \"1\"\n"),
    ];
    let lines = |breaches: Vec<Breach>| breaches.iter().map(|breach| breach.line).collect::<Vec<_>>();
    assert_eq!(lines(docs::dead_links(&broken)), [1, 2]);
    assert_eq!(lines(docs::unknown_names(&broken)), [3]);
    assert_eq!(lines(docs::unknown_documents(&broken)), [1]);
    assert_eq!(lines(docs::unnamed_dependencies(&broken)), [3, 5]);
    assert_eq!(lines(docs::unused_limits(&broken)), [1]);
    assert_eq!(lines(docs::world_alone(&broken)), [3]);
}

#[test]
fn workflows_name_what_exists_and_pin_what_they_use() {
    let rust = delivery::rust_version();
    report(delivery::files().iter().flat_map(|file| delivery::breaches(file, &rust)).collect());
    let wrong =
        "run: scripts/none.sh\nuses: a/b@v4\nRUST: \"1.0.0\"\nrun: scripts/test.sh\nuses: a/b@v4.2.2\n";
    finds(|file| delivery::breaches(file, "1.95"), ".github/workflows/a.yml", wrong, &[1, 2, 3]);
}

#[test]
fn tokens_tell_code_from_text() {
    let words = |text: &str| rust::tokens(text).iter().map(|token| token.text.to_owned()).collect::<Vec<_>>();
    assert_eq!(words("a /* b /* c */ d */ e // f\ng"), ["a", "e", "g"]);
    assert_eq!(
        words(r##"a "b\"c" r#"d"e"# b'\'' '"' f"##),
        ["a", r#""b\"c""#, r##"r#"d"e"#"##, "b", r"'\''", "'\"'", "f"]
    );
    assert_eq!(words("<'a, 'static> 'x' '\\n' 'ä'"), ["<", "'a", ",", "'static", ">", "'x'", "'\\n'", "'ä'"]);
    assert_eq!(words("0..4 1.5e3 0x1f_u8 t.0"), ["0", ".", ".", "4", "1.5e3", "0x1f_u8", "t", ".", "0"]);
    assert_eq!(rust::tokens("a\n\"b\nc\"\nd")[2].line, 4);
    let source = "fn a(x: [u8; 4]) -> u8 {\n  {}\n}\ntrait T { fn b(); }\nfn c() where X: Y {\n}\n";
    assert_eq!(rust::functions(&rust::tokens(source)), [("a", 1, 3), ("c", 5, 6)]);
}

#[test]
fn no_test_has_a_time_limit_for_a_compiler() {
    report(time_limits::limited_compilers(&tree::files()));
    let files = |script: &str| {
        [
            File::new(
                "scripts/test.sh",
                "a() { timeout 9 scripts/a.sh --brief; }\nb() { timeout 9 node tests/b.mjs; }\n",
            ),
            File::new("scripts/a.sh", "source scripts/lib/a.sh\n"),
            File::new("scripts/lib/a.sh", script),
            File::new("tests/b.mjs", "import { a } from './lib/b.mjs';\n"),
            File::new("tests/lib/b.mjs", "// None.\nspawn('cargo', ['build']);\n"),
        ]
    };
    let found = |script: &str| {
        let breaches = time_limits::limited_compilers(&files(script));
        breaches.iter().map(|breach| breach.line).collect::<Vec<_>>()
    };
    assert_eq!(found("cargo build\n"), [1, 2]);
    assert_eq!(found("[[ -n ${TICKWIRE_BUILT:-} ]] || cargo build\n"), [2]);
}

/// Each bug of tests/fuzz/planted.tsv changes code that stands once in its file.
#[test]
fn planted_bugs_change_code_that_exists() {
    let read = |path: &str| std::fs::read_to_string(tree::root().join(path)).expect(path);
    for row in read("tests/fuzz/planted.tsv").lines().skip(1) {
        let cells: Vec<&str> = row.split('\t').collect();
        assert_eq!(read(cells[1]).matches(cells[2]).count(), 1, "{}: {}", cells[1], cells[2]);
    }
}
