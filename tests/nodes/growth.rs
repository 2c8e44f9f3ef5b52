//! One process on a log, to which others come with empty folders and from which they go, under clients that try again.
//!
//! `CAUDAL_NODE_GROWTHS` sets how often there are all of them and then one again, once when absent; `CAUDAL_NODE_CLIENTS`
//! how many clients there are, 16 when absent. After each step the clients rest, and what they know is compared with
//! what each node has. The figures go to standard output.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use caudal_postgres::server::own;

use super::site::{EPOCHS_BACK, NODES, Site, loopback, number, tell};
use crate::support::bank::Bank;

/// Something happens to the nodes.
#[derive(Clone, Copy)]
enum Step {
    Join(usize),
    HandOver(usize),
    Leave(usize),
}

impl Step {
    const fn name(self) -> &'static str {
        match self {
            Self::Join(_) => "node joins with an empty folder",
            Self::HandOver(_) => "hand-over to a node by name",
            Self::Leave(_) => "node leaves",
        }
    }

    /// Takes the step; how long nothing was acknowledged.
    async fn taken(self, site: &mut Site) -> Duration {
        site.whole().await;
        site.more(64).await;
        let since = Instant::now();
        match self {
            Self::Join(n) => site.join(n).await,
            Self::HandOver(n) => site.hand_over(Some(n)).await,
            Self::Leave(n) => site.leave(n).await,
        }
        site.whole().await;
        site.more(64).await;
        site.pause(since)
    }
}

/// What happens between two comparisons: the second leaves while it owns the cell, so that hands over first.
const STEPS: &[&[Step]] = &[
    &[Step::Join(1), Step::Join(2)],
    &[
        Step::HandOver(1),
        Step::HandOver(2),
        Step::HandOver(0),
        Step::HandOver(1),
    ],
    &[Step::Leave(1), Step::Leave(2)],
];

#[actix_web::test]
async fn one_node_becomes_three_and_one_again_and_nothing_acknowledged_is_lost_or_there_twice() {
    let Some(server) = own() else { return };
    let log = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port);
    let mut site = Site::of(log, Bank::start(), loopback(), 1).await;
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
        nodes.chunks(3).all(|each| each == [NODES, NODES, 1]),
        "{nodes:?}"
    );
    let counts = site.end().await;
    let back = server.sql("postgres", EPOCHS_BACK);
    assert_eq!(back, "0", "an epoch ends where the next begins");
    tell(pauses, &counts);
}
