//! What a game is to the server: its world, its packets and its views, behind a few traits.
//!
//! ```text
//!   packets ─► Verbs ─► actions ─► room: Game::Sim ─► Game::Publisher ─► Published ─► View of each client ─► Messages
//! ```
//!
//! [`Game`] names the types of a game. Everything around it (connections, rooms, captures, the
//! console) uses its [`About`], which has no type of the game in it: a room is erased once, and what
//! is asked of a game for each packet goes through one `dyn` [`Verbs`].

mod about;
pub mod agent;
mod breach;
mod dice;
mod messages;
mod play;
mod records;
pub mod simple;
mod tick;
mod values;
mod verbs;

pub use about::{About, Find, Given, Order, OrderError, Replica, Restored};
pub use breach::Breach;
pub use dice::Dice;
pub use messages::{Messages, Writer};
pub use play::{ActionOf, Game, Published, Publisher, Rates, Turn, View};
pub use records::{Records, Section};
pub use simple::{Simple, SimpleGame};
pub use tick::{Roster, Tick};
pub use values::{List, Values};
pub use verbs::{Ask, Named, Profile, Saved, Shared, Verbs};
