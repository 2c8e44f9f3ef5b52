//! A realm that asks for much while another realm asks, too: it has to wait for itself, and is refused when that
//! takes too long.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::support::service::{Setup, TENANT};
use crate::support::{SOON, TestService, json, wait_until};

/// How many requests of a realm pass in a second.
const PACE: u32 = 20;
/// How far a realm may be ahead of its pace.
const AHEAD: Duration = Duration::from_millis(10);
/// More requests at once than may pass and wait.
const MANY: usize = 60;

async fn service() -> TestService {
    let pace = Some(PACE);
    let setup = Setup {
        pace,
        ..Setup::default()
    };
    TestService::with(setup).await
}

#[actix_web::test]
async fn a_realm_alone_has_all_and_beside_another_one_its_pace() {
    let service = service().await;
    let at_once = async || {
        let all = (0..MANY).map(|_| async { service.a.get("/v1/accounts?limit=1").await });
        join_all(all).await
    };
    for answer in at_once().await {
        answer.is(200);
    }
    // From now on two realms are active. Only a lower bound is checked: a machine may be slower, but never faster.
    let begun = Instant::now();
    service.b.get("/v1/accounts").await.is(200);
    for _ in 0..4 {
        service.a.get("/v1/accounts").await.is(200);
    }
    let least = Duration::from_secs(1) * 3 / PACE - AHEAD;
    assert!(begun.elapsed() >= least, "{:?}", begun.elapsed());
    // A client that keeps sending is told to retry, and holds up nobody else.
    let refused = wait_until("one is refused", SOON, async || {
        service.b.get("/v1/accounts").await.is(200);
        let answers = at_once().await;
        answers.into_iter().find(|answer| answer.status != 200)
    })
    .await;
    let refused = refused.refused(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), "1");
    service.b.get("/v1/accounts").await.is(200);
    // The waiting is counted for each realm.
    let page = service.admin_bare("/metrics").await.text;
    let requests = ["mode=\"test\"", "kind=\"request\""];
    assert!(figure(&page, "total", &requests) >= 1.0, "{page}");
    let least = (Duration::from_secs(1) / PACE).as_secs_f64();
    assert!(figure(&page, "seconds_total", &requests) >= least, "{page}");
    assert!(figure(&page, "refused_total", &["mode=\"test\""]) >= 1.0);
    let nobody = ["mode=\"live\"", "kind=\"request\""];
    assert!(figure(&page, "total", &nobody) == 0.0, "{page}");
}

/// The value of a metric about the pace of the first tenant.
fn figure(page: &str, name: &str, labels: &[&str]) -> f64 {
    let name = format!("caudal_realm_paced_{name}{{tenant=\"{TENANT}\",");
    let mut lines = page.lines().filter(|line| line.starts_with(&name));
    let line = lines.find(|line| labels.iter().all(|label| line.contains(label)));
    let figure = line.and_then(|line| line.rsplit(' ').next()).unwrap();
    figure.parse().unwrap()
}

#[actix_web::test]
async fn the_items_of_a_batch_pass_at_the_pace_and_each_is_posted() {
    let service = service().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let batch = |name: &str| {
        let item = |number: usize| {
            json!({
                "cvu": cvu, "voucherTypeCode": "IN", "amount": "0.01", "idExterno": format!("{name}-{number}"),
            })
        };
        let items: Vec<_> = (0..33).map(item).collect();
        json!({"items": items})
    };
    let path = "/v1/comprobantes/batch";
    let alone = service.a.post(path, &batch("alone")).await.is(200);
    assert_eq!(alone["summary"]["recorded"], 33);
    let begun = Instant::now();
    service.b.get("/v1/accounts").await.is(200);
    let beside = service.a.post(path, &batch("beside")).await.is(200);
    assert_eq!(beside["summary"]["recorded"], 33);
    // The first part passes at once, and the second waits for it; two items count as one request.
    let least = Duration::from_secs(1) * 8 / PACE - AHEAD;
    assert!(begun.elapsed() >= least, "{:?}", begun.elapsed());
    let again = service.a.post(path, &batch("beside")).await.is(200);
    assert_eq!(again["summary"]["replayed"], 33);
    let page = service.admin_bare("/metrics").await.text;
    let batches = ["mode=\"test\"", "kind=\"batch\""];
    // On a slow machine the second part may be due already when it comes.
    let waited = figure(&page, "total", &batches) > 0.0;
    assert_eq!(figure(&page, "seconds_total", &batches) > 0.0, waited);
}
