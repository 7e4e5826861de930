//! The scripts of shared settings in a real Redis do the same as the model that the tests use.

use tickwire_sim::Rng;

use super::scripts::{connect, process, start_redis};
use crate::limits;
use crate::server::cluster::model_settings::ModelSettings;
use crate::server::cluster::shared_settings::{SettingGroup, SettingStore, SettingVersion, SharedSetting};
use crate::server::net::cluster::redis_store::RedisStore;

fn setting(primary: u64, value: Option<&str>) -> SharedSetting {
    let version = SettingVersion { primary, secondary: 3 };
    SharedSetting { version, value: value.map(str::to_owned) }
}

#[test]
fn the_scripts_of_settings_do_the_same_as_the_model() {
    let Some((_redis, url)) = start_redis() else { return };
    let mut redis = RedisStore::new(&url, process("a")).expect("a URL");
    connect(&mut redis);
    let (mut model, mut rng) = (ModelSettings::default(), Rng::new(2, 0));
    let mut known = [String::new(), String::new()];
    for step in 0..2_000 {
        let at = rng.below(2) as usize;
        let group = [SettingGroup::Operator, SettingGroup::BestPlayers][at];
        let key = format!("ban 203.0.113.{}", rng.below(5));
        let version = u64::from(rng.below(step + 1)) * 0x1_0000_0001;
        match rng.below(4) {
            0 | 1 => {
                let value = ["", "1", "a text é\n"][rng.below(3) as usize];
                let written = [(key, setting(version, Some(value).filter(|_| rng.below(3) > 0)))];
                let refused = redis.write_settings(group, &written);
                assert_eq!(refused, model.write_settings(group, &written), "step {step}");
            }
            2 => {
                let stored = model.read_settings(group, "").expect("a reply").settings.expect("all");
                let version = stored.get(&key).map_or(setting(version, None).version, |one| one.version);
                let forgotten = [(key, version)];
                assert_eq!(
                    redis.forget_settings(group, &forgotten),
                    model.forget_settings(group, &forgotten)
                );
            }
            _ => {
                let stored = redis.read_settings(group, "").expect("a reply");
                let expected = model.read_settings(group, "").expect("a reply");
                assert_eq!(stored.settings, expected.settings, "step {step}");
                known[at] = stored.change;
                assert_eq!(redis.read_settings(group, &known[at]).expect("a reply").settings, None);
            }
        }
    }
    let changes: Vec<u64> = known.iter().map(|change| change.parse().expect("a number")).collect();
    assert!(changes.iter().all(|change| *change > 1_700_000_000_000), "the store's time: {changes:?}");
}

#[test]
fn a_full_store_refuses_new_settings_and_takes_changes_of_the_others() {
    let Some((_redis, url)) = start_redis() else { return };
    let mut redis = RedisStore::new(&url, process("a")).expect("a URL");
    connect(&mut redis);
    let group = SettingGroup::Operator;
    let all: Vec<_> =
        (0..limits::CLUSTER_SETTINGS + 3).map(|at| (format!("ban {at}"), setting(1, Some("")))).collect();
    assert_eq!(redis.write_settings(group, &all), Ok(3));
    let changed = [("ban 7".to_owned(), setting(2, None)), ("notice".to_owned(), setting(1, Some("x")))];
    assert_eq!(redis.write_settings(group, &changed), Ok(1));
    let stored = redis.read_settings(group, "").expect("a reply").settings.expect("all");
    assert_eq!((stored.len(), &stored["ban 7"]), (limits::CLUSTER_SETTINGS, &changed[0].1));
    redis.forget_settings(group, &[("ban 7".to_owned(), changed[0].1.version)]).expect("a reply");
    assert_eq!(redis.write_settings(group, &changed[1..]), Ok(0));
}
