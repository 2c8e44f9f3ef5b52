//! What an operator finds in the log about a request, and what must never be there.

use std::io::Write as _;
use std::process::Command;

use tempfile::TempDir;

use crate::cli::{caudal, said};
use crate::support::canary::{Log, Paper, Sink, learn_of, lines, offence};
use crate::support::client::fresh;
use crate::support::{SOON, TestService, Value, json, named, wait_until};
use crate::unauthenticated::process::Process;
use crate::webhooks::hook::{Hook, quick};
use crate::webhooks::inbox::Inbox;

/// Waits for the lines with a text, until there are at least this many.
async fn found(text: &str, count: usize) -> Vec<String> {
    wait_until(&format!("{count} lines with {text}"), SOON, async || {
        let found = lines(text);
        (found.len() >= count).then_some(found)
    })
    .await
}

/// The one line of a request.
async fn line(id: &str) -> String {
    let found = found(&format!("request_id=\"{id}\""), 1).await;
    let mut own = found.iter().filter(|line| line.contains("duration_us="));
    let line = own.next().expect("a line for the request").clone();
    assert_eq!(own.next(), None, "one line");
    line
}

fn id() -> String {
    format!("log-{}-{}", std::process::id(), fresh())
}

#[actix_web::test]
async fn a_request_has_one_line_with_who_what_and_how_it_ended() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let (good, bad, without_key, lost) = (id(), id(), id(), id());
    let posted = service.a.voucher(&cvu, "IN", "12.34", &good);
    posted.header("x-request-id", &good).await.is(201);
    let said = line(&good).await;
    for part in [
        "INFO",
        "tenant=\"tnt_first\"",
        "mode=\"test\"",
        "method=\"POST\"",
        "route=\"/v1/accounts/{cvu}/comprobantes\"",
        "status=201",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let refused = service.a.voucher(&cvu, "OUT", "99999.99", &bad);
    let refused = refused.header("x-request-id", &bad).key(&bad).await;
    refused.refused(400, "insufficient_funds");
    assert!(line(&bad).await.contains("code=\"insufficient_funds\""));
    // A refusal that is replayed has its code in the log too.
    let again = id();
    let kept = service.a.voucher(&cvu, "OUT", "99999.99", &bad);
    let kept = kept.header("x-request-id", &again).key(&bad).await;
    assert!(kept.replayed());
    assert!(line(&again).await.contains("code=\"insufficient_funds\""));
    let nobody = service.a.with_key(Some("cdl_test_nobody"));
    let turned = nobody
        .get("/v1/accounts")
        .header("x-request-id", &without_key);
    turned.await.refused(401, "unauthorized");
    let said = line(&without_key).await;
    assert!(
        said.contains("status=401") && said.contains("code=\"unauthorized\""),
        "{said}"
    );
    let nowhere = service.a.get("/v1/nowhere").header("x-request-id", &lost);
    nowhere.await.refused(404, "route_not_found");
    assert!(line(&lost).await.contains("route=\"none\""));
}

#[actix_web::test]
async fn a_transfer_is_followed_from_the_request_to_the_bank_and_the_commit() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "100.00").await;
    let trail = id();
    let order = json!({
        "fromCvu": cvu, "to": {"alias": "DESTINO.0"}, "amount": "10.00", "idExterno": trail,
    });
    let sent = service.a.post("/v1/transfers", &order);
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let sent = sent
        .header("x-request-id", &trail)
        .header("traceparent", trace);
    let sent = sent.await.is(201).json;
    service.a.settled(&sent, "completed").await;
    let story = found(&trail, 4).await;
    let tells = |part: &str| story.iter().any(|line| line.contains(part));
    assert!(
        tells("trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\""),
        "{story:#?}"
    );
    assert!(
        tells("operation=\"transfer\"") && tells("the bank was called"),
        "{story:#?}"
    );
    assert!(tells(sent["id"].as_str().unwrap()), "{story:#?}");
    // The line about its commit has the same request id as its events and deliveries.
    let listed = service
        .a
        .get(&format!("/v1/accounts/{cvu}/movements?limit=1&order=desc"));
    let voucher = listed.await.is(200).json[0]["id"].clone();
    let committed = story.iter().any(|line| line.contains("committed"));
    assert!(committed && voucher.is_string(), "{voucher} {story:#?}");
}

