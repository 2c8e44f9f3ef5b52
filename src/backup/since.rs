//! What a restore to the past takes over from the records after the instant, so that whatever was taken away since
//! stays taken away.
//!
//! **Shape.** [`Access`] says who may do what: keys, people, requests that wait for a second person, policies, closed
//! realms, and webhooks with their secrets. It is folded from records, once up to the instant and once up to the end of
//! the backup; [`taken_over`] compares both, and makes commits to write after the instant and a list for
//! people.
//!
//! **Rule.** Whoever could do less at the end of the backup than at the instant can do no more after the restore: ends
//! of keys, revocations of people, lower roles, rejections, closed realms, stricter policies, removed and stopped
//! webhooks and their rotated secrets are taken over. What was issued after the instant is not: those keys, credentials
//! and roles do not exist in the restored history and do not work. They are listed, and a person issues new ones where
//! they are needed.
//!
//! **Bounds.** Keeps the platform, the people and all webhooks in memory, twice. The list has at most [`LISTED_MAX`]
//! lines of each kind.
//!
//! **Failure.** What happened after the last record of the backup is unknown, and so is what follows an object that is
//! damaged: the list says up to when it is complete, and why.

use std::collections::BTreeMap;

use caudal_actors::records::{
    APPROVALS_STREAM, PEOPLE_STREAM, PLATFORM_STREAM, Tail, WEBHOOKS, decode, realm_stream,
};
use caudal_ledger::facts::PlatformFact;
use caudal_ledger::ids::RealmId;
use caudal_ledger::people::approvals::{ApprovalFact, Approvals};
use caudal_ledger::people::{People, PeopleFact, Person};
use caudal_ledger::tenants::{Mode, Platform, Policy, RealmState, Serving, Tenant};
use caudal_ledger::time::Timestamp;
use caudal_ledger::webhooks::{WebhookFact, WebhookId, Webhooks};
use caudal_storage::log::{Sealed, StoredEntry};
use caudal_storage::{Commit, StreamId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::BackupError;
use super::chain::entries;

/// The most lines of a list.
pub const LISTED_MAX: usize = 200;
/// The name under which a rejection is taken over.
const RESTORE: &str = "restore";
/// The most facts in one commit.
const FACTS_OF_COMMIT: usize = 256;

/// Who may do what, up to a record.
#[derive(Clone, Debug, Default)]
pub struct Access {
    platform: Platform,
    people: People,
    approvals: Approvals,
    webhooks: BTreeMap<RealmId, Webhooks>,
    tails: BTreeMap<StreamId, Tail>,
    /// The last commit.
    commit: u64,
    /// The latest time of an entry.
    latest: Timestamp,
}

impl Access {
    /// Applies a record, whose latest entry has the time `latest`.
    ///
    /// # Errors
    /// When a fact cannot be read.
    pub fn takes(&mut self, record: &Sealed<'_>, latest: u64) -> Result<(), BackupError> {
        self.commit = record.tail().commit.0;
        self.latest = self.latest.max(Timestamp::from_millis(latest));
        entries(record, &mut |entry| self.fact(entry))
    }

    fn fact(&mut self, entry: &StoredEntry<'_>) -> Result<(), BackupError> {
        let at = Timestamp::from_millis(entry.at);
        match entry.stream {
            PLATFORM_STREAM => self.platform.apply(&decode::<PlatformFact>(entry.body)?),
            PEOPLE_STREAM => self.people.apply(&decode::<PeopleFact>(entry.body)?, at),
            APPROVALS_STREAM => {
                let fact: ApprovalFact = decode(entry.body)?;
                self.approvals.apply(&fact, at);
            }
            StreamId {
                realm,
                kind: WEBHOOKS,
                ..
            } => {
                let known = self.webhooks.entry(RealmId(realm)).or_default();
                known.apply(&decode::<WebhookFact>(entry.body)?);
            }
            _ => return Ok(()),
        }
        self.tails.insert(entry.stream, Tail { seq: entry.seq, at });
        Ok(())
    }
}

/// A line of a list: what it is about, and what happened to it after the instant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = RestoredLine)]
pub struct AccessLine {
    /// `key`, `person`, `request`, `policy`, `realm`, `webhook` or `tenant`.
    pub what: String,
    /// Its id, name or number.
    pub id: String,
    /// What happened to it.
    pub change: String,
}

/// What became of access with a restore to the past.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Restored)]
pub struct Since {
    /// The latest time in the restored records, without the facts that were taken over.
    pub restored_until: String,
    /// The latest time in the backup: what happened later is unknown.
    pub known_until: String,
    /// The last commit of the backup.
    pub known_commit: u64,
    /// What was taken over, because it was taken away after the instant.
    pub taken_over: Vec<AccessLine>,
    /// What was issued, raised or created after the instant: it does not exist or work in the restored history.
    pub locked: Vec<AccessLine>,
    /// How many lines are not listed.
    pub unlisted: usize,
    /// Why the rest of the backup could not be read to its end; null when it could.
    pub incomplete: Option<String>,
}

/// The facts to write after the instant, and the list of them.
struct Taking<'a> {
    then: &'a Access,
    last: &'a Access,
    tails: BTreeMap<StreamId, Tail>,
    commits: Vec<Commit>,
    since: Since,
}

