//! Two or three runs that use one log at once, or in turn under other names: a partly filled log is never free.

use std::sync::Mutex;

use super::*;

/// The action to run.
type Happening = Box<dyn FnOnce() + Send>;

/// An action that runs once.
#[derive(Clone, Default)]
pub(super) struct Before(Arc<Mutex<Option<Happening>>>);

impl fmt::Debug for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Before")
    }
}

impl Before {
    pub(super) fn happen(&self) {
        let it = self.0.lock().unwrap().take();
        if let Some(it) = it {
            it();
        }
    }
}

/// A folder and a log, with an action that runs before the cell is reserved.
fn interrupted(data: &Path, log: &MemoryLog, it: impl FnOnce() + Send + 'static) -> Site {
    let log = Dying {
        log: log.handle(),
        left: Arc::new(AtomicU32::new(u32::MAX)),
        done: false,
        before: Before(Arc::new(Mutex::new(Some(Box::new(it))))),
    };
    over(data, log)
}

fn says<T: fmt::Debug>(done: Result<T, StartError>, words: &str) -> String {
    let text = done.unwrap_err().to_string();
    assert!(text.contains(words), "{text}");
    text
}

#[actix_web::test]
async fn two_who_heal_at_once_leave_no_part() {
    let dir = TempDir::new().unwrap();
    let (early, data, id) = folders(dir.path()).await;
    let (short, all) = (end(&early), end(&data));
    let mut part = false;
    for nth in 1.. {
        let own = TempDir::new().unwrap();
        let [less, one, two] = ["less", "one", "two"].map(|name| own.path().join(name));
        copy(&early, &less);
        let log = MemoryLog::new(id);
        site(&less, &log).goes().unwrap();
        for full in [&one, &two] {
            copy(&data, full);
            cell::note(full, PLACE).unwrap();
        }
        // The first run has compared when the other begins, and continues where the other died.
        let mut other = None;
        let healed = site(&one, &log).heals(&mut |_, _| {
            if other.is_none() {
                let done = dying(&two, &log, nth, true).heals(&mut |_, _| {});
                other = Some((done.is_ok(), log.tail().unwrap()));
            }
        });
        let (over, tail) = other.unwrap();
        part |= tail != short && tail != all;
        assert!(healed.is_ok(), "call {nth}: {healed:?}");
        assert_eq!(log.tail().unwrap(), all, "call {nth}");
        assert_eq!(sides(&one, &log, all), LOG, "call {nth}");
        if over {
            break;
        }
        assert!(nth < 200, "it dies for ever");
    }
    assert!(part, "no death left a part");
}

/// Folders of one log, each with more records than the one before, and the log's identity.
async fn ever_longer<const N: usize>(dir: &Path) -> ([PathBuf; N], LogId) {
    let data = dir.join("data");
    let mut kept = Vec::new();
    for n in 0..N {
        let mut options = ServiceOptions::for_tests(&data);
        options.storage = StoreOptions::small();
        let service = Service::start(options).unwrap();
        service.create_tenant(&format!("tenant {n}")).await.unwrap();
        service.stop().await.unwrap();
        let there = dir.join(format!("kept-{n}"));
        copy(&data, &there);
        kept.push(there);
    }
    let id = records(&data, |records| records.log());
    (kept.try_into().unwrap(), id)
}

/// A log in a database that has lost all records beyond the first folder's, and copies of the other folders.
fn damaged(own: &Path, folders: &[PathBuf; 4], id: LogId) -> (MemoryLog, [PathBuf; 3]) {
    let log = MemoryLog::new(id);
    let less = own.join("less");
    copy(&folders[0], &less);
    site(&less, &log).goes().unwrap();
    let copies = [1, 2, 3].map(|n| {
        let there = own.join(n.to_string());
        copy(&folders[n], &there);
        cell::note(&there, PLACE).unwrap();
        there
    });
    (log, copies)
}

