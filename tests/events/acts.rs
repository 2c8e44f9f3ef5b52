//! The acts of the story: one of everything, step by step, with the events that each step should
//! publish.

use super::all;
use super::story::{Story, as_told};
use crate::support::client::fresh;
use crate::support::service::opening;
use crate::support::{SOON, Value, cuit, json, wait_until};

/// Everything that can be done to an account, except with money.
async fn changes(story: &mut Story) -> String {
    let cvu = story.opened().await;
    let at = |rest: &str| format!("/v1/accounts/{cvu}{rest}");
    let holder = story.service.a.get(&at("")).await["holder"]["cuit"].clone();
    let alias = json!({"alias": format!("alias.{}", fresh())});
    let name = json!({"titulares": [{"cuit": holder, "name": "Otra Persona"}]});
    for (method, rest, body, kind) in [
        ("PUT", "/alias", alias, "account.alias.updated"),
        (
            "PATCH",
            "/limits",
            json!({"dailyCount": 50}),
            "account.limits.updated",
        ),
        ("PATCH", "/kyc", json!({"pep": true}), "account.updated"),
        ("PATCH", "/identidad", name, "account.updated"),
        (
            "POST",
            "/suspend",
            json!({"reason": "x", "code": "fraud"}),
            "account.suspended",
        ),
        ("POST", "/reactivate", json!({}), "account.reactivated"),
        ("DELETE", "", json!({}), "account.closed"),
    ] {
        let call = story.step().call(method, &at(rest));
        if body == json!({}) {
            call.await.is(200)
        } else {
            call.json(&body).await.is(200)
        };
        story.account(kind, &cvu).await;
    }
    cvu
}

/// Orders that change nothing, and so publish nothing.
async fn nothings(story: &mut Story, cvu: &str) {
    let refuse = json!({"operation": "set_alias", "mode": "reject", "count": 1});
    story.service.bank.behave(refuse).await;
    let at = |rest: &str| format!("/v1/accounts/{cvu}{rest}");
    let alias = json!({"alias": format!("alias.{}", fresh())});
    let a = story.step();
    a.put(&at("/alias"), &alias).await.is(400);
    a.call("POST", &at("/reactivate")).await.is(400);
    a.voucher(cvu, "OUT", "999999.00", "too-much").await.is(400);
    let first = a.voucher(cvu, "IN", "1.00", "twice").await.is(201);
    let again = a.voucher(cvu, "IN", "1.00", "twice").await.is(201);
    assert_eq!(first.json, again.json);
    let dry = json!({"voucherTypeCode": "IN", "amount": "1.00", "idExterno": "dry"});
    a.post(&at("/comprobantes?dryRun=true"), &dry).await.is(200);
    a.get(&at("")).await.is(200);
    story.vouchers(cvu, 1).await;
}

async fn types_of_vouchers(story: &mut Story) {
    for (code, sense) in [("IN", "credit"), ("OUT", "debit"), ("GONE", "debit")] {
        let made = story.step().create_type(code, sense).await;
        story.tell("voucher_type.created", made);
    }
    let path = "/v1/voucher-types/GONE";
    let off = story
        .step()
        .patch(path, &json!({"active": false}))
        .await
        .is(200);
    story.tell("voucher_type.updated", off.json.clone());
    story.step().delete(path).await.is(204);
    story.tell("voucher_type.removed", off.json);
}

