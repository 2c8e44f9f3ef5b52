//! The document and its pages, and the headers that keep browsers from misusing them.

use crate::support::{Client, TestService, json};

#[actix_web::test]
async fn the_document_is_sent_compressed_and_only_when_it_is_new() {
    let service = TestService::start().await;
    let client = service.a.with_key(None);
    let plain = client.get("/openapi.json").await.is(200);
    let tag = plain.header("etag");
    assert!(tag.starts_with('"') && tag.len() > 10, "{tag}");
    assert_eq!(plain.json["info"]["title"], "Caudal");
    let small = client
        .get("/openapi.json")
        .header("accept-encoding", "br, gzip;q=0.8")
        .await;
    assert_eq!(small.header("content-encoding"), "gzip");
    assert_eq!(small.header("etag"), tag);
    let length: usize = small.header("content-length").parse().unwrap();
    assert!(length * 5 < plain.text.len(), "{length}");
    for refused in ["gzip;q=0", "identity", "br"] {
        let answer = client
            .get("/openapi.json")
            .header("accept-encoding", refused)
            .await;
        assert_eq!(answer.text, plain.text, "{refused}");
    }
    let known = client
        .get("/openapi.json")
        .header("if-none-match", tag)
        .await
        .is(304);
    assert!(known.text.is_empty());
}

#[actix_web::test]
async fn every_answer_protects_whoever_reads_it() {
    let service = TestService::start().await;
    let none = service.a.with_key(None);
    let admin = service.admin_client();
    let asked = |client: &Client, path: &'static str| {
        let call = client.get(path);
        async move { (path, call.await) }
    };
    for (path, answer) in [
        asked(&none, "/livez").await,
        asked(&none, "/readyz").await,
        asked(&none, "/openapi.json").await,
        asked(&none, "/docs").await,
        asked(&none, "/docs/").await,
        asked(&none, "/docs/api").await,
        asked(&none, "/docs/guide").await,
        asked(&none, "/docs/no-such-file").await,
        asked(&none, "/").await,
        asked(&none, "/v1/accounts").await,
        asked(&none, "/no-such-path").await,
        asked(&service.a, "/v1/accounts").await,
        asked(&service.a, "/wallet/v1/Cuentas").await,
        asked(&admin, "/metrics").await,
        asked(&admin, "/admin/tenants").await,
    ] {
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{path}");
        assert!(!answer.header("cache-control").is_empty(), "{path}");
        if answer.header("content-type").starts_with("text/html") {
            let policy = answer.header("content-security-policy");
            assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
            assert!(
                policy.contains("frame-ancestors 'none'"),
                "{path}: {policy}"
            );
        }
    }
    let body = json!({});
    let error = none.post("/v1/accounts", &body).await;
    assert_eq!(error.header("referrer-policy"), "no-referrer");
}
