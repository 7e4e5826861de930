//! Parses a line typed at the prompt of `tickwire connect` into a [`PromptCommand`].
//!
//! The line is parsed in the connection's dialect. A packet is typed as JSON or as
//! `NAME argument=value`. The JSON has the packet's name or code, and its arguments in order or by
//! name. This module uses no socket.

use std::path::PathBuf;
use std::time::Duration;

use super::explained_connection::WireFormat;
use super::received::{Condition, Expectation};
use crate::packet::{Dialect, Direction, Row, Value, json, msgpack};
use crate::tools::explain::hex;
use crate::ws::frame::Opcode;

/// Maximum wait in seconds: one day.
const MAX_WAIT_SECONDS: f64 = 86_400.0;

/// The text of `help`.
pub const HELP: &str = "\
move sequence=1 direction=16384      a packet by its name; omitted arguments are nil
[\"move\", {\"sequence\": 1}]            the same as JSON, with the name or the code
[\"move\", [1, null, 16384]]           the same, with the arguments in order
{\"op\": 1}                            a text message in JSON, to a server without packets
ping WORDS, pong WORDS               a control frame; with argument=value, the packet of that name
text WORDS                           a text message
msgpack JSON                         a binary message: the value in MessagePack
file NAME, text-file NAME            the bytes of a file as a binary message, or as a text message
close 1000 WORDS                     a close frame; without a code, its body is empty
hex 81 85 37fa213d 7f9f4d5158        these bytes unchanged, whether or not they are frames
wait SECONDS                         wait this long
expect NAME CONDITIONS SECONDS       wait for a packet by name or code, for a frame such as close or text, or for
                                     a close frame with this reason; the other words are optional. Conditions:
                                     \"TEXT\" is in the message, ARGUMENT=VALUE, and /POINTER=VALUE in JSON
packets                              list the packets that a client can send here
quit                                 close the connection and exit
";

/// A parsed line.
#[derive(Clone, Debug, PartialEq)]
pub enum PromptCommand {
    /// An empty line, or a comment that starts with `#`.
    Empty,
    /// Sends a single frame, masked like every client frame.
    Frame(Opcode, Vec<u8>),
    /// Sends the bytes of a file as a single frame.
    File(Opcode, PathBuf),
    /// Sends raw bytes.
    Bytes(Vec<u8>),
    /// Waits for this time.
    Wait(Duration),
    /// Waits for a frame, for the given time or the default.
    Expect(Expectation, Option<Duration>),
    /// Prints the help.
    Help,
    /// Lists the packets.
    Packets,
    /// Closes the connection and exits.
    Quit,
}

/// Parses a line.
///
/// # Errors
/// One line that describes the error.
pub fn parse(line: &str, speech: WireFormat<'_>) -> Result<PromptCommand, String> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let is_packet = speech.dialect.is_some() && first_word(rest).contains('=');
    let text = || rest.as_bytes().to_vec();
    match word {
        "" => Ok(PromptCommand::Empty),
        _ if word.starts_with('#') => Ok(PromptCommand::Empty),
        "ping" if !is_packet => Ok(PromptCommand::Frame(Opcode::Ping, text())),
        "pong" if !is_packet => Ok(PromptCommand::Frame(Opcode::Pong, text())),
        "text" => Ok(PromptCommand::Frame(Opcode::Text, text())),
        "msgpack" if !is_packet => {
            in_msgpack(rest).map(|message| PromptCommand::Frame(Opcode::Binary, message))
        }
        "file" if !is_packet => file(Opcode::Binary, rest),
        "text-file" => file(Opcode::Text, rest),
        "close" => close(rest).map(|body| PromptCommand::Frame(Opcode::Close, body)),
        "hex" => hex::parse(rest).map(PromptCommand::Bytes).map_err(|error| error.to_string()),
        "wait" => seconds(rest).map(PromptCommand::Wait),
        "expect" => expect(rest),
        "help" if rest.is_empty() => Ok(PromptCommand::Help),
        "packets" if rest.is_empty() => Ok(PromptCommand::Packets),
        "quit" if rest.is_empty() => Ok(PromptCommand::Quit),
        _ => match speech.dialect {
            Some(dialect) => packet(line, dialect, speech.json),
            None => json_message(line),
        },
    }
}

/// Encodes a JSON value as MessagePack.
fn in_msgpack(text: &str) -> Result<Vec<u8>, String> {
    let value = json::read(text, Direction::ToServer).map_err(|broken| format!("msgpack: {broken}"))?;
    let mut message = Vec::new();
    msgpack::write_value(&mut message, &value);
    Ok(message)
}

fn file(opcode: Opcode, name: &str) -> Result<PromptCommand, String> {
    if name.is_empty() {
        return Err("file needs the name of a file; text-file sends it as text".to_owned());
    }
    Ok(PromptCommand::File(opcode, PathBuf::from(name)))
}

/// A text message in JSON, as typed, for a server without packets.
fn json_message(line: &str) -> Result<PromptCommand, String> {
    let is_json = line.starts_with(['{', '[']);
    if !is_json {
        return Err(
            "no such command, and this server has no packets: see help, such as text WORDS and {JSON}; \
            --dialect decodes packets"
                .to_owned(),
        );
    }
    match serde_json::from_str::<serde_json::Value>(line) {
        Ok(_) => Ok(PromptCommand::Frame(Opcode::Text, line.as_bytes().to_vec())),
        Err(error) => Err(format!("not JSON: {error}; text WORDS sends any text")),
    }
}

fn close(rest: &str) -> Result<Vec<u8>, String> {
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    let (code, reason) = rest.split_once(' ').unwrap_or((rest, ""));
    let code: u16 = code.parse().map_err(|_| format!("{code:?} is not a close code"))?;
    Ok([&code.to_be_bytes()[..], reason.trim().as_bytes()].concat())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok();
    let seconds = seconds.filter(|seconds| (0.0..=MAX_WAIT_SECONDS).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("{text:?} is not a number of seconds, 0 to {MAX_WAIT_SECONDS}"))
}

/// Parses `NAME CONDITION… SECONDS`. The last word is the time unless it is a condition.
fn expect(mut rest: &str) -> Result<PromptCommand, String> {
    let name = next_word(&mut rest);
    if name.is_empty() {
        return Err("expect needs the name of a packet or a frame".to_owned());
    }
    let (mut conditions, mut time, mut text) = (Vec::new(), None, name.to_owned());
    while !rest.trim().is_empty() {
        let word = next_word(&mut rest);
        if rest.trim().is_empty() && !word.contains(['"', '=']) {
            time = Some(seconds(word)?);
        } else {
            conditions.push(Condition::parse(word)?);
            text.extend([" ", word]);
        }
    }
    Ok(PromptCommand::Expect(Expectation { name: name.to_owned(), conditions, text }, time))
}

/// Encodes a packet that was typed in any of the accepted forms.
fn packet(line: &str, dialect: &Dialect, json: bool) -> Result<PromptCommand, String> {
    let (row, values) = match line.starts_with('[') {
        true => parse_json(line, dialect)?,
        false => parse_words(line, dialect)?,
    };
    let encoded = dialect.encode(Direction::ToServer, &row.name, &values);
    let message = encoded.map_err(|error| error.to_string())?;
    if !json {
        return Ok(PromptCommand::Frame(Opcode::Binary, message));
    }
    let text = dialect.json_from_msgpack(Direction::ToServer, &message);
    let text = text.map_err(|error| error.to_string())?;
    Ok(PromptCommand::Frame(Opcode::Text, text.into_bytes()))
}

/// Parses `["move", {"direction": 90}]`, `["move", [1, null, 90]]` or `[3, [1, null, 90]]`.
fn parse_json<'a>(line: &str, dialect: &'a Dialect) -> Result<(&'a Row, Vec<Value>), String> {
    let value = json::read(line, Direction::ToServer).map_err(|broken| broken.to_string())?;
    let Value::Array(mut parts) = value else { return Err("a packet must be an array".to_owned()) };
    if parts.is_empty() || parts.len() > 2 {
        return Err("a packet must be [name, arguments]".to_owned());
    }
    let arguments = parts.drain(1..).next().unwrap_or(Value::Array(Vec::new()));
    let name = parts[0].as_str().map_or_else(|| parts[0].to_string(), str::to_owned);
    let row = find(dialect, &name)?;
    match arguments {
        Value::Array(values) => Ok((row, values)),
        Value::Map(pairs) => {
            let pairs =
                pairs.into_iter().map(|(name, value)| (name.as_str().unwrap_or_default().to_owned(), value));
            by_position(row, pairs.collect())
        }
        _ => Err("arguments must be an array in order, or an object by name".to_owned()),
    }
}

/// Parses `move sequence=1 direction=90`.
fn parse_words<'a>(line: &str, dialect: &'a Dialect) -> Result<(&'a Row, Vec<Value>), String> {
    let mut rest = line;
    let row = find(dialect, next_word(&mut rest))?;
    let mut pairs = Vec::new();
    while !rest.trim_start().is_empty() {
        let word = next_word(&mut rest);
        let (name, value) =
            word.split_once('=').ok_or_else(|| format!("{word:?} is not argument=value; see help"))?;
        pairs.push((name.to_owned(), as_value(value)));
    }
    by_position(row, pairs)
}

/// Parses a value as `explain` and the dissector print it: JSON, or `nil`. Any other value is text.
/// The text `nil` needs quotes.
fn as_value(text: &str) -> Value {
    match text {
        "nil" => Value::Nil,
        _ => json::read(text, Direction::ToServer).unwrap_or_else(|_| Value::from(text)),
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// Takes the word up to the next space outside of quotes and brackets.
fn next_word<'a>(rest: &mut &'a str) -> &'a str {
    let text = rest.trim_start();
    let (mut depth, mut is_quoted, mut is_escaped) = (0u32, false, false);
    let end = text.char_indices().find(|(_, ch)| {
        match ch {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '[' | '{' if !is_quoted => depth += 1,
            ']' | '}' if !is_quoted => depth = depth.saturating_sub(1),
            _ => return ch.is_whitespace() && !is_quoted && depth == 0,
        }
        false
    });
    let (word, after) = text.split_at(end.map_or(text.len(), |(at, _)| at));
    *rest = after;
    word
}

/// Finds a packet by its code, or else by its name.
fn find<'a>(dialect: &'a Dialect, name: &str) -> Result<&'a Row, String> {
    let has_code = |row: &&Row| row.code(dialect.name()).is_some_and(|code| code.to_string() == name);
    let by_code = dialect.rows(Direction::ToServer).find(has_code);
    by_code.or_else(|| dialect.row(Direction::ToServer, name)).ok_or_else(|| {
        format!("{} has no packet {name:?} that a client can send; `packets` lists them", dialect.name())
    })
}

