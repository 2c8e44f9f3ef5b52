//! Asks the bank for what it does once under a reference (a transfer, a return, an enrolment), until it has given its
//! final answer.
//!
//! **Order.** If an earlier try may have reached the bank, its state is asked first: so a refusal of the second try
//! never hides the success of the first one. Nothing is sent while the realm's outgoing calls are paused; afterwards
//! only what the owner still wants is sent.
//!
//! **Bounds.** A realm may have a fixed number of these calls under way. Between tries the pause doubles from the first
//! to the last of [`Pauses`](crate::settings::Pauses). The number of tries has no bound, because nobody may guess what
//! the bank did.

use caudal_ledger::facts::{BankCall, BankRefusal};

use crate::commit_writer::{Durable, Shared};
use crate::ports::{BankError, BankReply};

/// An order of an account for which the bank is to be asked once it is on disk: its number, and the request that caused
/// it.
pub(super) type StartedOrder = (u64, String, Durable);

/// The bank's answer about an order under a reference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OrderAnswer<T> {
    /// The state of what was ordered.
    State(T),
    /// There is no such order and will be none.
    Refused(BankRefusal),
    /// Nothing that can be relied on.
    Unknown,
}

impl<T> From<Result<T, BankError>> for OrderAnswer<T> {
    fn from(result: Result<T, BankError>) -> Self {
        match result {
            Ok(state) => Self::State(state),
            Err(BankError::Refused(why)) => Self::Refused(why),
            Err(BankError::Failed { .. } | BankError::TimedOut) => Self::Unknown,
        }
    }
}

/// The result of one try, with every call that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderAttempt<T> {
    /// The number of the transfer or enrolment in its account, or of the return in its realm.
    pub number: u64,
    /// The bank's answer.
    pub answer: OrderAnswer<T>,
    /// The calls, oldest first.
    pub calls: Vec<BankCall>,
}

/// A try as it was made; without an answer if the bank does not know the order, and nothing may be sent.
pub type TryAnswer<T> = (Option<OrderAnswer<T>>, Vec<BankCall>);

/// One try: asks for the state of the order if the bank may have it, and orders it if the bank does not know it. While
/// the realm is `held` nothing is ordered.
pub async fn attempt<T>(
    (asked, held): (bool, bool),
    status: impl AsyncFnOnce() -> BankReply<Option<T>>,
    order: impl AsyncFnOnce() -> BankReply<T>,
) -> TryAnswer<T> {
    let mut calls = Vec::new();
    if asked {
        let reply = status().await;
        calls.extend(reply.calls);
        match reply.result {
            Ok(Some(state)) => return (Some(OrderAnswer::State(state)), calls),
            Ok(None) => {}
            // A refusal to report is no refusal of the order.
            Err(_) => return (Some(OrderAnswer::Unknown), calls),
        }
    }
    if held {
        return (None, calls);
    }
    let reply = order().await;
    calls.extend(reply.calls);
    (Some(reply.result.into()), calls)
}

/// Tries until the order's owner says that it is over. `asked` tells that the bank may have been asked before; `held`,
/// that nothing may be sent before the owner has confirmed that it is still wanted.
pub async fn ask_until_over<T>(
    shared: &Shared,
    (mut asked, mut held): (bool, bool),
    attempt: impl AsyncFn(bool, bool) -> TryAnswer<T>,
    is_over: impl AsyncFn(OrderAnswer<T>, Vec<BankCall>) -> bool,
) {
    let mut pause = shared.pauses.first;
    loop {
        let Ok(slot) = shared.bank_slots.acquire().await else {
            return;
        };
        let (answer, calls) = attempt(asked, held).await;
        drop(slot);
        let waits = answer.is_none();
        asked |= !waits;
        // Always read before the owner answers whether the order goes on.
        held = shared.outgoing.is_held();
        if is_over(answer.unwrap_or(OrderAnswer::Unknown), calls).await {
            return;
        }
        if waits {
            shared.outgoing.leave().await;
            held = false;
            if is_over(OrderAnswer::Unknown, Vec::new()).await {
                return;
            }
            continue;
        }
        shared.outgoing.pause(pause).await;
        pause = pause.saturating_mul(2).min(shared.pauses.last);
    }
}
