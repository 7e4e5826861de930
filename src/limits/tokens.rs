//! Limits of tokens: that of `/admin`, and those of the players.

use std::time::Duration;

/// Fewest characters of a token: 16 cannot be guessed at the rate that [`ADMIN_FAILURES`] allows.
/// Below: the server does not start.
pub const TOKEN_CHARS_LEAST: usize = 16;
/// Most characters of a token, to fit a request head. Beyond: the server does not start.
pub const TOKEN_CHARS_MOST: usize = 256;
/// Most characters of the name of a player's token, so that log lines stay short. Beyond: the server
/// does not start.
pub const TOKEN_NAME_CHARS: usize = 32;
/// Tokens of players. Each is compared for each client, in under a tenth of a microsecond. Beyond: the server
/// does not start.
pub const TOKENS: usize = 10_000;
/// Bytes of a token file: as many of the longest lines, with some comments. Beyond: the server does
/// not start.
pub const TOKEN_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Time after which a client with a wrong token is closed. It is the same whether the token was
/// compared or not, and for every wrong token.
pub const TOKEN_WRONG_DELAY: Duration = Duration::from_secs(1);
/// Wrong tokens of one address, or one /64 of IPv6, within [`ADMIN_FAILURE_TIME`], over all its
/// connections; those of `/admin` and those of players are counted separately. Beyond: the right token
/// is refused too, by `/admin` with 429, and of a player with 1008 `token_too_often`.
pub const ADMIN_FAILURES: u32 = 10;
/// Time after which the wrong tokens of an address are forgotten, counted from the first of them.
pub const ADMIN_FAILURE_TIME: Duration = Duration::from_secs(60);
/// Addresses whose wrong tokens are remembered. Beyond: the address whose count began first is
/// forgotten.
pub const ADMIN_FAILURE_ADDRESSES: usize = 1024;
