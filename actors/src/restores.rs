//! Takes one realm back to an instant while it and all others go on.
//!
//! **Shape.** What is copied is another generation of the realm ([`caudal_ledger::tenants::restores`]). A copy begins by a
//! fact of the platform. Then the journal is read from its beginning, and what the realm has in it up to the instant is
//! appended once more, under the number of the new generation, whole commits in their order. What was appended is read
//! again and compared by a digest over all of it, and its ledger is verified like the whole store's
//! ([`crate::verify`]). Only then a fact says that the copy is whole. To switch is another order: the realm rests, one
//! fact puts the generation into force, the realm is loaded from it. To go back is to switch to the number before.
//!
//! What follows the generation in force, because it asks [`crate::cells`]: the realm's actors, their claims and what keys
//! keep, lists and pages, the feed and its ids, webhooks and how far they have come, the meter, sums of the treasury,
//! reconciliation, references of the bank ([`crate::cells::Cells::find`]), and the verification of one account or of the actors. What
//! sees all generations as they lie: verification of the store, backup, the journal. What asks the platform: exports,
//! which take the one in force at their end; streams of events, which end when another one comes into force. What no
//! generation has: the tenant, its limits, its keys and relations to banks, people and the audit log; those stay as
//! they are.
//!
//! **Bounds.** Those of [`crate::copying`], at its ease. The journal is never trimmed, so it has all of the realm. A copy lies in the
//! cell of the generation that is copied.
//!
//! **Order.** A commit of which an entry is later than the instant ends the copy, and so does the commit at which it was
//! begun: what is copied is a beginning of what the realm did. While the switch is under way nothing of the realm acts,
//! and its orders are refused, nothing done. Until the outcome of that fact is known the realm rests.
//!
//! **Failure.** A copy that is cut off, or fails, is seen by nobody. Begun again with the same instant it goes on behind
//! what is there. After the switch nothing is ordered of the bank before its list was looked through from the last event
//! of the generation on, as after a start, so what it did since is taken in ([`crate::lookout`], with its bound of days);
//! what leaves the realm is held ([`crate::hold`]) until an operator releases it.

use std::sync::Arc;

use caudal_ledger::ids::Mode;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::restores::RestoreStep;
use caudal_ledger::tenants::{Copied, Generation};
use caudal_ledger::time::Timestamp;

use crate::copying::{Copy, Errand, Place, Turn};
use crate::engine::Engine;
use crate::engine::generations::{NotCopied, Progress};
use crate::failure::Failure;
use crate::platform::PlatformOrder;

/// Begins to copy a realm as it was at an instant, or goes on with it; the number of its generation. The copy is made
/// after the answer, on a thread of its own. Must be called inside an actix system.
///
/// # Errors
/// Those of every door; a tenant that is not, an instant that cannot be, a realm that is being filled, and
/// `RestoreConflict` while another copy is made. The very copy that is made is no error: it goes on.
pub async fn begin(
    engine: &Arc<Engine>,
    id: &str,
    mode: Mode,
    at: Timestamp,
) -> Result<u32, Failure> {
    let platform = engine.platform();
    let realm = platform.tenant(id)?.realm(mode);
    let made = engine.copying().filter(|it| it.goes_on_with(realm));
    if let (Some(made), Some(number)) = (made, platform.unused(realm, at))
        && made.number == number
    {
        return Ok(number);
    }
    let from = platform.generations(realm).map_or(0, |it| it.at(at));
    let cell = platform.cell_of(realm, from);
    let store = engine.cells().cell(cell).ok_or(Failure::Bug)?;
    let until = store.applied().0;
    let step = RestoreStep::Begin { at, until };
    let order = move |id: String, step| PlatformOrder::Restore { id, mode, step };
    // What is refused does not take the place of what is known of the last copy.
    platform.decide(order(id.to_owned(), step), engine.now())?;
    let progress = Arc::new(Progress::default());
    let turn = Turn::take(engine, realm, &progress)?;
    let platform = engine.administer(order(id.to_owned(), step)).await?;
    let number = platform.unused(realm, at).ok_or(Failure::Bug)?;
    let known = platform.generations(realm).and_then(|it| it.copy(number));
    let Generation { point, copied, .. } = *known.ok_or(Failure::Bug)?;
    turn.numbered(number);
    if point.from != from {
        // Another one came into force in between, and what was asked was another cell's.
        return Err(Rejection::RestoreConflict.into());
    }
    if copied.is_some() {
        turn.note(Ok(()));
        return Ok(number);
    }
    let place = |generation| Place {
        store: Arc::clone(store),
        lies: realm.under(generation),
    };
    let errand = Errand {
        source: place(point.from),
        target: place(number),
        from: platform.behind_of(realm, point.from),
        at: point.at,
        // The copy was begun when its cell had this commit.
        behind: point.until,
    };
    let copy = Copy::new(errand, engine, progress);
    let engine = Arc::downgrade(engine);
    let id = id.to_owned();
    actix::spawn(async move {
        let done = tokio::task::spawn_blocking(move || copied_whole(copy, point.until)).await;
        let done = done.unwrap_or_else(|why| Err(NotCopied::Failed(why.to_string())));
        let ended = match (done, engine.upgrade()) {
            (Ok(copied), Some(engine)) => {
                let step = RestoreStep::End { number, copied };
                let ended = engine.administer(order(id, step)).await;
                ended.map_err(|why| NotCopied::Failed(why.to_string()))
            }
            (Ok(_), None) => Err(NotCopied::Stopped),
            (Err(why), _) => Err(why),
        };
        turn.ends(realm, number, ended.map(drop));
    });
    Ok(number)
}

/// All of a copy: what it came to.
fn copied_whole(mut copy: Copy, until: u64) -> Result<Copied, NotCopied> {
    copy.append(until)?;
    let copied = copy.compared()?;
    copy.verified()?;
    Ok(copied)
}
