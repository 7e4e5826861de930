//! Counts in sentences: "1 frame", "2 frames".

use std::fmt::Display;

/// Formats a number and its noun, with a plural `s` unless the number is 1.
pub fn count_noun<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let ending = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::count_noun;

    #[test]
    fn only_one_is_singular() {
        let counts = [0, 1, 2].map(|number| count_noun(number, "more byte"));
        assert_eq!(counts, ["0 more bytes", "1 more byte", "2 more bytes"]);
    }
}
