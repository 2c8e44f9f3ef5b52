//! The limit of what a realm may have in flight: who is refused, with which figures, and that everything ends at nothing
//! whatever becomes of the clients.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use caudal_ledger::ids::RealmId;
use futures_util::future::{join_all, select_all};
use tokio::time::{interval, timeout};

use crate::batch::item;
use crate::support::service::{Setup, TENANT};
use crate::support::{Answer, SOON, TestService, Value, json, wait_until};

const BATCH: &str = "/v1/comprobantes/batch";
/// The test side of the first tenant.
pub const REALM: RealmId = RealmId(2);

async fn limited(limit: u32) -> TestService {
    let setup = Setup {
        in_flight: NonZeroU32::new(limit).unwrap(),
        ..Setup::default()
    };
    TestService::with(setup).await
}

fn now(service: &TestService) -> u32 {
    service.engine().in_flight().of(REALM).now
}

async fn ends_at_nothing(service: &TestService) {
    wait_until("nothing is in flight", SOON, async || {
        (now(service) == 0).then_some(())
    })
    .await;
}

fn batch(cvu: &str, name: &str, items: usize) -> Value {
    let items: Vec<_> = (0..items)
        .map(|n| item(cvu, "IN", "0.01", &format!("{name}-{n}")))
        .collect();
    json!({"items": items})
}

/// The figures of a refusal: the limit, and what was in flight.
fn figures(refused: &Answer) -> (u64, u64) {
    assert_eq!(refused.header("retry-after"), "1");
    let figure = |name: &str| refused["details"][name].as_u64().unwrap();
    (figure("limit"), figure("inFlight"))
}

#[actix_web::test]
async fn a_realm_that_is_full_is_refused_in_both_families_and_nobody_else() {
    let service = limited(64).await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let flights = service.engine().in_flight();
    let held: Vec<_> = (0..64).map(|_| flights.admit(REALM).unwrap()).collect();
    let native = service.a.get("/v1/accounts").await;
    let native = native.refused(429, "too_many_in_flight");
    assert_eq!(figures(&native), (64, 64));
    let posted = service.a.voucher(&cvu, "IN", "1.00", "full").await;
    posted.refused(429, "too_many_in_flight");
    let wallet = service.a.get("/wallet/v1/CuentaByCuit?cuit=20111111112");
    let wallet = wallet.await.refused(429, "too_many_in_flight");
    assert_eq!(figures(&wallet), (64, 64));
    let message = wallet["message"].as_str().unwrap();
    assert!(message.contains("64 solicitudes"), "{message}");
    // A wrong key is 401 as ever, and neither other realms nor operators notice anything.
    service
        .a
        .with_key(Some("wrong"))
        .get("/v1/accounts")
        .await
        .is(401);
    service.live.get("/v1/accounts").await.is(200);
    service.b.get("/v1/accounts").await.is(200);
    let page = service.admin_bare("/metrics").await.text;
    let shown = |line: &str| assert!(page.contains(line), "{line} is not in {page}");
    let of = format!("{{tenant=\"{TENANT}\",mode=\"test\"}}");
    shown("caudal_realm_in_flight_limit 64\n");
    shown(&format!("caudal_realm_in_flight{of} 64\n"));
    shown(&format!("caudal_realm_refused_total{of} 3\n"));
    drop(held);
    // Nothing was done, so the id is free.
    service.a.voucher(&cvu, "IN", "2.00", "full").await.is(201);
    assert_eq!(service.a.available(&cvu).await, "2.00");
    ends_at_nothing(&service).await;
}

#[actix_web::test]
async fn a_batch_counts_its_items_and_one_that_is_refused_did_nothing() {
    let service = limited(100).await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let held = service.engine().in_flight().admit(REALM).unwrap();
    held.weigh(50).unwrap();
    // 50 are in flight, and the request itself counts 1 before its items are counted.
    let refused = service.a.post(BATCH, &batch(&cvu, "b", 51)).await;
    assert_eq!(
        refused.status, 200,
        "it counts half of the limit: {}",
        refused.text
    );
    let more = service.engine().in_flight().admit(REALM).unwrap();
    let refused = service.a.post(BATCH, &batch(&cvu, "c", 60)).await;
    let refused = refused.refused(429, "too_many_in_flight");
    assert_eq!(figures(&refused), (100, 52));
    let smaller = service.a.post(BATCH, &batch(&cvu, "c", 49)).await.is(200);
    assert_eq!(smaller["summary"]["recorded"], 49);
    drop((held, more));
    let whole = service.a.post(BATCH, &batch(&cvu, "c", 60)).await.is(200);
    assert_eq!(whole["summary"]["recorded"], 11);
    assert_eq!(whole["summary"]["replayed"], 49);
    ends_at_nothing(&service).await;
    service.verified().await;
}

