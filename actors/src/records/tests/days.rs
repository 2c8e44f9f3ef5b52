//! Samples of the facts about closed days.

use caudal_ledger::days::{
    BankOfDay, BankSide, ClosedBook, ClosedDay, DayDifference, DayFact, DayFigures, LateBank,
    SealKey, TreeBlock,
};
use caudal_ledger::seal::SumNode;
use caudal_ledger::time::BusinessDay;

use super::*;

pub(super) fn facts() -> Vec<DayFact> {
    let day = |text| BusinessDay::parse(text).unwrap();
    let node = |byte: u8, available: i128| SumNode {
        hash: Digest([byte; 32]),
        available: Sum::from_centavos(available),
        held: Sum::from_centavos(7),
    };
    let bank = BankOfDay {
        balance: Money::from_centavos(-1),
        at: at(9),
        digest: Digest([3; 32]),
        unexplained: Sum::from_centavos(i128::MIN),
        differences: vec![DayDifference {
            kind: "missing_in_ledger".into(),
            count: 2,
        }],
    };
    let first = ClosedDay {
        figures: DayFigures {
            date: day("2026-03-02"),
            accounts: 5000,
            root: node(1, i128::MAX),
            blocks: vec![TreeBlock {
                first: AccountNo(3),
                node: node(2, 5),
            }],
            suspense: Sum::from_centavos(4),
            books: vec![ClosedBook {
                account: "bank".into(),
                balance: Sum::from_centavos(6),
            }],
            vouchers: 8,
            events: 9,
            bank: BankSide::Pending,
            late: Vec::new(),
            next_key: None,
            previous: None,
        },
        digest: Digest([4; 32]),
        key: SealKey {
            generation: 1,
            public: [5; 32],
        },
        checkpoint: "caudal/tnt_1/live\n".into(),
        salts: None,
    };
    let closed = |bank, late, previous| {
        let mut day = first.clone();
        day.figures.bank = bank;
        day.figures.late = late;
        day.figures.previous = previous;
        DayFact::Closed(Box::new(day))
    };
    vec![
        closed(BankSide::Pending, Vec::new(), None),
        closed(
            BankSide::Known(Box::new(bank.clone())),
            vec![late_bank(day("2026-03-01"))],
            Some(Digest([7; 32])),
        ),
        closed(BankSide::Absent, Vec::new(), None),
        DayFact::BankKnown {
            date: day("2026-03-02"),
            bank: Box::new(bank),
        },
        DayFact::Closed(Box::new(rotated(first))),
    ]
}

fn late_bank(date: BusinessDay) -> LateBank {
    LateBank {
        date,
        balance: Money::from_centavos(10),
        digest: Digest([6; 32]),
    }
}

/// A day that hands over to a new key.
fn rotated(day: ClosedDay) -> ClosedDay {
    let next_key = Some(SealKey {
        generation: 2,
        public: [8; 32],
    });
    ClosedDay {
        figures: DayFigures {
            next_key,
            ..day.figures
        },
        ..day
    }
}

/// A day with the secret of its salts.
pub(super) fn salted() -> DayFact {
    let Some(DayFact::Closed(day)) = facts().pop() else {
        unreachable!("the last sample is a closed day");
    };
    DayFact::Closed(Box::new(ClosedDay {
        salts: Some([200; 32]),
        ..*day
    }))
}
