//! Detects names that look alike: the same letters in another case or width, or letters of other
//! scripts with the same shape.
//!
//! The skeleton of a name is the sequence of letters that a reader perceives. Two names look alike
//! if their skeletons are equal. The table is a small part of Unicode's confusables (Technical
//! Standard #39, `confusables.txt`): Cyrillic, Greek and Armenian letters and digits that resemble
//! Latin letters. The table is part of the source code, because the compiler's tables change with
//! the compiler's version. Accents are significant: `é` differs from `e`. Combining marks are
//! letters of their own here, so a game should remove them.

/// Whether two names look the same to a reader. Spaces are ignored.
///
/// ```
/// use tickwire_sim::similar_names::are_confusable;
///
/// assert!(are_confusable("Bob", "B0B"));
/// assert!(are_confusable("Anna", "\u{410}nn\u{430}"), "the Cyrillic letter a");
/// assert!(!are_confusable("Anna", "Anne"));
/// ```
pub fn are_confusable(a: &str, b: &str) -> bool {
    skeleton(a).eq(skeleton(b))
}

/// Blank characters with a width. Listed here because the compiler's tables change with its
/// version.
pub fn is_space(char: char) -> bool {
    matches!(
        char,
        ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

fn skeleton(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|char| !is_space(*char)).map(|char| letter(lower(narrow(char))))
}

/// Maps a full-width character to its regular form.
fn narrow(char: char) -> char {
    match char {
        '\u{ff01}'..='\u{ff5e}' => offset_char(char, -0xfee0),
        _ => char,
    }
}

/// Maps a letter to lower case, for the scripts in the table.
fn lower(char: char) -> char {
    match char {
        // Capitals that resemble a different Latin letter than their lower-case forms.
        'Η' => 'h',
        'Ν' => 'n',
        'Υ' => 'y',
        'A'..='Z' | 'À'..='Ö' | 'Ø'..='Þ' | 'Α'..='Ρ' | 'Σ'..='Ϋ' | 'А'..='Я' => {
            offset_char(char, 0x20)
        }
        'Ѐ'..='Џ' => offset_char(char, 0x50),
        'Ա'..='Ֆ' => offset_char(char, 0x30),
        _ => char,
    }
}

fn offset_char(char: char, by: i32) -> char {
    char::from_u32((char as i32 + by) as u32).unwrap_or(char)
}

/// The Latin letter that a lower-case letter or digit resembles in either case; otherwise the
/// character itself.
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
        // All vertical strokes. The letter i is one of them, because its capital is a stroke.
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
