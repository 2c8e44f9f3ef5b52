//! Closes days, and reads closed ones.
//!
//! **Shape.** A day is closed when it has been over for a grace that is longer than the clock's slack: from then on no
//! movement enters it. Its figures are read where they are kept: the sums of days, the balance after the last movement of
//! each account, the bank's statement. Then the realm's supervisor records them as one fact. No request
//! waits for that.
//!
//! **The tree** is built block by block, and only the blocks' roots are kept. A thread of its own does that, which gives
//! way to those that serve: it reads every account of the realm, so it takes longer while the machine is busy. A proof
//! reads the block of its account again, and is refused if that does not give the root that was signed.
//!
//! **Order.** Days are closed one after the other, from the day on which the tenant was created. Days that were missed
//! while the service was down are closed at the next start, in order.
//!
//! **Keys.** A tenant's realms sign with the keys of a generation, which another pepper makes anew. After a rotation of
//! either, the next closed day, which the old key signs, names the new key, and the days after it are signed with that.
//!
//! **Failure.** If a day cannot be closed now, it is closed by a later round. If the bank does not answer, the day is
//! closed without its side, which is added when the bank answers.

mod leaves;

use std::sync::Arc;
use std::thread;

use caudal_ledger::books::BookBalances;
use caudal_ledger::chain::Digest;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::days::{
    BankOfDay, BankSide, ClosedBook, ClosedDay, DayDifference, DayFigures, DayRecord, SaltKey,
    SealKey, TreeBlock, due_day,
};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::reconciliation::ReconciliationTotals;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::seal::{DayLeaf, PathStep, TreeBuilder, climb, path, signed_note, verifier_key};
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_storage::{Index, SortOrder, StoreError, give_way};
use tokio::sync::oneshot;

use self::leaves::leaves;
use super::lists::{ListPage, Listing, Range};
use super::read_slots::ReadCost;
use super::{Core, Ledger, Operators, Queries};
use crate::failure::Failure;
use crate::platform::realms;
use crate::ports::seals::SealKeyName;
use crate::realms::RecordDay;
use crate::records::reads;

/// How many days get the bank's side between two closings, the newest first: the next closed day names all of them.
const PENDING_MAX: usize = 31;

/// The proof of what an account had at the end of a day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DayProof {
    /// The account at the end of the day.
    pub leaf: DayLeaf,
    /// The steps from the leaf to the root.
    pub path: Vec<PathStep>,
    /// The day.
    pub day: Arc<ClosedDay>,
}

/// The keys of a day that is being closed.
struct DayKeys {
    /// The key that signs it.
    name: SealKeyName,
    /// The secret of its salts.
    salts: [u8; 32],
    /// The key that signs the days after it, if it is another.
    next: Option<SealKey>,
}

