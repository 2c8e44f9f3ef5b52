//! The collector account's day: the bank's statement, each movement with what it is for the ledger.
//!
//! **Shape.** A movement is a client's if the ledger has its transfer, return or arrival (by reference, else by the
//! rail's id), or if the bank lists it for a CVU of ours and the ledger has not booked it yet. Any other is the
//! account's own: it is recorded once, under the bank's id, by the keeper of the account.
//!
//! **Order.** The statement is read before the lists of CVUs: what is on the first and belongs to a CVU is on the second
//! as well. The lists of the days before and after count, too, because a bank's clocks differ around midnight; they are
//! read only if the statement has a movement that nothing else explains.
//!
//! **Bounds.** [`RECORDED_AT_ONCE`] facts in one order; a day's records that the bank does not list any more are shown up
//! to [`UNLISTED_MAX`].
//!
//! **Failure.** What cannot be recorded now (the disk is full, or another reader records it) is shown all the same, and
//! recorded at the next reading.
//!
//! **One account, several realms.** The first realm on the account is the keeper: it records the account's own movements,
//! and they show in its reconciliation. The balances of a shared account are nobody's, so no realm reads its day.

use std::collections::BTreeSet;
use std::sync::Arc;

use caudal_ledger::cases::{RecordedMovement, SuspenseId, SuspensePlace};
use caudal_ledger::chain::Digest;
use caudal_ledger::collector::{
    CollectorClass, CollectorDay, CollectorMovement, CollectorRule, classify,
};
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::{OriginId, RealmId, TransferId, VoucherId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::BusinessDay;

use super::read_slots::{ReadAccess, ReadCost};
use super::{Ledger, Queries};
use crate::banks::{NoticeAuthority, OnCollector, RealmBank};
use crate::failure::Failure;
use crate::platform::realms;
use crate::ports::{BankError, BankGateway as _, CollectorStatement, DayList, MovementWay};
use crate::realms::RecordMovements;
use crate::records::keys::Rail;
use crate::records::reads;
use caudal_storage::Index;

/// How many facts one order records.
const RECORDED_AT_ONCE: usize = 200;
/// How many of a day's records are compared with the bank's statement.
const UNLISTED_MAX: usize = 10_000;

/// The record of a client's movement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientRecord {
    /// A transfer that left.
    Transfer(TransferId),
    /// The voucher that credited money which arrived or came back.
    Voucher(VoucherId),
    /// Money in suspense that arrived.
    Suspense(SuspenseId),
    /// Money in suspense that was returned.
    Return(SuspenseId),
}

/// What a movement of the collector account is for the ledger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CollectorSide {
    /// A client's; without a record if the ledger has not booked it yet.
    Client(Option<ClientRecord>),
    /// The account's own.
    Own(Box<RecordedMovement>),
}

/// A movement of the collector account's day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CollectorItem {
    /// As the bank lists it; as it was recorded, if the bank does not list it any more.
    pub movement: CollectorMovement,
    /// Whether the bank lists it.
    pub listed: bool,
    /// What it is.
    pub side: CollectorSide,
}

impl CollectorItem {
    /// Whether the bank lists the movement differently from its record.
    pub fn has_changed(&self) -> bool {
        match &self.side {
            CollectorSide::Own(record) => record.movement.differs(&self.movement),
            CollectorSide::Client(_) => false,
        }
    }
}

/// The collector account's day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CollectorReport {
    /// The business day.
    pub day: BusinessDay,
    /// The bank's balances and the sums of its movements; `None` when the bank reports no balance of the day.
    pub sums: Option<CollectorDay>,
    /// The movements, in the bank's order, then those that the bank does not list any more.
    pub items: Vec<CollectorItem>,
    /// The digest of the bank's answers as they were received.
    pub digest: Digest,
}

/// The movements that the bank lists for CVUs: their ids at the bank and on the rail, by direction.
#[derive(Default)]
struct ListedForCvus(BTreeSet<(bool, String)>);

impl ListedForCvus {
    fn add(&mut self, list: &DayList) {
        for movement in &list.movements {
            // Money of the account itself is on these lists as well.
            if Cvu::parse(&movement.cvu).is_err() {
                continue;
            }
            let incoming = movement.way == MovementWay::In;
            let ids = [Some(&movement.bank_id), movement.coelsa_id.as_ref()];
            let ids = ids.into_iter().flatten();
            self.0.extend(ids.map(|id| (incoming, id.clone())));
        }
    }

