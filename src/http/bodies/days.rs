//! The JSON of closed days and of the proofs of what an account had.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use caudal_actors::engine::days::DayProof;
use caudal_ledger::days::{BankSide, ClosedBook, ClosedDay, DayDifference, DayRecord};
use caudal_ledger::seal::{DayLeaf, PathStep, verifier_key};
use caudal_ledger::time::Timestamp;

use super::body;
use super::texts::{Day, Instant, Pesos};
use super::treasury::ClientFunds;
use super::words::{DayBankWord, SideWord};

body! {
    /// An account of the books at the end of a day.
    pub struct ClosedBookBody as ClosedBook from book: &ClosedBook {
        /// Its name.
        account: String = book.account.clone();
        /// Its balance, as its kind counts it.
        balance: Pesos = book.balance.into();
    }
}

body! {
    /// Movements about which bank and ledger did not agree.
    pub struct DayDifferenceBody as DayDifference from difference: &DayDifference {
        /// The result of the reconciliation, for instance `missing_in_ledger`; `contradicted` where the bank has ended a
        /// movement differently from the ledger.
        kind: String = difference.kind.clone();
        /// How many movements.
        count: u64 = difference.count;
    }
}

body! {
    /// The bank's side of a closed day.
    pub struct DayBankBody from record: &DayRecord {
        => let bank = record.bank();
        => let status = match (&record.day.figures.bank, &record.late) {
            (BankSide::Known(_), _) => "known",
            (BankSide::Pending, Some(_)) => "late",
            (BankSide::Pending, None) => "pending",
            (BankSide::Absent, _) => "absent",
        };
        => let differences = |found: &Vec<DayDifference>| found.iter().map(Into::into).collect();
        /// `known` when the bank answered as the day was closed, `late` when it answered afterwards, `pending` while it has not
        /// answered, `absent` where it reports no balance of a day for this account alone.
        status: &'static str as DayBankWord = status;
        /// The bank's balance at the end of the day.
        balance: Option<Pesos> = bank.map(|bank| bank.balance.into());
        /// When the bank's statement was read.
        read_at: Option<Instant> = bank.map(|bank| bank.at.into());
        /// What the balance changed by on the day and no movement explains.
        unexplained: Option<Pesos> = bank.map(|bank| bank.unexplained.into());
        /// What bank and ledger did not agree about; null without the bank's side.
        differences: Option<Vec<DayDifferenceBody>>
            = bank.map(|bank| differences(&bank.differences));
        /// SHA-256 of the bank's answers as they were received, in base64.
        digest: Option<String> = bank.map(|bank| STANDARD.encode(bank.digest.0));
    }
}

body! {
    /// A closed day. Its figures never change.
    pub struct ClosedDayBody as ClosedDay from record: &DayRecord {
        => let DayRecord { day, closed_at, .. } = record;
        => let (figures, coverage) = (&day.figures, record.coverage());
        => let coverage = coverage.map(|(_, coverage)| coverage);
        /// The business day.
        date: Day = figures.date.into();
        /// When it was closed.
        closed_at: Instant = (*closed_at).into();
        /// How many accounts had a CVU at the end of the day.
        accounts: u64 = figures.accounts;
        /// What belonged to clients.
        client_funds: ClientFunds = ClientFunds {
            available: figures.root.available.into(),
            held: figures.root.held.into(),
            total: figures.owed().into(),
        };
        /// What had arrived and no account could take.
        suspense: Pesos = figures.suspense.into();
        /// The vouchers of the realm up to the end of the day.
        vouchers: u64 = figures.vouchers;
        /// The number of the realm's last event up to the end of the day.
        events: u64 = figures.events;
        /// Every account of the books with its balance.
        books: Vec<ClosedBookBody> = figures.books.iter().map(Into::into).collect();
        /// The bank's side.
        bank: DayBankBody = record.into();
        /// The bank's balance less what belonged to clients and what no account could take; null without the bank's side.
        /// Unlike that of the present treasury, it still has credits that the ledger could not book.
        free_balance: Option<Pesos> = coverage.map(|coverage| coverage.free.into());
        /// Whether `freeBalance` was not negative; null without the bank's side.
        covered: Option<bool> = coverage.map(|coverage| coverage.covered);
        /// The hash of the root of the tree over all accounts, in base64.
        root: String = STANDARD.encode(figures.root.hash.0);
        /// SHA-256 of the text of the checkpoint, in base64, which the next day names.
        digest: String = STANDARD.encode(day.digest.0);
        /// The same of the day before; null for the first day.
        previous: Option<String> = figures.previous.map(|digest| STANDARD.encode(digest.0));
        /// The checkpoint: a signed note with all figures of the day.
        checkpoint: String = day.checkpoint.clone();
        /// The public key that verifies the checkpoint. Keep it when you see it for the first time: it only changes as
        /// `nextKey` says.
        key: String = key_of(day);
        /// The public key that verifies the days after this one, if it is another; the checkpoint has it, too.
        next_key: Option<String>
            = (figures.next_key).map(|key| verifier_key(day.origin(), &key.public));
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

body! {
    /// What an account had at the end of a day, as it is in the tree.
    pub struct DayLeafBody from leaf: &DayLeaf {
        /// 32 bytes, in base64, without which nobody can find a balance by trying amounts.
        salt: String = STANDARD.encode(leaf.salt);
        /// The CVU.
        cvu: String = leaf.cvu.to_string();
        /// What could be spent.
        available: Pesos = leaf.available.into();
        /// What was set apart.
        held: Pesos = leaf.held.into();
        /// The number of the account's last voucher; 0 without one.
        sequence: u64 = leaf.sequence;
        /// The hash of that voucher, which has the hash of every voucher before it, in base64.
        chain: String = STANDARD.encode(leaf.chain.0);
    }
}

body! {
    /// A step of the path from a leaf to the root: a sibling with the sums below it.
    pub struct PathStepBody from step: &PathStep {
        /// The side of the sibling.
        side: &'static str as SideWord = step.side.as_str();
        /// Its hash, in base64.
        hash: String = STANDARD.encode(step.node.hash.0);
        /// The sum of what could be spent below it.
        available: Pesos = step.node.available.into();
        /// The sum of what was set apart below it.
        held: Pesos = step.node.held.into();
    }
}

body! {
    /// The proof of what an account had at the end of a day.
    pub struct DayProofBody as DayProof from proof: &DayProof {
        => let DayProof { leaf, path, day } = proof;
        /// The business day.
        date: Day = day.figures.date.into();
        /// What the account had.
        leaf: DayLeafBody = leaf.into();
        /// From the leaf to the root.
        path: Vec<PathStepBody> = path.iter().map(Into::into).collect();
        /// The signed checkpoint of the day.
        checkpoint: String = day.checkpoint.clone();
        /// The public key that verifies it.
        key: String = key_of(day);
    }
}
