//! Clients that do not read their answers.

use std::io::ErrorKind;
use std::time::Duration;

use caudal_http::body::Deadlines;
use tokio::io::AsyncReadExt as _;

use super::Line;
use crate::support::{SOON, Setup, TestService, wait_until};

/// A request for the largest answer that needs no key.
const DOCUMENT: &str = "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n";

/// Waits until the other side has reset the connection, without reading.
async fn reset(line: &Line) {
    wait_until("the connection is cut off", SOON, async || {
        let failed = line.stream.take_error().unwrap().map(|why| why.kind());
        // A reset is noticed only when something is sent.
        let sent = line.stream.try_write(b"\r\n").map_err(|why| why.kind());
        let reset = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
        let seen = failed.or(sent.err()).filter(|why| reset.contains(why));
        seen.map(|_| ())
    })
    .await;
}

#[actix_web::test]
async fn clients_that_read_nothing_are_disconnected() {
    let service = TestService::with(Setup {
        answer: Duration::from_secs(1),
        ..Setup::default()
    })
    .await;
    let mut deaf = Vec::new();
    for _ in 0..20 {
        let mut line = Line::to(&service.a).await;
        // More than the kernels of both sides buffer.
        line.send(DOCUMENT.repeat(16)).await;
        deaf.push(line);
    }
    service.a.get("/livez").await.is(200);
    for line in &deaf {
        reset(line).await;
    }
    service.a.get("/livez").await.is(200);
}

#[actix_web::test]
async fn slow_readers_get_the_whole_response() {
    let service = TestService::start().await;
    let whole = service.a.get("/openapi.json").await.is(200).text.len();
    let mut line = Line::to(&service.a).await;
    line.send(DOCUMENT.repeat(4)).await;
    let (mut got, mut chunk) = (0, vec![0; 1024]);
    while got < 4 * whole {
        let read = tokio::time::timeout(SOON, line.stream.read(&mut chunk)).await;
        let n = read.unwrap().unwrap();
        assert!(n > 0, "it ended after {got} bytes");
        got += n;
    }
}

#[actix_web::test]
async fn a_stop_does_not_wait_for_a_body_that_has_not_arrived() {
    let mut service = TestService::with(Setup {
        grace: SOON * 100,
        deadlines: Deadlines {
            body: SOON * 100,
            ..Deadlines::default()
        },
        ..Setup::default()
    })
    .await;
    service.a.in_and_out().await;
    let (cvu, key) = (service.a.cvu().await, service.a.key.clone().unwrap());
    let mut slow = Vec::new();
    for (path, body) in [
        (
            format!("accounts/{cvu}/comprobantes"),
            r#"{"voucherTypeCode":"IN","amount":"1.00","idExterno":"slow"}"#.to_owned(),
        ),
        (
            "comprobantes/batch".to_owned(),
            format!(
                r#"{{"items":[{{"cvu":"{cvu}","voucherTypeCode":"IN","amount":"1.00","idExterno":"slow-2"}}]}}"#
            ),
        ),
    ] {
        let mut line = Line::to(&service.a).await;
        let (sent, kept) = body.split_at(body.len() - 1);
        line.send(format!(
            "POST /v1/{path} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\nexpect: 100-continue\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{sent}",
            body.len()
        ))
        .await;
        // The handler waits for the rest of the body.
        assert_eq!(line.answer().await.unwrap().status, 100);
        slow.push((line, kept.to_owned()));
    }
    let stopped = tokio::time::timeout(SOON, service.end(true));
    stopped.await.expect("it stops without waiting for bodies");
    for (line, kept) in &mut slow {
        let refused = line.answer().await.unwrap();
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (503, "shutting_down")
        );
        line.send(&kept).await;
    }
    service.begin().await;
    assert_eq!(service.a.available(&cvu).await, "0.00");
}

#[actix_web::test]
async fn a_stop_does_not_wait_for_those_who_do_not_read() {
    let mut service = TestService::with(Setup {
        grace: SOON * 100,
        ..Setup::default()
    })
    .await;
    let mut deaf = Vec::new();
    for n in 0..8 {
        let mut line = Line::to(&service.a).await;
        line.send(DOCUMENT.repeat(16)).await;
        // The answer is on its way.
        line.stream.readable().await.unwrap();
        deaf.push(line);
        // Also clients that have not finished a request, or that want nothing more.
        let mut other = Line::to(&service.a).await;
        match n % 2 {
            0 => other.send("GET /livez HTTP/1.1\r\nx").await,
            _ => other.lives().await,
        }
        deaf.push(other);
    }
    let stopped = tokio::time::timeout(SOON, service.end(true));
    stopped
        .await
        .expect("it stops without waiting for its grace");
}
