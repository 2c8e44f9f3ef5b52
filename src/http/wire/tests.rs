//! Answers that stall, under a clock that the test moves.

use std::future::poll_fn;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream as Client};
use std::sync::Arc;

use tokio::net::TcpStream;

use super::connections::{Bounds, ConnectionLimits};
use super::*;

const HANG: Duration = Duration::from_secs(120);

/// A wire, and a client that reads when the test says so.
struct Pair {
    wire: Wire,
    client: Client,
    read: u64,
}

impl Pair {
    /// A pair whose answer has begun, and waits until the client takes more of it.
    async fn standing() -> Self {
        let mut pair = Self::new();
        pair.written().await.unwrap();
        pair
    }

    fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = Client::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        let bounds = Arc::new(Bounds::new(
            ConnectionLimits::default(),
            Arc::default(),
            Arc::default(),
        ));
        let permit = bounds.take(None).unwrap();
        let patience = ClientTimeouts {
            head: HANG,
            answer: ANSWER_PATIENCE,
        };
        Self {
            wire: Wire::new(TcpStream::from_std(server).unwrap(), permit, patience),
            client,
            read: 0,
        }
    }

    /// The bytes that the library gets next.
    async fn heard(&mut self) -> Vec<u8> {
        let mut bytes = [0; 8192];
        let mut buf = ReadBuf::new(&mut bytes);
        let read = poll_fn(|cx| Pin::new(&mut self.wire).poll_read(cx, &mut buf));
        tokio::time::timeout(HANG, read).await.unwrap().unwrap();
        buf.filled().to_vec()
    }

    /// Whether the library gets nothing now.
    async fn nothing(&mut self) -> bool {
        let mut bytes = [0; 8192];
        let mut buf = ReadBuf::new(&mut bytes);
        poll_fn(|cx| {
            Poll::Ready(
                Pin::new(&mut self.wire)
                    .poll_read(cx, &mut buf)
                    .is_pending(),
            )
        })
        .await
    }

    /// Writes until the socket takes no more.
    async fn written(&mut self) -> io::Result<()> {
        static PIECE: [u8; 16 * 1024] = [b'.'; 16 * 1024];
        loop {
            let wrote = poll_fn(|cx| Poll::Ready(Pin::new(&mut self.wire).poll_write(cx, &PIECE)));
            match wrote.await {
                Poll::Ready(wrote) => wrote.map(drop)?,
                Poll::Pending => return Ok(()),
            }
        }
    }

    /// The client reads everything that was sent, and the kernel has room for more.
    async fn reads(&mut self) {
        let rest = self.wire.sent - self.read;
        let copied = io::copy(&mut (&self.client).take(rest), &mut io::sink());
        assert_eq!(copied.unwrap(), rest);
        self.read = self.wire.sent;
        let since = std::time::Instant::now();
        // The clock must not move by itself, as it would if the runtime had nothing to do.
        let room = |wire: &Wire, cx: &mut Context<'_>| wire.io.poll_write_ready(cx).is_ready();
        while !poll_fn(|cx| Poll::Ready(room(&self.wire, cx))).await {
            assert!(since.elapsed() < HANG);
            tokio::task::yield_now().await;
        }
    }

    /// Waits until the wire is cut off; the kernel of the client may take a little more by itself first.
    async fn cut_off(&mut self) {
        let mut looks = 0;
        let cut = loop {
            tokio::time::advance(LOOK).await;
            if let Err(cut) = self.written().await {
                break cut;
            }
            looks += 1;
            assert!(looks < 100, "{} bytes were sent", self.wire.sent);
        };
        assert_eq!(cut.kind(), io::ErrorKind::TimedOut);
    }
}

#[tokio::test(start_paused = true)]
async fn stalled_clients_are_disconnected_after_the_timeout() {
    let mut pair = Pair::standing().await;
    for _ in 0..9 {
        tokio::time::advance(LOOK).await;
        pair.written().await.unwrap();
    }
    pair.cut_off().await;
}

