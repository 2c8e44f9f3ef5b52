//! `caudal restore` from or into a log in PostgreSQL, and from the data folder of a stopped service.
//!
//! **Order.** The target is filled and read back while nothing can be started on it; then the source is marked as
//! superseded, if it is a folder or a log; then the target is opened. So at most one of the two can be started at any
//! moment, and after an interruption the same command continues. A backup is not marked: it is no log.
//!
//! **Failure.** A target that has other records than the source is not changed. A source that got records meanwhile is
//! not marked, and the target stays closed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use caudal_backup::BackupError;
use caudal_backup::backup_store::{self, BackupStore};
use caudal_backup::chain::{self, MachineTimes, ShippedStore};
use caudal_backup::names::hex;
use caudal_backup::object::unpack;
use caudal_backup::restore;
use caudal_ledger::time::Timestamp;
use caudal_postgres::{Begin, NoSession};
use caudal_service::config::Settings;
use caudal_service::{self as service, Restoring, StartError};
use caudal_storage::filling::{Closed, FillError, LogFill, may_fill, supersede};
use caudal_storage::log::{Log, LogId, Sealed, Tail};
use caudal_storage::{CommitNo, OpenError, Restore, StoreOptions};
use serde_json::{Value, json};

use super::super::Exit;
use super::super::progress::ProgressLine;
use super::super::stopped::Stopped;
use super::super::terminal::{say, say_json, wait};
use super::super::verify;
use super::RestoreArgs;

/// Whether a place is a database with a log, and no folder.
pub(super) fn is_log(place: &str) -> bool {
    place.starts_with("postgres://") || place.starts_with("postgresql://")
}

/// Whether a place is a folder that holds a store, and no backup.
pub(super) fn is_store(place: &str) -> Result<bool, Exit> {
    let path = Path::new(place);
    Ok(path.is_dir() && service::knows_a_store(path)?)
}

impl From<FillError> for Exit {
    fn from(why: FillError) -> Self {
        match why {
            FillError::Log(_) => Self::failed(why),
            FillError::Taken(_)
            | FillError::Superseded(_)
            | FillError::Apart(_)
            | FillError::Differs { .. } => Self::usage(why),
        }
    }
}

/// The settings of the database at a URL, with the password and the authorities of the service's settings.
fn database(args: &RestoreArgs, url: &str) -> Result<caudal_postgres::Settings, Exit> {
    let settings = match &args.config {
        Some(file) => Settings::load(file),
        None => Settings::of_database(),
    };
    let settings = settings.map_err(Exit::usage)?;
    let found = settings.database(Some(&url.into())).map_err(Exit::usage)?;
    found.ok_or_else(|| Exit::usage("name the database as postgres://USER@HOST:PORT/DATABASE"))
}

fn unusable(place: &str, why: &NoSession) -> Exit {
    Exit::failed(format!("the log at {place}: {why}"))
}

/// Where the records come from.
enum LogSource {
    Backup {
        backup_store: Arc<dyn BackupStore>,
        kept: ShippedStore,
        log: LogId,
    },
    Folder {
        data: PathBuf,
        stopped: Stopped,
    },
    Log {
        log: Box<dyn Log>,
        place: String,
    },
}

impl LogSource {
    fn open(args: &RestoreArgs) -> Result<Self, Exit> {
        let from = args.from.as_str();
        if is_log(from) {
            let settings = database(args, from)?;
            let place = settings.place();
            let opened = caudal_postgres::open(settings, Begin::Never);
            let log = opened.map_err(|why| unusable(&place, &why))?.log;
            return Ok(Self::Log { log, place });
        }
        if is_store(from)? {
            let data = PathBuf::from(from);
            let stopped = Stopped::open(&data, true)?;
            return Ok(Self::Folder { data, stopped });
        }
        wait(Self::backup(args))
    }

    async fn backup(args: &RestoreArgs) -> Result<Self, Exit> {
        let backup_store = backup_store::open(&args.from, false)?;
        let kept = chain::kept(
            backup_store.as_ref(),
            args.store.as_deref(),
            args.accept_older,
        )
        .await?;
        let first = kept.cover.objects.first();
        let name = first.map_or("", |it| it.name.as_str());
        let object = backup_store.get(name).await?.ok_or_else(|| {
            BackupError::Refused(format!(
                "{} lacks the first records of the store",
                args.from
            ))
        })?;
        let log = unpack(name, &object)?.log;
        Ok(Self::Backup {
            backup_store,
            kept,
            log,
        })
    }

    /// The id with which the chain begins, and the id of the store.
    fn ids(&self) -> (LogId, LogId) {
        match self {
            Self::Backup { kept, log, .. } => (*log, kept.history),
            Self::Folder { stopped, .. } => (stopped.records.log(), stopped.records.history()),
            Self::Log { log, .. } => (log.id(), log.id()),
        }
    }

