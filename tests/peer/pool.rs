//! The policy of a pool: step by step, and in virtual time with attackers that take every place
//! they can get.

use std::collections::VecDeque;

use proptest::prelude::*;
use tickwire::internal::limits;
use tickwire::internal::server::admission::pool::{NoSlot, Pool, PoolConfig};
use tickwire::internal::util::address_prefix::AddressPrefix;

fn address(number: usize) -> AddressPrefix {
    AddressPrefix::from_ip(std::net::Ipv4Addr::from_bits(number as u32).into())
}

/// Whether nobody holds or leaves one of the places.
fn is_empty(pool: &Pool, places: usize) -> bool {
    pool.held() == 0 && pool.free() == places && !pool.has_displaced()
}

fn displacing(places: usize, per_address: usize) -> Pool {
    Pool::new(PoolConfig { slots: places, per_address, is_divided: true, allows_displacement: true })
}

/// Time that a request of an honest address takes, and a displaced connection until it has ended.
const REQUEST_MS: u64 = 20;
const END_MS: u64 = 1;
/// Attempts of all attackers in a millisecond, and the time after which an attacker's connection is given up by the server.
const ATTEMPTS_PER_MS: usize = 2;
const ATTACK_MS: u64 = 12_000;
/// Addresses from here on are those of newcomers.
const NEWCOMERS: usize = 1 << 20;

/// Attackers in virtual time.
struct Siege {
    pool: Pool,
    last_number: u64,
    /// When each connection of an attacker or a displaced one is over, in that order.
    ends: VecDeque<(u64, u64)>,
    displaced: VecDeque<(u64, u64)>,
    next_attacker: usize,
}

impl Siege {
    fn new(pool: Pool) -> Siege {
        let (ends, displaced) = (VecDeque::new(), VecDeque::new());
        Siege { pool, last_number: 0, ends, displaced, next_attacker: 0 }
    }

    fn take(&mut self, holder: Option<AddressPrefix>, now_ms: u64) -> Result<u64, NoSlot> {
        self.last_number += 1;
        let number = self.last_number;
        if let Some(displaced) = self.pool.take(number, holder)? {
            self.displaced.push_back((now_ms + END_MS, displaced));
        }
        Ok(number)
    }

    /// A millisecond of `addresses` that all want as much as they can get.
    fn step(&mut self, addresses: usize, now_ms: u64) {
        for queue in [&mut self.ends, &mut self.displaced] {
            while queue.front().is_some_and(|(at_ms, _)| *at_ms <= now_ms) {
                let (_, number) = queue.pop_front().expect("it was there");
                self.pool.release(number);
            }
        }
        for _ in 0..ATTEMPTS_PER_MS {
            self.next_attacker = (self.next_attacker + 1) % addresses;
            if let Ok(number) = self.take(Some(address(self.next_attacker)), now_ms) {
                self.ends.push_back((now_ms + ATTACK_MS, number));
            }
        }
    }
}

#[test]
fn new_addresses_always_get_a_place_however_many_addresses_attack() {
    for (places, addresses) in
        [1024, 240].into_iter().flat_map(|places| [1, 4, 16, 64, 1000].map(|n| (places, n)))
    {
        let mut siege = Siege::new(displacing(places, limits::MAX_PENDING_REQUESTS_PER_ADDRESS));
        let mut honest: VecDeque<(u64, u64)> = VecDeque::new();
        for now_ms in 0..15_000 {
            siege.step(addresses, now_ms);
            if now_ms > 2_000 && now_ms % 5 == 0 {
                let newcomer = address(NEWCOMERS + now_ms as usize);
                let taken = siege.take(Some(newcomer), now_ms);
                assert!(taken.is_ok(), "{taken:?}: {addresses} addresses, {places} places, {now_ms} ms");
                honest.extend(taken.map(|number| (now_ms + REQUEST_MS, number)));
            }
            while honest.front().is_some_and(|(at_ms, _)| *at_ms <= now_ms) {
                let (_, number) = honest.pop_front().expect("it was there");
                assert!(siege.pool.release(number), "displaced: {addresses} addresses, {places} places");
            }
        }
    }
}