#[tokio::test(start_paused = true)]
async fn steady_readers_get_the_whole_response_without_a_time_limit() {
    let mut pair = Pair::standing().await;
    for _ in 0..20 {
        for _ in 0..6 {
            tokio::time::advance(LOOK).await;
            pair.written().await.unwrap();
        }
        pair.reads().await;
        pair.written().await.unwrap();
    }
    assert!(pair.wire.sent > 20 * ANSWER_BYTES_MIN);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_stood_still_blames_nobody_who_has_read() {
    let mut pair = Pair::standing().await;
    pair.reads().await;
    tokio::time::advance(ANSWER_PATIENCE * 6).await;
    pair.written().await.unwrap();
    // The same when the wire reads from the client first.
    pair.reads().await;
    tokio::time::advance(ANSWER_PATIENCE * 6).await;
    let mut bytes = [0; 16];
    let mut buf = ReadBuf::new(&mut bytes);
    let heard = poll_fn(|cx| Poll::Ready(Pin::new(&mut pair.wire).poll_read(cx, &mut buf)));
    assert!(heard.await.is_pending());
    pair.written().await.unwrap();
    // A client that has not read is cut off as before.
    pair.cut_off().await;
}

#[tokio::test]
async fn a_further_request_is_not_read_before_the_answer_is_written() {
    const GET: &[u8] = b"GET /a HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut pair = Pair::new();
    (&pair.client).write_all(&GET.repeat(2000)).unwrap();
    for asked in 1..=3 {
        assert_eq!(pair.heard().await, GET);
        let handled = pair.wire.permit.pass().begin();
        // The library asks for more, as it does to see whether the client has left.
        assert!(pair.nothing().await);
        assert!(pair.wire.held.len() < 3 * HELD_BYTES);
        drop(handled);
        // The answer is there, and the client does not read it.
        pair.written().await.unwrap();
        assert!(pair.nothing().await, "after {asked}");
        pair.reads().await;
        let flushed = poll_fn(|cx| Pin::new(&mut pair.wire).poll_flush(cx));
        flushed.await.unwrap();
    }
}

#[tokio::test]
async fn what_the_library_writes_before_a_handler_has_begun_is_its_refusal() {
    for (sent, answer, expected) in [
        (
            &b"GET /a b HTTP/1.1\r\nhost: x\r\n\r\n"[..],
            "400 Bad Request",
            FramingError::Malformed,
        ),
        (b"\x16\x03\x01", "400 Bad Request", FramingError::Malformed),
        (
            b"GET /a HTTP/1.1\r\n\r\n",
            "431 Request Header Fields Too Large",
            FramingError::ManyFields,
        ),
    ] {
        let mut pair = Pair::new();
        (&pair.client).write_all(sent).unwrap();
        assert_eq!(pair.heard().await, sent);
        let answer = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n");
        let mut write = async || {
            let wrote = |cx: &mut Context<'_>| {
                Poll::Ready(Pin::new(&mut pair.wire).poll_write(cx, answer.as_bytes()))
            };
            poll_fn(wrote).await
        };
        assert!(write().await.is_pending());
        assert!(matches!(write().await, Poll::Ready(Ok(n)) if n == answer.len()));
        assert_eq!(pair.wire.refusal, Some(expected));
        assert_eq!(pair.wire.sent, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn stalled_clients_are_disconnected_when_memory_is_short() {
    let mut pair = Pair::standing().await;
    let unread = Arc::clone(pair.wire.permit.unread());
    unread.set_most(1);
    tokio::time::advance(LOOK).await;
    pair.written().await.unwrap();
    unread.set_most(0);
    let mut cut = Ok(());
    for _ in 0..3 {
        tokio::time::advance(LOOK).await;
        cut = cut.and(pair.written().await);
    }
    assert_eq!(cut.unwrap_err().kind(), io::ErrorKind::TimedOut);
}
