//! The JSON of a reconciled movement, and of the counts and sums of some days.

use caudal_actors::accounts::AccountVoucher;
use caudal_actors::engine::reconciliation::Reconciled;
use caudal_actors::ports::MovementWay;
use caudal_ledger::balance::Direction;
use caudal_ledger::cases::Parked;
use caudal_ledger::ids::RealmId;
use caudal_ledger::money::Money;
use caudal_ledger::reconciliation::{Agreement, ReconciliationTotals};
use caudal_ledger::time::BusinessDay;

use super::body;
use super::counterparty::CounterpartyBody;
use super::texts::{Day, Instant, Pesos};
use super::transfers::{DecisionBody, bank_word};
use super::words::{AgreementWord, BankWordWord, CollectorClassWord, SuspenseWord, WayWord};

body! {
    /// The voucher that moved the money in the ledger.
    pub struct ReconciledVoucher of(realm: RealmId, placed: &AccountVoucher) {
        /// Its id.
        id: String = placed.voucher.id(realm, placed.account).to_string();
        /// ARS with two decimals.
        amount: Pesos = placed.voucher.amount.into();
        /// When it was posted.
        created_at: Instant = placed.voucher.at.into();
    }
}

body! {
    /// Money that no account could take, and what became of it.
    pub struct SuspenseBody of(realm: RealmId, parked: &Parked) {
        /// Its id.
        id: String = parked.id(realm).to_string();
        /// Why no account took it: the stable word of the refusal.
        reason: String = parked.suspense.reason.clone();
        /// Since when it waits, or waited.
        at: Instant = parked.since.into();
        /// `waiting`, `returning`, `credited` or `returned`.
        state: &'static str as SuspenseWord = parked.state.as_str();
    }
}

body! {
    /// One movement: the bank's side, the ledger's, or both.
    pub struct ReconciledItem by item(realm: RealmId, day: BusinessDay, found: &Reconciled) {
        => let bank = found.bank.as_ref();
        => let transfer = found.transfer.as_ref();
        => let returned = found.suspense.as_ref().and_then(Parked::returned);
        => let (direction, cvu, amount, counterparty) = match bank {
            Some(bank) => (
                bank.way,
                bank.cvu.clone(),
                bank.amount.into(),
                CounterpartyBody {
                    coelsa_id: bank.coelsa_id.clone(),
                    ..bank.counterparty.clone().into()
                },
            ),
            None => by_ledger(found),
        };
        /// The business day in whose reconciliation it is.
        date: Day = day.into();
        /// The bank's own id.
        bank_transfer_id: Option<String> = bank
            .map(|bank| bank.bank_id.clone())
            .or_else(|| transfer.and_then(|view| view.transfer.bank_id.clone()))
            .or_else(|| returned.and_then(|returned| returned.bank_id.clone()));
        /// The id on the rail.
        coelsa_id: Option<String> = bank
            .and_then(|bank| bank.coelsa_id.clone())
            .or_else(|| transfer.and_then(|view| view.transfer.coelsa_id.clone()))
            .or_else(|| returned.and_then(|returned| returned.coelsa_id.clone()));
        /// `in` or `out`.
        direction: &'static str as WayWord = match direction {
            MovementWay::In => "in",
            MovementWay::Out => "out",
        };
        /// The CVU.
        cvu: String = cvu;
        /// The other side.
        counterparty: CounterpartyBody = counterparty;
        /// ARS with two decimals: the bank's, or the ledger's where the bank has none.
        amount: Pesos = amount;
        /// The bank's word: `completed`, `failed`, `in_progress` or `unknown`; null when it has none.
        status: Option<&'static str> as Option<BankWordWord>
            = bank.map(|bank| bank_word(&bank.word));
        /// When, by the bank's clock.
        bank_at: Option<Instant> = bank.map(|bank| bank.at.into());
        /// The voucher in the ledger.
        voucher: Option<ReconciledVoucher>
            = found.voucher.as_ref().map(|placed| ReconciledVoucher::of(realm, placed));
        /// The transfer that it belongs to.
        transfer_id: Option<String>
            = transfer.map(|view| view.transfer.id(realm, view.account).to_string());
        /// Whether it is a transfer that came back.
        reversal: bool = bank.is_some_and(|bank| bank.reversal);
        /// Where it waits, or waited, when no account could take it.
        suspense: Option<SuspenseBody>
            = found.suspense.as_ref().map(|parked| SuspenseBody::of(realm, parked));
        /// `matched`, `missing_in_ledger`, `missing_at_bank`, `amount_differs`, `pending` (one side is
        /// not final), `decided` (a person ended it), `suspense` (no account could take it; a person decides) or
        /// `collector` (it belongs to no client).
        result: &'static str as AgreementWord = found.judged.agreement.as_str();
        /// Of a movement that belongs to no client: what it is.
        class?: Option<&'static str> as Option<CollectorClassWord>
            = found.collector.as_ref().map(|record| record.class.as_str());
        /// Who ended it and why, when it was a person.
        decision: Option<DecisionBody> = found.decision().map(DecisionBody::from);
        /// Whether the bank's last word is not what the ledger has ended it with.
        contradicted: bool = found.judged.contradicted;
    }
}

