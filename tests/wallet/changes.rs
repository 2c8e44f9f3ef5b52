//! Changes of a wallet account, and those that involve the bank.

use super::{cuenta, cvu, made, read};
use crate::support::client::fresh;
use crate::support::{SOON, TestService, Value, cuit, json, wait_until};

fn path(id: u64) -> String {
    format!("/wallet/v1/Cuenta/{id}")
}

#[actix_web::test]
async fn only_what_is_sent_changes() {
    let mut service = TestService::start().await;
    let holder = cuit(fresh());
    let body = json!({"cuitCuil": holder, "nombre": "Ana", "apellido": "Paz", "codigo": "c-1",
        "email": "a@b.example", "esPep": true, "domicilio": {"calle": "Maipú", "numero": "1"}});
    let id = made(&service.a, &body).await;
    let before = read(&service.a, id).await.is(200);
    for (change, expected) in [
        (json!({}), json!({})),
        (json!({"email": ""}), json!({})),
        (
            json!({"email": "c@d.example"}),
            json!({"email": "c@d.example"}),
        ),
        (
            json!({"apellido": "Paz Gómez"}),
            json!({"apellido": "Paz Gómez"}),
        ),
        (
            json!({"esPep": false, "dni": "26.756.539"}),
            json!({"esPep": false, "dni": "26756539"}),
        ),
        (json!({"codigo": "c-2"}), json!({"codigo": "c-2"})),
        (json!({"habilitado": false}), json!({"habilitado": false})),
    ] {
        service.a.put(&path(id), &change).await.is(204);
        let mut right = read(&service.a, id).await.is(200).json;
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&right[name], value, "{change}");
        }
        // Everything else is as it was before the changes.
        for name in [
            "nombre",
            "celular",
            "fechaNacimiento",
            "cvu",
            "cuitCuil",
            "esUif",
        ] {
            assert_eq!(right[name].take(), before[name], "{name} after {change}");
        }
    }
    service
        .a
        .put(&path(id), &json!({"datosDomicilio": {"numero": 2}}))
        .await
        .is(204);
    service.restart().await;
    let shown = read(&service.a, id).await.is(200);
    assert_eq!(
        (
            &shown["domicilio"]["calle"],
            &shown["domicilio"]["numero"],
            &shown["apellido"]
        ),
        (&json!("Maipú"), &json!("2"), &json!("Paz Gómez"))
    );
    // The version that was read before is stale now.
    let stale = service.a.put(&path(id), &json!({"email": "e@f.example"}));
    let stale = stale.header("if-match", before.header("etag")).await;
    stale.refused(412, "version_mismatch");
    let fresh = service.a.put(&path(id), &json!({"email": "e@f.example"}));
    fresh.header("if-match", shown.header("etag")).await.is(204);
    let again = read(&service.a, id).await;
    let again = service
        .a
        .get(&path(id))
        .header("if-none-match", again.header("etag"));
    assert_eq!(again.await.is(200).header("cache-control"), "no-store");
}

#[actix_web::test]
async fn a_cuit_changes_until_there_is_a_cvu() {
    let service = TestService::start().await;
    let (first, second) = (cuit(fresh()), cuit(fresh()));
    let body =
        json!({"cuitCuil": first, "nombre": "Ana", "apellido": "Paz", "razonSocial": "Paz SA"});
    let id = made(&service.a, &body).await;
    let of = async |cuit: &str| {
        let found = service
            .a
            .get(&format!("/wallet/v1/CuentaByCuit?cuit={cuit}"))
            .await
            .is(200);
        found.json.as_array().unwrap().len()
    };
    service
        .a
        .put(&path(id), &json!({"cuitCuil": second}))
        .await
        .is(204);
    assert_eq!((of(&first).await, of(&second).await), (0, 1));
    // With a firm's CUIT, the firm's name becomes the holder's.
    service
        .a
        .put(&path(id), &json!({"cuitCuil": "30-71744907-6"}))
        .await
        .is(204);
    let own = cvu(&service.a, id).await;
    let native = service
        .a
        .get(&format!("/v1/accounts/{}", own["cvu"].as_str().unwrap()))
        .await
        .is(200);
    assert_eq!(
        native["holder"],
        json!({"cuit": "30717449076", "name": "Paz SA", "personType": "legal"})
    );
    service
        .a
        .put(&path(id), &json!({"cuitCuil": "30717449076"}))
        .await
        .is(204);
    service
        .a
        .put(&path(id), &json!({"cuitCuil": second}))
        .await
        .refused(400, "cuit_immutable");
    assert_eq!((of("30-71744907-6").await, of(&second).await), (1, 0));
}

