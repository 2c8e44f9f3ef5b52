//! Other nodes during a copy: they append to it if they own its cell, and report when the realm that leaves them rests.
//!
//! **Shape.** [`Far`] is how the node that makes a copy reaches them; [`append`] and [`rested`] are their side. Each
//! append is one commit of the copy, unchanged, so the owner's store refuses gaps and repeats.
//!
//! **Bounds.** An errand has at most [`SENT_BYTES`]. It waits for an owner as a request does, [`RESTS`] for a realm to
//! rest, and [`APPLIED`] for the appended commit to be applied here.
//!
//! **Failure.** The copy retries commits that no node took. If an outcome is unknown, the copy ends, and the same order
//! continues later from the commits that exist. Only an unfinished copy in this cell, according to the owner's view of
//! the platform, is appended to.

use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use actix::ArbiterHandle;
use actix_web::body::to_bytes_limited;
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpResponse, web};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use caudal_actors::cells::FIRST;
use caudal_actors::elsewhere::{Asked, Elsewhere, ROOM, is_row_at_rest};
use caudal_actors::failure::Failure;
use caudal_actors::scratch;
use caudal_ledger::ids::RealmId;
use caudal_storage::{
    Commit, CommitNo, Differing, Done, Entry, Fact, Head, Index, Pair, Position, Row, SortOrder,
    Stats, Store, StoreError, StreamId,
};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::OperatorDesk;
use crate::http::bytes::Bytes;
use crate::http::current;
use crate::http::errors::ApiError;
use crate::http::node::errand::{Done as Run, Errand, For};
use crate::http::respond::json;
use crate::http::words::Refusal;

/// The path for appending to a copy.
pub(super) const APPEND: &str = "/node/append";
/// The path for asking whether a realm rests.
pub(super) const RESTED: &str = "/node/rested";
/// The largest append, in bytes: the largest commit in its encoded form.
const SENT_BYTES: usize = 48 << 20;
/// The largest answer, in bytes.
const ANSWER_BYTES: usize = 64 << 10;
/// How long a realm has to come to rest.
const RESTS: Duration = Duration::from_secs(5);
/// How long an appended commit has to be applied here.
const APPLIED: Duration = Duration::from_secs(10);
/// The pause between two looks at whether it is applied.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// An entry in its encoded form.
#[derive(Serialize, Deserialize)]
struct SentEntry {
    kind: u8,
    number: u64,
    seq: u64,
    at: u64,
    body: String,
}

/// An append to a copy.
#[derive(Serialize, Deserialize)]
struct Append {
    cell: u32,
    /// The number under which the copy lies.
    lies: u32,
    entries: Vec<SentEntry>,
    /// Hint rows, which may be lost, instead of entries.
    rows: Vec<(String, String)>,
    /// The epoch of the first cell's owner, who makes the copy.
    epoch: u64,
}

/// The realm that has to rest, and the copy for which it does.
#[derive(Serialize, Deserialize)]
struct Rest {
    realm: u32,
    number: u32,
}

/// The commit that was reached.
#[derive(Serialize, Deserialize)]
struct Reached {
    commit: u64,
}

/// The way to the other nodes, as long as the desk exists.
#[derive(Clone)]
pub(super) struct Far {
    desk: Weak<OperatorDesk>,
    /// The arbiter whose thread sends the errands.
    here: ArbiterHandle,
    request: current::Request,
}

impl Far {
    /// The way to the other nodes, where there may be any. Must be called inside an actix system.
    pub(super) fn of(desk: &OperatorDesk) -> Option<Arc<dyn Elsewhere>> {
        desk.door.node.as_ref()?;
        Some(Arc::new(Self {
            desk: desk.me.clone(),
            here: actix::Arbiter::current(),
            request: current::request(),
        }))
    }

