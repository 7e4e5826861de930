//! The connections that admission grants and refuses, by address, network and place.

use std::sync::Arc;

use tickwire::internal::limits;
use tickwire::internal::server::admission::pool::NoSlot;
use tickwire::internal::server::admission::{Admission, Admitted, Capacity, Permit, RefusalReason, SlotKind};
use tickwire::internal::util::address_prefix::AddressPrefix;

const HEADS_FULL: RefusalReason = RefusalReason::NoSlot(SlotKind::Pending, NoSlot::Full);
const HEADS_OF_ADDRESS: RefusalReason = RefusalReason::NoSlot(SlotKind::Pending, NoSlot::AddressLimit);
const CLIENTS_OF_ADDRESS: RefusalReason = RefusalReason::NoSlot(SlotKind::Client, NoSlot::AddressLimit);

fn ip(text: &str) -> AddressPrefix {
    AddressPrefix::from_ip(text.parse().expect("an address"))
}

/// An IPv4 address, by number.
fn address(number: u32) -> AddressPrefix {
    AddressPrefix::from_ip(std::net::Ipv4Addr::from_bits(number).into())
}

fn admit(admission: &Arc<Admission>, prefix: AddressPrefix) -> Result<Permit, RefusalReason> {
    admission.admit(Some(prefix)).map(|admitted| admitted.permit)
}

/// A place of this kind for this address.
fn enter(
    admission: &Arc<Admission>,
    place: SlotKind,
    prefix: AddressPrefix,
) -> Result<Permit, RefusalReason> {
    let mut permit = admit(admission, prefix)?;
    permit.convert_to(place).map(|()| permit)
}

fn is_empty(admission: &Admission) -> bool {
    [SlotKind::Pending, SlotKind::Client, SlotKind::Inspector]
        .iter()
        .all(|place| admission.in_use(*place) == 0)
}

#[test]
fn pending_caps_hold_in_all_and_per_address() {
    let admission = Admission::new(Capacity { pending: 3, pending_per_address: 1, ..Capacity::default() });
    let first = admit(&admission, address(1)).unwrap();
    assert_eq!(admit(&admission, address(1)).unwrap_err(), HEADS_OF_ADDRESS);
    let _others = [2, 3].map(|number| admit(&admission, address(number)).unwrap());
    assert_eq!(admit(&admission, address(4)).unwrap_err(), HEADS_FULL);
    drop(first);
    assert!(admit(&admission, ip("2001:db8::1")).is_ok());
}

#[test]
fn a_displaced_request_is_refused_and_releases_its_place_once() {
    let admission = Admission::new(Capacity { pending: 4, ..Capacity::default() });
    let mut greedy = [1, 1].map(|number| admit(&admission, address(number)).unwrap());
    let near = admit(&admission, address(2)).unwrap();
    let Admitted { mut permit, displaced } = admission.admit(Some(address(3))).unwrap();
    assert_eq!(displaced, Some(greedy[0].number()), "the oldest of the address that has most");
    assert_eq!(greedy[0].convert_to(SlotKind::Client), Err(RefusalReason::Displaced));
    assert_eq!(greedy[0].convert_to(SlotKind::Inspector), Err(RefusalReason::Displaced));
    greedy[1].convert_to(SlotKind::Client).unwrap();
    permit.convert_to(SlotKind::Client).unwrap();
    drop((greedy, near, permit));
    assert!(is_empty(&admission));
}

#[test]
fn a_newcomer_waits_for_the_end_of_a_displaced_connection() {
    let admission = Admission::new(Capacity { pending: 2, ..Capacity::default() });
    let first = admit(&admission, address(1)).unwrap();
    let Admitted { permit: second, displaced } = admission.admit(Some(address(2))).unwrap();
    assert!(displaced.is_some(), "the second place is the reserve");
    let admitted = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| admission.admit(Some(address(3))));
        // The thread of a displaced connection, which ends when it may.
        std::thread::yield_now();
        drop(first);
        waiting.join().expect("no panic")
    });
    assert_eq!(admitted.unwrap().displaced, Some(second.number()));
}

#[test]
fn clients_and_watchers_are_never_displaced_and_their_places_are_released() {
    let admission = Admission::new(Capacity { pending: 2, ..Capacity::default() });
    let mut kept = Vec::new();
    for number in 0..40 {
        let Admitted { mut permit, displaced } = admission.admit(Some(address(number))).unwrap();
        assert_eq!(displaced, None);
        permit.convert_to(if number % 10 == 0 { SlotKind::Inspector } else { SlotKind::Client }).unwrap();
        kept.push(permit);
    }
    assert_eq!((admission.in_use(SlotKind::Client), admission.in_use(SlotKind::Inspector)), (36, 4));
    drop(kept);
    assert!(is_empty(&admission));
}

#[test]
fn one_address_has_half_of_the_watchers() {
    let admission = Admission::new(Capacity::default());
    let watch = |number| enter(&admission, SlotKind::Inspector, address(number));
    let here: Vec<_> = (0..limits::MAX_INSPECTORS / 2).map(|_| watch(1).unwrap()).collect();
    assert_eq!(watch(1).unwrap_err(), RefusalReason::NoSlot(SlotKind::Inspector, NoSlot::AddressLimit));
    assert!(watch(2).is_ok());
    drop(here);
    assert!(watch(1).is_ok() && is_empty(&admission));
}

