//! Consumers that are cut off again and again while many clients move money: in the end each has the
//! whole list, once and in order, and every balance from the list alone.

use std::cell::Cell;
use std::rc::Rc;

use futures_util::future::join_all;

use super::books::Books;
use super::sse::{self, Stream};
use super::{FEED, all};
use crate::support::client::fresh;
use crate::support::{Client, TestService, Value, json};

/// How many clients move money, and how often each does.
const MOVERS: u64 = 8;
const MOVES: usize = 60;
/// How many accounts share the movements.
const ACCOUNTS: usize = 5;
/// How many consumers of each kind there are.
const CONSUMERS: u64 = 3;

/// Pseudo-random numbers, the same for each seed.
struct Dice(u64);

impl Dice {
    /// A number from 1 to `most`.
    fn up_to(&mut self, most: u64) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % most + 1).unwrap()
    }
}

/// Moves money in every way, whether the ledger allows it or not.
async fn mover(client: Client, seed: u64, cvus: Rc<Vec<String>>) {
    let mut dice = Dice(seed);
    for _ in 0..MOVES {
        let (cvu, other) = (&cvus[dice.up_to(5) - 1], &cvus[dice.up_to(5) - 1]);
        let amount = format!("{}.{:02}", dice.up_to(40), dice.up_to(99));
        let id = format!("moved-{}", fresh());
        let answer = match dice.up_to(6) {
            1 | 2 => client.voucher(cvu, "IN", &amount, &id).await,
            3 => client.voucher(cvu, "OUT", &amount, &id).await,
            4 => {
                let body = json!({"cvu": cvu, "importe": 12.5, "codigo": "IN", "idExterno": id,
                    "idCuenta": cvus.iter().position(|it| it == cvu).unwrap() + 1});
                client.post("/wallet/v1/Comprobante", &body).await
            }
            5 => client.transfer(cvu, json!({"cvu": other}), &amount).await,
            _ => {
                let body = json!({"amount": amount, "idExterno": id});
                let path = format!("/v1/accounts/{cvu}/holds");
                let held = client.post(&path, &body).await;
                if held.status == 201 {
                    for step in ["confirm", "release"] {
                        client.step(&held.json, step, "0.50").await.is(200);
                    }
                }
                held
            }
        };
        assert!([201, 400].contains(&answer.status), "{}", answer.text);
    }
}

/// A consumer of pages that is cut off at any point of an answer, and uses only whole ones.
async fn pager(client: Client, seed: u64, ended: Rc<Cell<bool>>) -> (Books, usize) {
    let (mut dice, mut books, mut cuts) = (Dice(seed), Books::default(), 0);
    loop {
        let over = ended.get();
        let after = match books.last_id.as_str() {
            "" => String::new(),
            id => format!("&after={id}"),
        };
        let path = format!("{FEED}?limit={}{after}", dice.up_to(40));
        let mut socket = sse::ask(&client, "GET", &path, "connection: close\r\n").await;
        let (most, mut came) = (dice.up_to(30_000), Vec::new());
        while came.len() < most {
            match sse::read(&mut socket, most - came.len()).await {
                bytes if bytes.is_empty() => break,
                bytes => came.extend(bytes),
            }
        }
        let text = String::from_utf8(came).unwrap_or_default();
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
        let page = body.and_then(|body| serde_json::from_str::<Value>(body).ok());
        let Some(page) = page else {
            cuts += 1;
            continue;
        };
        let items = page["items"].as_array().unwrap();
        items.iter().for_each(|event| books.take(event));
        if over && page["next"].is_null() {
            return (books, cuts);
        }
    }
}

/// A consumer of the stream that is cut off anywhere, and comes back with the last id it has. It
/// ends when it has seen `all` events, a number that is known only at the end.
async fn follower(
    client: Client,
    seed: u64,
    beginning: String,
    all: Rc<Cell<u64>>,
) -> (Books, usize) {
    let (mut dice, mut books, mut cuts) = (Dice(seed), Books::default(), 0);
    let mut last = beginning;
    loop {
        let mut stream = Stream::open(&client, "", &last).await;
        let (most, mut taken) = (dice.up_to(40), 0);
        for _ in 0..most {
            let went_on = stream.read(dice.up_to(3000)).await;
            for message in &stream.sse.messages[taken..] {
                books.take(&message.event());
            }
            taken = stream.sse.messages.len();
            if !went_on || books.seen == all.get() {
                break;
            }
        }
        if !stream.sse.last_id.is_empty() {
            stream.sse.last_id.clone_into(&mut last);
        }
        if books.seen == all.get() {
            return (books, cuts);
        }
        cuts += 1;
    }
}

