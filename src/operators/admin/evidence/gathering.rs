//! Reads what evidence is made of, file by file.
//!
//! **Order.** Accounts first, since their numbers and CVUs say which events, transfers and entries of the audit log
//! belong here; the days of their movements say which days are compared with the bank.

use std::collections::{BTreeMap, BTreeSet};

use caudal_actors::engine::Engine;
use caudal_actors::engine::lists::{ListPage, SortOrder, VoucherFilter, VoucherSort};
use caudal_actors::engine::money::TransferFilter;
use caudal_actors::engine::reconciliation::RangeQuery;
use caudal_actors::failure::Failure;
use caudal_actors::realms::Target;
use caudal_http::bodies::accounts::AccountBody;
use caudal_http::bodies::days::{ClosedDayBody, DayProofBody};
use caudal_http::bodies::events::event;
use caudal_http::bodies::reconciliation::{item, summary};
use caudal_http::bodies::transfers::BankCallBody;
use caudal_http::bodies::vouchers::voucher;
use caudal_http::current;
use caudal_http::errors::ApiError;
use caudal_http::rows::with_account;
use caudal_http::sheets::columns::{RECONCILED, VOUCHERS};
use caudal_ledger::accounts::Account;
use caudal_ledger::cases::{CaseId, CaseKind};
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::events::{Event, EventKinds, Subject as EventSubject};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::{Mode, Tenant};
use caudal_ledger::time::{BusinessDay, Timestamp};
use serde_json::{Value, json};

use super::super::AdminState;
use super::super::cases::{self, realm_of};
use super::EVIDENCE_DAYS_MAX;
use super::folder::{Folder, Rows};

/// How many rows are read at a time.
const PAGE: usize = 500;
/// The events that say how an account changed.
const CHANGES: &str = "account.*";
/// The events of decided cases.
const DECIDED: [&str; 2] = ["transfer.decided", "suspense.resolved"];

/// What evidence is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Subject {
    /// An account.
    Account(Cvu),
    /// All accounts of a person.
    Person(Cuit),
    /// A case, with its text, and its account.
    Case(CaseId, String),
    /// A day of the realm.
    Day(BusinessDay),
}

impl Subject {
    /// Its name, in that of the file.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Account(cvu) => cvu.to_string(),
            Self::Person(cuit) => cuit.to_string(),
            Self::Case(_, text) => text.clone(),
            Self::Day(day) => day.to_string(),
        }
    }

    const fn kind(&self) -> &'static str {
        match self {
            Self::Account(_) => "cvu",
            Self::Person(_) => "cuit",
            Self::Case(..) => "case",
            Self::Day(_) => "date",
        }
    }
}

/// Evidence that is being gathered.
pub(super) struct Gathering<'a> {
    pub(super) admin_state: &'a AdminState,
    pub(super) tenant: &'a Tenant,
    pub(super) mode: Mode,
    pub(super) realm: RealmId,
    pub(super) subject: Subject,
    /// The first and the last instant.
    pub(super) period: (Timestamp, Timestamp),
    /// The accounts that it is about; none of a day, which is about all.
    pub(super) accounts: Vec<Account>,
    pub(super) folder: Folder,
    /// The cases that it is about, by their ids.
    pub(super) cases: BTreeMap<String, CaseId>,
    /// The ids of transfers.
    pub(super) transfers: BTreeSet<String>,
    days: BTreeSet<BusinessDay>,
}

impl<'a> Gathering<'a> {
    /// Finds the accounts and the period.
    ///
    /// # Errors
    /// 404 where the realm has no such account or case; those of every read.
    pub(super) async fn begin(
        admin_state: &'a AdminState,
        tenant: &'a Tenant,
        mode: Mode,
        subject: Subject,
        (from, to): (Option<BusinessDay>, Option<BusinessDay>),
    ) -> Result<Self, ApiError> {
        let (engine, realm) = (&admin_state.app.engine, tenant.realm(mode));
        let now = engine.now();
        let first = from.map_or_else(Timestamp::default, BusinessDay::start);
        let last = to.map_or(now, BusinessDay::end);
        let mut found = Self {
            admin_state,
            tenant,
            mode,
            realm,
            subject,
            period: (first, last),
            accounts: Vec::new(),
            folder: Folder::new()?,
            cases: BTreeMap::new(),
            transfers: BTreeSet::new(),
            days: BTreeSet::new(),
        };
        match found.subject.clone() {
            Subject::Account(cvu) => {
                let target = Target::Cvu(cvu);
                let view = engine.queries().view(realm, target).await?;
                found.accounts.push(view.account);
            }
            Subject::Person(cuit) => {
                found.accounts = engine.queries().accounts_of_cuit(realm, cuit).await?;
                if found.accounts.is_empty() {
                    return Err(Rejection::AccountNotFound.into());
                }
            }
            Subject::Case(id, text) => found.of_case(id, text).await?,
            Subject::Day(day) => {
                found.period = (day.start(), day.end());
                found.days.insert(day);
            }
        }
        // Before its accounts there were none of their events.
        if let Some(oldest) = found.accounts.iter().map(|it| it.created_at).min() {
            found.period.0 = oldest.max(first);
        }
        Ok(found)
    }

