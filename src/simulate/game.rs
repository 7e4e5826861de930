//! One room of the simulation: its ticks, a second world that executes the same command frames,
//! and the operator's commands.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use tickwire_sim::Action as _;

use super::broken::Broken;
use super::checker::NOTICE;
use super::counts::Counts;
use crate::game::dice::Dice;
use crate::game::{Rates, Tick};
use crate::games::moo::Moo;
use crate::limits;
use crate::room::seats::Seat;
use crate::room::{Handle, Options, Room, Ticked, Wants};
use crate::world::command::decode_frame;
use crate::world::rules::AnimalKind;
use crate::world::{Action, Identity, PlayerId, Resource, Spawned, TickHz, World, rules};

/// Ticks per second of every room.
pub const TICK_HZ: u32 = 30;
/// Shortest and longest time between two actions of the operator in a room.
const OPERATOR_INTERVAL: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(1_200)];

/// A query of the operator, and the channel for its answer.
struct Question {
    answer: Receiver<Result<(), &'static str>>,
    /// The number of its notice, if it is one.
    notice: Option<u32>,
    asked: u32,
}

/// An action of the operator that the host must perform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorAction {
    /// Nothing.
    None,
    /// Close the client of this player.
    Kick(PlayerId),
    /// Ban the address of this player's client for a while.
    Ban(PlayerId),
    /// Nothing: the grant to this player is already queued.
    Granted(PlayerId),
    /// End the room, and restart it from its snapshot.
    Restart,
}

/// See the [module](self).
pub struct Game {
    room: Room<Moo>,
    /// The half that connections use.
    pub handle: Arc<Handle>,
    shadow: World,
    dice: Dice,
    operates_at: Duration,
    questions: Vec<Question>,
    /// The notices that the operator sent to everyone: the tick after which each was sent, and its
    /// number.
    pub notices: Vec<(u32, u32)>,
    next_notice: u32,
    wants_restart: bool,
}

impl Game {
    /// A room with this name and a map of its own.
    pub fn new(name: &str, seed: u64) -> Game {
        let mut dice = Dice::new(seed);
        let seed = dice.bits() as u32;
        let world = World::new(Identity { seed, map_size_px: rules::MAP_SIZE_PX, tick_hz: TickHz::Hz30 });
        Game::resume(name, world, dice, 0)
    }

    fn resume(name: &str, world: World, mut dice: Dice, next_notice: u32) -> Game {
        let options = Options {
            name: name.into(),
            epoch: format!("{:016x}", dice.bits()),
            rates: Rates { tick_hz: TICK_HZ, update_hz: TICK_HZ, foreign_hz: 10 },
            delay_ticks: 0,
            seat_time: Duration::ZERO,
            max_clients: usize::MAX,
        };
        let shadow = world.clone();
        let room = Room::new(world, options);
        Game {
            handle: Arc::clone(room.handle()),
            room,
            shadow,
            dice,
            operates_at: Duration::ZERO,
            questions: Vec::new(),
            notices: Vec::new(),
            next_notice,
            wants_restart: false,
        }
    }

    /// Runs one tick.
    ///
    /// # Errors
    /// The second world differs, or the room broke an invariant.
    pub fn tick(&mut self, now: Duration, counts: &mut Counts) -> Result<Arc<dyn Tick>, Broken> {
        let is_second = self.handle.tick().is_multiple_of(TICK_HZ);
        let wants = Wants { frame: true, checksum: is_second, snapshot: self.wants_restart };
        let ticked = self.room.tick(now, wants);
        self.follow(&ticked, counts)?;
        self.hear_answers(ticked.tick + 1)?;
        for (_, rejection) in &ticked.rejected {
            counts.add(rejected(rejection));
        }
        let players = ticked.published.players();
        counts.player_ticks += players as u64;
        if is_second {
            self.check_load(players, now)?;
        }
        let published = Arc::clone(&ticked.published);
        if let Some(snapshot) = ticked.snapshot.filter(|_| std::mem::take(&mut self.wants_restart)) {
            self.begin_again(&snapshot.bytes)?;
            counts.add("room restarted from its snapshot");
        }
        Ok(published)
    }

    /// Ends the room; another with the same name continues from this snapshot.
    fn begin_again(&mut self, snapshot: &[u8]) -> Result<(), Broken> {
        self.handle.set_over();
        let world = World::restore(snapshot)
            .map_err(|error| Broken::new("a snapshot can be restored", format!("{error:?}")))?;
        let (name, dice) = (Arc::clone(&self.handle.options.name), self.dice.clone());
        *self = Game::resume(&name, world, dice, self.next_notice);
        Ok(())
    }

    /// Steps the second world with the command frame.
    fn follow(&mut self, ticked: &Ticked, counts: &mut Counts) -> Result<(), Broken> {
        let rule = "a second world with the same command frames stays identical";
        let frame = ticked.frame.as_ref().ok_or_else(|| Broken::new(rule, "a tick has no command frame"))?;
        let frame = decode_frame(frame).map_err(|error| Broken::new(rule, format!("{error:?}")))?;
        if let Some(checksum) = ticked.checksum {
            counts.mix(checksum);
            if checksum != self.shadow.checksum() {
                return Err(Broken::new(rule, format!("before tick {} they differ", ticked.tick)));
            }
        }
        let mut commands = frame.commands;
        self.shadow.step(&mut commands);
        Ok(())
    }

