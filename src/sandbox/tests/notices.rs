//! Notices: signed, in order, sent again, lost, twice; and transfers that come in.

use super::receiver::{Got, Receiver, verify};
use super::*;

/// A delay after which nothing comes during a test.
const NEVER: Duration = Duration::from_secs(24 * 3600);
/// A delay after which a notice comes at once.
const SOON: Duration = Duration::from_millis(10);

async fn notifying(receiver: &Receiver) -> Rig {
    told_at(receiver, Pace::default()).await
}

async fn told_at(receiver: &Receiver, pace: Pace) -> Rig {
    let rig = Rig::start(SandboxOptions {
        notice_url: Some(receiver.url()),
        pace,
        ..SandboxOptions::default()
    })
    .await;
    rig.create(1, CUIT).await;
    rig
}

fn kinds(got: &[Got]) -> Vec<&str> {
    let kinds = got.iter().map(|it| it.body["type"].as_str().unwrap());
    kinds.collect()
}

fn rail_ids(got: &[Got]) -> Vec<&str> {
    let ids = got.iter().map(|it| it.body["data"]["coelsa_id"].as_str());
    ids.map(Option::unwrap).collect()
}

async fn settled(rig: &Rig) -> Value {
    soon("no notice waits", async || {
        rig.state().await["notices"]["pending"] == 0
    })
    .await;
    rig.state().await["notices"].clone()
}

#[actix_web::test]
async fn incoming_money_is_notified_and_listed() {
    let receiver = Receiver::start(&[]);
    let rig = notifying(&receiver).await;
    let from = json!({
        "cvu": cvu(1), "amount": "1500.5", "fromCuit": OTHER, "fromName": "Luz S.A.",
        "fromCbu": "0070590940090418135202",
    });
    let bad = rig.tell("cash-in", from.clone()).await;
    assert_eq!(bad.0, 400);
    let mut from = from;
    from["fromCbu"] = json!(Cbu::compose(7, 590, 42).unwrap());
    let (status, answer) = rig.tell("cash-in", from).await;
    assert_eq!(status, 200);
    let got = receiver.wait(1).await;
    verify(&got[0], NOTICE_SECRET);
    let body = &got[0].body;
    assert_eq!(
        (&body["type"], &body["redeliveries"]),
        (&json!("transfer.cvu.received"), &json!(0))
    );
    let (_, list) = rig.list(&[]).await;
    let listed = &list[0];
    let data = &body["data"];
    assert_eq!(data["coelsa_id"], answer["coelsaId"]);
    for same in ["id", "coelsa_id", "type", "business_date", "value"] {
        assert_eq!(data[same], listed[same], "{same}");
    }
    for same in ["origin_debit", "origin_credit"] {
        assert_eq!(data["details"][same], listed[same], "{same}");
    }
    assert_eq!(data["net_name"], "COELSA");
    assert_eq!(
        listed["origin_debit"]["bank"],
        json!({"code": "007", "name": "Galicia"})
    );
    assert_eq!(
        (
            &listed["origin_debit"]["cuit"],
            &listed["origin_debit"]["name"]
        ),
        (&json!(OTHER), &json!("Luz S.A."))
    );
    assert_eq!(
        listed["origin_credit"],
        json!({"cvu": cvu(1), "cuit": CUIT})
    );
    // The same rail id again: another notice, the same movement.
    let again = json!({"cvu": cvu(1), "amount": "9", "coelsaId": answer["coelsaId"]});
    assert_eq!(rig.tell("cash-in", again).await, (200, answer));
    let got = receiver.wait(2).await;
    assert_eq!(got[0].body["data"], got[1].body["data"]);
    assert_ne!(got[0].id, got[1].id);
    // The rail also knows CVUs that the book does not know, or that are closed.
    rig.create(2, OTHER).await;
    let close = format!("cvu/{}/{OTHER}", cvu(2));
    rig.wallet(Method::DELETE, &close, Value::Null).await;
    rig.cash_in(&cvu(2), "1").await;
    rig.cash_in(&cvu(9), "1").await;
    let got = receiver.wait(4).await;
    let credit = |turn: usize| got[turn].body["data"]["details"]["origin_credit"]["cuit"].clone();
    assert_eq!((credit(2), credit(3)), (json!(OTHER), json!("UNAVAILABLE")));
    assert_eq!(rig.balance().await, "1502.50");
    let all: Vec<_> = settled(&rig).await["last"].as_array().unwrap().clone();
    assert!(all.len() == 4 && all.iter().all(|it| it["status"] == "sent"));
}

