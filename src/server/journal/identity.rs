//! The identity of a journaled world: the room, the game, its rules and the parameters.

use std::fmt;

use tickwire_sim::command_frame::write_text;
use tickwire_sim::{Malformed, Reader, WorldParams};

/// Parameters that determine a world. A journal continues only with an equal identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorldIdentity {
    /// The name of the room; empty for the default room.
    pub room: String,
    /// The name of the game.
    pub game: String,
    /// The hash of the game's rules.
    pub rules_hash: u64,
    /// Seed of all random numbers.
    pub seed: u32,
    /// Ticks per second.
    pub tick_hz: u32,
    /// The game's options: name and value.
    pub options: Vec<(String, u32)>,
}

impl WorldIdentity {
    /// Creates the identity of a room's world.
    pub fn new(room: &str, game: &str, rules_hash: u64, params: &WorldParams) -> WorldIdentity {
        WorldIdentity {
            room: room.to_owned(),
            game: game.to_owned(),
            rules_hash,
            seed: params.seed,
            tick_hz: params.tick_hz,
            options: params.options.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        }
    }

    /// Appends the identity: room and game as texts, the three numbers, then the count of the
    /// options in a byte and each option as a text and a `u32`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        write_text(&self.room, out);
        write_text(&self.game, out);
        out.extend(self.rules_hash.to_le_bytes());
        out.extend(self.seed.to_le_bytes());
        out.extend(self.tick_hz.to_le_bytes());
        let options = &self.options[..self.options.len().min(usize::from(u8::MAX))];
        out.push(options.len() as u8);
        for (name, value) in options {
            write_text(name, out);
            out.extend(value.to_le_bytes());
        }
    }

    /// Decodes an output of [`WorldIdentity::encode`].
    ///
    /// # Errors
    /// The bytes are truncated, or a text is not UTF-8.
    pub fn decode(reader: &mut Reader<'_>) -> Result<WorldIdentity, Malformed> {
        let (room, game) = (reader.text()?, reader.text()?);
        let (rules_hash, seed, tick_hz) = (reader.u64()?, reader.u32()?, reader.u32()?);
        let mut options = Vec::new();
        for _ in 0..reader.u8()? {
            options.push((reader.text()?, reader.u32()?));
        }
        Ok(WorldIdentity { room, game, rules_hash, seed, tick_hz, options })
    }

    /// Returns the first difference from another identity: the name of the field, the value here
    /// and the value there.
    pub fn difference(&self, other: &WorldIdentity) -> Option<(String, String, String)> {
        let hash = |rules: u64| format!("{rules:016x}");
        let fields = [
            ("room", self.room.clone(), other.room.clone()),
            ("game", self.game.clone(), other.game.clone()),
            ("seed", self.seed.to_string(), other.seed.to_string()),
            ("tick_hz", self.tick_hz.to_string(), other.tick_hz.to_string()),
        ];
        let of_options = || {
            let count = self.options.len().max(other.options.len());
            let text = |options: &[(String, u32)], at: usize| {
                options.get(at).map_or("none".to_owned(), |(name, value)| format!("{name}={value}"))
            };
            let pairs = (0..count).map(|at| (text(&self.options, at), text(&other.options, at)));
            pairs.map(|(own, other)| ("option".to_owned(), own, other)).find(|(_, own, other)| own != other)
        };
        let rules = ("rules_hash".to_owned(), hash(self.rules_hash), hash(other.rules_hash));
        let fields = fields.into_iter().map(|(name, own, other)| (name.to_owned(), own, other));
        fields
            .into_iter()
            .find(|(_, own, other)| own != other)
            .or_else(of_options)
            .or_else(|| Some(rules).filter(|(_, own, other)| own != other))
    }
}

impl fmt::Display for WorldIdentity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} seed={} tick_hz={}", self.game, self.seed, self.tick_hz)?;
        self.options.iter().try_for_each(|(name, value)| write!(out, " {name}={value}"))?;
        write!(out, " rules_hash={:016x}", self.rules_hash)
    }
}
