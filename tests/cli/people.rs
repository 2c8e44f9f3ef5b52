//! People and the audit log from the command line.

use caudal_service::TEST_ADMIN_KEY;

use super::{caudal, said};
use crate::support::{TestService, Value, json};

#[actix_web::test]
async fn a_person_is_let_in_acts_with_a_reason_and_stands_in_the_log() {
    let service = TestService::start().await;
    let admin = service.admin_client().url;
    let run = |credential: &str, arguments: &[&str]| {
        let mut command = caudal(arguments);
        let command = command.env("CAUDAL_ADMIN_URL", &admin);
        let command = command.env("CAUDAL_ADMIN_KEY", credential);
        said(&command.output().unwrap())
    };
    let add = ["admin", "people", "add", "ana.perez", "--role", "operator"];
    let (code, out, err) = run(TEST_ADMIN_KEY, &add);
    assert_eq!(code, Some(0), "{err}");
    let ana = out.lines().next().unwrap().to_owned();
    assert!(ana.starts_with("cdl_op_"), "{out}");
    // Without a reason the tenant is not created; with one it is.
    let create = ["tenant", "create", "Pagos del Sur"];
    let (code, _, err) = run(&ana, &create);
    assert!(code == Some(1) && err.contains("X-Reason"), "{err}");
    let why = ["--reason", "contrato de la señora Ñandú"];
    let (code, _, err) = run(&ana, &[&create[..], &why].concat());
    assert_eq!(code, Some(0), "{err}");
    // An operator may not add people, nor read the log.
    let other = ["admin", "people", "add", "eva", "--role", "approver"];
    let (code, _, err) = run(&ana, &[&other[..], &why].concat());
    assert!(code == Some(1) && err.contains("root"), "{err}");
    let (code, _, err) = run(&ana, &["audit"]);
    assert!(code == Some(1) && err.contains("auditor"), "{err}");
    let (code, out, err) = run(
        TEST_ADMIN_KEY,
        &["audit", "--operator", "ana.perez", "--json"],
    );
    assert_eq!(code, Some(0), "{err}");
    let rows: Vec<Value> = serde_json::from_str(&out).unwrap();
    let said: Vec<_> = rows
        .iter()
        .map(|row| row["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["denied", "denied", "done", "begun"]);
    assert_eq!(rows[3]["reason"], "contrato de la señora Ñandú");
    let (code, out, _) = run(
        TEST_ADMIN_KEY,
        &["audit", "--operator", "ana.perez", "--limit", "1"],
    );
    assert!(
        code == Some(0) && out.contains("denied") && !out.contains("begun"),
        "{out}"
    );
    let revoke = ["admin", "people", "revoke", "ana.perez"];
    let (code, _, err) = run(TEST_ADMIN_KEY, &[&revoke[..], &why].concat());
    assert_eq!(code, Some(0), "{err}");
    let (code, _, err) = run(&ana, &["admin", "people", "list"]);
    assert!(code == Some(1) && err.contains("x-admin-key"), "{err}");
}

#[actix_web::test]
async fn a_second_person_approves_from_the_command_line() {
    let service = TestService::start().await;
    let admin = service.admin_client().url;
    let run = |credential: &str, arguments: &[&str]| {
        let mut command = caudal(arguments);
        let command = command.env("CAUDAL_ADMIN_URL", &admin);
        let command = command.env("CAUDAL_ADMIN_KEY", credential);
        let command = command.env("CAUDAL_REASON", "seen on paper");
        said(&command.output().unwrap())
    };
    let done = |credential: &str, arguments: &[&str]| {
        let (code, out, err) = run(credential, arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {err}");
        out
    };
    let eva = ["admin", "people", "add", "eva", "--role", "approver"];
    let eva = done(TEST_ADMIN_KEY, &eva);
    let eva = eva.lines().next().unwrap();
    let change = async |body: Value| {
        let asked = service
            .admin_client()
            .call("PATCH", "/admin/tenants/tnt_first");
        let asked = asked.json(&body).header("x-admin-key", TEST_ADMIN_KEY);
        asked.header("x-reason", "a larger client").await
    };
    let eyes = json!({"fourEyes": {"limitRaises": true}});
    let wary = json!({"limits": {"dailyAmount": "100.00"}, "policy": eyes});
    change(wary).await.is(200);
    for _ in 0..2 {
        let raise = json!({"limits": {"dailyAmount": "99000.00"}});
        change(raise).await.is(202);
    }
    let waiting = done(eva, &["approvals", "list"]);
    assert_eq!(waiting.matches("waiting").count(), 2, "{waiting}");
    assert!(done(eva, &["approvals", "show", "1"]).contains("99,000.00"));
    // The configured key belongs to nobody, so it cannot be the second person.
    let (code, _, err) = run(TEST_ADMIN_KEY, &["approvals", "approve", "1"]);
    assert!(code == Some(1) && err.contains("approver"), "{err}");
    assert!(done(eva, &["approvals", "approve", "1"]).contains("done"));
    assert!(done(eva, &["approvals", "reject", "2"]).contains("rejected"));
    let (code, _, err) = run(eva, &["approvals", "reject", "3"]);
    assert_eq!(code, Some(1), "{err}");
    // A live key waits, too; the approver gets it.
    let issue = ["key", "issue", "tnt_first", "--mode", "live"];
    let asked = done(TEST_ADMIN_KEY, &issue);
    assert!(asked.contains("approval 3 waits") && !asked.contains("cdl_"));
    let approved = done(eva, &["approvals", "approve", "3"]);
    assert!(approved.contains("cdl_live_"), "{approved}");
    // The audit log has both the former and the new role.
    done(
        TEST_ADMIN_KEY,
        &["admin", "people", "role", "eva", "viewer"],
    );
    let log = done(
        TEST_ADMIN_KEY,
        &["audit", "--action", "changePerson", "--json"],
    );
    let rows: Vec<Value> = serde_json::from_str(&log).unwrap();
    assert_eq!(rows[0]["reason"], "seen on paper");
    let change = json!([{"field": "role", "before": "approver", "after": "viewer"}]);
    assert_eq!(rows[0]["changes"], change);
    assert_eq!(
        (&rows[0]["outcome"], &rows[0]["subject"]),
        (&json!("done"), &json!("eva"))
    );
}

#[test]
fn a_command_that_asks_too_fast_waits_and_goes_on() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let admin = format!("http://{}", listener.local_addr().unwrap());
    let answers = [
        ("429 Too Many Requests\r\nretry-after: 0", json!({})),
        ("200 OK", json!({"items": [], "nextCursor": null})),
    ];
    let service = std::thread::spawn(move || {
        for (head, body) in answers {
            let (mut connection, _) = listener.accept().unwrap();
            let lines = BufReader::new(connection.try_clone().unwrap()).lines();
            lines.map(Result::unwrap).find(String::is_empty);
            let (body, length) = (body.to_string(), body.to_string().len());
            let close = "connection: close\r\ncontent-type: application/json";
            let answer =
                format!("HTTP/1.1 {head}\r\n{close}\r\ncontent-length: {length}\r\n\r\n{body}");
            connection.write_all(answer.as_bytes()).unwrap();
        }
    });
    let mut command = caudal(&["audit", "--admin-url", &admin, "--json"]);
    let command = command.env("CAUDAL_ADMIN_KEY", TEST_ADMIN_KEY);
    let (code, out, err) = said(&command.output().unwrap());
    assert_eq!((code, out.as_str()), (Some(0), "[]"), "{err}");
    service.join().unwrap();
}
