//! The sandbox's accounts, transfers and clocks on disk: one file, one line of JSON for each state of an
//! account or of the transfers that change together; the last state counts.
//!
//! **Order.** A line is synced before its effect is shown to anybody.
//!
//! **Failure.** A last line without its end was left by a crash: it was never acknowledged and is cut off. A broken
//! line before the end is damage: the sandbox does not start. After a failed write the file is cut back to its last
//! good end before the next write.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use caudal_ledger::cvu::Cbu;
use serde::{Deserialize, Serialize};

use super::accounts::{Account, FORMAT};
use super::clock::{self, ClockLine};
use super::fund::{self, Enrolled};
use super::transfers::{self, Transfer};

/// The file in the data folder.
pub(super) const FILE: &str = "sandbox-bank.jsonl";
/// A file with more than this many times as many lines as records is rewritten at start.
const STALE_FACTOR: usize = 4;
/// Files with fewer lines are left alone.
const STALE_MIN: usize = 1_000;

/// The records of a folder.
#[derive(Default, Debug)]
pub(super) struct SpanFields {
    pub accounts: Vec<Account>,
    pub transfers: Vec<Transfer>,
    pub enrolments: Vec<Enrolled>,
    /// How many days the clocks of collector accounts are ahead.
    pub clocks: BTreeMap<Cbu, u32>,
}

impl SpanFields {
    fn count(&self) -> usize {
        let more = self.transfers.len().saturating_add(self.enrolments.len());
        let more = more.saturating_add(self.clocks.len());
        self.accounts.len().saturating_add(more)
    }
}

#[derive(Debug)]
pub(super) struct Log {
    file: File,
    /// Where the last acknowledged line ends.
    good: u64,
}

impl Log {
    /// Opens the file of a folder, and returns its records.
    pub(crate) fn open(folder: &Path) -> io::Result<(Self, SpanFields)> {
        fs::create_dir_all(folder)?;
        let path = folder.join(FILE);
        let mut file = opened(&path)?;
        sync_folder(folder)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let (lines, good) = whole_lines(&bytes);
        let count = lines.len();
        let (mut accounts, mut transfers) = (BTreeMap::new(), BTreeMap::new());
        let (mut enrolments, mut clocks) = (BTreeMap::new(), BTreeMap::new());
        for (number, line) in lines.into_iter().enumerate() {
            let entry = read(line).map_err(|why| {
                let number = number.saturating_add(1);
                let text = format!("{}: line {number}: {why}", path.display());
                io::Error::new(io::ErrorKind::InvalidData, text)
            })?;
            match entry {
                Entry::Account(account) => {
                    accounts.insert(account.cvu, *account);
                }
                Entry::Transfers(changed) => {
                    transfers.extend(changed.into_iter().map(|it| (it.number, it)));
                }
                Entry::Enrolled(it) => {
                    enrolments.insert(it.reference.clone(), *it);
                }
                Entry::Clock(line) => {
                    clocks.insert(line.collector, line.days);
                }
            }
        }
        let kept = SpanFields {
            accounts: accounts.into_values().collect(),
            transfers: transfers.into_values().collect(),
            enrolments: enrolments.into_values().collect(),
            clocks,
        };
        let mut log = Self { file, good };
        if count > STALE_MIN.max(kept.count().saturating_mul(STALE_FACTOR)) {
            log = Self::rewritten(folder, &path, &kept)?;
        }
        log.cut()?;
        Ok((log, kept))
    }

    fn rewritten(folder: &Path, path: &Path, kept: &SpanFields) -> io::Result<Self> {
        let fresh: PathBuf = path.with_extension("new");
        let mut bytes = Vec::new();
        for account in &kept.accounts {
            bytes.extend(line(account)?);
        }
        for transfer in &kept.transfers {
            let alone = std::slice::from_ref(transfer);
            bytes.extend(line(&transfers::TransferLine::of(alone))?);
        }
        for enrolment in &kept.enrolments {
            bytes.extend(line(&fund::EnrolmentLine::of(enrolment))?);
        }
        for (collector, days) in &kept.clocks {
            bytes.extend(line(&ClockLine::of(*collector, *days))?);
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

    /// Writes the state of an account, an enrolment or some transfers; it is on disk when this returns.
    pub(crate) fn write(&mut self, record: &impl Serialize) -> io::Result<()> {
        let line = line(record)?;
        let length = u64::try_from(line.len()).map_err(io::Error::other)?;
        let result = self
            .cut()
            .and_then(|()| self.file.write_all(&line))
            .and_then(|()| self.file.sync_data());
        if result.is_ok() {
            self.good += length;
        }
        result
    }

    /// Removes the bytes that a failed or interrupted write left after the last good end.
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
        .mode(0o600)
        .open(path)?;
    // A file of an earlier version may be readable by others: it holds names and CUITs.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.try_lock().map_err(|why| {
        let text = format!("{} is used by another sandbox bank: {why}", path.display());
        io::Error::new(io::ErrorKind::ResourceBusy, text)
    })?;
    Ok(file)
}

enum Entry {
    Account(Box<Account>),
    Transfers(Vec<Transfer>),
    Enrolled(Box<Enrolled>),
    Clock(ClockLine),
}

/// The part of a line that tells how to read it. Lines of accounts have no kind.
#[derive(Deserialize)]
struct Head {
    kind: Option<String>,
    format: u8,
}

#[derive(Deserialize)]
struct Changed {
    transfers: Vec<Transfer>,
}

fn read(line: &[u8]) -> Result<Entry, String> {
    let broken = |why: serde_json::Error| why.to_string();
    let head: Head = serde_json::from_slice(line).map_err(broken)?;
    match (head.kind.as_deref(), head.format) {
        (None, FORMAT) => {
            let account = serde_json::from_slice(line).map_err(broken)?;
            Ok(Entry::Account(Box::new(account)))
        }
        (Some(transfers::KIND), transfers::FORMAT) => {
            let changed: Changed = serde_json::from_slice(line).map_err(broken)?;
            Ok(Entry::Transfers(changed.transfers))
        }
        (Some(fund::KIND), fund::FORMAT) => {
            let changed: fund::EnrolmentLine = serde_json::from_slice(line).map_err(broken)?;
            Ok(Entry::Enrolled(Box::new(changed.enrolment)))
        }
        (Some(clock::KIND), clock::FORMAT) => {
            Ok(Entry::Clock(serde_json::from_slice(line).map_err(broken)?))
        }
        (kind, format) => {
            let kind = kind.unwrap_or("accounts");
            Err(format!("format {format} of {kind} is not known"))
        }
    }
}

fn line(record: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    Ok(line)
}

/// The lines that have their end, and the offset where the last of them ends.
fn whole_lines(bytes: &[u8]) -> (Vec<&[u8]>, u64) {
    let mut good = 0_usize;
    let mut lines = Vec::new();
    for piece in bytes.split_inclusive(|b| *b == b'\n') {
        if let Some(line) = piece.strip_suffix(b"\n") {
            good += piece.len();
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
