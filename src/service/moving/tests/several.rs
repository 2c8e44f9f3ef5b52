//! Moves and heals of several cells whose logs die at one of their calls: both sides of a cell can never be started,
//! all cells together can be started on one side or on none, and a repeated run completes.

use serde_json::json;

use super::super::super::places;
use super::*;

const MANY: usize = 3;
/// A folder of that many cells, and their logs.
type Prepared = (TempDir, PathBuf, [MemoryLog; MANY]);

/// The cells of a folder and their logs, which die together at their `nth` call.
fn dying_all(data: &Path, logs: &[MemoryLog; MANY], nth: u32, done: bool) -> Site {
    let left = Arc::new(AtomicU32::new(nth));
    let logs = logs.each_ref().map(|log| Dying {
        log: log.handle(),
        left: Arc::clone(&left),
        done,
        before: at_once::Before::default(),
    });
    let open = move |cell: u32, _: Option<LogId>| -> Result<Box<dyn Log>, Trouble> {
        Ok(Box::new(logs[usize::try_from(cell).unwrap()].clone()))
    };
    let mut site = Site::with(data.to_path_buf(), PLACE.to_owned(), Arc::new(open));
    (site.margin, site.options) = (Duration::ZERO, StoreOptions::small());
    site
}

fn all(data: &Path, logs: &[MemoryLog; MANY]) -> Site {
    dying_all(data, logs, u32::MAX, false)
}

fn of_cell(data: &Path, cell: usize) -> PathBuf {
    cells::place(data, u32::try_from(cell).unwrap())
}

/// Creates a tenant in a cell, and a voucher type of that tenant.
async fn works(service: &Service, cell: usize) {
    let made = reqwest::Client::new()
        .post(format!("{}/admin/tenants", service.admin_url))
        .header("x-admin-key", crate::service::TEST_ADMIN_KEY)
        .json(&json!({"name": "one", "cell": cell}))
        .send();
    let made = made
        .await
        .unwrap()
        .json::<serde_json::Value>()
        .await
        .unwrap();
    let id = made["id"].as_str().unwrap();
    let key = service.issue_key(id, crate::service::Mode::Test).await;
    let posted = reqwest::Client::new()
        .post(format!("{}/v1/voucher-types", service.url))
        .header("x-api-key", key.unwrap())
        .json(&json!({"code": "CARD", "name": "Card", "sense": "debit"}))
        .send();
    assert_eq!(posted.await.unwrap().status(), 201);
}

/// An early copy of a data folder with tenants in each cell, the folder with more of them, and the ids of its logs.
async fn folders(dir: &Path) -> (PathBuf, PathBuf, [LogId; MANY]) {
    let (data, early) = (dir.join("data"), dir.join("early"));
    for round in 0..2 {
        let mut options = ServiceOptions::for_tests(&data);
        (options.storage, options.cells) = (StoreOptions::small(), 3);
        let service = Service::start(options).unwrap();
        for cell in 0..MANY {
            works(&service, cell).await;
        }
        service.stop().await.unwrap();
        if round == 0 {
            copy(&data, &early);
        }
    }
    let ids = [0, 1, 2].map(|cell| records(&of_cell(&data, cell), |records| records.log()));
    (early, data, ids)
}

fn ends_of(data: &Path) -> [Tail; MANY] {
    [0, 1, 2].map(|cell| end(&of_cell(data, cell)))
}

/// Whether the store of a cell is its own log.
fn own(data: &Path, cell: usize) -> bool {
    let place = of_cell(data, cell);
    cell::place_of(&place).unwrap().is_none() && folder::knows_a_store(&place).unwrap()
}

/// Which sides can be started with all cells: the folder alone, and the logs by a node. Asserts that each of these has
/// all records, and that no cell can be started on both sides.
fn begun_on(data: &Path, logs: &[MemoryLog; MANY], ends: &[Tail; MANY]) -> (bool, bool) {
    let mut free = [false; MANY];
    for (cell, log) in logs.iter().enumerate() {
        // An empty log belongs to nobody.
        let filled = log.tail().unwrap().commit.0 > 0;
        free[cell] = filled && log.handle().acquire("a node", SHORT).is_ok();
        assert!(
            !own(data, cell) || !free[cell],
            "cell {cell}: two histories"
        );
        if free[cell] {
            log.pass(SHORT);
            assert_eq!(
                log.tail().unwrap(),
                ends[cell],
                "cell {cell} is free in part"
            );
        }
    }
    let folder = own(data, 0) && places::are_one(data).is_ok();
    if folder {
        assert_eq!(ends_of(data), *ends);
    }
    // A node opens the first cell first.
    if free[0] {
        assert_eq!(free, [true; MANY], "a node begins on some of the cells");
        for cell in 0..MANY {
            assert!(!own(data, cell), "cell {cell} is no copy");
        }
    }
    (folder, free[0])
}

