//! Dry runs: every order, dry and with an idempotency key, before every refusal and after its cause
//! is gone. A dry run gives the answer that the order would get, posts nothing and keeps nothing, so
//! the real order under the same key always gets its own outcome.

use crate::batch::item;
use crate::support::client::fresh;
use crate::support::{Answer, Client, TestService, Value, json};

const BATCH: &str = "/v1/comprobantes/batch";

/// The things that an order works with.
struct Scene {
    /// An account with 100.00, and its number.
    cvu: String,
    number: Value,
    /// Another account of the realm.
    other: String,
    /// An open hold of 10.00.
    hold: String,
    /// The type for debits.
    code: String,
    /// An external id that is still free.
    id: String,
}

impl Scene {
    async fn set(a: &Client) -> Self {
        let opened = a.open_account().await;
        let cvu = opened["cvu"].as_str().unwrap().to_owned();
        let other = a.cvu().await;
        a.credit(&cvu, "110.00").await;
        let hold = a.hold(&cvu, "10.00").await;
        let code = format!("DRY_{}", fresh());
        a.create_type(&code, "debit").await;
        Self {
            number: opened["walletAccountId"].clone(),
            cvu,
            other,
            hold: hold["id"].as_str().unwrap().to_owned(),
            code,
            id: format!("dry-{}", fresh()),
        }
    }

    fn item(&self, amount: &str) -> Value {
        json!({"cvu": self.cvu, "voucherTypeCode": self.code, "amount": amount,
               "idExterno": self.id})
    }

    fn transfer(&self, to: Value) -> (String, Value) {
        let body = json!({"fromCvu": self.cvu, "to": to, "amount": "10.00", "idExterno": self.id});
        ("/v1/transfers".to_owned(), body)
    }

    fn batch(&self, mode: &str) -> (String, Value) {
        (
            BATCH.to_owned(),
            json!({"mode": mode, "items": [self.item("10.00")]}),
        )
    }
}

type Asked = fn(&Scene) -> (String, Value);

/// Every order that has a dry run, each for 10.00.
const ORDERS: &[(&str, Asked)] = &[
    ("post", |s| {
        let body = json!({"voucherTypeCode": s.code, "amount": "10.00", "idExterno": s.id});
        (format!("/v1/accounts/{}/comprobantes", s.cvu), body)
    }),
    ("wallet post", |s| {
        let body = json!({"idCuenta": s.number, "codigo": s.code, "importe": 10.00,
                          "idExterno": s.id});
        ("/wallet/v1/Comprobante".to_owned(), body)
    }),
    ("batch, independent", |s| s.batch("independent")),
    ("batch, atomic", |s| s.batch("atomic")),
    ("open hold", |s| {
        let body = json!({"amount": "10.00", "idExterno": s.id});
        (format!("/v1/accounts/{}/holds", s.cvu), body)
    }),
    ("confirm hold", |s| {
        (
            format!("/v1/holds/{}/confirm", s.hold),
            json!({"amount": "10.00"}),
        )
    }),
    ("release hold", |s| {
        (
            format!("/v1/holds/{}/release", s.hold),
            json!({"amount": "10.00"}),
        )
    }),
    ("transfer inside", |s| s.transfer(json!({"cvu": s.other}))),
    ("transfer outside", |s| {
        s.transfer(json!({"alias": "DESTINO.0"}))
    }),
];

