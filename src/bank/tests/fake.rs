//! A bank that answers as a test orders, for answers that the sandbox bank would never give.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use super::*;

/// What the bank does with a request.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// It answers, with the rest of a status line and a body.
    Say(&'static str, String),
    /// The same, with bytes that may be no text; the status line may bring headers along.
    Bytes(&'static str, Vec<u8>),
    /// It hangs up.
    Hang,
    /// It says nothing.
    Wait,
}

/// A yes.
pub(super) fn yes(body: &Value) -> Act {
    Act::Say("200 OK", body.to_string())
}

/// A business error.
pub(super) fn no(code: &str) -> Act {
    let body = json!({"code": code, "message": "no"});
    Act::Say("409 Conflict", body.to_string())
}

/// A server that accepts every login and treats all other requests as `act` says. Returns its URL and the requests
/// (head and body) as they come.
pub(super) fn bank(
    mut act: impl FnMut(&str) -> Act + Send + 'static,
) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/base/", listener.local_addr().unwrap());
    let (send, calls) = mpsc::channel();
    thread::spawn(move || {
        let mut silent = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut request, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                request.push_str(&line);
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut sent = vec![0; length];
            reader.read_exact(&mut sent).unwrap();
            request.push_str(&String::from_utf8(sent).unwrap());
            let acted = if request.contains("/login/jwt") {
                yes(&json!({"token": "t0k", "expires_in": 3600}))
            } else {
                act(&request)
            };
            // Reported before the answer is sent, so that a test that has the answer finds the request.
            if send.send(request).is_err() {
                return;
            }
            match acted {
                Act::Say(status, body) => said(&mut stream, status, body.as_bytes()),
                Act::Bytes(status, body) => said(&mut stream, status, &body),
                Act::Hang => drop(stream),
                Act::Wait => silent.push(stream),
            }
        }
    });
    (url, calls)
}

fn said(stream: &mut std::net::TcpStream, status: &str, body: &[u8]) {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    // The client may hang up on an answer that is too long.
    stream.write_all(&[head.as_bytes(), body].concat()).ok();
}

/// A bank with one answer for everything.
pub(super) fn canned(status: &'static str, body: String) -> (String, mpsc::Receiver<String>) {
    bank(move |_| Act::Say(status, body.clone()))
}

/// A bank that does one thing after the other, and the last one for ever.
pub(super) fn scripted(acts: Vec<Act>) -> (String, mpsc::Receiver<String>) {
    let (url, calls, _) = paced(acts);
    (url, calls)
}

/// Like [`scripted`], and returns the gateway's patience for the next act: short if the bank will be silent, and long
/// if it will answer, however busy the machine is.
pub(super) fn paced(acts: Vec<Act>) -> (String, mpsc::Receiver<String>, CallTimeout) {
    let mut acts = acts.into_iter().peekable();
    let fit = |next: Option<&Act>| match next {
        Some(Act::Wait) => patience::HASTY,
        Some(Act::Say(..) | Act::Bytes(..) | Act::Hang) | None => HANG,
    };
    let patience = CallTimeout::new(fit(acts.peek()));
    let next = patience.clone();
    let (url, calls) = bank(move |_| {
        let act = acts.next().unwrap();
        if acts.peek().is_none() {
            acts = vec![act.clone()].into_iter().peekable();
        }
        next.set(fit(acts.peek()));
        act
    });
    (url, calls, patience)
}

/// The JSON that a request carries.
pub(super) fn body_of(request: &str) -> Value {
    serde_json::from_str(request.lines().last().unwrap()).unwrap()
}