type Whole = Result<Vec<(u32, Moved)>, StartError>;

/// Runs moves that die at one call each, until a run survives; then repeats each to the end.
fn at_every_call(
    prepare: &dyn Fn() -> Prepared,
    ends: &[Tail; MANY],
    (begun, ended): ((bool, bool), (bool, bool)),
    go: &dyn Fn(&Site) -> Whole,
    back: &dyn Fn(&Site) -> Whole,
) {
    let (mut seen, mut cut) = (Vec::new(), false);
    for (first, done, turn) in [(1, false, false), (2, true, false), (3, false, true)] {
        for nth in (first..).step_by(4) {
            let (_dir, data, logs) = prepare();
            let dead = go(&dying_all(&data, &logs, nth, done)).is_err();
            let now = begun_on(&data, &logs, ends);
            assert!(now != (true, true), "call {nth}: two histories");
            if !seen.contains(&now) {
                seen.push(now);
            }
            if let Err(why) = places::are_one(&data) {
                cut = true;
                assert!(why.to_string().contains("run `caudal log move`"), "{why}");
            }
            if turn && now == (false, false) {
                let turned = back(&all(&data, &logs));
                assert!(turned.is_ok(), "call {nth}: {turned:?}");
                assert_eq!(begun_on(&data, &logs, ends), begun, "call {nth}, turned");
            }
            let moved = go(&all(&data, &logs));
            assert!(moved.is_ok(), "call {nth}: {moved:?}");
            assert_eq!(begun_on(&data, &logs, ends), ended, "call {nth}");
            let again = go(&all(&data, &logs)).unwrap();
            let none = [0, 1, 2].map(|cell| (cell, Moved::Already));
            assert_eq!(again, none, "call {nth}");
            if !dead {
                break;
            }
            assert!(nth < 400, "it dies for ever");
        }
    }
    for state in [begun, ended, (false, false)] {
        assert!(seen.contains(&state), "never seen: {state:?} of {seen:?}");
    }
    // The last step of a move to the folder calls no log, so such a move does not die between two cells.
    assert!(
        cut || begun == LOG,
        "it was never cut off between two cells"
    );
}

#[actix_web::test]
async fn a_move_of_several_cells_into_logs_that_is_cut_off_goes_on() {
    let dir = TempDir::new().unwrap();
    let (_, data, ids) = folders(dir.path()).await;
    let prepare = || {
        let own = TempDir::new().unwrap();
        let there = own.path().join("data");
        copy(&data, &there);
        (own, there, ids.map(MemoryLog::new))
    };
    at_every_call(
        &prepare,
        &ends_of(&data),
        (FOLDER, LOG),
        &Site::to_log,
        &Site::to_folder,
    );
}

#[actix_web::test]
async fn a_move_of_several_cells_to_a_folder_that_is_cut_off_goes_on() {
    let dir = TempDir::new().unwrap();
    let (early, data, ids) = folders(dir.path()).await;
    let prepare = || {
        let own = TempDir::new().unwrap();
        // The node's copies lack the newest records, and one of them was lost.
        let (full, there) = (own.path().join("full"), own.path().join("data"));
        copy(&data, &full);
        copy(&early, &there);
        let logs = ids.map(MemoryLog::new);
        all(&full, &logs).to_log().unwrap();
        for cell in 0..MANY {
            cell::note(&of_cell(&there, cell), PLACE).unwrap();
        }
        std::fs::remove_dir_all(of_cell(&there, 2)).unwrap();
        (own, there, logs)
    };
    at_every_call(
        &prepare,
        &ends_of(&data),
        (LOG, FOLDER),
        &Site::to_folder,
        &Site::to_log,
    );
}

