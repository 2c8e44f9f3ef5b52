//! The connections of a listener, between the socket and the HTTP library.
//!
//! **Shape.** [`listen`] serves an application over [`Wire`]s: connections that watch the bytes that pass. A
//! [`scan::Scanner`] follows the framing of the incoming bytes and stops what the library would let pass; a
//! [`connections::ConnectionPermit`] counts the connection; two clocks run only while the client is waited for.
//!
//! **Bounds.** A head: [`scan::HEAD_BYTES_MAX`] bytes (431) within [`Listening::head`] (408), the first of a
//! connection as any later one. An answer: a client that does not take [`ANSWER_BYTES_MIN`] bytes of one within
//! [`Listening::answer`] is cut off; the kernel holds at most [`SEND_BUFFER_BYTES`] (twice that, as it counts) for
//! each, and gives up after [`Listening::answer`] as well. A further request is not read before the kernel has the
//! whole answer to the one before it: until then at most [`HELD_BYTES`], and what came with the last read, are held.
//! Where the memory of the process is short, clients that take nothing are cut off after [`LOOK`]
//! ([`crate::memory::UnreadAnswers`]). Connections: see [`permits`].
//!
//! **Order.** The library has one request at a time, so a refusal is written after the answers to the requests before
//! it: the wire reports the end of the stream to the library, and sends the refusal when it is asked to close. If the
//! library itself refuses a head, no handler has begun when it writes: the wire discards that answer, which has no body,
//! and sends its own.
//!
//! **Failure.** Cutting off is a reset: nothing of the connection stays in this process or in the kernel. When the
//! service stops, a client that takes nothing for [`STOP_PATIENCE`] is cut off. If this process itself stood still,
//! it cuts off no client that has read meanwhile.
//!
//! **Early answers.** An answer that was written before the body of its request was read, such as a refusal, is lost if
//! the connection is closed while bytes of the body arrive: the kernel resets it. So the rest of the body is read and
//! discarded, at most [`DISCARDED_BYTES_MAX`] of it for [`DISCARDING`], before the connection ends or is used again.

pub(crate) mod connections;
mod listen;
pub(crate) mod scan;

use std::io;
use std::mem::{self, MaybeUninit};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::web::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use crate::memory::UnreadAnswer;
use connections::ConnectionPermit;
pub use connections::{Bounds, ConnectionLimits, UnderWay, under_way};
pub use listen::{Listening, listen};
use scan::{FramingError, Scanner};

/// How long a client may leave an answer unread, unless set.
pub const ANSWER_PATIENCE: Duration = Duration::from_secs(10);
/// How many bytes of an answer the client has to take in that time.
pub const ANSWER_BYTES_MIN: u64 = 32 * 1024;
/// How many bytes of an unread answer the kernel keeps.
pub const SEND_BUFFER_BYTES: usize = 64 * 1024;
/// How many bytes are read beyond a request whose answer is not written: only to see whether the client has left.
pub const HELD_BYTES: usize = 4 * 1024;
/// How often a connection that stalls is checked.
const LOOK: Duration = Duration::from_secs(1);
/// How long an answer may stall while the service stops.
pub const STOP_PATIENCE: Duration = LOOK;
/// How long a client whose request was answered before it was read is listened to, so that it can read the answer.
const DISCARDING: Duration = Duration::from_secs(1);
/// How much of what it still sends is discarded meanwhile, in bytes: the body of a batch.
const DISCARDED_BYTES_MAX: usize = 1 << 20;

/// How long clients are waited for.
#[derive(Clone, Copy, Debug)]
struct ClientTimeouts {
    /// For a head: from its first byte on, and for the first of a connection from its beginning.
    head: Duration,
    /// For an answer that stalls.
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
    _counted: UnreadAnswer,
}

/// How far the closing of a connection has come.
#[derive(Debug)]
enum Closing {
    /// It has not begun.
    No,
    /// The refusal is being written.
    Saying(Bytes),
    /// The bytes that still arrive are discarded.
    Hearing,
}

/// What is read of a request after its answer, and discarded.
#[derive(Debug)]
struct Discarding {
    until: Pin<Box<Sleep>>,
    /// How many bytes have been discarded so far.
    bytes: usize,
}

