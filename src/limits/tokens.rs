//! Limits of tokens: that of `/admin`, and those of the players.

use std::time::Duration;

/// Fewest characters of a token: 16 cannot be guessed at [`TOKENS_TRIED_PER_SECOND`].
/// Below: the server does not start.
pub const MIN_TOKEN_CHARS: usize = 16;
/// Most characters of a token, to fit a request head. Beyond: the server does not start.
pub const MAX_TOKEN_CHARS: usize = 256;
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
pub const WRONG_TOKEN_DELAY: Duration = Duration::from_secs(1);
/// Wrong tokens of one address, or one /64 of IPv6, within [`WRONG_TOKEN_WINDOW`], over all its
/// connections; `/admin` and players are counted separately. Beyond: another wrong token is refused
/// with 429 by `/admin`, and a player is closed with 1008 `token_too_often`; the tokens of the
/// address are compared no faster than [`TOKENS_TRIED_PER_SECOND`].
pub const MAX_WRONG_TOKENS: u32 = 10;
/// Tokens a second that are compared for an address beyond [`MAX_WRONG_TOKENS`]. A right token is thus let in
/// although others behind the address guess, and a guesser needs 10^7 years for 16 digits. Beyond the burst:
/// as a wrong token, right or not.
pub const TOKENS_TRIED_PER_SECOND: u32 = 20;
/// Tokens of such an address that are compared at once.
pub const TOKENS_TRIED_BURST: u32 = 200;
/// Time after which the wrong tokens of an address are forgotten, counted from the first of them.
pub const WRONG_TOKEN_WINDOW: Duration = Duration::from_secs(60);
/// Addresses whose wrong tokens are remembered. Beyond: the address whose count began first is
/// forgotten.
pub const MAX_WRONG_TOKEN_ADDRESSES: usize = 1024;
