//! Turns about the money of one account: postings, holds, balances, quotes, and money that arrives.

use std::sync::Arc;

use actix::Context;
use caudal_ledger::accounts::Status;
use caudal_ledger::balance::Direction;
use caudal_ledger::fees::quotes::Quote;
use caudal_ledger::holds::{Hold, HoldStep, OpenHold};
use caudal_ledger::ids::{HoldId, VoucherId};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::{EndedHold, Rejection};
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{CashIn, Suspense};
use caudal_ledger::voucher_types::VoucherType;
use caudal_ledger::vouchers::{Outcome, Voucher};
use caudal_storage::StoreError;

use super::{AccountActor, BalanceView, Desk, Ground, Heard, HoldView, Placed, Posting, Share};
use crate::failure::Failure;
use crate::mailbox::{Asked, give_way};
use crate::records::projection::Place;
use crate::records::{LEDGER, reads};
use crate::reply::{Reply, Waits};
use crate::scribe::{Shared, Ticket, Write};

/// A turn about the money of an account.
#[derive(Debug)]
pub enum MoneyTurn {
    /// Post an adjustment, or say what would happen.
    Post {
        /// The adjustment.
        order: Posting,
        /// Only say what would happen.
        dry_run: bool,
        /// Receives the answer.
        ticket: Ticket<Outcome<Placed>>,
    },
    /// Post this account's adjustments of a batch, each for itself.
    PostMany(Share),
    /// Open a hold, or say what would happen.
    OpenHold {
        /// The amount to set apart, and for how long.
        order: OpenHold,
        /// Only say what would happen.
        dry_run: bool,
        /// Receives the answer.
        ticket: Ticket<Outcome<HoldView>>,
    },
    /// Confirm or release a hold, in part or the rest.
    StepHold {
        /// The id of the hold.
        hold: HoldId,
        /// Whether the money leaves or returns.
        step: HoldStep,
        /// How much of it, in centavos; the rest when `None`.
        amount: Option<Amount>,
        /// Only say what would happen.
        dry_run: bool,
        /// Receives the answer.
        ticket: Ticket<HoldView>,
    },
    /// An open hold, by the sequence of the voucher that opened it; `None` when it is not open.
    HoldOf(u64, Reply<Result<Option<Hold>, Failure>>),
    /// Money arrived from the bank.
    CashIn(CashIn, Ticket<Heard>),
    /// The fees of a movement.
    Quote(VoucherType, Amount, Reply<Result<Quote, Failure>>),
    /// The balance as it is.
    BalanceOf(Reply<Result<BalanceView, Failure>>),
    /// The balance as it was at the end of an instant.
    BalanceAt(Timestamp, Reply<Result<BalanceView, Failure>>),
}

impl Asked for MoneyTurn {
    fn asker(&mut self) -> Option<&mut dyn Waits> {
        match self {
            Self::Post { ticket, .. } => Some(ticket),
            Self::PostMany(share) => Some(share),
            Self::OpenHold { ticket, .. } => Some(ticket),
            Self::StepHold { ticket, .. } => Some(ticket),
            Self::HoldOf(_, reply) => Some(reply),
            Self::Quote(_, _, reply) => Some(reply),
            Self::BalanceOf(reply) | Self::BalanceAt(_, reply) => Some(reply),
            Self::CashIn(..) => None,
        }
    }
}

impl Desk {
    /// Takes a turn about money.
    pub(super) fn money(&mut self, turn: MoneyTurn, ctx: &mut Context<AccountActor>) {
        match turn {
            MoneyTurn::Post {
                order,
                dry_run,
                ticket,
            } => self.post(&order, dry_run, ticket),
            MoneyTurn::PostMany(share) => {
                self.post_many(share);
                give_way(ctx);
            }
            MoneyTurn::OpenHold {
                order,
                dry_run,
                ticket,
            } => self.hold(&order, dry_run, ticket),
            MoneyTurn::StepHold {
                hold,
                step,
                amount,
                dry_run,
                ticket,
            } => self.step(hold, (step, amount), dry_run, ticket),
            MoneyTurn::HoldOf(number, reply) => {
                let hold = self.account.holds.get(&number).cloned();
                self.show(Ok(hold), reply);
            }
            MoneyTurn::CashIn(arrived, ticket) => self.cash_in(arrived, ticket),
            MoneyTurn::Quote(voucher_type, amount, reply) => {
                let quote = self.quote(voucher_type, amount);
                self.show(quote, reply);
            }
            MoneyTurn::BalanceOf(reply) => {
                let balance = self.balance();
                self.show(balance, reply);
            }
            MoneyTurn::BalanceAt(at, reply) => {
                let balance = self.balance_at(at);
                self.show(balance, reply);
            }
        }
    }

    /// Posts an adjustment, or says what would happen.
    fn post(&mut self, order: &Posting, dry_run: bool, ticket: Ticket<Outcome<Placed>>) {
        match self.adjust(order, dry_run) {
            Ok((page, outcome)) => self.scribe.finish(page, outcome, ticket),
            Err(why) => self.scribe.fail(why, ticket.reply),
        }
    }

