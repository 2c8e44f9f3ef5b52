//! The connections of a listener, between the socket and the HTTP library.
//!
//! **Shape.** [`listen`] serves an application over [`Wire`]s: [`line::Line`]s that look at what passes.
//! A [`scan::Scanner`] follows the framing of what comes in and stops what the library would let
//! pass; a [`seats::Seat`] counts the connection; two clocks run only while somebody is waited for.
//!
//! **Bounds.** A head: [`scan::HEAD_BYTES_MAX`] bytes (431) within [`Listening::head`] (408), the
//! first of a connection as any later one. An answer: whoever does not take [`ANSWER_BYTES_MIN`]
//! bytes of one within [`Listening::answer`] is cut off; the kernel holds at most
//! [`SEND_BUFFER_BYTES`] (twice that, as it counts) for each, and gives up after
//! [`Listening::answer`] as well. Connections: see [`seats`].
//!
//! **Order.** A refusal is written after the answers to what came before it, since the library first
//! finishes those: the wire shows it the end of the stream, and speaks when it is asked to close.
//!
//! **Failure.** Cutting off is a reset: nothing of the connection stays in this process or in the
//! kernel. When the service stops, whoever takes nothing for [`STOP_PATIENCE`] is cut off. A process
//! that stood still itself cuts nobody off who has read meanwhile.

pub mod line;
mod listen;
pub mod scan;
pub mod seats;

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::web::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use line::Line;
pub use listen::{Listening, listen};
use scan::{Refusal, Scanner};
use seats::Seat;
pub use seats::{Bounds, ConnectionLimits, UnderWay, has_left, recognise, under_way};

/// How long an answer may stand still that its client does not read, unless set.
pub const ANSWER_PATIENCE: Duration = Duration::from_secs(10);
/// How much of an answer has to be taken meanwhile, in bytes.
pub const ANSWER_BYTES_MIN: u64 = 32 * 1024;
/// What the kernel keeps of an answer that is not taken, in bytes.
pub const SEND_BUFFER_BYTES: usize = 64 * 1024;
/// How often a connection that stands still is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long an answer may stand still while the service stops.
pub const STOP_PATIENCE: Duration = LOOK;
/// How long a client that was refused is listened to, so that it reads why.
const GOODBYE: Duration = Duration::from_secs(1);
/// How much of what it still sends is thrown away meanwhile, in bytes.
const GOODBYE_BYTES_MAX: usize = 1 << 20;

/// How long clients are waited for.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// For a head: from its first byte on, and for the first of a connection from its beginning.
    head: Duration,
    /// For an answer that stands still.
    answer: Duration,
}

/// An answer that its client does not take.
#[derive(Debug)]
struct Stall {
    look: Pin<Box<Sleep>>,
    since: Instant,
    /// What had been sent then.
    sent: u64,
    /// What had been sent at the last look.
    seen: u64,
}

/// How a connection is closed.
#[derive(Debug)]
enum Closing {
    /// It is not yet.
    No,
    /// The refusal is written.
    Saying(Bytes),
    /// What still comes is thrown away, this many bytes of it.
    Hearing(usize),
}

/// A connection of a listener, as the HTTP library reads and writes it.
#[derive(Debug)]
pub struct Wire {
    io: Line,
    seat: Seat,
    patience: Patience,
    scan: Scanner,
    /// Until when the head with this number has to be whole.
    head: Option<(u64, Pin<Box<Sleep>>)>,
    stall: Option<Stall>,
    sent: u64,
    /// Nothing more is read.
    over: bool,
    refusal: Option<Refusal>,
    closing: Closing,
    goodbye: Option<Pin<Box<Sleep>>>,
}

impl Wire {
    fn new(io: Line, seat: Seat, patience: Patience) -> Self {
        let socket = io.socket();
        // A socket that cannot be set up so is broken, and its first use says so.
        rustix::net::sockopt::set_socket_send_buffer_size(socket, SEND_BUFFER_BYTES).ok();
        let millis = u32::try_from(patience.answer.as_millis()).unwrap_or(u32::MAX);
        rustix::net::sockopt::set_tcp_user_timeout(socket, millis).ok();
        socket.set_nodelay(true).ok();
        Self {
            io,
            seat,
            patience,
            scan: Scanner::default(),
            head: None,
            stall: None,
            sent: 0,
            over: false,
            refusal: None,
            closing: Closing::No,
            goodbye: None,
        }
    }

    /// Whether its client has not taken enough of an answer.
    fn overdue(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(stall) = &mut self.stall else {
            return false;
        };
        while stall.look.as_mut().poll(cx).is_ready() {
            let (now, seen) = (Instant::now(), stall.seen);
            stall.seen = self.sent;
            // There is room for more: the client has read, and this process has not come to write.
            let taken = self.io.socket().poll_write_ready(cx).is_ready();
            if self.seat.stopping() && seen == self.sent && !taken {
                return true;
            }
            if now.duration_since(stall.since) >= self.patience.answer {
                if self.sent.saturating_sub(stall.sent) < ANSWER_BYTES_MIN && !taken {
                    return true;
                }
                (stall.since, stall.sent) = (now, self.sent);
            }
            stall
                .look
                .as_mut()
                .reset(now + LOOK.min(self.patience.answer));
        }
        false
    }