#[test]
fn a_proxys_requests_count_for_the_address_behind_it() {
    let caps =
        Capacity { pending: 16, pending_per_address: 1, clients_per_address: 1, ..Capacity::default() };
    let admission = Admission::new(caps);
    let mut permits = [(); 4].map(|()| admission.admit(None).unwrap().permit);
    admission.ban(address(3));
    let [first, second, third, fourth] = &mut permits;
    assert_eq!(
        first.convert_to(SlotKind::Client),
        Err(RefusalReason::Unavailable),
        "the address comes first"
    );
    first.set_address(address(1)).unwrap();
    first.set_address(address(1)).unwrap();
    assert_eq!(second.set_address(address(1)), Err(HEADS_OF_ADDRESS));
    assert_eq!(third.set_address(address(3)), Err(RefusalReason::Banned));
    fourth.set_address(address(2)).unwrap();
    first.convert_to(SlotKind::Client).unwrap();
    second.set_address(address(1)).unwrap();
    assert_eq!(second.convert_to(SlotKind::Client), Err(CLIENTS_OF_ADDRESS));
    fourth.convert_to(SlotKind::Client).unwrap();
    drop(permits);
    assert!(is_empty(&admission));
}

#[test]
fn a_relayed_request_counts_for_its_client_and_no_longer_for_the_relay() {
    let caps =
        Capacity { pending: 16, pending_per_address: 1, clients_per_address: 1, ..Capacity::default() };
    let admission = Admission::new(caps);
    admission.ban(address(3));
    let (relay, client) = (address(9), address(1));
    let mut first = admit(&admission, relay).unwrap();
    assert_eq!(admit(&admission, relay).unwrap_err(), HEADS_OF_ADDRESS);
    assert_eq!(first.move_to_address(address(3)), Err(RefusalReason::Banned));
    first.move_to_address(client).unwrap();
    first.move_to_address(client).unwrap();
    let mut second = admit(&admission, relay).unwrap();
    assert_eq!(second.move_to_address(client), Err(HEADS_OF_ADDRESS));
    first.convert_to(SlotKind::Client).unwrap();
    second.move_to_address(client).unwrap();
    assert_eq!(second.convert_to(SlotKind::Client), Err(CLIENTS_OF_ADDRESS));
    drop((first, second));
    assert!(is_empty(&admission));
}

#[test]
fn a_banned_address_gets_no_place_and_turns_no_request_into_a_client_and_bans_are_bounded() {
    let (admission, banned, near) = (Admission::new(Capacity::default()), address(1), address(2));
    let mut before = admit(&admission, banned).unwrap();
    assert_eq!([admission.ban(banned), admission.ban(banned)], [Some(true), Some(false)]);
    assert_eq!(admit(&admission, banned).unwrap_err(), RefusalReason::Banned);
    assert_eq!(before.convert_to(SlotKind::Client), Err(RefusalReason::Banned));
    assert!(admit(&admission, near).is_ok() && admission.is_banned(banned) && !admission.is_banned(near));
    assert_eq!(admission.bans(), [banned]);
    assert_eq!([admission.unban(banned), admission.unban(banned)], [true, false]);
    assert!(admit(&admission, banned).is_ok() && before.convert_to(SlotKind::Client).is_ok());
    assert!((0..limits::MAX_BANS).all(|number| admission.ban(address(number as u32)) == Some(true)));
    assert_eq!(admission.ban(address(limits::MAX_BANS as u32)), None);
    assert_eq!(admission.ban(address(0)), Some(false), "it is banned already");
}

#[test]
fn a_network_of_ipv6_has_the_places_and_the_ban_of_one_address() {
    let caps = Capacity { pending_per_address: 2, clients_per_address: 1, ..Capacity::default() };
    let admission = Admission::new(caps);
    let mut permits = ["2001:db8::1", "2001:db8::2"].map(|text| admit(&admission, ip(text)).unwrap());
    assert_eq!(admit(&admission, ip("2001:db8::3")).unwrap_err(), HEADS_OF_ADDRESS);
    permits[0].convert_to(SlotKind::Client).unwrap();
    assert_eq!(permits[1].convert_to(SlotKind::Client), Err(CLIENTS_OF_ADDRESS));
    assert_eq!(admission.ban(ip("2001:db8::9")), Some(true));
    assert_eq!(admission.ban(ip("2001:db8::8")), Some(false), "one ban for all of the /64");
    assert_eq!(admit(&admission, ip("2001:db8::ffff:1")).unwrap_err(), RefusalReason::Banned);
    assert!(admit(&admission, ip("2001:db8:0:1::1")).is_ok());
}

#[test]
fn client_caps_hold_and_places_are_released() {
    let admission = Admission::new(Capacity { clients: 2, clients_per_address: 1, ..Capacity::default() });
    let client = |number| enter(&admission, SlotKind::Client, address(number));
    let kept = [client(1).unwrap(), client(2).unwrap()];
    assert_eq!(client(1).unwrap_err(), RefusalReason::NoSlot(SlotKind::Client, NoSlot::AddressLimit));
    assert_eq!(client(3).unwrap_err(), RefusalReason::NoSlot(SlotKind::Client, NoSlot::Full));
    drop(kept);
    assert!(client(1).is_ok() && is_empty(&admission));
}

#[test]
fn addresses_that_take_all_they_can_leave_places_for_others() {
    let admission = Admission::new(Capacity { clients: 200, clients_per_address: 64, ..Capacity::default() });
    let client = |number| enter(&admission, SlotKind::Client, address(number)).ok();
    let greedy: Vec<_> = (0..200).flat_map(|_| (0..7).map(client).collect::<Vec<_>>()).flatten().collect();
    let others: Vec<_> = (100..125).filter_map(client).collect();
    assert_eq!(others.len(), 25, "{} are greedy", greedy.len());
}
