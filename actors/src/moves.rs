//! Moves a realm into another cell while it and all other realms keep working.
//!
//! **Shape.** A move makes another generation of the realm ([`caudal_ledger::tenants::cells`]), a copy of its whole
//! history ([`crate::copying`]). A fact of the platform begins it. The existing history is copied at low speed,
//! compared and verified. Then the entries written since are copied at full speed, again and again, until little is
//! left ([`TAIL`]), or until more rounds do not leave less ([`Chase`]). For the rest the realm stops and its requests
//! wait ([`crate::engine`], `moving`). That part is compared, too, and one fact records the result and puts the copy
//! into force. The old generation stays where it is, under its number, and is invisible.
//!
//! Everything that follows the generation in force moves with it ([`crate::restores`] has the list). The history stays
//! the same ([`crate::cells::Cells::history`]): events keep their numbers, since the copy has the order of the journal,
//! and streams, pages and cursors stay valid. Nothing is held, and nothing changes for clients.
//!
//! **Bounds.** Those of [`crate::copying`]; at most [`ROUNDS`] rounds to come near the end, and [`LAST`] for the part
//! that is copied while the realm is stopped. The accounts' rows at rest are copied, too, so loading an account costs
//! as much in the new cell as in the old one.
//!
//! **Order.** The old place is closed first: its realm rests, and its last commit has ended, before the last part of it
//! is read. A late write of a copy ends before another move may continue the copy. The node that moves a realm owns the
//! first cell. If other nodes own the old or the new cell, this node reads what it has applied of these cells; the
//! owner of the old cell reports when the realm rests, and the owner of the new one appends ([`crate::elsewhere`]). The
//! rules for a node that loses a cell are in [`crate::engine`], `moving`.
//!
//! **Failure.** If the move ends before the fact that puts the copy into force, the realm is where it was, and another
//! move into the same cell continues the copy; after that fact, the realm is in its new cell. A copy that is found to
//! differ from the realm is given up: the next move begins another.

use std::sync::Arc;
use std::time::{Duration, Instant};

