//! Moves whose log dies at each of its calls, before or after the call took effect: the two sides can never both be
//! started, and a repeated run completes.

mod at_once;
mod several;

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use caudal_storage::log::memory::MemoryLog;
use caudal_storage::log::{Lease, Presence, Standing};
use caudal_storage::{CommitNo, Restore};
use tempfile::TempDir;

use super::*;
use crate::service::{Service, ServiceOptions};

/// The lease of an owner that is not waited for.
const SHORT: Duration = Duration::from_millis(1);
const PLACE: &str = "db1:5432/caudal";

/// A log that becomes unreachable at one of its calls.
#[derive(Clone, Debug)]
struct Dying {
    log: MemoryLog,
    /// The calls left before the one at which it dies.
    left: Arc<AtomicU32>,
    /// Whether that call still takes effect.
    done: bool,
    /// A hook that runs before the cell is reserved for the first time.
    before: at_once::Before,
}

impl Dying {
    fn call<T>(&self, work: impl FnOnce() -> Result<T, LogError>) -> Result<T, LogError> {
        let dead = || LogError::Lost(Arc::from("the test says so"));
        let count = |left: u32| left.checked_sub(1);
        let before = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, count);
        match before {
            // No call after that one takes effect.
            Err(_) => Err(dead()),
            Ok(1) if self.done => work().and_then(|_| Err(dead())),
            Ok(1) => Err(dead()),
            Ok(_) => work(),
        }
    }
}

impl Log for Dying {
    fn id(&self) -> LogId {
        self.log.id()
    }

    fn acquire(&mut self, owner: &str, length: Duration) -> Result<Lease, LogError> {
        let mut log = self.log.handle();
        self.call(|| log.acquire(owner, length))
    }

    fn reserve(&mut self, name: &str) -> Result<Epoch, LogError> {
        self.before.happen();
        let mut log = self.log.handle();
        self.call(|| log.reserve(name))
    }

    fn renew(
        &mut self,
        epoch: Epoch,
        length: Duration,
        acknowledged: CommitNo,
    ) -> Result<Lease, LogError> {
        let mut log = self.log.handle();
        self.call(|| log.renew(epoch, length, acknowledged))
    }

    fn release(&mut self, epoch: Epoch) -> Result<(), LogError> {
        let mut log = self.log.handle();
        self.call(|| log.release(epoch))
    }

    fn offer(&mut self, epoch: Epoch, to: &str) -> Result<(), LogError> {
        let mut log = self.log.handle();
        self.call(|| log.offer(epoch, to))
    }

    fn report(&mut self, node: &Presence) -> Result<(), LogError> {
        let mut log = self.log.handle();
        self.call(|| log.report(node))
    }

    fn standing(&self) -> Result<Standing, LogError> {
        self.call(|| self.log.standing())
    }

    fn append(&mut self, epoch: Epoch, record: &Sealed<'_>) -> Result<(), LogError> {
        let mut log = self.log.handle();
        self.call(|| log.append(epoch, record))
    }

    fn tail(&self) -> Result<Tail, LogError> {
        self.call(|| self.log.tail())
    }

    /// Not counted: a follower calls this as often as it can.
    fn watch(&self, past: CommitNo, most: Duration) -> Result<CommitNo, LogError> {
        self.log.watch(past, most)
    }

    fn read(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(&Sealed<'_>) -> bool,
    ) -> Result<(), LogError> {
        self.call(|| self.log.read(from, visit))
    }

    fn trim(&mut self, keep: CommitNo) -> Result<CommitNo, LogError> {
        let mut log = self.log.handle();
        self.call(|| log.trim(keep))
    }
}

/// The operations on a folder with one cell.
impl Site {
    fn goes(&self) -> Result<Moved, StartError> {
        self.to_log().map(one)
    }

    fn comes(&self) -> Result<Moved, StartError> {
        self.to_folder().map(one)
    }

