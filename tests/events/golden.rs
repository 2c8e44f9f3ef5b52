//! The golden journal on a disk: its events keep their numbers and ids over a start, a crash and a
//! rebuild of the index. Neither file is ever edited.

use crate::support::{TestService, Value};

const JOURNAL: &str = include_str!("../../actors/src/tests/golden/journal.txt");
const EVENTS: &str = include_str!("../../actors/src/tests/golden/events.txt");

fn line(event: &Value) -> String {
    let text = |name: &str| event[name].as_str().unwrap().to_owned();
    format!("{} {} {}", event["sequence"], text("id"), text("type"))
}

#[actix_web::test]
async fn what_an_old_journal_published_keeps_its_numbers_and_ids() {
    let golden: Vec<_> = EVENTS.lines().collect();
    let mut service = TestService::over(JOURNAL).await;
    for _ in 0..3 {
        let events = super::all(&service.a, 200, "").await;
        let found: Vec<_> = events.iter().map(line).collect();
        assert_eq!(found.get(..golden.len()).unwrap(), golden);
        let last = format!(
            "{}?limit=1&after={}",
            super::FEED,
            events[70]["id"].as_str().unwrap()
        );
        let page = service.a.get(&last).await.is(200);
        assert_eq!(line(&page["items"][0]), golden[71]);
        service.verified().await;
        service.end(false).await;
        service.lose_index();
        service.begin().await;
    }
}
