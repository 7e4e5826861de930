//! Floats in the source of a program with its own game. `synctest` reports them, because it runs
//! only one build of the rules: another build, such as WebAssembly, may round a float differently.

use std::path::{Path, PathBuf};
use std::{env, fs};

use super::cargo_program;

/// Maximum number of reported lines.
const NAMED: usize = 5;

/// A sentence with the lines that contain floats in the running program's own sources. Empty if
/// there are no such lines, or if cargo has not built the program here.
pub fn note() -> String {
    let sources = cargo_program::own_sources().unwrap_or_default();
    let mut places = Vec::new();
    for path in sources {
        let text = fs::read_to_string(&path).unwrap_or_default();
        places.extend(lines(&text).into_iter().map(|line| format!("{}:{line}", relative_path(&path))));
    }
    sentence(&places)
}

fn sentence(places: &[String]) -> String {
    if places.is_empty() {
        return String::new();
    }
    let more = match places.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {}", crate::util::plural::count_noun(more, "more line")),
    };
    let named = places[..places.len().min(NAMED)].join(", ");
    format!(
        "floats in {named}{more}: a rule must compute with integers, because another build may round a float otherwise; bots may use floats\n"
    )
}

/// A path relative to the current directory, if possible.
fn relative_path(path: &Path) -> String {
    let current_dir = env::current_dir().unwrap_or_else(|_| PathBuf::new());
    path.strip_prefix(&current_dir).unwrap_or(path).display().to_string()
}

/// Numbers of the lines that contain a float, from 1. Lines in the tests of the file do not count.
fn lines(text: &str) -> Vec<usize> {
    let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    code.zip(1..).filter(|(line, _)| has_float(line)).map(|(_, number)| number).collect()
}

/// Whether a line of Rust contains a float type, or a number with a decimal point.
fn has_float(line: &str) -> bool {
    let mut code = String::new();
    let mut is_text = false;
    let mut characters = line.split("//").next().unwrap_or_default().chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' if is_text => _ = characters.next(),
            '"' => is_text = !is_text,
            _ if is_text => {}
            _ => code.push(character),
        }
    }
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    let mut words = code.as_bytes().split(|byte| !is_word(*byte));
    words.any(|word| {
        let word = str::from_utf8(word).unwrap_or_default();
        let mut parts = word.split('.');
        let first = parts.next().unwrap_or_default();
        let is_number = |part: &str| part.starts_with(|first: char| first.is_ascii_digit());
        // `1..5` is a range, and `pair.0.1` does not start with a number.
        let has_point = is_number(first) && parts.next().is_some_and(is_number);
        has_point
            || word.split('.').any(|part| matches!(part, "f32" | "f64"))
            || is_number(first) && has_suffix(first)
    })
}

/// Whether a number ends with a float type. In hexadecimal these characters are digits.
fn has_suffix(number: &str) -> bool {
    !number.starts_with("0x") && (number.ends_with("f32") || number.ends_with("f64"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_is_found_and_nothing_like_one() {
        for line in
            ["let a: f64 = b;", "a * 0.5", "[1.0; 2]", "f64::from(x)", "x as f32", "2f32 * a", "a(1.5, b)"]
        {
            assert!(has_float(line), "{line}");
        }
        for line in
            ["for a in 0..5 {", "pair.0.1", "\"1.5 and f64\"", "// f64", "a / 2 // 0.5", "0xaf64", "v1.0.x()"]
        {
            assert!(!has_float(line), "{line}");
        }
        assert_eq!(lines("fn a() -> f64 {\n    1\n}\nlet b = 0.5;\n#[cfg(test)]\nlet c = 0.5;\n"), [1, 4]);
    }

    #[test]
    fn a_note_names_the_first_lines_and_counts_the_others() {
        assert_eq!(sentence(&[]), "");
        let places: Vec<String> = (1..=7).map(|line| format!("src/main.rs:{line}")).collect();
        assert!(sentence(&places[..1]).starts_with("floats in src/main.rs:1: a rule must "));
        assert!(sentence(&places).contains("src/main.rs:5 and 2 more lines: "), "{}", sentence(&places));
    }

    /// Authors copy the examples, so the examples have no float outside of their bots.
    #[test]
    fn rules_of_the_examples_have_no_floats() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
        let files = fs::read_dir(directory).expect("the examples").map(|file| file.expect("a file").path());
        let mut checked = 0;
        for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
            let text = fs::read_to_string(&path).expect("text");
            let rules = text.find("struct Bot ").map_or(&text[..], |end| &text[..end]);
            let found: Vec<&str> = rules.lines().filter(|line| has_float(line)).collect();
            assert!(found.is_empty(), "{}: {found:?}", path.display());
            checked += 1;
        }
        assert!(checked >= 5, "{checked} examples");
    }
}