#[test]
fn a_proxys_connections_get_places_and_leave_some_for_others() {
    for addresses in [1, 64, 1000] {
        let mut siege = Siege::new(displacing(240, limits::MAX_PENDING_REQUESTS_PER_ADDRESS));
        for now_ms in 0..4_000 {
            siege.step(addresses, now_ms);
            if now_ms < 2_000 {
                continue;
            }
            // A proxy that never says whose its connections are, and one that does at once.
            assert!(siege.take(None, now_ms).is_ok(), "{addresses} addresses, {now_ms} ms");
            let asked = siege.take(None, now_ms).expect("a place");
            let client = address(NEWCOMERS + now_ms as usize);
            assert_eq!(siege.pool.set_address(asked, client), Ok(()), "{addresses} addresses, {now_ms} ms");
            siege.pool.release(asked);
            assert!(siege.take(Some(address(2 * NEWCOMERS + now_ms as usize)), now_ms).is_ok());
        }
    }
}

#[test]
fn greedy_addresses_leave_as_much_spare_as_each_of_them_has() {
    const RESERVE: usize = 1024 / 8;
    for (addresses, held, spare) in [(1, 448, 448), (2, 299, 298), (6, 128, 128), (63, 14, 14)] {
        let mut pool = displacing(1024, 1024);
        for number in 0..1024 * addresses {
            let _ = pool.take(number as u64, Some(address(number % addresses)));
        }
        let is = (pool.held_by(Some(address(0))), pool.free() - RESERVE);
        assert_eq!(is, (held, spare), "{addresses} addresses");
    }
}

#[test]
fn the_address_that_holds_most_loses_its_oldest_place_and_gives_it_back_once() {
    let mut pool = displacing(10, 10);
    let [greedy, modest] = [Some(address(1)), Some(address(2))];
    for (number, holder) in [(1, modest), (2, greedy), (3, greedy), (4, greedy), (5, greedy)] {
        assert_eq!(pool.take(number, holder), Ok(None));
    }
    assert_eq!(pool.take(6, greedy), Err(NoSlot::AddressLimit));
    for number in 6..10 {
        assert_eq!(
            pool.take(number, Some(address(number as usize))),
            Ok(None),
            "none is displaced while some are spare"
        );
    }
    assert_eq!(pool.take(10, Some(address(10))), Ok(Some(2)), "the last one is the reserve");
    assert_eq!(pool.take(11, Some(address(11))), Err(NoSlot::Full), "the displaced connection has not ended");
    assert!(!pool.holds(2) && !pool.release(2));
    assert_eq!(pool.take(11, Some(address(11))), Ok(Some(3)));
    assert!(!pool.release(2) && !pool.release(3) && !pool.release(3));
    assert_eq!(pool.held(), 9);
    (4..=11).for_each(|number| assert!(pool.release(number)));
    assert!(pool.release(1) && is_empty(&pool, 10));
}

#[test]
fn an_idle_connection_makes_room_for_its_own_address_and_before_every_other() {
    let mut own = displacing(40, 3);
    for number in 1..=3 {
        assert_eq!(own.take(number, Some(address(1))), Ok(None));
    }
    assert_eq!(own.take(4, Some(address(1))), Err(NoSlot::AddressLimit));
    assert!(own.set_idle(2, true) && own.set_idle(3, true));
    assert_eq!(own.take(5, Some(address(1))), Ok(Some(2)), "the oldest idle one");
    assert!(!own.set_idle(2, false), "it is displaced");
    assert!(own.set_idle(3, false));
    assert_eq!(own.take(6, Some(address(1))), Err(NoSlot::AddressLimit), "3 has a request again");
    assert_eq!(own.idle(), [0; 0]);

    let mut full = displacing(8, 8);
    for (number, holder) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 3), (6, 4), (7, 5)] {
        assert_eq!(full.take(number, Some(address(holder))), Ok(None), "{number}");
    }
    assert!(full.set_idle(5, true));
    assert_eq!(full.take(8, Some(address(6))), Ok(Some(5)), "idle, although another address holds most");
    for number in 1..=8 {
        full.release(number);
    }
    assert!(is_empty(&full, 8));
    assert!(!full.set_idle(1, true) && full.idle().is_empty(), "a released slot is not idle");
}

