//! No answer mixes two generations of a realm.

use caudal_actors::failure::Failure;
use caudal_actors::realms::Target;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::events::EventKinds;
use caudal_ledger::ids::RealmId;
use caudal_ledger::statements::Period;

use super::instant::{copied, instant, switched};
use super::worked;
use crate::support::TestService;

#[actix_web::test]
async fn no_statement_is_of_two_generations() {
    let service = TestService::start().await;
    let cvus = worked(&service).await;
    let at = instant(&service).await;
    let number = copied(&service, &at).await;
    let (engine, realm) = (service.engine(), RealmId(4));
    let day = engine.now().business_day();
    let period = Period {
        first: day,
        last: day,
    };
    let target = Target::Cvu(Cvu::parse(&cvus[0]).unwrap());
    let pin = engine.statement_pin(realm, target, period).await.unwrap();
    engine.statement(realm, pin).await.unwrap();
    switched(&service, number).await;
    let cut = Some(Failure::ShuttingDown);
    assert_eq!(engine.statement(realm, pin).await.err(), cut);
    let lines = engine.statement_lines(realm, pin, pin.before + 1, 1).await;
    assert_eq!(lines.err(), cut);
    assert_eq!(engine.still_lies(realm, pin).err(), cut);
}

#[actix_web::test]
async fn no_page_of_events_is_of_another_history_than_its_place() {
    let service = TestService::start().await;
    let cvus = worked(&service).await;
    let at = instant(&service).await;
    service.b.credit(&cvus[0], "1.00").await;
    let number = copied(&service, &at).await;
    let (engine, realm) = (service.engine(), RealmId(4));
    let read = async |history, after| {
        let page = engine.events((realm, history), after, EventKinds::EVERY, 100);
        page.await.map(|page| page.items.len())
    };
    let was = engine.cells().history(realm);
    let last = engine.last_event(realm).unwrap();
    assert!(read(was, last - 1).await.is_ok_and(|found| found > 0));
    switched(&service, number).await;
    // A reader that looked up its place before the switch reads only now.
    assert_eq!(read(was, last - 1).await, Err(Failure::ShuttingDown));
    let now = engine.cells().history(realm);
    assert!(read(now, 0).await.is_ok_and(|found| found > 0));
}