    /// Refuses a source whose place another log than `by` has taken.
    fn may_be_left(&self, by: &str) -> Result<(), Exit> {
        let taken = match self {
            Self::Backup { .. } => None,
            Self::Folder { data, .. } => service::place_of(data)?,
            Self::Log { log, place } => {
                let cluster_view = log.cluster_view().map_err(Exit::failed)?;
                match Closed::of(&cluster_view) {
                    Some(Closed::Filling) => {
                        return Err(Exit::usage(format!(
                            "a restore into the log at {place} has not finished, so it may lack records"
                        )));
                    }
                    Some(Closed::Superseded(other)) => Some(other),
                    None => None,
                }
            }
        };
        match taken.filter(|other| other != by) {
            None => Ok(()),
            Some(other) => Err(Exit::usage(format!(
                "what --from names is a copy of the log at {other}, or was superseded by it: restore from there. Nothing was \
                 changed. If that log is lost permanently and a folder is to go on in its place, remove the folder's log.place"
            ))),
        }
    }

    /// Passes every record to `put`, and verifies the chain on the way.
    fn each(
        &self,
        put: &mut dyn FnMut(&Sealed<'_>) -> Result<(), Exit>,
    ) -> Result<SourceSummary, Exit> {
        let bar = ProgressLine::bytes("restoring", 0);
        let mut told = SourceSummary::of(Tail::none(&self.ids().0));
        let mut failed = None;
        let mut visit = |record: &Sealed<'_>| {
            let put = told.takes(record).and_then(|()| put(record));
            bar.set_position(told.bytes);
            failed = put.err();
            failed.is_none()
        };
        match self {
            Self::Backup {
                backup_store, kept, ..
            } => wait(async {
                let mut take = |record: &Sealed<'_>, _| Ok(visit(record));
                chain::walk(backup_store.as_ref(), kept, &mut take, &mut |_| {}).await?;
                Ok(())
            })?,
            Self::Folder { stopped, .. } => {
                let from = stopped.records.beginning();
                let read = stopped.records.read(&from, &mut visit);
                read.map_err(Exit::failed)?;
            }
            Self::Log { log, .. } => log.read(CommitNo(1), &mut visit).map_err(Exit::failed)?,
        }
        bar.clear();
        failed.map_or(Ok(told), Err)
    }

    /// Marks the source as superseded by the log at `by`; whether there was anything to mark.
    fn supersede(&mut self, by: &str, tail: Tail) -> Result<bool, Exit> {
        match self {
            Self::Backup { .. } => return Ok(false),
            Self::Folder { data, .. } => service::set_place(data, by)?,
            Self::Log { log, .. } => supersede(log.as_mut(), by, tail)?,
        }
        Ok(true)
    }

    /// Closes the store of a folder.
    fn close(self) -> Result<(), Exit> {
        match self {
            Self::Folder { stopped, .. } => stopped.store.close().map_err(Exit::failed),
            Self::Backup { .. } | Self::Log { .. } => Ok(()),
        }
    }

    /// The digest by which a wrong pepper is recognised, if the source has it.
    fn pepper_check(&self) -> Result<Option<Vec<u8>>, Exit> {
        match self {
            Self::Backup {
                backup_store, kept, ..
            } => wait(async {
                let found = restore::pepper_check(backup_store.as_ref(), kept).await;
                Ok(found?)
            }),
            Self::Folder { data, .. } => Ok(service::pepper_mark(data)?),
            Self::Log { .. } => Ok(None),
        }
    }
}

/// What was read.
struct SourceSummary {
    records: u64,
    bytes: u64,
    /// The latest time of an entry, in milliseconds since 1970 UTC.
    latest: u64,
    times: MachineTimes,
    tail: Tail,
}

impl SourceSummary {
    fn of(tail: Tail) -> Self {
        Self {
            records: 0,
            bytes: 0,
            latest: 0,
            times: MachineTimes::default(),
            tail,
        }
    }

    /// Takes the next record of the chain.
    fn takes(&mut self, record: &Sealed<'_>) -> Result<(), Exit> {
        if !record.follows(&self.tail) {
            return Err(Exit::failed(format!(
                "the record with commit {} does not follow the one that ends with commit {}: the source is damaged",
                record.first_commit().0,
                self.tail.commit.0
            )));
        }
        self.latest = self.latest.max(self.times.latest(record)?);
        self.records += 1;
        self.bytes += u64::try_from(record.bytes().len()).map_err(Exit::failed)?;
        self.tail = record.tail();
        Ok(())
    }

    fn json(&self) -> Value {
        json!({
            "records": self.records,
            "bytes": self.bytes,
            "commit": self.tail.commit.0,
            "chain": hex(&self.tail.hash),
            "latest": Timestamp::from_millis(self.latest).to_string(),
        })
    }
}

