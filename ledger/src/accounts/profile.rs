//! Applies the facts of a profile to its account. Nothing is refused here, and every fact is
//! matched.

use super::{Account, CvuRequest, Identity, Pending, Status, Suspension, SuspensionCode};
use crate::alias::Alias;
use crate::bank::BankRefusal;
use crate::cvu::Cvu;
use crate::facts::AccountFact;
use crate::kyc::Kyc;
use crate::remuneration::{Enrolment, EnrolmentState};
use crate::time::Timestamp;

impl Account {
    /// Applies a fact of the profile, with its sequence in the profile's stream and its time. It
    /// cannot refuse.
    pub fn apply(&mut self, fact: &AccountFact, seq: u64, at: Timestamp) {
        self.profile_seq = seq;
        self.updated_at = at;
        match fact {
            AccountFact::Registered(registration) => *self = Self::registered(registration, at),
            AccountFact::OpeningRequested(asked) => {
                self.pending = Some(Pending::Opening(asked.clone()));
            }
            AccountFact::Opened { cvu, alias } => self.opened(*cvu, alias.as_ref()),
            AccountFact::OpeningRefused(why) => {
                self.cvu_refused(why);
                self.status = Status::Void;
            }
            AccountFact::AliasRequested { alias } => {
                self.pending = Some(Pending::Alias(alias.clone()));
            }
            AccountFact::AliasChanged { alias } => {
                self.pending = None;
                self.alias = Some(alias.clone());
            }
            AccountFact::IdentityRequested(identity) => {
                self.pending = Some(Pending::Identity(identity.clone()));
            }
            AccountFact::IdentityChanged(identity) => self.identified(identity),
            AccountFact::ClosingRequested => self.pending = Some(Pending::Closing),
            AccountFact::Closed => self.closed(at),
            AccountFact::AliasRefused(_)
            | AccountFact::IdentityRefused(_)
            | AccountFact::ParticularsRefused(_)
            | AccountFact::ClosingRefused(_) => self.pending = None,
            AccountFact::CvuRequested(asked) => {
                self.refusal = None;
                self.pending = Some(Pending::Cvu(asked.clone()));
            }
            AccountFact::CvuRefused(why) => self.cvu_refused(why),
            AccountFact::ParticularsRequested(change) => {
                self.pending = Some(Pending::Particulars(Box::new(change.clone())));
            }
            AccountFact::ParticularsChanged(change) => self.apply_particulars(change),
            AccountFact::EnrolmentRequested {
                brokerage_account,
                fund,
                reference,
            } => self.apply_enrolment(Enrolment {
                number: seq,
                brokerage_account: brokerage_account.clone(),
                fund: fund.clone(),
                state: EnrolmentState::Pending,
                refusal: None,
                requested_at: at,
                reference: reference.clone(),
            }),
            AccountFact::EnrolmentChanged {
                enrolment,
                state,
                fund,
                refusal,
            } => self.apply_enrolled(*enrolment, *state, fund, refusal),
            AccountFact::Reopened { alias } => self.reopened(alias.as_ref(), at),
            AccountFact::Suspended { reason, code } => self.suspended(reason, *code, at),
            AccountFact::Reactivated => self.reactivated(),
            AccountFact::KycChanged { kyc, email, phone } => self.known(kyc, email, phone),
            AccountFact::LimitsChanged(limits) => self.limits = *limits,
            AccountFact::TemporaryLimitsSet(limits) => self.temporary_limits.clone_from(limits),
            AccountFact::EnabledChanged { enabled } => self.enabled = *enabled,
            AccountFact::FeesChanged(fees) => self.fees.clone_from(fees),
        }
    }

    fn opened(&mut self, cvu: Cvu, alias: Option<&Alias>) {
        if let Some(Pending::Cvu(CvuRequest { name, .. })) = self.pending.take() {
            self.cvu_name = name;
        }
        self.refusal = None;
        self.cvu = Some(cvu);
        self.alias = alias.cloned();
        self.status = Status::Active;
    }

    fn identified(&mut self, identity: &Identity) {
        self.pending = None;
        self.holder.name.clone_from(&identity.name);
        self.holder.person_type = identity.person_type;
        self.holders.clone_from(&identity.holders);
        match &identity.names {
            Some(names) => self.names.clone_from(names),
            None => self
                .names
                .forget_unless(identity.person_type, &identity.name),
        }
    }

    fn known(&mut self, kyc: &Kyc, email: &Option<String>, phone: &Option<String>) {
        self.kyc = kyc.clone();
        self.email.clone_from(email);
        self.phone.clone_from(phone);
    }

    fn cvu_refused(&mut self, why: &BankRefusal) {
        self.pending = None;
        self.refusal = Some(why.clone());
    }

    fn closed(&mut self, at: Timestamp) {
        self.pending = None;
        self.status = Status::Closed;
        self.suspension = None;
        self.closed_at = Some(at);
    }

    /// Reopens the account: it is as before, except for its alias and, if another one was
    /// requested, its name.
    fn reopened(&mut self, alias: Option<&Alias>, at: Timestamp) {
        if let Some(Pending::Cvu(CvuRequest { name, .. })) = self.pending.take() {
            self.cvu_name = name.or_else(|| self.cvu_name.take());
        }
        self.refusal = None;
        self.alias = alias.cloned();
        self.status = Status::Active;
        self.closed_at = None;
        self.reopened_at = Some(at);
    }

    fn reactivated(&mut self) {
        self.status = Status::Active;
        self.suspension = None;
    }

    fn suspended(&mut self, reason: &str, code: SuspensionCode, at: Timestamp) {
        self.status = Status::Suspended;
        self.suspension = Some(Suspension {
            reason: reason.to_owned(),
            code,
            at,
        });
    }
}
