//! Shared settings: conflicts, a store that is away or loses its data, bounds, and processes that
//! agree in the end whatever happens in between.

use std::collections::BTreeMap;

use tickwire_sim::Rng;

use crate::limits;
use crate::server::cluster::model_settings::ModelSettings;
use crate::server::cluster::shared_settings::{
    Exchanged, SettingGroup, SettingStore as _, SettingVersion, SharedSetting, SharedSettings, exchange,
};
use crate::util::sync::Mutex;

const BAN: &str = "ban 203.0.113.9";

/// One process, with a clock that may be wrong.
#[derive(Default)]
struct Process {
    settings: Mutex<SharedSettings>,
    clock_error_ms: i64,
}

impl Process {
    fn at(clock_error_ms: i64) -> Process {
        Process { clock_error_ms, ..Process::default() }
    }

    fn now_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_add_signed(self.clock_error_ms)
    }

    fn set(&self, key: &str, value: Option<&str>, now_ms: u64) {
        self.settings.lock().set(key, value, self.now_ms(now_ms), 7);
    }

    fn exchange(&self, store: &mut ModelSettings) -> Vec<String> {
        let (mut exchanged, now_ms) = (Exchanged::default(), self.now_ms(store.now_ms));
        let _ = exchange(store, (SettingGroup::Operator, &self.settings), now_ms, &mut exchanged);
        exchanged.changed.into_iter().map(|(key, _)| key).collect()
    }

    fn has(&self, key: &str) -> bool {
        self.settings.lock().get(key).is_some()
    }
}

fn store() -> ModelSettings {
    let mut store = ModelSettings::default();
    store.now_ms = 1_000_000;
    store
}

#[test]
fn a_change_reaches_the_other_process_once_and_an_unchanged_store_is_not_read_again() {
    let (mut store, [a, b]) = (store(), [Process::default(), Process::default()]);
    a.set(BAN, Some(""), 1_000_000);
    assert_eq!((a.exchange(&mut store), b.exchange(&mut store)), (vec![], vec![BAN.to_owned()]));
    assert!(b.has(BAN) && b.exchange(&mut store).is_empty() && a.exchange(&mut store).is_empty());
    let change = store.read_settings(SettingGroup::Operator, "").expect("a reply").change;
    let again = store.read_settings(SettingGroup::Operator, &change).expect("a reply");
    assert_eq!(again.settings, None);
    b.set(BAN, None, 1_000_001);
    b.exchange(&mut store);
    assert_eq!(a.exchange(&mut store), [BAN]);
    assert!(!a.has(BAN));
}

#[test]
fn of_two_changes_without_the_store_the_later_one_wins_in_each_process() {
    for (ban_at, lift_at) in [(1_000_100, 1_000_200), (1_000_200, 1_000_100)] {
        for is_ban_first in [true, false] {
            let (mut store, [a, b]) = (store(), [Process::default(), Process::default()]);
            a.set(BAN, Some(""), 1_000_000);
            a.exchange(&mut store);
            b.exchange(&mut store);
            store.is_away = true;
            a.set(BAN, Some(""), ban_at);
            b.set(BAN, None, lift_at);
            a.exchange(&mut store);
            b.exchange(&mut store);
            assert!(a.has(BAN) && !b.has(BAN), "each goes on with its own");
            store.is_away = false;
            for process in if is_ban_first { [&a, &b, &a] } else { [&b, &a, &b] } {
                process.exchange(&mut store);
            }
            let is_banned = ban_at > lift_at;
            assert_eq!((a.has(BAN), b.has(BAN), store.get(BAN).is_some()), (is_banned, is_banned, is_banned));
        }
    }
}

#[test]
fn a_change_by_an_operator_who_has_seen_another_one_wins_with_any_clocks() {
    let (mut store, ahead, behind) = (store(), Process::at(86_400_000), Process::at(-86_400_000));
    ahead.set(BAN, Some(""), 1_000_000_000);
    ahead.exchange(&mut store);
    behind.exchange(&mut store);
    behind.set(BAN, None, 1_000_001_000);
    behind.exchange(&mut store);
    ahead.exchange(&mut store);
    assert!(!ahead.has(BAN) && !behind.has(BAN));
}

#[test]
fn a_store_that_has_lost_its_data_gets_the_settings_of_each_process_again() {
    let (mut store, [a, b]) = (store(), [Process::default(), Process::default()]);
    a.set(BAN, Some(""), 1);
    b.set("notice", Some("Noon"), 2);
    b.set("ban 203.0.113.10", Some(""), 3);
    b.set("ban 203.0.113.10", None, 4);
    [&a, &b, &a].into_iter().for_each(|process| drop(process.exchange(&mut store)));
    store.wipe();
    b.exchange(&mut store);
    assert_eq!((store.get(BAN), store.get("notice"), store.count()), (Some(""), Some("Noon"), 3));
    store.wipe();
    // After as many changes as before, with the number of the store's clock.
    store.now_ms += 5_000;
    let late = Process::default();
    late.set("ban 203.0.113.11", Some(""), 5);
    late.exchange(&mut store);
    a.exchange(&mut store);
    late.exchange(&mut store);
    assert!(late.has(BAN) && a.has("ban 203.0.113.11") && store.count() == 4);
}