    fn has(&self, line: &CollectorMovement) -> bool {
        let ids = [Some(&line.bank_id), line.coelsa_id.as_ref()];
        let mut ids = ids.into_iter().flatten();
        ids.any(|id| self.0.contains(&(line.incoming, id.clone())))
    }
}

/// A collector account, as a statement is compared with the ledger.
struct ComparedAccount {
    on: Arc<OnCollector>,
    keeper: RealmId,
    rules: Vec<CollectorRule>,
}

impl ComparedAccount {
    /// The sides of a statement's lines, those that could not be recorded by the tenant's rules.
    fn unrecorded(
        &self,
        statement: &CollectorStatement,
        sides: Vec<Option<CollectorSide>>,
    ) -> Vec<Option<CollectorSide>> {
        let lines = statement.movements.iter().zip(sides);
        let own = |line: &CollectorMovement| {
            let class = classify(&self.rules, line);
            let record = RecordedMovement::unrecorded(line.clone(), class);
            CollectorSide::Own(Box::new(record))
        };
        lines
            .map(|(line, side)| side.or_else(|| Some(own(line))))
            .collect()
    }
}

/// The lines of a statement with what the ledger knows of each.
#[derive(Default)]
struct Explained {
    /// In the order of the statement; `None` for a line that nothing explains so far.
    sides: Vec<Option<CollectorSide>>,
    /// What the ledger has to record.
    news: RecordMovements,
}

/// A statement whose lines are explained, and how many facts were recorded for that.
struct ComparedStatement {
    statement: Arc<CollectorStatement>,
    sides: Vec<Option<CollectorSide>>,
    recorded: usize,
}

/// The realm that records the movements of the account itself.
fn keeper(on: &OnCollector) -> Option<RealmId> {
    on.realms.first().copied()
}

