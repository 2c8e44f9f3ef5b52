//! A person's decisions (a transfer in doubt, money in suspense that is credited), and about money that
//! left by an order that the ledger does not know.

use std::sync::Arc;

use caudal_ledger::cases::{BankSays, Decision, Parked, UnbookedFact};
use caudal_ledger::ids::{TransferId, VoucherId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::transfers::{Departure, Verdict};

use super::{AccountContext, AccountOrder, AccountState, NoticeOutcome, TransferView};
use crate::commit_writer::WriteSet;
use crate::failure::Failure;
use crate::orders::{ContextOf, Order};
use crate::records::reads;

/// A person decides about a transfer that waits for the bank.
pub struct DecideTransfer {
    /// The transfer, which names its account.
    pub transfer: TransferId,
    /// How it ended, and whether the person insists although the bank has not given up.
    pub verdict: (Verdict, bool),
    /// Who decides, and why.
    pub decision: Decision,
}

impl Order for DecideTransfer {
    type Outcome = TransferView;
}

impl AccountOrder for DecideTransfer {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        let Self {
            transfer: TransferId(VoucherId { sequence, tag, .. }),
            verdict,
            decision,
        } = self;
        let number = sequence;
        let open = state.account.transfers.get(&number);
        let Some(mut transfer) = open.filter(|found| found.tag == tag).cloned() else {
            let outcome = match state.known(number) {
                Ok(Some(found)) if found.tag == tag => Rejection::TransferNotOpen.into(),
                Ok(_) => Rejection::TransferNotFound.into(),
                Err(why) => why,
            };
            return state.writer.end(Err(outcome), request);
        };
        let now = state.now();
        let settings = state.shared.settings();
        let context = state.context(&settings, now);
        let decided = state
            .account
            .decide_transfer(number, verdict, decision, &context);
        let movements = match decided {
            Ok(movements) => movements,
            Err(why) => return state.writer.end(Err(why.into()), request),
        };
        for record in &movements.transfers {
            transfer.apply(&record.fact, now);
        }
        let account = state.account.number;
        let written = state.record_all(movements);
        state.note_business();
        let view = TransferView::read(account, transfer);
        state.writer.finish_if(written, Ok(view), request);
    }
}

/// Credits money in suspense: a person says that it belongs to this account. The case is claimed until the credit is on
/// disk, so nobody else decides about it meanwhile; voucher and decision are one commit.
pub struct CreditParked(pub Parked, pub Decision);

impl Order for CreditParked {
    type Outcome = Parked;
}

impl AccountOrder for CreditParked {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        let Self(mut parked, decision) = self;
        let settings = state.shared.settings();
        let context = state.context(&settings, state.now());
        let decided = state.account.decide_credit(&parked, decision, &context);
        let (vouchers, fact) = match decided {
            Ok(decided) => decided,
            Err(why) => {
                let why: Failure = why.into();
                return state.writer.end(Err(why), request);
            }
        };
        let vouchers: Vec<_> = vouchers.into_iter().map(Arc::new).collect();
        let written = state.record(&vouchers).and_then(|mut writes| {
            let entry = state.write_case(&fact)?;
            parked.apply(&fact, entry.seq);
            writes.entries.push(entry);
            Ok(writes)
        });
        state.writer.finish_if(written, Ok(parked), request);
    }
}

/// Reports money that left by an order that the ledger does not know.
pub struct BookDeparture(pub Departure);

impl Order for BookDeparture {
    type Outcome = NoticeOutcome;
    const ALWAYS: bool = true;
}

impl AccountOrder for BookDeparture {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        let Self(left) = self;
        let mut open = state.account.transfers.values();
        let known = open.any(|transfer| transfer.origin == Some(left.origin));
        let store = state.shared.store.as_ref();
        let known = match reads::money::transfer_by_origin(store, left.origin) {
            Ok(found) => known || found.is_some(),
            Err(why) => return state.writer.end(Err(why.into()), request),
        };
        let says = BankSays::Left(left.clone());
        let said = match reads::cases::said(store, state.shared.realm, says.key()) {
            Ok(said) => said,
            Err(why) => return state.writer.end(Err(why.into()), request),
        };
        // A departure that a person had put right otherwise is never booked.
        if known || said.as_ref().is_some_and(|said| !said.waits()) {
            return state.writer.end(Ok(NoticeOutcome::Known), request);
        }
        let settings = state.shared.settings();
        let context = state.context(&settings, state.now());
        let id = ExternalId::parse(&format!("recovered-{}", left.origin));
        let decided = id
            .map_err(|_| Rejection::TransferNotFound)
            .and_then(|id| state.account.decide_departure(&left, id, &context));
        let (account, origin) = (state.account.number.0, left.origin);
        match decided {
            Ok(movements) => {
                tracing::warn!(account, %origin, "money left by an order unknown to the ledger; it was booked");
                state.settle(Ok(movements), &[], Some((NoticeOutcome::Done, request)));
            }
            // It already waits, for money or for a person.
            Err(_) if said.is_some() => {
                state.writer.end(Ok(NoticeOutcome::Known), request);
            }
            Err(why) => {
                tracing::error!(why = why.code(), account, %origin, "money left by an order unknown to the ledger and cannot be booked yet; it waits for funds or for a person");
                let reason = why.code().to_owned();
                let entry = state.write_unbooked(&UnbookedFact::Said { says, reason });
                let writes = entry.map(WriteSet::from);
                state
                    .writer
                    .finish_if(writes, Ok(NoticeOutcome::Known), request);
            }
        }
    }
}
