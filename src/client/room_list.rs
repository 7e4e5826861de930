//! The server's list of rooms, and the game of a room of it.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::time::Instant;

use serde_json::Value;

use super::answer::Answer;
use super::dial;
use super::stream::Stream;
use super::url::Url;
use crate::limits;

/// The request path of the list.
const ROOM_LIST_PATH: &str = "/rooms?format=json";

/// A room of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedRoom {
    /// The name; empty for the default room.
    pub name: String,
    /// The path of its page, such as `/r/arena/`.
    pub path: String,
    /// The game.
    pub game: String,
    /// Number of players in its world.
    pub players: u64,
    /// Number of clients, spectators included.
    pub clients: u64,
    /// The properties that its game has set, by name. Numbers and flags are text, as in
    /// `?where=map:3`.
    pub properties: BTreeMap<String, String>,
}

/// Requests the list of the public rooms from the server of a URL, the default room first.
///
/// # Errors
/// The server cannot be reached or does not respond; `InvalidData` if it has no such list.
pub fn rooms(url: &Url) -> io::Result<Vec<ListedRoom>> {
    let stream = Stream::Plain(dial::connect(dial::resolve(url)?, None)?);
    let list = get(stream, &url.authority())?;
    let list: Value = serde_json::from_slice(&list)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, format!("{url} has no list of rooms")))?;
    Ok(list["rooms"].as_array().into_iter().flatten().map(listed_room).collect())
}

fn listed_room(room: &Value) -> ListedRoom {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let field = |name: &str| room[name].as_str().unwrap_or_default().to_owned();
    let properties = room["properties"].as_object().into_iter().flatten();
    ListedRoom {
        name: field("name"),
        path: field("path"),
        game: field("game"),
        players: room["players"].as_u64().unwrap_or_default(),
        clients: room["clients"].as_u64().unwrap_or_default(),
        properties: properties.map(|(name, value)| (name.clone(), text(value))).collect(),
    }
}

/// The game of a room, according to the list of its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GameOfRoom {
    /// The name of the game.
    Known(String),
    /// The list lacks the room.
    NoRoom,
    /// The server has no list of rooms, so it is not a tickwire server.
    NoList,
}

/// The game of the room of a URL, requested from its server over a new connection.
///
/// # Errors
/// The server does not respond.
pub(crate) fn game_of_room(url: &Url, stream: Stream) -> io::Result<GameOfRoom> {
    let list = get(stream, &url.authority())?;
    let list = serde_json::from_slice::<Value>(&list).unwrap_or_default();
    let Some(rooms) = list["rooms"].as_array() else { return Ok(GameOfRoom::NoList) };
    let named = |name: &str| rooms.iter().find(|room| room["name"] == name);
    // The list omits private rooms and rooms that do not exist yet. Both have the game of the
    // default room.
    let like_default = || if list["on_demand"] == true { named("") } else { None };
    let room = named(url.room()).or_else(like_default);
    let game = room.and_then(|room| room["game"].as_str());
    Ok(game.map_or(GameOfRoom::NoRoom, |game| GameOfRoom::Known(game.to_owned())))
}

/// The body of the response; empty if its status is not 200.
fn get(mut stream: Stream, authority: &str) -> io::Result<Vec<u8>> {
    let request = format!("GET {ROOM_LIST_PATH} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    stream.write_all_within(request.as_bytes(), limits::CONNECT_TIMEOUT)?;
    let deadline = Instant::now() + limits::CONNECT_TIMEOUT;
    let (mut answer, mut buffer) = (Answer::new(limits::ROOM_LIST_BYTES), [0; 16 * 1024]);
    while !answer.is_whole() {
        if !stream.has_unread() {
            dial::wait(stream.interest(), deadline.saturating_duration_since(Instant::now()))?;
        }
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
