//! The bank reports something else under the reference of a transfer than was ordered.

use super::movements::{amount, balance, said, send, take, with_money};
use super::*;
use crate::alias::Alias;
use crate::transfers::{BankMoved, BankTransfer, BankWord, Destination, Send, TransferStatus};

/// The same report with one field that differs from the order, and the field's name.
fn wrong(right: &BankMoved) -> [(BankMoved, &'static str); 4] {
    let text = |text: &str| Some(text.to_owned());
    [
        (
            BankMoved {
                amount: Some(amount(301)),
                ..right.clone()
            },
            "amount",
        ),
        (
            BankMoved {
                currency: text("USD"),
                ..right.clone()
            },
            "currency",
        ),
        (
            BankMoved {
                cvu: text("x"),
                ..right.clone()
            },
            "cvu",
        ),
        (
            BankMoved {
                to_key: text("2850590940090418135202"),
                ..right.clone()
            },
            "to",
        ),
    ]
}

#[test]
fn a_record_of_something_else_settles_nothing_and_only_a_person_ends_it() {
    let (mut account, context) = (with_money(1_000), context());
    let (transfer, asked) = account
        .decide_request(&send(300), origin(), &context)
        .unwrap();
    take(&mut account, &asked);
    let number = transfer.sequence;
    let right = BankMoved {
        amount: Some(amount(300)),
        currency: Some("ARS".into()),
        cvu: account.cvu.map(|cvu| cvu.to_string()),
        to_key: Some("2850590940090418135201".into()),
        // The order named no alias, so the receiver may have any.
        to_alias: Some("eva.perez".into()),
    };
    assert!(transfer.differs(&right).is_empty());
    assert!(transfer.differs(&BankMoved::default()).is_empty());
    for (moved, differs) in wrong(&right) {
        assert_eq!(transfer.differs(&moved), [differs]);
        for word in [
            BankWord::Completed,
            BankWord::InProgress,
            BankWord::Lost,
            BankWord::Failed {
                reason: "no".into(),
            },
        ] {
            let answer = BankTransfer {
                moved: moved.clone(),
                ..said(word)
            };
            let mut account = account.clone();
            let settled = account.settle_transfer(number, &answer, &context).unwrap();
            assert!(settled.vouchers.is_empty());
            take(&mut account, &settled);
            let now = account.transfers[&number].clone();
            assert_eq!(now.status, TransferStatus::Audit);
            assert_eq!(now.dispute.as_ref().map(|it| &it.moved), Some(&moved));
            assert_eq!(balance(&account), (700, 300));
            for word in [BankWord::Completed, BankWord::InProgress] {
                let right = BankTransfer {
                    moved: right.clone(),
                    ..said(word)
                };
                let later = account.settle_transfer(number, &right, &context).unwrap();
                assert!(later.is_empty());
            }
            let back = account.decide_reversal(&now, amount(300), "REV", &context);
            assert_eq!(back, Err(Rejection::NothingToReverse));
            let done = account.complete_by_hand(number, &context).unwrap();
            take(&mut account, &done);
            assert_eq!(balance(&account), (700, 0));
        }
    }
}

#[test]
fn an_alias_is_compared_where_it_was_ordered_by_alias() {
    let (account, context) = (with_money(1_000), context());
    let text = |text: &str| Some(text.to_owned());
    let alias = Send {
        to: Destination::Alias(Alias::parse("eva.perez").unwrap()),
        ..send(1)
    };
    let (to_alias, _) = account.decide_request(&alias, origin(), &context).unwrap();
    let answer = |alias: &str| BankMoved {
        to_alias: text(alias),
        to_key: text("any"),
        ..BankMoved::default()
    };
    assert!(to_alias.differs(&answer("EVA.PEREZ")).is_empty());
    assert_eq!(to_alias.differs(&answer("eva.peres")), ["to"]);
}
