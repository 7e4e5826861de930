//! The notations of pasted bytes: a row for each, with its bytes; ambiguous text; errors with their
//! position; any text, and any cut of a row, is read or refused in one line.

use proptest::prelude::*;
use tickwire::internal::tools::explain::input::{
    self, Input, InputContent, InputPiece, Notation, har, network_packet,
};
use tickwire::ws::Side;
use tickwire::ws::frame::Opcode;

use crate::rows::hex;

const HELLO: &str = "818537fa213d7f9f4d5158";
/// An unmasked text, `Hello`.
const OPEN: &str = "810548656c6c6f";
/// Four times the first, in more than two lines of a dump.
const LONG: &str = "818537fa213d7f9f4d5158818537fa213d7f9f4d5158818537fa213d7f9f4d5158818537fa213d7f9f4d5158";

/// The program or language, its text, the notation, and the bytes.
const ROWS: &[(&str, &str, Notation, &str)] = &[
    ("hex", "81 85 37fa213d 7f9f4d5158", Notation::Hex, HELLO),
    ("Wireshark, hex stream", HELLO, Notation::Hex, HELLO),
    ("xxd -p", "818537fa213d7f\n9f4d5158\n", Notation::Hex, HELLO),
    ("C array without brackets", "0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f", Notation::Hex, OPEN),
    ("tshark -e tcp.payload", "81:05:48:65:6c:6c:6f", Notation::Hex, OPEN),
    ("xxd", "00000000: 8185 37fa 213d 7f9f 4d51 58              ..7.!=..MQX\n", Notation::HexDump, HELLO),
    (
        "xxd, several lines",
        "00000000: 8185 37fa 213d 7f9f 4d51 5881 8537 fa21  ..7.!=..MQX..7.!\n\
         00000010: 3d7f 9f4d 5158 8185 37fa 213d 7f9f 4d51  =..MQX..7.!=..MQ\n\
         00000020: 5881 8537 fa21 3d7f 9f4d 5158            X..7.!=..MQX\n",
        Notation::HexDump,
        LONG,
    ),
    (
        "xxd -c 8",
        "00000000: 8105 4865 6c6c 6f81  ..Hello.\n00000008: 00                   .\n",
        Notation::HexDump,
        "810548656c6c6f8100",
    ),
    ("xxd -s 2", "00000002: 37fa 213d                                7.!=\n", Notation::HexDump, "37fa213d"),
    (
        "xxd, characters like digits",
        "00000000: 6162 6364                                abcd\n",
        Notation::HexDump,
        "61626364",
    ),
    (
        "hexdump -C",
        "00000000  81 85 37 fa 21 3d 7f 9f  4d 51 58                 |..7.!=..MQX|\n0000000b\n",
        Notation::HexDump,
        HELLO,
    ),
    (
        "hexdump -C, repeated lines",
        "00000000  81 7e 00 30 00 00 00 00  00 00 00 00 00 00 00 00  |.~.0............|\n\
         00000010  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n\
         00000030  00 00 00 00                                       |....|\n00000034\n",
        Notation::HexDump,
        "817e0030 00*48",
    ),
    (
        "od -A x -t x1z",
        "000000 81 05 48 65 6c 6c 6f                             >..Hello<\n000007\n",
        Notation::HexDump,
        OPEN,
    ),
    (
        "od -t x1",
        "0000000 81 85 37 fa 21 3d 7f 9f 4d 51 58 81 85 37 fa 21\n\
         0000020 3d 7f 9f 4d 51 58 81 85 37 fa 21 3d 7f 9f 4d 51\n\
         0000040 58 81 85 37 fa 21 3d 7f 9f 4d 51 58\n0000054\n",
        Notation::HexDump,
        LONG,
    ),
    ("od -A d -t x1", "0000000 81 05 48 65 6c 6c 6f\n0000007\n", Notation::HexDump, OPEN),
    (
        "Wireshark, hex and ASCII",
        "0000   81 85 37 fa 21 3d 7f 9f 4d 51 58                  ..7.!=..MQX\n",
        Notation::HexDump,
        HELLO,
    ),
    ("Wireshark, hex dump", "0000   81 85 37 fa 21 3d 7f 9f 4d 51 58\n", Notation::HexDump, HELLO),
    (
        "Wireshark, characters in two halves",
        "00000000  81 85 37 fa 21 3d 7f 9f  4d 51 58                 ..7.!=.. MQX\n",
        Notation::HexDump,
        HELLO,
    ),
    (
        "Chrome, hex viewer, which counts lines",
        "00000000: 8185 37fa 213d 7f9f 4d51 5881 8537 fa21  ..7.!=..MQX..7.!\n\
         00000001: 3d7f 9f4d 5158 8185 37fa 213d 7f9f 4d51  =..MQX..7.!=..MQ\n\
         00000002: 5881 8537 fa21 3d7f 9f4d 5158            X..7.!=..MQX\n",
        Notation::HexDump,
        LONG,
    ),
    (
        "Wireshark, escaped string",
        "\"\\x81\\x85\\x37\\xfa\\x21\\x3d\\x7f\" \\\n\"\\x9f\\x4d\\x51\\x58\"",
        Notation::Escapes,
        HELLO,
    ),
    ("escapes", r"\x81\x05Hello", Notation::Escapes, OPEN),
    ("C, octal", r#""\201\005Hello""#, Notation::Escapes, OPEN),
    ("Python", r#"b"\x81\x05Hello""#, Notation::Escapes, OPEN),
    ("Python, printed", r"b'\x81\x857\xfa!=\x7f\x9fMQX'", Notation::Escapes, HELLO),
    ("Python, bytearray", r"data = bytearray(b'\x81\x05Hello')", Notation::Escapes, OPEN),
    ("JavaScript", r#""\u0081\u0005Hello""#, Notation::Escapes, OPEN),
    ("all escapes", r#""\n\r\t\a\b\f\v\e\0\\\"\'\x81""#, Notation::Escapes, "0a0d0907080c0b1b005c222781"),
    ("Python, numbers", "bytes([129, 5, 72, 101, 108, 108, 111])", Notation::Numbers, OPEN),
    ("Python, fromhex", "bytes.fromhex(\"8105 48656c6c6f\")", Notation::Hex, OPEN),
    ("Node.js, from", "Buffer.from('810548656c6c6f', 'hex')", Notation::Hex, OPEN),
    ("Node.js, from Base64", "Buffer.from(\"gQVIZWxsbw==\", \"base64\")", Notation::Base64, OPEN),
    ("Node.js, printed", "<Buffer 81 05 48 65 6c 6c 6f>", Notation::Numbers, OPEN),
    ("Node.js, JSON", r#"{"type":"Buffer","data":[129,5,72,101,108,108,111]}"#, Notation::Numbers, OPEN),
    ("Node.js, array", "Uint8Array(7) [\n  129,   5, 72, 101,\n  108, 108, 111\n]", Notation::Numbers, OPEN),
    ("JSON, numbers", "[129,5,72,101,108,108,111]", Notation::Numbers, OPEN),
    ("C", "{ 0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f };", Notation::Numbers, OPEN),
    (
        "xxd -i",
        "unsigned char a[] = {\n  0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f\n};\nunsigned int a_len = 7;\n",
        Notation::Numbers,
        OPEN,
    ),
    (
        "the inspector's copy",
        "/* text, from the server */\nstatic const unsigned char text_frame[7] = {\n    0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f,\n};\n",
        Notation::Numbers,
        OPEN,
    ),
    ("Rust", "let frame = [0x81u8, 5, 72, 101, 108, 108, 111]; // Hello", Notation::Numbers, OPEN),
    ("Java", "new byte[] { (byte)0x81, 5, 72, 101, 108, 108, 111 }", Notation::Numbers, OPEN),
    ("Java, printed", "[-127, 5, 72, 101, 108, 108, 111]", Notation::Numbers, OPEN),
    ("Base64", "gYU3+iE9f59NUVg=\n", Notation::Base64, HELLO),
    ("Base64, unpadded", "gYU3+iE9f59NUVg", Notation::Base64, HELLO),
    ("Base64 for URLs", "gYU3-iE9f59NUVg", Notation::Base64Url, HELLO),
    ("Base64, several lines", "gYU3+iE9\nf59NUVg=\n", Notation::Base64, HELLO),
    ("Chrome, data URL", "data:application/octet-stream;base64,gYU3+iE9f59NUVg=", Notation::Base64, HELLO),
    ("bytes", "GET / HTTP/1.1", Notation::Bytes, "474554202f20485454502f312e31"),
];

fn bytes_of(input: &Input) -> Vec<u8> {
    match &input.content {
        InputContent::Pieces(pieces) => pieces.iter().flat_map(|piece| piece.bytes.clone()).collect(),
        InputContent::Message(message) => message.payload.clone(),
    }
}

#[test]
fn each_notation_is_recognised_and_has_its_bytes() {
    for (name, text, notation, expected) in ROWS {
        let read = input::read(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((read.notation, bytes_of(&read)), (*notation, hex::bytes(expected)), "{name}");
        // The line ends of Windows, and an editor's empty lines, change nothing.
        if *notation != Notation::Bytes && !text.contains("\\\n") {
            let windows = format!("\r\n{}\r\n\r\n", text.replace('\n', "\r\n"));
            let read = input::read(windows.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!((read.notation, bytes_of(&read)), (*notation, hex::bytes(expected)), "{name}");
        }
    }
}

#[test]
fn ambiguous_text_has_the_first_notation_that_fits() {
    for (text, notation, expected) in [
        ("deadbeef", Notation::Hex, "deadbeef"),
        ("AAAA", Notation::Hex, "aaaa"),
        ("\"deadbeef\"", Notation::Hex, "deadbeef"),
        ("atob(\"deadbeef\")", Notation::Base64, "75e69d6de79f"),
        ("0000 81 05", Notation::HexDump, "8105"),
        ("0001 81 05", Notation::Hex, "00018105"),
        ("0001 8105", Notation::Hex, "00018105"),
        ("12, 34", Notation::Hex, "1234"),
        ("[12, 34]", Notation::Numbers, "0c22"),
        ("[[12, 34]]", Notation::Json, "5b5b31322c2033345d5d"),
        ("POST", Notation::Bytes, "504f5354"),
    ] {
        let read = input::read(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((read.notation, bytes_of(&read)), (notation, hex::bytes(expected)), "{text}");
    }
    // A word and a misspelt hexadecimal text are no Base64.
    for text in ["hello", "81zz", "818537fa213d7f9f4d515g", "test", "81 0g", "version = \"2024\""] {
        let error = input::read(text.as_bytes()).expect_err(text);
        assert!(error.contains("is not a hexadecimal digit"), "{text}: {error}");
    }
}

#[test]
fn both_sides_of_a_wireshark_stream_are_marked() {
    let piece = |from, bytes: &str| InputPiece { from, bytes: hex::bytes(bytes) };
    let (client, server) = (Some(Side::Client), Some(Side::Server));
    let dump = "00000000  89 80 00 00 00 00                                 ......\n\
                \t00000000  8a 00                                             ..\n\
                00000006  88 80 00 00 00 00                                 ......\n";
    let arrays = "char peer0_0[] = { /* Packet 4 */\n0x89, 0x80, 0x00, 0x00, 0x00, 0x00 };\n\
                  char peer1_0[] = { /* Packet 5 */\n0x8a, 0x00 };\n\
                  char peer0_1[] = { /* Packet 6 */\n0x88, 0x80, 0x00, 0x00, 0x00, 0x00 };\n";
    for text in [dump, &dump.replace('\t', "    "), arrays] {
        let read = input::read(text.as_bytes()).expect(text);
        let expected =
            vec![piece(client, "898000000000"), piece(server, "8a00"), piece(client, "888000000000")];
        assert_eq!(read.content, InputContent::Pieces(expected), "{text}");
    }
    // Dumps of two packets.
    let two = "0000  81 00                                             ..\n\n0000  89 00                                             ..\n";
    let expected = vec![piece(None, "8100"), piece(None, "8900")];
    assert_eq!(input::read(two.as_bytes()).map(|read| read.content), Ok(InputContent::Pieces(expected)));
}

#[test]
fn errors_have_a_position_a_rule_and_a_remedy() {
    for (text, error) in [
        (
            "81 00\n81 0g",
            "line 2, column 5: 'g' is not a hexadecimal digit, and the text is no dump, list of bytes, escaped text or Base64",
        ),
        ("81\n818", "line 2, column 1: \"818\" has an odd number of digits: each byte needs two"),
        (
            "[129, 256]",
            "line 1, column 7: \"256\" is no byte: in brackets, a byte is 0 to 255 or 0x00 to 0xff; hexadecimal without 0x needs no brackets",
        ),
        ("[129,\n 05]", "line 2, column 2: \"05\" may be octal or hexadecimal: write 0x5, or 5"),
        ("{ 0x81, 0x05", "line 1, column 1: the list has no '}': copy all of it"),
        (
            "[129, ... 90 more items]",
            "line 1, column 7: the list was shortened by the program that printed it: print all of it",
        ),
        (r#""\x81\x5""#, "line 1, column 6: \\x needs two hexadecimal digits, such as \\x05"),
        (r#""\x81\q""#, "line 1, column 6: \\q is no escape; a backslash is written \\\\"),
        (r#"b"\x81"#, "line 1, column 2: the text has no closing \": copy all of it"),
        (r#"[b"\x81", b"\x82"]"#, "line 1, column 13: a second text in quotes: explain one text at a time"),
        (
            "(\"Hello\")",
            "line 1, column 2: the text in quotes has no escape such as \\x81, and is neither hexadecimal nor Base64; b\"…\" is read as its letters",
        ),
        (
            "00000000: 8185 37fa\n00000010: 8100",
            "line 2, column 1: the offset 00000010 must be 00000004, because the lines before it end there: copy all lines",
        ),
        (
            "00000000: 8185 3xfa",
            "line 1, column 16: \"3xfa\" in a hex dump: a byte has two hexadecimal digits; copy the line again",
        ),
        (
            "00000000: 8185\nend",
            "line 2, column 1: \"end\" is no line of the hex dump, which begins with an offset: remove it",
        ),
        (
            "0000000 8581 fa37\n",
            "line 1, column 1: words of 16 bits, whose bytes are in another order: use xxd, hexdump -C or od -t x1",
        ),
        (
            "0000000 002601\n",
            "line 1, column 1: words of 16 bits, whose bytes are in another order: use xxd, hexdump -C or od -t x1",
        ),
        (
            "00000000  00 00                                             |..|\n*\nfffffff0  00 00\n",
            "line 3, column 1: the dump has more than the maximum of 8 MiB",
        ),
        ("[]", "no bytes to explain"),
        ("\"\"", "no bytes to explain"),
    ] {
        assert_eq!(input::read(text.as_bytes()), Err(error.to_owned()), "{text}");
    }
}

#[test]
fn json_is_a_text_message_without_a_frame() {
    for text in [r#"["move",[1,null,16384]]"#, r#" {"type":"chat","text":"é"} "#] {
        let read = input::read(text.as_bytes()).expect(text);
        let InputContent::Message(message) = &read.content else { panic!("{text}") };
        assert_eq!((message.opcode, &message.payload[..]), (Opcode::Text, text.trim().as_bytes()));
    }
}

#[test]
fn the_data_of_a_copied_network_packet_is_found() {
    let ip =
        "4500 002f 0000 4000 4006 0000 c0000207 c0000201  9c41 0bb8 000003e9 00001389 5018 ffff 0000 0000";
    let packet = |link: &str| hex::bytes(&format!("{link} {ip} {OPEN}"));
    for link in ["", "000000000000 000000000000 0800", "0000 0304 0006 000000000000 0000 0800"] {
        let found = network_packet::tcp_payload(&packet(link)).map(<[u8]>::to_vec);
        assert_eq!(found, Some(hex::bytes(OPEN)), "{link}");
    }
    for other in [HELLO, OPEN, LONG, ip] {
        assert_eq!(network_packet::tcp_payload(&hex::bytes(other)), None, "{other}");
    }
}

/// A HAR file of Chrome with these messages.
pub fn har_file(url: &str, messages: &str) -> String {
    format!(
        r#"{{"log":{{"version":"1.2","entries":[{{"request":{{"url":"http://localhost:3000/codes.json"}}}},
        {{"request":{{"url":"{url}"}},"_resourceType":"websocket","_webSocketMessages":[{messages}]}}]}}}}"#
    )
}

#[test]
fn a_har_file_has_messages_with_direction_time_and_opcode() {
    let file = har_file(
        "ws://localhost:3000/play",
        r#"{"type":"send","time":1700000000.5,"opcode":2,"data":"kgOTEc0EsM1AAA=="},
           {"type":"receive","time":1700000000.75,"opcode":1,"data":"é"},
           {"type":"error","time":1700000001,"opcode":-1,"data":"closed"}"#,
    );
    assert!(har::is_har(file.as_bytes()) && !har::is_har(b"{\"log\":1}"));
    let connections = har::read(file.as_bytes()).expect("a HAR file");
    assert_eq!((connections.len(), connections[0].url.as_str()), (1, "ws://localhost:3000/play"));
    let [binary, text, error] = &connections[0].messages[..] else { panic!("three messages") };
    assert_eq!((binary.at_ns, text.at_ns), (1_700_000_000_500_000_000, 1_700_000_000_750_000_000));
    let binary = binary.message.as_ref().expect("a message");
    assert_eq!((binary.from, binary.opcode), (Some(Side::Client), Opcode::Binary));
    assert_eq!(binary.payload, hex::bytes("92039311cd04b0cd4000"));
    assert_eq!(text.message.as_ref().expect("a message").payload, "é".as_bytes());
    assert!(error.message.as_ref().is_err_and(|reason| reason.contains("closed")));
    for (file, reason) in [
        ("{\"log\":{\"entries\":[]}}".to_owned(), "none of the 0 entries"),
        (file[..200].to_owned(), "export it again"),
        (har_file("ws://a/", ""), "none of the 2 entries"),
    ] {
        assert!(har::read(file.as_bytes()).expect_err(reason).contains(reason), "{file}");
    }
}

proptest! {
    #[test]
    fn any_cut_or_change_of_a_text_is_read_or_refused_in_one_line(
        row in 0..ROWS.len(), cut in 0usize..200, change in any::<(usize, u8)>(), is_changed in any::<bool>(),
    ) {
        let mut text = ROWS[row].1.as_bytes().to_vec();
        text.truncate(cut);
        if is_changed && !text.is_empty() {
            let at = change.0 % text.len();
            text[at] = change.1;
        }
        if let Err(error) = input::read(&text) {
            prop_assert_eq!(error.lines().count(), 1, "{}", error);
        }
        let har = har_file("ws://localhost/", "{\"type\":\"send\",\"opcode\":2,\"data\":\"AA==\",\"time\":1}");
        let _ = har::read(&har.as_bytes()[..cut.min(har.len())]);
    }

    #[test]
    fn any_bytes_are_read_from_each_form_of_them(bytes in proptest::collection::vec(any::<u8>(), 1..80)) {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let escaped: String = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
        let numbers: Vec<String> = bytes.iter().map(ToString::to_string).collect();
        for text in [escaped.clone(), format!("b\"{escaped}\""), format!("[{}]", numbers.join(", ")), xxd(&bytes, ": ", "  "), xxd(&bytes, "   ", "   ")] {
            let read = input::read(text.as_bytes()).expect("it is well formed");
            prop_assert_eq!(bytes_of(&read), bytes.clone(), "{}", text);
        }
        let read = input::read(format!("\"{digits}\"").as_bytes()).expect("hexadecimal in quotes");
        prop_assert_eq!(bytes_of(&read), bytes);
    }
}

/// A dump with 16 bytes in a line, and the characters after them.
fn xxd(bytes: &[u8], after_offset: &str, before_characters: &str) -> String {
    let lines = bytes.chunks(16).enumerate().map(|(line, bytes)| {
        let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let shown = |byte: &u8| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '.' };
        let characters: String = bytes.iter().map(shown).collect();
        format!("{:08x}{after_offset}{:<47}{before_characters}{characters}\n", line * 16, digits.join(" "))
    });
    lines.collect()
}
