//! Rate limits per address: what its clients may do together, and which addresses are remembered.

use std::time::Duration;

use tickwire::internal::limits;
use tickwire::internal::server::admission::address_rate_limits::{AddressRateLimits, LimitedAction};
use tickwire::internal::server::admission::sync_scheduler::SyncRequest;
use tickwire::internal::util::address_prefix::AddressPrefix;

use crate::session::shared;

const START: Duration = Duration::from_secs(7);

fn ip(text: &str) -> AddressPrefix {
    AddressPrefix::from_ip(text.parse().expect("an address"))
}

/// An IPv4 address, by number.
fn address(number: usize) -> AddressPrefix {
    AddressPrefix::from_ip(std::net::Ipv4Addr::from_bits(number as u32).into())
}

/// The action of a chat message.
fn chat() -> LimitedAction {
    LimitedAction::Shared(shared()[0])
}

/// The number of these actions that are allowed at one time.
fn taken(
    address_limits: &AddressRateLimits,
    from: AddressPrefix,
    spending: LimitedAction,
    now: Duration,
) -> usize {
    (0..).take_while(|_| address_limits.take(from, spending, now).is_ok()).count()
}

#[test]
fn an_address_may_chat_as_much_as_four_clients() {
    let (address_limits, from) = (AddressRateLimits::new(true), ip("203.0.113.9"));
    let intervals = [limits::CHAT_INTERVAL, limits::MAP_PING_INTERVAL, limits::CLAN_INTERVAL];
    for (spending, interval) in shared().map(LimitedAction::Shared).into_iter().zip(intervals) {
        let tries = (0..10_000u32).map(|step| START + interval / 100 * step);
        let said = tries.filter(|now| address_limits.take(from, spending, *now).is_ok()).count();
        // One client may do it at once and again after each interval: a hundred times. Tokens come one by one, not four at a time.
        assert!((4 * 100..4 * 101).contains(&said), "{spending:?} {said} times");
    }
}

#[test]
fn a_class_of_forty_behind_one_address_loads_the_page_and_joins_at_once() {
    let (address_limits, class) = (AddressRateLimits::new(true), ip("203.0.113.9"));
    assert!(taken(&address_limits, class, LimitedAction::Connection, START) >= 40 * 61);
    // After a restart of the server, all of them connect and join once more.
    assert!(taken(&address_limits, class, LimitedAction::Client, START) >= 2 * limits::CLIENTS_PER_ADDRESS);
    assert!(taken(&address_limits, class, LimitedAction::Join, START) >= 2 * limits::CLIENTS_PER_ADDRESS);
}

#[test]
fn a_spent_budget_reports_when_a_token_is_available() {
    let (address_limits, from) = (AddressRateLimits::new(true), ip("203.0.113.9"));
    for spending in [LimitedAction::Connection, LimitedAction::Client, LimitedAction::Join, chat()] {
        taken(&address_limits, from, spending, START);
        let wait = address_limits.take(from, spending, START).expect_err("spent");
        let again = START + wait;
        assert!(
            address_limits.take(from, spending, again - Duration::from_nanos(1)).is_err(),
            "{spending:?}"
        );
        assert_eq!(address_limits.take(from, spending, again), Ok(()), "{spending:?}");
        assert!(address_limits.take(from, spending, again).is_err(), "{spending:?}");
    }
}

#[test]
fn addresses_and_kinds_of_spending_do_not_share_a_budget_but_a_network_of_ipv6_does() {
    let (address_limits, chat) = (AddressRateLimits::new(true), chat());
    for number in 0..8 {
        let _ = address_limits.take(ip(&format!("2001:db8::{number}")), chat, START);
    }
    assert!(address_limits.take(ip("2001:db8::ffff"), chat, START).is_err());
    assert!(address_limits.take(ip("2001:db8::ffff"), LimitedAction::Join, START).is_ok());
    assert!(address_limits.take(ip("2001:db8:0:1::1"), chat, START).is_ok());
}

#[test]
fn a_returned_token_can_be_taken_again() {
    let (address_limits, from) = (AddressRateLimits::new(true), ip("203.0.113.9"));
    address_limits.refund(from, LimitedAction::Client);
    let all = taken(&address_limits, from, LimitedAction::Client, START);
    assert_eq!(all, limits::ADDRESS_CLIENTS_BURST as usize, "none was taken before");
    address_limits.refund(from, LimitedAction::Client);
    assert_eq!(taken(&address_limits, from, LimitedAction::Client, START), 1);
}

#[test]
fn without_budgets_in_force_nothing_is_limited() {
    let (address_limits, from, chat) = (AddressRateLimits::new(false), ip("203.0.113.9"), chat());
    assert!((0..100_000).all(|_| address_limits.take(from, chat, START).is_ok()));
    assert_eq!(address_limits.addresses(), 0);
}