#[actix_web::test]
async fn events_after_the_response_are_delivered() {
    let receiver = Receiver::start(&[]);
    let rig = notifying(&receiver).await;
    for digit in [0, 1, 2, 3, 4] {
        rig.send(&format!("T{digit}"), &destination(digit)).await;
    }
    rig.tell("transfers/T2/settle", json!({"status": "UNKNOWN_FOREVER"}))
        .await;
    rig.tell(
        "transfers/T2/settle",
        json!({"status": "FAILED", "reason": "No"}),
    )
    .await;
    rig.tell("transfers/T0/reverse", json!({"amount": "0.50"}))
        .await;
    // The timer alone settles the late transfers: nobody asks for them.
    let got = receiver.wait(4).await;
    for one in &got {
        verify(one, NOTICE_SECRET);
    }
    let of = |id: &str| {
        got.iter()
            .find(|it| it.body["data"]["origin_id"] == id)
            .unwrap()
    };
    let rejected = of("T2");
    assert_eq!(rejected.body["type"], "transfer.cvu.rejected");
    assert_eq!(rejected.body["data"]["reject_reason"], "No");
    assert_eq!(of("T4").body["type"], "transfer.cvu.completed");
    assert_eq!(of("T4").body["data"]["status"], "COMPLETED");
    for (id, amount) in [("T0", "0.50"), ("T3", "100.50")] {
        let data = &of(id).body["data"];
        let sent = rig.one(id).await;
        assert_eq!(of(id).body["type"], "transfer.cvu.reversed");
        assert_eq!(
            (&data["id"], &data["value"]["amount"]),
            (&sent["id"], &json!(amount))
        );
        assert_eq!(data["reason"], "Problemas con el Crédito. REVERSAR");
        let (_, back) = rig
            .list(&[("obp_origin", "TRANSFERENCIAS_RECIBIDAS")])
            .await;
        let back = back.as_array().unwrap();
        let back = back.iter().find(|it| it["reverses"] == id).unwrap();
        assert_eq!(back["coelsa_id"], data["coelsa_id"]);
    }
    assert_eq!(settled(&rig).await["sent"], 4);
}

