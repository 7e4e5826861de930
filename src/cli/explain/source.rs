//! The input of `tickwire explain`: a file, standard input, or the words of the command line.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::super::output::{CliError, print_error};
use crate::limits;
use crate::tools::capture::compressed_file;
use crate::tools::explain;
use crate::tools::explain::input::{self, Input, har};

/// The name of standard input in messages.
const STDIN: &str = "standard input";
/// Maximum characters of a file name on Linux.
const NAME_CHARS: usize = 255;

/// What the input contains.
#[derive(Debug)]
pub enum Source {
    /// A capture: the name of the file, and its bytes.
    Capture(String, Vec<u8>),
    /// A HAR file: its name, and its bytes.
    Har(String, Vec<u8>),
    /// Bytes, or text in a notation.
    Input(Input),
}

/// Reads the input.
///
/// # Errors
/// One line: the input cannot be read, or is too long or invalid.
pub fn read(what: &[OsString]) -> Result<Source, CliError> {
    let Some((name, contents)) = read_file(what)? else {
        return read_words(&words(what)?).map(Source::Input);
    };
    if input::is_capture(&contents) {
        return Ok(Source::Capture(name, contents));
    }
    if har::is_har(&contents) {
        return Ok(Source::Har(name, contents));
    }
    input::read(&contents).map(Source::Input).map_err(|error| format!("{name}: {error}"))
}

/// The name and contents of a file or standard input; `None` if the bytes are on the command line.
/// An existing file is read, whatever its name. Text with a dot or a slash is the name of a missing
/// file, unless it is bytes in a notation.
fn read_file(what: &[OsString]) -> Result<Option<(String, Vec<u8>)>, CliError> {
    let is_name = |word: &&OsString| {
        *word == "-" || word.to_str().is_none_or(|word| word.contains(['.', '/', std::path::MAIN_SEPARATOR]))
    };
    let (name, contents) = match what {
        [dash] if dash == "-" => (STDIN.to_owned(), read_bounded(io::stdin().lock(), STDIN)?),
        [file] if is_file(file) || is_name(&file) && !is_notation(file) => {
            let name = file.display().to_string();
            let opened = File::open(Path::new(file)).map_err(|error| format!("{name}: {error}"))?;
            if let Some(note) = file.to_str().and_then(hex_name_note) {
                print_error(&note);
            }
            let contents = read_bounded(opened, &name)?;
            (name, contents)
        }
        [_] => return Ok(None),
        words => {
            let other = words.iter().find(|word| is_name(word) && (*word == "-" || is_file(word)));
            return other
                .map_or(Ok(None), |file| Err(format!("cannot combine {} with other input", file.display())));
        }
    };
    Ok(Some((name, contents)))
}

/// Whether the word is bytes in a notation, and not the name of a missing file.
fn is_notation(word: &OsStr) -> bool {
    word.to_str().is_some_and(|word| input::read(word.as_bytes()).is_ok())
}

/// Converts the words of the command line to text. None of them is a file name.
fn words(what: &[OsString]) -> Result<Vec<String>, CliError> {
    let text = |word: &OsString| word.to_str().map(str::to_owned);
    let words: Option<Vec<String>> = what.iter().map(text).collect();
    words.ok_or_else(|| "the notations of bytes are text, but this input is not UTF-8".to_owned())
}

/// Whether a file of this name exists.
fn is_file(name: &OsStr) -> bool {
    std::fs::metadata(name).is_ok_and(|metadata| !metadata.is_dir())
}

/// The note for a file with a name that is also hexadecimal.
fn hex_name_note(file: &str) -> Option<String> {
    let bytes = explain::hex::parse(file).ok()?;
    let bytes = format!(" {}", explain::hex::print(&bytes));
    Some(format!("reading the file {file:?}; to explain the bytes instead: tickwire explain {bytes:?}"))
}

/// Reads the words of the command line. If the text may be a missing file, the error names it.
fn read_words(what: &[String]) -> Result<Input, CliError> {
    input::read(what.join(" ").as_bytes()).map_err(|error| match what {
        [name] if is_likely_file_name(name) => {
            format!("there is no file {name:?}, and as bytes it is invalid: {error}")
        }
        _ => error,
    })
}

/// Whether the text may be a file name: it has characters that hexadecimal lacks, none that a
/// notation uses as brackets or quotes, and is not too long for a name.
fn is_likely_file_name(text: &str) -> bool {
    let is_of_hex = |ch: char| ch.is_ascii_hexdigit() || ch.is_whitespace() || ":,xX".contains(ch);
    let is_name = !text.chars().all(is_of_hex) && !text.contains(['"', '\'', '\\', '[', '{', '<']);
    text.chars().count() <= NAME_CHARS && is_name
}

/// Reads the whole input, decompressed if it is gzip, up to the limit of its kind.
fn read_bounded(mut reader: impl Read, name: &str) -> Result<Vec<u8>, CliError> {
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::InvalidInput | ErrorKind::InvalidData => {
            format!("{name}: the gzip data is damaged or incomplete ({error}): copy the file again")
        }
        _ => format!("{name}: {error}"),
    };
    let mut magic = Vec::new();
    reader.by_ref().take(compressed_file::MAGIC_BYTES as u64).read_to_end(&mut magic).map_err(failed)?;
    let packed = compressed_file::format(&magic);
    let whole = io::Cursor::new(magic).chain(reader);
    let source: Box<dyn Read> = match packed {
        Some(packed) if packed.is_gzip() => Box::new(MultiGzDecoder::new(whole)),
        Some(packed) => return Err(format!("{name}: {packed}")),
        None => Box::new(whole),
    };
    let mut contents = Vec::new();
    let mut source = source.take(limits::EXPLAIN_PASTED_BYTES + 1);
    source.read_to_end(&mut contents).map_err(failed)?;
    let mut bound = limits::EXPLAIN_PASTED_BYTES;
    if input::is_capture(&contents) || har::is_har(&contents) {
        bound = if input::is_capture(&contents) { limits::EXPLAIN_BYTES } else { limits::EXPLAIN_HAR_BYTES };
        source.set_limit(bound + 1 - contents.len() as u64);
        source.read_to_end(&mut contents).map_err(failed)?;
    }
    if contents.len() as u64 > bound {
        return Err(format!("{name}: longer than the maximum of {} MiB", bound >> 20));
    }
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_word_may_be_a_missing_file() {
        let refused = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            read_words(&words).expect_err("it is no notation")
        };
        let wrong = |column: usize| {
            format!(
                "line 1, column {column}: 'z' is not a hexadecimal digit, and the text is no dump, list of bytes, escaped text or Base64"
            )
        };
        assert_eq!(
            refused(&["zz"]),
            format!("there is no file \"zz\", and as bytes it is invalid: {}", wrong(1))
        );
        for (words, error) in [
            (&["81", "zz"][..], wrong(4)),
            (
                &["818"],
                "line 1, column 1: \"818\" has an odd number of digits: each byte needs two".to_owned(),
            ),
            (&["x1"], "line 1, column 1: 'x' is not a hexadecimal digit".to_owned()),
            (&[&"81 ".repeat(100), "z"], wrong(302)),
            (&[&"z".repeat(NAME_CHARS + 1)], wrong(1)),
        ] {
            assert_eq!(refused(words), error, "{words:?}");
        }
    }
}
