//! A cached encoding that all clients share.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::packet::Dialect;

/// Returns the cached encoding, or encodes on the first call. Another dialect would be encoded on
/// every call, but a simple game has only one.
pub fn encode_once<'c, T: Clone>(
    cell: &'c OnceLock<(String, T)>,
    dialect: &Dialect,
    encode: impl Fn() -> T,
) -> Cow<'c, T> {
    let (name, encoded) = cell.get_or_init(|| (dialect.name().to_owned(), encode()));
    if name == dialect.name() { Cow::Borrowed(encoded) } else { Cow::Owned(encode()) }
}
