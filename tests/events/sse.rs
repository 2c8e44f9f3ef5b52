//! A client of server-sent events, by the WHATWG's specification, over a bare connection that can
//! be cut anywhere.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{Client, SOON, Value};

/// A message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Message {
    pub id: String,
    pub event: String,
    pub data: String,
}

impl Message {
    /// The event in its data, which carries the same id and type.
    pub fn event(&self) -> Value {
        let event: Value = serde_json::from_str(&self.data).unwrap();
        assert_eq!(
            (&event["id"], &event["type"]),
            (&self.id.as_str().into(), &self.event.as_str().into())
        );
        event
    }
}

/// The state of a stream after the bytes received so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sse {
    line: Vec<u8>,
    after_return: bool,
    next: Message,
    /// The id to reconnect with.
    pub last_id: String,
    /// How long to wait before reconnecting, in milliseconds.
    pub retry: Option<u64>,
    pub comments: Vec<String>,
    pub messages: Vec<Message>,
}

impl Sse {
    pub fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let second_half = self.after_return && *byte == b'\n';
            self.after_return = *byte == b'\r';
            match byte {
                b'\n' if second_half => {}
                b'\n' | b'\r' => {
                    let line = String::from_utf8(std::mem::take(&mut self.line)).unwrap();
                    self.line(&line);
                }
                other => self.line.push(*other),
            }
        }
    }

    fn line(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => self.dispatch(),
            "" => self.comments.push(value.to_owned()),
            "event" => value.clone_into(&mut self.next.event),
            "data" => {
                self.next.data += value;
                self.next.data.push('\n');
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.next.id),
            "retry" => self.retry = value.parse().ok().or(self.retry),
            _ => {}
        }
    }

    /// Ends a block: its id counts, with data or without.
    fn dispatch(&mut self) {
        self.next.id.clone_into(&mut self.last_id);
        let id = self.next.id.clone();
        let mut whole = std::mem::replace(
            &mut self.next,
            Message {
                id,
                ..Message::default()
            },
        );
        if whole.data.pop().is_some() {
            self.messages.push(whole);
        }
    }
}

/// Decodes the chunks of a body as they arrive.
#[derive(Debug, Default)]
struct Chunks {
    head: Vec<u8>,
    left: usize,
    ended: bool,
}

impl Chunks {
    fn feed(&mut self, bytes: &[u8], body: &mut Vec<u8>) {
        for byte in bytes {
            if self.left > 2 {
                body.push(*byte);
            }
            if self.left > 0 {
                self.left -= 1;
                continue;
            }
            self.head.push(*byte);
            if let Some(size) = self.head.strip_suffix(b"\r\n") {
                let size = usize::from_str_radix(str::from_utf8(size).unwrap(), 16).unwrap();
                // Including the line break after the chunk.
                self.left = size + 2;
                self.ended |= size == 0;
                self.head.clear();
            }
        }
    }
}

/// An open stream.
#[derive(Debug)]
pub struct Stream {
    socket: TcpStream,
    chunks: Chunks,
    /// Status line and headers, in lower case.
    pub head: String,
    pub sse: Sse,
    taken: usize,
}

/// Opens a connection and sends a request for a path, with a client's key.
pub async fn ask(client: &Client, method: &str, path: &str, headers: &str) -> TcpStream {
    let addr = client.url.strip_prefix("http://").unwrap();
    let socket = TcpStream::connect(addr).await.unwrap();
    send(socket, client, method, path, headers).await
}

/// Sends a request over an open connection.
pub async fn send(
    mut socket: TcpStream,
    client: &Client,
    method: &str,
    path: &str,
    headers: &str,
) -> TcpStream {
    let key = client.key.as_deref().unwrap();
    let head =
        format!("{method} {path} HTTP/1.1\r\nhost: caudal\r\nx-api-key: {key}\r\n{headers}\r\n");
    socket.write_all(head.as_bytes()).await.unwrap();
    socket
}

/// Reads once, at most this many bytes; empty at the end.
pub async fn read(socket: &mut TcpStream, most: usize) -> Vec<u8> {
    let mut bytes = vec![0; most];
    let came = timeout(SOON, socket.read(&mut bytes)).await;
    // A connection that is reset has ended too.
    let count = came.expect("something comes, or the end").unwrap_or(0);
    bytes.truncate(count);
    bytes
}