#[actix_web::test]
async fn a_code_is_one_accounts_and_free_again_when_given_up() {
    let mut service = TestService::start().await;
    let new =
        |code: &str| json!({"cuitCuil": cuit(fresh()), "razonSocial": "Paz SA", "codigo": code});
    let (one, other) = (
        made(&service.a, &new("a")).await,
        made(&service.a, &new("b")).await,
    );
    service
        .a
        .post("/wallet/v1/Cuenta", &new("a"))
        .await
        .refused(409, "account_code_taken");
    service
        .a
        .put(&path(other), &json!({"codigo": "a"}))
        .await
        .refused(409, "account_code_taken");
    // The codes share one space with the native family's.
    let native = json!({"cuit": cuit(fresh()), "holderName": "Juana Azurduy", "externalId": "b"});
    service
        .a
        .post("/v1/accounts", &native)
        .key("native")
        .await
        .refused(409, "account_code_taken");
    service
        .a
        .put(&path(one), &json!({"codigo": "c"}))
        .await
        .is(204);
    service.restart().await;
    service
        .a
        .put(&path(other), &json!({"codigo": "a"}))
        .await
        .is(204);
    service
        .a
        .put(&path(other), &json!({"codigo": "a"}))
        .await
        .is(204);
    made(&service.a, &new("b")).await;
    service
        .a
        .post("/wallet/v1/Cuenta", &new("c"))
        .await
        .refused(409, "account_code_taken");
    // Another tenant and the other mode have codes of their own.
    for client in [&service.b, &service.live] {
        made(client, &new("a")).await;
    }
}

