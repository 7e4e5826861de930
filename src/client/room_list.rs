//! Queries the game of a room from the server's list of rooms, in JSON.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Instant;

use super::answer::Answer;
use super::dial;
use super::url::Url;
use crate::limits;
use crate::util::os::PollInterest;

/// The request path of the list.
const ROOM_LIST_PATH: &str = "/rooms?format=json";

/// The game of the room of a URL, from the server at address `to`. `None` if the server has no list
/// of rooms, or the list lacks the room.
///
/// # Errors
/// The server cannot be reached or does not respond.
pub fn game_of_room(url: &Url, to: SocketAddr) -> io::Result<Option<String>> {
    let list = get(to, &url.authority())?;
    let Ok(list) = serde_json::from_slice::<serde_json::Value>(&list) else { return Ok(None) };
    let rooms = list["rooms"].as_array().map_or(&[][..], Vec::as_slice);
    let named = |name: &str| rooms.iter().find(|room| room["name"] == name);
    // The list omits private rooms and rooms that do not exist yet. Both have the game of the
    // default room.
    let like_default = || if list["on_demand"] == true { named("") } else { None };
    let room = named(url.room()).or_else(like_default);
    Ok(room.and_then(|room| room["game"].as_str()).map(str::to_owned))
}

/// The body of the response; empty if its status is not 200.
fn get(to: SocketAddr, authority: &str) -> io::Result<Vec<u8>> {
    let mut stream = dial::connect(to, None)?;
    let request = format!("GET {ROOM_LIST_PATH} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    // Cannot block: the request is shorter than the send buffer of a new socket.
    stream.write_all(request.as_bytes())?;
    let deadline = Instant::now() + limits::CONNECT_TIMEOUT;
    let (mut answer, mut buffer) = (Answer::new(limits::ROOM_LIST_BYTES), [0; 16 * 1024]);
    while !answer.is_whole() {
        dial::wait(PollInterest::readable(&stream), deadline.saturating_duration_since(Instant::now()))?;
        let count = match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => continue,
            // The bytes received before the error may be the complete response.
            Err(_) => break,
        };
        answer.receive(&buffer[..count]).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
    }
    Ok(if answer.status() == Some(200) { answer.body().to_vec() } else { Vec::new() })
}