/// A run that does not heal names the next step instead.
fn healed_or_told(outcome: &Result<Compared, StartError>) -> bool {
    if let Err(why) = outcome {
        let text = why.to_string();
        let known = ["caudal log heal", "somebody has appended", "was deposed"];
        assert!(known.iter().any(|words| text.contains(words)), "{text}");
    }
    outcome.is_ok()
}

/// Whatever the other runs did, the log is a prefix of the longest journal, which heals it to the end.
fn the_longest_heals(log: &MemoryLog, copies: &[PathBuf; 3], ends: &[Tail; 4], what: &str) {
    let tail = log.tail().unwrap();
    let begins = records(&copies[2], |records| records.find(&tail).unwrap().is_some());
    assert!(begins, "{what}: something else was appended");
    assert!(tail.commit >= ends[0].commit, "{what}: something was lost");
    let free = Keeper::of(&log.standing().unwrap()).is_none();
    assert!(!free || ends.contains(&tail), "{what}: a part is free");
    let healed = site(&copies[2], log).heals(&mut |_, _| {});
    assert!(healed.is_ok(), "{what}: {healed:?}");
    assert_eq!(sides(&copies[2], log, ends[3]), LOG, "{what}");
    // A folder with fewer records reports that, and appends nothing.
    for less in &copies[..2] {
        let found = site(less, log).heals(&mut |_, _| {}).unwrap();
        assert!(matches!(found.difference, Difference::Behind(_)), "{what}");
    }
    assert_eq!(log.tail().unwrap(), ends[3], "{what}");
}

#[actix_web::test]
async fn of_three_who_heal_at_once_the_longest_journal_wins_or_says_who_is_first() {
    let dir = TempDir::new().unwrap();
    let (folders, id) = ever_longer::<4>(dir.path()).await;
    let ends = [0, 1, 2, 3].map(|n| end(&folders[n]));
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let (mut part, mut whole) = (false, false);
    // Each run has compared when the next begins; the last of them dies at one of its calls, or survives.
    for (n, order) in orders.into_iter().enumerate() {
        for nth in (1 + u32::try_from(n).unwrap() % 3..40).step_by(3) {
            let own = TempDir::new().unwrap();
            let (log, copies) = damaged(own.path(), &folders, id);
            let [first, second, third] = order.map(|n| copies[n].as_path());
            let (mut inner, mut last) = (None, None);
            let outer = site(first, &log).heals(&mut |_, _| {
                if inner.is_some() {
                    return;
                }
                inner = Some(site(second, &log).heals(&mut |_, _| {
                    if last.is_none() {
                        let done = dying(third, &log, nth, true).heals(&mut |_, _| {});
                        part |= !ends.contains(&log.tail().unwrap());
                        last = Some(done.is_ok());
                    }
                }));
            });
            let what = format!("{order:?}, call {nth}");
            let (inner, last) = (inner.unwrap(), last.unwrap());
            for (who, outcome) in [(order[0], &outer), (order[1], &inner)] {
                let healed = healed_or_told(outcome);
                // A run that completed does not keep a folder with more records from healing.
                assert!(healed || !last || who < 2, "{what}: {outcome:?}");
            }
            the_longest_heals(&log, &copies, &ends, &what);
            if last {
                whole = true;
                break;
            }
        }
    }
    assert!(
        part && whole,
        "no death left a part, or nobody came to the end"
    );
}