#[actix_web::test]
async fn a_folder_of_which_some_cells_have_come_is_begun_on_by_nobody_and_gone_on_with() {
    let dir = TempDir::new().unwrap();
    let (_, data, ids) = folders(dir.path()).await;
    let ends = ends_of(&data);
    for (come, back) in [(1, false), (2, false), (1, true), (2, true)] {
        let own = TempDir::new().unwrap();
        let (there, logs) = (own.path().join("data"), ids.map(MemoryLog::new));
        copy(&data, &there);
        all(&there, &logs).to_log().unwrap();
        all(&there, &logs).to_folder().unwrap();
        // The state in which only the last `come` cells have come: the first cell is the last to come.
        for cell in 0..MANY - come {
            cell::note(&of_cell(&there, cell), PLACE).unwrap();
        }
        assert_eq!(begun_on(&there, &logs, &ends), (false, false));
        let why = places::are_one(&there).unwrap_err().to_string();
        assert!(why.contains("is its own log"), "{why}");
        let (done, side) = match back {
            true => (all(&there, &logs).to_log(), LOG),
            false => (all(&there, &logs).to_folder(), FOLDER),
        };
        let moved = done.unwrap();
        let moves = moved.iter().filter(|(_, it)| *it != Moved::Already);
        assert_eq!(moves.count(), if back { MANY } else { MANY - come });
        assert_eq!(begun_on(&there, &logs, &ends), side);
    }
}

/// A copy of the later folder, and logs that have only the records of the early folder.
fn damaged(
    own: &Path,
    (early, data): (&Path, &Path),
    ids: [LogId; MANY],
) -> (PathBuf, [MemoryLog; MANY]) {
    let (less, full) = (own.join("less"), own.join("full"));
    copy(early, &less);
    copy(data, &full);
    let logs = ids.map(MemoryLog::new);
    all(&less, &logs).to_log().unwrap();
    for cell in 0..MANY {
        cell::note(&of_cell(&full, cell), PLACE).unwrap();
    }
    (full, logs)
}

fn counts(found: &[(u32, Compared)]) -> Vec<(u32, bool)> {
    let longer = |it: &Compared| matches!(it.difference, Difference::Longer(_));
    found.iter().map(|(cell, it)| (*cell, longer(it))).collect()
}

#[actix_web::test]
async fn a_heal_of_several_cells_that_is_cut_off_lets_no_node_in_until_all_are_healed() {
    let dir = TempDir::new().unwrap();
    let (early, data, ids) = folders(dir.path()).await;
    let (short, ends) = (ends_of(&early), ends_of(&data));
    for done in [false, true] {
        let mut parts = 0;
        for nth in (1 + u32::from(done)..).step_by(2) {
            let own = TempDir::new().unwrap();
            let (full, logs) = damaged(own.path(), (&early, &data), ids);
            let healed = dying_all(&full, &logs, nth, done).heal(None, &mut |_, _, _| {});
            let tails = logs.each_ref().map(|log| log.tail().unwrap());
            let free = |log: &MemoryLog| Keeper::of(&log.standing().unwrap()).is_none();
            // A node starts if none of the cells is reserved.
            let starts = logs.iter().all(free);
            assert!(
                !starts || tails == short || tails == ends,
                "call {nth}: {tails:?}"
            );
            parts += u32::from(tails != short && tails != ends);
            let again = all(&full, &logs).heal(None, &mut |_, _, _| {});
            assert!(again.is_ok(), "call {nth}: {again:?}");
            assert_eq!(begun_on(&full, &logs, &ends), LOG, "call {nth}");
            let none = all(&full, &logs).heal(None, &mut |_, _, _| {}).unwrap();
            assert_eq!(counts(&none), [(0, false), (1, false), (2, false)]);
            if healed.is_ok() {
                break;
            }
            assert!(nth < 400, "it dies for ever");
        }
        assert!(parts > 1, "{parts} deaths left a part");
    }
}

