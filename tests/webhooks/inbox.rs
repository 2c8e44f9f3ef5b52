//! A receiver with any number of connections, over TLS if wanted, that behaves as it is told and
//! records everything: every request, and the order of requests and acceptances.

use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::receiver::{Request, read};
use super::verifier::{Doubt, check};
use crate::support::{SOON, Value, wait_until};

/// The pause between two bytes of a dripping answer.
const DRIP: Duration = Duration::from_millis(20);

/// The fate of a request.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fate {
    /// 200 at once.
    Take,
    /// A status, headers, and no body.
    Say(String),
    /// 200 after this time, if the sender is still waiting.
    Late(Duration),
    /// An answer whose head comes byte by byte and does not end.
    Drip,
    /// No answer.
    Hang,
    /// The connection ends before the answer.
    HangUp,
    /// The connection ends within the head of the answer.
    HalfHead,
    /// The connection ends within the body of a good answer, after its status.
    HalfBody,
}

/// A request that was received, with its fate.
#[derive(Debug)]
pub struct Call {
    pub request: Request,
    /// The `webhook-id`.
    pub id: String,
    /// When it was received, in milliseconds since 1970.
    pub at: u64,
    pub fate: Fate,
}

impl Call {
    pub fn body(&self) -> Value {
        serde_json::from_slice(&self.request.body).unwrap()
    }

    /// Checks that it is signed with a secret, with the timestamp near its arrival.
    pub fn signed(&self, secret: &str) -> Result<(), Doubt> {
        self.signed_at(secret, self.at / 1_000)
    }

    /// Checks that it is signed with a secret, with the timestamp near an instant in seconds.
    pub fn signed_at(&self, secret: &str, now: u64) -> Result<(), Doubt> {
        let header = |name: &str| self.request.header(name);
        check(secret, header, &self.request.body, now)
    }
}

/// One line of the log: the place of a call in the list of calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    Came(usize),
    /// Recorded before the sender can know.
    Taken(usize),
}

#[derive(Default)]
struct Known {
    calls: Vec<Arc<Call>>,
    log: Vec<Note>,
}

type Behaviour = Box<dyn FnMut(&Request) -> Fate + Send>;

struct State {
    known: Mutex<Known>,
    behaviour: Mutex<Behaviour>,
    over: AtomicBool,
    lines: Mutex<Vec<TcpStream>>,
}

/// A receiver; see the module. It stops when this handle is dropped.
pub struct Inbox {
    addr: SocketAddr,
    scheme: &'static str,
    state: Arc<State>,
}

impl Inbox {
    /// A receiver on a free port of this machine that takes everything.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self::listen(listener, None, |_| Fate::Take)
    }

    /// A receiver behind a listener, over TLS if there is a configuration for it.
    pub fn listen(
        listener: TcpListener,
        tls: Option<Arc<ServerConfig>>,
        behaviour: impl FnMut(&Request) -> Fate + Send + 'static,
    ) -> Self {
        let state = Arc::new(State {
            known: Mutex::default(),
            behaviour: Mutex::new(Box::new(behaviour)),
            over: AtomicBool::new(false),
            lines: Mutex::default(),
        });
        let addr = listener.local_addr().unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let known = Arc::downgrade(&state);
        thread::spawn(move || accept(&listener, tls.as_ref(), &known));
        Self {
            addr,
            scheme,
            state,
        }
    }

    /// Its URL, with a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.addr)
    }

    /// Changes the behaviour from now on.
    pub fn behave(&self, behaviour: impl FnMut(&Request) -> Fate + Send + 'static) {
        *self.state.behaviour.lock().unwrap() = Box::new(behaviour);
    }

    /// All requests so far.
    pub fn calls(&self) -> Vec<Arc<Call>> {
        self.state.known.lock().unwrap().calls.clone()
    }

    /// The receipts and acceptances, in order.
    pub fn log(&self) -> Vec<Note> {
        self.state.known.lock().unwrap().log.clone()
    }

    /// Waits until this many requests have come, and returns them.
    pub async fn came(&self, count: usize) -> Vec<Arc<Call>> {
        let what = format!("{count} calls at {}", self.addr);
        wait_until(&what, SOON, async || {
            let calls = self.calls();
            (calls.len() >= count).then_some(calls)
        })
        .await
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::SeqCst);
        for line in self.state.lines.lock().unwrap().drain(..) {
            line.shutdown(std::net::Shutdown::Both).ok();
        }
        // Wakes the listener, which then sees that it has to stop.
        TcpStream::connect(self.addr).ok();
    }
}