/// A request: method, path, body.
type Step = (&'static str, fn(&Scene) -> String, fn(&Scene) -> Value);

/// A reason for refusals: how it arises, and how it goes away, if it does.
struct Cause {
    name: &'static str,
    make: Step,
    cure: Option<Step>,
}

fn account(s: &Scene, what: &str) -> String {
    format!("/v1/accounts/{}/{what}", s.cvu)
}

fn voucher(s: &Scene, code: &str) -> Value {
    json!({"voucherTypeCode": code, "amount": "100.00", "idExterno": format!("{}-{code}", s.id)})
}

const CAUSES: &[Cause] = &[
    Cause {
        name: "the type does not exist",
        make: (
            "DELETE",
            |s| format!("/v1/voucher-types/{}", s.code),
            |_| Value::Null,
        ),
        cure: Some((
            "POST",
            |_| "/v1/voucher-types".to_owned(),
            |s| json!({"code": s.code, "name": "Again", "sense": "debit"}),
        )),
    },
    Cause {
        name: "the type is off",
        make: (
            "PATCH",
            |s| format!("/v1/voucher-types/{}", s.code),
            |_| json!({"active": false}),
        ),
        cure: Some((
            "PATCH",
            |s| format!("/v1/voucher-types/{}", s.code),
            |_| json!({"active": true}),
        )),
    },
    Cause {
        name: "too little money",
        make: (
            "POST",
            |s| account(s, "comprobantes"),
            |s| voucher(s, "OUT"),
        ),
        cure: Some(("POST", |s| account(s, "comprobantes"), |s| voucher(s, "IN"))),
    },
    Cause {
        name: "suspended",
        make: (
            "POST",
            |s| account(s, "suspend"),
            |_| json!({"reason": "a test"}),
        ),
        cure: Some(("POST", |s| account(s, "reactivate"), |_| Value::Null)),
    },
    Cause {
        name: "a limit",
        make: (
            "PATCH",
            |s| account(s, "limits"),
            |_| json!({"dailyAmount": "5.00"}),
        ),
        cure: Some((
            "PATCH",
            |s| account(s, "limits"),
            |_| json!({"dailyAmount": null}),
        )),
    },
    Cause {
        name: "the external id is another's",
        make: (
            "POST",
            |s| account(s, "comprobantes"),
            |s| json!({"voucherTypeCode": "OUT", "amount": "1.00", "idExterno": s.id}),
        ),
        cure: None,
    },
    Cause {
        name: "the hold has ended",
        make: (
            "POST",
            |s| format!("/v1/holds/{}/release", s.hold),
            |_| Value::Null,
        ),
        cure: None,
    },
    Cause {
        name: "the hold holds less",
        make: (
            "POST",
            |s| format!("/v1/holds/{}/release", s.hold),
            |_| json!({"amount": "5.00"}),
        ),
        cure: None,
    },
];

async fn act(a: &Client, s: &Scene, (method, path, body): &Step) {
    let call = a.call(method, &path(s));
    let answer = match body(s) {
        Value::Null => call.await,
        body => call.json(&body).await,
    };
    assert!((200..300).contains(&answer.status), "{}", answer.text);
}

/// Everything that an order may change: money, movements, holds, transfers, events.
async fn traces(a: &Client, s: &Scene) -> Vec<String> {
    let mut seen = Vec::new();
    for path in [
        account(s, "balance"),
        account(s, "movements?limit=200"),
        account(s, "holds?limit=200"),
        format!("/v1/transfers?limit=200&fromCvu={}", s.cvu),
    ] {
        let mut shown = a.get(&path).await.is(200).json;
        if let Some(fields) = shown.as_object_mut() {
            fields.remove("asOf");
        }
        seen.push(shown.to_string());
    }
    let other = a.balance(&s.other).await["sequence"].to_string();
    let events = a.get("/v1/events?types=voucher.created&limit=200").await;
    seen.extend([
        other,
        events.is(200)["items"]
            .as_array()
            .unwrap()
            .len()
            .to_string(),
    ]);
    seen
}

/// The gist of an answer: its status, its code, and the code of its only item.
fn gist(answer: &Answer) -> (u16, Value, Value) {
    let item = answer["details"]["results"][0].clone();
    let item = if item.is_null() {
        answer["results"][0].clone()
    } else {
        item
    };
    let code = &item["error"]["code"];
    (
        answer.status,
        answer["code"].clone(),
        if code.is_null() {
            item["status"].clone()
        } else {
            code.clone()
        },
    )
}

/// Whether an answer, or its only item, is a refusal.
fn refused(answer: &Answer) -> bool {
    answer.status >= 400 || answer["results"][0]["status"] == "rejected"
}

/// A dry run with a key: checks that it leaves no trace, and that the key is as good as unused.
async fn rehearse(a: &Client, s: &Scene, (path, body): &(String, Value), key: &str) -> Answer {
    let before = traces(a, s).await;
    let dry = format!("{path}?dryRun=true");
    let answer = a.post(&dry, body).key(key).await;
    assert!(!answer.replayed() && answer.status < 500, "{}", answer.text);
    assert_eq!(traces(a, s).await, before, "{dry} left a trace");
    let kept = a.get(&format!("/v1/idempotency/{key}")).await;
    kept.refused(404, "idempotency_key_not_found");
    answer
}

#[actix_web::test]
async fn after_a_dry_run_the_key_gives_what_the_order_really_gets() {
    let service = TestService::start().await;
    let a = &service.a;
    a.in_and_out().await;
    let mut refusals = 0;
    for (name, order) in ORDERS {
        for cause in CAUSES {
            let (scene, key) = (Scene::set(a).await, format!("dry-{}", fresh()));
            let order = order(&scene);
            let what = format!("{name}, {}", cause.name);
            act(a, &scene, &cause.make).await;
            let dry = rehearse(a, &scene, &order, &key).await;
            if refused(&dry) {
                refusals += 1;
            }
            if let (true, Some(cure)) = (refused(&dry), &cause.cure) {
                act(a, &scene, cure).await;
                let again = rehearse(a, &scene, &order, &key).await;
                assert!(!refused(&again), "{what}: {}", again.text);
                let done = a.post(&order.0, &order.1).key(&key).await;
                assert!(!refused(&done) && !done.replayed(), "{what}: {}", done.text);
                assert!(
                    a.post(&order.0, &order.1).key(&key).await.replayed(),
                    "{what}"
                );
                continue;
            }
            // If the cause remains, the real order gets the answer of the dry run.
            let done = a.post(&order.0, &order.1).key(&key).await;
            assert!(!done.replayed(), "{what}: {}", done.text);
            assert_eq!(refused(&done), refused(&dry), "{what}: {}", done.text);
            if refused(&dry) {
                assert_eq!(gist(&done), gist(&dry), "{what}");
            }
        }
    }
    assert!(refusals >= 30, "only {refusals} orders were refused");
}

#[actix_web::test]
async fn a_batch_is_rehearsed_item_after_item() {
    let service = TestService::start().await;
    let a = &service.a;
    a.in_and_out().await;
    let (one, two) = (a.cvu().await, a.cvu().await);
    let items = [
        item(&one, "OUT", "5.00", "too-early"),
        item(&one, "IN", "10.00", "first"),
        item(&one, "OUT", "8.00", "second"),
        item(&one, "OUT", "8.00", "too-much"),
        item(&one, "IN", "10.00", "first"),
        item(&one, "IN", "11.00", "first"),
        item(&two, "IN", "3.00", "third"),
        item(&two, "OUT", "3.00", "fourth"),
        item("0000532609100002749314", "IN", "1.00", "nobody"),
        json!("unreadable"),
    ];
    let sent = |mode: &str, items: &[Value]| json!({"mode": mode, "items": items});
    let dry = format!("{BATCH}?dryRun=true");
    let states = |answer: &Answer| -> Vec<String> {
        let rows = answer["results"].as_array().unwrap().iter();
        rows.map(|row| match row["error"]["code"].as_str() {
            Some(code) => code.to_owned(),
            None => format!("{} {}", row["status"], row["voucher"]["availableAfter"]),
        })
        .collect()
    };
    let independent = sent("independent", &items);
    let rehearsed = a.post(&dry, &independent).await.is(200);
    for cvu in [&one, &two] {
        assert_eq!(a.balance(cvu).await["sequence"], 0, "{cvu}");
    }
    let done = a.post(BATCH, &independent).await.is(200);
    assert_eq!(states(&rehearsed), states(&done));
    assert_eq!(rehearsed["summary"], done["summary"]);
    assert_eq!(rehearsed["summary"]["recorded"], 4);
    assert_eq!(a.available(&one).await, "2.00");

    // As one batch: an item that depends on an earlier one passes, and a refused item takes all
    // others with it.
    let chain = [
        item(&two, "IN", "20.00", "chain-1"),
        item(&two, "OUT", "20.00", "chain-2"),
        item(&one, "OUT", "2.00", "chain-3"),
    ];
    let atomic = sent("atomic", &chain);
    let rehearsed = a.post(&dry, &atomic).await.is(200);
    assert_eq!(rehearsed["summary"]["recorded"], 3);
    assert_eq!(
        (a.available(&one).await, a.available(&two).await),
        ("2.00".into(), "0.00".into())
    );
    let refused = sent(
        "atomic",
        &[&chain[..], &[item(&one, "OUT", "0.01", "chain-4")]].concat(),
    );
    let dry_refusal = a.post(&dry, &refused).await.refused(400, "batch_rejected");
    let refusal = a.post(BATCH, &refused).await.refused(400, "batch_rejected");
    assert_eq!(dry_refusal["details"], refusal["details"]);
    let done = a.post(BATCH, &atomic).await.is(200);
    assert_eq!(states(&rehearsed), states(&done));
    service.verified().await;
}
