//! A client that sends raw bytes, and a service whose books are checked afterwards.

use std::time::Duration;

use caudal_http::body::Deadlines;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Client, SOON, Setup, TestService, Value, json};

/// How long the service waits for the rest of a request: longer than any test, so that a client
/// that gets an answer got it without that wait.
pub const PATIENT: Duration = Duration::from_secs(3600);
/// The short wait of a test in which the service has to give up on one slow part.
pub const HASTY: Duration = Duration::from_secs(2);

/// An answer as it came over the wire.
#[derive(Debug)]
pub struct Raw {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Raw {
    /// The whole error body, which is always our own.
    #[track_caller]
    pub fn error(&self) -> Value {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"));
        for name in ["statusCode", "message", "timestamp", "code", "requestId"] {
            assert!(!body[name].is_null(), "{name} is missing: {self:?}");
        }
        assert_eq!(body["statusCode"], self.status, "{self:?}");
        body
    }
}

/// Sends raw bytes on a connection of their own, and reads until it closes or the answer is whole;
/// `None` if it closes without an answer.
pub async fn send(url: &str, bytes: &[u8]) -> Option<Raw> {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://"))
        .await
        .unwrap();
    // A server that has seen enough may close before everything is written.
    stream.write_all(bytes).await.ok();
    read(&mut stream).await
}

pub async fn read(stream: &mut TcpStream) -> Option<Raw> {
    let (mut got, mut chunk) = (Vec::new(), [0; 8192]);
    let whole = async {
        loop {
            if let Some(raw) = parsed(&got) {
                return Some(raw);
            }
            match stream.read(&mut chunk).await {
                Ok(0) | Err(_) => return None,
                Ok(n) => got.extend_from_slice(&chunk[..n]),
            }
        }
    };
    tokio::time::timeout(SOON, whole)
        .await
        .expect("an answer, or the end of the connection")
}

pub fn parsed(bytes: &[u8]) -> Option<Raw> {
    let text = String::from_utf8_lossy(bytes);
    let (head, rest) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        line.to_ascii_lowercase()
            .strip_prefix("content-length: ")?
            .parse::<usize>()
            .ok()
    });
    (rest.len() >= length.unwrap_or(0)).then(|| Raw {
        status,
        head: head.to_owned(),
        body: rest.to_owned(),
    })
}

/// The lines of a request's head, with the key, and its body.
pub fn request(client: &Client, line: &str, more: &str, body: &[u8]) -> Vec<u8> {
    let key = client.key.as_deref().unwrap();
    let head = format!("{line} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n{more}\r\n");
    [head.as_bytes(), body].concat()
}

/// A posting with this body, and with these headers instead of its length.
pub fn posting(client: &Client, cvu: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let line = format!("POST /v1/accounts/{cvu}/comprobantes");
    request(
        client,
        &line,
        &format!("content-type: application/json\r\n{headers}"),
        body,
    )
}

pub fn sized(client: &Client, cvu: &str, body: &[u8]) -> Vec<u8> {
    posting(
        client,
        cvu,
        &format!("content-length: {}\r\n", body.len()),
        body,
    )
}

pub struct Stage {
    pub service: TestService,
    pub cvu: String,
}

impl Stage {
    pub async fn new() -> Self {
        Self::with(PATIENT, PATIENT).await
    }

    pub async fn with(head: Duration, body: Duration) -> Self {
        let deadlines = Deadlines { head, body };
        let service = TestService::with(Setup {
            deadlines,
            ..Setup::default()
        })
        .await;
        service.a.in_and_out().await;
        let cvu = service.a.cvu().await;
        service.a.credit(&cvu, "100.00").await;
        Self { service, cvu }
    }

    pub async fn send(&self, bytes: &[u8]) -> Option<Raw> {
        send(&self.service.a.url, bytes).await
    }

    /// Checks that after everything a posting works, nothing else was posted, and the books are
    /// right.
    pub async fn lives(&self) {
        let posted = self.service.a.credit(&self.cvu, "1.00").await;
        assert_eq!(
            (&posted["sequence"], &posted["totalAfter"]),
            (&json!(2), &json!("101.00"))
        );
        assert_eq!(self.service.verified().await, 2);
    }
}
