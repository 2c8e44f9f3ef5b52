//! Turns about the money of one account: postings, holds, quotes, money that arrives.

use std::sync::Arc;

use caudal_ledger::balance::Direction;
use caudal_ledger::holds::{Hold, HoldStep, OpenHold};
use caudal_ledger::ids::{HoldId, VoucherId};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::transfers::{CashIn, Suspense};
use caudal_ledger::voucher_types::VoucherType;
use caudal_ledger::vouchers::{Outcome, PostAdjustment, Voucher};

use super::{Desk, Heard, HoldView, Placed, Quote};
use crate::failure::Failure;
use crate::records::reads;
use crate::scribe::{Page, Ticket};

impl Desk {
    /// Posts an adjustment, or says what would happen.
    pub(super) fn post(
        &mut self,
        order: &PostAdjustment,
        dry_run: bool,
        ticket: Ticket<Outcome<Placed>>,
    ) {
        match self.adjust(order, dry_run) {
            Ok((page, outcome)) => self.scribe.finish(page, outcome, ticket),
            Err(why) => self.scribe.fail(why, ticket.reply),
        }
    }

    /// Decides and applies an adjustment; its page makes it durable.
    pub(super) fn adjust(
        &mut self,
        order: &PostAdjustment,
        dry_run: bool,
    ) -> Result<(Page, Result<Outcome<Placed>, Failure>), caudal_storage::StoreError> {
        let existing = self.existing(order.voucher_type.sense, &order.external_id)?;
        let existing = existing.as_ref().map(|(n, v)| (*n, v.as_ref()));
        let settings = self.shared.settings();
        let context = settings.context(self.shared.realm, self.now());
        let decided = self.account.decide_post(order, existing, &context);
        let account = match existing {
            Some((account, _)) => account,
            None => self.account.number,
        };
        let placed = |voucher| Placed { account, voucher };
        Ok(match decided {
            Err(rejection) => (Page::default(), Err(rejection.into())),
            Ok(Outcome::Replayed(vouchers)) => {
                let outcome = first(vouchers.into_iter().map(Arc::new));
                (Page::default(), outcome.map(placed).map(Outcome::Replayed))
            }
            Ok(Outcome::Recorded(vouchers)) => {
                let vouchers: Vec<_> = vouchers.into_iter().map(Arc::new).collect();
                let page = if dry_run {
                    Page::default()
                } else {
                    self.record(&vouchers)?
                };
                let outcome = first(vouchers.into_iter());
                (page, outcome.map(placed).map(Outcome::Recorded))
            }
        })
    }

    /// Opens a hold, or says what would happen.
    pub(super) fn hold(
        &mut self,
        order: &OpenHold,
        dry_run: bool,
        ticket: Ticket<Outcome<HoldView>>,
    ) {
        let existing = match self.existing(Direction::Hold, &order.external_id) {
            Ok(existing) => existing,
            Err(why) => return self.scribe.fail(why, ticket.reply),
        };
        let settings = self.shared.settings();
        let context = settings.context(self.shared.realm, self.now());
        let seen = existing.as_ref().map(|(n, v)| (*n, v.as_ref()));
        let decided = self.account.decide_hold(order, seen, &context);
        let mut page = Page::default();
        let outcome = match decided {
            Err(rejection) => Err(rejection.into()),
            // The hold as it was opened: what its first answer said.
            Ok(Outcome::Replayed(vouchers)) => self.opened(&vouchers).map(Outcome::Replayed),
            Ok(Outcome::Recorded(vouchers)) => {
                let view = self.opened(&vouchers);
                let vouchers: Vec<_> = vouchers.into_iter().map(Arc::new).collect();
                if !dry_run {
                    match self.record(&vouchers) {
                        Ok(recorded) => page = recorded,
                        Err(why) => return self.scribe.fail(why, ticket.reply),
                    }
                }
                view.map(Outcome::Recorded)
            }
        };
        self.scribe.finish(page, outcome, ticket);
    }

    fn opened(&self, vouchers: &[Voucher]) -> Result<HoldView, Failure> {
        let hold = vouchers.iter().find_map(Hold::opened);
        Ok(HoldView {
            account: self.account.number,
            hold: hold.ok_or(Failure::Bug)?,
        })
    }

