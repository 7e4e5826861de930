//! Merges updates by datagram and by stream, as PROTOCOL.md describes.
//!
//! ```text
//!   stream:    all enters and leaves; poses and animals, unless a datagram is newer
//!   datagrams: poses of players in view, other poses are stored; animals
//! ```
//!
//! The newest pose by datagram is stored for every player, because an enter in the stream may be
//! older than the pose. A player that respawns enters again with the same number.

use std::collections::BTreeMap;

use super::received::{EnteredPlayer, Own, Pose, Update};

/// The newest poses by datagram.
#[derive(Debug, Default)]
pub struct UpdateMerge {
    /// The tick of the newest update by datagram.
    newest: Option<u32>,
    /// The newest pose of each player, and its tick.
    poses: BTreeMap<u32, (u32, Pose)>,
    /// The newest own record, and its tick.
    own: Option<(u32, Own)>,
    /// The tick of the last enter of each player, including the client's own.
    entered: BTreeMap<u32, u32>,
    /// The tick of the newest update with poses, by datagram or by stream.
    shown: u32,
}

impl UpdateMerge {
    /// Returns the part of an update by datagram that is applied now. `None` if the update is
    /// overtaken. `is_known` returns whether a player is in view. `body` is the client's own player
    /// once it has entered.
    pub fn datagram(
        &mut self,
        mut update: Update,
        is_known: impl Fn(u32) -> bool,
        body: Option<u32>,
    ) -> Option<Update> {
        let tick = update.tick;
        if self.newest.is_some_and(|newest| tick < newest) || tick < self.shown {
            return None;
        }
        (self.newest, self.shown) = (Some(tick), tick);
        self.poses.extend(update.full.iter().map(|pose| (pose.player, (tick, *pose))));
        self.own = update.own.map(|own| (tick, own)).or(self.own);
        let is_of_body = |player: u32| self.entered.get(&player).is_none_or(|entered| *entered <= tick);
        let is_shown = |player: u32| is_known(player) && is_of_body(player);
        let full =
            std::mem::take(&mut update.full).into_iter().filter(|pose| is_shown(pose.player)).collect();
        let own = update.own.filter(|_| body.is_some_and(is_of_body));
        Some(Update { tick, own, full, ..update })
    }

    /// Returns the part of an update of the stream that is applied. `own` is the client's own
    /// player, even before it has entered.
    pub fn stream(&mut self, mut update: Update, own: Option<u32>) -> Update {
        let tick = update.tick;
        if self.newest.is_some_and(|newest| tick < newest) {
            let Update { leaves, enters, .. } = update;
            update = Update { tick, leaves, enters, ..Update::default() };
        } else if update.has_poses() {
            self.shown = tick;
        }
        for player in &update.leaves {
            if self.poses.get(player).is_some_and(|(at, _)| *at < tick) {
                self.poses.remove(player);
            }
            if own == Some(*player) {
                self.own = self.own.filter(|(at, _)| *at >= tick);
            }
        }
        for EnteredPlayer { pose, .. } in &mut update.enters {
            self.entered.insert(pose.player, tick);
            if own == Some(pose.player) {
                let newer = self.own.filter(|(at, _)| *at >= tick && update.own.is_none());
                if let Some((_, own)) = newer {
                    (update.own, update.tick) = (Some(own), tick.max(self.shown));
                }
            } else if let Some((_, newer)) = self.poses.get(&pose.player).filter(|(at, _)| *at >= tick) {
                *pose = *newer;
            }
        }
        update
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pose(player: u32, x_px: f64) -> Pose {
        Pose { player, x_px, y_px: 1.0, heading: 0 }
    }

    fn by_datagram(tick: u32, x_px: f64) -> Update {
        Update { tick, full: vec![pose(7, x_px)], ..Update::default() }
    }

    fn enters(tick: u32, x_px: f64) -> Update {
        let entered = EnteredPlayer { pose: pose(7, x_px), name: String::new(), ..EnteredPlayer::default() };
        Update { tick, enters: vec![entered], ..Update::default() }
    }

    #[test]
    fn a_stored_pose_replaces_the_pose_of_an_older_enter_only() {
        let mut merge = UpdateMerge::default();
        let shown = merge.datagram(by_datagram(12, 5.0), |_| false, None).expect("the newest");
        assert_eq!(shown.full, []);
        assert_eq!(merge.datagram(by_datagram(11, 4.0), |_| true, None), None);
        let entered = |merge: &mut UpdateMerge, update| merge.stream(update, None).enters[0].pose;
        assert_eq!(entered(&mut merge, enters(10, 1.0)), pose(7, 5.0));
        assert_eq!(entered(&mut merge, enters(13, 9.0)), pose(7, 9.0), "the enter is newer");
        // The player respawns before tick 15, but its enter arrives later.
        let _ = merge.datagram(by_datagram(15, 6.0), |_| true, None);
        let next = Update { leaves: vec![7], ..enters(14, 2.0) };
        assert_eq!(entered(&mut merge, next), pose(7, 6.0));
        // A datagram that is older than an enter has the pose of the earlier life.
        assert_eq!(entered(&mut merge, enters(17, 8.0)), pose(7, 8.0));
        assert_eq!(merge.datagram(by_datagram(16, 7.0), |_| true, None).expect("the newest").full, []);
        let late = Update { leaves: vec![7], ..enters(18, 3.0) };
        assert_eq!(entered(&mut merge, late), pose(7, 3.0));
    }

    #[test]
    fn an_overtaken_update_of_the_stream_only_enters_and_leaves() {
        let mut merge = UpdateMerge::default();
        let _ = merge.datagram(by_datagram(12, 5.0), |_| true, None);
        let old = Update { tick: 11, full: vec![pose(7, 4.0)], leaves: vec![8], ..Update::default() };
        let merged = merge.stream(old, None);
        assert_eq!((merged.full, merged.leaves), (Vec::new(), vec![8]));
        let newer = Update { tick: 13, full: vec![pose(7, 6.0)], ..Update::default() };
        assert_eq!(merge.stream(newer, None).full, [pose(7, 6.0)]);
        assert_eq!(merge.datagram(by_datagram(12, 5.0), |_| true, None), None, "the stream is newer");
    }
}
