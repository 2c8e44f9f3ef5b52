//! The form of requests on the wire: heads, line ends, chunks.

use std::time::Duration;

use caudal_http::body::Deadlines;

use super::{HELLO, Line, endless};
use crate::support::{SOON, Setup, TestService, wait_until};

/// Deadlines that a test can wait for.
const HASTY: Deadlines = Deadlines {
    head: Duration::from_millis(300),
    body: Duration::from_secs(10),
};

/// A posting in chunks.
fn chunked(service: &TestService, cvu: &str, id: &str, extension: &str) -> String {
    let key = service.a.key.as_deref().unwrap();
    let body = format!(r#"{{"voucherTypeCode":"IN","amount":"1.00","idExterno":"{id}"}}"#);
    format!(
        "POST /v1/accounts/{cvu}/comprobantes HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n\
         content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n\
         {:x}{extension}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    )
}

#[actix_web::test]
async fn a_head_of_16_kib_is_the_longest() {
    let service = TestService::start().await;
    let head = |length: usize| {
        let rest = "GET /livez HTTP/1.1\r\nhost: x\r\nx: \r\n\r\n".len();
        let fill = "y".repeat(length - rest);
        format!("GET /livez HTTP/1.1\r\nhost: x\r\nx: {fill}\r\n\r\n")
    };
    let mut line = Line::to(&service.a).await;
    line.send(head(16 * 1024)).await;
    assert_eq!(line.answer().await.unwrap().status, 200);
    // The requests before it are answered first.
    line.send(format!("{HELLO}{HELLO}{}", head(120_000))).await;
    let answers = [
        line.answer().await,
        line.answer().await,
        line.answer().await,
    ];
    let statuses = answers
        .each_ref()
        .map(|answer| answer.as_ref().unwrap().status);
    assert_eq!(statuses, [200, 200, 431]);
    assert_eq!(answers[2].as_ref().unwrap().code(), "head_too_large");
    assert!(line.closed().await.is_empty());
    // A head without an end is not waited for.
    for sent in [17_000, 120_000, 1_000_000] {
        let mut line = Line::to(&service.a).await;
        line.send(endless(sent)).await;
        assert_eq!(line.answer().await.unwrap().status, 431, "{sent}");
    }
    Line::to(&service.a).await.lives().await;
}

#[actix_web::test]
async fn lines_of_a_head_end_in_cr_lf() {
    let service = TestService::start().await;
    let bare = HELLO.replace("\r\n", "\n");
    for wrong in [
        bare.clone(),
        HELLO.replacen("\r\n", "\n", 1),
        HELLO.replace("x\r\n\r\n", "x\n\r\n"),
        HELLO.replace("x\r\n\r\n", "x\r\n\n"),
        format!("\n{HELLO}"),
    ] {
        let mut line = Line::to(&service.a).await;
        line.send(&wrong).await;
        let refused = line.answer().await.unwrap();
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (400, "malformed_request")
        );
        assert!(line.closed().await.is_empty(), "{wrong:?}");
    }
    // The second request on a connection is checked like the first.
    let mut line = Line::to(&service.a).await;
    line.send(format!("{HELLO}{bare}")).await;
    assert_eq!(line.answer().await.unwrap().status, 200);
    assert_eq!(line.answer().await.unwrap().status, 400);
    // Bodies may have any line ends.
    let key = service.a.key.as_deref().unwrap();
    let mut line = Line::to(&service.a).await;
    let body = "{\n\n\"code\": \"LF\",\n\"name\": \"Line\", \"sense\": \"credit\"}\n\n";
    line.send(format!(
        "POST /v1/voucher-types HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}{HELLO}",
        body.len()
    ))
    .await;
    assert_eq!(line.answer().await.unwrap().status, 201);
    assert_eq!(line.answer().await.unwrap().status, 200);
}

#[actix_web::test]
async fn a_head_that_is_no_http_gets_an_error_like_any_other() {
    let service = TestService::start().await;
    let post = |lengths: &str| format!("POST /v1/accounts HTTP/1.1\r\nhost: x\r\n{lengths}\r\n");
    let wrong: [&[u8]; 14] = [
        b"GET /v1/ac counts HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET /v1/acc\x01ounts HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET /v1/accounts HTTP/1.1\r\nhost: x\r\nx: a\x00b\r\n\r\n",
        b"GET /v1/accounts HTTP/1.1\r\nhost: x\r\nno colon\r\n\r\n",
        b"GET /v1/accounts HTTP/9.9\r\nhost: x\r\n\r\n",
        b"GET /v1/accounts HTTP/1.1\r\n\r\n",
        b"GET http://x:y:z/ HTTP/1.1\r\nhost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        // The beginning of TLS, without a line end.
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        &post("content-length: 1\r\ncontent-length: 2\r\n").into_bytes(),
        &post("content-length: +1\r\n").into_bytes(),
        &post("content-length: 5\r\ntransfer-encoding: chunked\r\n").into_bytes(),
        &post("transfer-encoding: gzip\r\n").into_bytes(),
        &post("transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n").into_bytes(),
    ];
    for wrong in wrong {
        // The same on a new connection and after other requests.
        for before in [0, 2] {
            let mut line = Line::to(&service.a).await;
            line.send([HELLO.repeat(before).as_bytes(), wrong].concat())
                .await;
            for _ in 0..before {
                assert_eq!(line.answer().await.unwrap().status, 200);
            }
            let shown = String::from_utf8_lossy(wrong);
            let refused = line.answer().await.unwrap();
            assert_eq!(
                (refused.status, refused.code().as_str()),
                (400, "malformed_request"),
                "{shown:?}"
            );
            let id = refused.body_text("requestId");
            assert!(
                refused.head.contains(&format!("x-request-id: {id}")),
                "{refused:?}"
            );
            assert!(line.closed().await.is_empty(), "{shown:?}");
        }
    }
    // A head with too many fields is too large.
    let fields = |many: usize| {
        let fields: String = (0..many).map(|n| format!("x{n}: y\r\n")).collect();
        format!("GET /livez HTTP/1.1\r\nhost: x\r\n{fields}\r\n")
    };
    let mut line = Line::to(&service.a).await;
    line.send(fields(95)).await;
    assert_eq!(line.answer().await.unwrap().status, 200);
    line.send(fields(96)).await;
    let refused = line.answer().await.unwrap();
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (431, "head_too_large")
    );
    Line::to(&service.a).await.lives().await;
}

