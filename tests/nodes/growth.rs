//! One process with its log on its own disk moves the log into a database; then others join it with empty folders and
//! leave again, and the log goes back to the disk. All of that happens under clients that retry.
//!
//! `CAUDAL_NODE_GROWTHS` sets how often all of it happens, once by default; `CAUDAL_NODE_CLIENTS` sets the number of
//! clients, 16 by default. After each step the clients rest, and what they know is compared with what each node has.
//! The figures go to standard output.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use caudal_postgres::server::own;

use super::site::{EPOCHS_BACK, NODES, Site, loopback, number, tell};
use crate::support::bank::Bank;

/// A change to the nodes or to their log.
#[derive(Clone, Copy)]
enum Step {
    Moves(bool),
    Join(usize),
    HandOver(usize),
    Leave(usize),
}

impl Step {
    const fn name(self) -> &'static str {
        match self {
            Self::Moves(true) => "log goes from the disk into the database",
            Self::Moves(false) => "log goes back to the disk",
            Self::Join(_) => "node joins with an empty folder",
            Self::HandOver(_) => "hand-over to a node by name",
            Self::Leave(_) => "node leaves",
        }
    }

    /// Takes the step; returns how long nothing was acknowledged.
    async fn taken(self, site: &mut Site) -> Duration {
        site.whole().await;
        site.more(64).await;
        let since = Instant::now();
        match self {
            Self::Moves(into_the_database) => site.moves(into_the_database).await,
            Self::Join(n) => site.join(n).await,
            Self::HandOver(n) => site.hand_over(Some(n)).await,
            Self::Leave(n) => site.leave(n).await,
        }
        site.whole().await;
        site.more(64).await;
        site.pause(since)
    }
}

/// The steps between two comparisons. The second node leaves while it owns the cell, so leaving includes a hand-over.
const STEPS: &[&[Step]] = &[
    &[Step::Moves(true)],
    &[Step::Join(1), Step::Join(2)],
    &[
        Step::HandOver(1),
        Step::HandOver(2),
        Step::HandOver(0),
        Step::HandOver(1),
    ],
    &[Step::Leave(1), Step::Leave(2)],
    &[Step::Moves(false)],
];
/// How many nodes there are after each group of steps.
const THERE: &[usize] = &[1, NODES, NODES, 1, 1];

#[actix_web::test]
async fn one_node_on_its_disk_becomes_three_on_a_database_and_one_on_its_disk_again_and_nothing_is_lost()
 {
    let Some(server) = own() else { return };
    let log = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port);
    let mut site = Site::on_disk(log, Bank::start(), loopback()).await;
    let mut pauses: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    let mut nodes = Vec::new();
    for _ in 0..number("CAUDAL_NODE_GROWTHS", 1) {
        for steps in STEPS {
            for step in *steps {
                let pause = step.taken(&mut site).await;
                pauses.entry(step.name()).or_default().push(pause);
            }
            let counts = site.check().await;
            assert_eq!((counts.lost, counts.twice), (0, 0));
            nodes.push(counts.nodes);
        }
        assert_eq!(site.owner_but(usize::MAX).await, 0);
    }
    assert!(
        nodes.chunks(THERE.len()).all(|each| each == THERE),
        "{nodes:?}"
    );
    let counts = site.end().await;
    let back = server.sql("postgres", EPOCHS_BACK);
    assert_eq!(back, "0", "an epoch ends where the next begins");
    tell(pauses, &counts);
}
