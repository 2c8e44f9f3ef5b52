//! What the keys of tenants were shown: counts of each key and account, for the audit log.
//!
//! **Shape.** The layer [`count`] counts, for every GET with a key, the CVU in its path or else those in its answer, in
//! memory. [`EVERY`], and before somebody searches the audit log, the counts go there, as entries of the key. An answer
//! that is made while it is sent (an export, a stream of events) counts for the CVU of its address, or else as a list of
//! the whole realm ([`whole_list`]).
//!
//! **Bounds.** [`ACCOUNTS_MAX`] accounts of a key between two writings; reads of further ones count as lists of the whole
//! realm. An entry has [`ENTRY_ACCOUNTS`].
//!
//! **Failure.** Counts that could not be written are kept for the next time. A process that is killed loses those since
//! the last time.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;
use actix_web::rt::task::JoinHandle;
use actix_web::web::{self, Bytes};
use actix_web::{Error, HttpMessage as _, rt};
use caudal_actors::engine::Engine;
use caudal_actors::engine::people::whole_list;
use caudal_actors::failure::Failure;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::people::Role;
use caudal_ledger::people::audit::{AuditDetails, AuditEntry, AuditOutcome};

use super::AppState;
use super::shown::{self, Shown};
use crate::keys::Identity;

/// The action of the entries.
pub const ACTION: &str = "readByKey";
/// How often the counts are written.
pub const EVERY: Duration = Duration::from_secs(60);
/// How many accounts of a key are counted between two writings.
pub const ACCOUNTS_MAX: usize = 10_000;
/// How many accounts an entry of the audit log has.
const ENTRY_ACCOUNTS: usize = 200;

/// The counts that are not written yet.
#[derive(Debug, Default)]
pub struct KeyReads {
    keys: Mutex<HashMap<String, ReadsOfKey>>,
    /// Held while the counts are written.
    writing: tokio::sync::Mutex<()>,
}

/// What a key was shown.
#[derive(Debug)]
struct ReadsOfKey {
    /// Its tenant and mode.
    of: String,
    /// The name of lists of its whole realm.
    whole: String,
    /// How often they were read.
    lists: u64,
    /// How often each account was shown.
    accounts: HashMap<Cvu, u64>,
}

impl ReadsOfKey {
    fn new(identity: &Identity) -> Self {
        let (tenant, mode) = (identity.tenant.as_str(), identity.mode);
        Self {
            of: format!("{tenant}/{}", mode.as_str()),
            whole: whole_list(tenant, mode),
            lists: 0,
            accounts: HashMap::new(),
        }
    }

    fn add(&mut self, cvu: Cvu, times: u64) {
        let room = self.accounts.len() < ACCOUNTS_MAX;
        match self.accounts.get_mut(&cvu) {
            Some(count) => *count += times,
            None if room => drop(self.accounts.insert(cvu, times)),
            None => self.lists += times,
        }
    }

    /// The same counts in parts, each of which has room in an entry.
    fn parts(self) -> Vec<Self> {
        let Self {
            of,
            whole,
            mut lists,
            accounts,
        } = self;
        let accounts: Vec<_> = accounts.into_iter().collect();
        let mut chunks: Vec<_> = accounts.chunks(ENTRY_ACCOUNTS).collect();
        if chunks.is_empty() {
            chunks.push(&[]);
        }
        let part = |chunk: &[(Cvu, u64)]| Self {
            of: of.clone(),
            whole: whole.clone(),
            lists: std::mem::take(&mut lists),
            accounts: chunk.iter().copied().collect(),
        };
        chunks.into_iter().map(part).collect()
    }

    fn entry(&self, key: &str) -> AuditEntry {
        let lists = (self.lists > 0).then(|| (self.whole.clone(), self.lists));
        let accounts = self.accounts.iter();
        let accounts = accounts.map(|(cvu, times)| (cvu.to_string(), *times));
        let shown: BTreeMap<_, _> = accounts.chain(lists).collect();
        AuditEntry {
            operator: key.to_owned(),
            role: Role::Key,
            action: ACTION.to_owned(),
            subject: self.of.clone(),
            reason: String::new(),
            request_id: String::new(),
            outcome: AuditOutcome::Looked,
            omitted: 0,
            details: AuditDetails {
                shown,
                ..AuditDetails::default()
            },
        }
    }
}

