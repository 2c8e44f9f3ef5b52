//! Fills an empty log with the records of another place, and marks a log whose place another one has taken.
//!
//! **Shape.** While a log is being filled, and once it is superseded, its cell is reserved under a name that no node
//! has ([`Closed`]), so no node owns it.
//!
//! **Bounds.** One record is in memory at a time.
//!
//! **Order.** Records are appended unchanged, in the order of the chain, each after its predecessor. So whatever was
//! repeated, late or interrupted, the log holds a prefix of the chain, and the same call again continues.
//!
//! **Failure.** A log that has other records is not changed. Nothing is ever overwritten.

use crate::api::CommitNo;
use crate::log::{ClusterView, Epoch, Log, LogError, Sealed, Tail};

/// How often a record is sent in all, if its append fails or its answer is lost.
const TRIES: u32 = 5;
/// The name under which a cell is reserved while its log is being filled. Names of nodes have no line ends.
const FILLING: &str = "caudal restore\n";
/// The beginning of the name under which the cell of a superseded log is reserved; the other log's place follows.
const SUPERSEDED: &str = "caudal superseded\n";

/// Why no node may own a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Closed {
    /// It is being filled, and may lack records.
    Filling,
    /// The log at this place has taken its place.
    Superseded(String),
}

impl Closed {
    /// The name under which the cell is reserved.
    fn name(&self) -> String {
        match self {
            Self::Filling => FILLING.to_owned(),
            Self::Superseded(by) => format!("{SUPERSEDED}{by}"),
        }
    }

    /// Why nodes may not own the log; `None` when they may.
    pub fn of(cluster_view: &ClusterView) -> Option<Self> {
        let name = cluster_view.offered.as_deref()?;
        let by = name.strip_prefix(SUPERSEDED);
        let superseded = by.map(|by| Self::Superseded(by.to_owned()));
        superseded.or_else(|| (name == FILLING).then_some(Self::Filling))
    }
}

/// Why a log was not filled.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FillError {
    /// The log refused, or cannot be read.
    #[error("the log: {0}")]
    Log(#[from] LogError),
    /// The log has records and nobody is filling it.
    #[error("the log is not empty: it ends with commit {}", .0.commit.0)]
    Taken(Tail),
    /// Another log has taken the place of this one.
    #[error("the log is superseded by the one at {0}")]
    Superseded(String),
    /// The log has another record than the one that was put.
    #[error("the log ends with commit {}, and has other records than what is restored", .0.commit.0)]
    Apart(Tail),
    /// What the log has after all differs from what was put.
    #[error("the log ends with commit {}, and was filled up to commit {}", .found.commit.0, .put.commit.0)]
    Differs {
        /// The end of the log.
        found: Tail,
        /// The end of what was put.
        put: Tail,
    },
}

/// A log that is being filled. Dropping it leaves the log closed; filling it again continues.
#[derive(Debug)]
pub struct LogFill {
    log: Box<dyn Log>,
    epoch: Epoch,
    /// The end of the log when this run began.
    begun: Tail,
    /// The end of the records put so far.
    tail: Tail,
}

/// Refuses a log that has records, unless an earlier run was filling it.
///
/// # Errors
/// When it is not empty, is superseded, or cannot be reached.
pub fn may_fill(log: &dyn Log) -> Result<(), FillError> {
    let cluster_view = log.cluster_view()?;
    match Closed::of(&cluster_view) {
        Some(Closed::Filling) => Ok(()),
        Some(Closed::Superseded(by)) => Err(FillError::Superseded(by)),
        None if cluster_view.tail.commit == CommitNo(0) => Ok(()),
        None => Err(FillError::Taken(cluster_view.tail)),
    }
}

impl LogFill {
    /// Reserves the cell of an empty log, or of one that an earlier run was filling.
    ///
    /// # Errors
    /// As [`may_fill`]; when a node owns the cell.
    pub fn begin(mut log: Box<dyn Log>) -> Result<Self, FillError> {
        may_fill(log.as_ref())?;
        let epoch = log.reserve(&Closed::Filling.name())?;
        let begun = log.tail()?;
        let tail = Tail::none(&log.id());
        Ok(Self {
            log,
            epoch,
            begun,
            tail,
        })
    }

    /// Appends the next record. Those that an earlier run has appended are only compared.
    ///
    /// # Errors
    /// `Apart` when the log has another record there; when the log refuses.
    pub fn put(&mut self, record: &Sealed<'_>) -> Result<(), FillError> {
        let (begun, tail) = (self.begun, record.tail());
        if !record.follows(&self.tail) || (tail.commit == begun.commit && tail != begun) {
            return Err(FillError::Apart(begun));
        }
        if tail.commit > begun.commit {
            self.append(record)?;
        }
        self.tail = tail;
        Ok(())
    }

    /// Appends a record, trying again after a lost answer or a passing error; finding it at the end of the log counts
    /// as success.
    fn append(&mut self, record: &Sealed<'_>) -> Result<(), LogError> {
        let mut last = None;
        for _ in 0..TRIES {
            match self.log.append(self.epoch, record) {
                Err(LogError::Gap { tail, .. }) if tail == record.tail() => return Ok(()),
                Err(why @ (LogError::Unknown(_) | LogError::Yet(_))) => last = Some(why),
                done => return done,
            }
        }
        last.map_or(Ok(()), Err)
    }

    /// Reads the whole log back: it must be the chain that was put, from its first record to its last. Returns the end.
    /// The log stays closed.
    ///
    /// # Errors
    /// `Differs` when it is not; when the log refuses.
    pub fn verify(&mut self) -> Result<Tail, FillError> {
        // If the outcome of the last append is unknown, this reservation settles it, and nobody else does.
        self.epoch = self.log.reserve(&Closed::Filling.name())?;
        let mut found = Tail::none(&self.log.id());
        self.log.read(CommitNo(1), &mut |record| {
            let follows = record.follows(&found);
            if follows {
                found = record.tail();
            }
            follows
        })?;
        let put = self.tail;
        if found != put || self.log.tail()? != put {
            return Err(FillError::Differs { found, put });
        }
        Ok(put)
    }

    /// Opens the log to nodes.
    ///
    /// # Errors
    /// When the log cannot be reached.
    pub fn finish(mut self) -> Result<(), FillError> {
        Ok(self.log.release(self.epoch)?)
    }
}

/// Marks a log as superseded by the one at `by`, for good. It has to end with `tail`; otherwise it is left as it was.
///
/// # Errors
/// `Differs` when it has other records by now; when a node owns it, or it cannot be reached.
pub fn supersede(log: &mut dyn Log, by: &str, tail: Tail) -> Result<(), FillError> {
    let epoch = log.reserve(&Closed::Superseded(by.to_owned()).name())?;
    let found = log.tail()?;
    if found == tail {
        return Ok(());
    }
    log.release(epoch)?;
    Err(FillError::Differs { found, put: tail })
}
