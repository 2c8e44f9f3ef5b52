//! What people did and looked at, from the audit log: two files of evidence.
//!
//! **Isolation.** The audit log is one for all tenants, and an entry can name accounts of several. Only entries about the
//! subject are read, and every CVU of another account in them becomes `…`. Of a day, entries that name neither the tenant nor one of
//! its accounts are left out.

use std::collections::{BTreeMap, BTreeSet};

use caudal_actors::engine::people::{AuditQuery, AuditRow, whole_list};
use caudal_actors::failure::Failure;
use caudal_http::errors::ApiError;
use caudal_http::shown;
use caudal_ledger::cases::CaseId;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::VoucherId;
use caudal_ledger::people::audit::{AuditFilter, AuditOutcome};
use caudal_ledger::webhooks::WebhookId;
use serde_json::json;

use super::super::audit::{EntryBody, subjects};
use super::super::cases::realm_of;
use super::folder::Rows;
use super::gathering::{Gathering, Subject};

/// What stands for a CVU that is not of the evidence.
const OTHER: &str = "…";
/// The action of the entries of reads with keys.
const READ_BY_KEY: &str = "readByKey";
/// How many entries are read at a time.
const PAGE: usize = 500;

impl Gathering<'_> {
    /// The acts of operators with their reasons, and the looks.
    pub(super) async fn people(&mut self) -> Result<(), ApiError> {
        let app = &self.admin_state.app;
        let mut names = BTreeSet::new();
        for cvu in self.cvus().collect::<Vec<_>>() {
            names.extend(subjects(app, Some(&cvu.to_string())).await?);
        }
        match &self.subject {
            // All entries are read, and `kept` decides. What keys have read so far is written first.
            Subject::Day(_) => drop(subjects(app, None).await?),
            Subject::Account(_) | Subject::Person(_) | Subject::Case(..) => {
                names.extend(self.cases.keys().cloned());
                names.extend(self.transfers.iter().cloned());
                names.insert(self.subject.name());
            }
        }
        let [mut acts, mut looks] = ["acts.ndjson", "looks.ndjson"].map(Rows::lines);
        let (mut own, subjects) = (BTreeMap::new(), names.into_iter().collect::<Vec<_>>());
        // Without a subject, reads with keys are listed by their action only.
        let reads = subjects.is_empty().then(|| Some(READ_BY_KEY.to_owned()));
        for action in [None].into_iter().chain(reads) {
            let mut query = AuditQuery {
                filter: AuditFilter {
                    subjects: subjects.clone(),
                    action,
                    ..AuditFilter::default()
                },
                from: Some(self.period.0),
                to: Some(self.period.1),
                before: None,
                limit: PAGE,
            };
            loop {
                let found = self.engine().operators().audit_page(query.clone()).await?;
                for row in found.rows {
                    let is_look = matches!(row.entry.outcome, AuditOutcome::Looked);
                    let Some(row) = self.kept(row, &mut own).await? else {
                        continue;
                    };
                    let rows = if is_look { &mut looks } else { &mut acts };
                    self.folder.row(rows, &json!(EntryBody::from(row)))?;
                }
                query.before = found.next;
                if query.before.is_none() {
                    break;
                }
            }
        }
        self.folder.table(acts)?;
        self.folder.table(looks)
    }

    /// An entry without what is of others; `None` if nothing of it is of this evidence. `own` remembers which CVUs are.
    async fn kept(
        &self,
        mut row: AuditRow,
        own: &mut BTreeMap<Cvu, bool>,
    ) -> Result<Option<AuditRow>, ApiError> {
        let entry = &mut row.entry;
        let realm = whole_list(&self.tenant.id, self.mode);
        let mut named = !self.is_of_all();
        let mut kept = BTreeMap::new();
        for (name, times) in std::mem::take(&mut entry.details.shown) {
            let is_own = match Cvu::parse(&name) {
                Ok(cvu) => self.owns(cvu, own).await?,
                Err(_) => name == realm,
            };
            if is_own {
                named = true;
                kept.insert(name, times);
            }
        }
        entry.details.shown = kept;
        let mut parts = entry.subject.split(['/', '?', '&', '=']);
        named |= parts.any(|part| self.is_here(part));
        for cvu in shown::cvus(entry.subject.as_bytes()) {
            if self.owns(cvu, own).await? {
                named = true;
            } else {
                entry.subject = entry.subject.replace(&cvu.to_string(), OTHER);
            }
        }
        Ok(named.then_some(row))
    }

    /// Whether a part of a subject names the tenant, or something of its realm.
    fn is_here(&self, part: &str) -> bool {
        let platform = self.engine().platform();
        let key = platform.keys.get(part);
        let realm = VoucherId::parse(part).map(|id| id.realm);
        let realm = realm.or_else(|| CaseId::parse(part).map(realm_of));
        let realm = realm.or_else(|| WebhookId::parse(part).map(|id| id.realm));
        part == self.tenant.id
            || realm == Some(self.realm)
            || key.is_some_and(|key| key.tenant == self.tenant.id && key.mode == self.mode)
    }

    /// Whether a CVU is of this evidence.
    async fn owns(&self, cvu: Cvu, own: &mut BTreeMap<Cvu, bool>) -> Result<bool, ApiError> {
        if !self.is_of_all() {
            return Ok(self.cvus().any(|it| it == cvu));
        }
        if let Some(known) = own.get(&cvu) {
            return Ok(*known);
        }
        let found = match self.engine().operators().locate(cvu).await {
            Ok((realm, _)) => realm == self.realm,
            Err(Failure::Rejected(_)) => false,
            Err(why) => return Err(why.into()),
        };
        own.insert(cvu, found);
        Ok(found)
    }
}
