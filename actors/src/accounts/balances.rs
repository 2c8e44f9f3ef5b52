//! Questions about balances and fees.

use caudal_ledger::accounts::Status;
use caudal_ledger::fees::Charges;
use caudal_ledger::fees::quotes::Quote;
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::VoucherType;
use caudal_ledger::vouchers::Voucher;

use super::{AccountState, BalanceView, Question, Target};
use crate::commit_writer::Shared;
use crate::failure::Failure;
use crate::records::projection::VoucherPlace;
use crate::records::{LEDGER, reads};

/// Asks for the balance of an account as it is.
pub struct ReadBalance(pub Target);

impl Question for ReadBalance {
    type Answer = BalanceView;

    fn target(&self) -> Target {
        self.0
    }

    fn answer(&self, state: &AccountState) -> Result<BalanceView, Failure> {
        state.balance()
    }
}

/// Asks for the balance of an account as it was at the end of an instant.
pub struct ReadBalanceAt(pub Target, pub Timestamp);

impl Question for ReadBalanceAt {
    type Answer = BalanceView;

    fn target(&self) -> Target {
        self.0
    }

    fn answer(&self, state: &AccountState) -> Result<BalanceView, Failure> {
        state.balance_at(self.1)
    }
}

/// Asks for the fees of a movement of the account.
pub struct QuoteFor {
    /// The account.
    pub target: Target,
    /// The type of the movement, as the realm has it.
    pub voucher_type: VoucherType,
    /// The amount in centavos.
    pub amount: Amount,
}

impl Question for QuoteFor {
    type Answer = Quote;

    fn target(&self) -> Target {
        self.target
    }

    fn answer(&self, state: &AccountState) -> Result<Quote, Failure> {
        let cvu = state.account.cvu.ok_or(Rejection::AccountWithoutCvu)?;
        let (now, amount) = (state.now(), self.amount);
        let settings = state.shared.settings();
        let context = state.context(&settings, now);
        let schedules = state.account.schedules(&context);
        let (rule, source) = schedules.rule(&self.voucher_type.code);
        let charges = rule.map_or(Some(Charges::default()), |rule| rule.charges(amount));
        Ok(Quote {
            cvu,
            rule: rule.cloned(),
            source,
            charges: charges.ok_or(Rejection::AmountOverflow)?,
            voucher_type: self.voucher_type.clone(),
            amount,
            available: state.account.balance.available,
            as_of: now,
        })
    }
}

impl AccountState {
    fn balance(&self) -> Result<BalanceView, Failure> {
        if self.account.status == Status::Void {
            return Err(Rejection::AccountNotFound.into());
        }
        let cvu = self.account.cvu.ok_or(Rejection::AccountWithoutCvu)?;
        Ok(BalanceView {
            account: self.account.number,
            cvu,
            balance: self.account.balance,
            sequence: self.account.sequence,
            last_movement_at: self.account.last_movement_at,
            as_of: self.now(),
        })
    }

    /// The balance after the last movement up to and including an instant.
    fn balance_at(&self, at: Timestamp) -> Result<BalanceView, Failure> {
        let now = self.balance()?;
        if self.account.last_movement_at.is_none_or(|last| last <= at) {
            return Ok(BalanceView { as_of: at, ..now });
        }
        // A movement that is not durable yet is still in memory, with its time.
        if let Some(voucher) = self.unsettled.iter().rev().find(|v| v.at <= at) {
            return Ok(then(&now, at, Some(voucher)));
        }
        let Shared { store, realm, .. } = &*self.shared;
        let Some(sequence) = store.seq_at(self.stream(LEDGER), at.millis())? else {
            return Ok(then(&now, at, None));
        };
        let place = VoucherPlace::new(self.account.number, sequence);
        let voucher = reads::voucher(store.as_ref(), *realm, place)?;
        Ok(then(&now, at, voucher.as_ref()))
    }
}

fn then(now: &BalanceView, at: Timestamp, voucher: Option<&Voucher>) -> BalanceView {
    BalanceView {
        balance: voucher.map(|v| v.after).unwrap_or_default(),
        sequence: voucher.map_or(0, |v| v.sequence),
        last_movement_at: voucher.map(|v| v.at),
        as_of: at,
        ..*now
    }
}