/// Vouchers of both families, with charges, and holds with every ending.
async fn money(story: &mut Story, cvu: &str, number: &Value) {
    story.step().credit(cvu, "1000.00").await;
    story.vouchers(cvu, 1).await;
    let body = json!({"idCuenta": number, "importe": 0.5, "codigo": "IN", "idExterno": "w-1",
        "referencia": "sueldo", "fechaExterna": "2026-02-27"});
    story
        .step()
        .post("/wallet/v1/Comprobante", &body)
        .await
        .is(201);
    story.vouchers(cvu, 1).await;
    let rule = json!({"voucherTypeCode": "OUT", "percentage": "1", "fixed": "0", "minimum": null,
        "maximum": null, "charge": true});
    let path = format!("/admin/accounts/{cvu}/fee-schedule");
    story.step();
    story
        .service
        .admin("PUT", &path, &json!({"feeSchedule": [rule]}))
        .await
        .is(200);
    story.account("account.updated", cvu).await;
    story.step().debit(cvu, "100.00").await;
    story.vouchers(cvu, 3).await;
    let held = story.step().hold(cvu, "30.00").await;
    story.vouchers(cvu, 1).await;
    story.tell("hold.created", held.clone());
    for amount in ["35.00", "30.00"] {
        let path = format!("/v1/holds/{}", held["id"].as_str().unwrap());
        let changed = story.step().patch(&path, &json!({"amount": amount}));
        let changed = changed.await.is(200).json;
        story.vouchers(cvu, 1).await;
        story.tell("hold.updated", changed);
    }
    for (step, amount, kind) in [
        ("confirm", "10.00", "hold.confirmed"),
        ("release", "5.00", "hold.released"),
        ("confirm", "15.00", "hold.confirmed"),
    ] {
        let after = story.step().step(&held, step, amount).await.is(200);
        story.vouchers(cvu, 1).await;
        story.tell(kind, after.json);
    }
    let body = json!({"amount": "7.00", "idExterno": "soon", "expiresAt": story.at(2)});
    let path = format!("/v1/accounts/{cvu}/holds");
    let held = story.step().post(&path, &body).await.is(201).json;
    story.vouchers(cvu, 1).await;
    story.tell("hold.created", held.clone());
    let path = format!("/v1/holds/{}", held["id"].as_str().unwrap());
    let a = story.step().clone();
    let expired = wait_until("the hold expires", SOON, async || {
        let read = a.get(&path).await.is(200);
        (read["status"] == "expired").then_some(read.json)
    });
    let expired = expired.await;
    story.vouchers(cvu, 1).await;
    story.tell("hold.expired", expired);
}

/// Internal transfers and those through the bank, with every ending.
async fn transfers(story: &mut Story, from: &str, to: &str) {
    let call = story.step().transfer(from, json!({"cvu": to}), "20.00");
    let sent = call.await.is(201).json;
    story.vouchers(from, 1).await;
    let done = story.read_transfer(&sent).await;
    story.tell("transfer.completed", done);
    story.vouchers(to, 1).await;
    // The bank completes one at once.
    let done = story.sent(from, 0, "completed").await;
    story.vouchers(from, 1).await;
    story.tell("transfer.completed", done);
    // It refuses one at once, which was never in progress.
    let done = story.sent(from, 1, "rejected").await;
    story.vouchers(from, 1).await;
    story.tell("transfer.rejected", done);
    // It takes others, and reports their end later.
    let in_progress = story.sent(from, 2, "in_progress").await;
    story.tell("transfer.in_progress", in_progress.clone());
    let (origin, a) = (in_progress["originId"].clone(), story.step().clone());
    story.service.bank.settle(&origin, "FAILED").await;
    a.settled(&in_progress, "rejected").await;
    story.vouchers(from, 1).await;
    let done = story.read_transfer(&in_progress).await;
    story.tell("transfer.rejected", done);
    let in_progress = story.sent(from, 2, "in_progress").await;
    story.tell("transfer.in_progress", in_progress.clone());
    let origin = in_progress["originId"].clone();
    story.step();
    story.service.bank.settle(&origin, "UNKNOWN_FOREVER").await;
    a.settled(&in_progress, "audit").await;
    let lost = story.read_transfer(&in_progress).await;
    story.tell("transfer.audit", lost);
    let path = format!(
        "/admin/transfers/{}/decide",
        in_progress["id"].as_str().unwrap()
    );
    let word =
        json!({"outcome": "completed", "reason": "the bank's clerk said so", "by": "Ana Gómez"});
    story.step();
    story.service.admin("POST", &path, &word).await.is(200);
    story.vouchers(from, 1).await;
    let done = story.read_transfer(&in_progress).await;
    story.tell("transfer.decided", done.clone());
    story.tell("transfer.completed", done);
    // A completed transfer comes back.
    let done = story.sent(from, 0, "completed").await;
    story.vouchers(from, 1).await;
    story.tell("transfer.completed", done.clone());
    story.step();
    story.service.hear().await;
    story.service.bank.reverse(&done["originId"]).await;
    a.settled(&done, "reversed").await;
    story.vouchers(from, 1).await;
    let back = story.read_transfer(&done).await;
    story.tell("transfer.reversed", back);
}

