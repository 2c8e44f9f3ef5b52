//! Vouchers, types and balances: data written through one family are shown by the other at once.

use super::{cuenta, cvu, tipo};
use crate::support::client::fresh;
use crate::support::{TestService, json, named};

#[actix_web::test]
async fn what_one_family_writes_the_other_reads() {
    let service = TestService::start().await;
    let client = &service.a;
    let id = cuenta(client, "Ana", "Paz").await;
    let made = cvu(client, id).await;
    let own = made["cvu"].as_str().unwrap();
    let native = client.get(&format!("/v1/accounts/{own}")).await.is(200);
    assert_eq!(
        (
            &native["walletAccountId"],
            &native["holder"]["name"],
            &native["alias"]
        ),
        (&json!(id), &json!("Ana Paz"), &made["alias"])
    );
    let number = tipo(client, "CARGA", 1).await;
    let types = client.get("/v1/voucher-types").await.is(200);
    let found = types
        .json
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["code"] == "CARGA");
    let found = found.unwrap();
    assert_eq!(
        (&found["legacyId"], &found["sense"]),
        (&json!(number), &json!("credit"))
    );
    // Posted here, read there; posted there, read here; the external ids share one space.
    let body = json!({"idCuenta": id, "importe": "10.10", "codigo": "CARGA", "idExterno": "w-1", "referencia": "hola"});
    let posted = client.post("/wallet/v1/Comprobante", &body).await.is(201);
    let there = client.get("/v1/comprobantes/by-external/w-1").await.is(200);
    assert_eq!(
        (&there["id"], &there["amount"], &there["description"]),
        (&posted["id"], &json!("10.10"), &json!("hola"))
    );
    client.voucher(own, "CARGA", "5.05", "n-1").await.is(201);
    let here = client
        .get("/wallet/v1/ComprobanteByIdExterno/n-1")
        .await
        .is(200);
    assert_eq!(here["idCuenta"], id);
    assert!(here.text.contains(r#""importe":5.05,"#) && here.text.contains(r#""saldo":15.15,"#));
    client
        .voucher(own, "CARGA", "11.00", "w-1")
        .await
        .refused(409, "id_externo_reused");
    let again = client.voucher(own, "CARGA", "10.10", "w-1").await.is(201);
    assert!(again.replayed());
    // A hold of the native family is shown apart from the available amount.
    client.hold(own, "5.15").await;
    let now = client.get("/wallet/v1/SaldosActuales").await.is(200);
    let item = &now["items"][0];
    assert_eq!(
        (&item["saldo"], &item["heldBalance"], &item["totalBalance"]),
        (&json!(10.0), &json!("5.15"), &json!("15.15"))
    );
    // There is one set of KYC data, whichever family sets it.
    let change = json!({"ocupacion": "JUBILADO", "domicilio": {"calle": "Maipú"}});
    client
        .put(&format!("/wallet/v1/Cuenta/{id}"), &change)
        .await
        .is(204);
    let native = client.get(&format!("/v1/accounts/{own}")).await.is(200);
    assert_eq!(native["kyc"]["occupation"], "JUBILADO");
    let kyc = json!({"maritalStatus": "SOLTERO", "email": "a@b.example"});
    client
        .patch(&format!("/v1/accounts/{own}/kyc"), &kyc)
        .await
        .is(200);
    let shown = super::read(client, id).await.is(200);
    assert_eq!(
        (
            &shown["estadoCivil"],
            &shown["email"],
            &shown["domicilio"]["calle"]
        ),
        (&json!("SOLTERO"), &json!("a@b.example"), &json!("Maipú"))
    );
    // A name set there is shown here; the surname at its end is kept apart.
    let holder = shown["cuitCuil"].clone();
    let identity = json!({"holderName": "Ana María Paz", "titulares": [{"cuit": holder, "name": "Ana María Paz"}]});
    client
        .patch(&format!("/v1/accounts/{own}/identidad"), &identity)
        .await
        .is(200);
    let shown = super::read(client, id).await.is(200);
    assert_eq!(
        (&shown["nombre"], &shown["apellido"]),
        (&json!("Ana María"), &json!("Paz"))
    );
}

#[actix_web::test]
async fn a_voucher_is_posted_once_and_a_dry_run_never() {
    let mut service = TestService::start().await;
    let id = cuenta(&service.a, "Ana", "Paz").await;
    cvu(&service.a, id).await;
    let number = tipo(&service.a, "CARGA", 1).await;
    let body = json!({"idCuenta": id, "importe": 100.07, "idTipoComprobante": number, "codigo": "carga", "idExterno": "a"});
    let path = "/wallet/v1/Comprobante";
    let dry = service
        .a
        .post(&format!("{path}?dryRun=true"), &body)
        .await
        .is(200);
    assert_eq!(dry["saldo"], json!(100.07));
    service
        .a
        .get("/wallet/v1/ComprobanteByIdExterno/a")
        .await
        .refused(404, "voucher_not_found");
    let first = service.a.post(path, &body).key("k-1").await.is(201);
    assert!(!first.replayed());
    service.crash().await;
    for key in ["k-1", "k-2"] {
        let again = service.a.post(path, &body).key(key).await.is(201);
        assert!(again.replayed() && again.json == first.json, "{key}");
    }
    let mut other = body.clone();
    other["importe"] = json!(100.08);
    let reused = service
        .a
        .post(path, &other)
        .key("k-1")
        .await
        .refused(409, "idempotency_key_reused");
    assert_eq!(named(&reused.json), ["importe"]);
    let reused = service
        .a
        .post(path, &other)
        .await
        .refused(409, "id_externo_reused");
    assert_eq!(named(&reused.json), ["importe"]);
    // Also when its type was removed in the meantime, and is named by its number.
    service.a.delete("/v1/voucher-types/CARGA").await.is(204);
    other = body.clone();
    other.as_object_mut().unwrap().remove("codigo");
    let again = service.a.post(path, &other).await.is(201);
    assert!(again.replayed() && again.json == first.json);
    let answer = service
        .a
        .get("/wallet/v1/ComprobanteByIdExterno/a")
        .await
        .is(200);
    assert_eq!(
        (
            &answer["idTipoComprobante"],
            &answer["descripcionTipoComprobante"]
        ),
        (&json!(1000), &json!("CARGA"))
    );
    other["idExterno"] = json!("b");
    service
        .a
        .post(path, &other)
        .await
        .refused(400, "voucher_type_unknown");
}

#[actix_web::test]
async fn every_post_honours_its_key() {
    let mut service = TestService::start().await;
    let holder = crate::support::cuit(fresh());
    let posts = [
        (
            "/wallet/v1/Cuenta",
            json!({"cuitCuil": holder, "razonSocial": "Paz SA", "codigo": "p"}),
        ),
        ("/wallet/v1/CVU", json!({"idCuenta": 1})),
        (
            "/wallet/v1/TipoComprobante",
            json!({"nombre": "C", "codigo": "CC", "sentido": "credit", "signo": -1}),
        ),
        (
            "/wallet/v1/Comprobante",
            json!({"idCuenta": 1, "importe": 1, "codigo": "CC", "idExterno": "a"}),
        ),
    ];
    let mut answers = Vec::new();
    for (path, body) in &posts {
        answers.push(service.a.post(path, body).key("the-key").await.is(201));
    }
    service.crash().await;
    for ((path, body), first) in posts.iter().zip(&answers) {
        let again = service.a.post(path, body).key("the-key").await.is(201);
        assert!(again.replayed(), "{path}");
        assert_eq!(again.text, first.text, "{path}");
    }
    let did = service.a.get("/v1/idempotency/the-key").await.is(200);
    assert_eq!(did["requests"].as_array().unwrap().len(), 4);
    let total = service.a.get("/wallet/v1/Cuentas").await.is(200)["totalRecords"].clone();
    assert_eq!(total, 1);
}

#[actix_web::test]
async fn an_account_that_may_not_move_says_why() {
    let service = TestService::start().await;
    let client = &service.a;
    let id = cuenta(client, "Ana", "Paz").await;
    tipo(client, "CARGA", 1).await;
    tipo(client, "COMPRA", -1).await;
    let post = async |codigo: &str, importe: &str| {
        let external = format!("x-{}", fresh());
        let body =
            json!({"idCuenta": id, "importe": importe, "codigo": codigo, "idExterno": external});
        client.post("/wallet/v1/Comprobante", &body).await
    };
    post("CARGA", "1").await.refused(400, "account_without_cvu");
    let history = format!("/wallet/v1/SaldoHistoricoByIdCuenta/{id}?fecha=2026-01-31");
    client
        .get(&history)
        .await
        .refused(400, "account_without_cvu");
    let own = cvu(client, id).await["cvu"].as_str().unwrap().to_owned();
    let short = post("COMPRA", "1").await.refused(400, "insufficient_funds");
    assert_eq!(
        short["details"],
        json!({"available": "0.00", "requested": "1.00"})
    );
    let enable = async |on: bool| {
        let path = format!("/wallet/v1/Habilitado/Cuenta/{id}");
        client
            .patch(&path, &json!({"habilitado": on}))
            .await
            .is(204);
    };
    enable(false).await;
    enable(false).await;
    for codigo in ["CARGA", "COMPRA"] {
        post(codigo, "1").await.refused(400, "account_disabled");
    }
    assert_eq!(
        client.get(&format!("/v1/accounts/{own}")).await["enabled"],
        false
    );
    enable(true).await;
    post("CARGA", "1").await.is(201);
    for codigo in ["FEE", "TRANSFER_IN"] {
        post(codigo, "1")
            .await
            .refused(400, "voucher_type_is_system");
    }
    client.delete(&format!("/v1/accounts/{own}")).await.is(200);
    post("CARGA", "1").await.refused(400, "account_closed");
    let change = json!({"nombre": "Otra"});
    client
        .put(&format!("/wallet/v1/Cuenta/{id}"), &change)
        .await
        .refused(400, "account_closed");
    // An account that still has money stays in the list.
    let now = client.get("/wallet/v1/SaldosActuales").await.is(200);
    assert_eq!(now["items"][0]["totalBalance"], "1.00");
}
