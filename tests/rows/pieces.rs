//! The ways to split the bytes of a row: whole, byte by byte, and at seeded positions.

#![allow(dead_code, reason = "each test program uses its part")]

/// Splits of a row that a seed chooses, besides whole and byte by byte.
pub const RANDOM_SPLITS: u64 = 4;

/// The seed of this run: `TICKWIRE_ROWS_SEED`, or one that is new each time. A failure prints it with the way of cutting.
pub fn seed() -> u64 {
    match std::env::var("TICKWIRE_ROWS_SEED") {
        Ok(text) => text.parse().expect("TICKWIRE_ROWS_SEED is a number"),
        Err(_) => std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0),
    }
}

/// Every way in which these bytes are cut for a test, each with its name.
pub fn ways(bytes: &[u8], seed: u64) -> Vec<(String, Vec<&[u8]>)> {
    let mut ways =
        vec![("whole".to_owned(), vec![bytes]), ("byte by byte".to_owned(), bytes.chunks(1).collect())];
    for salt in 0..RANDOM_SPLITS {
        ways.push((format!("split {salt} of seed {seed}"), split(bytes, seed.wrapping_add(2 * salt))));
    }
    ways
}

/// Pieces of 1 to 16 bytes, or of up to the whole, as a generator of one word says.
fn split(mut bytes: &[u8], seed: u64) -> Vec<&[u8]> {
    let (mut state, mut pieces) = (seed | 1, Vec::new());
    while !bytes.is_empty() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let max = if state >> 61 == 0 { bytes.len() } else { bytes.len().min(16) };
        let (piece, rest) = bytes.split_at(1 + (state >> 33) as usize % max);
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}