    /// Has the node that owns `to` do the work and returns the commit that it reports; runs `here` if that is this
    /// node.
    async fn ask<T: Serialize>(
        &self,
        to: For,
        (path, sent): (&str, &T),
        here: impl AsyncFnOnce(&OperatorDesk) -> Result<u64, Failure>,
    ) -> Result<u64, Failure> {
        let desk = self.desk.upgrade().ok_or(Failure::ShuttingDown)?;
        let node = desk.door.node.clone().ok_or(Failure::Bug)?;
        let errand = Errand {
            to,
            method: Method::POST,
            path: path.to_owned(),
            acting: None,
            body: serde_json::to_vec(sent).map_err(|_| Failure::Bug)?.into(),
            repeats: path == RESTED,
            most: None,
        };
        let run = current::answering(self.request.clone(), node.run(&desk.door, errand));
        match run.await? {
            Run::Here(_inside) => here(&desk).await,
            Run::There(answer) => reached(answer).await,
        }
    }

    async fn append(&self, append: Append) -> Result<u64, StoreError> {
        let cell = append.cell;
        let epoch = self.desk.upgrade().and_then(|desk| epoch(&desk));
        let epoch = epoch.ok_or(StoreError::Deposed)?;
        let append = Append { epoch, ..append };
        let about = (APPEND, &append);
        let done = self.ask(For::Cell(cell), about, async |desk| {
            appended(desk, &append).await
        });
        let commit = done.await.map_err(|why| match why {
            // The owner did nothing.
            Failure::ShuttingDown | Failure::Overloaded => StoreError::Overloaded,
            Failure::Rejected(why) => StoreError::Invalid(why.to_string()),
            _ => StoreError::Deposed,
        })?;
        match self.applied(cell, commit).await {
            true => Ok(commit),
            false => Err(StoreError::Deposed),
        }
    }

    /// Waits until this node has applied a commit of a cell.
    async fn applied(&self, cell: u32, commit: u64) -> bool {
        let since = Instant::now();
        while since.elapsed() < APPLIED {
            let Some(desk) = self.desk.upgrade() else {
                return false;
            };
            let store = desk.door.engine.cells().cell(cell);
            if store.is_some_and(|store| store.applied().0 >= commit) {
                return true;
            }
            drop(desk);
            tokio::time::sleep(LOOK_EVERY).await;
        }
        false
    }
}

/// The commit in another node's answer.
async fn reached(answer: HttpResponse) -> Result<u64, Failure> {
    let status = answer.status();
    match status {
        StatusCode::OK => {
            let body = to_bytes_limited(answer.into_body(), ANSWER_BYTES).await;
            let body = body.ok().and_then(Result::ok);
            let reached = body.and_then(|body| serde_json::from_slice::<Reached>(&body).ok());
            reached.map(|it| it.commit).ok_or(Failure::OutcomeUnknown)
        }
        StatusCode::TOO_MANY_REQUESTS => Err(Failure::Overloaded),
        _ => Err(Failure::OutcomeUnknown),
    }
}

impl Elsewhere for Far {
    fn place(&self, cell: u32, lies: RealmId, known: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(FarStore {
            far: self.clone(),
            known,
            cell,
            lies,
            rows: Mutex::default(),
        })
    }

    fn level(&self, cell: u32) -> Asked<()> {
        let desk = self.desk.clone();
        Box::pin(async move {
            let desk = desk.upgrade().ok_or(Failure::ShuttingDown)?;
            let node = desk.door.node.clone().ok_or(Failure::Bug)?;
            node.caught_up(&desk.door, &[cell]).await
        })
    }

    fn rested(&self, realm: RealmId, number: u32) -> Asked<u64> {
        let far = self.clone();
        Box::pin(async move {
            let rest = Rest {
                realm: realm.0,
                number,
            };
            let here = async |desk: &OperatorDesk| desk.door.engine.rested(realm, number).await;
            let desk = far.desk.upgrade().ok_or(Failure::ShuttingDown)?;
            // Requests for the realm wait during the move, so this asks for its cell instead.
            let left = desk.door.engine.cells().standing(realm).cell;
            let asked = far.ask(For::Cell(left), (RESTED, &rest), here);
            let asked = tokio::time::timeout(RESTS, asked).await;
            asked.map_err(|_| Failure::ShuttingDown)?
        })
    }
}

