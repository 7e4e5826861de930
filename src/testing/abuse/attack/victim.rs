//! The victim of [`Attack::Reconnect`](super::Attack::Reconnect): one well-behaved client that
//! counts the attackers' chat lines it receives.
//!
//! It has its own source address, joins the game and stands still; on a small map it is in view of
//! every player.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use crate::client::url::Url;
use crate::connection::session::NATIVE_VERSION;
use crate::games::moo::bot::received::ServerPacket;
use crate::games::moo::client_packet::{ClientPacket, Mode};
use crate::packet::PacketTables;
use crate::testing::abuse::misbehavior::MooTestClient;

/// Its source address, which no pattern gives to an attacker.
const FROM: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Plays for this time; returns how many lines with this text arrived: none from a
/// [`sink`](crate::testing::abuse::sink).
///
/// # Errors
/// The victim was not let in, or was disconnected.
pub fn count_chat_lines(url: &Url, text: &str, time: Duration) -> io::Result<u64> {
    let deadline = Instant::now() + time;
    let native = PacketTables::builtin().dialect("native").expect("the built-in tables have it");
    let mut talk = MooTestClient::connect(url, Some(FROM), native)?;
    let name = Some("victim".to_owned());
    talk.send_packet(&ClientPacket::Hello { version: NATIVE_VERSION, mode: Mode::Play, name, skin: None })?;
    let mut lines = 0;
    loop {
        match talk.receive(deadline.saturating_duration_since(Instant::now())) {
            Ok(Some(ServerPacket::Chat { text: heard, .. })) if heard == text => lines += 1,
            Ok(Some(_)) => {}
            Ok(None) => {
                let ending = talk.ending().unwrap_or_default().to_owned();
                return Err(io::Error::new(ErrorKind::ConnectionAborted, format!("the victim: {ending}")));
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(lines),
            Err(error) => return Err(error),
        }
        // What has been heard already would not end by itself.
        if Instant::now() >= deadline {
            return Ok(lines);
        }
    }
}
