//! What a game is to the server: its world, its packets and its views, behind a few traits.
//!
//! ```text
//!   packets ─► Verbs ─► actions ─► room: Game::Sim ─► Game::Publisher ─► Published ─► View of each client ─► Messages
//! ```
//!
//! [`Game`] names the types of a game. Everything around it (connections, rooms, captures, the
//! console) uses its [`About`], which has no type of the game in it: a room is erased once, and what
//! is asked of a game for each packet goes through one `dyn` [`Verbs`].

pub mod about;
pub mod agent;
pub mod breach;
pub mod dice;
pub mod messages;
pub mod play;
pub mod records;
pub mod simple;
pub mod tick;
pub mod values;
pub mod verbs;

pub use about::{About, Order, OrderError, Replica};
pub use breach::Breach;
pub use messages::{Messages, Writer};
pub use play::{Game, Published, Publisher, Rates, Turn, View};
pub use simple::{Simple, SimpleGame};
pub use tick::{Roster, Tick};
pub use verbs::{Ask, Profile, Saved, Shared, Verbs};