    /// The account of a case, which has to be one of this realm.
    async fn of_case(&mut self, id: CaseId, text: String) -> Result<(), ApiError> {
        if realm_of(id) != self.realm {
            return Err(Rejection::CaseNotFound.into());
        }
        let body = json!(cases::read(self.admin_state, id).await?);
        let at = |name: &str| body.get(name)?.as_str().and_then(Timestamp::parse);
        let since = at("since").map(Timestamp::business_day);
        self.days.extend(since);
        let cvu = body.get("cvu").and_then(Value::as_str).map(Cvu::parse);
        if let Some(Ok(cvu)) = cvu {
            let target = Target::Cvu(cvu);
            match self.engine().queries().view(self.realm, target).await {
                Ok(view) => self.accounts.push(view.account),
                // Money can arrive for a CVU that nobody has.
                Err(Failure::Rejected(_)) => {}
                Err(why) => return Err(why.into()),
            }
        }
        self.cases.insert(text, id);
        Ok(())
    }

    pub(super) fn engine(&self) -> &'a Engine {
        &self.admin_state.app.engine
    }

    /// The CVUs of the accounts.
    pub(super) fn cvus(&self) -> impl Iterator<Item = Cvu> {
        self.accounts.iter().filter_map(|account| account.cvu)
    }

    /// Whether evidence is about all accounts of the realm.
    pub(super) fn is_of_all(&self) -> bool {
        matches!(self.subject, Subject::Day(_))
    }

    fn is_of(&self, account: AccountNo) -> bool {
        self.is_of_all() || self.accounts.iter().any(|it| it.number == account)
    }

    /// Reads all files and the index, for an operator.
    ///
    /// # Errors
    /// 400 when that is more than an archive holds; those of every read.
    pub(super) async fn all(mut self, operator: &str) -> Result<Folder, ApiError> {
        self.accounts().await?;
        self.events().await?;
        self.transfers().await?;
        self.cases().await?;
        self.people().await?;
        let (days, left_out, missing) = self.reconciliation().await?;
        let sealed = self.sealed_days().await?;
        let about = json!({
            "about": {
                self.subject.kind(): self.subject.name(),
                "tenantId": self.tenant.id,
                "tenantName": self.tenant.name,
                "mode": self.mode.as_str(),
                "from": self.period.0.to_string(),
                "to": self.period.1.to_string(),
                "cvus": self.cvus().map(|cvu| cvu.to_string()).collect::<Vec<_>>(),
            },
            "madeAt": self.engine().now().to_string(),
            "madeBy": operator,
            "requestId": current::request().id,
            "version": env!("CARGO_PKG_VERSION"),
            "reconciliation": {"days": days, "leftOut": left_out, "missing": missing},
            "sealedDays": sealed,
        });
        self.folder.index(about)?;
        Ok(self.folder)
    }

    /// The accounts with their vouchers, or the vouchers of the day.
    async fn accounts(&mut self) -> Result<(), ApiError> {
        if self.is_of_all() {
            return self.vouchers("movements.csv".to_owned(), None).await;
        }
        for account in self.accounts.clone() {
            let name = account
                .cvu
                .map_or_else(|| account.number.to_string(), |cvu| cvu.to_string());
            let target = Target::Account(account.number);
            let view = self.engine().queries().view(self.realm, target).await?;
            let (folder, body) = (format!("accounts/{name}"), json!(AccountBody::from(&view)));
            self.folder.json(format!("{folder}/account.json"), &body)?;
            if account.cvu.is_some() {
                let name = format!("{folder}/movements.csv");
                self.vouchers(name, Some(target)).await?;
            }
        }
        Ok(())
    }

    /// A table of the vouchers of an account, or of the realm.
    async fn vouchers(&mut self, name: String, of: Option<Target>) -> Result<(), ApiError> {
        let (realm, sort) = (self.realm, VoucherSort::default());
        let filter = VoucherFilter {
            from: Some(self.period.0),
            to: Some(self.period.1),
            ..VoucherFilter::default()
        };
        let (mut rows, mut page) = (Rows::csv(name, VOUCHERS), oldest());
        loop {
            let (queries, filter) = (self.engine().queries(), filter.clone());
            let found = match of {
                Some(target) => queries.movements(realm, target, filter, sort, page).await?,
                None => queries.vouchers(realm, filter, page).await?,
            };
            for placed in &found.items {
                let body = with_account(&voucher(realm, placed), placed.account);
                self.folder.row(&mut rows, &body)?;
                self.days.insert(placed.voucher.at.business_day());
            }
            page.cursor = found.next;
            if page.cursor.is_none() {
                return self.folder.table(rows);
            }
        }
    }

    /// The changes of the accounts, and the cases that their events lead to.
    async fn events(&mut self) -> Result<(), ApiError> {
        let (realm, (from, to)) = (self.realm, self.period);
        let words = [CHANGES].into_iter().chain(DECIDED);
        let kinds = EventKinds::known(words);
        let queries = self.engine().queries();
        let first = queries.events_between(realm, (from, to), 1).await?;
        let first = first.first();
        let mut after = first.and_then(|event| event.id.number.checked_sub(1));
        let mut rows = Rows::lines("changes.ndjson");
        while let Some(seen) = after {
            let page = queries.events(realm, seen, kinds, PAGE).await?;
            for event in page.items.iter().filter(|it| (from..=to).contains(&it.at)) {
                self.event(&mut rows, event)?;
            }
            let late = page.items.last().is_some_and(|event| event.at > to);
            let seen = page.seen.filter(|_| page.more && !late);
            after = seen.map(|seen| seen.number);
        }
        self.folder.table(rows)
    }

    fn event(&mut self, rows: &mut Rows, found: &Event) -> Result<(), ApiError> {
        let realm = self.realm;
        let case = match &found.subject {
            EventSubject::Account(..) if self.is_of(found.account) => {
                let body = json!(event(&self.tenant.id, found));
                return self.folder.row(rows, &body);
            }
            EventSubject::Transfer(transfer) if self.is_of(found.account) => {
                let id = transfer.id(realm, found.account);
                Some((id.to_string(), CaseId::Transfer(id)))
            }
            EventSubject::Resolved(it) if self.has(it.suspense.cash_in.cvu) => {
                let id = it.id(realm);
                Some((id.to_string(), CaseId::Suspense(id)))
            }
            _ => None,
        };
        self.cases.extend(case);
        Ok(())
    }

    fn has(&self, cvu: Cvu) -> bool {
        self.is_of_all() || self.cvus().any(|it| it == cvu)
    }

    /// Whether a body is about one of the accounts, by its CVU.
    fn names(&self, body: &Value) -> bool {
        let cvu = body.get("cvu").and_then(Value::as_str).map(Cvu::parse);
        self.is_of_all() || matches!(cvu, Some(Ok(cvu)) if self.has(cvu))
    }

    /// The calls to the bank: those of the transfers, and the last ones of each account.
    async fn transfers(&mut self) -> Result<(), ApiError> {
        let mut rows = Rows::lines("bank-calls.ndjson");
        let targets = self.accounts.iter().filter(|it| it.cvu.is_some());
        let mut wanted: Vec<_> = targets.map(|it| Some(Target::Account(it.number))).collect();
        if self.is_of_all() {
            wanted.push(None);
        }
        for target in wanted {
            let filter = TransferFilter {
                from: target,
                since: Some(self.period.0),
                until: Some(self.period.1),
                ..TransferFilter::default()
            };
            let mut page = oldest();
            loop {
                let queries = self.engine().queries();
                let found = queries.transfers(self.realm, filter.clone(), page).await?;
                for view in &found.items {
                    let id = view.transfer.id(self.realm, view.account);
                    let (_, calls) = queries.transfer_of(self.realm, id).await?;
                    for call in &calls {
                        let call = json!(BankCallBody::from(call));
                        let of = json!({"transferId": id.to_string(), "call": call});
                        self.folder.row(&mut rows, &of)?;
                    }
                    self.transfers.insert(id.to_string());
                }
                page.cursor = found.next;
                if page.cursor.is_none() {
                    break;
                }
            }
        }
        for account in self.accounts.clone() {
            let operators = self.engine().operators();
            let (_, calls) = operators.on_disk(self.realm, account.number).await?;
            for call in calls {
                let mut call = json!(BankCallBody::from(&(Timestamp::default(), call)));
                if let Some(call) = call.as_object_mut() {
                    // The last calls of an account are kept without their instants.
                    call.remove("at");
                }
                let of = json!({"walletAccountId": account.number.0, "call": call});
                self.folder.row(&mut rows, &of)?;
            }
        }
        self.folder.table(rows)
    }

    /// The cases, decided with who and why, and those that wait.
    async fn cases(&mut self) -> Result<(), ApiError> {
        let mut rows = Rows::lines("cases.ndjson");
        for id in self.cases.clone().into_values() {
            let body = json!(cases::read(self.admin_state, id).await?);
            self.folder.row(&mut rows, &body)?;
        }
        let (kinds, mut offset) = (CaseKind::ALL.to_vec(), 0);
        loop {
            let operators = self.engine().operators();
            let (realms, span) = (vec![self.realm], (offset, PAGE));
            let (found, _) = operators.cases(realms, kinds.clone(), span).await?;
            for case in &found {
                let body = json!(cases::render(self.admin_state, case));
                let id = body.get("id").and_then(Value::as_str);
                let is_new = id.is_some_and(|id| !self.cases.contains_key(id));
                if is_new && self.names(&body) {
                    self.folder.row(&mut rows, &body)?;
                }
            }
            offset += PAGE;
            if found.len() < PAGE {
                return self.folder.table(rows);
            }
        }
    }

    /// The newest days of the movements.
    fn newest_days(&self) -> BTreeSet<BusinessDay> {
        let newest = self.days.iter().rev().take(EVIDENCE_DAYS_MAX);
        newest.copied().collect()
    }

    /// The closed days with the proofs of the accounts that were in them; returns which days are closed.
    async fn sealed_days(&mut self) -> Result<Vec<String>, ApiError> {
        let (realm, mut closed) = (self.realm, Vec::new());
        for day in self.newest_days() {
            let Some(found) = self.engine().queries().closed_day(realm, day).await? else {
                continue;
            };
            let body = json!(ClosedDayBody::from(&found));
            self.folder.json(format!("days/{day}.json"), &body)?;
            for cvu in self.cvus().collect::<Vec<_>>() {
                match self.engine().queries().day_proof(realm, day, cvu).await {
                    Ok(proof) => {
                        let name = format!("days/{day}-{cvu}.json");
                        self.folder.json(name, &json!(DayProofBody::from(&proof)))?;
                    }
                    // The account had no CVU then.
                    Err(Failure::Rejected(_)) => {}
                    Err(why) => return Err(why.into()),
                }
            }
            closed.push(day.to_string());
        }
        Ok(closed)
    }

    /// The days next to the bank's list: those compared, with their sums, those left out, and those that failed.
    async fn reconciliation(&mut self) -> Result<(Vec<Value>, Vec<String>, Vec<Value>), ApiError> {
        let newest = self.newest_days();
        let left_out = self
            .days
            .difference(&newest)
            .map(ToString::to_string)
            .collect();
        let (mut days, mut missing) = (Vec::new(), Vec::new());
        for day in newest {
            let wanted = RangeQuery {
                from: day,
                to: day,
                result: None,
                after: None,
                limit: None,
                counted: None,
            };
            let (queries, id) = (self.engine().queries(), current::request().id);
            let found = match queries.reconcile_days(self.realm, &wanted, &id).await {
                Ok(found) => found,
                Err(why) => {
                    let code = ApiError::from(why).code();
                    missing.push(json!({"date": day.to_string(), "code": code}));
                    continue;
                }
            };
            days.push(json!({"date": day.to_string(), "summary": summary(&found.counted.tally)}));
            let mut rows = Rows::csv(format!("reconciliation/{day}.csv"), RECONCILED);
            for (day, it) in &found.items {
                let body = json!(item(self.realm, *day, it));
                if self.names(&body) {
                    self.folder.row(&mut rows, &body)?;
                }
            }
            self.folder.table(rows)?;
        }
        Ok((days, left_out, missing))
    }
}

/// The first page of a list, the oldest first.
const fn oldest() -> ListPage {
    ListPage {
        order: SortOrder::Ascending,
        limit: PAGE,
        offset: 0,
        cursor: None,
    }
}
