//! Limits of tokens: the operator's token of `/admin`, and player tokens.

use std::time::Duration;

/// Minimum characters of a token: 16 cannot be guessed at [`TOKENS_TRIED_PER_SECOND`]. With a
/// shorter one, the server does not start.
pub const MIN_TOKEN_CHARS: usize = 16;
/// Maximum characters of a token, so that it fits a request head. With a longer one, the server
/// does not start.
pub const MAX_TOKEN_CHARS: usize = 256;
/// Maximum characters of the name of a player token, so that log lines stay short. With a longer
/// one, the server does not start.
pub const TOKEN_NAME_CHARS: usize = 32;
/// Maximum number of player tokens. Each client's token is compared with all of them, in under 0.1
/// µs each. With more player tokens, the server does not start.
pub const TOKENS: usize = 10_000;
/// Maximum bytes of a token file: [`TOKENS`] lines of maximum length, with some comments. With a
/// larger file, the server does not start.
pub const TOKEN_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Time after which the connection of a client with a wrong token is closed. The time is the same
/// for every wrong token, compared or not, so that it reveals nothing.
pub const WRONG_TOKEN_DELAY: Duration = Duration::from_secs(1);
/// Maximum number of wrong tokens of one address (or IPv6 /64) within [`WRONG_TOKEN_WINDOW`], over
/// all its connections. `/admin` and players are counted separately. At the limit, `/admin` refuses
/// a wrong token with 429, and a player with one is closed with 1008 `too_many_token_attempts`.
/// Further tokens of the address are compared at most at [`TOKENS_TRIED_PER_SECOND`].
pub const MAX_WRONG_TOKENS: u32 = 10;
/// Average number of tokens per second that are compared for an address after [`MAX_WRONG_TOKENS`].
/// A valid token is therefore accepted even while other clients at the address guess tokens.
/// Guessing a token of 16 digits takes 10^7 years. When the burst is used up, every token is
/// treated as wrong.
pub const TOKENS_TRIED_PER_SECOND: u32 = 20;
/// Burst of the tokens of an address that are compared after it reached [`MAX_WRONG_TOKENS`].
pub const TOKENS_TRIED_BURST: u32 = 200;
/// Time after which the wrong tokens of an address are removed, counted from the first of them.
pub const WRONG_TOKEN_WINDOW: Duration = Duration::from_secs(60);
/// Maximum number of addresses with stored wrong tokens. The address with the oldest count is
/// removed for a new one.
pub const MAX_WRONG_TOKEN_ADDRESSES: usize = 1024;
