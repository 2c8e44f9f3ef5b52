//! Transfers that come back.

use caudal_ledger::ids::{AccountNo, TransferId};
use caudal_ledger::money::Amount;

use super::{AccountContext, AccountOrder, AccountState, NoticeOutcome};
use crate::failure::Failure;
use crate::orders::{ContextOf, Order};

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
    type Outcome = NoticeOutcome;
    const ALWAYS: bool = true;
}

impl AccountOrder for ReverseTransfer {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        let Self {
            transfer: number,
            amount,
            coelsa_id,
            ..
        } = self;
        // The index shows a transfer as of the last commit. If something of it is in flight (checked before the index
        // is read), the notice is refused, and the bank sends it again.
        let open = state.account.transfers.contains_key(&number);
        let in_flight = !open && state.in_flight(number);
        let transfer = match state.known(number) {
            Ok(Some(transfer)) if transfer.receiver.is_some() => {
                tracing::error!(
                    account = state.account.number.0,
                    transfer = number,
                    "the bank reverses a transfer that it was never asked for; reconcile the day"
                );
                return state.writer.end(Ok(NoticeOutcome::Ignored), request);
            }
            Ok(Some(transfer)) if !in_flight => transfer,
            Ok(Some(_)) => {
                let busy = Err(Failure::Overloaded);
                return state.writer.end(busy, request);
            }
            Ok(None) => return state.writer.end(Ok(NoticeOutcome::Ignored), request),
            Err(why) => return state.writer.end(Err(why), request),
        };
        let settings = state.shared.settings();
        let context = state.context(&settings, state.now());
        let decided = state
            .account
            .decide_reversal(&transfer, amount, &coelsa_id, &context);
        match decided {
            Ok(movements) => {
                state.settle(Ok(movements), &[], Some((NoticeOutcome::Done, request)));
            }
            Err(why) => {
                tracing::error!(%why, account = state.account.number.0, transfer = number, "a reversal cannot be credited; reconcile the day");
                state.writer.end(Ok(NoticeOutcome::Ignored), request);
            }
        }
    }
}

impl AccountState {
    /// Whether a voucher of a transfer is not on disk yet.
    fn in_flight(&self, number: u64) -> bool {
        let account = self.account.number;
        let names = |reference: &str| {
            TransferId::parse(reference)
                .is_some_and(|id| (id.0.account, id.0.sequence) == (account, number))
        };
        let durable = self
            .actor_status
            .durable_sequence
            .load(std::sync::atomic::Ordering::Acquire);
        let newest_first = self.unsettled.iter().rev();
        newest_first
            .take_while(|voucher| voucher.sequence > durable)
            .any(|voucher| voucher.reference_id.as_deref().is_some_and(names))
    }
}
