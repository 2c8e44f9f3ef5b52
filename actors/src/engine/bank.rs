//! The door for the bank: lookups and its notices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::transfers::Destination;

use super::bank_reads::key_of;
use super::money::{NoticeOutcome, not_found};
use super::read_slots::{ReadAccess, ReadCost};
use super::{DEADLINE, Ledger, Operators, Queries, Realms, Requester, value};
use crate::banks::{self, Collectors, NoBank, NoticeAuthority, RealmBank, Relation};
use crate::failure::Failure;
use crate::mailbox::Mailbox;
use crate::orders::Envelope;
use crate::ports::RawNotice;
use crate::ports::{
    BankError, BankGateway as _, BankMovement, Collector, KeyHolder, MovementWay, Notice,
    Simulation,
};
use crate::realms::JournalCalls;
use crate::realms::startup_check::{self, Report};
use crate::records::projection::VoucherPlace;
use crate::records::reads;

/// Why a realm's bank relation cannot be changed.
#[derive(Debug)]
pub enum NotRelated {
    /// The new relation cannot be used.
    NoBank(NoBank),
    /// The realm's accounts are on another collector account.
    HasAccounts,
    /// The store cannot be read.
    Failed(Failure),
}

impl Realms {
    /// Computes anew which realms are on which collector account.
    pub(super) fn count_collectors(&self) {
        let here = self.supervisors.iter();
        let here = here.map(|known| (*known.key(), Arc::clone(&known.value().parts.bank)));
        let realms: BTreeMap<RealmId, Arc<RealmBank>> = here.collect();
        let found = banks::collectors(realms.iter().map(|(realm, bank)| (*realm, bank.as_ref())));
        self.collectors.set(found);
    }

    /// The realms on each collector account, as of the last change of the platform.
    pub(super) fn collectors(&self) -> Arc<Collectors> {
        self.collectors.now()
    }

    /// Whether a realm has a supervisor, so it is not retired.
    pub(super) fn is_served(&self, realm: RealmId) -> bool {
        let known = self.supervisors.get(&realm);
        known.is_some_and(|known| known.value().mailbox.connected())
    }

    /// The bank of a realm, for calls to it: a retired realm makes none.
    pub(super) fn bank(&self, realm: RealmId) -> Result<Arc<RealmBank>, Failure> {
        let bank = self.relation(realm).ok_or_else(|| self.absent(realm))?;
        if self.is_served(realm) {
            Ok(bank)
        } else {
            Err(Failure::ShuttingDown)
        }
    }

    /// Journals calls to the bank that concern no account.
    pub(super) fn journal(&self, realm: RealmId, calls: Vec<BankCall>) {
        let calls = Envelope::from(JournalCalls(calls));
        let told = self.supervisor(realm).and_then(|realm| realm.tell(calls));
        if let Err(why) = told {
            tracing::warn!(%why, realm = realm.0, "calls to the bank were not journalled");
        }
    }

    /// The bank of a realm by its relation, whether the realm is served or not.
    fn relation(&self, realm: RealmId) -> Option<Arc<RealmBank>> {
        let known = self.supervisors.get(&realm);
        known.map(|known| Arc::clone(&known.value().parts.bank))
    }
}