/// A cell that another node owns, as the destination of a copy.
struct FarStore {
    far: Far,
    /// This node's own copy of the cell.
    known: Arc<dyn Store>,
    cell: u32,
    lies: RealmId,
    /// Hint rows that wait for the next barrier.
    rows: Mutex<Vec<Row>>,
}

impl fmt::Debug for FarStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FarStore")
            .field("cell", &self.cell)
            .field("lies", &self.lies)
            .finish_non_exhaustive()
    }
}

impl FarStore {
    fn send(&self, append: Append, done: Done) {
        let far = self.far.clone();
        let begun = self.far.here.spawn_fn(move || {
            actix::spawn(async move { done(far.append(append).await.map(CommitNo)) });
        });
        if !begun {
            tracing::debug!("the service ends, and nothing is appended elsewhere");
        }
    }

    fn with(&self, entries: Vec<SentEntry>, rows: Vec<(String, String)>) -> Append {
        Append {
            cell: self.cell,
            lies: self.lies.0,
            entries,
            rows,
            epoch: 0,
        }
    }
}

impl Index for FarStore {
    fn applied(&self) -> CommitNo {
        self.known.applied()
    }
    fn head(&self, stream: StreamId) -> Result<Option<Head>, StoreError> {
        self.known.head(stream)
    }
    fn read(
        &self,
        stream: StreamId,
        from: u64,
        to: u64,
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.known.read(stream, from, to, order, limit)
    }
    fn seq_at(&self, stream: StreamId, at: u64) -> Result<Option<u64>, StoreError> {
        self.known.seq_at(stream, at)
    }
    fn entry(&self, position: Position) -> Result<Entry, StoreError> {
        self.known.entry(position)
    }
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.known.get(key)
    }
    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        self.known.scan(from, to, order, limit)
    }
    fn replay(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(CommitNo, &Entry) -> bool,
    ) -> Result<CommitNo, StoreError> {
        self.known.replay(from, visit)
    }
    fn streams_differ(
        &self,
        commits: (CommitNo, CommitNo),
        realm: Option<u32>,
        step: &mut dyn FnMut() -> bool,
    ) -> Result<Differing, StoreError> {
        self.known.streams_differ(commits, realm, step)
    }
}

impl Store for FarStore {
    fn submit(&self, commit: Commit, done: Done) {
        let entries = commit.entries.into_iter().map(|entry| SentEntry {
            kind: entry.stream.kind,
            number: entry.stream.number,
            seq: entry.seq,
            at: entry.at,
            body: BASE64.encode(&entry.body),
        });
        self.send(self.with(entries.collect(), Vec::new()), done);
    }
    fn barrier(&self, done: Done) {
        let rows = std::mem::take(&mut *self.rows.lock().unwrap_or_else(PoisonError::into_inner));
        let text = |row: Row| Some((BASE64.encode(row.key), BASE64.encode(row.value?)));
        let rows: Vec<_> = rows.into_iter().filter_map(text).collect();
        match rows.is_empty() {
            true => done(Ok(self.known.applied())),
            false => self.send(self.with(Vec::new(), rows), done),
        }
    }
    fn note(&self, hints: Vec<Row>) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.extend(hints);
    }
    fn stats(&self) -> Stats {
        self.known.stats()
    }
    fn room(&self) -> Option<u64> {
        // The owner checks its own free space ([`appended`]).
        self.known.room()
    }
    fn ready(&self) -> Result<(), StoreError> {
        Ok(())
    }
    fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

fn bytes(text: &str) -> Result<Vec<u8>, Failure> {
    BASE64.decode(text).map_err(|_| Failure::Bug)
}

/// The epoch of the first cell's owner, as far as this node knows.
fn epoch(desk: &OperatorDesk) -> Option<u64> {
    let (standing, _) = desk.door.node.as_ref()?.standing(FIRST)?;
    Some(standing.epoch.0)
}

