//! Days of a realm that are closed: what everybody had at their end, and what the bank said, as one fact that never
//! changes.
//!
//! **Shape.** A day is closed after its end plus a grace, when no movement can enter it any more. The fact has the sums
//! of all accounts, the books, the root of the tree over the accounts ([`crate::seal`]) and the signed checkpoint. The
//! roots of the tree's blocks are kept, too, so that the proof of one account reads a block and not the realm.
//!
//! **Order.** Days close one after the other, without a gap. Each names the checkpoint of the day before.
//!
//! **The bank's side** is read once, when the day closes. If the bank does not answer then, the day closes without it,
//! and [`DayFact::BankKnown`] adds it later; the next checkpoint names it. It is never guessed.

use std::fmt;

use aws_lc_rs::hmac;
use serde::{Deserialize, Serialize};

use crate::books::BookAccount;
use crate::chain::Digest;
use crate::ids::AccountNo;
use crate::money::{Money, Sum};
use crate::reconciliation::{Agreement, ReconciliationTotals};
use crate::seal::{SumNode, base64, verifier_key};
use crate::time::{BusinessDay, Timestamp};
use crate::treasury::Coverage;

/// An account of the books with its balance at the end of a day, as its kind counts it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClosedBook {
    /// The name of the account.
    #[serde(rename = "a")]
    pub account: String,
    /// Its balance, in centavos.
    #[serde(rename = "b")]
    pub balance: Sum,
}

impl From<(BookAccount, Sum)> for ClosedBook {
    fn from((account, balance): (BookAccount, Sum)) -> Self {
        Self {
            account: account.as_str().to_owned(),
            balance,
        }
    }
}

/// A block of the tree: the first account in it, and its root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TreeBlock {
    /// The account with the lowest number in the block.
    #[serde(rename = "f")]
    pub first: AccountNo,
    /// The root of the block's accounts.
    #[serde(rename = "n")]
    pub node: SumNode,
}

/// How many movements of a day had a result when bank and ledger were compared.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DayDifference {
    /// The result, as the reconciliation names it.
    #[serde(rename = "k")]
    pub kind: String,
    /// How many movements.
    #[serde(rename = "n")]
    pub count: u64,
}

impl DayDifference {
    /// The results of a day that are no agreement, and have movements.
    pub fn of(totals: &ReconciliationTotals) -> Vec<Self> {
        let all = Agreement::ALL.into_iter();
        let differs = all.filter(|it| !matches!(it, Agreement::Matched | Agreement::Collector));
        let counted = differs.map(|it| (it.as_str(), totals.of(it)));
        let contradicted = [("contradicted", totals.contradicted)];
        let found = counted.chain(contradicted);
        let found = found.filter(|(_, count)| *count > 0);
        found
            .map(|(kind, count)| Self {
                kind: kind.to_owned(),
                count,
            })
            .collect()
    }
}

/// The collector account on a day, by the bank's statement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BankOfDay {
    /// The bank's balance after the last movement of the day, in centavos.
    pub balance: Money,
    /// When the statement was read.
    pub at: Timestamp,
    /// The digest of the bank's answers, as they were received.
    pub digest: Digest,
    /// What the balance changed by and no movement explains, in centavos.
    pub unexplained: Sum,
    /// What bank and ledger did not agree about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<DayDifference>,
}

/// The bank's side of a day, as it was known when the day was closed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum BankSide {
    /// The bank answered.
    Known(Box<BankOfDay>),
    /// The bank did not answer; it is asked again.
    Pending,
    /// The realm has no collector account of its own: there is no bank, or another realm has the same account.
    Absent,
}

/// The bank's side of an earlier day, which was learned after that day was closed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LateBank {
    /// The earlier day.
    pub date: BusinessDay,
    /// The bank's balance at its end, in centavos.
    pub balance: Money,
    /// The digest of the bank's answers.
    pub digest: Digest,
}

/// The figures of a day.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DayFigures {
    /// The business day.
    pub date: BusinessDay,
    /// How many accounts the tree has: those that had a CVU at the end of the day.
    pub accounts: u64,
    /// The root of the tree, whose sums are what all clients had, in centavos.
    pub root: SumNode,
    /// The blocks of the tree, in the order of their accounts.
    pub blocks: Vec<TreeBlock>,
    /// Money that no account could take, in centavos.
    pub suspense: Sum,
    /// Every account of the books.
    pub books: Vec<ClosedBook>,
    /// How many vouchers the realm had.
    pub vouchers: u64,
    /// The number of the realm's last event.
    pub events: u64,
    /// The bank's side.
    pub bank: BankSide,
    /// The bank's side of earlier days, learned since the day before was closed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<LateBank>,
    /// The key that signs the days after this one, if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_key: Option<SealKey>,
    /// The digest of the checkpoint of the day before; `None` for the first day.
    pub previous: Option<Digest>,
}

