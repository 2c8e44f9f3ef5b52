//! Follows the chain of records through the objects of a depot.
//!
//! **Order.** From the first record of the store to the last, each object read once.
//!
//! **Failure.** The first object that is not what was written ends the walk, with its name and the place in it.

use std::collections::VecDeque;

use caudal_storage::CommitNo;
use caudal_storage::log::{Hash, LogId, Sealed, Tail};

use super::BackupError;
use super::depot::Depot;
use super::names::{self, Cover, Named, hex};
use super::object::{Unpacked, unpack};

/// A store in a depot.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Which store it is.
    pub history: LogId,
    /// Its objects, one behind the other.
    pub cover: Cover,
    /// How many objects with records it has; those that another one replaces are not in `cover`.
    pub objects: usize,
}

/// What a walk over a chain found.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Walked {
    /// Objects that were read.
    pub objects: usize,
    /// Records in them.
    pub records: u64,
    /// The number of the last commit.
    pub commits: u64,
    /// Entries of all commits.
    pub entries: u64,
    /// Bytes of the records.
    pub bytes: usize,
    /// The latest time of an entry, in milliseconds since 1970 UTC.
    pub latest: u64,
    /// The hash of the last record.
    pub hash: Hash,
}

/// The stores of which a depot has objects.
///
/// # Errors
/// When the depot cannot be read.
pub async fn stores(depot: &dyn Depot) -> Result<Vec<Kept>, BackupError> {
    let listed = depot.list("").await?;
    let mut found: Vec<(LogId, Vec<Named>)> = Vec::new();
    for (history, named) in listed.iter().filter_map(names::parse) {
        match found.iter_mut().find(|(it, _)| *it == history) {
            Some((_, all)) => all.push(named),
            None => found.push((history, vec![named])),
        }
    }
    let kept = |(history, all): (LogId, Vec<Named>)| Kept {
        history,
        objects: all.len(),
        cover: Cover::of(all),
    };
    Ok(found.into_iter().map(kept).collect())
}

/// The store of a depot that is meant: the one whose id begins with `wanted`, or its only one.
///
/// # Errors
/// When there is none, or several.
pub async fn find(depot: &dyn Depot, wanted: Option<&str>) -> Result<Kept, BackupError> {
    let wanted = wanted.unwrap_or("");
    let mut all = stores(depot).await?;
    all.retain(|it| hex(&it.history).starts_with(wanted));
    let refused = |why: String| Err(BackupError::Refused(why));
    let place = depot.place();
    match (all.pop(), all.len()) {
        (Some(one), 0) => Ok(one),
        (None, _) if wanted.is_empty() => refused(format!("{place} holds no backup")),
        (None, _) => refused(format!("{place} holds no backup of a store {wanted}")),
        (Some(last), _) => {
            let line = |it: &Kept| {
                let end = it.cover.objects.last();
                let end = end.map_or(0, |it| it.end.commit.0);
                format!("\n  {} up to commit {end}", hex(&it.history))
            };
            let lines: String = all.iter().chain([&last]).map(line).collect();
            refused(format!(
                "{place} holds several stores; say which with --store:{lines}"
            ))
        }
    }
}

/// Is told of each record with the latest time of its entries; says whether to go on.
pub type Take<'a> = &'a mut dyn FnMut(&Sealed<'_>, u64) -> Result<bool, BackupError>;

/// Reads a store in a depot from its first record on, until `take` says stop; `done` is told how many bytes of
/// objects were read.
///
/// # Errors
/// Damage, a depot that cannot be read, and what `take` gives.
pub async fn walk(
    depot: &dyn Depot,
    kept: &Kept,
    take: Take<'_>,
    done: &mut dyn FnMut(u64),
) -> Result<Walked, BackupError> {
    let mut chain = Chain::default();
    let (mut read, mut gone) = (0_u64, false);
    let mut objects: VecDeque<Named> = kept.cover.objects.iter().cloned().collect();
    let mut missing = kept.cover.missing;
    while let Some(named) = objects.pop_front() {
        let Some(bytes) = depot.get(&named.name).await? else {
            if gone {
                return Err(BackupError::damaged(&named.name, 0, "the object is gone"));
            }
            // A service that ships has put a full object in the place of tails meanwhile.
            gone = true;
            let now = find(depot, Some(&hex(&kept.history))).await?.cover;
            missing = now.missing;
            let behind = |it: &Named| it.end.commit > chain.tail.commit;
            objects = now.objects.into_iter().filter(behind).collect();
            continue;
        };
        gone = false;
        if !chain.object(&named, &bytes, take)? {
            return Ok(chain.walked);
        }
        read += named.size;
        done(read);
    }
    if let Some((from, to)) = missing {
        let name = format!("{} ({})", depot.place(), hex(&kept.history));
        let why = format!("commits {from} to {to} are missing, and there are later ones");
        return Err(BackupError::damaged(&name, 0, why));
    }
    Ok(chain.walked)
}

/// How far a chain was followed.
#[derive(Default)]
struct Chain {
    log: Option<LogId>,
    tail: Tail,
    walked: Walked,
}

impl Chain {
    /// Follows it through an object; false when `take` wanted no more.
    fn object(&mut self, named: &Named, bytes: &[u8], take: Take<'_>) -> Result<bool, BackupError> {
        let name = named.name.as_str();
        let Unpacked {
            log,
            records,
            wrong,
        } = unpack(name, bytes)?;
        match self.log {
            None => self.tail = Tail::none(&log),
            Some(known) if known == log => {}
            Some(_) => {
                let why = "the object is of another journal than those before it";
                return Err(BackupError::damaged(name, 0, why));
            }
        }
        self.log = Some(log);
        let mut offset = 0;
        while let Some(rest) = records.get(offset..).filter(|rest| !rest.is_empty()) {
            let wrong = |why: &str| BackupError::damaged(name, offset, why);
            let record = Sealed::first(rest).ok_or_else(|| wrong("the record there is broken"))?;
            // what an object before this one had already
            if record.tail().commit > self.tail.commit {
                let latest = self.accept(&record).map_err(|why| wrong(&why))?;
                if !take(&record, latest)? {
                    return Ok(false);
                }
                self.count(&record, latest);
            }
            offset += record.bytes().len();
        }
        if let Some(why) = wrong {
            return Err(BackupError::damaged(name, offset, why));
        }
        if self.tail != named.end {
            let why = format!(
                "the records end with commit {}, and not as the name of the object says",
                self.tail.commit.0
            );
            return Err(BackupError::damaged(name, offset, why));
        }
        self.walked.objects += 1;
        Ok(true)
    }

    /// The latest time of a record's entries, if it is the next one and right.
    fn accept(&self, record: &Sealed<'_>) -> Result<u64, String> {
        if !record.follows(&self.tail) {
            let CommitNo(last) = self.tail.commit;
            if Some(record.first_commit().0) != last.checked_add(1) {
                let first = record.first_commit().0;
                return Err(format!("commit {first} follows commit {last}"));
            }
            return Err("the record does not name the one before it: it was replaced".to_owned());
        }
        let latest = record.latest();
        latest.ok_or_else(|| "an entry in the record fails its checksum".to_owned())
    }

    fn count(&mut self, record: &Sealed<'_>, latest: u64) {
        self.tail = record.tail();
        let walked = &mut self.walked;
        walked.records += 1;
        walked.commits = self.tail.commit.0;
        walked.entries += u64::from(record.entries());
        walked.bytes += record.bytes().len();
        walked.latest = walked.latest.max(latest);
        walked.hash = self.tail.hash;
    }
}
