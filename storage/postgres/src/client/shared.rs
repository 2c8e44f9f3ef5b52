//! The part of a handle that it shares with the thread that drives its connection: the connection, and the rules for
//! trying again.
//!
//! **Bounds.** A server that lacks something is asked again for a short time ([`Limits::short`](crate::Limits)), by an
//! owner never beyond its lease: then the caller gets an error that says nothing was done, and the owner can renew its lease.
//!
//! **Failure.** Only the server's own `ERROR` proves that nothing was done. After anything else this module does not
//! send an append again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use caudal_storage::log::{Epoch, Hash, LogError, LogId, Tail};
use caudal_storage::{CommitNo, StoreError};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::client::nodes;
use crate::client::session::{Answer, Fault, Param, Session, refusal};
use crate::client::settings::Settings;
use crate::client::sql;
use crate::opening::{Begin, NoSession};
use crate::status::{Figures, Status};

/// The first pause before another try; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(20);
/// The longest pause before another try.
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// The state that calls share with the thread that drives the connection.
pub(crate) struct Core {
    pub(crate) settings: Settings,
    pub(crate) tls: MakeRustlsConnect,
    pub(crate) status: Arc<Status>,
    pub(crate) session: Mutex<Option<Arc<Session>>>,
    /// The identity of the cell's log; `None` until it was first asked for.
    pub(crate) id: Mutex<Option<LogId>>,
    /// What the first connection does if the cell has no log.
    pub(crate) begin: Begin,
    /// Until when this handle's lease certainly lasts; `None` when it has none.
    pub(crate) lease: Mutex<Option<Instant>>,
    /// The lease that this handle last saw in the cell's row, and since when; `None` while nobody holds the cell.
    pub(crate) seen: Mutex<Option<SeenLease>>,
}

/// A lease as a handle has seen it: it runs out when its row has not changed for its length by this handle's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenLease {
    changes: i64,
    length: Duration,
    since: Instant,
}

impl SeenLease {
    /// How much longer it lasts unless it changes.
    fn left(&self) -> Duration {
        self.length.saturating_sub(self.since.elapsed())
    }
}

/// The head of a cell.
pub(crate) struct Head {
    pub(crate) epoch: Epoch,
    pub(crate) owner: Option<String>,
    pub(crate) tail: Tail,
}

impl Head {
    /// The owner of the cell, or the name for which it is kept.
    pub(crate) fn holder(&self) -> Option<Arc<str>> {
        let owner = self.owner.as_ref()?;
        Some(nodes::named(owner).0)
    }
}

impl Core {
    /// Makes the first connection: creates whatever is missing and returns the identity of the log.
    pub(crate) async fn begin(&self) -> Result<LogId, NoSession> {
        let began = Instant::now();
        let mut pause = PAUSE;
        loop {
            match self.session().await {
                Err(NoSession::Unreachable(_))
                    if began.elapsed() + pause < self.settings.limits.patience =>
                {
                    tokio::time::sleep(pause).await;
                    pause = PAUSE_MAX.min(pause * 2);
                }
                Err(why) => return Err(why),
                Ok(_) => break,
            }
        }
        let id = *lock(&self.id);
        id.ok_or_else(|| NoSession::Unfit("the log has no identity".to_owned()))
    }

    /// The open connection, or a new one.
    pub(crate) async fn session(&self) -> Result<Arc<Session>, NoSession> {
        let known = lock(&self.session).clone();
        if let Some(session) = known.filter(|session| !session.is_closed()) {
            return Ok(session);
        }
        self.drop_session();
        let session = Session::open(&self.settings, self.tls.clone(), &self.status).await?;
        self.recognise(&session).await?;
        let session = Arc::new(session);
        *lock(&self.session) = Some(Arc::clone(&session));
        Ok(session)
    }

    /// Refuses a server that has another log under the same cell; on the first connection, creates what is missing.
    async fn recognise(&self, session: &Session) -> Result<(), NoSession> {
        let known = *lock(&self.id);
        match (known, self.begin) {
            (Some(_), _) => {}
            (None, Begin::Anew) => {
                let id = drawn()?;
                session.prepare(&self.settings, &id, sql::BEGIN).await?;
            }
            (None, Begin::As(id)) => {
                session.prepare(&self.settings, &id, sql::BEGIN_AS).await?;
            }
            // Nothing may be created in a database that turns out to be another one.
            (None, Begin::Never) => {
                session.identity(&self.settings).await?;
                session.tables(self.settings.limits.answer).await?;
            }
        }
        let id = session.identity(&self.settings).await?;
        if let Begin::As(wanted) = self.begin
            && wanted != id
        {
            let why = "the database has another log for this cell already: choose an empty one";
            return Err(NoSession::Unfit(why.to_owned()));
        }
        if known.is_some_and(|known| known != id) {
            let why = "the server has another log than before for this cell";
            return Err(NoSession::Unfit(why.to_owned()));
        }
        *lock(&self.id) = Some(id);
        Ok(())
    }

    /// Notes until when the lease lasts, or that there is none.
    pub(crate) fn holds(&self, until: Option<Instant>) {
        *lock(&self.lease) = until;
    }

    /// Notes the lease in a row that was just read; returns how much longer it lasts, `None` when nobody holds the cell.
    /// The time counts from the first answer that showed this lease: its holder asked for it before that.
    pub(crate) fn saw(&self, lease_ms: Option<i64>, changes: i64) -> Option<Duration> {
        let mut seen = lock(&self.seen);
        let length = lease_ms.map(|ms| Duration::from_millis(ms.unsigned_abs()));
        *seen = length.map(|length| match *seen {
            Some(before) if before.changes == changes => before,
            Some(_) | None => SeenLease {
                changes,
                length,
                since: Instant::now(),
            },
        });
        seen.as_ref().map(SeenLease::left)
    }

