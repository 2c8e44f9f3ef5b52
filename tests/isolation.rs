//! Nothing is shared by two tenants, or by the two realms of one, even under the same names for
//! everything; only the aliases at the bank are shared by all realms of a mode.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::support::client::fresh;
use crate::support::{Client, TestService, Value, cuit, json};

/// The lengths of a key's secret, and of the checksum after it, in characters.
const SECRET: usize = 43;
const CHECK: usize = 6;

/// The clients of realms that share nothing, each with an account, types and vouchers of the same
/// names.
async fn twins<'a>(clients: &[&'a Client]) -> Vec<(&'a Client, String)> {
    let holder = cuit(fresh());
    let mut twins = Vec::new();
    for (n, client) in clients.iter().enumerate() {
        client.in_and_out().await;
        let body = json!({
            "cuit": holder,
            "holderName": format!("Holder {n}"),
            "externalId": "customer-1",
            "metadata": {"canary": format!("canary-{n}")},
        });
        let opened = client.post("/v1/accounts", &body).key("the-same-key").await;
        let cvu = opened.is(201)["cvu"].as_str().unwrap().to_owned();
        let amount = format!("{}.00", (n + 1) * 100);
        client
            .voucher(&cvu, "IN", &amount, "the-same-external")
            .await
            .is(201);
        client
            .voucher(&cvu, "OUT", "1.00", "the-same-external")
            .await
            .is(201);
        twins.push((*client, cvu));
    }
    twins
}

#[actix_web::test]
async fn realms_with_the_same_names_for_everything_never_meet() {
    let service = TestService::start().await;
    let clients = [&service.a, &service.b, &service.live];
    let twins = twins(&clients).await;
    for (n, (client, cvu)) in twins.iter().enumerate() {
        assert_eq!(
            client.available(cvu).await,
            format!("{}.00", (n + 1) * 100 - 1)
        );
        let accounts = client.get("/v1/accounts").await.is(200);
        assert_eq!(accounts["total"], 1);
        assert_eq!(accounts["items"][0]["cvu"], **cvu);
        let internal = client.get("/v1/comprobantes/internal").await.is(200);
        assert_eq!(internal["total"], 2);
        assert!(
            internal["items"]
                .as_array()
                .unwrap()
                .iter()
                .all(|v| v["cvu"] == **cvu)
        );
        let found = client
            .get("/v1/comprobantes/by-external/the-same-external?direction=credit")
            .await;
        assert_eq!(found["cvu"], **cvu);
        let key = client.get("/v1/idempotency/the-same-key").await.is(200);
        assert_eq!(key["requests"][0]["body"]["cvu"], **cvu);
        for answer in [accounts, internal, found, key] {
            for (m, (_, other)) in twins.iter().enumerate().filter(|(m, _)| *m != n) {
                assert!(!answer.text.contains(other), "{other} in {}", answer.text);
                assert!(
                    !answer.text.contains(&format!("canary-{m}")),
                    "{}",
                    answer.text
                );
            }
        }
    }
}

#[actix_web::test]
async fn filters_and_bodies_do_not_reach_into_other_realms() {
    let service = TestService::start().await;
    let twins = twins(&[&service.a, &service.b]).await;
    let ((a, mine), (b, theirs)) = (&twins[0], &twins[1]);
    // In a filter: another realm's CVU has no vouchers, like one that does not exist.
    for cvu in [theirs.as_str(), "0000532609100002749314"] {
        let found = a
            .get(&format!("/v1/comprobantes/internal?cvu={cvu}"))
            .await
            .is(200);
        assert_eq!((&found["total"], &found["items"]), (&json!(0), &json!([])));
        let found = a.get(&format!("/v1/accounts?q={cvu}")).await.is(200);
        assert_eq!(found["total"], 0);
    }
    // In a body: another realm's type is unknown.
    b.create_type("THEIRS", "credit").await;
    let refused = a.voucher(mine, "THEIRS", "1.00", "theirs-1").await;
    let unknown = a.voucher(mine, "NOBODYS", "1.00", "theirs-1").await;
    let refused = refused
        .refused(400, "voucher_type_unknown")
        .essence("THEIRS");
    assert_eq!(refused, unknown.essence("NOBODYS"));
    // Another realm's voucher by its id.
    let id = b.credit(theirs, "5.00").await["id"]
        .as_str()
        .unwrap()
        .to_owned();
    a.get(&format!("/v1/comprobantes/{id}"))
        .await
        .refused(404, "voucher_not_found");
    b.get(&format!("/v1/comprobantes/{id}")).await.is(200);
    // Another realm's cursor only marks a place in one's own list.
    let list = b.get("/v1/comprobantes/internal?limit=1").await;
    let cursor = list.header("x-next-cursor").to_owned();
    let page = a
        .get(&format!("/v1/comprobantes/internal?cursor={cursor}"))
        .await
        .is(200);
    assert!(
        page["items"]
            .as_array()
            .unwrap()
            .iter()
            .all(|v| v["cvu"] == **mine)
    );
}