#[actix_web::test]
async fn a_delivery_names_the_request_and_goes_on_with_its_trace() {
    let service = TestService::with(quick()).await;
    service.a.in_and_out().await;
    let (cvu, inbox) = (service.a.cvu().await, Inbox::start());
    Hook::of(&service.a, &inbox.url("/"), &["voucher.created"]).await;
    let (cause, trace) = (id(), "6bf92f3577b34da6a3ce929d0e0e4736");
    let posted = service.a.voucher(&cvu, "IN", "1.00", &cause);
    let posted = posted.header("x-request-id", &cause);
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    posted.header("traceparent", &parent).await.is(201);
    let calls = inbox.came(1).await;
    let header = |name: &str| calls[0].request.header(name).unwrap().to_owned();
    assert_eq!(header("x-request-id"), cause);
    let passed_on = header("traceparent");
    assert!(
        passed_on.contains(trace) && passed_on != parent,
        "{passed_on}"
    );
    // The commit, its voucher, the event, and the delivery form one chain.
    let story = wait_until("the delivery's line", SOON, async || {
        let story = lines(&cause);
        let delivered = story.iter().any(|line| line.contains("was delivered"));
        delivered.then_some(story)
    })
    .await;
    let voucher = calls[0].body()["data"]["id"].as_str().unwrap().to_owned();
    let line = |part: &str| {
        let mut lines = story.iter().filter(|line| line.contains(&voucher));
        lines.any(|line| line.contains(part))
    };
    assert!(
        line("committed") && line("delivered"),
        "{voucher} {story:#?}"
    );
}

#[actix_web::test]
async fn successes_are_sampled_and_refusals_are_all_logged() {
    for (every, kept) in [(3, 10), (0, 0)] {
        let dir = TempDir::new().unwrap();
        let settings = format!("workers = 1\nlog_requests_every = {every}");
        let mut process = Process::serve_with(dir.path(), ":", &settings).await;
        let ask =
            async |path: &str, id: &str| process.client.get(path).header("x-request-id", id).await;
        for _ in 0..30 {
            ask("/livez", "good").await.is(200);
            ask("/v1/accounts", "bad")
                .await
                .refused(401, "unauthorized");
        }
        let of = |id: &str| {
            let log = process.log();
            let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
            let ours = lines.filter(|line: &Value| line["request_id"] == id);
            ours.filter(|line| line["message"] == "request").count()
        };
        wait_until("the lines are written", SOON, async || {
            (of("good") >= kept && of("bad") >= 30).then_some(())
        })
        .await;
        assert_eq!((of("good"), of("bad")), (kept, 30));
        process.stop().await;
    }
}

#[actix_web::test]
async fn why_a_process_ends_is_a_line_of_its_log() {
    let dir = TempDir::new().unwrap();
    let mut process = Process::serve(dir.path(), ":").await;
    // The folder is in use by another process.
    let (code, said) = Process::serve_in_vain(dir.path(), ":", "");
    assert_eq!(code, Some(3), "{said}");
    let lines = said.lines().map(serde_json::from_str::<Value>);
    let lines: Vec<_> = lines.map(Result::unwrap).collect();
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["level"], &last["message"]),
        (&json!("ERROR"), &json!("the process ends"))
    );
    let why = last["why"].as_str().unwrap();
    assert!(why.contains("in use by another process"), "{why}");
    assert!(last["timestamp"].is_string() && last["target"].is_string());
    // In text format it is a sentence.
    let (code, said) = Process::serve_in_vain(dir.path(), ":", "log_format = \"text\"");
    assert_eq!(code, Some(3), "{said}");
    assert!(said.ends_with(&format!("caudal: {why}\n")), "{said}");
    process.stop().await;
}

