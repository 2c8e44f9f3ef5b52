//! An operator's order, given at any node for a tenant of any node's cell, has one outcome and is recorded once.

use serde_json::{Value, json};

use super::{MANY, Parted, ROOT};
use crate::console::browser::Browser;
use crate::support::{Client, SOON, cuit, wait_until};

impl Parted {
    /// Calls the admin API of a node as somebody; returns status and body.
    pub(super) async fn asks(
        &self,
        (node, who): (usize, &str),
        (method, path): (&str, &str),
        body: &Value,
    ) -> (u16, Value) {
        let mut call = self.nodes.operator(node).call(method, path);
        if !body.is_null() {
            call = call.json(body);
        }
        let call = call.header("x-admin-key", who).header("x-reason", "a test");
        let answer = call.await;
        (answer.status, answer.json)
    }

    /// Calls the admin API of a node for an order that has to succeed; returns the body.
    pub(super) async fn does(
        &self,
        node: usize,
        (method, path): (&str, &str),
        body: &Value,
    ) -> Value {
        let (status, said) = self.asks((node, ROOT), (method, path), body).await;
        assert!(
            (200..300).contains(&status),
            "{method} {path} at {node}: {status} {said}"
        );
        said
    }

    /// The audit entries of an operation; waits until every node has the same.
    pub(super) async fn written(&self, action: &str) -> Vec<Value> {
        let path = format!("/admin/audit?action={action}&limit=200");
        wait_until("every node has the same entries", SOON, async || {
            let mut all = Vec::new();
            for node in 0..3 {
                let (status, page) = self.asks((node, ROOT), ("GET", &path), &Value::Null).await;
                assert_eq!(status, 200, "{page}");
                all.push(page["items"].as_array().unwrap().clone());
            }
            let first = all.pop().unwrap();
            all.iter().all(|it| *it == first).then_some(first)
        })
        .await
    }

    /// Creates a person with this role; returns their credential.
    async fn person(&self, node: usize, name: &str, role: &str) -> String {
        let body = json!({"name": name, "role": role});
        let made = self.does(node, ("POST", "/admin/people"), &body).await;
        let credential = made["credential"].as_str().unwrap().to_owned();
        for other in 0..3 {
            wait_until("they are known everywhere", SOON, async || {
                let me = ("GET", "/admin/me");
                let (status, _) = self.asks((other, &credential), me, &Value::Null).await;
                (status == 200).then_some(())
            })
            .await;
        }
        credential
    }

    /// Parks money that no account of a tenant can take; returns the id of its case.
    async fn parked(&self, tenant: usize, amount: &str) -> String {
        let client = self.client(0, tenant);
        let body = json!({"cuit": cuit(crate::support::client::fresh()), "holderName": "Se Va"});
        let made = super::super::made(&client, "/v1/accounts", &body).await;
        let cvu = made["cvu"].as_str().unwrap().to_owned();
        let path = format!("/v1/accounts/{cvu}");
        wait_until("it is closed", SOON, async || {
            let answer = client.delete(&path).await;
            (answer.status == 200).then_some(())
        })
        .await;
        let rail = self.nodes.bank.cash_in(&cvu, amount).await;
        let path = format!(
            "/admin/cases?kind=suspense&tenant={}",
            self.tenants[tenant].id
        );
        wait_until("the money waits", SOON, async || {
            let (_, open) = self.asks((0, ROOT), ("GET", &path), &Value::Null).await;
            let mut all = open["items"].as_array().unwrap().iter();
            let found = all.find(|it| it["suspense"]["coelsaId"] == rail)?;
            Some(found["id"].as_str().unwrap().to_owned())
        })
        .await
    }
}

fn centavos(pesos: &str) -> u64 {
    pesos.replace('.', "").parse().unwrap()
}

/// Checks that each entry of a beginning has one entry that says how it ended, and that there are no others.
fn in_pairs(entries: &[Value], count: usize) {
    let of = |outcome: &str| entries.iter().filter(|it| it["outcome"] == outcome).count();
    assert_eq!(
        (of("begun"), of("done"), entries.len()),
        (count, count, 2 * count),
        "{entries:?}"
    );
}