#[actix_web::test]
async fn a_refused_notice_is_repeated_twice() {
    // Only 200 counts: neither another success nor a redirection.
    let receiver = Receiver::start(&[500, 204, 200, 302, 404, 503]);
    let pace = Pace {
        attempt: HANG,
        redeliveries: [SOON, SOON * 3],
        ..Pace::default()
    };
    let rig = told_at(&receiver, pace).await;
    rig.cash_in(&cvu(1), "1").await;
    let got = receiver.wait(3).await;
    settled(&rig).await;
    rig.cash_in(&cvu(1), "2").await;
    let all = receiver.wait(6).await;
    for three in [&got[..3], &all[3..]] {
        for (turn, one) in three.iter().enumerate() {
            verify(one, NOTICE_SECRET);
            assert_eq!(
                (&one.id, &one.body["redeliveries"]),
                (&three[0].id, &json!(turn))
            );
            assert_eq!(one.body["data"], three[0].body["data"]);
        }
    }
    let notices = settled(&rig).await;
    assert_eq!(
        (&notices["sent"], &notices["failed"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(notices["last"][0]["status"], "failed");
    assert_eq!(notices["last"][0]["error"], "the answer was 503");
    assert_eq!(notices["last"][1]["attempts"], 3);
}

#[actix_web::test]
async fn notices_misbehave_when_told_to() {
    let receiver = Receiver::start(&[]);
    // A notice that is kept back goes after a later one has gone, and not before.
    let pace = Pace {
        attempt: HANG,
        kept_back: NEVER,
        ..Pace::default()
    };
    let rig = told_at(&receiver, pace).await;
    rig.behave("cash_in", "lose_notice", 1).await;
    rig.cash_in(&cvu(1), "1").await;
    rig.behave("cash_in", "duplicate_notice", 1).await;
    let twice = rig.cash_in(&cvu(1), "2").await;
    receiver.wait(2).await;
    rig.behave("cash_in", "reorder_notice", 1).await;
    let kept_back = rig.cash_in(&cvu(1), "3").await;
    let first = rig.cash_in(&cvu(1), "4").await;
    let got = receiver.wait(4).await;
    assert_eq!(rail_ids(&got), [&twice, &twice, &first, &kept_back]);
    assert_eq!(got[0].id, got[1].id);

    // The behaviour is ordered before the transfer is sent, or after that.
    for (id, before, after) in [("M1", true, false), ("M2", false, true)] {
        for (mode, lost) in [("lose_notice", true), ("duplicate_notice", false)] {
            let id = format!("{id}{}", u8::from(lost));
            let seen = receiver.got().len();
            if before {
                rig.behave("transfer", mode, 1).await;
            }
            rig.send(&id, &destination(2)).await;
            if after {
                rig.behave("transfer", mode, 1).await;
            }
            let path = format!("transfers/{id}/settle");
            rig.tell(&path, json!({"status": "COMPLETED"})).await;
            let expected = if lost { seen } else { seen + 2 };
            receiver.wait(expected).await;
            settled(&rig).await;
            assert_eq!(receiver.got().len(), expected, "{id}");
        }
    }
    let notices = rig.state().await["notices"].clone();
    assert_eq!(
        (&notices["lost"], &notices["failed"]),
        (&json!(3), &json!(0))
    );
    assert_eq!(rig.state().await["calls"]["transfer"], 4);
}

#[actix_web::test]
async fn delayed_notices_are_sent_automatically() {
    let receiver = Receiver::start(&[]);
    let pace = Pace {
        attempt: HANG,
        kept_back: SOON,
        ..Pace::default()
    };
    let rig = told_at(&receiver, pace).await;
    // No notice comes after it.
    rig.behave("cash_in", "reorder_notice", 1).await;
    let alone = rig.cash_in(&cvu(1), "1").await;
    assert_eq!(rail_ids(&receiver.wait(1).await), [&alone]);
    let late = |millis: u64| json!({"operation": "cash_in", "mode": "late", "count": 1, "delayMillis": millis});
    rig.tell("behaviour", late(20)).await;
    let late_one = rig.cash_in(&cvu(1), "2").await;
    assert_eq!(rail_ids(&receiver.wait(2).await), [&alone, &late_one]);
    // Later notices pass it.
    rig.tell("behaviour", late(60_000)).await;
    rig.cash_in(&cvu(1), "3").await;
    let prompt = rig.cash_in(&cvu(1), "4").await;
    assert_eq!(
        rail_ids(&receiver.wait(3).await),
        [&alone, &late_one, &prompt]
    );
    // The receiver has a notice before the bank knows that it has.
    soon("one notice is pending", async || {
        rig.state().await["notices"]["pending"] == 1
    })
    .await;
}

#[actix_web::test]
async fn an_address_may_come_later() {
    let receiver = Receiver::start(&[]);
    let rig = Rig::memory().await;
    rig.create(1, CUIT).await;
    for _ in 0..102 {
        rig.cash_in(&cvu(1), "1").await;
    }
    assert_eq!(rig.state().await["notices"]["pending"], 100);
    rig.bank.notify(Some(&receiver.url()), None).unwrap();
    let got = receiver.wait(100).await;
    assert!(
        kinds(&got)
            .iter()
            .all(|kind| *kind == "transfer.cvu.received")
    );
    verify(&got[99], NOTICE_SECRET);
    let secret = "another secret, long enough for anybody";
    let body = json!({"url": receiver.url(), "secret": secret});
    assert_eq!(rig.tell("notify", body).await.0, 204);
    // The secret stays until another is given.
    for body in [json!({"url": null}), json!({"url": receiver.url()})] {
        assert_eq!(rig.tell("notify", body).await.0, 204);
    }
    rig.cash_in(&cvu(1), "1").await;
    verify(&receiver.wait(101).await[100], secret);
    for body in [
        json!({"url": "x"}),
        json!({"url": "ftp://x/"}),
        json!({"url": null, "secret": ""}),
    ] {
        assert_eq!(rig.tell("notify", body.clone()).await.0, 400, "{body}");
    }
    assert!(rig.bank.notify(Some("x"), None).is_err());
    let options = SandboxOptions {
        notice_url: Some("x".into()),
        ..SandboxOptions::default()
    };
    assert!(Sandbox::start(options).is_err());
}

#[actix_web::test]
async fn an_answer_that_does_not_come_holds_up_nothing_for_good() {
    let receiver = Receiver::start(&[0, 200, 0]);
    let pace = Pace {
        attempt: Duration::from_secs(1),
        redeliveries: [NEVER; 2],
        ..Pace::default()
    };
    let rig = told_at(&receiver, pace).await;
    let first = rig.cash_in(&cvu(1), "1").await;
    receiver.wait(1).await;
    let second = rig.cash_in(&cvu(1), "2").await;
    // The second notice waits for the attempt, and not for the redelivery.
    let got = receiver.wait(2).await;
    assert_eq!(rail_ids(&got), [&first, &second]);
    assert!(got[1].stamp >= got[0].stamp);
    // Nor does the bank's end wait for anything.
    rig.cash_in(&cvu(1), "3").await;
    receiver.wait(3).await;
    let stopped = tokio::time::timeout(HANG, rig.bank.stop()).await;
    stopped.expect("the bank ends").unwrap();
}
