//! Query parameters of the admin API.

use super::*;

#[actix_web::test]
async fn a_parameter_that_an_operation_does_not_have_is_refused() {
    let house = House::open();
    for (method, path, said) in [
        ("GET", "/admin/tenants?limit=1", "which has none"),
        ("POST", "/admin/tenants?dryRun=true", "which has none"),
        ("DELETE", "/admin/keys/key_1?force=true", "which has none"),
        ("GET", "/admin/cases?kinds=transfer", "did you mean kind?"),
        (
            "GET",
            "/admin/cases?colour=red",
            "which has kind, tenant, mode, limit, offset",
        ),
    ] {
        let method = method.parse().unwrap();
        let (status, body) = send(house.request(method, path)).await;
        assert_eq!(
            (status, text(&body["code"])),
            (400, "invalid_request".into())
        );
        assert!(text(&body["message"]).contains(said), "{body}");
    }
    assert_eq!(house.get("/admin/cases?kind=transfer&limit=1").await.0, 200);
    assert_eq!(house.get("/admin/nothing?x=1").await.0, 404);
    // A client without a key learns nothing about parameters.
    let wrong_key = house.request(Method::GET, "/admin/tenants?x=1");
    let wrong_key = wrong_key.header("x-admin-key", "another");
    assert_eq!(send(wrong_key).await.0, 401);
}
