//! One realm of a running service is taken back to an instant: its clients see the state of that time, nobody else
//! notices, and whatever the bank has done since is taken in.

use std::time::Duration;

use caudal::http::streams::StreamOptions;

use super::{batches, done, elsewhere, exported, issued, shown, worked};
use crate::backup::{command, text};
use crate::console::browser::Browser;
use crate::events::sse::Stream;
use crate::support::service::{OTHER, opening};
use crate::support::{Client, SOON, Setup, TestService, Value, json, wait_until};
use crate::webhooks::hook::{Hook, quick};
use crate::webhooks::inbox::Inbox;

pub(super) const RESTORES: &str = "/admin/tenants/tnt_other/restores";

/// The present instant, once it has passed: nothing done afterwards belongs to it.
pub async fn instant(service: &TestService) -> String {
    let at = service.engine().now();
    wait_until("the clock goes on", SOON, async || {
        (service.engine().now() > at).then_some(())
    })
    .await;
    at.to_string()
}

pub(super) async fn begun(service: &TestService, at: &str) -> Value {
    let body = json!({"mode": "test", "at": at});
    let answer = service.admin("POST", RESTORES, &body).await;
    answer.is(201)["test"].clone()
}

pub(super) async fn listed(service: &TestService) -> Value {
    service.admin_get(RESTORES).await.is(200)["test"].clone()
}

/// Makes a copy, or continues with it, until it is whole; returns its number.
pub async fn copied(service: &TestService, at: &str) -> u64 {
    let all = begun(service, at).await;
    let last = all["generations"].as_array().unwrap().last().unwrap();
    let number = last["generation"].as_u64().unwrap();
    wait_until("the copy is whole", SOON, async || {
        let copy = listed(service).await["generations"][usize::try_from(number).unwrap()].clone();
        assert_eq!(copy["error"], Value::Null, "{copy}");
        (copy["state"] == "whole").then_some(())
    })
    .await;
    number
}

pub(super) async fn switched(service: &TestService, number: u64) {
    let body = json!({"mode": "test", "generation": number});
    let path = format!("{RESTORES}/switch");
    let all = service.admin("POST", &path, &body).await;
    let all = all.is(200)["test"].clone();
    assert_eq!(
        (&all["inForce"], &all["outgoingHeld"]),
        (&json!(number), &json!(true))
    );
}

pub(super) async fn released(service: &TestService) {
    let path = format!("{RESTORES}/release");
    let all = service.admin("POST", &path, &json!({"mode": "test"})).await;
    assert_eq!(all.is(200)["test"]["outgoingHeld"], false);
}

/// The ids of everything in the log of events.
async fn ids(client: &Client) -> Vec<String> {
    let events = client
        .get("/v1/events?limit=200")
        .await
        .is(200)
        .json
        .clone();
    let events = events["items"].as_array().unwrap().clone();
    let of = |event: &Value| [event["id"].clone(), event["data"]["id"].clone()];
    let all = events.iter().flat_map(of);
    all.filter_map(|id| Some(id.as_str()?.to_owned())).collect()
}

/// Posts with an idempotency key; returns whether the answer was a replay.
async fn keyed(client: &Client, cvu: &str, key: &str) -> bool {
    let body = json!({"voucherTypeCode": "IN", "amount": "1.00", "idExterno": key});
    let path = format!("/v1/accounts/{cvu}/comprobantes");
    let answer = client.post(&path, &body).key(key).await;
    let answer = answer.is(201);
    answer.replayed()
}

