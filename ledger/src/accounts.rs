//! An account: its holder, its state, its money, and the rules for its next change.
//!
//! **Shape.** One [`Account`] is folded from its profile ([`AccountFact`]), its ledger ([`Voucher`]s) and its transfers
//! ([`TransferRecord`]s). `decide_*` answers an order with facts or a [`Rejection`] and changes nothing; `apply_*`
//! applies facts and cannot refuse. Decisions about money are in `movements`, those about transfers in `transfers`.
//!
//! **The bank.** An order that needs the bank leads to two facts: requested (on disk before the bank is asked), then
//! changed or refused. Between them the account is `pending` and refuses another such order. An enrolment in
//! remuneration waits for the fund independently of that, perhaps for days.

mod cases;
mod drafts;
mod internal;
mod movements;
mod particulars;
mod profile;
mod remuneration;
mod shapes;
mod transfers;
mod voucher_reversals;

use std::collections::{BTreeMap, BTreeSet};

use crate::alias::Alias;
use crate::balance::Balance;
use crate::chain::Digest;
use crate::cuit::{Cuit, PersonType};
use crate::facts::{AccountFact, Registration};
use crate::fees::Charges;
use crate::holds::Hold;
use crate::kyc::Kyc;
use crate::limits::{Limits, Usage};
use crate::money::Amount;
use crate::particulars::Cleared;
use crate::rejection::Rejection;
use crate::tenants::Policy;
use crate::time::Timestamp;
use crate::transfers::{TransferFact, TransferRecord};
use crate::vouchers::Voucher;

pub use movements::Movement;
pub use shapes::{
    Account, BankAnswer, Context, CvuOpening, CvuRequest, HOLDERS_MAX, Holder, Identity, Movements,
    Pending, ProfileOrder, Status, Suspension, SuspensionCode, Terms,
};
pub use voucher_reversals::ReversedSoFar;

impl Account {
    /// The account that a registration creates.
    pub fn registered(registration: &Registration, at: Timestamp) -> Self {
        let Registration {
            number,
            holder,
            code,
            email,
            phone,
            metadata,
            kyc,
            enabled,
            names,
            asks_cvu: _,
        } = registration.clone();
        Self {
            number,
            profile_seq: 1,
            holders: vec![holder.clone()],
            holder,
            code,
            email,
            phone,
            metadata,
            kyc,
            enabled,
            cvu: None,
            alias: None,
            status: Status::Registered,
            suspension: None,
            limits: Limits::default(),
            pending: None,
            refusal: None,
            created_at: at,
            updated_at: at,
            closed_at: None,
            reopened_at: None,
            balance: Balance::default(),
            sequence: 0,
            hash: Digest::default(),
            last_movement_at: None,
            usage: Usage::default(),
            temporary_limits: None,
            fees: Vec::new(),
            names,
            cvu_name: None,
            enrolment: None,
            enrolled: BTreeSet::new(),
            holds: BTreeMap::new(),
            ends: BTreeSet::new(),
            transfers: BTreeMap::new(),
        }
    }

