//! A proxy between a log and its server that loses messages, or ends for good, on command.
//!
//! **Order.** It looks for the append statement in the client's bytes. A loss ends the connection,
//! as a network failure does.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// The bytes that identify an append on the wire.
const APPEND: &[u8] = b"INSERT INTO caudal_log";

/// The part of the next append that is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lost {
    /// The request never reaches the server.
    Request,
    /// The server executes it, and its answer is lost.
    Answer,
    /// The connection ends, and the request reaches the server only when [`Proxy::deliver`] says so.
    Late,
}

struct State {
    next: Option<Lost>,
    /// The connection to the server, the request, and the thread that reads the answer.
    late: Vec<(TcpStream, Vec<u8>, JoinHandle<()>)>,
    losses: u32,
    /// The connections to clients; `None` once the proxy has ended.
    clients: Option<Vec<TcpStream>>,
}

/// The proxy; it ends with the process.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    /// A proxy in front of the server on port `server`.
    pub(crate) fn new(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State {
            next: None,
            late: Vec::new(),
            losses: 0,
            clients: Some(Vec::new()),
        }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                match &mut shared.lock().unwrap().clients {
                    Some(clients) => clients.push(client.try_clone().unwrap()),
                    None => continue,
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    continue;
                };
                let state = Arc::clone(&shared);
                thread::spawn(move || carry(client, server, &state));
            }
        });
        Self { port, state }
    }

    /// Loses the next append.
    pub(crate) fn lose(&self, what: Lost) {
        self.state.lock().unwrap().next = Some(what);
    }

    /// Ends all connections and lets none through any more: for the server, the client is dead.
    pub(crate) fn end(&self) {
        let clients = self.state.lock().unwrap().clients.take();
        for client in clients.into_iter().flatten() {
            drop(client.shutdown(Shutdown::Both));
        }
    }

    /// How many appends were lost.
    pub(crate) fn losses(&self) -> u32 {
        self.state.lock().unwrap().losses
    }

    /// Delivers the requests that were held back; returns when the server has answered.
    pub(crate) fn deliver(&self) -> usize {
        let late = std::mem::take(&mut self.state.lock().unwrap().late);
        let count = late.len();
        for (mut server, bytes, answered) in late {
            server.write_all(&bytes).unwrap();
            answered.join().unwrap();
        }
        count
    }
}

/// Carries bytes both ways until one side ends, or something is to be lost.
fn carry(mut client: TcpStream, mut server: TcpStream, state: &Arc<Mutex<State>>) {
    let (mut back_from, mut back_to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let swallow = Arc::new(Mutex::new(false));
    let silent = Arc::clone(&swallow);
    let back = thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(read @ 1..) = back_from.read(&mut bytes) {
            if *silent.lock().unwrap() || back_to.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
        drop(back_to.shutdown(Shutdown::Both));
    });
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read @ 1..) = client.read(&mut bytes) {
        let chunk = &bytes[..read];
        let lost = if chunk.windows(APPEND.len()).any(|w| w == APPEND) {
            let mut state = state.lock().unwrap();
            let lost = state.next.take();
            state.losses += u32::from(lost.is_some());
            lost
        } else {
            None
        };
        match lost {
            None => {}
            Some(Lost::Request) => break,
            // Set before the request is sent, so that no answer slips through.
            Some(Lost::Answer) => *swallow.lock().unwrap() = true,
            Some(Lost::Late) => {
                *swallow.lock().unwrap() = true;
                let kept = (server, chunk.to_vec(), back);
                state.lock().unwrap().late.push(kept);
                drop(client.shutdown(Shutdown::Both));
                return;
            }
        }
        if server.write_all(chunk).is_err() {
            break;
        }
    }
    drop(client.shutdown(Shutdown::Both));
    drop(server.shutdown(Shutdown::Both));
    back.join().unwrap();
}