#[actix_web::test]
async fn whatever_is_done_to_one_account_is_done_at_any_node_once() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    for node in 0..3 {
        for tenant in 0..3 {
            let cvu = parted.tenants[tenant].cvu.clone();
            let path = |what: &str| format!("/admin/accounts/{cvu}/{what}");
            let client = parted.client(node, tenant);
            let id = format!("of-{node}-{tenant}");
            client.voucher(&cvu, "IN", "5.00", &id).await.is(201);
            let body = json!({"code": "fraud"});
            let done = parted.does(node, ("POST", &path("suspend")), &body).await;
            assert_eq!(done["status"], "suspended");
            // It takes effect at once, whichever node is asked.
            for other in 0..3 {
                let client = parted.client(other, tenant);
                let answer = client.voucher(&cvu, "OUT", "1.00", "never").await;
                answer.refused(400, "account_suspended");
            }
            let none = Value::Null;
            let done = parted
                .does(node, ("POST", &path("reactivate")), &none)
                .await;
            assert_eq!(done["status"], "active");
            let report = parted.does(node, ("POST", &path("verify")), &none).await;
            assert_eq!(report["ok"], true, "{report}");
            let fees = json!({"feeSchedule": []});
            parted
                .does(node, ("PUT", &path("fee-schedule")), &fees)
                .await;
            let actor = format!("/admin/actors/{cvu}");
            let seen = parted.does(node, ("GET", &actor), &none).await;
            assert_eq!(
                (&seen["resident"], &seen["agree"]),
                (&json!(true), &json!(true)),
                "{seen}"
            );
            let away = format!("/admin/actors/{cvu}/passivate");
            let gone = parted.does(node, ("POST", &away), &none).await;
            assert_eq!(gone["passivated"], true, "{gone}");
        }
    }
    for action in [
        "suspendAccountByOperator",
        "reactivateAccountByOperator",
        "verifyAccount",
        "setFeeSchedule",
        "passivateActor",
    ] {
        in_pairs(&parted.written(action).await, 9);
    }
    assert_eq!(parted.written("readActor").await.len(), 9);
    // The node that was asked gives the owner's refusal in the same words.
    let path = format!("/admin/accounts/{}/suspend", parted.tenants[1].cvu);
    for node in 0..3 {
        let body = json!({"code": "nothing"});
        let (status, why) = parted.asks((node, ROOT), ("POST", &path), &body).await;
        assert_eq!(
            (status, &why["code"]),
            (400, &json!("invalid_request")),
            "{why}"
        );
        let (status, _) = parted
            .asks((node, "nobody"), ("POST", &path), &json!({}))
            .await;
        assert_eq!(status, 401);
    }
    parted.level().await;
    parted.nodes.stop().await;
}

#[actix_web::test]
async fn tenants_and_keys_are_made_and_changed_at_any_node() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    for node in 0..3 {
        let body = json!({"name": format!("of {node}"), "cell": (node + 1) % 3});
        let made = parted.does(node, ("POST", "/admin/tenants"), &body).await;
        let path = format!("/admin/tenants/{}", made["id"].as_str().unwrap());
        let keys = format!("{path}/keys");
        let issued = parted
            .does(node, ("POST", &keys), &json!({"mode": "test"}))
            .await;
        let id = issued["id"].as_str().unwrap().to_owned();
        let rotate = format!("/admin/keys/{id}/rotate");
        let rotated = parted.does(node, ("POST", &rotate), &json!({})).await;
        let key = rotated["key"].as_str().unwrap().to_owned();
        let fee = json!({"feeSchedule": [], "limits": {"dailyAmount": "10.00"}});
        let changed = parted.does(node, ("PATCH", &path), &fee).await;
        assert_eq!(changed["limits"]["dailyAmount"], "10.00");
        let works = |key: String| {
            let clients: Vec<Client> = (0..3)
                .map(|other| parted.nodes.client(other).with_key(Some(&key)))
                .collect();
            async move {
                for client in &clients {
                    wait_until("the key works", SOON, async || {
                        let answer = client.get("/v1/voucher-types").await;
                        (answer.status == 200).then_some(())
                    })
                    .await;
                }
            }
        };
        works(key).await;
        let path = format!("/admin/keys/{id}");
        parted.does(node, ("DELETE", &path), &Value::Null).await;
        let limits = json!({"limits": {"dailyAmount": format!("{}.00", 1_000_000 + node)}});
        parted
            .does(node, ("PATCH", "/admin/platform"), &limits)
            .await;
        // An order that concerns only this node is carried out here, and recorded like the rest; a test has no log
        // that it could change.
        let log = json!({"directives": "caudal=debug"});
        let (status, why) = parted.asks((node, ROOT), ("PUT", "/admin/log"), &log).await;
        assert_eq!(
            (status, &why["code"]),
            (409, &json!("log_not_changed")),
            "{why}"
        );
        let clock = json!({"by": "somebody", "reason": "a test"});
        parted
            .does(node, ("POST", "/admin/clock/confirm"), &clock)
            .await;
    }
    for action in [
        "createTenant",
        "rotateKey",
        "changePlatform",
        "confirmClock",
    ] {
        // The tenants that existed before had entries, too.
        let entries = parted.written(action).await;
        let own = match action {
            "createTenant" => 3 + usize::try_from(MANY).unwrap(),
            _ => 3,
        };
        in_pairs(&entries, own);
    }
    parted.nodes.stop().await;
}

