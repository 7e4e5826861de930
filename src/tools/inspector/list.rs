//! The frame list: all entries in order, and the visible ones.
//!
//! Each entry is tested once, in order, by the scope (client, direction, automatic frames) and by
//! the filter. If the filter needs explanations, entries are tested from the front, a few at a
//! time, while new ones arrive.

use std::collections::VecDeque;

use serde_json::{Value as Json, json};

use super::entry::{Fate, FrameEntry, NameId, NameTable};
use super::filter::{Filter, FilterError};
use super::filter_match::FilterMatcher;
use super::frame_json;
use crate::limits;
use crate::tools::explain::Explanation;
use crate::util::plural::count_noun;
use crate::ws::Side;

/// The number of a client's entries that determine its update packet.
const SAMPLE_ENTRIES: usize = 1000;

/// The frame list.
#[derive(Debug, Clone, Default)]
pub struct FrameList {
    entries: VecDeque<FrameEntry>,
    /// The names of packets and rules.
    pub(super) names: NameTable,
    scope: Scope,
    matcher: FilterMatcher,
    /// Numbers of the visible entries.
    visible: VecDeque<u64>,
    /// The number of entries tested, from the front.
    judged: usize,
    /// The number of frames that the scope hides: by direction, and as automatic.
    hidden: [usize; 2],
}

/// The restrictions that the page's buttons select.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scope {
    /// Only this client or connection, if set.
    pub client: Option<u32>,
    /// Only frames of this sender, if set.
    pub from: Option<Side>,
    /// Whether pings and pongs are hidden.
    pub is_hiding_automatic: bool,
}

/// A request of the page: a scope and a filter.
#[derive(Debug, Clone, Default)]
pub struct ListRequest {
    /// The scope.
    pub scope: Scope,
    /// The filter.
    pub filter: Filter,
}

impl ListRequest {
    /// Parses `{"text":…,"from":"client"|"server"|"","client":N|null,"automatic":bool}`.
    ///
    /// # Errors
    /// The syntax error of the filter.
    pub fn read(request: &Json) -> Result<ListRequest, FilterError> {
        let from = match request["from"].as_str() {
            Some("client") => Some(Side::Client),
            Some("server") => Some(Side::Server),
            _ => None,
        };
        let client = request["client"].as_u64().and_then(|client| u32::try_from(client).ok());
        let is_hiding_automatic = request["automatic"].as_bool() == Some(false);
        let filter = Filter::parse(request["text"].as_str().unwrap_or_default())?;
        Ok(ListRequest { scope: Scope { client, from, is_hiding_automatic }, filter })
    }
}

impl FrameList {
    /// All entries, oldest first.
    pub fn entries(&self) -> &VecDeque<FrameEntry> {
        &self.entries
    }

    /// The entry with this number.
    pub fn get(&self, n: u64) -> Option<&FrameEntry> {
        self.entries.get(self.find(n)?)
    }

    fn find(&self, n: u64) -> Option<usize> {
        self.entries.binary_search_by_key(&n, |entry| entry.n).ok()
    }

    /// Adds an entry, which must have the highest number. An entry with an explanation is tested at
    /// once if all earlier entries are tested.
    pub fn push(&mut self, entry: FrameEntry, explained: Option<&Explanation<'_>>) {
        let is_next = self.judged == self.entries.len();
        self.entries.push_back(entry);
        if is_next && (explained.is_some() || !self.needs_explanation()) {
            self.judge_next(explained);
        }
    }

    /// Links the entries of a ping and its pong.
    pub fn pair(&mut self, pong: u64, (ping, us): (u64, u32)) {
        for (n, other) in [(pong, ping), (ping, pong)] {
            if let Some(entry) = self.find(n).and_then(|at| self.entries.get_mut(at)) {
                entry.ping_pair = Some((other, us));
            }
        }
    }

    /// Changes the entry of a datagram, and filters it again unless the filter needs an
    /// explanation.
    pub fn change(&mut self, n: u64, change: impl FnOnce(&mut FrameEntry)) {
        let Some(at) = self.find(n) else { return };
        change(&mut self.entries[at]);
        let entry = &self.entries[at];
        if at >= self.judged || self.matcher.needs_explanation(entry) || self.hidden_reason(entry).is_some() {
            return;
        }
        match (self.visible.binary_search(&n), self.matcher.may_pass(entry, &self.names)) {
            (Ok(place), false) => drop(self.visible.remove(place)),
            (Err(place), true) => self.visible.insert(place, n),
            _ => {}
        }
    }

    /// Removes the entry of a dropped frame, and gaps at the front of the list. Returns how many of
    /// them were visible.
    pub fn remove(&mut self, n: u64) -> usize {
        let mut gone = self.find(n).map_or(0, |at| self.remove_at(at));
        while self.entries.front().is_some_and(FrameEntry::has_no_bytes) {
            gone += self.remove_at(0);
        }
        gone
    }

