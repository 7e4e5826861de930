//! Who may play: the tokens that the operator has given to players, and what a client may do with or
//! without one.
//!
//! | server | client | result |
//! |---|---|---|
//! | without a token file | any | plays |
//! | with an empty one | any | watches |
//! | with tokens | a token of the file | plays, and has the token's seat |
//! | with tokens | no token | watches with `--spectators`, otherwise is closed: `token_missing` |
//! | with tokens | another token | is closed after a constant delay: `token_wrong` |
//!
//! A [`AuthLimiter`] counts wrong tokens per address. Beyond its limit a right token of the address is still let
//! in, and a wrong one is `token_too_often`.

use core::net::IpAddr;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sha1_smol::Sha1;
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use super::auth_limiter::{AuthError, AuthLimiter};
use super::secret::{Padded, Secret};
use crate::connection::redact::http_head;
use crate::game::CloseReason;
use crate::limits;
use crate::packet::credentials::{self, TOKEN_FIELD};
use crate::server::room::SeatKey;
use crate::ws::http::RequestHead;

/// What a client said as its token, right or wrong. `Debug` hides it.
pub struct OfferedToken(pub String);

impl OfferedToken {
    /// The token of an upgrade request: an offered subprotocol, otherwise the field of the query.
    pub fn of(head: &RequestHead) -> Option<OfferedToken> {
        let offered = http_head::offered(head, credentials::token_in).map(OfferedToken);
        offered.or_else(|| head.query(TOKEN_FIELD).map(OfferedToken::from_query))
    }

    /// The value of a query, in which a plus stands for a blank: a token may contain the one, and never
    /// the other.
    fn from_query(value: String) -> OfferedToken {
        OfferedToken(value.replace(' ', "+"))
    }
}

impl fmt::Debug for OfferedToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Said(…)")
    }
}

/// The players' tokens. `Debug` shows only how many there are.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tokens(Vec<PlayerToken>);

#[derive(Clone, PartialEq, Eq)]
struct PlayerToken {
    name: Arc<str>,
    secret: Secret,
}

/// A line of a token file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenFileError {
    /// Its number, from 1.
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
    /// Reads the text of a token file: a name and a token in each line, separated by blanks. Empty
    /// lines, and those that begin with `#`, are skipped.
    ///
    /// # Errors
    /// The first line that cannot be used.
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

    /// Adds a name and its token, in one line.
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
    /// What the name or the token must be; the error does not contain the token.
    pub fn insert(&mut self, name: &str, token: &str) -> Result<(), String> {
        let most = limits::TOKEN_NAME_CHARS;
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        // No error repeats a name, because a token may stand in its place.
        if !(1..=most).contains(&name.len()) || !name.bytes().all(is_good) {
            return Err(format!("the name must be 1 to {most} of a-z, A-Z, 0-9 and -._"));
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

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none: then everyone watches.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The holder of a token. Each token is compared, so that the time does not tell which one is right.
    fn find(&self, said: &str) -> Option<TokenHolder> {
        let (said, mut found) = (Padded::new(said), u32::MAX);
        for (at, token) in self.0.iter().enumerate() {
            found.conditional_assign(&(at as u32), token.secret.ct_eq(&said));
        }
        let is_found: bool = (!found.ct_eq(&u32::MAX)).into();
        let token = is_found.then(|| &self.0[found as usize])?;
        Some(TokenHolder { name: Arc::clone(&token.name), seat: resume_key_of(&token.secret) })
    }
}

/// The key of a token's seat. Worlds that are kept contain it: nobody learns the token from it, and
/// nobody without the token can name it.
fn resume_key_of(secret: &Secret) -> SeatKey {
    let mut hash = Sha1::from("tickwire seat of a token\n");
    hash.update(secret.expose().as_bytes());
    let mut key = SeatKey::default();
    let length = key.len();
    key.copy_from_slice(&hash.digest().bytes()[..length]);
    key
}

/// Whose token a client has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenHolder {
    /// The name in the token file: for the operator.
    pub name: Arc<str>,
    /// The key of the token's seat.
    pub seat: SeatKey,
}

/// What a client may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// It plays, because everyone may.
    Anyone,
    /// It plays with a token.
    Holder(TokenHolder),
    /// It watches.
    Spectator,
}

/// Who may play, as the operator has set it.
#[derive(Debug, Clone, Default)]
pub struct PlayAccess {
    /// The tokens; without any, everyone may play.
    pub tokens: Option<Tokens>,
    /// Whether clients without a token may watch.
    pub spectators: bool,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Authenticator {
    players: PlayAccess,
    gate: AuthLimiter,
}

impl Authenticator {
    /// A guard that lets these play.
    pub fn new(players: PlayAccess) -> Authenticator {
        Authenticator { players, gate: AuthLimiter::default() }
    }

    /// Whether players have tokens: also if nobody has one yet.
    pub fn has_tokens(&self) -> bool {
        self.players.tokens.is_some()
    }

    /// Whether a token is right, without a count of wrong ones: for decisions that the client does not see.
    pub fn is_right(&self, OfferedToken(said): &OfferedToken) -> bool {
        self.players.tokens.as_ref().is_some_and(|tokens| tokens.find(said).is_some())
    }

    /// What a client at this address may do that said this token.
    ///
    /// # Errors
    /// The reason to close it: [`CloseReason::TokenMissing`] at once, any other after
    /// [`limits::WRONG_TOKEN_DELAY`].
    pub fn authenticate(
        &self,
        address: IpAddr,
        said: Option<&str>,
        now: Duration,
    ) -> Result<Permission, CloseReason> {
        let PlayAccess { tokens, spectators } = &self.players;
        let Some(tokens) = tokens else { return Ok(Permission::Anyone) };
        if tokens.is_empty() {
            return Ok(Permission::Spectator);
        }
        let Some(said) = said.filter(|said| !said.is_empty()) else {
            return if *spectators { Ok(Permission::Spectator) } else { Err(CloseReason::TokenMissing) };
        };
        let mut holder = None;
        let is_right = || {
            holder = tokens.find(said);
            holder.is_some()
        };
        match self.gate.attempt(address, now, is_right) {
            Ok(()) => Ok(holder.map_or(Permission::Spectator, Permission::Holder)),
            Err(AuthError::WrongToken) => Err(CloseReason::TokenWrong),
            Err(AuthError::TooManyAttempts(_)) => Err(CloseReason::TooManyTokenAttempts),
        }
    }
}
