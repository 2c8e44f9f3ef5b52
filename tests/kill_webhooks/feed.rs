//! The feed of events, and what a receiver must have received of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use caudal_ledger::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::support::{Client, Value};
use crate::webhooks::hook::Hook;
use crate::webhooks::inbox::{Inbox, Note};

#[derive(Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    next: Option<String>,
}

/// An event, as it is in the feed.
pub struct Event {
    id: String,
    kind: String,
    /// The CVU of its account; empty for an event about the whole realm.
    account: String,
    at: u64,
    text: String,
    body: Value,
}

/// All events of the realm.
pub struct Feed {
    pub events: Vec<Event>,
}

/// The figures of one receiver.
pub struct Told {
    repeated: usize,
    /// The times from an event to its first request, in milliseconds, ascending.
    delays: Vec<u64>,
}

impl Told {
    pub fn median(&self) -> u64 {
        self.delays[self.delays.len() / 2]
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.delays.last().unwrap();
        write!(
            f,
            "{} repeats, first requests {} ms after their event in the median and {last} ms at most",
            self.repeated,
            self.median(),
        )
    }
}

fn centavos(text: &Value) -> i64 {
    text.as_str().unwrap().replace('.', "").parse().unwrap()
}

impl Feed {
    pub async fn read(client: &Client) -> Self {
        let (mut events, mut after) = (Vec::new(), String::new());
        loop {
            let page = client.get(&format!("/v1/events?limit=200{after}"));
            let page: Page = serde_json::from_str(&page.await.is(200).text).unwrap();
            events.extend(page.items.iter().map(|item| Event::read(item.get())));
            match page.next {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        for (event, number) in events.iter().zip(1..) {
            assert_eq!(event.body["sequence"], number, "no gap in the feed");
        }
        Self { events }
    }

    /// Checks that a receiver has every event that it wants: each body as in the feed, signed, and
    /// no event of an account before the account's previous event was taken.
    pub fn complete(&self, inbox: &Inbox, secret: &str, wants: impl Fn(&str) -> bool) -> Told {
        let mut before: HashMap<&str, &str> = HashMap::new();
        let mut wanted = HashMap::new();
        for event in self.events.iter().filter(|event| wants(&event.kind)) {
            let earlier = before.insert(event.account.as_str(), event.id.as_str());
            wanted.insert(event.id.as_str(), (event, earlier));
        }
        let (calls, log) = (inbox.calls(), inbox.log());
        let (mut came, mut taken) = (BTreeSet::new(), BTreeSet::new());
        let mut firsts: HashMap<&str, u64> = HashMap::new();
        let mut delays = Vec::new();
        for note in log {
            let Note::Came(at) = note else {
                let Note::Taken(at) = note else { continue };
                let id = calls[at].id.as_str();
                if taken.insert(id) {
                    let (event, _) = wanted[id];
                    let number = event.body["sequence"].as_u64().unwrap();
                    let last = firsts.insert(event.account.as_str(), number);
                    assert!(last.is_none_or(|last| last < number), "{id} was taken late");
                }
                continue;
            };
            let call = &calls[at];
            let Some((event, earlier)) = wanted.get(call.id.as_str()) else {
                panic!("{} is nothing that should come: {:?}", call.id, call.body());
            };
            assert_eq!(call.request.body, event.text.as_bytes(), "{}", call.id);
            assert_eq!(call.signed(secret), Ok(()), "{}", call.id);
            if let Some(earlier) = earlier {
                assert!(
                    taken.contains(earlier),
                    "{} came before {earlier} was taken",
                    call.id
                );
            }
            if came.insert(event.id.as_str()) {
                delays.push(call.at.saturating_sub(event.at));
            }
        }
        let missing: Vec<_> = wanted.keys().filter(|id| !taken.contains(*id)).collect();
        assert!(missing.is_empty(), "never taken: {missing:?}");
        delays.sort_unstable();
        Told {
            repeated: calls.len() - came.len(),
            delays,
        }
    }

    /// Checks that the events the receiver took first, and those in the feed, add up to the
    /// ledger's balances.
    pub async fn rebuilds(&self, client: &Client, cvus: &[String], inbox: &Inbox) {
        let calls = inbox.calls();
        let mut seen = BTreeSet::new();
        let taken = inbox.log().into_iter().filter_map(|note| match note {
            Note::Taken(at) => Some(calls[at].body()),
            Note::Came(_) => None,
        });
        let taken = taken.filter(|body| seen.insert(body["id"].to_string()));
        let of_inbox = book(taken);
        let of_feed = book(self.events.iter().map(|event| event.body.clone()));
        assert_eq!(of_inbox, of_feed);
        assert_eq!(of_feed.len(), cvus.len());
        for cvu in cvus {
            let balance = client.balance(cvu).await;
            let right = [
                centavos(&balance["available"]),
                centavos(&balance["held"]),
                balance["sequence"].as_i64().unwrap(),
            ];
            assert_eq!(of_feed[cvu.as_str()], right, "{cvu}");
        }
    }

    /// Checks that the list of deliveries has each event once, all delivered.
    pub async fn listed(&self, hook: &Hook) {
        let listed = hook.deliveries("order=asc&limit=200").await;
        for delivery in &listed {
            assert_eq!(delivery["status"], "delivered", "{delivery}");
        }
        let ids: Vec<_> = listed.iter().map(|it| it["eventId"].as_str()).collect();
        let right: Vec<_> = self
            .events
            .iter()
            .map(|event| Some(event.id.as_str()))
            .collect();
        assert_eq!(ids, right);
    }
}

impl Event {
    fn read(text: &str) -> Self {
        let body: Value = serde_json::from_str(text).unwrap();
        let word = |name: &str| body[name].as_str().unwrap().to_owned();
        let data = &body["data"];
        let account = data["cvu"].as_str().or_else(|| data["fromCvu"].as_str());
        Self {
            id: word("id"),
            kind: word("type"),
            account: account.unwrap_or_default().to_owned(),
            at: Timestamp::parse(&word("timestamp")).unwrap().millis(),
            text: text.to_owned(),
            body,
        }
    }
}

/// Available, held and the last sequence of each CVU, from the vouchers alone.
fn book(bodies: impl Iterator<Item = Value>) -> BTreeMap<String, [i64; 3]> {
    let mut book: BTreeMap<String, [i64; 3]> = BTreeMap::new();
    for body in bodies.filter(|body| body["type"] == "voucher.created") {
        let data = &body["data"];
        let [available, held, last] = book
            .entry(data["cvu"].as_str().unwrap().into())
            .or_default();
        let moved = centavos(&data["amount"]);
        match data["ledgerType"].as_str().unwrap() {
            "credit" => *available += moved,
            "debit" => *available -= moved,
            "hold" => (*available, *held) = (*available - moved, *held + moved),
            "release" => (*available, *held) = (*available + moved, *held - moved),
            _ => *held -= moved,
        }
        *last += 1;
        assert_eq!(data["sequence"], *last, "a gap: {data}");
        assert_eq!(centavos(&data["availableAfter"]), *available, "{data}");
        assert_eq!(centavos(&data["heldAfter"]), *held, "{data}");
    }
    book
}
