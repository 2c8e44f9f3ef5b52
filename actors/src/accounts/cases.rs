//! Turns about what a person decides: a transfer in doubt, money in suspense that is credited.

use std::sync::Arc;

use caudal_ledger::cases::{Decision, Parked, Verdict};
use caudal_ledger::ids::{TransferId, VoucherId};
use caudal_ledger::rejection::Rejection;

use super::{Desk, TransferView};
use crate::failure::Failure;
use crate::scribe::{Page, Ticket};

impl Desk {
    /// A person decides about a transfer that waits for the bank.
    pub(super) fn decide_transfer(
        &mut self,
        TransferId(VoucherId { sequence, tag, .. }): TransferId,
        verdict: (Verdict, bool),
        decision: Decision,
        ticket: Ticket<TransferView>,
    ) {
        let number = sequence;
        let open = self.account.transfers.get(&number);
        let Some(mut transfer) = open.filter(|found| found.tag == tag).cloned() else {
            let outcome = match self.known(number) {
                Ok(Some(found)) if found.tag == tag => Rejection::TransferNotOpen.into(),
                Ok(_) => Rejection::TransferNotFound.into(),
                Err(why) => why,
            };
            return self.scribe.finish(Page::default(), Err(outcome), ticket);
        };
        let settings = self.shared.settings();
        let now = self.now();
        let context = settings.context(self.shared.realm, now);
        let decided = self
            .account
            .decide_transfer(number, verdict, decision, &context);
        let movements = match decided {
            Ok(movements) => movements,
            Err(why) => return self.scribe.finish(Page::default(), Err(why.into()), ticket),
        };
        for record in &movements.transfers {
            transfer.apply(&record.fact, now);
        }
        let account = self.account.number;
        let written = self.record_all(movements);
        self.note_business();
        match written {
            Ok(page) => self
                .scribe
                .finish(page, Ok(TransferView { account, transfer }), ticket),
            Err(why) => self.scribe.fail(why, ticket.reply),
        }
    }

    /// Credits money in suspense. Its case is claimed until that is on disk, so nobody else decides
    /// about it meanwhile; voucher and decision are one commit.
    pub(super) fn credit(
        &mut self,
        mut parked: Parked,
        decision: Decision,
        ticket: Ticket<Parked>,
    ) {
        let settings = self.shared.settings();
        let context = settings.context(self.shared.realm, self.now());
        let decided = self.account.decide_credit(&parked, decision, &context);
        let (vouchers, fact) = match decided {
            Ok(decided) => decided,
            Err(why) => {
                let why: Failure = why.into();
                return self.scribe.finish(Page::default(), Err(why), ticket);
            }
        };
        let vouchers: Vec<_> = vouchers.into_iter().map(Arc::new).collect();
        let written = self.record(&vouchers).and_then(|mut page| {
            let entry = self.write_case(&fact)?;
            parked.apply(&fact, entry.seq);
            page.entries.push(entry);
            Ok(page)
        });
        match written {
            Ok(page) => self.scribe.finish(page, Ok(parked), ticket),
            Err(why) => self.scribe.fail(why, ticket.reply),
        }
    }
}
