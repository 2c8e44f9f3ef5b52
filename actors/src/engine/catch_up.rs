//! Catching up with the bank: movements on its list of a day that no notice reported are taken in.

use caudal_ledger::cases::UnreadableLine;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Mode;
use caudal_ledger::time::BusinessDay;

use super::Ledger;
use super::money::NoticeOutcome;
use super::read_slots::{ReadAccess, ReadCost};
use crate::banks::{NoticeAuthority, OnCollector};
use crate::failure::Failure;
use crate::ports::{BankGateway as _, BankMovement, Notice};
use crate::realms::startup_check;
use crate::records::reads;

impl Ledger<'_> {
    /// Takes in the movements that the bank lists for a collector account on a day and that no notice has reported:
    /// money that arrived, transfers that ended or came back, and money that left by an order that the ledger does not
    /// know. Returns how many of them were news.
    pub async fn catch_up(
        self,
        (on, mode): (&OnCollector, Mode),
        day: BusinessDay,
        request_id: &str,
    ) -> Result<usize, Failure> {
        let mut realms = on.realms_of(mode);
        realms.retain(|realm| self.0.realms.is_served(*realm));
        let Some(any) = realms.first().copied() else {
            return Ok(0);
        };
        let bank = self.0.realms.bank(any)?;
        let authority = NoticeAuthority::from(realms);
        let reply = bank.movements(day, request_id).await;
        let mut calls = Some(reply.calls);
        let mut missed = 0_usize;
        let list = reply.result.map_err(Failure::of_question)?;
        if let Some(calls) = calls.take_if(|_| !list.unreadable.is_empty()) {
            self.0.realms.journal(any, calls);
        }
        self.unreadable(&authority, any, &list.unreadable, request_id)
            .await;
        let mut listed = list.movements;
        listed.sort_by_key(startup_check::rank);
        let asked = authority.clone();
        let look = move |books: &ReadAccess| {
            let news = listed.into_iter().map(|it| books.news(&asked, it));
            news.filter_map(Result::transpose).collect()
        };
        let news: Vec<(RealmId, Notice)> = self.0.look(any, ReadCost::Scan, look).await?;
        for (realm, notice) in news {
            if let Some(calls) = calls.take() {
                self.0.realms.journal(realm, calls);
            }
            match self.notice(authority.clone(), notice, request_id).await {
                Ok(NoticeOutcome::Done | NoticeOutcome::Suspended) => {
                    missed = missed.saturating_add(1)
                }
                Ok(NoticeOutcome::Known | NoticeOutcome::Ignored) => {}
                // The realm is busy with a notice about it, or was retired meanwhile: the next turn looks again.
                Err(Failure::Overloaded | Failure::ShuttingDown) => {}
                Err(why) => return Err(why),
            }
        }
        Ok(missed)
    }
}

impl Ledger<'_> {
    /// Has each unreadable line of a bank's list kept as a case: by the realm that it names, else by the first one on
    /// the collector account. What cannot be kept now is kept when the list is read again.
    pub(super) async fn unreadable(
        self,
        authority: &NoticeAuthority,
        first: RealmId,
        lines: &[UnreadableLine],
        request_id: &str,
    ) {
        for line in lines {
            let line = Box::new(line.clone());
            let (asked, about) = (authority.clone(), line.clone());
            let find = move |books: &ReadAccess| books.keeper_of(&asked, first, &about);
            let kept = match self.0.look(RealmId(0), ReadCost::Point, find).await {
                Ok(Some(realm)) => {
                    let notice = Notice::Unreadable { realm, line };
                    self.notice(authority.clone(), notice, request_id).await
                }
                Ok(None) => continue,
                Err(why) => Err(why),
            };
            if let Err(why) = kept {
                tracing::warn!(%why, "unreadable line of the bank list could not be stored yet");
            }
        }
    }
}

impl ReadAccess {
    /// The realm that keeps an unreadable line; `None` if the line names one that is not on the collector account.
    fn keeper_of(
        &self,
        authority: &NoticeAuthority,
        first: RealmId,
        line: &UnreadableLine,
    ) -> Result<Option<RealmId>, Failure> {
        Ok(match startup_check::named(self.store.as_ref(), line)? {
            Some(realm) => Some(realm).filter(|realm| authority.speaks_for(*realm)),
            None => Some(first),
        })
    }

    /// The notice of a listed movement that the ledger does not know, with its realm.
    fn news(
        &self,
        authority: &NoticeAuthority,
        movement: BankMovement,
    ) -> Result<Option<(RealmId, Notice)>, Failure> {
        if let Some(returned) = self.returned(authority, &movement)? {
            return Ok(Some(returned));
        }
        let realm = match reads::cases::return_of(self.store.as_ref(), movement.origin)? {
            Some((realm, _)) => Some(realm).filter(|realm| authority.speaks_for(*realm)),
            None => match Cvu::parse(&movement.cvu) {
                Ok(cvu) => self.home_of(authority, cvu)?,
                Err(_) => None,
            },
        };
        let Some(realm) = realm else {
            return Ok(None);
        };
        let notice = startup_check::news(self.store.as_ref(), realm, movement)?;
        Ok(notice.map(|notice| (realm, notice)))
    }
}
