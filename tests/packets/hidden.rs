//! Characters that a terminal must not receive.

use std::borrow::Cow;

use tickwire::internal::util::escape::{escape_line, escape_output, is_hidden};

#[test]
fn control_format_and_invisible_characters_are_hidden_and_letters_are_not() {
    for hidden in [
        '\0',
        '\n',
        '\x1b',
        '\x7f',
        '\u{80}',
        '\u{9b}',
        '\u{a0}',
        '\u{ad}',
        '\u{61c}',
        '\u{200b}',
        '\u{200e}',
        '\u{2028}',
        '\u{202e}',
        '\u{2066}',
        '\u{2069}',
        '\u{feff}',
        '\u{fff9}',
        '\u{e0001}',
        '\u{e000}',
        '\u{10ffff}',
    ] {
        assert!(is_hidden(hidden), "U+{:04X}", u32::from(hidden));
    }
    for shown in ['a', ' ', '"', '\\', '\'', 'é', '°', '…', 'ж', '字', '😀', '\u{301}', '\u{93f}'] {
        assert!(!is_hidden(shown), "U+{:04X}", u32::from(shown));
    }
}

#[test]
fn hidden_characters_become_escapes_of_json_that_mean_the_same() {
    for (text, expected) in [
        ("plain \"text\"", "plain \"text\""),
        ("a\u{9b}2J\u{202e}b", "a\\u009b2J\\u202eb"),
        ("\u{e0001}\x7f", "\\udb40\\udc01\\u007f"),
        ("two\nlines\x1b[1m", "two\\u000alines\\u001b[1m"),
    ] {
        assert_eq!(escape_line(text), expected);
        let json = format!("\"{}\"", escape_line(&text.replace('"', "")));
        assert_eq!(serde_json::from_str::<String>(&json).expect("JSON"), text.replace('"', ""));
    }
    assert_eq!(escape_output("\x1b[1mtwo\x1b[0m\tlines\n\u{85}"), "\x1b[1mtwo\x1b[0m\tlines\n\\u0085");
    assert!(matches!(escape_output("°\n"), Cow::Borrowed(_)));
    // Of the escape sequences, only colours stay.
    for (text, expected) in [
        ("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"),
        ("\x1b[2Jcleared", "\\u001b[2Jcleared"),
        ("\x1b]0;title\x07", "\\u001b]0;title\\u0007"),
        ("\x1b[1;31", "\\u001b[1;31"),
        ("over\rwritten", "over\\u000dwritten"),
    ] {
        assert_eq!(escape_output(text), expected);
    }
}
