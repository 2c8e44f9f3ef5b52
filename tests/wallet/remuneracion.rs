//! Remuneration of balances: enrolled once whatever happens, valued apart from the balance.

use crate::support::client::fresh;
use crate::support::{Answer, Client, SOON, TestClock, TestService, Value, json, wait_until};

const ALTA: &str = "/wallet/v1/Remuneracion/Alta";

async fn alta(client: &Client, cvu: &str, comitente: &str) -> Answer {
    let body = json!({"cvu": cvu, "cuentaComitente": comitente});
    client.post(ALTA, &body).await
}

async fn estado(client: &Client, cvu: &str) -> Answer {
    let path = format!("/wallet/v1/Remuneracion/Estado/{cvu}");
    client.get(&path).await.is(200)
}

/// Waits until the account itself knows that an enrolment is active: ordering it again does not ask
/// the fund.
async fn heard(client: &Client, cvu: &str, comitente: &str) {
    wait_until("ACTIVA", SOON, async || {
        let same = alta(client, cvu, comitente).await.is(201);
        (same["estado"] == "ACTIVA").then_some(())
    })
    .await;
}

/// Has the bank change the enrolment of a CVU.
async fn tell(service: &TestService, cvu: &str, order: &Value) {
    service.bank.remunerate(cvu, order).await;
}

async fn behave(service: &TestService, mode: &str) {
    match mode {
        "timeout" => service.bank.is_silent("remuneration", None).await,
        "ok" => service.bank.speaks("remuneration").await,
        _ => {
            let order = json!({"operation": "remuneration", "mode": mode});
            service.bank.behave(order).await;
        }
    }
}

/// How many enrolments of a CVU the bank has.
async fn enrolments(service: &TestService, cvu: &str) -> usize {
    let state = service.bank.state().await;
    let all = state["enrolments"].as_array().unwrap();
    all.iter().filter(|it| it["cvu"] == cvu).count()
}

/// Every answer that shows the money of the client and of the PSP.
async fn money(client: &Client, cvu: &str) -> Vec<Value> {
    let mut seen = Vec::new();
    for path in [
        format!("/v1/accounts/{cvu}/balance"),
        format!("/v1/treasury/positions/{cvu}"),
        "/v1/treasury".to_owned(),
        "/wallet/v1/SaldosActuales".to_owned(),
    ] {
        let mut body = client.get(&path).await.is(200).json;
        for volatile in ["asOf", "bankAsOf", "sequence"] {
            body.as_object_mut().unwrap().remove(volatile);
        }
        seen.push(body);
    }
    seen
}

#[actix_web::test]
async fn an_account_is_enrolled_and_valued_apart_from_its_balance() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let mut service = TestService::at(&clock).await;
    let opened = service.a.open_account().await;
    let cvu = opened["cvu"].as_str().unwrap();
    let number = opened["walletAccountId"].as_u64().unwrap();
    service.a.in_and_out().await;
    service.a.credit(cvu, "1000.00").await;
    let before = money(&service.a, cvu).await;
    let nothing = estado(&service.a, cvu).await;
    assert_eq!(
        nothing.json,
        json!({
            "cvu": cvu, "idCuenta": number, "estado": "NO_ENROLADA", "cuentaComitente": null,
            "fondo": null, "fechaAlta": null, "cuotapartes": null, "valorCuotaparte": null,
            "fechaValor": null, "saldoValuado": null, "rendimientoDiario": null, "tna": null,
        })
    );
    let body = json!({"cvu": cvu, "idCuenta": number, "cuentaComitente": 12_345, "otro": 1});
    let made = service.a.post(ALTA, &body).key("alta-1").await.is(201);
    assert_eq!(
        made.json,
        json!({
            "id": made["id"], "cvu": cvu, "idCuenta": number, "cuentaComitente": "12345",
            "fondo": "CAUDAL MONEY MARKET", "estado": "ACTIVA",
            "fechaAlta": "2026-03-02T15:04:05.678Z",
        })
    );
    assert!(!made.replayed());
    tell(
        &service,
        cvu,
        &json!({"units": "656402.1234", "day": "2026-03-08"}),
    )
    .await;
    let reply = estado(&service.a, cvu).await;
    // Sunday's price is that of the Friday before; its rate is the change since a Wednesday 30 days
    // before that Friday.
    let (_, rest) = reply.text.split_once("\"estado\":").unwrap();
    assert_eq!(
        rest,
        concat!(
            r#""ACTIVA","cuentaComitente":"12345","fondo":"CAUDAL MONEY MARKET","#,
            r#""fechaAlta":"2026-03-02T15:04:05.678Z","cuotapartes":656402.1234,"#,
            r#""valorCuotaparte":3124.181920,"fechaValor":"2026-03-06","saldoValuado":2050719.65,"#,
            r#""rendimientoDiario":0.030147,"tna":11.10}"#
        )
    );
    // After the weekend the next business day has the yield of three days.
    tell(&service, cvu, &json!({"day": "2026-03-09"})).await;
    let monday = estado(&service.a, cvu).await;
    assert_eq!(monday["rendimientoDiario"], json!(0.090414));
    assert_eq!(money(&service.a, cvu).await, before);
    service.restart().await;
    let again = service.a.post(ALTA, &body).key("alta-1").await.is(201);
    assert_eq!((again.replayed(), &again.text), (true, &made.text));
    let alone = json!({"idCuenta": number.to_string(), "cuentaComitente": "12345"});
    let same = service.a.post(ALTA, &alone).await.is(201);
    assert_eq!((same.replayed(), &same.json), (true, &made.json));
    assert_eq!(enrolments(&service, cvu).await, 1);
    service.verified().await;
}