impl Queries<'_> {
    /// The collector accounts of realms, each with the realms on it. Realms without a bank are left out.
    pub fn collectors(self) -> Arc<Collectors> {
        self.0.realms.collectors()
    }

    /// The collector account of a realm; empty without a bank.
    pub fn collector(self, realm: RealmId) -> Collector {
        let bank = self.0.realms.relation(realm);
        let bank = bank.and_then(|bank| bank.now().ok());
        bank.map_or_else(Collector::default, |bank| bank.collector())
    }

    /// The CBU of a realm's collector account; `None` without a bank.
    pub fn collector_of(self, realm: RealmId) -> Option<String> {
        let bank = self.0.realms.relation(realm)?.now().ok()?;
        Some(bank.collector().cbu)
    }

    /// The bank that sent a notice, and the realms for which the notice counts: all whose bank says that it sent it.
    /// `None` when none does.
    pub fn sender(self, notice: &RawNotice<'_>) -> Option<(Arc<RealmBank>, NoticeAuthority)> {
        let known = self.0.realms.supervisors.iter();
        let senders = known.filter(|known| known.value().parts.bank.verify(notice));
        let senders: BTreeMap<_, _> = senders
            .map(|known| (*known.key(), Arc::clone(&known.value().parts.bank)))
            .collect();
        let bank = Arc::clone(senders.values().next()?);
        let realms: BTreeSet<RealmId> = senders.into_keys().collect();
        Some((bank, realms.into()))
    }

    /// Looks up the holder behind a CBU, CVU or alias. The answer may have been kept for a moment.
    ///
    /// # Errors
    /// [`Failure::BankReadsLimited`] while too much is looked up; the bank's refusal or failure.
    pub async fn lookup(
        self,
        realm: RealmId,
        whom: Destination,
        request_id: &str,
    ) -> Result<KeyHolder, Failure> {
        let key = (realm, key_of(&whom));
        let ask = async |bank: Arc<RealmBank>| {
            let reply = bank.lookup(&whom, request_id).await;
            self.0.realms.journal(realm, reply.calls);
            let found = reply.result.map_err(|why| match why {
                BankError::Refused(why) => Failure::NobodyHas(why),
                doubt => Failure::of_question(doubt),
            })?;
            Ok((found, 1))
        };
        let kept = &self.0.bank_reads.lookups;
        self.0.kept_or_asked(realm, kept, key, ask).await
    }
}

impl Ledger<'_> {
    /// Has the sandbox bank of a realm do something, as if it had happened.
    ///
    /// # Errors
    /// The sandbox's refusal, and a failure where the bank is no sandbox.
    pub async fn simulate(
        self,
        realm: RealmId,
        simulation: Simulation,
        request_id: &str,
    ) -> Result<(), Failure> {
        let bank = self.0.realms.bank(realm)?;
        let reply = bank.simulate(&simulation, request_id).await;
        self.0.realms.journal(realm, reply.calls);
        reply.result.map_err(Failure::of_question)
    }
}

impl Operators<'_> {
    /// Checks that a relation leads to a bank that can be asked.
    ///
    /// # Errors
    /// Why it does not.
    pub fn has_bank(self, relation: &Relation) -> Result<(), NoBank> {
        (self.0.realms.outside.banks)(relation).map(|_| ())
    }

    /// Checks that a realm may have another relation. The relation must be usable, and a realm with accounts must stay
    /// on its collector account: its CVUs belong to that account, and the bank is asked there about what was sent.
    ///
    /// # Errors
    /// Why it may not.
    pub fn may_relate(self, relation: &Relation) -> Result<(), NotRelated> {
        let made = (self.0.realms.outside.banks)(relation);
        let place = made.as_ref().map(|bank| bank.place());
        let Some(known) = self.0.realms.relation(relation.realm) else {
            return made.map(|_| ()).map_err(NotRelated::NoBank);
        };
        let before = known.now().map(|bank| bank.place());
        // A relation that can no longer be used may be corrected.
        if before.is_ok() && before != place.clone().map_err(Clone::clone) {
            let totals = reads::totals(self.0.store.as_ref(), relation.realm);
            let totals = totals.map_err(|why| NotRelated::Failed(why.into()))?;
            if totals.census.everyone() > 0 {
                return Err(match made {
                    Err(why @ NoBank::Wrong { .. }) => NotRelated::NoBank(why),
                    Err(NoBank::Absent) | Ok(_) => NotRelated::HasAccounts,
                });
            }
        }
        made.map(|_| ()).map_err(NotRelated::NoBank)
    }
}

