//! Pages of accounts and of positions, over more than one block of the account sets, with accounts of every state in
//! between: compared with the same lists made without any index.

use caudal_ledger::accounts::Status;
use caudal_ledger::balance::{Balance, Direction};
use caudal_ledger::facts::{AccountFact, LedgerFact};
use caudal_ledger::text::folded;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{Commit, Index, SortOrder, Store as _};

use super::treasury::{cvu, first_voucher};
use super::*;
use crate::engine::lists::{AccountFilter, AccountScope, AccountSort, ListCursor, ListPage};
use crate::engine::treasury::PositionFilter;
use crate::records::{LEDGER, PROFILE, account_stream, entry};

/// Enough for three blocks, the last one not full.
const ACCOUNTS: u64 = 700;
/// Divides no block.
const LIMIT: usize = 37;

/// An account as the test knows it.
#[derive(Clone, Debug)]
struct Known {
    number: AccountNo,
    name: String,
    status: Status,
    enabled: bool,
    funded: bool,
}

/// The state of the n-th account.
fn known(n: u64) -> Known {
    let status = match n {
        // A whole block without an account that could be shown in some lists.
        n if n % 7 == 0 => Status::Void,
        n if n % 11 == 0 => Status::Registered,
        n if n % 13 == 0 => Status::Suspended,
        n if n % 5 == 0 || (256..512).contains(&n) => Status::Closed,
        _ => Status::Active,
    };
    Known {
        number: AccountNo(n),
        name: format!("Ñandú {}", n * 7919 % 50),
        status,
        enabled: !n.is_multiple_of(3),
        funded: n.is_multiple_of(2) && !matches!(status, Status::Void | Status::Registered),
    }
}

fn facts(known: &Known) -> Vec<AccountFact> {
    let mut facts = vec![AccountFact::Registered(Registration {
        number: known.number,
        holder: caudal_ledger::accounts::Holder {
            name: known.name.clone(),
            ..registration().holder
        },
        ..registration()
    })];
    if known.status == Status::Void {
        let why = caudal_ledger::facts::BankRefusal {
            status: 422,
            body: "{}".into(),
        };
        facts.push(AccountFact::OpeningRefused(why));
    }
    if !matches!(known.status, Status::Void | Status::Registered) {
        let (cvu, alias) = (cvu(known.number.0), None);
        facts.push(AccountFact::Opened { cvu, alias });
    }
    if !known.enabled {
        facts.push(AccountFact::EnabledChanged { enabled: false });
    }
    match known.status {
        Status::Suspended => facts.push(AccountFact::Suspended {
            reason: "r".into(),
            code: caudal_ledger::accounts::SuspensionCode::Other,
        }),
        Status::Closed => facts.push(AccountFact::Closed),
        Status::Void | Status::Registered | Status::Active => {}
    }
    facts
}

/// Money arrives, and leaves every other account again.
fn vouchers(known: &Known) -> Vec<LedgerFact> {
    let first = first_voucher();
    let second = Voucher {
        sequence: 2,
        direction: Direction::Debit,
        after: Balance::default(),
        ..first.clone()
    };
    let vouchers = match known.status {
        Status::Void | Status::Registered => vec![],
        _ if known.funded => vec![first],
        _ => vec![first, second],
    };
    vouchers.into_iter().map(LedgerFact::Posted).collect()
}

fn world() -> (World, Vec<Known>) {
    let all: Vec<_> = (1..=ACCOUNTS).map(known).collect();
    let store = FaultyStore::new(Arc::new(ServiceProjection), 1);
    store.set_automatic(true);
    let at = Timestamp::from_millis(1_700_000_000_000);
    for known in &all {
        let stream = account_stream(REALM, known.number, PROFILE);
        let facts = facts(known);
        let entries = facts.iter().zip(1..);
        let mut entries: Vec<_> = entries
            .map(|(fact, seq)| entry(stream, seq, at, fact).unwrap())
            .collect();
        let ledger = account_stream(REALM, known.number, LEDGER);
        for (fact, seq) in vouchers(known).iter().zip(1..) {
            entries.push(entry(ledger, seq, at, fact).unwrap());
        }
        let commit = Commit {
            entries,
            hints: Vec::new(),
            ..Commit::default()
        };
        store.submit(commit, Box::new(|done| assert!(done.is_ok())));
    }
    (World::over(store, Arc::default(), Arc::default()), all)
}

