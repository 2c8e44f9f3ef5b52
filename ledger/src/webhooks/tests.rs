//! Tables of orders about webhooks.

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_000);

fn create() -> WebhookOrder {
    WebhookOrder::Create {
        url: "https://psp.example/hook".into(),
        types: None,
        description: None,
        format: WebhookFormat::Standard,
        secret: vec![1],
    }
}

fn nothing() -> WebhookOrder {
    WebhookOrder::Change {
        url: None,
        types: None,
        description: None,
        format: None,
        active: None,
    }
}

fn replay(from: u64, to: u64) -> WebhookOrder {
    WebhookOrder::Replay {
        from,
        to,
        every_kind: false,
    }
}

/// Decides an order and applies the fact.
fn run(known: &mut Webhooks, number: u64, order: WebhookOrder, at: (u64, u64)) -> Webhook {
    let number = known.number_of(&order, number, Opening::default(), NOW);
    let fact = known.decide(number, order, at, NOW).unwrap();
    known.apply(&fact);
    known.get(number).unwrap().clone()
}

#[test]
fn numbers_are_never_given_twice_and_the_realm_has_a_limit() {
    let mut known = Webhooks::default();
    for number in 1..=WEBHOOKS_MAX {
        let made = run(&mut known, 0, create(), (40, 0));
        assert_eq!(
            (usize::try_from(made.number).unwrap(), made.after),
            (number, 40)
        );
    }
    let refused = known.decide(0, create(), (40, 0), NOW);
    let maximum = WEBHOOKS_MAX;
    assert_eq!(refused, Err(Rejection::TooManyWebhooks { maximum }));
    let removed = known
        .decide(16, WebhookOrder::Remove, (40, 0), NOW)
        .unwrap();
    known.apply(&removed);
    assert_eq!(run(&mut known, 0, create(), (41, 0)).number, 17);
    for order in [nothing(), WebhookOrder::Remove, replay(1, 2)] {
        let refused = known.decide(16, order, (41, 0), NOW);
        assert_eq!(refused, Err(Rejection::WebhookNotFound));
    }
}

#[test]
fn a_change_changes_what_it_names_and_switching_on_counts() {
    let mut known = Webhooks::default();
    let made = run(&mut known, 0, create(), (0, 0));
    assert_eq!(run(&mut known, 1, nothing(), (0, 0)), made);
    let change = WebhookOrder::Change {
        url: None,
        types: Some(Some(vec!["hold.*".into()])),
        description: Some(Some("shop".into())),
        format: None,
        active: Some(true),
    };
    let changed = run(&mut known, 1, change, (0, 0));
    assert_eq!((changed.url, changed.resumed), (made.url, 2));
    assert_eq!(changed.types, Some(vec!["hold.*".into()]));
    let all = WebhookOrder::Change {
        url: None,
        types: Some(None),
        description: Some(None),
        format: None,
        active: Some(false),
    };
    let all = run(&mut known, 1, all, (0, 0));
    assert_eq!(
        (all.types, all.description, all.active, all.resumed),
        (None, None, false, 2)
    );
}

#[test]
fn old_secrets_sign_until_their_end_and_no_rotation_makes_it_later() {
    let mut known = Webhooks::default();
    run(&mut known, 0, create(), (0, 0));
    let at = Timestamp::from_millis;
    let rotate = |secret: u8, overlap| WebhookOrder::Rotate {
        secret: vec![secret],
        overlap,
    };
    let once = run(&mut known, 1, rotate(2, 4), (0, 0));
    assert_eq!(once.signing(at(4_999)), [vec![2], vec![1]]);
    assert_eq!(once.signing(at(5_000)), [vec![2]]);
    let twice = run(&mut known, 1, rotate(3, 8), (0, 0));
    assert_eq!(twice.signing(at(4_999)), [vec![3], vec![2], vec![1]]);
    assert_eq!(twice.signing(at(5_000)), [vec![3], vec![2]]);
    let at_once = run(&mut known, 1, rotate(4, 0), (0, 0));
    assert_eq!(at_once.signing(NOW), [vec![4]]);
    for secret in 5..20 {
        let many = run(&mut known, 1, rotate(secret, 8), (0, 0));
        assert!(many.secrets.len() <= SECRETS_MAX);
        assert_eq!(many.signing(NOW).first(), Some(&vec![secret]));
    }
}

