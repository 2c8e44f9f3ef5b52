//! Realms as files that are put into folders with several cells: each goes into one of them, and is filled there.

use std::path::Path;
use std::sync::Arc;

use caudal::backup::BackupError;
use caudal::portable::file::Checked;
use caudal::portable::import::{self, Place};
use caudal_actors::cells::Cells;
use caudal_actors::platform::PlatformActor;
use caudal_actors::records::projection::Rows;
use caudal_ledger::time::Timestamp;
use caudal_storage::{DurableStore, Faults, Store, StoreOptions};
use tempfile::TempDir;

use super::folders::copy;
use super::{brought, standing, with_cells};
use crate::backup::{command, text};
use crate::portable::dying::{REALM, finely};
use crate::portable::{done, elsewhere, exported, issued, refused, shown, worked};
use crate::support::service::OTHER;
use crate::support::{TestService, json};

const WHICH: [&str; 4] = ["--tenant", OTHER, "--mode", "test"];

fn import<'a>(file: &'a Path, data: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let all = ["realm", "import", text(file), "--data", text(data)];
    [&all[..], more].concat()
}

fn turn<'a>(word: &'a str, data: &'a Path) -> Vec<&'a str> {
    [&["realm", word, "--data", text(data)][..], &WHICH].concat()
}

#[actix_web::test]
async fn a_realm_is_put_where_it_is_told_or_where_the_fewest_are_and_stays_there() {
    let dir = TempDir::new().unwrap();
    let mut service = TestService::start().await;
    let cvus = worked(&service).await;
    let before = shown(&service.b, &cvus).await;
    service.end(true).await;
    let file = dir.path().join("realm");
    let made = exported(service.data(), &file, &[]);
    service.cells(3);
    for (more, found, other) in [(&["--cell", "2"][..], 2, "1"), (&[], 1, "0")] {
        let place = dir.path().join(found.to_string());
        std::fs::create_dir(&place).unwrap();
        let (data, mut home, cvu) = elsewhere(&mut service, &place).await;
        let why = refused(&import(&file, &data, &["--cell", "9"]), 2);
        assert!(why.contains("there is no cell 9 here"), "{why}");
        let put = done(&import(&file, &data, more));
        assert_eq!(
            (&put["cell"], &put["digest"]),
            (&json!(found), &made["digest"])
        );
        // The same again changes nothing, and another cell is no place for it any more.
        assert_eq!(done(&import(&file, &data, &[]))["cell"], found);
        let why = refused(&import(&file, &data, &["--cell", other]), 2);
        assert!(why.contains(&format!("lies in cell {found}")), "{why}");
        service.begin().await;
        let client = issued(&service, OTHER).await;
        let early = client.get("/v1/accounts").await;
        early.refused(503, "realm_closed");
        service.end(true).await;
        assert_eq!(command(&turn("open", &data)).0, Some(0));
        for _ in 0..2 {
            service.begin().await;
            let mut client = client.with_key(client.key.as_deref());
            client.url.clone_from(&service.a.url);
            home.url.clone_from(&service.a.url);
            assert_eq!(standing(&service).await["cell"], found);
            assert_eq!(shown(&client, &cvus).await, before);
            home.credit(&cvu, "1.00").await;
            service.verified().await;
            service.end(true).await;
        }
        // Once it is closed, it can be read from the cell in which it is.
        assert_eq!(command(&turn("close", &data)).0, Some(0));
        let back = exported(&data, &place.join("back"), &[]);
        assert_eq!(
            (&back["closed"], &back["digest"]),
            (&json!(true), &made["digest"])
        );
        let why = refused(&turn("close", &data), 2);
        assert!(why.contains("the realm is closed"), "{why}");
    }
}

#[actix_web::test]
async fn a_realm_that_was_moved_comes_home_into_the_cell_that_it_was_moved_into() {
    let dir = TempDir::new().unwrap();
    let mut service = with_cells(3).await;
    let home = service.data().to_owned();
    let cvus = worked(&service).await;
    brought(&service, 2).await;
    service.b.credit(&cvus[0], "2.00").await;
    service.end(true).await;
    assert_eq!(command(&turn("close", &home)).0, Some(0));
    let out = dir.path().join("out");
    exported(&home, &out, &[]);
    let (away, ..) = elsewhere(&mut service, dir.path()).await;
    done(&import(&out, &away, &["--cell", "1", "--open"]));
    service.begin().await;
    let client = issued(&service, OTHER).await;
    client.credit(&cvus[1], "3.00").await;
    let before = shown(&client, &cvus).await;
    service.end(true).await;
    assert_eq!(command(&turn("close", &away)).0, Some(0));
    let back = dir.path().join("back");
    let made = exported(&away, &back, &[]);
    service.moves(home.clone());
    let put = done(&import(&back, &home, &["--open"]));
    assert_eq!((&put["cell"], &put["digest"]), (&json!(2), &made["digest"]));
    service.begin().await;
    assert_eq!(standing(&service).await["cell"], 2);
    assert_eq!(shown(&service.b, &cvus).await, before);
    service.b.credit(&cvus[1], "1.00").await;
    service.verified().await;
}

