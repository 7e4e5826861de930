//! Budgets per address: rate limits on actions that reach other clients, independent of reconnects.
//!
//! A session limits one client, and a client that reconnects gets a new session. The same actions
//! are therefore limited again for each address (an IPv4 address, or a /64 of IPv6): when a
//! connection is admitted, and when a command goes to the inbox. Sessions are unaware of these
//! budgets: a replay decodes a command that was rejected here, and finds it in no tick.
//!
//! Each kind of spending has a token bucket, stored as the time at which the bucket is full again:
//! taking a token moves that time forward. A full bucket needs no entry, so an address whose
//! buckets are full is forgotten. If [`limits::BUDGET_ADDRESSES`] are known and none of them is
//! full, the addresses whose buckets would be full soonest are forgotten: they have spent the
//! least, so forgetting gives them the least.

use std::collections::HashMap;
use std::time::Duration;

use crate::household::Household;
use crate::limits;
use crate::sync::Mutex;
use crate::world::Action;

/// The actions on which an address spends tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spending {
    /// Opening a connection, whatever it requests.
    Connection,
    /// A handshake that turns a connection into a client.
    Client,
    /// Joining the world.
    Join,
    /// A line of chat.
    Chat,
    /// A ping on the map.
    MapPing,
    /// An action on clans.
    Clan,
}

/// How many kinds of spending there are.
const KINDS: usize = 6;

/// A token bucket: one token every `every`, at most `burst` tokens.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// Time between two tokens.
    pub every: Duration,
    /// Tokens in a full bucket.
    pub burst: u32,
}

impl Rate {
    /// Takes a token from the bucket that is full again at `full_at`.
    ///
    /// # Errors
    /// There is none; the time until there is one.
    pub fn take(self, full_at: &mut Duration, now: Duration) -> Result<(), Duration> {
        let taken_at = (*full_at).max(now) + self.every;
        let most = now + self.every * self.burst;
        if taken_at > most {
            return Err(taken_at - most);
        }
        *full_at = taken_at;
        Ok(())
    }

    /// So many a second.
    fn per_second(count: u32, burst: u32) -> Rate {
        Rate { every: Duration::from_secs(1) / count, burst }
    }

    /// What some clients may do that each wait `interval` in between.
    fn of_clients(interval: Duration) -> Rate {
        let clients = limits::ADDRESS_SAYS_AS_CLIENTS;
        Rate { every: interval / clients, burst: clients }
    }
}

impl Spending {
    /// The kind of spending of a command; `None` if only the rules of the game limit it.
    pub fn on(action: &Action) -> Option<Spending> {
        match action {
            Action::Chat { .. } => Some(Spending::Chat),
            Action::Ping => Some(Spending::MapPing),
            Action::ClanCreate { .. }
            | Action::ClanLeave
            | Action::ClanRequest { .. }
            | Action::ClanAnswer { .. }
            | Action::ClanKick { .. } => Some(Spending::Clan),
            _ => None,
        }
    }

    /// The rule's name in answers, metrics and the log.
    pub fn rule(self) -> &'static str {
        match self {
            Spending::Connection => "address_connection_rate",
            Spending::Client => "address_client_rate",
            Spending::Join => "address_join_rate",
            Spending::Chat => "address_chat_rate",
            Spending::MapPing => "address_map_ping_rate",
            Spending::Clan => "address_clan_rate",
        }
    }

    /// The problem and its remedy, for the `error` packet.
    pub fn detail(self) -> &'static str {
        match self {
            Spending::Connection | Spending::Client => {
                "the clients of your address connect too often: wait a few seconds"
            }
            Spending::Join => {
                "the clients of your address join too often: wait a few seconds and enter again"
            }
            Spending::Chat => "the clients of your address chat too much: wait a second",
            Spending::MapPing => "the clients of your address ping too often: wait a second",
            Spending::Clan => "the clients of your address send too many clan requests: wait a second",
        }
    }

    /// How often an address may do it.
    pub fn rate(self) -> Rate {
        match self {
            Spending::Connection => {
                Rate::per_second(limits::ADDRESS_CONNECTIONS_PER_SECOND, limits::ADDRESS_CONNECTIONS_BURST)
            }
            Spending::Client => {
                Rate::per_second(limits::ADDRESS_CLIENTS_PER_SECOND, limits::ADDRESS_CLIENTS_BURST)
            }
            Spending::Join => Rate::per_second(limits::ADDRESS_JOINS_PER_SECOND, limits::ADDRESS_JOINS_BURST),
            Spending::Chat => Rate::of_clients(limits::CHAT_INTERVAL),
            Spending::MapPing => Rate::of_clients(limits::MAP_PING_INTERVAL),
            Spending::Clan => Rate::of_clients(limits::CLAN_INTERVAL),
        }
    }
}

