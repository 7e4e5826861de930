//! The connections that admission grants and refuses, by address, network and role.

use super::*;

const FAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9));
const NEAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 10));
const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn admit(admission: &Arc<Admission>, address: IpAddr) -> Result<Permit, RefusedBy> {
    admission.admit(Some(address)).map(|admitted| admitted.permit)
}

fn is_empty(admission: &Admission) -> bool {
    let counts = admission.counts.lock();
    counts.pending.is_empty() && counts.clients.is_empty() && counts.watchers.is_empty()
}

#[test]
fn pending_caps_hold_in_all_and_per_address() {
    let admission = Admission::new(Caps { pending: 3, pending_per_address: 1, ..Caps::default() });
    let first = admit(&admission, FAR).unwrap();
    assert_eq!(admit(&admission, FAR).unwrap_err(), RefusedBy::HeadsPendingForAddress);
    let _others = [HERE, NEAR].map(|address| admission.admit(Some(address)).unwrap());
    let [v4, v6] = ["203.0.113.11", "2001:db8::1"].map(|text| text.parse().expect("an address"));
    assert_eq!(admit(&admission, v4).unwrap_err(), RefusedBy::HeadsPending);
    drop(first);
    assert!(admit(&admission, v6).is_ok());
}

#[test]
fn a_displaced_request_becomes_nothing_and_gives_its_place_back_once() {
    let admission = Admission::new(Caps { pending: 4, ..Caps::default() });
    let mut greedy = [FAR, FAR].map(|address| admit(&admission, address).unwrap());
    let near = admit(&admission, NEAR).unwrap();
    let Admitted { mut permit, displaced } = admission.admit(Some(HERE)).unwrap();
    assert_eq!(displaced, Some(greedy[0].number()), "the oldest of the address that has most");
    assert_eq!(greedy[0].become_client(), Err(RefusedBy::Displaced));
    assert_eq!(greedy[0].become_watcher(), Err(RefusedBy::Displaced));
    greedy[1].become_client().unwrap();
    permit.become_client().unwrap();
    drop((greedy, near, permit));
    assert!(is_empty(&admission));
}

#[test]
fn a_newcomer_waits_for_the_end_of_a_displaced_connection() {
    let admission = Admission::new(Caps { pending: 2, ..Caps::default() });
    let first = admit(&admission, FAR).unwrap();
    let Admitted { permit: second, displaced } = admission.admit(Some(NEAR)).unwrap();
    assert!(displaced.is_some(), "the second place is the reserve");
    let admitted = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| admission.admit(Some(HERE)));
        // The thread of a displaced connection, which ends when it may.
        std::thread::yield_now();
        drop(first);
        waiting.join().expect("no panic")
    });
    assert_eq!(admitted.unwrap().displaced, Some(second.number()));
}

#[test]
fn clients_and_watchers_are_never_displaced() {
    let admission = Admission::new(Caps { pending: 2, ..Caps::default() });
    let address = |number: u32| IpAddr::V4(std::net::Ipv4Addr::from_bits(number));
    let mut kept = Vec::new();
    for number in 0..40 {
        let Admitted { mut permit, displaced } = admission.admit(Some(address(number))).unwrap();
        assert_eq!(displaced, None);
        if number % 10 == 0 { permit.become_watcher() } else { permit.become_client() }.unwrap();
        kept.push(permit);
    }
    drop(kept);
    assert!(is_empty(&admission));
}

#[test]
fn one_address_has_half_of_the_watchers() {
    let admission = Admission::new(Caps::default());
    let watch =
        |address| admit(&admission, address).and_then(|mut permit| permit.become_watcher().map(|()| permit));
    let here: Vec<_> = (0..limits::WATCHERS / 2).map(|_| watch(HERE).unwrap()).collect();
    assert_eq!(watch(HERE).unwrap_err(), RefusedBy::WatchersForAddress);
    assert!(watch(FAR).is_ok());
    drop(here);
    assert!(watch(HERE).is_ok() && is_empty(&admission));
}

#[test]
fn a_proxys_requests_count_for_who_is_behind_it() {
    let admission = Admission::new(Caps {
        pending: 16,
        pending_per_address: 1,
        clients_per_address: 1,
        ..Caps::default()
    });
    let mut permits = [(); 4].map(|()| admission.admit(None).unwrap().permit);
    admission.ban(HERE);
    let [first, second, third, fourth] = &mut permits;
    assert_eq!(first.become_client(), Err(RefusedBy::Unavailable), "whose it is comes first");
    first.belongs_to(FAR).unwrap();
    first.belongs_to(FAR).unwrap();
    assert_eq!(second.belongs_to(FAR), Err(RefusedBy::HeadsPendingForAddress));
    assert_eq!(third.belongs_to(HERE), Err(RefusedBy::Banned));
    fourth.belongs_to(NEAR).unwrap();
    first.become_client().unwrap();
    second.belongs_to(FAR).unwrap();
    assert_eq!(second.become_client(), Err(RefusedBy::ClientsForAddress));
    fourth.become_client().unwrap();
    drop(permits);
    assert!(is_empty(&admission));
}