body! {
    /// The counts and sums of all days asked for.
    pub struct ReconciliationSummary by summary(tally: &ReconciliationTotals) {
        /// Bank and ledger agree.
        matched: u64 = tally.of(Agreement::Matched);
        /// The bank has it, the ledger has not.
        missing_in_ledger: u64 = tally.of(Agreement::MissingInLedger);
        /// The ledger has it, the bank has not.
        missing_at_bank: u64 = tally.of(Agreement::MissingAtBank);
        /// Both have it, with different amounts.
        amount_differs: u64 = tally.of(Agreement::AmountDiffers);
        /// One side is not final; in no other count.
        pending: u64 = tally.of(Agreement::Pending);
        /// A person ended it.
        decided: u64 = tally.of(Agreement::Decided);
        /// It arrived, no account could take it, and it waits for a person.
        suspense: u64 = tally.of(Agreement::Suspense);
        /// It belongs to no client.
        collector: u64 = tally.of(Agreement::Collector);
        /// The bank has ended it otherwise than the ledger; these are in their other counts too.
        contradicted: u64 = tally.contradicted;
        /// What came in at the bank: all its completed movements.
        amount_in: Pesos = tally.amount_in.into();
        /// What left at the bank: all its completed movements.
        amount_out: Pesos = tally.amount_out.into();
    }
}

/// The direction, CVU, amount and other side of a movement, as the ledger has them.
fn by_ledger(found: &Reconciled) -> (MovementWay, String, Pesos, CounterpartyBody) {
    let transfer = found.transfer.as_ref().map(|view| &view.transfer);
    let other = transfer.map(|transfer| transfer.counterparty().into());
    if let Some(placed) = &found.voucher {
        let voucher = &placed.voucher;
        let way = match voucher.direction {
            Direction::Credit | Direction::Release => MovementWay::In,
            Direction::Debit | Direction::Hold | Direction::ConfirmHold => MovementWay::Out,
        };
        let (cvu, amount) = (voucher.cvu.to_string(), voucher.amount.into());
        let named = voucher.other_side().map(CounterpartyBody::from);
        return (way, cvu, amount, named.or(other).unwrap_or_default());
    }
    if let Some(parked) = &found.suspense {
        // Without the bank's side, only the money that was returned is known.
        let arrived = &parked.suspense.cash_in;
        let (cvu, amount) = (arrived.cvu.to_string(), arrived.amount.into());
        return (MovementWay::Out, cvu, amount, arrived.counterparty().into());
    }
    let cvu = transfer.map(|transfer| transfer.from.to_string());
    let amount = transfer.map_or(Money::ZERO, |transfer| transfer.amount.money());
    let other = other.unwrap_or_default();
    (
        MovementWay::Out,
        cvu.unwrap_or_default(),
        amount.into(),
        other,
    )
}
