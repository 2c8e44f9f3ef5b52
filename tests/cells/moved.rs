//! A realm that moves into another cell: nobody outside can tell, and repeating the same order changes
//! nothing.

use caudal_actors::records::reads;
use caudal_ledger::ids::{AccountNo, RealmId};

use super::{PATIENCE, begun, brought, standing, with_cells};
use crate::events::sse::Stream;
use crate::portable::{batches, shown, worked};
use crate::support::service::OTHER;
use crate::support::{SOON, Setup, TestService, json, wait_until};

/// The other tenant's test realm.
const REALM: RealmId = RealmId(4);

/// Posts with an idempotency key; returns whether the answer was a replay.
async fn keyed(client: &crate::support::Client, cvu: &str) -> bool {
    let call = client.voucher(cvu, "IN", "1.00", "with-a-key").key("moved");
    call.await.is(201).replayed()
}

#[actix_web::test]
async fn a_realm_goes_there_and_back_and_is_what_it_was() {
    let mut service = with_cells(3).await;
    let cvus = worked(&service).await;
    assert!(!keyed(&service.b, &cvus[0]).await);
    let beside = vec![service.a.cvu().await];
    service.a.credit(&beside[0], "3.00").await;
    let (before, others) = (
        shown(&service.b, &cvus).await,
        shown(&service.a, &beside).await,
    );
    for cell in [1, 2, 0, 1] {
        brought(&service, cell).await;
        for _ in 0..2 {
            assert_eq!(shown(&service.b, &cvus).await, before, "cell {cell}");
            assert_eq!(shown(&service.a, &beside).await, others, "cell {cell}");
            assert!(keyed(&service.b, &cvus[0]).await, "cell {cell}");
            service.crash().await;
        }
        let now = standing(&service).await;
        assert_eq!(
            (&now["cell"], &now["outgoingHeld"]),
            (&json!(cell), &json!(false))
        );
        service.verified().await;
    }
    let now = standing(&service).await;
    assert_eq!(begun(&service, 1).await, now, "it is there");
    // the realm keeps working, also with the bank
    let b = &service.b;
    b.credit(&cvus[0], "9.00").await;
    let outside = b.transfer(&cvus[0], json!({"alias": "destino.0"}), "1.00");
    let outside = outside.await.is(201).json.clone();
    b.settled(&outside, "completed").await;
    let late = b.cvu().await;
    let inside = b.transfer(&cvus[0], json!({"cvu": late}), "1.50").await;
    b.settled(&inside.is(201).json, "completed").await;
    waits_for_a_person(&service).await;
    service.verified().await;
}

/// Money for a closed account of the other tenant waits for a person's decision, and is listed wherever the
/// realm lies.
async fn waits_for_a_person(service: &TestService) {
    service.hear().await;
    let closed = service.b.cvu().await;
    let path = format!("/v1/accounts/{closed}");
    service.b.delete(&path).await.is(200);
    let rail = service.bank.cash_in(&closed, "2.00").await;
    wait_until("the money is listed", SOON, async || {
        let path = "/admin/cases?kind=suspense";
        let open = service.admin_get(path).await.is(200).json;
        let mut all = open["items"].as_array().unwrap().iter();
        let listed = all.any(|it| it["suspense"]["coelsaId"] == rail);
        listed.then(|| assert_eq!(open["total"], 1))
    })
    .await;
}

#[actix_web::test]
async fn a_stream_of_events_goes_on_through_a_move() {
    let service = with_cells(2).await;
    let cvus = worked(&service).await;
    let stream = Stream::open(&service.b, "", "").await;
    let mut stream = stream.begun().await;
    for (amount, cell) in [("1.25", 1), ("2.25", 0), ("3.25", 1)] {
        service.b.credit(&cvus[0], amount).await;
        let event = stream.next().await.expect("it goes on");
        assert_eq!(event["data"]["amount"], amount);
        brought(&service, cell).await;
    }
    service.b.credit(&cvus[0], "4.25").await;
    let event = stream.next().await.expect("it goes on");
    assert_eq!(event["data"]["amount"], "4.25");
}

