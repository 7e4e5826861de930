//! The update of one client of a simple game: its player, state rows, entities, and events.
//!
//! ```text
//!   due update ─┬─► stream: state rows, own_state and entities that have changed
//!               └─► datagrams, while a lane is in use: all that the client may lack
//!   events ─────► stream
//! ```

use std::sync::Arc;

use tickwire_sim::PlayerId;

use super::encode_once::encode_once;
use super::entities::{EntityScratch, KnownEntities, Viewer};
use super::lane_rows::{LaneRows, send_encoded};
use super::own_states::{OwnState, SentOwnState};
use super::published::{EncodedMessage, SimpleEvents, SimpleState};
use super::simple_game::{OutgoingEvent, Simple, SimpleGame};
use super::table_check::OWN_STATE_PACKET;
use crate::game::command_acks::has_command_acks;
use crate::game::game::{Published, StateOutcome, View};
use crate::game::messages::{MessageWriter, Messages};
use crate::game::shared_updates::{SharedState, SharedUpdates};
use crate::packet::{Dialect, Lane};

/// The [`View`] of a simple game.
#[doc(hidden)]
#[derive(Debug)]
pub struct SimpleView {
    reader: Reader,
    sent: SharedState<SentRows>,
}

/// The reader of an update.
#[derive(Debug, Clone, Copy)]
struct Reader {
    viewer: Viewer,
    /// Whether the dialect has acks, so that rejected commands need no `error` packet.
    is_answered: bool,
}

/// Buffers of a worker, and the updates that its spectators share.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct SimpleScratch {
    entities: EntityScratch,
    shared: SharedUpdates<SentRows, SpectatorInput>,
}

/// The input of a spectator's update besides the state: the spectated player, the number of missed
/// ticks, and whether the state is deferred.
type SpectatorInput = (Option<PlayerId>, usize, bool);

/// The ticks that an update covers.
struct UpdateTicks<'a, S: SimpleGame> {
    missed: &'a [Arc<SimpleEvents>],
    newest: &'a Published<Simple<S>>,
    is_behind: bool,
}

/// The packets that a client has received, as far as its next update depends on them.
#[derive(Debug, Clone, Default, PartialEq)]
struct SentRows {
    /// The player of the last `spawned` packet.
    spawned: Option<PlayerId>,
    /// Whether the client has received an update.
    has_update: bool,
    /// The versions of the state rows that the client has. 0 for none.
    versions: Vec<u64>,
    /// The values of the last `own_state` packet.
    own: Option<SentOwnState>,
    /// The rows that the client receives by datagram.
    lane: LaneRows,
    entities: KnownEntities,
}

impl<S: SimpleGame> View<Simple<S>> for SimpleView {
    fn new(dialect: &Dialect) -> SimpleView {
        let viewer = Viewer { player: None, spectated: None };
        let reader = Reader { viewer, is_answered: has_command_acks(dialect) };
        SimpleView { reader, sent: SharedState::default() }
    }

    fn set_subject(&mut self, player: Option<PlayerId>, spectated: Option<PlayerId>) {
        self.reader.viewer = Viewer { player, spectated };
    }

    fn replay_missed(&mut self, events: &SimpleEvents, dialect: &Dialect, messages: &mut Messages) {
        let out = &mut messages.writer(dialect, Lane::Reliable);
        self.reader.write_events(events, |event| event.is_private(), dialect, out);
    }

    fn update(
        &mut self,
        missed: &[Arc<SimpleEvents>],
        newest: &Published<Simple<S>>,
        is_behind: bool,
        dialect: &Dialect,
        scratch: &mut SimpleScratch,
        messages: &mut Messages,
    ) -> StateOutcome {
        let SimpleView { reader, sent } = self;
        let SimpleScratch { entities, shared } = scratch;
        let Viewer { player, spectated } = reader.viewer;
        let is_spectator = player.is_none() && !messages.has_lane();
        let input = is_spectator.then_some((spectated, missed.len(), is_behind));
        let ticks = UpdateTicks { missed, newest, is_behind };
        shared.update(sent, (&newest.state, input), dialect, messages, |sent, messages| {
            sent.update(*reader, ticks, dialect, entities, messages)
        })
    }
}

#[cfg(test)]
impl SimpleView {
    /// Whether both views store one state.
    pub fn shares_state(&self, other: &SimpleView) -> bool {
        self.sent.is_same(&other.sent)
    }
}

