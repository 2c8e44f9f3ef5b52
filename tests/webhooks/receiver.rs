//! Receivers of webhooks, good and bad: a listener that treats each request as the test says.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A request as it was received.
#[derive(Clone, Debug)]
pub struct Request {
    /// The number of its connection, from 0.
    pub connection: usize,
    /// The request line.
    pub line: String,
    headers: Vec<(String, String)>,
    /// The bytes of the body.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of the header with this name; fails if there are two.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let (_, value) = found.next()?;
        assert_eq!(found.count(), 0, "{name} twice");
        Some(value)
    }
}

/// The receiver's end of a connection.
pub struct Line<'a> {
    stream: TcpStream,
    over: &'a mpsc::Receiver<()>,
}

impl Line<'_> {
    /// Sends bytes; false if nobody listens any more.
    pub fn say(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Sends bytes and hangs up.
    pub fn last(&mut self, bytes: &[u8]) -> bool {
        self.say(bytes);
        false
    }

    /// Waits for a time; false if the test ends meanwhile.
    pub fn wait(&self, time: Duration) -> bool {
        self.over.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout)
    }

    /// Keeps the connection open until the test ends.
    pub fn hold(&self) {
        self.over.recv().ok();
    }
}

/// A receiver that listens until the test ends.
pub struct Receiver {
    /// The address that it listens on.
    pub addr: SocketAddr,
    requests: mpsc::Receiver<Request>,
    _over: mpsc::Sender<()>,
}

impl Receiver {
    /// A receiver on a free port that treats each request by `act`. If `act` returns true, the
    /// connection stays open for the next request.
    pub fn start(act: impl FnMut(&mut Line<'_>) -> bool + Send + 'static) -> Self {
        Self::listen(TcpListener::bind("127.0.0.1:0").unwrap(), act)
    }

    /// A receiver that answers each request with this status and these headers, and no body.
    pub fn answering(head: &str) -> Self {
        let text = format!("HTTP/1.1 {head}\r\ncontent-length: 0\r\n\r\n");
        Self::start(move |line| line.say(text.as_bytes()))
    }

    /// A receiver behind a listener.
    pub fn listen(
        listener: TcpListener,
        mut act: impl FnMut(&mut Line<'_>) -> bool + Send + 'static,
    ) -> Self {
        let addr = listener.local_addr().unwrap();
        let (tell, requests) = mpsc::channel();
        let (sender, over) = mpsc::channel();
        thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                let stream = stream.unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = Line {
                    stream,
                    over: &over,
                };
                // The request is recorded before it is answered, so that a test that has the answer
                // finds the request.
                while let Some(request) = read(connection, &mut reader) {
                    if tell.send(request).is_err() {
                        return;
                    }
                    if !act(&mut line) {
                        break;
                    }
                }
            }
        });
        Self {
            addr,
            requests,
            _over: sender,
        }
    }

    /// Its URL, with a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// The next request, if another one has come.
    pub fn next(&self) -> Option<Request> {
        self.requests.try_recv().ok()
    }
}

/// Reads the next request on a connection; `None` if there is no whole one.
pub fn read(connection: usize, reader: &mut impl BufRead) -> Option<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end() {
            "" => break,
            text => lines.push(text.to_owned()),
        }
    }
    let mut lines = lines.into_iter();
    let line = lines.next()?;
    let split = |text: String| {
        let (name, value) = text.split_once(": ").unwrap();
        (name.to_owned(), value.to_owned())
    };
    let mut request = Request {
        connection,
        line,
        headers: lines.map(split).collect(),
        body: Vec::new(),
    };
    // A request without a body has no length.
    let length = request.header("content-length");
    let length = length.map_or(0, |text| text.parse().unwrap());
    request.body.resize(length, 0);
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}