    fn remove_at(&mut self, at: usize) -> usize {
        let Some(entry) = self.entries.remove(at) else { return 0 };
        if at < self.judged {
            self.judged -= 1;
            if let Some(hidden) = self.hidden_reason(&entry).and_then(|why| self.hidden.get_mut(why)) {
                *hidden -= 1;
            }
        }
        self.visible
            .binary_search(&entry.n)
            .map_or(0, |place| usize::from(self.visible.remove(place).is_some()))
    }

    /// Sets the scope and the filter, and tests the entries again.
    pub fn apply(&mut self, request: &ListRequest) {
        self.scope = request.scope.clone();
        self.matcher = FilterMatcher::new(request.filter.clone());
        self.visible.clear();
        (self.judged, self.hidden) = (0, [0; 2]);
        while self.judged < self.entries.len() && !self.needs_explanation() {
            self.judge_next(None);
        }
    }

    /// Whether the test of the next entry needs its explanation.
    fn needs_explanation(&self) -> bool {
        let Some(entry) = self.entries.get(self.judged) else { return false };
        self.matcher.needs_explanation(entry)
            && !entry.has_no_bytes()
            && self.hidden_reason(entry).is_none()
            && self.matcher.may_pass(entry, &self.names)
    }

    /// Tests entries until one needs its explanation. Returns the number of that entry.
    pub fn next_to_explain(&mut self) -> Option<u64> {
        while self.judged < self.entries.len() {
            if self.needs_explanation() {
                return self.entries.get(self.judged).map(|entry| entry.n);
            }
            self.judge_next(None);
        }
        None
    }

    /// Tests the next entry.
    pub fn judge_next(&mut self, explained: Option<&Explanation<'_>>) {
        let Some(entry) = self.entries.get(self.judged) else { return };
        self.judged += 1;
        let is_hidden = self.hidden_reason(entry);
        let is_visible = match is_hidden {
            Some(why) => {
                if let Some(hidden) = self.hidden.get_mut(why) {
                    *hidden += 1;
                }
                false
            }
            // Gaps are visible only without a filter.
            None if entry.is_gap() => self.matcher.is_empty(),
            None => self.matcher.passes(entry, &self.names, explained),
        };
        if is_visible {
            self.visible.push_back(entry.n);
        }
    }

    /// The restriction that hides an entry: 0 for direction, 1 for automatic, 2 for client.
    fn hidden_reason(&self, entry: &FrameEntry) -> Option<usize> {
        let Scope { client, from, is_hiding_automatic } = &self.scope;
        if client.is_some_and(|client| client != entry.client) {
            Some(2)
        } else if from.is_some_and(|from| from != entry.from) {
            Some(0)
        } else {
            (*is_hiding_automatic && entry.is_automatic(&self.names)).then_some(1)
        }
    }

    /// The counts of all, of visible and of tested entries. If all are tested and none is visible,
    /// also the reason.
    pub fn count(&self) -> Json {
        let is_done = self.judged == self.entries.len();
        let mut count =
            json!({ "all": self.entries.len(), "seen": self.visible.len(), "judged": self.judged });
        if is_done && self.visible.is_empty() && !self.entries.is_empty() {
            count["why"] = self.explain_empty().into();
        }
        count
    }

    fn explain_empty(&self) -> String {
        let (mut parts, frames) = (Vec::new(), |number| count_noun(number, "frame"));
        let side = if self.scope.from == Some(Side::Client) { "server" } else { "client" };
        if self.hidden[0] > 0 {
            let from = format!("{} from the {side}", frames(self.hidden[0]));
            parts.push(format!("{} hidden", count_phrase(from, self.hidden[0])));
        }
        if self.hidden[1] > 0 {
            let automatic = format!("{} of ping and pong", frames(self.hidden[1]));
            parts.push(format!("{} hidden", count_phrase(automatic, self.hidden[1])));
        }
        parts.extend(Some(self.matcher.explain_no_match(&self.names)).filter(|why| !why.is_empty()));
        if parts.is_empty() { String::new() } else { parts.join(". ") + "." }
    }

    /// The visible entries from index `first` on, as JSON.
    pub fn rows(&self, first: usize, count: usize) -> Json {
        let wanted = self.visible.iter().skip(first).take(count.min(limits::INSPECTOR_ROWS));
        let rows = wanted.filter_map(|n| self.get(*n)).map(|entry| entry.json(&self.names));
        Json::from(rows.collect::<Vec<_>>())
    }

    /// The index of an entry among the visible entries. For a hidden entry, -1 minus the index of
    /// the next visible entry.
    pub fn visible_index(&self, n: u64) -> i64 {
        match self.visible.binary_search(&n) {
            Ok(at) => at as i64,
            Err(at) => -1 - at as i64,
        }
    }

