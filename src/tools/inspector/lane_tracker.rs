//! Outcomes of a lane's datagrams, as observed at the server (late, lost, acknowledged), and the
//! wait that a stream would have added.
//!
//! ```text
//!   client's:  41 ── 43 ─────── 42      42 is missing when 43 arrives. It is late if it arrives,
//!              │      └─ held ──┘│      and lost once 33 newer datagrams have arrived.
//!   server's:  sent ─► acknowledgement bits of the client's datagrams
//! ```
//!
//! A stream delivers segments in order. If each datagram were a segment, all datagrams after a
//! missing one would wait for it. A late datagram ends the wait when it arrives. A lost one would
//! be retransmitted after the acknowledgement of a later one, and would arrive at least one round
//! trip after the first later one. The round trip is the shortest observed time from a datagram of
//! the server to its first acknowledgement. The arrival times of the server's datagrams are
//! unknown, but their transit time is assumed to be equal and cancels out. A late datagram of the
//! server yields no wait.

use std::collections::VecDeque;

use super::entry::{EntryKind, Fate, FrameEntry};
use super::list::FrameList;
use crate::datagram::extend;
use crate::datagram::header::DatagramHeader;
use crate::ws::Side;

/// Number of acknowledgement bits. A datagram is lost if more newer ones have arrived.
const WINDOW: u64 = 32;
/// Number of datagrams of each direction whose rows may still change.
const REMEMBERED: usize = 128;
/// Offset of the first observed sequence number, so that earlier numbers are not negative.
const FIRST_OFFSET: u64 = 1 << 16;

/// The datagrams of a lane.
#[derive(Debug, Clone, Default)]
pub struct LaneTracker {
    incoming: Incoming,
    outgoing: Outgoing,
    round_trip_us: Option<u64>,
}

/// Number, client, time and tick of a row.
#[derive(Debug, Clone, Copy)]
pub struct RowPlace {
    /// The number of the row.
    pub n: u64,
    /// The client.
    pub client: u32,
    /// The time at the server.
    pub at_us: u64,
    /// The tick; in a capture, the number of the packet.
    pub tick: u32,
}

/// A datagram with its row in the list.
#[derive(Debug, Clone, Copy)]
pub struct ObservedRow {
    /// The number of its row.
    pub n: u64,
    /// The time at the server.
    pub at_us: u64,
    /// The sender.
    pub from: Side,
    /// The header.
    pub header: DatagramHeader,
}

/// The datagrams of the client, which the server receives.
#[derive(Debug, Clone, Default)]
struct Incoming {
    newest: Option<u64>,
    arrived: VecDeque<Arrived>,
    missing: Vec<Missing>,
}

#[derive(Debug, Clone, Copy)]
struct Arrived {
    sequence: u64,
    n: u64,
    at_us: u64,
}

#[derive(Debug, Clone, Copy)]
struct Missing {
    sequence: u64,
    /// The number of the row for the gap.
    row: u64,
    /// Arrival time of the first newer datagram.
    noticed_us: u64,
}

/// The datagrams of the server.
#[derive(Debug, Clone, Default)]
struct Outgoing {
    sent: VecDeque<Sent>,
    acked: u64,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    sequence: u64,
    n: u64,
    at_us: u64,
    /// Whether the client has acknowledged a newer datagram without this one.
    was_missing: bool,
    is_acked: bool,
    is_settled: bool,
}

impl LaneTracker {
    /// Adds a row for missing datagrams of the client before this one, if any. Returns the number
    /// of the row. Called before the row of this datagram is added.
    pub fn push_missing(
        &self,
        list: &mut FrameList,
        place: RowPlace,
        (from, header): (Side, DatagramHeader),
    ) -> Option<u64> {
        let newest = self.incoming.newest.filter(|_| from == Side::Client)?;
        let missing = extend(header.sequence, newest).saturating_sub(newest + 1);
        if missing == 0 {
            return None;
        }
        let RowPlace { n, client, at_us, tick } = place;
        let count = u32::try_from(missing).unwrap_or(u32::MAX);
        let kind = EntryKind::Missing { first: (newest + 1) as u16, count, late: 0, lost: 0 };
        let entry = FrameEntry::new_gap(n, client, from, kind, at_us);
        list.push(FrameEntry { tick, ..entry }, None);
        Some(n)
    }

    /// Records a datagram after its row was added to the list, and updates earlier rows.
    /// `missing_row` is the result of [`LaneTracker::push_missing`].
    pub fn receive(&mut self, list: &mut FrameList, row: ObservedRow, missing_row: Option<u64>) {
        if row.from == Side::Server {
            self.outgoing.send(row);
            return;
        }
        let sample = self.outgoing.acknowledge(list, row, self.round_trip_us);
        self.round_trip_us = self.round_trip_us.into_iter().chain(sample).min();
        self.incoming.receive(list, row, missing_row.unwrap_or(row.n), self.round_trip_us);
    }

