//! The JSON of closed days and of the proofs of what an account had.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use caudal_actors::engine::days::DayProof;
use caudal_ledger::days::{BankSide, ClosedBook, ClosedDay, DayDifference, DayRecord};
use caudal_ledger::seal::{PathStep, verifier_key};
use caudal_ledger::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::texts::{Day, Instant, Pesos};
use super::treasury::ClientFunds;
use super::words::{DayBankWord, SideWord};

/// An account of the books at the end of a day.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = ClosedBook)]
pub struct ClosedBookBody {
    /// Its name.
    pub account: String,
    /// Its balance, as its kind counts it.
    pub balance: Pesos,
}

impl From<&ClosedBook> for ClosedBookBody {
    fn from(book: &ClosedBook) -> Self {
        Self {
            account: book.account.clone(),
            balance: book.balance.into(),
        }
    }
}

/// Movements about which bank and ledger did not agree.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = DayDifference)]
pub struct DayDifferenceBody {
    /// The result of the reconciliation, for instance `missing_in_ledger`; `contradicted` where the bank has ended a
    /// movement differently from the ledger.
    pub kind: String,
    /// How many movements.
    pub count: u64,
}

impl From<&DayDifference> for DayDifferenceBody {
    fn from(difference: &DayDifference) -> Self {
        Self {
            kind: difference.kind.clone(),
            count: difference.count,
        }
    }
}

/// The bank's side of a closed day.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DayBankBody {
    /// `known` when the bank answered as the day was closed, `late` when it answered afterwards, `pending` while it has not
    /// answered, `absent` where it reports no balance of a day for this account alone.
    #[schema(value_type = DayBankWord)]
    pub status: &'static str,
    /// The bank's balance at the end of the day.
    pub balance: Option<Pesos>,
    /// When the bank's statement was read.
    pub read_at: Option<Instant>,
    /// What the balance changed by on the day and no movement explains.
    pub unexplained: Option<Pesos>,
    /// What bank and ledger did not agree about; null without the bank's side.
    pub differences: Option<Vec<DayDifferenceBody>>,
    /// SHA-256 of the bank's answers as they were received, in base64.
    pub digest: Option<String>,
}

impl From<&DayRecord> for DayBankBody {
    fn from(record: &DayRecord) -> Self {
        let bank = record.bank();
        let status = match (&record.day.figures.bank, &record.late) {
            (BankSide::Known(_), _) => "known",
            (BankSide::Pending, Some(_)) => "late",
            (BankSide::Pending, None) => "pending",
            (BankSide::Absent, _) => "absent",
        };
        let differences = |found: &Vec<DayDifference>| found.iter().map(Into::into).collect();
        Self {
            status,
            balance: bank.map(|bank| bank.balance.into()),
            read_at: bank.map(|bank| bank.at.into()),
            unexplained: bank.map(|bank| bank.unexplained.into()),
            differences: bank.map(|bank| differences(&bank.differences)),
            digest: bank.map(|bank| STANDARD.encode(bank.digest.0)),
        }
    }
}

/// A closed day. Its figures never change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ClosedDay)]
pub struct ClosedDayBody {
    /// The business day.
    pub date: Day,
    /// When it was closed.
    pub closed_at: Instant,
    /// How many accounts had a CVU at the end of the day.
    pub accounts: u64,
    /// What belonged to clients.
    pub client_funds: ClientFunds,
    /// What had arrived and no account could take.
    pub suspense: Pesos,
    /// The vouchers of the realm up to the end of the day.
    pub vouchers: u64,
    /// The number of the realm's last event up to the end of the day.
    pub events: u64,
    /// Every account of the books with its balance.
    pub books: Vec<ClosedBookBody>,
    /// The bank's side.
    pub bank: DayBankBody,
    /// The bank's balance less what belonged to clients and what no account could take; null without the bank's side.
    /// Unlike that of the present treasury, it still has credits that the ledger could not book.
    pub free_balance: Option<Pesos>,
    /// Whether `freeBalance` was not negative; null without the bank's side.
    pub covered: Option<bool>,
    /// The hash of the root of the tree over all accounts, in base64.
    pub root: String,
    /// SHA-256 of the text of the checkpoint, in base64, which the next day names.
    pub digest: String,
    /// The same of the day before; null for the first day.
    pub previous: Option<String>,
    /// The checkpoint: a signed note with all figures of the day.
    pub checkpoint: String,
    /// The public key that verifies the checkpoint. Keep it when you see it for the first time: it only changes as
    /// `nextKey` says.
    pub key: String,
    /// The public key that verifies the days after this one, if it is another; the checkpoint has it, too.
    pub next_key: Option<String>,
}

