//! The log itself: blocking calls over a connection that is driven by a thread of its own.
//!
//! **Order.** One call at a time. Calls that can be repeated are retried on new connections until
//! their deadline; an append is sent once, and an unknown outcome is reported.
//!
//! **Failure.** After an append of unknown outcome the connection is dropped, and the next call goes to whichever
//! server takes writes then.

use std::fmt;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use caudal_storage::log::nodes::{NAME_KEPT, NODES_MAX, OFFER, RESERVED};
use caudal_storage::log::{ClusterView, Epoch, Log, LogError, LogId, Presence, Sealed, Tail};
use caudal_storage::{CommitNo, StoreError};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Row;

use crate::client::body;
use crate::client::nodes;
use crate::client::session::{Answer, Param};
use crate::client::settings::Settings;
use crate::client::shared::{Core, Head, column, count, damaged};
use crate::client::sql;
use crate::client::tls;
use crate::opening::{Begin, NoSession, OpenedLog};
use crate::status::{Figures, Status};

/// How many records are read at a time.
const PAGE: i64 = 16;

/// Opens the log that settings name. A server that may lose what it acknowledges is refused.
///
/// # Errors
/// When no server takes writes within the patience of the settings, a server is unfit, or the cell has no log or another
/// one, and `begin` does not allow that.
pub fn open(settings: Settings, begin: Begin) -> Result<OpenedLog, NoSession> {
    let log = PostgresLog::connect(settings, begin)?;
    Ok(OpenedLog {
        status: log.status(),
        log: Box::new(log),
    })
}

/// A handle to the log of one cell.
pub struct PostgresLog {
    core: Arc<Core>,
    runtime: Option<Runtime>,
    id: LogId,
}

impl PostgresLog {
    /// As [`open`].
    pub(crate) fn connect(settings: Settings, begin: Begin) -> Result<Self, NoSession> {
        let tls = tls::connector(&settings).map_err(NoSession::Unfit)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("caudal-log")
            .enable_all()
            .build()
            .map_err(|why| NoSession::Unfit(format!("starting the log's thread: {why}")))?;
        let core = Arc::new(Core {
            settings,
            tls,
            status: Arc::default(),
            session: Mutex::default(),
            id: Mutex::default(),
            begin,
            lease: Mutex::default(),
            seen: Mutex::default(),
        });
        let begun = Arc::clone(&core);
        let opened = wait(&runtime, async move { begun.begin().await });
        let id = match opened {
            Some(Ok(id)) => id,
            Some(Err(why)) => {
                runtime.shutdown_background();
                return Err(why);
            }
            None => return Err(NoSession::Unfit("the log's thread is gone".to_owned())),
        };
        let log = Self {
            core,
            runtime: Some(runtime),
            id,
        };
        log.tell();
        Ok(log)
    }

    /// The figures of this handle; they stay readable after the handle was given away.
    pub(crate) fn status(&self) -> Arc<Status> {
        Arc::clone(&self.core.status)
    }

    fn tell(&self) {
        let Figures { standbys, .. } = self.core.status.figures();
        let place = self.core.settings.place();
        if standbys == 0 {
            tracing::warn!(
                place,
                "the log is on one server without a synchronous standby: there is one copy of it, and this \
                 machine's journal"
            );
        } else {
            tracing::info!(place, standbys, "the log is on PostgreSQL");
        }
    }

    fn cell(&self) -> Param {
        Param::Int(self.core.settings.cell.into())
    }

    /// Runs `work` on the log's thread and waits for it.
    fn wait<T, W>(&self, work: impl FnOnce(Arc<Core>) -> W) -> Result<T, LogError>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, LogError>> + Send + 'static,
    {
        let work = work(Arc::clone(&self.core));
        let done = self
            .runtime
            .as_ref()
            .and_then(|runtime| wait(runtime, work));
        done.unwrap_or_else(|| Err(LogError::Lost(Arc::from("the log's thread is gone"))))
    }

    /// Runs a statement that may be repeated ([`Core::ask`]).
    fn ask(&self, sql: &'static str, params: Vec<Param>) -> Result<Answer, LogError> {
        self.wait(move |core| async move { core.ask(true, sql, &params).await })
    }

    fn head(&self) -> Result<Head, LogError> {
        self.core.head(&self.ask(sql::HEAD, vec![self.cell()])?)
    }

