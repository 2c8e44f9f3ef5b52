//! Money that is posted to an account: adjustments, with their voucher type and the fact about that type which may still
//! be refused, and money that arrives from the bank.

use std::sync::Arc;

use caudal_ledger::transfers::{CashIn, Suspense};
use caudal_ledger::vouchers::{Outcome, PostAdjustment};
use caudal_storage::{StoreError, StreamId};

use super::{AccountContext, AccountOrder, Desk, Heard, Placed};
use crate::failure::Failure;
use crate::orders::{Order, TicketOf};
use crate::scribe::Write;
use crate::vitals::Vitals;

/// Posts an adjustment, or says what would happen.
pub struct Post {
    /// The adjustment.
    pub posting: Posting,
    /// Only say what would happen.
    pub dry_run: bool,
}

impl Order for Post {
    type Outcome = Outcome<Placed>;
}

impl AccountOrder for Post {
    fn decide(self, desk: &mut Desk, ticket: TicketOf<Self>, _: &mut AccountContext) {
        match desk.adjust(&self.posting, self.dry_run) {
            Ok((page, outcome)) => desk.scribe.finish(page, outcome, ticket),
            Err(why) => desk.scribe.fail(why, ticket.reply),
        }
    }
}

/// Takes in money that arrived from the bank: credits it, or keeps it for a person to look at.
pub struct BookArrival(pub CashIn);

impl Order for BookArrival {
    type Outcome = Heard;
    const ALWAYS: bool = true;
}

impl AccountOrder for BookArrival {
    fn decide(self, desk: &mut Desk, ticket: TicketOf<Self>, _: &mut AccountContext) {
        let settings = desk.shared.settings();
        let context = desk.context(&settings, desk.now());
        let (page, heard) = match desk.account.decide_cash_in(&self.0, &context) {
            Ok(vouchers) => {
                let vouchers: Vec<_> = vouchers.into_iter().map(Arc::new).collect();
                (desk.record(&vouchers), Heard::Done)
            }
            Err(refused) => {
                let suspense = Suspense {
                    cash_in: self.0,
                    reason: refused.code().to_owned(),
                };
                let entry = desk.write_suspense(&suspense);
                (entry.map(Write::from), Heard::Suspended)
            }
        };
        desk.scribe.finish_if(page, Ok(heard), ticket);
    }
}

/// An adjustment whose voucher type was found.
#[derive(Debug)]
pub struct Posting {
    /// The adjustment.
    pub order: PostAdjustment,
    /// The last change of the realm's voucher types, if it was not on disk when the type was found.
    pub ground: Option<Ground>,
}

/// A change of a realm's voucher types that is on its way to the disk.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The entry of the change.
    pub fact: (StreamId, u64),
    /// The state of the supervisor that decided it.
    pub of: Arc<Vitals>,
}

impl Ground {
    /// Whether the change was refused, as far as is known: another one may have its place in the stream by now.
    pub(super) fn is_gone(&self) -> bool {
        self.of.doubtful()
    }
}

impl Desk {
    /// Decides and applies an adjustment; its page makes it durable.
    ///
    /// # Errors
    /// When the index cannot be read or a fact cannot be encoded. A refusal by a rule is not an error here: it is the
    /// second part of the result.
    pub(super) fn adjust(
        &mut self,
        posting: &Posting,
        dry_run: bool,
    ) -> Result<(Write, Result<Outcome<Placed>, Failure>), StoreError> {
        let Posting { order, ground } = posting;
        if ground.as_ref().is_some_and(Ground::is_gone) {
            return Ok((Write::default(), Err(Failure::Overloaded)));
        }
        let existing = self.existing(order.voucher_type.direction(), &order.external_id)?;
        let existing = existing.as_ref().map(|(n, v)| (*n, v.as_ref()));
        let settings = self.shared.settings();
        let context = self.context(&settings, self.now());
        let decided = self.account.decide_post(order, existing, &context);
        let account = match existing {
            Some((account, _)) => account,
            None => self.account.number,
        };
        let placed = |voucher| Placed { account, voucher };
        let (mut page, outcome) = match decided {
            Err(rejection) => (Write::default(), Err(rejection.into())),
            Ok(Outcome::Replayed(vouchers)) => {
                let outcome = first(vouchers.into_iter().map(Arc::new));
                (Write::default(), outcome.map(placed).map(Outcome::Replayed))
            }
            Ok(Outcome::Recorded(vouchers)) => {
                let vouchers: Vec<_> = vouchers.into_iter().map(Arc::new).collect();
                let page = if dry_run {
                    Write::default()
                } else {
                    self.record(&vouchers)?
                };
                let outcome = first(vouchers.into_iter());
                (page, outcome.map(placed).map(Outcome::Recorded))
            }
        };
        if let Some(ground) = ground {
            // Without that change the outcome might be another one: neither a voucher nor a kept answer is written then.
            page.decides_on(ground.fact);
        }
        Ok((page, outcome))
    }
}

fn first<T>(mut items: impl Iterator<Item = T>) -> Result<T, Failure> {
    items.next().ok_or(Failure::Bug)
}
