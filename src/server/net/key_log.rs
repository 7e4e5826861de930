//! The file of `--key-log`: the keys of all lanes, with which Wireshark decrypts captured
//! datagrams. As in `SSLKEYLOGFILE`, each key has a line:
//!
//! ```text
//!   TICKWIRE_LANE 0a1b2c3d 000102…1f 192.0.2.7:50001
//!                 │        │         client's end of the WebSocket
//!                 │        key of 32 bytes
//!                 connection id
//! ```

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tracing::warn;

use crate::limits;
use crate::server::clients::client_lane::LaneGrant;
use crate::util::os;
use crate::util::sync::Mutex;

/// The first word of each line.
const LABEL: &str = "TICKWIRE_LANE";

/// An open key log.
#[derive(Debug)]
pub struct KeyLog {
    path: PathBuf,
    /// `None` after an error, or once the file is full.
    file: Mutex<Option<File>>,
}

impl KeyLog {
    /// Opens a key log, or creates it with permissions for its owner alone.
    ///
    /// # Errors
    /// The existing file is world-readable, or an I/O error.
    pub fn open(path: &Path) -> io::Result<KeyLog> {
        let file = os::open_private(path)?;
        if os::is_world_readable(&file.metadata()?) {
            let rule = "every user of this machine may read this file: make it private with chmod 600";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, rule));
        }
        Ok(KeyLog { path: path.to_owned(), file: Mutex::new(Some(file)) })
    }

    /// Logs a warning about the file.
    pub fn warn(&self) {
        let path = self.path.display();
        warn!("the keys of all lanes are written to {path}: with them anyone can read and forge datagrams");
    }

    /// Appends the key of a lane. `client` is the client's end of its WebSocket. After an error, no
    /// more keys are written.
    pub fn append(&self, grant: &LaneGrant, client: SocketAddr) {
        // DTLS encrypts the datagrams of a data channel with its own keys.
        let Some(key) = grant.key else { return };
        let key: String = key.0.iter().map(|byte| format!("{byte:02x}")).collect();
        let line = format!("{LABEL} {:08x} {key} {client}\n", grant.connection);
        let mut open = self.file.lock();
        let Some(file) = open.as_mut() else { return };
        if let Err(error) = append(file, &line) {
            warn!("no more keys are written to {}: {error}", self.path.display());
            *open = None;
        }
    }
}

fn append(file: &mut File, line: &str) -> io::Result<()> {
    let bytes = file.seek(SeekFrom::End(0))?;
    if bytes + line.len() as u64 > limits::KEY_LOG_BYTES {
        let rule = format!("the file may have at most {} bytes", limits::KEY_LOG_BYTES);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, rule));
    }
    file.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::datagram::LaneKey;

    #[test]
    fn each_lane_appends_a_line_until_the_file_is_full() {
        let path = std::env::temp_dir().join(format!("tickwire-key-log-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        let key = LaneKey(std::array::from_fn(|n| n as u8));
        let grant = |connection| LaneGrant { connection, key: Some(key), port: 3000, answer: None };
        let digits = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
        KeyLog::open(&path)
            .expect("a new file")
            .append(&grant(7), SocketAddr::from(([192, 0, 2, 7], 50_001)));
        let log = KeyLog::open(&path).expect("an existing file");
        log.append(&grant(0xc0ff_ee07), "[2001:db8::7]:50002".parse().expect("an address"));
        let expected = format!(
            "TICKWIRE_LANE 00000007 {digits} 192.0.2.7:50001\n\
             TICKWIRE_LANE c0ffee07 {digits} [2001:db8::7]:50002\n"
        );
        assert_eq!(fs::read_to_string(&path).expect("it was written"), expected);
        let file = fs::OpenOptions::new().write(true).open(&path).expect("its own file");
        file.set_len(limits::KEY_LOG_BYTES - 10).expect("a sparse file");
        log.append(&grant(8), SocketAddr::from(([192, 0, 2, 7], 50_001)));
        file.set_len(0).expect("its own file");
        log.append(&grant(9), SocketAddr::from(([192, 0, 2, 7], 50_001)));
        assert_eq!(fs::metadata(&path).expect("it exists").len(), 0, "no key follows the first error");
        fs::remove_file(&path).expect("its own file");
    }
}