impl SentRows {
    /// Encodes the update of a client.
    fn update<S: SimpleGame>(
        &mut self,
        reader: Reader,
        UpdateTicks { missed, newest, is_behind }: UpdateTicks<'_, S>,
        dialect: &Dialect,
        scratch: &mut EntityScratch,
        messages: &mut Messages,
    ) -> StateOutcome {
        let SimpleState { entities, rates, players, own, rows, .. } = &*newest.state;
        let is_visible = |player: &PlayerId| players.binary_search_by_key(player, |(own, _)| *own).is_ok();
        let body = reader.viewer.player.filter(is_visible);
        // Event handlers of a client may read its player and the state. A client that lacks one of
        // them therefore gets it without waiting for its update rate.
        let is_new = !self.has_update || body != self.spawned;
        let mut ticks = missed.iter().map(|events| events.tick).chain([newest.tick]);
        let outcome = match is_new || ticks.any(|tick| rates.is_update_due(rates.update_hz, tick)) {
            false => StateOutcome::NotDue,
            true if is_behind => StateOutcome::Deferred,
            true => StateOutcome::Written,
        };
        // The first update goes in the stream, because events may need it.
        let lane = messages.lane().filter(|_| !is_new && outcome == StateOutcome::Written);
        if lane.is_none() && outcome == StateOutcome::Written && self.lane.end() {
            self.versions.fill(0);
            self.own = None;
            self.entities.end_lane();
        }
        let mut out = messages.writer(dialect, Lane::Latest);
        if body != self.spawned {
            self.spawned = body.filter(|_| !is_behind);
            self.own = None;
            if let Some(player) = self.spawned {
                out.send("spawned", player);
            }
        }
        if outcome == StateOutcome::Written {
            self.has_update = true;
            self.versions.resize(rows.len(), 0);
            let changed =
                rows.iter().zip(&mut self.versions).filter(|(row, version)| row.version != **version);
            for (row, known) in changed.filter(|_| lane.is_none()) {
                *known = row.version;
                send_row(row.packet(), &row.encoded(newest.tick, dialect), dialect, messages);
            }
        }
        let due_body = body.filter(|_| outcome == StateOutcome::Written);
        let own = due_body.and_then(|body| own.of(body, dialect));
        if let Some(lane) = lane {
            self.lane.write((lane, newest.tick), rows, own, dialect, &mut messages.datagram_writer(dialect));
        } else if let Some(own) = own
            && own.store(&mut self.own)
        {
            send_own_state(own, newest.tick, dialect, messages);
        }
        if let Some(frame) = entities.as_ref().filter(|_| outcome == StateOutcome::Written) {
            match lane {
                None => self.entities.append_update(reader.viewer, frame, dialect, scratch, messages),
                Some(lane) => {
                    self.entities.append_datagram((reader.viewer, lane), frame, dialect, scratch, messages);
                }
            }
        }
        for events in missed.iter().chain([&newest.events]) {
            reader.write_events(events, |_| true, dialect, &mut messages.writer(dialect, Lane::Reliable));
        }
        outcome
    }
}

impl Reader {
    /// Encodes the events for this client that satisfy `is_of_kind`.
    fn write_events(
        &self,
        events: &SimpleEvents,
        is_of_kind: impl Fn(&OutgoingEvent) -> bool,
        dialect: &Dialect,
        out: &mut MessageWriter<'_>,
    ) {
        let encode = || events.events.iter().map(|event| event.row.encode(dialect, &[])).collect();
        let packets = encode_once(&events.encoded, dialect, encode);
        for ((event, is_addressed), bytes) in events.for_viewer(self.viewer).zip(packets.iter()) {
            let is_answered = event.is_answer && self.is_answered;
            match bytes {
                _ if !is_addressed || is_answered || !is_of_kind(event) => {}
                Ok(bytes) => out.send_encoded(event.row.packet(), |_, out| {
                    out.extend_from_slice(bytes);
                    true
                }),
                Err(why) => out.misfit(event.row.packet(), &why.to_string()),
            }
        }
    }
}

/// Queues an encoded packet in the lane `latest`, or reports the rule that its values violate.
fn send_row(packet: &'static str, encoded: &EncodedMessage, dialect: &Dialect, messages: &mut Messages) {
    match encoded {
        Ok(_) => send_encoded(packet, encoded, &mut messages.writer(dialect, Lane::Latest)),
        Err(why) => messages.writer(dialect, Lane::Reliable).misfit(packet, &why.to_string()),
    }
}

