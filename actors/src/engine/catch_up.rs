//! Catching up with the bank: movements on its list of a day that no notice reported are taken in.

use caudal_ledger::cases::UnreadableLine;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Mode;
use caudal_ledger::time::BusinessDay;

use super::Ledger;
use super::money::Heard;
use super::read_slots::{Books, Cost};
use crate::banks::{OnCollector, Voice};
use crate::failure::Failure;
use crate::ports::{BankGateway as _, BankMovement, Notice};
use crate::realms::lookout;

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
        let bank = self.0.bank(any)?;
        let voice = Voice::from(realms);
        let reply = bank.movements(day, request_id).await;
        let mut calls = Some(reply.calls);
        let mut missed = 0_usize;
        let list = reply.result.map_err(Failure::of_question)?;
        if let Some(calls) = calls.take_if(|_| !list.unreadable.is_empty()) {
            self.0.journal(any, calls);
        }
        self.unreadable(&voice, any, &list.unreadable, request_id)
            .await;
        let mut listed = list.movements;
        listed.sort_by_key(lookout::rank);
        let asked = voice.clone();
        let look = move |books: &Books| {
            let news = listed.into_iter().map(|it| books.news(&asked, it));
            news.filter_map(Result::transpose).collect()
        };
        let news: Vec<(RealmId, Notice)> = self.0.look(any, Cost::Scan, look).await?;
        for (realm, notice) in news {
            if let Some(calls) = calls.take() {
                self.0.journal(realm, calls);
            }
            match self.notice(voice.clone(), notice, request_id).await {
                Ok(Heard::Done | Heard::Suspended) => missed = missed.saturating_add(1),
                Ok(Heard::Known | Heard::Ignored) => {}
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
        voice: &Voice,
        first: RealmId,
        lines: &[UnreadableLine],
        request_id: &str,
    ) {
        for line in lines {
            let line = Box::new(line.clone());
            let (asked, about) = (voice.clone(), line.clone());
            let find = move |books: &Books| books.keeper_of(&asked, first, &about);
            let kept = match self.0.look(RealmId(0), Cost::Point, find).await {
                Ok(Some(realm)) => {
                    let notice = Notice::Unreadable { realm, line };
                    self.notice(voice.clone(), notice, request_id).await
                }
                Ok(None) => continue,
                Err(why) => Err(why),
            };
            if let Err(why) = kept {
                tracing::warn!(%why, "an unreadable line of the bank's list is not kept yet");
            }
        }
    }
}

impl Books {
    /// The realm that keeps an unreadable line; `None` if the line names one that is not on the collector account.
    fn keeper_of(
        &self,
        voice: &Voice,
        first: RealmId,
        line: &UnreadableLine,
    ) -> Result<Option<RealmId>, Failure> {
        Ok(match lookout::named(self.store.as_ref(), line)? {
            Some(realm) => Some(realm).filter(|realm| voice.speaks_for(*realm)),
            None => Some(first),
        })
    }

    /// The notice of a listed movement that the ledger does not know, with its realm.
    fn news(
        &self,
        voice: &Voice,
        movement: BankMovement,
    ) -> Result<Option<(RealmId, Notice)>, Failure> {
        if let Some(returned) = self.returned(voice, &movement)? {
            return Ok(Some(returned));
        }
        let realm = match self.return_of(movement.origin)? {
            Some((realm, _)) => Some(realm).filter(|realm| voice.speaks_for(*realm)),
            None => match Cvu::parse(&movement.cvu) {
                Ok(cvu) => self.home_of(voice, cvu)?,
                Err(_) => None,
            },
        };
        let Some(realm) = realm else {
            return Ok(None);
        };
        let notice = lookout::news(self.store.as_ref(), realm, movement)?;
        Ok(notice.map(|notice| (realm, notice)))
    }
}