/// Makes changes after the instant; returns the CVU of an account that did not exist then.
async fn meanwhile(service: &TestService, cvus: &[String]) -> String {
    let b = &service.b;
    let late = b.cvu().await;
    b.credit(&late, "9.00").await;
    b.debit(&cvus[0], "1.00").await;
    b.hold(&cvus[1], "2.00").await;
    assert!(!keyed(b, &cvus[0], "after-the-instant").await);
    assert!(keyed(b, &cvus[0], "after-the-instant").await);
    let alias = json!({"alias": "despues.del.instante"});
    let path = format!("/v1/accounts/{late}/alias");
    b.put(&path, &alias).await.is(200);
    let inside = b.transfer(&cvus[0], json!({"cvu": late}), "1.50").await;
    b.settled(&inside.is(201).json, "completed").await;
    late
}

#[actix_web::test]
async fn a_realm_is_as_it_was_then_and_nobody_else_notices() {
    let mut service = TestService::start().await;
    let cvus = worked(&service).await;
    let beside = vec![service.a.cvu().await];
    service.a.credit(&beside[0], "3.00").await;
    let before = shown(&service.b, &cvus).await;
    let at = instant(&service).await;
    let late = meanwhile(&service, &cvus).await;
    let (after, others) = (
        shown(&service.b, &cvus).await,
        shown(&service.a, &beside).await,
    );
    let published = ids(&service.b).await;
    // nobody sees the copy, and a crash between copy and switch changes nothing
    let number = copied(&service, &at).await;
    assert_eq!(shown(&service.b, &cvus).await, after);
    service.crash().await;
    assert_eq!(copied(&service, &at).await, number, "it is whole already");
    assert_eq!(shown(&service.b, &cvus).await, after);
    switched(&service, number).await;
    for _ in 0..2 {
        assert_eq!(shown(&service.b, &cvus).await, before);
        assert_eq!(shown(&service.a, &beside).await, others);
        let path = format!("/v1/accounts/{late}/balance");
        service.b.get(&path).await.refused(404, "account_not_found");
        service.crash().await;
    }
    // the id of an event that is gone is refused, and no id is given out twice
    let mut gone = published.iter().filter(|id| id.starts_with("evt_"));
    let gone = gone.next_back().unwrap();
    let path = format!("/v1/events?after={gone}");
    service.b.get(&path).await.refused(400, "invalid_request");
    assert!(!keyed(&service.b, &cvus[0], "after-the-instant").await);
    service.b.debit(&cvus[1], "0.25").await;
    let now = ids(&service.b).await;
    let known = shown_ids(&before);
    let twice: Vec<_> = now
        .iter()
        .filter(|id| published.contains(id) && !known.contains(*id))
        .collect();
    assert!(twice.is_empty(), "{twice:?}");
    service.a.credit(&beside[0], "1.00").await;
    service.verified().await;
    // the former state is kept, and can be put back
    switched(&service, 0).await;
    assert_eq!(shown(&service.b, &cvus).await, after);
    service.b.credit(&late, "1.00").await;
    service.verified().await;
}

/// Everything that was shown, as one text.
fn shown_ids(all: &[Value]) -> String {
    let all: Vec<_> = all.iter().map(Value::to_string).collect();
    all.concat()
}

#[actix_web::test]
async fn a_copy_that_is_cut_off_is_seen_by_nobody_and_goes_on() {
    let mut service = TestService::start().await;
    let cvus = worked(&service).await;
    batches(&service.b, &cvus[0], "many", 6).await;
    let before = shown(&service.b, &cvus).await;
    let at = instant(&service).await;
    service.b.credit(&cvus[0], "5.00").await;
    let after = shown(&service.b, &cvus).await;
    for _ in 0..3 {
        begun(&service, &at).await;
        service.crash().await;
        assert_eq!(listed(&service).await["inForce"], 0);
        assert_eq!(shown(&service.b, &cvus).await, after);
        service.verified().await;
    }
    service.end(false).await;
    service.lose_index();
    service.begin().await;
    let number = copied(&service, &at).await;
    assert_eq!(number, 1, "it went on");
    switched(&service, number).await;
    assert_eq!(shown(&service.b, &cvus).await, before);
    service.verified().await;
}