/// When the buckets of one address are full again, by [`Spending`].
type Buckets = [Duration; KINDS];

/// See the [module](self).
#[derive(Debug)]
pub struct Budgets {
    are_in_force: bool,
    addresses: Mutex<HashMap<Household, Buckets>>,
}

impl Budgets {
    /// Unspent budgets. If `are_in_force` is false, nothing is ever limited.
    pub fn new(are_in_force: bool) -> Budgets {
        Budgets { are_in_force, addresses: Mutex::default() }
    }

    /// Takes a token from this address.
    ///
    /// # Errors
    /// There is none; the time until there is one.
    pub fn take(&self, address: Household, spending: Spending, now: Duration) -> Result<(), Duration> {
        if !self.are_in_force {
            return Ok(());
        }
        let mut addresses = self.addresses.lock();
        if addresses.len() >= limits::BUDGET_ADDRESSES && !addresses.contains_key(&address) {
            forget(&mut addresses, now);
        }
        let buckets = addresses.entry(address).or_default();
        spending.rate().take(&mut buckets[spending as usize], now)
    }

    /// When the bucket of this address is full again; zero for one that was never used.
    pub fn full_at(&self, address: Household, spending: Spending) -> Duration {
        self.addresses.lock().get(&address).map_or(Duration::ZERO, |buckets| buckets[spending as usize])
    }

    /// Gives a token back, because the action did not take place.
    pub fn give_back(&self, address: Household, spending: Spending) {
        if let Some(buckets) = self.addresses.lock().get_mut(&address) {
            let full_at = &mut buckets[spending as usize];
            *full_at = full_at.saturating_sub(spending.rate().every);
        }
    }
}

/// When all buckets of an address are full.
fn all_full_at(buckets: &Buckets) -> Duration {
    buckets.iter().copied().max().unwrap_or_default()
}