    /// An answer stands still from now on, if it has not before.
    fn stand<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let (sent, since) = (self.sent, Instant::now());
        let look = LOOK.min(self.patience.answer);
        self.stall.get_or_insert_with(|| Stall {
            look: Box::pin(sleep(look)),
            since,
            sent,
            seen: sent,
        });
        // The clock has to know whom to wake.
        if self.overdue(cx) {
            return Poll::Ready(Err(self.cut()));
        }
        Poll::Pending
    }

    /// Ends it so that the kernel keeps nothing either.
    fn cut(&mut self) -> io::Error {
        // What cannot be reset is closed.
        self.io.socket().set_zero_linger().ok();
        self.seat.count_cut();
        io::Error::new(io::ErrorKind::TimedOut, "the client does not read")
    }

    /// Whether a head that is waited for has taken too long.
    fn head_is_late(&mut self, cx: &mut Context<'_>) -> bool {
        let heads = self.scan.heads();
        if heads > 0 && !self.scan.amid_head() {
            // It is idle, or a body comes: that has other clocks.
            self.head = None;
            return false;
        }
        let patience = self.patience.head;
        match &mut self.head {
            Some((of, sleep)) if *of != heads => {
                (*of, ()) = (heads, sleep.as_mut().reset(Instant::now() + patience));
            }
            Some(_) => {}
            None => self.head = Some((heads, Box::pin(sleep(patience)))),
        }
        let head = self.head.as_mut();
        head.is_some_and(|(_, sleep)| sleep.as_mut().poll(cx).is_ready())
    }

    fn refuse(&mut self, refusal: Refusal) {
        self.over = true;
        self.head = None;
        self.refusal = Some(refusal);
    }

    /// The end of what is read: at once when nothing is under way, or when a body is broken off, which
    /// its handler has to hear; else after the answers to what came before.
    fn end(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        if self.seat.is_idle() || self.refusal == Some(Refusal::Framing) {
            return Poll::Ready(Ok(()));
        }
        self.seat.end(cx.waker());
        Poll::Pending
    }

    /// Waits until the client has heard why it was refused, or no longer.
    fn poll_goodbye(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let goodbye = self.goodbye.get_or_insert_with(|| Box::pin(sleep(GOODBYE)));
        if goodbye.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        loop {
            match &mut self.closing {
                Closing::No => return Poll::Ready(Ok(())),
                Closing::Saying(rest) if rest.is_empty() => {
                    ready!(Pin::new(&mut self.io).poll_shutdown(cx))?;
                    self.closing = Closing::Hearing(0);
                }
                Closing::Saying(rest) => {
                    let n = ready!(Pin::new(&mut self.io).poll_write(cx, rest))?;
                    drop(rest.split_to(n));
                }
                Closing::Hearing(heard) => {
                    let mut bytes = [0; 4096];
                    let mut buf = ReadBuf::new(&mut bytes);
                    ready!(Pin::new(&mut self.io).poll_read(cx, &mut buf))?;
                    *heard += buf.filled().len();
                    if buf.filled().is_empty() || *heard > GOODBYE_BYTES_MAX {
                        return Poll::Ready(Ok(()));
                    }
                }
            }
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.overdue(cx) {
            return Poll::Ready(Err(this.cut()));
        }
        if this.over {
            return this.end(cx);
        }
        let before = buf.filled().len();
        if pin!(&mut this.io).poll_read(cx, buf)?.is_pending() {
            if this.head_is_late(cx) {
                // Whoever has said nothing is not answered.
                this.refuse(match this.scan.amid_head() {
                    true => Refusal::Slow,
                    false => Refusal::Silent,
                });
                return this.end(cx);
            }
            // What has come already is still answered.
            if this.seat.has_to_leave() && this.seat.is_idle() {
                this.over = true;
                return Poll::Ready(Ok(()));
            }
            this.seat.wait(cx.waker());
            return Poll::Pending;
        }
        if buf.filled().len() == before && buf.remaining() > 0 {
            this.seat.leave();
        }
        let come = buf.filled().get(before..).unwrap_or_default();
        if let Err((keep, refusal)) = this.scan.feed(come) {
            buf.set_filled(before.saturating_add(keep));
            this.refuse(refusal);
        }
        this.seat.begun(this.scan.heads());
        match this.over && buf.filled().len() == before {
            true => this.end(cx),
            false => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.overdue(cx) {
            return Poll::Ready(Err(this.cut()));
        }
        let written = pin!(&mut this.io).poll_write(cx, buf)?;
        if let Poll::Ready(n) = written {
            this.sent = this
                .sent
                .saturating_add(u64::try_from(n).unwrap_or(u64::MAX));
            return Poll::Ready(Ok(n));
        }
        this.stand(cx)
    }

    /// Called when all that was to be written has been; what is encrypted may still have to leave.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if pin!(&mut this.io).poll_flush(cx)?.is_pending() {
            return this.stand(cx);
        }
        this.stall = None;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Some(refusal) = this.refusal.take().filter(|why| why.is_answered_here()) {
            this.closing = Closing::Saying(refusal.answer());
        }
        match this.closing {
            // It learns that this side is closed when its request has been dropped, with this.
            Closing::No if this.seat.has_left() => Poll::Ready(Ok(())),
            Closing::No => pin!(&mut this.io).poll_shutdown(cx),
            Closing::Saying(_) | Closing::Hearing(_) => this.poll_goodbye(cx),
        }
    }
}

#[cfg(test)]
mod tests;
