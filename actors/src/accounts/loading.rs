//! Loading: an account's actor is started before its account has been read.
//!
//! **Shape.** The supervisor starts the actor and goes on. A thread that does nothing else reads the account, and the
//! actor begins when the account is there.
//!
//! **Bounds.** Those of [`crate::loads`]; an account waits for its turn together with the messages of its mailbox.
//!
//! **Order.** Messages sent meanwhile wait in the mailbox, in their order. While an actor loads it counts as lent, so
//! it is not passivated.
//!
//! **Failure.** If the account does not exist or cannot be read, its actor refuses the waiting messages with the
//! reason. The actor is poisoned from then on, so the next order reads the account again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use actix::fut::{ActorFutureExt as _, wrap_future};
use actix::{AsyncContext as _, Context};
use caudal_ledger::ids::AccountNo;
use caudal_ledger::rejection::Rejection;
use caudal_storage::StoreError;

use super::{AccountActor, AccountState};
use crate::actor_status::ActorStatus;
use crate::commit_writer::Shared;
use crate::failure::Failure;
use crate::mailbox::HasResponder;
use crate::records::reads::LoadedAccount;

/// How an actor gets its account.
#[derive(Debug)]
pub(super) enum LoadState {
    /// It has the account, or had it.
    Here,
    /// The account has to be read.
    Wanted(AccountToLoad),
    /// The account could not be read.
    Failed(Failure),
}

/// Everything needed to read an account.
#[derive(Debug)]
pub(super) struct AccountToLoad {
    shared: Arc<Shared>,
    actor_status: Arc<ActorStatus>,
    number: AccountNo,
}

impl AccountActor {
    /// The actor of an account that is read when the actor starts.
    pub fn wanted(shared: Arc<Shared>, actor_status: Arc<ActorStatus>, number: AccountNo) -> Self {
        actor_status.lent.store(true, Ordering::Release);
        Self {
            state: None,
            coming: LoadState::Wanted(AccountToLoad {
                shared,
                actor_status,
                number,
            }),
            alarm: None,
        }
    }

    /// Reads the account, and takes no message until it is there.
    pub(super) fn load(&mut self, wanted: AccountToLoad, ctx: &mut Context<Self>) {
        let AccountToLoad {
            shared,
            actor_status,
            number,
        } = wanted;
        let began = Instant::now();
        let read = read(Arc::clone(&shared), number);
        let read = wrap_future::<_, Self>(read).map(move |read, actor, ctx: &mut Context<Self>| {
            match read {
                Ok(LoadedAccount { account, left, .. }) => {
                    shared.times.activation.record(began.elapsed());
                    let profile = &actor_status.durable_profile;
                    profile.store(account.profile_seq, Ordering::Release);
                    let state = AccountState::new(shared, Arc::clone(&actor_status), account, left);
                    actor.state = Some(Box::new(state));
                    actor.begin(ctx);
                }
                Err(why) => {
                    actor_status.poison();
                    actor.coming = LoadState::Failed(why);
                }
            }
            actor_status.lent.store(false, Ordering::Release);
        });
        ctx.wait(read);
    }

    /// Refuses a message if there is no account to take it. Returns whether it was refused.
    pub(super) fn is_refused(&self, message: &mut impl HasResponder) -> bool {
        let LoadState::Failed(why) = &self.coming else {
            return false;
        };
        // A dropped message that nobody asked for reads as an unknown outcome: its sender tries again.
        if let Some(responder) = message.responder() {
            responder.refuse(why.clone());
        }
        true
    }
}

/// Reads an account off this thread, when its turn has come.
async fn read(shared: Arc<Shared>, number: AccountNo) -> Result<LoadedAccount, Failure> {
    let read = shared.loads.read(number);
    let loaded = read.await?.ok_or(Rejection::AccountNotFound)?;
    // Nothing of the account is in flight, so its open holds and transfers match its last movement.
    if !loaded.account.holds_what_is_set_apart() {
        let why = format!("account {} holds another sum than is set apart", number.0);
        return Err(StoreError::Corrupt(why.into()).into());
    }
    Ok(loaded)
}
