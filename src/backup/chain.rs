//! Follows the chain of records through the objects of a backup store.
//!
//! **Order.** From the first record of the store to the last, reading each object once. While one object is followed,
//! another thread unpacks the next: at most two are in memory.
//!
//! **Failure.** The first damaged object ends the walk, with its name and the place in it.

use std::collections::{BTreeMap, VecDeque};
use std::panic::resume_unwind;
use std::thread;

use caudal_actors::records::{PLATFORM_STREAM, decode};
use caudal_ledger::facts::PlatformFact;
use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Platform;
use caudal_ledger::time::Timestamp;
use caudal_storage::CommitNo;
use caudal_storage::log::{Hash, LogId, Sealed, StoredEntry, Tail};

use super::BackupError;
use super::backup_store::BackupStore;
use super::end::BackupEnd;
use super::names::{self, Cover, NamedObject, hex};
use super::object::{Unpacked, unpack};

/// The point where a restore ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// After the last record.
    End,
    /// Before the first record with a later commit. Commits that were flushed together stay together.
    Commit(u64),
    /// Before the first record with an entry of a later time, in milliseconds since 1970 UTC.
    Instant(u64),
}

impl Until {
    /// Whether the end is before a record whose latest entry has the time `latest`.
    pub fn is_before(self, record: &Sealed<'_>, latest: u64) -> bool {
        match self {
            Self::End => false,
            Self::Commit(last) => record.tail().commit.0 > last,
            Self::Instant(at) => latest > at,
        }
    }
}

/// A store as the backup store has it.
#[derive(Clone, Debug)]
pub struct ShippedStore {
    /// Its id.
    pub history: LogId,
    /// The objects that cover it, in order.
    pub cover: Cover,
    /// The number of its objects with records; `cover` leaves out those that another object replaces.
    pub objects: usize,
    /// The last commit that was shipped, with the hash of its record, according to the object `end`.
    pub end: Option<Tail>,
}

impl ShippedStore {
    /// A store with these objects.
    fn of(history: LogId, all: Vec<NamedObject>) -> Self {
        Self {
            history,
            objects: all.len(),
            cover: Cover::of(all),
            end: None,
        }
    }

    /// The last commit of its objects, according to their names; 0 if there are none.
    pub fn last(&self) -> u64 {
        self.cover.end().map_or(0, |it| it.commit.0)
    }

    /// Bytes of its objects.
    pub fn bytes(&self) -> u64 {
        self.cover.bytes()
    }

    /// What is missing of what was shipped, if anything is.
    fn missing(&self, place: &str, end: Option<&BackupEnd>) -> Option<String> {
        let name = BackupEnd::name_of(&self.history);
        let advice = "Bring the missing objects back from another copy of the backup. --accept-older uses what is there";
        let Some(end) = end else {
            return Some(format!(
                "{place} lacks {name}, which says how far the store was shipped, so newer objects may be missing. {advice}"
            ));
        };
        // A gap is reported when the objects are followed.
        let last = end.reached?.commit.0;
        let lacks = self.last() < last && self.cover.missing.is_none();
        lacks.then(|| {
            format!(
                "{place} ({}) lacks its newest objects: it was shipped up to commit {last}, as {name} says, and ends \
                 with commit {}. {advice}",
                hex(&self.history),
                self.last()
            )
        })
    }
}

/// The result of a walk over a chain.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ChainSummary {
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

/// All stores of which the backup store has objects.
///
/// # Errors
/// When the backup store cannot be read.
async fn stores(backup_store: &dyn BackupStore) -> Result<Vec<ShippedStore>, BackupError> {
    let listed = backup_store.list("").await?;
    let mut found: BTreeMap<LogId, Vec<NamedObject>> = BTreeMap::new();
    for store in listed.iter().filter_map(names::parse_end) {
        found.entry(store).or_default();
    }
    for (store, named) in listed.iter().filter_map(names::parse) {
        found.entry(store).or_default().push(named);
    }
    let kept = found
        .into_iter()
        .map(|(store, all)| ShippedStore::of(store, all));
    Ok(kept.collect())
}

/// The current objects of a store.
///
/// # Errors
/// When the backup store cannot be read.
pub(super) async fn own(
    backup_store: &dyn BackupStore,
    store: &LogId,
) -> Result<Vec<NamedObject>, BackupError> {
    let listed = backup_store.list(&hex(store)).await?;
    let all = listed.iter().filter_map(names::parse);
    let own = all.filter(|(of, _)| of == store);
    Ok(own.map(|(_, named)| named).collect())
}