/// The values in the order of the row. Missing values are nil; missing values at the end are
/// omitted.
fn by_position(row: &Row, pairs: Vec<(String, Value)>) -> Result<(&Row, Vec<Value>), String> {
    let mut values = vec![Value::Nil; row.arguments.len()];
    for (name, value) in pairs {
        let place = row.argument(&name).ok_or_else(|| {
            let names: Vec<&str> = row.arguments.iter().map(|argument| argument.name.as_str()).collect();
            format!("{} has no argument {name:?}; its arguments are [{}]", row.name, names.join(", "))
        })?;
        values[place] = value;
    }
    while values.last().is_some_and(Value::is_nil) {
        values.pop();
    }
    Ok((row, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketTables;

    fn parsed(dialect: &str, json: bool, line: &str) -> Result<PromptCommand, String> {
        let dialect = PacketTables::builtin().dialect(dialect).expect("built in");
        parse(line, WireFormat { dialect: Some(&dialect), json })
    }

    fn expected(name: &str, conditions: &[&str], seconds: Option<u64>) -> PromptCommand {
        let text = [&[name], conditions].concat().join(" ");
        let conditions = conditions.iter().map(|word| Condition::parse(word).expect("valid")).collect();
        let wanted = Expectation { name: name.to_owned(), conditions, text };
        PromptCommand::Expect(wanted, seconds.map(Duration::from_secs))
    }

    #[test]
    fn a_packet_is_the_same_in_all_its_forms() {
        let expected = PromptCommand::Frame(Opcode::Binary, vec![0x92, 3, 0x93, 1, 0xc0, 0xcd, 0x40, 0]);
        for line in [
            "move sequence=1 direction=16384",
            "  move  direction=16384   sequence=1 ",
            r#"["move", {"direction": 16384, "sequence": 1}]"#,
            r#"["move", [1, null, 16384]]"#,
            "[3,[1,null,16384]]",
            "3 sequence=1 direction=16384",
            // As `explain` and the dissector print it.
            "move sequence=1 tick=null direction=16384",
            "move sequence=1 tick=nil direction=16384",
        ] {
            assert_eq!(parsed("native", false, line), Ok(expected.clone()), "{line}");
        }
        let text = PromptCommand::Frame(Opcode::Text, b"[3,[1,null,16384]]".to_vec());
        assert_eq!(parsed("native", true, "move sequence=1 direction=16384"), Ok(text));
        let named = parsed("native", false, r#"chat sequence=2 text="hi \"you\" there""#);
        assert_eq!(named, parsed("native", false, r#"[5, [2, null, "hi \"you\" there"]]"#));
        let within = parsed("legacy", false, r#"enter_game data={"name": "ann", "skin": 3}"#);
        assert!(within.is_err(), "the argument has another name: {within:?}");
        let nested = parsed("legacy", false, r#"["enter_game", [{"name": "ann", "skin": 3}]]"#);
        assert!(matches!(nested, Ok(PromptCommand::Frame(Opcode::Binary, _))), "{nested:?}");
    }

    #[test]
    fn other_inputs() {
        for (line, expected) in [
            ("", PromptCommand::Empty),
            ("# wait 3", PromptCommand::Empty),
            ("ping", PromptCommand::Frame(Opcode::Ping, Vec::new())),
            ("ping are you there", PromptCommand::Frame(Opcode::Ping, b"are you there".to_vec())),
            ("ping nonce=7", PromptCommand::Frame(Opcode::Binary, vec![0x92, 6, 0x91, 7])),
            ("text [1]", PromptCommand::Frame(Opcode::Text, b"[1]".to_vec())),
            ("close", PromptCommand::Frame(Opcode::Close, Vec::new())),
            (
                "close 1000 bye bye",
                PromptCommand::Frame(Opcode::Close, [&[3, 0xe8][..], b"bye bye"].concat()),
            ),
            ("hex 81 00", PromptCommand::Bytes(vec![0x81, 0])),
            ("wait 0.5", PromptCommand::Wait(Duration::from_millis(500))),
            ("expect welcome", expected("welcome", &[], None)),
            ("expect close 2", expected("close", &[], Some(2))),
            ("expect pong nonce=7 2", expected("pong", &["nonce=7"], Some(2))),
            (r#"expect text "a b" /d/op=10"#, expected("text", &[r#""a b""#, "/d/op=10"], None)),
            (r#"expect text /name="a b""#, expected("text", &[r#"/name="a b""#], None)),
            (r#"msgpack {"a": 1}"#, PromptCommand::Frame(Opcode::Binary, vec![0x81, 0xa1, b'a', 1])),
            ("file a b.bin", PromptCommand::File(Opcode::Binary, PathBuf::from("a b.bin"))),
            ("text-file a.json", PromptCommand::File(Opcode::Text, PathBuf::from("a.json"))),
            ("help", PromptCommand::Help),
            ("packets", PromptCommand::Packets),
            ("quit", PromptCommand::Quit),
        ] {
            assert_eq!(parsed("native", false, line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn errors_are_one_line() {
        for (line, word) in [
            ("fly", "\"fly\""),
            ("welcome", "no packet"),
            ("move speed=3", "sequence, tick, direction"),
            ("move", "sequence"),
            ("move 1", "argument=value"),
            ("move sequence=fast", "sequence"),
            ("[3", "JSON"),
            ("[]", "[name, arguments]"),
            ("[3, 4]", "arguments"),
            ("close soon", "close code"),
            ("hex 8", "two"),
            ("wait", "seconds"),
            ("wait -1", "seconds"),
            ("wait 1e99", "seconds"),
            ("expect", "needs the name"),
            ("expect text soon", "seconds"),
            ("expect text soon 3", "is no condition"),
            ("file", "needs the name"),
            ("msgpack {", "msgpack"),
        ] {
            let error = parsed("native", false, line).expect_err(line);
            assert!(error.contains(word) && error.lines().count() == 1, "{line}: {error}");
        }
    }

    #[test]
    fn a_server_without_packets_receives_json_as_it_is_typed() {
        let of_line = |line| parse(line, WireFormat { dialect: None, json: false });
        for line in [r#"{"op": 1}"#, "[1, 2]"] {
            assert_eq!(of_line(line), Ok(PromptCommand::Frame(Opcode::Text, line.as_bytes().to_vec())));
        }
        assert_eq!(of_line("ping a=b"), Ok(PromptCommand::Frame(Opcode::Ping, b"a=b".to_vec())));
        for (line, word) in [("{\"op\"", "not JSON"), ("move sequence=1", "has no packets")] {
            let error = of_line(line).expect_err(line);
            assert!(error.contains(word) && error.lines().count() == 1, "{line}: {error}");
        }
    }
}
