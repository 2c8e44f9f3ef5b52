//! A realm goes to another shard.

use super::*;

#[actix_web::test]
async fn a_realm_keeps_its_numbers_in_another_shard_and_gets_keys_of_that() {
    let dir = TempDir::new().unwrap();
    let mut service = TestService::start().await;
    let cvus = worked(&service).await;
    let before = shown(&service.b, &cvus).await;
    service.end(true).await;
    let file = dir.path().join("realm");
    exported(service.data(), &file, &[]);
    service.shard(7);
    let (data, mut home, cvu) = elsewhere(&mut service, dir.path()).await;
    done(&[
        "realm",
        "import",
        text(&file),
        "--data",
        text(&data),
        "--open",
    ]);
    service.begin().await;
    let path = format!("/admin/tenants/{OTHER}/keys");
    let key = service.admin("POST", &path, &json!({"mode": "test"})).await;
    let key = key.is(201)["key"].as_str().unwrap().to_owned();
    assert!(key.starts_with("cdl_test_007"), "{key}");
    let client = service.a.with_key(Some(&key));
    assert_eq!(shown(&client, &cvus).await, before);
    let old = service.a.with_key(service.b.key.as_deref());
    home.url.clone_from(&service.a.url);
    assert_eq!(old.get("/v1/accounts").await.status, 401);
    // The tenant of this shard has a realm of its own number.
    let wallet = home.get(&format!("/v1/accounts/{cvu}")).await;
    assert_eq!(wallet.status, 200, "{}", wallet.text);
    let shown = service.admin_get("/admin/status").await;
    assert_eq!(shown.is(200)["shard"], 7);
    let platform = service.engine().platform();
    let mut homes = platform.tenants.values().filter(|it| it.id != OTHER);
    assert_eq!(homes.next().unwrap().live.0, (7 << 17) + 1);
}
