//! Two who use one log at once, or one after the other under other names: no part of it is ever free.

use std::sync::Mutex;

use caudal_postgres::Trouble;

use super::*;

/// What happens.
type Happening = Box<dyn FnOnce() + Send>;

/// Something that happens once.
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

/// A folder and a log, where something happens before the cell is reserved.
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
        site(&less, &log).to_log().unwrap();
        for full in [&one, &two] {
            copy(&data, full);
            cell::note(full, PLACE).unwrap();
        }
        // The one has compared when the other begins, and goes on where that one died.
        let mut other = None;
        let healed = site(&one, &log).heal(&mut |_, _| {
            if other.is_none() {
                let done = dying(&two, &log, nth, true).heal(&mut |_, _| {});
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

#[actix_web::test]
async fn who_is_too_late_changes_nothing_and_tells_no_mark() {
    let dir = TempDir::new().unwrap();
    let (early, data, id) = folders(dir.path()).await;
    let (short, all) = (end(&early), end(&data));
    let log = MemoryLog::new(id);
    let (first, there) = (early.clone(), log.handle());
    let late = interrupted(&data, &log, move || {
        site(&first, &there).to_log().unwrap();
    });
    says(late.to_log(), "appended to the log meanwhile");
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
    let text = says(late.to_log(), "the log is in a folder");
    assert!(!text.contains("another-mark"), "{text}");
    assert_eq!(end(&data), all);
}

#[actix_web::test]
async fn a_folder_that_knows_of_several_cells_is_neither_moved_nor_healed() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    let mut options = ServiceOptions::for_tests(&data);
    (options.storage, options.cells) = (StoreOptions::small(), 2);
    let service = Service::start(options).unwrap();
    service.create_tenant("uno").await.unwrap();
    service.stop().await.unwrap();
    let log = MemoryLog::new(records(&data, |records| records.log()));
    for gone in [false, true] {
        if gone {
            // The first cell knows of the others.
            std::fs::remove_dir_all(data.join("cells")).unwrap();
        }
        says(site(&data, &log).to_log(), "has 2 cells");
        says(site(&data, &log).heal(&mut |_, _| {}), "has 2 cells");
        let standing = log.standing().unwrap();
        assert_eq!(
            (standing.tail.commit, standing.epoch),
            (CommitNo(0), Epoch(0))
        );
        assert!(cell::place_of(&data).unwrap().is_none());
    }
}

#[actix_web::test]
async fn a_move_goes_on_under_another_name_and_under_a_mark_from_before() {
    let dir = TempDir::new().unwrap();
    let (_, data, id) = folders(dir.path()).await;
    let all = end(&data);
    let moved = |own: &TempDir| {
        let (there, log) = (own.path().join("data"), MemoryLog::new(id));
        copy(&data, &there);
        site(&there, &log).to_log().unwrap();
        (there, log)
    };
    // As the database is spelt now.
    for nth in 1.. {
        let own = TempDir::new().unwrap();
        let (there, log) = moved(&own);
        let respelt = |nth| {
            let mut site = dying(&there, &log, nth, true);
            "db1.internal:5432/caudal".clone_into(&mut site.place);
            site
        };
        let outcome = respelt(nth).to_folder();
        let again = respelt(u32::MAX).to_folder();
        assert!(again.is_ok(), "call {nth}: {again:?}");
        assert_eq!(sides(&there, &log, all), FOLDER, "call {nth}");
        if outcome.is_ok() {
            break;
        }
        assert!(nth < 200, "it dies for ever");
    }
    // A reservation that came late is for this folder, too, until another was made.
    let own = TempDir::new().unwrap();
    let (there, log) = moved(&own);
    let [former, newer] = [(); 2].map(|()| site(&there, &log).draw().unwrap());
    let name = Keeper::Folder(former.clone()).name();
    log.handle().reserve(&name).unwrap();
    site(&there, &log).to_folder().unwrap();
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