impl Queries<'_> {
    /// The day of a realm's collector account by the bank's statement. What the statement has and the ledger does not
    /// know is recorded first.
    ///
    /// # Errors
    /// The bank's failure; [`Rejection::CollectorShared`] when another realm has the same account.
    pub async fn collector_day(
        self,
        realm: RealmId,
        day: BusinessDay,
        request_id: &str,
    ) -> Result<CollectorReport, Failure> {
        match self.0.realms.collectors.of(realm) {
            Some(on) if on.realms.len() > 1 => Err(Rejection::CollectorShared.into()),
            Some(on) => self.report(on, realm, day, request_id).await,
            None => Err(Failure::of_question(BankError::Failed {
                status: None,
                body: r#"{"message":"no bank is set for this mode"}"#.to_owned(),
            })),
        }
    }

    /// The movements of the collector account itself on a day, if the realm keeps them.
    pub(super) async fn own_movements(
        self,
        realm: RealmId,
        day: BusinessDay,
        request_id: &str,
    ) -> Result<Vec<(CollectorMovement, RecordedMovement)>, Failure> {
        let on = self.0.realms.collectors.of(realm);
        let Some(on) = on.filter(|on| keeper(on) == Some(realm)) else {
            return Ok(Vec::new());
        };
        let report = self.report(on, realm, day, request_id).await?;
        let own = report.items.into_iter().filter_map(|item| match item.side {
            CollectorSide::Own(record) if item.listed => Some((item.movement, *record)),
            CollectorSide::Own(_) | CollectorSide::Client(_) => None,
        });
        Ok(own.collect())
    }

    async fn report(
        self,
        on: Arc<OnCollector>,
        keeper: RealmId,
        day: BusinessDay,
        request_id: &str,
    ) -> Result<CollectorReport, Failure> {
        let compared = self.compared(on, keeper, day, request_id).await?;
        let statement = compared.statement;
        let ids = statement.movements.iter().map(|it| it.bank_id.clone());
        let listed: BTreeSet<_> = ids.collect();
        let lines = statement.movements.iter().zip(compared.sides);
        let mut items: Vec<_> = lines
            .map(|(movement, side)| CollectorItem {
                movement: movement.clone(),
                listed: true,
                side: side.unwrap_or(CollectorSide::Client(None)),
            })
            .collect();
        let read =
            move |store: &dyn Index| reads::collector::of_day(store, keeper, day, UNLISTED_MAX);
        let recorded = self.0.scan(keeper, ReadCost::Scan, read).await?;
        let gone = recorded.into_iter();
        let gone = gone.filter(|it| !it.matched && !listed.contains(&it.movement.bank_id));
        items.extend(gone.map(|record| CollectorItem {
            movement: record.movement.clone(),
            listed: false,
            side: CollectorSide::Own(Box::new(record)),
        }));
        let balances = statement.opening.zip(statement.closing);
        let sums = balances.map(|both| CollectorDay::of(day, both, &statement.movements));
        Ok(CollectorReport {
            day,
            sums,
            items,
            digest: statement.digest,
        })
    }

    /// The statement of a day with what the ledger knows of each line, once all of it is recorded.
    async fn compared(
        self,
        on: Arc<OnCollector>,
        keeper: RealmId,
        day: BusinessDay,
        request_id: &str,
    ) -> Result<ComparedStatement, Failure> {
        let (statement, calls) = self.statement_of(keeper, day, request_id).await?;
        let platform = self.0.platform();
        let mut all = realms(&platform);
        let rules = all
            .find(|(tenant, mode)| tenant.realm(*mode) == keeper)
            .map(|(tenant, _)| tenant.collector_rules.clone());
        let account = Arc::new(ComparedAccount {
            on,
            keeper,
            rules: rules.unwrap_or(Vec::new()),
        });
        let (mut lists, mut recorded) = (None, 0_usize);
        // Every round but two records a line at least.
        for _ in 0..=statement.movements.len().strict_add(2) {
            let (of, lines, known) = (Arc::clone(&account), Arc::clone(&statement), lists.clone());
            let explain =
                move |books: &ReadAccess| books.explain(&of, &lines.movements, known.as_deref());
            let Explained { sides, news } = self.0.look(keeper, ReadCost::Scan, explain).await?;
            if lists.is_none() && sides.contains(&None) {
                let around = self.lists_around(keeper, day, request_id).await?;
                lists = Some(Arc::new(around));
                continue;
            }
            if news.is_empty() {
                if recorded > 0 {
                    self.0.realms.journal(keeper, calls);
                }
                return Ok(ComparedStatement {
                    statement,
                    sides,
                    recorded,
                });
            }
            match self.0.decide(keeper, news, request_id).await {
                Ok(done) => recorded = recorded.strict_add(done),
                Err(why) => {
                    tracing::warn!(%why, realm = keeper.0, "movements of the collector account could not be recorded yet");
                    return Ok(ComparedStatement {
                        sides: account.unrecorded(&statement, sides),
                        statement,
                        recorded,
                    });
                }
            }
        }
        Err(Failure::Overloaded)
    }

    /// What the bank lists for CVUs on a day, the day before and the day after.
    async fn lists_around(
        self,
        realm: RealmId,
        day: BusinessDay,
        request_id: &str,
    ) -> Result<ListedForCvus, Failure> {
        let mut lists = ListedForCvus::default();
        let today = self.0.now_in(realm).business_day();
        for day in [day.before(), day, day.next()] {
            if day <= today {
                lists.add(self.listed_by_bank(realm, day, request_id).await?.as_ref());
            }
        }
        Ok(lists)
    }

    /// The bank's statement of a day, with the calls for it. It may have been kept for a moment.
    async fn statement_of(
        self,
        realm: RealmId,
        day: BusinessDay,
        request_id: &str,
    ) -> Result<(Arc<CollectorStatement>, Vec<BankCall>), Failure> {
        let mut calls = Vec::new();
        let ask = async |bank: Arc<RealmBank>| {
            let ongoing = day == self.0.now_in(realm).business_day();
            let reply = bank.statement(day, ongoing, request_id).await;
            let statement = reply.result.map_err(Failure::of_question)?;
            if !statement.unreadable.is_empty() {
                // The list of transfers says more of the same line, such as its CVU, so its lines are kept first.
                self.listed_by_bank(realm, day, request_id).await?;
                let authority = NoticeAuthority::from(BTreeSet::from([realm]));
                Ledger(self.0)
                    .unreadable(&authority, realm, &statement.unreadable, request_id)
                    .await;
            }
            calls = reply.calls;
            let size = statement.movements.len();
            Ok((Arc::new(statement), size))
        };
        let kept = &self.0.bank_reads.statements;
        let statement = self.0.kept_or_asked(realm, kept, (realm, day), ask).await?;
        Ok((statement, calls))
    }
}

