//! Measures the round trips of a bot: the time from each `ping` that its agent sends to the `pong`
//! with the same nonce.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::histogram::DurationHistogram;
use crate::game::bots::{Agent, AgentOutput, BotStats, Tolerance, ViewStats};
use crate::packet::{DecodedPacket, Dialect, Direction, msgpack};

/// Maximum number of pings that wait for their pong. Older ones are dropped.
const MAX_PENDING: usize = 16;

/// An agent whose round trips are measured.
pub struct RoundTripAgent {
    inner: Box<dyn Agent>,
    dialect: Arc<Dialect>,
    /// The nonce, if the dialect has one, and the time of each ping without a pong.
    pending: VecDeque<(Option<u32>, Duration)>,
    /// Round trips since the last call of [`RoundTripAgent::take_round_trips`].
    round_trips: DurationHistogram,
}

impl RoundTripAgent {
    /// Wraps an agent on a new connection.
    pub fn new(inner: Box<dyn Agent>, dialect: Arc<Dialect>) -> RoundTripAgent {
        let (pending, round_trips) = (VecDeque::new(), DurationHistogram::new());
        RoundTripAgent { inner, dialect, pending, round_trips }
    }

    /// Returns the round trips since the last call.
    pub fn take_round_trips(&mut self) -> DurationHistogram {
        std::mem::take(&mut self.round_trips)
    }

    /// Stores the pings among the packets that the agent sends now.
    fn note_pings(&mut self, sent: &[Vec<u8>], now: Duration) {
        let Some((head, _)) = self.dialect.prefix(Direction::ToServer, "ping") else { return };
        for message in sent.iter().filter(|message| message.starts_with(head)) {
            let nonce = nonce(&self.dialect, message);
            if self.pending.len() == MAX_PENDING {
                self.pending.pop_front();
            }
            self.pending.push_back((nonce, now));
        }
    }

    /// Records the round trip that ends with this packet, if it is a pong. Pings before it have
    /// lost their pong, because pongs arrive in order.
    fn note_pong(&mut self, packet: &DecodedPacket<'_>, now: Duration) {
        if packet.row.name != "pong" {
            return;
        }
        let nonce = packet.integer("nonce");
        let Some(at) = self.pending.iter().position(|(sent, _)| *sent == nonce) else { return };
        if let Some((_, sent)) = self.pending.drain(..=at).next_back() {
            self.round_trips.add(now.saturating_sub(sent));
        }
    }
}

/// Returns the nonce of a ping. `None` in a dialect without it.
fn nonce(dialect: &Dialect, ping: &[u8]) -> Option<u32> {
    let argument = dialect.row(Direction::ToServer, "ping")?.argument("nonce")?;
    let envelope = msgpack::read(ping, Direction::ToServer).ok()?;
    let arguments = envelope.as_array()?.get(1)?;
    arguments.as_array()?.get(argument)?.as_u64()?.try_into().ok()
}

impl Agent for RoundTripAgent {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn on_open(&mut self, out: &mut AgentOutput) {
        self.inner.on_open(out);
    }

    fn on_packet(&mut self, packet: &DecodedPacket<'_>, now: Duration, out: &mut AgentOutput) {
        self.note_pong(packet, now);
        self.inner.on_packet(packet, now, out);
    }

    fn on_datagram_packet(&mut self, packet: &DecodedPacket<'_>, now: Duration, out: &mut AgentOutput) {
        self.note_pong(packet, now);
        self.inner.on_datagram_packet(packet, now, out);
    }

    fn act(&mut self, now: Duration, out: &mut AgentOutput) {
        let before = out.packets.len();
        self.inner.act(now, out);
        self.note_pings(&out.packets[before..], now);
    }

    fn is_playing(&self) -> bool {
        self.inner.is_playing()
    }

    fn view_stats(&self) -> ViewStats {
        self.inner.view_stats()
    }

    fn tolerate(&mut self, reason: Tolerance) {
        self.inner.tolerate(reason);
    }

    fn take_stats(&mut self) -> BotStats {
        self.inner.take_stats()
    }

    fn reliable_hashes(&self) -> &[u32] {
        self.inner.reliable_hashes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{PacketTables, Value};

    /// Sends a ping with each of these nonces; `None` in a dialect without one.
    struct Pinger(Arc<Dialect>, VecDeque<Option<u32>>);

    impl Agent for Pinger {
        fn name(&self) -> &str {
            "pinger"
        }

        fn on_open(&mut self, _: &mut AgentOutput) {}

        fn on_packet(&mut self, _: &DecodedPacket<'_>, _: Duration, _: &mut AgentOutput) {}

        fn act(&mut self, _: Duration, out: &mut AgentOutput) {
            let Some(nonce) = self.1.pop_front() else { return };
            let values: Vec<Value> = nonce.into_iter().map(Value::from).collect();
            out.packets.push(self.0.encode(Direction::ToServer, "ping", &values).expect("a packet"));
        }

        fn is_playing(&self) -> bool {
            true
        }

        fn view_stats(&self) -> ViewStats {
            ViewStats::default()
        }
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Returns the number of round trips and the longest, in ms, of pings at 0, 100 and 200 ms.
    /// Pongs with these values arrive at these times.
    fn round_trips(dialect: &str, nonces: [Option<u32>; 3], pongs: &[(u64, &[Value])]) -> (usize, f64) {
        let dialect = PacketTables::builtin().dialect(dialect).expect("a built-in dialect");
        let pinger = Pinger(Arc::clone(&dialect), nonces.into());
        let mut agent = RoundTripAgent::new(Box::new(pinger), Arc::clone(&dialect));
        let mut out = AgentOutput::default();
        [0, 100, 200].iter().for_each(|at| agent.act(ms(*at), &mut out));
        for (at, values) in pongs {
            let pong = dialect.encode(Direction::ToClient, "pong", values).expect("a packet");
            let pong = dialect.decode(Direction::ToClient, &pong).expect("a packet");
            agent.on_packet(&pong, ms(*at), &mut out);
        }
        let round_trips = agent.take_round_trips();
        (round_trips.count(), round_trips.max_ms())
    }

    #[test]
    fn a_pong_ends_the_round_trip_of_the_ping_with_its_nonce() {
        let pong = |nonce: u32| [Value::from(nonce), Value::from(7)];
        let nonces = [Some(1), Some(2), Some(3)];
        let answered = [(130, &pong(1)[..]), (150, &pong(2)[..]), (230, &pong(3)[..])];
        assert_eq!(round_trips("native", nonces, &answered), (3, 130.0));
        let without_first = [(150, &pong(2)[..]), (160, &pong(1)[..]), (230, &pong(3)[..])];
        assert_eq!(round_trips("native", nonces, &without_first), (2, 50.0), "a late pong counts no more");
        assert_eq!(round_trips("native", nonces, &[(300, &pong(9)[..])]), (0, 0.0), "no such ping");
    }

    #[test]
    fn pongs_without_a_nonce_belong_to_the_pings_in_order() {
        let answered: [(u64, &[Value]); 2] = [(120, &[]), (230, &[])];
        assert_eq!(round_trips("legacy", [None; 3], &answered), (2, 130.0));
    }
}
