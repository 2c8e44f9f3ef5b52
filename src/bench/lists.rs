//! Lists of a large realm, and the cost of a treasury's snapshot, compared with a small realm.
//!
//! **Shape.** Two stores, a small one and a large one, loaded in bulk over HTTP. The requests of one list are sent in
//! turn, so that a disturbance affects all of them; each is compared with the first page of its list in the same run.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde::Serialize;

use super::client::Connection;
use super::draw::{Mix, Over};
use super::figures::{Histogram, Thousandths, nanos, scaled};
use super::load::{self, End, Job, Way};
use super::site::{Layout, Site};
use super::tally::Tally;

/// Rows of a page.
const PAGE: u64 = 50;
/// Vouchers of one request of the load.
const BULK: usize = 1000;
/// The number of concurrent loading requests.
const LOADING: usize = 16;
/// The longest that a list is measured, once each of its requests was sent [`LEAST`] times.
const LONGEST: Duration = Duration::from_secs(3);
/// See [`LONGEST`].
const LEAST: u64 = 3;
/// The name of the page that the others are compared with.
const FIRST: &str = "first";
/// The name of the page after a cursor.
const CURSOR: &str = "cursor";
/// How many accounts the small store has.
const SMALL: u64 = 1000;

/// The size of the stores and the number of requests.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Accounts of the large store.
    pub accounts: u64,
    /// Vouchers of the large store.
    pub vouchers: u64,
    /// How many of the vouchers are on one account.
    pub hot: u64,
    /// How many rows the deep pages skip.
    pub offset: u64,
    /// The most times that each request is sent.
    pub times: u64,
    /// Threads.
    pub layout: Layout,
}

/// The times of one request.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListRow {
    /// The list.
    pub list: &'static str,
    /// The page of the list.
    pub page: &'static str,
    /// The median time of an answer in nanoseconds.
    pub p50_nanos: u64,
    /// The 99th percentile of the time of an answer, in nanoseconds.
    pub p99_nanos: u64,
    /// Its median divided by that of the first page.
    pub to_first: Thousandths,
    /// The median of a first page divided by that of the small store.
    pub to_small: Option<Thousandths>,
}

/// The results of the lists.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// Accounts of the large store.
    pub accounts: u64,
    /// Its vouchers.
    pub vouchers: u64,
    /// How many of the vouchers are on one account.
    pub hot: u64,
    /// The accounts of the small store, whose vouchers are in proportion.
    pub small: u64,
    /// How many rows the deep pages skip.
    pub offset: u64,
    /// The results of the requests.
    pub lines: Vec<ListRow>,
}

impl Listed {
    /// The most expensive page after a cursor, divided by the first page of its list.
    pub fn dearest_cursor(&self) -> Option<Thousandths> {
        let cursors = self.lines.iter().filter(|line| line.page == CURSOR);
        cursors.map(|line| line.to_first).max()
    }
}

/// A list: its name, its path up to the parameters of a page, and whether pages have numbers.
struct List {
    name: &'static str,
    path: String,
    numbered: bool,
    /// Whether only its first page is requested.
    whole: bool,
}

