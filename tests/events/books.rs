//! A consumer that knows only the events, and rebuilds every balance from them.

use std::collections::BTreeMap;

use crate::support::{Client, Value};

/// An account's balances, in centavos, and how many movements it had.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Line {
    available: i64,
    held: i64,
    total: i64,
    sequence: u64,
}

/// The books of a consumer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Books {
    lines: BTreeMap<String, Line>,
    /// The number of the last event.
    pub seen: u64,
    /// The id of the last event.
    pub last_id: String,
}

fn centavos(value: &Value) -> i64 {
    value.as_str().unwrap().replace('.', "").parse().unwrap()
}

impl Books {
    /// Takes the next event; fails on one that is repeated or out of order.
    pub fn take(&mut self, event: &Value) {
        let id = event["id"].as_str().unwrap();
        assert_eq!(event["sequence"], self.seen + 1, "after {}", self.last_id);
        assert!(id > self.last_id.as_str(), "{id} after {}", self.last_id);
        self.seen += 1;
        id.clone_into(&mut self.last_id);
        if event["type"] == "voucher.created" {
            self.post(&event["data"]);
        }
    }

    /// Books a voucher, and checks the balances that it states.
    fn post(&mut self, voucher: &Value) {
        let cvu = voucher["cvu"].as_str().unwrap().to_owned();
        let line = self.lines.entry(cvu).or_default();
        let amount = centavos(&voucher["amount"]);
        let (available, held) = match voucher["ledgerType"].as_str().unwrap() {
            "credit" => (amount, 0),
            "debit" => (-amount, 0),
            "hold" => (-amount, amount),
            "release" => (amount, -amount),
            "confirm_hold" => (0, -amount),
            other => panic!("{other}"),
        };
        line.available += available;
        line.held += held;
        line.total += available + held;
        line.sequence += 1;
        let answer = Line {
            available: centavos(&voucher["availableAfter"]),
            held: centavos(&voucher["heldAfter"]),
            total: centavos(&voucher["totalAfter"]),
            sequence: voucher["sequence"].as_u64().unwrap(),
        };
        assert_eq!(*line, answer, "{voucher}");
    }

    /// Checks that every account of the realm has what the books have, and that the books know no
    /// other.
    pub async fn agree(&self, client: &Client) {
        let listed = client.get("/v1/accounts?limit=200").await.is(200);
        let mut unseen = self.lines.clone();
        for account in listed["items"].as_array().unwrap() {
            let cvu = account["cvu"].as_str().unwrap();
            let balance = client.balance(cvu).await;
            let right = Line {
                available: centavos(&balance["available"]),
                held: centavos(&balance["held"]),
                total: centavos(&balance["total"]),
                sequence: balance["sequence"].as_u64().unwrap(),
            };
            assert_eq!(unseen.remove(cvu).unwrap_or_default(), right, "{cvu}");
        }
        assert!(unseen.is_empty(), "{unseen:?}");
        assert!(self.lines.len() > 1);
    }
}
