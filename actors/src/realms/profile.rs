//! Routes orders and questions about who an account is, and about remuneration.

use std::time::Duration;

use caudal_ledger::accounts::{CvuOpening, ProfileOrder};
use caudal_ledger::alias::Alias;
use caudal_ledger::facts::Registration;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::numbers::{Kind, LastNumber};

use super::{BANK_DEADLINE, RealmContext, RealmOrder, RealmSupervisor, Target};
use crate::accounts::{
    AccountView, AdoptChange, AdoptEnrolment, BecomeAccount, ChangeProfile, EnrolAccount,
    FundAnswered,
};
use crate::orders::{ContextOf, Order};

/// Registers an account, and opens it if asked. The supervisor assigns its number.
pub struct Register {
    /// The registration; its number is ignored.
    pub registration: Registration,
    /// Whether it gets a CVU at once.
    pub open: bool,
    /// The alias asked for.
    pub alias: Option<Alias>,
}

impl Order for Register {
    type Outcome = AccountView;
}

impl RealmOrder for Register {
    const DEADLINE: Duration = BANK_DEADLINE;

    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        let Self {
            registration,
            open,
            alias,
        } = self;
        let now = realm.shared.clock.now();
        let next = realm
            .shared
            .opening
            .next(Kind::Account, realm.last_account, now);
        let number = AccountNo(next);
        let registration = Registration {
            number,
            asks_cvu: open,
            ..registration
        };
        let claimed = realm.claim_names(&registration, alias.as_ref());
        match claimed
            .and_then(|guards| Ok((guards, realm.children.start_unregistered(&registration)?)))
        {
            Err(why) => realm.end(Err(why), request),
            Ok((guards, child)) => {
                request.guards.extend(guards);
                // The account draws the client id.
                let client_id = 0;
                let opening = open.then_some(ProfileOrder::Open(CvuOpening { client_id, alias }));
                let order = BecomeAccount {
                    registration,
                    opening,
                };
                child.send(order, request);
                realm.last_account = Some(LastNumber {
                    number: next,
                    at: now,
                });
            }
        }
    }

    fn adopt(
        self,
        account: AccountNo,
        realm: &mut RealmSupervisor,
        request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        realm.forward(Ok(account), AdoptChange, request);
    }
}

impl RealmOrder for ChangeProfile {
    const DEADLINE: Duration = BANK_DEADLINE;

    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        let number = realm.number(self.target).and_then(|number| {
            let guard = match &self.order {
                ProfileOrder::SetAlias(alias) => Some(realm.claim_for(alias, number)?),
                ProfileOrder::ChangeParticulars(change) => {
                    let code = change.code.as_ref();
                    code.map(|code| realm.claim_code(code, number))
                        .transpose()?
                }
                _ => None,
            };
            request.guards.extend(guard);
            Ok(number)
        });
        realm.forward(number, self, request);
    }

    fn adopt(
        self,
        account: AccountNo,
        realm: &mut RealmSupervisor,
        request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        realm.forward(Ok(account), AdoptChange, request);
    }
}

impl RealmOrder for EnrolAccount {
    const DEADLINE: Duration = BANK_DEADLINE;

    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        let number = realm.number(self.target);
        realm.forward(number, self, request);
    }

    fn adopt(
        self,
        account: AccountNo,
        realm: &mut RealmSupervisor,
        request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        realm.forward(Ok(account), AdoptEnrolment(self.order), request);
    }
}

impl RealmOrder for FundAnswered {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        realm.ask(Target::Account(self.0), self, request);
    }
}
