//! Clients without a key: what they may send, how long they may wait, how many there may be, and
//! that nobody with a key notices them.

mod connections;
mod flood;
pub mod keys;
mod pages;
pub mod process;
mod readers;
mod shapes;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Client, SOON, Value};

/// A request without a key that anybody may send.
const HELLO: &str = "GET /livez HTTP/1.1\r\nhost: x\r\n\r\n";

/// The beginning of a head that does not end, with this many bytes in its last line.
fn endless(length: usize) -> String {
    format!(
        "GET /livez HTTP/1.1\r\nhost: x\r\nx: {}",
        "y".repeat(length)
    )
}

/// An answer as it was received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Raw {
    pub status: u16,
    head: String,
    body: Vec<u8>,
}

impl Raw {
    /// The code of an error body; checks that the body is whole.
    pub fn code(&self) -> String {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        for name in ["statusCode", "message", "timestamp", "code", "requestId"] {
            assert!(!body[name].is_null(), "{name} is missing: {self:?}");
        }
        assert_eq!(body["statusCode"], self.status, "{self:?}");
        body["code"].as_str().unwrap().to_owned()
    }

    /// A text of the body.
    fn body_text(&self, name: &str) -> String {
        let body: Value = serde_json::from_slice(&self.body).unwrap();
        body[name].as_str().unwrap().to_owned()
    }
}

/// A connection, and the bytes received on it that were not read yet.
pub struct Line {
    stream: TcpStream,
    got: Vec<u8>,
}

impl Line {
    pub async fn to(client: &Client) -> Self {
        Self {
            stream: TcpStream::connect(client.url.trim_start_matches("http://"))
                .await
                .unwrap(),
            got: Vec::new(),
        }
    }

    /// Sends, as far as the other side accepts it.
    pub async fn send(&mut self, text: impl AsRef<[u8]>) {
        self.stream.write_all(text.as_ref()).await.ok();
    }

    /// The next answer; `None` if the connection ends without one.
    pub async fn answer(&mut self) -> Option<Raw> {
        let whole = async {
            loop {
                if let Some((raw, length)) = parsed(&self.got) {
                    self.got.drain(..length);
                    return Some(raw);
                }
                let mut chunk = vec![0; 16 * 1024];
                match self.stream.read(&mut chunk).await {
                    Ok(0) | Err(_) => return None,
                    Ok(n) => self.got.extend_from_slice(&chunk[..n]),
                }
            }
        };
        tokio::time::timeout(SOON, whole).await.unwrap()
    }

    /// Waits until the connection is closed, and returns what arrived before that.
    async fn closed(&mut self) -> Vec<u8> {
        let end = async {
            let mut chunk = vec![0; 16 * 1024];
            loop {
                match self.stream.read(&mut chunk).await {
                    Ok(0) | Err(_) => return std::mem::take(&mut self.got),
                    Ok(n) => self.got.extend_from_slice(&chunk[..n]),
                }
            }
        };
        tokio::time::timeout(SOON, end).await.unwrap()
    }

    /// Sends a request and expects its answer.
    async fn lives(&mut self) {
        self.send(HELLO).await;
        assert_eq!(self.answer().await.unwrap().status, 200);
    }
}

/// The first answer in these bytes, and its length including the head.
fn parsed(bytes: &[u8]) -> Option<(Raw, usize)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let length = line.strip_prefix("content-length: ")?;
        length.parse::<usize>().ok()
    });
    let length = end + length.unwrap_or(0);
    let body = bytes.get(end..length)?.to_vec();
    Some((Raw { status, head, body }, length))
}