#[test]
fn a_lifted_ban_does_not_return_with_a_process_that_was_away_until_its_removal_is_forgotten() {
    let (mut store, a) = (store(), Process::default());
    a.set(BAN, Some(""), 1_000_000);
    a.exchange(&mut store);
    let from_its_database = || {
        let process = Process::default();
        let version = SettingVersion { primary: 1_000_000, secondary: 0 };
        process.settings.lock().merge(BAN, SharedSetting { version, value: Some(String::new()) });
        process
    };
    a.set(BAN, None, 1_001_000);
    a.exchange(&mut store);
    let back = from_its_database();
    back.exchange(&mut store);
    assert!(!back.has(BAN) && !a.has(BAN));
    store.now_ms = 1_001_001 + limits::CLUSTER_REMOVED_SETTING_TIME.as_millis() as u64;
    a.exchange(&mut store);
    assert_eq!(store.count(), 0, "the removal is forgotten");
    let back = from_its_database();
    back.exchange(&mut store);
    a.exchange(&mut store);
    assert!(a.has(BAN));
}

#[test]
fn above_the_maximum_the_oldest_removed_settings_are_forgotten_and_new_ones_refused() {
    let (mut store, a) = (store(), Process::default());
    let key = |number: usize| format!("ban {number}");
    for number in 0..limits::CLUSTER_SETTINGS {
        a.set(&key(number), Some(""), 1_000_000);
    }
    a.set(&key(3), None, 1_000_001);
    a.set(&key(4), None, 1_000_002);
    a.exchange(&mut store);
    assert_eq!(store.count(), limits::CLUSTER_SETTINGS);
    a.set(&key(limits::CLUSTER_SETTINGS), Some(""), 1_000_003);
    a.exchange(&mut store);
    assert_eq!(
        (store.count(), store.get(&key(limits::CLUSTER_SETTINGS))),
        (limits::CLUSTER_SETTINGS, Some(""))
    );
    let [more, most] = [key(limits::CLUSTER_SETTINGS + 1), key(limits::CLUSTER_SETTINGS + 2)];
    a.set(&more, Some(""), 1_000_004);
    a.exchange(&mut store);
    a.set(&most, Some(""), 1_000_005);
    let mut exchanged = Exchanged::default();
    exchange(&mut store, (SettingGroup::Operator, &a.settings), 1_000_005, &mut exchanged).expect("a reply");
    assert_eq!((exchanged.refused, store.get(&more), store.get(&most)), (1, Some(""), None));
    assert!(a.has(&most), "the process has its own");
}

#[test]
fn an_encoded_setting_has_the_order_of_its_version_and_a_malformed_one_is_ignored() {
    let version = |primary, secondary| SettingVersion { primary, secondary };
    for value in [None, Some(String::new()), Some("0 \u{1f409}".to_owned())] {
        let setting = SharedSetting { version: version(u64::MAX, 7), value };
        assert_eq!(SharedSetting::decode(&setting.encode()), Some(setting));
    }
    let versions = [version(0, 0), version(0, u64::MAX), version(9, 0), version(10, 3), version(10, 20)];
    assert!(versions.map(SettingVersion::encode).is_sorted());
    let long =
        SharedSetting { version: version(1, 1), value: Some("x".repeat(limits::CLUSTER_SETTING_BYTES)) };
    let digits = "1".repeat(40);
    for text in ["", "1", &digits, &format!("{digits}2"), &"9".repeat(41), &"é".repeat(30), &long.encode()] {
        assert_eq!(SharedSetting::decode(text), None, "{text}");
    }
}

#[test]
fn processes_agree_after_any_changes_with_a_store_that_is_away_or_loses_its_data() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed, 0);
        let processes: Vec<Process> =
            (0..3).map(|_| Process::at(i64::from(rng.below(4_000)) - 2_000)).collect();
        let mut store = store();
        for _ in 0..200 {
            store.now_ms += u64::from(rng.below(700));
            let process = &processes[rng.below(3) as usize];
            match rng.below(12) {
                0 => {
                    store.wipe();
                    // A restart takes longer than the resolution of the store's clock.
                    store.now_ms += 1_000;
                }
                1 => store.is_away = !store.is_away,
                2..=5 => {
                    let key = ["ban 1", "ban 2", "notice"][rng.below(3) as usize];
                    let value = ["a", "b"][rng.below(2) as usize];
                    process.set(key, Some(value).filter(|_| rng.below(2) == 0), store.now_ms);
                }
                // A connection is lost.
                6 => process.settings.lock().forget_store(),
                _ => drop(process.exchange(&mut store)),
            }
        }
        store.is_away = false;
        for _ in 0..3 {
            processes.iter().for_each(|process| drop(process.exchange(&mut store)));
        }
        let of = |process: &Process| {
            let settings = process.settings.lock();
            settings.keys().map(|key| (key.to_owned(), settings.get(key).map(str::to_owned))).collect()
        };
        let all: Vec<BTreeMap<String, Option<String>>> = processes.iter().map(of).collect();
        assert!(all.iter().all(|one| *one == all[0]), "seed {seed}: {all:?}");
        assert!(all[0].iter().all(|(key, value)| store.get(key) == value.as_deref()), "seed {seed}");
    }
}
