//! Checks the examples in README.md, docs/server.md, docs/tools.md and the lessons against the
//! output of the commands. (`tests/wireshark/run.py` does the same for `scripts/wireshark/`.)
//!
//! In a block marked `console`, a line `$ command` is followed by its output. A line `…` stands for
//! any lines, and `…` within a line for any text. `sh` runs the commands in the root of the
//! repository, with `tickwire` in the path; if a command names `localhost:3000`, the test replaces
//! it by the address of its own server. `TICKWIRE_TOOLS=1 TICKWIRE_BLESS=1 cargo test --test
//! documents -- --test-threads=1` regenerates the output, one file after the other, except in
//! blocks that contain `…`.
//!
//! Commands that need other programs run only if `TICKWIRE_TOOLS` is set, as in `scripts/test.sh`,
//! which installs them. Blocks that are not run are listed here with the reason.

#[path = "support/program.rs"]
mod program;
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use program::{Program, tickwire};
use support::PATIENCE;

const BLESS: &str = "TICKWIRE_BLESS";
const TOOLS: &str = "TICKWIRE_TOOLS";
const ANY: &str = "…";
/// The address of the server in the documents.
const SHOWN_ADDRESS: &str = "localhost:3000";
/// The warning that `tshark` prints to root.
const AS_ROOT: &str = "Running as user \"root\"";
/// The operator's token of that server, and the variable by which the documents mean it.
const TOKEN: (&str, &str) = ("TOKEN", "token-for-the-documents");
/// First lines of the blocks that are not marked `console`, and why they are not run as such.
const PLAIN: [(&str, &str); 27] = [
    (
        r#"rate(tickwire_sampled_bytes_total{packet="update"}[5m])"#,
        "a query for Prometheus; tests/server/figures.rs reads the metric",
    ),
    (
        "packet                      frames           bytes  share  fields",
        "counts of 30 bots; tests/server/figures.rs runs the command",
    ),
    (
        "cargo run --release -- between --upstream ws://127.0.0.1:8080",
        "a server of another application; tests/between/run.mjs has six of them",
    ),
    (
        "    1.397 #1 = 127.0.0.1:32878 GET /chat, HTTP/1.1 101 Switching Protocols",
        "lines of tickwire between; tests/server/between.rs compares them as JSON",
    ),
    (
        "tickwire --bind 10.0.0.5:3000 --lane both --udp-public 203.0.113.7",
        "addresses of another network; tests/browser/lane.mjs has a server with --udp-public",
    ),
    (
        r#"printf '{"op": 1}\nexpect text /op=1\nmsgpack {"a": 1.5}\nexpect binary a=1.5\nfile picture.png\nwait 1\n' | tickwire connect wss://example.org/socket"#,
        "a server of another network: tests/server/talk_foreign.rs runs such a script",
    ),
    (
        "cargo run --release -- --lane udp",
        "a server and a client: tests/clients/run.py runs lane.py, and tests/server/lane.rs a lane through netem",
    ),
    (
        "cargo run --release     then open http://localhost:3000: walk, gather, build, fight, hunt, chat among a dozen bots",
        "the repository's own use: this very test is run by it",
    ),
    ("apt-get update -q", "run by `the_first_frame_is_shown`, and on a bare Debian by scripts/newcomer.sh"),
    ("81 85 37 fa 21 3d 7f 9f 4d 51 58", "bytes"),
    ("  7f 9f 4d 51 58     the masked bytes", "bytes"),
    ("  9f   1001 1111", "bits"),
    ("GET /play HTTP/1.1", "a request"),
    ("HTTP/1.1 101 Switching Protocols", "an answer"),
    ("92 03 93 11 cd 04 b0 cd 40 00", "bytes"),
    (
        "61 59 84 50  00 10  00 09  00 00 00 1f  02 00 12  00 00 00 06 ff ff ff ff 00 03 60   00 05 03 91 cd 20 00",
        "bytes, explained below them",
    ),
    ("61 59 84 50 00 0b 00 0e 00 00 1f fb 03 00 04 00 00 00 07", "bytes"),
    ("  82 88 …                  bytes from a client", "a picture"),
    ("tickwire --room arena,map-size=3000,tick-hz=60 --room class-b,max-clients=30", "a server that goes on"),
    ("# name  token", "a token file"),
    (
        "error: seed 1, after tick 334: the copy of a snapshot differs: sums [2]: 334, not 4",
        "of a game with a planted mistake",
    ),
    (
        "  reconnects    49 connections lost, 49 times a bot resumed its own player",
        "of a game of its own; tests/peer/reconnects.rs has the same in virtual time",
    ),
    ("tickwire: building the game for WebAssembly", "of a game with a planted mistake"),
    ("docker build --tag tickwire .", "a container needs Docker, which the tests' machine need not have"),
    (
        "tickwire replay game.pcapng --packets packets.pcapng",
        "tcpdump is not installed; group wireshark runs the rest",
    ),
    (
        "client   Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
        "two headers, which are in docs/lessons/compression.hex",
    ),
    (
        "let socket = new WebSocket('ws://127.0.0.1:9001'); socket.onopen = () => socket.send('again '.repeat(1000))",
        "for the console of a browser",
    ),
];
/// Replaces a `sleep` of a second after the start of a server: waits for the end of its banner, for at most 20 s. However the
/// script ends, the server is stopped.
const UNTIL_IT_SERVES: &str = "\
trap 'kill $server' EXIT
tries=0
until grep -qs 'this machine supports' server.txt; do tries=$((tries + 1)); [ $tries -le 200 ]; sleep 0.1; done
";
/// Programs that are always available.
const ALWAYS_THERE: [&str; 5] = ["tickwire", "printf", "echo", "cat", "head"];