impl DayFigures {
    /// What belonged to clients: available plus held.
    pub const fn owed(&self) -> Sum {
        self.root.available.plus(self.root.held)
    }

    /// Whether the day may be recorded after this one: it is the next, and names its checkpoint. Without a day before it is
    /// the first.
    pub fn follows(&self, last: Option<&ClosedDay>) -> bool {
        match last {
            Some(last) => {
                self.date == last.figures.date.next() && self.previous == Some(last.digest)
            }
            None => self.previous.is_none(),
        }
    }

    /// The block in which an account is, if it is in the tree, with its place among the blocks.
    pub fn block_of(&self, account: AccountNo) -> Option<(usize, &TreeBlock)> {
        let after = self.blocks.partition_point(|block| block.first <= account);
        let place = after.checked_sub(1)?;
        self.blocks.get(place).map(|block| (place, block))
    }

    /// The text of the checkpoint that the realm signs: lines, each with its end. `origin` is
    /// `caudal/<tenant id>/<live|test>`, the name of the key as well.
    pub fn checkpoint(&self, origin: &str) -> String {
        let SumNode {
            hash,
            available,
            held,
        } = self.root;
        let mut lines = vec![
            origin.to_owned(),
            self.accounts.to_string(),
            base64(&hash.0),
            format!("date {}", self.date),
            format!("available {available}"),
            format!("held {held}"),
            format!("suspense {}", self.suspense),
        ];
        for ClosedBook { account, balance } in &self.books {
            lines.push(format!("book {account} {balance}"));
        }
        lines.push(format!("vouchers {}", self.vouchers));
        lines.push(format!("events {}", self.events));
        lines.push(match &self.bank {
            BankSide::Known(bank) => format!("bank {} {}", bank.balance, base64(&bank.digest.0)),
            BankSide::Pending => "bank pending".to_owned(),
            BankSide::Absent => "bank none".to_owned(),
        });
        for LateBank {
            date,
            balance,
            digest,
        } in &self.late
        {
            lines.push(format!("late {date} {balance} {}", base64(&digest.0)));
        }
        if let Some(key) = &self.next_key {
            lines.push(format!("key {}", verifier_key(origin, &key.public)));
        }
        lines.push(match &self.previous {
            Some(digest) => format!("previous {}", base64(&digest.0)),
            None => "previous none".to_owned(),
        });
        lines.push(String::new());
        lines.join("\n")
    }
}

/// A closed day: its figures, and the realm's signature under them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClosedDay {
    /// The figures.
    #[serde(rename = "f")]
    pub figures: DayFigures,
    /// The digest of the text of the checkpoint, which the next day names.
    #[serde(rename = "d")]
    pub digest: Digest,
    /// The key that signed the checkpoint.
    #[serde(rename = "k")]
    pub key: SealKey,
    /// The signed checkpoint.
    #[serde(rename = "c")]
    pub checkpoint: String,
    /// The secret of the salts in its tree, so that proofs can be made for ever. It adds nothing for whoever reads the
    /// journal, which has every balance. `None` if it was not recorded.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub salts: Option<[u8; 32]>,
}

impl ClosedDay {
    /// The key that signs the next day.
    pub fn next_key(&self) -> SealKey {
        self.figures.next_key.unwrap_or(self.key)
    }

    /// The name of the realm in the checkpoint, which is also the name of its key.
    pub fn origin(&self) -> &str {
        self.checkpoint
            .split_once('\n')
            .map_or("", |(first, _)| first)
    }
}

/// A fact about a closed day.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum DayFact {
    /// The day was closed.
    Closed(Box<ClosedDay>),
    /// The bank's side of a day that was closed without it.
    BankKnown {
        /// The day.
        date: BusinessDay,
        /// The bank's side.
        bank: Box<BankOfDay>,
    },
}

/// A closed day with what was learned of it later.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DayRecord {
    /// The day.
    pub day: ClosedDay,
    /// When it was closed.
    pub closed_at: Timestamp,
    /// The bank's side, if it was learned later.
    pub late: Option<BankOfDay>,
}

