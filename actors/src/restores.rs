//! Restores one realm to an instant while it and all other realms keep working.
//!
//! **Shape.** The copy is another generation of the realm ([`caudal_ledger::tenants::restores`]). A fact of the
//! platform begins it. Then the journal is read from its beginning, and the realm's entries up to the instant are
//! appended once more, under the number of the new generation, in whole commits and in the same order. The appended
//! entries are read again and compared by a digest over all of them, and the copy's ledger is verified like that of a
//! whole store ([`crate::verify`]). Only then a fact states that the copy is complete. The switch is a separate order:
//! the realm stops, one fact puts the generation into force, and the realm is loaded from it. To go back, switch to the
//! previous number.
//!
//! These follow the generation in force, because they ask [`crate::cells`]: the realm's actors, their claims and the
//! kept answers of keys, lists and pages, the feed and its ids, webhooks and their progress, the meter, sums of the
//! treasury, reconciliation, references of the bank ([`crate::cells::Cells::find`]), and the verification of one
//! account or of the actors. These see all generations as they are stored: verification of the store, backup, the
//! journal. These ask the platform: exports, which take the generation in force at their end; streams of events, which
//! end when another one comes into force. These belong to no generation and stay as they are: the tenant, its limits,
//! its keys and relations to banks, people and the audit log.
//!
//! **Bounds.** Those of [`crate::copying`] at low speed. The journal is never trimmed, so it has all of the realm. A
//! copy lies in the cell of the generation that is copied.
//!
//! **Order.** The copy ends before the first commit with an entry later than the instant, or at the commit at which the
//! copy was begun: it is a prefix of the realm's history. During the switch the realm is stopped and its orders are
//! refused with nothing done. The realm stays stopped until the outcome of the fact is known.
//!
//! **Failure.** A copy that is interrupted or fails is invisible. Begun again with the same instant, it continues from
//! its end. After the switch nothing is ordered from the bank until its list has been read from the generation's last
//! event on, as after a start, so that everything that the bank did since is recorded ([`crate::lookout`], with its
//! bound of days). The realm's departures are held ([`crate::hold`]) until an operator releases them.

use std::sync::Arc;

use caudal_ledger::ids::Mode;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::restores::RestoreStep;
use caudal_ledger::tenants::{Copied, Generation};
use caudal_ledger::time::Timestamp;

use crate::copying::{Copy, Errand, Place, Turn, placed};
use crate::elsewhere::Elsewhere;
use crate::engine::Engine;
use crate::engine::generations::{NotCopied, Progress};
use crate::failure::Failure;
use crate::platform::PlatformOrder;

/// Begins to copy a realm as it was at an instant, or continues the copy. Returns the number of its generation. The
/// copy is made after the answer, on a thread of its own. Must be called inside an actix system.
///
/// # Errors
/// Those of every door; a tenant that does not exist, an impossible instant, a realm that is being filled, and
/// `RestoreConflict` while another copy is made. Repeating the order of the copy under way is no error: it goes on.
pub async fn begin(
    engine: &Arc<Engine>,
    (id, mode): (&str, Mode),
    at: Timestamp,
    elsewhere: Option<Arc<dyn Elsewhere>>,
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
    if let Some(elsewhere) = elsewhere.as_ref().filter(|_| engine.rests(cell)) {
        // The realm's state at the instant is read here.
        elsewhere.level(cell).await?;
    }
    let until = store.applied().0;
    let step = RestoreStep::Begin { at, until };
    let order = move |id: String, step| PlatformOrder::Restore { id, mode, step };
    // A refused order does not replace the state of the last copy.
    platform.decide(order(id.to_owned(), step), engine.now())?;
    let progress = Arc::new(Progress::default());
    let turn = Turn::take(engine, realm, &progress)?;
    let platform = engine.administer(order(id.to_owned(), step)).await?;
    let number = platform.unused(realm, at).ok_or(Failure::Bug)?;
    let known = platform.generations(realm).and_then(|it| it.copy(number));
    let Generation { point, copied, .. } = *known.ok_or(Failure::Bug)?;
    turn.numbered(number);
    if point.from != from {
        // Another generation came into force in between, and the cell that was brought up to date may be another one.
        return Err(Rejection::RestoreConflict.into());
    }
    if copied.is_some() {
        turn.note(Ok(()));
        return Ok(number);
    }
    let lies = realm.under(number);
    let target = placed(engine, (cell, lies), Arc::clone(store), elsewhere.as_ref()).await?;
    let errand = Errand {
        source: Place {
            store: Arc::clone(store),
            lies: realm.under(point.from),
        },
        target: Place {
            store: target,
            lies,
        },
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

/// Makes the whole copy. Returns its digest.
fn copied_whole(mut copy: Copy, until: u64) -> Result<Copied, NotCopied> {
    copy.append(until)?;
    let copied = copy.compared()?;
    copy.verified()?;
    Ok(copied)
}