/// One command of a block and what the block says that it prints.
struct Example<'a> {
    command: &'a str,
    shown: Vec<&'a str>,
}

impl Example<'_> {
    /// Whether it needs nothing but this repository.
    fn is_plain(&self) -> bool {
        let mut first_words =
            self.command.split(['|', ';']).filter_map(|part| part.split_whitespace().next());
        first_words.all(|word| ALWAYS_THERE.contains(&word))
    }
}

fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The documents that show commands.
fn documents() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        ["README.md", "docs/server.md", "docs/tools.md"].map(|name| top().join(name)).into();
    let lessons = fs::read_dir(top().join("docs/lessons")).expect("there are lessons");
    found.extend(lessons.map(|entry| entry.expect("it can be read").path()));
    found.retain(|path| path.extension().is_some_and(|end| end == "md") && path.is_file());
    found.sort();
    found
}

/// All examples in the order of a document.
fn examples(text: &str) -> Vec<Example<'_>> {
    let mut found: Vec<Example<'_>> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        match (is_inside, line.strip_prefix("$ ")) {
            (false, _) => is_inside = line == "```console",
            (true, _) if line == "```" => is_inside = false,
            (true, Some(command)) => found.push(Example { command, shown: Vec::new() }),
            (true, None) => found.last_mut().expect("a block begins with a command").shown.push(line),
        }
    }
    found
}

/// The command with time enough for a loaded machine in what it says to `tickwire connect`: what has come is not waited for longer.
fn patient(command: &str) -> String {
    let patience = PATIENCE.as_secs();
    let lines = command.split("\\n").map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["expect", name] => format!("expect {name} {patience}"),
        ["wait", _] => format!("wait {patience}"),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\\n")
}

/// The shell that runs the examples of one document, and its server, once one is needed.
struct Shell {
    server: Option<Program>,
}

