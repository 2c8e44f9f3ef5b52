//! The stream: where it begins, how it stays alive, and how it ends.

use std::time::Duration;

use caudal_http::streams::StreamOptions;
use tokio::net::TcpSocket;

use super::sse::{self, Stream};
use super::{FEED, all};
use crate::support::client::fresh;
use crate::support::service::TENANT;
use crate::support::{Client, SOON, Setup, TestService, Value, json, named, wait_until};

const PATH: &str = "/v1/events/stream";

/// A service whose streams are silent for at most so long, and whose realms may have so many of
/// them.
async fn paced(millis: u64, streams_max: usize) -> TestService {
    let heartbeat = Duration::from_millis(millis);
    let streams = StreamOptions {
        streams_max,
        heartbeat,
    };
    TestService::with(Setup {
        streams,
        ..Setup::default()
    })
    .await
}

fn id(event: &Value) -> &str {
    event["id"].as_str().unwrap()
}

/// The next events of a stream, this many of them.
async fn next(stream: &mut Stream, count: usize) -> Vec<Value> {
    let mut reply = Vec::new();
    for _ in 0..count {
        reply.push(stream.next().await.unwrap());
    }
    reply
}

#[actix_web::test]
async fn a_stream_begins_where_it_is_asked_to_and_tells_what_the_feed_tells() {
    let service = TestService::start().await;
    let a = &service.a;
    let mut first = Stream::open(a, "", "").await.begun().await;
    for header in [
        "content-type: text/event-stream\r\n",
        "cache-control: no-store\r\n",
        "x-accel-buffering: no\r\n",
        "x-content-type-options: nosniff\r\n",
    ] {
        assert!(first.head.contains(header), "{header} in {}", first.head);
    }
    assert_eq!(first.sse.retry, Some(2000));
    // Even before anything has happened there is an id to reconnect with.
    let beginning = first.sse.last_id.clone();
    a.in_and_out().await;
    let cvu = a.cvu().await;
    a.credit(&cvu, "5.00").await;
    let events = all(a, 200, "").await;
    assert_eq!(next(&mut first, 4).await, events);
    drop(first);
    let after = |n: usize| format!("?after={}", id(&events[n]));
    let from_now = Stream::open(a, "", "").await.begun().await;
    assert_eq!(from_now.sse.last_id, id(&events[3]));
    // By header or by parameter; if both are there, the header is newer, and an empty one does not
    // count.
    let mut streams = vec![
        (0, Stream::open(a, "", &beginning).await),
        (2, Stream::open(a, "", id(&events[1])).await),
        (1, Stream::open(a, &after(0), "").await),
        (3, Stream::open(a, &after(0), id(&events[2])).await),
        (2, Stream::open(a, &after(1), " ").await),
        (4, from_now),
    ];
    a.debit(&cvu, "1.00").await;
    let events = all(a, 200, "").await;
    for (begins, stream) in &mut streams {
        let reply = next(stream, events.len() - *begins).await;
        assert_eq!(reply, events[*begins..], "after {begins}");
        assert_eq!(stream.sse.last_id, id(&events[4]));
    }
}

#[actix_web::test]
async fn unauthorised_or_invalid_stream_requests_are_refused() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    service.b.in_and_out().await;
    let wrong = service
        .a
        .key
        .as_deref()
        .unwrap()
        .replace("cdl_test_", "cdl_live_");
    for key in [None, Some("x"), Some(wrong.as_str())] {
        let refused = service.a.with_key(key).get(PATH).await;
        refused.refused(401, "unauthorized");
    }
    let theirs = all(&service.b, 1, "").await;
    let mine = all(&service.a, 1, "").await;
    let strange = id(&theirs[0]);
    for (last, why) in [
        (strange, "is not one of your events"),
        ("1", "is not one of your events"),
        ("evt_", "is not one of your events"),
        ("évt", "must be sent once, with the id of an event"),
    ] {
        let call = service.a.get(PATH).header("last-event-id", last);
        let refused = call.await.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), ["Last-Event-ID"]);
        assert_eq!(refused["errors"][0]["message"], why);
    }
    let (one, other) = (id(&mine[0]), id(&mine[1]));
    let call = service.a.get(PATH).header("last-event-id", one);
    let refused = call.header("last-event-id", other).await;
    let refused = refused.refused(400, "invalid_request");
    assert_eq!(named(&refused.json), ["Last-Event-ID"]);
    let post = service.a.post(PATH, &json!({})).await;
    post.refused(405, "method_not_allowed");
}