#[test]
fn a_banned_address_gets_no_place_and_turns_no_request_into_a_client() {
    let admission = Admission::new(Caps::default());
    let mut before = admit(&admission, FAR).unwrap();
    assert_eq!([admission.ban(FAR), admission.ban(FAR)], [Some(true), Some(false)]);
    assert_eq!(admit(&admission, FAR).unwrap_err(), RefusedBy::Banned);
    assert_eq!(before.become_client(), Err(RefusedBy::Banned));
    assert!(admit(&admission, NEAR).is_ok() && admission.is_banned(FAR) && !admission.is_banned(NEAR));
    assert_eq!(admission.bans(), [Household::of(FAR)]);
    assert_eq!([admission.unban(FAR), admission.unban(FAR)], [true, false]);
    assert!(admit(&admission, FAR).is_ok() && before.become_client().is_ok());
}

#[test]
fn a_network_of_ipv6_has_the_places_and_the_ban_of_one_address() {
    let admission =
        Admission::new(Caps { pending_per_address: 2, clients_per_address: 1, ..Caps::default() });
    let ip = |text: &str| -> IpAddr { text.parse().expect("an address") };
    let mut permits = ["2001:db8::1", "2001:db8::2"].map(|text| admit(&admission, ip(text)).unwrap());
    assert_eq!(admit(&admission, ip("2001:db8::3")).unwrap_err(), RefusedBy::HeadsPendingForAddress);
    permits[0].become_client().unwrap();
    assert_eq!(permits[1].become_client(), Err(RefusedBy::ClientsForAddress));
    assert_eq!(admission.ban(ip("2001:db8::9")), Some(true));
    assert_eq!(admission.ban(ip("2001:db8::8")), Some(false), "one ban for all of the /64");
    assert_eq!(admit(&admission, ip("2001:db8::ffff:1")).unwrap_err(), RefusedBy::Banned);
    assert!(admission.is_banned(ip("2001:db8::3")) && admit(&admission, ip("2001:db8:0:1::1")).is_ok());
    assert!(admission.unban(ip("2001:db8::7")) && admit(&admission, ip("2001:db8::9")).is_ok());
    drop(permits);
    assert!(is_empty(&admission));
}

#[test]
fn bans_are_bounded_and_one_again_is_no_more() {
    let admission = Admission::new(Caps::default());
    let address = |number: usize| IpAddr::V4(std::net::Ipv4Addr::from_bits(number as u32));
    for number in 0..limits::BANS {
        assert_eq!(admission.ban(address(number)), Some(true));
    }
    assert_eq!(admission.ban(address(limits::BANS)), None);
    assert_eq!(admission.ban(address(0)), Some(false));
}

#[test]
fn client_caps_hold_and_places_come_back() {
    let admission = Admission::new(Caps { clients: 2, clients_per_address: 1, ..Caps::default() });
    let mut permits = [FAR, FAR, NEAR].map(|address| admit(&admission, address).unwrap());
    permits[0].become_client().unwrap();
    assert_eq!(permits[1].become_client(), Err(RefusedBy::ClientsForAddress));
    let mut here = admit(&admission, HERE).unwrap();
    here.become_client().unwrap();
    assert_eq!(permits[2].become_client(), Err(RefusedBy::Clients));
    assert_eq!(admission.clients(), 2);
    drop((permits, here));
    assert!(admission.clients() == 0 && is_empty(&admission), "an address that left is forgotten");
}

#[test]
fn addresses_that_want_all_clients_leave_room_for_others() {
    let admission = Admission::new(Caps { clients: 200, clients_per_address: 64, ..Caps::default() });
    let address = |number: u32| IpAddr::V4(std::net::Ipv4Addr::from_bits(number));
    let join = |number| {
        let mut permit = admit(&admission, address(number)).ok()?;
        permit.become_client().ok().map(|()| permit)
    };
    let greedy: Vec<_> = (0..200).flat_map(|_| (0..7).map(join).collect::<Vec<_>>()).flatten().collect();
    let others: Vec<_> = (100..125).filter_map(join).collect();
    assert_eq!(others.len(), 25, "{} are greedy", greedy.len());
}