    /// Forgets all datagrams, because the observed traffic has a gap.
    pub fn clear(&mut self) {
        (self.incoming, self.outgoing) = Default::default();
    }
}

impl Incoming {
    fn receive(
        &mut self,
        list: &mut FrameList,
        row: ObservedRow,
        missing_row: u64,
        round_trip_us: Option<u64>,
    ) {
        let low = row.header.sequence;
        let sequence = self.newest.map_or(FIRST_OFFSET + u64::from(low), |newest| extend(low, newest));
        let newest = self.newest.unwrap_or(sequence);
        if sequence > newest {
            let first = (newest + 1).max(sequence.saturating_sub(REMEMBERED as u64));
            let too_many = first - (newest + 1);
            self.missing.extend((first..sequence).map(|sequence| Missing {
                sequence,
                row: missing_row,
                noticed_us: row.at_us,
            }));
            if too_many > 0 {
                settle(list, missing_row, 0, too_many);
            }
        } else if sequence < newest {
            self.arrive_late(list, row, sequence, round_trip_us);
        }
        self.newest = Some(newest.max(sequence));
        self.arrived.push_back(Arrived { sequence, n: row.n, at_us: row.at_us });
        if self.arrived.len() > REMEMBERED {
            self.arrived.pop_front();
        }
        self.lose(list, round_trip_us);
    }

    fn arrive_late(
        &mut self,
        list: &mut FrameList,
        row: ObservedRow,
        sequence: u64,
        round_trip_us: Option<u64>,
    ) {
        let at = self.missing.iter().position(|missing| missing.sequence == sequence);
        let missing = at.map(|at| self.missing.remove(at));
        let late_us = missing.map(|missing| row.at_us.saturating_sub(missing.noticed_us));
        list.change(row.n, |entry| entry.set_fate(Fate::Late(late_us.map(micros))));
        let Some(missing) = missing else { return };
        settle(list, missing.row, 1, 0);
        // A retransmission may have reached a stream earlier.
        let again = round_trip_us.map_or(u64::MAX, |round_trip| missing.noticed_us + round_trip);
        self.hold(list, missing, row.at_us.min(again));
    }

    /// Marks missing datagrams as lost after more than 32 newer ones.
    fn lose(&mut self, list: &mut FrameList, round_trip_us: Option<u64>) {
        let newest = self.newest.unwrap_or(0);
        let is_lost = |missing: &Missing| newest.saturating_sub(missing.sequence) > WINDOW;
        let (lost, left): (Vec<_>, Vec<_>) = self.missing.iter().partition(|missing| is_lost(missing));
        self.missing = left;
        for missing in lost {
            settle(list, missing.row, 0, 1);
            if let Some(round_trip) = round_trip_us {
                self.hold(list, missing, missing.noticed_us + round_trip);
            }
        }
    }

    /// Records the waits of the datagrams after a missing one.
    fn hold(&self, list: &mut FrameList, missing: Missing, until_us: u64) {
        let held = self
            .arrived
            .iter()
            .filter(|one| one.sequence > missing.sequence && one.at_us >= missing.noticed_us)
            .filter(|one| one.at_us < until_us);
        for one in held {
            list.change(one.n, |entry| entry.add_wait(micros(until_us - one.at_us)));
        }
    }
}

impl Outgoing {
    fn send(&mut self, row: ObservedRow) {
        let low = row.header.sequence;
        let sequence =
            self.sent.back().map_or(FIRST_OFFSET + u64::from(low), |last| extend(low, last.sequence));
        let (n, at_us) = (row.n, row.at_us);
        let sent = Sent { sequence, n, at_us, was_missing: false, is_acked: false, is_settled: false };
        self.sent.push_back(sent);
        if self.sent.len() > REMEMBERED {
            self.sent.pop_front();
        }
    }

