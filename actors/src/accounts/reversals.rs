//! Transfers that come back.

use caudal_ledger::ids::{AccountNo, TransferId};
use caudal_ledger::money::Amount;

use super::{AccountContext, AccountOrder, Desk, Heard};
use crate::failure::Failure;
use crate::orders::{Order, TicketOf};

/// Reports that a part of a transfer came back, which is credited.
pub struct ReverseTransfer {
    /// The sending account.
    pub account: AccountNo,
    /// The number of the transfer in its account.
    pub transfer: u64,
    /// The amount that came back, in centavos.
    pub amount: Amount,
    /// The id of the reversal on the rail.
    pub coelsa_id: String,
}

impl Order for ReverseTransfer {
    type Outcome = Heard;
    const ALWAYS: bool = true;
}

impl AccountOrder for ReverseTransfer {
    fn decide(self, desk: &mut Desk, ticket: TicketOf<Self>, _: &mut AccountContext) {
        let Self {
            transfer: number,
            amount,
            coelsa_id,
            ..
        } = self;
        // The index shows a transfer as of the last commit. If something of it is in flight (checked before the index
        // is read), the notice is refused, and the bank sends it again.
        let open = desk.account.transfers.contains_key(&number);
        let in_flight = !open && desk.in_flight(number);
        let transfer = match desk.known(number) {
            Ok(Some(transfer)) if transfer.receiver.is_some() => {
                tracing::error!(
                    account = desk.account.number.0,
                    transfer = number,
                    "the bank reverses a transfer that it was never asked for; reconcile the day"
                );
                return desk.scribe.end(Ok(Heard::Ignored), ticket);
            }
            Ok(Some(transfer)) if !in_flight => transfer,
            Ok(Some(_)) => {
                let busy = Err(Failure::Overloaded);
                return desk.scribe.end(busy, ticket);
            }
            Ok(None) => return desk.scribe.end(Ok(Heard::Ignored), ticket),
            Err(why) => return desk.scribe.end(Err(why), ticket),
        };
        let settings = desk.shared.settings();
        let context = desk.context(&settings, desk.now());
        let decided = desk
            .account
            .decide_reversal(&transfer, amount, &coelsa_id, &context);
        match decided {
            Ok(movements) => {
                desk.settle(Ok(movements), &[], Some((Heard::Done, ticket)));
            }
            Err(why) => {
                tracing::error!(%why, account = desk.account.number.0, transfer = number, "a reversal cannot be credited; reconcile the day");
                desk.scribe.end(Ok(Heard::Ignored), ticket);
            }
        }
    }
}

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
}