impl Ledger<'_> {
    /// Takes in a notice of a bank that speaks only for these realms. Every notice may come again, late, or before the
    /// transfer that it is about.
    pub async fn notice(
        self,
        authority: impl Into<NoticeAuthority>,
        notice: Notice,
        request_id: &str,
    ) -> Result<NoticeOutcome, Failure> {
        let authority = authority.into();
        let (asked, about) = (authority.clone(), notice.clone());
        let find = move |books: &ReadAccess| books.place_of(&asked, &about);
        let found = self.0.look(RealmId(0), ReadCost::Point, find).await?;
        let Some((realm, place)) = found else {
            return Ok(NoticeOutcome::Ignored);
        };
        let Some(report) = startup_check::reported(notice, place) else {
            return Ok(NoticeOutcome::Ignored);
        };
        let heard = self.hear(realm, &authority, request_id, report).await;
        match heard {
            // It is about nothing of ours: hearing it again would change nothing.
            Err(Failure::Rejected(_)) => Ok(NoticeOutcome::Ignored),
            heard => heard,
        }
    }

    async fn hear(
        self,
        realm: RealmId,
        authority: &NoticeAuthority,
        request_id: &str,
        report: Report,
    ) -> Result<NoticeOutcome, Failure> {
        if !authority.speaks_for(realm) {
            return Err(Rejection::TransferNotFound.into());
        }
        if let Ok(bank) = self.0.realms.bank(realm) {
            bank.has_changed();
        }
        let requester = Requester::uncounted(request_id.to_owned());
        let send = |realm: &Mailbox<_>, request| report.send(realm, request);
        let answered = self.0.ordered(realm, DEADLINE, requester, send).await;
        value(answered.map_err(|why| not_found(why, Rejection::TransferNotFound)))
    }
}

impl ReadAccess {
    /// The realm that hears a notice, and the transfer or return that the notice is about, if any.
    fn place_of(
        &self,
        authority: &NoticeAuthority,
        notice: &Notice,
    ) -> Result<Option<(RealmId, VoucherPlace)>, Failure> {
        let nowhere = VoucherPlace {
            account: AccountNo(0),
            sequence: 0,
        };
        Ok(match notice {
            Notice::Received { cvu, .. } => {
                self.home_of(authority, *cvu)?.map(|realm| (realm, nowhere))
            }
            Notice::Left(left) => self
                .home_of(authority, left.cvu)?
                .map(|realm| (realm, nowhere)),
            Notice::Returned { realm, .. } | Notice::Unreadable { realm, .. } => {
                Some((*realm, nowhere))
            }
            Notice::Settled { origin, .. } | Notice::Reversed { origin, .. } => {
                reads::money::of_origin(self.store.as_ref(), *origin)?
            }
            Notice::Created | Notice::Other { .. } => None,
        })
    }

    /// Whether a movement is a return of money in suspense that no realm here knows to have ordered.
    pub(super) fn returned(
        &self,
        authority: &NoticeAuthority,
        movement: &BankMovement,
    ) -> Result<Option<(RealmId, Notice)>, Failure> {
        if movement.way == MovementWay::In || Cvu::parse(&movement.cvu).is_ok() {
            return Ok(None);
        }
        let spoken = self.realms.supervisors.iter();
        let spoken = spoken.filter(|known| authority.speaks_for(*known.key()));
        let spoken: Vec<_> = spoken
            .map(|known| (*known.key(), Arc::clone(&known.value().parts.settings)))
            .collect();
        for (realm, settings) in spoken {
            let settings = Arc::clone(&settings.read().unwrap_or_else(PoisonError::into_inner));
            let store = self.store.as_ref();
            let found = startup_check::returned(store, realm, &settings.tenant, movement)?;
            if let Some(notice) = found {
                return Ok(Some((realm, notice)));
            }
        }
        Ok(None)
    }

    /// The realm to which money for a CVU belongs: the one that has the CVU, among those for which the bank speaks. Money
    /// for a CVU that none has belongs to the first realm on the collector account. A bank that speaks for several
    /// collector accounts does not tell which one that is: its list does, which is read of one account at a time.
    pub(super) fn home_of(
        &self,
        authority: &NoticeAuthority,
        cvu: Cvu,
    ) -> Result<Option<RealmId>, Failure> {
        let realms = reads::realms_of_cvu(self.store.as_ref(), cvu)?;
        if !realms.is_empty() {
            // Nobody else takes it while the realm is not served, or where this bank does not speak for it.
            let is_served = |it: &RealmId| self.realms.supervisors.contains_key(it);
            let mut spoken = realms.into_iter().filter(|it| authority.speaks_for(*it));
            return Ok(spoken.find(is_served));
        }
        let collectors = self.realms.collectors();
        let keepers = collectors.values().flat_map(|on| {
            let spoken = on.realms.iter().find(|realm| authority.speaks_for(**realm));
            spoken.and_then(|realm| on.keeper(realm.mode()))
        });
        let keepers: BTreeSet<RealmId> = keepers.collect();
        Ok(match keepers.len() {
            1 => keepers.first().copied(),
            _ => None,
        })
    }
}
