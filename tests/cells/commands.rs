//! `caudal cell move-realm` as a separate process: how it waits, and what it prints at the end.

use super::{PATIENCE, standing, with_cells};
use crate::backup::command;
use crate::cli::{caudal, said};
use crate::support::service::OTHER;
use crate::support::{Value, json, wait_until};
use crate::webhooks::receiver::Receiver;

/// The answer of an admin API with one realm: generation 0, and the states of the copies made of
/// it.
fn shows(cell: u32, copies: &[&str]) -> String {
    let mut all = vec![json!({"generation": 0, "state": "whole"})];
    for (number, state) in (1..).zip(copies) {
        all.push(json!({"generation": number, "state": state, "commit": 7, "error": null}));
    }
    answer(
        "200 OK",
        &json!({"test": {"cell": cell, "generations": all}}),
    )
}

fn answer(status: &str, body: &Value) -> String {
    let (body, kind) = (body.to_string(), "application/json");
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// An admin API that gives these answers in order, and then hangs up.
fn admin<const COUNT: usize>(answers: [String; COUNT]) -> Receiver {
    let mut answers = answers.into_iter();
    Receiver::start(move |line| line.last(answers.next().unwrap_or_default().as_bytes()))
}

fn moves<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["cell", "move-realm", "--tenant", OTHER, "--mode", "test"];
    all.extend(["--to", "1", "--admin-url", url, "--admin-key"]);
    all.push(caudal::service::TEST_ADMIN_KEY);
    all.extend(more);
    all
}

#[test]
fn a_move_is_waited_for_by_its_number_and_through_a_while_of_silence() {
    let away = json!({"code": "unavailable", "message": "Not now."});
    let admin = admin([
        shows(0, &["copying"]),
        String::new(),
        answer("503 Service Unavailable", &away),
        shows(0, &["copying"]),
        // The move ended, and somebody else has begun another one since.
        shows(1, &["whole", "copying"]),
    ]);
    let url = admin.url("");
    let (code, told, why) = command(&moves(&url, &["--json"]));
    assert_eq!((code, &told["cell"]), (Some(0), &json!(1)), "{why}");
    let asked: Vec<_> = std::iter::from_fn(|| admin.next()).collect();
    let asked: Vec<_> = asked.iter().map(|it| it.line.as_str()).collect();
    let begins = format!("POST /admin/tenants/{OTHER}/move HTTP/1.1");
    let looks = format!("GET /admin/tenants/{OTHER}/restores HTTP/1.1");
    assert_eq!(asked, [&begins, &looks, &looks, &looks, &looks]);
}

#[test]
fn a_move_that_was_cut_off_is_no_success() {
    let admin = admin([shows(0, &["copying"]), shows(0, &["interrupted"])]);
    let url = admin.url("");
    let (code, out, why) = said(&caudal(&moves(&url, &[])).output().unwrap());
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(why.contains("the realm is where it was"), "{why}");
}

#[actix_web::test]
async fn a_realm_is_moved_from_the_command_line_or_a_second_person_is_asked() {
    let service = with_cells(2).await;
    let url = service.admin_client().url.clone();
    let run = async |more: &'static [&'static str]| {
        let url = url.clone();
        let done = tokio::task::spawn_blocking(move || command(&moves(&url, more)));
        done.await.unwrap()
    };
    // On a busy machine the move may have to be retried.
    let told = wait_until("it is moved", PATIENCE, async || {
        let (code, told, _) = run(&["--json"]).await;
        (code == Some(0)).then_some(told)
    })
    .await;
    assert_eq!(told, standing(&service).await);
    assert_eq!(told["cell"], 1);
    let wary = json!({"policy": {"fourEyes": {"restores": true}}});
    let tenant = format!("/admin/tenants/{OTHER}");
    service.admin("PATCH", &tenant, &wary).await.is(200);
    let (code, told, why) = run(&["--json"]).await;
    assert_eq!(
        (code, &told["action"]),
        (Some(0), &json!("moveRealm")),
        "{why}"
    );
}