#[actix_web::test]
async fn what_leaves_is_held_and_what_the_bank_did_since_is_taken_in() {
    let service = TestService::start().await;
    let cvus = worked(&service).await;
    let at = instant(&service).await;
    // it leaves after the instant: the bank knows it, and the restored realm does not
    let gone = service
        .b
        .transfer(&cvus[0], json!({"alias": "destino.0"}), "2.25")
        .await;
    let gone = gone.is(201).json.clone();
    service.b.settled(&gone, "completed").await;
    let available = service.b.available(&cvus[0]).await;
    let number = copied(&service, &at).await;
    switched(&service, number).await;
    let path = format!("/v1/transfers/{}", gone["id"].as_str().unwrap());
    service
        .b
        .get(&path)
        .await
        .refused(404, "transfer_not_found");
    // before the first order goes to the bank its list is read, from which the transfer is taken in
    let held = service
        .b
        .transfer(&cvus[0], json!({"alias": "destino.0"}), "0.75")
        .await;
    let held = held.is(201).json.clone();
    let taken_in = wait_until("the bank's transfer is taken in", SOON, async || {
        let all = service.b.get("/v1/transfers?limit=50").await;
        let all = all.is(200)["items"].as_array().unwrap().clone();
        let same = |it: &Value| it["originId"] == gone["originId"];
        all.into_iter().find(same)
    })
    .await;
    assert_eq!(taken_in["amount"], gone["amount"]);
    // another tenant's transfer reaches the bank in the meantime, and the realm's own does not
    let beside = service.a.cvu().await;
    service.a.credit(&beside, "5.00").await;
    let other = service
        .a
        .transfer(&beside, json!({"alias": "destino.0"}), "1.00")
        .await;
    service.a.settled(&other.is(201).json, "completed").await;
    let path = format!("/v1/transfers/{}", held["id"].as_str().unwrap());
    assert_eq!(service.b.get(&path).await.is(200)["status"], "requested");
    let mut browser = Browser::entered(&service).await.reads("en");
    let pages = ["/console/", "/console/tenants/tnt_other"];
    let realm = "/console/tenants/tnt_other/test";
    for page in pages {
        let page = browser.get(page).await.is(200).text;
        let (_, table) = page.split_once("hold what leaves them</h2>").expect(&page);
        let (row, _) = table.split_once("</table>").unwrap();
        let waits = format!("<a href=\"{realm}/transfers\">1</a>");
        let row = row.replace(['\n', '\r'], "");
        assert!(row.contains(&waits) && row.contains("0.75"), "{row}");
    }
    let other = browser.get("/console/tenants/tnt_first").await.is(200);
    assert!(!other.text.contains("what leaves them"), "{}", other.text);
    service
        .b
        .post("/v1/accounts", &opening("20123456786"))
        .key("opened-while-it-is-held")
        .await
        .refused(502, "bank_failed");
    released(&service).await;
    for page in pages {
        let page = browser.get(page).await.is(200).text;
        assert!(!page.contains("what leaves them"), "{page}");
    }
    service.b.settled(&held, "completed").await;
    // the transfer since then has left once, and so has the one that was held
    let centavos = |text: &str| text.replace('.', "").parse::<i64>().unwrap();
    let left = service.b.available(&cvus[0]).await;
    assert_eq!(centavos(&left), centavos(&available) - 75);
    service.verified().await;
}

#[actix_web::test]
async fn a_second_restore_takes_what_was_in_force_then() {
    let service = TestService::start().await;
    let cvus = worked(&service).await;
    let first = (instant(&service).await, shown(&service.b, &cvus).await);
    service.b.credit(&cvus[0], "1.00").await;
    let second = (instant(&service).await, shown(&service.b, &cvus).await);
    service.b.credit(&cvus[0], "2.00").await;
    let number = copied(&service, &first.0).await;
    switched(&service, number).await;
    service.b.credit(&cvus[0], "4.00").await;
    let third = (instant(&service).await, shown(&service.b, &cvus).await);
    service.b.credit(&cvus[0], "8.00").await;
    for (at, right) in [&second, &third, &first] {
        let number = copied(&service, at).await;
        switched(&service, number).await;
        assert_eq!(shown(&service.b, &cvus).await, *right, "{at}");
        service.b.credit(&cvus[1], "1.00").await;
    }
    service.verified().await;
    assert_eq!(listed(&service).await["inForce"], 4);
}