    fn hear_answers(&mut self, tick: u32) -> Result<(), Broken> {
        let mut late = None;
        let notices = &mut self.notices;
        self.questions.retain(|question| match question.answer.try_recv() {
            Ok(answer) => {
                notices.extend(question.notice.filter(|_| answer.is_ok()).map(|number| (tick, number)));
                false
            }
            Err(_) => {
                late = (tick > question.asked + 3).then_some(question.asked).or(late);
                true
            }
        });
        let rule = "an operator's query is answered after its tick";
        late.map_or(Ok(()), |asked| Err(Broken::new(rule, format!("query made before tick {asked}"))))
    }

    /// Checks that seats and commands are within their bounds, and that there are as many seats as
    /// players.
    fn check_load(&self, players: usize, now: Duration) -> Result<(), Broken> {
        let ([taken, free, resting, highest], waiting) = self.handle.load();
        if taken != players || taken + free + resting != highest {
            let detail = format!(
                "{taken} seats are taken, {free} free and {resting} resting, of {highest}; {players} players"
            );
            return Err(Broken::new(
                "every taken seat has a player in the world, and every number is accounted for",
                detail,
            ));
        }
        if waiting > limits::INBOX_COMMANDS {
            return Err(Broken::new(
                "commands in the inbox stay within their bound",
                format!("{waiting} at {now:?}"),
            ));
        }
        Ok(())
    }

    /// Occasionally performs an action of the operator.
    pub fn operate(&mut self, now: Duration, counts: &mut Counts) -> OperatorAction {
        if now < self.operates_at || self.handle.is_over() {
            return OperatorAction::None;
        }
        self.operates_at = now + self.dice.between(OPERATOR_INTERVAL[0], OPERATOR_INTERVAL[1]);
        let players: Vec<PlayerId> = self.shadow.players().map(|player| player.id).collect();
        let one = self.dice.bits() as usize;
        let player = if players.is_empty() { None } else { Some(players[one % players.len()]) };
        match (self.dice.below(400), player) {
            (0, _) => {
                self.wants_restart = true;
                return OperatorAction::Restart;
            }
            (1..=4, Some(player)) => return OperatorAction::Kick(player),
            (5..=6, Some(player)) => return OperatorAction::Ban(player),
            (7..=60, Some(player)) => {
                counts.add("operator: grant");
                let resource = Resource::ALL[self.dice.below(4) as usize];
                let amount = self.dice.below(300);
                self.ask(Action::Grant { player, resource, amount }, None);
                return OperatorAction::Granted(player);
            }
            (61..=130, Some(player)) => {
                counts.add("operator: spawn");
                self.spawn(player);
            }
            _ => {
                counts.add("operator: say");
                self.next_notice += 1;
                let text = format!("{NOTICE}{}", self.next_notice);
                self.ask(Action::Say { text }, Some(self.next_notice));
            }
        }
        OperatorAction::None
    }

    fn spawn(&mut self, player: PlayerId) {
        let Some(place) = self.shadow.player(player).map(|view| (view.body.x, view.body.y)) else { return };
        let kinds = [AnimalKind::Wolf, AnimalKind::Cow];
        let what = match self.dice.below(4) {
            number @ (0 | 1) => Spawned::Animal(kinds[number as usize]),
            _ => Spawned::Item([3, 17][self.dice.below(2) as usize]),
        };
        let mut px = |at: crate::world::Fixed| {
            let px = at.to_px() + self.dice.below(800) as i32 - 400;
            px.clamp(0, rules::MAP_SIZE_PX as i32) as u16
        };
        let (x_px, y_px) = (px(place.0), px(place.1));
        self.ask(Action::Spawn { what, x_px, y_px }, None);
    }

    fn ask(&mut self, action: Action, notice: Option<u32>) {
        // The room was busy, so the query was not queued.
        if let Ok(answer) = self.handle.command(action.encoded()) {
            self.questions.push(Question { answer, notice, asked: self.handle.tick() });
        }
    }

    /// Checks that each taken seat belongs to an open connection.
    ///
    /// # Errors
    /// A seat does not.
    pub fn check_seats(&self, is_there: impl Fn(u64) -> bool) -> Result<(), Broken> {
        for player in self.shadow.players() {
            if let Some(Seat::Connected(number)) = self.handle.seat(player.id)
                && !is_there(number)
            {
                let detail =
                    format!("player {} belongs to connection {number}, which has ended", player.id.0);
                return Err(Broken::new("a seat is released when its connection ends", detail));
            }
        }
        Ok(())
    }

    /// Checks that everything has been released.
    ///
    /// # Errors
    /// Something has not.
    pub fn check_end(&self) -> Result<(), Broken> {
        let ([taken, ..], waiting) = self.handle.load();
        let players = self.shadow.players().count();
        if (taken, waiting, players) == (0, 0, 0) {
            return Ok(());
        }
        let detail = format!("{taken} seats, {waiting} commands and {players} players remain");
        Err(Broken::new("every seat and command is released at the end", detail))
    }
}

/// All rejections are counted together: the world's own tests distinguish them.
fn rejected(_: &str) -> &'static str {
    "command rejected by the world"
}