impl Shell {
    /// Standard output of a command, then standard error.
    fn run(&mut self, command: &str) -> String {
        let mut command = patient(command);
        let mut address = None;
        if command.contains(SHOWN_ADDRESS) {
            let server = self.server.get_or_insert_with(|| {
                let mut command = tickwire(&["serve", "--bind", "127.0.0.1:0", "--log", "error"]);
                Program::start(command.env("TICKWIRE_ADMIN_TOKEN", TOKEN.1))
            });
            command = command.replace(SHOWN_ADDRESS, &server.address.to_string());
            address = Some(server.address.to_string());
        }
        let program = Path::new(env!("CARGO_BIN_EXE_tickwire")).parent().expect("a folder");
        let paths = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("TICKWIRE_")) {
            shell.env_remove(name);
        }
        // The output in the documents is without bots.
        shell.env("TICKWIRE_BOTS", "0");
        shell.args(["-c", &command]).current_dir(top()).env("PATH", format!("{}:{paths}", program.display()));
        let output = shell.env(TOKEN.0, TOKEN.1).output().expect("sh runs");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).expect("the command prints UTF-8");
        // Which user reads a capture is nothing that a document shows.
        let text: String = text.split_inclusive('\n').filter(|line| !line.starts_with(AS_ROOT)).collect();
        match address {
            Some(address) => text.replace(&address, SHOWN_ADDRESS),
            None => text,
        }
    }
}