    /// The previous entry with the same packet, sender and client.
    pub fn previous(&self, n: u64) -> Option<&FrameEntry> {
        let at = self.find(n)?;
        let entry = &self.entries[at];
        let is_same = |before: &&FrameEntry| {
            before.packet == entry.packet && before.from == entry.from && before.client == entry.client
        };
        (entry.packet != 0).then_some(())?;
        let before = self.entries.range(..at).rev().take(limits::INSPECTOR_SEARCH_ENTRIES);
        // Stops at a gap, because frames are missing there.
        before.take_while(|before| !before.is_gap() || before.client != entry.client).find(is_same)
    }

    /// The packet that counts as the update of a client: the most frequent of its state packets
    /// before entry `end`, preferably one with a tick. `None` without state packets.
    fn update_packet(&self, client: u32, end: usize) -> Option<NameId> {
        let mut counts: Vec<usize> = vec![0; self.names.iter().count() + 1];
        let entries = self.entries.range(..end).rev().chain(self.entries.range(end..));
        let near = entries.take(limits::INSPECTOR_SEARCH_ENTRIES);
        let own = near.filter(|entry| entry.client == client && entry.from == Side::Server);
        for entry in own.take(SAMPLE_ENTRIES) {
            let datagram = entry.datagram.iter().flat_map(|one| one.packets.iter().map(|(name, _)| *name));
            for name in datagram.chain([entry.packet]) {
                counts[usize::from(name)] += 1;
            }
        }
        let counted = counts.iter().zip(0..).filter(|(count, _)| **count > 0);
        let states = counted.filter_map(|(count, name)| Some((self.names.state_rank(name)?, *count, name)));
        states.max().map(|(_, _, name)| name)
    }

    /// The updates of a client up to frame `until`, newest last. If there are fewer than `count`,
    /// later updates are added. Each has the number, time, interval, bytes, and ticks since the
    /// previous update. A datagram also has its wait on a stream in milliseconds, and whether it is
    /// lost. Without updates, the list is empty and has no `packet`.
    pub fn timeline(&self, client: u32, until: u64, count: usize) -> Json {
        let end = self.entries.partition_point(|entry| entry.n <= until);
        let Some(update) = self.update_packet(client, end) else { return json!({ "updates": [] }) };
        let saw_update = |entry: &&FrameEntry| {
            entry.client == client
                && (entry.is_gap()
                    || entry.packet == update
                    || entry.datagram.as_ref().is_some_and(|one| one.has_packet(update)))
        };
        let count = count.min(limits::INSPECTOR_ROWS) + 1;
        let before =
            self.entries.range(..end).rev().take(limits::INSPECTOR_SEARCH_ENTRIES).filter(saw_update);
        let mut updates: Vec<&FrameEntry> = before.take(count).collect();
        updates.reverse();
        let after = self.entries.range(end..).take(limits::INSPECTOR_SEARCH_ENTRIES).filter(saw_update);
        updates.extend(after.take(count - updates.len()));
        let is_after_gap = |pair: &[&FrameEntry]| pair[0].is_gap() || pair[1].is_gap();
        let gap_us = |pair: &[&FrameEntry]| pair[1].at_us.saturating_sub(pair[0].at_us);
        let gap_ms = |pair: &[&FrameEntry]| gap_us(pair) as f64 / 1000.0;
        let mut gaps: Vec<u64> = updates.windows(2).filter(|pair| !is_after_gap(pair)).map(gap_us).collect();
        gaps.sort_unstable();
        let normal = gaps.get(gaps.len() / 2).map(|gap_us| *gap_us as f64 / 1000.0);
        let pairs = updates.windows(2).filter(|pair| !pair[1].is_gap());
        let pairs = pairs.map(|pair| {
            let gap = if is_after_gap(pair) { Json::Null } else { gap_ms(pair).into() };
            let ticks = pair[1].tick.saturating_sub(pair[0].tick);
            let datagram = pair[1].datagram.as_deref();
            let wait_ms = datagram.map(|one| f64::from(one.wait_us().unwrap_or(0)) / 1000.0);
            let is_lost = datagram.is_some_and(|one| one.fate == Fate::Lost);
            json!([pair[1].n, pair[1].at_us as f64 / 1000.0, gap, pair[1].bytes, ticks, wait_ms, is_lost])
        });
        let updates: Vec<Json> = pairs.collect();
        json!({ "packet": self.names.name(update), "normal_ms": normal, "updates": updates })
    }

    /// The entry as JSON, or `gone` if it is not in the list.
    pub fn entry(&self, n: u64) -> String {
        self.get(n).map_or_else(|| frame_json::gone_json(n), |entry| entry.json(&self.names).to_string())
    }
}

fn count_phrase(what: String, count: usize) -> String {
    format!("{what} {}", if count == 1 { "is" } else { "are" })
}
