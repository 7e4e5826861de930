//! The UDP socket of a bot's lane.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use super::checking_bot::CheckingBot;
use crate::client::dial;
use crate::game::bots::BotStats;

/// Size of the buffer, in bytes. No datagram of a lane is longer.
const BUFFER_BYTES: usize = 1_500;

/// Exchanges the datagrams of a bot's lane. Does nothing without a lane.
#[derive(Debug, Default)]
pub struct BotDatagrams {
    socket: Option<UdpSocket>,
    /// Bytes received and sent.
    bytes: [u64; 2],
}

impl BotDatagrams {
    /// Receives the datagrams that have arrived, and sends those that are due. `to` is the address
    /// of the server.
    ///
    /// # Errors
    /// The system has no socket.
    pub fn exchange(&mut self, bot: &mut CheckingBot, to: SocketAddr, now: Duration) -> io::Result<()> {
        let Some(lane) = bot.lane() else { return Ok(()) };
        let socket = match &self.socket {
            Some(socket) => socket,
            None => {
                let socket = dial::connect_lane((to.ip(), lane.port()).into())?;
                self.socket.insert(socket)
            }
        };
        let mut buffer = [0; BUFFER_BYTES];
        // An error, such as a closed port, counts as a lost datagram.
        while let Ok(count) = socket.recv(&mut buffer) {
            self.bytes[0] += count as u64;
            bot.receive_datagram(&buffer[..count], now);
        }
        for datagram in bot.drain_datagrams(now) {
            self.bytes[1] += datagram.len() as u64;
            let _ = socket.send(&datagram);
        }
        Ok(())
    }

    /// The counts since the lane was granted.
    pub fn stats(&self, bot: &CheckingBot, now: Duration) -> BotStats {
        let Some(lane) = bot.lane() else { return BotStats::default() };
        let stats = lane.stats();
        BotStats(vec![
            ("lanes", "lanes granted", 1),
            ("lanes_in_use", "lanes in use", lane.is_usable(now).into()),
            ("datagrams_sent", "datagrams sent", stats.sent),
            ("datagrams_unacked", "datagrams sent and not acknowledged", stats.sent - stats.acknowledged),
            ("datagrams_received", "datagrams received", stats.received),
            ("datagrams_repeated", "datagrams repeated", stats.repeated),
            ("datagrams_reordered", "datagrams reordered", stats.reordered),
            ("datagram_bytes_in", "bytes of datagrams received", self.bytes[0]),
            ("datagram_bytes_out", "bytes of datagrams sent", self.bytes[1]),
        ])
    }
}
