//! Loading: an account's actor is started before its account has been read.
//!
//! **Shape.** The supervisor starts the actor and goes on; the account is read on a thread that does
//! nothing else, and the actor begins when it is there.
//!
//! **Bounds.** Those of [`crate::loads`]; an account waits for its turn with what its mailbox holds.
//!
//! **Order.** What is sent meanwhile waits in the mailbox, in its order. An actor that loads is lent:
//! nobody sends it away.
//!
//! **Failure.** An account that is not there or cannot be read refuses what waits for it, and says why.
//! Its actor is in doubt from then on, so the next order has the account read again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use actix::fut::{ActorFutureExt as _, wrap_future};
use actix::{ActorContext as _, AsyncContext as _, Context};
use caudal_ledger::ids::AccountNo;
use caudal_ledger::rejection::Rejection;
use caudal_storage::StoreError;

use super::{AccountActor, AccountMessage, Desk};
use crate::failure::Failure;
use crate::mailbox::Asked as _;
use crate::records::reads::Loaded;
use crate::scribe::Shared;
use crate::vitals::Vitals;

/// How an actor comes to its account.
#[derive(Debug)]
pub(super) enum Coming {
    /// It has it, or had it.
    Here,
    /// It has to be read.
    Wanted(Wanted),
    /// It could not be read.
    Failed(Failure),
}

/// What it takes to read an account.
#[derive(Debug)]
pub(super) struct Wanted {
    shared: Arc<Shared>,
    vitals: Arc<Vitals>,
    number: AccountNo,
}

impl AccountActor {
    /// The actor of an account that is read when it starts.
    pub fn wanted(shared: Arc<Shared>, vitals: Arc<Vitals>, number: AccountNo) -> Self {
        vitals.lent.store(true, Ordering::Release);
        Self {
            desk: None,
            coming: Coming::Wanted(Wanted {
                shared,
                vitals,
                number,
            }),
            alarm: None,
        }
    }

    /// Has the account read, and takes no message until it is there.
    pub(super) fn load(&mut self, wanted: Wanted, ctx: &mut Context<Self>) {
        let Wanted {
            shared,
            vitals,
            number,
        } = wanted;
        let began = Instant::now();
        let read = read(Arc::clone(&shared), number);
        let read = wrap_future::<_, Self>(read).map(move |read, actor, ctx: &mut Context<Self>| {
            match read {
                Ok(Loaded { account, left, .. }) => {
                    shared.times.activation.record(began.elapsed());
                    let profile = &vitals.durable_profile;
                    profile.store(account.profile_seq, Ordering::Release);
                    let desk = Desk::new(shared, Arc::clone(&vitals), account, left);
                    actor.desk = Some(Box::new(desk));
                    actor.begin(ctx);
                }
                Err(why) => {
                    vitals.doubt();
                    actor.coming = Coming::Failed(why);
                }
            }
            vitals.lent.store(false, Ordering::Release);
        });
        ctx.wait(read);
    }

    /// Refuses a message if there is no account to take it; gives it back otherwise.
    pub(super) fn without_account(
        &self,
        mut message: AccountMessage,
        ctx: &mut Context<Self>,
    ) -> Option<AccountMessage> {
        let Coming::Failed(why) = &self.coming else {
            return Some(message);
        };
        if matches!(message, AccountMessage::Passivate) {
            ctx.stop();
        } else if let Some(asker) = message.asker() {
            asker.refuse(why.clone());
        }
        // What nobody asked, dropped, reads as an unknown outcome: whoever brought it comes again.
        None
    }
}

/// Reads an account off this thread, when it is its turn.
async fn read(shared: Arc<Shared>, number: AccountNo) -> Result<Loaded, Failure> {
    let read = shared.loads.read(number);
    let loaded = read.await?.ok_or(Rejection::AccountNotFound)?;
    // Nothing of it is in flight, so that what is open is as of its last movement.
    if !loaded.account.holds_what_is_set_apart() {
        let why = format!("account {} holds another sum than is set apart", number.0);
        return Err(StoreError::Corrupt(why.into()).into());
    }
    Ok(loaded)
}
