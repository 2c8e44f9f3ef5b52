//! Samples of tenants' webhooks, and of couriers' notes.

use caudal_ledger::deliveries::{
    BlockedAccount, Cursor, DeliveryFact, Ending, Head, Progress, Response, Stop, StopReason, Try,
};
use caudal_ledger::webhooks::{Replay, Secret, Webhook, WebhookFact, WebhookFormat};

use super::*;

pub(super) fn facts() -> Vec<WebhookFact> {
    let webhook = Webhook {
        number: 1,
        url: "https://psp.example/hook".into(),
        types: None,
        description: None,
        active: true,
        resumed: 0,
        secrets: vec![Secret {
            sealed: vec![1, 2, 255],
            until: None,
        }],
        after: 7,
        replays: Vec::new(),
        created_at: at(1),
        updated_at: at(1),
        format: WebhookFormat::Standard,
    };
    let changed = Webhook {
        types: Some(vec!["hold.*".into(), "account.closed".into()]),
        description: Some("the one in Córdoba".into()),
        active: false,
        resumed: 2,
        secrets: vec![
            Secret {
                sealed: vec![3],
                until: None,
            },
            Secret {
                sealed: vec![1, 2, 255],
                until: Some(at(9)),
            },
        ],
        replays: vec![Replay {
            number: 1,
            from: 2,
            to: 5,
            every_kind: true,
        }],
        updated_at: at(2),
        ..webhook.clone()
    };
    let flat = Webhook {
        format: WebhookFormat::Walletentidad,
        ..webhook.clone()
    };
    vec![
        WebhookFact::Set(webhook),
        WebhookFact::Set(changed),
        WebhookFact::Removed { number: 1 },
        WebhookFact::Set(flat),
    ]
}

pub(super) fn notes() -> Vec<DeliveryFact> {
    let tried = |event, response, ending, due| Try {
        event,
        at: at(event),
        millis: 12,
        response,
        ending,
        due,
    };
    let failed = tried(9, Response::Status(500), Ending::Failed, Some(at(20)));
    let silent = tried(
        10,
        Response::Trouble("timeout".into()),
        Ending::Parked,
        None,
    );
    let head = Head {
        event: 9,
        tries: 1,
        since: at(9),
        due: at(20),
    };
    let lane = |account, head| BlockedAccount {
        account: AccountNo(account),
        seen: 8,
        head,
    };
    let again = Cursor {
        replay: 1,
        next: 4,
        until: Some(5),
        every_kind: true,
        lanes: vec![lane(1, Some(head)), lane(0, None)],
    };
    let mut begun = Progress::new(7);
    begun.taken_at = Some(at(8));
    begun.delivered = 1;
    let mut stopped = Progress::new(12);
    stopped.cursors.push(again);
    stopped.taken = 1;
    stopped.streak = 2;
    stopped.failed = Some(failed.clone());
    stopped.rest_until = Some(at(30));
    stopped.parked = 1;
    stopped.stopped = Some(Stop {
        reason: StopReason::Unreachable,
        at: at(11),
        resumed: 2,
    });
    let mut gone = stopped.clone();
    gone.stopped = Some(Stop {
        reason: StopReason::Gone,
        at: at(12),
        resumed: 2,
    });
    let note = |tries, progress| DeliveryFact { tries, progress };
    let taken = tried(8, Response::Status(204), Ending::Delivered, None);
    vec![
        note(vec![taken], begun),
        note(vec![failed, silent], stopped),
        note(Vec::new(), gone),
    ]
}