/// Whether a line is the one shown, where `…` stands for any text.
fn line_agrees(printed: &str, shown: &str) -> bool {
    let mut parts = shown.split(ANY);
    let Some(mut rest) = printed.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn lines_agree(printed: &[&str], shown: &[&str]) -> bool {
    printed.len() == shown.len()
        && printed.iter().zip(shown).all(|(printed, shown)| line_agrees(printed, shown))
}

/// Whether the lines are the ones shown, where a line `…` stands for any lines.
fn agrees(printed: &[&str], shown: &[&str]) -> bool {
    let mut parts = shown.split(|line| *line == ANY);
    let first = parts.next().unwrap_or_default();
    if printed.len() < first.len() || !lines_agree(&printed[..first.len()], first) {
        return false;
    }
    let mut rest = &printed[first.len()..];
    let parts: Vec<&[&str]> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle.iter().filter(|part| !part.is_empty()) {
        match rest.windows(part.len()).position(|window| lines_agree(window, part)) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && lines_agree(&rest[rest.len() - last.len()..], last)
}

/// Runs the examples of one document that `wanted` chooses. Gives how many, and those that print something else.
fn check(path: &Path, wanted: impl Fn(&Example<'_>) -> bool) -> (usize, Vec<String>) {
    let text = fs::read_to_string(path).expect("the document can be read");
    let (mut shell, mut blessed, mut wrong) = (Shell { server: None }, text.clone(), Vec::new());
    let chosen: Vec<Example<'_>> = examples(&text).into_iter().filter(wanted).collect();
    for example in &chosen {
        let printed = shell.run(example.command);
        let printed = printed.trim_end_matches('\n');
        let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
        if agrees(&lines, &example.shown) {
            continue;
        }
        let whole = |shown: &[&str]| {
            format!(
                "$ {}\n{}",
                example.command,
                shown.iter().map(|line| format!("{line}\n")).collect::<String>()
            )
        };
        if std::env::var_os(BLESS).is_some() && !example.shown.contains(&ANY) {
            blessed = blessed.replacen(&whole(&example.shown), &whole(&lines), 1);
        } else {
            wrong.push(format!(
                "{}: something else is printed than what it shows:\n{}",
                path.display(),
                whole(&lines)
            ));
        }
    }
    if blessed != text {
        fs::write(path, blessed).expect("the document can be written");
    }
    (chosen.len(), wrong)
}

fn check_all(wanted: impl Fn(&Example<'_>) -> bool) -> usize {
    let (mut count, mut wrong) = (0, Vec::new());
    for path in documents() {
        let (some, bad) = check(&path, &wanted);
        count += some;
        wrong.extend(bad);
    }
    assert!(wrong.is_empty(), "{BLESS}=1 writes them anew\n{}", wrong.join("\n"));
    count
}

#[test]
fn examples_print_what_is_shown() {
    let count = check_all(|example| example.is_plain());
    assert!(count >= 20, "only {count} examples found");
}

#[test]
fn examples_with_other_tools_print_what_is_shown() {
    if std::env::var_os(TOOLS).is_some() {
        let count = check_all(|example| !example.is_plain());
        assert!(count >= 1, "no example needs another tool");
    }
}

/// Blocks that are not marked `console`: the mark, and the lines.
fn plain_blocks(text: &str) -> Vec<(&str, Vec<&str>)> {
    let (mut found, mut mark) = (Vec::new(), None);
    for line in text.lines() {
        match (mark, line.strip_prefix("```")) {
            (None, Some(begun)) => {
                mark = Some(begun);
                found.push((begun, Vec::new()));
            }
            (Some(_), Some(_)) => mark = None,
            (Some(_), None) => found.last_mut().expect("a block has begun").1.push(line),
            (None, None) => {}
        }
    }
    found.retain(|(mark, _)| *mark != "console");
    found
}

#[test]
fn every_block_is_run_or_says_why_not() {
    let mut first_lines = Vec::new();
    for path in documents() {
        let text = fs::read_to_string(&path).expect("the document can be read");
        for (_, lines) in plain_blocks(&text) {
            let first = lines.first().copied().unwrap_or_default();
            let is_known = PLAIN.iter().any(|(known, _)| *known == first);
            assert!(is_known, "{}: mark this block `console`, so that it is run: {first}", path.display());
            let prompt = lines.iter().find(|line| line.starts_with("$ "));
            assert_eq!(prompt, None, "{}: a command in a block that is not run", path.display());
            first_lines.push(first.to_owned());
        }
    }
    for (known, _) in PLAIN {
        let count = first_lines.iter().filter(|first| *first == known).count();
        assert_eq!(count, 1, "blocks that begin so: {known}");
    }
}

/// What docs/your-first-game.md shows is what examples/ has, so that it compiles, and nothing of it is missing.
#[test]
fn the_first_game_is_the_one_in_examples() {
    let read = |path: &str| fs::read_to_string(top().join(path)).expect("it can be read");
    let text = read("docs/your-first-game.md");
    for (mark, file) in [("tsv", "coins.tsv"), ("rust", "coins.rs"), ("html", "coins.html")] {
        let example = read(&format!("examples/{file}"));
        let begin = format!("```{mark}\n");
        let blocks = text.split(&begin).skip(1).filter_map(|rest| rest.split("```").next());
        let mut rest = example.as_str();
        for block in blocks {
            let at = rest.find(block).unwrap_or_else(|| panic!("{file} does not go on so:\n{block}"));
            let left_out: String = rest[..at].lines().filter(|line| !line.starts_with("//!")).collect();
            assert_eq!(left_out.trim(), "", "the document leaves this out");
            rest = &rest[at + block.len()..];
        }
        assert_eq!(rest.trim(), "", "the document does not show the end of {file}");
    }
}

/// The code in these documents is in their examples.
#[test]
fn what_the_documents_about_games_show_is_in_the_examples() {
    let read = |path: &str| fs::read_to_string(top().join(path)).expect("it can be read");
    let examples =
        |files: &[&str]| files.iter().map(|file| read(&format!("examples/{file}"))).collect::<String>();
    let all: [(_, _, &[&str], _); 5] = [
        ("owned.md", "rust", &["kites.rs"], 2),
        (
            "your-second-game.md",
            "rust",
            &["fog.rs", "fog/prediction.rs", "fog/tests.rs", "pong.rs", "paint.rs"],
            17,
        ),
        ("clients.md", "python", &["clients/coins.py"], 1),
        ("clients.md", "csharp", &["clients/Coins.cs"], 1),
        ("clients.md", "gdscript", &["clients/coins.gd"], 1),
    ];
    for (document, mark, files, count) in all {
        let (text, example) = (read(&format!("docs/{document}")), examples(files));
        let begin = format!("```{mark}\n");
        let blocks = text.split(&begin).skip(1).filter_map(|rest| rest.split("```").next());
        let missing: Vec<&str> = blocks.clone().filter(|block| !example.contains(block)).collect();
        assert!(missing.is_empty() && blocks.count() == count, "{document}: {missing:?}");
    }
}

/// The block `sh` of docs/tools.md, but for what installs packages: a frame is captured, and shown in three ways.
#[test]
fn the_lines_that_the_first_rule_changes_are_in_the_files_that_it_names() {
    let text = fs::read_to_string(top().join("docs/your-first-rule.md")).expect("the document is there");
    let (mut file, mut checked) = (String::new(), 0);
    // Text and blocks alternate.
    for pair in text.split("```").collect::<Vec<_>>().chunks(2) {
        let is_path = |word: &&str| word.starts_with("src/") && word.contains('.');
        if let Some(path) = pair[0].split('`').rfind(is_path) {
            file = fs::read_to_string(top().join(path)).expect(path);
        }
        let Some(diff) = pair.get(1).and_then(|block| block.strip_prefix("diff\n")) else { continue };
        let old = diff.lines().filter(|line| !line.starts_with('+') && !line.contains(ANY));
        for line in old.map(|line| &line[1..]) {
            assert!(
                file.lines().any(|known| known == line),
                "the document changes a line that is not there: {line}"
            );
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked} lines");
}

#[test]
fn the_first_frame_is_shown() {
    if std::env::var_os(TOOLS).is_none() {
        return;
    }
    let text = fs::read_to_string(top().join("docs/tools.md")).expect("it can be read");
    let blocks = plain_blocks(&text);
    let (_, lines) = blocks.iter().find(|(mark, _)| *mark == "sh").expect("docs/tools.md has it");
    let (packages, commands): (Vec<&str>, Vec<&str>) =
        lines.iter().partition(|line| line.starts_with("apt-get "));
    assert_eq!(packages.len(), 2, "{packages:?}");
    let directory = std::env::temp_dir().join(format!("tickwire-first-frame-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("a folder");
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|free| free.local_addr())
        .expect("a free port")
        .port();
    let inside = |name: &str| directory.join(name).display().to_string();
    let script = commands.join("\n");
    for replaced in ["& server=$!\nsleep 1\n", "wait $server\n"] {
        assert_eq!(script.matches(replaced).count(), 1, "{replaced}\nin\n{script}");
    }
    let script = script
        .replace("sleep 1\n", UNTIL_IT_SERVES)
        .replace("wait $server\n", "wait $server; trap - EXIT\n")
        .replace("127.0.0.1:3000", &format!("127.0.0.1:{port}"))
        .replace("$PWD/target/release:", "")
        .replace("first.pcapng", &inside("first.pcapng"))
        .replace("server.txt", &inside("server.txt"));
    let output = Shell { server: None }.run(&format!("set -e\nHOME='{}'\n{script}", directory.display()));
    fs::remove_dir_all(&directory).expect("it can be removed");
    for shown in ["→ move", "tickwire packets, move", "direction: ", "masking key"] {
        assert!(output.contains(shown), "{shown} is not shown:\n{output}");
    }
}

#[test]
fn a_dotted_line_stands_for_any_lines() {
    let printed = ["a", "b", "c", "d"];
    for shown in [
        &["a", "b", "c", "d"][..],
        &["a", ANY],
        &[ANY, "d"],
        &["a", ANY, "c", ANY],
        &[ANY, "b", "c", ANY, "d"],
    ] {
        assert!(agrees(&printed, shown), "{shown:?}");
    }
    for shown in
        [&["a", "b", "c"][..], &["b", ANY], &[ANY, "c"], &["a", ANY, "x", ANY], &[ANY, "c", ANY, "b", ANY]]
    {
        assert!(!agrees(&printed, shown), "{shown:?}");
    }
    assert!(agrees(&["tick 17, on its way"], &["tick …, on its way"]));
    assert!(!agrees(&["tick 17, on its way"], &["tick …, on my way"]));
}
