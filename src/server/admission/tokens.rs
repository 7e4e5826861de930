//! Player tokens: permission to play, by the server's token file and the client's token.
//!
//! | server | client | result |
//! |---|---|---|
//! | no token file | any | plays |
//! | an empty token file | any | spectates |
//! | a token file | a token of the file | plays, with the token's seat |
//! | a token file | no token | spectates with `--spectators`, otherwise closed: `token_missing` |
//! | a token file | another token | closed after a constant delay: `token_wrong` |
//!
//! An [`AuthLimiter`] counts wrong tokens per address. Beyond its limit, a correct token from the
//! address is still accepted, and a client with a wrong token is closed with
//! `too_many_token_attempts`.

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sha1_smol::Sha1;
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use super::auth_limiter::{AuthError, AuthLimiter};
use super::secret::{Padded, Secret};
use crate::connection::head_secrets;
use crate::game::CloseReason;
use crate::limits;
use crate::packet::credentials::{self, TOKEN_FIELD};
use crate::server::room::SeatKey;
use crate::ws::http::RequestHead;

/// A token sent by a client, correct or wrong. `Debug` hides it.
pub struct OfferedToken(pub String);

impl OfferedToken {
    /// Returns the token of an upgrade request: an offered subprotocol, otherwise the query field.
    pub fn of(head: &RequestHead) -> Option<OfferedToken> {
        let offered = head_secrets::offered(head, credentials::token_in).map(OfferedToken);
        offered.or_else(|| head.query(TOKEN_FIELD).map(OfferedToken::from_query))
    }

    /// Restores the `+` that a query decodes as a space, because a token may contain `+` but no
    /// space.
    fn from_query(value: String) -> OfferedToken {
        OfferedToken(value.replace(' ', "+"))
    }
}

impl fmt::Debug for OfferedToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("OfferedToken(…)")
    }
}

/// All player tokens. `Debug` shows only their number.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tokens(Vec<PlayerToken>);

#[derive(Clone, PartialEq, Eq)]
struct PlayerToken {
    name: Arc<str>,
    secret: Secret,
}

/// An invalid line of a token file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenFileError {
    /// Line number, from 1.
    pub line: usize,
    /// The broken rule. It contains no token.
    pub rule: String,
}

impl fmt::Display for TokenFileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.rule)
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Tokens({})", self.0.len())
    }
}

impl Tokens {
    /// Parses a token file: a name and a token per line, separated by whitespace. Skips empty lines
    /// and lines that begin with `#`.
    ///
    /// # Errors
    /// The first invalid line.
    pub fn read(text: &str) -> Result<Tokens, TokenFileError> {
        let mut tokens = Tokens::default();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            tokens.add(line).map_err(|rule| TokenFileError { line: at + 1, rule })?;
        }
        Ok(tokens)
    }

    /// Adds the name and the token of one line.
    fn add(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.split_whitespace();
        let (Some(name), Some(token), None) = (words.next(), words.next(), words.next()) else {
            return Err("must be a name and a token, separated by a blank".to_owned());
        };
        self.insert(name, token)
    }

    /// Adds a token with its name.
    ///
    /// # Errors
    /// The requirement that the name or the token breaks. The error does not contain the token.
    pub fn insert(&mut self, name: &str, token: &str) -> Result<(), String> {
        let max = limits::TOKEN_NAME_CHARS;
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        // No error repeats the name, because a user may have written the token there.
        if !(1..=max).contains(&name.len()) || !name.bytes().all(is_good) {
            return Err(format!("the name must be 1 to {max} of a-z, A-Z, 0-9 and -._"));
        }
        let secret = Secret::new(token).map_err(|rule| format!("the token {rule}"))?;
        if self.0.iter().any(|known| *known.name == *name) {
            return Err("another token has this name".to_owned());
        }
        if self.0.iter().any(|known| known.secret == secret) {
            return Err("another name has this token".to_owned());
        }
        if self.0.len() >= limits::TOKENS {
            return Err(format!("there are more than {} tokens", limits::TOKENS));
        }
        self.0.push(PlayerToken { name: name.into(), secret });
        Ok(())
    }

    /// Returns the number of tokens.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no tokens, so that all clients spectate.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the holder of a token. Compares every token, so that the time does not reveal which
    /// one matches.
    fn find(&self, offered: &str) -> Option<TokenHolder> {
        let (offered, mut found) = (Padded::new(offered), u32::MAX);
        for (at, token) in self.0.iter().enumerate() {
            found.conditional_assign(&(at as u32), token.secret.ct_eq(&offered));
        }
        let is_found: bool = (!found.ct_eq(&u32::MAX)).into();
        let token = is_found.then(|| &self.0[found as usize])?;
        Some(TokenHolder { name: Arc::clone(&token.name), seat: resume_key_of(&token.secret) })
    }
}

