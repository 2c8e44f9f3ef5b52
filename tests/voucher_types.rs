//! Voucher types: built-in ones that nobody changes, and the tenant's own.

use std::collections::BTreeSet;

use crate::support::{TestService, Value, json, named};

const SYSTEM: [&str; 13] = [
    "CREDIT",
    "DEBIT",
    "HOLD",
    "RELEASE",
    "CONFIRM_HOLD",
    "TRANSFER_IN",
    "TRANSFER_OUT",
    "TRANSFER_REVERSAL",
    "INTERNAL_P2P_IN",
    "INTERNAL_P2P_OUT",
    "FEE",
    "FEE_TAX",
    "REMUNERATION",
];

#[actix_web::test]
async fn built_in_types_are_listed_and_untouchable() {
    let service = TestService::start().await;
    let listed = service.a.get("/v1/voucher-types").await.is(200);
    let types = listed.json.as_array().unwrap();
    let codes: BTreeSet<_> = types
        .iter()
        .map(|kind| kind["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, BTreeSet::from(SYSTEM));
    let wallet = service.a.get("/wallet/v1/TiposComprobantes").await.is(200);
    for kind in types {
        assert_eq!(
            (&kind["system"], &kind["active"]),
            (&json!(true), &json!(true))
        );
        for name in [
            "id",
            "legacyId",
            "tenantId",
            "description",
            "movementKind",
            "counterAccount",
        ] {
            assert_eq!(kind[name], Value::Null);
        }
        // Only the wallet family shows the type's number, which is fixed.
        let place = SYSTEM.iter().position(|code| kind["code"] == *code);
        let number = place.unwrap();
        let there = &wallet.json[number];
        assert_eq!(
            (&there["id"], &there["codigo"]),
            (&json!(number + 1), &kind["code"])
        );
    }
    assert_eq!(listed.header("x-total-count"), "13");
    let cvu = service.a.cvu().await;
    for code in SYSTEM {
        let path = format!("/v1/voucher-types/{code}");
        service
            .a
            .patch(&path, &json!({"active": false}))
            .await
            .refused(400, "voucher_type_is_system");
        service
            .a
            .delete(&path)
            .await
            .refused(400, "voucher_type_is_system");
        let body = json!({"code": code.to_lowercase(), "name": "Mine", "sense": "credit"});
        service
            .a
            .post("/v1/voucher-types", &body)
            .await
            .refused(409, "voucher_type_taken");
        service
            .a
            .voucher(&cvu, code, "1.00", "system")
            .await
            .refused(400, "voucher_type_is_system");
    }
    assert_eq!(service.a.get("/v1/voucher-types").await.json, listed.json);
}

#[actix_web::test]
async fn a_type_is_made_switched_and_removed() {
    let mut service = TestService::start().await;
    let made = service
        .a
        .post(
            "/v1/voucher-types",
            &json!({"code": "premio_1", "name": " Premio ", "sense": "credit",
                "description": "Recarga por kiosco", "movementKind": "003"}),
        )
        .await
        .is(201);
    let expected = json!({
        "code": "PREMIO_1", "name": "Premio", "sense": "credit", "active": true, "system": false,
        "id": "vty_1000", "legacyId": 1000, "tenantId": "tnt_first",
        "description": "Recarga por kiosco", "movementKind": "003",
        "counterAccount": "adjustments:premio_1",
    });
    assert_eq!(made.json, expected);
    let body = json!({"code": "PREMIO_1", "name": "Otro", "sense": "debit"});
    service
        .a
        .post("/v1/voucher-types", &body)
        .await
        .refused(409, "voucher_type_taken");
    // The code in a path may also be in lower case.
    let off = service
        .a
        .patch("/v1/voucher-types/premio_1", &json!({"active": false}))
        .await
        .is(200);
    assert_eq!(off["active"], false);
    let same = service
        .a
        .patch("/v1/voucher-types/PREMIO_1", &json!({"active": false}))
        .await
        .is(200);
    assert_eq!(same.json, off.json);
    let cvu = service.a.cvu().await;
    service
        .a
        .voucher(&cvu, "PREMIO_1", "1.00", "a")
        .await
        .refused(400, "voucher_type_inactive");
    service
        .a
        .patch("/v1/voucher-types/PREMIO_1", &json!({"active": true}))
        .await
        .is(200);
    let posted = service
        .a
        .voucher(&cvu, "premio_1", "1.00", "a")
        .await
        .is(201);
    service.a.delete("/v1/voucher-types/PREMIO_1").await.is(204);
    service
        .a
        .delete("/v1/voucher-types/PREMIO_1")
        .await
        .refused(404, "voucher_type_not_found");
    service
        .a
        .patch("/v1/voucher-types/PREMIO_1", &json!({"active": true}))
        .await
        .refused(404, "voucher_type_not_found");
    service
        .a
        .voucher(&cvu, "PREMIO_1", "1.00", "b")
        .await
        .refused(400, "voucher_type_unknown");
    // A posted voucher keeps code and name, and a repeat is still a repeat.
    let id = posted["id"].as_str().unwrap();
    assert_eq!(
        service
            .a
            .get(&format!("/v1/comprobantes/{id}"))
            .await
            .is(200)
            .json,
        posted.json
    );
    let again = service
        .a
        .voucher(&cvu, "PREMIO_1", "1.00", "a")
        .await
        .is(201);
    assert!(again.replayed() && again.json == posted.json);
    // The numeric id is not given out again, even after a restart.
    service.restart().await;
    let next = service.a.post("/v1/voucher-types", &body).await.is(201);
    assert_eq!(next["sense"], "debit");
    // The first number after a start leaves a gap; those after it do not.
    let number = next["legacyId"].as_u64().unwrap();
    assert!(number > 1000, "{number}");
    let other = service.a.create_type("PREMIO_2", "credit").await;
    assert_eq!(other["legacyId"], number + 1);
    let first = service.b.create_type("PREMIO_1", "credit").await;
    assert!(first["legacyId"].as_u64() >= Some(1000));
    assert_eq!(first["tenantId"], "tnt_other");
}

#[actix_web::test]
async fn types_that_cannot_be_read_name_every_field() {
    let service = TestService::start().await;
    let good = json!({"code": "GOOD", "name": "Good", "sense": "credit"});
    for (change, fields) in [
        (json!({"code": null}), vec!["code"]),
        (json!({"code": "A"}), vec!["code"]),
        (json!({"code": "con.punto"}), vec!["code"]),
        (json!({"code": "ÑANDU"}), vec!["code"]),
        (json!({"code": "X".repeat(41)}), vec!["code"]),
        (json!({"name": ""}), vec!["name"]),
        (json!({"name": "x".repeat(81)}), vec!["name"]),
        (json!({"name": "a\nb"}), vec!["name"]),
        (json!({"sense": "hold"}), vec!["sense"]),
        (json!({"sense": "CREDIT"}), vec!["sense"]),
        (json!({"description": "x".repeat(201)}), vec!["description"]),
        (
            json!({"movementKind": "x".repeat(41)}),
            vec!["movementKind"],
        ),
        (json!({"sense": 1, "system": true}), vec!["sense", "system"]),
    ] {
        let mut body = good.clone();
        body.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let refused = service
            .a
            .post("/v1/voucher-types", &body)
            .await
            .refused(400, "invalid_request");
        assert_eq!(named(&refused.json), fields, "{body}");
    }
    for body in [
        json!({}),
        json!({"active": "true"}),
        json!({"active": null}),
        json!({"active": 1}),
    ] {
        let refused = service
            .a
            .patch("/v1/voucher-types/GOOD", &body)
            .await
            .refused(400, "invalid_request");
        assert_eq!(named(&refused.json), ["active"]);
    }
    let longest = json!({"code": "X".repeat(40), "name": "ñ".repeat(80), "sense": "debit"});
    service.a.post("/v1/voucher-types", &longest).await.is(201);
}

/// Whatever has become of the type since: it was removed, or its code belongs to another type now.
#[actix_web::test]
async fn a_repeat_that_names_a_removed_type_by_its_number_is_a_repeat() {
    let mut service = TestService::start().await;
    let cvu = service.a.cvu().await;
    let account = service.a.get(&format!("/v1/accounts/{cvu}")).await.is(200);
    let sent = |amount: &str, number: u64| {
        json!({
            "idCuenta": account["walletAccountId"], "importe": amount, "idTipoComprobante": number,
            "idExterno": "once",
        })
    };
    service.a.create_type("REUSED", "credit").await;
    let path = "/wallet/v1/Comprobante";
    let first = service.a.post(path, &sent("9.00", 1000)).await.is(201);
    service.a.delete("/v1/voucher-types/REUSED").await.is(204);
    for step in ["removed", "used again", "crashed"] {
        let again = service.a.post(path, &sent("9.00", 1000)).await.is(201);
        assert!(again.replayed(), "{step}");
        assert_eq!(again["id"], first["id"], "{step}");
        let other = service.a.post(path, &sent("9.01", 1000)).await;
        other.refused(409, "id_externo_reused");
        if step == "removed" {
            service.a.create_type("REUSED", "debit").await;
        } else {
            service.crash().await;
        }
    }
    // The new type with the code has a number of its own, and the external id is free in its direction.
    let debit = service.a.post(path, &sent("1.00", 1001)).await.is(201);
    assert_ne!(debit["id"], first["id"]);
    let never = service.a.post(path, &sent("9.00", 1002)).await;
    never.refused(400, "voucher_type_unknown");
}

/// A code that is used again gets another number, and vouchers keep the number that they were posted
/// with.
#[actix_web::test]
async fn vouchers_keep_the_number_of_their_type() {
    let mut service = TestService::start().await;
    let cvu = service.a.cvu().await;
    service.a.create_type("REUSED", "credit").await;
    service
        .a
        .voucher(&cvu, "REUSED", "9.00", "first")
        .await
        .is(201);
    service.a.delete("/v1/voucher-types/REUSED").await.is(204);
    let removed = service
        .a
        .get("/wallet/v1/ComprobanteByIdExterno/first")
        .await
        .is(200);
    assert_eq!(removed["idTipoComprobante"], 1000);
    service.a.create_type("REUSED", "debit").await;
    service
        .a
        .voucher(&cvu, "REUSED", "1.00", "second")
        .await
        .is(201);
    let hold = json!({"amount": "1.00", "idExterno": "hold"});
    service
        .a
        .post(&format!("/v1/accounts/{cvu}/holds"), &hold)
        .await
        .is(201);
    for crash in [true, false] {
        for (id, sign, number) in [("first", "1", 1000), ("second", "-1", 1001)] {
            let path = format!("/wallet/v1/ComprobanteByIdExterno/{id}");
            let found = service.a.get(&path).await.is(200);
            assert_eq!(
                (
                    &found["sentido"],
                    &found["idTipoComprobante"],
                    &found["codigo"]
                ),
                (&json!(sign), &json!(number), &json!("REUSED"))
            );
        }
        let moved = service
            .a
            .get("/wallet/v1/MovimientosCliente?idCuenta=1")
            .await
            .is(200);
        let moved = moved["items"].as_array().unwrap().iter();
        let types: Vec<_> = moved
            .map(|it| (&it["codigo"], &it["idTipoComprobante"]))
            .collect();
        let right = [
            json!(["HOLD", 3]),
            json!(["REUSED", 1001]),
            json!(["REUSED", 1000]),
        ];
        assert_eq!(json!(types), json!(right));
        if crash {
            service.crash().await
        } else {
            service.verified().await;
        }
    }
    // The number of a built-in type cannot be posted with.
    let body = json!({"idCuenta": 1, "importe": 1, "idTipoComprobante": 1, "idExterno": "system"});
    let refused = service.a.post("/wallet/v1/Comprobante", &body).await;
    refused.refused(400, "voucher_type_is_system");
}
