//! What an account's actor takes, how an order names its account, and the messages about the actor itself.

use actix::Context;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::AccountNo;

use super::{AccountActor, AccountState, Observed};
use crate::failure::Failure;
use crate::orders::{ContextOf, Order};

/// The context of an account's actor.
pub type AccountContext = Context<AccountActor>;

/// How an order names its account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// By its CVU, which is looked up in the index of the realm.
    Cvu(Cvu),
    /// By its number in the realm.
    Account(AccountNo),
}

/// An order that an account's actor takes.
pub trait AccountOrder: Order {
    /// Whether the actor stops after it.
    const ENDS: bool = false;

    /// Decides the order at the account's account state, applies the decision, and answers once it is on disk. Holds that have
    /// expired are released before.
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, ctx: &mut AccountContext);
}

/// A question to an account, which changes nothing.
pub trait Question: Send + Sized + 'static {
    /// What it asks for.
    type Answer: Send + 'static;

    /// The account that is asked.
    fn target(&self) -> Target;

    /// The answer. It leaves when everything that it shows is on disk.
    ///
    /// # Errors
    /// When the account has no answer.
    fn answer(&self, state: &AccountState) -> Result<Self::Answer, Failure>;
}

impl<Q: Question> Order for Q {
    type Outcome = Q::Answer;
}

impl<Q: Question> AccountOrder for Q {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        let answer = self.answer(state);
        state.writer.end(answer, request);
    }
}

/// Asks for the live state of an account's actor, for operators; `None` when it is not resident.
pub struct Observe(pub Target);

impl Order for Observe {
    type Outcome = Option<Observed>;
}

impl AccountOrder for Observe {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        request.answer(Ok(Some(state.observed())));
    }
}

/// Checks whether a hold has expired, as every turn does first.
pub struct Tick;

impl Order for Tick {
    type Outcome = ();
}

impl AccountOrder for Tick {
    fn decide(self, _: &mut AccountState, _: ContextOf<Self>, _: &mut AccountContext) {}
}

/// Leaves the account as one row and stops; only sent to an idle actor.
pub struct Passivate;

impl Order for Passivate {
    type Outcome = ();
}

impl AccountOrder for Passivate {
    const ENDS: bool = true;

    fn decide(self, state: &mut AccountState, _: ContextOf<Self>, _: &mut AccountContext) {
        state.rest();
    }
}