/// Restores, or only says what would be restored.
pub(super) fn run(args: &RestoreArgs) -> Result<(), Exit> {
    if args.at.is_some() || args.new_history {
        return Err(Exit::usage(
            "--at and --new-history are for a backup that is restored into a folder, without --dry-run",
        ));
    }
    let began = Instant::now();
    let mut source = LogSource::open(args)?;
    let into = args.into.as_str();
    let by = if is_log(into) {
        database(args, into)?.place()
    } else {
        let path = std::path::absolute(into).map_err(Exit::usage)?;
        path.display().to_string()
    };
    source.may_be_left(&by)?;
    let (told, marked) = if args.dry_run {
        is_empty(args, &source)?;
        (source.each(&mut |_| Ok(()))?, false)
    } else if is_log(into) {
        into_log(args, &mut source, &by)?
    } else {
        into_folder(&mut source, Path::new(into), &by)?
    };
    source.close()?;
    let took = began.elapsed();
    if args.json {
        let mut all = told.json();
        if let Some(all) = all.as_object_mut() {
            all.insert("dryRun".to_owned(), args.dry_run.into());
            all.insert("superseded".to_owned(), marked.into());
            all.insert("millis".to_owned(), json!(took.as_millis()));
        }
        return say_json(&all);
    }
    let seconds = format!("{}.{} s", took.as_secs(), took.subsec_millis() / 100);
    let told = told.json();
    let part = |name| super::super::remote::shown(&told, name);
    let (records, bytes, commit) = (part("records"), part("bytes"), part("commit"));
    if args.dry_run {
        return say(&format!(
            "Nothing was changed. {records} records of {bytes} bytes up to commit {commit}, the last entry of {}, were read \
             and verified in {seconds}; a restore takes that long, and the time of writing them to {by}, which is empty",
            part("latest")
        ));
    }
    say(&format!(
        "{by}: restored {records} records up to commit {commit}, the last entry of {}; chain {}. It took {seconds}",
        part("latest"),
        part("chain"),
    ))?;
    if marked {
        say("What it was restored from is superseded: no service starts on it any more.")
    } else {
        Ok(())
    }
}

/// Refuses a target that is not empty; changes nothing.
fn is_empty(args: &RestoreArgs, source: &LogSource) -> Result<(), Exit> {
    let into = args.into.as_str();
    if !is_log(into) {
        return Ok(service::is_free(Path::new(into))?);
    }
    fits_a_log(source)?;
    let settings = database(args, into)?;
    let place = settings.place();
    match caudal_postgres::open(settings, Begin::Never) {
        Ok(opened) => Ok(may_fill(opened.log.as_ref())?),
        Err(NoSession::Absent) => Ok(()),
        Err(why) => Err(unusable(&place, &why)),
    }
}

/// Refuses a history of its own: a log in a database is known by the id with which its chain begins.
fn fits_a_log(source: &LogSource) -> Result<(), Exit> {
    let (log, history) = source.ids();
    if log == history {
        Ok(())
    } else {
        Err(Exit::usage(
            "the store is a history of its own (it was restored with --new-history), and a log in a database is known by \
             the id of the store that was backed up: it stays on a disk",
        ))
    }
}

fn into_log(
    args: &RestoreArgs,
    source: &mut LogSource,
    by: &str,
) -> Result<(SourceSummary, bool), Exit> {
    fits_a_log(source)?;
    let opened = caudal_postgres::open(database(args, &args.into)?, Begin::As(source.ids().0));
    let opened = opened.map_err(|why| unusable(by, &why))?;
    let mut filling = LogFill::begin(opened.log)?;
    let told = source.each(&mut |record| Ok(filling.put(record)?))?;
    filling.verify()?;
    let marked = source.supersede(by, told.tail)?;
    filling.finish()?;
    Ok((told, marked))
}

fn into_folder(
    source: &mut LogSource,
    data: &Path,
    by: &str,
) -> Result<(SourceSummary, bool), Exit> {
    let unwritten = |why: OpenError| Exit::from(StartError::from(why));
    let (log, history) = source.ids();
    let restoring = Restoring::begin(data, source.pepper_check()?.as_deref(), false)?;
    let restore = Restore::begin(
        &restoring.store(),
        &StoreOptions::default(),
        log,
        Some(history),
    );
    let mut restore = restore.map_err(unwritten)?;
    let told = source.each(&mut |record| restore.put(record).map_err(unwritten))?;
    restore.finish().map_err(unwritten)?;
    if !verify::folder(data, Some(restoring.held()?))?.ok {
        return Err(Exit::failed(
            "what was restored differs from its journal, so the folder is not used",
        ));
    }
    let marked = source.supersede(by, told.tail)?;
    restoring.finish()?;
    Ok((told, marked))
}