#[actix_web::test]
async fn a_case_waits_for_a_second_person_and_is_decided_once_whichever_nodes_they_ask() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    parted.nodes.bank_tells(1);
    let ana = parted.person(2, "ana", "operator").await;
    let eva = parted.person(1, "eva", "approver").await;
    let eyes = json!({"policy": {"fourEyes": {"limitRaises": false, "decisionsAbove": "50.00"}}});
    for tenant in 0..3 {
        let path = format!("/admin/tenants/{}", parted.tenants[tenant].id);
        parted.does(tenant, ("PATCH", &path), &eyes).await;
    }
    for (node, tenant) in [(0, 1), (1, 2), (2, 0), (2, 1)] {
        let (cvu, other) = (parted.tenants[tenant].cvu.clone(), (node + 1) % 3);
        let before = parted.client(0, tenant).available(&cvu).await;
        let before = centavos(&before);
        let body = json!({"outcome": "credit", "cvu": cvu});
        // For a small amount one person is enough.
        let small = parted.parked(tenant, "1.00").await;
        let path = format!("/admin/cases/{small}/decide");
        let (status, done) = parted.asks((node, &ana), ("POST", &path), &body).await;
        assert_eq!((status, &done["state"]), (200, &json!("decided")), "{done}");
        // A large amount waits for approval.
        let large = parted.parked(tenant, "60.00").await;
        let path = format!("/admin/cases/{large}/decide");
        let (status, asked) = parted.asks((node, &ana), ("POST", &path), &body).await;
        assert_eq!(
            (status, &asked["state"]),
            (202, &json!("waiting")),
            "{asked}"
        );
        assert_eq!(asked["requestedBy"], "ana");
        let path = format!("/admin/approvals/{}/approve", asked["id"]);
        let (status, done) = parted
            .asks((other, &eva), ("POST", &path), &json!({}))
            .await;
        assert_eq!((status, &done["state"]), (200, &json!("done")), "{done}");
        let (status, why) = parted.asks((node, &eva), ("POST", &path), &json!({})).await;
        assert_eq!(
            (status, &why["code"]),
            (409, &json!("approval_ended")),
            "{why}"
        );
        let after = parted.client(1, tenant).available(&cvu).await;
        let after = centavos(&after);
        assert_eq!(after, before + 6_100);
    }
    // A credential that was revoked at one node works at none.
    let (status, _) = parted
        .asks((2, ROOT), ("DELETE", "/admin/people/ana"), &Value::Null)
        .await;
    assert_eq!(status, 204);
    let path = format!("/admin/tenants/{}", parted.tenants[0].id);
    for node in 0..3 {
        let body = json!({"name": "never"});
        let (status, why) = parted.asks((node, &ana), ("PATCH", &path), &body).await;
        assert_eq!(status, 401, "at {node}: {why}");
    }
    parted.level().await;
    parted.nodes.stop().await;
}

#[actix_web::test]
async fn events_are_sent_again_at_any_node_and_the_console_acts_like_the_api() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    let (client, cvu) = (parted.client(0, 1), parted.tenants[1].cvu.clone());
    let body = json!({"url": "http://127.0.0.1:9/"});
    let hook = super::super::made(&client, "/v1/webhooks", &body).await;
    client.voucher(&cvu, "IN", "1.00", "an event").await.is(201);
    let path = format!("/v1/webhooks/{}/deliveries", hook["id"].as_str().unwrap());
    let delivery = wait_until("it was tried", SOON, async || {
        let listed = client.get(&path).await.is(200).json;
        listed["items"].as_array().unwrap().first().cloned()
    })
    .await;
    let event = json!({"from": delivery["eventId"]});
    let id = delivery["id"].as_str().unwrap().to_owned();
    for node in 0..3 {
        let path = format!("/admin/webhooks/deliveries/{id}/redeliver");
        parted.does(node, ("POST", &path), &Value::Null).await;
        let path = format!("/admin/webhooks/{}/redeliver", hook["id"].as_str().unwrap());
        parted.does(node, ("POST", &path), &event).await;
        // The console does it for the person who is logged in there.
        let mut browser = Browser::at(parted.nodes.operator(node));
        let entered = browser.send("/console/login", &[("key", ROOT)]).await;
        entered.is(303);
        let page = format!("/console/deliveries/{id}");
        // Any page has a form with the token of the session.
        let own = "/console/log";
        browser
            .act(own, &page, &[("reason", "a test")])
            .await
            .is(303);
        for (what, status) in [("suspend", "suspended"), ("reactivate", "active")] {
            let page = format!("/console/accounts/{cvu}/act?what={what}");
            let fields = [("reason", "a test"), ("code", "fraud")];
            let answer = browser.act(own, &page, &fields).await;
            assert_eq!(answer.status, 303, "{what} at {node}: {}", answer.text);
            let shown = parted
                .client(0, 1)
                .get(&format!("/v1/accounts/{cvu}"))
                .await;
            assert_eq!(shown.is(200)["status"], status);
        }
    }
    in_pairs(&parted.written("redeliverByOperator").await, 6);
    in_pairs(&parted.written("suspendAccountByOperator").await, 3);
    parted.nodes.stop().await;
}