/// Reads the head of an answer, and nothing of its body.
pub async fn head(socket: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let byte = read(socket, 1).await;
        assert_eq!(
            byte.len(),
            1,
            "cut off in {}",
            String::from_utf8_lossy(&head)
        );
        head.extend(byte);
    }
    String::from_utf8(head).unwrap().to_lowercase()
}

impl Stream {
    /// Opens a stream after an event, or from now on.
    pub async fn open(client: &Client, query: &str, last: &str) -> Self {
        let header = match last {
            "" => "accept: text/event-stream\r\n".to_owned(),
            id => format!("last-event-id: {id}\r\n"),
        };
        let path = format!("/v1/events/stream{query}");
        let mut socket = ask(client, "GET", &path, &header).await;
        let head = head(&mut socket).await;
        assert!(head.starts_with("http/1.1 200 "), "{head}");
        let (chunks, sse) = (Chunks::default(), Sse::default());
        Self {
            socket,
            chunks,
            head,
            sse,
            taken: 0,
        }
    }

    /// Reads once, at most this many bytes; false at the end.
    pub async fn read(&mut self, most: usize) -> bool {
        let bytes = read(&mut self.socket, most).await;
        let mut body = Vec::new();
        self.chunks.feed(&bytes, &mut body);
        self.sse.feed(&body);
        !bytes.is_empty() && !self.chunks.ended
    }

    /// The next message; `None` at the end. Heartbeats alone do not count: it fails after [`SOON`].
    pub async fn next(&mut self) -> Option<Value> {
        let next = timeout(SOON, self.message()).await;
        next.expect("there is something to tell, or the end")
    }

    async fn message(&mut self) -> Option<Value> {
        loop {
            if let Some(message) = self.sse.messages.get(self.taken) {
                self.taken += 1;
                return Some(message.event());
            }
            if !self.read(4096).await {
                return None;
            }
        }
    }

    /// Reads until there is an id to reconnect with, which the stream sends at once.
    pub async fn begun(mut self) -> Self {
        while self.sse.last_id.is_empty() {
            assert!(self.read(4096).await, "it ended");
        }
        assert_eq!(self.sse.comments, Vec::<String>::new());
        self
    }

    /// Reads until this many heartbeats have come.
    pub async fn beats(&mut self, count: usize) {
        while self.sse.comments.len() < count {
            assert!(self.read(4096).await, "it ended");
        }
    }

    /// Reads to the end, and checks that the stream ended properly.
    pub async fn end(mut self) -> Sse {
        let ended = async { while self.read(4096).await {} };
        timeout(SOON, ended).await.expect("it ends");
        assert!(self.chunks.ended, "it was torn, not ended");
        self.sse
    }
}

#[test]
fn this_client_reads_what_the_specification_shows_wherever_it_is_cut() {
    let text = concat!(
        ": this is a test stream\n\ndata: some text\n\ndata: another message\r\ndata:with two lines\r\n\r\n",
        "id: 1\nevent: add\ndata: 73857293\n\nretry: 10\nretry: x\nid: 2\n\ndata\n\ndata\rdata\r\rid\ndata: 3\n\n",
        "id: 4\ndata: never ended"
    );
    let message = |id: &str, event: &str, data: &str| Message {
        id: id.to_owned(),
        event: event.to_owned(),
        data: data.to_owned(),
    };
    let right = [
        message("", "", "some text"),
        message("", "", "another message\nwith two lines"),
        message("1", "add", "73857293"),
        message("2", "", ""),
        message("2", "", "\n"),
        message("", "", "3"),
    ];
    for cut in 0..text.len() {
        let (one, other) = text.as_bytes().split_at(cut);
        let mut sse = Sse::default();
        sse.feed(one);
        sse.feed(other);
        assert_eq!(sse.messages, right, "{cut}");
        assert_eq!((sse.retry, sse.last_id.as_str()), (Some(10), ""));
        assert_eq!(sse.comments, ["this is a test stream"]);
    }
}
