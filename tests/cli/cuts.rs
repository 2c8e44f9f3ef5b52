//! `caudal listen` when its stream is cut: wherever that happens, no event is lost and none comes twice.

use std::io::{self, Read as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{Going, caudal};
use crate::support::TestService;
use crate::webhooks::inbox::Inbox;

/// After how many bytes of its answer a connection is cut: in its head, in an event, after some events.
const CUTS: [u64; 4] = [90, 700, 2_900, 1_500];

/// Forwards connections to an address, and cuts the first ones. Returns its own address, and a counter of the
/// connections.
fn cutting(to: SocketAddr) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap();
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    thread::spawn(move || {
        let most = CUTS.into_iter().chain(std::iter::repeat(u64::MAX));
        for (client, most) in listener.incoming().zip(most) {
            let (Ok(client), Ok(server)) = (client, TcpStream::connect(to)) else {
                return;
            };
            count.fetch_add(1, Ordering::SeqCst);
            let (asks, asked) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || io::copy(&mut &asks, &mut &asked));
            thread::spawn(move || {
                io::copy(&mut (&server).take(most), &mut &client).ok();
                client.shutdown(Shutdown::Both).ok();
                server.shutdown(Shutdown::Both).ok();
            });
        }
    });
    (own, seen)
}

#[actix_web::test]
async fn a_stream_that_is_cut_is_taken_up_again_without_losing_an_event() {
    let service = TestService::start().await;
    let inbox = Inbox::start();
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let first = service.a.get("/v1/events?limit=1").await.is(200);
    let first = first["items"][0]["id"].as_str().unwrap().to_owned();
    let to = service.a.url.trim_start_matches("http://").parse().unwrap();
    let (proxy, seen) = cutting(to);
    let url = format!("http://{proxy}");
    let forward = inbox.url("/hooks");
    let mut listen = caudal(&["listen", "--forward", &forward, "--url", &url]);
    listen.args(["--after", &first, "--types", "voucher.created"]);
    listen.env("CAUDAL_API_KEY", service.a.key.as_deref().unwrap());
    listen.stdout(Stdio::null());
    let _going = Going(listen.spawn().unwrap());
    let mut posted = Vec::new();
    for _ in 0..12 {
        posted.push(service.a.credit(&cvu, "1.00").await["id"].clone());
    }
    let calls = inbox.came(posted.len()).await;
    let brought: Vec<_> = calls
        .iter()
        .map(|call| call.body()["data"]["id"].clone())
        .collect();
    assert_eq!(brought, posted, "each once, in order");
    assert!(seen.load(Ordering::SeqCst) > CUTS.len(), "it was cut");
}