    /// The bytes of a page of records, from the first one that begins at or after `from`.
    fn page(&self, from: i64) -> Result<Vec<Vec<u8>>, LogError> {
        let params = vec![self.cell(), Param::Int(from), Param::Int(PAGE)];
        let found = self.ask(sql::PAGE, params)?;
        found.rows.iter().map(kept).collect()
    }

    /// The first commit of the record with which reading from `from` begins.
    fn begins(&self, from: CommitNo) -> Result<i64, LogError> {
        let params = vec![self.cell(), number(from.0)?];
        let found = self.ask(sql::BEGINS, params)?;
        found.rows.first().map_or(Ok(0), |row| column(row, 0))
    }

    /// Takes the cell for an owner if nobody holds it, or if it is kept under `kept`.
    fn take(&self, owner: String, kept: String, length: Duration) -> Result<Epoch, LogError> {
        let params = vec![
            self.cell(),
            Param::Text(owner),
            millis(length)?,
            Param::Text(kept),
            Param::Bytes(self.id.to_vec()),
            Param::Int(self.core.ran_out()),
        ];
        let found = self.ask(sql::ACQUIRE, params)?;
        match found.rows.first() {
            Some(row) => Ok(Epoch(count(row, 0)?)),
            None => Err(LogError::Held {
                address: self.head()?.holder(),
            }),
        }
    }

    /// The reason why an append touched nothing.
    fn condition(&self, epoch: Epoch, record: &Sealed<'_>) -> Result<LogError, LogError> {
        let head = self.head()?;
        Ok(if head.epoch == epoch && epoch != Epoch(0) {
            LogError::Gap {
                tail: head.tail,
                offered: record.first_commit(),
            }
        } else {
            LogError::Deposed { epoch: head.epoch }
        })
    }
}

impl Log for PostgresLog {
    fn id(&self) -> LogId {
        self.id
    }

    fn acquire(&mut self, owner: &str, length: Duration) -> Result<Epoch, LogError> {
        let asked = Instant::now();
        self.core.holds(None);
        // If the answer to the first try is lost, its lease has to expire first.
        let epoch = self.take(owner.to_owned(), nodes::kept_for(owner), length)?;
        self.core.holds(asked.checked_add(length));
        Ok(epoch)
    }

    fn reserve(&mut self, name: &str) -> Result<Epoch, LogError> {
        let kept = nodes::kept_for(name);
        // If the answer to the first try is lost, the second one finds the cell kept for this name.
        self.take(kept.clone(), kept, RESERVED)
    }

    fn renew(
        &mut self,
        epoch: Epoch,
        length: Duration,
        acknowledged: CommitNo,
    ) -> Result<(), LogError> {
        let (under, acknowledged) = (number(epoch.0)?, number(acknowledged.0)?);
        let params = vec![self.cell(), under, millis(length)?, acknowledged];
        let asked = Instant::now();
        if epoch == Epoch(0) || self.ask(sql::RENEW, params)?.touched != Some(1) {
            self.core.holds(None);
            let epoch = self.head()?.epoch;
            return Err(LogError::Deposed { epoch });
        }
        self.wait(move |core| async move { core.check().await })?;
        self.core.holds(asked.checked_add(length));
        Ok(())
    }

    fn release(&mut self, epoch: Epoch) -> Result<(), LogError> {
        let params = vec![self.cell(), number(epoch.0)?];
        let released = self.ask(sql::RELEASE, params);
        self.core.holds(None);
        released.map(drop)
    }

    fn offer(&mut self, epoch: Epoch, to: &str) -> Result<(), LogError> {
        let kept = Param::Text(nodes::kept_for(to));
        let params = vec![self.cell(), number(epoch.0)?, kept, millis(OFFER)?];
        let offered = self.ask(sql::OFFER, params);
        self.core.holds(None);
        offered.map(drop)
    }

    fn report(&mut self, node: &Presence) -> Result<(), LogError> {
        let params = vec![
            self.cell(),
            Param::Text(node.name.to_string()),
            Param::Text(node.url.to_string()),
            number(node.applied.0)?,
            Param::Int(node.process.cast_signed()),
            millis(NAME_KEPT)?,
        ];
        match self.ask(sql::REPORT, params)?.touched {
            Some(0) => Err(LogError::NameTaken {
                name: Arc::clone(&node.name),
            }),
            Some(_) | None => Ok(()),
        }
    }