use caudal_ledger::ids::{Mode, RealmId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::Generation;
use caudal_ledger::tenants::cells::MoveStep;
use caudal_ledger::time::Timestamp;
use tokio::sync::oneshot;

use crate::copying::{Copy, Errand, Place, Turn, placed};
use crate::elsewhere::Elsewhere;
use crate::engine::Engine;
use crate::engine::generations::{NotCopied, Progress};
use crate::failure::Failure;
use crate::platform::PlatformOrder;

/// Once copying the latest entries took no longer than this, the realm can stop for the rest.
const TAIL: Duration = Duration::from_millis(200);
/// How many rounds try to get that close to the end.
const ROUNDS: u32 = 50;
/// After this many rounds in a row that were not shorter by a quarter, further rounds would be in vain: a round that
/// only waits for the store of the new cell takes as long for one entry as for a hundred.
const IN_VAIN: u32 = 3;
/// The longest that the last round may have taken: clients should not have to wait longer than that.
const TAIL_MOST: Duration = Duration::from_secs(2);
/// How long copying the rest may take while the realm is stopped; after that the realm continues in its
/// old cell.
const LAST: Duration = Duration::from_secs(3);

/// Begins to move a realm into a cell, or continues the move; does nothing if the realm already lies there. The work is
/// done after the answer. Must be called inside an actix system.
///
/// # Errors
/// Those of every door; a tenant or a cell that does not exist, a realm that is being filled, and `RestoreConflict`
/// while another copy is made. Repeating the move under way is no error: it goes on.
pub async fn begin(
    engine: &Arc<Engine>,
    (id, mode): (&str, Mode),
    cell: u32,
    elsewhere: Option<Arc<dyn Elsewhere>>,
) -> Result<(), Failure> {
    let platform = engine.platform();
    let realm = platform.tenant(id)?.realm(mode);
    let target = engine.cells().cell(cell).map(Arc::clone);
    let target = target.ok_or(Rejection::CellNotFound)?;
    let step = MoveStep::Begin {
        cell,
        behind: target.applied().0,
        anew: cannot_go_on(engine, realm, cell),
    };
    let order = move |id: String, step| PlatformOrder::Move { id, mode, step };
    let far = engine.rests(cell) || engine.rests_for(realm);
    if engine.is_at_rest() || far && elsewhere.is_none() {
        return Err(Failure::ShuttingDown);
    }
    // A refused order does not replace the state of the last copy.
    platform.decide(order(id.to_owned(), step), engine.now())?;
    let made = engine.copying().filter(|it| it.goes_on_with(realm));
    let same = made.is_some_and(|it| platform.moving(realm, cell) == Some(it.number));
    if same {
        return Ok(());
    }
    if platform.standing(realm).cell == cell {
        // The realm may rest there because it could not be loaded.
        return engine.resumed_in_turn(realm).await;
    }
    let progress = Arc::new(Progress::default());
    let turn = Turn::take(engine, realm, &progress)?;
    let platform = engine.administer(order(id.to_owned(), step)).await?;
    let number = platform.moving(realm, cell);
    let known = platform.generations(realm);
    let copy = number.and_then(|number| Some((number, *known?.copy(number)?)));
    let (number, made) = copy.ok_or(Rejection::RestoreConflict)?;
    let lies = realm.under(number);
    let target = placed(engine, (cell, lies), target, elsewhere.as_ref()).await?;
    turn.numbered(number);
    let from = platform.cell_of(realm, made.point.from);
    let target = Place {
        store: target,
        lies,
    };
    let copy = Copy::new(errand(engine, realm, &made, target)?, engine, progress);
    let (engine, id) = (Arc::downgrade(engine), id.to_owned());
    actix::spawn(async move {
        let ahead = tokio::task::spawn_blocking(move || near(realm, copy)).await;
        let ahead = ahead.unwrap_or_else(|why| Err(NotCopied::Failed(why.to_string())));
        let ended = match (ahead, engine.upgrade()) {
            (Ok(copy), Some(engine)) => {
                let (working, worked) = oneshot::channel();
                let leave = order(id.clone(), MoveStep::Leave { number });
                let stay = order(id.clone(), MoveStep::Stay { number });
                let last = last((copy, working), move |step| order(id, step), number);
                let since = Instant::now();
                let far = elsewhere.map(|elsewhere| (elsewhere, number));
                let moved = engine.moves((realm, far), (leave, stay), last).await;
                note(realm, (from, cell), since, moved.is_ok());
                // Pending writes of the copy end before another move may continue it.
                drop(worked.await);
                moved.map(drop)
            }
            (Ok(_), None) => Err(NotCopied::Stopped),
            (Err(why), _) => Err(why),
        };
        turn.ends(realm, number, ended);
    });
    Ok(())
}

/// The source, the target and the bounds of a move's copy.
fn errand(
    engine: &Engine,
    realm: RealmId,
    made: &Generation,
    target: Place,
) -> Result<Errand, Failure> {
    let (platform, from) = (engine.platform(), made.point.from);
    let cell = platform.cell_of(realm, from);
    let source = engine.cells().cell(cell).map(Arc::clone);
    let source = Place {
        store: source.ok_or(Rejection::CellNotFound)?,
        lies: realm.under(from),
    };
    Ok(Errand {
        source,
        target,
        from: platform.behind_of(realm, from),
        at: Timestamp::from_millis(u64::MAX),
        behind: made.behind.ok_or(Failure::Bug)?,
    })
}

/// Whether the existing copy of the move was found to differ from the realm: after a restore the copy may hold entries
/// that the realm has lost.
fn cannot_go_on(engine: &Engine, realm: RealmId, cell: u32) -> bool {
    let begun = engine.platform().moving(realm, cell);
    let last = engine.copying().filter(|it| it.realm == realm);
    last.is_some_and(|it| Some(it.number) == begun && it.ended == Some(Err(NotCopied::Differs)))
}

fn note(realm: RealmId, (from, to): (u32, u32), since: Instant, moved: bool) {
    let waited_ms = since.elapsed().as_millis();
    if moved {
        tracing::warn!(realm = realm.0, from, to, waited_ms, "a realm was moved");
    }
}

/// Copies, compares and verifies everything that exists, and then catches up with new entries until little is left.
fn near(realm: RealmId, mut copy: Copy) -> Result<Copy, NotCopied> {
    let began = Instant::now();
    copy.catch_up()?;
    let compared_ms = began.elapsed().as_millis();
    copy.verified()?;
    let verified_ms = began.elapsed().as_millis();
    copy.carry()?;
    tracing::info!(
        realm = realm.0,
        compared_ms,
        verified_ms,
        carried_ms = began.elapsed().as_millis(),
        "all that a realm had is in another cell, and right"
    );
    copy.hurry();
    let mut chase = Chase::default();
    loop {
        let since = Instant::now();
        copy.catch_up()?;
        match chase.took(since.elapsed()) {
            Nearness::Far => {}
            Nearness::Near => return Ok(copy),
            Nearness::Never(took) => {
                return Err(NotCopied::Behind {
                    millis: took.as_millis(),
                });
            }
        }
    }
}

/// How near a copy has come to a realm that goes on writing.
enum Nearness {
    /// Another round may leave less.
    Far,
    /// The realm can stop for the rest.
    Near,
    /// All rounds are over, and the last one took too long for clients to wait.
    Never(Duration),
}

/// The rounds of a copy that follows a realm: each copies what was written during the one before.
#[derive(Default)]
struct Chase {
    rounds: u32,
    /// How long the last round took that was shorter by a quarter than the one noted before it.
    noted: Option<Duration>,
    /// The rounds since.
    in_vain: u32,
}

impl Chase {
    /// Notes how long a round took.
    fn took(&mut self, took: Duration) -> Nearness {
        self.rounds += 1;
        match self.noted.is_none_or(|noted| took < noted / 4 * 3) {
            true => (self.noted, self.in_vain) = (Some(took), 0),
            false => self.in_vain += 1,
        }
        let over = self.rounds >= ROUNDS;
        match took {
            _ if took <= TAIL => Nearness::Near,
            _ if took <= TAIL_MOST && (over || self.in_vain >= IN_VAIN) => Nearness::Near,
            _ if over => Nearness::Never(took),
            _ => Nearness::Far,
        }
    }
}

/// Copies the last part, while the realm rests. Returns the order that puts the copy into force. `working` is dropped
/// once nothing more is copied, which may be after the return: only the copy waits for a store that does not answer,
/// not the realm.
async fn last(
    (mut copy, working): (Copy, oneshot::Sender<()>),
    order: impl FnOnce(MoveStep) -> PlatformOrder,
    number: u32,
) -> Result<PlatformOrder, NotCopied> {
    let done = tokio::task::spawn_blocking(move || {
        let _working = working;
        copy.ends_within(LAST);
        copy.catch_up()
    });
    let done = tokio::time::timeout(LAST, done).await;
    let done = done.map_err(|_| NotCopied::Behind {
        millis: LAST.as_millis(),
    })?;
    let (copied, commit) = done.unwrap_or_else(|why| Err(NotCopied::Failed(why.to_string())))?;
    Ok(order(MoveStep::End {
        number,
        copied,
        commit,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The round after which the realm stops, or `None` where the move is given up.
    fn rounds(millis: &[u64]) -> Option<usize> {
        let mut chase = Chase::default();
        for (round, took) in (1..).zip(millis.iter().cycle()) {
            match chase.took(Duration::from_millis(*took)) {
                Nearness::Far => {}
                Nearness::Near => return Some(round),
                Nearness::Never(_) => return None,
            }
        }
        None
    }

    #[test]
    fn a_realm_stops_once_little_is_left_or_more_rounds_leave_no_less() {
        for (took, expected) in [
            (&[150][..], Some(1)),
            (&[9000, 900, 100], Some(3)),
            // A store that takes half a second for each commit, however little is in it.
            (&[3000, 500, 480, 510, 490], Some(5)),
            (&[500], Some(4)),
            // As long as the rounds get shorter, the copy goes on.
            (&[770, 620, 500, 400, 320, 260, 205, 160], Some(8)),
            // The rounds take too long for clients to wait: the copy goes on, in vain or not.
            (&[4000, 4000, 4000, 4000, 4000, 1500], Some(12)),
            (&[4000], None),
        ] {
            assert_eq!(rounds(took), expected, "{took:?}");
        }
    }
}