#[actix_web::test]
async fn what_cannot_be_moved_is_refused_and_a_second_person_is_asked_for() {
    let service = with_cells(2).await;
    let path = format!("/admin/tenants/{OTHER}/move");
    let to = |cell: u32| json!({"mode": "test", "cell": cell});
    let refused = service.admin("POST", &path, &to(2)).await;
    refused.refused(404, "cell_not_found");
    let nobody = service
        .admin("POST", "/admin/tenants/tnt_no/move", &to(1))
        .await;
    nobody.refused(404, "tenant_not_found");
    let wary = json!({"policy": {"fourEyes": {"restores": true}}});
    let tenant = format!("/admin/tenants/{OTHER}");
    service.admin("PATCH", &tenant, &wary).await.is(200);
    let asked = service.admin("POST", &path, &to(1)).await;
    assert_eq!(asked.is(202)["action"], "moveRealm");
    assert_eq!(standing(&service).await["cell"], 0);
}

#[actix_web::test]
async fn money_that_arrives_meanwhile_is_credited_once() {
    let service = with_cells(2).await;
    let cvus = worked(&service).await;
    service.hear().await;
    let before = service.b.available(&cvus[0]).await;
    let mut sent = 0;
    for cell in [1, 0, 1] {
        begun(&service, cell).await;
        for _ in 0..3 {
            service.bank.cash_in(&cvus[0], "1.00").await;
            sent += 1;
        }
        brought(&service, cell).await;
    }
    let centavos = |text: &str| text.replace('.', "").parse::<i64>().unwrap();
    let wanted = centavos(&before) + 100 * sent;
    wait_until("all of it is credited", SOON, async || {
        let now = centavos(&service.b.available(&cvus[0]).await);
        assert!(now <= wanted, "{now} of {wanted}");
        (now == wanted).then_some(())
    })
    .await;
    service.verified().await;
}

#[actix_web::test]
async fn a_batch_that_waits_for_the_pace_of_its_realm_is_posted_once_through_a_move() {
    let service = TestService::with(Setup {
        cells: 2,
        pace: Some(200),
        ..Setup::default()
    });
    let service = service.await;
    service.b.in_and_out().await;
    let cvu = service.b.cvu().await;
    for (cell, round) in [(1, "there"), (0, "back")] {
        let item = |number: usize| {
            json!({"cvu": cvu, "voucherTypeCode": "IN", "amount": "0.10",
                "idExterno": format!("{round}-{number}")})
        };
        let body = json!({"items": (0..200).map(item).collect::<Vec<_>>()});
        // A client that is told that something was not done sends the whole batch again.
        let posted = wait_until("all of the batch is posted", PATIENCE, async || {
            // From now on requests of two realms compete.
            service.a.get("/v1/accounts").await.is(200);
            let answer = service.b.post("/v1/comprobantes/batch", &body).await;
            if answer.status != 200 {
                assert_eq!(answer.status, 503, "{}", answer.text);
                return None;
            }
            let summary = &answer["summary"];
            let of = |name: &str| summary[name].as_u64().unwrap();
            (of("recorded") + of("replayed") == 200).then_some(())
        });
        tokio::join!(posted, brought(&service, cell));
    }
    assert_eq!(service.b.available(&cvu).await, "40.00");
    service.verified().await;
}

#[actix_web::test]
async fn an_account_is_not_read_from_its_beginning_after_a_move() {
    let service = with_cells(2).await;
    service.b.in_and_out().await;
    let cvu = service.b.cvu().await;
    batches(&service.b, &cvu, "rest", 4).await;
    let read = || {
        let store = service.engine().cells().of(REALM);
        let found = reads::account(store.as_ref(), REALM, AccountNo(1)).unwrap();
        let (account, read) = found.unwrap();
        (account.sequence, read)
    };
    let before = read();
    assert!(before.0 == 200 && before.1 < 200, "{before:?}");
    for cell in [1, 0] {
        brought(&service, cell).await;
        assert_eq!(read(), before, "cell {cell}");
    }
    service.verified().await;
}