    /// Decides a change of the profile; returns no facts when nothing would change.
    ///
    /// # Errors
    /// When the state of the account does not allow it, another operation waits for the bank, or the order contradicts
    /// the known data of the holder.
    pub fn decide(
        &self,
        order: &ProfileOrder,
        policy: &Policy,
    ) -> Result<Vec<AccountFact>, Rejection> {
        match order {
            ProfileOrder::Suspend { reason, code } => {
                let fact = AccountFact::Suspended {
                    reason: reason.clone(),
                    code: *code,
                };
                let suspended = self.open_for_changes()? == Status::Suspended;
                Ok(unless(suspended, fact))
            }
            ProfileOrder::Reactivate if self.open_for_changes()? == Status::Suspended => {
                Ok(vec![AccountFact::Reactivated])
            }
            ProfileOrder::Reactivate => Err(Rejection::AccountNotSuspended),
            ProfileOrder::SetAlias(alias) => self.decide_alias(alias),
            ProfileOrder::SetIdentity {
                person_type,
                holders,
            } => self.decide_identity(*person_type, holders),
            ProfileOrder::Close => self.decide_close(policy),
            ProfileOrder::ChangeKyc {
                kyc,
                email,
                phone,
                cleared,
            } => self.decide_kyc(kyc, email, phone, cleared),
            ProfileOrder::ChangeLimits(change) => {
                self.open_for_changes()?;
                let limits = self.limits.changed(*change);
                let same = limits == self.limits;
                Ok(unless(same, AccountFact::LimitsChanged(limits)))
            }
            ProfileOrder::SetTemporaryLimits(limits) => {
                self.open_for_changes()?;
                let same = *limits == self.temporary_limits;
                Ok(unless(
                    same,
                    AccountFact::TemporaryLimitsSet(limits.clone()),
                ))
            }
            ProfileOrder::ChangeFees(fees) => {
                self.open_for_changes()?;
                let same = *fees == self.fees;
                Ok(unless(same, AccountFact::FeesChanged(fees.clone())))
            }
            ProfileOrder::SetEnabled(_) | ProfileOrder::Open { .. }
                if self.status == Status::Void =>
            {
                Err(Rejection::AccountNotFound)
            }
            // The switch belongs to the wallet account, whatever becomes of its CVU.
            ProfileOrder::SetEnabled(enabled) => {
                let fact = AccountFact::EnabledChanged { enabled: *enabled };
                Ok(unless(*enabled == self.enabled, fact))
            }
            ProfileOrder::ChangeParticulars(change) => self.decide_particulars(change),
            ProfileOrder::GetCvu(asked) => self.decide_cvu(asked),
            ProfileOrder::Open { .. } if self.cvu.is_some() => Ok(Vec::new()),
            ProfileOrder::Open(asked) => {
                self.nothing_pending()?;
                Ok(vec![AccountFact::OpeningRequested(asked.clone())])
            }
        }
    }

    /// Decides a change of KYC data. It belongs to the wallet account, so it changes with or without a CVU.
    fn decide_kyc(
        &self,
        kyc: &Kyc,
        email: &Option<String>,
        phone: &Option<String>,
        cleared: &Cleared,
    ) -> Result<Vec<AccountFact>, Rejection> {
        match self.status {
            Status::Registered | Status::Active | Status::Suspended => {}
            Status::Closed => return Err(Rejection::AccountClosed),
            Status::Void => return Err(Rejection::AccountNotFound),
        }
        let kyc = self.kyc.merged(kyc).without(&cleared.kyc);
        kyc.document_fits().map_err(Rejection::Document)?;
        let contact = |new: &Option<String>, old: &Option<String>, gone: bool| {
            new.as_ref().or(old.as_ref()).filter(|_| !gone).cloned()
        };
        let email = contact(email, &self.email, cleared.email);
        let phone = contact(phone, &self.phone, cleared.phone);
        let same = (&kyc, &email, &phone) == (&self.kyc, &self.email, &self.phone);
        let fact = AccountFact::KycChanged { kyc, email, phone };
        Ok(unless(same, fact))
    }

    /// Decides a new alias. The account's own alias, in whatever case, changes nothing.
    fn decide_alias(&self, alias: &Alias) -> Result<Vec<AccountFact>, Rejection> {
        self.open_for_changes()?;
        if self.alias.as_ref() == Some(alias) {
            return Ok(Vec::new());
        }
        self.nothing_pending()?;
        Ok(vec![AccountFact::AliasRequested {
            alias: alias.clone(),
        }])
    }

    /// The status of an account that its tenant can see and that is not closed.
    fn open_for_changes(&self) -> Result<Status, Rejection> {
        match self.status {
            Status::Active | Status::Suspended => Ok(self.status),
            Status::Registered => Err(Rejection::AccountWithoutCvu),
            Status::Closed => Err(Rejection::AccountClosed),
            Status::Void => Err(Rejection::AccountNotFound),
        }
    }

    fn nothing_pending(&self) -> Result<(), Rejection> {
        if self.pending.is_some() {
            Err(Rejection::OperationInFlight)
        } else {
            Ok(())
        }
    }