/// Money that arrives: for an account, for a closed one, for nobody.
async fn arrivals(story: &mut Story, cvu: &str, closed: &str) {
    let a = story.step().clone();
    let before = a.balance(cvu).await["sequence"].as_u64().unwrap();
    story.service.bank.cash_in(cvu, "250.00").await;
    wait_until("the money arrives", SOON, async || {
        (a.balance(cvu).await["sequence"] == before + 1).then_some(())
    })
    .await;
    story.vouchers(cvu, 1).await;
    let open = cvu;
    for (cvu, amount, why) in [
        (closed.to_owned(), "3.00", "account_closed"),
        (closed.to_owned(), "4.50", "account_closed"),
    ] {
        story.step();
        let coelsa = story.service.bank.cash_in(&cvu, amount).await;
        let what = format!("{cvu} is kept as suspense");
        let all = wait_until(&what, SOON, async || {
            let all = all(&a, 200, "&types=cash_in.suspended").await;
            let last = all.last().map(|it| it["data"].clone());
            last.filter(|last| last["coelsaId"] == *coelsa)
        });
        // The bank's own id and time cannot be foreseen.
        let last = all.await;
        assert!(last["bankTransferId"].is_string() && last["bankAt"].is_string());
        let mut right = json!({"coelsaId": coelsa, "cvu": cvu, "amount": amount, "reason": why});
        assert_eq!(last["counterparty"]["coelsaId"], coelsa.as_str());
        for name in ["bankTransferId", "bankAt", "counterparty"] {
            right[name] = last[name].clone();
        }
        story.tell("cash_in.suspended", right);
    }
    resolutions(story, open).await;
}

/// A person decides about the money in suspense: the first is credited, the second returned.
async fn resolutions(story: &mut Story, open: &str) {
    let list = "/admin/cases?kind=suspense";
    for (outcome, cvu) in [("credit", json!(open)), ("return", Value::Null)] {
        let cases = story.service.admin_get(list).await.is(200);
        let id = cases["items"][0]["id"].as_str().unwrap().to_owned();
        let mut body = json!({"outcome": outcome, "reason": "on paper", "by": "Ana Gómez"});
        if outcome == "credit" {
            body["cvu"] = cvu;
        }
        let path = format!("/admin/cases/{id}");
        story.step();
        let decide = format!("{path}/decide");
        story.service.admin("POST", &decide, &body).await.is(200);
        let case = wait_until("the case is decided", SOON, async || {
            let case = story.service.admin_get(&path).await.is(200);
            (case["state"] == "decided").then_some(case.json)
        });
        let mut case = case.await["suspense"].take();
        let parts = case.as_object_mut().unwrap();
        parts.remove("returnRefusal");
        if outcome == "credit" {
            story.vouchers(open, 1).await;
        }
        story.tell("suspense.resolved", case);
    }
}

/// Accounts of the wallet family: registered, changed, switched, given a CVU, enrolled in
/// remuneration.
async fn wallet(story: &mut Story) {
    let body = json!({"cuitCuil": cuit(fresh()), "nombre": "Ana", "apellido": "Paz",
        "codigo": format!("c-{}", fresh())});
    let made = story.step().post("/wallet/v1/Cuenta", &body).await.is(201);
    let id = made["id"].as_u64().unwrap();
    let (path, switch) = (
        format!("/wallet/v1/Cuenta/{id}"),
        format!("/wallet/v1/Habilitado/Cuenta/{id}"),
    );
    story.without_cvu("account.registered", &path).await;
    let changed = json!({"email": "ana@paz.example"});
    story.step().put(&path, &changed).await.is(204);
    story.without_cvu("account.updated", &path).await;
    for (on, kind) in [(false, "account.disabled"), (true, "account.enabled")] {
        let body = json!({"habilitado": on});
        story.step().patch(&switch, &body).await.is(204);
        story.without_cvu(kind, &path).await;
    }
    let own = json!({"idCuenta": id, "nombreCVU": "Mi CVU"});
    let made = story.step().post("/wallet/v1/CVU", &own).await.is(201);
    let cvu = made["cvu"].as_str().unwrap();
    story.account("account.created", cvu).await;
    let alta = json!({"cvu": cvu, "cuentaComitente": "12345"});
    let made = story.step().post("/wallet/v1/Remuneracion/Alta", &alta);
    let made = made.await.is(201);
    assert_eq!(made["estado"], "ACTIVA");
    let read = story.service.a.get(&format!("/v1/accounts/{cvu}")).await;
    let enrolment = json!({"status": "active", "brokerageAccount": "12345",
        "fund": made["fondo"], "requestedAt": made["fechaAlta"]});
    let data = as_told(read.is(200).json, enrolment);
    story.tell("account.remuneration.updated", data);
}

