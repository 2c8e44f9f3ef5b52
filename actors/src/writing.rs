//! Turns that end when their decision is on disk.

use std::sync::Arc;

use actix::fut::{ActorFutureExt as _, wrap_future};
use actix::{Actor, AsyncContext as _, Context};
use caudal_storage::{Commit, Store, StoreError};
use tokio::sync::oneshot;

use crate::failure::Failure;

/// Submits a commit, and lets the actor take no other turn until it is on disk or refused; then calls `then`. For
/// actors that are rarely used, so that their memory always equals what is written.
pub(crate) fn write_then<A: Actor<Context = Context<A>>>(
    store: &Arc<dyn Store>,
    ctx: &mut Context<A>,
    commit: Commit,
    then: impl FnOnce(Result<(), Failure>, &mut A) + 'static,
) {
    let (sender, durable) = oneshot::channel();
    // If the actor has stopped, nothing reads the reply.
    store.submit(commit, Box::new(move |done| drop(sender.send(done))));
    let wait = wrap_future::<_, A>(durable);
    ctx.wait(wait.map(move |done, actor, _| {
        let done = done.unwrap_or(Err(StoreError::Closed));
        then(done.map(drop).map_err(Failure::from), actor);
    }));
}
