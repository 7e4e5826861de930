//! A slot for one connection at a time: the client's end and the server's end. When the connection
//! ends, the slot begins another.

use core::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use super::broken::Broken;
use super::checker::Checker;
use super::client_end::{CheckingBot, ClientEnd, Who};
use super::connection::Connection;
use super::counts::Counts;
use super::host::{Served, SimHost};
use super::hostile::{Hostile, Kind};
use super::wire::Wire;
use crate::client::bot::Bot;
use crate::client::link::{Keys, Link};
use crate::game::agent::{Agent as _, Excuse, Manner, Part, Spoken};
use crate::game::{Breach, Dice};
use crate::packet::Dialect;
use crate::peer::Ending;
use crate::session::says_hello;

/// One in this many clients misbehaves.
const HOSTILE: u32 = 7;
/// Number of connections per address.
const PER_ADDRESS: usize = 6;
/// One in this many bots only walks, as in a crowd of so many.
const WALKERS: (u32, usize) = (4, 100);

/// See the [module](self).
pub struct Slot {
    number: usize,
    /// The size and the seed of the crowd.
    crowd: (usize, u64),
    rooms: usize,
    address: SocketAddr,
    dice: Dice,
    client_end: Option<ClientEnd>,
    connection: Option<Connection>,
    next: Duration,
    generation: usize,
}

impl Slot {
    /// A slot whose first connection begins soon.
    pub fn new((number, count, crowd_seed): (usize, usize, u64), rooms: usize, seed: u64) -> Slot {
        let mut dice = Dice::new(seed);
        let ip = Ipv4Addr::from_bits(0x0a00_0001 + (number / PER_ADDRESS) as u32);
        Slot {
            number,
            crowd: (count, crowd_seed),
            rooms,
            address: SocketAddr::from((ip, 10_000 + number as u16)),
            next: dice.between(Duration::ZERO, Duration::from_secs(5)),
            dice,
            client_end: None,
            connection: None,
            generation: 0,
        }
    }