impl KeyReads {
    fn keys(&self) -> MutexGuard<'_, HashMap<String, ReadsOfKey>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, identity: &Identity, shown: Shown) {
        let mut keys = self.keys();
        if !keys.contains_key(&identity.key) {
            keys.insert(identity.key.clone(), ReadsOfKey::new(identity));
        }
        let Some(reads) = keys.get_mut(&identity.key) else {
            return;
        };
        if !shown.is_whole && shown.cvus.is_empty() {
            reads.lists += 1;
        }
        for cvu in shown.cvus {
            reads.add(cvu, 1);
        }
    }

    fn put_back(&self, key: String, part: ReadsOfKey) {
        let mut keys = self.keys();
        let Some(reads) = keys.get_mut(&key) else {
            keys.insert(key, part);
            return;
        };
        reads.lists += part.lists;
        for (cvu, times) in part.accounts {
            reads.add(cvu, times);
        }
    }

    /// Writes the counts into the audit log; when this returns they are durable.
    ///
    /// # Errors
    /// When the store takes no writes; the counts are kept.
    pub async fn write(&self, engine: &Engine) -> Result<(), Failure> {
        let _turn = self.writing.lock().await;
        let taken = std::mem::take(&mut *self.keys());
        let parts = taken.into_iter().flat_map(|(key, reads)| {
            let parts = reads.parts().into_iter();
            parts.map(move |part| (key.clone(), part))
        });
        let mut parts = parts.collect::<Vec<_>>().into_iter();
        while let Some((key, part)) = parts.next() {
            if let Err(why) = engine.operators().audit(part.entry(&key)).await {
                self.put_back(key, part);
                parts.for_each(|(key, part)| self.put_back(key, part));
                return Err(why);
            }
        }
        Ok(())
    }
}

/// Counts what answers to GET show to a key.
///
/// # Errors
/// The errors of the inner service.
pub async fn count<B: MessageBody + 'static>(
    call: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B, Bytes>>, Error> {
    let answer = next.call(call).await?;
    let known = answer.request().extensions().contains::<Identity>();
    if !known || *answer.request().method() != Method::GET || !answer.status().is_success() {
        return Ok(answer.map_into_left_body());
    }
    let named = shown::cvus(answer.request().path().as_bytes());
    let (answer, shown) = if named.is_empty() {
        shown::by(answer)
    } else {
        // What is read of an account is that account's, whoever else its movements name.
        let shown = Shown {
            cvus: named,
            is_whole: true,
        };
        (answer.map_into_left_body(), shown)
    };
    let request = answer.request();
    if let (Some(identity), Some(app)) = (
        request.extensions().get::<Identity>(),
        request.app_data::<web::Data<AppState>>(),
    ) {
        app.key_reads.add(identity, shown);
    }
    Ok(answer)
}

/// Writes the counts [`EVERY`], until the handle is aborted. Of several nodes, the owner of the log writes.
pub fn keep_writing(app: AppState) -> JoinHandle<()> {
    rt::spawn(async move {
        loop {
            rt::time::sleep(EVERY).await;
            if app.is_owners()
                && let Err(why) = app.key_reads.write(&app.engine).await
            {
                tracing::warn!(%why, "the reads of keys could not be written into the audit log");
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use caudal_ledger::ids::{Mode, RealmId};

    use super::*;

    fn identity(key: &str) -> Identity {
        Identity {
            realm: RealmId(3),
            mode: Mode::Test,
            tenant: "tnt_1".to_owned(),
            key: key.to_owned(),
            relaxed_cuit: false,
        }
    }

    fn cvu(client: usize) -> Cvu {
        Cvu::compose(7, u64::try_from(client).unwrap()).unwrap()
    }

    fn shown(clients: std::ops::Range<usize>) -> Shown {
        Shown {
            cvus: clients.map(cvu).collect(),
            is_whole: true,
        }
    }

    #[test]
    fn reads_are_counted_by_key_and_account_and_further_ones_as_lists() {
        let reads = KeyReads::default();
        let key = identity("aaaaaaaaaa");
        reads.add(&key, shown(0..1));
        reads.add(&key, shown(0..2));
        reads.add(&key, Shown::default());
        reads.add(&identity("bbbbbbbbbb"), shown(1..2));
        let taken = std::mem::take(&mut *reads.keys());
        let entry = taken["aaaaaaaaaa"].entry("aaaaaaaaaa");
        let right = [
            (cvu(0).to_string(), 2),
            (cvu(1).to_string(), 1),
            ("tnt_1/test/*".to_owned(), 1),
        ];
        assert_eq!(entry.details.shown, BTreeMap::from(right));
        assert_eq!(entry.subject, "tnt_1/test");
        // What could not be written is added to what came meanwhile.
        reads.add(&key, shown(1..3));
        for (key, part) in taken {
            reads.put_back(key, part);
        }
        assert_eq!(reads.keys()["aaaaaaaaaa"].accounts[&cvu(1)], 2);
        assert_eq!(reads.keys()["bbbbbbbbbb"].accounts[&cvu(1)], 1);
        reads.add(&key, shown(0..ACCOUNTS_MAX + 5));
        let all = reads.keys().remove("aaaaaaaaaa").unwrap();
        assert_eq!((all.accounts.len(), all.lists), (ACCOUNTS_MAX, 6));
        let parts = all.parts();
        assert_eq!(parts.len(), ACCOUNTS_MAX / ENTRY_ACCOUNTS);
        assert_eq!(parts.iter().map(|part| part.lists).sum::<u64>(), 6);
    }
}