/// The requested store of a backup store: the one whose id begins with `wanted`, or the only one. It has everything that was
/// shipped, unless `older` is accepted.
///
/// # Errors
/// When no store matches, or several do; when objects are missing that were shipped.
pub async fn kept(
    backup_store: &dyn BackupStore,
    wanted: Option<&str>,
    older: bool,
) -> Result<ShippedStore, BackupError> {
    let mut kept = meant(backup_store, stores(backup_store).await?, wanted)?;
    let end = BackupEnd::read(backup_store, &kept.history).await?;
    if kept.missing(&backup_store.place(), end.as_ref()).is_some() {
        // A running service may have shipped more in between.
        kept = ShippedStore::of(kept.history, own(backup_store, &kept.history).await?);
    }
    kept.end = end.as_ref().and_then(|end| end.reached);
    if let Some(why) = kept.missing(&backup_store.place(), end.as_ref()) {
        if !older {
            return Err(BackupError::Incomplete(why));
        }
        tracing::warn!("{why}");
    }
    if kept.objects == 0 {
        let place = backup_store.place();
        return Err(BackupError::Refused(format!("{place} holds no backup")));
    }
    Ok(kept)
}

fn meant(
    backup_store: &dyn BackupStore,
    mut all: Vec<ShippedStore>,
    wanted: Option<&str>,
) -> Result<ShippedStore, BackupError> {
    let wanted = wanted.unwrap_or("");
    all.retain(|it| hex(&it.history).starts_with(wanted));
    let refused = |why: String| Err(BackupError::Refused(why));
    let place = backup_store.place();
    match (all.pop(), all.len()) {
        (Some(one), 0) => Ok(one),
        (None, _) if wanted.is_empty() => refused(format!("{place} holds no backup")),
        (None, _) => refused(format!("{place} holds no backup of a store {wanted}")),
        (Some(last), _) => {
            let line =
                |it: &ShippedStore| format!("\n  {} up to commit {}", hex(&it.history), it.last());
            let lines: String = all.iter().chain([&last]).map(line).collect();
            refused(format!(
                "{place} holds several stores; say which with --store:{lines}"
            ))
        }
    }
}

impl ChainSummary {
    /// Counts a record whose latest entry has the time `latest`.
    pub(super) fn count(&mut self, record: &Sealed<'_>, latest: u64) {
        let end = record.tail();
        self.records += 1;
        self.commits = end.commit.0;
        self.entries += u64::from(record.entries());
        self.bytes += record.bytes().len();
        self.latest = self.latest.max(latest);
        self.hash = end.hash;
    }
}

