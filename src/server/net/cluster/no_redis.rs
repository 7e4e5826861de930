//! Stands in for the lease store in a build without the feature `cluster`.

use std::time::Duration;

use crate::server::cluster::reports::ReportStore;
use crate::server::cluster::shared_settings::{
    SettingGroup, SettingStore, SettingVersion, SharedSetting, StoredSettings,
};
use crate::server::cluster::{AcquireReply, Holder, LeaseStore, RenewReply, StoreError};

const MISSING: &str = "this program is built without the feature `cluster`";

/// A store that cannot be created.
#[derive(Debug)]
pub enum RedisStore {}

/// Refuses every URL.
///
/// # Errors
/// The missing feature.
pub fn check_url(_: &str) -> Result<(), String> {
    Err(MISSING.to_owned())
}

impl RedisStore {
    /// Refuses to create a store.
    ///
    /// # Errors
    /// The missing feature.
    pub fn new(_: &str, _: Holder) -> Result<RedisStore, String> {
        Err(MISSING.to_owned())
    }

    /// Checks that the store responds.
    ///
    /// # Errors
    /// None.
    pub fn ping(&mut self) -> Result<(), StoreError> {
        match *self {}
    }
}

impl LeaseStore for RedisStore {
    fn connect(&mut self) -> Result<u64, StoreError> {
        match *self {}
    }

    fn acquire(&mut self, _: &str, _: u64) -> Result<AcquireReply, StoreError> {
        match *self {}
    }

    fn renew(&mut self, _: &[(String, u64)]) -> Result<Vec<RenewReply>, StoreError> {
        match *self {}
    }

    fn release(&mut self, _: &str, _: u64) -> Result<(), StoreError> {
        match *self {}
    }

    fn look_up(&mut self, _: &str) -> Result<Option<Holder>, StoreError> {
        match *self {}
    }
}

impl SettingStore for RedisStore {
    fn read_settings(&mut self, _: SettingGroup, _: &str) -> Result<StoredSettings, StoreError> {
        match *self {}
    }

    fn write_settings(
        &mut self,
        _: SettingGroup,
        _: &[(String, SharedSetting)],
    ) -> Result<usize, StoreError> {
        match *self {}
    }

    fn forget_settings(&mut self, _: SettingGroup, _: &[(String, SettingVersion)]) -> Result<(), StoreError> {
        match *self {}
    }
}

impl ReportStore for RedisStore {
    fn publish_report(&mut self, _: &str, _: Duration) -> Result<usize, StoreError> {
        match *self {}
    }

    fn remove_report(&mut self) -> Result<(), StoreError> {
        match *self {}
    }

    fn reports(&mut self) -> Result<Vec<String>, StoreError> {
        match *self {}
    }
}
