//! The file that `save` writes.
//!
//! The world is written as `tickwire-TICK.world` to the given folder, completely or not at all. An
//! existing file is never changed, and no room waits.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::net::platform;
use crate::room::Snapshot;

/// Writes a snapshot, and returns the name of the file.
///
/// # Errors
/// The file exists, or writing it fails; then no partial file is left behind.
pub fn write(folder: &Path, snapshot: &Snapshot) -> io::Result<String> {
    let name = format!("tickwire-{}.world", snapshot.tick);
    let path = folder.join(&name);
    if path.try_exists()? {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{name} already exists")));
    }
    let chance = u32::from_le_bytes(platform::random());
    let unfinished = folder.join(format!(".{name}.{chance:08x}"));
    let written = write_whole(&unfinished, &snapshot.bytes).and_then(|()| fs::rename(&unfinished, &path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written?;
    // The name as well has to outlive a power cut. A folder that cannot be synced has the file all the same.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(name)
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = platform::create_private(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    use super::*;

    /// An empty folder of the test's own below the target directory; removed when dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Folder {
            let name = format!("tickwire-save-{:016x}", u64::from_le_bytes(platform::random()));
            let path = std::env::temp_dir().join(name);
            fs::create_dir(&path).expect("a new folder");
            Folder(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).expect("the folder is there");
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_is_there_whole_and_nothing_else_is() {
        let folder = Folder::new();
        let snapshot = Snapshot { tick: 7, bytes: [1, 2, 3].into() };
        assert_eq!(write(&folder.0, &snapshot).expect("written"), "tickwire-7.world");
        assert_eq!(folder.names(), ["tickwire-7.world"]);
        assert_eq!(fs::read(folder.0.join("tickwire-7.world")).expect("readable"), [1, 2, 3]);
        let about = fs::metadata(folder.0.join("tickwire-7.world")).expect("it is there");
        assert_eq!(about.permissions().mode() & 0o7777, 0o600, "for its owner alone");
    }

    #[test]
    fn save_never_changes_an_existing_file() {
        let folder = Folder::new();
        write(&folder.0, &Snapshot { tick: 7, bytes: [1].into() }).expect("written");
        let error = write(&folder.0, &Snapshot { tick: 7, bytes: [2].into() }).expect_err("taken");
        assert_eq!(error.to_string(), "tickwire-7.world already exists");
        assert_eq!(fs::read(folder.0.join("tickwire-7.world")).expect("readable"), [1]);
        assert_eq!(folder.names().len(), 1);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let folder = Folder::new();
        assert!(write(&folder.0.join("none"), &Snapshot { tick: 7, bytes: [1].into() }).is_err());
    }
}