/// Walks over all pages of a list by offset, up to one after the last, and then by cursor.
async fn walked<L: Future<Output = (Vec<AccountNo>, u64, Option<ListCursor>)>>(
    order: SortOrder,
    right: &[AccountNo],
    ask: impl Fn(ListPage) -> L,
) {
    let total = u64::try_from(right.len()).unwrap();
    let mut page = ListPage {
        order,
        limit: LIMIT,
        offset: 0,
        cursor: None,
    };
    while page.offset <= right.len() + LIMIT {
        let rest = right.get(page.offset..).unwrap_or_default();
        let (found, counted, next) = ask(page).await;
        assert_eq!(found, rest.get(..LIMIT).unwrap_or(rest), "{page:?}");
        assert_eq!(
            (counted, next.is_some()),
            (total, rest.len() > LIMIT),
            "{page:?}"
        );
        page.offset += LIMIT;
    }
    page.offset = 0;
    let mut all = Vec::new();
    loop {
        let (found, counted, next) = ask(page).await;
        assert_eq!(counted, total);
        all.extend(found);
        page.cursor = next;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(all, right);
}

#[actix::test]
async fn every_page_of_accounts_shows_each_once_whatever_is_between() {
    let (world, all) = world();
    let statuses = [
        None,
        Some(Status::Active),
        Some(Status::Suspended),
        Some(Status::Closed),
    ];
    let scopes = [AccountScope::WithCvu, AccountScope::Everyone];
    let sorts = [
        AccountSort::CreatedAt,
        AccountSort::HolderName,
        AccountSort::Cuit,
    ];
    for status in statuses {
        for (enabled, text) in [(None, None), (Some(false), None), (None, Some("NANDÚ 1"))] {
            let engine = &world.engine;
            for (scope, sort) in scopes
                .into_iter()
                .flat_map(|scope| sorts.map(|s| (scope, s)))
            {
                let filter = &AccountFilter {
                    text: text.map(str::to_owned),
                    status,
                    enabled,
                    scope,
                };
                let mut right: Vec<&Known> = all
                    .iter()
                    .filter(|k| k.status != Status::Void)
                    .filter(|k| scope == AccountScope::Everyone || k.status != Status::Registered)
                    .filter(|k| status.is_none_or(|status| status == k.status))
                    .filter(|k| enabled.is_none_or(|enabled| enabled == k.enabled))
                    .filter(|k| text.is_none_or(|text| folded(&k.name).contains(&folded(text))))
                    .collect();
                if sort == AccountSort::HolderName {
                    right.sort_by_key(|k| (folded(&k.name), k.number));
                }
                for order in [SortOrder::Ascending, SortOrder::Descending] {
                    let numbers: Vec<_> = right.iter().map(|k| k.number).collect();
                    walked(order, &numbers, |page| async move {
                        let listed = engine
                            .queries()
                            .accounts(REALM, filter.clone(), sort, page)
                            .await;
                        let listed = listed.unwrap();
                        let numbers = listed.items.iter().map(|account| account.number);
                        (numbers.collect(), listed.total, listed.next)
                    })
                    .await;
                    right.reverse();
                }
            }
        }
    }
}

#[actix::test]
async fn every_page_of_positions_leaves_out_closed_accounts_without_money() {
    let (world, all) = world();
    let engine = &world.engine;
    let mut right: Vec<_> = all
        .iter()
        .filter(|k| !matches!(k.status, Status::Void | Status::Registered))
        .filter(|k| k.status != Status::Closed || k.funded)
        .map(|k| k.number)
        .collect();
    for order in [SortOrder::Ascending, SortOrder::Descending] {
        // With a filter that every account passes, every account is scanned: the same pages.
        for text in [None, Some("ñandú".to_owned())] {
            let filter = &PositionFilter {
                text,
                ..PositionFilter::default()
            };
            walked(order, &right, |page| async move {
                let listed = engine
                    .queries()
                    .positions(REALM, filter.clone(), page)
                    .await;
                let listed = listed.unwrap();
                let numbers = listed.items.iter().map(|position| position.account.number);
                (numbers.collect(), listed.total, listed.next)
            })
            .await;
        }
        right.reverse();
    }
}

#[actix::test]
async fn a_row_of_a_list_that_is_wrong_is_found() {
    use crate::records::keys::{self, Sorted};
    let world = World::new().await;
    value(world.open(None, None).await);
    value(world.post("IN", 500, "a").await);
    world.verified().await;
    let (number, cuit) = (AccountNo(1), registration().holder.cuit);
    let name = folded(&registration().holder.name);
    let cases = [
        (
            keys::account_set_of(REALM, 0),
            "the account sets say otherwise",
        ),
        (
            keys::directory_of(REALM, number),
            "the directory says otherwise",
        ),
        (
            keys::sorted_of(REALM, Sorted::Name, name.as_bytes(), number),
            "its place in an order is wrong",
        ),
        (
            keys::account_of_cuit(REALM, cuit, number),
            "it is not found by its CUIT",
        ),
        (
            keys::internal(REALM, 1),
            "movement 1 is not in the list of its realm",
        ),
    ];
    for (key, wrong) in cases {
        let right = world.store.get(&key).unwrap();
        assert!(right.is_some(), "{wrong}");
        for (value, differences) in [
            (None, vec![format!("realm 1 account 1: {wrong}")]),
            (right, vec![]),
        ] {
            let key = key.clone();
            let commit = Commit {
                entries: Vec::new(),
                hints: vec![caudal_storage::Row { key, value }],
                ..Commit::default()
            };
            world
                .store
                .submit(commit, Box::new(|done| assert!(done.is_ok())));
            let report = verify::engine(&world.engine).await.unwrap();
            assert_eq!(report.differences, differences);
        }
    }
}