    /// Confirms or releases a hold, in part or the rest.
    pub(super) fn step(
        &mut self,
        id: HoldId,
        (step, amount): (HoldStep, Option<Amount>),
        dry_run: bool,
        ticket: Ticket<HoldView>,
    ) {
        let settings = self.shared.settings();
        let context = settings.context(self.shared.realm, self.now());
        let number = id.0.sequence;
        let open = self.account.holds.get(&number);
        let Some(mut hold) = open.filter(|hold| hold.tag == id.0.tag).cloned() else {
            let outcome = self.no_open_hold(id);
            return self.scribe.finish(Page::default(), Err(outcome), ticket);
        };
        let mut page = Page::default();
        let outcome = match self.account.decide_step(number, step, amount, &context) {
            Err(rejection) => Err(rejection.into()),
            Ok(vouchers) => {
                let account = self.account.number;
                vouchers
                    .iter()
                    .filter(|v| Hold::of_step(v) == Some(number))
                    .for_each(|v| hold.apply(v));
                let vouchers: Vec<_> = vouchers.into_iter().map(Arc::new).collect();
                if !dry_run {
                    match self.record(&vouchers) {
                        Ok(recorded) => page = recorded,
                        Err(why) => return self.scribe.fail(why, ticket.reply),
                    }
                }
                Ok(HoldView { account, hold })
            }
        };
        self.scribe.finish(page, outcome, ticket);
    }

    /// Why there is no open hold of an id: it has ended, or it never was.
    fn no_open_hold(&self, HoldId(VoucherId { sequence, tag, .. }): HoldId) -> Failure {
        let number = sequence;
        let ended = self
            .unsettled
            .iter()
            .any(|v| Hold::of_step(v) == Some(number));
        let Desk {
            shared, account, ..
        } = self;
        match reads::money::hold(shared.store.as_ref(), shared.realm, account.number, number) {
            Ok(Some(found)) if found.tag != tag => Rejection::HoldNotFound.into(),
            Ok(None) if !ended => Rejection::HoldNotFound.into(),
            Ok(_) => Rejection::HoldNotOpen.into(),
            Err(why) => why.into(),
        }
    }

    /// What a movement would cost.
    pub(super) fn quote(
        &self,
        voucher_type: VoucherType,
        amount: Amount,
    ) -> Result<Quote, Failure> {
        let cvu = self.account.cvu.ok_or(Rejection::AccountWithoutCvu)?;
        let settings = self.shared.settings();
        let now = self.now();
        let context = settings.context(self.shared.realm, now);
        let schedules = self.account.schedules(&context);
        let (rule, source) = schedules.rule(&voucher_type.code);
        let charges = rule.map_or(Some(caudal_ledger::fees::Charges::default()), |rule| {
            rule.charges(amount)
        });
        Ok(Quote {
            cvu,
            rule: rule.cloned(),
            source,
            charges: charges.ok_or(Rejection::AmountOverflow)?,
            voucher_type,
            amount,
            available: self.account.balance.available,
            as_of: now,
        })
    }

    /// Credits money that arrived, or keeps it for a person to look at.
    pub(super) fn cash_in(&mut self, arrived: CashIn, ticket: Ticket<Heard>) {
        let settings = self.shared.settings();
        let context = settings.context(self.shared.realm, self.now());
        let (written, heard) = match self.account.decide_cash_in(&arrived, &context) {
            Ok(vouchers) => {
                let vouchers: Vec<_> = vouchers.into_iter().map(Arc::new).collect();
                (self.record(&vouchers), Heard::Done)
            }
            Err(refused) => {
                let suspense = Suspense {
                    cash_in: arrived,
                    reason: refused.code().to_owned(),
                };
                let entry = self.write_suspense(&suspense);
                let page = entry.map(|entry| Page {
                    entries: vec![entry],
                    ..Page::default()
                });
                (page, Heard::Suspended)
            }
        };
        match written {
            Ok(page) => self.scribe.finish(page, Ok(heard), ticket),
            Err(why) => self.scribe.fail(why, ticket.reply),
        }
    }
}

fn first<T>(mut items: impl Iterator<Item = T>) -> Result<T, Failure> {
    items.next().ok_or(Failure::Bug)
}