#[test]
fn secrets_that_are_encrypted_anew_sign_as_long_as_before() {
    let mut known = Webhooks::default();
    run(&mut known, 0, create(), (0, 0));
    let rotate = WebhookOrder::Rotate {
        secret: vec![2],
        overlap: 4,
    };
    let before = run(&mut known, 1, rotate, (0, 0));
    let secrets = vec![
        (vec![1], vec![11]),
        (vec![2], vec![12]),
        (vec![3], vec![13]),
    ];
    let after = run(&mut known, 1, WebhookOrder::Reseal { secrets }, (0, 0));
    assert_eq!(after.signing(NOW), [vec![12], vec![11]]);
    let ends = |webhook: &Webhook| {
        webhook
            .secrets
            .iter()
            .map(|it| it.until)
            .collect::<Vec<_>>()
    };
    assert_eq!(ends(&after), ends(&before));
    assert_eq!(after.updated_at, before.updated_at);
}

#[test]
fn redeliveries_end_with_the_log_and_only_so_many_wait() {
    let mut known = Webhooks::default();
    run(&mut known, 0, create(), (9, 0));
    for number in 1..=REPLAYS_MAX {
        let made = run(&mut known, 1, replay(3, 70), (9, 0));
        let last = made.replays.last().unwrap();
        assert_eq!(
            (usize::try_from(last.number).unwrap(), last.to),
            (number, 9)
        );
    }
    let maximum = REPLAYS_MAX;
    let refused = known.decide(1, replay(3, 4), (9, 0), NOW);
    assert_eq!(refused, Err(Rejection::TooManyReplays { maximum }));
    let more = run(&mut known, 1, replay(3, 4), (9, 10));
    assert_eq!(more.last_replay(), 17);
    assert_eq!(more.replays.first().map(|replay| replay.number), Some(11));
}

#[test]
fn ids_read_back_and_are_of_their_own_kind() {
    let webhook = WebhookId {
        realm: RealmId(3),
        number: 16,
    };
    assert_eq!(WebhookId::parse(&webhook.to_string()), Some(webhook));
    let tag = Tag::of_record(b"a record", NOW);
    for tag in [Tag::NONE, tag] {
        let delivery = DeliveryId {
            webhook,
            event: 99,
            tag,
        };
        assert_eq!(DeliveryId::parse(&delivery.to_string()), Some(delivery));
        let as_webhook = delivery.to_string().replace("dlv_", "whk_");
        assert_eq!(WebhookId::parse(&as_webhook), None);
    }
}

#[test]
fn a_format_tells_the_kinds_that_it_has_a_body_for() {
    use crate::events::EventKind;
    let webhook = |types: Option<&[&str]>| Webhook {
        format: WebhookFormat::Walletentidad,
        types: types.map(|words| words.iter().map(ToString::to_string).collect()),
        ..run(&mut Webhooks::default(), 0, create(), (0, 0))
    };
    let wanted = |types| {
        let kinds = webhook(types).kinds();
        let had = EventKind::ALL.iter().filter(|kind| kinds.has(**kind));
        had.map(|kind| kind.as_str()).collect::<Vec<_>>()
    };
    let all = [
        "account.disabled",
        "voucher.created",
        "transfer.completed",
        "transfer.rejected",
        "transfer.reversed",
    ];
    assert_eq!(wanted(None), all);
    assert_eq!(wanted(Some(&["hold.*", "account.*"])), ["account.disabled"]);
    assert_eq!(wanted(Some(&["hold.created"])), [""; 0]);
}

#[test]
fn a_word_of_a_newer_version_wants_nothing_and_the_others_still_count() {
    use crate::events::EventKind;
    let wanted = |words: &[&str]| {
        let webhook = Webhook {
            types: Some(words.iter().map(ToString::to_string).collect()),
            ..run(&mut Webhooks::default(), 0, create(), (0, 0))
        };
        let kinds = webhook.kinds();
        let had = EventKind::ALL.iter().filter(|kind| kinds.has(**kind));
        had.map(|kind| kind.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(
        wanted(&["card.issued", "voucher.created"]),
        ["voucher.created"]
    );
    assert_eq!(wanted(&["card.*", "card.issued"]), [""; 0]);
    assert_eq!(wanted(&["*"]), [""; 0]);
}