/// Appends to a copy that lies in a cell of this node.
async fn appended(desk: &OperatorDesk, append: &Append) -> Result<u64, Failure> {
    let (engine, lies) = (&desk.door.engine, RealmId(append.lies));
    let platform = engine.platform();
    let made = platform.generations(lies.home());
    let made = made.and_then(|it| it.copy(lies.generation()));
    // The fact that began the copy may not have reached this node yet.
    if !made.is_some_and(|it| it.cell == append.cell && it.copied.is_none()) {
        return Err(Failure::Overloaded);
    }
    match epoch(desk).map(|known| known.cmp(&append.epoch)) {
        Some(Ordering::Equal) => {}
        // The sender's epoch may not be known here yet, if there is one.
        Some(Ordering::Less) => return Err(Failure::Overloaded),
        // Another node owns the first cell by now, and may have ended the copy.
        Some(Ordering::Greater) | None => return Err(Failure::ShuttingDown),
    }
    let store = engine.cells().cell(append.cell).ok_or(Failure::Bug)?;
    if store.room().is_some_and(|left| left <= ROOM) {
        return Err(Failure::ReadOnly);
    }
    if !append.rows.is_empty() {
        let row = |(key, value): &(String, String)| {
            let (key, value) = (bytes(key)?, Some(bytes(value)?));
            if !is_row_at_rest(lies, &key) {
                return Err(Failure::Bug);
            }
            Ok::<_, Failure>(Row { key, value })
        };
        let rows: Result<Vec<Row>, Failure> = append.rows.iter().map(row).collect();
        store.note(rows?);
        return Ok(0);
    }
    let entry = |sent: &SentEntry| {
        Ok::<_, Failure>(Entry {
            stream: StreamId {
                realm: lies.0,
                kind: sent.kind,
                number: sent.number,
            },
            seq: sent.seq,
            at: sent.at,
            body: bytes(&sent.body)?,
            fact: Fact::default(),
        })
    };
    let entries: Result<Vec<Entry>, Failure> = append.entries.iter().map(entry).collect();
    let entries = entries?;
    if let Err(why) = scratch::project(store.as_ref(), &entries) {
        tracing::error!(%why, "another node sent an entry for a copy that cannot be projected");
        return Err(Failure::Bug);
    }
    let commit = Commit {
        entries,
        hints: Vec::new(),
        decided_on: Vec::new(),
    };
    let (send, done) = oneshot::channel();
    store.submit(commit, Box::new(move |outcome| drop(send.send(outcome))));
    match done.await {
        Ok(Ok(commit)) => Ok(commit.0),
        Ok(Err(
            StoreError::Overloaded | StoreError::Unreachable(_) | StoreError::NotOwner { .. },
        )) => Err(Failure::Overloaded),
        Ok(Err(why)) => {
            tracing::error!(%why, "a copy of another node's could not be appended to");
            Err(Failure::OutcomeUnknown)
        }
        Err(_) => Err(Failure::OutcomeUnknown),
    }
}

fn answered(done: Result<u64, Failure>) -> Result<HttpResponse, ApiError> {
    match done {
        Ok(commit) => Ok(json(StatusCode::OK, &Reached { commit })),
        // Nothing was done, and the caller retries.
        Err(Failure::Overloaded) => Ok(HttpResponse::TooManyRequests().finish()),
        Err(why) => Err(why.into()),
    }
}

/// Appends to a copy that another node makes.
pub(super) async fn append(
    desk: web::Data<OperatorDesk>,
    Bytes(sent): Bytes<SENT_BYTES>,
) -> Result<HttpResponse, ApiError> {
    let append: Append = serde_json::from_slice(&sent).map_err(|_| Refusal::NoRoute)?;
    answered(appended(&desk, &append).await)
}

/// Waits until a realm of this node, which another node moves, rests.
pub(super) async fn rested(
    desk: web::Data<OperatorDesk>,
    Bytes(sent): Bytes<ANSWER_BYTES>,
) -> Result<HttpResponse, ApiError> {
    let rest: Rest = serde_json::from_slice(&sent).map_err(|_| Refusal::NoRoute)?;
    let rests = desk.door.engine.rested(RealmId(rest.realm), rest.number);
    let rests = tokio::time::timeout(RESTS, rests).await;
    answered(rests.map_err(|_| Failure::ShuttingDown)?)
}
