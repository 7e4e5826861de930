//! The part of an update that goes by datagram: an `update` without enters and leaves, or several
//! if one does not fit into a datagram.

use super::animals::AnimalLists;
use super::records;
use super::update_input::UpdateInput;
use crate::game::{MessageWriter, RecordList, WireValues as _};
use crate::games::moo::feed::interest::{Located, UpdateLayout, ViewWindow};
use crate::games::moo::feed::known_set::KnownPlayer;
use crate::games::moo::feed::pose::Pose;
use crate::games::moo::feed::published_state::{PlayerIdentity, PublicState, VisiblePlayer};
use crate::limits;

/// Bytes of an `update` besides its records: its envelope, the tick, and the heads of its lists.
const HEAD_BYTES: usize = 32;

/// The parts of an update that the client may lack.
#[derive(Debug, Default)]
pub struct DatagramLists {
    /// The client's own body.
    pub own: RecordList,
    /// Indices of the players with other poses.
    pub players: Vec<u32>,
    /// The records of the next packet.
    full: RecordList,
}

/// The poses of the known players that datagrams have carried: the newest of each, and the tick in
/// which it changed, in ascending order of ID. Empty while the client's lane is not in use, so that
/// it takes no room in the known set of other clients.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LanePoses(Vec<(PlayerIdentity, Pose, u32)>);

impl LanePoses {
    /// Appends the indices of the known players in view with poses that the client may lack.
    pub fn collect<P>(&mut self, now: UpdateInput<'_>, known: &[KnownPlayer<P>], lacking: &mut Vec<u32>) {
        let LanePoses(sent) = self;
        if now.is_lane_start || now.is_after_lane {
            *sent = Vec::new();
        }
        let Some(lane) = now.lane else { return };
        let tick = now.state.tick;
        for index in &now.look.players {
            let VisiblePlayer { identity, pose, .. } = now.state.visible[*index as usize];
            if known.binary_search_by_key(&identity, |known| known.identity).is_err() {
                continue; // It enters in a later update.
            }
            let place = sent.binary_search_by_key(&identity, |(identity, ..)| *identity);
            let place = place.unwrap_or_else(|place| {
                sent.insert(place, (identity, pose, tick));
                place
            });
            let (_, last, changed) = &mut sent[place];
            if *last != pose {
                (*last, *changed) = (pose, tick);
            }
            if lane.lacks(*changed) {
                lacking.push(*index);
            }
        }
        if sent.len() > known.len() {
            sent.retain(|(identity, ..)| {
                known.binary_search_by_key(identity, |known| known.identity).is_ok()
            });
        }
    }
}

impl DatagramLists {
    /// Writes what the client may lack: the own body, the other players, the animals. If it needs
    /// several packets, players come in the order of their distance.
    pub fn write(
        &mut self,
        window: Option<ViewWindow>,
        state: &PublicState,
        animals: &mut AnimalLists,
        out: &mut MessageWriter<'_>,
    ) {
        let DatagramLists { own, players, full } = self;
        let records = state.players.records(UpdateLayout::Native, records::full);
        let animal_bytes = animals.changed.bytes.len() + animals.gone.bytes.len();
        let fits = |count: usize, own: &RecordList, others: usize| {
            let bytes = HEAD_BYTES + own.bytes.len() + count * records::FULL_BYTES + others;
            bytes <= limits::LANE_PACKET_BYTES
        };
        let is_split = !fits(players.len(), own, animal_bytes);
        if let Some(window) = window.filter(|_| is_split) {
            players.sort_unstable_by_key(|index| window.distance(state.players[*index as usize].place()));
        }
        let mut count = 0;
        for index in players.drain(..) {
            if is_split && !fits(count + 1, own, 0) {
                write_packet(state.tick, [own, full], None, out);
                count = 0;
            }
            full.copy(records, index as usize);
            count += 1;
        }
        if is_split {
            write_packet(state.tick, [own, full], None, out);
        }
        write_packet(state.tick, [own, full], Some(animals), out);
    }
}

fn write_packet(
    tick: u32,
    players: [&mut RecordList; 2],
    animals: Option<&mut AnimalLists>,
    out: &mut MessageWriter<'_>,
) {
    let none = const { &RecordList::new() };
    let [own, full] = &players;
    let (changed, gone) = animals.as_ref().map_or((none, none), |animals| (&animals.changed, &animals.gone));
    write_sections(tick, &[own, none, none, full, none, none, changed, gone], out);
    players.into_iter().for_each(RecordList::clear);
    if let Some(animals) = animals {
        animals.changed.clear();
        animals.gone.clear();
    }
}

/// Writes an `update` without the empty sections at its end; nothing if all are empty.
pub fn write_sections(tick: u32, sections: &[&RecordList], out: &mut MessageWriter<'_>) {
    let Some(last) = sections.iter().rposition(|section| !section.is_empty()) else { return };
    out.send_raw("update", last + 2, |out| {
        tick.write(out);
        sections[..=last].iter().for_each(|section| section.write(out));
    });
}