#[actix_web::test]
async fn a_few_types_are_listed_without_scanning_the_rest() {
    let service = paced(100, 4).await;
    let a = &service.a;
    let mut stream = Stream::open(a, "?types=hold.*,account.closed", "").await;
    a.in_and_out().await;
    let cvu = a.cvu().await;
    a.credit(&cvu, "5.00").await;
    let hold = a.hold(&cvu, "1.00").await;
    a.step(&hold, "release", "1.00").await.is(200);
    a.delete(&format!("/v1/accounts/{cvu}")).await.is(200);
    let right = all(a, 200, "&types=hold.*,account.closed").await;
    assert_eq!(right.len(), 3);
    assert_eq!(next(&mut stream, 3).await, right);
    // The filter excludes this event, but its id is sent with the next heartbeat.
    let last = a.create_type("LAST", "credit").await;
    assert_eq!(last["code"], "LAST");
    let events = all(a, 200, "").await;
    while stream.sse.last_id != id(events.last().unwrap()) {
        let beats = stream.sse.comments.len();
        stream.beats(beats + 1).await;
    }
    assert_eq!(stream.sse.messages.len(), 3);
}

#[actix_web::test]
async fn a_stream_shows_that_it_lives_in_silence_and_in_what_is_not_wanted() {
    let service = paced(150, 4).await;
    let a = &service.a;
    a.in_and_out().await;
    let cvu = a.cvu().await;
    let mut stream = Stream::open(a, "?types=hold.*", "").await.begun().await;
    let place = stream.sse.last_id.clone();
    stream.beats(2).await;
    assert_eq!(stream.sse.comments, ["alive", "alive"]);
    assert_eq!(
        (&stream.sse.last_id, stream.sse.messages.len()),
        (&place, 0)
    );
    // Something happens all the time, and the filter excludes all of it.
    let busy = async {
        loop {
            a.credit(&cvu, "0.01").await;
        }
    };
    tokio::select! {
        () = busy => {}
        () = stream.beats(5) => {}
    }
    assert!(stream.sse.last_id > place && stream.sse.messages.is_empty());
    assert!(
        all(a, 200, "")
            .await
            .iter()
            .any(|it| id(it) == stream.sse.last_id)
    );
}

#[actix_web::test]
async fn a_realm_has_so_many_streams_and_whoever_leaves_makes_room() {
    let service = paced(50, 3).await;
    let a = &service.a;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(Stream::open(a, "", "").await.begun().await);
    }
    let full = a.get(PATH).await.refused(429, "too_many_streams");
    assert_eq!(full.header("retry-after"), "5");
    assert_eq!(
        full["message"],
        "the realm already has 3 open streams; close one first"
    );
    // The feed, other realms and the open streams are not affected.
    a.get(FEED).await.is(200);
    for other in [&service.b, &service.live] {
        drop(Stream::open(other, "", "").await.begun().await);
    }
    a.create_type("IN", "credit").await;
    for stream in &mut open {
        stream.next().await.unwrap();
    }
    // The next client gets the permit of a stream that has ended.
    let mut later = Vec::new();
    while open.pop().is_some() {
        let again = async || {
            let mut socket = sse::ask(a, "GET", PATH, "").await;
            let head = sse::head(&mut socket).await;
            head.starts_with("http/1.1 200 ").then_some(socket)
        };
        later.push(wait_until("a permit becomes free", SOON, again).await);
        a.get(PATH).await.refused(429, "too_many_streams");
    }
    drop(later);
    // A refused request takes no permit, nor does a HEAD request.
    for _ in 0..4 {
        a.get(&format!("{PATH}?after=x")).await.is(400);
    }
    let free = async || {
        let answer = a.call("HEAD", PATH).await;
        (answer.status == 200).then_some(answer)
    };
    let head = wait_until("a head", SOON, free).await;
    assert_eq!(head.header("content-type"), "text/event-stream");
    let mut socket = sse::ask(a, "HEAD", PATH, "connection: close\r\n").await;
    let alone = sse::head(&mut socket).await;
    assert!(alone.contains("text/event-stream"), "{alone}");
    assert!(sse::read(&mut socket, 100).await.is_empty(), "a body");
}

