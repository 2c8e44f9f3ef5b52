//! The gateway against servers that no bank would run.

use std::io::{Read, Write};
use std::net::TcpListener;

use super::fake::canned;
use super::*;

#[actix_web::test]
async fn answers_that_make_no_sense_are_doubt() {
    let cvu = |psp, client| Cvu::compose(psp, client).unwrap().to_string();
    let created = |cvu: &str| json!({"cvu": cvu, "label": "", "reactivated": false}).to_string();
    let long = json!({"cvu": cvu(999, 1), "x": "y".repeat(70_000)}).to_string();
    for (status, body, attempts) in [
        ("200 OK", created("0000999100000000000018"), 1),
        ("200 OK", created("2850590940090418135201"), 1),
        ("200 OK", created(&cvu(999, 2)), 1),
        ("200 OK", "{}".into(), 1),
        ("200 OK", json!({"cvu": 5}).to_string(), 1),
        ("200 OK", "[]".into(), 1),
        ("200 OK", String::new(), 1),
        ("200 OK", long, 1),
        (
            "302 Found\r\nlocation: http://127.0.0.1:1/",
            String::new(),
            1,
        ),
        ("403 Forbidden", json!({"code": "GE403"}).to_string(), 1),
        ("429 Too Many Requests", String::new(), 3),
        (
            "503 Service Unavailable",
            json!({"code": "GE503"}).to_string(),
            3,
        ),
    ] {
        let (url, _requests) = canned(status, body.clone());
        let reply = gateway(&url).create_cvu(1, &holder(), ID).await;
        let code: u16 = status.split(' ').next().unwrap().parse().unwrap();
        let Err(BankError::Failed {
            status,
            body: shown,
        }) = &reply.result
        else {
            panic!("{status} {body}: {reply:?}");
        };
        assert_eq!(*status, Some(code));
        assert!(serde_json::from_str::<Value>(shown).unwrap().is_object());
        assert_eq!(reply.calls.len(), 1 + attempts, "{body}");
    }
}

#[actix_web::test]
async fn refusals_are_shown_as_json_within_a_limit() {
    let long = json!({"code": "VW013", "message": "m".repeat(9_000)}).to_string();
    let (url, _requests) = canned("409 Conflict", long);
    let reply = gateway(&url).create_cvu(1, &holder(), ID).await;
    assert!(reply.calls.iter().all(|call| call.body.len() <= 2_048));
    let Err(BankError::Refused(refusal)) = reply.result else {
        panic!("{reply:?}");
    };
    assert!(
        serde_json::from_str::<Value>(&refusal.body)
            .unwrap()
            .is_object()
    );
    assert!(refusal.body.len() <= 4_096);
    assert_eq!(wire::code(&refusal.body), "VW013");
    // An answer without a code is no refusal of the bank.
    for (status, body) in [
        ("400 Bad Request", "<html>no</html>"),
        ("404 Not Found", ""),
    ] {
        let (url, _requests) = canned(status, body.into());
        let reply = gateway(&url).create_cvu(1, &holder(), ID).await;
        assert!(
            matches!(&reply.result, Err(BankError::Failed { body, .. }) if body == "{}"),
            "{reply:?}"
        );
    }
}

#[actix_web::test]
async fn what_is_sent() {
    let cvu = Cvu::compose(999, 1).unwrap();
    let (url, requests) = canned("200 OK", json!({"cvu": cvu}).to_string());
    let reply = gateway(&url).create_cvu(1, &holder(), ID).await;
    assert_eq!(reply.result, Ok(cvu));
    let login = requests.recv().unwrap();
    assert!(
        login.starts_with("POST /base/v1/login/jwt HTTP/1.1"),
        "{login}"
    );
    let created = requests.recv().unwrap();
    let path = format!("POST /base/v1/banks/322/accounts/{COLLECTOR}/owner/wallet/cvu HTTP/1.1");
    assert!(created.starts_with(&path), "{created}");
    for request in [&login, &created] {
        assert!(request.to_lowercase().contains("x-request-id: req-1"));
    }
    assert!(created.contains("authorization: JWT t0k"));
    let body: Value = serde_json::from_str(created.lines().last().unwrap()).unwrap();
    let sent =
        json!({"client_id": 1, "cuit": "20055361682", "name": "Ana OHiggins", "currency": "ARS"});
    assert_eq!(body, sent);
}

#[actix_web::test]
async fn an_answer_that_never_ends_is_no_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let head = b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{";
            // An answer before the request would be another case.
            assert!(stream.read(&mut [0; 4_096]).unwrap() > 0);
            stream.write_all(head).ok();
            open.push(stream);
        }
    });
    let reply = hasty(&url).create_cvu(1, &holder(), ID).await;
    assert_eq!(reply.result, Err(BankError::TimedOut));
    assert_eq!(operations(&reply), [("login", Some(200)); 3]);
}

#[actix_web::test]
async fn an_unreachable_service_is_reported_immediately() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let reply = gateway(&format!("http://{free}"))
        .create_cvu(1, &holder(), ID)
        .await;
    let (status, body) = (None, "{}".to_owned());
    assert_eq!(reply.result, Err(BankError::Failed { status, body }));
    assert_eq!(operations(&reply), [("login", None); 3]);
    assert_eq!(reply.calls[0].body, "(no connection)");
}