#[actix_web::test]
async fn lines_that_nobody_reads_are_counted() {
    let service = TestService::start().await;
    let page = service.admin_get("/metrics").await.is(200).text;
    let figure = "caudal_log_dropped_lines_total 0";
    assert!(page.lines().any(|line| line == figure), "{page}");
}

#[test]
fn the_canary_sees_what_it_is_there_for() {
    for bad in [
        "holder=Juana Azurduy",
        "cuit=20055361682",
        "cvu=\"0000532609100002749314\"",
        "key=\"cdl_test_abc_0123\"",
        "to ana@example.com",
        "alias=\"Mar.De.Sal\"",
        "amount=\"12.34\"",
    ] {
        assert!(offence(bad).is_some(), "{bad}");
    }
    for good in [
        "2026-03-02T15:04:05.678901Z  INFO request{request_id=\"req_1\"}: status=201 duration_us=1234",
        "origin=000080001000999 cvu=\"…9314\" peer=127.0.0.1:59236",
    ] {
        assert!(offence(good).is_none(), "{good}");
    }
}

#[test]
fn secrets_sent_in_tests_are_learnt() {
    let number = fresh();
    // Values that no other test uses.
    let (birth, document) = ("1901-12-28", 98_765_431);
    let body = json!({"items": [{
        "holderName": format!("Zoraida Quiroga{number}"), "metadata": {"pet": format!("gato {number}")},
        "address": {"street": format!("Calle Larga{number}")}, "description": format!("harmless{number}"), "email": null,
        "phone": format!("+54911{number:010}"), "birthDate": birth, "dni": document,
        "kyc": {"fechaNacimiento": "27-11-1903", "dni": "7.654.329"},
    }], "credential": format!("Ab-{number}_x"), "alias": "short",
        "types": [{"nombre": format!("Ajuste {number}"), "signo": 1}]});
    let lines = [
        format!("holder=\"ZORAIDA Quiroga{number}\""),
        format!("why=\"no gato {number} here\""),
        format!("street=Calle Larga{number}."),
        format!("credential=Ab-{number}_x"),
        format!("phone=+54911{number:010}"),
        "born 1901-12-28 it is".to_owned(),
        "born=\"28/12/1901\"".to_owned(),
        "born=1903-11-27".to_owned(),
        "document=98765431".to_owned(),
        "document=7654329,".to_owned(),
        "document=7.654.329".to_owned(),
    ];
    for line in &lines {
        assert_eq!(offence(line), None, "{line}");
    }
    learn_of(&body);
    for line in &lines {
        assert!(offence(line).is_some(), "{line}");
    }
    for good in [
        format!("what=harmless{number}"),
        format!("type=Ajuste {number}"),
        format!("at=54911{number:010}"),
        "alias=short".to_owned(),
        "Zoraida".to_owned(),
        "bytes=987654310".to_owned(),
        "on 2026-12-28".to_owned(),
    ] {
        assert_eq!(offence(&good), None, "{good}");
    }
}

/// Every line's way, from the macro to the test that fails.
#[test]
fn a_line_with_what_must_not_be_there_fails_a_test() {
    let fails =
        |test: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(test)).is_err();
    let log: &'static Log = Box::leak(Box::default());
    let own = tracing_subscriber::fmt()
        .with_writer(move || Sink(log))
        .finish();
    tracing::subscriber::with_default(own, || {
        tracing::info!(status = 201, "request");
        assert!(!fails(&|| log.sings()));
        tracing::info!(holder = "Juana Azurduy", "an account was opened");
    });
    assert!(fails(&|| log.sings()));
    // A secret that is learnt after the line that has it.
    let log: &'static Log = Box::leak(Box::default());
    writeln!(Sink(log), "token=later-known-secret").unwrap();
    log.looks_back("another-secret");
    assert!(!fails(&|| log.sings()));
    log.looks_back("later-known-secret");
    assert!(fails(&|| log.sings()));
    // The same check on the log of a process.
    let writes = |line: &str| {
        let paper = Paper::new();
        let mut echo = Command::new("echo");
        assert!(
            echo.arg(line)
                .stdout(paper.pen())
                .status()
                .unwrap()
                .success()
        );
        drop(paper);
    };
    assert!(!fails(&|| writes("status=201")));
    assert!(fails(&|| writes("alias=\"mar.de.sal\"")));
}

