//! Migrates a saved state to a program with other fields, by the names of the fields.
//!
//! A snapshot can be restored only with the same rules. During development these rules change
//! with every build, but the players should keep their world. Therefore a state can also be written
//! with the names of its fields ([`NamedWriter`]) and read into the fields of another version
//! ([`NamedState`]). Fields that still exist keep their value, new fields have the value of a new
//! world, and [`NamedState::migration_notes`] lists removed and new fields.
//!
//! ```text
//! "TWNS" · game: length u8, bytes · data: length u32, the scalars · structure: operations
//!   0 a field or an item ends   1 a field begins: length u8, name   2 an item of a list begins
//!   3, 4, 5, 6 a scalar of 1, 2, 4, 8 bytes: the next ones of the data
//! ```
//!
//! A new field within the items of a list has no initial value: it is 0, empty, `None` or the first
//! variant.

use std::collections::BTreeSet;

use crate::fields::{Field, Sink};
use crate::named::{Migration, NamedNode};
use crate::{Malformed, Reader};

const MAGIC: &[u8; 4] = b"TWNS";
const END: u8 = 0;
const FIELD: u8 = 1;
const ITEM: u8 = 2;
/// The operation for a scalar of 1 byte. The operations for 2, 4 and 8 bytes have the next numbers.
const SCALAR: u8 = 3;
/// Maximum nesting of fields and items. A deeper structure is an error.
const DEPTH: usize = 32;

/// Encodes a state with the names of its fields.
#[derive(Debug, Default)]
pub struct NamedWriter {
    data: Vec<u8>,
    structure: Vec<u8>,
}

impl NamedWriter {
    /// Adds a field of the state.
    pub fn field(&mut self, name: &'static str, value: &impl Field) {
        self.enter(name);
        value.write(self);
        self.leave();
    }

    /// The encoded state of a game, for [`NamedState::new`].
    pub fn bytes(&self, game: &str) -> Vec<u8> {
        let name = &game.as_bytes()[..game.len().min(255)];
        let mut out = MAGIC.to_vec();
        out.push(name.len() as u8);
        out.extend(name);
        out.extend((self.data.len() as u32).to_le_bytes());
        out.extend(&self.data);
        out.extend(&self.structure);
        out
    }
}

impl Sink for NamedWriter {
    fn put(&mut self, value: u64, bytes: usize) {
        self.data.extend_from_slice(&value.to_le_bytes()[..bytes]);
        self.structure.push(SCALAR + bytes.trailing_zeros() as u8);
    }

    fn enter(&mut self, field: &'static str) {
        let name = &field.as_bytes()[..field.len().min(255)];
        self.structure.extend([FIELD, name.len() as u8]);
        self.structure.extend(name);
    }

    fn leave(&mut self) {
        self.structure.push(END);
    }

    fn item(&mut self) {
        self.structure.push(ITEM);
    }

    fn end_item(&mut self) {
        self.structure.push(END);
    }
}

fn node(structure: &mut Reader<'_>, at: &mut usize, depth: usize) -> Result<NamedNode, Malformed> {
    let mut own = NamedNode::default();
    if depth > DEPTH {
        return Err(Malformed::Value("nesting"));
    }
    while !structure.rest().is_empty() {
        match structure.u8()? {
            END if depth > 0 => return Ok(own),
            FIELD => {
                let name = structure.text()?;
                own.fields.push((name, node(structure, at, depth + 1)?));
            }
            ITEM => own.items.push(node(structure, at, depth + 1)?),
            scalar @ SCALAR..=6 => {
                let bytes = 1 << (scalar - SCALAR);
                own.scalars.push((*at, bytes));
                *at += bytes;
            }
            _ => return Err(Malformed::Value("structure")),
        }
    }
    if depth == 0 { Ok(own) } else { Err(Malformed::Truncated) }
}

/// A decoded state with the names of its fields.
#[derive(Debug)]
pub struct NamedState {
    game: String,
    data: Vec<u8>,
    root: NamedNode,
}

impl NamedState {
    /// Decodes the bytes of [`NamedWriter::bytes`].
    ///
    /// # Errors
    /// The bytes are not a state with named fields.
    pub fn new(bytes: &[u8]) -> Result<NamedState, Malformed> {
        let mut reader = Reader::new(bytes);
        if reader.take(MAGIC.len())? != MAGIC {
            return Err(Malformed::Value("a state with names"));
        }
        let game = reader.text()?;
        let length = reader.u32()? as usize;
        let data = reader.take(length)?.to_vec();
        let mut at = 0;
        let root = node(&mut reader, &mut at, 0)?;
        if at != data.len() {
            return Err(Malformed::Truncated);
        }
        Ok(NamedState { game, data, root })
    }

    /// The name of the game.
    pub fn game(&self) -> &str {
        &self.game
    }

    /// Reads a field of the state by its name. Values that the saved state lacks come from `fresh`.
    ///
    /// # Errors
    /// A saved value is not valid for the field's type.
    pub fn field<T: Field>(&self, name: &'static str, fresh: &T) -> Result<T, Malformed> {
        let mut writer = NamedWriter::default();
        writer.field(name, fresh);
        let fresh = NamedState::new(&writer.bytes(""))?;
        let migration = Migration::new((&self.data, &self.root), (&fresh.data, &fresh.root));
        let mut reader = Reader::migrating(&migration);
        reader.enter(name);
        T::read(&mut reader)
    }

