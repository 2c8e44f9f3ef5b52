//! Asks the bank about an account's pending change until there is an answer.
//!
//! **Order.** The intent is durable before the first call. Every call is idempotent by its reference, so the whole
//! sequence may run again from its start after any crash or panic. A client id is claimed before the bank is asked for
//! its CVU, until the index shows which account has it: two accounts of one holder may have drawn the same id.
//!
//! **Bounds.** Between tries the pause doubles from [`FIRST_PAUSE`] to [`LAST_PAUSE`]. The number of tries has no
//! bound, because nobody may guess what the bank did.

use std::sync::Arc;
use std::time::Duration;

use actix::Addr;
use caudal_ledger::accounts::{BankAnswer, CvuOpening, CvuRequest, Holder, Pending};
use caudal_ledger::alias::Alias;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::{BankCall, BankRefusal};
use caudal_ledger::ids::AccountNo;

use super::AccountActor;
use crate::commit_writer::{Durable, Shared};
use crate::failure::Failure;
use crate::orders::{Envelope, Order};
use crate::persist::persist;
use crate::ports::{BankError, BankReply, own_refusal};
use crate::records::reads;
use crate::reply::ClaimGuard;

/// The pause after the first try whose outcome is unknown; it doubles with each try.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause between two tries.
pub(super) const LAST_PAUSE: Duration = Duration::from_secs(60);

/// Why the bank gave no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum NoBankAnswer {
    /// The intent never became durable; the bank was not asked.
    NotStarted(Failure),
    /// The bank was asked and nobody knows what it did.
    Unknown(BankError),
    /// At the bank the client id belongs to somebody else, or here its CVU belongs to another account. This is the
    /// bank's refusal, or the one put in its place.
    Taken(BankRefusal),
}

/// Why one try failed.
enum Halt {
    Bank(BankError),
    Taken(BankRefusal),
}

impl From<BankError> for Halt {
    fn from(error: BankError) -> Self {
        Self::Bank(error)
    }
}

/// The result of asking the bank, with every call that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BankAttempt {
    /// The bank's answer, or why there is none.
    pub result: Result<BankAnswer, NoBankAnswer>,
    /// The calls, oldest first.
    pub calls: Vec<BankCall>,
}

/// The bank's answer, with the claim of the client id under which the bank was asked.
pub(super) struct TakeBankAnswer(pub BankAttempt, pub Option<ClaimGuard>);

impl Order for TakeBankAnswer {
    type Outcome = ();
}

/// One change to be asked of the bank.
#[derive(Debug)]
pub(super) struct Saga {
    /// The realm of the account.
    pub shared: Arc<Shared>,
    /// The change that the bank is asked for.
    pub pending: Pending,
    /// The holder of the account, as the bank knows it.
    pub holder: Holder,
    /// The account's CVU, once it has one.
    pub cvu: Option<Cvu>,
    /// Its alias; for a closed CVU, the alias that it had.
    pub alias: Option<Alias>,
    /// The number of the account.
    pub account: AccountNo,
    /// The request that caused it.
    pub request_id: String,
}

/// How one try ended.
type Try<T> = Result<T, Halt>;

impl Saga {
    /// Runs until the bank has answered or the actor is gone; a later actor takes it up again.
    pub(super) async fn run(self, durable: Durable, account: Addr<AccountActor>) {
        let started = durable.await.unwrap_or(Err(Failure::OutcomeUnknown));
        let started = started.map_err(NoBankAnswer::NotStarted);
        let (started, mut claim) = match started.and_then(|()| self.claim()) {
            Ok(claim) => (Ok(()), claim),
            Err(why) => (Err(why), None),
        };
        let asks = async |_| {
            self.ask_until_answered(&started, &mut claim, &account)
                .await;
        };
        persist("change at the bank", asks).await;
    }

