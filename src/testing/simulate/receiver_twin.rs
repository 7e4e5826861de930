//! A second receiver for each connection, which receives the same bytes at the same times but split
//! differently. It must make the same calls to its driver as the first receiver, and send the same
//! bytes. The driver replays the results of the first receiver's calls.

use std::collections::VecDeque;

use tickwire_sim::{PlayerId, RawCommand};

use super::failure::InvariantFailure;
use crate::connection::receiver::{Denial, ReadTime};
use crate::connection::session::ReportedField;
use crate::connection::{Driver, Receiver};
use crate::game::{BotRng, JoinRequest, SharedRateLimit};
use crate::server::clients::client::{Client, Transport};

/// A call of a receiver to its driver, with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriverCall {
    /// [`Driver::authenticate`].
    Admit(Option<String>, bool, Result<(), Denial>),
    /// [`Driver::start_updates`].
    Follow(bool),
    /// [`Driver::sync`].
    Sync,
    /// [`Driver::checksum`].
    Checksum(u32, u64),
    /// [`Driver::report_desync_details`].
    Details(u32, Vec<ReportedField>),
    /// [`Driver::join`].
    Join(JoinRequest, Option<u32>, Result<PlayerId, Denial>),
    /// [`Driver::command`].
    Command((RawCommand, Option<u32>), Option<&'static SharedRateLimit>, Result<(), Denial>),
    /// [`Driver::reject_command`].
    Reject(u64, &'static str),
    /// [`Driver::set_spectated`].
    Spectate(Option<PlayerId>),
}

/// Records the calls of a receiver and forwards them to its driver.
pub struct RecordingDriver<'d> {
    driver: &'d mut dyn Driver,
    /// The recorded calls, in order.
    pub calls: Vec<DriverCall>,
    answers: Vec<u8>,
}

impl<'d> RecordingDriver<'d> {
    /// Starts an empty record.
    pub fn new(driver: &'d mut dyn Driver) -> RecordingDriver<'d> {
        RecordingDriver { driver, calls: Vec::new(), answers: Vec::new() }
    }
}

impl Driver for RecordingDriver<'_> {
    fn answer(&mut self, frames: &[u8]) {
        self.answers.extend_from_slice(frames);
        self.driver.answer(frames);
    }

    fn authenticate(&mut self, token: Option<&str>, lockstep: bool) -> Result<(), Denial> {
        let granted = self.driver.authenticate(token, lockstep);
        self.calls.push(DriverCall::Admit(token.map(str::to_owned), lockstep, granted));
        granted
    }

    fn start_updates(&mut self, lockstep: bool) {
        self.calls.push(DriverCall::Follow(lockstep));
        self.driver.start_updates(lockstep);
    }

    fn sync(&mut self) {
        self.calls.push(DriverCall::Sync);
        self.driver.sync();
    }

    fn checksum(&mut self, tick: u32, checksum: u64) {
        self.calls.push(DriverCall::Checksum(tick, checksum));
        self.driver.checksum(tick, checksum);
    }

    fn report_desync_details(&mut self, tick: u32, fields: Vec<ReportedField>) {
        self.calls.push(DriverCall::Details(tick, fields.clone()));
        self.driver.report_desync_details(tick, fields);
    }

    fn join(&mut self, profile: JoinRequest, since: Option<u32>) -> Result<PlayerId, Denial> {
        let granted = self.driver.join(profile.clone(), since);
        self.calls.push(DriverCall::Join(profile, since, granted));
        granted
    }

    fn command(
        &mut self,
        command: RawCommand,
        intended: Option<u32>,
        shared: Option<&'static SharedRateLimit>,
    ) -> Result<(), Denial> {
        let granted = self.driver.command(command.clone(), intended, shared);
        self.calls.push(DriverCall::Command((command, intended), shared, granted));
        granted
    }

    fn reject_command(&mut self, sequence: u64, rule: &'static str) {
        self.calls.push(DriverCall::Reject(sequence, rule));
        self.driver.reject_command(sequence, rule);
    }

    fn set_spectated(&mut self, player: Option<PlayerId>) {
        self.calls.push(DriverCall::Spectate(player));
        self.driver.set_spectated(player);
    }
}

/// A second receiver that runs on the recorded input of the first.
#[derive(Debug)]
pub struct ReceiverTwin {
    receiver: Receiver,
    dice: BotRng,
}

impl ReceiverTwin {
    /// Creates the twin of a client's receiver.
    pub fn new<L: Transport>(client: &Client<L>, seed: u64) -> ReceiverTwin {
        ReceiverTwin { receiver: client.clone_receiver(), dice: BotRng::new(seed) }
    }

