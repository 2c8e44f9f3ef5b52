//! Snapshots while money moves: each is a cut between two commits, and costs one read.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use caudal_ledger::balance::Balance;
use caudal_ledger::balance::Direction;
use caudal_ledger::chain::Digest;
use caudal_ledger::cvu::{Cbu, Cvu};
use caudal_ledger::facts::{AccountFact, LedgerFact};
use caudal_ledger::holds::{HoldStep, OpenHold};
use caudal_ledger::ids::Tag;
use caudal_ledger::money::Money;
use caudal_ledger::transfers::{Concept, Destination, Send, TransferFact, TransferRecord};
use caudal_ledger::treasury::{Sum, Totals};
use caudal_ledger::vouchers::{ReferenceType, Voucher};
use caudal_storage::{
    Commit, CommitNo, Differing, Done, Entry, EntryPlace, Head, Index, Pair, Position, Stats,
    Store, StreamId,
};

use super::*;
use crate::accounts::{MakeTransfer, PlaceHold};
use crate::engine::lists::ListPage;
use crate::engine::treasury::PositionFilter;
use crate::records::{LEDGER, PROFILE, TRANSFERS, decode, entry, reads};

const ACCOUNTS: u64 = 8;
const SNAPSHOTS: usize = 1000;

/// The clients' money (available, held) and the outgoing sum after each commit, by the number of vouchers so far: from
/// the balance in the last voucher of each account, and from the facts of transfers.
fn cuts(store: &dyn Index) -> BTreeMap<u64, [Sum; 3]> {
    let mut balances: BTreeMap<u64, Balance> = BTreeMap::new();
    let mut open: BTreeMap<(u64, u64), Amount> = BTreeMap::new();
    let (mut cuts, mut vouchers, mut last) = (BTreeMap::new(), 0_u64, CommitNo(0));
    let sums = |balances: &BTreeMap<u64, Balance>, open: &BTreeMap<_, Amount>| {
        let sum = |it: &mut dyn Iterator<Item = Money>| {
            it.fold(Sum::default(), |sum, more| sum.plus(more.into()))
        };
        [
            sum(&mut balances.values().map(|balance| balance.available)),
            sum(&mut balances.values().map(|balance| balance.held)),
            sum(&mut open.values().map(|amount| amount.money())),
        ]
    };
    let visit = &mut |commit, entry: &Entry| {
        if commit != last {
            cuts.insert(vouchers, sums(&balances, &open));
            last = commit;
        }
        let account = entry.stream.number;
        match (entry.stream.kind, entry.stream.realm == REALM.0) {
            (LEDGER, true) => {
                let LedgerFact::Posted(voucher) = decode(&entry.body).unwrap();
                balances.insert(account, voucher.after);
                vouchers += 1;
            }
            (TRANSFERS, true) => {
                let TransferRecord { transfer, fact } = decode(&entry.body).unwrap();
                match fact {
                    TransferFact::Requested(asked) if asked.status.is_open() => {
                        open.insert((account, transfer), asked.amount);
                    }
                    TransferFact::Completed { .. } | TransferFact::Rejected(_) => {
                        open.remove(&(account, transfer)).unwrap();
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        true
    };
    store.replay(CommitNo(1), visit).unwrap();
    cuts.insert(vouchers, sums(&balances, &open));
    cuts
}

fn sides(totals: &Totals) -> [Sum; 3] {
    [totals.available, totals.held, totals.outgoing]
}

pub(super) fn cvu(account: u64) -> Cvu {
    let client = AccountNo(account).cvu_record(REALM);
    Cvu::compose(999, client).unwrap()
}

fn external(id: String) -> ExternalId {
    ExternalId::parse(&id).unwrap()
}

fn transfer(from: Target, key: &str, amount: Amount, external_id: ExternalId) -> MakeTransfer {
    let order = Send {
        metadata: std::collections::BTreeMap::new(),
        to: Destination::Key(Cbu::parse(key).unwrap()),
        amount,
        concept: Concept::Var,
        description: None,
        external_id,
    };
    MakeTransfer {
        from,
        order,
        dry_run: false,
    }
}

/// Posts, holds, steps and transfers until it is told to stop. Refusals are fine, too.
async fn move_money(engine: &Engine, task: u64, stop: &Cell<bool>) -> u64 {
    let ledger = engine.ledger();
    let mut n = 0_u64;
    while !stop.get() {
        n += 1;
        let account = 1 + (task + n * 7) % ACCOUNTS;
        let other = 1 + (account + 2 + n % 3) % ACCOUNTS;
        let target = Target::Account(AccountNo(account));
        let amount = Amount::from_centavos(1 + i64::try_from(n * 13 % 97).unwrap()).unwrap();
        let id = external(format!("t{task}-{n}"));
        match n % 6 {
            0 => {
                let order = adjustment(account, "OUT", amount.centavos(), id.as_str());
                drop(ledger.order(REALM, order, plain()).await);
            }
            1 | 2 => {
                let order = transfer(target, cvu(other).as_str(), amount, id);
                drop(ledger.order(REALM, order, plain()).await);
            }
            3 => {
                let order = transfer(target, "2850590940090418135201", amount, id);
                drop(ledger.order(REALM, order, plain()).await);
            }
            4 => {
                let order = OpenHold {
                    amount,
                    external_id: id,
                    description: None,
                    expires_at: None,
                    capture_tolerance: None,
                    metadata: std::collections::BTreeMap::new(),
                };
                let order = PlaceHold {
                    target,
                    order,
                    dry_run: false,
                };
                let held = ledger.order(REALM, order, plain());
                let Ok(Given::Value(held)) = held.await else {
                    continue;
                };
                let held = held.into_inner();
                let id = held.hold.id(REALM, held.account);
                let step = if n.is_multiple_of(4) {
                    HoldStep::Confirm
                } else {
                    HoldStep::Release
                };
                drop(
                    ledger
                        .step_hold(REALM, id, step, None, false, plain())
                        .await,
                );
            }
            _ => {
                let order = adjustment(account, "IN", 1000, id.as_str());
                drop(ledger.order(REALM, order, plain()).await);
            }
        }
    }
    n
}

#[actix::test]
async fn every_snapshot_is_the_sum_of_the_positions_at_its_sequence() {
    let world = World::new().await;
    for n in 1..=ACCOUNTS {
        value(world.open(None, None).await);
        let credit = adjustment(n, "IN", 50_000, &format!("first-{n}"));
        value(world.engine.ledger().order(REALM, credit, plain()).await);
    }
    // From here on the disk has its own pace, on its own thread.
    world.store.set_automatic(false);
    let (store, ended) = (Arc::clone(&world.store), Arc::new(AtomicBool::new(false)));
    let disk = {
        let ended = Arc::clone(&ended);
        std::thread::spawn(move || {
            while !ended.load(Ordering::Acquire) {
                store.step_some();
                std::thread::yield_now();
            }
            store.set_automatic(true);
        })
    };
    let (engine, stop) = (Rc::new(world.engine), Rc::new(Cell::new(false)));
    let tasks: Vec<_> = (0..12)
        .map(|task| {
            let (engine, stop) = (Rc::clone(&engine), Rc::clone(&stop));
            actix::spawn(async move { move_money(&engine, task, &stop).await })
        })
        .collect();
    let mut taken = Vec::new();
    for n in 0..SNAPSHOTS {
        let snapshot = engine.queries().treasury(REALM, "r").await.unwrap();
        assert!(snapshot.bank.is_ok(), "{snapshot:?}");
        taken.push(snapshot.totals);
        // Some snapshots of one instant, most of others.
        let commit = world.store.stats().last_commit;
        while n % 4 > 0 && world.store.stats().last_commit == commit {
            tokio::task::yield_now().await;
        }
    }
    stop.set(true);
    for task in tasks {
        assert!(task.await.unwrap() > 0);
    }
    ended.store(true, Ordering::Release);
    disk.join().unwrap();
    let engine = Rc::into_inner(engine).unwrap();
    let world = World { engine, ..world };
    world.verified().await;
    let right = cuts(world.store.as_ref());
    let mut distinct = std::collections::BTreeSet::new();
    for totals in &taken {
        let cut = right.get(&totals.sequence);
        let cut = cut.unwrap_or_else(|| panic!("{totals:?} is inside a commit"));
        assert_eq!(sides(totals), *cut, "{totals:?}");
        distinct.insert(totals.sequence);
    }
    assert!(distinct.len() > SNAPSHOTS / 2, "{} cuts", distinct.len());
    assert!(taken.iter().any(|totals| totals.outgoing > Sum::default()));
    // The process dies with half of the waiting commits, and starts again.
    world.store.set_automatic(false);
    for n in 0..10 {
        let order = adjustment(1, "IN", 7, &format!("last-{n}"));
        let mut posted = Box::pin(world.engine.ledger().order(REALM, order, plain()));
        goes_on(&mut posted, || world.store.pending() == n + 1).await;
    }
    let world = world.crash(5);
    let totals = world
        .engine
        .queries()
        .treasury(REALM, "r")
        .await
        .unwrap()
        .totals;
    let right = cuts(world.store.as_ref());
    assert_eq!(Some(&sides(&totals)), right.get(&totals.sequence));
    assert_eq!(totals.census.active, ACCOUNTS);
    world.verified().await;
}

/// A store that counts the reads.
#[derive(Debug)]
pub(super) struct Counted {
    inner: Arc<dyn Store>,
    gets: AtomicU64,
    others: AtomicU64,
    /// Rows and entries that were returned.
    pub(super) rows: AtomicU64,
}

impl Counted {
    pub(super) fn over(inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            gets: AtomicU64::new(0),
            others: AtomicU64::new(0),
            rows: AtomicU64::new(0),
        }
    }

    /// Counts the result of a read.
    fn given<T>(&self, found: Stored<Vec<T>>) -> Stored<Vec<T>> {
        let count = found.as_ref().map_or(0, Vec::len);
        self.rows
            .fetch_add(u64::try_from(count).unwrap(), Ordering::Relaxed);
        found
    }

    fn other(&self) -> &dyn Store {
        self.others.fetch_add(1, Ordering::Relaxed);
        self.inner.as_ref()
    }
}

type Stored<T> = Result<T, StoreError>;

impl Index for Counted {
    fn applied(&self) -> CommitNo {
        self.inner.applied()
    }
    fn head(&self, stream: StreamId) -> Stored<Option<Head>> {
        self.other().head(stream)
    }
    fn read(
        &self,
        stream: StreamId,
        from: u64,
        to: u64,
        order: caudal_storage::SortOrder,
        limit: usize,
    ) -> Stored<Vec<Entry>> {
        self.given(self.other().read(stream, from, to, order, limit))
    }
    fn seq_at(&self, stream: StreamId, at: u64) -> Stored<Option<u64>> {
        self.other().seq_at(stream, at)
    }
    fn entry(&self, position: Position) -> Stored<Entry> {
        self.rows.fetch_add(1, Ordering::Relaxed);
        self.other().entry(position)
    }
    fn find(&self, entries: &[(StreamId, u64)]) -> Stored<Vec<Option<EntryPlace>>> {
        self.other().find(entries)
    }
    fn get(&self, key: &[u8]) -> Stored<Option<Vec<u8>>> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(1, Ordering::Relaxed);
        self.inner.get(key)
    }
    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        order: caudal_storage::SortOrder,
        limit: usize,
    ) -> Stored<Vec<Pair>> {
        self.given(self.other().scan(from, to, order, limit))
    }
    fn replay(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(CommitNo, &Entry) -> bool,
    ) -> Stored<CommitNo> {
        self.other().replay(from, visit)
    }
    fn streams_differ(
        &self,
        commits: (CommitNo, CommitNo),
        realm: Option<u32>,
        step: &mut dyn FnMut() -> bool,
    ) -> Stored<Differing> {
        self.other().streams_differ(commits, realm, step)
    }
}

impl Store for Counted {
    fn submit(&self, commit: Commit, done: Done) {
        self.other().submit(commit, done);
    }
    fn barrier(&self, done: Done) {
        self.other().barrier(done);
    }
    fn stats(&self) -> Stats {
        self.inner.stats()
    }
    fn ready(&self) -> Stored<()> {
        self.inner.ready()
    }
    fn close(&self) -> Stored<()> {
        self.inner.close()
    }
}

/// Opens this many accounts.
pub(super) fn opened(store: &FaultyStore, accounts: u64) {
    for number in 1..=accounts {
        let stream = crate::records::account_stream(REALM, AccountNo(number), PROFILE);
        let registered = AccountFact::Registered(Registration {
            number: AccountNo(number),
            ..registration()
        });
        let facts = [
            registered,
            AccountFact::Opened {
                cvu: cvu(number),
                alias: None,
            },
        ];
        let entries = facts.iter().zip(1..).map(|(fact, seq)| {
            let at = Timestamp::from_millis(1_700_000_000_000);
            entry(stream, seq, at, fact).unwrap()
        });
        let commit = Commit {
            entries: entries.collect(),
            hints: Vec::new(),
            ..Commit::default()
        };
        store.submit(commit, Box::new(|done| assert!(done.is_ok())));
    }
}

/// The first voucher of an account.
pub(super) fn first_voucher() -> Voucher {
    let amount = Amount::from_centavos(12_345).unwrap();
    Voucher {
        cvu: cvu(1),
        sequence: 1,
        tag: Tag::NONE,
        direction: Direction::Credit,
        amount,
        after: Balance {
            available: amount.money(),
            held: Money::ZERO,
        },
        type_code: TypeCode::parse("IN").unwrap(),
        type_number: None,
        counter_account: None,
        type_name: "In".into(),
        external_id: None,
        reference_type: ReferenceType::Adjustment,
        reference_id: None,
        description: None,
        external_date: None,
        external_date_sent: None,
        expires_at: None,
        gives_back: None,
        counterparty: None,
        details: None,
        at: Timestamp::from_millis(1_700_000_000_000),
        hash: Digest::default(),
    }
}

/// A store where this many accounts have a voucher each.
pub(super) fn filled(accounts: u64) -> Arc<FaultyStore> {
    let store = FaultyStore::new(Arc::new(ServiceProjection), 1);
    store.set_automatic(true);
    let mut voucher = first_voucher();
    let numbers: Vec<u64> = (1..=accounts).collect();
    for group in numbers.chunks(10_000) {
        let posted = |number: &u64| {
            voucher.external_id = Some(external(format!("x-{number}")));
            let stream = crate::records::account_stream(REALM, AccountNo(*number), LEDGER);
            let fact = LedgerFact::Posted(voucher.clone());
            entry(stream, 1, voucher.at, &fact).unwrap()
        };
        let commit = Commit {
            entries: group.iter().map(posted).collect(),
            hints: Vec::new(),
            ..Commit::default()
        };
        store.submit(commit, Box::new(|done| assert!(done.is_ok())));
    }
    store
}

#[test]
fn a_snapshot_costs_one_read_however_many_accounts_there_are() {
    for accounts in [1000, 100_000] {
        let counted = Counted::over(filled(accounts));
        let totals = reads::totals(&counted, REALM).unwrap();
        assert_eq!(totals.sequence, accounts);
        assert_eq!(totals.available.centavos(), i128::from(accounts) * 12_345);
        let asked = [&counted.gets, &counted.others].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(asked, [1, 0], "{accounts} accounts");
    }
}

#[actix::test]
async fn a_page_of_positions_costs_what_its_rows_cost() {
    for accounts in [1000, 5000] {
        let store = filled(accounts);
        opened(&store, accounts);
        let counted = Arc::new(Counted::over(store));
        let banks = Arc::new(|_: &Relation| {
            let bank: Arc<dyn BankGateway> = Arc::<TestBank>::default();
            Ok(bank)
        });
        let options = EngineOptions {
            arbiters: 0,
            ..EngineOptions::default()
        };
        let clock = Arc::<TestClock>::default();
        let engine = Engine::start(Arc::<Counted>::clone(&counted), clock, banks, options);
        let engine = engine.unwrap();
        let mut page = ListPage {
            order: caudal_storage::SortOrder::Descending,
            limit: 10,
            offset: 0,
            cursor: None,
        };
        for _ in 0..3 {
            for count in [&counted.gets, &counted.others] {
                count.store(0, Ordering::Relaxed);
            }
            let filter = PositionFilter::default();
            let listed = engine
                .queries()
                .positions(REALM, filter, page)
                .await
                .unwrap();
            assert_eq!((listed.items.len(), listed.total), (10, accounts));
            page.cursor = listed.next;
            let asked = [&counted.gets, &counted.others].map(|it| it.load(Ordering::Relaxed));
            // One row for the sums; the account sets, ten profiles and ten vouchers for the page.
            assert_eq!(asked, [1, 21], "{accounts} accounts");
        }
    }
}

#[actix::test]
async fn a_row_that_is_wrong_is_found_and_a_dead_treasury_is_replaced() {
    let world = World::new().await;
    value(world.open(None, None).await);
    value(world.post("IN", 500, "a").await);
    world.verified().await;
    let before = world.engine.queries().treasury(REALM, "r").await.unwrap();
    assert_eq!(before.totals.available.to_string(), "5.00");
    let key = crate::records::keys::totals(REALM);
    let mut row = world.store.get(&key).unwrap().unwrap();
    row[15] += 1;
    let hint = caudal_storage::Row {
        key: key.to_vec(),
        value: Some(row),
    };
    let commit = Commit {
        hints: vec![hint],
        ..Commit::default()
    };
    let store = &world.store;
    store.submit(commit, Box::new(|done| assert!(done.is_ok())));
    let report = verify::engine(&world.engine).await.unwrap();
    let wrong = "realm 1: the sums of the index are not those of the journal";
    assert_eq!(report.differences, [wrong]);
    // The bank's port panics in the treasury's turn: that snapshot is lost, the next one is not.
    world.bank.will_panic();
    let lost = world.engine.queries().treasury(REALM, "r").await;
    assert!(lost.is_err(), "{lost:?}");
    let after = world.engine.queries().treasury(REALM, "r").await.unwrap();
    assert_eq!(after.totals.available.to_string(), "5.01");
}
