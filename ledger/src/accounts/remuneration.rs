//! Decisions about the enrolment of an account in remuneration. They move no money.

use super::{Account, Pending, Rejection, Status};
use crate::bank::BankRefusal;
use crate::chain::Canonical;
use crate::facts::AccountFact;
use crate::ids::OriginId;
use crate::remuneration::{Enrol, Enrolment, EnrolmentState, FundWord};
use crate::tenants::Mode;

impl Enrol {
    /// The reference of the n-th enrolment of a CVU with the same order: a digest, so that no other enrolment has it,
    /// and so that the bank sees the same reference when the enrolment is requested again after an older copy of the
    /// store was put back.
    pub fn reference(&self, (tenant, mode): (&str, Mode), cvu: &str, n: u32) -> String {
        let form = Canonical::default()
            .text("enrolment")
            .text(tenant)
            .text(mode.as_str())
            .text(cvu)
            .text(self.brokerage_account.as_str())
            .text(self.fund.as_deref().unwrap_or_default())
            .number(i64::from(n));
        OriginId::of_form(form).to_string()
    }
}

impl Account {
    /// Decides to enrol the account, for a tenant in a mode; `None` when it is already enrolled that way, or is being
    /// enrolled.
    ///
    /// # Errors
    /// When the account is closed, closing, suspended or disabled, or has no CVU, since it gives no money to a fund
    /// then; or when it is enrolled otherwise and that has not ended.
    pub fn decide_enrolment(
        &self,
        order: &Enrol,
        tenant: (&str, Mode),
    ) -> Result<Option<AccountFact>, Rejection> {
        let status = self.open_for_changes()?;
        let current = self.enrolment.as_ref();
        match current.filter(|known| !known.state.is_final()) {
            Some(known) if known.is_of(order) => return Ok(None),
            Some(_) => return Err(Rejection::EnrolledOtherwise),
            None => {}
        }
        if status == Status::Suspended {
            return Err(Rejection::AccountSuspended);
        }
        if !self.enabled {
            return Err(Rejection::AccountDisabled);
        }
        if self.pending == Some(Pending::Closing) {
            return Err(Rejection::OperationInFlight);
        }
        Ok(Some(AccountFact::EnrolmentRequested {
            brokerage_account: order.brokerage_account.clone(),
            fund: order.fund.clone(),
            reference: self.enrolment_reference(order, tenant),
        }))
    }

    /// The first reference of an order that the account has not used.
    fn enrolment_reference(&self, order: &Enrol, tenant: (&str, Mode)) -> Option<String> {
        let cvu = self.cvu?;
        let all = (1..=u32::MAX).map(|n| order.reference(tenant, cvu.as_str(), n));
        let mut unused = all.filter(|reference| !self.enrolled.contains(reference));
        unused.next()
    }

    /// The fact that results from the fund's answer; `None` if it says nothing new, or is not about the account's
    /// current enrolment. The state of the account does not matter: the fund's answer is a fact.
    pub fn fund_said(&self, enrolment: u64, word: &FundWord) -> Option<AccountFact> {
        let known = self.enrolment.as_ref()?;
        let new = known.number == enrolment && known.state.becomes(word.state);
        new.then(|| AccountFact::EnrolmentChanged {
            enrolment,
            state: word.state,
            fund: word.fund.clone(),
            refusal: None,
        })
    }

    /// The fact that results from a refusal by the bank; `None` unless it concerns the waiting enrolment.
    pub fn fund_refused(&self, enrolment: u64, why: &BankRefusal) -> Option<AccountFact> {
        let waits = self.enrolling() == Some(enrolment);
        waits.then(|| AccountFact::EnrolmentChanged {
            enrolment,
            state: EnrolmentState::Rejected,
            fund: None,
            refusal: Some(why.clone()),
        })
    }

    /// The number of the enrolment that waits for the fund.
    pub fn enrolling(&self) -> Option<u64> {
        let known = self.enrolment.as_ref()?;
        (known.state == EnrolmentState::Pending).then_some(known.number)
    }

    /// Applies a requested enrolment.
    pub(super) fn apply_enrolment(&mut self, asked: Enrolment) {
        self.enrolled.extend(asked.reference.clone());
        self.enrolment = Some(asked);
    }

    /// Applies a change of the enrolment with this number; ignores it unless that is the last one.
    pub(super) fn apply_enrolled(
        &mut self,
        number: u64,
        state: EnrolmentState,
        fund: &Option<String>,
        refusal: &Option<BankRefusal>,
    ) {
        if let Some(known) = &mut self.enrolment
            && known.number == number
        {
            known.state = state;
            known.refusal.clone_from(refusal);
            // A fund that was asked for keeps the name in the order, whatever the bank calls it.
            if known.fund.is_none() {
                known.fund.clone_from(fund);
            }
        }
    }
}
