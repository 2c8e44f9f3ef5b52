//! The sandbox's accounts, transfers and clocks on disk: one file, one line of JSON for each state of an
//! account or of the transfers that change together; the last state counts.
//!
//! **Order.** A line is synced before its effect is shown to anybody.
//!
//! **Failure.** A last line without its end was left by a crash: it was never acknowledged and is cut off. A broken
//! line before the end is damage: the sandbox does not start. After a failed write the file is cut back to its last
//! good end before the next write.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::slice;

use caudal_ledger::cvu::{Cbu, Cvu};
use serde::{Deserialize, Serialize};

use super::accounts::Account;
use super::fund::Enrolled;
use super::transfers::Transfer;

/// The format of a line.
pub(super) const FORMAT: u8 = 1;
/// The file in the data folder.
pub(super) const FILE: &str = "sandbox-bank.jsonl";
/// A file with more than this many times as many lines as records is rewritten at start.
const STALE_FACTOR: usize = 4;
/// Files with fewer lines are left alone.
const STALE_MIN: usize = 1_000;

/// The records of a folder.
#[derive(Default, Debug)]
pub(super) struct KeptRecords {
    pub accounts: BTreeMap<Cvu, Account>,
    /// By their numbers.
    pub transfers: BTreeMap<u64, Transfer>,
    /// By their references.
    pub enrolments: BTreeMap<String, Enrolled>,
    /// How many days the clocks of collector accounts are ahead.
    pub clocks: BTreeMap<Cbu, u32>,
}

/// A line by its kind. A line of an account has none: it is the account.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Line<'a> {
    /// The transfers that changed together.
    Transfers {
        format: u8,
        transfers: Cow<'a, [Transfer]>,
    },
    /// An enrolment in remuneration.
    Remuneration {
        format: u8,
        enrolment: Cow<'a, Enrolled>,
    },
    /// How many days the clock of a collector account is ahead.
    Clock {
        format: u8,
        collector: Cbu,
        days: u32,
    },
}

/// The part of a line that tells how to read it.
#[derive(Deserialize)]
struct Head {
    kind: Option<String>,
    format: u8,
}

impl KeptRecords {
    fn count(&self) -> usize {
        let more = self.transfers.len().saturating_add(self.enrolments.len());
        let more = more.saturating_add(self.clocks.len());
        self.accounts.len().saturating_add(more)
    }

    /// Takes in the state that a line has.
    fn read(&mut self, line: &[u8]) -> Result<(), String> {
        let broken = |why: serde_json::Error| why.to_string();
        let head: Head = serde_json::from_slice(line).map_err(broken)?;
        match (head.kind.as_deref(), head.format) {
            (None, FORMAT) => {
                let account: Account = serde_json::from_slice(line).map_err(broken)?;
                self.accounts.insert(account.cvu, account);
            }
            (Some("transfers" | "remuneration" | "clock"), FORMAT) => {
                self.put(serde_json::from_slice(line).map_err(broken)?);
            }
            (kind, format) => {
                let kind = kind.unwrap_or("accounts");
                return Err(format!("format {format} of {kind} is not known"));
            }
        }
        Ok(())
    }

    fn put(&mut self, line: Line<'_>) {
        match line {
            Line::Transfers { transfers, .. } => {
                let changed = transfers.into_owned().into_iter();
                self.transfers.extend(changed.map(|it| (it.number, it)));
            }
            Line::Remuneration { enrolment, .. } => {
                let it = enrolment.into_owned();
                self.enrolments.insert(it.reference.clone(), it);
            }
            Line::Clock {
                collector, days, ..
            } => {
                self.clocks.insert(collector, days);
            }
        }
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
    pub(crate) fn open(folder: &Path) -> io::Result<(Self, KeptRecords)> {
        fs::create_dir_all(folder)?;
        let path = folder.join(FILE);
        let mut file = opened(&path)?;
        sync_folder(folder)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let (lines, good) = whole_lines(&bytes);
        let count = lines.len();
        let mut kept = KeptRecords::default();
        for (number, line) in lines.into_iter().enumerate() {
            kept.read(line).map_err(|why| {
                let number = number.saturating_add(1);
                let text = format!("{}: line {number}: {why}", path.display());
                io::Error::new(io::ErrorKind::InvalidData, text)
            })?;
        }
        let mut log = Self { file, good };
        if count > STALE_MIN.max(kept.count().saturating_mul(STALE_FACTOR)) {
            log = Self::rewritten(folder, &path, &kept)?;
        }
        log.cut()?;
        Ok((log, kept))
    }

    fn rewritten(folder: &Path, path: &Path, kept: &KeptRecords) -> io::Result<Self> {
        let fresh = path.with_extension("new");
        let mut bytes = Vec::new();
        for account in kept.accounts.values() {
            bytes.extend(line(account)?);
        }
        for transfer in kept.transfers.values() {
            bytes.extend(line(&Line::Transfers {
                format: FORMAT,
                transfers: Cow::Borrowed(slice::from_ref(transfer)),
            })?);
        }
        for enrolment in kept.enrolments.values() {
            bytes.extend(line(&Line::Remuneration {
                format: FORMAT,
                enrolment: Cow::Borrowed(enrolment),
            })?);
        }
        for (collector, days) in &kept.clocks {
            bytes.extend(line(&Line::Clock {
                format: FORMAT,
                collector: *collector,
                days: *days,
            })?);
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

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
