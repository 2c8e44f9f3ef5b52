//! Receivers that are slow, endless, broken or absent: each attempt ends within its limits.

use std::net::TcpListener;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use super::*;

/// After this time a test gives up: far more than any limit of a sink, on any machine.
const LONG: Duration = Duration::from_secs(120);
const TICK: Duration = Duration::from_millis(20);

async fn sent_to(sink: &HttpSink, receiver: &Receiver) -> AttemptResult {
    let sent = timeout(LONG, send(sink, receiver.url("/")));
    sent.await.expect("the attempt ends")
}

/// Waits for what a receiver reports. The connection ends on the same runtime, so nothing may block
/// it.
async fn said<T>(came: &mut UnboundedReceiver<T>) -> T {
    timeout(LONG, came.recv()).await.unwrap().unwrap()
}

#[actix_web::test]
async fn the_status_decides() {
    for (head, status, delivered) in [
        ("200 OK", 200, true),
        ("201 Created", 201, true),
        ("299 Yes", 299, true),
        ("304 Not Modified", 304, false),
        ("400 Bad Request", 400, false),
        ("404 Not Found", 404, false),
        ("410 Gone", 410, false),
        ("500 Internal Server Error", 500, false),
        ("599 No", 599, false),
    ] {
        let receiver = Receiver::answering(head);
        let sent = sent_to(&sink(), &receiver).await;
        assert_eq!((sent.result, sent.is_delivered()), (Ok(status), delivered));
        assert_eq!(sent.retry_after, None);
    }
}

#[actix_web::test]
async fn a_receiver_may_ask_to_be_left_alone_for_a_day_at_most() {
    let day = Duration::from_secs(24 * 3_600);
    // The attempt begins 678 ms after a full second, and its own duration counts too.
    let soon = Duration::from_secs(80)..=Duration::from_millis(89_322);
    for (asked, given) in [
        (
            "120",
            Some(Duration::from_secs(120)..=Duration::from_secs(120)),
        ),
        ("0", Some(Duration::ZERO..=Duration::ZERO)),
        ("86401", Some(day..=day)),
        ("99999999999999999999999999", Some(day..=day)),
        ("Mon, 02 Mar 2026 15:05:35 GMT", Some(soon)),
        (
            "Mon, 02 Mar 2026 15:04:05 GMT",
            Some(Duration::ZERO..=Duration::ZERO),
        ),
        (
            "Fri, 02 Mar 1990 15:04:05 GMT",
            Some(Duration::ZERO..=Duration::ZERO),
        ),
        ("Wed, 02 Mar 2050 15:04:05 GMT", Some(day..=day)),
        ("soon", None),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("Mon, 99 Mar 2026 15:05:35 GMT", None),
    ] {
        let receiver = Receiver::answering(&format!("503 Busy\r\nretry-after: {asked}"));
        let sent = sent_to(&sink(), &receiver).await;
        assert_eq!(sent.result, Ok(503));
        match given {
            None => assert_eq!(sent.retry_after, None, "{asked}"),
            Some(right) => {
                let after = sent.retry_after.unwrap();
                assert!(right.contains(&after), "{asked}: {after:?}");
            }
        }
    }
}

#[actix_web::test]
async fn silence_ends_with_the_attempt() {
    let receiver = Receiver::start(|line| {
        line.hold();
        false
    });
    let sent = sent_to(&hasty(), &receiver).await;
    assert_eq!(sent.result, Err(NoResponse::TimedOut));
    assert!(sent.millis >= 400, "{sent:?}");
}

#[actix_web::test]
async fn an_answer_that_drips_ends_with_the_attempt() {
    let receiver = Receiver::start(|line| {
        let head = b"HTTP/1.1 200 OK\r\nx: "
            .iter()
            .chain(std::iter::repeat(&b'y'));
        for byte in head {
            if !line.say(&[*byte]) || !line.wait(TICK) {
                break;
            }
        }
        false
    });
    let sent = sent_to(&hasty(), &receiver).await;
    assert_eq!(sent.result, Err(NoResponse::TimedOut));
}