#[actix_web::test]
async fn names_are_the_banks_first_and_then_ours() {
    let mut service = TestService::start().await;
    let id = cuenta(&service.a, "Ana", "Paz").await;
    cvu(&service.a, id).await;
    let holder = read(&service.a, id).await["cuitCuil"]
        .as_str()
        .unwrap()
        .to_owned();
    let at_bank = async |service: &TestService| {
        service.bank.accounts_of(&holder).await[0]["name"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    service
        .a
        .put(&path(id), &json!({"nombre": "Ana María"}))
        .await
        .is(204);
    assert_eq!(at_bank(&service).await, "Ana María Paz");
    // If the bank refuses the name, nothing else in the request changes either.
    service
        .bank
        .behave(json!({"operation": "rename", "mode": "reject", "count": 1}))
        .await;
    let change = json!({"apellido": "Otra", "email": "x@y.example", "codigo": "nueva"});
    let before = read(&service.a, id).await.is(200);
    let refused = service
        .a
        .put(&path(id), &change)
        .await
        .refused(400, "bank_refused");
    assert!(refused["bankStatus"].is_u64() && refused["bankBody"].is_object());
    assert_eq!(read(&service.a, id).await.is(200).json, before.json);
    let code = json!({"cuitCuil": cuit(fresh()), "razonSocial": "Paz SA", "codigo": "nueva"});
    let taker = made(&service.a, &code).await;
    service
        .a
        .put(&path(taker), &json!({"codigo": "otra"}))
        .await
        .is(204);
    // The bank's refusal does not last; and a change of other data does not involve the bank.
    let renames = service.bank.calls("rename").await;
    service
        .a
        .put(&path(id), &json!({"email": "x@y.example"}))
        .await
        .is(204);
    assert_eq!(service.bank.calls("rename").await, renames);
    service.a.put(&path(id), &change).await.is(204);
    service.restart().await;
    let shown = read(&service.a, id).await.is(200);
    assert_eq!(
        (&shown["apellido"], &shown["codigo"]),
        (&json!("Otra"), &json!("nueva"))
    );
    assert_eq!(at_bank(&service).await, "Ana María Otra");
}

#[actix_web::test]
async fn a_name_whose_outcome_is_unknown_is_asked_again_and_keeps_its_code() {
    let mut service = TestService::start().await;
    let id = cuenta(&service.a, "Ana", "Paz").await;
    cvu(&service.a, id).await;
    service.bank.is_silent("rename", None).await;
    let change = json!({"apellido": "Otra", "codigo": "k"});
    service
        .a
        .put(&path(id), &change)
        .await
        .refused(504, "bank_timeout");
    service.crash().await;
    let code = json!({"cuitCuil": cuit(fresh()), "razonSocial": "Paz SA", "codigo": "k"});
    service
        .a
        .post("/wallet/v1/Cuenta", &code)
        .await
        .refused(409, "account_code_taken");
    service
        .a
        .put(&path(id), &json!({"nombre": "Eva"}))
        .await
        .refused(409, "operation_in_flight");
    service
        .a
        .put(&path(id), &json!({"email": "x@y.example"}))
        .await
        .is(204);
    service.bank.speaks("rename").await;
    wait_until("the name to be settled", SOON, async || {
        let shown = read(&service.a, id).await.is(200);
        (shown["apellido"] == "Otra").then_some(())
    })
    .await;
    let shown = read(&service.a, id).await.is(200);
    assert_eq!(
        (&shown["codigo"], &shown["email"]),
        (&json!("k"), &json!("x@y.example"))
    );
}

#[actix_web::test]
async fn the_bank_refuses_a_cvu_and_the_account_stays_as_it_was() {
    let mut service = TestService::start().await;
    let id = cuenta(&service.a, "Ana", "Paz").await;
    let before = read(&service.a, id).await.is(200);
    let order = json!({"idCuenta": id, "nombreCVU": "Ahorros"});
    service
        .bank
        .behave(json!({"operation": "create_cvu", "mode": "reject", "count": 1}))
        .await;
    let refused = service
        .a
        .post("/wallet/v1/CVU", &order)
        .key("k")
        .await
        .refused(400, "bank_refused");
    assert!(refused["bankStatus"].is_u64() && refused["bankBody"]["code"].is_string());
    let shown = read(&service.a, id).await.is(200);
    assert_eq!(shown.json, before.json);
    let all = service.a.get("/wallet/v1/Cuentas").await.is(200);
    assert_eq!(
        (&all["totalRecords"], &all["items"][0]["id"]),
        (&json!(1), &json!(id))
    );
    service.restart().await;
    assert_eq!(read(&service.a, id).await.is(200).json, before.json);
    // The key keeps its refusal; without the key the bank is asked again and gives a CVU.
    let again = service
        .a
        .post("/wallet/v1/CVU", &order)
        .key("k")
        .await
        .is(400);
    assert_eq!(again["code"], "bank_refused");
    assert!(again.replayed());
    let made = service.a.post("/wallet/v1/CVU", &order).await.is(201);
    let holder = before["cuitCuil"].as_str().unwrap();
    assert_eq!(service.bank.accounts_of(holder).await.len(), 1);
    // A repeated order gets the existing CVU, whatever it says.
    let other = json!({"idCuenta": id, "nombreCVU": "Otro", "aliasAutomatico": false});
    assert_eq!(
        service.a.post("/wallet/v1/CVU", &other).await.is(200).json,
        made.json
    );
    let all = service.a.get("/wallet/v1/SaldosActuales").await.is(200);
    assert_eq!(all["totalRecords"], 1);
    service.verified().await;
}

#[actix_web::test]
async fn without_an_automatic_alias_there_is_none_until_one_is_set() {
    let service = TestService::start().await;
    let id = cuenta(&service.a, "Ana", "Paz").await;
    let order = json!({"idCuenta": id, "aliasAutomatico": false});
    let made = service.a.post("/wallet/v1/CVU", &order).await.is(201);
    assert_eq!(
        (&made["alias"], &made["nombreCvu"]),
        (&json!(""), &json!("Ana Paz"))
    );
    assert_eq!(read(&service.a, id).await["alias"], Value::Null);
    let alias = format!("alias.{}", fresh());
    let path = format!("/v1/accounts/{}/alias", made["cvu"].as_str().unwrap());
    service.a.put(&path, &json!({"alias": alias})).await.is(200);
    assert_eq!(read(&service.a, id).await["alias"], alias);
}

#[actix_web::test]
async fn a_cvu_whose_outcome_is_unknown_comes_once() {
    let mut service = TestService::start().await;
    let id = cuenta(&service.a, "Ana", "Paz").await;
    service.bank.is_silent("create_cvu", None).await;
    let order = json!({"idCuenta": id, "nombreCVU": "Ahorros"});
    service
        .a
        .post("/wallet/v1/CVU", &order)
        .key("k")
        .await
        .refused(504, "bank_timeout");
    service.crash().await;
    service.bank.speaks("create_cvu").await;
    let made = wait_until("the CVU", SOON, async || {
        let answer = service.a.post("/wallet/v1/CVU", &order).key("k").await;
        (answer.status == 201).then_some(answer)
    })
    .await;
    assert_eq!(made["nombreCvu"], "Ahorros");
    let holder = read(&service.a, id).await["cuitCuil"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(service.bank.accounts_of(&holder).await.len(), 1);
}
