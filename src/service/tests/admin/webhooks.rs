//! Webhooks as operators see them.

use super::*;

#[actix_web::test]
async fn an_operator_sees_every_webhook_and_none_of_its_secrets() {
    let house = House::open();
    let tenant = house.tenant().await;
    let (_, key) = house.key(&tenant, "test").await;
    let hook =
        json!({"url": "http://127.0.0.1:1/caudal?token=canary-token", "description": "canary"});
    let url = format!("{}/v1/webhooks", house.service.url);
    let request = house.client.post(url).header("x-api-key", key).json(&hook);
    let (status, made) = send(request).await;
    assert_eq!(status, 201, "{made}");
    let (_, seen) = house.get("/admin/webhooks").await;
    let item = &seen["items"][0];
    assert_eq!(
        (&seen["total"], &item["tenantId"], &item["mode"]),
        (&json!(1), &json!(tenant), &json!("test"))
    );
    assert_eq!(
        (&item["id"], &item["host"], &item["status"]),
        (&made["id"], &json!("127.0.0.1:1"), &json!("active"))
    );
    assert_eq!(item["progress"]["behind"], 0);
    assert!(!seen.to_string().contains("canary"), "{seen}");
    let url = format!("{}/metrics", house.service.admin_url);
    let (_, page) = send(house.client.get(url)).await;
    let label = format!(
        "caudal_webhook_stopped{{tenant=\"{tenant}\",mode=\"test\",webhook=\"{}\"}} 0",
        text(&made["id"])
    );
    assert!(text(&page).contains(&label), "{page}");
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn an_operator_sends_events_to_a_webhook_once_more() {
    let house = House::open();
    let tenant = house.tenant().await;
    let (_, key) = house.key(&tenant, "test").await;
    let v1 = |method: Method, path: &str| {
        let request = house
            .client
            .request(method, format!("{}{path}", house.service.url));
        request.header("x-api-key", &key)
    };
    let hook = json!({"url": "http://127.0.0.1:1/caudal"});
    let (status, made) = send(v1(Method::POST, "/v1/webhooks").json(&hook)).await;
    assert_eq!(status, 201, "{made}");
    let account = json!({"cuit": "20123456786", "holderName": "Ada Lovelace"});
    let open = v1(Method::POST, "/v1/accounts").header("idempotency-key", "1");
    assert_eq!(send(open.json(&account)).await.0, 201);
    let (_, events) = send(v1(Method::GET, "/v1/events?types=account.created")).await;
    let event = &events["items"][0]["id"];
    let path = format!("/admin/webhooks/{}/redeliver", text(&made["id"]));
    let (status, body) = house.post(&path, json!({"from": event, "to": event})).await;
    assert_eq!(
        (status, &body["from"], &body["to"]),
        (200, event, event),
        "{body}"
    );
    let (status, body) = house.post(&path, json!({"from": event})).await;
    assert_eq!((status, &body["from"]), (200, event), "{body}");
    for (wrong, field) in [
        (json!({}), "from"),
        (json!({"from": "evt_nothing"}), "from"),
        (json!({"from": event, "to": "evt_nothing"}), "to"),
        (json!({"from": event, "till": event}), "till"),
    ] {
        let (status, body) = house.post(&path, wrong).await;
        assert_eq!(
            (status, &body["errors"][0]["field"]),
            (400, &json!(field)),
            "{body}"
        );
    }
    for missing in [
        "/admin/webhooks/whk_x/redeliver",
        "/admin/webhooks/deliveries/dlv_x/redeliver",
    ] {
        assert_eq!(house.post(missing, json!({"from": event})).await.0, 404);
    }
    house.service.stop().await.unwrap();
}