#[test]
fn addresses_are_forgotten_once_their_budgets_are_full() {
    let (address_limits, chat) = (AddressRateLimits::new(true), chat());
    for number in 0..limits::MAX_TRACKED_ADDRESSES {
        let _ = address_limits.take(address(number), chat, START);
    }
    let _ = address_limits.take(ip("203.0.113.9"), chat, START + limits::CHAT_INTERVAL);
    assert_eq!(address_limits.addresses(), 1);
}

#[test]
fn with_too_many_addresses_those_that_have_spent_the_least_are_forgotten() {
    let (address_limits, attacker, chat) = (AddressRateLimits::new(true), ip("203.0.113.9"), chat());
    taken(&address_limits, attacker, chat, START);
    for number in 0..3 * limits::MAX_TRACKED_ADDRESSES {
        assert!(address_limits.take(address(number), chat, START).is_ok(), "address {number}");
        assert!(address_limits.addresses() <= limits::MAX_TRACKED_ADDRESSES);
    }
    assert!(address_limits.take(attacker, chat, START).is_err(), "it is still known");
}

#[test]
fn suspended_time_refills_the_budgets_of_an_address_once() {
    let (address_limits, from, awake) = (AddressRateLimits::new(true), ip("203.0.113.9"), ip("203.0.113.10"));
    let (hour, blink) = (Duration::from_secs(3_600), Duration::from_nanos(1));
    let other = AddressRateLimits::new(true);
    for spending in [chat(), LimitedAction::Join, LimitedAction::Client, LimitedAction::Connection] {
        let burst = spending.rate().burst as usize;
        assert_eq!(taken(&address_limits, from, spending, START), burst, "{spending:?}");
        assert_eq!(taken(&other, awake, spending, START), burst, "{spending:?}");
    }
    // The clock of the server hardly moves while the machine is suspended.
    address_limits.note_suspended(hour);
    for spending in [chat(), LimitedAction::Join, LimitedAction::Client, LimitedAction::Connection] {
        let burst = spending.rate().burst as usize;
        assert_eq!(
            taken(&address_limits, from, spending, START + blink),
            burst,
            "{spending:?} after the hour"
        );
        // The same suspended time, or an older reading of another thread, refills nothing.
        address_limits.note_suspended(hour);
        address_limits.note_suspended(hour / 2);
        assert_eq!(taken(&address_limits, from, spending, START + blink * 2), 0, "{spending:?} again");
        assert_eq!(taken(&other, awake, spending, START + blink * 2), 0, "{spending:?} without suspension");
        // A refusal still counts the time until the next token.
        let wait = address_limits.take(from, spending, START + blink * 2).expect_err("spent");
        assert!(wait <= spending.rate().every, "{spending:?} in {wait:?}");
    }
}

#[test]
fn suspended_time_and_slack_of_the_same_pause_do_not_add_up() {
    let (address_limits, from, chat) = (AddressRateLimits::new(true), ip("203.0.113.9"), chat());
    let (rate, pause) = (chat.rate(), Duration::from_secs(5));
    let late = || (0..).take_while(|_| address_limits.take_late(from, chat, START, pause).is_ok()).count();
    assert_eq!(taken(&address_limits, from, chat, START), rate.burst as usize);
    address_limits.note_suspended(pause);
    let gained = pause.div_duration_f64(rate.every) as usize;
    assert_eq!((late(), late()), (gained, 0), "what five seconds have brought, once");
}

#[test]
fn an_address_is_forgotten_once_its_budgets_were_refilled_by_suspended_time() {
    let (address_limits, chat) = (AddressRateLimits::new(true), chat());
    for number in 0..limits::MAX_TRACKED_ADDRESSES {
        let _ = address_limits.take(address(number), chat, START);
    }
    address_limits.note_suspended(limits::CHAT_INTERVAL);
    let _ = address_limits.take(ip("203.0.113.9"), chat, START);
    assert_eq!(address_limits.addresses(), 1);
}

#[test]
fn suspended_time_refills_the_snapshots_of_an_address_and_of_the_server() {
    let (address_limits, prefix) = (AddressRateLimits::new(true), ip("203.0.113.9"));
    let bytes = limits::LOCKSTEP_SYNC_BYTES_PER_SECOND as usize;
    let asks = SyncRequest { prefix, connection: 1, last_sync: None, bytes };
    let last_sync = || (0..1_000).take_while(|_| address_limits.try_start_sync(&asks, START)).count();
    let at_first = last_sync();
    assert!((1..1_000).contains(&at_first), "{at_first}");
    assert_eq!(last_sync(), 0);
    address_limits.note_suspended(Duration::from_secs(3_600));
    assert_eq!((last_sync(), last_sync()), (at_first, 0));
}
