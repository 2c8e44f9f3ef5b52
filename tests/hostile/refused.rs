//! Clients that send a whole large body before they read: every refusal reaches them, and one beyond the bound of what
//! is read ends with the connection.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::stage::{Stage, read};
use crate::in_flight::REALM;
use crate::support::{Client, SOON};

const BATCH: &str = "POST /v1/comprobantes/batch";
/// The size of a batch of 5,000 items.
const LARGE: usize = 1_000_000;

/// A request whose body has this many bytes and is never looked at.
fn head(line: &str, key: &str, kind: &str, length: &str) -> String {
    format!(
        "{line} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\ncontent-type: {kind}\r\n{length}\r\n\r\n"
    )
}

/// A connection whose system takes little of a body before the service has read it, as on a slow line.
async fn connected(client: &Client) -> TcpStream {
    let address = client.url.trim_start_matches("http://");
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(16 * 1024).unwrap();
    socket.connect(address.parse().unwrap()).await.unwrap()
}

/// Sends all of a request before it reads; returns the status and the code of the answer.
async fn sent(client: &Client, head: &str, body: &[u8]) -> (u16, String) {
    let mut stream = connected(client).await;
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
        .write_all(body)
        .await
        .unwrap_or_else(|why| panic!("{head}: the body is not taken: {why}"));
    let answer = read(&mut stream).await;
    let answer = answer.unwrap_or_else(|| panic!("{head}: no answer"));
    let code = answer.error()["code"].as_str().unwrap().to_owned();
    (answer.status, code)
}

#[actix_web::test]
async fn a_refusal_reaches_a_client_that_sends_its_large_body_first() {
    let stage = Stage::new().await;
    let a = &stage.service.a;
    let key = a.key.clone().unwrap();
    let json = "application/json";
    let sized = format!("content-length: {LARGE}");
    let body = vec![b' '; LARGE];
    let chunk = format!("2000\r\n{}\r\n", " ".repeat(0x2000));
    let chunks = format!("{}0\r\n\r\n", chunk.repeat(LARGE / 0x2000));
    let too_large = "POST /v1/accounts";
    for (head, code) in [
        (head(BATCH, "wrong", json, &sized), (401, "unauthorized")),
        (
            head(BATCH, &key, "text/plain", &sized),
            (415, "unsupported_media_type"),
        ),
        (
            head("POST /v1/nothing", &key, json, &sized),
            (404, "route_not_found"),
        ),
        (head(too_large, &key, json, &sized), (413, "body_too_large")),
    ] {
        let (status, found) = sent(a, &head, &body).await;
        assert_eq!((status, found.as_str()), code, "{head}");
    }
    let chunked = head(BATCH, "wrong", json, "transfer-encoding: chunked");
    let refused = sent(a, &chunked, chunks.as_bytes()).await;
    assert_eq!(refused, (401, "unauthorized".to_owned()));
    let flights = stage.service.engine().in_flight();
    let held: Vec<_> = std::iter::from_fn(|| flights.admit(REALM).ok()).collect();
    let refused = sent(a, &head(BATCH, &key, json, &sized), &body).await;
    assert_eq!(refused, (429, "too_many_in_flight".to_owned()));
    drop(held);
    stage.lives().await;
}

#[actix_web::test]
async fn a_refusal_of_a_small_body_leaves_the_connection_usable() {
    let stage = Stage::new().await;
    let mut stream = connected(&stage.service.a).await;
    for _ in 0..2 {
        let head = head(BATCH, "wrong", "application/json", "content-length: 2");
        stream
            .write_all(format!("{head}{{}}").as_bytes())
            .await
            .unwrap();
        let answer = read(&mut stream).await.expect("the connection is open");
        assert_eq!(answer.status, 401);
        let head = answer.head.to_ascii_lowercase();
        assert!(!head.contains("connection: close"), "{head}");
    }
    stage.lives().await;
}

#[actix_web::test]
async fn a_refused_body_without_an_end_is_not_read_for_ever() {
    let stage = Stage::new().await;
    let json = "application/json";
    let chunk = format!("2000\r\n{}\r\n", " ".repeat(0x2000));
    for (length, piece) in [
        ("content-length: 9000000000", " ".repeat(0x2000)),
        ("transfer-encoding: chunked", chunk),
    ] {
        // One client never stops sending, and the other one never goes on.
        for goes_on in [true, false] {
            let mut stream = connected(&stage.service.a).await;
            let head = head(BATCH, "wrong", json, length);
            stream.write_all(head.as_bytes()).await.unwrap();
            let (mut from, mut to) = stream.split();
            let sends = async {
                while goes_on && to.write_all(piece.as_bytes()).await.is_ok() {}
                if !goes_on {
                    std::future::pending::<()>().await;
                }
            };
            let reads = async {
                let mut got = Vec::new();
                from.read_to_end(&mut got).await.ok();
            };
            let ends = async {
                tokio::select! { () = sends => (), () = reads => () }
            };
            tokio::time::timeout(SOON, ends)
                .await
                .unwrap_or_else(|_| panic!("{length}, goes on {goes_on}: it is read for ever"));
        }
    }
    stage.lives().await;
}
