//! A lobby: players wait, get ready, and play a match in teams.
//!
//! ```text
//!            enough players, all ready          time is up
//!  Waiting ────────────────────────► Countdown ───────────► Playing
//!     ▲ └──────── one is not ready, joins or leaves ◄──┘        │
//!     └────────────────── finish(), or no player is left ◄──────┘
//! ```
//!
//! The lobby is a field of the game's state. Its rules are a constant of the game and no part of
//! the state, so that a restored world follows the rules of the running program.

use tickwire_sim::timer::Timer;
use tickwire_sim::{PlayerId, fields};

use super::simple_game::ActionResult;
use crate::game::room_properties::{MAX_PLAYERS, RoomProperties};

/// The rules of a lobby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LobbyRules {
    /// Minimum number of players of a match. 0 counts as 1.
    pub min_players: u16,
    /// Maximum number of players of a match. Others in the room wait for the next one.
    pub max_players: u16,
    /// Seconds between the moment at which all are ready and the match. 0: the match begins at
    /// once.
    pub countdown_s: u16,
    /// Number of teams, into which players are divided evenly. 0 counts as 1.
    pub teams: u8,
}

impl LobbyRules {
    /// Creates the rules for matches of `min` to `max` players, without a countdown and without
    /// teams.
    pub const fn new(min_players: u16, max_players: u16) -> LobbyRules {
        LobbyRules { min_players, max_players, countdown_s: 0, teams: 1 }
    }

    /// Returns the rules with a countdown.
    #[must_use]
    pub const fn with_countdown(self, seconds: u16) -> LobbyRules {
        LobbyRules { countdown_s: seconds, ..self }
    }

    /// Returns the rules with teams.
    #[must_use]
    pub const fn with_teams(self, teams: u8) -> LobbyRules {
        LobbyRules { teams, ..self }
    }
}

/// What the players of a lobby do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LobbyPhase {
    /// They wait until enough have joined and all are ready.
    #[default]
    Waiting,
    /// All are ready, and the match begins soon.
    Countdown,
    /// They play.
    Playing,
}

fields!(enum LobbyPhase: Waiting {}, Countdown {}, Playing {});

impl LobbyPhase {
    /// Returns the name, as in the property `state` of the room.
    pub fn name(self) -> &'static str {
        match self {
            LobbyPhase::Waiting => "waiting",
            LobbyPhase::Countdown => "countdown",
            LobbyPhase::Playing => "playing",
        }
    }
}

/// A player of a lobby.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LobbyMember {
    /// The player.
    pub player: PlayerId,
    /// Whether the player is ready for the next match.
    pub is_ready: bool,
    /// The team, from 1. `None` if the player waits for the next match.
    pub team: Option<u8>,
}

fields!(LobbyMember: player: PlayerId, is_ready: bool, team: Option<u8>);

/// A lobby of a room.
///
/// ```
/// # use tickwire::game::RoomProperties;
/// # use tickwire::game::simple::{Lobby, LobbyRules};
/// # use tickwire::prelude::*;
/// const LOBBY: LobbyRules = LobbyRules::new(2, 4).with_countdown(3).with_teams(2);
///
/// # #[derive(Clone, Debug, PartialEq)]
/// struct Race { lobby: Lobby, left: u32 }
/// # fields!(Race: lobby: Lobby, left: u32);
///
/// // The functions of a `SimpleGame`:
/// # impl Race {
/// fn join(&mut self, player: PlayerId) {
///     self.lobby.join(player);
/// }
/// fn leave(&mut self, player: PlayerId) {
///     self.lobby.leave(player);
/// }
/// fn apply(&mut self, player: PlayerId, is_ready: bool) -> ActionResult {
///     self.lobby.set_ready(player, is_ready)
/// }
/// fn tick(&mut self, tick_hz: u32) {
///     if self.lobby.tick(&LOBBY, tick_hz) {
///         self.left = 60 * tick_hz;
///     }
///     self.left = self.left.saturating_sub(1);
///     if self.left == 0 {
///         self.lobby.finish();
///     }
/// }
/// fn write_room(&self, room: &mut RoomProperties) {
///     self.lobby.write_room(&LOBBY, room);
/// }
/// # }
/// #
/// # let mut race = Race { lobby: Lobby::default(), left: 0 };
/// # for player in [1, 2] {
/// #     race.join(PlayerId(player));
/// #     race.apply(PlayerId(player), true)?;
/// # }
/// # for _ in 0..=90 {
/// #     race.tick(30);
/// # }
/// # assert_eq!((race.lobby.team(PlayerId(1)), race.lobby.team(PlayerId(2))), (Some(1), Some(2)));
/// # assert_eq!(race.left, 60 * 30 - 1);
/// # Ok::<(), &'static str>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lobby {
    phase: LobbyPhase,
    /// In the order in which they get a place in the next match.
    members: Vec<LobbyMember>,
    /// Time until the match, during the countdown.
    countdown: Timer,
}

