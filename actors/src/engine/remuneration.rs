//! The door for remuneration: shows the state and the value of an account's enrolment.
//!
//! **Failure.** If the bank cannot be reached, the state of the enrolment is answered without the
//! part that only the fund knows. A position is never cached, because an old price next to today's
//! state would look current.

use caudal_ledger::ids::RealmId;
use caudal_ledger::remuneration::FundPosition;

use super::Queries;
use crate::accounts::attempts::{OrderAnswer, OrderAttempt};
use crate::accounts::{EnrolmentView, FundAnswered, ReadEnrolment};
use crate::failure::Failure;
use crate::ports::BankGateway as _;
use crate::realms::Target;

/// The last enrolment of an account, and its position in the fund.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemunerationView {
    /// The enrolment as the account knows it.
    pub view: EnrolmentView,
    /// The position; `None` while the enrolment is not active or the fund cannot be asked.
    pub position: Option<FundPosition>,
}

impl Queries<'_> {
    /// The enrolment of an account and its position, as the fund reports them now. If the fund's state differs from
    /// ours, ours becomes the fund's.
    pub async fn remuneration(
        self,
        realm: RealmId,
        target: Target,
        request_id: &str,
    ) -> Result<RemunerationView, Failure> {
        let view = self.0.ask(realm, ReadEnrolment(target)).await?;
        let open = view.enrolment.as_ref().filter(|it| !it.state.is_final());
        let Some(number) = open.map(|it| it.number) else {
            let position = None;
            return Ok(RemunerationView { view, position });
        };
        let _slot = self.0.bank_reads.take(realm).await?;
        let bank = self.0.realms.bank(realm)?;
        let reply = bank.fund_position(&view.reference, request_id).await;
        let (answer, position) = match reply.result {
            Ok(Some(answered)) => (OrderAnswer::State(answered.word), answered.position),
            Ok(None) | Err(_) => (OrderAnswer::Unknown, None),
        };
        let said = OrderAttempt {
            number,
            answer,
            calls: reply.calls,
        };
        let account = view.account;
        let view = match self.0.ask(realm, FundAnswered(account, said)).await {
            Ok(now) => now,
            // A read that cannot write down the fund's answer still shows the known state.
            Err(why) => {
                tracing::warn!(%why, account = account.0, "the fund's word was not written down");
                view
            }
        };
        let ours = view
            .enrolment
            .as_ref()
            .is_some_and(|it| it.number == number && !it.state.is_final());
        let position = position.filter(|_| ours);
        Ok(RemunerationView { view, position })
    }
}
