//! The same postings as an application would make them on its own: rows in PostgreSQL, one statement for each.
//!
//! **Shape.** One prepared statement updates the balance of an account and writes the entry; each client waits for its
//! answer before it posts again. Unlike the ledger, it has no unique index over external ids, which would cost more.
//!
//! **Bounds.** All clients run on one thread of their own, like those of the ledger.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tokio::sync::oneshot;
use tokio::task::LocalSet;
use tokio_postgres::{Client, NoTls};

use super::figures::{Histogram, nanos, per_second};

/// The name of the thread that posts.
const THREAD: &str = "bench-sql";
/// The tables.
const TABLES: &str = "CREATE TABLE bench_account (\
     account BIGINT PRIMARY KEY, sequence BIGINT NOT NULL, available BIGINT NOT NULL); \
     CREATE TABLE bench_entry (account BIGINT NOT NULL, sequence BIGINT NOT NULL, amount BIGINT NOT NULL, \
     available BIGINT NOT NULL, external TEXT NOT NULL, at TIMESTAMPTZ NOT NULL, PRIMARY KEY (account, sequence))";
/// `$1` how many accounts.
const ACCOUNTS: &str = "INSERT INTO bench_account SELECT generate_series(0, $1::BIGINT - 1), 0, 0";
/// `$1` account, `$2` centavos, `$3` external id.
const POST: &str = "WITH moved AS (\
     UPDATE bench_account SET sequence = sequence + 1, available = available + $2 WHERE account = $1 \
     RETURNING account, sequence, available) \
     INSERT INTO bench_entry (account, sequence, amount, available, external, at) \
     SELECT account, sequence, $2, available, $3, now() FROM moved";
/// The number of entries, and the sums of the entries and of the balances.
const SUMS: &str = "SELECT count(*), CAST(coalesce(sum(amount), 0) AS BIGINT), \
     (SELECT CAST(coalesce(sum(available), 0) AS BIGINT) FROM bench_account) FROM bench_entry";
/// How many of these tables and of a log's are visible to statements without a schema: such statements create and drop
/// them.
const MADE: &str = "SELECT count(*) FROM unnest(ARRAY['caudal_cell', 'caudal_log', 'caudal_node', 'caudal_schema', \
     'bench_account', 'bench_entry']) AS name WHERE to_regclass(name) IS NOT NULL";
const DROP: &str = "DROP TABLE IF EXISTS caudal_cell, caudal_log, caudal_node, caudal_schema, bench_account, bench_entry";

/// The size and duration of a run.
#[derive(Clone, Debug)]
pub struct SqlJob {
    /// How many clients there are.
    pub clients: usize,
    /// The number of accounts; only the last of them is used if `hot`.
    pub accounts: u64,
    /// Whether all entries are posted on one account.
    pub hot: bool,
    /// How long the run lasts, before and while it counts.
    pub time: (Duration, Duration),
    /// The number of the first external id.
    pub from: u64,
}

/// The results of a run.
#[derive(Clone, Debug, Default)]
pub struct SqlMeasured {
    /// Entries a second while it counted.
    pub rate: u64,
    /// The times of the statements.
    pub times: Histogram,
    /// Entries in all.
    pub posted: u64,
}

async fn connect(url: &str) -> anyhow::Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    // The client reports the connection's errors.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

/// Refuses a database that has any of the tables that this module or a log creates and removes.
///
/// # Errors
/// When it has such tables, or cannot be reached.
pub async fn is_free(url: &str) -> anyhow::Result<()> {
    let client = connect(url).await.context("connecting to the database")?;
    let made: i64 = client.query_one(MADE, &[]).await?.try_get(0)?;
    ensure!(
        made == 0,
        "the database has tables caudal_… or bench_… already: it may be somebody's log. Name an empty one"
    );
    Ok(())
}

/// Removes all tables that this module and a log have created.
///
/// # Errors
/// When the database refuses.
pub async fn remove(url: &str) -> anyhow::Result<()> {
    Ok(connect(url).await?.batch_execute(DROP).await?)
}

/// Creates the tables, with this many accounts.
///
/// # Errors
/// When the database refuses.
pub async fn prepare(url: &str, accounts: u64) -> anyhow::Result<()> {
    let client = connect(url).await?;
    client.batch_execute(TABLES).await?;
    let accounts = i64::try_from(accounts)?;
    client.execute(ACCOUNTS, &[&accounts]).await?;
    client.batch_execute("VACUUM ANALYZE bench_account").await?;
    Ok(())
}

