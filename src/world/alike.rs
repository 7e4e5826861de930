//! Which names look alike: the same letters in another case or width, or letters of other scripts that are drawn the same.
//!
//! A name's skeleton is the row of letters that a reader takes it for. Two names look alike when their skeletons are equal. The
//! table is a small part of Unicode's confusables (Technical Standard #39, `confusables.txt`): Cyrillic, Greek and Armenian
//! letters and digits that can be taken for Latin letters. It is written out, since a compiler's own tables change with its
//! version. Marks above letters count: `é` is not `e`. No name holds a mark as a character of its own (`text`).

use crate::text::is_space;

/// Whether two names look the same to a reader. Space does not count.
pub(crate) fn look_alike(a: &str, b: &str) -> bool {
    skeleton(a).eq(skeleton(b))
}

fn skeleton(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|char| !is_space(*char)).map(|char| letter(lower(narrow(char))))
}

/// A character of double width as its usual one.
fn narrow(char: char) -> char {
    match char {
        '\u{ff01}'..='\u{ff5e}' => moved(char, -0xfee0),
        _ => char,
    }
}

/// The small letter, of the scripts in the table.
fn lower(char: char) -> char {
    match char {
        // Capitals that are taken for others than their small letters are.
        'Η' => 'h',
        'Ν' => 'n',
        'Υ' => 'y',
        'A'..='Z' | 'À'..='Ö' | 'Ø'..='Þ' | 'Α'..='Ρ' | 'Σ'..='Ϋ' | 'А'..='Я' => moved(char, 0x20),
        'Ѐ'..='Џ' => moved(char, 0x50),
        'Ա'..='Ֆ' => moved(char, 0x30),
        _ => char,
    }
}

fn moved(char: char, by: i32) -> char {
    char::from_u32((char as i32 + by) as u32).unwrap_or(char)
}

/// The Latin letter that a small letter or a digit can be taken for, in either case; the one itself if there is none.
fn letter(char: char) -> char {
    match char {
        'а' | 'α' | 'ɑ' => 'a',
        'в' | 'β' | 'ь' => 'b',
        'с' | 'ϲ' | 'Ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ε' | '℮' => 'e',
        'ғ' | 'Ғ' => 'f',
        'ɡ' => 'g',
        'н' | 'һ' | 'Һ' | 'հ' => 'h',
        'ј' | 'ϳ' => 'j',
        'к' | 'κ' | 'K' => 'k',
        // All upright strokes, and with them the small i: its capital is one of them.
        'i' | '1' | '|' | 'ı' | 'ɩ' | 'ι' | 'і' | 'ӏ' | 'Ӏ' | 'ǀ' => 'l',
        'м' | 'μ' => 'm',
        'п' | 'η' | 'ո' => 'n',
        '0' | 'о' | 'ο' | 'σ' | 'օ' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'г' => 'r',
        'ѕ' | 'ſ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' => 'v',
        'ԝ' | 'ω' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' | 'ү' | 'Ү' => 'y',
        'ζ' => 'z',
        'з' => '3',
        _ => char,
    }
}