/// Makes room for an eighth of all addresses at least, so that it is seldom done: those with full buckets go, and if these are too few,
/// those that are full soonest.
fn forget(addresses: &mut HashMap<Household, Buckets>, now: Duration) {
    addresses.retain(|_, buckets| all_full_at(buckets) > now);
    let kept = limits::BUDGET_ADDRESSES - limits::BUDGET_ADDRESSES / 8;
    let Some(surplus @ 1..) = addresses.len().checked_sub(kept) else { return };
    let mut by_time: Vec<(Duration, Household)> =
        addresses.iter().map(|(address, buckets)| (all_full_at(buckets), *address)).collect();
    let (soonest, last, _) = by_time.select_nth_unstable(surplus - 1);
    for (_, address) in soonest.iter().chain([&*last]) {
        addresses.remove(address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(7);

    fn ip(text: &str) -> Household {
        Household::of(text.parse().expect("an address"))
    }

    /// An IPv4 address, by number.
    fn address(number: usize) -> Household {
        Household::of(std::net::Ipv4Addr::from_bits(number as u32).into())
    }

    /// How many of these come through at one time.
    fn taken(budgets: &Budgets, from: Household, spending: Spending, now: Duration) -> usize {
        (0..).take_while(|_| budgets.take(from, spending, now).is_ok()).count()
    }

    #[test]
    fn an_address_says_as_much_as_four_clients() {
        let (budgets, from) = (Budgets::new(true), ip("203.0.113.9"));
        for (spending, interval) in [
            (Spending::Chat, limits::CHAT_INTERVAL),
            (Spending::MapPing, limits::MAP_PING_INTERVAL),
            (Spending::Clan, limits::CLAN_INTERVAL),
        ] {
            let tries = (0..10_000u32).map(|step| START + interval / 100 * step);
            let said = tries.filter(|now| budgets.take(from, spending, *now).is_ok()).count();
            // One client may do it at once and again after each interval: a hundred times. Tokens come one by one, not four at a time.
            assert!((4 * 100..4 * 101).contains(&said), "{spending:?} {said} times");
        }
    }

    #[test]
    fn a_class_of_forty_behind_one_address_loads_the_page_and_joins_at_once() {
        let (budgets, class) = (Budgets::new(true), ip("203.0.113.9"));
        assert!(taken(&budgets, class, Spending::Connection, START) >= 40 * 61);
        // And again, when the server was started anew.
        assert!(taken(&budgets, class, Spending::Client, START) >= 2 * limits::CLIENTS_PER_ADDRESS);
        assert!(taken(&budgets, class, Spending::Join, START) >= 2 * limits::CLIENTS_PER_ADDRESS);
    }

    #[test]
    fn a_spent_budget_says_when_there_is_a_token_again() {
        let (budgets, from) = (Budgets::new(true), ip("203.0.113.9"));
        for spending in [Spending::Connection, Spending::Client, Spending::Join, Spending::Chat] {
            taken(&budgets, from, spending, START);
            let wait = budgets.take(from, spending, START).expect_err("spent");
            let again = START + wait;
            assert!(budgets.take(from, spending, again - Duration::from_nanos(1)).is_err(), "{spending:?}");
            assert_eq!(budgets.take(from, spending, again), Ok(()), "{spending:?}");
            assert!(budgets.take(from, spending, again).is_err(), "{spending:?}");
        }
    }

    #[test]
    fn addresses_and_kinds_of_spending_do_not_share_a_budget_but_a_network_of_ipv6_does() {
        let budgets = Budgets::new(true);
        for number in 0..8 {
            let _ = budgets.take(ip(&format!("2001:db8::{number}")), Spending::Chat, START);
        }
        assert!(budgets.take(ip("2001:db8::ffff"), Spending::Chat, START).is_err());
        assert!(budgets.take(ip("2001:db8::ffff"), Spending::Join, START).is_ok());
        assert!(budgets.take(ip("2001:db8:0:1::1"), Spending::Chat, START).is_ok());
    }

    #[test]
    fn a_token_that_is_given_back_can_be_taken_again() {
        let (budgets, from) = (Budgets::new(true), ip("203.0.113.9"));
        budgets.give_back(from, Spending::Client);
        let all = taken(&budgets, from, Spending::Client, START);
        assert_eq!(all, limits::ADDRESS_CLIENTS_BURST as usize, "none was taken before");
        budgets.give_back(from, Spending::Client);
        assert_eq!(taken(&budgets, from, Spending::Client, START), 1);
    }

    #[test]
    fn without_budgets_in_force_nothing_is_limited() {
        let (budgets, from) = (Budgets::new(false), ip("203.0.113.9"));
        assert!((0..100_000).all(|_| budgets.take(from, Spending::Chat, START).is_ok()));
        assert!(budgets.addresses.lock().is_empty());
    }

    #[test]
    fn addresses_are_forgotten_once_their_budgets_are_full() {
        let budgets = Budgets::new(true);
        for number in 0..limits::BUDGET_ADDRESSES {
            let _ = budgets.take(address(number), Spending::Chat, START);
        }
        let later = START + limits::CHAT_INTERVAL;
        let _ = budgets.take(ip("203.0.113.9"), Spending::Chat, later);
        assert_eq!(budgets.addresses.lock().len(), 1);
    }

    #[test]
    fn with_too_many_addresses_those_that_have_spent_the_least_are_forgotten() {
        let (budgets, attacker) = (Budgets::new(true), ip("203.0.113.9"));
        taken(&budgets, attacker, Spending::Chat, START);
        for number in 0..3 * limits::BUDGET_ADDRESSES {
            assert!(budgets.take(address(number), Spending::Chat, START).is_ok(), "address {number}");
            assert!(budgets.addresses.lock().len() <= limits::BUDGET_ADDRESSES);
        }
        assert!(budgets.take(attacker, Spending::Chat, START).is_err(), "it is still known");
    }
}
