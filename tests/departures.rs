//! Clients that leave: their order is not carried out if its turn has not come.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::ThreadId;

use caudal_actors::ports::Clock;
use caudal_http::clock::now;
use caudal_ledger::time::Timestamp;
use futures_util::future::join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Client, SOON, Setup, TestService, json};

/// How many clients order, and how many of them stay.
const ASKING: usize = 24;
const STAYING: usize = 5;

/// A clock that, once armed, holds the first actor that asks for the time: an account in its turn.
#[derive(Debug, Default)]
struct Gate {
    armed: AtomicBool,
    /// The threads that serve requests, which are never held.
    serving: Mutex<HashSet<ThreadId>>,
    learning: AtomicBool,
    /// Whether an actor is held, and whether all may pass again.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Clock for Gate {
    fn now(&self) -> Timestamp {
        let thread = std::thread::current().id();
        let mut serving = self.serving.lock().unwrap();
        if self.learning.load(Ordering::Acquire) {
            serving.insert(thread);
        }
        let serves = serving.contains(&thread);
        drop(serving);
        if !serves && self.armed.swap(false, Ordering::AcqRel) {
            let mut state = self.state.lock().unwrap();
            state.0 = true;
            self.changed.notify_all();
            drop(self.changed.wait_while(state, |state| !state.1).unwrap());
        }
        now()
    }
}

impl Gate {
    fn holds(&self) {
        let state = self.state.lock().unwrap();
        let held = self
            .changed
            .wait_timeout_while(state, SOON, |state| !state.0)
            .unwrap();
        assert!(!held.1.timed_out(), "no actor asked for the time");
    }

    fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }
}

/// Sends an order on a connection of its own.
async fn ask(client: &Client, cvu: &str, id: &str) -> TcpStream {
    let body = json!({"amount": "1.00", "idExterno": id, "voucherTypeCode": "IN"}).to_string();
    let key = client.key.as_deref().unwrap();
    let head = format!(
        "POST /v1/accounts/{cvu}/comprobantes HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n\
         idempotency-key: {id}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(client.url.trim_start_matches("http://"))
        .await
        .unwrap();
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    stream
}

#[actix_web::test]
async fn an_order_whose_client_has_gone_is_not_posted() {
    let gate = Arc::new(Gate::default());
    let clock: Arc<dyn Clock> = Arc::<Gate>::clone(&gate);
    let service = TestService::with(Setup {
        clock,
        ..Setup::default()
    })
    .await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    gate.learning.store(true, Ordering::Release);
    // This request involves no actor.
    service.a.get("/v1/comprobantes/vou_x").await;
    gate.learning.store(false, Ordering::Release);
    gate.armed.store(true, Ordering::Release);
    let mut first = ask(&service.a, &cvu, "first").await;
    let held = Arc::clone(&gate);
    tokio::task::spawn_blocking(move || held.holds())
        .await
        .unwrap();
    // The account is in a turn that does not end, and all other orders wait behind it.
    let names: Vec<_> = (0..ASKING).map(|n| format!("n{n}")).collect();
    let mut streams = join_all(names.iter().map(|id| ask(&service.a, &cvu, id))).await;
    let leaving = streams.split_off(STAYING);
    let left = leaving.into_iter().map(|mut stream| async move {
        stream.shutdown().await.unwrap();
        // The service closes its side too, without an answer: it has dropped the request.
        let mut rest = Vec::new();
        let read = stream.read_to_end(&mut rest);
        let closed = tokio::time::timeout(SOON, read).await;
        closed.expect("the service keeps the request").unwrap();
        assert_eq!(String::from_utf8_lossy(&rest), "");
    });
    join_all(left).await;
    gate.open();
    for stream in std::iter::once(&mut first).chain(&mut streams) {
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 201");
    }
    let balance = service.a.balance(&cvu).await;
    assert_eq!(balance["available"], format!("{}.00", 1 + STAYING));
    // Their keys and ids are free: a client that comes back gets its order done, once.
    for id in &names {
        let body = json!({"amount": "1.00", "idExterno": id, "voucherTypeCode": "IN"});
        let path = format!("/v1/accounts/{cvu}/comprobantes");
        let asking = service.a.call("POST", &path).header("idempotency-key", id);
        let again = asking.json(&body).await;
        assert!(again.status == 201 || again.status == 200, "{}", again.text);
    }
    let balance = service.a.balance(&cvu).await;
    assert_eq!(balance["available"], format!("{}.00", 1 + ASKING));
    service.verified().await;
}
