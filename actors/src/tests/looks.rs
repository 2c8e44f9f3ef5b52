//! The reads of a page of a filtered list: no more than its bound, however much there is.

use std::sync::atomic::Ordering;

use caudal_ledger::facts::LedgerFact;
use caudal_ledger::voucher_types::TypeCode;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{Commit, SortOrder, Store as _};

use super::treasury::{Counted, cvu, filled, first_voucher, opened};
use super::*;
use crate::banks::Relation;
use crate::engine::lists::{
    AccountFilter, AccountSort, ListCursor, ListPage, ScannedPart, VoucherFilter, VoucherSort,
};
use crate::engine::treasury::PositionFilter;
use crate::ports::BankGateway;
use crate::records::{LEDGER, account_stream, entry};

/// How much a page may scan, in rows: some vouchers, fewer than there are.
const BOUND: u64 = 300;
/// The reads of a page next to its scan: heads, sums, the search for a date, and its own rows.
const BESIDE: u64 = 100;
/// The price of an account's row.
const ACCOUNT: u64 = 5;

/// An engine over this many accounts with a voucher each; the first account has as many more.
async fn engine(accounts: u64) -> (Engine, Arc<Counted>) {
    let store = filled(accounts);
    opened(&store, accounts);
    let first = first_voucher();
    let more = (2..=accounts).map(|sequence| {
        let voucher = Voucher {
            sequence,
            after: caudal_ledger::balance::Balance {
                available: caudal_ledger::money::Money::from_centavos(
                    12_345 * i64::try_from(sequence).unwrap(),
                ),
                ..first.after
            },
            ..first.clone()
        };
        let stream = account_stream(REALM, AccountNo(1), LEDGER);
        let fact = LedgerFact::Posted(voucher);
        entry(stream, sequence, first.at, &fact).unwrap()
    });
    let commit = Commit {
        entries: more.collect(),
        hints: Vec::new(),
        ..Commit::default()
    };
    store.submit(commit, Box::new(|done| assert!(done.is_ok())));
    let counted = Arc::new(Counted::over(store));
    let banks = Arc::new(|_: &Relation| {
        let bank: Arc<dyn BankGateway> = Arc::<TestBank>::default();
        Ok(bank)
    });
    let options = EngineOptions {
        arbiters: 0,
        list_rows: BOUND,
        ..EngineOptions::default()
    };
    let clock = Arc::<TestClock>::default();
    let engine = Engine::start(Arc::<Counted>::clone(&counted), clock, banks, options);
    let engine = engine.unwrap();
    furnish(&engine).await;
    (engine, counted)
}

/// The lists of this test.
const LISTS: [&str; 7] = [
    "movements, type",
    "movements, text",
    "internal, type",
    "internal, amount",
    "realm, type",
    "accounts, text",
    "positions, total",
];

/// A page of a list with a filter that nothing matches.
async fn page(
    engine: &Engine,
    list: &str,
    page: ListPage,
) -> (usize, Option<ListCursor>, Option<ScannedPart>) {
    let none = VoucherFilter {
        type_code: Some(TypeCode::parse("NONE").unwrap()),
        ..VoucherFilter::default()
    };
    let text = Some("nobody".to_owned());
    let (target, sort) = (Target::Account(AccountNo(1)), VoucherSort::CreatedAt);
    let vouchers = match list {
        "movements, type" => {
            engine
                .queries()
                .movements(REALM, target, none, sort, page)
                .await
        }
        "movements, text" => {
            let filter = VoucherFilter {
                text,
                ..VoucherFilter::default()
            };
            engine
                .queries()
                .movements(REALM, target, filter, sort, page)
                .await
        }
        "internal, type" => engine.queries().internal(REALM, none, sort, page).await,
        "internal, amount" => {
            let filter = VoucherFilter {
                min: Some(i64::MAX),
                ..VoucherFilter::default()
            };
            engine.queries().internal(REALM, filter, sort, page).await
        }
        "realm, type" => engine.queries().vouchers(REALM, none, page).await,
        "accounts, text" => {
            let filter = AccountFilter {
                text,
                ..AccountFilter::default()
            };
            let found = engine
                .queries()
                .accounts(REALM, filter, AccountSort::Alias, page)
                .await;
            let found = found.unwrap();
            return (found.items.len(), found.next, found.looked);
        }
        _ => {
            let filter = PositionFilter {
                min: Some(i64::MAX),
                ..PositionFilter::default()
            };
            let found = engine
                .queries()
                .positions(REALM, filter, page)
                .await
                .unwrap();
            return (found.items.len(), found.next, found.looked);
        }
    };
    let found = vouchers.unwrap();
    (found.items.len(), found.next, found.looked)
}