impl Ledger<'_> {
    /// Reads the bank's statement of a collector account for a day, and records the movements of no client that it has.
    /// Returns how many facts that took; none if the keeper of the account is not served here.
    ///
    /// # Errors
    /// The bank's failure, or the failure to read or write the ledger.
    pub async fn read_statement(
        self,
        on: &Arc<OnCollector>,
        day: BusinessDay,
        request_id: &str,
    ) -> Result<usize, Failure> {
        let served = keeper(on).filter(|keeper| self.0.realms.is_served(*keeper));
        let Some(keeper) = served else {
            return Ok(0);
        };
        let on = Arc::clone(on);
        let compared = Queries(self.0).compared(on, keeper, day, request_id).await;
        Ok(compared?.recorded)
    }
}

impl ReadAccess {
    /// What the ledger knows of each line of a statement; `lists` is what the bank lists for CVUs, if that was asked
    /// for.
    fn explain(
        &self,
        account: &ComparedAccount,
        lines: &[CollectorMovement],
        lists: Option<&ListedForCvus>,
    ) -> Result<Explained, Failure> {
        let mut explained = Explained::default();
        for line in lines {
            let store = self.store.as_ref();
            let record = reads::collector::by_bank_id(store, account.keeper, &line.bank_id)?;
            let client = self.client_of(&account.on, line)?;
            let side = match (client, record) {
                (Some(client), record) => {
                    let late = record.filter(|record| !record.matched);
                    let late = late.map(|record| record.sequence);
                    explained.news.matched.extend(late);
                    Some(CollectorSide::Client(Some(client)))
                }
                (None, Some(record)) if record.matched => Some(CollectorSide::Client(None)),
                (None, Some(record)) => {
                    if record.waits()
                        && classify(&account.rules, line) != CollectorClass::Unclassified
                    {
                        explained.news.own.push(line.clone());
                    }
                    Some(CollectorSide::Own(Box::new(record)))
                }
                (None, None) if lists.is_some_and(|lists| lists.has(line)) => {
                    Some(CollectorSide::Client(None))
                }
                (None, None) => {
                    if lists.is_some() {
                        explained.news.own.push(line.clone());
                    }
                    None
                }
            };
            explained.sides.push(side);
        }
        explained.news.own.truncate(RECORDED_AT_ONCE);
        explained.news.matched.truncate(RECORDED_AT_ONCE);
        Ok(explained)
    }

    /// The ledger's record of a line that belongs to a client of a realm on the account.
    fn client_of(
        &self,
        on: &OnCollector,
        line: &CollectorMovement,
    ) -> Result<Option<ClientRecord>, Failure> {
        let returned = reads::cases::return_of(self.store.as_ref(), line.origin)?;
        if !line.incoming {
            return match returned {
                Some((realm, number)) if on.realms.contains(&realm) => {
                    let parked = reads::cases::returned(self.store.as_ref(), realm, number)?;
                    Ok(parked.map(|parked| ClientRecord::Return(parked.id(realm))))
                }
                Some(_) | None => self.transfer_of(on, line.origin),
            };
        }
        let rail = if line.reversal && returned.is_none() {
            Rail::Return
        } else {
            Rail::Arrival
        };
        for realm in &on.realms {
            if let Some(found) = self.landed_as(*realm, rail, line.coelsa_id.as_deref())? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn transfer_of(
        &self,
        on: &OnCollector,
        origin: Option<OriginId>,
    ) -> Result<Option<ClientRecord>, Failure> {
        let Some(origin) = origin else {
            return Ok(None);
        };
        let found = reads::money::transfer_by_origin(self.store.as_ref(), origin)?;
        let found = found.filter(|(realm, ..)| on.realms.contains(realm));
        Ok(found
            .map(|(realm, account, transfer)| ClientRecord::Transfer(transfer.id(realm, account))))
    }

    /// Where money with an id of the rail landed in a realm: in suspense, or as a credit.
    fn landed_as(
        &self,
        realm: RealmId,
        rail: Rail,
        coelsa_id: Option<&str>,
    ) -> Result<Option<ClientRecord>, Failure> {
        let store = self.store.as_ref();
        let landed = coelsa_id.map(|id| reads::money::landed(store, realm, rail, id));
        let Some(landed) = landed.transpose()?.flatten() else {
            return Ok(None);
        };
        if landed.suspended {
            let place = SuspensePlace {
                account: landed.account,
                sequence: landed.sequence,
            };
            let parked = reads::cases::parked(store, realm, place)?;
            return Ok(parked.map(|parked| ClientRecord::Suspense(parked.id(realm))));
        }
        let credit = self.placed(realm, landed.account, landed.sequence)?;
        Ok(credit.map(|credit| ClientRecord::Voucher(credit.voucher.id(realm, credit.account))))
    }
}