    /// Applies the acknowledgements of the client's datagram `row`. Returns the round trip of the
    /// newest acknowledged datagram, if it was not acknowledged before.
    fn acknowledge(
        &mut self,
        list: &mut FrameList,
        row: ObservedRow,
        round_trip_us: Option<u64>,
    ) -> Option<u64> {
        let DatagramHeader { newest: low, received, .. } = row.header;
        let last = self.sent.back()?.sequence;
        let newest = extend(low, last);
        if newest > last || low == 0 && received == 0 {
            return None;
        }
        let mut sample = None;
        for sent in self.sent.iter_mut().filter(|sent| sent.sequence <= newest && !sent.is_settled) {
            let age = newest - sent.sequence;
            let is_received = age == 0 || age <= WINDOW && received >> (age - 1) & 1 == 1;
            let was_acked = sent.is_acked;
            sent.is_acked |= is_received;
            sent.was_missing |= age <= WINDOW && !is_received;
            let after_us = row.at_us.saturating_sub(sent.at_us);
            if sent.is_acked && sent.was_missing {
                sent.is_settled = true;
                list.change(sent.n, |entry| entry.set_fate(Fate::Late(None)));
            } else if is_received && !was_acked {
                list.change(sent.n, |entry| entry.set_fate(Fate::Acknowledged(micros(after_us))));
                if age == 0 && newest > self.acked {
                    sample = Some(after_us);
                }
            }
        }
        self.acked = self.acked.max(newest);
        self.lose(list, round_trip_us.into_iter().chain(sample).min());
        sample
    }

    /// Settles the datagrams before the acknowledgement window.
    fn lose(&mut self, list: &mut FrameList, round_trip_us: Option<u64>) {
        for at in 0..self.sent.len() {
            let sent = self.sent[at];
            if sent.is_acked || sent.is_settled || self.acked.saturating_sub(sent.sequence) <= WINDOW {
                continue;
            }
            self.sent[at].is_settled = true;
            // Without an acknowledgement bit, the datagram may have arrived.
            let fate = if sent.was_missing { Fate::Lost } else { Fate::Unconfirmed };
            list.change(sent.n, |entry| entry.set_fate(fate));
            let later = self.sent.range(at + 1..);
            let first = later.clone().find(|later| later.is_acked);
            let Some((first, round_trip)) = first.zip(round_trip_us).filter(|_| sent.was_missing) else {
                continue;
            };
            let until_us = first.at_us + round_trip;
            for held in later.filter(|later| later.at_us >= first.at_us && later.at_us < until_us) {
                list.change(held.n, |entry| entry.add_wait(micros(until_us - held.at_us)));
            }
        }
    }
}

/// Counts late or lost datagrams in the row of a gap.
fn settle(list: &mut FrameList, row: u64, late: u64, lost: u64) {
    list.change(row, |entry| entry.settle_missing(late as u32, lost as u32));
}

