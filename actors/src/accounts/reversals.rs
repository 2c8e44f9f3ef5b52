//! Turns about transfers that come back.

use caudal_ledger::ids::TransferId;
use caudal_ledger::money::Amount;

use super::{Desk, Heard};
use crate::failure::Failure;
use crate::scribe::{Ticket, Write};

impl Desk {
    /// Whether a voucher of a transfer is not on disk yet.
    fn in_flight(&self, number: u64) -> bool {
        let account = self.account.number;
        let names = |reference: &str| {
            TransferId::parse(reference)
                .is_some_and(|id| (id.0.account, id.0.sequence) == (account, number))
        };
        let durable = self
            .vitals
            .durable_sequence
            .load(std::sync::atomic::Ordering::Acquire);
        let newest_first = self.unsettled.iter().rev();
        newest_first
            .take_while(|voucher| voucher.sequence > durable)
            .any(|voucher| voucher.reference_id.as_deref().is_some_and(names))
    }

    /// Credits the part of a transfer that came back.
    pub(super) fn reverse(
        &mut self,
        number: u64,
        (amount, coelsa_id): (Amount, &str),
        ticket: Ticket<Heard>,
    ) {
        // The index shows a transfer as of the last commit. If something of it is in flight (checked before the index
        // is read), the notice is refused, and the bank sends it again.
        let open = self.account.transfers.contains_key(&number);
        let in_flight = !open && self.in_flight(number);
        let transfer = match self.known(number) {
            Ok(Some(transfer)) if transfer.receiver.is_some() => {
                tracing::error!(
                    account = self.account.number.0,
                    transfer = number,
                    "the bank reverses a transfer that it was never asked for; reconcile the day"
                );
                return self
                    .scribe
                    .finish(Write::default(), Ok(Heard::Ignored), ticket);
            }
            Ok(Some(transfer)) if !in_flight => transfer,
            Ok(Some(_)) => {
                let busy = Err(Failure::Overloaded);
                return self.scribe.finish(Write::default(), busy, ticket);
            }
            Ok(None) => {
                return self
                    .scribe
                    .finish(Write::default(), Ok(Heard::Ignored), ticket);
            }
            Err(why) => return self.scribe.finish(Write::default(), Err(why), ticket),
        };
        let settings = self.shared.settings();
        let context = self.context(&settings, self.now());
        let decided = self
            .account
            .decide_reversal(&transfer, amount, coelsa_id, &context);
        match decided {
            Ok(movements) => {
                self.settle(Ok(movements), &[], Some((Heard::Done, ticket)));
            }
            Err(why) => {
                tracing::error!(%why, account = self.account.number.0, transfer = number, "a reversal cannot be credited; reconcile the day");
                self.scribe
                    .finish(Write::default(), Ok(Heard::Ignored), ticket);
            }
        }
    }
}
