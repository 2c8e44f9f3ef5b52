//! The operations about closed days, on a service whose first day is over.

use super::schema::Document;
use crate::support::{TestClock, TestService};

#[actix_web::test]
async fn closed_days_are_what_the_document_says() {
    let clock = TestClock::at("2026-03-02T15:00:00Z");
    let service = TestService::at(&clock).await;
    let cvu = service.a.cvu().await;
    clock.set("2026-03-03T15:00:00Z");
    service.close_days().await;
    let document = Document::of_the_service();
    let day = "/v1/days/2026-03-02";
    for (id, path) in [
        ("listClosedDays", "/v1/days".to_owned()),
        ("readClosedDay", day.to_owned()),
        ("readDayProof", format!("{day}/proof/{cvu}")),
    ] {
        let answer = service.a.get(&path).await.is(200);
        let declared = &document.operation(id)["responses"]["200"];
        let schema = &declared["content"]["application/json"]["schema"];
        document
            .check(schema, &answer.json)
            .unwrap_or_else(|why| panic!("{id}: {why}: {}", answer.text));
    }
}
