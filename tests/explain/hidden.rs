//! Characters that would control a terminal, or be invisible on it, never reach it unescaped, in
//! any form of an explanation.

use std::path::PathBuf;
use std::process::Command;

use tickwire::explain::{self, Explanation};
use tickwire::internal::tools::explain::color::ColorMode;
use tickwire::internal::util::escape;
use tickwire::packet::PacketTables;
use tickwire::ws::Side;
use tickwire::ws::frame::{self, Opcode};

/// A command of a terminal in one character, one that turns the text around, one that nobody sees, and DEL.
const NASTY: &str = "\u{9b}2J\u{202e}\u{200b}\x7f";

/// A text of MessagePack.
fn text(text: &str) -> Vec<u8> {
    [&[0xd9, text.len() as u8][..], text.as_bytes()].concat()
}

/// Everything that has a place for a text of the other end: its dialect, who sends it, and its bytes.
fn inputs() -> Vec<(&'static str, Side, Vec<u8>)> {
    let frame = |opcode, payload: &[u8]| {
        let mut bytes = Vec::new();
        frame::write(&mut bytes, opcode, Some([7, 7, 7, 7]), payload);
        bytes
    };
    let nasty = text(NASTY);
    let key = [
        &[0x92, 0xa2, b's', b'p', 0x91, 0x82][..],
        &text("name"),
        &nasty,
        &text(&format!("{NASTY}\x1b\n")),
        &nasty,
    ];
    let json = format!("[\"ch\",[\"{NASTY}\"]]").replace('\x7f', "\\u007f\x7f");
    let wrong = format!("[\"sp\",[{{\"{NASTY}\":\"{NASTY}\",\"name\":7}}]]");
    let request =
        format!("GET /{NASTY} HTTP/1.1\r\nHost: {NASTY}\r\nx{NASTY}: {NASTY}\r\nUpgrade: websocket\r\n\r\n");
    vec![
        (
            "legacy",
            Side::Client,
            frame(Opcode::Binary, &[&[0x92, 0xa2, b'c', b'h', 0x91][..], &nasty].concat()),
        ),
        ("native", Side::Client, frame(Opcode::Binary, &[&[0x92, 5, 0x93, 1, 0xc0][..], &nasty].concat())),
        ("legacy", Side::Client, frame(Opcode::Binary, &key.concat())),
        ("legacy", Side::Client, frame(Opcode::Binary, &[&[0x92][..], &nasty, &[0x90]].concat())),
        ("native", Side::Client, frame(Opcode::Binary, &[&[0x92, 6, 0x91][..], &nasty].concat())),
        ("legacy", Side::Client, frame(Opcode::Text, json.as_bytes())),
        ("legacy", Side::Client, frame(Opcode::Text, wrong.as_bytes())),
        ("legacy", Side::Client, frame(Opcode::Text, NASTY.as_bytes())),
        ("legacy", Side::Client, frame(Opcode::Close, &[&[3, 0xe8][..], NASTY.as_bytes()].concat())),
        ("legacy", Side::Client, request.into_bytes()),
    ]
}

/// The first hidden character that is neither kept nor of a colour.
fn hidden(output: &str, kept: &[char]) -> Option<(char, String)> {
    let shown = output.replace("\x1b[0m", "");
    let colours = ["36", "33", "35", "34", "32", "1;31"];
    let shown = colours.iter().fold(shown, |shown, number| shown.replace(&format!("\x1b[{number}m"), ""));
    let found = shown.chars().find(|ch| escape::is_hidden(*ch) && !kept.contains(ch))?;
    let line = shown.lines().find(|line| line.contains(found)).unwrap_or_default();
    Some((found, line.to_owned()))
}

fn forms(explanation: &Explanation<'_>) -> [(&'static str, String); 4] {
    [
        ("report", explanation.report()),
        ("coloured report", explanation.painted(ColorMode::Coloured)),
        ("line", explanation.to_string()),
        ("JSON", explanation.json()),
    ]
}

#[test]
fn no_form_of_an_explanation_has_a_hidden_character_of_its_input() {
    let codes = PacketTables::builtin();
    let mut leaks = Vec::new();
    for (dialect, from, bytes) in inputs() {
        let dialect = codes.dialect(dialect).expect("built in");
        let explanation = explain::explain(&bytes, &dialect, Some(from));
        for (form, output) in forms(&explanation) {
            if let Some((ch, line)) =
                hidden(&output, if form == "JSON" || form == "line" { &[] } else { &['\n'] })
            {
                leaks.push(format!("{form}: U+{:04X} in {line:?}", u32::from(ch)));
            }
        }
    }
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
}

#[test]
fn json_with_escapes_decodes_to_the_same_text() {
    let codes = PacketTables::builtin();
    let (dialect, from, bytes) = inputs().swap_remove(0);
    let dialect = codes.dialect(dialect).expect("built in");
    let explanation = explain::explain(&bytes, &dialect, Some(from));
    let json = explanation.json();
    assert!(json.contains(r"\u009b2J\u202e\u200b\u007f"), "{json}");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let mut nodes = vec![&json["frames"][0]["tree"]];
    let mut texts = Vec::new();
    while let Some(node) = nodes.pop() {
        texts.extend(node["raw"].as_str());
        nodes.extend(node["children"].as_array().into_iter().flatten());
    }
    assert!(texts.contains(&NASTY), "{texts:?}");
}

/// A folder of its own, removed when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_whose_name_is_hexadecimal_is_read_as_a_file_and_a_note_says_so() {
    let directory = Folder(std::env::temp_dir().join(format!("tickwire-named-{}", std::process::id())));
    std::fs::create_dir_all(directory.0.join("d2")).expect("a folder");
    std::fs::write(directory.0.join("d1"), "8900\n").expect("written");
    std::fs::write(directory.0.join("capture"), "8a00\n").expect("written");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tickwire"));
        command.env_remove("TICKWIRE_CODES").current_dir(&directory.0).args(["explain", "--line"]);
        let output = command.args(arguments).output().expect("the program runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (text(output.stdout), text(output.stderr))
    };
    let note = "tickwire: reading the file \"d1\"; to explain the bytes instead: tickwire explain \" d1\"\n";
    assert_eq!(run(&["d1"]), ("< ping, 0 bytes\n".to_owned(), note.to_owned()));
    assert_eq!(run(&["./d1"]).0, "< ping, 0 bytes\n");
    // Other names are no bytes, so there is nothing to note.
    assert_eq!(run(&["capture"]), ("< pong, 0 bytes\n".to_owned(), String::new()));
    for bytes in [&[" d1"][..], &["d1", "00"], &["d2"], &["0xd1"]] {
        let (out, errors) = run(bytes);
        assert!(!out.contains("ping") && errors.is_empty(), "{bytes:?}: {out}{errors}");
    }
}
