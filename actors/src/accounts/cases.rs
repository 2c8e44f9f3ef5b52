//! Turns about a person's decisions (a transfer in doubt, money in suspense that is credited), and about money that
//! left by an order that the ledger does not know.

use std::sync::Arc;

use caudal_ledger::cases::{BankSays, Decision, Parked, UnbookedFact};
use caudal_ledger::ids::{TransferId, VoucherId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::transfers::{Departure, Verdict};

use super::{Desk, Heard, TransferView};
use crate::failure::Failure;
use crate::mailbox::Asked;
use crate::records::reads;
use crate::reply::Waits;
use crate::scribe::{Ticket, Write};

/// A turn about a person's decision, or about a departure that the ledger did not know.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "messages are boxed by the mailbox"
)]
pub enum CaseTurn {
    /// A person decides about a transfer that waits for the bank.
    Decide {
        /// The id of the transfer.
        transfer: TransferId,
        /// How it ended, and whether the person insists although the bank has not given up.
        verdict: (Verdict, bool),
        /// Who decides, and why.
        decision: Box<Decision>,
        /// Receives the answer.
        ticket: Ticket<TransferView>,
    },
    /// Credit money in suspense: a person says that it belongs to this account.
    Credit(Box<Parked>, Box<Decision>, Ticket<Parked>),
    /// Money left by an order that the ledger does not know.
    Left(Departure, Ticket<Heard>),
}

impl Asked for CaseTurn {
    fn asker(&mut self) -> Option<&mut dyn Waits> {
        match self {
            Self::Decide { ticket, .. } => Some(ticket),
            Self::Credit(_, _, ticket) => Some(ticket),
            Self::Left(..) => None,
        }
    }
}

impl Desk {
    /// Takes a turn about a case.
    pub(super) fn case(&mut self, turn: CaseTurn) {
        match turn {
            CaseTurn::Decide {
                transfer,
                verdict,
                decision,
                ticket,
            } => self.decide_transfer(transfer, verdict, *decision, ticket),
            CaseTurn::Credit(parked, decision, ticket) => self.credit(*parked, *decision, ticket),
            CaseTurn::Left(departure, ticket) => self.left(&departure, ticket),
        }
    }

    /// Applies a person's decision about a transfer that waits for the bank.
    fn decide_transfer(
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
            return self.scribe.finish(Write::default(), Err(outcome), ticket);
        };
        let now = self.now();
        let settings = self.shared.settings();
        let context = self.context(&settings, now);
        let decided = self
            .account
            .decide_transfer(number, verdict, decision, &context);
        let movements = match decided {
            Ok(movements) => movements,
            Err(why) => {
                return self
                    .scribe
                    .finish(Write::default(), Err(why.into()), ticket);
            }
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

    /// Credits money in suspense. The case is claimed until the credit is on disk, so nobody else decides about it
    /// meanwhile; voucher and decision are one commit.
    fn credit(&mut self, mut parked: Parked, decision: Decision, ticket: Ticket<Parked>) {
        let settings = self.shared.settings();
        let context = self.context(&settings, self.now());
        let decided = self.account.decide_credit(&parked, decision, &context);
        let (vouchers, fact) = match decided {
            Ok(decided) => decided,
            Err(why) => {
                let why: Failure = why.into();
                return self.scribe.finish(Write::default(), Err(why), ticket);
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
    /// Takes in money that left by an order that the ledger does not know.
    fn left(&mut self, left: &Departure, ticket: Ticket<Heard>) {
        let mut open = self.account.transfers.values();
        let known = open.any(|transfer| transfer.origin == Some(left.origin));
        let store = self.shared.store.as_ref();
        let known = match reads::money::transfer_by_origin(store, left.origin) {
            Ok(found) => known || found.is_some(),
            Err(why) => {
                return self
                    .scribe
                    .finish(Write::default(), Err(why.into()), ticket);
            }
        };
        let says = BankSays::Left(left.clone());
        let said = match reads::cases::said(store, self.shared.realm, says.key()) {
            Ok(said) => said,
            Err(why) => {
                return self
                    .scribe
                    .finish(Write::default(), Err(why.into()), ticket);
            }
        };
        // A departure that a person had put right otherwise is never booked.
        if known || said.as_ref().is_some_and(|said| !said.waits()) {
            return self
                .scribe
                .finish(Write::default(), Ok(Heard::Known), ticket);
        }
        let settings = self.shared.settings();
        let context = self.context(&settings, self.now());
        let id = ExternalId::parse(&format!("recovered-{}", left.origin));
        let decided = id
            .map_err(|_| Rejection::TransferNotFound)
            .and_then(|id| self.account.decide_departure(left, id, &context));
        let (account, origin) = (self.account.number.0, left.origin);
        match decided {
            Ok(movements) => {
                tracing::warn!(account, %origin, "money left by an order that the ledger did not know; it is taken in");
                self.settle(Ok(movements), &[], Some((Heard::Done, ticket)));
            }
            // It already waits, for money or for a person.
            Err(_) if said.is_some() => {
                self.scribe
                    .finish(Write::default(), Ok(Heard::Known), ticket);
            }
            Err(why) => {
                tracing::error!(why = why.code(), account, %origin, "money left by an order that the ledger does not know, and cannot be taken in; it waits for the money, or for a person");
                let reason = why.code().to_owned();
                match self.write_unbooked(&UnbookedFact::Said { says, reason }) {
                    Ok(entry) => {
                        let page = Write {
                            entries: vec![entry],
                            ..Write::default()
                        };
                        self.scribe.finish(page, Ok(Heard::Known), ticket);
                    }
                    Err(why) => self.scribe.fail(why, ticket.reply),
                }
            }
        }
    }
}
