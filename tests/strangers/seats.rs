//! How many connections are allowed, and which ones give way.

use caudal::http::wire::ConnectionLimits;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpSocket;

use super::{HELLO, Line};
use crate::support::{Setup, TestService};

async fn with(connections: usize, per_peer: usize) -> TestService {
    TestService::with(Setup {
        limits: ConnectionLimits {
            connections,
            per_peer,
            proxies: Vec::new(),
        },
        ..Setup::default()
    })
    .await
}

#[actix_web::test]
async fn those_without_a_request_give_way() {
    let service = with(40, 0).await;
    let key = service.a.key.as_deref().unwrap();
    // One client follows the events all the time.
    let mut stream = Line::to(&service.a).await;
    stream
        .send(format!(
            "GET /v1/events/stream HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n\r\n"
        ))
        .await;
    stream.stream.readable().await.unwrap();
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let mut idle = Vec::new();
    for n in 0..400 {
        let mut line = Line::to(&service.a).await;
        match n % 3 {
            0 => {}
            1 => line.send("GET /livez HTTP/1.1\r\n").await,
            _ => line.send(HELLO).await,
        }
        idle.push(line);
        if n % 20 == 0 {
            service.a.credit(&cvu, "1.00").await;
            // On a connection of its own, like any new client.
            Line::to(&service.a).await.lives().await;
        }
    }
    assert_eq!(service.a.available(&cvu).await, "20.00");
    // The first idle connections are closed.
    idle[0].closed().await;
    let mut reply = Vec::new();
    while !String::from_utf8_lossy(&reply).contains("voucher.created") {
        let mut chunk = [0; 4096];
        let n = stream.stream.read(&mut chunk).await.unwrap();
        assert!(
            n > 0,
            "the stream ended: {}",
            String::from_utf8_lossy(&reply)
        );
        reply.extend_from_slice(&chunk[..n]);
    }
}

#[actix_web::test]
async fn one_address_has_its_bound_and_others_are_served() {
    let service = with(100, 6).await;
    let mut lines = Vec::new();
    // The tests' own client has one or two connections already.
    for _ in 0..20 {
        let mut line = Line::to(&service.a).await;
        line.send(HELLO).await;
        lines.push((line.answer().await, line));
    }
    let served = lines.iter().filter(|(answer, _)| answer.is_some()).count();
    assert!((1..=6).contains(&served), "{served}");
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.9:0".parse().unwrap()).unwrap();
    let addr = service.a.url.trim_start_matches("http://").parse().unwrap();
    let mut other = Line {
        stream: socket.connect(addr).await.unwrap(),
        got: Vec::new(),
    };
    other.lives().await;
    // A connection that ends makes room.
    drop(lines);
    crate::support::wait_until("there is room again", crate::support::SOON, async || {
        let mut line = Line::to(&service.a).await;
        line.send(HELLO).await;
        line.answer().await.map(|_| ())
    })
    .await;
}