impl From<&DayRecord> for ClosedDayBody {
    fn from(record: &DayRecord) -> Self {
        let DayRecord { day, closed_at, .. } = record;
        let (figures, coverage) = (&day.figures, record.coverage());
        let coverage = coverage.map(|(_, coverage)| coverage);
        Self {
            date: figures.date.into(),
            closed_at: (*closed_at).into(),
            accounts: figures.accounts,
            client_funds: ClientFunds {
                available: figures.root.available.into(),
                held: figures.root.held.into(),
                total: figures.owed().into(),
            },
            suspense: figures.suspense.into(),
            vouchers: figures.vouchers,
            events: figures.events,
            books: figures.books.iter().map(Into::into).collect(),
            bank: record.into(),
            free_balance: coverage.map(|coverage| coverage.free.into()),
            covered: coverage.map(|coverage| coverage.covered),
            root: STANDARD.encode(figures.root.hash.0),
            digest: STANDARD.encode(day.digest.0),
            previous: figures.previous.map(|digest| STANDARD.encode(digest.0)),
            checkpoint: day.checkpoint.clone(),
            key: key_of(day),
            next_key: (figures.next_key).map(|key| verifier_key(day.origin(), &key.public)),
        }
    }
}

impl ClosedDayBody {
    /// A day as it was when it was closed.
    pub fn closed(day: &ClosedDay, at: Timestamp) -> Self {
        Self::from(&DayRecord {
            day: day.clone(),
            closed_at: at,
            late: None,
        })
    }
}

fn key_of(day: &ClosedDay) -> String {
    verifier_key(day.origin(), &day.key.public)
}

/// What an account had at the end of a day, as it is in the tree.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct DayLeafBody {
    /// 32 bytes, in base64, without which nobody can find a balance by trying amounts.
    pub salt: String,
    /// The CVU.
    pub cvu: String,
    /// What could be spent.
    pub available: Pesos,
    /// What was set apart.
    pub held: Pesos,
    /// The number of the account's last voucher; 0 without one.
    pub sequence: u64,
    /// The hash of that voucher, which has the hash of every voucher before it, in base64.
    pub chain: String,
}

/// A step of the path from a leaf to the root: a sibling with the sums below it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct PathStepBody {
    /// The side of the sibling.
    #[schema(value_type = SideWord)]
    pub side: &'static str,
    /// Its hash, in base64.
    pub hash: String,
    /// The sum of what could be spent below it.
    pub available: Pesos,
    /// The sum of what was set apart below it.
    pub held: Pesos,
}

impl From<&PathStep> for PathStepBody {
    fn from(step: &PathStep) -> Self {
        Self {
            side: step.side.as_str(),
            hash: STANDARD.encode(step.node.hash.0),
            available: step.node.available.into(),
            held: step.node.held.into(),
        }
    }
}

/// The proof of what an account had at the end of a day.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = DayProof)]
pub struct DayProofBody {
    /// The business day.
    pub date: Day,
    /// What the account had.
    pub leaf: DayLeafBody,
    /// From the leaf to the root.
    pub path: Vec<PathStepBody>,
    /// The signed checkpoint of the day.
    pub checkpoint: String,
    /// The public key that verifies it.
    pub key: String,
}

impl From<&DayProof> for DayProofBody {
    fn from(proof: &DayProof) -> Self {
        let DayProof { leaf, path, day } = proof;
        Self {
            date: day.figures.date.into(),
            leaf: DayLeafBody {
                salt: STANDARD.encode(leaf.salt),
                cvu: leaf.cvu.to_string(),
                available: leaf.available.into(),
                held: leaf.held.into(),
                sequence: leaf.sequence,
                chain: STANDARD.encode(leaf.chain.0),
            },
            path: path.iter().map(Into::into).collect(),
            checkpoint: day.checkpoint.clone(),
            key: key_of(day),
        }
    }
}