#[actix_web::test]
async fn one_cell_is_compared_and_healed_alone_and_nothing_is_where_another_cannot_be() {
    let dir = TempDir::new().unwrap();
    let (early, data, ids) = folders(dir.path()).await;
    let (short, ends) = (ends_of(&early), ends_of(&data));
    let (full, logs) = damaged(dir.path(), (&early, &data), ids);
    let compared = |only| {
        let mut rows = Vec::new();
        let mut longer = |cell: u32, _: Row, _: &Sealed<'_>| rows.push(cell);
        let found = all(&full, &logs).compare(only, &mut longer).unwrap();
        rows.dedup();
        (counts(&found), rows)
    };
    let lacking = |cells: &[u32]| cells.iter().map(|cell| (*cell, true)).collect::<Vec<_>>();
    assert_eq!(compared(None), (lacking(&[0, 1, 2]), vec![0, 1, 2]));
    assert_eq!(compared(Some(2)), (lacking(&[2]), vec![2]));
    // One cell has another history: nothing is appended to any log.
    let forked = MemoryLog::new(ids[1]);
    let other = dir.path().join("other");
    copy(&early, &other);
    let mut options = ServiceOptions::for_tests(&other);
    (options.storage, options.cells) = (StoreOptions::small(), 3);
    let service = Service::start(options).unwrap();
    works(&service, 1).await;
    service.stop().await.unwrap();
    site(&of_cell(&other, 1), &forked).goes().unwrap();
    let mixed = [logs[0].handle(), forked.handle(), logs[2].handle()];
    let why = all(&full, &mixed)
        .heal(None, &mut |_, _, _| {})
        .unwrap_err();
    let why = why.to_string();
    assert!(
        why.contains("two histories") && why.contains("cell 1"),
        "{why}"
    );
    for (cell, log) in [(0, &logs[0]), (2, &logs[2])] {
        assert_eq!(log.tail().unwrap(), short[cell]);
        assert!(Keeper::of(&log.standing().unwrap()).is_none());
    }
    // The cells are healed one after the other, in any order.
    for (cell, left) in [(2, &[0, 1][..]), (0, &[1]), (1, &[])] {
        let healed = all(&full, &logs).heal(Some(cell), &mut |_, _, _| {});
        assert_eq!(counts(&healed.unwrap()), [(cell, true)]);
        let nth = usize::try_from(cell).unwrap();
        assert_eq!(logs[nth].tail().unwrap(), ends[nth]);
        let found = compared(None).0;
        let found: Vec<_> = found.into_iter().filter(|(_, lacks)| *lacks).collect();
        assert_eq!(found, lacking(left));
    }
    assert_eq!(begun_on(&full, &logs, &ends), LOG);
}

fn says<T: fmt::Debug>(done: Result<T, StartError>, words: &str) {
    let text = done.unwrap_err().to_string();
    assert!(text.contains(words), "{text}");
}

#[actix_web::test]
async fn cells_that_do_not_belong_together_are_not_moved() {
    let dir = TempDir::new().unwrap();
    let (_, data, ids) = folders(dir.path()).await;
    let ends = ends_of(&data);
    let logs = ids.map(MemoryLog::new);
    let untouched = |logs: &[MemoryLog; MANY]| {
        let epochs = logs.each_ref().map(|log| log.standing().unwrap().epoch);
        assert_eq!(epochs, [Epoch(0); MANY]);
        assert_eq!(begun_on(&data, logs, &ends), FOLDER);
    };
    // The database has another log for a cell.
    let other = [ids[0], [3; 16], ids[2]].map(MemoryLog::new);
    says(all(&data, &other).to_log(), "has or had the store");
    untouched(&other);
    // A cell is missing, in another cell's place, or unknown to the first cell.
    let [one, two, aside] = ["1", "2", "aside"].map(|name| data.join("cells").join(name));
    std::fs::rename(&two, &aside).unwrap();
    says(all(&data, &logs).to_log(), "if there is a cell 2");
    std::fs::rename(&one, &two).unwrap();
    says(all(&data, &logs).to_log(), "bring back the right one");
    std::fs::rename(&two, &one).unwrap();
    std::fs::rename(&aside, &two).unwrap();
    copy(&two, &data.join("cells").join("3"));
    says(all(&data, &logs).to_log(), "storage.cells = 4");
    std::fs::remove_dir_all(data.join("cells").join("3")).unwrap();
    untouched(&logs);
    // A node owns one of the cells.
    all(&data, &logs).to_log().unwrap();
    logs[1].handle().acquire("a node", SHORT).unwrap();
    says(all(&data, &logs).to_folder(), "stop all nodes");
    logs[1].pass(SHORT);
    assert_eq!(begun_on(&data, &logs, &ends), LOG, "nothing was changed");
    let moved = all(&data, &logs).to_folder().unwrap();
    assert!(
        moved.iter().all(|(_, it)| *it != Moved::Already),
        "{moved:?}"
    );
    assert_eq!(begun_on(&data, &logs, &ends), FOLDER);
}
