//! The sandbox's accounts on disk: one file, one line of JSON for each state of an account, the
//! last one counts.
//!
//! **Order.** A line is synced before the effect that it tells of is shown to anybody.
//!
//! **Failure.** A last line without its end is what a crash left: it was never acknowledged and is
//! cut off. A broken line before the end is damage: the sandbox does not start. After a failed
//! write the file is cut back to its last good end before the next one.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::book::{Account, FORMAT};

/// The file in the data folder.
pub(super) const FILE: &str = "sandbox-bank.jsonl";
/// A file with more than so many times as many lines as accounts is written anew at start.
const STALE_FACTOR: usize = 4;
/// Files with fewer lines are left alone.
const STALE_MIN: usize = 1_000;

#[derive(Debug)]
pub(super) struct Log {
    file: File,
    /// Where the last acknowledged line ends.
    good: u64,
}

impl Log {
    /// Opens the file of a folder, and gives the accounts in it.
    pub fn open(folder: &Path) -> io::Result<(Self, Vec<Account>)> {
        fs::create_dir_all(folder)?;
        let path = folder.join(FILE);
        let mut file = opened(&path)?;
        sync_folder(folder)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let (lines, good) = whole_lines(&bytes);
        let count = lines.len();
        let mut accounts = BTreeMap::new();
        for (number, line) in lines.into_iter().enumerate() {
            let account = read(line).map_err(|why| {
                let number = number.saturating_add(1);
                let text = format!("{}: line {number}: {why}", path.display());
                io::Error::new(io::ErrorKind::InvalidData, text)
            })?;
            accounts.insert(account.client_id, account);
        }
        let accounts: Vec<_> = accounts.into_values().collect();
        let mut log = Self { file, good };
        if count > STALE_MIN.max(accounts.len().saturating_mul(STALE_FACTOR)) {
            log = Self::rewritten(folder, &path, &accounts)?;
        }
        log.cut()?;
        Ok((log, accounts))
    }

    fn rewritten(folder: &Path, path: &Path, accounts: &[Account]) -> io::Result<Self> {
        let fresh: PathBuf = path.with_extension("new");
        let mut bytes = Vec::new();
        for account in accounts {
            bytes.extend(line(account)?);
        }
        let mut file = File::create(&fresh)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        sync_folder(folder)?;
        drop(file);
        let good = u64::try_from(bytes.len()).map_err(io::Error::other)?;
        Ok(Self {
            file: opened(path)?,
            good,
        })
    }

    /// Writes the state of an account; on disk when this returns.
    pub fn write(&mut self, account: &Account) -> io::Result<()> {
        let line = line(account)?;
        let length = u64::try_from(line.len()).map_err(io::Error::other)?;
        let result = self
            .cut()
            .and_then(|()| self.file.write_all(&line))
            .and_then(|()| self.file.sync_data());
        if result.is_ok() {
            self.good = self.good.saturating_add(length);
        }
        result
    }

    /// Removes what a failed or interrupted write left after the last good end.
    fn cut(&mut self) -> io::Result<()> {
        if self.file.metadata()?.len() != self.good {
            self.file.set_len(self.good)?;
        }
        self.file.seek(SeekFrom::Start(self.good))?;
        Ok(())
    }
}

fn opened(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    file.try_lock().map_err(|why| {
        let text = format!("{} is used by another sandbox bank: {why}", path.display());
        io::Error::new(io::ErrorKind::ResourceBusy, text)
    })?;
    Ok(file)
}

fn read(line: &[u8]) -> Result<Account, String> {
    let account: Account = serde_json::from_slice(line).map_err(|why| why.to_string())?;
    if account.format == FORMAT {
        Ok(account)
    } else {
        Err(format!("format {} is not known", account.format))
    }
}

fn line(account: &Account) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(account)?;
    line.push(b'\n');
    Ok(line)
}

/// The lines that have their end, and where the last of them ends.
fn whole_lines(bytes: &[u8]) -> (Vec<&[u8]>, u64) {
    let mut good = 0_usize;
    let mut lines = Vec::new();
    for piece in bytes.split_inclusive(|b| *b == b'\n') {
        if let Some(line) = piece.strip_suffix(b"\n") {
            good = good.saturating_add(piece.len());
            lines.push(line);
        }
    }
    (lines, u64::try_from(good).unwrap_or(u64::MAX))
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
