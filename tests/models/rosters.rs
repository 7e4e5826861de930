//! The roster: however many come and go at once, no two have one number, and none is lost.

use std::collections::BTreeSet;

use shuttle::sync::Arc;
use shuttle::thread;

use crate::limits;
use crate::roster::Roster;
use crate::sync::Mutex;

pub fn no_two_have_one_number_and_none_is_lost() {
    crate::check(|| {
        let (roster, held) = (Arc::new(Roster::default()), Arc::new(Mutex::new(BTreeSet::new())));
        let come_and_go = |turn: u32| {
            let (roster, held) = (Arc::clone(&roster), Arc::clone(&held));
            thread::spawn(move || {
                for round in 0..2 {
                    // Each round comes after the rest of the one before, so that numbers come again.
                    let now = limits::PLAYER_NUMBER_REST * (2 * round + turn % 2);
                    let player = roster.take(now).expect("there are many");
                    assert!(held.lock().insert(player.0), "{player:?} is another's");
                    thread::yield_now();
                    assert!(held.lock().remove(&player.0));
                    roster.give_back(player, now);
                }
            })
        };
        let threads: Vec<_> = (0..3).map(come_and_go).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        let later = limits::PLAYER_NUMBER_REST * 100;
        let all: Vec<u16> = (0..6).filter_map(|_| roster.take(later)).map(|player| player.0).collect();
        assert_eq!(all, [1, 2, 3, 4, 5, 6], "whoever went has given the number back");
    });
}