/// How long each of these vouchers of the quiet tenant took, the slowest first.
async fn quiet(service: &TestService, cvu: &str, name: &str, vouchers: usize) -> Vec<Duration> {
    let mut times = Vec::new();
    let mut pauses = interval(Duration::from_millis(4));
    for n in 0..vouchers {
        let since = Instant::now();
        let posted = service.b.voucher(cvu, "IN", "0.01", &format!("{name}-{n}"));
        posted.await.is(201);
        times.push(since.elapsed());
        pauses.tick().await;
    }
    times.sort_unstable_by(|a, b| b.cmp(a));
    times
}

/// The bytes that the process takes.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[actix_web::test]
async fn a_flood_of_batches_is_refused_with_figures_and_a_quiet_tenant_is_served() {
    let vouchers = std::env::var("CAUDAL_QUIET").map_or(30, |text| text.parse().unwrap());
    let service = limited(400).await;
    for tenant in [&service.a, &service.b] {
        tenant.in_and_out().await;
    }
    let (loud_cvu, quiet_cvu) = (service.a.cvu().await, service.b.cvu().await);
    let alone = quiet(&service, &quiet_cvu, "alone", vouchers).await;
    let before = memory();
    let flood = join_all((0..64).map(async |client| {
        let mut pauses = interval(Duration::from_millis(500));
        for round in 0..1_000_000_u32 {
            let body = batch(&loud_cvu, &format!("f-{client}-{round}"), 150);
            let answer = service.a.post(BATCH, &body).await;
            if answer.status != 200 {
                let answer = answer.refused(429, "too_many_in_flight");
                let (limit, in_flight) = figures(&answer);
                assert!(
                    limit == 400 && (250..=400).contains(&in_flight),
                    "{in_flight}"
                );
                // Sooner than the client was told to come back.
                pauses.tick().await;
            }
        }
    }));
    let beside = quiet(&service, &quiet_cvu, "beside", vouchers);
    tokio::pin!(flood, beside);
    let beside = tokio::select! {
        _ = &mut flood => panic!("the flood has no end"),
        times = &mut beside => times,
    };
    let after = memory();
    let flight = service.engine().in_flight().of(REALM);
    let slow = |times: &[Duration]| times[times.len() / 100];
    println!(
        "the quiet tenant's p99 was {:?} alone and {:?} next to the flood; {} refused, {} in flight; memory {} MiB, then {} MiB",
        slow(&alone),
        slow(&beside),
        flight.refused,
        flight.now,
        before >> 20,
        after >> 20,
    );
    assert!(flight.refused > 0 && flight.now <= 400);
    ends_at_nothing(&service).await;
    service.verified().await;
}

#[actix_web::test]
async fn in_flight_counts_end_when_clients_disconnect() {
    let service = limited(64).await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    // Clients that leave after a moment, some of them while their order or their body is on the way.
    for round in 0..20_u64 {
        let calls = (0..16).map(|n| {
            let name = format!("left-{round}-{n}");
            let body = batch(&cvu, &name, 20);
            let call = service.a.post(BATCH, &body);
            Box::pin(timeout(Duration::from_micros(round * 700), call.answer()))
        });
        join_all(calls).await;
    }
    ends_at_nothing(&service).await;
    // The first that is answered ends the others.
    let waiting = (0..8).map(|_| Box::pin(service.a.get("/v1/accounts").answer()));
    let (first, ..) = select_all(waiting).await;
    // What clients sent before they disconnected may still arrive and fill the limit.
    let status = first.unwrap().status;
    assert!(matches!(status, 200 | 429), "{status}");
    wait_until("a request is admitted", SOON, async || {
        let answer = service.a.get("/v1/accounts").await;
        (answer.status == 200).then_some(())
    })
    .await;
    ends_at_nothing(&service).await;
    service.verified().await;
}