#[actix::test]
async fn a_filtered_page_scans_up_to_its_bound_and_continues_after_it() {
    for accounts in [500, 2000] {
        let (engine, counted) = engine(accounts).await;
        // Loads the account.
        let target = Target::Account(AccountNo(1));
        engine.queries().balance(REALM, target).await.unwrap();
        for list in LISTS {
            let mut asked = ListPage {
                order: SortOrder::Descending,
                limit: 10,
                offset: 0,
                cursor: None,
            };
            let (mut looked, mut pages) = (0, 0);
            loop {
                pages += 1;
                counted.rows.store(0, Ordering::Relaxed);
                let (found, next, part) = page(&engine, list, asked).await;
                let read = counted.rows.load(Ordering::Relaxed);
                assert_eq!(found, 0, "{list}");
                assert!(read <= BOUND + BESIDE, "{list}: {read} of {accounts}");
                // A page that reached the end within its bound has scanned everything.
                assert_eq!(part.is_none(), next.is_none() && asked.cursor.is_none());
                let rows = part.map_or(accounts, |part| part.rows);
                assert!(rows > 0 || next.is_none(), "{list}");
                looked += rows;
                asked.cursor = next;
                if next.is_none() {
                    break;
                }
            }
            assert!(looked >= accounts, "{list}: {looked} of {accounts}");
            if ["internal, type", "realm, type"].contains(&list) {
                // All blocks but the unfilled one are skipped.
                assert!(pages <= 12, "{list}: {pages} pages of {accounts}");
            }
        }
    }
}

#[actix::test]
async fn the_search_reads_no_more_however_much_there_is_and_finds_what_is_sorted() {
    for accounts in [50, 500, 2000] {
        let (engine, counted) = engine(accounts).await;
        let platform = engine.platform();
        let tenant = platform.tenants.values().next().unwrap();
        let other = [tenant.live, tenant.test];
        let other = *other.iter().find(|realm| **realm != REALM).unwrap();
        let realms = vec![other, REALM];
        counted.rows.store(0, Ordering::Relaxed);
        let found = engine
            .queries()
            .find_accounts(realms.clone(), "nobody", 10)
            .await;
        let found = found.unwrap();
        let read = counted.rows.load(Ordering::Relaxed);
        assert!(read <= BOUND + BESIDE, "{read} of {accounts}");
        // The larger realm gets the remainder of the smaller one.
        let looked: Vec<_> = found.iter().map(|of| (of.realm, of.looked)).collect();
        let most = accounts.min(BOUND / ACCOUNT);
        assert_eq!(looked, [(other, 0), (REALM, most)]);
        assert!(found.iter().all(|of| of.accounts.is_empty()));
        assert_eq!(found[1].more, most < accounts);
        // The oldest account, by the beginning of its CVU.
        let text = cvu(1).to_string();
        let text = text.get(..21).unwrap();
        counted.rows.store(0, Ordering::Relaxed);
        let found = engine
            .queries()
            .find_accounts(realms, text, 10)
            .await
            .unwrap();
        let read = counted.rows.load(Ordering::Relaxed);
        assert!(read <= BOUND + BESIDE, "{read} of {accounts}");
        let first = found[1].accounts.first().map(|it| it.number);
        assert_eq!(first, Some(AccountNo(1)), "of {accounts}");
        // The result is full: whether a scan would find more is not known.
        let text = cvu(1).to_string();
        let found = engine
            .queries()
            .find_accounts(vec![REALM], &text, 1)
            .await
            .unwrap();
        assert!(found[0].more && found[0].accounts.len() == 1);
    }
}

#[actix::test]
async fn sums_of_a_past_day_are_those_of_all_accounts_and_read_none_of_them() {
    const DAY: u64 = 86_400_000;
    for accounts in [50, 500_u64] {
        let store = FaultyStore::new(Arc::new(ServiceProjection), 1);
        store.set_automatic(true);
        let first = first_voucher();
        // The first account belongs to the fourth day, the next ones to earlier days, too.
        let at = |n: u64| first.at.plus_millis(n * 7 % 5 * DAY);
        for n in 1..=accounts {
            let stream = account_stream(REALM, AccountNo(n), LEDGER);
            let at = at(n);
            let fact = LedgerFact::Posted(Voucher {
                at,
                ..first.clone()
            });
            let commit = Commit {
                entries: vec![entry(stream, 1, at, &fact).unwrap()],
                hints: Vec::new(),
                ..Commit::default()
            };
            store.submit(commit, Box::new(|done| assert!(done.is_ok())));
        }
        let counted = Counted::over(store);
        for day in 0..6 {
            let end = first.at.plus_millis(day * DAY).business_day().end();
            let right = (1..=accounts).filter(|n| at(*n) <= end).count();
            let right = u64::try_from(right).unwrap();
            counted.rows.store(0, Ordering::Relaxed);
            let found = crate::records::reads::added_until(&counted, REALM, end).unwrap();
            let available = i128::from(right) * 12_345;
            assert_eq!(
                (found.vouchers, found.available.centavos()),
                (right, available),
                "{day}"
            );
            assert!(counted.rows.load(Ordering::Relaxed) <= 6);
        }
    }
}
