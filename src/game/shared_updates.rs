//! Updates that clients share while their views are in the same state.
//!
//! ```text
//!                ┌─► first view of the pass: computes ─► messages, state after
//!  state before ─┤                                          │
//!                └─► every other view: copies ◄─────────────┘
//! ```
//!
//! An update is a function of the view's state, the ticks, the dialect, and an input such as the
//! spectated player. Spectators of one player are soon in the same state, so a worker computes
//! their update once per pass, and their views store the state once. A shared update has the bytes
//! that each view would compute by itself.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::{Deref, Range};
use std::sync::{Arc, Weak};

use super::game::StateOutcome;
use super::messages::{MessagePosition, Messages};
use crate::limits;
use crate::packet::Dialect;

/// The state of a view. Views in the same state store it once.
#[derive(Debug, Default)]
pub struct SharedState<S>(Arc<S>);

impl<S> Deref for SharedState<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S: Clone> SharedState<S> {
    /// Returns the state for a change by this view alone. Copies it if other views store it too.
    pub fn make_mut(&mut self) -> &mut S {
        Arc::make_mut(&mut self.0)
    }
}

#[cfg(test)]
impl<S> SharedState<S> {
    /// Whether both views store one state.
    pub fn is_same(&self, other: &SharedState<S>) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The updates that the views of a worker have computed in the current pass. `I` is the input of an
/// update besides the state and the pass.
#[derive(Debug)]
pub struct SharedUpdates<S, I> {
    /// The published state of the pass. Weak, because a worker stores no state between passes.
    pass: Weak<dyn Any + Send + Sync>,
    /// The dialect of the updates. Views with another one share nothing in this pass.
    dialect: String,
    /// The updates of each input. Those that other views may copy come first.
    updates: BTreeMap<I, Vec<SharedUpdate<S>>>,
    messages: Messages,
}

#[derive(Debug)]
struct SharedUpdate<S> {
    /// The state before the update; `None` if one view alone had it, so no other can copy.
    before: Option<Arc<S>>,
    after: Arc<S>,
    outcome: StateOutcome,
    messages: Range<MessagePosition>,
}

impl<S, I> Default for SharedUpdates<S, I> {
    fn default() -> SharedUpdates<S, I> {
        SharedUpdates {
            pass: Weak::<()>::new(),
            dialect: String::new(),
            updates: BTreeMap::new(),
            messages: Messages::default(),
        }
    }
}

impl<S: Clone + PartialEq, I: Ord> SharedUpdates<S, I> {
    /// Appends the update of a view, and brings its state up to date. `compute` does both. It reads
    /// nothing but the state, the published ticks, the dialect and the input; if it reads more, the
    /// input is `None`, and the view shares nothing.
    ///
    /// A view that computes its update compares its state with other states after the same input,
    /// and stores an equal one instead. Views of clients that came at different times then share
    /// later updates.
    pub fn update<P: Any + Send + Sync>(
        &mut self,
        state: &mut SharedState<S>,
        (published, input): (&Arc<P>, Option<I>),
        dialect: &Dialect,
        messages: &mut Messages,
        compute: impl FnOnce(&mut S, &mut Messages) -> StateOutcome,
    ) -> StateOutcome {
        // The server in a page has few clients, and its program must be small.
        if cfg!(target_family = "wasm") {
            return compute(state.make_mut(), messages);
        }
        self.begin_pass(published, dialect);
        let Some(input) = input.filter(|_| self.dialect == dialect.name()) else {
            return compute(state.make_mut(), messages);
        };
        let state = &mut state.0;
        let updates = self.updates.entry(input).or_default();
        let is_before = |before: &Arc<S>| Arc::ptr_eq(before, state);
        if let Some(shared) = updates.iter().find(|shared| shared.before.as_ref().is_some_and(is_before)) {
            messages.append(&self.messages, shared.messages.clone());
            *state = Arc::clone(&shared.after);
            return shared.outcome;
        }
        let before = (Arc::strong_count(state) > 1).then(|| Arc::clone(state));
        let start = messages.position();
        let outcome = compute(Arc::make_mut(state), messages);
        let mut candidates = updates.iter().take(limits::SHARED_STATE_COMPARISONS);
        let equal = candidates.find(|candidate| candidate.after == *state);
        if let Some(equal) = equal {
            *state = Arc::clone(&equal.after);
        }
        let (is_new, after) = (equal.is_none(), Arc::clone(state));
        if before.is_some() {
            let copied = self.messages.position();
            self.messages.append(messages, start..messages.position());
            let messages = copied..self.messages.position();
            updates.insert(0, SharedUpdate { before, after, outcome, messages });
        } else if is_new && updates.len() < limits::SHARED_STATE_COMPARISONS {
            updates.push(SharedUpdate { before, after, outcome, messages: Range::default() });
        }
        outcome
    }

