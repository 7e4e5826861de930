//! A model of the store of settings, with the rules of the scripts that run in Redis.

use std::collections::BTreeMap;

use super::shared_settings::{SettingGroup, SettingStore, SettingVersion, SharedSetting, StoredSettings};
use super::store::StoreError;
use crate::limits;

/// The store of settings.
#[derive(Debug, Default)]
pub struct ModelSettings {
    groups: BTreeMap<SettingGroup, (u64, BTreeMap<String, SharedSetting>)>,
    /// The store's clock in milliseconds.
    pub now_ms: u64,
    /// Whether the store responds.
    pub is_away: bool,
}

impl ModelSettings {
    /// Loses all data.
    pub fn wipe(&mut self) {
        self.groups.clear();
    }

    /// Returns the value of a setting.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.groups.get(&SettingGroup::Operator)?.1.get(key)?.value.as_deref()
    }

    /// Returns the number of settings, including removed ones.
    pub fn count(&self) -> usize {
        self.groups.values().map(|(_, settings)| settings.len()).sum()
    }

    fn group(
        &mut self,
        group: SettingGroup,
    ) -> Result<&mut (u64, BTreeMap<String, SharedSetting>), StoreError> {
        match self.is_away {
            true => Err(StoreError("away".to_owned())),
            false => Ok(self.groups.entry(group).or_default()),
        }
    }
}

impl SettingStore for ModelSettings {
    fn read_settings(&mut self, group: SettingGroup, known: &str) -> Result<StoredSettings, StoreError> {
        let (change, settings) = self.group(group)?;
        let change = change.to_string();
        let settings = (change != known).then(|| settings.clone());
        Ok(StoredSettings { change, settings })
    }

    fn write_settings(
        &mut self,
        group: SettingGroup,
        written: &[(String, SharedSetting)],
    ) -> Result<usize, StoreError> {
        let now_ms = self.now_ms;
        let (change, settings) = self.group(group)?;
        let (mut refused, mut is_changed) = (0, false);
        for (key, setting) in written {
            let stored = settings.get(key).map(|stored| stored.version);
            if stored.is_none() && settings.len() >= limits::CLUSTER_SETTINGS {
                refused += 1;
            } else if stored.is_none_or(|stored| stored < setting.version) {
                settings.insert(key.clone(), setting.clone());
                is_changed = true;
            }
        }
        if is_changed {
            *change = now_ms.max(*change + 1);
        }
        Ok(refused)
    }

    fn forget_settings(
        &mut self,
        group: SettingGroup,
        forgotten: &[(String, SettingVersion)],
    ) -> Result<(), StoreError> {
        let (_, settings) = self.group(group)?;
        for (key, version) in forgotten {
            if settings.get(key).is_some_and(|stored| stored.version == *version) {
                settings.remove(key);
            }
        }
        Ok(())
    }
}