    /// The count of changes at which the lease that this handle saw has run out; -1 when none has.
    pub(crate) fn ran_out(&self) -> i64 {
        let seen = *lock(&self.seen);
        seen.filter(|seen| seen.left().is_zero())
            .map_or(-1, |seen| seen.changes)
    }

    /// How long a call that began at `began` is tried again while a server lacks something.
    fn short(&self, began: Instant) -> Duration {
        let short = self.settings.limits.short;
        lock(&self.lease).map_or(short, |until| {
            let left = until.checked_duration_since(began);
            left.map_or(Duration::ZERO, |left| left.min(short))
        })
    }

    pub(crate) fn drop_session(&self) {
        *lock(&self.session) = None;
    }

    /// Checks that the server still keeps what it acknowledges.
    pub(crate) async fn check(&self) -> Result<(), LogError> {
        let most = self.settings.limits.answer;
        let found = match self.session().await {
            Ok(session) => session.check(most, &self.status).await,
            Err(why) => Err(why),
        };
        found.map_err(|why| {
            self.drop_session();
            no_session(&why)
        })
    }

    /// The head in the cell's row; notes its lease.
    pub(crate) fn head(&self, found: &Answer) -> Result<Head, LogError> {
        let row = found.rows.first().ok_or_else(|| {
            let why = "the cell is gone from caudal_cell: the database is another, or was put back";
            LogError::Read(StoreError::Corrupt(Arc::from(why)))
        })?;
        let (log, hash): (Vec<u8>, Vec<u8>) = (column(row, 0)?, column(row, 4)?);
        let known = *lock(&self.id);
        if known.is_some_and(|known| known.as_slice() != log) {
            let why = "the cell has another log than before: somebody has begun one there";
            return Err(LogError::Read(StoreError::Corrupt(Arc::from(why))));
        }
        self.saw(column(row, 5)?, column(row, 6)?);
        Ok(Head {
            epoch: Epoch(count(row, 1)?),
            owner: column(row, 2)?,
            tail: Tail {
                commit: CommitNo(count(row, 3)?),
                hash: Hash::try_from(hash.as_slice()).map_err(|_| damaged(0))?,
            },
        })
    }

    /// Runs a statement until it is done or refused, or patience runs out. A statement that must not be repeated is
    /// sent again only if it is certain that nothing was done.
    pub(crate) async fn ask(
        &self,
        repeats: bool,
        sql: &str,
        params: &[Param],
    ) -> Result<Answer, LogError> {
        let most = self.settings.limits.answer;
        let mut patience = self.settings.limits.patience;
        let began = Instant::now();
        let mut pause = PAUSE;
        loop {
            let why = match self.session().await {
                Err(why @ NoSession::Unreachable(_)) => no_session(&why),
                Err(why @ (NoSession::Unfit(_) | NoSession::Absent)) => {
                    tracing::error!(%why, "the log's server cannot be used");
                    no_session(&why)
                }
                Ok(session) => match session.ask(sql, params, most).await {
                    Ok(done) => return Ok(done),
                    Err(Fault::Refused(why)) => return Err(yet(&refusal(&why))),
                    Err(Fault::Again(why)) => yet(&why),
                    Err(Fault::Short(why)) => {
                        patience = patience.min(self.short(began));
                        yet(&why)
                    }
                    Err(Fault::Demoted(why)) => {
                        self.drop_session();
                        yet(&why)
                    }
                    Err(Fault::Broken(why)) => {
                        self.drop_session();
                        if !repeats {
                            return Err(LogError::Unknown(Arc::from(why)));
                        }
                        yet(&why)
                    }
                },
            };
            self.status.add(|figures| figures.retries += 1);
            if began.elapsed() + pause > patience {
                return Err(why);
            }
            tokio::time::sleep(pause).await;
            pause = PAUSE_MAX.min(pause * 2);
        }
    }
}

impl Status {
    /// Adds to the figures.
    pub(crate) fn add(&self, add: impl FnOnce(&mut Figures)) {
        add(&mut lock(&self.0));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn drawn() -> Result<LogId, NoSession> {
    let mut id = LogId::default();
    let filled = aws_lc_rs::rand::fill(&mut id);
    filled.map_err(|_| NoSession::Unfit("no randomness for the log's identity".to_owned()))?;
    Ok(id)
}

pub(crate) fn yet(why: &str) -> LogError {
    LogError::Yet(StoreError::Unreachable(Arc::from(why)))
}

pub(crate) fn no_session(why: &NoSession) -> LogError {
    yet(&why.to_string())
}

pub(crate) fn damaged(first: u64) -> LogError {
    LogError::Read(StoreError::Corrupt(Arc::from(format!(
        "the record of commit {first} in the log is missing, or not what was appended"
    ))))
}

pub(crate) fn column<'a, T: FromSql<'a>>(row: &'a Row, n: usize) -> Result<T, LogError> {
    row.try_get(n).map_err(|why| {
        let why = format!("the tables of the log are not those of this version: {why}");
        LogError::Read(StoreError::Corrupt(Arc::from(why)))
    })
}

pub(crate) fn count(row: &Row, n: usize) -> Result<u64, LogError> {
    u64::try_from(column::<i64>(row, n)?).map_err(|_| damaged(0))
}