impl Ledger<'_> {
    /// The realms whose days are closed here.
    pub fn realms_with_days(self) -> Vec<RealmId> {
        let platform = self.0.platform();
        let all = realms(&platform).map(|(tenant, mode)| tenant.realm(mode));
        all.filter(|realm| self.0.realms.is_served(*realm))
            .collect()
    }

    /// Closes the next day of a realm if it has been over for `grace` milliseconds. Returns the day; `None` if none is
    /// due, or if this service signs nothing.
    ///
    /// # Errors
    /// When the ledger cannot be read, or the day cannot be recorded now. [`Failure::Damaged`] when the accounts do not
    /// add up to the sums of the realm: then nothing is recorded.
    pub async fn close_next_day(
        self,
        realm: RealmId,
        grace: u64,
        request_id: &str,
    ) -> Result<Option<BusinessDay>, Failure> {
        let (name, created) = Queries(self.0).newest_key(realm)?;
        let signer = &self.0.realms.outside.seals;
        let Some(newest) = signer.key(&name) else {
            return Ok(None);
        };
        let read = move |store: &dyn Index| reads::days::last(store, realm);
        let last = self.0.scan(realm, ReadCost::Page, read).await?;
        let closed = last.as_ref().map(|last| last.day.figures.date);
        let first = created.business_day();
        // Compared with the machine's clock, like all that operators watch.
        let platform = self.0.platform();
        let due = |day: BusinessDay| platform.machine_time(realm, day.end().plus_millis(grace));
        let next = closed.map_or(first, BusinessDay::next);
        self.0.days_due.insert(realm, due(next));
        let Some(date) = due_day(closed, first, self.0.now_in(realm), grace) else {
            return Ok(None);
        };
        let last = last.map(|record| record.day);
        let named = last.as_ref().map_or(newest, ClosedDay::next_key);
        let keys = self.0.day_keys(&name, newest, named)?;
        let day = self.figures(realm, (date, last), keys, request_id).await?;
        let order = RecordDay::Closed(day);
        self.0.decide(realm, order, request_id).await?;
        self.0.days_due.insert(realm, due(date.next()));
        Ok(Some(date))
    }

    /// Asks the bank about the closed days that lack its side, the newest first, however old they are. Returns how many
    /// it has answered.
    ///
    /// # Errors
    /// As [`Self::close_next_day`]. A bank that does not answer is no error.
    pub async fn complete_days(self, realm: RealmId, request_id: &str) -> Result<usize, Failure> {
        let read = move |store: &dyn Index| {
            let Some(last) = reads::days::last(store, realm)? else {
                return Ok(Vec::new());
            };
            let last = last.day.figures.date;
            let named = reads::days::late_after(store, realm, last, PENDING_MAX)?.len();
            reads::days::waiting(store, realm, PENDING_MAX.strict_sub(named))
        };
        let mut completed = 0_usize;
        for date in self.0.scan(realm, ReadCost::Page, read).await? {
            let bank = match Queries(self.0).bank_of(realm, date, request_id).await? {
                BankSide::Known(bank) => bank,
                BankSide::Pending => break,
                // The bank answers, and has nothing to say of this day: of the others it may.
                BankSide::Absent => continue,
            };
            let order = RecordDay::Bank(date, bank);
            self.0.decide(realm, order, request_id).await?;
            completed = completed.strict_add(1);
        }
        Ok(completed)
    }

    /// The figures of a day, sealed.
    async fn figures(
        self,
        realm: RealmId,
        (date, last): (BusinessDay, Option<ClosedDay>),
        keys: DayKeys,
        request_id: &str,
    ) -> Result<Box<ClosedDay>, Failure> {
        let queries = Queries(self.0);
        let bank = queries.bank_of(realm, date, request_id).await?;
        let salts = SaltKey::new(&keys.salts);
        let (accounts, blocks) = queries.blocks(realm, date, salts).await?;
        let root = blocks.iter().map(|block| block.node);
        let root = root.collect::<TreeBuilder>().root();
        let end = date.end();
        let read = move |store: &dyn Index| {
            let sums = reads::added_until(store, realm, end)?;
            Ok::<_, StoreError>((sums, reads::events::last_until(store, realm, end)?))
        };
        let (sums, events) = self.0.scan(realm, ReadCost::Page, read).await?;
        // The accounts for adjustments are in their control account.
        let books = BookBalances {
            clients: sums.available.plus(sums.held),
            suspense: sums.suspense,
            house: sums.house,
            ..BookBalances::default()
        };
        if books.clients != root.available.plus(root.held) {
            tracing::error!(
                realm = realm.0,
                %date,
                "the accounts do not add up to the clients' money; the day is not closed"
            );
            return Err(Failure::Damaged);
        }
        let late = match last.as_ref().map(|last| last.figures.date) {
            Some(last) => {
                let read = move |store: &dyn Index| {
                    reads::days::late_after(store, realm, last, PENDING_MAX)
                };
                self.0.scan(realm, ReadCost::Page, read).await?
            }
            None => Vec::new(),
        };
        let figures = DayFigures {
            date,
            accounts,
            root,
            blocks,
            suspense: books.suspense,
            books: books.controls().into_iter().map(ClosedBook::from).collect(),
            vouchers: sums.vouchers,
            events,
            bank,
            late,
            next_key: keys.next,
            previous: last.map(|last| last.digest),
        };
        self.signed(&keys.name, figures, keys.salts)
    }

    fn signed(
        self,
        name: &SealKeyName,
        figures: DayFigures,
        salts: [u8; 32],
    ) -> Result<Box<ClosedDay>, Failure> {
        let signer = &self.0.realms.outside.seals;
        let text = figures.checkpoint(&name.origin);
        let signed = signer.key(name).zip(signer.sign(name, text.as_bytes()));
        let (key, signature) = signed.ok_or(Failure::Bug)?;
        Ok(Box::new(ClosedDay {
            figures,
            digest: Digest::of(text.as_bytes()),
            key,
            checkpoint: signed_note(&text, &name.origin, &key.public, &signature),
            salts: Some(salts),
        }))
    }
}