    /// Describes the removed and the new fields, one sentence each. `now` is the state after the
    /// migration.
    pub fn migration_notes(&self, now: &NamedState) -> Vec<String> {
        let paths = |node: &NamedNode| {
            let mut paths = BTreeSet::new();
            node.collect_paths("", &mut paths);
            paths
        };
        let (before, after) = (paths(&self.root), paths(&now.root));
        let lost =
            before.difference(&after).map(|path| format!("{path} is lost: there is no such field now"));
        let new = after.difference(&before).map(|path| format!("{path} is new: it has its first value"));
        lost.chain(new).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fields;

    #[derive(Debug, Clone, PartialEq)]
    struct Ball {
        x: i32,
        speed: u16,
        owner: Option<u8>,
    }
    fields!(Ball: x: i32, speed: u16, owner: Option<u8>);

    #[derive(Debug, Clone, PartialEq)]
    struct Player {
        name: Arc<str>,
        hits: Vec<u8>,
        way: Way,
    }
    fields!(Player: name: Arc<str>, hits: Vec<u8>, way: Way);

    #[derive(Debug, Clone, PartialEq)]
    enum Way {
        Left,
        Up { by: u8 },
    }
    fields!(enum Way: Left {}, Up { by: u8 });

    #[derive(Debug, Clone, PartialEq)]
    struct Before {
        ball: Ball,
        gone: u8,
        players: Vec<Player>,
        corners: [u8; 3],
    }
    fields!(Before: ball: Ball, gone: u8, players: Vec<Player>, corners: [u8; 3]);

    /// The next version. A field of the ball is wider, and another field is new. The player has a
    /// score. The variants of `Way` have another order. The field `gone` is removed.
    mod after {
        use super::*;

        #[derive(Debug, Clone, PartialEq)]
        pub struct Ball {
            pub speed: i32,
            pub spin: i16,
            pub x: i32,
            pub owner: Option<u8>,
        }
        fields!(Ball: speed: i32, spin: i16, x: i32, owner: Option<u8>);

        #[derive(Debug, Clone, PartialEq)]
        pub struct Player {
            pub score: u32,
            pub hits: Vec<u8>,
            pub way: Way,
            pub name: Arc<str>,
        }
        fields!(Player: score: u32, hits: Vec<u8>, way: Way, name: Arc<str>);

        #[derive(Debug, Clone, PartialEq)]
        pub enum Way {
            Down,
            Up { by: u8, fast: bool },
            Left,
        }
        fields!(enum Way: Down {}, Up { by: u8, fast: bool }, Left {});

        #[derive(Debug, Clone, PartialEq)]
        pub struct State {
            pub players: Vec<Player>,
            pub corners: [u8; 4],
            pub ball: Ball,
            pub walls: Vec<Ball>,
        }
        fields!(State: players: Vec<Player>, corners: [u8; 4], ball: Ball, walls: Vec<Ball>);
    }

    fn before() -> Before {
        let player = |name: &str, way| Player { name: name.into(), hits: vec![1, 2, 3], way };
        Before {
            ball: Ball { x: -7, speed: 300, owner: Some(2) },
            gone: 9,
            players: vec![player("Ada", Way::Up { by: 5 }), player("Bo", Way::Left)],
            corners: [1, 2, 3],
        }
    }

    fn saved(state: &impl Field) -> NamedState {
        let mut writer = NamedWriter::default();
        writer.field("state", state);
        NamedState::new(&writer.bytes("test")).expect("just written")
    }

    #[test]
    fn a_state_comes_back_by_its_names() {
        let other = Before { players: Vec::new(), gone: 0, ..before() };
        assert_eq!(saved(&before()).field("state", &other), Ok(before()));
    }

    #[test]
    fn fields_that_still_exist_keep_their_value_and_new_ones_have_their_first() {
        let ball = after::Ball { speed: 70_000, spin: -3, x: 1, owner: None };
        let fresh = after::State {
            players: Vec::new(),
            corners: [9; 4],
            ball: ball.clone(),
            walls: vec![ball.clone(), ball.clone()],
        };
        let (old, hits) = (saved(&before()), vec![1, 2, 3]);
        let now: after::State = old.field("state", &fresh).expect("carried over");
        let player = |name: &str, way| after::Player { score: 0, hits: hits.clone(), way, name: name.into() };
        let players =
            vec![player("Ada", after::Way::Up { by: 5, fast: false }), player("Bo", after::Way::Left)];
        assert_eq!(now.players, players);
        assert_eq!(now.ball, after::Ball { speed: 70_000, spin: -3, x: -7, owner: Some(2) });
        assert_eq!(now.corners, [1, 2, 3, 0]);
        assert_eq!(now.walls, fresh.walls);
        let changes = old.migration_notes(&saved(&now));
        let names: Vec<_> = changes.iter().filter_map(|change| change.split_once(" is ")).collect();
        let lost = ("state.gone", "lost: there is no such field now");
        assert!(names.contains(&lost), "{changes:?}");
        for new in ["state.ball.spin", "state.players[].score", "state.players[].way.Up.fast", "state.walls"]
        {
            assert!(names.contains(&(new, "new: it has its first value")), "{changes:?}");
        }
    }

    #[test]
    fn bytes_that_are_cut_or_broken_are_refused() {
        let mut writer = NamedWriter::default();
        writer.field("state", &before());
        let bytes = writer.bytes("test");
        assert_eq!(NamedState::new(&bytes).map(|saved| saved.game().to_owned()), Ok("test".to_owned()));
        for length in 0..bytes.len() {
            assert!(NamedState::new(&bytes[..length]).is_err(), "{length} of {}", bytes.len());
        }
        let deep = [&MAGIC[..], &[0; 5], &[ITEM; 40], &[END; 40]].concat();
        assert_eq!(NamedState::new(&deep).map(drop), Err(Malformed::Value("nesting")));
    }
}
