//! The files of one room's journal.

use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::time::SystemTime;

use crate::server::journal::{FileInfo, JournalStorage};
use crate::util::os;

/// The directory of one room. The file that was last written stays open.
#[derive(Debug)]
pub struct FileStorage {
    directory: PathBuf,
    open: Option<(String, File)>,
}

impl FileStorage {
    /// Uses an existing directory.
    pub fn new(directory: PathBuf) -> FileStorage {
        FileStorage { directory, open: None }
    }

    /// Returns the open file with this name, or opens it at its end.
    fn file(&mut self, name: &str) -> io::Result<&mut File> {
        if self.open.as_ref().is_none_or(|(open, _)| open != name) {
            let mut file = File::options().write(true).open(self.directory.join(name))?;
            file.seek(SeekFrom::End(0))?;
            self.open = Some((name.to_owned(), file));
        }
        let open = self.open.as_mut().map(|(_, file)| file);
        open.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

impl JournalStorage for FileStorage {
    fn list(&self) -> io::Result<Vec<FileInfo>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let metadata = match entry.metadata() {
                // Another process of the cluster has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata?,
            };
            // Files with other names are not of the journal.
            let Ok(name) = entry.file_name().into_string() else { continue };
            if metadata.is_file() {
                let since = metadata.modified()?.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                let modified_ms = since.as_millis() as u64;
                files.push(FileInfo { name, bytes: metadata.len(), modified_ms });
            }
        }
        Ok(files)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.directory.join(name))
    }

    fn create(&mut self, name: &str) -> io::Result<()> {
        let file = os::open_private(&self.directory.join(name))?;
        file.set_len(0)?;
        self.open = Some((name.to_owned(), file));
        Ok(())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.file(name)?.write_all(bytes)
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        self.file(name)?.sync_data()
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.directory.join(from), self.directory.join(to))?;
        if let Some((open, _)) = &mut self.open {
            if open == from {
                to.clone_into(open);
            } else if open == to {
                // The open file no longer has this name.
                self.open = None;
            }
        }
        Ok(())
    }

    fn truncate(&mut self, name: &str, bytes: u64) -> io::Result<()> {
        let file = self.file(name)?;
        file.set_len(bytes)?;
        file.seek(SeekFrom::End(0)).map(drop)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        fs::remove_file(self.directory.join(name))
    }

    fn sync_directory(&mut self) -> io::Result<()> {
        os::try_sync_directory(&self.directory)
    }

    fn remove_directory(&mut self) {
        let _ = fs::remove_dir(&self.directory);
    }
}
