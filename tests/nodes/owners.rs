//! Three processes with three cells, each with a log and an owner of its own. In turns, the owner of one cell is
//! killed, stopped for longer than its lease, or told to hand that cell over, under clients of all cells that retry.
//! Then the cell is handed back to its node, by name.
//!
//! `CAUDAL_NODE_OWNERS` sets how often this happens, 3 by default; `CAUDAL_NODE_CLIENTS` sets the number of clients,
//! 16 by default. The figures go to standard output: how long the tenants of that cell waited, and how long those of
//! the others did.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use caudal_postgres::server::own;

use super::site::{EPOCHS_BACK, NODES, Site, loopback, number, tell};
use crate::support::bank::Bank;

/// As many cells as nodes: each node has one.
const CELLS: usize = NODES;
/// What happens, and the names of the two pauses: of the tenants in the cell, and of the others.
const EVENTS: [[&str; 3]; 3] = [
    ["kill", "kill, its cell", "kill, the other cells"],
    ["stop", "stop, its cell", "stop, the other cells"],
    [
        "hand-over",
        "hand-over, its cell",
        "hand-over, the other cells",
    ],
];

type Pauses = BTreeMap<&'static str, Vec<Duration>>;

/// Gives each cell to the node of the same number.
async fn spread(site: &Site, pauses: &mut Pauses) {
    for cell in 0..CELLS {
        site.whole().await;
        while site.owner_in(cell, usize::MAX).await != cell {
            let since = Instant::now();
            site.hand_over_in(cell, Some(cell)).await;
            site.more_in(&[cell], 16).await;
            let waits = pauses.entry("hand-over by name, its cell").or_default();
            waits.push(site.pause_in(&[cell], since));
        }
    }
}

/// Does something to the owner of a cell, which owns no other; returns how long nothing was acknowledged in the cell,
/// and in the others.
async fn event(site: &mut Site, what: &str, cell: usize) -> [Duration; 2] {
    site.more_in(&[cell], 16).await;
    let owner = site.owner_in(cell, usize::MAX).await;
    let since = Instant::now();
    match what {
        "kill" => {
            site.kill(owner);
            site.owner_in(cell, owner).await;
            site.begin(owner).await;
        }
        "stop" => {
            site.signal(owner, "STOP");
            site.owner_in(cell, owner).await;
            site.signal(owner, "CONT");
        }
        _ => site.hand_over_in(cell, None).await,
    }
    site.more_in(&[cell], 16).await;
    let others: Vec<_> = (0..CELLS).filter(|other| *other != cell).collect();
    [&[cell][..], &others[..]].map(|cells| site.pause_in(cells, since))
}

#[actix_web::test]
async fn whatever_happens_to_the_owner_of_one_cell_nothing_of_any_is_lost_or_there_twice() {
    let Some(server) = own() else { return };
    let log = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port);
    let mut site = Site::parted(log, Bank::start(), loopback(), CELLS).await;
    let mut pauses = Pauses::new();
    for round in 0..number("CAUDAL_NODE_OWNERS", 3) {
        spread(&site, &mut pauses).await;
        // Over the rounds each event hits each cell.
        let cell = (round + round / CELLS) % CELLS;
        let [what, its, theirs] = EVENTS[round % EVENTS.len()];
        let found = event(&mut site, what, cell).await;
        for (name, pause) in [its, theirs].into_iter().zip(found) {
            pauses.entry(name).or_default().push(pause);
        }
    }
    let counts = site.end().await;
    let back = server.sql("postgres", EPOCHS_BACK);
    assert_eq!(back, "0", "an epoch ends where the next begins");
    tell(pauses, &counts);
}
