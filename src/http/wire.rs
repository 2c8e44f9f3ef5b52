//! The connections of a listener, between the socket and the HTTP library.
//!
//! **Shape.** [`listen`] serves an application over [`Wire`]s: [`line::Line`]s that watch the bytes that pass. A
//! [`scan::Scanner`] follows the framing of the incoming bytes and stops what the library would let pass; a
//! [`seats::Seat`] counts the connection; two clocks run only while the client is waited for.
//!
//! **Bounds.** A head: [`scan::HEAD_BYTES_MAX`] bytes (431) within [`Listening::head`] (408), the first of a
//! connection as any later one. An answer: a client that does not take [`ANSWER_BYTES_MIN`] bytes of one within
//! [`Listening::answer`] is cut off; the kernel holds at most [`SEND_BUFFER_BYTES`] (twice that, as it counts) for
//! each, and gives up after [`Listening::answer`] as well. Connections: see [`seats`].
//!
//! **Order.** A refusal is written after the answers to the requests before it, since the library finishes those
//! first: the wire reports the end of the stream to the library, and sends the refusal when it is asked to close.
//!
//! **Failure.** Cutting off is a reset: nothing of the connection stays in this process or in the kernel. When the
//! service stops, a client that takes nothing for [`STOP_PATIENCE`] is cut off. If this process itself stood still,
//! it cuts off no client that has read meanwhile.

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

/// How long a client may leave an answer unread, unless set.
pub const ANSWER_PATIENCE: Duration = Duration::from_secs(10);
/// How many bytes of an answer the client has to take in that time.
pub const ANSWER_BYTES_MIN: u64 = 32 * 1024;
/// How many bytes of an unread answer the kernel keeps.
pub const SEND_BUFFER_BYTES: usize = 64 * 1024;
/// How often a connection that stands still is checked.
const LOOK: Duration = Duration::from_secs(1);
/// How long an answer may stand still while the service stops.
pub const STOP_PATIENCE: Duration = LOOK;
/// How long a refused client is listened to, so that it can read why.
const GOODBYE: Duration = Duration::from_secs(1);
/// How much of what it still sends is discarded meanwhile, in bytes.
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
    /// The bytes that had been sent then.
    sent: u64,
    /// The bytes that had been sent at the last look.
    seen: u64,
}

/// How far the closing of a connection has come.
#[derive(Debug)]
enum Closing {
    /// It has not begun.
    No,
    /// The refusal is being written.
    Saying(Bytes),
    /// The bytes that still arrive are discarded; this many have been so far.
    Hearing(usize),
}

/// A connection of a listener, as the HTTP library reads and writes it.
#[derive(Debug)]
pub struct Wire {
    io: Line,
    seat: Seat,
    patience: Patience,
    scan: Scanner,
    /// The number of a head, and the clock by which it has to be whole.
    head: Option<(u64, Pin<Box<Sleep>>)>,
    stall: Option<Stall>,
    sent: u64,
    /// Whether nothing more is read.
    over: bool,
    refusal: Option<Refusal>,
    closing: Closing,
    goodbye: Option<Pin<Box<Sleep>>>,
}

impl Wire {
    fn new(io: Line, seat: Seat, patience: Patience) -> Self {
        let socket = io.socket();
        // A socket that refuses these options is broken, and its first use reports that.
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

    /// Whether the client has not taken enough of an answer.
    fn overdue(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(stall) = &mut self.stall else {
            return false;
        };
        while stall.look.as_mut().poll(cx).is_ready() {
            let (now, seen) = (Instant::now(), stall.seen);
            stall.seen = self.sent;
            // There is room for more: the client has read, and only this process has not yet got to write.
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

    /// Starts the clock of an answer that stands still, if it does not run yet.
    fn stand<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let (sent, since) = (self.sent, Instant::now());
        let look = LOOK.min(self.patience.answer);
        self.stall.get_or_insert_with(|| Stall {
            look: Box::pin(sleep(look)),
            since,
            sent,
            seen: sent,
        });
        // The poll registers the waker with the clock.
        if self.overdue(cx) {
            return Poll::Ready(Err(self.cut()));
        }
        Poll::Pending
    }

    /// Resets the connection, so that the kernel keeps nothing of it either.
    fn cut(&mut self) -> io::Error {
        // If it cannot be reset, it is closed.
        self.io.socket().set_zero_linger().ok();
        self.seat.count_cut();
        io::Error::new(io::ErrorKind::TimedOut, "the client does not read")
    }

    /// Whether a head that is waited for has taken too long.
    fn head_is_late(&mut self, cx: &mut Context<'_>) -> bool {
        let heads = self.scan.heads();
        if heads > 0 && !self.scan.amid_head() {
            // The connection is idle, or a body is coming: these have other clocks.
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

    /// The end of the incoming stream: at once when nothing is under way, or when the framing of a body broke, which
    /// its handler has to learn; else after the answers to the earlier requests.
    fn end(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        if self.seat.is_idle() || self.refusal == Some(Refusal::Framing) {
            return Poll::Ready(Ok(()));
        }
        self.seat.end(cx.waker());
        Poll::Pending
    }

    /// Waits until the client has heard why it was refused, for [`GOODBYE`] at most.
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
                // A client that has sent nothing gets no answer.
                this.refuse(match this.scan.amid_head() {
                    true => Refusal::Slow,
                    false => Refusal::Silent,
                });
                return this.end(cx);
            }
            // Requests that have already arrived are still answered.
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

    /// Called when everything has been written; encrypted bytes may still have to leave.
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
            // The client sees this side close only when its request has been dropped, together with this wire.
            Closing::No if this.seat.has_left() => Poll::Ready(Ok(())),
            Closing::No => pin!(&mut this.io).poll_shutdown(cx),
            Closing::Saying(_) | Closing::Hearing(_) => this.poll_goodbye(cx),
        }
    }
}

#[cfg(test)]
mod tests;
