//! The status, its command, the metrics and the console show the same list of what needs a person.

use caudal_service::TEST_ADMIN_KEY;

use crate::cli::{caudal, said};
use crate::console::browser::Browser;
use crate::monitoring::figure;
use crate::support::service::TENANT;
use crate::support::{TestClock, TestService, Value, json};

/// The codes of the service's problems, in their order.
pub async fn codes(service: &TestService) -> Vec<String> {
    let status = service.admin_get("/admin/status").await.is(200);
    let all = status["problems"].as_array().unwrap().iter();
    all.map(|it| it["code"].as_str().unwrap().to_owned())
        .collect()
}

/// The exit code of `caudal status`, and what it prints.
fn command(service: &TestService) -> (Option<i32>, String, String) {
    let admin = service.admin_client().url;
    let mut command = caudal(&["status", "--admin-url", &admin]);
    let ended = command.env("CAUDAL_ADMIN_KEY", TEST_ADMIN_KEY).output();
    said(&ended.unwrap())
}

async fn counted(service: &TestService, code: &str) -> Option<u64> {
    let page = service.admin_get("/metrics").await.is(200).text;
    let label = format!("code=\"{code}\"");
    figure(&page, "caudal_problems{", &[&label])
}

#[actix_web::test]
async fn what_has_waited_too_long_is_shown_wherever_people_look() {
    let clock = TestClock::at("2026-03-02T12:00:00Z");
    let service = TestService::at(&clock).await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "100.00").await;
    let send = async |amount: &str| {
        let to = json!({"alias": "DESTINO.2"});
        let sent = service.a.transfer(&cvu, to, amount).await.is(201).json;
        service.a.settled(&sent, "in_progress").await
    };
    let unknown = send("10.00").await;
    let origin = &unknown["originId"];
    service.bank.settle(origin, "UNKNOWN_FOREVER").await;
    service.a.settled(&unknown, "audit").await;
    send("20.00").await;
    assert_eq!(codes(&service).await, <[String; 0]>::default());
    let (code, page, _) = command(&service);
    assert_eq!(code, Some(0), "{page}");
    assert!(page.starts_with("No problems."), "{page}");
    let ends = json!({"mode": "live", "label": "till", "expiresAt": "2026-03-10T12:00:00Z"});
    let path = format!("/admin/tenants/{TENANT}/keys");
    let key = service.admin("POST", &path, &ends).await.is(201).json;
    clock.set("2026-03-02T13:00:01Z");
    let status = service.admin_get("/admin/status").await.is(200);
    let found: Vec<Value> = status["problems"].as_array().unwrap().clone();
    let test = json!([{"tenant": TENANT, "mode": "test"}]);
    let collector = caudal_sandbox::COLLECTOR;
    let since = &found[0]["at"];
    let right = json!([
        {"code": "case_old", "severity": "ticket", "realms": test, "subject": null, "at": since, "count": 1,
            "amount": null, "runbook": "/docs/alerts#caudalcaseold"},
        {"code": "transfer_old", "severity": "ticket", "realms": test, "subject": collector,
            "at": "2026-03-02T12:00:00.000Z", "count": null, "amount": null,
            "runbook": "/docs/alerts#caudaltransferold"},
        {"code": "key_ends", "severity": "ticket", "realms": [{"tenant": TENANT, "mode": "live"}],
            "subject": key["id"], "at": "2026-03-10T12:00:00.000Z", "count": null, "amount": null,
            "runbook": "/docs/alerts#caudalkeyends"},
    ]);
    assert_eq!(json!(found), right);
    for (code, count) in [("case_old", 1), ("transfer_old", 1), ("disk_low", 0)] {
        assert_eq!(counted(&service, code).await, Some(count), "{code}");
    }
    let (code, page, why) = command(&service);
    assert_eq!(code, Some(5), "{page}");
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let row = "ticket transfer_old test tnt_first 3220001805007351350083 - - \
               2026-03-02T12:00:00.000Z /docs/alerts#caudaltransferold";
    assert!(page.lines().any(|line| words(line) == words(row)), "{page}");
    let all = "needs a person on the next working day: case_old, transfer_old, key_ends";
    assert!(why.contains(all), "{why}");
    for (language, urgency, names) in [
        (
            "es",
            "Próximo día hábil",
            [
                "Un caso espera hace más de una hora",
                "Una clave de API está por vencer",
            ],
        ),
        (
            "en",
            "Next working day",
            [
                "A case has waited for more than an hour",
                "An API key expires soon",
            ],
        ),
    ] {
        let mut browser = Browser::entered(&service).await.reads(language);
        let page = browser.get("/console/").await.is(200).text;
        let (_, first) = page.split_once("</h1>").unwrap();
        let (first, _) = first.split_once("</section>").unwrap();
        assert_eq!(first.matches(urgency).count(), 3, "{first}");
        for name in names {
            assert!(first.contains(name), "{name} is not in {first}");
        }
        let runbook = "/docs/alerts#caudalcaseold";
        assert!(first.contains(&format!("href=\"{runbook}\"")), "{first}");
        let docs = service.admin_bare("/docs/alerts").await.is(200);
        assert!(docs.text.contains("id=\"caudalcaseold\""));
        // The navigation of any page says how many cases wait.
        let banks = browser.get("/console/banks").await.is(200).text;
        let (_, entry) = banks.split_once("href=\"/console/cases\"").unwrap();
        let (entry, _) = entry.split_once("</a>").unwrap();
        assert!(entry.contains(">1</span>"), "{entry}");
    }
    service.verified().await;
}
