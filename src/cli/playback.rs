//! `tickwire replay --serve`: plays a capture in a browser.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::Path;

use super::game_list::GameList;
use super::output::{CliError, print, warn_of_other_localhost};
use super::signals;
use crate::game::GameInfo;
use crate::games;
use crate::limits;
use crate::server::net::{PlaybackContent, PlaybackServer};
use crate::tools::playback::{FileEnd, Playback, PlaybackRoom};

/// Serves until Ctrl-C or SIGTERM.
///
/// # Errors
/// A description, if the file cannot be played or the address cannot be used.
pub fn run_playback_server(file: &Path, listen: SocketAddr, games: &GameList) -> Result<(), CliError> {
    let playback = read(file, games).map_err(|error| format!("{}: {error}", file.display()))?;
    if let Some(why) = playback.unavailable_reason() {
        return Err(format!("{}: {why}", file.display()));
    }
    let mut rooms = Vec::new();
    for (name, room) in playback.rooms() {
        if let PlaybackRoom::Ready(show) = room {
            rooms.push((name.clone(), show.info()));
        }
    }
    rooms.retain(|(_, info)| has_rules(info));
    if rooms.is_empty() {
        return Err(format!("{}: {}", file.display(), without_rules(&playback)));
    }
    let stopped = signals::stopped()?;
    let served = PlaybackContent { file: file.to_owned(), rooms, codes: games.codes.clone() };
    let server = PlaybackServer::start(listen, served).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => format!("{listen} is in use; choose another with --bind ADDR:PORT"),
        _ => format!("cannot listen on {listen}: {error}"),
    })?;
    print(&text(&playback, server.address()));
    warn_of_other_localhost(server.address());
    drop(playback);
    let _ = stopped.recv();
    server.stop();
    Ok(())
}

/// Whether the page can compute the world of this game. Its WebAssembly module has only the games
/// of this project.
fn has_rules(info: &GameInfo) -> bool {
    games::INFO.iter().any(|own| own.name == info.name)
}

/// Error text for a file without a playable room: the games, and how to build a page with their
/// rules.
fn without_rules(playback: &Playback) -> String {
    let mut names = BTreeSet::new();
    for room in playback.rooms().values() {
        if let PlaybackRoom::Ready(show) = room {
            names.insert(show.info().name);
        }
    }
    browser_edition_instead(&names.into_iter().collect::<Vec<_>>().join(", "))
}

/// Instructions to play captures of these games, which the page of `--serve` does not have.
fn browser_edition_instead(names: &str) -> String {
    format!(
        "the page of --serve has no rules of {names}. In a clone of tickwire, \
         `scripts/browser-edition.sh --program FILE.rs FOLDER` builds a page that has them; FILE.rs is the program's \
         main file. Serve it with `python3 -m http.server --directory FOLDER`, open game.html?capture and choose \
         this file"
    )
}

/// Reads the records of the file, piece by piece.
fn read(file: &Path, games: &GameList) -> io::Result<Playback> {
    let (mut file, mut buffer) = (File::open(file)?, vec![0; limits::WATCH_SEND_BYTES]);
    let mut playback = Playback::new(games.info());
    while playback.end().is_none() {
        match file.read(&mut buffer)? {
            0 => playback.finish(),
            count => playback.feed(&buffer[..count]),
        }
    }
    Ok(playback)
}

/// A line for each room, with its URL; then notes on the file.
fn text(playback: &Playback, address: SocketAddr) -> String {
    let mut text = String::from("\n");
    for (name, room) in playback.rooms() {
        let path = if name.is_empty() { String::new() } else { format!("r/{name}/") };
        match room {
            PlaybackRoom::Ready(show) if !has_rules(show.info()) => {
                let game = show.info().name;
                text += &format!("  room {name} cannot be watched: the page has no rules of {game}\n");
            }
            PlaybackRoom::Ready(show) => {
                let seconds = (show.last() - show.first()) / show.identity().tick_hz.max(1);
                let (game, first, last) = (show.info().name, show.first(), show.last());
                let long = format!("{}:{:02}", seconds / 60, seconds % 60);
                text +=
                    &format!("  watch  http://{address}/{path}  {game}, {long}, ticks {first} to {last}\n");
                if let Some(why) = show.ended() {
                    text += &format!("         up to tick {last}: {why}\n");
                }
            }
            PlaybackRoom::Failed(why) => text += &format!("  room {name} cannot be watched: {why}\n"),
            PlaybackRoom::Buffering(_) => {}
        }
    }
    match playback.end() {
        Some(FileEnd::Truncated(at)) => {
            text += &format!("  the file ends in the middle of the block at byte {at}\n")
        }
        Some(FileEnd::Damaged(why)) => {
            text += &format!("  the file is damaged {why}; what is before it is served\n")
        }
        Some(FileEnd::Whole) | None => {}
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_of_an_own_game_names_the_script_its_option_and_the_page_that_it_writes() {
        let words = browser_edition_instead("coins");
        assert!(words.starts_with("the page of --serve has no rules of coins."), "{words}");
        let script = include_str!("../../scripts/browser-edition.sh");
        for part in ["--program FILE.rs", "game.html"] {
            assert!(words.contains(part) && script.contains(part), "{part}: {words}");
        }
    }
}
