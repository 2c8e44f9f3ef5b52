//! Requests that are passed on: strangers leave room for tenants, however large their bodies are.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::Parted;
use crate::support::{SOON, wait_until};

/// More bodies of the largest size than a node keeps at once, of tenants and strangers together.
const FLOOD: usize = 70;
/// A request of a length that is not known yet, whose body does not end.
const ENDLESS: &str = "POST /v1/accounts HTTP/1.1\r\nhost: caudal\r\nx-api-key: nobody\r\n\
                       content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n";

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
    wait_until("strangers have no room any more", SOON, async || {
        let mut stream = send().await;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.ok()?;
        (&head == b"HTTP/1.1 503").then_some(())
    })
    .await;
    client.voucher(&cvu, "IN", "1.00", "beside").await.is(201);
    drop(flood);
    assert_eq!(client.available(&cvu).await, "2.00");
    parted.nodes.stop().await;
}
