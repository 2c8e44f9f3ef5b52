//! Another tenant's things, wherever a request may name them other than in its path: in the body, in the query, and
//! by numbers that each realm counts for itself. The answer is the same as for things that do not exist.

use super::checks::everything;
use super::{Ids, Operation, operations};
use crate::support::client::fresh;
use crate::support::{Answer, Client, TestService, Value, cuit, json};

/// How many accounts and types another tenant has beyond the caller's own, so that their numbers mean nothing to the
/// caller.
const MORE: usize = 24;

/// The ids of another tenant, with higher numbers than any in the first realm.
async fn of_other(client: &Client) -> Ids {
    for _ in 0..MORE {
        let names = json!({"cuitCuil": cuit(fresh()), "razonSocial": "Canary SA"});
        client.post("/wallet/v1/Cuenta", &names).await.is(201);
        client
            .create_type(&format!("MORE_{}", fresh()), "credit")
            .await;
    }
    Ids::of(client).await
}

/// Every id with the placeholder that replaces it when answers are compared.
fn names(ids: &Ids) -> [(&str, &str); 11] {
    [
        (&ids.cvu, "<cvu>"),
        (&ids.suspended, "<suspended>"),
        (&ids.code, "<code>"),
        (&ids.voucher, "<voucher>"),
        (&ids.external, "<external>"),
        (&ids.key, "<key>"),
        (&ids.hold, "<hold>"),
        (&ids.transfer, "<transfer>"),
        (&ids.webhook, "<webhook>"),
        (&ids.record, "<record>"),
        (&ids.sent, "<sent>"),
    ]
}

/// Whether the query or the body of an operation uses any of these ids.
fn asks_for(operation: &Operation, ids: &Ids) -> bool {
    let body = operation
        .row
        .body
        .map_or(Value::Null, |body| body(ids))
        .to_string();
    operation.row.query.contains("OWN_CVU") || names(ids).iter().any(|(id, _)| body.contains(id))
}

/// An answer without the parts that differ from request to request: the ids in the request, the instant, and the
/// tenant's own ids of the orders.
fn bare(answer: &Answer, ids: &Ids, numbers: &[(&str, &str)]) -> (u16, String) {
    let mut text = answer.essence("").to_string();
    for (id, name) in names(ids).iter().chain(numbers) {
        text = text.replace(id, name);
    }
    let mut parts = text.split("row-");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
    (
        answer.status,
        rest.fold(first, |text, part| text + "row-" + part),
    )
}

#[actix_web::test]
async fn references_to_resources_of_another_tenant_are_not_found() {
    let service = TestService::start().await;
    let (mine, unknown) = (Ids::of(&service.a).await, Ids::unknown());
    let mut asked = 0;
    for other in [&service.b, &service.live] {
        let theirs = of_other(other).await;
        let before = everything(other, &theirs).await;
        for operation in operations().iter().filter(|it| asks_for(it, &theirs)) {
            let path = (operation.row.path)(&mine);
            let foreign = operation.call(&service.a, &path, &theirs).await;
            let nothing = operation.call(&service.a, &path, &unknown).await;
            let name = operation.row.operation;
            assert!(foreign.status < 500, "{name}: {}", foreign.text);
            assert_eq!(
                bare(&foreign, &theirs, &[]),
                bare(&nothing, &unknown, &[]),
                "{name}"
            );
            asked += 1;
        }
        let after = everything(other, &theirs).await;
        assert_eq!(before, after, "another tenant changed something");
    }
    assert!(
        asked >= 20,
        "only {asked} requests name something in a body or a query"
    );
}

#[actix_web::test]
async fn anothers_number_is_a_number_of_nothing() {
    let service = TestService::start().await;
    let (mine, unknown) = (Ids::of(&service.a).await, Ids::unknown());
    let mut asked = 0;
    for other in [&service.b, &service.live] {
        let theirs = of_other(other).await;
        let before = everything(other, &theirs).await;
        for operation in operations().iter().filter(|it| it.row.public) {
            let (path, none) = (
                (operation.row.path)(&theirs),
                (operation.row.path)(&unknown),
            );
            if path == none {
                continue;
            }
            let foreign = operation
                .call(&service.a, &path, &mine)
                .await
                .is(404)
                .error();
            let nothing = operation
                .call(&service.a, &none, &mine)
                .await
                .is(404)
                .error();
            let same = [[(path[0], "<number>")], [(none[0], "<number>")]];
            let name = operation.row.operation;
            assert_eq!(
                bare(&foreign, &theirs, &same[0]),
                bare(&nothing, &unknown, &same[1]),
                "{name}"
            );
            asked += 1;
        }
        let after = everything(other, &theirs).await;
        assert_eq!(before, after, "another tenant changed something");
    }
    assert!(
        asked >= 10,
        "only {asked} operations have a number in their path"
    );
}