#[actix_web::test]
async fn what_cannot_be_restored_is_refused_and_changes_nothing() {
    let service = TestService::start().await;
    let cvus = worked(&service).await;
    let at = instant(&service).await;
    for (at, code) in [
        ("2001-01-01T00:00:00Z", "restore_instant"),
        ("2999-01-01T00:00:00Z", "restore_instant"),
        ("yesterday", "invalid_request"),
    ] {
        let body = json!({"mode": "test", "at": at});
        service
            .admin("POST", RESTORES, &body)
            .await
            .refused(400, code);
    }
    let switch = format!("{RESTORES}/switch");
    let to = |number| json!({"mode": "test", "generation": number});
    service
        .admin("POST", &switch, &to(1))
        .await
        .refused(404, "restore_not_found");
    let nobody = "/admin/tenants/tnt_nobody/restores";
    service
        .admin_get(nobody)
        .await
        .refused(404, "tenant_not_found");
    let number = copied(&service, &at).await;
    // the policy demands a second person
    let policy = json!({"policy": {"fourEyes": {"restores": true}}});
    let path = format!("/admin/tenants/{OTHER}");
    service.admin("PATCH", &path, &policy).await.is(200);
    let waits = service.admin("POST", &switch, &to(number)).await;
    assert_eq!(waits.is(202)["action"], "switchGeneration");
    assert_eq!(listed(&service).await["inForce"], 0);
    service.b.credit(&cvus[0], "1.00").await;
    service.verified().await;
}

#[actix_web::test]
async fn it_is_done_from_the_command_line() {
    let service = TestService::start().await;
    let cvus = worked(&service).await;
    let at = instant(&service).await;
    let before = shown(&service.b, &cvus).await;
    service.b.credit(&cvus[0], "1.00").await;
    let url = service.admin_client().url.clone();
    let key = caudal::service::TEST_ADMIN_KEY.to_owned();
    let run = async |more: Vec<String>| {
        let asked = ["--admin-url", &url, "--admin-key", &key, "--json"];
        let realm = ["restore", "--tenant", OTHER, "--mode", "test"];
        let all = realm.into_iter().chain(asked).map(str::to_owned);
        let all: Vec<_> = all.chain(more).collect();
        let done = tokio::task::spawn_blocking(move || {
            let all: Vec<_> = all.iter().map(String::as_str).collect();
            command(&all)
        });
        let (code, told, why) = done.await.unwrap();
        assert_eq!(code, Some(0), "{why}");
        told["test"].clone()
    };
    let words = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
    let made = run(words(&["--at", &at, "--copy-only"])).await;
    assert_eq!(made["inForce"], 0);
    let done = run(words(&["--at", &at])).await;
    assert_eq!(
        (&done["inForce"], &done["outgoingHeld"]),
        (&json!(1), &json!(true))
    );
    assert_eq!(shown(&service.b, &cvus).await, before);
    assert_eq!(run(words(&["--release"])).await["outgoingHeld"], false);
    assert_eq!(run(words(&["--generation", "0"])).await["inForce"], 0);
    assert_eq!(run(Vec::new()).await["generations"][1]["state"], "whole");
}

