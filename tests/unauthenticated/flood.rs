//! Many clients against the real binary: clients that read nothing, clients that say nothing, heads without
//! end.
//!
//! `CAUDAL_FLOOD` is their number in percent of a full run (4,000 readers, 8,000
//! heads), 5 by default. Figures are printed; `--nocapture` shows them.

use std::time::Instant;

use futures_util::future::join_all;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;

use super::process::Process;
use super::{Line, endless};
use crate::support::{Client, SOON, json, wait_until};

/// How much memory may grow with so many clients, in MiB.
const GROWTH_MAX: u64 = 300;
/// How much memory a client may take that asks for many answers and reads none, in KiB: 300 MiB for 2,000 of them.
const UNREAD_MAX: u64 = 150;
/// How much memory may grow besides, in MiB.
const BESIDES: u64 = 16;
/// How much of that may remain afterwards, in MiB.
const LEFT_MAX: u64 = 64;

/// The number of clients in this run, if this process may have so many connections.
fn clients(full: usize) -> Option<usize> {
    let set = std::env::var("CAUDAL_FLOOD").ok();
    let percent: usize = set.map_or(5, |set| set.parse().unwrap());
    let many = full * percent / 100;
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    let room = maximum.map_or(usize::MAX, |most| usize::try_from(most).unwrap());
    if room < many + 1000 {
        println!("not run: {many} connections need a higher limit of descriptors than {room}");
        return None;
    }
    Some(many)
}

fn mib(process: &Process) -> u64 {
    process.status("RssAnon") / 1024
}

/// Opens this many connections at once and sends the text on each; connections that are refused are
/// left out.
async fn come(client: &Client, many: usize, text: &[u8]) -> Vec<Line> {
    let mut lines = Vec::new();
    for from in (0..many).step_by(250) {
        let some = (from..many.min(from + 250)).map(|_| async {
            let mut line = Line::to(client).await;
            line.send(text).await;
            line
        });
        lines.extend(join_all(some).await);
    }
    lines
}

/// Waits until the memory of a process is about what it was; it may have grown by `growth` MiB meanwhile.
async fn given_back(
    process: &Process,
    (before, most, growth): (u64, u64, u64),
    what: &str,
    clients: usize,
) {
    let back = wait_until("memory is given back", SOON, async || {
        let now = mib(process);
        (now <= before + LEFT_MAX).then_some(now)
    })
    .await;
    println!(
        "{what}: {clients} connections; {before} MiB before, {most} MiB at most, {back} MiB after"
    );
    assert!(most <= before + growth, "{before} MiB became {most} MiB");
}

#[actix_web::test]
async fn clients_that_read_nothing() {
    let Some(many) = clients(4000) else { return };
    let dir = TempDir::new().unwrap();
    let mut process = Process::demo(dir.path(), "ulimit -n 8192").await;
    let (client, cvu) = (process.client.clone(), process.client.cvu().await);
    client.get("/openapi.json").await.is(200);
    let (before, held) = (mib(&process), process.descriptors());
    let document = "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(60);
    let lines = come(&client, many, document.as_bytes()).await;
    let mut most = 0;
    wait_until("all are cut off", SOON, async || {
        most = most.max(mib(&process));
        client.balance(&cvu).await;
        (process.descriptors() < held + 10).then_some(())
    })
    .await;
    let growth = u64::try_from(many).unwrap() * UNREAD_MAX / 1024 + BESIDES;
    let figures = (before, most, growth);
    given_back(&process, figures, "readers of nothing", lines.len()).await;
    process.stop().await;
}

#[actix_web::test]
async fn concurrent_first_requests_for_a_page_share_one_rendering() {
    let dir = TempDir::new().unwrap();
    let mut process = Process::demo(dir.path(), "ulimit -n 8192").await;
    let before = process.status("Threads");
    let document = b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut lines = come(&process.client, 100, document).await;
    for answer in join_all(lines.iter_mut().map(Line::answer)).await {
        assert_eq!(answer.unwrap().status, 200);
    }
    // A thread that has done its work stays for ten seconds.
    let after = process.status("Threads");
    assert!(after <= before + 8, "{before} threads became {after}");
    process.stop().await;
}

#[actix_web::test]
async fn idle_clients_when_descriptors_are_few() {
    // Many more than there are connections.
    let (many, limit) = (100, 608);
    let dir = TempDir::new().unwrap();
    let mut process = Process::demo(dir.path(), &format!("ulimit -n {limit}")).await;
    let client = process.client.clone();
    client.in_and_out().await;
    let cvu = client.cvu().await;
    let bulk = async |round: usize| {
        let items: Vec<_> = (0..500)
            .map(|n| {
                let id = format!("b-{round}-{n}");
                json!({"cvu": cvu, "voucherTypeCode": "IN", "amount": "0.01", "idExterno": id})
            })
            .collect();
        let body = json!({"items": items});
        client.post("/v1/comprobantes/batch", &body).await.is(200);
    };
    let since = Instant::now();
    let lines = come(&client, many, b"").await;
    let open = process.descriptors();
    assert!(open < limit, "{open}");
    // Whoever has a connection is served meanwhile, and a newcomer once the silent ones have had their time.
    for round in 0..4 {
        bulk(round).await;
    }
    let newly = Client::new(&client.url, client.key.as_deref());
    newly.voucher(&cvu, "IN", "1.00", "new").await.is(201);
    println!(
        "idle: {} connections at {limit} descriptors ({open} open); a newcomer was served after {:?}",
        lines.len(),
        since.elapsed()
    );
    assert_eq!(client.available(&cvu).await, "21.00");
    drop(lines);
    process.stop().await;
}

#[actix_web::test]
async fn heads_without_an_end() {
    let Some(many) = clients(8000) else { return };
    let dir = TempDir::new().unwrap();
    let mut process = Process::demo(dir.path(), "ulimit -n 16384").await;
    let client = process.client.clone();
    client.get("/livez").await.is(200);
    let before = mib(&process);
    for (what, length) in [("heads of 120 KB", 120_000), ("heads of 15 KB", 15_000)] {
        let head = endless(length);
        let lines = come(&client, many, head.as_bytes()).await;
        let most = mib(&process);
        client.get("/livez").await.is(200);
        let mut closed = lines;
        let answers = join_all(closed.iter_mut().map(Line::answer)).await;
        let reply = answers
            .iter()
            .flatten()
            .filter(|answer| [408, 431].contains(&answer.status));
        println!("{what}: {} of {many} were answered", reply.count());
        given_back(&process, (before, most, GROWTH_MAX), what, many).await;
    }
    wait_until("the process has no connections", SOON, async || {
        (process.descriptors() < 200).then_some(())
    })
    .await;
    process.stop().await;
}