#[actix_web::test]
async fn a_body_that_drips_is_left_after_the_status() {
    let (send, mut came) = unbounded_channel();
    let receiver = Receiver::start(move |line| {
        line.say(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n");
        while line.say(b".") && line.wait(TICK) {}
        // The sender has hung up by now, or the test would never end.
        send.send(()).ok();
        false
    });
    let limits = AttemptLimits {
        rest: Duration::from_millis(100),
        ..AttemptLimits::default()
    };
    let sink = sink_with(AllowedAddresses::loopback(), limits, &Arc::default());
    let sent = sent_to(&sink, &receiver).await;
    assert_eq!(sent.result, Ok(200));
    said(&mut came).await;
}

#[actix_web::test]
async fn an_endless_response_is_read_up_to_a_limit() {
    const PART: usize = 64 * 1024;
    // More than the system's buffers at both ends can hold.
    const MOST: usize = 32 << 20;
    for head in [
        "content-length: 10000000000\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\n2540be400\r\n",
        "\r\n",
    ] {
        let (send, mut came) = unbounded_channel();
        let receiver = Receiver::start(move |line| {
            line.say(format!("HTTP/1.1 200 OK\r\n{head}").as_bytes());
            let part = vec![b'.'; PART];
            let mut said = 0;
            while said < MOST && line.say(&part) {
                said += PART;
            }
            send.send(said).ok();
            false
        });
        let sent = sent_to(&sink(), &receiver).await;
        assert_eq!(sent.result, Ok(200), "{head}");
        let said = said(&mut came).await;
        assert!(said < MOST, "{said} bytes were taken");
    }
}

#[actix_web::test]
async fn an_invalid_response_is_a_broken_connection() {
    for said in [
        "",
        "\r\n",
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno header\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "SSH-2.0-OpenSSH_9.6\r\n",
        "220 mail.example.com ESMTP\r\n",
        "\u{0}\u{1}\u{2}\u{3}",
    ] {
        let receiver = Receiver::start(move |line| line.last(said.as_bytes()));
        let sent = sent_to(&sink(), &receiver).await;
        assert_eq!(sent.result, Err(NoResponse::Broken), "{said:?}");
        // Nothing is sent twice within one attempt.
        assert!(receiver.next().is_some() && receiver.next().is_none());
    }
    // A head that never ends.
    let receiver = Receiver::start(|line| {
        line.say(b"HTTP/1.1 200 OK\r\n");
        while line.say(b"x-more: of the same, and more, and more\r\n") {}
        false
    });
    let sent = sent_to(&sink(), &receiver).await;
    assert_eq!(sent.result, Err(NoResponse::Broken));
}

#[actix_web::test]
async fn an_answer_that_breaks_after_its_status_has_its_status() {
    for said in [
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nno chunk",
    ] {
        let receiver = Receiver::start(move |line| line.last(said.as_bytes()));
        assert_eq!(
            sent_to(&sink(), &receiver).await.result,
            Ok(200),
            "{said:?}"
        );
    }
}

#[actix_web::test]
async fn an_unreachable_server_is_no_connection() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    let url = format!("http://{}/", free.unwrap());
    assert_eq!(
        send(&sink(), url).await.result,
        Err(NoResponse::Unconnected)
    );
    // One receiver speaks no TLS, and one does not answer it at all.
    let talks = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", talks.local_addr().unwrap());
    let talking = std::thread::spawn(move || {
        let (mut stream, _) = talks.accept().unwrap();
        io::Write::write_all(&mut stream, b"220 mail.example.com ESMTP\r\n").unwrap();
        stream
    });
    assert_eq!(
        send(&sink(), url).await.result,
        Err(NoResponse::Unconnected)
    );
    drop(talking.join().unwrap());
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", silent.local_addr().unwrap());
    // Little time for the connection, and much for the rest: even a busy machine must not use up both.
    let limits = AttemptLimits {
        connect: Duration::from_millis(200),
        ..AttemptLimits::default()
    };
    let sink = sink_with(AllowedAddresses::loopback(), limits, &Arc::default());
    let sent = send(&sink, url).await;
    assert_eq!(sent.result, Err(NoResponse::Unconnected));
    assert!(sent.millis >= 200, "{sent:?}");
    drop(silent);
}

#[actix_web::test]
async fn a_connection_whose_answer_was_read_serves_again() {
    let text = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nyes";
    let receiver = Receiver::start(move |line| line.say(text));
    let sink = sink();
    for _ in 0..3 {
        assert!(sent_to(&sink, &receiver).await.is_delivered());
        assert_eq!(receiver.next().unwrap().connection, 0);
    }
}