    fn decide_close(&self, policy: &Policy) -> Result<Vec<AccountFact>, Rejection> {
        if self.status == Status::Closed {
            // An account that is being opened again cannot be closed.
            return self.nothing_pending().map(|()| Vec::new());
        }
        self.open_for_changes()?;
        let total = self.balance.total();
        if policy.close_requires_zero_balance && total != crate::money::Money::ZERO {
            return Err(Rejection::AccountNotEmpty { total });
        }
        self.nothing_pending()?;
        Ok(vec![AccountFact::ClosingRequested])
    }

    fn decide_identity(
        &self,
        person_type: Option<PersonType>,
        holders: &[Holder],
    ) -> Result<Vec<AccountFact>, Rejection> {
        self.open_for_changes()?;
        let identity = self.identity(person_type, holders)?;
        self.nothing_pending()?;
        Ok(vec![AccountFact::IdentityRequested(identity)])
    }

    /// The new identity of the account; the account takes the name of its first holder.
    fn identity(
        &self,
        person_type: Option<PersonType>,
        holders: &[Holder],
    ) -> Result<Identity, Rejection> {
        let own = self.holder.cuit;
        let first = holders.first().filter(|first| first.cuit == own);
        let name = &first.ok_or(Rejection::FirstHolderDiffers)?.name;
        let mut seen = BTreeSet::new();
        if !holders.iter().all(|holder| seen.insert(holder.cuit)) {
            return Err(Rejection::HolderTwice);
        }
        let agrees = |given: PersonType, cuit: Cuit| given == cuit.person_type();
        if !person_type.is_none_or(|given| agrees(given, own))
            || !holders
                .iter()
                .all(|holder| agrees(holder.person_type, holder.cuit))
        {
            return Err(Rejection::PersonTypeContradicts);
        }
        let person = own.person_type();
        let renamed = || self.names.renamed(person, name);
        Ok(Identity {
            name: name.clone(),
            person_type: person,
            holders: holders.to_vec(),
            names: (!self.names.is_empty()).then(renamed),
        })
    }

    /// The facts that result when the bank answers the pending request; none when nothing is pending.
    pub fn settle(&self, answer: &BankAnswer) -> Vec<AccountFact> {
        use BankAnswer::{Done, Opened, Refused};
        let fact = match (&self.pending, answer) {
            (None, _) => return Vec::new(),
            (Some(Pending::Cvu { .. }), Opened { alias, .. }) if self.status == Status::Closed => {
                let alias = alias.clone();
                AccountFact::Reopened { alias }
            }
            (Some(Pending::Opening { .. } | Pending::Cvu { .. }), Opened { cvu, alias }) => {
                AccountFact::Opened {
                    cvu: *cvu,
                    alias: alias.clone(),
                }
            }
            (Some(Pending::Opening { .. }), Refused(why)) => {
                AccountFact::OpeningRefused(why.clone())
            }
            (Some(Pending::Cvu { .. }), Refused(why)) => AccountFact::CvuRefused(why.clone()),
            (Some(Pending::Particulars(_)), Refused(why)) => {
                AccountFact::ParticularsRefused(why.clone())
            }
            (Some(Pending::Alias(_)), Refused(why)) => AccountFact::AliasRefused(why.clone()),
            (Some(Pending::Identity(_)), Refused(why)) => AccountFact::IdentityRefused(why.clone()),
            (Some(Pending::Closing), Refused(why)) => AccountFact::ClosingRefused(why.clone()),
            (Some(Pending::Alias(alias)), Done | Opened { .. }) => AccountFact::AliasChanged {
                alias: alias.clone(),
            },
            (Some(Pending::Identity(identity)), Done | Opened { .. }) => {
                AccountFact::IdentityChanged(identity.clone())
            }
            (Some(Pending::Closing), Done | Opened { .. }) => AccountFact::Closed,
            (Some(Pending::Particulars(change)), Done | Opened { .. }) => {
                AccountFact::ParticularsChanged(change.as_ref().clone())
            }
            // "Done" without a CVU says nothing about an opening: it stays pending.
            (Some(Pending::Opening { .. } | Pending::Cvu { .. }), Done) => return Vec::new(),
        };
        vec![fact]
    }