    /// Drops the updates of an earlier pass. A state that one view alone stores is then changed in
    /// place.
    fn begin_pass<P: Any + Send + Sync>(&mut self, published: &Arc<P>, dialect: &Dialect) {
        if !std::ptr::addr_eq(self.pass.as_ptr(), Arc::as_ptr(published)) {
            let published: Weak<P> = Arc::downgrade(published);
            self.pass = published;
            dialect.name().clone_into(&mut self.dialect);
            self.updates.clear();
            self.messages.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::packet::{Lane, PacketTables};

    thread_local! {
        /// Number of copies of states in this test.
        static COPIES: Cell<usize> = const { Cell::new(0) };
    }

    /// The numbers that a client has received.
    #[derive(Debug, Default, PartialEq)]
    struct Received(Vec<u32>);

    impl Clone for Received {
        fn clone(&self) -> Received {
            COPIES.set(COPIES.get() + 1);
            Received(self.0.clone())
        }
    }

    /// A worker whose views send the number of each tick, and a misfit in ticks after 100.
    #[derive(Default)]
    struct Worker {
        shared: SharedUpdates<Received, u8>,
        /// Number of updates that views have computed.
        computed: usize,
    }

    impl Worker {
        /// Returns the messages and the misfits of an update in the dialect `native`.
        fn update(
            &mut self,
            state: &mut SharedState<Received>,
            tick: &Arc<u32>,
            input: Option<u8>,
        ) -> (Vec<Vec<u8>>, usize) {
            self.update_in("native", state, tick, input)
        }

        fn update_in(
            &mut self,
            dialect: &str,
            state: &mut SharedState<Received>,
            tick: &Arc<u32>,
            input: Option<u8>,
        ) -> (Vec<Vec<u8>>, usize) {
            let dialect = PacketTables::builtin().dialect(dialect).expect("built in");
            let mut messages = Messages::default();
            messages.writer(&dialect, Lane::Reliable).send("chat", (1u8, "first"));
            let compute = |received: &mut Received, messages: &mut Messages| {
                self.computed += 1;
                received.0.push(**tick);
                let text = format!("{input:?} {received:?}");
                messages.writer(&dialect, Lane::Reliable).send("chat", (2u8, &*text));
                if **tick > 100 {
                    messages.writer(&dialect, Lane::Reliable).misfit("chat", "too long");
                }
                StateOutcome::Written
            };
            let outcome = self.shared.update(state, (tick, input), &dialect, &mut messages, compute);
            assert_eq!(outcome, StateOutcome::Written);
            (messages.iter().map(Vec::from).collect(), messages.take_misfits().len())
        }
    }

    #[test]
    fn equal_states_become_one_and_are_updated_once_in_a_pass() {
        let (mut worker, mut alone) = (Worker::default(), Worker::default());
        let mut views: [SharedState<Received>; 4] = Default::default();
        let mut single = SharedState::default();
        for (tick, computed) in [(7, 4), (8, 5), (101, 6)] {
            let tick = Arc::new(tick);
            let expected = alone.update(&mut single, &tick, Some(1));
            for view in &mut views {
                assert_eq!(worker.update(view, &tick, Some(1)), expected, "tick {tick}");
            }
            assert_eq!(worker.computed, computed, "tick {tick}");
            assert!(views.iter().all(|view| Arc::ptr_eq(&view.0, &views[0].0)));
        }
    }

    #[test]
    fn views_with_another_state_input_dialect_or_tick_share_nothing() {
        let mut worker = Worker::default();
        let mut views: [SharedState<Received>; 6] = Default::default();
        let first = Arc::new(1);
        views.iter_mut().for_each(|view| _ = worker.update(view, &first, Some(1)));
        views[1].make_mut().0.push(9);
        let (second, other_second) = (Arc::new(2), Arc::new(2));
        worker.computed = 0;
        for (index, dialect, tick, input) in [
            (0, "native", &second, Some(1)),
            (1, "native", &second, Some(1)),
            (2, "native", &second, Some(2)),
            (3, "native", &second, None),
            (4, "letters", &second, Some(1)),
            (5, "native", &other_second, Some(1)),
        ] {
            worker.update_in(dialect, &mut views[index], tick, input);
            assert_eq!(worker.computed, index + 1);
        }
        assert_eq!([0, 1, 5].map(|index| &views[index].0.0[..]), [&[1, 2][..], &[1, 9, 2], &[1, 2]]);
    }

    #[test]
    fn a_view_compares_its_state_with_a_limited_number_of_others() {
        let mut worker = Worker::default();
        let max = limits::SHARED_STATE_COMPARISONS as u32;
        let tick = Arc::new(7);
        let mut view = |first| {
            let mut view = SharedState::<Received>::default();
            view.make_mut().0.push(first);
            worker.update(&mut view, &tick, Some(1));
            view
        };
        let views: Vec<_> = (0..=max).map(&mut view).collect();
        for first in [0, max - 1, max] {
            assert_eq!(view(first).is_same(&views[first as usize]), first < max, "state {first}");
        }
    }

    #[test]
    fn the_state_of_a_single_view_is_changed_in_place() {
        let mut worker = Worker::default();
        let mut views: [SharedState<Received>; 3] = Default::default();
        for (input, view) in (0..).zip(&mut views) {
            view.make_mut().0.push(input);
        }
        let copies = COPIES.get();
        for tick in 1..9 {
            let tick = Arc::new(tick);
            for (input, view) in (0..).zip(&mut views) {
                worker.update(view, &tick, Some(input));
            }
        }
        assert_eq!(COPIES.get(), copies);
        assert_eq!(views[2].0.0, [2, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