    fn cluster_view(&self) -> Result<ClusterView, LogError> {
        let most = whole(NODES_MAX).map(Param::Int)?;
        let params = vec![self.cell(), millis(nodes::KNOWN)?, most];
        let found = self.ask(sql::STANDING, params)?;
        nodes::cluster_view(&self.core, &found.rows)
    }

    fn append(&mut self, epoch: Epoch, record: &Sealed<'_>) -> Result<(), LogError> {
        if epoch == Epoch(0) {
            return Err(self.condition(epoch, record)?);
        }
        let body = body::pack(record).map_err(LogError::Yet)?;
        let (length, packed) = (size(record.bytes())?, size(&body)?);
        let params = [
            self.cell(),
            number(epoch.0)?,
            Param::Bytes(record.previous().to_vec()),
            number(record.first_commit().0)?,
            Param::Int(record.commits().into()),
            Param::Bytes(record.hash().to_vec()),
            number(length)?,
            Param::Bytes(body),
        ];
        let done =
            self.wait(move |core| async move { core.ask(false, sql::APPEND, &params).await });
        let status = &self.core.status;
        if matches!(done, Err(LogError::Unknown(_))) {
            status.add(|figures| figures.unknown += 1);
        }
        if done?.touched != Some(1) {
            return Err(self.condition(epoch, record)?);
        }
        status.add(|figures| {
            figures.appends += 1;
            figures.bytes += length;
            figures.packed += packed;
        });
        Ok(())
    }

    fn tail(&self) -> Result<Tail, LogError> {
        Ok(self.head()?.tail)
    }

    fn read(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(&Sealed<'_>) -> bool,
    ) -> Result<(), LogError> {
        let head = self.head()?;
        let mut next = self.begins(from)?;
        let mut before: Option<Tail> = None;
        loop {
            let page = self.page(next)?;
            for bytes in &page {
                let record = Sealed::parse(bytes).ok_or_else(|| damaged(from.0))?;
                if before.is_some_and(|before| !record.follows(&before)) {
                    return Err(damaged(record.first_commit().0));
                }
                let last = record.tail();
                before = Some(last);
                next = whole(last.commit.0)?.checked_add(1).ok_or_else(too_large)?;
                if last.commit >= from && !visit(&record) {
                    return Ok(());
                }
            }
            if page.is_empty() {
                break;
            }
        }
        // Everything up to the head that was read at the beginning has been visited.
        let end = before.map_or(CommitNo(0), |before| before.commit);
        if end < head.tail.commit && from <= head.tail.commit {
            return Err(damaged(end.0 + 1));
        }
        Ok(())
    }
}

impl Drop for PostgresLog {
    fn drop(&mut self) {
        self.core.drop_session();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for PostgresLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresLog")
            .field("settings", &self.core.settings)
            .finish_non_exhaustive()
    }
}

/// Runs `work` on the runtime's thread; `None` when it did not finish.
fn wait<T: Send + 'static>(
    runtime: &Runtime,
    work: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let (done, result) = mpsc::sync_channel(1);
    drop(runtime.spawn(async move { done.send(work.await).is_ok() }));
    result.recv().ok()
}

fn too_large() -> LogError {
    LogError::Yet(StoreError::Invalid(
        "a number that the log has no room for".to_owned(),
    ))
}

fn whole(n: impl TryInto<i64>) -> Result<i64, LogError> {
    n.try_into().map_err(|_| too_large())
}

fn number(n: u64) -> Result<Param, LogError> {
    whole(n).map(Param::Int)
}

fn millis(length: Duration) -> Result<Param, LogError> {
    whole(length.as_millis()).map(Param::Int)
}

fn size(bytes: &[u8]) -> Result<u64, LogError> {
    u64::try_from(bytes.len()).map_err(|_| too_large())
}

/// The bytes of the record in a row, checked against the row's other columns.
fn kept(row: &Row) -> Result<Vec<u8>, LogError> {
    let (first, commits, length) = (count(row, 0)?, count(row, 1)?, count(row, 3)?);
    let (hash, body): (&[u8], &[u8]) = (column(row, 2)?, column(row, 4)?);
    let length = usize::try_from(length).map_err(|_| damaged(first))?;
    let bytes = body::unpack(body, length, hash).ok_or_else(|| damaged(first))?;
    let record = Sealed::parse(&bytes).ok_or_else(|| damaged(first))?;
    if record.first_commit().0 != first || u64::from(record.commits()) != commits {
        return Err(damaged(first));
    }
    Ok(bytes)
}