/// What the restored history takes over from the rest of the backup: commits to write, in order, and the list for
/// people. `then` is the state at the instant, `last` the one at the end of the backup.
///
/// # Errors
/// When a fact cannot be encoded.
pub fn taken_over(then: &Access, last: &Access) -> Result<(Vec<Commit>, Since), BackupError> {
    let mut taking = Taking {
        then,
        last,
        tails: then.tails.clone(),
        commits: Vec::new(),
        since: Since {
            restored_until: then.latest.to_string(),
            known_until: last.latest.to_string(),
            known_commit: last.commit,
            ..Since::default()
        },
    };
    taking.keys()?;
    taking.tenants()?;
    taking.people()?;
    taking.approvals()?;
    taking.webhooks()?;
    Ok((taking.commits, taking.since))
}

/// Adds a line to a list; returns 1 when the list is full.
fn push(
    list: &mut Vec<AccessLine>,
    what: &str,
    id: impl ToString,
    change: impl Into<String>,
) -> usize {
    if list.len() >= LISTED_MAX {
        return 1;
    }
    list.push(AccessLine {
        what: what.to_owned(),
        id: id.to_string(),
        change: change.into(),
    });
    0
}

impl Taking<'_> {
    fn says<T: Serialize>(&mut self, stream: StreamId, fact: &T) -> Result<(), BackupError> {
        let tail = self.tails.entry(stream).or_default();
        let entry = tail.next(stream, self.then.latest, fact)?;
        match self.commits.last_mut() {
            Some(commit) if commit.entries.len() < FACTS_OF_COMMIT => commit.entries.push(entry),
            Some(_) | None => self.commits.push(Commit {
                entries: vec![entry],
                ..Commit::default()
            }),
        }
        Ok(())
    }

    /// Lists something that was taken over.
    fn notes(&mut self, what: &str, id: impl ToString, change: impl Into<String>) {
        let unlisted = push(&mut self.since.taken_over, what, id, change);
        self.since.unlisted = self.since.unlisted.strict_add(unlisted);
    }

    /// Lists something that is not in force in the restored history.
    fn locks(&mut self, what: &str, id: impl ToString, change: impl Into<String>) {
        let unlisted = push(&mut self.since.locked, what, id, change);
        self.since.unlisted = self.since.unlisted.strict_add(unlisted);
    }

    fn keys(&mut self) -> Result<(), BackupError> {
        let (then, last) = (self.then, self.last);
        for key in last.platform.keys.values() {
            let of = format!("of {}, {}", key.tenant, key.mode.as_str());
            let Some(before) = then.platform.keys.get(&key.id) else {
                self.locks("key", &key.id, format!("{of}: issued"));
                continue;
            };
            let ends = key.ends_at.filter(|_| key.ends_at != before.ends_at);
            let revoked = key.revoked && !before.revoked;
            let Some(at) = ends.or(key.ends_at.filter(|_| revoked)) else {
                continue;
            };
            let fact = PlatformFact::KeyEnds {
                id: key.id.clone(),
                at,
                revoked: key.revoked,
            };
            self.says(PLATFORM_STREAM, &fact)?;
            let change = if key.revoked {
                format!("{of}: revoked")
            } else {
                format!("{of}: replaced, ends at {at}")
            };
            self.notes("key", &key.id, change);
        }
        Ok(())
    }

    fn tenants(&mut self) -> Result<(), BackupError> {
        let (then, last) = (self.then, self.last);
        for tenant in last.platform.tenants.values() {
            let Some(before) = then.platform.tenants.get(&tenant.id) else {
                self.locks("tenant", &tenant.id, "created");
                continue;
            };
            self.policy(before, tenant.policy)?;
            for mode in [Mode::Live, Mode::Test] {
                self.closed(before, mode)?;
                if before.banks.of(mode) != tenant.banks.of(mode) {
                    let change = format!("relation to its {} bank changed", mode.as_str());
                    self.locks("tenant", &tenant.id, change);
                }
            }
        }
        Ok(())
    }

    /// Takes over what a tenant's policy has come to forbid.
    fn policy(&mut self, before: &Tenant, since: Policy) -> Result<(), BackupError> {
        let policy = before.policy.stricter(since);
        if policy != before.policy {
            let fact = PlatformFact::TenantChanged {
                id: before.id.clone(),
                name: before.name.clone(),
                policy,
                limits: before.limits,
                fees: before.fees.clone(),
                total_limits: before.total_limits,
                provider: before.provider.clone(),
            };
            self.says(PLATFORM_STREAM, &fact)?;
            self.notes("policy", &before.id, "stricter");
        }
        if policy != since {
            self.locks("policy", &before.id, "loosened");
        }
        Ok(())
    }

    fn closed(&mut self, tenant: &Tenant, mode: Mode) -> Result<(), BackupError> {
        let realm = tenant.realm(mode);
        let (then, last) = (&self.then.platform, &self.last.platform);
        if !then.is_open(realm) || last.is_open(realm) {
            return Ok(());
        }
        let fact = PlatformFact::RealmChanged {
            id: tenant.id.clone(),
            mode,
            state: RealmState::Closed,
        };
        self.says(PLATFORM_STREAM, &fact)?;
        let change = format!("{} {}", mode.as_str(), Serving::Closed.as_str());
        self.notes("realm", &tenant.id, change);
        Ok(())
    }

    fn people(&mut self) -> Result<(), BackupError> {
        let (then, last) = (self.then, self.last);
        for person in last.people.all() {
            let before = then.people.named(person.name.as_str());
            let Some(before) = before.filter(|before| before.works()) else {
                if person.works() {
                    self.locks("person", &person.name, "credential issued");
                }
                continue;
            };
            self.person(before, person)?;
        }
        Ok(())
    }

    /// Takes over what a person whose credential worked at the instant may no longer do.
    fn person(&mut self, before: &Person, since: &Person) -> Result<(), BackupError> {
        let name = since.name.clone();
        if since.credential.id != before.credential.id || !since.works() {
            self.says(PEOPLE_STREAM, &PeopleFact::Revoked { name })?;
            self.notes("person", &since.name, "credential revoked");
            if since.works() {
                self.locks("person", &since.name, "credential issued");
            }
        } else if since.role < before.role {
            let role = since.role;
            self.says(PEOPLE_STREAM, &PeopleFact::RoleChanged { name, role })?;
            let change = format!("role lowered to {}", role.as_str());
            self.notes("person", &since.name, change);
        } else if since.role > before.role {
            let change = format!("role raised to {}", since.role.as_str());
            self.locks("person", &since.name, change);
        }
        Ok(())
    }

    /// Rejects what waited at the instant and was rejected later, or decided so long ago that it is not known how.
    fn approvals(&mut self) -> Result<(), BackupError> {
        let (then, last) = (self.then, self.last);
        for waiting in then.approvals.all().filter(|it| it.vote.is_none()) {
            let number = waiting.proposal.number;
            let vote = last.approvals.numbered(number).ok().map(|it| &it.vote);
            let (by, reason) = match vote {
                Some(None) => continue,
                Some(Some(vote)) if vote.approved => {
                    self.locks("request", number, "approved");
                    continue;
                }
                Some(Some(vote)) => (vote.by.clone(), vote.reason.clone()),
                None => (RESTORE.to_owned(), "decided after the instant".to_owned()),
            };
            let fact = ApprovalFact::Decided {
                number,
                by,
                approved: false,
                reason,
            };
            self.says(APPROVALS_STREAM, &fact)?;
            self.notes("request", number, "rejected");
        }
        Ok(())
    }

    fn webhooks(&mut self) -> Result<(), BackupError> {
        let (then, last) = (self.then, self.last);
        for (realm, known) in &then.webhooks {
            let stream = realm_stream(*realm, WEBHOOKS);
            for before in known.all() {
                let number = before.number;
                let id = WebhookId {
                    realm: *realm,
                    number,
                };
                let since = last.webhooks.get(realm).map(|since| since.get(number));
                let Some(Ok(since)) = since else {
                    self.says(stream, &WebhookFact::Removed { number })?;
                    self.notes("webhook", id, "removed");
                    continue;
                };
                let mut now = before.clone();
                now.secrets.clone_from(&since.secrets);
                now.active = before.active && since.active;
                if now.secrets != before.secrets {
                    self.notes("webhook", id, "secret rotated");
                }
                if now.active != before.active {
                    self.notes("webhook", id, "stopped");
                }
                if since.url != before.url {
                    self.locks("webhook", id, "address changed");
                }
                if now != *before {
                    self.says(stream, &WebhookFact::Set(now))?;
                }
            }
        }
        Ok(())
    }
}