impl Discarding {
    fn new() -> Self {
        Self {
            until: Box::pin(sleep(DISCARDING)),
            bytes: 0,
        }
    }

    /// Whether no more is to be read.
    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        self.bytes > DISCARDED_BYTES_MAX || self.until.as_mut().poll(cx).is_ready()
    }
}

/// A connection of a listener, as the HTTP library reads and writes it.
#[derive(Debug)]
pub struct Wire {
    io: TcpStream,
    permit: ConnectionPermit,
    patience: ClientTimeouts,
    scan: Scanner,
    /// The number of a head, and the clock by which it has to be whole.
    head: Option<(u64, Pin<Box<Sleep>>)>,
    stall: Option<Stall>,
    sent: u64,
    /// Whether bytes of an answer wait for the kernel.
    writing: bool,
    /// Bytes of further requests, which the library gets when the answer is written.
    held: BytesMut,
    /// Whether nothing more is read.
    over: bool,
    /// Whether the client has closed its side.
    left: bool,
    refusal: Option<FramingError>,
    closing: Closing,
    discarding: Option<Discarding>,
}

impl Wire {
    fn new(io: TcpStream, permit: ConnectionPermit, patience: ClientTimeouts) -> Self {
        let socket = &io;
        // A socket that refuses these options is broken, and its first use reports that.
        rustix::net::sockopt::set_socket_send_buffer_size(socket, SEND_BUFFER_BYTES).ok();
        let millis = u32::try_from(patience.answer.as_millis()).unwrap_or(u32::MAX);
        rustix::net::sockopt::set_tcp_user_timeout(socket, millis).ok();
        socket.set_nodelay(true).ok();
        Self {
            io,
            permit,
            patience,
            scan: Scanner::default(),
            head: None,
            stall: None,
            sent: 0,
            writing: false,
            held: BytesMut::new(),
            over: false,
            left: false,
            refusal: None,
            closing: Closing::No,
            discarding: None,
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
            let taken = self.io.poll_write_ready(cx).is_ready();
            let hurry = self.permit.stopping() || self.permit.unread().is_short();
            if hurry && seen == self.sent && !taken {
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

    /// Starts the clock of an answer that stalls, if it does not run yet.
    fn stand<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let (sent, since) = (self.sent, Instant::now());
        let look = LOOK.min(self.patience.answer);
        self.stall.get_or_insert_with(|| Stall {
            look: Box::pin(sleep(look)),
            since,
            sent,
            seen: sent,
            _counted: self.permit.unread().count(),
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
        self.io.set_zero_linger().ok();
        self.permit.count_cut();
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

    fn refuse(&mut self, refusal: FramingError) {
        self.over = true;
        self.head = None;
        self.refusal = Some(refusal);
    }

    /// Whether the answer to the last request has been written, so that the next one may begin.
    fn is_free(&self) -> bool {
        self.permit.is_idle() && !self.writing
    }

    /// Whether what the library writes is its own refusal of a head: no handler has seen that head.
    fn is_refused_by_library(&self) -> bool {
        self.scan.amid_head() || self.permit.awaits_handler()
    }

    /// Shows bytes to the library as far as they belong to one request; returns how many.
    fn show(&mut self, come: &[u8]) -> usize {
        let shown = match self.scan.feed(come) {
            Ok(shown) => shown,
            Err((shown, refusal)) => {
                self.refuse(refusal);
                shown
            }
        };
        self.permit.begun(self.scan.heads());
        if let Some(discarding) = &mut self.discarding {
            discarding.bytes += shown;
        }
        shown
    }

    /// Whether the rest of a body whose request was answered has been read for long enough. The library reads it to its
    /// end where it cannot know how long it is.
    fn poll_discarded(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.scan.amid_body() || !self.permit.is_idle() {
            self.discarding = None;
            return false;
        }
        let discarding = self.discarding.get_or_insert_with(Discarding::new);
        discarding.is_over(cx)
    }

    /// Watches whether the client leaves while its answer is on the way; holds what it sends meanwhile.
    fn poll_leaving(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.held.len() < HELD_BYTES {
            let mut bytes = [MaybeUninit::uninit(); HELD_BYTES];
            let mut buf = ReadBuf::uninit(&mut bytes);
            if pin!(&mut self.io).poll_read(cx, &mut buf)?.is_pending() {
                break;
            }
            if buf.filled().is_empty() {
                self.left = true;
                return Poll::Ready(Ok(()));
            }
            self.held.extend_from_slice(buf.filled());
        }
        Poll::Pending
    }

    /// Reads held bytes, or else those that arrive, up to the end of a request.
    fn poll_request(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.held.is_empty() {
            let mut held = mem::take(&mut self.held);
            let come = held.get(..buf.remaining()).unwrap_or(&held);
            let shown = self.show(come);
            buf.put_slice(&held.split_to(shown));
            if !self.over && !held.is_empty() {
                self.held = held;
            }
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        ready!(pin!(&mut self.io).poll_read(cx, buf))?;
        let come = buf.filled().get(before..).unwrap_or_default();
        if come.is_empty() && buf.remaining() > 0 {
            self.left = true;
        }
        let shown = self.show(come);
        let further = come.get(shown..).filter(|rest| !rest.is_empty());
        if let Some(further) = further.filter(|_| !self.over) {
            self.held = BytesMut::from(further);
        }
        buf.set_filled(before.saturating_add(shown));
        Poll::Ready(Ok(()))
    }

    /// Writes what is left to say, and discards what the client still sends until it has read the answer and closes its
    /// side, within the bounds.
    fn poll_goodbye(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let discarding = self.discarding.get_or_insert_with(Discarding::new);
            if discarding.is_over(cx) {
                return Poll::Ready(Ok(()));
            }
            match &mut self.closing {
                Closing::No => return Poll::Ready(Ok(())),
                Closing::Saying(rest) if rest.is_empty() => {
                    ready!(Pin::new(&mut self.io).poll_shutdown(cx))?;
                    self.closing = Closing::Hearing;
                }
                Closing::Saying(rest) => {
                    let n = ready!(Pin::new(&mut self.io).poll_write(cx, rest))?;
                    drop(rest.split_to(n));
                }
                Closing::Hearing => {
                    let mut bytes = [0; 4096];
                    let mut buf = ReadBuf::new(&mut bytes);
                    ready!(Pin::new(&mut self.io).poll_read(cx, &mut buf))?;
                    discarding.bytes += buf.filled().len();
                    if buf.filled().is_empty() {
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
            return Poll::Ready(Ok(()));
        }
        if this.scan.is_between() && !this.is_free() {
            return this.poll_leaving(cx);
        }
        if this.poll_discarded(cx) {
            this.over = true;
            return Poll::Ready(Ok(()));
        }
        if this.poll_request(cx, buf)?.is_ready() {
            return Poll::Ready(Ok(()));
        }
        if this.head_is_late(cx) {
            // A client that has sent nothing gets no answer.
            this.refuse(if this.scan.amid_head() {
                FramingError::Slow
            } else {
                FramingError::Silent
            });
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
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
        if this.refusal.is_some_and(FramingError::is_of_library) {
            // Discarded; the library closes next, and the refusal is written then.
            return Poll::Ready(Ok(buf.len()));
        }
        if this.is_refused_by_library() {
            this.refuse(FramingError::of_library(buf));
            // The library closes only while something is left to write.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        this.writing = true;
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
        this.writing = false;
        if !this.held.is_empty() && this.is_free() {
            // The next request is here already.
            cx.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Some(refusal) = this.refusal.take().filter(|why| why.is_answered_here()) {
            this.closing = Closing::Saying(refusal.answer());
        }
        match this.closing {
            // The client sees this side close only when its request has been dropped, together with this wire.
            Closing::No if this.left => Poll::Ready(Ok(())),
            Closing::No if this.scan.amid_body() => {
                this.closing = Closing::Saying(Bytes::new());
                this.poll_goodbye(cx)
            }
            Closing::No => pin!(&mut this.io).poll_shutdown(cx),
            Closing::Saying(_) | Closing::Hearing => this.poll_goodbye(cx),
        }
    }
}

#[cfg(test)]
mod tests;
