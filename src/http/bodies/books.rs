//! The JSON of the books of a realm.

use caudal_actors::engine::books::{BookEntry, EntrySource, TrialBalance};
use caudal_ledger::books::{BookRef, IN_TRANSIT, TrialBalanceLine, difference};
use caudal_ledger::time::BusinessDay;
use caudal_ledger::treasury::Sum;

use super::body;
use super::texts::{Day, Instant, Pesos};
use super::words::{BookKindWord, EntrySourceWord};

/// The kind of a line that is shown next to the books, and is in no total.
pub const MEMO_KIND: &str = "memo";

body! {
    /// An account of the books.
    pub struct BookAccountBody as BookAccount from account: &BookRef {
        /// Its name: of a fixed account, or of one for adjustments.
        account: String = account.as_str().to_owned();
        /// `asset`, `liability`, `income`, `expense`, `equity` or `memo`.
        kind: &'static str as BookKindWord = account.kind().as_str();
    }
}

body! {
    /// An account with its balance.
    pub struct TrialBalanceItem from line: &TrialBalanceLine {
        => let zero = Sum::from_centavos(0);
        /// The account.
        #[serde(flatten)]
        account: BookAccountBody = (&line.account).into();
        /// Its balance, if it is on the side of debits; else 0.00.
        debit: Pesos = line.debit.max(zero).into();
        /// Its balance, if it is on the side of credits; else 0.00.
        credit: Pesos = zero.minus(line.debit).max(zero).into();
        /// Its balance as its kind counts it: debits less credits of an asset or expense, credits less debits of any other. A
        /// memo has a balance on neither side.
        balance: Pesos = line.balance().into();
    }
}

impl BookAccountBody {
    /// The memo line of transfers that were sent and are not final.
    pub fn in_transit() -> Self {
        Self {
            account: IN_TRANSIT.to_owned(),
            kind: MEMO_KIND,
        }
    }
}

body! {
    /// The balances of all accounts at an instant.
    pub struct TrialBalanceBody of(found: &TrialBalance, day: Option<BusinessDay>) {
        => let zero = Sum::from_centavos(0);
        => let memo = found.in_transit.map(|sum| TrialBalanceItem {
            account: BookAccountBody::in_transit(),
            debit: zero.into(),
            credit: zero.into(),
            balance: sum.into(),
        });
        => let lines = found.lines.iter().map(TrialBalanceItem::from);
        /// The instant; of a past day, its end.
        as_of: Instant = found.as_of.into();
        /// The business day that was asked for; absent for now.
        date?: Option<Day> = day.map(Into::into);
        /// The accounts, and at the end the memo `in_transit`: transfers that were sent and are not final, whose money
        /// `clients` still has. It is absent for an instant within a day.
        items: Vec<TrialBalanceItem> = lines.chain(memo).collect();
        /// The sum of all debits less the sum of all credits: always 0.00.
        total: Pesos = difference(&found.lines).into();
    }
}

body! {
    /// What an entry of the books is about.
    pub struct BookEntrySourceBody as BookEntrySource from source: EntrySource {
        => let (kind, id) = match source {
            EntrySource::Voucher(id) => ("voucher", id.to_string()),
            EntrySource::Suspense(id) => ("suspense", id.to_string()),
            EntrySource::Collector(id) => ("collector", id.to_string()),
        };
        /// `voucher`, `suspense` (money that no account could take: its arrival, or its end) or `collector` (a movement of the
        /// collector account: its record, another class, or its match).
        #[serde(rename = "type")]
        kind: &'static str as EntrySourceWord = kind;
        /// Its id.
        id: String = id;
    }
}

body! {
    /// An entry of the books: what a fact moved in one of its two accounts.
    pub struct BookEntryBody as BookEntry from entry: &BookEntry {
        => let (zero, amount) = (Sum::from_centavos(0), Sum::from(entry.fact.moved.amount));
        => let (debit, credit) = if entry.is_debit {
            (amount, zero)
        } else {
            (zero, amount)
        };
        /// When the fact happened.
        at: Instant = entry.fact.at.into();
        /// Its business day, in which the trial balance counts it.
        day: Day = entry.fact.at.business_day().into();
        /// The account.
        account: String = entry.account().as_str().to_owned();
        /// The amount, if the account is debited; else 0.00.
        debit: Pesos = debit.into();
        /// The amount, if the account is credited; else 0.00.
        credit: Pesos = credit.into();
        /// What the fact is about.
        source: BookEntrySourceBody = entry.fact.source.into();
        /// The description of the voucher, or the bank's text of the movement.
        text: Option<String> = entry.fact.text.clone();
        /// The account on the other side, which has an entry of the same fact.
        counter_account: String = entry.counter_account().as_str().to_owned();
    }
}
