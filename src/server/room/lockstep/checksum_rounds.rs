//! Checksums of a room's lockstep clients by tick, and the reports of desyncs.
//!
//! A round stores at most one checksum of each present participant for one tick. For a departed
//! participant, it stores only a desync that is not reported yet. A departed participant had
//! received a snapshot, so the rate limit of snapshots bounds the number of departed participants.

use std::collections::BTreeMap;

use tickwire_sim::state_tree::FieldDiff;

use super::journal_entry::{DesyncReport, sanitized_field};
use crate::limits;
use crate::util::address_prefix::AddressPrefix;

/// All rounds by tick.
#[derive(Debug, Default)]
pub(super) struct ChecksumRounds(BTreeMap<u32, ChecksumRound>);

/// The checksums of one tick.
#[derive(Debug, Default)]
struct ChecksumRound {
    room: Option<u64>,
    claims: BTreeMap<u64, ChecksumClaim>,
    /// The tick at which the first desync was found.
    differing_since: Option<u32>,
    is_reported: bool,
}

/// A participant's checksum of its world.
#[derive(Debug)]
pub(super) struct ChecksumClaim {
    /// Description of the participant.
    pub label: String,
    /// The participant's address prefix.
    pub prefix: AddressPrefix,
    /// The room's tick when the participant received its first snapshot.
    pub world_since_tick: u32,
    /// The checksum.
    pub checksum: u64,
    /// The differing fields. The participant reports them after it has restarted from a snapshot.
    pub fields: Option<Vec<FieldDiff>>,
}

impl ChecksumRounds {
    /// Returns whether the tick has a round.
    pub fn has(&self, tick: u32) -> bool {
        self.0.contains_key(&tick)
    }

    /// Returns whether a participant has sent its checksum for the tick.
    pub fn has_claim(&self, tick: u32, connection: u64) -> bool {
        self.0.get(&tick).is_some_and(|round| round.claims.contains_key(&connection))
    }

    /// Stores a participant's checksum. Returns the room's checksum if it is known.
    pub fn claim(&mut self, tick: u32, connection: u64, claim: ChecksumClaim) -> Option<u64> {
        let round = self.0.entry(tick).or_default();
        round.claims.insert(connection, claim);
        round.room
    }

    /// Stores the room's checksum. Returns the checksums that participants sent before it.
    pub fn set_room_checksum(&mut self, tick: u32, checksum: u64) -> Vec<(u64, u64)> {
        let round = self.0.entry(tick).or_default();
        round.room = Some(checksum);
        round.claims.iter().map(|(one, claim)| (*one, claim.checksum)).collect()
    }

    /// Records that a desync was found at tick `now`.
    pub fn mark_differing(&mut self, tick: u32, now: u32) {
        if let Some(round) = self.0.get_mut(&tick) {
            round.differing_since.get_or_insert(now);
        }
    }

    /// Stores the differing fields of a participant. Ignored after the report, or if its checksum
    /// was correct.
    pub fn details(&mut self, connection: u64, tick: u32, mut fields: Vec<FieldDiff>) {
        let Some(round) = self.0.get_mut(&tick).filter(|round| !round.is_reported) else { return };
        let Some(claim) = round.claims.get_mut(&connection) else { return };
        if claim.fields.is_none() && round.room.is_some_and(|room| room != claim.checksum) {
            fields.truncate(limits::LOCKSTEP_FIELDS);
            claim.fields = Some(fields.into_iter().map(sanitized_field).collect());
        }
    }

    /// Drops the checksums of a departed participant, except checksums with a pending report.
    pub fn leave(&mut self, connection: u64) {
        for round in self.0.values_mut() {
            let is_due = round.is_due();
            if let Some(claim) = round.claims.get(&connection)
                && !(is_due && round.room.is_some_and(|room| room != claim.checksum))
            {
                round.claims.remove(&connection);
            }
        }
    }

    /// Returns whether a report is pending.
    pub fn is_any_due(&self) -> bool {
        self.0.values().any(ChecksumRound::is_due)
    }