/// The lists: name, path up to the parameters of a page, whether pages have numbers, and whether only the first page is
/// requested. No voucher is of the type `NONE`: such a page scans as far as a request is allowed to.
const LISTS: [(&str, &str, bool, bool); 30] = [
    ("accounts", "/v1/accounts?", false, false),
    (
        "accounts, status",
        "/v1/accounts?status=active&",
        false,
        false,
    ),
    ("accounts, q", "/v1/accounts?q=prueba%2077&", false, true),
    (
        "accounts by name",
        "/v1/accounts?sort=holderName&",
        false,
        false,
    ),
    ("movements", "/v1/accounts/{hot}/movements?", false, false),
    (
        "comprobantes",
        "/v1/accounts/{hot}/comprobantes?",
        false,
        false,
    ),
    (
        "movements, q",
        "/v1/accounts/{hot}/movements?q=77&",
        false,
        true,
    ),
    (
        "movements, type",
        "/v1/accounts/{hot}/movements?type=NONE&",
        false,
        true,
    ),
    (
        "movements, date and type",
        "/v1/accounts/{hot}/movements?type=NONE&to=2020-01-01&",
        false,
        true,
    ),
    (
        "movements, reference",
        "/v1/accounts/{hot}/movements?referenceType=hold&",
        false,
        true,
    ),
    (
        "movements, CUIT",
        "/v1/accounts/{hot}/movements?counterpartyCuit=20267565393&",
        false,
        true,
    ),
    ("internal", "/v1/comprobantes/internal?", false, false),
    (
        "internal, type",
        "/v1/comprobantes/internal?tipo=NONE&",
        false,
        true,
    ),
    (
        "internal, amount",
        "/v1/comprobantes/internal?importeMin=99&",
        false,
        true,
    ),
    (
        "internal, dates",
        "/v1/comprobantes/internal?desde=2020-01-01&",
        false,
        true,
    ),
    (
        "transfers, status",
        "/v1/transfers?status=audit&",
        false,
        true,
    ),
    (
        "holds, open",
        "/v1/accounts/{hot}/holds?status=open&",
        false,
        true,
    ),
    ("holds", "/v1/accounts/{hot}/holds?", false, true),
    ("positions", "/v1/treasury/positions?", false, false),
    (
        "positions, total",
        "/v1/treasury/positions?min=99999999&",
        false,
        true,
    ),
    (
        "positions, q",
        "/v1/treasury/positions?q=prueba%2077&",
        false,
        true,
    ),
    (
        "accounts by name, q",
        "/v1/accounts?sort=holderName&q=nobody&",
        false,
        true,
    ),
    ("ByFilters", "/wallet/v1/ComprobantesByFilters?", true, true),
    (
        "ByFilters, dates",
        "/wallet/v1/ComprobantesByFilters?fechaDesde=2020-01-01&",
        true,
        true,
    ),
    (
        "ByFilters, code",
        "/wallet/v1/ComprobantesByFilters?codigo=NONE&",
        true,
        true,
    ),
    (
        "ByFilters, sign",
        "/wallet/v1/ComprobantesByFilters?signo=-1&",
        true,
        true,
    ),
    ("Cuentas", "/wallet/v1/Cuentas?", true, false),
    ("SaldosActuales", "/wallet/v1/SaldosActuales?", true, false),
    ("SaldosClientes", "/wallet/v1/SaldosClientes?", true, false),
    ("treasury", "/v1/treasury", false, true),
];

fn lists(hot: &str) -> Vec<List> {
    let list = |(name, path, numbered, whole): (_, &str, _, _)| List {
        name,
        path: path.replace("{hot}", hot),
        numbered,
        whole,
    };
    LISTS.map(list).into()
}

/// The pages of a list that are requested, with their paths.
async fn pages(
    list: &List,
    asker: &mut Asker<'_>,
    offset: u64,
) -> anyhow::Result<Vec<(&'static str, String)>> {
    let List { path, numbered, .. } = list;
    let at = |skipped: u64| {
        if !path.contains('?') {
            // Not a list.
            path.to_string()
        } else if *numbered {
            let page = scaled(skipped, 1, PAGE).saturating_add(1);
            format!("{path}page={page}&pageSize={PAGE}")
        } else {
            format!("{path}offset={skipped}&limit={PAGE}")
        }
    };
    let mut pages = vec![(FIRST, at(0))];
    if !list.whole {
        let before = at(offset.saturating_sub(PAGE));
        let next = asker.ask(&before).await?;
        let next = next.with_context(|| format!("{before} has no cursor"))?;
        let size = if *numbered { "pageSize" } else { "limit" };
        pages.push(("offset", at(offset)));
        pages.push((CURSOR, format!("{path}cursor={next}&{size}={PAGE}")));
    }
    Ok(pages)
}

struct Asker<'a> {
    connection: Connection,
    site: &'a Site,
}

impl Asker<'_> {
    /// Requests a page; returns the cursor of the next one.
    async fn ask(&mut self, path: &str) -> anyhow::Result<Option<String>> {
        let head = self.site.requests.get(path);
        let (status, next, body) = self.connection.get(&head).await?;
        let shown = || String::from_utf8_lossy(body.get(..300).unwrap_or(body)).into_owned();
        ensure!(
            status == 200,
            "{path} was answered with {status} {}",
            shown()
        );
        Ok(next)
    }
}

struct Times {
    list: &'static str,
    page: &'static str,
    times: Histogram,
}

