//! How answers travel: one-shot replies, and the answers that an idempotency key keeps.

use std::collections::BTreeMap;
use std::sync::Arc;

use caudal_ledger::chain::Digest;
use caudal_ledger::facts::Answer;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::time::Timestamp;
use dashmap::DashMap;
use tokio::sync::oneshot;

use crate::failure::Failure;
use crate::in_flight::Admitted;

/// The result of an order: a value, or the exact answer that its idempotency key keeps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Given<T> {
    /// A value for the door to render.
    Value(T),
    /// An answer already rendered: the first time (`again` false) or a repeat.
    Kept {
        /// The HTTP status of the answer.
        status: u16,
        /// The body of the answer, as JSON text.
        body: String,
        /// Whether this is a repeat.
        again: bool,
    },
}

/// The answer to an order: a result, or a failure.
pub type Answered<T> = Result<Given<T>, Failure>;

/// A caller who waits for an answer that may be a failure.
pub trait Responder {
    /// Whether the caller has left.
    fn has_left(&self) -> bool;

    /// Answers that nothing was done, and why.
    fn refuse(&mut self, why: Failure);
}

/// Sends one answer to a caller. If it is dropped without an answer, the caller reads an unknown outcome.
#[derive(Debug)]
pub struct Reply<T> {
    sender: Option<oneshot::Sender<T>>,
    /// The request counts as in flight until the answer is sent, even if the caller has left.
    admitted: Option<Arc<Admitted>>,
}

impl<T> Responder for Reply<Result<T, Failure>> {
    fn has_left(&self) -> bool {
        self.is_closed()
    }

    fn refuse(&mut self, why: Failure) {
        self.admitted = None;
        if let Some(sender) = self.sender.take() {
            drop(sender.send(Err(why)));
        }
    }
}

impl<T> Reply<T> {
    /// A reply and the future of its answer.
    pub fn new() -> (Self, oneshot::Receiver<T>) {
        Self::counting(None)
    }

    /// The same for a request that was let in at the door.
    pub fn counting(admitted: Option<Arc<Admitted>>) -> (Self, oneshot::Receiver<T>) {
        let (sender, receiver) = oneshot::channel();
        let sender = Some(sender);
        (Self { sender, admitted }, receiver)
    }

    /// Whether the caller has left.
    pub fn is_closed(&self) -> bool {
        self.sender.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    /// Sends the answer. If the caller has left meanwhile, the answer is dropped.
    pub fn send(self, answer: T) {
        let Self { sender, admitted } = self;
        // A caller who has the answer may ask again at once.
        drop(admitted);
        drop(sender.map(|sender| sender.send(answer)));
    }
}

/// An answer as the client gets it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rendered {
    /// The HTTP status of the answer.
    pub status: u16,
    /// The body of the answer, as JSON text.
    pub body: String,
    /// Whether the order had already been done, under another idempotency key or none.
    pub again: bool,
}

/// Turns an outcome into the client's answer. The door provides it; it is called once, in the actor's turn, so that the
/// answer is committed together with its effect.
pub type Render<T> = Box<dyn FnOnce(Result<&T, &Failure>) -> Rendered + Send>;

/// The `Idempotency-Key` of a request, and how to render its answer.
pub struct Keyed<T> {
    /// The request to which the key is bound.
    pub scope: Scope,
    /// Renders the answer that the key keeps.
    pub render: Render<T>,
}

impl<T> std::fmt::Debug for Keyed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.scope.fmt(f)
    }
}

impl<T: Send + 'static> Keyed<T> {
    /// Renders the answer of a success now, off this thread, and gives the value back: for a value whose rendering
    /// takes longer than a turn should.
    ///
    /// # Errors
    /// [`Failure::OutcomeUnknown`] when the rendering panics.
    pub async fn rendered(self, value: T) -> Result<(Self, T), Failure> {
        let Self { scope, render } = self;
        let work = tokio::task::spawn_blocking(move || (render(Ok(&value)), value));
        let (rendered, value) = work.await.map_err(|why| {
            tracing::error!(%why, "an answer could not be rendered");
            Failure::OutcomeUnknown
        })?;
        let render = Box::new(move |_: Result<&T, &Failure>| rendered);
        Ok((Self { scope, render }, value))
    }
}

