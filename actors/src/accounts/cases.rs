//! A person's decisions (a transfer in doubt, money in suspense that is credited), and about money that
//! left by an order that the ledger does not know.

use std::sync::Arc;

use caudal_ledger::cases::{BankSays, Decision, Parked, UnbookedFact};
use caudal_ledger::ids::{TransferId, VoucherId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::transfers::{Departure, Verdict};

use super::{AccountContext, AccountOrder, Desk, Heard, TransferView};
use crate::failure::Failure;
use crate::orders::{Order, TicketOf};
use crate::records::reads;
use crate::scribe::Write;

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
    fn decide(self, desk: &mut Desk, ticket: TicketOf<Self>, _: &mut AccountContext) {
        let Self {
            transfer: TransferId(VoucherId { sequence, tag, .. }),
            verdict,
            decision,
        } = self;
        let number = sequence;
        let open = desk.account.transfers.get(&number);
        let Some(mut transfer) = open.filter(|found| found.tag == tag).cloned() else {
            let outcome = match desk.known(number) {
                Ok(Some(found)) if found.tag == tag => Rejection::TransferNotOpen.into(),
                Ok(_) => Rejection::TransferNotFound.into(),
                Err(why) => why,
            };
            return desk.scribe.end(Err(outcome), ticket);
        };
        let now = desk.now();
        let settings = desk.shared.settings();
        let context = desk.context(&settings, now);
        let decided = desk
            .account
            .decide_transfer(number, verdict, decision, &context);
        let movements = match decided {
            Ok(movements) => movements,
            Err(why) => return desk.scribe.end(Err(why.into()), ticket),
        };
        for record in &movements.transfers {
            transfer.apply(&record.fact, now);
        }
        let account = desk.account.number;
        let written = desk.record_all(movements);
        desk.note_business();
        let view = TransferView { account, transfer };
        desk.scribe.finish_if(written, Ok(view), ticket);
    }
}

/// Credits money in suspense: a person says that it belongs to this account. The case is claimed until the credit is on
/// disk, so nobody else decides about it meanwhile; voucher and decision are one commit.
pub struct CreditParked(pub Parked, pub Decision);

impl Order for CreditParked {
    type Outcome = Parked;
}

impl AccountOrder for CreditParked {
    fn decide(self, desk: &mut Desk, ticket: TicketOf<Self>, _: &mut AccountContext) {
        let Self(mut parked, decision) = self;
        let settings = desk.shared.settings();
        let context = desk.context(&settings, desk.now());
        let decided = desk.account.decide_credit(&parked, decision, &context);
        let (vouchers, fact) = match decided {
            Ok(decided) => decided,
            Err(why) => {
                let why: Failure = why.into();
                return desk.scribe.end(Err(why), ticket);
            }
        };
        let vouchers: Vec<_> = vouchers.into_iter().map(Arc::new).collect();
        let written = desk.record(&vouchers).and_then(|mut page| {
            let entry = desk.write_case(&fact)?;
            parked.apply(&fact, entry.seq);
            page.entries.push(entry);
            Ok(page)
        });
        desk.scribe.finish_if(written, Ok(parked), ticket);
    }
}

/// Reports money that left by an order that the ledger does not know.
pub struct BookDeparture(pub Departure);

impl Order for BookDeparture {
    type Outcome = Heard;
    const ALWAYS: bool = true;
}

impl AccountOrder for BookDeparture {
    fn decide(self, desk: &mut Desk, ticket: TicketOf<Self>, _: &mut AccountContext) {
        let Self(left) = self;
        let mut open = desk.account.transfers.values();
        let known = open.any(|transfer| transfer.origin == Some(left.origin));
        let store = desk.shared.store.as_ref();
        let known = match reads::money::transfer_by_origin(store, left.origin) {
            Ok(found) => known || found.is_some(),
            Err(why) => return desk.scribe.end(Err(why.into()), ticket),
        };
        let says = BankSays::Left(left.clone());
        let said = match reads::cases::said(store, desk.shared.realm, says.key()) {
            Ok(said) => said,
            Err(why) => return desk.scribe.end(Err(why.into()), ticket),
        };
        // A departure that a person had put right otherwise is never booked.
        if known || said.as_ref().is_some_and(|said| !said.waits()) {
            return desk.scribe.end(Ok(Heard::Known), ticket);
        }
        let settings = desk.shared.settings();
        let context = desk.context(&settings, desk.now());
        let id = ExternalId::parse(&format!("recovered-{}", left.origin));
        let decided = id
            .map_err(|_| Rejection::TransferNotFound)
            .and_then(|id| desk.account.decide_departure(&left, id, &context));
        let (account, origin) = (desk.account.number.0, left.origin);
        match decided {
            Ok(movements) => {
                tracing::warn!(account, %origin, "money left by an order that the ledger did not know; it is taken in");
                desk.settle(Ok(movements), &[], Some((Heard::Done, ticket)));
            }
            // It already waits, for money or for a person.
            Err(_) if said.is_some() => {
                desk.scribe.end(Ok(Heard::Known), ticket);
            }
            Err(why) => {
                tracing::error!(why = why.code(), account, %origin, "money left by an order that the ledger does not know, and cannot be taken in; it waits for the money, or for a person");
                let reason = why.code().to_owned();
                let entry = desk.write_unbooked(&UnbookedFact::Said { says, reason });
                let page = entry.map(Write::from);
                desk.scribe.finish_if(page, Ok(Heard::Known), ticket);
            }
        }
    }
}