#[test]
fn an_address_above_its_share_displaces_only_an_address_that_keeps_as_much() {
    let mut pool = displacing(16, 16);
    (1..=6).for_each(|number| assert_eq!(pool.take(number, Some(address(1))), Ok(None)));
    (7..=14).for_each(|number| assert_eq!(pool.take(number, Some(address(number as usize))), Ok(None)));
    assert_eq!(pool.take(15, Some(address(7))), Ok(Some(1)), "from six to the second");
    pool.release(1);
    assert_eq!(pool.take(16, Some(address(7))), Err(NoSlot::AddressLimit), "not from five to the third");
}

#[test]
fn without_displacing_and_without_shares_only_the_bounds_count() {
    let mut pool =
        Pool::new(PoolConfig { slots: 4, per_address: 4, is_divided: false, allows_displacement: false });
    (1..=4).for_each(|number| assert_eq!(pool.take(number, Some(address(1))), Ok(None)));
    assert_eq!(pool.take(5, Some(address(2))), Err(NoSlot::Full));
    let mut pool =
        Pool::new(PoolConfig { slots: 4, per_address: 3, is_divided: true, allows_displacement: false });
    assert_eq!([1, 2, 3].map(|number| pool.take(number, Some(address(1))).is_ok()), [true, true, false]);
    assert_eq!([3, 4].map(|number| pool.take(number, Some(address(number as usize)))), [Ok(None), Ok(None)]);
    assert_eq!(pool.take(5, Some(address(5))), Err(NoSlot::Full));
}

#[derive(Debug, Clone)]
enum Deed {
    /// Of an address, or of a proxy's connection whose client is not known yet.
    Take(Option<usize>),
    BelongsTo(u64, usize),
    GiveBack(u64),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => (0..8_usize).prop_map(|who| Deed::Take(Some(who))),
        1 => Just(Deed::Take(None)),
        1 => (0..40_u64, 0..8_usize).prop_map(|(back, address)| Deed::BelongsTo(back, address)),
        2 => (0..40_u64).prop_map(Deed::GiveBack),
    ]
}

proptest! {
    #[test]
    fn never_more_are_in_use_than_there_are_and_an_address_without_one_gets_a_free_one(
        places in 1..24_usize, per_address in 1..24_usize, is_divided: bool, displaces: bool,
        stats in prop::collection::vec(deed(), 0..200),
    ) {
        let mut pool = Pool::new(PoolConfig { slots: places, per_address, is_divided, allows_displacement: displaces });
        let holders = || std::iter::once(None).chain((0..8).map(|who| Some(address(who))));
        let mut last = 0;
        for deed in stats {
            let free = pool.free();
            match deed {
                Deed::Take(who) => {
                    let holder = who.map(address);
                    let was_there = holder.is_some() && pool.held_by(holder) > 0;
                    last += 1;
                    let taken = pool.take(last, holder);
                    prop_assert!(taken.is_ok() || was_there || free == 0);
                    prop_assert!(taken.is_err() || free > 0);
                }
                Deed::BelongsTo(back, who) => {
                    let _ = pool.set_address(last.saturating_sub(back), address(who));
                }
                Deed::GiveBack(back) => {
                    let number = last.saturating_sub(back);
                    prop_assert_eq!(pool.holds(number), pool.release(number));
                    prop_assert!(!pool.release(number));
                }
            }
            prop_assert!(pool.held() + pool.free() <= places);
            prop_assert!(holders().skip(1).all(|holder| pool.held_by(holder) <= per_address));
            prop_assert_eq!(holders().map(|holder| pool.held_by(holder)).sum::<usize>(), pool.held());
        }
        (0..=last).for_each(|number| {
            pool.release(number);
        });
        prop_assert!(is_empty(&pool, places));
    }
}