    fn compares(&self, longer: &mut dyn FnMut(Row, &Sealed<'_>)) -> Result<Compared, StartError> {
        let mut longer = |_: u32, row: Row, record: &Sealed<'_>| longer(row, record);
        self.compare(None, &mut longer).map(one)
    }

    fn heals(&self, longer: &mut dyn FnMut(Row, &Sealed<'_>)) -> Result<Compared, StartError> {
        let mut longer = |_: u32, row: Row, record: &Sealed<'_>| longer(row, record);
        self.heal(None, &mut longer).map(one)
    }
}

fn one<T>(mut all: Vec<(u32, T)>) -> T {
    assert_eq!(all.len(), 1);
    all.remove(0).1
}

/// A folder and a log that dies at its `nth` call.
fn dying(data: &Path, log: &MemoryLog, nth: u32, done: bool) -> Site {
    let log = Dying {
        log: log.handle(),
        left: Arc::new(AtomicU32::new(nth)),
        done,
        before: at_once::Before::default(),
    };
    over(data, log)
}

/// A folder with this log.
fn over(data: &Path, log: Dying) -> Site {
    let open = move |_: u32, _: Option<LogId>| -> Result<Box<dyn Log>, Trouble> {
        Ok(Box::new(log.clone()))
    };
    let mut site = Site::with(data.to_path_buf(), PLACE.to_owned(), Arc::new(open));
    (site.margin, site.options) = (Duration::ZERO, StoreOptions::small());
    site
}

fn site(data: &Path, log: &MemoryLog) -> Site {
    dying(data, log, u32::MAX, false)
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for item in std::fs::read_dir(from).unwrap() {
        let item = item.unwrap();
        let target = to.join(item.file_name());
        if item.path().is_dir() {
            copy(&item.path(), &target);
        } else {
            std::fs::copy(item.path(), target).unwrap();
        }
    }
}

/// The data folder of a stopped service, an earlier copy of it, and the identity of its log.
async fn folders(dir: &Path) -> (PathBuf, PathBuf, LogId) {
    let (data, early) = (dir.join("data"), dir.join("early"));
    for round in 0..2 {
        let mut options = ServiceOptions::for_tests(&data);
        options.storage = StoreOptions::small();
        let service = Service::start(options).unwrap();
        service.create_tenant("uno").await.unwrap();
        service.create_tenant("dos").await.unwrap();
        service.stop().await.unwrap();
        if round == 0 {
            copy(&data, &early);
        }
    }
    let id = records(&data, |records| records.log());
    (early, data, id)
}

fn records<T>(data: &Path, work: impl FnOnce(&Records) -> T) -> T {
    let site = site(data, &MemoryLog::new([0; 16]));
    site.with_records(|records| Ok(work(records))).unwrap()
}

/// The end of a folder's journal.
fn end(data: &Path) -> Tail {
    records(data, |records| {
        let mut tail = Tail::none(&records.log());
        let from = records.beginning();
        let mut see = |record: &Sealed<'_>| {
            tail = record.tail();
            true
        };
        records.read(&from, &mut see).unwrap();
        tail
    })
}

/// Which sides can be started: the folder alone, and the log by a node. Asserts that each of these has all records.
fn sides(data: &Path, log: &MemoryLog, all: Tail) -> (bool, bool) {
    let folder = cell::place_of(data).unwrap().is_none();
    let node = log.handle().acquire("a node", SHORT).is_ok();
    if node {
        log.pass(SHORT);
        assert_eq!(
            log.tail().unwrap(),
            all,
            "a node begins on a part of the log"
        );
    }
    if folder {
        assert_eq!(end(data), all, "the folder begins with a part of the log");
    }
    (folder, node)
}

/// Runs moves that die at each call in turn, until a run survives; then repeats each to the end.
fn at_every_call(
    prepare: &dyn Fn() -> (TempDir, PathBuf, MemoryLog),
    all: Tail,
    (begun, ended): ((bool, bool), (bool, bool)),
    go: &dyn Fn(&Site) -> Result<Moved, StartError>,
    back: &dyn Fn(&Site) -> Result<Moved, StartError>,
) {
    let mut seen = Vec::new();
    for (done, turn) in [(false, false), (true, false), (false, true)] {
        for nth in 1.. {
            let (_dir, data, log) = prepare();
            // An empty log is free for another one to begin there, but it is nobody's log.
            let outcome = go(&dying(&data, &log, nth, done));
            let dead = outcome.is_err();
            let now = if log.tail().unwrap().commit.0 == 0 {
                (true, false)
            } else {
                sides(&data, &log, all)
            };
            assert!(now != (true, true), "call {nth}: two histories");
            if !seen.contains(&now) {
                seen.push(now);
            }
            // From any point, the move can be reversed or continued.
            if turn && now == (false, false) {
                let turned = back(&site(&data, &log));
                assert!(turned.is_ok(), "call {nth}: {turned:?}");
                assert_eq!(sides(&data, &log, all), begun, "call {nth}, turned");
            }
            let moved = go(&site(&data, &log));
            assert!(moved.is_ok(), "call {nth}: {moved:?}");
            assert_eq!(sides(&data, &log, all), ended, "call {nth}");
            assert_eq!(go(&site(&data, &log)).unwrap(), Moved::Already);
            if !dead {
                break;
            }
            assert!(nth < 200, "it dies for ever");
        }
    }
    for state in [begun, ended, (false, false)] {
        assert!(seen.contains(&state), "never seen: {state:?} of {seen:?}");
    }
}

const FOLDER: (bool, bool) = (true, false);
const LOG: (bool, bool) = (false, true);

#[actix_web::test]
async fn a_move_into_a_log_that_is_cut_off_goes_on() {
    let dir = TempDir::new().unwrap();
    let (_, data, id) = folders(dir.path()).await;
    let all = end(&data);
    let prepare = || {
        let own = TempDir::new().unwrap();
        let there = own.path().join("data");
        copy(&data, &there);
        (own, there, MemoryLog::new(id))
    };
    at_every_call(&prepare, all, (FOLDER, LOG), &Site::goes, &Site::comes);
}

#[actix_web::test]
async fn a_move_to_a_folder_that_is_cut_off_goes_on() {
    let dir = TempDir::new().unwrap();
    let (early, data, id) = folders(dir.path()).await;
    let all = end(&data);
    let prepare = || {
        let own = TempDir::new().unwrap();
        // The node's copy lacks the newest records.
        let (full, there) = (own.path().join("full"), own.path().join("data"));
        copy(&data, &full);
        copy(&early, &there);
        cell::note(&there, PLACE).unwrap();
        let log = MemoryLog::new(id);
        site(&full, &log).goes().unwrap();
        (own, there, log)
    };
    at_every_call(&prepare, all, (LOG, FOLDER), &Site::comes, &Site::goes);
}

#[actix_web::test]
async fn a_heal_that_is_cut_off_goes_on_and_only_from_who_has_all() {
    let dir = TempDir::new().unwrap();
    let (early, data, id) = folders(dir.path()).await;
    let all = end(&data);
    let short = end(&early);
    for done in [false, true] {
        let mut part = false;
        for nth in 1.. {
            let own = TempDir::new().unwrap();
            let (full, less) = (own.path().join("full"), own.path().join("less"));
            copy(&data, &full);
            copy(&early, &less);
            let log = MemoryLog::new(id);
            site(&less, &log).goes().unwrap();
            cell::note(&full, PLACE).unwrap();
            let count = |healed: Compared| match healed.difference {
                Difference::Longer(count) => count,
                _ => 0,
            };
            let outcome = dying(&full, &log, nth, done).heals(&mut |_, _| {});
            let tail = log.tail().unwrap();
            let reserved = Keeper::of(&log.standing().unwrap()).is_some();
            if reserved && tail != all {
                part = true;
                // A folder with fewer records does not end the healing.
                let refused = site(&less, &log).heals(&mut |_, _| {}).unwrap_err();
                assert!(refused.to_string().contains("has them"), "{refused}");
            }
            assert!(reserved || tail == short || tail == all, "call {nth}");
            let again = site(&full, &log).heals(&mut |_, _| {}).unwrap();
            assert_eq!(log.tail().unwrap(), all, "call {nth}: {again:?}");
            assert_eq!(sides(&full, &log, all), LOG);
            assert_eq!(count(site(&full, &log).heals(&mut |_, _| {}).unwrap()), 0);
            if outcome.is_ok() {
                break;
            }
            assert!(nth < 200, "it dies for ever");
        }
        assert!(part, "no death left a part");
    }
}

#[actix_web::test]
async fn whoever_is_not_the_log_is_refused_with_what_to_do() {
    let dir = TempDir::new().unwrap();
    let (early, data, id) = folders(dir.path()).await;
    let log = MemoryLog::new(id);
    let says = |refused: StartError, words: &str| {
        let text = refused.to_string();
        assert!(text.contains(words), "{text}");
    };
    // A node serves the cell meanwhile.
    log.handle().acquire("a node", SHORT).unwrap();
    says(site(&data, &log).goes().unwrap_err(), "stop all nodes");
    log.pass(SHORT);
    site(&data, &log).goes().unwrap();
    // The log is there already, with more records than this folder has.
    says(site(&early, &log).goes().unwrap_err(), "nodes may own it");
    let alone = ServiceOptions::for_tests(&data);
    says(
        Service::start(alone).unwrap_err(),
        "caudal log move --to disk",
    );
    log.handle().acquire("a node", SHORT).unwrap();
    says(site(&data, &log).comes().unwrap_err(), "stop all nodes");
    log.pass(SHORT);
    site(&data, &log).comes().unwrap();
    // Another copy neither becomes a second log nor continues here.
    cell::note(&early, PLACE).unwrap();
    for refused in [site(&early, &log).comes(), site(&early, &log).goes()] {
        says(refused.unwrap_err(), "the log is in a folder");
    }
    let refused = site(&data, &log).heals(&mut |_, _| {}).unwrap_err();
    says(refused, "the log is in a folder");
    // The mark of another log does not count for this one.
    let other = MemoryLog::new([3; 16]);
    says(
        site(&data, &other).goes().unwrap_err(),
        "has or had the store",
    );
    // The comparison shows two histories and changes neither.
    let forked = MemoryLog::new(id);
    cell::forget(&early).unwrap();
    let service = Service::start(ServiceOptions::for_tests(&early)).unwrap();
    service.create_tenant("otro").await.unwrap();
    service.stop().await.unwrap();
    site(&early, &forked).goes().unwrap();
    let tail = forked.tail().unwrap();
    let refused = site(&data, &forked).heals(&mut |_, _| {}).unwrap_err();
    says(refused, "two histories");
    cell::note(&data, PLACE).unwrap();
    says(site(&data, &forked).comes().unwrap_err(), "compare the two");
    assert_eq!(forked.tail().unwrap(), tail);
    let found = site(&data, &forked).compares(&mut |_, _| {}).unwrap();
    assert!(
        matches!(found.difference, Difference::Differs { .. }),
        "{found:?}"
    );
}

#[actix_web::test]
async fn a_history_of_its_own_stays_on_its_disk_and_says_why() {
    let dir = TempDir::new().unwrap();
    let (_, data, id) = folders(dir.path()).await;
    let own = dir.path().join("own");
    std::fs::create_dir(&own).unwrap();
    let options = StoreOptions::small();
    let restored = records(&data, |records| {
        let mut restore = Restore::begin(&own.join(STORE), &options, id, None).unwrap();
        let mut put = |record: &Sealed<'_>| restore.put(record).is_ok();
        records.read(&records.beginning(), &mut put).unwrap();
        let end = restore.tail();
        restore.finish().unwrap();
        end
    });
    assert_eq!(restored, end(&data), "all of it was restored");
    let log = MemoryLog::new(id);
    let why = site(&own, &log).goes().unwrap_err().to_string();
    for words in ["--new-history", "stays on its disk", "caudal realm export"] {
        assert!(why.contains(words), "{why}");
    }
    assert_eq!(log.standing().unwrap().epoch, Epoch(0));
    assert!(cell::place_of(&own).unwrap().is_none());
    // Nor is the log of the other store healed from it.
    let why = site(&own, &log).heals(&mut |_, _| {}).unwrap_err();
    assert!(why.to_string().contains("has or had the store"), "{why}");
}