impl DayRecord {
    /// The bank's side, whenever it was learned.
    pub fn bank(&self) -> Option<&BankOfDay> {
        match &self.day.figures.bank {
            BankSide::Known(bank) => Some(bank),
            BankSide::Pending | BankSide::Absent => self.late.as_ref(),
        }
    }

    /// The bank's balance at the end of the day, and what was owed compared with it; `None` without the bank's side.
    pub fn coverage(&self) -> Option<(Money, Coverage)> {
        let balance = self.bank()?.balance;
        let figures = &self.day.figures;
        let owed = figures.owed().plus(figures.suspense);
        Some((balance, Coverage::of(balance, owed)))
    }

    /// Whether the bank has not answered about it yet.
    pub const fn waits_for_bank(&self) -> bool {
        matches!(self.day.figures.bank, BankSide::Pending) && self.late.is_none()
    }
}

/// The key with which a realm signs its checkpoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SealKey {
    /// Which of the realm's keys it is, from 1.
    #[serde(rename = "g")]
    pub generation: u32,
    /// The public key, Ed25519.
    #[serde(rename = "p")]
    pub public: [u8; 32],
}

/// The secret from which the salts of a realm's leaves are made. So nobody can find a balance by trying amounts.
pub struct SaltKey(hmac::Key);

impl SaltKey {
    /// A key of these 32 secret bytes.
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// The salt of an account's leaf on a day.
    pub fn salt(&self, date: BusinessDay, account: AccountNo) -> [u8; 32] {
        let (days, number) = (date.days().to_be_bytes(), account.0.to_be_bytes());
        let tag = hmac::sign(&self.0, [days, number].as_flattened());
        let mut salt = [0; 32];
        salt.iter_mut().zip(tag.as_ref()).for_each(|(s, t)| *s = *t);
        salt
    }
}

impl fmt::Debug for SaltKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SaltKey")
    }
}

/// The day that is to be closed next: the one after the last closed day, or `first`; `None` while it has not been over
/// for `grace` milliseconds.
pub fn due_day(
    last: Option<BusinessDay>,
    first: BusinessDay,
    now: Timestamp,
    grace: u64,
) -> Option<BusinessDay> {
    let next = last.map_or(first, BusinessDay::next);
    (next.end().plus_millis(grace) < now).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> DayFigures {
        let day = |text| BusinessDay::parse(text).unwrap();
        let book = |account: &str, centavos| ClosedBook {
            account: account.to_owned(),
            balance: Sum::from_centavos(centavos),
        };
        DayFigures {
            date: day("2026-03-31"),
            accounts: 3,
            root: SumNode {
                hash: Digest::of(b"the root"),
                available: Sum::from_centavos(26),
                held: Sum::from_centavos(3),
            },
            blocks: Vec::new(),
            suspense: Sum::from_centavos(-5),
            books: vec![book("bank", 100), book("psp_funds", -1_205)],
            vouchers: 12,
            events: 34,
            bank: BankSide::Known(Box::new(BankOfDay {
                balance: Money::from_centavos(1_000_000),
                at: Timestamp::default(),
                digest: Digest::of(b"the answer"),
                unexplained: Sum::default(),
                differences: Vec::new(),
            })),
            late: vec![LateBank {
                date: day("2026-03-30"),
                balance: Money::from_centavos(1),
                digest: Digest::of(b"late"),
            }],
            next_key: None,
            previous: Some(Digest::of(b"the day before")),
        }
    }

    #[test]
    fn a_checkpoint_is_written_line_by_line() {
        let of = |bytes: &[u8]| base64(&Digest::of(bytes).0);
        let text = format!(
            "caudal/acme/test\n3\n{}\ndate 2026-03-31\navailable 0.26\nheld 0.03\nsuspense -0.05\n\
             book bank 1.00\nbook psp_funds -12.05\nvouchers 12\nevents 34\nbank 10000.00 {}\n\
             late 2026-03-30 0.01 {}\nprevious {}\n",
            of(b"the root"),
            of(b"the answer"),
            of(b"late"),
            of(b"the day before"),
        );
        assert_eq!(figures().checkpoint("caudal/acme/test"), text);
        for (bank, line) in [
            (BankSide::Pending, "bank pending"),
            (BankSide::Absent, "bank none"),
        ] {
            let first = DayFigures {
                bank,
                late: Vec::new(),
                previous: None,
                ..figures()
            };
            let end = format!("events 34\n{line}\nprevious none\n");
            let text = first.checkpoint("caudal/acme/test");
            assert!(text.ends_with(&end), "{text}");
        }
    }
}