#[actix_web::test]
async fn a_stream_ends_with_its_key_and_tells_nothing_after() {
    let service = paced(50, 8).await;
    service.a.in_and_out().await;
    let path = format!("/admin/tenants/{TENANT}/keys");
    let issued = service.admin("POST", &path, &json!({"mode": "test"})).await;
    let issued = issued.is(201);
    let other = service.a.with_key(issued["key"].as_str());
    let quiet = Stream::open(&other, "", "").await.begun().await;
    let mut busy = Stream::open(&other, "", "").await.begun().await;
    let mut mine = Stream::open(&service.a, "", "").await.begun().await;
    other.create_type("BEFORE", "credit").await;
    let before = next(&mut busy, 1).await;
    let path = format!("/admin/keys/{}", issued["id"].as_str().unwrap());
    service.admin("DELETE", &path, &json!({})).await.is(204);
    service.a.create_type("AFTER", "credit").await;
    for stream in [quiet, busy] {
        let sse = stream.end().await;
        let reply: Vec<_> = sse.messages.iter().map(sse::Message::event).collect();
        assert!(reply == before || reply.is_empty(), "{reply:?}");
    }
    other.get(PATH).await.refused(401, "unauthorized");
    assert_eq!(next(&mut mine, 2).await[0], before[0]);
}

/// A client that asks for all events and then reads nothing.
async fn deaf(client: &Client, beginning: &str) -> tokio::net::TcpStream {
    let addr = client.url.strip_prefix("http://").unwrap().parse().unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let socket = socket.connect(addr).await.unwrap();
    sse::send(
        socket,
        client,
        "GET",
        PATH,
        &format!("last-event-id: {beginning}\r\n"),
    )
    .await
}

#[actix_web::test]
async fn a_service_that_stops_ends_its_streams_and_waits_for_nobody_who_is_deaf() {
    let mut service = paced(15_000, 8).await;
    let first = Stream::open(&service.a, "", "").await.begun().await;
    let beginning = first.sse.last_id.clone();
    drop(first);
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    // More than the system buffers for a connection that nobody reads.
    let item = |_| {
        json!({"cvu": cvu, "voucherTypeCode": "IN", "amount": "1.00",
            "idExterno": format!("deaf-{}", fresh()), "description": "x".repeat(200)})
    };
    for _ in 0..4 {
        let items: Vec<_> = (0..2000).map(item).collect();
        let batch = json!({"mode": "independent", "items": items});
        let posted = service.a.post("/v1/comprobantes/batch", &batch);
        posted.await.is(200);
    }
    let deaf = deaf(&service.a, &beginning).await;
    let idle = Stream::open(&service.a, "", "").await.begun().await;
    let mut reading = Stream::open(&service.a, "", &beginning).await;
    let reply = next(&mut reading, 8003).await;
    assert_eq!(reply.last().unwrap()["sequence"], 8003);
    let streams = async { (idle.end().await, reading.end().await) };
    let ended = async { tokio::join!(service.end(true), streams) };
    let ended = tokio::time::timeout(SOON, ended).await;
    let ((), (idle, reading)) = ended.expect("nobody waits for who is deaf");
    assert_eq!((idle.messages.len(), reading.messages.len()), (0, 8003));
    drop(deaf);
    service.begin().await;
    let mut again = Stream::open(&service.a, "", &reading.last_id).await;
    service.a.credit(&cvu, "1.00").await;
    assert_eq!(next(&mut again, 1).await[0]["sequence"], 8004);
    // The same after a crash.
    service.crash().await;
    let mut again = Stream::open(&service.a, "", &reading.last_id).await;
    assert_eq!(next(&mut again, 1).await[0]["sequence"], 8004);
}