/// Compares the tables with the acknowledged entries.
///
/// # Errors
/// When it differs.
pub async fn check(url: &str, posted: u64) -> anyhow::Result<()> {
    let row = connect(url).await?.query_one(SUMS, &[]).await?;
    let (entries, moved, available): (i64, i64, i64) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    ensure!(
        u64::try_from(entries)? == posted && moved == available,
        "plain SQL has {entries} entries of {moved} centavos and balances of {available}; {posted} were acknowledged"
    );
    Ok(())
}

/// Posts until the time is up.
///
/// # Errors
/// When a connection cannot be made, or a statement fails.
pub async fn run(url: &str, job: SqlJob) -> anyhow::Result<SqlMeasured> {
    let (sender, ended) = oneshot::channel();
    let url = url.to_owned();
    let body = move || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().map_err(anyhow::Error::from);
        let outcome = runtime
            .and_then(|runtime| runtime.block_on(LocalSet::new().run_until(post_all(&url, &job))));
        drop(sender.send(outcome));
    };
    let thread = std::thread::Builder::new().name(THREAD.to_owned());
    thread.spawn(body)?;
    ended.await.context("the thread of plain SQL is gone")?
}

/// What the clients share.
#[derive(Default)]
struct Shared {
    stop: Cell<bool>,
    counts: Cell<bool>,
    next: Cell<u64>,
    counted: Cell<u64>,
    measured: RefCell<SqlMeasured>,
}

async fn post_all(url: &str, job: &SqlJob) -> anyhow::Result<SqlMeasured> {
    let shared = Rc::new(Shared::default());
    shared.next.set(job.from);
    let mut clients = Vec::with_capacity(job.clients);
    for _ in 0..job.clients {
        let client = connect(url).await.context("connecting to the database")?;
        let (shared, job) = (Rc::clone(&shared), job.clone());
        clients.push(tokio::task::spawn_local(async move {
            post(&client, &job, &shared).await
        }));
    }
    tokio::time::sleep(job.time.0).await;
    shared.counts.set(true);
    let began = Instant::now();
    tokio::time::sleep(job.time.1).await;
    shared.counts.set(false);
    let took = nanos(began.elapsed());
    shared.stop.set(true);
    for client in clients {
        client.await.context("a client of plain SQL panicked")??;
    }
    let mut measured = shared.measured.take();
    measured.rate = per_second(shared.counted.get(), took);
    Ok(measured)
}

async fn post(client: &Client, job: &SqlJob, shared: &Shared) -> anyhow::Result<()> {
    let statement = client.prepare(POST).await?;
    let last = job.accounts.checked_sub(1).context("there is no account")?;
    while !shared.stop.get() {
        let number = shared.next.get();
        shared.next.set(number.wrapping_add(1));
        // Spread evenly, but not in order.
        let spread = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let account = if job.hot { last } else { spread % job.accounts };
        let (account, centavos) = (
            i64::try_from(account)?,
            i64::try_from(1000 + number % 9000)?,
        );
        let external = format!("bench-{number:016}");
        let began = Instant::now();
        let touched = client
            .execute(&statement, &[&account, &centavos, &external])
            .await?;
        ensure!(
            touched == 1,
            "a posting of plain SQL touched {touched} rows"
        );
        let mut measured = shared.measured.borrow_mut();
        measured.posted += 1;
        if shared.counts.get() {
            measured.times.add(nanos(began.elapsed()));
            shared.counted.set(shared.counted.get() + 1);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use caudal_postgres::here::{Programs, Server, USER};

    use super::*;

    #[test]
    fn books_in_a_schema_that_statements_find_are_somebodys() {
        if !caudal_postgres::server::installed() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o711)).unwrap();
        let server = Programs::find().unwrap();
        let server = server.make(&dir.path().join("db"), "").unwrap();
        server.start(&[]).unwrap();
        let made = "CREATE SCHEMA books; CREATE TABLE books.caudal_log (one BIGINT)";
        server.sql(USER, made).unwrap();
        let url = Server::url(&[&server], USER);
        let there = format!("{url}?options=-c%20search_path%3Dbooks");
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(async {
            is_free(&url).await.unwrap();
            let why = is_free(&there).await.unwrap_err();
            assert!(why.to_string().contains("somebody's log"), "{why}");
        });
    }
}
