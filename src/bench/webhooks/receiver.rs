//! Receivers of webhooks on the loopback: one that takes and checks everything, one that never answers, and an address
//! where none listens.
//!
//! **Bounds.** One thread for all connections, so that its cost can be told from the service's. Of a request it reads
//! only the length and three values of the body.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// The name of its thread.
pub const THREAD: &str = "bench-receiver";
/// The size of the buffer for one request, in bytes.
const REQUEST_BYTES: usize = 16 * 1024;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// The requests that have arrived.
#[derive(Clone, Debug, Default)]
pub struct Arrived {
    /// Requests.
    pub requests: u64,
    /// Connections on which they came.
    pub connections: u64,
    /// Different events: each counts when it is the next one of its account.
    pub events: u64,
    /// Repeated events.
    pub again: u64,
    /// Events that came before an earlier one of their account, or after a gap in it, and requests that are not events.
    pub wrong: u64,
    /// The largest number of an event.
    pub last: u64,
    /// The last movement of each CVU.
    seen: HashMap<String, u64>,
}

impl Arrived {
    /// Counts a request by its body.
    fn note(&mut self, body: &[u8]) {
        self.requests += 1;
        let Some((number, cvu, movement)) = read(body) else {
            self.wrong += 1;
            return;
        };
        self.last = self.last.max(number);
        let known = self.seen.get_mut(cvu);
        let counted = match known {
            None => {
                self.seen.insert(cvu.to_owned(), movement);
                &mut self.events
            }
            Some(known) if movement <= *known => &mut self.again,
            Some(known) => {
                let next = known.saturating_add(1) == movement;
                *known = movement;
                if next {
                    &mut self.events
                } else {
                    &mut self.wrong
                }
            }
        };
        *counted += 1;
    }
}

/// The number of the event, the CVU and its movement, in an event about a voucher.
fn read(body: &[u8]) -> Option<(u64, &str, u64)> {
    let (number, rest) = after(body, b"\"sequence\":").and_then(number)?;
    let rest = after(rest, b"\"cvu\":\"")?;
    let cvu = std::str::from_utf8(rest.get(..22)?).ok()?;
    let (movement, _) = after(rest, b"\"sequence\":").and_then(self::number)?;
    Some((number, cvu, movement))
}

fn after<'a>(text: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(word.len()).position(|it| it == word)?;
    text.get(at.checked_add(word.len())?..)
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let end = text.iter().position(|b| !b.is_ascii_digit())?;
    let (digits, rest) = text.split_at_checked(end)?;
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

/// The receivers; they end when this is dropped.
#[derive(Debug)]
pub struct Receiver {
    taking: SocketAddr,
    silent: SocketAddr,
    refusing: SocketAddr,
    arrived: Arc<Mutex<Arrived>>,
    /// Ends the thread when dropped.
    _end: oneshot::Sender<()>,
}

impl Receiver {
    /// Listens on the loopback, at one port for each receiver.
    ///
    /// # Errors
    /// When it cannot.
    pub fn start() -> anyhow::Result<Self> {
        let (listener, taking) = listen()?;
        let (quiet, silent) = listen()?;
        let (_, refusing) = listen()?;
        let arrived = Arc::new(Mutex::new(Arrived::default()));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (end, ended) = oneshot::channel::<()>();
        let taken = Arc::clone(&arrived);
        let body = move || {
            runtime.block_on(async {
                tokio::select! {
                    done = serve(listener, taken) => drop(done),
                    done = hold(quiet) => drop(done),
                    _ = ended => {}
                }
            });
        };
        let thread = std::thread::Builder::new().name(THREAD.to_owned());
        thread.spawn(body).context("the thread of the receiver")?;
        Ok(Self {
            taking,
            silent,
            refusing,
            arrived,
            _end: end,
        })
    }

    /// The URL of the receiver that takes everything.
    pub fn taking(&self) -> String {
        url(self.taking)
    }

    /// The URL of the receiver that never answers.
    pub fn silent(&self) -> String {
        url(self.silent)
    }

    /// A URL at which nothing listens.
    pub fn refusing(&self) -> String {
        url(self.refusing)
    }

    /// The requests so far; from now on accounts are counted anew, so that a webhook that begins later may leave out
    /// earlier events.
    pub fn begin(&self) -> Arrived {
        let mut arrived = self.lock();
        arrived.seen.clear();
        arrived.clone()
    }

    /// The requests so far.
    pub fn arrived(&self) -> Arrived {
        let arrived = self.lock();
        Arrived {
            seen: HashMap::new(),
            ..*arrived
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Arrived> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn listen() -> std::io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    let addr = listener.local_addr()?;
    Ok((listener, addr))
}

fn url(addr: SocketAddr) -> String {
    format!("http://{addr}/events")
}

async fn serve(listener: TcpListener, arrived: Arc<Mutex<Arrived>>) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        let mut known = arrived.lock().unwrap_or_else(PoisonError::into_inner);
        known.connections += 1;
        drop(known);
        tokio::spawn(talk(stream, Arc::clone(&arrived)));
    }
}

/// Answers the requests on one connection until it ends.
async fn talk(mut stream: TcpStream, arrived: Arc<Mutex<Arrived>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0_u8; REQUEST_BYTES];
    loop {
        let mut filled = 0_usize;
        let body = loop {
            let more = stream
                .read(buffer.get_mut(filled..).unwrap_or_default())
                .await?;
            filled += more;
            let text = buffer.get(..filled).unwrap_or_default();
            match body(text) {
                Some(body) => break body,
                None if more == 0 => return Ok(()),
                None => {}
            }
        };
        arrived
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .note(body);
        stream.write_all(ANSWER).await?;
    }
}

/// Accepts connections and reads their requests without ever answering.
async fn hold(listener: TcpListener) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move { tokio::io::copy(&mut stream, &mut tokio::io::sink()).await });
    }
}

/// The body of a request, once all of it has arrived.
fn body(text: &[u8]) -> Option<&[u8]> {
    let rest = after(text, b"\r\n\r\n")?;
    let (length, _) = after(text, b"ontent-length: ").and_then(number)?;
    rest.get(..usize::try_from(length).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_out_of_order_is_seen() {
        let event = |number: u64, account: u64, movement: u64| {
            format!(
                r#"{{"id":"evt_1","sequence":{number},"type":"voucher.created","timestamp":"t","data":{{"id":"cmp_1","cvu":"{account:022}","sequence":{movement}}}}}"#
            )
        };
        let mut arrived = Arrived::default();
        for (number, account, movement) in [(1, 1, 5), (2, 2, 1), (4, 2, 2), (3, 1, 6), (3, 1, 6)] {
            arrived.note(event(number, account, movement).as_bytes());
        }
        let counts = (arrived.events, arrived.again, arrived.wrong, arrived.last);
        assert_eq!(counts, (4, 1, 0, 4));
        arrived.note(event(9, 2, 4).as_bytes());
        arrived.note(b"{}");
        assert_eq!((arrived.requests, arrived.wrong), (7, 2));
        let request = b"POST / HTTP/1.1\r\ncontent-length: 2\r\nx: y\r\n\r\n{}";
        assert_eq!(body(request), Some(b"{}".as_slice()));
        assert_eq!(body(request.split_last().unwrap().1), None);
    }
}
