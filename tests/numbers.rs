//! Numbers that clients write down are never given twice, also when an older copy of the folder is put back.

use std::fs;

use caudal_service::TEST_ADMIN_KEY;
use tempfile::TempDir;

use crate::bank_failures::past::copy;
use crate::support::{TestService, Value, json};

/// What a client writes down.
#[derive(Debug)]
struct Written {
    account: u64,
    record: u64,
    kind: u64,
    webhook: Value,
    request: u64,
}

/// Asks for something that takes a second person; returns the number of the request.
async fn asked(service: &TestService) -> u64 {
    let raise = json!({"limits": {"dailyAmount": "99000.00"}});
    let call = service
        .admin_client()
        .call("PATCH", "/admin/tenants/tnt_first");
    let call = call.header("x-admin-key", TEST_ADMIN_KEY);
    let call = call.header("x-reason", "a larger client");
    let asked = call.json(&raise).await.is(202);
    asked["id"]
        .as_u64()
        .unwrap_or_else(|| panic!("{}", asked.json))
}

async fn write_down(service: &TestService, code: &str, sense: &str) -> Written {
    let client = &service.a;
    let account = client.open_account().await["walletAccountId"]
        .as_u64()
        .unwrap();
    let shown = client.get(&format!("/wallet/v1/Cuenta/{account}")).await;
    let record = shown.is(200)["cuentaCVUId"].as_u64();
    client.create_type(code, sense).await;
    let types = client.get("/wallet/v1/TiposComprobantes").await.is(200);
    let types = types.json.as_array().unwrap().clone();
    let kind = types.iter().find(|it| it["codigo"] == code).unwrap();
    let hook = json!({"url": "https://psp.example/hook"});
    let webhook = client.post("/v1/webhooks", &hook).await.is(201)["id"].clone();
    Written {
        account,
        record: record.unwrap_or_else(|| panic!("no record of a CVU")),
        kind: kind["id"].as_u64().unwrap(),
        webhook,
        request: asked(service).await,
    }
}

#[actix_web::test]
async fn numbers_of_a_lost_history_never_name_anything_else() {
    let mut service = TestService::start().await;
    let wary = json!({
        "limits": {"dailyAmount": "100.00"}, "policy": {"fourEyes": {"limitRaises": true}},
    });
    service
        .admin("PATCH", "/admin/tenants/tnt_first", &wary)
        .await
        .is(200);
    let first = service.a.open_account().await;
    assert_eq!(first["walletAccountId"], 1);
    service.end(true).await;
    let dir = TempDir::new().unwrap();
    let kept = dir.path().join("kept");
    copy(service.data(), &kept);
    service.begin().await;
    let mut lost: Vec<Written> = Vec::new();
    for round in 0..3 {
        let (code, sense) = [("CARGA", "credit"), ("COBRO", "debit")][round % 2];
        let now = write_down(&service, code, sense).await;
        for before in &lost {
            assert_ne!(now.account, before.account);
            assert_ne!(now.record, before.record);
            assert_ne!(now.kind, before.kind);
            assert_ne!(now.webhook, before.webhook);
            assert_ne!(now.request, before.request);
            // What the client's program still knows reaches nobody.
            let credit = json!({
                "idCuenta": before.account, "importe": "5000.00", "idTipoComprobante": now.kind,
                "idExterno": format!("{round} for {}", before.account),
            });
            let answer = service.a.post("/wallet/v1/Comprobante", &credit).await;
            assert!(matches!(answer.status, 400 | 404), "{}", answer.text);
            let credit = json!({
                "idCuenta": now.account, "importe": "5000.00", "idTipoComprobante": before.kind,
                "idExterno": format!("{round} with {}", before.kind),
            });
            let answer = service.a.post("/wallet/v1/Comprobante", &credit).await;
            answer.refused(400, "voucher_type_unknown");
            let alias = json!({"alias": format!("otra.{round}")});
            let path = format!("/wallet/v1/AsignarAlias/CVU/{}", before.record);
            service.a.patch(&path, &alias).await.is(404);
            let path = format!("/v1/webhooks/{}", before.webhook.as_str().unwrap());
            service.a.get(&path).await.is(404);
            let path = format!("/admin/approvals/{}", before.request);
            service.admin_get(&path).await.is(404);
        }
        // Within a run numbers are contiguous, and each is one that JSON can hold.
        let next = service.a.open_account().await;
        assert_eq!(next["walletAccountId"], now.account + 1);
        assert!(now.record < 1 << 53, "{now:?}");
        assert_eq!(asked(&service).await, now.request + 1);
        lost.push(now);
        service.end(true).await;
        let older = dir.path().join(format!("older-{round}"));
        copy(&kept, &older);
        service.moves(older);
        service.begin().await;
        let accounts = service.a.get("/v1/accounts").await.is(200);
        assert_eq!(accounts["total"], 1);
    }
    fs::remove_dir_all(&kept).unwrap();
    service.verified().await;
}

#[actix_web::test]
async fn lists_find_everything_behind_a_gap() {
    let mut service = TestService::start().await;
    for _ in 0..2 {
        service.a.open_account().await;
        service.restart().await;
    }
    let last = service.a.open_account().await;
    let number = last["walletAccountId"].as_u64().unwrap();
    assert!(number > 3, "{number}");
    let name = last["holder"]["name"].as_str().unwrap();
    let query = reqwest::Url::parse_with_params("http://x", [("q", name)]).unwrap();
    let path = format!("/v1/accounts?{}&limit=200", query.query().unwrap());
    let found = service.a.get(&path).await.is(200);
    let numbers = found["items"].as_array().unwrap();
    let numbers: Vec<_> = numbers.iter().map(|it| &it["walletAccountId"]).collect();
    assert!(numbers.contains(&&last["walletAccountId"]), "{numbers:?}");
    assert_eq!(found["total"], numbers.len());
    let all = service.a.get("/v1/accounts?order=asc").await.is(200);
    let order = all["items"].as_array().unwrap();
    assert_eq!(order.last().unwrap()["walletAccountId"], number);
    assert_eq!(all["total"], 3);
}