fn accept(listener: &TcpListener, tls: Option<&Arc<ServerConfig>>, state: &Weak<State>) {
    for (connection, stream) in listener.incoming().enumerate() {
        let Some(state) = state.upgrade() else { return };
        let Ok(stream) = stream else { continue };
        if state.over.load(Ordering::SeqCst) {
            return;
        }
        let Ok(handle) = stream.try_clone() else {
            continue;
        };
        state.lines.lock().unwrap().push(handle);
        let tls = tls.cloned();
        let Ok(line) = stream.try_clone() else {
            continue;
        };
        thread::spawn(move || {
            match tls {
                None => serve(connection, Plain(stream), &state),
                Some(config) => {
                    let session = ServerConnection::new(config).unwrap();
                    let secure = Secure(StreamOwned::new(session, stream));
                    serve(connection, secure, &state);
                }
            }
            // The list of connections still holds the socket, so it must be shut down.
            line.shutdown(std::net::Shutdown::Both).ok();
        });
    }
}

/// A connection whose reads can time out.
trait Wire: Read + Write {
    fn patience(&self, limit: Option<Duration>);
}

struct Plain(TcpStream);
struct Secure(StreamOwned<ServerConnection, TcpStream>);

macro_rules! wire {
    ($name:ident, $socket:expr) => {
        impl Read for $name {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                self.0.read(into)
            }
        }
        impl Write for $name {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                self.0.flush()
            }
        }
        impl Wire for $name {
            fn patience(&self, limit: Option<Duration>) {
                let socket: fn(&Self) -> &TcpStream = $socket;
                socket(self).set_read_timeout(limit).ok();
            }
        }
    };
}
wire!(Plain, |plain| &plain.0);
wire!(Secure, |secure| secure.0.get_ref());

fn serve(connection: usize, wire: impl Wire, state: &State) {
    let mut reader = BufReader::new(wire);
    while let Some(request) = read(connection, &mut reader) {
        let (at, fate) = state.came(request);
        if !answer(reader.get_mut(), fate, || state.taken(at)) {
            return;
        }
    }
}

impl State {
    fn came(&self, request: Request) -> (usize, Fate) {
        let fate = (self.behaviour.lock().unwrap())(&request);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let mut known = self.known.lock().unwrap();
        let at = known.calls.len();
        known.log.push(Note::Came(at));
        known.calls.push(Arc::new(Call {
            id: request.header("webhook-id").unwrap_or_default().to_owned(),
            at: u64::try_from(now.as_millis()).unwrap(),
            request,
            fate: fate.clone(),
        }));
        (at, fate)
    }

    fn taken(&self, at: usize) {
        self.known.lock().unwrap().log.push(Note::Taken(at));
    }
}

/// Whether no byte came, and nobody hung up, within a time.
fn silence(wire: &mut impl Wire, limit: Option<Duration>) -> bool {
    wire.patience(limit);
    let kind = wire.read(&mut [0]).err().map(|why| why.kind());
    wire.patience(None);
    matches!(
        kind,
        Some(io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
    )
}

/// Answers; returns whether the connection goes on.
fn answer(wire: &mut impl Wire, fate: Fate, taken: impl Fn()) -> bool {
    let say = |wire: &mut dyn Write, text: &str| {
        wire.write_all(text.as_bytes()).is_ok() && wire.flush().is_ok()
    };
    const YES: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    match fate {
        Fate::Take => {
            taken();
            say(wire, YES)
        }
        Fate::Say(head) => {
            if head.starts_with('2') {
                taken();
            }
            let text = format!("HTTP/1.1 {head}\r\ncontent-length: 0\r\n\r\n");
            say(wire, &text)
        }
        Fate::Late(time) => {
            if !silence(wire, Some(time)) {
                return false;
            }
            taken();
            say(wire, YES)
        }
        Fate::Drip => {
            let head = b"HTTP/1.1 200 OK\r\nx: ".iter();
            for byte in head.chain(std::iter::repeat(&b'y')) {
                let text = char::from(*byte).to_string();
                if !say(wire, &text) || !silence(wire, Some(DRIP)) {
                    break;
                }
            }
            false
        }
        Fate::Hang => {
            silence(wire, None);
            false
        }
        Fate::HangUp => false,
        Fate::HalfHead => {
            say(wire, "HTTP/1.1 200 OK\r\ncontent-le");
            false
        }
        Fate::HalfBody => {
            taken();
            say(wire, "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
            false
        }
    }
}