/// Receives each record with the latest time of its entries; returns whether to go on.
pub type Take<'a> = &'a mut dyn FnMut(&Sealed<'_>, u64) -> Result<bool, BackupError>;

/// Reads a store in a backup store from its first record to the end of its cover, or until `take` stops it; `done` receives the
/// number of object bytes read. Objects that a service ships meanwhile do not change that end.
///
/// # Errors
/// Damage, a backup store that cannot be read or whose objects no longer lead to that end, and errors of `take`.
pub async fn walk(
    backup_store: &dyn BackupStore,
    kept: &ShippedStore,
    take: Take<'_>,
    done: &mut dyn FnMut(u64),
) -> Result<ChainSummary, BackupError> {
    let mut chain = Chain::of(kept.end);
    let (mut read, mut gone) = (0_u64, false);
    let mut objects: VecDeque<NamedObject> = kept.cover.objects.iter().cloned().collect();
    let end = kept.cover.end().unwrap_or_default();
    let mut missing = kept.cover.missing;
    let mut waits: Option<(NamedObject, Unpacked)> = None;
    let mut follow = |chain: &mut Chain, next: Option<(NamedObject, Unpacked)>| {
        let Some((named, unpacked)) = next else {
            return Ok(true);
        };
        let goes_on = chain.object(&named, unpacked, end.commit, &mut *take)?;
        read += named.size;
        done(read);
        Ok::<_, BackupError>(goes_on)
    };
    while let Some(named) = objects.pop_front() {
        let found = backup_store.get(&named.name).await;
        let Ok(Some(bytes)) = found else {
            // Follow the unpacked object first: `take` may want no more, and damage in it precedes any error of the
            // fetch.
            if !follow(&mut chain, waits.take())? {
                return Ok(chain.walked);
            }
            drop(found?);
            if gone {
                return Err(BackupError::damaged(&named.name, 0, "the object is gone"));
            }
            // A running service has replaced tails with a full object in between.
            gone = true;
            let now = Cover::of(own(backup_store, &kept.history).await?);
            missing = now.missing.filter(|(from, _)| *from <= end.commit.0);
            let reached = chain.tail.commit;
            let wanted = |it: &NamedObject| it.end.commit > reached && it.first <= end.commit.0;
            objects = now.objects.into_iter().filter(wanted).collect();
            continue;
        };
        gone = false;
        let name = named.name.as_str();
        let (goes_on, unpacked) = thread::scope(|scope| {
            let thread = thread::Builder::new().name("caudal-unpack".to_owned());
            let unpacked = thread.spawn_scoped(scope, || unpack(name, &bytes));
            let goes_on = follow(&mut chain, waits.take());
            // If no thread can be started, unpack on this one.
            let unpacked = unpacked.map_or_else(
                |_| unpack(name, &bytes),
                |thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            );
            (goes_on, unpacked)
        });
        if !goes_on? {
            return Ok(chain.walked);
        }
        waits = Some((named, unpacked?));
    }
    if !follow(&mut chain, waits)? {
        return Ok(chain.walked);
    }
    if let Some((from, to)) = missing {
        let name = format!("{} ({})", backup_store.place(), hex(&kept.history));
        let why = format!("commits {from} to {to} are missing, and there are later ones");
        return Err(BackupError::damaged(&name, 0, why));
    }
    // A gap in the list may have been a replacement under way: then more is there than the list showed.
    if kept.cover.missing.is_some() || (kept.cover.end().is_some() && chain.tail != end) {
        return Err(BackupError::Refused(format!(
            "{} ({}) was changed while it was read, and its objects no longer lead to commit {}, as they did at the \
             beginning. Run the same again",
            backup_store.place(),
            hex(&kept.history),
            end.commit.0
        )));
    }
    Ok(chain.walked)
}

/// Visits the entries of a record in order, until `visit` returns an error.
///
/// # Errors
/// The first error of `visit`; when an entry fails its checksum.
pub(crate) fn entries(
    record: &Sealed<'_>,
    visit: &mut dyn FnMut(&StoredEntry<'_>) -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    let mut done = Ok(());
    let whole = record.visit(&mut |entry| {
        done = visit(&entry);
        done.is_ok()
    });
    done?;
    if !whole {
        return Err(BackupError::unsound(record));
    }
    Ok(())
}

/// The machine's times of records, which are read from the first one on. The entries of a realm have the time of its
/// clock, which a test key can have advanced.
#[derive(Default)]
pub struct MachineTimes(Platform);

impl MachineTimes {
    /// The latest time of the next record's entries, in milliseconds since 1970 UTC; 0 when it has none.
    ///
    /// # Errors
    /// When an entry fails its checksum or cannot be read.
    pub fn latest(&mut self, record: &Sealed<'_>) -> Result<u64, BackupError> {
        let mut latest = Timestamp::default();
        entries(record, &mut |entry| {
            if entry.stream == PLATFORM_STREAM {
                self.0.apply(&decode::<PlatformFact>(entry.body)?);
            }
            let (realm, at) = (RealmId(entry.stream.realm), entry.at);
            let at = self.0.machine_time(realm, Timestamp::from_millis(at));
            latest = latest.max(at);
            Ok(())
        })?;
        Ok(latest.millis())
    }
}

/// The state of a walk along a chain.
#[derive(Default)]
struct Chain {
    times: MachineTimes,
    log: Option<LogId>,
    tail: Tail,
    walked: ChainSummary,
    /// The last commit that was shipped, according to the object `end`.
    shipped: Option<Tail>,
}

impl Chain {
    /// The beginning of a chain that was shipped up to this record.
    fn of(shipped: Option<Tail>) -> Self {
        Self {
            shipped,
            ..Self::default()
        }
    }

    /// Follows the chain through an object, up to commit `end`; false when `take` wants no more.
    fn object(
        &mut self,
        named: &NamedObject,
        unpacked: Unpacked,
        end: CommitNo,
        take: Take<'_>,
    ) -> Result<bool, BackupError> {
        let name = named.name.as_str();
        let Unpacked {
            log,
            records,
            wrong,
        } = unpacked;
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
            if record.tail().commit > end {
                self.walked.objects += 1;
                return Ok(true);
            }
            // Skip records that an earlier object had already.
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

    /// The latest time of a record's entries, if the record is sound and comes next.
    fn accept(&mut self, record: &Sealed<'_>) -> Result<u64, String> {
        if !record.follows(&self.tail) {
            let CommitNo(last) = self.tail.commit;
            if Some(record.first_commit().0) != last.checked_add(1) {
                let first = record.first_commit().0;
                return Err(format!("commit {first} follows commit {last}"));
            }
            return Err("the record does not name the one before it: it was replaced".to_owned());
        }
        let end = record.tail();
        let other =
            |it: &Tail| (self.tail.commit < it.commit && it.commit <= end.commit) && *it != end;
        if let Some(shipped) = self.shipped.filter(other) {
            let CommitNo(last) = shipped.commit;
            return Err(format!(
                "the record with commit {last} is not the one that was shipped, according to the object `end`"
            ));
        }
        self.times.latest(record).map_err(|why| why.to_string())
    }

    fn count(&mut self, record: &Sealed<'_>, latest: u64) {
        self.tail = record.tail();
        self.walked.count(record, latest);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use caudal_actors::records::projection::ServiceProjection;
    use caudal_storage::{Commit, DurableStore, Store as _, StoreOptions};

    use super::*;
    use crate::backup_store;
    use crate::names::{ObjectKind, name_of};
    use crate::object::pack;

    #[actix_web::test]
    async fn a_walk_ends_where_it_was_to_end_although_a_service_ships_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions {
            segment_bytes: 1 << 20,
            ..StoreOptions::default()
        };
        let store = DurableStore::open(
            dir.path().join("store"),
            options,
            Arc::new(ServiceProjection),
        )
        .unwrap();
        for _ in 0..4 {
            let (sender, done) = std::sync::mpsc::channel();
            let done_with = Box::new(move |it| sender.send(it).unwrap());
            store.submit(Commit::default(), done_with);
            done.recv().unwrap().unwrap();
        }
        let records = store.records();
        let mut all = Vec::new();
        let mut keep = |record: &Sealed<'_>| {
            all.push((record.bytes().to_vec(), record.tail()));
            true
        };
        records.read(&records.beginning(), &mut keep).unwrap();
        let (store_id, log) = ([9; 16], records.log());
        let object = |kind, first: usize, last: usize| {
            let run = all[first - 1..last].iter().map(|it| it.0.as_slice());
            let name = name_of(
                &store_id,
                kind,
                u64::try_from(first).unwrap(),
                &all[last - 1].1,
            );
            (name, pack(&log, &run.collect::<Vec<_>>().concat()).unwrap())
        };
        for (last, reached) in [(4, Some(3)), (3, Some(3)), (2, None)] {
            let place = dir.path().join(format!("copy-{last}"));
            std::fs::create_dir(&place).unwrap();
            let backup_store = backup_store::open(place.to_str().unwrap(), false).unwrap();
            let tails = [
                object(ObjectKind::Tail, 1, 2),
                object(ObjectKind::Tail, 3, 3),
            ];
            for (name, bytes) in &tails {
                backup_store.put(name, bytes.clone()).await.unwrap();
            }
            let kept = ShippedStore::of(
                store_id,
                own(backup_store.as_ref(), &store_id).await.unwrap(),
            );
            let (full, bytes) = object(ObjectKind::Full, 1, last);
            backup_store.put(&full, bytes).await.unwrap();
            for (name, _) in &tails {
                backup_store.remove(name).await.unwrap();
            }
            let mut seen = 0;
            let mut take = |_: &Sealed<'_>, _| {
                seen += 1;
                Ok(true)
            };
            let walked = walk(backup_store.as_ref(), &kept, &mut take, &mut |_| {}).await;
            match reached {
                Some(reached) => assert_eq!((walked.unwrap().commits, seen), (reached, reached)),
                None => assert!(walked.unwrap_err().to_string().contains("again"), "{last}"),
            }
        }
    }
}