/// An account that the bank refuses to open never existed.
async fn refusal(story: &mut Story) {
    let refuse = json!({"operation": "create_cvu", "mode": "reject", "code": "VW013", "count": 1});
    story.service.bank.behave(refuse).await;
    let holder = cuit(fresh());
    let body = opening(&holder);
    let refused = story.step().post("/v1/accounts", &body).key("refused");
    refused.await.refused(400, "bank_refused");
    let person = json!({"cuit": holder, "name": body["holderName"], "personType": "human"});
    story.tell(
        "account.rejected",
        json!({"cvu": null, "balance": null, "holder": person}),
    );
}

/// Two checks find that clients' money is missing, and another one finds it there.
async fn shortfall(story: &mut Story, cvu: &str) {
    let a = story.step().clone();
    story.service.check_coverage().await;
    story.service.check_coverage().await;
    let short = treasury(story, "treasury.uncovered").await;
    let before = a.balance(cvu).await["sequence"].as_u64().unwrap();
    story.step();
    story.service.bank.cash_in(cvu, "5000.00").await;
    wait_until("the money arrives", SOON, async || {
        (a.balance(cvu).await["sequence"] == before + 1).then_some(())
    })
    .await;
    story.vouchers(cvu, 1).await;
    let missing = short["freeBalance"].as_str().unwrap();
    let missing = missing.strip_prefix('-').unwrap();
    story.step().debit(cvu, missing).await;
    story.vouchers(cvu, 3).await;
    story.step();
    story.service.check_coverage().await;
    treasury(story, "treasury.covered").await;
}

/// Notes an event of the treasury, with the figures that the treasury has now.
async fn treasury(story: &mut Story, kind: &'static str) -> Value {
    let a = story.service.a.clone();
    let told = all(&a, 200, &format!("&types={kind}")).await;
    let now = a.get("/v1/treasury").await.is(200).json;
    let mut data = json!({"clientFunds": now["clientFunds"]["total"], "shared": false});
    for name in ["bankBalance", "freeBalance", "coverageRatio", "covered"] {
        data[name] = now[name].clone();
    }
    // The bank's time cannot be foreseen.
    data["asOf"] = told.last().unwrap()["data"]["asOf"].clone();
    story.tell(kind, data);
    now
}

/// The first day is over, and closed.
async fn day_closes(story: &mut Story) {
    story.next_day();
    story.service.close_days().await;
    let closed = story.service.a.get("/v1/days").await.is(200);
    story.tell("day.closed", closed["items"][0].clone());
}

/// A service in which everything has happened once, and the events that it should have published.
pub async fn whole() -> Story {
    let mut story = Story::begin().await;
    let story_of = &mut story;
    types_of_vouchers(story_of).await;
    let closed = changes(story_of).await;
    let cvu = story_of.opened().await;
    let other = story_of.opened().await;
    let path = format!("/v1/accounts/{cvu}");
    let number = story_of.service.a.get(&path).await["walletAccountId"].clone();
    money(story_of, &cvu, &number).await;
    nothings(story_of, &cvu).await;
    transfers(story_of, &cvu, &other).await;
    arrivals(story_of, &cvu, &closed).await;
    wallet(story_of).await;
    refusal(story_of).await;
    shortfall(story_of, &cvu).await;
    day_closes(story_of).await;
    story
}
