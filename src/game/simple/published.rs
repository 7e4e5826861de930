//! The published state and events of a simple game.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use tickwire_sim::PlayerId;

use super::encode_once::encode_once;
use super::entities::{EntityFrame, EntityRef, Sight, Viewer};
use super::own_states::OwnStates;
use super::rows::{RowError, RowValues};
use super::simple_game::{Audience, OutgoingEvent, SimpleGame};
use super::world::PlayerEntry;
use crate::game::report::Report;
use crate::game::{PlayerScore, UpdateRates};
use crate::packet::Dialect;

/// An encoded message, or the rule that the values violate.
pub type EncodedMessage = Result<Vec<u8>, RowError>;

/// The events of a tick. They are encoded for the first client that receives them.
#[derive(Debug)]
pub struct SimpleEvents {
    pub(super) tick: u32,
    pub(super) events: Vec<OutgoingEvent>,
    /// What the game reports to the program around the server.
    pub(super) reports: Vec<Report>,
    /// The clients that see each event with a position.
    pub(super) viewers: Vec<Option<EventViewers>>,
    pub(super) encoded: OnceLock<(String, Vec<EncodedMessage>)>,
}

/// The clients that see an event.
#[derive(Debug, Default)]
pub struct EventViewers {
    /// The players, in ascending order.
    players: Vec<PlayerId>,
    /// The players whose spectators see it, in ascending order.
    spectated: Vec<PlayerId>,
    /// Whether a spectator of no player sees it.
    spectators: bool,
}

/// The sight of each client in the events of one packet.
type Sights = Vec<(Viewer, Sight)>;

impl EventViewers {
    fn new<S: SimpleGame>(game: &S, sights: &Sights, entity: EntityRef<'_>) -> EventViewers {
        let mut viewers = EventViewers::default();
        for (viewer, sight) in sights {
            if sight.includes(&entity.info) && game.sees(*viewer, &entity) {
                match (viewer.player, viewer.spectated) {
                    (Some(player), _) => viewers.players.push(player),
                    (None, Some(player)) => viewers.spectated.push(player),
                    (None, None) => viewers.spectators = true,
                }
            }
        }
        viewers
    }

    fn contains(&self, viewer: Viewer) -> bool {
        match (viewer.player, viewer.spectated) {
            (Some(player), _) => self.players.binary_search(&player).is_ok(),
            (None, Some(player)) => self.spectated.binary_search(&player).is_ok(),
            (None, None) => self.spectators,
        }
    }
}

/// Returns the sights in ascending order of their players.
fn find_sights<S: SimpleGame>(game: &S, players: &[PlayerEntry], packet: &str) -> Sights {
    let players = players.iter().map(|entry| Some(entry.player));
    let viewers = players.clone().map(|player| Viewer { player, spectated: None });
    let spectators = players.chain([None]).map(|spectated| Viewer { player: None, spectated });
    viewers.chain(spectators).map(|viewer| (viewer, game.sight(viewer, packet))).collect()
}

impl SimpleEvents {
    /// Creates the events of a tick, after which the game has this state.
    pub(super) fn new<S: SimpleGame>(
        tick: u32,
        events: Vec<OutgoingEvent>,
        game: &S,
        players: &[PlayerEntry],
    ) -> SimpleEvents {
        // A list, because a tick has events of few packets.
        let mut found: Vec<(&str, Sights)> = Vec::new();
        let viewers = events.iter().map(|event| match event.audience {
            Audience::Sight(info) => {
                let packet = event.row.packet();
                let at = found.iter().position(|(other, _)| *other == packet).unwrap_or_else(|| {
                    found.push((packet, find_sights(game, players, packet)));
                    found.len() - 1
                });
                Some(EventViewers::new(game, &found[at].1, EntityRef { packet, id: None, info }))
            }
            Audience::All | Audience::Player(_) => None,
        });
        SimpleEvents {
            tick,
            viewers: viewers.collect(),
            events,
            reports: Vec::new(),
            encoded: OnceLock::new(),
        }
    }

    /// Iterates over the events, each with whether a client receives it.
    pub(super) fn for_viewer(&self, viewer: Viewer) -> impl Iterator<Item = (&OutgoingEvent, bool)> {
        self.events.iter().zip(&self.viewers).map(move |(event, viewers)| {
            let is_addressed = match event.audience {
                Audience::All => true,
                Audience::Player(player) => viewer.player == Some(player),
                Audience::Sight(_) => viewers.as_ref().is_some_and(|viewers| viewers.contains(viewer)),
            };
            (event, is_addressed)
        })
    }
}

/// The players in ascending order, with their names.
pub type PlayerNames = Vec<(PlayerId, Arc<str>)>;

/// The state after a tick.
#[derive(Debug)]
pub struct SimpleState<S> {
    /// The entities of the last due tick; `None` for a game without entity lists.
    pub(super) entities: Option<Arc<EntityFrame<S>>>,
    pub(super) rates: UpdateRates,
    pub(super) players: Arc<PlayerNames>,
    /// The players with a score.
    pub(super) scores: Vec<PlayerScore>,
    pub(super) own: Arc<OwnStates>,
    pub(super) rows: Vec<StateRow>,
}

/// A state row after a tick, encoded for the first client that receives it.
#[derive(Debug)]
pub struct StateRow {
    pub(super) values: Arc<RowValues>,
    /// Number of changes of the values.
    pub(super) version: u64,
    pub(super) encoded: OnceLock<(String, EncodedMessage)>,
}

impl StateRow {
    /// Returns the name of the packet.
    pub(super) fn packet(&self) -> &'static str {
        self.values.packet()
    }

    /// Returns the packet as of this tick, encoded once.
    pub(super) fn encoded(&self, tick: u32, dialect: &Dialect) -> Cow<'_, EncodedMessage> {
        encode_once(&self.encoded, dialect, || self.values.encode(dialect, &[("tick", tick.into())]))
    }
}