impl Core {
    /// The keys of the next day. The key that the last day `named` signs it; if this service no longer has that key, the
    /// `newest` one does.
    fn day_keys(
        &self,
        name: &SealKeyName,
        newest: SealKey,
        named: SealKey,
    ) -> Result<DayKeys, Failure> {
        let signer = &self.realms.outside.seals;
        let signs = signer.key(&name.of(named)).unwrap_or_else(|| {
            tracing::error!(
                origin = name.origin,
                "no pepper gives the key that the last closed day names, so another key signs: publish it"
            );
            newest
        });
        let name = name.of(signs);
        let newer = newest.generation >= signs.generation && newest != signs;
        Ok(DayKeys {
            salts: signer.salts(&name).ok_or(Failure::Bug)?,
            next: newer.then_some(newest),
            name,
        })
    }
}

impl Operators<'_> {
    /// How many realms sign their next day with a key that is not under the newest pepper. A realm that has closed no day
    /// signs with the newest key.
    ///
    /// # Errors
    /// When the store cannot be read, or no turn to read comes in time.
    pub async fn realms_with_older_seal_key(self) -> Result<usize, Failure> {
        let platform = self.0.platform();
        let mut found = 0_usize;
        for (tenant, mode) in realms(&platform) {
            let realm = tenant.realm(mode);
            let read = move |store: &dyn Index| reads::days::last(store, realm);
            let Some(last) = self.0.scan(realm, ReadCost::Page, read).await? else {
                continue;
            };
            let named = last.day.next_key();
            let newest = SealKeyName {
                origin: last.day.origin().to_owned(),
                generation: named.generation,
                public: None,
            };
            let newest = self.0.realms.outside.seals.key(&newest);
            found = found.strict_add(usize::from(newest != Some(named)));
        }
        Ok(found)
    }

    /// When the next day of each realm is due to be closed, by the machine's clock: in the past while it cannot be
    /// closed. As of the last round, and only for realms whose days are closed here.
    pub fn days_due(self) -> Vec<(RealmId, Timestamp)> {
        if self.0.is_at_rest() {
            return Vec::new();
        }
        let all = self.0.days_due.iter().map(|it| (*it.key(), *it.value()));
        all.filter(|(realm, _)| self.0.realms.is_served(*realm))
            .collect()
    }
}