    async fn ask_until_answered(
        &self,
        started: &Result<(), NoBankAnswer>,
        claim: &mut Option<ClaimGuard>,
        account: &Addr<AccountActor>,
    ) {
        let mut pause = FIRST_PAUSE;
        loop {
            let mut calls = Vec::new();
            let result = match started {
                Err(why) => Err(why.clone()),
                Ok(()) => match self.ask(&mut calls).await {
                    Ok(answer) => Ok(answer),
                    Err(Halt::Taken(why)) => Err(NoBankAnswer::Taken(why)),
                    Err(Halt::Bank(BankError::Refused(why))) => Ok(BankAnswer::Refused(why)),
                    Err(Halt::Bank(error)) => Err(NoBankAnswer::Unknown(error)),
                },
            };
            let open = matches!(result, Err(NoBankAnswer::Unknown(_)));
            let done = claim.take_if(|_| !open);
            let attempt = TakeBankAnswer(BankAttempt { result, calls }, done);
            if account.send(Envelope::from(attempt)).await.is_err() || !open {
                return;
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(LAST_PAUSE);
        }
    }

    /// Claims the client id under which the bank is asked for a CVU; it is taken if another account has it.
    fn claim(&self) -> Result<Option<ClaimGuard>, NoBankAnswer> {
        let (Pending::Opening(CvuOpening { client_id, .. })
        | Pending::Cvu(CvuRequest { client_id, .. })) = &self.pending
        else {
            return Ok(None);
        };
        let claim = claim(&self.shared, self.account, *client_id);
        let body = r#"{"message":"another account is being opened so"}"#;
        let taken = || NoBankAnswer::Taken(own_refusal(body));
        claim.map(Some).ok_or_else(taken)
    }

    async fn ask(&self, calls: &mut Vec<BankCall>) -> Try<BankAnswer> {
        let (bank, id) = (self.shared.bank.as_ref(), self.request_id.as_str());
        let cuit = self.holder.cuit;
        match (&self.pending, self.cvu) {
            (Pending::Opening(asked), _) => {
                self.open(asked.client_id, asked.alias.as_ref(), calls)
                    .await
            }
            (Pending::Cvu(asked), _) if asked.automatic_alias => match &self.alias {
                Some(had) => self.open_again(asked.client_id, had, calls).await,
                None => self.open(asked.client_id, None, calls).await,
            },
            (Pending::Cvu(asked), _) => {
                let cvu = self.create(asked.client_id, calls).await?;
                Ok(BankAnswer::Opened { cvu, alias: None })
            }
            (Pending::Particulars(change), Some(cvu)) => {
                let name = change.name.as_ref().unwrap_or(&self.holder.name);
                take(bank.rename(cvu, name, id).await, calls)?;
                Ok(BankAnswer::Done)
            }
            (Pending::Alias(alias), Some(cvu)) => {
                take(bank.set_alias(cvu, cuit, Some(alias), id).await, calls)?;
                Ok(BankAnswer::Done)
            }
            (Pending::Identity(identity), Some(cvu)) => {
                take(bank.rename(cvu, &identity.name, id).await, calls)?;
                Ok(BankAnswer::Done)
            }
            (Pending::Closing, Some(cvu)) => {
                take(bank.close(cvu, cuit, id).await, calls)?;
                Ok(BankAnswer::Done)
            }
            (
                Pending::Alias(_)
                | Pending::Identity(_)
                | Pending::Closing
                | Pending::Particulars(_),
                None,
            ) => {
                let body = r#"{"message":"the account has no CVU"}"#;
                Ok(BankAnswer::Refused(own_refusal(body)))
            }
        }
    }

    /// Reopens a closed CVU with the alias that it had. If somebody else has that alias now, the bank assigns one.
    async fn open_again(
        &self,
        client_id: u64,
        had: &Alias,
        calls: &mut Vec<BankCall>,
    ) -> Try<BankAnswer> {
        let (bank, id) = (self.shared.bank.as_ref(), self.request_id.as_str());
        let cvu = self.create(client_id, calls).await?;
        let reply = bank.set_alias(cvu, self.holder.cuit, Some(had), id).await;
        match take(reply, calls) {
            Ok(alias) => Ok(BankAnswer::Opened {
                cvu,
                alias: Some(alias),
            }),
            Err(BankError::Refused(_)) => self.open(client_id, None, calls).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Creates the CVU, then gives it its alias. If the bank refuses the alias, the CVU is closed again: the caller
    /// gets both or neither.
    async fn open(
        &self,
        client_id: u64,
        alias: Option<&Alias>,
        calls: &mut Vec<BankCall>,
    ) -> Try<BankAnswer> {
        let (bank, id) = (self.shared.bank.as_ref(), self.request_id.as_str());
        let cvu = self.create(client_id, calls).await?;
        match take(
            bank.set_alias(cvu, self.holder.cuit, alias, id).await,
            calls,
        ) {
            Ok(alias) => Ok(BankAnswer::Opened {
                cvu,
                alias: Some(alias),
            }),
            // The automatic alias may come later; the account works without one.
            Err(BankError::Refused(_)) if alias.is_none() => {
                Ok(BankAnswer::Opened { cvu, alias: None })
            }
            Err(BankError::Refused(why)) => {
                take(bank.close(cvu, self.holder.cuit, id).await, calls)?;
                Ok(BankAnswer::Refused(why))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Creates the CVU of a client id, unless the id belongs to somebody else.
    async fn create(&self, client_id: u64, calls: &mut Vec<BankCall>) -> Try<Cvu> {
        let (bank, id) = (self.shared.bank.as_ref(), self.request_id.as_str());
        let reply = bank.create_cvu(client_id, &self.holder, id).await;
        match take(reply, calls) {
            Ok(cvu) if bank.client_in(&cvu).is_some_and(|it| it != client_id) => {
                // Money for it would go to another realm, or to none.
                let body = r#"{"message":"the bank gave a CVU that does not carry the client id it was asked for"}"#;
                Err(BankError::Refused(own_refusal(body)).into())
            }
            // The account's balance and history belong to the CVU that was closed.
            Ok(cvu) if self.cvu.is_some_and(|own| own != cvu) => {
                let body =
                    r#"{"message":"the bank gave another CVU than the one that was closed"}"#;
                Err(BankError::Refused(own_refusal(body)).into())
            }
            Ok(cvu) if self.is_anothers(cvu)? => {
                let body = r#"{"message":"the bank gave the CVU of another account"}"#;
                Err(Halt::Taken(own_refusal(body)))
            }
            Err(BankError::Refused(why)) if bank.is_taken(&why) => Err(Halt::Taken(why)),
            answer => Ok(answer?),
        }
    }

    /// Whether a CVU belongs to another account.
    fn is_anothers(&self, cvu: Cvu) -> Try<bool> {
        let Shared { store, realm, .. } = &*self.shared;
        match reads::account_of_cvu(store.as_ref(), *realm, cvu) {
            Ok(owner) => Ok(owner.is_some_and(|owner| owner != self.account)),
            // The owner cannot be read now; the saga tries again.
            Err(why) => Err(Halt::Bank(BankError::Failed {
                status: None,
                body: why.to_string(),
            })),
        }
    }
}

/// Claims a client id for an account; `None` if another one has it.
pub(super) fn claim(shared: &Shared, account: AccountNo, client_id: u64) -> Option<ClaimGuard> {
    let name = [b"k".as_slice(), &client_id.to_be_bytes()].concat();
    shared.claims.claim(shared.realm, name, Some(account))
}

fn take<T>(reply: BankReply<T>, calls: &mut Vec<BankCall>) -> Result<T, BankError> {
    calls.extend(reply.calls);
    reply.result
}