    /// Runs one step of both ends.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn step(&mut self, host: &mut SimHost, counts: &mut Counts, may_begin: bool) -> Result<(), Broken> {
        let now = host.clock.now();
        if self.is_empty() {
            if may_begin && now >= self.next {
                self.begin(host, counts)?;
            }
            return Ok(());
        }
        let is_granted = self.client().is_some_and(|client| host.granted.contains(&client));
        if let Some(client_end) = &mut self.client_end {
            if let (Who::Bot(bot), true) = (&mut client_end.who, is_granted) {
                bot.agent.excuse(Excuse::Gift);
            }
            client_end.step(now, counts)?;
        }
        if let Some(connection) = &mut self.connection {
            connection.step(host, counts)?;
        }
        self.end(host, counts)
    }

    /// Whether the slot has no connection.
    pub fn is_empty(&self) -> bool {
        self.client_end.is_none() && self.connection.is_none()
    }

    /// The number of the client.
    pub fn client(&self) -> Option<u64> {
        self.connection.as_ref()?.talk().map(|talk| talk.client.id)
    }

    /// Whether the connection holds a client's place.
    pub fn has_client(&self) -> bool {
        self.client().is_some()
    }

    /// The client disconnects: a bot with a close frame, other clients without.
    pub fn leave(&mut self) {
        let Some(client_end) = &mut self.client_end else { return };
        match client_end.who {
            Who::Bot(_) if !client_end.is_gone => client_end.leave(),
            _ => self.close(),
        }
    }

    /// The client closes its socket.
    pub fn close(&mut self) {
        if let Some(client_end) = &mut self.client_end {
            client_end.is_gone = true;
            client_end.wire.close();
        }
    }

    /// The client disconnects, and the next one begins at this time.
    pub fn come_again_at(&mut self, time: Duration) {
        self.leave();
        self.next = time;
    }

    /// Plants a fault on its connection.
    pub fn lose_bytes(&self) {
        if let Some(client_end) = self.client_end.as_ref().filter(|_| self.has_client()) {
            client_end.wire.lose_next();
        }
    }

    /// Delivers all bytes on their way, and compares the bot's picture with the published state.
    /// Returns whether there was something to compare.
    ///
    /// # Errors
    /// They differ.
    pub fn compare(&mut self, served: &Served, host: &SimHost) -> Result<bool, Broken> {
        let now = host.clock.now();
        let Some(client_end) = self.client_end.as_mut() else { return Ok(false) };
        if client_end.bot().is_none() {
            return Ok(false);
        }
        client_end.wire.hurry();
        client_end.read_up(now)?;
        let missing = client_end.wire.missing();
        let Some(bot) = client_end.bot() else { return Ok(false) };
        if missing > 0 {
            let detail = format!("{missing} queued bytes are lost");
            return Err(Broken::new("every queued byte arrives once and in order", detail));
        }
        let agrees = host.game.about.bots.agrees;
        agrees(&*bot.agent, served.client.player(), &*served.published).map_err(|detail| {
            let rule = "a client's picture matches the published state";
            Broken::new(rule, format!("tick {}: {detail}", served.published.tick()))
        })
    }

    /// Checks that the bot was told of every event in order, each once.
    ///
    /// # Errors
    /// It did not.
    pub fn check(&self, host: &SimHost) -> Result<(), Broken> {
        let bot = self.client_end.as_ref().and_then(ClientEnd::bot);
        let Some((bot, client)) = bot.zip(self.client()) else { return Ok(()) };
        let heard = bot.agent.marks();
        let rule = "every reliable message arrives once and in order";
        let is_first = self.spoken(host).0 == host.games[0].dialect();
        let expected = host.marks.get(&client).filter(|_| is_first);
        if let Some(expected) = expected.filter(|expected| !expected.starts_with(heard)) {
            let right = heard.iter().zip(expected).take_while(|(told, is)| told == is).count();
            let (told, is) = (&heard[right..], &expected[right..]);
            let detail = format!("after {right} marks it was told {told:?} instead of {is:?}");
            return Err(Broken::new(rule, detail));
        }
        Ok(())
    }

    fn spoken(&self, host: &SimHost) -> Spoken {
        host.spoken[(self.number + self.generation) % host.spoken.len()]
    }

    fn begin(&mut self, host: &mut SimHost, counts: &mut Counts) -> Result<(), Broken> {
        let now = host.clock.now();
        self.generation += 1;
        let (name, path, is_json) = self.spoken(host);
        let Some(dialect) = host.codes.dialect(name) else { return Ok(()) };
        let least = Duration::from_millis(self.dice.below(60).into());
        let wire = Wire::new(
            &host.clock,
            self.dice.bits(),
            [least, least + Duration::from_millis(40)],
            host.net.as_ref(),
        );
        let is_hostile = self.dice.below(HOSTILE) == 0;
        let target = self.target(name, path, is_json && !is_hostile);
        let (who, out) = if is_hostile {
            let kind = Kind::ALL[self.dice.below(Kind::ALL.len() as u32) as usize];
            counts.add(kind.name());
            let hostile = Hostile::new(kind, (host.game.about, dialect), self.dice.bits(), now);
            let request = hostile.request(&target);
            (Who::Hostile(Box::new(hostile)), request)
        } else {
            counts.add(if is_json { "bot: json" } else { "bot: msgpack" });
            (Who::Bot(Box::new(self.bot(host, dialect, is_json, &target)?)), Vec::new())
        };
        self.connection = Connection::accept(self.address, &wire, self.dice.bits(), host, counts);
        let mut client_end = ClientEnd::new(wire, who, out, self.dice.bits(), now);
        if host.net.is_some() {
            client_end.trouble();
        }
        self.client_end = Some(client_end);
        Ok(())
    }

    fn target(&mut self, dialect: &str, path: &str, is_json: bool) -> String {
        let room = match self.dice.below(self.rooms as u32) {
            0 => String::new(),
            room => format!("/r/room-{room}"),
        };
        let format = if is_json { "&format=json" } else { "" };
        format!("{room}{path}?dialect={dialect}{format}")
    }

    fn bot(
        &mut self,
        host: &SimHost,
        dialect: Arc<Dialect>,
        is_json: bool,
        target: &str,
    ) -> Result<CheckingBot, Broken> {
        let keys = Keys { upgrade: [7; 16], mask: || [1, 2, 3, 4] };
        let link = Link::new("localhost:3000", target, says_hello(&dialect), keys);
        let seed = self.dice.bits();
        let (count, crowd_seed) = self.crowd;
        let (manner, count) = match self.dice.below(WALKERS.0) {
            0 => (Manner::Walk, WALKERS.1),
            _ => (Manner::Play, count),
        };
        let index = self.number + 1_000 * self.generation;
        let spares_visitors = false;
        let part = Part {
            index,
            count,
            seed,
            crowd_seed,
            manner,
            spares_visitors,
            checks: true,
            dialect: Arc::clone(&dialect),
        };
        let Some(mut agent) = (host.game.about.bots.agent)(&part) else {
            return Err(Broken::new("the game has bots", host.game.about.name));
        };
        agent.excuse(Excuse::SharedAddress);
        let mut bot = Bot::new(link, dialect, agent, Checker::default());
        bot.is_json = is_json;
        Ok(bot)
    }

    /// Removes ended connections.
    fn end(&mut self, host: &SimHost, counts: &mut Counts) -> Result<(), Broken> {
        let is_over = self.connection.as_ref().is_none_or(Connection::is_over);
        if is_over && let Some(connection) = self.connection.take() {
            drop(connection);
        }
        if let Some(ending) =
            self.connection.as_ref().and_then(Connection::talk).and_then(|talk| talk.ending.as_ref())
        {
            self.check_ending(ending)?;
        }
        let Some(client_end) = self.client_end.as_mut().filter(|client_end| is_over && client_end.is_gone)
        else {
            return Ok(());
        };
        counts.more("partial sends", client_end.wire.partial_sends());
        if host.net.is_some() {
            let segments = client_end.wire.segments();
            counts.more("segments", segments.segments);
            counts.more("segments lost", segments.losses);
            counts.more("segments that stalled their connection", segments.stalls);
        }
        if let Who::Bot(bot) = &mut client_end.who {
            counts.deeds.add(&bot.agent.take_deeds());
        }
        self.client_end = None;
        let pause = self.dice.between(Duration::from_millis(100), Duration::from_secs(4));
        self.next = self.next.max(host.clock.now() + pause);
        Ok(())
    }

    /// Checks that the server closed no client that broke no rule and had no network faults.
    fn check_ending(&self, ending: &Ending) -> Result<(), Broken> {
        let Some(client_end) = &self.client_end else { return Ok(()) };
        let is_lawful = match &client_end.who {
            Who::Bot(_) => true,
            Who::Hostile(hostile) => hostile.kind.is_lawful(),
        };
        let by_operator = [Breach::Kicked, Breach::Banned, Breach::GoingAway];
        let by_trouble = [Breach::SlowClient, Breach::Silent, Breach::HelloLate];
        let is_right = match ending {
            Ending::PeerClosed(_) | Ending::PeerLost => true,
            // A stalled connection delivers at once what was within the budget over time.
            Ending::Breach(Breach::MessageRate) => client_end.is_troubled || !is_lawful,
            Ending::Breach(breach) if by_operator.contains(breach) => true,
            Ending::Breach(breach) if by_trouble.contains(breach) => {
                client_end.is_troubled || client_end.is_gone || !is_lawful
            }
            Ending::Breach(Breach::InternalError | Breach::Overloaded | Breach::Full) => false,
            _ => !is_lawful,
        };
        let rule = "the server never closes a client that breaks no rule";
        if is_right { Ok(()) } else { Err(Broken::new(rule, format!("closed: {ending}"))) }
    }
}