#[actix_web::test]
async fn chunks_have_short_lines() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let mut line = Line::to(&service.a).await;
    for (id, extension) in [("c-1", ""), ("c-2", ";a=b"), ("c-3", ";name=\"value\"")] {
        line.send(chunked(&service, &cvu, id, extension)).await;
        assert_eq!(line.answer().await.unwrap().status, 201, "{extension}");
    }
    for (id, length) in [("c-4", 200), ("c-5", 64 * 1024)] {
        let mut line = Line::to(&service.a).await;
        let extension = format!(";a={}", "b".repeat(length));
        line.send(chunked(&service, &cvu, id, &extension)).await;
        let refused = line.answer().await.unwrap();
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (400, "malformed_body")
        );
        assert!(line.closed().await.is_empty());
    }
    assert_eq!(service.a.available(&cvu).await, "3.00");
}

#[actix_web::test]
async fn a_head_has_its_time_also_on_a_connection_that_has_served() {
    let service = TestService::with(Setup {
        deadlines: HASTY,
        ..Setup::default()
    })
    .await;
    let half = endless(1);
    for served in [0, 1, 3] {
        // If the test sends only after the deadline, it gets no answer, and tries again.
        wait_until("half a head is refused", SOON, async || {
            let mut line = Line::to(&service.a).await;
            for _ in 0..served {
                line.send(HELLO).await;
                line.answer().await.filter(|answer| answer.status == 200)?;
            }
            line.send(&half).await;
            let refused = line.answer().await?;
            assert_eq!(
                (refused.status, refused.code().as_str()),
                (408, "head_too_slow")
            );
            assert!(line.closed().await.is_empty());
            Some(())
        })
        .await;
    }
    // A client that says nothing gets nothing.
    assert!(Line::to(&service.a).await.closed().await.is_empty());
}
