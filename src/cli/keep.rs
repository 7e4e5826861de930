//! `--keep`: worlds that go on over a restart of the server, also of one with other rules.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tickwire_sim::Identity;
use tracing::{info, warn};

use crate::limits;
use crate::net::{Core, Kind};
use crate::platform;
use crate::plural::count;
use crate::room::{Kept, Options, kept};

/// The worlds that an earlier run has kept, and what became of them.
#[derive(Debug, Default)]
pub struct Keep {
    file: Option<PathBuf>,
    rooms: Vec<(String, Kept)>,
    /// What to tell once there is a log: whether it is bad news, and the sentence.
    told: Vec<(bool, String)>,
}

impl Keep {
    /// The worlds in this file. Without a file, or if there is none yet, there are none; a file that
    /// cannot be used is told.
    pub fn open(file: Option<&Path>) -> Keep {
        let mut keep = Keep { file: file.map(Path::to_owned), ..Keep::default() };
        if let Some(file) = file {
            match open(file) {
                Ok(rooms) => keep.rooms = rooms,
                Err(why) if why.kind() == io::ErrorKind::NotFound => {}
                Err(why) => {
                    keep.told.push((true, format!("{}: {why}; all worlds begin anew", file.display())))
                }
            }
        }
        keep
    }

    /// A room whose world goes on, if one of this name was kept and can go on with these rules, or
    /// else begins.
    pub fn room(&mut self, game: &Kind, identity: &Identity, options: Options) -> Box<Core> {
        let at = self.rooms.iter().position(|(name, _)| **name == *options.name);
        let Some((name, kept)) = at.map(|at| self.rooms.swap_remove(at)) else {
            return (game.begin)(identity, options);
        };
        let title = if name.is_empty() { "the default room".to_owned() } else { format!("room {name}") };
        match (game.carry)(identity, &kept, options.clone()) {
            Ok((room, changes)) => {
                let (tick, players) = (room.handle().tick(), count(kept.keys.len(), "player"));
                self.told
                    .push((false, format!("{title} goes on after tick {tick}: {players} may come back")));
                self.told.extend(changes.into_iter().map(|change| (false, format!("{title}: {change}"))));
                room
            }
            Err(why) => {
                self.told.push((true, format!("{title} begins anew: its world cannot go on: {why}")));
                (game.begin)(identity, options)
            }
        }
    }

    /// Tells what became of the worlds.
    pub fn tell(&self) {
        for (name, _) in &self.rooms {
            let file = self.file.as_deref().unwrap_or(Path::new("")).display();
            warn!("{file} has a world of the room {name:?}, which this server does not have: it is lost");
        }
        for (is_bad, sentence) in &self.told {
            if *is_bad { warn!("{sentence}") } else { info!("{sentence}") }
        }
    }
}

fn open(file: &Path) -> io::Result<Vec<(String, Kept)>> {
    let about = fs::metadata(file)?;
    let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    if !about.is_file() || about.len() > limits::KEPT_BYTES {
        return Err(bad(format!("must be a regular file of at most {} bytes", limits::KEPT_BYTES)));
    }
    kept::read(&fs::read(file)?).map_err(|why| bad(why.to_string()))
}

/// Writes worlds to this file, completely or not at all.
///
/// # Errors
/// It cannot be written.
pub fn write(file: &Path, rooms: &[(String, Kept)]) -> io::Result<()> {
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(".part");
    let unfinished = PathBuf::from(unfinished);
    let _ = fs::remove_file(&unfinished);
    platform::create_private(&unfinished)?.write_all(&kept::write(rooms))?;
    fs::rename(&unfinished, file)
}
