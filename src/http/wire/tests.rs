//! Answers that stand still, under a clock that the test moves.

use std::future::poll_fn;
use std::io::Read as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream as Client};
use std::rc::Rc;
use std::sync::Arc;

use super::seats::{Bounds, Limits, Seats};
use super::*;

const HANG: Duration = Duration::from_secs(120);

/// A wire, and a client that reads when the test says so.
struct Pair {
    wire: Wire,
    client: Client,
    read: u64,
}

impl Pair {
    /// An answer has begun, and waits until more of it is taken.
    async fn standing() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = Client::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        let bounds = Arc::new(Bounds::new(Limits::default(), Arc::default()));
        let share = bounds.share(1);
        let seat = Rc::new(Seats::new(bounds, share)).take(None).unwrap();
        let patience = Patience {
            head: HANG,
            answer: ANSWER_PATIENCE,
        };
        let mut pair = Self {
            wire: Wire::new(TcpStream::from_std(server).unwrap(), seat, patience),
            client,
            read: 0,
        };
        pair.written().await.unwrap();
        pair
    }

    /// Writes until nothing more is taken.
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

    /// The client reads all that there is, and the kernel has room for more.
    async fn reads(&mut self) {
        let rest = self.wire.sent - self.read;
        let copied = io::copy(&mut (&self.client).take(rest), &mut io::sink());
        assert_eq!(copied.unwrap(), rest);
        self.read = self.wire.sent;
        let since = std::time::Instant::now();
        // The clock must not go on by itself, as it would if nothing were to be done.
        let room = |wire: &Wire, cx: &mut Context<'_>| wire.io.poll_write_ready(cx).is_ready();
        while !poll_fn(|cx| Poll::Ready(room(&self.wire, cx))).await {
            assert!(since.elapsed() < HANG);
            tokio::task::yield_now().await;
        }
    }

    /// It is cut off, though the kernel of the client may take a little more by itself first.
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
async fn whoever_takes_nothing_is_cut_off_when_its_time_is_over() {
    let mut pair = Pair::standing().await;
    for _ in 0..9 {
        tokio::time::advance(LOOK).await;
        pair.written().await.unwrap();
    }
    pair.cut_off().await;
}

#[tokio::test(start_paused = true)]
async fn whoever_reads_steadily_gets_everything_however_long_it_takes() {
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
    // The same when it hears of the client first.
    pair.reads().await;
    tokio::time::advance(ANSWER_PATIENCE * 6).await;
    let mut bytes = [0; 16];
    let mut buf = ReadBuf::new(&mut bytes);
    let heard = poll_fn(|cx| Poll::Ready(Pin::new(&mut pair.wire).poll_read(cx, &mut buf)));
    assert!(heard.await.is_pending());
    pair.written().await.unwrap();
    // Whoever has not is cut off as ever.
    pair.cut_off().await;
}