/// Returns the resume key of a token's seat. Saved rooms contain the key. The token cannot be
/// derived from the key, and the key cannot be derived without the token.
fn resume_key_of(secret: &Secret) -> SeatKey {
    let mut hash = Sha1::from("tickwire seat of a token\n");
    hash.update(secret.expose().as_bytes());
    let mut key = [0; 16];
    key.copy_from_slice(&hash.digest().bytes()[..16]);
    SeatKey(key)
}

/// The holder of a player token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenHolder {
    /// Name in the token file, for the operator.
    pub name: Arc<str>,
    /// Resume key of the token's seat.
    pub seat: SeatKey,
}

/// What a client may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// The client plays, because the server requires no token.
    Anyone,
    /// The client plays with a token.
    Holder(TokenHolder),
    /// The client spectates.
    Spectator,
}

/// Access rules set by the operator.
#[derive(Debug, Clone, Default)]
pub struct PlayAccess {
    /// Player tokens. `None` means that no token is required.
    pub tokens: Option<Tokens>,
    /// Whether clients without a token may spectate.
    pub spectators: bool,
}

/// Checks player tokens and limits wrong ones.
#[derive(Debug, Default)]
pub struct Authenticator {
    players: PlayAccess,
    /// The name of each token, by the key of its seat.
    accounts: BTreeMap<SeatKey, Arc<str>>,
    gate: AuthLimiter,
}

impl Authenticator {
    /// Creates an authenticator with these rules.
    pub fn new(players: PlayAccess) -> Authenticator {
        let tokens = players.tokens.iter().flat_map(|tokens| &tokens.0);
        let accounts = tokens.map(|token| (resume_key_of(&token.secret), Arc::clone(&token.name))).collect();
        Authenticator { players, accounts, gate: AuthLimiter::default() }
    }

    /// Whether the server has a token file, possibly empty.
    pub fn has_tokens(&self) -> bool {
        self.players.tokens.is_some()
    }

    /// Returns the name of the token with this seat.
    pub fn account_of(&self, key: SeatKey) -> Option<Arc<str>> {
        self.accounts.get(&key).map(Arc::clone)
    }

    /// Whether a token is correct. Does not count a wrong token. For decisions that the client
    /// cannot observe.
    pub fn is_right(&self, OfferedToken(offered): &OfferedToken) -> bool {
        self.players.tokens.as_ref().is_some_and(|tokens| tokens.find(offered).is_some())
    }

    /// Returns what a client at this address may do with the token that it sent, if any.
    ///
    /// # Errors
    /// The reason to close the client's connection. The caller closes it at once for
    /// [`CloseReason::TokenMissing`], and after [`limits::WRONG_TOKEN_DELAY`] for any other reason.
    pub fn authenticate(
        &self,
        address: IpAddr,
        offered: Option<&str>,
        now: Duration,
    ) -> Result<Permission, CloseReason> {
        let PlayAccess { tokens, spectators } = &self.players;
        let Some(tokens) = tokens else { return Ok(Permission::Anyone) };
        if tokens.is_empty() {
            return Ok(Permission::Spectator);
        }
        let Some(offered) = offered.filter(|offered| !offered.is_empty()) else {
            return if *spectators { Ok(Permission::Spectator) } else { Err(CloseReason::TokenMissing) };
        };
        let mut holder = None;
        let is_right = || {
            holder = tokens.find(offered);
            holder.is_some()
        };
        match self.gate.attempt(address, now, is_right) {
            Ok(()) => Ok(holder.map_or(Permission::Spectator, Permission::Holder)),
            Err(AuthError::WrongToken) => Err(CloseReason::TokenWrong),
            Err(AuthError::TooManyAttempts(_)) => Err(CloseReason::TooManyTokenAttempts),
        }
    }
}
