//! The right to make a copy of a realm: one copy at a time, of which operators see the progress and the end.

use std::sync::{Arc, Weak};

use caudal_ledger::ids::RealmId;
use caudal_ledger::rejection::Rejection;

use crate::engine::Engine;
use crate::engine::generations::{Copying, NotCopied, Progress};
use crate::failure::Failure;

/// The right to make a copy: only one is made at a time. It is free again when this is dropped.
pub(crate) struct Turn(Weak<Engine>);

impl Turn {
    /// Takes the turn, for a copy of a realm.
    ///
    /// # Errors
    /// `RestoreConflict` while another copy is made.
    pub(crate) fn take(
        engine: &Arc<Engine>,
        realm: RealmId,
        progress: &Arc<Progress>,
    ) -> Result<Self, Failure> {
        engine.copies(|known| {
            if known.as_ref().is_some_and(|it| it.ended.is_none()) {
                return Err(Rejection::RestoreConflict.into());
            }
            *known = Some(Copying {
                realm,
                number: 0,
                progress: Arc::clone(progress),
                ended: None,
            });
            Ok(Self(Arc::downgrade(engine)))
        })
    }

    /// Sets the number of the copy.
    pub(crate) fn numbered(&self, number: u32) {
        if let Some(engine) = self.0.upgrade() {
            engine.copies(|known| {
                if let Some(known) = known {
                    known.number = number;
                }
            });
        }
    }

    /// Records and logs how the copy ended.
    pub(crate) fn ends(self, realm: RealmId, number: u32, with: Result<(), NotCopied>) {
        match &with {
            Err(NotCopied::Unwanted) => {
                tracing::warn!(realm = realm.0, number, "a copy of a realm was ended");
            }
            Ok(()) => tracing::info!(realm = realm.0, number, "a copy of a realm is whole"),
            Err(why) => {
                tracing::error!(%why, realm = realm.0, number, "a copy of a realm did not become whole");
            }
        }
        self.note(with);
    }

    /// The same without a log line.
    pub(crate) fn note(&self, with: Result<(), NotCopied>) {
        let Some(engine) = self.0.upgrade() else {
            return;
        };
        engine.copies(|known| {
            if let Some(known) = known.as_mut().filter(|it| it.ended.is_none()) {
                known.ended = Some(with);
            }
        });
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.note(Err(NotCopied::Stopped));
    }
}