/// Queues `own_state` in the lane `latest`, or reports the rule that its values violate.
fn send_own_state(own: OwnState<'_>, tick: u32, dialect: &Dialect, messages: &mut Messages) {
    let mut encoded = Ok(());
    messages.writer(dialect, Lane::Latest).send_encoded(OWN_STATE_PACKET, |dialect, out| {
        encoded = own.encode_to(tick, dialect, out);
        encoded.is_ok()
    });
    if let Err(why) = encoded {
        messages.writer(dialect, Lane::Reliable).misfit(OWN_STATE_PACKET, &why.to_string());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::super::published::StateRow;
    use super::super::simple_game::Audience;
    use super::super::{FieldValue, RowValues};
    use super::*;
    use crate::game::Game;
    use crate::game::game::UpdateRates;
    use crate::games::tanks::Tanks;
    use crate::packet::{Direction, PacketTables};

    type Played = Simple<Tanks>;

    /// Returns a tick of tanks at 60 Hz, with updates at 30 Hz. Player 2 is present, and an event
    /// names it.
    fn published(tick: u32, version: u64) -> Published<Played> {
        let number = |value: i64| FieldValue::Int(value);
        let list = || FieldValue::List(Vec::new());
        let values = vec![number(1), number(9), number(0), FieldValue::Nil, list(), list()];
        let fields = &["round", "left_s", "is_over", "winner", "tanks", "shells"];
        let state = RowValues::new("state", fields, values);
        let values = [2, 2, 1, 0].map(number).to_vec();
        let hit = RowValues::new("hit", &["player", "shooter", "damage", "destroyed"], values);
        let events = vec![OutgoingEvent { audience: Audience::All, row: hit, is_answer: false }];
        Published {
            tick,
            players: 1,
            event_bytes: 0,
            events: Arc::new(SimpleEvents {
                tick,
                events,
                reports: Vec::new(),
                viewers: vec![None],
                encoded: OnceLock::new(),
            }),
            state: Arc::new(SimpleState {
                entities: None,
                rates: UpdateRates { tick_hz: 60, update_hz: 30, foreign_hz: 30 },
                players: vec![(PlayerId(2), "Ann".into())].into(),
                scores: Vec::new(),
                own: Arc::default(),
                rows: vec![StateRow { values: Arc::new(state), version, encoded: OnceLock::new() }],
            }),
        }
    }

    #[test]
    fn an_event_comes_after_the_player_and_the_state_of_its_update() {
        let codes = PacketTables::from_texts(<Played as Game>::TABLES).expect("its table");
        let dialect = codes.dialect("tanks").expect("its dialect");
        let mut view = <SimpleView as View<Played>>::new(&dialect);
        let mut update = |player: Option<u16>, tick, version, is_behind| {
            let mut messages = Messages::default();
            View::<Played>::set_subject(&mut view, player.map(PlayerId), None);
            let (tick, scratch) = (&published(tick, version), &mut SimpleScratch::default());
            let outcome =
                View::<Played>::update(&mut view, &[], tick, is_behind, &dialect, scratch, &mut messages);
            let names = messages.iter().map(|message| {
                dialect.decode(Direction::ToClient, message).expect("by the table").row.name.clone()
            });
            (outcome, names.collect::<Vec<_>>().join(" "))
        };
        // With updates at 30 Hz, no update is due in odd ticks. A client that has no state yet gets
        // an update anyway.
        for (player, tick, version, is_behind, outcome, names) in [
            (None, 61, 1, false, StateOutcome::Written, "state hit"),
            (Some(2), 63, 1, false, StateOutcome::Written, "spawned hit"),
            (Some(2), 64, 2, false, StateOutcome::Written, "state hit"),
            (Some(2), 65, 3, false, StateOutcome::NotDue, "hit"),
            (None, 66, 3, true, StateOutcome::Deferred, "hit"),
            (Some(2), 68, 3, true, StateOutcome::Deferred, "hit"),
            (Some(2), 70, 3, false, StateOutcome::Written, "spawned state hit"),
        ] {
            let received = update(player, tick, version, is_behind);
            assert_eq!(received, (outcome, names.to_owned()), "tick {tick}");
        }
    }
}