impl Queries<'_> {
    /// The verifier key that signs the days of a realm, or will after the next one.
    ///
    /// # Errors
    /// [`Rejection::TenantNotFound`]. [`Failure::Bug`] if this service signs nothing.
    pub fn seal_key(self, realm: RealmId) -> Result<String, Failure> {
        let (name, _) = self.newest_key(realm)?;
        let key = self.0.realms.outside.seals.key(&name);
        Ok(verifier_key(&name.origin, &key.ok_or(Failure::Bug)?.public))
    }

    /// A closed day; `None` while it is not closed.
    ///
    /// # Errors
    /// When the store cannot be read, or no turn to read comes in time.
    pub async fn closed_day(
        self,
        realm: RealmId,
        date: BusinessDay,
    ) -> Result<Option<DayRecord>, Failure> {
        let read = move |store: &dyn Index| reads::days::of(store, realm, date);
        self.0.scan(realm, ReadCost::Page, read).await
    }

    /// The closed days of a period, both ends included, the newest first. The number of a row is its day, counted from
    /// 1970.
    ///
    /// # Errors
    /// As [`Self::closed_day`].
    pub async fn closed_days(
        self,
        realm: RealmId,
        period: (Option<BusinessDay>, Option<BusinessDay>),
        page: ListPage,
    ) -> Result<Listing<DayRecord>, Failure> {
        let read = move |store: &dyn Index| listed(store, realm, period, &page);
        self.0.scan(realm, ReadCost::Page, read).await
    }

    /// The proof of what an account had at the end of a closed day.
    ///
    /// # Errors
    /// [`Rejection::DayNotClosed`], and [`Rejection::AccountNotFound`] for an account that had no CVU at the end of that
    /// day. [`Failure::Damaged`] when the accounts no longer give the root that was signed.
    pub async fn day_proof(
        self,
        realm: RealmId,
        date: BusinessDay,
        cvu: Cvu,
    ) -> Result<DayProof, Failure> {
        let record = self.closed_day(realm, date).await?;
        let day = record.ok_or(Rejection::DayNotClosed)?.day;
        let (name, _) = self.newest_key(realm)?;
        let derived = || self.0.realms.outside.seals.salts(&name.of(day.key));
        let salts = day.salts.or_else(derived).ok_or(Failure::Bug)?;
        let salts = SaltKey::new(&salts);
        let read = move |store: &dyn Index| {
            let Some(account) = reads::account_of_cvu(store, realm, cvu)? else {
                return Ok(None);
            };
            let Some((place, block)) = day.figures.block_of(account) else {
                return Ok(None);
            };
            let found = leaves(store, realm, date, &salts, block.first)?;
            let mut all = found.leaves.iter();
            let Some(at) = all.position(|(number, _)| *number == account) else {
                return Ok(None);
            };
            let mut steps = path(&found.nodes(), at);
            let roots = day.figures.blocks.iter().map(|block| block.node);
            steps.extend(path(&roots.collect::<Vec<_>>(), place));
            Ok::<_, StoreError>(found.leaves.get(at).map(|(_, leaf)| DayProof {
                leaf: *leaf,
                path: steps,
                day: Arc::new(day),
            }))
        };
        let proof = self.0.scan(realm, ReadCost::Scan, read).await?;
        let proof = proof.ok_or(Rejection::AccountNotFound)?;
        if climb(proof.leaf.node(), &proof.path) != proof.day.figures.root {
            tracing::error!(realm = realm.0, %date, "the accounts of a closed day have changed");
            return Err(Failure::Damaged);
        }
        Ok(proof)
    }

    /// The newest key of a realm, and when its tenant was created.
    fn newest_key(self, realm: RealmId) -> Result<(SealKeyName, Timestamp), Failure> {
        let platform = self.0.platform();
        let mut all = realms(&platform);
        let found = all.find(|(tenant, mode)| tenant.realm(*mode) == realm);
        let (tenant, mode) = found.ok_or(Rejection::TenantNotFound)?;
        let name = SealKeyName {
            origin: format!("caudal/{}/{}", tenant.id, mode.as_str()),
            generation: tenant.seal_generation,
            public: None,
        };
        Ok((name, tenant.created_at))
    }

    /// The bank's side of a day. A bank that fails or does not answer leaves it pending.
    async fn bank_of(
        self,
        realm: RealmId,
        date: BusinessDay,
        request_id: &str,
    ) -> Result<BankSide, Failure> {
        let on = self.0.realms.collectors.of(realm);
        if on.is_none_or(|on| on.realms.len() > 1) {
            return Ok(BankSide::Absent);
        }
        let asked = async {
            let report = self.collector_day(realm, date, request_id).await?;
            let compared = self.reconcile(realm, date, request_id).await?;
            Ok::<_, Failure>((report, compared))
        };
        let (report, compared) = match asked.await {
            Ok(both) => both,
            Err(Failure::Bank(_) | Failure::NotRead(_) | Failure::BankReadsLimited) => {
                return Ok(BankSide::Pending);
            }
            Err(why) => return Err(why),
        };
        let Some(sums) = report.sums else {
            // The bank keeps no statement of the day.
            return Ok(BankSide::Absent);
        };
        let mut totals = ReconciliationTotals::default();
        for movement in &compared {
            totals.count(movement.judged, None);
        }
        Ok(BankSide::Known(Box::new(BankOfDay {
            balance: sums.closing,
            at: self.0.now_in(realm),
            digest: report.digest,
            unexplained: sums.unexplained(),
            differences: DayDifference::of(&totals),
        })))
    }

    /// The blocks of a day's tree, and how many accounts are in them. They are read on a thread of their own.
    async fn blocks(
        self,
        realm: RealmId,
        date: BusinessDay,
        salts: SaltKey,
    ) -> Result<(u64, Vec<TreeBlock>), Failure> {
        let store = Arc::clone(&self.0.store);
        let (reply, found) = oneshot::channel();
        let build = move || {
            give_way();
            let made = blocks(store.as_ref(), (realm, date), &salts, || reply.is_closed());
            // Nobody wants it if the service stops.
            reply.send(made).ok();
        };
        let thread = thread::Builder::new().name("caudal-days".to_owned());
        thread.spawn(build).map_err(|_| Failure::Overloaded)?;
        // A thread that panics leaves the reply.
        found.await.map_err(|_| Failure::Bug)?
    }
}

