//! Keys of shared settings.

use crate::util::address_prefix::AddressPrefix;

/// The key of the notice.
pub const NOTICE: &str = "notice";
const BAN: &str = "ban ";

/// Returns the key of a ban.
pub fn ban_key(prefix: AddressPrefix) -> String {
    format!("{BAN}{prefix}")
}

/// Returns the address prefix of a ban; `None` if the key is of another setting.
pub fn banned_prefix(key: &str) -> Option<AddressPrefix> {
    key.strip_prefix(BAN).and_then(AddressPrefix::parse)
}

/// Whether a key is of a known setting, in the form of this program.
pub fn is_known(key: &str) -> bool {
    key == NOTICE || banned_prefix(key).is_some_and(|prefix| ban_key(prefix) == key)
}