fields!(Lobby: phase: LobbyPhase, members: Vec<LobbyMember>, countdown: Timer);

impl Lobby {
    /// Adds a player, who is not ready. During a match the player waits for the next one.
    pub fn join(&mut self, player: PlayerId) {
        if self.member(player).is_none() {
            self.members.push(LobbyMember { player, is_ready: false, team: None });
        }
    }

    /// Removes a player.
    pub fn leave(&mut self, player: PlayerId) {
        self.members.retain(|member| member.player != player);
    }

    /// Sets whether a player is ready for the next match. A game calls it with `false` for a player
    /// that is disconnected.
    ///
    /// # Errors
    /// `not_in_lobby` for an unknown player.
    pub fn set_ready(&mut self, player: PlayerId, is_ready: bool) -> ActionResult {
        let member = self.members.iter_mut().find(|member| member.player == player);
        member.ok_or("not_in_lobby")?.is_ready = is_ready;
        Ok(())
    }

    /// Executes one tick. Returns whether the match begins in this tick.
    pub fn tick(&mut self, rules: &LobbyRules, tick_hz: u32) -> bool {
        if self.phase == LobbyPhase::Playing {
            if self.playing().next().is_none() {
                self.finish();
            }
            return false;
        }
        self.assign_teams(rules);
        let min = usize::from(rules.min_players.max(1));
        if self.playing().count() < min || self.playing().any(|member| !member.is_ready) {
            self.phase = LobbyPhase::Waiting;
            return false;
        }
        if self.phase == LobbyPhase::Waiting {
            self.phase = LobbyPhase::Countdown;
            self.countdown = Timer::start(u32::from(rules.countdown_s).saturating_mul(tick_hz));
        } else {
            self.countdown.tick();
        }
        if !self.countdown.is_running() {
            self.phase = LobbyPhase::Playing;
        }
        self.phase == LobbyPhase::Playing
    }

    /// Ends the match. No player is ready, and players that have waited come first in the next
    /// match. Does nothing without a match.
    pub fn finish(&mut self) {
        if self.phase != LobbyPhase::Playing {
            return;
        }
        self.phase = LobbyPhase::Waiting;
        // A stable sort: the order of joining otherwise stays.
        self.members.sort_by_key(|member| member.team.is_some());
        for member in &mut self.members {
            (member.is_ready, member.team) = (false, None);
        }
    }

    /// Gives a team to each player with a place in the next match: to the smallest team. After a
    /// leave the newest player of the largest team changes to the smallest, if they differ by two.
    fn assign_teams(&mut self, rules: &LobbyRules) {
        let (places, teams) = (usize::from(rules.max_players), rules.teams.max(1));
        let mut sizes = vec![0_usize; usize::from(teams)];
        for (at, member) in self.members.iter_mut().enumerate() {
            member.team = member.team.filter(|team| at < places && (1..=teams).contains(team));
            if let Some(team) = member.team {
                sizes[usize::from(team) - 1] += 1;
            }
        }
        let smallest = |sizes: &[usize]| (0..sizes.len()).min_by_key(|team| sizes[*team]).unwrap_or(0);
        for member in self.members.iter_mut().take(places).filter(|member| member.team.is_none()) {
            let team = smallest(&sizes);
            sizes[team] += 1;
            member.team = Some(team as u8 + 1);
        }
        loop {
            let (small, large) =
                (smallest(&sizes), (0..sizes.len()).max_by_key(|team| sizes[*team]).unwrap_or(0));
            let is_of_large = |member: &&mut LobbyMember| member.team == Some(large as u8 + 1);
            match self.members.iter_mut().rev().find(is_of_large) {
                Some(newest) if sizes[large] > sizes[small] + 1 => newest.team = Some(small as u8 + 1),
                _ => return,
            }
            (sizes[large], sizes[small]) = (sizes[large] - 1, sizes[small] + 1);
        }
    }

    fn playing(&self) -> impl Iterator<Item = &LobbyMember> {
        self.members.iter().filter(|member| member.team.is_some())
    }

    /// Returns the phase.
    pub fn phase(&self) -> LobbyPhase {
        self.phase
    }

