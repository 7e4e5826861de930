//! The scripts of reports in a real Redis.

use std::thread;
use std::time::{Duration, Instant};

use super::scripts::{connect, process, start_redis};
use crate::limits;
use crate::server::cluster::reports::ReportStore as _;
use crate::server::net::cluster::redis_store::RedisStore;

/// No test takes as long.
const LONG: Duration = Duration::from_secs(3_600);

#[test]
fn a_report_is_replaced_by_the_next_and_ends_with_its_time_or_its_process() {
    let Some((_redis, url)) = start_redis() else { return };
    let [mut a, mut b] = ["a", "b"].map(|name| RedisStore::new(&url, process(name)).expect("a URL"));
    connect(&mut a);
    connect(&mut b);
    assert_eq!(a.reports(), Ok(vec![]));
    for report in ["first", "of a"] {
        assert_eq!(a.publish_report(report, LONG), Ok(1));
    }
    assert_eq!(b.publish_report("of b", LONG), Ok(2));
    let mut all = a.reports().expect("a reply");
    all.sort();
    assert_eq!(all, ["of a", "of b"]);
    b.remove_report().expect("a reply");
    assert_eq!(b.reports(), Ok(vec!["of a".to_owned()]));
    assert_eq!(a.publish_report("of a", Duration::from_millis(1)), Ok(1));
    let deadline = Instant::now() + Duration::from_secs(20);
    while a.reports() != Ok(vec![]) {
        assert!(Instant::now() < deadline, "the report of a dead process remains");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn above_the_maximum_of_processes_a_report_is_refused() {
    let Some((_redis, url)) = start_redis() else { return };
    let store = |number: usize| {
        let mut store = RedisStore::new(&url, process(&number.to_string())).expect("a URL");
        connect(&mut store);
        store
    };
    for number in 0..limits::CLUSTER_PROCESSES {
        assert_eq!(store(number).publish_report("x", LONG), Ok(number + 1));
    }
    let mut last = store(limits::CLUSTER_PROCESSES);
    assert_eq!(last.publish_report("x", LONG), Ok(0));
    assert_eq!(store(0).publish_report("again", LONG), Ok(limits::CLUSTER_PROCESSES));
    store(0).remove_report().expect("a reply");
    assert_eq!(last.publish_report("x", LONG), Ok(limits::CLUSTER_PROCESSES));
}
