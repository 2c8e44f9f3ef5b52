//! A receiver of notices with its own check of the signature: HMAC by its definition (RFC 2104).

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{HANG, soon};

/// A notice as it came.
#[derive(Clone, Debug)]
pub(super) struct Got {
    pub id: String,
    pub stamp: u64,
    pub signature: String,
    pub text: String,
    pub body: Value,
}

/// Takes notices and answers each with the next of its statuses; with 200 when there are no more. With status 0 it
/// never answers.
pub(super) struct Receiver {
    pub addr: SocketAddr,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Receiver {
    pub(super) fn start(statuses: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let got: Arc<Mutex<Vec<Got>>> = Arc::default();
        let (kept, statuses) = (Arc::clone(&got), statuses.to_vec());
        thread::spawn(move || {
            let mut held = Vec::new();
            for (turn, stream) in listener.incoming().enumerate() {
                let status = statuses.get(turn).copied().unwrap_or(200);
                let mut stream = stream.unwrap();
                let got = serve(&mut stream, status);
                held.extend((status == 0).then_some(stream));
                if let Some(notice) = got {
                    kept.lock().unwrap().push(notice);
                }
            }
        });
        Self { addr, got }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/bank/v1/notifications", self.addr)
    }

    pub(super) fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    /// Waits until this many have come.
    pub(super) async fn wait(&self, count: usize) -> Vec<Got> {
        soon("the notices come", async || self.got().len() >= count).await;
        self.got()
    }
}

fn serve(stream: &mut TcpStream, status: u16) -> Option<Got> {
    let mut bytes = Vec::new();
    let (head, length) = loop {
        let mut some = [0; 4096];
        let count = stream.read(&mut some).ok().filter(|count| *count > 0)?;
        bytes.extend(&some[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length: usize = header(head, "content-length").parse().unwrap();
            if bytes.len() >= head.len() + 4 + length {
                break (head.to_owned(), length);
            }
        }
    };
    let text = String::from_utf8(bytes[bytes.len() - length..].to_vec()).unwrap();
    assert_eq!(header(&head, "content-type"), "application/json");
    let got = Got {
        id: header(&head, "webhook-id"),
        stamp: header(&head, "webhook-timestamp").parse().unwrap(),
        signature: header(&head, "webhook-signature"),
        body: serde_json::from_str(&text).unwrap(),
        text,
    };
    let location = "location: http://127.0.0.1:1/\r\n";
    let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n{location}\r\n");
    if status != 0 {
        stream.write_all(answer.as_bytes()).ok();
    }
    Some(got)
}

fn header(head: &str, name: &str) -> String {
    let lines = head.lines().filter_map(|line| line.split_once(": "));
    let mut found = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
    let value = found.next().map(|(_, value)| value.to_owned());
    assert!(found.next().is_none(), "{name} comes once");
    value.unwrap_or_default()
}

fn sha(parts: &[&[u8]]) -> Vec<u8> {
    digest(&SHA256, &parts.concat()).as_ref().to_vec()
}

/// Checks the signature, the freshness and that body and headers name the same notice.
pub(super) fn verify(got: &Got, secret: &str) {
    let mut key = secret.as_bytes().to_vec();
    assert!((32..=64).contains(&key.len()));
    key.resize(64, 0);
    let pad = |with: u8| key.iter().map(|byte| byte ^ with).collect::<Vec<u8>>();
    let signed = format!("{}.{}.{}", got.id, got.stamp, got.text);
    let inner = sha(&[&pad(0x36), signed.as_bytes()]);
    let tag = STANDARD.encode(sha(&[&pad(0x5c), &inner]));
    assert_eq!(got.signature, format!("v1,{tag}"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    assert!(now.abs_diff(Duration::from_secs(got.stamp)) < HANG);
    assert_eq!(got.body["id"], got.id);
    assert_eq!(got.body["object"], "event");
}