    /// Returns the reports of the rounds that are complete or have timed out. A round waits for one
    /// checksum interval (`every`) and, after the desync was found, for `details_ticks`. `since`
    /// maps each present participant to the room's tick at its first snapshot.
    pub fn report(
        &mut self,
        now: u32,
        every: u32,
        details_ticks: u32,
        since: &BTreeMap<u64, u32>,
    ) -> Vec<DesyncReport> {
        let mut reports = Vec::new();
        for (tick, round) in self.0.iter_mut().filter(|(_, round)| round.is_due()) {
            let (Some(room), Some(differs)) = (round.room, round.differing_since) else { continue };
            let is_known = |(connection, since): (&u64, &u32)| match round.claims.get(connection) {
                None => since > tick,
                Some(claim) => claim.checksum == room || claim.fields.is_some(),
            };
            let latest = tick.saturating_add(every).max(differs.saturating_add(details_ticks));
            if now >= latest || since.iter().all(is_known) {
                reports.push(round.report(*tick, room));
                // Checksums of present participants stay, so that a second one for this tick is not
                // accepted.
                round.is_reported = true;
                round.claims.retain(|one, _| since.contains_key(one));
                for claim in round.claims.values_mut() {
                    (claim.label, claim.fields) = (String::new(), None);
                }
            }
        }
        reports
    }

    /// Drops the rounds before `oldest`, and the oldest rounds beyond
    /// [`limits::LOCKSTEP_MAX_CHECKSUM_ROUNDS`]. Rounds with a pending report stay.
    pub fn forget_before(&mut self, oldest: u32) {
        self.0.retain(|tick, round| *tick >= oldest || round.is_due());
        let mut surplus = self.0.len().saturating_sub(limits::LOCKSTEP_MAX_CHECKSUM_ROUNDS);
        if surplus > 0 {
            self.0.retain(|_, round| {
                let is_retained = surplus == 0 || round.is_due();
                surplus -= usize::from(!is_retained);
                is_retained
            });
        }
    }
}

impl ChecksumRound {
    fn is_due(&self) -> bool {
        self.differing_since.is_some() && !self.is_reported
    }

    /// Creates the report. `room` is the room's checksum.
    fn report(&self, tick: u32, room: u64) -> DesyncReport {
        let (same, differing): (Vec<_>, Vec<_>) =
            self.claims.iter().partition(|(_, claim)| claim.checksum == room);
        let mut groups = vec![(room, vec!["server".to_owned()])];
        let (mut more, mut listed) = (0, Vec::new());
        for claim in interleave_by_address(same).into_iter().chain(interleave_by_address(differing)) {
            let known = groups.iter().position(|(checksum, _)| *checksum == claim.checksum);
            match known {
                Some(at) if groups[at].1.len() < limits::LOCKSTEP_PARTICIPANTS => {
                    groups[at].1.push(claim.label.clone());
                }
                None if groups.len() < limits::LOCKSTEP_MAX_REPORT_GROUPS => {
                    groups.push((claim.checksum, vec![claim.label.clone()]));
                }
                _ => {
                    more += 1;
                    continue;
                }
            }
            listed.push(claim);
        }
        // Lists the first field of each participant, then the second one of each, and so on.
        let nth = |at: usize| {
            let own = listed.iter().filter(|claim| claim.checksum != room);
            own.filter_map(move |claim| Some((claim.label.clone(), claim.fields.as_ref()?.get(at)?.clone())))
        };
        let fields = (0..limits::LOCKSTEP_FIELDS).flat_map(nth).take(limits::LOCKSTEP_FIELDS);
        DesyncReport { tick, groups, omitted: more, fields: fields.collect() }
    }
}

/// Sorts participants for a report. Takes one participant of each address prefix in turn, so that
/// one prefix cannot crowd out the others. Within a prefix, the participant with the oldest world
/// comes first.
fn interleave_by_address<'a>(claims: Vec<(&u64, &'a ChecksumClaim)>) -> Vec<&'a ChecksumClaim> {
    let mut claims = claims;
    claims.sort_by_key(|(connection, claim)| (claim.world_since_tick, **connection));
    let mut of_address = BTreeMap::<AddressPrefix, usize>::new();
    let mut ranked: Vec<(usize, &ChecksumClaim)> = claims
        .into_iter()
        .map(|(_, claim)| {
            let rank = of_address.entry(claim.prefix).or_default();
            *rank += 1;
            (*rank, claim)
        })
        .collect();
    // The sort is stable: participants of one rank stay in their order.
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, claim)| claim).collect()
}
