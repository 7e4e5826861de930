//! The victim of [`HostileKind::Reconnect`](crate::testing::hostile::HostileKind::Reconnect): one
//! well-behaved client that counts the received chat messages of the attackers.
//!
//! It has its own source address, joins the game and does not move. On a small map it is in view of
//! every player.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use crate::client::url::Url;
use crate::connection::session::NATIVE_VERSION;
use crate::games::moo::bot::received::ServerPacket;
use crate::games::moo::client_packet::{ClientPacket, Mode};
use crate::packet::PacketTables;
use crate::testing::abuse::client::MooTestClient;

/// Source address that no pattern assigns to an attacker.
const FROM: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Plays for `time`. Returns the number of received chat messages with this text; 0 from a
/// [`sink`](crate::testing::abuse::sink).
///
/// # Errors
/// The victim was refused or disconnected.
pub fn count_chat_lines(url: &Url, text: &str, time: Duration) -> io::Result<u64> {
    let deadline = Instant::now() + time;
    let native = PacketTables::builtin().dialect("native").expect("the built-in tables have it");
    let mut client = MooTestClient::connect(url, Some(FROM), native)?;
    let name = Some("victim".to_owned());
    client.send_packet(&ClientPacket::Hello {
        version: NATIVE_VERSION,
        mode: Mode::Play,
        name,
        skin: None,
    })?;
    let mut lines = 0;
    loop {
        match client.receive(deadline.saturating_duration_since(Instant::now())) {
            Ok(Some(ServerPacket::Chat { text: received, .. })) if received == text => lines += 1,
            Ok(Some(_)) => {}
            Ok(None) => {
                let reason = client.close_reason().unwrap_or_default().to_owned();
                return Err(io::Error::new(ErrorKind::ConnectionAborted, format!("the victim: {reason}")));
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(lines),
            Err(error) => return Err(error),
        }
        // Queued messages could prolong the loop, so the deadline is checked here too.
        if Instant::now() >= deadline {
            return Ok(lines);
        }
    }
}