/// All blocks of a day's tree, and how many accounts are in them; stops when nobody wants them any more.
fn blocks(
    store: &dyn Index,
    (realm, date): (RealmId, BusinessDay),
    salts: &SaltKey,
    is_over: impl Fn() -> bool,
) -> Result<(u64, Vec<TreeBlock>), Failure> {
    let (mut accounts, mut blocks) = (0_u64, Vec::new());
    let mut from = Some(AccountNo(1));
    while let Some(first) = from {
        if is_over() {
            return Err(Failure::ShuttingDown);
        }
        let found = leaves(store, realm, date, salts, first)?;
        let node = found.nodes().into_iter().collect::<TreeBuilder>().root();
        let first = found.leaves.first().map(|(number, _)| *number);
        blocks.extend(first.map(|first| TreeBlock { first, node }));
        let count = u64::try_from(found.leaves.len()).map_err(|_| Failure::Bug)?;
        accounts = accounts.strict_add(count);
        from = found.next;
    }
    Ok((accounts, blocks))
}

/// A page of the closed days of a period. Days have no gaps, so their number is known from both ends.
fn listed(
    store: &dyn Index,
    realm: RealmId,
    (first, last): (Option<BusinessDay>, Option<BusinessDay>),
    page: &ListPage,
) -> Result<Listing<DayRecord>, StoreError> {
    let (Some(oldest), Some(newest)) = (
        reads::days::first(store, realm)?,
        reads::days::last(store, realm)?.map(|last| last.day.figures.date),
    ) else {
        return Ok(Listing::default());
    };
    // Days begin in 1970.
    let number = |day: BusinessDay| day.days().unsigned_abs();
    let first = number(first.map_or(oldest, |first| first.max(oldest)));
    let last = number(last.map_or(newest, |last| last.min(newest)));
    let all = Range { first, last };
    let (shown, next) = all.page(page);
    let day = |number: u64| {
        let days = i64::try_from(number).ok();
        days.and_then(BusinessDay::from_days)
    };
    let mut items = match shown.len() {
        0 => Vec::new(),
        _ => reads::days::page(
            store,
            realm,
            (day(shown.first), day(shown.last)),
            page.limit,
        )?,
    };
    if page.order == SortOrder::Ascending {
        items.reverse();
    }
    Ok(Listing::of(items, all.len(), next))
}