    /// Returns the players, in the order in which they get a place in the next match.
    pub fn members(&self) -> &[LobbyMember] {
        &self.members
    }

    /// Returns a player.
    pub fn member(&self, player: PlayerId) -> Option<&LobbyMember> {
        self.members.iter().find(|member| member.player == player)
    }

    /// Returns the team of a player, from 1. `None` if the player waits for the next match.
    pub fn team(&self, player: PlayerId) -> Option<u8> {
        self.member(player)?.team
    }

    /// Returns whether a player plays in the current match.
    pub fn is_playing(&self, player: PlayerId) -> bool {
        self.phase == LobbyPhase::Playing && self.team(player).is_some()
    }

    /// Returns the seconds until the match, rounded up. 0 unless there is a countdown.
    pub fn seconds_left(&self, tick_hz: u32) -> u32 {
        if self.phase == LobbyPhase::Countdown { self.countdown.ticks().div_ceil(tick_hz.max(1)) } else { 0 }
    }

    /// Sets the properties of the room: `state` ([`LobbyPhase::name`]), `free` (places in the next
    /// match), and `max_players`, so that `?room=any` fills the match and no more.
    pub fn write_room(&self, rules: &LobbyRules, room: &mut RoomProperties) {
        room.set("state", self.phase.name());
        room.set("free", usize::from(rules.max_players).saturating_sub(self.members.len()));
        room.set(MAX_PLAYERS, rules.max_players);
    }
}

#[cfg(test)]
mod tests {
    use tickwire_sim::Reader;
    use tickwire_sim::fields::{ByteSink, Field as _};

    use super::*;

    const HZ: u32 = 10;
    const RULES: LobbyRules = LobbyRules { min_players: 2, max_players: 4, countdown_s: 1, teams: 2 };

    /// Executes a script: `+1` joins, `-1` leaves, `r1` is ready, `u1` is not, `.` is a tick, `!`
    /// finishes. Returns the phase, and player and team of each member.
    fn play(lobby: &mut Lobby, rules: &LobbyRules, script: &str) -> String {
        for word in script.split_whitespace() {
            let player = || PlayerId(word[1..].parse().expect("a number"));
            match &word[..1] {
                "+" => lobby.join(player()),
                "-" => lobby.leave(player()),
                "r" => lobby.set_ready(player(), true).expect("a member"),
                "u" => lobby.set_ready(player(), false).expect("a member"),
                "!" => lobby.finish(),
                _ => (0..word.len()).for_each(|_| _ = lobby.tick(rules, HZ)),
            }
        }
        let members = lobby.members.iter().map(|one| format!(" {}:{}", one.player.0, one.team.unwrap_or(0)));
        format!("{}{}", lobby.phase.name(), members.collect::<String>())
    }

    #[test]
    fn phases_and_teams_after_each_script() {
        const BEGUN: &str = "+1 +2 +3 r1 r2 r3 ...........";
        for (script, result) in [
            (".", "waiting"),
            ("+1 r1 .", "waiting 1:1"),
            ("+1 +2 r1 .", "waiting 1:1 2:2"),
            ("+1 +1 +2 r1 r2 .", "countdown 1:1 2:2"),
            ("+1 +2 r1 r2 ..........", "countdown 1:1 2:2"),
            ("+1 +2 r1 r2 ...........", "playing 1:1 2:2"),
            ("+1 +2 r1 r2 ..... u1 .", "waiting 1:1 2:2"),
            ("+1 +2 r1 r2 ..... u1 . r1 ......", "countdown 1:1 2:2"),
            ("+1 +2 r1 r2 ..... +3 .", "waiting 1:1 2:2 3:1"),
            ("+1 +2 r1 r2 ..... -2 .", "waiting 1:1"),
            // A fifth player waits, and does not delay the match.
            ("+1 +2 +3 +4 +5 r1 r2 r3 r4 .", "countdown 1:1 2:2 3:1 4:2 5:0"),
            ("+1 +2 +3 +4 +5 r1 r2 r3 r4 . -1 .", "waiting 2:2 3:1 4:2 5:1"),
            // Teams are even after a leave; the newest of the larger team changes.
            ("+1 +2 +3 +4 . -1 -3 .", "waiting 2:2 4:1"),
            ("+1 +2 +3 +4 . -1 -3 +5 .", "waiting 2:2 4:2 5:1"),
            // During a match teams stay, and who joins waits.
            (BEGUN, "playing 1:1 2:2 3:1"),
            (&format!("{BEGUN} -2 +4 r4 ."), "playing 1:1 3:1 4:0"),
            (&format!("{BEGUN} -1 -2 -3 +4 ."), "waiting 4:0"),
            (&format!("{BEGUN} -1 -2 -3 +4 .."), "waiting 4:1"),
            (&format!("{BEGUN} +4 +5 !"), "waiting 4:0 5:0 1:0 2:0 3:0"),
            (&format!("{BEGUN} +4 +5 ! ."), "waiting 4:1 5:2 1:1 2:2 3:0"),
            ("+1 +2 . !", "waiting 1:1 2:2"),
        ] {
            assert_eq!(play(&mut Lobby::default(), &RULES, script), result, "{script}");
        }
    }