/// A service with some accounts, and the place before the first event.
async fn peopled() -> (TestService, String, Rc<Vec<String>>) {
    let service = TestService::start().await;
    let first = Stream::open(&service.a, "", "").await.begun().await;
    service.a.in_and_out().await;
    let mut cvus = Vec::new();
    for _ in 0..ACCOUNTS {
        cvus.push(service.a.cvu().await);
    }
    (service, first.sse.last_id, Rc::new(cvus))
}

#[actix_web::test]
async fn a_disconnected_consumer_rebuilds_every_balance_from_events() {
    let (service, beginning, cvus) = peopled().await;
    let (ended, last) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(u64::MAX)));
    let a = || service.a.clone();
    let pagers = (0..CONSUMERS).map(|seed| pager(a(), seed, Rc::clone(&ended)));
    let followers =
        (0..CONSUMERS).map(|seed| follower(a(), seed, beginning.clone(), Rc::clone(&last)));
    let movers = async {
        join_all((0..MOVERS).map(|seed| mover(a(), seed, Rc::clone(&cvus)))).await;
        ended.set(true);
        let events = all(&service.a, 200, "").await;
        last.set(events.last().unwrap()["sequence"].as_u64().unwrap() + 1);
        // One more event, so that followers who are waiting notice the end.
        service.a.credit(&cvus[0], "0.01").await;
    };
    let (paged, followed, ()) = tokio::join!(join_all(pagers), join_all(followers), movers);
    let mut all_cuts = 0;
    for (mut books, cuts) in paged.into_iter().chain(followed) {
        // A page consumer may have ended before the last event.
        let path = format!("{FEED}?after={}", books.last_id);
        let rest = service.a.get(&path).await.is(200);
        rest["items"]
            .as_array()
            .unwrap()
            .iter()
            .for_each(|event| books.take(event));
        assert_eq!(books.seen, last.get());
        books.agree(&service.a).await;
        all_cuts += cuts;
    }
    println!("{all_cuts} cuts in {} events", last.get());
    assert!(all_cuts > 50, "{all_cuts} cuts");
    service.verified().await;
}

#[actix_web::test]
async fn a_stream_that_is_cut_at_any_byte_goes_on_without_gap_or_repetition() {
    let (service, beginning, cvus) = peopled().await;
    join_all((0..4).map(|seed| mover(service.a.clone(), seed, Rc::clone(&cvus)))).await;
    let events = all(&service.a, 200, "").await;
    let mut cuts = 0;
    for (seed, types) in (0..).zip([
        "",
        "",
        "",
        "voucher.created",
        "hold.*",
        "voucher_type.*,transfer.*",
    ]) {
        let query = match types {
            "" => String::new(),
            types => format!("?types={types}"),
        };
        let right = all(&service.a, 200, &query.replace('?', "&")).await;
        let (mut dice, mut answer) = (Dice(seed), Vec::new());
        let mut last = beginning.clone();
        while answer.len() < right.len() {
            let mut stream = Stream::open(&service.a, &query, &last).await;
            // Now and then the cut comes before even one message is whole.
            let most = dice.up_to(4000);
            let mut came = 0;
            while came < most && answer.len() + stream.sse.messages.len() < right.len() {
                let size = dice.up_to(700).min(most - came);
                assert!(stream.read(size).await, "it ended");
                came += size;
            }
            answer.extend(stream.sse.messages.iter().map(sse::Message::event));
            if !stream.sse.last_id.is_empty() {
                stream.sse.last_id.clone_into(&mut last);
            }
            cuts += 1;
        }
        assert_eq!(answer, right, "{types}");
    }
    println!("{cuts} cuts in {} events", events.len());
    assert!(cuts > 200, "{cuts} cuts");
}
