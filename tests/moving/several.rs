//! The logs of several cells go into a database and back, by the commands as programs of their own, cut off between two
//! cells.

use std::process::Stdio;

use caudal_ledger::tenants::Mode;

use super::{END, LEFT, Program, Site, WAITING, path};
use crate::cli::caudal;
use crate::support::service::admin_of;
use crate::support::{Client, SOON, Value, json, wait_until};

const MANY: u32 = 3;
/// Whoever would give back the first cell when another one is in the database already waits until it is told to end.
const HELD: &str = "CREATE FUNCTION hold() RETURNS trigger AS $$ BEGIN \
     IF NEW.cell = 0 AND (SELECT owner IS NULL AND last_commit > 0 FROM caudal_cell WHERE cell = 1) \
     THEN PERFORM pg_sleep_for('10 minutes'); END IF; RETURN NEW; END $$ LANGUAGE plpgsql; \
     CREATE TRIGGER hold BEFORE UPDATE ON caudal_cell FOR EACH ROW EXECUTE FUNCTION hold()";
const GO_ON: &str = "SET lock_timeout = '60s'; DROP TRIGGER hold ON caudal_cell";

/// The newest record of a cell is lost.
fn lose(site: &Site, cell: u32) {
    let sql = format!(
        "WITH gone AS (DELETE FROM caudal_log WHERE cell = {cell} AND first_commit = \
         (SELECT max(first_commit) FROM caudal_log WHERE cell = {cell}) RETURNING *) \
         UPDATE caudal_cell SET hash = gone.previous, last_commit = gone.first_commit - 1 FROM gone \
         WHERE caudal_cell.cell = {cell}"
    );
    site.server.sql("postgres", &sql);
}

/// A client and an account of a new tenant in a cell.
async fn tenant(site: &Site, cell: u32) -> (Client, String) {
    let service = site.service.as_ref().unwrap();
    let body = json!({"name": format!("in {cell}"), "cell": cell});
    let made = admin_of(service, "POST", "/admin/tenants", Some(&body)).await;
    let id = made.is(201)["id"].as_str().unwrap().to_owned();
    let key = service.issue_key(&id, Mode::Test).await.unwrap();
    let client = Client::new(&service.url, Some(&key));
    client.in_and_out().await;
    let cvu = client.cvu().await;
    (client, cvu)
}

/// Serves, and has each client see what it had and post one more.
async fn served(
    site: &mut Site,
    elsewhere: bool,
    clients: &mut [(Client, String)],
    posted: &mut u32,
) {
    site.serve(elsewhere);
    let url = site.service.as_ref().unwrap().url.clone();
    for (client, cvu) in clients.iter_mut() {
        client.url.clone_from(&url);
        assert_eq!(client.available(cvu).await, format!("{posted}.00"));
        let id = format!("voucher-{posted}");
        client.voucher(cvu, "IN", "1.00", &id).await.is(201);
    }
    *posted += 1;
    site.stop(true).await;
}

/// One thing that an errand says of each cell.
fn each(said: &Value, name: &str) -> Vec<Value> {
    let cells = said["cells"].as_array().unwrap();
    cells.iter().map(|cell| cell[name].clone()).collect()
}

/// Each cell has the same in its folder and in the database; where they end.
async fn equal(site: &Site) -> Vec<Value> {
    let log = site.address();
    let found = site.errand(0, "compare", &["--log", &log]).await;
    assert_eq!(each(&found, "outcome"), ["equal"; 3], "{found}");
    let verify = caudal(&["verify", "--data", path(&site.data)]);
    let (code, out, why) = site.ended(verify).await;
    assert_eq!(code, Some(0), "{out} {why}");
    each(&found, "same")
        .iter()
        .map(|it| it["end"].clone())
        .collect()
}