    /// The facts that request a pending opening again under another client id; none when no opening is pending.
    pub fn ask_as(&self, client_id: u64) -> Vec<AccountFact> {
        match self.pending.clone() {
            Some(Pending::Opening(asked)) => {
                vec![AccountFact::OpeningRequested(CvuOpening {
                    client_id,
                    ..asked
                })]
            }
            Some(Pending::Cvu(asked)) => {
                vec![AccountFact::CvuRequested(CvuRequest { client_id, ..asked })]
            }
            Some(
                Pending::Alias(_)
                | Pending::Identity(_)
                | Pending::Closing
                | Pending::Particulars(_),
            )
            | None => Vec::new(),
        }
    }

    /// Applies a fact of a transfer.
    pub fn apply_transfer(&mut self, record: &TransferRecord, at: Timestamp) {
        if let TransferFact::Requested(transfer) = &record.fact {
            self.transfers
                .insert(record.transfer, transfer.as_ref().clone());
        }
        if let Some(transfer) = self.transfers.get_mut(&record.transfer) {
            transfer.apply(&record.fact, at);
            if !transfer.status.is_open() {
                self.transfers.remove(&record.transfer);
            }
        }
    }

    /// The sum that open holds and transfers set apart, in centavos: `held` must equal it.
    pub fn set_apart(&self) -> i128 {
        let holds = self.holds.values().filter_map(Hold::remaining);
        let holds = holds.map(Amount::money);
        let transfers = self.transfers.values().flat_map(|transfer| {
            let Charges { fee, tax } = transfer.charges;
            [transfer.amount.money(), fee, tax]
        });
        // The sum stays in range for any number of parts that fits into memory.
        holds
            .chain(transfers)
            .fold(0, |sum: i128, part| sum.strict_add(part.centavos().into()))
    }

    /// Whether a voucher is the next one of this account, by its place, time and balance. Only such vouchers are
    /// applied: if a decision gives another one, that is a bug, and if the journal holds another one, it is broken.
    pub fn is_next(&self, voucher: &Voucher) -> bool {
        self.sequence.checked_add(1) == Some(voucher.sequence)
            && self.last_movement_at.is_none_or(|last| last <= voucher.at)
            && self.balance.after(voucher.direction, voucher.amount) == Ok(voucher.after)
    }

    /// Whether `held` equals the sum that open holds and transfers set apart. It visits each of them.
    pub fn holds_what_is_set_apart(&self) -> bool {
        self.set_apart() == i128::from(self.balance.held.centavos())
    }

    /// Applies a movement.
    pub fn apply_voucher(&mut self, voucher: &Voucher) {
        self.balance = voucher.after;
        self.sequence = voucher.sequence;
        self.hash = voucher.hash;
        self.last_movement_at = Some(voucher.at);
        self.usage = self.usage.after(voucher);
        if let Some(hold) = Hold::opened(voucher) {
            self.open_hold(hold);
        } else if let Some(number) = Hold::of_step(voucher)
            && let Some(hold) = self.holds.get_mut(&number)
        {
            let before = hold.expires_at;
            hold.apply(voucher);
            let is_open = hold.remaining().is_some();
            let after = hold.expires_at.filter(|_| is_open);
            if before != after {
                before.map(|end| self.ends.remove(&(end, number)));
                after.map(|end| self.ends.insert((end, number)));
            }
            if !is_open {
                self.holds.remove(&number);
            }
        }
    }

    /// Forgets open holds and transfers, before they are loaded from the index.
    pub fn forget_open(&mut self) {
        self.holds.clear();
        self.ends.clear();
        self.transfers.clear();
    }

    /// Adds an open hold that was loaded from the index.
    pub fn open_hold(&mut self, hold: Hold) {
        if let Some(end) = hold.expires_at {
            self.ends.insert((end, hold.sequence));
        }
        self.holds.insert(hold.sequence, hold);
    }
}

/// A fact, unless it is so already.
fn unless(same: bool, fact: AccountFact) -> Vec<AccountFact> {
    if same { Vec::new() } else { vec![fact] }
}

#[cfg(test)]
pub(crate) mod tests;