#[actix_web::test]
async fn three_threads_that_heal_leave_nothing_that_is_nobodys() {
    let dir = TempDir::new().unwrap();
    let (folders, id) = ever_longer::<4>(dir.path()).await;
    let ends = [0, 1, 2, 3].map(|n| end(&folders[n]));
    for round in 0..8 {
        let own = TempDir::new().unwrap();
        let (log, copies) = damaged(own.path(), &folders, id);
        let together = std::sync::Barrier::new(copies.len());
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let threads = copies.iter().map(|folder| {
                let (log, together) = (log.handle(), &together);
                scope.spawn(move || {
                    together.wait();
                    site(folder, &log).heals(&mut |_, _| {})
                })
            });
            // All of them begin before any is joined.
            let threads: Vec<_> = threads.collect();
            let ends = threads.into_iter().map(|thread| thread.join().unwrap());
            ends.collect()
        });
        for outcome in &outcomes {
            healed_or_told(outcome);
        }
        the_longest_heals(&log, &copies, &ends, &format!("round {round}"));
    }
}

#[actix_web::test]
async fn who_is_too_late_changes_nothing_and_tells_no_mark() {
    let dir = TempDir::new().unwrap();
    let (early, data, id) = folders(dir.path()).await;
    let (short, all) = (end(&early), end(&data));
    let log = MemoryLog::new(id);
    let (first, there) = (early.clone(), log.handle());
    let late = interrupted(&data, &log, move || {
        site(&first, &there).goes().unwrap();
    });
    says(late.goes(), "appended to the log meanwhile");
    assert_eq!(log.tail().unwrap(), short);
    assert!(cell::place_of(&data).unwrap().is_none());
    assert_eq!(sides(&early, &log, short), LOG);
    // The cell is reserved for another folder meanwhile.
    let log = MemoryLog::new(id);
    let mut there = log.handle();
    let name = Keeper::Folder("another-mark".to_owned()).name();
    let late = interrupted(&data, &log, move || {
        there.reserve(&name).unwrap();
    });
    let text = says(late.goes(), "the log is in a folder");
    assert!(!text.contains("another-mark"), "{text}");
    assert_eq!(end(&data), all);
}

#[actix_web::test]
async fn a_move_goes_on_under_another_name_and_under_a_mark_from_before() {
    let dir = TempDir::new().unwrap();
    let (_, data, id) = folders(dir.path()).await;
    let all = end(&data);
    let moved = |own: &TempDir| {
        let (there, log) = (own.path().join("data"), MemoryLog::new(id));
        copy(&data, &there);
        site(&there, &log).goes().unwrap();
        (there, log)
    };
    // The database's name is spelt differently now.
    for nth in 1.. {
        let own = TempDir::new().unwrap();
        let (there, log) = moved(&own);
        let respelt = |nth| {
            let mut site = dying(&there, &log, nth, true);
            "db1.internal:5432/caudal".clone_into(&mut site.place);
            site
        };
        let outcome = respelt(nth).comes();
        let again = respelt(u32::MAX).comes();
        assert!(again.is_ok(), "call {nth}: {again:?}");
        assert_eq!(sides(&there, &log, all), FOLDER, "call {nth}");
        if outcome.is_ok() {
            break;
        }
        assert!(nth < 200, "it dies for ever");
    }
    // A reservation that arrived late is still for this folder, until another is made.
    let own = TempDir::new().unwrap();
    let (there, log) = moved(&own);
    let [former, newer] = [(); 2].map(|()| site(&there, &log).draw().unwrap());
    let name = Keeper::Folder(former.clone()).name();
    log.handle().reserve(&name).unwrap();
    site(&there, &log).comes().unwrap();
    assert_eq!(sides(&there, &log, all), FOLDER);
    assert!(site(&there, &log).is_mine(&former).unwrap());
    assert!(!site(&there, &log).is_mine(&newer).unwrap());
}

#[test]
fn a_log_that_is_not_there_is_moved_to_only_from_a_folder_that_is_one() {
    let dir = TempDir::new().unwrap();
    let why = || cell::refused(dir.path(), PLACE, Trouble::Absent).to_string();
    assert!(why().contains("caudal log move --to"), "{}", why());
    cell::note(dir.path(), PLACE).unwrap();
    assert!(!why().contains("caudal log move"), "{}", why());
    assert!(why().contains("operating.md"), "{}", why());
}