/// A key with the id of one key, the secret of another, and the checksum for both.
fn forged(id_of: &str, secret_of: &str) -> String {
    let head = |key: &str| key.split_at(key.len() - SECRET - CHECK).0.to_owned();
    let secret = |key: &str| {
        key.split_at(key.len() - CHECK)
            .0
            .replacen(&head(key), "", 1)
    };
    let body = head(id_of) + &secret(secret_of);
    let crc = crc32fast::hash(body.as_bytes());
    format!("{body}{}", URL_SAFE_NO_PAD.encode(crc.to_be_bytes()))
}

#[actix_web::test]
async fn a_key_speaks_for_its_own_secret_alone() {
    let service = TestService::start().await;
    let key = |client: &Client| client.key.clone().unwrap();
    let keys = [key(&service.a), key(&service.b), key(&service.live)];
    for id_of in &keys {
        for secret_of in &keys {
            let caller = service.a.with_key(Some(&forged(id_of, secret_of)));
            let answer = caller.get("/v1/accounts").await;
            if id_of == secret_of {
                answer.is(200);
            } else {
                answer.refused(401, "unauthorized");
            }
        }
    }
}

#[actix_web::test]
async fn an_alias_is_one_over_all_tenants_of_a_mode() {
    let service = TestService::start().await;
    let alias = format!("Alias.{}", fresh());
    let body = |n: u32| json!({"cuit": cuit(n), "holderName": "Juana Azurduy", "alias": alias});
    let opened = service.a.open_with(body(fresh())).await;
    assert_eq!(opened["alias"], alias);
    let refused = service
        .b
        .post("/v1/accounts", &body(fresh()))
        .key("taken")
        .await;
    let refused = refused.refused(409, "alias_taken");
    assert!(!refused.text.contains(opened["cvu"].as_str().unwrap()));
    assert!(
        !refused
            .text
            .contains(opened["holder"]["cuit"].as_str().unwrap())
    );
    let total = service.b.get("/v1/accounts").await["total"].clone();
    assert_eq!(total, 0, "nothing is left of an opening that was refused");
}

#[actix_web::test]
async fn what_only_the_service_may_set_is_refused_in_every_body() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let before = service.a.get(&format!("/v1/accounts/{cvu}")).await;
    let paths = [
        ("PUT", format!("/v1/accounts/{cvu}/alias")),
        ("PATCH", format!("/v1/accounts/{cvu}/kyc")),
        ("PATCH", format!("/v1/accounts/{cvu}/limits")),
        ("PATCH", format!("/v1/accounts/{cvu}/identidad")),
        ("POST", format!("/v1/accounts/{cvu}/suspend")),
        ("POST", format!("/v1/accounts/{cvu}/comprobantes")),
        ("POST", "/v1/voucher-types".to_owned()),
        ("POST", "/v1/accounts".to_owned()),
    ];
    let fields: Value = json!({
        "id": "x", "cvu": "x", "tenantId": "tnt_other", "system": true, "legacyId": 1, "status": "active",
        "enabled": true, "balance": {"available": "9"}, "available": "9", "saldo": 9, "sequence": 9,
        "walletAccountId": 9, "createdAt": "2020-01-01", "ledgerType": "credit", "habilitado": true,
        "__proto__": {"x": 1}, "availableAfter": "9", "realm": 1,
    });
    let fields = fields.as_object().unwrap();
    for (method, path) in paths {
        let call = service
            .a
            .call(method, &path)
            .key("mass")
            .json(&json!(fields));
        let refused = call.await.refused(400, "invalid_request");
        let named = crate::support::named(&refused.json);
        for name in fields.keys() {
            assert!(
                named.contains(&name.as_str()),
                "{path}: {name} is not refused: {}",
                refused.text
            );
        }
    }
    let after = service.a.get(&format!("/v1/accounts/{cvu}")).await;
    assert_eq!(before.header("etag"), after.header("etag"));
}