/// A cell of a folder, with a death at the n-th change to its disk.
fn opened(data: &Path, cell: u32, nth: Option<u64>) -> Result<Arc<dyn Store>, String> {
    let place = match cell {
        0 => data.join("store"),
        cell => data.join("cells").join(cell.to_string()).join("store"),
    };
    let options = StoreOptions {
        create: false,
        faults: nth.map(|nth| Faults::at(nth, u64::MAX)),
        ..StoreOptions::small()
    };
    match DurableStore::open(place, options, Arc::new(Rows)) {
        Ok(store) => Ok(store),
        Err(why) => Err(why.to_string()),
    }
}

/// One life of an import into cell 1, of which the disk of one cell dies.
fn life(data: &Path, file: &Path, checked: &Checked, at: (u32, u64)) -> Result<(), String> {
    let mut stores = Vec::new();
    for cell in 0..2 {
        let store = opened(data, cell, (at.0 == cell).then_some(at.1));
        stores.push(store.inspect_err(|_| close(&stores))?);
    }
    let cells = Cells::several(Arc::clone(&stores[0]), vec![Arc::clone(&stores[1])]);
    let now = Timestamp::from_millis(checked.head.latest + 1);
    let work = || -> Result<(), BackupError> {
        let (platform, _) = PlatformActor::load(stores[0].as_ref())?;
        cells.follow(&platform)?;
        let place = Place::of(&cells, checked, Some(1))?;
        import::begin(&place, file, checked, now)?;
        import::fill(place.store.as_ref(), file, checked, &mut |_| ())?;
        import::compare(place.store.as_ref(), file, checked)?;
        import::end(place.platform.as_ref(), checked, now)
    };
    let done = work();
    close(&stores);
    done.map_err(|why| why.to_string())
}

fn close(stores: &[Arc<dyn Store>]) {
    for store in stores {
        store.close().ok();
    }
}

/// How many entries of the realm each cell has, and how the realm stands.
fn there(data: &Path) -> ([u64; 2], &'static str) {
    let stores = [0, 1].map(|cell| opened(data, cell, None).unwrap());
    let entries = stores.each_ref().map(|store| {
        let tally = import::tally(store.as_ref(), REALM);
        tally.unwrap().entries
    });
    let (platform, _) = PlatformActor::load(stores[0].as_ref()).unwrap();
    let word = platform.state(REALM).as_str();
    close(&stores);
    (entries, word)
}

#[actix_web::test]
async fn an_import_that_dies_on_the_disk_of_either_cell_goes_on_and_opens_nothing_before_it_is_whole()
 {
    let dir = TempDir::new().unwrap();
    let mut service = TestService::start().await;
    let cvus = worked(&service).await;
    let before = shown(&service.b, &cvus).await;
    service.end(true).await;
    let file = dir.path().join("realm");
    let checked = finely(service.data(), &file);
    let all = checked.ending.entries;
    service.cells(2);
    for cell in [0, 1] {
        let place = dir.path().join(cell.to_string());
        std::fs::create_dir(&place).unwrap();
        let (data, ..) = elsewhere(&mut service, &place).await;
        let (mut deaths, mut seen) = (0, [false; 2]);
        while let Err(why) = life(&data, &file, &checked, (cell, 1 + deaths)) {
            deaths += 1;
            assert!(deaths < 2000, "it goes on: {why}");
            let ([first, has], state) = there(&data);
            assert_eq!(first, 0, "the first cell has what the platform says alone");
            // What ends it may have been written and not acknowledged.
            let ok = has == 0 || state == "importing" || (has == all && state == "imported");
            assert!(ok, "{has} entries, {state}: {why}");
            seen[0] |= state == "importing" && has == 0;
            seen[1] |= state == "importing" && has > 0;
        }
        assert!(
            seen[usize::try_from(cell).unwrap()],
            "{deaths} deaths of cell {cell}, {seen:?}"
        );
        assert_eq!(there(&data), ([0, all], "imported"));
        assert_eq!(command(&turn("open", &data)).0, Some(0));
        service.begin().await;
        let client = issued(&service, OTHER).await;
        assert_eq!(shown(&client, &cvus).await, before);
        service.verified().await;
        service.end(true).await;
    }
}

#[actix_web::test]
async fn a_cell_that_has_what_the_first_one_does_not_know_gets_nothing() {
    let dir = TempDir::new().unwrap();
    let mut service = TestService::start().await;
    worked(&service).await;
    service.end(true).await;
    let file = dir.path().join("realm");
    exported(service.data(), &file, &[]);
    service.cells(2);
    // One without tenants: the numbers of the file are not the next ones, which a start would look for.
    let data = dir.path().join("empty");
    service.moves(data.clone());
    service.begin().await;
    service.end(true).await;
    let (store, older) = (data.join("store"), dir.path().join("older"));
    copy(&store, &older);
    done(&import(&file, &data, &["--cell", "1"]));
    std::fs::remove_dir_all(&store).unwrap();
    std::fs::rename(&older, &store).unwrap();
    for more in [&["--cell", "0"][..], &["--cell", "1"], &[]] {
        let why = refused(&import(&file, &data, more), 2);
        assert!(why.contains("the first cell is an older copy"), "{why}");
    }
}