    /// Starts the twin.
    ///
    /// # Errors
    /// Its calls or its output differ from the record.
    pub fn begin(&mut self, client: u64, noted: RecordingDriver<'_>) -> Result<(), InvariantFailure> {
        let mut again = ReplayingDriver::new(noted.calls);
        // The disconnect reason equals the receiver's, which the caller has.
        let _ = self.receiver.begin(client, &mut again);
        again.end(&noted.answers)
    }

    /// Receives the same bytes as the receiver, split differently.
    ///
    /// # Errors
    /// Its calls or its output differ from the record.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        at: ReadTime,
        noted: RecordingDriver<'_>,
    ) -> Result<(), InvariantFailure> {
        let mut again = ReplayingDriver::new(noted.calls);
        let mut rest = bytes;
        while !rest.is_empty() {
            let cut = if self.dice.below(4) == 0 { 1 + self.dice.below(9) as usize } else { rest.len() };
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            rest = after;
            if self.receiver.receive(piece, at, &mut again).is_err() {
                break;
            }
        }
        again.end(&noted.answers)
    }
}

/// Replays the results of the recorded calls.
struct ReplayingDriver {
    calls: VecDeque<DriverCall>,
    answers: Vec<u8>,
    broken: Option<String>,
}

impl ReplayingDriver {
    fn new(calls: Vec<DriverCall>) -> ReplayingDriver {
        ReplayingDriver { calls: calls.into(), answers: Vec::new(), broken: None }
    }

    fn next(&mut self, asks: &dyn Fn(&DriverCall) -> bool, what: &str) -> Option<DriverCall> {
        let call = self.calls.pop_front();
        if call.as_ref().is_none_or(|call| !asks(call)) {
            self.broken
                .get_or_insert_with(|| format!("the second receiver requests {what} instead of {call:?}"));
        }
        call
    }

    fn end(mut self, answers: &[u8]) -> Result<(), InvariantFailure> {
        if let Some(call) = self.calls.front() {
            self.broken.get_or_insert_with(|| format!("the second receiver does not request {call:?}"));
        }
        if self.answers != answers {
            let sizes = (self.answers.len(), answers.len());
            self.broken.get_or_insert_with(|| {
                format!("the second receiver answers with {} bytes instead of {}", sizes.0, sizes.1)
            });
        }
        let rule = "the same input gives the same commands and answers";
        self.broken.map_or(Ok(()), |detail| Err(InvariantFailure::new(rule, detail)))
    }
}

impl Driver for ReplayingDriver {
    fn answer(&mut self, frames: &[u8]) {
        self.answers.extend_from_slice(frames);
    }

    fn authenticate(&mut self, token: Option<&str>, lockstep: bool) -> Result<(), Denial> {
        let asks = |call: &DriverCall| matches!(call, DriverCall::Admit(said, how, _) if said.as_deref() == token && *how == lockstep);
        match self.next(&asks, "to be greeted") {
            Some(DriverCall::Admit(_, _, granted)) => granted,
            _ => Err(Denial::Silent),
        }
    }

    fn start_updates(&mut self, lockstep: bool) {
        self.next(&|call| *call == DriverCall::Follow(lockstep), "updates");
    }

    fn sync(&mut self) {
        self.next(&|call| *call == DriverCall::Sync, "a snapshot");
    }

    fn checksum(&mut self, tick: u32, checksum: u64) {
        self.next(&|call| *call == DriverCall::Checksum(tick, checksum), "to compare a checksum");
    }

    fn report_desync_details(&mut self, tick: u32, fields: Vec<ReportedField>) {
        self.next(&|call| *call == DriverCall::Details(tick, fields.clone()), "to note what differs");
    }

    fn join(&mut self, profile: JoinRequest, since: Option<u32>) -> Result<PlayerId, Denial> {
        let asks = |call: &DriverCall| matches!(call, DriverCall::Join(asked, when, _) if (asked, *when) == (&profile, since));
        match self.next(&asks, "a body") {
            Some(DriverCall::Join(.., granted)) => granted,
            _ => Err(Denial::Silent),
        }
    }

    fn command(
        &mut self,
        command: RawCommand,
        intended: Option<u32>,
        shared: Option<&'static SharedRateLimit>,
    ) -> Result<(), Denial> {
        let asked = (command, intended);
        let asks = |call: &DriverCall| matches!(call, DriverCall::Command(first, by, _) if *first == asked && *by == shared);
        match self.next(&asks, "a command") {
            Some(DriverCall::Command(_, _, granted)) => granted,
            _ => Err(Denial::Silent),
        }
    }

    fn reject_command(&mut self, sequence: u64, rule: &'static str) {
        self.next(&|call| *call == DriverCall::Reject(sequence, rule), "an answer to a command");
    }

    fn set_spectated(&mut self, player: Option<PlayerId>) {
        self.next(&|call| *call == DriverCall::Spectate(player), "a player to watch");
    }
}