/// The request to which an idempotency key is bound: method, path and the body's fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    /// The `Idempotency-Key` of the request.
    pub key: String,
    /// The HTTP method of the request.
    pub method: String,
    /// The path as requested, without query.
    pub path: String,
    /// A hash of each field of the body.
    pub fields: BTreeMap<String, Digest>,
}

impl Scope {
    /// The answer of a request in this scope; `status` 0 while its outcome is open.
    pub fn answer(
        &self,
        (status, body): (u16, String),
        at: Timestamp,
        account: Option<AccountNo>,
    ) -> Answer {
        Answer {
            key: self.key.clone(),
            method: self.method.clone(),
            path: self.path.clone(),
            fields: self.fields.clone(),
            status,
            body,
            at,
            account,
            rest: None,
        }
    }

    /// The fields of the body that differ from those of a kept answer.
    pub fn differing(&self, kept: &Answer) -> Vec<String> {
        let names: std::collections::BTreeSet<_> =
            self.fields.keys().chain(kept.fields.keys()).collect();
        let differs = |name: &&&String| self.fields.get(**name) != kept.fields.get(**name);
        names
            .iter()
            .filter(differs)
            .map(|name| (**name).clone())
            .collect()
    }
}

/// Names of a realm that one request at a time may claim; a claim ends when its guard is dropped.
#[derive(Clone, Debug, Default)]
pub struct Claims(Arc<DashMap<(RealmId, Vec<u8>), Claim, foldhash::fast::RandomState>>);

#[derive(Clone, Copy, Debug)]
struct Claim {
    owner: Option<AccountNo>,
    count: usize,
}

/// A claim that is held; several requests of one owner may share it.
#[derive(Debug)]
pub struct ClaimGuard {
    claims: Claims,
    key: (RealmId, Vec<u8>),
}

impl Claims {
    /// How many claims of a realm are held.
    #[cfg(test)]
    pub(crate) fn held(&self, realm: RealmId) -> usize {
        self.0.iter().filter(|claim| claim.key().0 == realm).count()
    }

    /// Claims `name` for a request, or `None` if it is claimed. Requests of one `owner` share a claim.
    pub fn claim(
        &self,
        realm: RealmId,
        name: Vec<u8>,
        owner: Option<AccountNo>,
    ) -> Option<ClaimGuard> {
        let key = (realm, name);
        let mut claim = self
            .0
            .entry(key.clone())
            .or_insert(Claim { owner, count: 0 });
        if claim.count > 0 && (owner.is_none() || claim.owner != owner) {
            return None;
        }
        claim.count += 1;
        drop(claim);
        Some(ClaimGuard {
            claims: self.clone(),
            key,
        })
    }
}

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        self.claims.0.remove_if_mut(&self.key, |_, claim| {
            claim.count -= 1;
            claim.count == 0
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_shared_by_one_owner_and_ends_with_its_last_guard() {
        let claims = Claims::default();
        let claim =
            |owner: Option<u64>| claims.claim(RealmId(1), b"x".to_vec(), owner.map(AccountNo));
        let first = claim(Some(1)).unwrap();
        let second = claim(Some(1)).unwrap();
        assert!(claim(Some(2)).is_none() && claim(None).is_none());
        drop(first);
        assert!(claim(Some(2)).is_none());
        drop(second);
        let alone = claim(None).unwrap();
        assert!(claim(Some(1)).is_none() && claim(None).is_none());
        drop(alone);
        assert!(claims.0.is_empty());
    }
}