    #[test]
    fn rules_at_their_bounds() {
        for (rules, script, result) in [
            (LobbyRules { countdown_s: 0, ..RULES }, "+1 +2 r1 r2 .", "playing 1:1 2:2"),
            (LobbyRules { min_players: 0, countdown_s: 0, ..RULES }, ".", "waiting"),
            (LobbyRules { min_players: 0, countdown_s: 0, ..RULES }, "+1 r1 .", "playing 1:1"),
            (LobbyRules { teams: 0, ..RULES }, "+1 +2 .", "waiting 1:1 2:1"),
            (LobbyRules { teams: 255, ..RULES }, "+1 +2 +3 .", "waiting 1:1 2:2 3:3"),
            (LobbyRules { max_players: 0, min_players: 0, ..RULES }, "+1 r1 ..", "waiting 1:0"),
        ] {
            assert_eq!(play(&mut Lobby::default(), &rules, script), result, "{rules:?}");
        }
        // A restored lobby follows the rules of the running program.
        let mut lobby = Lobby::default();
        play(&mut lobby, &LobbyRules { teams: 4, ..RULES }, "+1 +2 +3 +4 .");
        assert_eq!(play(&mut lobby, &RULES, "."), "waiting 1:1 2:2 3:1 4:2");
    }

    #[test]
    fn the_match_begins_in_one_tick_and_the_countdown_is_shown_in_seconds() {
        let mut lobby = Lobby::default();
        play(&mut lobby, &RULES, "+1 +2 r1 r2");
        let rules = LobbyRules { countdown_s: 3, ..RULES };
        let begins: Vec<bool> = (0..40).map(|_| lobby.tick(&rules, HZ)).collect();
        assert_eq!(begins.iter().position(|begins| *begins), Some(30), "three seconds after the first tick");
        assert_eq!(begins.iter().filter(|begins| **begins).count(), 1);
        assert!(lobby.is_playing(PlayerId(1)) && !lobby.is_playing(PlayerId(3)));
        for (ticks, seconds) in [(0, 0), (1, 3), (2, 3), (11, 2), (12, 2), (30, 1), (31, 0)] {
            let mut lobby = Lobby::default();
            play(&mut lobby, &rules, &format!("+1 +2 r1 r2 {}", ".".repeat(ticks)));
            assert_eq!(lobby.seconds_left(HZ), seconds, "{ticks}");
        }
        assert_eq!(lobby.set_ready(PlayerId(9), true), Err("not_in_lobby"));
    }

    #[test]
    fn the_room_has_the_state_and_the_free_places() {
        let properties = |script: &str| {
            let (mut lobby, mut room) = (Lobby::default(), RoomProperties::default());
            play(&mut lobby, &RULES, script);
            lobby.write_room(&RULES, &mut room);
            assert_eq!(room.misfit(), None);
            room.iter().map(|(name, value)| format!("{name}:{value}")).collect::<Vec<_>>().join(",")
        };
        assert_eq!(properties("+1"), "state:waiting,free:3,max_players:4");
        assert_eq!(properties("+1 +2 r1 r2 ."), "state:countdown,free:2,max_players:4");
        assert_eq!(
            properties("+1 +2 +3 +4 +5 r1 r2 r3 r4 ..........."),
            "state:playing,free:0,max_players:4"
        );
    }

    #[test]
    fn a_restored_lobby_continues_in_the_same_way() {
        let (mut lobby, rest) = (Lobby::default(), "..... u2 . r2 ............ -1 . ! .");
        play(&mut lobby, &RULES, "+1 +2 +3 +4 +5 r1 r2 r3 r4 ...");
        let mut bytes = ByteSink(Vec::new());
        lobby.write(&mut bytes);
        let mut restored = Lobby::read(&mut Reader::new(&bytes.0)).expect("the bytes of a lobby");
        assert_eq!(restored, lobby);
        assert_eq!(play(&mut restored, &RULES, rest), play(&mut lobby, &RULES, rest));
        assert_eq!(restored, lobby);
    }
}