#[actix_web::test]
async fn a_file_has_the_generation_that_is_in_force_or_the_one_that_is_named() {
    let dir = tempfile::TempDir::new().unwrap();
    let mut service = TestService::start().await;
    let cvus = worked(&service).await;
    let before = shown(&service.b, &cvus).await;
    let at = instant(&service).await;
    service.b.credit(&cvus[0], "5.00").await;
    let number = copied(&service, &at).await;
    switched(&service, number).await;
    service.end(true).await;
    let file = |name: &str| dir.path().join(name);
    let in_force = exported(service.data(), &file("in-force"), &[]);
    let first = exported(service.data(), &file("first"), &["--generation", "0"]);
    let named = exported(service.data(), &file("named"), &["--generation", "1"]);
    assert_eq!(in_force["digest"], named["digest"]);
    assert!(first["entries"].as_u64() > named["entries"].as_u64());
    // elsewhere it is the whole realm, and has no other generation
    let (data, ..) = elsewhere(&mut service, dir.path()).await;
    let path = file("in-force");
    let import = [
        "realm",
        "import",
        text(&path),
        "--data",
        text(&data),
        "--open",
    ];
    done(&import);
    service.begin().await;
    let client = issued(&service, OTHER).await;
    assert_eq!(shown(&client, &cvus).await, before);
    client.credit(&cvus[0], "1.00").await;
    assert_eq!(
        listed(&service).await["generations"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    service.verified().await;
}

#[actix_web::test]
async fn events_are_held_from_a_webhook_and_what_it_lacked_then_comes_again() {
    let service = TestService::with(quick()).await;
    let inbox = Inbox::start();
    let hook = Hook::of(&service.b, &inbox.url("/b"), &["voucher.created"]).await;
    let cvu = service.b.cvu().await;
    service.b.in_and_out().await;
    service.b.credit(&cvu, "1.00").await;
    inbox.came(1).await;
    hook.caught_up(SOON).await;
    let at = instant(&service).await;
    let gone = service.b.credit(&cvu, "2.00").await;
    let number = copied(&service, &at).await;
    inbox.came(2).await;
    switched(&service, number).await;
    let new = service.b.credit(&cvu, "4.00").await;
    // another tenant's events are sent, and switching to and fro while one waits makes no difference
    let beside = Inbox::start();
    Hook::of(&service.a, &beside.url("/a"), &["voucher.created"]).await;
    service.a.in_and_out().await;
    let other = service.a.cvu().await;
    service.a.credit(&other, "1.00").await;
    beside.came(1).await;
    switched(&service, 0).await;
    switched(&service, number).await;
    let calls = inbox.calls();
    assert!(
        calls
            .iter()
            .all(|call| call.body()["data"]["id"] != new["id"])
    );
    released(&service).await;
    wait_until("what was held arrives", SOON, async || {
        let calls = inbox.calls();
        let came = |id: &Value| calls.iter().any(|call| call.body()["data"]["id"] == *id);
        assert!(came(&gone["id"]), "it had arrived before the switch");
        came(&new["id"]).then_some(())
    })
    .await;
    service.verified().await;
}

#[actix_web::test]
async fn a_stream_ends_when_another_generation_comes_into_force() {
    let streams = StreamOptions {
        streams_max: 4,
        heartbeat: Duration::from_millis(50),
    };
    let service = TestService::with(Setup {
        streams,
        ..Setup::default()
    })
    .await;
    let (cvu, beside) = (service.b.cvu().await, service.a.cvu().await);
    service.b.in_and_out().await;
    service.a.in_and_out().await;
    let at = instant(&service).await;
    service.b.credit(&cvu, "1.00").await;
    let stream = Stream::open(&service.b, "", "").await.begun().await;
    let mut other = Stream::open(&service.a, "", "").await.begun().await;
    let number = copied(&service, &at).await;
    switched(&service, number).await;
    let read = stream.end().await;
    // its place belongs to a past that is gone
    let path = format!("/v1/events?after={}", read.last_id);
    service.b.get(&path).await.refused(400, "invalid_request");
    service.a.credit(&beside, "1.00").await;
    assert_eq!(other.next().await.unwrap()["type"], "voucher.created");
}
