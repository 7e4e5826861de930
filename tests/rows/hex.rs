//! The notation of the rows: hexadecimal with spaces, `xx*n` for `n` equal bytes; frames separated
//! by `|`, with `xn` after a frame that occurs `n` times.

#![allow(dead_code, reason = "each test program uses its part")]

/// The bytes that a row writes down.
pub fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in text.split_whitespace() {
        let (digits, times) = word.split_once('*').unwrap_or((word, "1"));
        assert!(digits.len() % 2 == 0, "odd number of digits: {word}");
        let group: Vec<u8> = (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal"))
            .collect();
        for _ in 0..times.parse().expect("a number after the star") {
            bytes.extend_from_slice(&group);
        }
    }
    bytes
}

/// The frames that a row writes down.
pub fn frames(text: &str) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for frame in text.split('|') {
        let (frame, times) = frame.rsplit_once(" x").unwrap_or((frame, "1"));
        let times = times.trim().parse().expect("a number after the x");
        frames.extend(std::iter::repeat_n(bytes(frame), times));
    }
    frames
}
