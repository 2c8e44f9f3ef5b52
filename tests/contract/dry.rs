//! Dry runs over the whole table: an operation does what its dry run said.

use super::schema::Document;
use super::{Ids, events, operations};
use crate::support::{TestService, named};

#[actix_web::test]
async fn an_operation_without_a_dry_run_refuses_to_be_asked_for_one() {
    let service = TestService::start().await;
    let document = Document::of_the_service();
    let mut ids = Ids::of(&service.a).await;
    (ids.event, ids.delivery) = events::delivery(&service.a, &ids).await;
    let before = service.a.get("/v1/events?limit=200").await.is(200).text;
    let (mut knowing, mut refused) = (Vec::new(), 0);
    for mut operation in operations() {
        let declared = &document.operation(operation.row.operation)["parameters"];
        let declared = declared.as_array().into_iter().flatten();
        let mut names = declared.map(|it| it["name"].as_str().unwrap());
        if names.any(|name| name == "dryRun") {
            knowing.push(operation.row.operation);
            continue;
        }
        for asked in ["dryRun=true", "dryRun=false", "dryRun", "d%72yRun=true"] {
            let query = match operation.row.query {
                "" => format!("?{asked}"),
                some => format!("{some}&{asked}"),
            };
            let before = std::mem::replace(&mut operation.row.query, query.leak());
            let path = (operation.row.path)(&ids);
            let answer = operation.call(&service.a, &path, &ids).await;
            let answer = answer.refused(400, "invalid_request");
            assert_eq!(named(&answer.json), ["dryRun"], "{}", answer.text);
            let wallet = operation.template.starts_with("/wallet/");
            let words = if wallet {
                "no es un parámetro"
            } else {
                "is not a parameter"
            };
            assert!(answer.text.contains(words), "{}", answer.text);
            // A caller without a key learns nothing about it.
            let without_key = service.a.with_key(None);
            let answer = operation.call(&without_key, &path, &ids).await;
            answer.refused(401, "unauthorized");
            operation.row.query = before;
        }
        refused += 1;
    }
    knowing.sort_unstable();
    let right = [
        "changeHold",
        "confirmHold",
        "createComprobante",
        "createComprobantes",
        "createHold",
        "createTransfer",
        "createWalletComprobante",
        "releaseHold",
        "reverseComprobante",
        "reverseWalletComprobante",
        "walletTransferir",
    ];
    assert_eq!(knowing, right);
    assert!(refused >= 60, "{refused}");
    let after = service.a.get("/v1/events?limit=200").await.is(200).text;
    assert_eq!(before, after, "nothing happened");
}
