//! Routes orders and questions about remuneration.

use std::time::Duration;

use caudal_ledger::ids::AccountNo;

use super::{BANK_DEADLINE, RealmContext, RealmOrder, RealmSupervisor, Target};
use crate::accounts::{AdoptEnrolment, EnrolAccount, FundAnswered};
use crate::orders::ContextOf;

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
