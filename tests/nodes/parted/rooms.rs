//! Requests that are passed on: strangers leave room for tenants, however large their bodies are.

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::Parted;
use crate::support::{SOON, wait_until};

/// More bodies of the largest size than a node keeps at once, of tenants and strangers together.
const FLOOD: usize = 70;
/// A request of a length that is not known yet, whose body does not end.
const ENDLESS: &str = "POST /v1/accounts HTTP/1.1\r\nhost: caudal\r\nx-api-key: nobody\r\n\
                       content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n";

/// How the answer begins where there is no room.
const REFUSED: &[u8; 12] = b"HTTP/1.1 503";

/// Whether the answer to a request has begun to arrive, and is that there is no room.
fn is_refused(stream: &TcpStream) -> bool {
    let mut head = [0; REFUSED.len()];
    stream.try_read(&mut head).is_ok() && &head == REFUSED
}

#[actix_web::test]
async fn bodies_of_strangers_leave_room_for_those_of_tenants() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    let (client, cvu) = (parted.client(2, 1), parted.tenants[1].cvu.clone());
    client.voucher(&cvu, "IN", "1.00", "before").await.is(201);
    let url = parted.nodes.client(2).url;
    let address = url.trim_start_matches("http://");
    let send = async || {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(ENDLESS.as_bytes()).await.unwrap();
        stream
    };
    let mut flood = Vec::new();
    for _ in 0..FLOOD {
        flood.push(send().await);
    }
    // Those that have room are not answered until their time is over: none of them may be waited for.
    wait_until("strangers have no room any more", SOON, async || {
        flood.push(send().await);
        flood.iter().any(is_refused).then_some(())
    })
    .await;
    client.voucher(&cvu, "IN", "1.00", "beside").await.is(201);
    drop(flood);
    assert_eq!(client.available(&cvu).await, "2.00");
    parted.nodes.stop().await;
}