#[actix_web::test]
async fn another_brokerage_account_waits_until_the_enrolment_is_over() {
    let service = TestService::start().await;
    let cvu = &service.a.cvu().await;
    alta(&service.a, cvu, "7").await.is(201);
    for state in ["ACTIVE", "SUSPENDED", "ACTIVE"] {
        tell(&service, cvu, &json!({"status": state})).await;
        let reply = estado(&service.a, cvu).await;
        let word = if state == "ACTIVE" {
            "ACTIVA"
        } else {
            "SUSPENDIDA"
        };
        assert_eq!(reply["estado"], word);
        let other = alta(&service.a, cvu, "8").await;
        other.refused(409, "remuneration_enrolled");
        let other = json!({"cvu": cvu, "cuentaComitente": "7", "fondo": "Otro"});
        let other = service.a.post(ALTA, &other).await;
        other.refused(409, "remuneration_enrolled");
    }
    tell(&service, cvu, &json!({"status": "ENDED"})).await;
    let reply = estado(&service.a, cvu).await;
    assert_eq!(
        (&reply["estado"], &reply["cuotapartes"]),
        (&json!("BAJA"), &json!(null))
    );
    let second = alta(&service.a, cvu, "8").await.is(201);
    assert_eq!(second["cuentaComitente"], "8");
    assert_eq!(enrolments(&service, cvu).await, 2);
}

#[actix_web::test]
async fn what_the_fund_refuses_is_told_and_may_be_asked_again() {
    let service = TestService::start().await;
    let cvu = &service.a.cvu().await;
    behave(&service, "reject").await;
    let body = json!({"cvu": cvu, "cuentaComitente": "7"});
    let refused = service.a.post(ALTA, &body).key("no").await;
    let refused = refused.refused(400, "bank_refused");
    assert_eq!(
        (&refused["bankStatus"], &refused["bankBody"]["code"]),
        (&json!(409), &json!("RM004"))
    );
    assert_eq!(estado(&service.a, cvu).await["estado"], "RECHAZADA");
    behave(&service, "ok").await;
    let again = service.a.post(ALTA, &body).key("no").await;
    assert!(again.replayed());
    assert_eq!(
        (again.status, &again["code"]),
        (400, &json!("bank_refused"))
    );
    // A status instead of a refusal: the enrolment exists, and is rejected.
    let word = alta(&service.a, cvu, "71").await.is(201);
    assert_eq!(word["estado"], "RECHAZADA");
    let good = alta(&service.a, cvu, "7").await.is(201);
    assert_eq!(good["estado"], "ACTIVA");
}

#[actix_web::test]
async fn a_fund_that_takes_its_time_is_asked_until_it_says() {
    let mut service = TestService::start().await;
    let cvu = &service.a.cvu().await;
    let made = alta(&service.a, cvu, "72").await.is(201);
    assert_eq!(made["estado"], "PENDIENTE");
    let same = alta(&service.a, cvu, "72").await.is(201);
    assert_eq!(same.json, made.json);
    alta(&service.a, cvu, "8")
        .await
        .refused(409, "remuneration_enrolled");
    // The bank can be asked for other things in the meantime.
    let alias = json!({"alias": format!("remunerada.{}", fresh())});
    let path = format!("/v1/accounts/{cvu}/alias");
    service.a.put(&path, &alias).await.is(200);
    service.restart().await;
    let asked = service.bank.calls("remuneration").await;
    wait_until("asked after the restart", SOON, async || {
        (service.bank.calls("remuneration").await > asked).then_some(())
    })
    .await;
    tell(&service, cvu, &json!({"status": "ACTIVE"})).await;
    heard(&service.a, cvu, "72").await;
    assert_eq!(enrolments(&service, cvu).await, 1);
}

#[actix_web::test]
async fn an_answer_that_is_lost_enrols_once() {
    for mode in ["timeout", "error", "reset", "garbage"] {
        let service = TestService::start().await;
        let cvu = &service.a.cvu().await;
        behave(&service, mode).await;
        let made = alta(&service.a, cvu, "7").await.is(201);
        assert_eq!(made["estado"], "PENDIENTE", "{mode}");
        // The bank is away: the service still answers with what the ledger knows.
        let reply = estado(&service.a, cvu).await;
        assert_eq!(
            (&reply["estado"], &reply["saldoValuado"]),
            (&json!("PENDIENTE"), &json!(null))
        );
        behave(&service, "ok").await;
        heard(&service.a, cvu, "7").await;
        let reply = estado(&service.a, cvu).await.json;
        assert!(reply["saldoValuado"].is_number(), "{reply}");
        assert_eq!(enrolments(&service, cvu).await, 1, "{mode}");
        behave(&service, mode).await;
        let reply = estado(&service.a, cvu).await;
        assert_eq!(
            (&reply["estado"], &reply["cuotapartes"]),
            (&json!("ACTIVA"), &json!(null))
        );
    }
}

