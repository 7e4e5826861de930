//! Single rules of leases.

use std::time::Duration;

use crate::limits;
use crate::server::cluster::model_store::ModelStore;
use crate::server::cluster::{AcquireReply, Holder, Leases, RenewReply};

fn process(name: &str) -> Holder {
    Holder {
        process: name.to_owned(),
        address: format!("{name}:3000"),
        relay_key: "key".to_owned(),
        public_url: String::new(),
    }
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn a_lease_is_valid_from_before_its_request_and_ends_before_the_store_grants_it_again() {
    let mut leases = Leases::default();
    let guard = leases.on_acquired("arena", 1, ms(1_000));
    let end = ms(1_000) + limits::CLUSTER_LEASE - limits::CLUSTER_LEASE_MARGIN;
    assert!(guard.is_valid(end - ms(1)) && !guard.is_valid(end));
    leases.on_renewed("arena", 1, RenewReply::Renewed, ms(2_000));
    assert!(guard.is_valid(end) && leases.valid_count(end) == 1);
    // A reply that arrives late shortens nothing.
    leases.on_renewed("arena", 1, RenewReply::Renewed, ms(500));
    assert!(guard.is_valid(end));
    leases.on_renewed("arena", 9, RenewReply::Taken, ms(2_500));
    assert!(guard.is_valid(end), "the reply is of another lease");
    leases.on_renewed("arena", 1, RenewReply::Taken, ms(2_500));
    assert!(!guard.is_valid(end) && leases.lost() == ["arena"]);
    leases.on_renewed("arena", 1, RenewReply::Renewed, ms(2_600));
    assert!(!guard.is_valid(end), "a lost lease is never valid again");
    assert_eq!(leases.remove("arena"), Some((1, false)));
}

#[test]
fn a_process_acquires_only_through_a_connection_as_old_as_a_lease() {
    let mut leases = Leases::default();
    assert_eq!(leases.acquire_wait(ms(0)), None);
    leases.on_connection(1, ms(100));
    leases.on_connection(1, ms(900));
    assert_eq!(leases.acquire_wait(ms(1_100)), Some(limits::CLUSTER_LEASE - ms(1_000)));
    assert_eq!(leases.acquire_wait(ms(100) + limits::CLUSTER_LEASE), Some(Duration::ZERO));
    leases.on_connection(2, ms(5_000));
    assert_eq!(leases.acquire_wait(ms(5_000)), Some(limits::CLUSTER_LEASE));
}

#[test]
fn a_process_without_the_store_gives_up_its_leases_before_their_records_expire() {
    let mut leases = Leases::default();
    let guard = leases.on_acquired("arena", 1, ms(0));
    leases.give_up_old(limits::CLUSTER_MAX_OUTAGE - ms(1));
    assert!(!guard.is_lost());
    leases.give_up_old(limits::CLUSTER_MAX_OUTAGE);
    assert!(guard.is_lost());
}

#[test]
fn a_record_keeps_its_fence_so_that_only_the_last_owner_renews() {
    let (mut store, a, b) = (ModelStore::default(), process("a"), process("b"));
    assert_eq!(store.acquire(&a, "arena", 0, ms(0)), AcquireReply::Acquired { fence: 1 });
    assert_eq!(
        store.acquire(&b, "arena", 0, ms(1_000)),
        AcquireReply::Held { holder: a.clone(), left: limits::CLUSTER_LEASE - ms(1_000) }
    );
    assert_eq!(store.look_up("arena", ms(1_000)), Some(a.clone()));
    let over = limits::CLUSTER_LEASE;
    assert_eq!(store.look_up("arena", over), None);
    assert_eq!(store.renew(&a, "arena", 1, over), RenewReply::Renewed, "no other process has had it");
    assert_eq!(store.acquire(&b, "arena", 7, over * 2), AcquireReply::Acquired { fence: 8 });
    store.release(&a, "arena", 1);
    assert_eq!(store.look_up("arena", over * 2), Some(b.clone()), "a release of an earlier lease");
    store.release(&b, "arena", 8);
    assert_eq!(store.renew(&a, "arena", 1, over * 2), RenewReply::Taken);
    store.wipe();
    assert_eq!(store.renew(&a, "arena", 1, over * 3), RenewReply::Renewed, "the store has lost the record");
    assert_eq!(store.renew(&b, "arena", 8, over * 3), RenewReply::Renewed, "the higher fence");
    assert_eq!(store.renew(&a, "arena", 1, over * 3), RenewReply::Taken);
}
