//! How many connections are allowed.

use std::time::Duration;

use caudal_http::body::Deadlines;
use caudal_http::wire::ConnectionLimits;
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
async fn at_the_limit_a_connection_waits_until_those_that_say_nothing_have_ended() {
    let service = TestService::with(Setup {
        limits: ConnectionLimits {
            connections: 40,
            per_peer: 0,
            proxies: Vec::new(),
        },
        deadlines: Deadlines {
            head: Duration::from_millis(500),
            ..Deadlines::default()
        },
        ..Setup::default()
    })
    .await;
    service.a.get("/v1/accounts").await.is(200);
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(Line::to(&service.a).await);
    }
    // On a connection of its own, behind all of these.
    Line::to(&service.a).await.lives().await;
    silent[0].closed().await;
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
