//! A person's decisions about the money of an account: a transfer in doubt, money in suspense.

use super::{Account, Context, Movements};
use crate::cases::{CaseFact, Decision, Parked};
use crate::rejection::Rejection;
use crate::transfers::{TransferFact, TransferRecord, TransferRejection, TransferStatus, Verdict};
use crate::vouchers::Voucher;

impl Account {
    /// Ends an open transfer because a person says how it ended. While the bank has not given up,
    /// the person has to insist (`force`), and the decision records that.
    ///
    /// # Errors
    /// When the transfer is not open any more, or is not in `audit` and the person does not insist.
    pub fn decide_transfer(
        &self,
        number: u64,
        (verdict, force): (Verdict, bool),
        decision: Decision,
        context: &Context<'_>,
    ) -> Result<Movements, Rejection> {
        let transfer = self.transfers.get(&number);
        let transfer = transfer.ok_or(Rejection::TransferNotOpen)?;
        let given_up = transfer.status == TransferStatus::Audit;
        if !given_up && !force {
            let status = transfer.status;
            return Err(Rejection::TransferNotInAudit { status });
        }
        let mut done = match verdict {
            Verdict::Completed => self.complete_by_hand(number, context)?,
            Verdict::Rejected => {
                let why = TransferRejection::because(decision.reason.clone());
                self.reject(number, why, context)?
            }
        };
        // One fact records everything: that it ended, how, by whom and why.
        let decision = Decision {
            forced: !given_up,
            ..decision
        };
        done.transfers = vec![TransferRecord {
            transfer: number,
            fact: TransferFact::Decided { verdict, decision },
        }];
        Ok(done)
    }

    /// Credits money in suspense to this account because a person says that it belongs to its
    /// holder.
    ///
    /// # Errors
    /// When it cannot be decided now, or this account cannot accept it either.
    pub fn decide_credit(
        &self,
        parked: &Parked,
        decision: Decision,
        context: &Context<'_>,
    ) -> Result<(Vec<Voucher>, CaseFact), Rejection> {
        parked.is_decidable()?;
        let vouchers = self.decide_cash_in(&parked.suspense.cash_in, context)?;
        let credit = vouchers.first().ok_or(Rejection::AccountWithoutCvu)?;
        let fact = CaseFact::Credited {
            case: parked.place,
            cvu: credit.cvu,
            account: self.number,
            voucher: credit.sequence,
            tag: credit.tag,
            decision,
        };
        Ok((vouchers, fact))
    }
}