/// Moves into the database, and is killed when the first cell alone is missing there.
async fn cut_off(site: &Site) {
    let to = site.address();
    // The tables are there before their first record.
    drop(site.server.open(9));
    site.server.sql("postgres", HELD);
    let mut moving = site.log("move", &["--to", &to]);
    let moving = moving.stdout(Stdio::null()).stderr(Stdio::null());
    let moving = Program(moving.spawn().unwrap());
    wait_until("the first cell waits", SOON, async || {
        (site.server.sql("postgres", WAITING).trim() != "0").then_some(())
    })
    .await;
    drop(moving);
    wait_until("its sessions end", SOON, async || {
        site.server.sql("postgres", END);
        (site.server.sql("postgres", LEFT).trim() == "0").then_some(())
    })
    .await;
    site.server.sql("postgres", GO_ON);
    site.refused(false, "run `caudal log move` with the same --to again");
    site.refused(true, "the log is in a folder");
    let open = [
        "realm", "open", "--tenant", "any", "--mode", "live", "--data",
    ];
    let open = caudal(&[&open[..], &[path(&site.data)]].concat());
    let (code, _, why) = site.ended(open).await;
    assert!(
        code == Some(2) && why.contains("of cell 1"),
        "{code:?} {why}"
    );
}

/// Two of the cells lose records, and get them back from the folder, alone or together.
async fn healed(site: &Site) {
    let (log, before) = (site.address(), equal(site).await);
    for cell in [1, 2, 2] {
        lose(site, cell);
    }
    site.refused(true, "ends before it");
    let lost = site.errand(1, "compare", &["--log", &log]).await;
    let outcomes = ["equal", "journalLonger", "journalLonger"];
    assert_eq!(each(&lost, "outcome"), outcomes, "{lost}");
    assert_eq!(each(&lost, "records"), [0, 1, 2], "{lost}");
    for (cell, code) in [("0", 0), ("1", 1)] {
        let one = ["--cell", cell, "--log", &log];
        site.errand(code, "compare", &one).await;
    }
    let one = ["--from-local", "--cell", "2", "--log", &log];
    let done = site.errand(0, "heal", &one).await;
    assert_eq!(done["appended"], 2, "{done}");
    let done = site
        .errand(0, "heal", &["--from-local", "--log", &log])
        .await;
    assert_eq!(each(&done, "appended"), [0, 1, 0], "{done}");
    assert_eq!(equal(site).await, before);
    let none = ["--cell", "7", "--log", &log];
    site.errand_refused("compare", &none, "holds no store")
        .await;
}

#[actix_web::test]
async fn the_logs_of_several_cells_go_into_a_database_and_back() {
    let Some(mut site) = Site::start() else {
        return;
    };
    site.cells = MANY;
    site.serve(false);
    let mut clients = Vec::new();
    for cell in 0..MANY {
        clients.push(tenant(&site, cell).await);
    }
    site.stop(true).await;
    let (mut posted, log) = (0, site.address());
    cut_off(&site).await;
    // It is gone back from, which changes nothing, and then gone on with.
    let back = ["--to", "disk", "--log", &log];
    let moved = site.errand(0, "move", &back).await;
    assert_eq!(each(&moved, "moved"), [false, true, true], "{moved}");
    site.refused(true, "the log is in a folder");
    served(&mut site, false, &mut clients, &mut posted).await;
    let to = ["--to", log.as_str()];
    let moved = site.errand(0, "move", &to).await;
    assert_eq!(each(&moved, "moved"), [true; 3], "{moved}");
    assert_eq!(each(&moved, "end"), equal(&site).await);
    let again = site.errand(0, "move", &to).await;
    assert_eq!(each(&again, "moved"), [false; 3], "{again}");
    site.refused(false, "caudal log move --to disk");
    served(&mut site, true, &mut clients, &mut posted).await;
    healed(&site).await;
    served(&mut site, true, &mut clients, &mut posted).await;
    let end = equal(&site).await;
    let moved = site.errand(0, "move", &back).await;
    assert_eq!(
        (each(&moved, "moved"), each(&moved, "end")),
        (vec![json!(true); 3], end)
    );
    site.refused(true, "the log is in a folder");
    served(&mut site, false, &mut clients, &mut posted).await;
    // What the database has is a beginning, and it gets the rest.
    let moved = site.errand(0, "move", &to).await;
    assert_eq!(each(&moved, "end"), equal(&site).await);
    served(&mut site, true, &mut clients, &mut posted).await;
    assert_eq!(posted, 5);
}