    /// Decides and applies an adjustment; its page makes it durable.
    ///
    /// # Errors
    /// When the index cannot be read or a fact cannot be encoded. A refusal by a rule is not an error here: it is the
    /// second part of the result.
    pub(super) fn adjust(
        &mut self,
        posting: &Posting,
        dry_run: bool,
    ) -> Result<(Write, Result<Outcome<Placed>, Failure>), caudal_storage::StoreError> {
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

    /// Opens a hold, or says what would happen.
    fn hold(&mut self, order: &OpenHold, dry_run: bool, ticket: Ticket<Outcome<HoldView>>) {
        let existing = match self.existing(Direction::Hold, &order.external_id) {
            Ok(existing) => existing,
            Err(why) => return self.scribe.fail(why, ticket.reply),
        };
        let settings = self.shared.settings();
        let context = self.context(&settings, self.now());
        let seen = existing.as_ref().map(|(n, v)| (*n, v.as_ref()));
        let decided = self.account.decide_hold(order, seen, &context);
        let mut page = Write::default();
        let outcome = match decided {
            Err(rejection) => Err(rejection.into()),
            // The hold as it was opened, as in its first answer.
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
    fn step(
        &mut self,
        id: HoldId,
        (step, amount): (HoldStep, Option<Amount>),
        dry_run: bool,
        ticket: Ticket<HoldView>,
    ) {
        let number = id.0.sequence;
        let open = self.account.holds.get(&number);
        let Some(mut hold) = open.filter(|hold| hold.tag == id.0.tag).cloned() else {
            let outcome = self.no_open_hold(id);
            return self.scribe.finish(Write::default(), Err(outcome), ticket);
        };
        let settings = self.shared.settings();
        let context = self.context(&settings, self.now());
        let mut page = Write::default();
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

    /// Why an id has no open hold: the hold has ended, or it never existed.
    fn no_open_hold(&self, id: HoldId) -> Failure {
        let hold = match self.ended_hold(id) {
            Ok(Some(hold)) => hold,
            Ok(None) => return Rejection::HoldNotFound.into(),
            Err(why) => return why.into(),
        };
        let ended = EndedHold {
            id,
            status: hold.status(),
            at: hold.ended_at,
        };
        let ended = Some(Box::new(ended));
        Rejection::HoldNotOpen { ended }.into()
    }

    /// A hold of the account that is not open, with its last step.
    fn ended_hold(
        &self,
        HoldId(VoucherId { sequence, tag, .. }): HoldId,
    ) -> Result<Option<Hold>, StoreError> {
        let Shared { store, realm, .. } = &*self.shared;
        let kept = reads::money::hold(store.as_ref(), *realm, self.account.number, sequence)?;
        let unsettled = || self.unsettled.iter().map(|voucher| &**voucher);
        let opened = || {
            let mut opened = unsettled().filter_map(Hold::opened);
            opened.find(|hold| hold.sequence == sequence)
        };
        let Some(mut hold) = kept.or_else(opened).filter(|hold| hold.tag == tag) else {
            return Ok(None);
        };
        if hold.remaining().is_some() {
            // The index does not show the end of the hold yet.
            unsettled()
                .filter(|step| Hold::of_step(step) == Some(sequence))
                .for_each(|step| hold.apply(step));
        }
        Ok(Some(hold))
    }

    /// Calculates the fees of a movement.
    fn quote(&self, voucher_type: VoucherType, amount: Amount) -> Result<Quote, Failure> {
        let cvu = self.account.cvu.ok_or(Rejection::AccountWithoutCvu)?;
        let now = self.now();
        let settings = self.shared.settings();
        let context = self.context(&settings, now);
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

    fn balance(&self) -> Result<BalanceView, Failure> {
        if self.account.status == Status::Void {
            return Err(Rejection::AccountNotFound.into());
        }
        let cvu = self.account.cvu.ok_or(Rejection::AccountWithoutCvu)?;
        Ok(BalanceView {
            account: self.account.number,
            cvu,
            balance: self.account.balance,
            sequence: self.account.sequence,
            last_movement_at: self.account.last_movement_at,
            as_of: self.now(),
        })
    }

    /// The balance after the last movement up to and including an instant.
    fn balance_at(&self, at: Timestamp) -> Result<BalanceView, Failure> {
        let now = self.balance()?;
        if self.account.last_movement_at.is_none_or(|last| last <= at) {
            return Ok(BalanceView { as_of: at, ..now });
        }
        // A movement that is not durable yet is still in memory, with its time.
        if let Some(voucher) = self.unsettled.iter().rev().find(|v| v.at <= at) {
            return Ok(then(&now, at, Some(voucher)));
        }
        let Shared { store, realm, .. } = &*self.shared;
        let Some(sequence) = store.seq_at(self.stream(LEDGER), at.millis())? else {
            return Ok(then(&now, at, None));
        };
        let place = Place {
            account: self.account.number,
            sequence,
        };
        let voucher = reads::voucher(store.as_ref(), *realm, place)?;
        Ok(then(&now, at, voucher.as_ref()))
    }

    /// Credits money that arrived, or keeps it for a person to look at.
    fn cash_in(&mut self, arrived: CashIn, ticket: Ticket<Heard>) {
        let settings = self.shared.settings();
        let context = self.context(&settings, self.now());
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
                let page = entry.map(|entry| Write {
                    entries: vec![entry],
                    ..Write::default()
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

fn then(now: &BalanceView, at: Timestamp, voucher: Option<&Voucher>) -> BalanceView {
    BalanceView {
        balance: voucher.map(|v| v.after).unwrap_or_default(),
        sequence: voucher.map_or(0, |v| v.sequence),
        last_movement_at: voucher.map(|v| v.at),
        as_of: at,
        ..*now
    }
}

fn first<T>(mut items: impl Iterator<Item = T>) -> Result<T, Failure> {
    items.next().ok_or(Failure::Bug)
}
