//! The movements that an account allows, by its state: a table, over HTTP.

use caudal_actors::accounts::ChangeProfile;
use caudal_actors::engine::Requester;
use caudal_actors::realms::Target;
use caudal_ledger::accounts::ProfileOrder;
use caudal_ledger::cvu::Cvu;

use crate::support::client::fresh;
use crate::support::service::TENANT;
use crate::support::{Answer, SOON, TestService, Value, json, wait_until};

/// The columns of the table; money from the bank comes last, as an additional column.
const MOVEMENTS: [&str; 8] = [
    "credit",
    "debit",
    "hold",
    "confirm",
    "release",
    "send",
    "receive",
    "send_bank",
];

/// o passes, s suspended, c closed, d disabled, x the destination is closed; in the last column,
/// for cash-in, k means that the money is kept in suspense.
const TABLE: [(&str, bool, &str); 6] = [
    ("active", true, "ooooooooo"),
    ("active", false, "ddddododo"),
    ("suspended", true, "osssososo"),
    ("suspended", false, "dsssososo"),
    ("closed", true, "cocoocxck"),
    ("closed", false, "cocoocxck"),
];

/// An account in a state, with two holds that were opened before: one to confirm, one to release.
struct Subject {
    cvu: String,
    confirmed: Value,
    released: Value,
}

impl Subject {
    async fn of(service: &TestService, state: &str, enabled: bool) -> Self {
        let client = &service.a;
        let cvu = client.cvu().await;
        client.credit(&cvu, "100.00").await;
        let confirmed = client.hold(&cvu, "5.00").await;
        let released = client.hold(&cvu, "5.00").await;
        enable(service, &cvu, enabled).await;
        let path = format!("/v1/accounts/{cvu}");
        match state {
            "suspended" => {
                let path = format!("{path}/suspend");
                client
                    .post(&path, &json!({"reason": "a test"}))
                    .await
                    .is(200);
            }
            "closed" => {
                client.delete(&path).await.is(200);
            }
            _ => {}
        }
        Self {
            cvu,
            confirmed,
            released,
        }
    }

    async fn attempt(&self, service: &TestService, movement: &str, other: &str) -> Answer {
        let (client, cvu) = (&service.a, self.cvu.as_str());
        let id = format!("{movement}-{}", fresh());
        match movement {
            "credit" => client.voucher(cvu, "IN", "1.00", &id).await,
            "debit" => client.voucher(cvu, "OUT", "1.00", &id).await,
            "hold" => {
                let body = json!({"amount": "1.00", "idExterno": id});
                client
                    .post(&format!("/v1/accounts/{cvu}/holds"), &body)
                    .await
            }
            "confirm" => client.step(&self.confirmed, "confirm", "1.00").await,
            "release" => client.step(&self.released, "release", "1.00").await,
            "send" => client.transfer(cvu, json!({"cvu": other}), "1.00").await,
            "receive" => client.transfer(other, json!({"cvu": cvu}), "1.00").await,
            _ => {
                let to = json!({"alias": "DESTINO.2"});
                client.transfer(cvu, to, "1.00").await
            }
        }
    }
}

/// Enables or disables the wallet account.
async fn enable(service: &TestService, cvu: &str, enabled: bool) {
    let engine = service.engine();
    let realm = engine.platform().tenant(TENANT).unwrap().test;
    let requester = Requester {
        keyed: None,
        request_id: "test".to_owned(),
        admitted: None,
    };
    let (target, order) = (
        Target::Cvu(Cvu::parse(cvu).unwrap()),
        ProfileOrder::SetEnabled(enabled),
    );
    let changed = engine
        .ledger()
        .order(realm, ChangeProfile::new(target, order), requester)
        .await;
    changed.unwrap();
}

fn letter(answer: Answer) -> char {
    if answer.status < 300 {
        return 'o';
    }
    let answer = answer.is(400).error();
    match answer["code"].as_str().unwrap() {
        "account_suspended" => 's',
        "account_closed" => 'c',
        "account_disabled" => 'd',
        "destination_closed" => 'x',
        other => panic!("{other}: {}", answer.text),
    }
}

/// The outcome of money that the bank sends.
async fn cash_in(service: &TestService, cvu: &str) -> char {
    let before = service.a.balance(cvu).await["sequence"].clone();
    let coelsa = service.bank.cash_in(cvu, "1.00").await;
    wait_until("the money arrives or waits", SOON, async || {
        if service.a.balance(cvu).await["sequence"] != before {
            return Some('o');
        }
        let day = service.a.get("/v1/bank/conciliacion").await.is(200);
        let mut items = day["items"].as_array().unwrap().iter();
        let kept = |item: &&Value| item["coelsaId"] == coelsa && item["suspense"].is_object();
        items.find(kept).map(|_| 'k')
    })
    .await
}

#[actix_web::test]
async fn the_state_of_an_account_decides_which_movements_pass() {
    let service = TestService::start().await;
    service.hear().await;
    service.a.in_and_out().await;
    let other = service.a.cvu().await;
    service.a.credit(&other, "1000.00").await;
    let mut wrong = String::new();
    for (state, enabled, right) in TABLE {
        let subject = Subject::of(&service, state, enabled).await;
        let mut found = String::new();
        for movement in MOVEMENTS {
            let answer = subject.attempt(&service, movement, &other).await;
            found.push(letter(answer));
        }
        found.push(cash_in(&service, &subject.cvu).await);
        if found != right {
            wrong += &format!("\n{state}, enabled {enabled}: {found}, not {right}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    service.verified().await;
}

#[actix_web::test]
async fn earlier_transfers_settle_in_any_account_state() {
    for state in ["suspended", "closed"] {
        for (status, available) in [("COMPLETED", "90.00"), ("FAILED", "100.00")] {
            let service = TestService::start().await;
            service.hear().await;
            service.a.in_and_out().await;
            let cvu = service.a.cvu().await;
            service.a.credit(&cvu, "100.00").await;
            let to = json!({"alias": "DESTINO.2"});
            let sent = service.a.transfer(&cvu, to, "10.00").await.is(201).json;
            let open = service.a.settled(&sent, "in_progress").await;
            let path = format!("/v1/accounts/{cvu}");
            if state == "closed" {
                service.a.delete(&path).await.is(200);
            } else {
                let body = json!({"reason": "a test"});
                service
                    .a
                    .post(&format!("{path}/suspend"), &body)
                    .await
                    .is(200);
            }
            service.bank.settle(&open["originId"], status).await;
            let ended = if status == "COMPLETED" {
                "completed"
            } else {
                "rejected"
            };
            service.a.settled(&sent, ended).await;
            assert_eq!(
                service.a.available(&cvu).await,
                available,
                "{state} {status}"
            );
            service.verified().await;
        }
    }
}
