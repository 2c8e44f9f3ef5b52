//! The feed by page, place and type; and which keys may see it.

use std::collections::BTreeSet;

use caudal_ledger::events::{EventId, EventKind};
use caudal_ledger::ids::Tag;

use super::acts::whole;
use super::{FEED, all, types};
use crate::support::{Client, TestService, Value, json, named};

fn text<'a>(event: &'a Value, name: &str) -> &'a str {
    event[name].as_str().unwrap()
}

#[actix_web::test]
async fn pages_of_every_size_and_from_every_place_are_one_list() {
    let story = whole().await;
    let a = &story.service.a;
    let events = all(a, 200, "").await;
    assert_eq!(events.len(), story.expected.len());
    for limit in 1..=events.len() + 1 {
        assert_eq!(all(a, limit, "").await, events, "{limit}");
    }
    let usual = a.get(FEED).await.is(200);
    assert_eq!(usual["items"].as_array().unwrap(), &events[..50]);
    assert_eq!(usual["next"], events[49]["id"]);
    for (n, event) in events.iter().enumerate() {
        let path = format!("{FEED}?limit=200&after={}", text(event, "id"));
        let rest = a.get(&path).await.is(200);
        assert_eq!(rest["items"].as_array().unwrap(), &events[n + 1..]);
        assert_eq!(rest["next"], Value::Null);
    }
}

#[actix_web::test]
async fn a_few_types_are_those_of_all_in_their_order() {
    let story = whole().await;
    let a = &story.service.a;
    let events = all(a, 200, "").await;
    let every: Vec<_> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let families = [
        "account.*",
        "account.alias.*",
        "hold.*",
        "transfer.*",
        "voucher_type.*",
    ];
    let several = [
        "hold.*,voucher.created",
        " account.closed , hold.expired",
        "transfer.*,transfer.audit",
    ];
    for asked in every.iter().chain(&families).chain(&several) {
        let wanted = |kind: &str| {
            asked
                .split(',')
                .map(str::trim)
                .any(|word| match word.strip_suffix('*') {
                    Some(family) => kind.starts_with(family),
                    None => kind == word,
                })
        };
        let right: Vec<_> = events
            .iter()
            .filter(|it| wanted(text(it, "type")))
            .collect();
        assert!(!right.is_empty(), "{asked}");
        let query = format!("&types={}", asked.replace(' ', "%20"));
        for limit in [1, 7, 200] {
            let found = all(a, limit, &query).await;
            assert_eq!(found.iter().collect::<Vec<_>>(), right, "{asked}");
        }
    }
    let together = BTreeSet::from_iter(types(&events));
    assert_eq!(together, BTreeSet::from_iter(every));
}

/// Wrong queries, with the field and the message that report the error.
const WRONG: &[(&str, &str, &str)] = &[
    ("limit=0", "limit", "must be a whole number from 1 to 200"),
    ("limit=201", "limit", "must be a whole number from 1 to 200"),
    ("limit=", "limit", "must be a whole number from 1 to 200"),
    ("limit=1&limit=1", "limit", "must be sent once"),
    (
        "types=",
        "types",
        "must name types of events, or families such as `hold.*`: `` is neither",
    ),
    (
        "types=*",
        "types",
        "must name types of events, or families such as `hold.*`: `*` is neither",
    ),
    (
        "types=hold",
        "types",
        "must name types of events, or families such as `hold.*`: `hold` is neither",
    ),
    (
        "types=hold.*,vouchers.*",
        "types",
        "must name types of events, or families such as `hold.*`: `vouchers.*` is neither",
    ),
    (
        "types=voucher.posted",
        "types",
        "must name types of events, or families such as `hold.*`: `voucher.posted` is neither",
    ),
    ("after=", "after", "is not one of your events"),
    ("after=1", "after", "is not one of your events"),
    ("after=evt_", "after", "is not one of your events"),
    (
        "after=evt_0000004000000000000002xvn%C3%B1",
        "after",
        "is not one of your events",
    ),
];

async fn refused(client: &Client, query: &str, field: &str, sentence: &str) {
    for path in [FEED, "/v1/events/stream"] {
        if field == "limit" && path != FEED {
            continue;
        }
        let refused = client.get(&format!("{path}?{query}")).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field], "{query}");
        assert_eq!(refused["message"], format!("{field} {sentence}"), "{query}");
    }
}

#[actix_web::test]
async fn what_is_asked_wrongly_is_refused_with_what_would_be_right() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    for (query, field, sentence) in WRONG {
        refused(&service.a, query, field, sentence).await;
    }
    let events = all(&service.a, 200, "").await;
    let last = text(&events[1], "id");
    // With any character changed, an id belongs to somebody else, or to nobody.
    for at in 0..last.len() {
        let mut changed = last.as_bytes().to_vec();
        changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
        let query = format!("after={}", String::from_utf8(changed).unwrap());
        refused(&service.a, &query, "after", "is not one of your events").await;
    }
    let both = service
        .a
        .get(&format!("{FEED}?limit=0&types=x&after=y"))
        .await;
    let both = both.refused(400, "invalid_request");
    assert_eq!(named(&both.json), ["after", "types", "limit"]);
    // A client that waited for an event that has not happened would miss the ones before it.
    let known = EventId::parse(last).unwrap();
    let id = |number| EventId { number, ..known };
    assert_eq!(id(2).to_string(), last);
    for number in [3, 4, 1 << 39] {
        let query = format!("after={}", id(number));
        refused(
            &service.a,
            &query,
            "after",
            "is an event that has not happened",
        )
        .await;
    }
    // An id of a history that is gone has a number that now belongs to something else.
    for tag in [
        Tag::NONE,
        EventId::parse(text(&events[0], "id")).unwrap().tag,
    ] {
        let query = format!("after={}", EventId { tag, ..known });
        let why = "is an event that this log does not have, because an older copy was restored; continue from an earlier event, or from the first";
        refused(&service.a, &query, "after", why).await;
    }
    // There is also a place before the first event.
    let beginning = EventId {
        number: 0,
        tag: Tag::NONE,
        ..known
    };
    let path = format!("{FEED}?after={beginning}");
    let found = service.a.get(&path).await.is(200);
    assert_eq!(found["items"].as_array().unwrap(), &events);
}

#[actix_web::test]
async fn each_realm_has_its_own_log_and_sees_no_other() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    service.a.credit(&service.a.cvu().await, "1.00").await;
    let nothing = json!({"items": [], "next": null});
    for client in [&service.b, &service.live] {
        assert_eq!(client.get(FEED).await.is(200).json, nothing);
    }
    let mine = all(&service.a, 200, "").await;
    assert_eq!(mine.len(), 4);
    for client in [&service.b, &service.live] {
        client.create_type("OTHER", "credit").await;
        let events = all(client, 200, "").await;
        assert_eq!((events.len(), &events[0]["sequence"]), (1, &json!(1)));
        for (other, event) in [(&service.a, &events[0]), (client, &mine[0])] {
            let query = format!("after={}", text(event, "id"));
            refused(other, &query, "after", "is not one of your events").await;
        }
    }
    assert_eq!(all(&service.a, 200, "").await, mine);
    service
        .a
        .with_key(None)
        .get(FEED)
        .await
        .refused(401, "unauthorized");
}
