//! A copy of a cell that lags behind its log: the objects shipped of the other cells fit together all the same.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use caudal::backup::BackupError;
use caudal::backup::depot::{Depot, Later};
use caudal::backup::fits::Said;
use caudal::backup::fleet::{Fleet, Known, Stand};
use caudal::backup::level::{Alone, FIRST, Level};
use caudal_storage::{DurableStore, Index as _, Store as _};
use tempfile::TempDir;

use super::moments::Remembering;
use super::{Chosen, SMALL, store_of};
use crate::cells::brought;
use crate::portable::worked;
use crate::support::{Setup, TestService};

/// A service that has ended after a realm was moved into cell 1, and cell 1 as it was before.
struct Moved {
    first: Arc<DurableStore>,
    other: Arc<DurableStore>,
    before: Arc<DurableStore>,
    _dir: TempDir,
    _service: TestService,
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap() {
        let (item, to) = (item.unwrap(), to.to_owned());
        let to = to.join(item.file_name());
        match item.path().is_dir() {
            true => copy(&item.path(), &to),
            false => drop(fs::copy(item.path(), to).unwrap()),
        }
    }
}

impl Moved {
    async fn made() -> Self {
        let dir = TempDir::new().unwrap();
        let mut service = TestService::with(Setup {
            cells: 2,
            ..Setup::default()
        })
        .await;
        worked(&service).await;
        service.end(true).await;
        let (data, aside) = (service.data().to_owned(), dir.path().join("aside"));
        let cell = data.join("cells").join("1");
        copy(&cell, &aside);
        service.begin().await;
        brought(&service, 1).await;
        service.end(true).await;
        Self {
            first: store_of(&data),
            other: store_of(&cell),
            before: store_of(&aside),
            _dir: dir,
            _service: service,
        }
    }

    /// Begins to ship, with the store `other` as cell 1.
    async fn begin(
        &self,
        depot: &Arc<Remembering>,
        other: &DurableStore,
        level: Arc<dyn Level>,
    ) -> Result<Fleet, BackupError> {
        let depot: Arc<dyn Depot> = Arc::<Remembering>::clone(depot);
        let records = [self.first.records(), other.records()];
        let said = Said::load(self.first.as_ref()).unwrap();
        let known = Known {
            pepper_check: None,
            said,
            choice: &Chosen::default(),
            shipped: Vec::new(),
        };
        Fleet::begin(&depot, (&records, level), SMALL, known).await
    }

    fn close(self) {
        for store in [self.first, self.other, self.before] {
            store.close().unwrap();
        }
    }
}

/// Ships a round; returns how far each cell is then.
async fn round(fleet: &mut Fleet) -> [Stand; 2] {
    fleet.begins_anew();
    while fleet.step().await.unwrap() {}
    fleet.stands().try_into().unwrap()
}

/// Checks that the depot has everything of both cells.
async fn is_whole(fleet: &mut Fleet, depot: &Remembering) {
    let stands = round(fleet).await;
    assert!(fleet.failure().is_none() && stands.iter().all(|it| it.whole));
    assert_eq!(fleet.behind(), 0);
    assert!(depot.fits_at_every_moment().await > 1);
}

#[actix_web::test]
async fn the_first_cell_stops_before_what_it_says_of_a_copy_that_lacks_it() {
    let moved = Moved::made().await;
    let depot = Arc::new(Remembering::default());
    let mut fleet = moved
        .begin(&depot, &moved.before, Arc::new(Alone))
        .await
        .unwrap();
    for _ in 0..2 {
        let [first, other] = round(&mut fleet).await;
        assert!(!first.whole && !other.whole);
        let reached = first.reached.unwrap().tail().commit;
        assert!(reached.0 > 0 && reached < moved.first.applied());
        let why = fleet.failure().unwrap().to_string();
        assert!(why.contains("cell 1") && why.contains("lacks"), "{why}");
    }
    assert!(depot.fits_at_every_moment().await > 0);
    // Later the copy has it.
    let later = moved.begin(&depot, &moved.other, Arc::new(Alone)).await;
    is_whole(&mut later.unwrap(), &depot).await;
    // A copy that lags again is behind the depot: nothing of it is shipped.
    let again = moved.begin(&depot, &moved.before, Arc::new(Alone)).await;
    let why = again.unwrap().failure().unwrap().to_string();
    assert!(
        why.contains("cell 1") && why.contains("older copy"),
        "{why}"
    );
    moved.close();
}

/// Copies of cells, each of which catches up or does not.
#[derive(Debug, Default)]
struct Stuck {
    /// The cells that do not catch up.
    first: AtomicBool,
    other: AtomicBool,
    asked: Mutex<Vec<u32>>,
}

impl Level for Stuck {
    fn ships(&self) -> bool {
        true
    }

    fn shipper(&self) -> Option<Arc<str>> {
        None
    }

    fn age(&self, _cell: u32) -> Option<Duration> {
        None
    }

    fn level(&self, cell: u32) -> Later<'_, ()> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(cell);
            let stuck = match cell {
                FIRST => &self.first,
                _ => &self.other,
            };
            match stuck.load(Ordering::SeqCst) {
                true => Err(BackupError::Refused("it does not catch up".to_owned())),
                false => Ok(()),
            }
        })
    }
}

#[actix_web::test]
async fn a_copy_that_does_not_catch_up_is_named_and_the_first_cell_waits_where_it_has_to() {
    let moved = Moved::made().await;
    let (depot, level) = (Arc::new(Remembering::default()), Arc::new(Stuck::default()));
    let shared: Arc<dyn Level> = Arc::<Stuck>::clone(&level);
    let mut fleet = moved.begin(&depot, &moved.other, shared).await.unwrap();
    level.asked.lock().unwrap().clear();
    level.other.store(true, Ordering::SeqCst);
    let [first, other] = round(&mut fleet).await;
    // The ends of the other cells are taken first, so that the first cell has everything that they may depend on.
    assert_eq!(level.asked.lock().unwrap()[..2], [1, FIRST]);
    let why = fleet.failure().unwrap().to_string();
    assert!(why.contains("cell 1: it does not catch up"), "{why}");
    assert!(!first.whole && !other.whole && first.reached.unwrap().tail().commit.0 > 0);
    // If the first cell itself does not catch up, nothing is shipped.
    let before = fleet.shipped();
    level.other.store(false, Ordering::SeqCst);
    level.first.store(true, Ordering::SeqCst);
    fleet.begins_anew();
    assert!(fleet.step().await.is_err());
    assert_eq!(fleet.shipped(), before);
    level.first.store(false, Ordering::SeqCst);
    is_whole(&mut fleet, &depot).await;
    moved.close();
}