#[actix_web::test]
async fn how_much_is_logged_is_changed_for_a_while() {
    let dir = TempDir::new().unwrap();
    let mut process = Process::serve(dir.path(), ":").await;
    let (admin, key) = process.admin();
    let change = async |body: Value| {
        let sent = admin.call("PUT", "/admin/log").json(&body);
        sent.header("x-admin-key", key).await.is(200).json
    };
    let ask = async |id: &str| {
        let asked = process
            .client
            .get("/v1/accounts")
            .header("x-request-id", id);
        asked.await.refused(401, "unauthorized");
    };
    let quiet =
        json!({"directives": "caudal::request=warn", "seconds": 3600, "reason": "too loud"});
    let changed = change(quiet).await;
    assert_eq!(changed["directives"], "caudal::request=warn");
    assert!(
        changed["endsInSeconds"].as_u64().unwrap() <= 3600,
        "{changed}"
    );
    ask("unheard").await;
    let ended = change(json!({})).await;
    assert_eq!(ended["directives"], Value::Null);
    assert!(ended["usual"].as_str().unwrap().contains("info"), "{ended}");
    ask("heard").await;
    // There is one queue, so everything logged before is written by then.
    wait_until("the line of the second request", SOON, async || {
        process.log().contains("\"heard\"").then_some(())
    })
    .await;
    let log = process.log();
    assert!(!log.contains("unheard"), "{log}");
    assert!(log.contains("caudal::request=warn for 3600 s"), "{log}");
    process.stop().await;
}

#[actix_web::test]
async fn the_log_of_a_process_that_is_not_caudals_stays_as_it_is() {
    let service = TestService::start().await;
    for (directives, field) in [
        (json!("hyper=trace"), "directives"),
        (json!("debug"), "directives"),
    ] {
        let body = json!({"directives": directives});
        let refused = service.admin("PUT", "/admin/log", &body).await;
        assert_eq!(
            named(&refused.refused(400, "invalid_request").json),
            [field]
        );
    }
    let body = json!({"directives": "caudal=debug", "seconds": 3601});
    let refused = service.admin("PUT", "/admin/log", &body).await;
    assert_eq!(
        named(&refused.refused(400, "invalid_request").json),
        ["seconds"]
    );
    let body = json!({"directives": "caudal=debug", "reason": "a look"});
    let refused = service.admin("PUT", "/admin/log", &body).await;
    let refused = refused.refused(409, "log_not_changed");
    assert!(
        refused.text.contains("not begun by caudal"),
        "{}",
        refused.text
    );
    assert_eq!(
        service.admin_get("/admin/log").await.is(200)["usual"],
        Value::Null
    );
    let failed = async |why: &str| {
        let noted = service.admin_get("/admin/audit?action=changeLog&limit=1");
        let noted = noted.await.is(200).json["items"][0].take();
        let end = (&noted["outcome"], &noted["status"]);
        assert_eq!(end, (&json!("failed"), &json!(409)), "{noted}");
        let reason = noted["reason"].as_str().unwrap();
        assert!(
            reason.ends_with(why) && reason.contains("not begun"),
            "{reason}"
        );
    };
    failed(": a look").await;
    // The command line cannot change it either.
    let mut command = caudal(&["log", "set", "caudal=debug", "--reason", "another look"]);
    let command = command.env("CAUDAL_ADMIN_URL", service.admin_client().url);
    let command = command.env("CAUDAL_ADMIN_KEY", caudal_service::TEST_ADMIN_KEY);
    let (code, _, err) = said(&command.output().unwrap());
    assert!(
        code == Some(1) && err.contains("not begun by caudal"),
        "{code:?} {err}"
    );
    failed(": another look").await;
}