/// Sends all requests to a store.
async fn ask(site: &Site, plan: &Plan, all: u64) -> anyhow::Result<Vec<Times>> {
    let connection = Connection::open(site.addr).await?;
    let mut asker = Asker { connection, site };
    let hot = usize::try_from(all.saturating_sub(1)).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for list in lists(site.requests.cvu(hot)) {
        // The accounts and the vouchers of one account may be fewer.
        let rows = all.min(plan.hot);
        let offset = plan.offset.min(rows / 2 / PAGE * PAGE).max(PAGE);
        let pages = pages(&list, &mut asker, offset).await?;
        let mut times: Vec<_> = pages.iter().map(|_| Histogram::default()).collect();
        let start = Instant::now();
        for asked in 0..plan.times {
            if asked >= LEAST && start.elapsed() > LONGEST {
                break;
            }
            for ((_, path), times) in pages.iter().zip(&mut times) {
                let start = Instant::now();
                asker.ask(path).await?;
                times.add(nanos(start.elapsed()));
            }
        }
        found.extend(
            pages
                .into_iter()
                .zip(times)
                .map(|((page, _), times)| Times {
                    list: list.name,
                    page,
                    times,
                }),
        );
    }
    Ok(found)
}

/// Builds a store, loads it and measures it.
async fn measure(folder: &Path, plan: &Plan) -> anyhow::Result<Vec<Times>> {
    let Plan {
        accounts,
        vouchers,
        hot,
        ..
    } = *plan;
    let all = accounts.saturating_add(1);
    super::say(&format!("lists: {all} accounts, {vouchers} vouchers"));
    let site = Site::build(folder, plan.layout, all).await?;
    let last = usize::try_from(accounts).unwrap_or(usize::MAX);
    let mut tally = Tally::new(all);
    let spread = vouchers.saturating_sub(hot);
    for (vouchers, over) in [(spread, Over::Many(last)), (hot, Over::One(last))] {
        let size = u64::try_from(BULK).unwrap_or(u64::MAX);
        let job = Job {
            way: Way::Http(site.addr),
            connections: LOADING,
            mix: Mix::Bulk(BULK, over),
            end: End::Answers {
                warm_up: 0,
                of: vouchers.div_ceil(size),
            },
        };
        let (measured, known) = load::run(&site, job, tally).await?;
        ensure!(measured.wrong == 0, "loading: {:?}", measured.first_wrong);
        tally = known;
    }
    super::say("lists: asking");
    let found = ask(&site, plan, all).await?;
    drop(site.close().await?);
    Ok(found)
}

/// Measures a small and a large store, each in a folder below this one.
///
/// # Errors
/// When the service fails or refuses a question.
pub async fn run(folder: &Path, plan: &Plan) -> anyhow::Result<Listed> {
    let small = SMALL.min(plan.accounts);
    let less = Plan {
        accounts: small,
        vouchers: scaled(plan.vouchers, small, plan.accounts),
        hot: scaled(plan.hot, small, plan.accounts),
        ..plan.clone()
    };
    ensure!(
        less.hot > PAGE,
        "{} vouchers over {} accounts are too few: a list of the small store has to be longer than a page of {PAGE}",
        plan.vouchers,
        plan.accounts
    );
    let few = measure(&folder.join("small"), &less).await?;
    let many = measure(&folder.join("large"), plan).await?;
    let median = |times: &Times| times.times.quantile(500);
    let first = |from: &[Times], list| {
        let found = from.iter().find(|it| (it.list, it.page) == (list, FIRST));
        found.map(median)
    };
    let to_small = |it: &Times| {
        let few = first(&few, it.list).filter(|_| it.page == FIRST);
        few.map(|few| Thousandths::ratio(median(it), few))
    };
    let lines = many.iter().map(|it| ListRow {
        list: it.list,
        page: it.page,
        p50_nanos: median(it),
        p99_nanos: it.times.quantile(990),
        to_first: Thousandths::ratio(median(it), first(&many, it.list).unwrap_or(0)),
        to_small: to_small(it),
    });
    Ok(Listed {
        accounts: plan.accounts,
        vouchers: plan.vouchers,
        hot: plan.hot,
        small,
        offset: plan.offset,
        lines: lines.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_asked_and_held_against_its_first_page() {
        let folder = tempfile::tempdir().unwrap();
        let plan = Plan {
            accounts: 300,
            vouchers: 1200,
            // Fewer than are skipped elsewhere.
            hot: 120,
            offset: 150,
            times: 2,
            layout: Layout {
                workers: 1,
                arbiters: 1,
                spread: false,
                memory: None,
                resident: None,
            },
        };
        let listed = super::super::on_system(run(folder.path(), &plan)).unwrap();
        assert_eq!((listed.small, listed.lines.len()), (300, 50));
        assert!(listed.dearest_cursor() > Some(Thousandths(0)));
        for line in listed.lines {
            let first = line.page == FIRST;
            assert_eq!(line.to_small.is_some(), first, "{line:?}");
            assert!(!first || line.to_first == Thousandths(1000), "{line:?}");
        }
    }
}
