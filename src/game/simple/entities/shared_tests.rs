//! Spectators that share updates receive the same bytes as a view that shares nothing.

use std::sync::Arc;

use tickwire_sim::{PlayerId, Rng};

use super::super::published::SimpleEvents;
use super::super::world::SimpleAction;
use super::super::{Simple, SimpleScratch, SimpleView};
use super::tests::{Herd, RATES, TestRoom};
use crate::game::{LaneBaseline, Messages, Published, StateOutcome, View};
use crate::packet::Dialect;

const PLAYERS: u16 = 5;

/// A client with two views: the first may share updates, the second has a scratch of its own.
struct Client {
    view: SimpleView,
    twin: SimpleView,
    twin_scratch: SimpleScratch,
    player: Option<PlayerId>,
    spectated: Option<PlayerId>,
    is_behind: bool,
    lane: Option<LaneBaseline>,
    begins: u32,
}

impl Client {
    fn new(dialect: &Dialect, begins: u32) -> Client {
        let view = <SimpleView as View<Simple<Herd>>>::new;
        Client {
            view: view(dialect),
            twin: view(dialect),
            twin_scratch: SimpleScratch::default(),
            player: None,
            spectated: None,
            is_behind: false,
            lane: None,
            begins,
        }
    }

    fn update(
        &mut self,
        is_twin: bool,
        (missed, published): (&[Arc<SimpleEvents>], &Published<Simple<Herd>>),
        dialect: &Dialect,
        scratch: &mut SimpleScratch,
    ) -> (StateOutcome, Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let mut messages = Messages::default();
        messages.set_lane(self.lane.is_some(), self.lane);
        let (view, scratch) =
            if is_twin { (&mut self.twin, &mut self.twin_scratch) } else { (&mut self.view, scratch) };
        View::<Simple<Herd>>::set_subject(view, self.player, self.spectated);
        let is_behind = self.is_behind;
        let outcome = View::update(view, missed, published, is_behind, dialect, scratch, &mut messages);
        (outcome, messages.iter().map(Vec::from).collect(), messages.datagram().map(Vec::from).collect())
    }
}

#[test]
fn a_shared_update_has_the_bytes_that_the_view_computes_by_itself() {
    for seed in 1..=4 {
        let mut room = TestRoom::new(seed, RATES);
        let (dialect, mut random) = (room.dialect.clone(), Rng::new(seed, 9));
        let begins = |index: u32| if index < 6 { 0 } else { index * 40 };
        let mut clients: Vec<Client> = (0..16).map(|index| Client::new(&dialect, begins(index))).collect();
        let (mut scratch, mut missed) = (SimpleScratch::default(), Vec::new());
        let (mut bytes, mut sharing) = (0, 0);
        for tick in 0..1_200 {
            let actions = match tick {
                0..5 => vec![SimpleAction::Join(PlayerId(tick + 1), format!("p{tick}"), None)],
                700 => vec![SimpleAction::Leave(PlayerId(2))],
                _ => vec![],
            };
            let published = room.step(actions);
            if random.below(6) == 0 {
                missed.push(Arc::clone(&published.events));
                continue;
            }
            clients[0].player = (tick / 100 % 2 == 0).then_some(PlayerId(1));
            let acked_tick = published.tick.checked_sub(3);
            clients[1].lane =
                (tick / 150 % 2 == 1).then_some(LaneBaseline { acked_tick, is_stream_due: true });
            for (index, client) in clients.iter_mut().enumerate() {
                if random.below(200) == 0 {
                    let player = PlayerId(1 + random.below(PLAYERS.into()) as u16);
                    client.spectated = Some(player).filter(|_| random.below(4) > 0);
                }
                client.is_behind = random.below(if client.is_behind { 2 } else { 60 }) == 0;
                let Some(new) = published.tick.checked_sub(client.begins).filter(|new| *new > 0) else {
                    continue;
                };
                let missed = &missed[missed.len().saturating_sub(new as usize - 1)..];
                let shared = client.update(false, (missed, &published), &dialect, &mut scratch);
                let own = client.update(true, (missed, &published), &dialect, &mut scratch);
                assert_eq!(shared, own, "seed {seed}, tick {tick}, client {index}");
                bytes += own.1.iter().map(Vec::len).sum::<usize>();
            }
            missed.clear();
            let (early, late) = clients.split_at(6);
            let is_shared = |late: &&Client| early.iter().any(|early| late.view.shares_state(&early.view));
            sharing += late.iter().filter(is_shared).count();
        }
        assert!(bytes > 50_000 && sharing > 500, "{bytes} bytes, {sharing} times the same state");
    }
}
