//! Imports that die at any change to the disk: each continues where the one before it stopped, and nobody is served
//! in the meantime.

use std::path::Path;
use std::sync::Arc;

use caudal_actors::platform::PlatformActor;
use caudal_actors::records::projection::ServiceProjection;
use caudal_backup::BackupError;
use caudal_backup::chain::MachineTimes;
use caudal_backup::portable::export::{Export, ExportRequest};
use caudal_backup::portable::file::CheckedFile;
use caudal_backup::portable::import;
use caudal_backup::portable::read;
use caudal_backup::restore::Until;
use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Mode;
use caudal_ledger::time::Timestamp;
use caudal_storage::{DurableStore, Faults, Store as _, StoreOptions};
use tempfile::TempDir;

use super::{elsewhere, issued, shown, worked};
use crate::backup::store_of;
use crate::support::TestService;
use crate::support::service::OTHER;

pub const REALM: RealmId = RealmId(4);

/// Exports a realm into a file of many frames.
pub fn finely(data: &Path, to: &Path) -> CheckedFile {
    let store = store_of(data);
    let records = store.records();
    let wanted = ExportRequest {
        tenant: OTHER.to_owned(),
        mode: Mode::Test,
        until: Until::End,
        frame_bytes: 700,
    };
    let mut export = Export::begin(to, records.history(), wanted).unwrap();
    let mut times = MachineTimes::default();
    let mut take = |record: &caudal_storage::log::Sealed<'_>| {
        let latest = times.latest(record).unwrap();
        export.record(record, latest).unwrap()
    };
    records.read(&records.beginning(), &mut take).unwrap();
    let made = export.finish().unwrap();
    store.close().unwrap();
    assert_eq!(read::check(to, &mut |_| ()).unwrap(), made);
    made
}

/// One run of an import, which dies at the n-th change to the disk.
fn life(data: &Path, file: &Path, checked: &CheckedFile, nth: u64) -> Result<(), String> {
    let options = StoreOptions {
        create: false,
        faults: Some(Faults::at(nth, u64::MAX)),
        ..StoreOptions::small()
    };
    let store = DurableStore::open(data.join("store"), options, Arc::new(ServiceProjection));
    let store = store.map_err(|why| why.to_string())?;
    let now = Timestamp::from_millis(checked.head.latest + 1);
    let work = || -> Result<(), BackupError> {
        import::begin(store.as_ref(), file, checked, now)?;
        import::fill(store.as_ref(), file, checked, &mut |_| ())?;
        import::compare(store.as_ref(), file, checked)?;
        import::end(store.as_ref(), checked, now)
    };
    let done = work();
    store.close().ok();
    done.map_err(|why| why.to_string())
}

/// How many entries of the realm a folder has, and the state of the realm there.
fn there(data: &Path) -> (u64, &'static str) {
    let store = store_of(data);
    let tally = import::tally(store.as_ref(), REALM).unwrap();
    let (platform, _) = PlatformActor::load(store.as_ref()).unwrap();
    let word = platform.state(REALM).as_str();
    store.close().unwrap();
    (tally.entries, word)
}

#[actix_web::test]
async fn an_import_that_dies_anywhere_goes_on_and_shows_nothing_before_it_is_whole() {
    let dir = TempDir::new().unwrap();
    let mut service = TestService::start().await;
    let cvus = worked(&service).await;
    let before = shown(&service.b, &cvus).await;
    service.end(true).await;
    let file = dir.path().join("realm");
    let checked = finely(service.data(), &file);
    let (data, mut home, cvu) = elsewhere(&mut service, dir.path()).await;
    let (mut deaths, mut had, mut looked) = (0, 0, false);
    // each run may do a little more than the one before, or none would get past the opening
    while let Err(why) = life(&data, &file, &checked, 1 + deaths) {
        deaths += 1;
        assert!(deaths < 2000, "it goes on: {why}");
        let (has, state) = there(&data);
        assert!(has >= had, "{has} entries of {had} are left: {why}");
        // Its last commit may have been written without being acknowledged.
        let whole = has == checked.ending.entries && state == "imported";
        assert!(
            has == 0 || state == "importing" || whole,
            "{has} entries, {state}: {why}"
        );
        had = has;
        if has > 0 && !whole && !looked {
            looked = true;
            service.begin().await;
            let client = issued(&service, OTHER).await;
            home.url.clone_from(&client.url);
            for path in ["/v1/accounts", "/v1/events", "/wallet/v1/SaldosActuales"] {
                assert_eq!(client.get(path).await.status, 503, "{path}");
            }
            home.credit(&cvu, "1.00").await;
            service.end(true).await;
        }
    }
    assert!(looked && deaths > 10, "{deaths} deaths");
    assert_eq!(there(&data), (checked.ending.entries, "imported"));
    let store = store_of(&data);
    let now = Timestamp::from_millis(checked.head.latest + 2);
    let open = |platform: &caudal_ledger::tenants::Platform| {
        Ok(vec![platform.open_realm(OTHER, Mode::Test)?])
    };
    import::say(store.as_ref(), now, open).unwrap();
    store.close().unwrap();
    drop(store);
    service.begin().await;
    let client = issued(&service, OTHER).await;
    assert_eq!(shown(&client, &cvus).await, before);
    service.verified().await;
}