#[actix_web::test]
async fn a_crash_while_the_fund_is_asked_enrols_once_and_answers_its_key() {
    let mut service = TestService::start().await;
    let cvu = &service.a.cvu().await;
    // The service waits for the fund, so that no answer comes before the crash.
    let silent = json!({"operation": "remuneration", "mode": "timeout"});
    service.bank.behave(silent).await;
    let before = service.bank.calls("remuneration").await;
    let body = json!({"cvu": cvu, "cuentaComitente": "7"});
    let first = service.a.post(ALTA, &body).key("cut");
    let cut = async {
        wait_until("the fund is asked", SOON, async || {
            (service.bank.calls("remuneration").await > before).then_some(())
        })
        .await;
    };
    let sent = actix_web::rt::spawn(first.answer());
    cut.await;
    // This setting applies to the next request; the first one stays unanswered.
    behave(&service, "timeout").await;
    service.crash().await;
    drop(sent.await.unwrap());
    assert_eq!(enrolments(&service, cvu).await, 1);
    behave(&service, "ok").await;
    heard(&service.a, cvu, "7").await;
    let again = service.a.post(ALTA, &body).key("cut").await.is(201);
    assert_eq!(again["estado"], "ACTIVA");
    let kept = service.a.post(ALTA, &body).key("cut").await.is(201);
    assert_eq!((kept.replayed(), &kept.text), (true, &again.text));
    assert_eq!(enrolments(&service, cvu).await, 1);
    assert_eq!(service.verified().await, 0);
}

#[actix_web::test]
async fn only_an_account_that_may_is_enrolled() {
    let service = TestService::start().await;
    let foreign = &service.b.cvu().await;
    alta(&service.a, foreign, "7")
        .await
        .refused(404, "account_not_found");
    let unknown = format!("/wallet/v1/Remuneracion/Estado/{foreign}");
    let unknown = service.a.get(&unknown).await;
    unknown.refused(404, "account_not_found");
    let bare = super::cuenta(&service.a, "Ana", "Paz").await;
    let by_number = json!({"idCuenta": bare, "cuentaComitente": "7"});
    let without = service.a.post(ALTA, &by_number).await;
    without.refused(400, "account_without_cvu");
    let cvu = &service.a.cvu().await;
    let path = format!("/v1/accounts/{cvu}/suspend");
    let why = json!({"reason": "a test"});
    service.a.post(&path, &why).await.is(200);
    alta(&service.a, cvu, "7")
        .await
        .refused(400, "account_suspended");
    let path = format!("/v1/accounts/{cvu}/reactivate");
    service.a.post(&path, &json!({})).await.is(200);
    alta(&service.a, cvu, "7").await.is(201);
    service
        .a
        .delete(&format!("/v1/accounts/{cvu}"))
        .await
        .is(200);
    alta(&service.a, cvu, "7")
        .await
        .refused(400, "account_closed");
    // The bank ends the enrolment of a CVU that is closed.
    assert_eq!(estado(&service.a, cvu).await["estado"], "BAJA");
    let number = service.a.open_account().await["walletAccountId"].clone();
    let other = &service.a.cvu().await;
    for (body, field) in [
        (json!({"cuentaComitente": "7"}), "cvu"),
        (json!({"cvu": other}), "cuentaComitente"),
        (
            json!({"cvu": other, "cuentaComitente": " "}),
            "cuentaComitente",
        ),
        (
            json!({"cvu": other, "cuentaComitente": 1.5}),
            "cuentaComitente",
        ),
        (json!({"cvu": "1", "cuentaComitente": "7"}), "cvu"),
        (
            json!({"cvu": other, "idCuenta": number, "cuentaComitente": "7"}),
            "idCuenta",
        ),
        (
            json!({"cvu": other, "cuentaComitente": "7", "fondo": "x".repeat(41)}),
            "fondo",
        ),
    ] {
        let refused = service.a.post(ALTA, &body).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(refused["errors"][0]["field"], field, "{}", refused.text);
    }
    assert_eq!(enrolments(&service, other).await, 0);
}

#[actix_web::test]
async fn calls_to_the_fund_are_written_down_without_the_brokerage_account() {
    let service = TestService::start().await;
    let cvu = &service.a.cvu().await;
    alta(&service.a, cvu, "SECRETO-77").await.is(201);
    estado(&service.a, cvu).await;
    let shown = service
        .admin("GET", &format!("/admin/actors/{cvu}"), &json!({}))
        .await
        .is(200);
    let calls = shown["bankCalls"].to_string();
    for operation in ["\"remuneration\"", "\"remuneration_status\""] {
        assert!(calls.contains(operation), "{}", shown.text);
    }
    assert!(!calls.contains("SECRETO"), "{calls}");
}
