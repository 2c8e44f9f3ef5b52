//! Three processes on a log whose server is slow: first so slow that every answer is still waited for, then slower
//! than anybody waits, so that writes that were given up are done late, when others have gone on.
//!
//! The server sleeps before each write: of appends, leases, and the presence of nodes. `CAUDAL_NODE_SLOW` sets how
//! often this happens, once by default. The figures go to standard output.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use caudal_postgres::server::{Server, own};

use super::site::{EPOCHS_BACK, LONG, Site, loopback, number, tell};
use crate::support::bank::Bank;
use crate::support::wait_until;

/// From now on each write waits for as long as is set. Creating the triggers locks the tables, or fails.
const BEGIN: &str = "SET lock_timeout = '60s'; \
     CREATE TABLE slow (seconds float8); INSERT INTO slow VALUES (0); \
     CREATE FUNCTION slow() RETURNS trigger AS $$ BEGIN \
     PERFORM pg_sleep_for(make_interval(secs => seconds)) FROM slow WHERE seconds > 0; RETURN NULL; END $$ LANGUAGE plpgsql; \
     CREATE TRIGGER slow BEFORE UPDATE ON caudal_cell EXECUTE FUNCTION slow(); \
     CREATE TRIGGER slow BEFORE INSERT OR UPDATE ON caudal_node EXECUTE FUNCTION slow()";
/// How many writes wait, and how many of them for longer than a node waits for an answer, which is 10 seconds.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
const GIVEN_UP: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' \
     AND query LIKE '%caudal_log%' AND clock_timestamp() - query_start > INTERVAL '12 seconds'";
/// Seconds that a node still waits for, and seconds that it does not.
const SLOW: &str = "1";
const SLOWER: &str = "16";

/// From now on each write takes this many seconds longer.
fn takes(server: &Server, seconds: &str) {
    server.sql("postgres", &format!("UPDATE slow SET seconds = {seconds}"));
}

async fn counts(server: &Server, what: &str, is: impl Fn(u64) -> bool) {
    wait_until(what, LONG, async || {
        let count = server.sql("postgres", what).trim().parse().unwrap();
        is(count).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn a_slow_database_makes_orders_slow_and_what_comes_late_changes_nothing() {
    let Some(server) = own() else { return };
    let log = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port);
    let site = Site::start(log, Bank::start(), loopback()).await;
    server.sql("postgres", BEGIN);
    let mut pauses: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for _ in 0..number("CAUDAL_NODE_SLOW", 1) {
        site.whole().await;
        site.more(64).await;
        let since = Instant::now();
        takes(&server, SLOW);
        counts(&server, WAITING, |count| count > 0).await;
        site.more(32).await;
        takes(&server, "0");
        site.more(64).await;
        let what = "each write takes a second longer";
        pauses.entry(what).or_default().push(site.pause(since));
        let since = Instant::now();
        takes(&server, SLOWER);
        counts(&server, GIVEN_UP, |count| count > 0).await;
        takes(&server, "0");
        site.more(64).await;
        // The writes that were given up end, along with others that were done meanwhile.
        counts(&server, WAITING, |count| count == 0).await;
        site.more(64).await;
        let what = "an append takes longer than is waited for, and comes late";
        pauses.entry(what).or_default().push(site.pause(since));
    }
    let found = site.end().await;
    let back = server.sql("postgres", EPOCHS_BACK);
    assert_eq!(back, "0", "an epoch ends where the next begins");
    tell(pauses, &found);
}