fn micros(us: u64) -> u32 {
    u32::try_from(us).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::list::ListRequest;
    use super::*;
    use crate::packet::PacketTables;
    use crate::tools::explain::parse::datagram;
    use serde_json::{Value as Json, json};

    /// A lane and its list.
    #[derive(Default)]
    struct Lane {
        list: FrameList,
        tracker: LaneTracker,
        n: u64,
    }

    impl Lane {
        /// Observes a datagram with these acknowledgements. Returns the number of its row.
        fn pass(&mut self, from: Side, at_ms: u64, sequence: u16, newest: u16, received: u32) -> u64 {
            let dialect = PacketTables::builtin().dialect("native").expect("built in");
            let header = DatagramHeader { connection: 1, sequence, newest, received };
            let at_us = Duration::from_millis(at_ms).as_micros() as u64;
            let place = RowPlace { n: self.n + 1, client: 1, at_us, tick: 0 };
            let missing = self.tracker.push_missing(&mut self.list, place, (from, header));
            let n = place.n + u64::from(missing.is_some());
            self.n = n;
            let explained = datagram::explain(&header.bytes(), from, &dialect);
            let entry = FrameEntry::new(n, 1, &explained, &mut self.list.names);
            self.list.push(FrameEntry { at_us, ..entry }, Some(&explained));
            self.tracker.receive(&mut self.list, ObservedRow { n, at_us, from, header }, missing);
            n
        }

        /// Observes a datagram of the client without acknowledgements.
        fn up(&mut self, at_ms: u64, sequence: u16) -> u64 {
            self.pass(Side::Client, at_ms, sequence, 0, 0)
        }

        fn down(&mut self, at_ms: u64, sequence: u16) -> u64 {
            self.pass(Side::Server, at_ms, sequence, 0, 0)
        }

        fn row(&self, n: u64) -> Json {
            serde_json::from_str(&self.list.entry(n)).expect("JSON")
        }

        /// State and wait of a datagram.
        fn fate(&self, n: u64) -> (Json, Json) {
            let datagram = &self.row(n)["datagram"];
            (datagram["state"].clone(), datagram["wait_ms"].clone())
        }
    }

    #[test]
    fn a_late_datagram_ends_the_wait_of_newer_datagrams() {
        let mut lane = Lane::default();
        let first = lane.up(0, 41);
        let newer = lane.up(50, 43);
        assert_eq!(lane.row(newer - 1)["gap"], "D42 missing");
        assert_eq!(lane.fate(newer), (Json::Null, Json::Null), "the end of its wait is not known");
        let another = lane.up(70, 44);
        let late = lane.up(90, 42);
        assert_eq!(lane.row(late)["datagram"]["late_ms"], 40.0);
        assert_eq!(lane.row(newer - 1)["gap"], "D42 late");
        assert_eq!(lane.fate(first), (Json::Null, Json::Null));
        assert_eq!(lane.fate(newer), (Json::Null, json!(40.0)));
        assert_eq!(lane.fate(another), (Json::Null, json!(20.0)));
        assert_eq!(lane.fate(late), (json!("late"), Json::Null));
    }

    #[test]
    fn a_missing_datagram_is_lost_after_33_newer_ones_and_holds_them_for_a_round_trip() {
        let mut lane = Lane::default();
        lane.down(0, 7);
        // The round trip is 30 ms.
        lane.pass(Side::Client, 30, 100, 7, 0);
        let rows: Vec<u64> = (0..32).map(|at| lane.up(100 + 10 * at, 103 + at as u16)).collect();
        let gap = rows[0] - 1;
        assert_eq!(lane.row(gap)["gap"], "D101 to D102 1 lost, 1 missing", "102 is the oldest in the window");
        lane.up(420, 135);
        assert_eq!(
            (&lane.row(gap)["gap"], &lane.row(gap)["opcode"]),
            (&json!("D101 to D102 lost"), &json!("lost"))
        );
        let waits: Vec<Json> = rows.iter().take(5).map(|n| lane.fate(*n).1).collect();
        assert_eq!(waits, [json!(30.0), json!(20.0), json!(10.0), Json::Null, Json::Null]);
    }

    #[test]
    fn a_datagram_of_the_server_is_lost_if_its_acknowledgement_bits_are_all_zero() {
        let mut lane = Lane::default();
        let sent: Vec<u64> = (1..=40).map(|sequence| lane.down(10 * u64::from(sequence), sequence)).collect();
        let fate = |lane: &Lane, sequence: usize| lane.fate(sent[sequence - 1]);
        // 5 arrives while 3 and 4 are missing. Later, 4 arrives.
        lane.pass(Side::Client, 75, 1, 5, 0b1100);
        assert_eq!(fate(&lane, 4), (Json::Null, Json::Null));
        assert_eq!(lane.row(sent[4])["datagram"]["acked_ms"], 25.0);
        lane.pass(Side::Client, 90, 2, 6, 0b1_1011);
        assert_eq!([fate(&lane, 4).0, fate(&lane, 3).0], [json!("late"), Json::Null]);
        lane.pass(Side::Client, 425, 3, 35, u32::MAX >> 1);
        assert_eq!(fate(&lane, 3).0, Json::Null, "its bit is the last one");
        lane.pass(Side::Client, 435, 4, 36, u32::MAX);
        assert_eq!(fate(&lane, 3), (json!("lost"), Json::Null));
        // The shortest round trip is 25 ms, of 5. The first datagram after 3 was sent at 40 ms.
        let waits = [4, 5, 6, 7].map(|sequence| fate(&lane, sequence).1);
        assert_eq!(waits, [json!(25.0), json!(15.0), json!(5.0), Json::Null]);
        lane.list.apply(&ListRequest::read(&json!({ "text": "held" })).expect("a filter"));
        assert_eq!(lane.list.count()["seen"], 3);
        // A datagram without an acknowledgement bit may have arrived.
        let mut lane = Lane::default();
        let sent: Vec<u64> = (1..=40).map(|sequence| lane.down(u64::from(sequence), sequence)).collect();
        lane.pass(Side::Client, 50, 1, 40, u32::MAX);
        let unconfirmed = (sent.iter()).filter(|n| lane.fate(**n).0 == "unconfirmed").count();
        assert_eq!(
            (unconfirmed, lane.fate(sent[6]).0, lane.fate(sent[7]).0),
            (7, json!("unconfirmed"), Json::Null)
        );
    }

    #[test]
    fn a_filter_follows_changed_rows_and_a_gap_in_the_observed_traffic_is_no_loss() {
        let mut lane = Lane::default();
        let lost = json!({ "text": "lost" });
        lane.list.apply(&ListRequest::read(&lost).expect("a filter"));
        lane.up(0, 65_534);
        let gap = lane.up(10, 1) - 1;
        assert_eq!(lane.list.visible_index(gap), -1);
        (2..34).for_each(|sequence| _ = lane.up(20, sequence));
        assert_eq!(lane.row(gap)["gap"], "D65535 to D0 lost", "the numbers start again");
        assert_eq!(lane.list.visible_index(gap), 0);
        lane.tracker.clear();
        let after = lane.up(30, 500);
        assert_eq!(lane.row(after - 1)["datagram"]["sequence"], 33, "no row between them");
    }
}
