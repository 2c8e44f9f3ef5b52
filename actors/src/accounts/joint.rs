//! One decision about several accounts: an internal transfer, an atomic batch.
//!
//! **Shape.** The order travels as a [`Convoy`] from the lowest account number to the highest. Each account but the
//! last lends its desk to it and takes no message until the desk is back. The last account has all desks, and decides,
//! applies and commits for all of them in one turn.
//!
//! **Order.** A desk is lent between two turns of its owner, so the convoy's movements have their place in each
//! account's own sequence. There is one commit: both halves or none, at every instant.
//!
//! **No deadlock.** A waiting account has lent its desk to a convoy that is on its way to an account with a higher
//! number. So an account only ever waits for a higher number, and the highest does not wait. A→B, B→A and longer cycles
//! end.
//!
//! **Bounds.** An actor whose desk is lent is not idle: it stays until the desk is home. A batch is
//! decided in parts of [`BULK_PART`] items, with all desks lent, and committed as one.
//!
//! **Failure.** A lent desk returns home when the convoy is dropped, wherever that happens. If a turn panics, every
//! desk of the convoy returns in doubt, and its owner is loaded again from the disk: the commit is submitted whole at
//! the end of the turn, or not at all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::fut::{ActorFutureExt, wrap_future};
use actix::{ActorContext, AsyncContext, Context};
use caudal_ledger::accounts::Movements;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::transfers::Send;
use caudal_ledger::vouchers::Outcome;
use caudal_storage::StoreError;
use tokio::sync::oneshot;

use super::batch::Bookmark;
use super::{
    AccountActor, BULK_PART, BatchMode, Desk, ItemOutcome, Posting, Reserved, TransferView, is_kept,
};
use crate::failure::Failure;
use crate::mailbox::Asked;
use crate::meter::Meter;
use crate::reply::Waits;
use crate::scribe::{Scribe, Ticket, Write};
use crate::settings::Settings;

/// An order about several accounts, on its way through them.
#[derive(Debug)]
pub struct Convoy {
    /// The order to decide at the end.
    pub order: Joint,
    /// The accounts still ahead, highest number first.
    pub ahead: Vec<Reserved>,
    /// The desks that were lent.
    lent: Vec<Lent>,
}

impl Convoy {
    /// An order that will pass `ahead`, highest number first, after the account that it is sent to.
    pub fn new(order: Joint, ahead: Vec<Reserved>) -> Self {
        Self {
            order,
            ahead,
            lent: Vec::new(),
        }
    }
}

/// A decision that several accounts take as one.
#[derive(Debug)]
pub enum Joint {
    /// Money goes from one account of the realm to another.
    Transfer {
        /// The sending account.
        from: AccountNo,
        /// The receiving account.
        to: AccountNo,
        /// The destination and the amount.
        order: Send,
        /// Only say what would happen.
        dry_run: bool,
        /// Receives the answer.
        ticket: Ticket<Outcome<TransferView>>,
    },
    /// Adjustments that are all posted, or none; a dry run posts none.
    Batch {
        /// Each item's account and order, or why it was already refused.
        items: Vec<Result<(AccountNo, Posting), Failure>>,
        /// Whether a refused item takes the others along.
        mode: BatchMode,
        /// Receives the answer.
        ticket: Ticket<Vec<ItemOutcome>>,
    },
}

impl Asked for Convoy {
    fn asker(&mut self) -> Option<&mut dyn Waits> {
        match &mut self.order {
            Joint::Transfer { ticket, .. } => Some(ticket),
            Joint::Batch { ticket, .. } => Some(ticket),
        }
    }
}

/// A lent desk. It returns home when this is dropped.
#[derive(Debug)]
struct Lent {
    desk: Option<Box<Desk>>,
    home: Option<oneshot::Sender<Box<Desk>>>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(mut desk), Some(home)) = (self.desk.take(), self.home.take()) {
            // A dry run gave the desk a meter of its own; the owner decides with the realm's.
            desk.meter = Arc::clone(&desk.shared.meter);
            if std::thread::panicking() {
                desk.vitals.doubt();
            }
            // If the owner is gone meanwhile, it needs no desk.
            drop(home.send(desk));
        }
    }
}

impl AccountActor {
    /// Lends the desk to a convoy and sends the convoy on, or decides at its end.
    pub(super) fn join(&mut self, mut convoy: Convoy, ctx: &mut Context<Self>) {
        let next = convoy.ahead.pop();
        if next.is_none()
            && let Joint::Transfer { .. } = convoy.order
        {
            if let Some(desk) = self.desk.as_mut() {
                convoy.transfer(desk);
            }
            return;
        }
        let (home, back) = oneshot::channel();
        let desk = self.desk.take();
        if let Some(desk) = &desk {
            desk.vitals.lent.store(true, Ordering::Release);
        }
        convoy.lent.push(Lent {
            desk,
            home: Some(home),
        });
        let back = wrap_future::<_, Self>(back).map(|desk, actor, ctx: &mut Context<Self>| {
            actor.desk = desk.ok();
            if let Some(desk) = &actor.desk {
                desk.vitals.lent.store(false, Ordering::Release);
            }
            match &actor.desk {
                Some(desk) if !desk.vitals.doubtful() => {}
                Some(_) | None => ctx.stop(),
            }
        });
        ctx.wait(back);
        match next {
            Some(next) => next.send(convoy),
            // actix polls the most recently added future first.
            None => ctx.wait(wrap_future(convoy.batch())),
        }
    }
}

/// The desks of a convoy by account.
type Desks<'a> = BTreeMap<AccountNo, &'a mut Desk>;

/// The lent desks. Holds that have expired are released, as in any turn of their owners.
fn desks(lent: &mut [Lent]) -> Desks<'_> {
    lent.iter_mut()
        .filter_map(|lent| lent.desk.as_deref_mut())
        .map(|desk| {
            desk.expire();
            (desk.account.number, desk)
        })
        .collect()
}

impl Convoy {
    fn transfer(mut self, own: &mut Desk) {
        let Joint::Transfer {
            from,
            to,
            order,
            dry_run,
            ticket,
        } = self.order
        else {
            return;
        };
        let mut desks = desks(&mut self.lent);
        desks.insert(own.account.number, own);
        transfer(&mut desks, (from, to), &order, dry_run, ticket);
    }

    /// Decides a batch in parts, so that the other actors of the thread take their turns in between. All desks are lent
    /// meanwhile, so nobody sees a part.
    async fn batch(mut self) {
        let Joint::Batch {
            items,
            mode,
            ticket,
        } = self.order
        else {
            return;
        };
        let mut desks = desks(&mut self.lent);
        batch(&mut desks, items, mode, ticket).await;
    }
}

fn transfer(
    desks: &mut Desks<'_>,
    (from, to): (AccountNo, AccountNo),
    order: &Send,
    dry_run: bool,
    ticket: Ticket<Outcome<TransferView>>,
) {
    let (Some(sender), Some(receiver)) = (desks.remove(&from), desks.remove(&to)) else {
        return;
    };
    let seen = sender.seen(order, Some(to));
    let settings = sender.shared.settings();
    let decided = match seen {
        Ok(Some(view)) => Ok(Err(view)),
        Ok(None) => both_halves(sender, receiver, order, &settings).map(Ok),
        Err(why) => Err(why),
    };
    let (outcome, halves) = match decided {
        Err(why) => (Err(why), None),
        Ok(Err(view)) => (Ok(Outcome::Replayed(view)), None),
        Ok(Ok((view, out, into))) => (Ok(Outcome::Recorded(view)), Some((out, into))),
    };
    let Some((out, into)) = halves.filter(|_| !dry_run) else {
        // The answer waits for what both accounts have in flight.
        let nothing = (Arc::clone(&receiver.vitals), Write::default());
        let page = Write::default();
        return sender
            .scribe
            .finish_joint(page, vec![nothing], outcome, ticket);
    };
    let pages = sender
        .record_all(out)
        .and_then(|out| Ok((out, receiver.record_all(into)?)));
    match pages {
        Ok((page, other)) => {
            let other = (Arc::clone(&receiver.vitals), other);
            sender
                .scribe
                .finish_joint(page, vec![other], outcome, ticket);
        }
        Err(why) => give_up(why, ticket, [sender, receiver]),
    }
}

fn both_halves(
    sender: &Desk,
    receiver: &Desk,
    order: &Send,
    settings: &Settings,
) -> Result<(TransferView, Movements, Movements), Failure> {
    let context = sender.context(settings, sender.now());
    // The receiver may refuse before anything is decided about the sender.
    let (one, other) = (&sender.account, &receiver.account);
    let into = other.decide_receive(order, one, &context)?;
    let (transfer, out) = one.decide_send(order, other, &context)?;
    let view = TransferView {
        account: sender.account.number,
        transfer,
    };
    Ok((view, out, into))
}

/// If the records of a turn cannot be made, nothing of the turn may stay in memory.
fn give_up<'a, T>(
    why: StoreError,
    ticket: Ticket<T>,
    desks: impl IntoIterator<Item = &'a mut Desk>,
) {
    for desk in desks {
        desk.vitals.doubt();
    }
    if let Some(reply) = ticket.reply {
        reply.send(Err(why.into()));
    }
}

/// Takes the accounts back to their bookmarks.
fn undo(desks: &mut Desks<'_>, before: BTreeMap<AccountNo, Bookmark>) {
    for (number, bookmark) in before {
        if let Some(desk) = desks.get_mut(&number) {
            desk.turn_back(bookmark);
        }
    }
}

/// Posts all of a batch or nothing. The items are decided and applied one after the other, and undone from bookmarks
/// unless all passed. A dry run is always undone, so each item is answered as if the items before it had been posted.
async fn batch(
    desks: &mut Desks<'_>,
    items: Vec<Result<(AccountNo, Posting), Failure>>,
    mode: BatchMode,
    mut ticket: Ticket<Vec<ItemOutcome>>,
) {
    let before: BTreeMap<AccountNo, _> = desks
        .iter()
        .map(|(number, desk)| (*number, desk.bookmark()))
        .collect();
    if mode.dry_run {
        // The items are counted together, and no other order feels them.
        let usage = desks.values().next().map(|desk| desk.meter.usage());
        let own = Meter::new(usage.unwrap_or_default());
        for desk in desks.values_mut() {
            desk.meter = Arc::clone(&own);
        }
    }
    let mut pages: BTreeMap<AccountNo, Write> = BTreeMap::new();
    let mut outcomes = Vec::with_capacity(items.len());
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 && place.is_multiple_of(BULK_PART) {
            tokio::task::yield_now().await;
        }
        let outcome = match item {
            Err(why) => Err(why),
            Ok((number, order)) => match desks.get_mut(&number) {
                None => Err(Failure::OutcomeUnknown),
                Some(desk) => match desk.adjust(&order, false) {
                    Err(why) => {
                        return give_up(why, ticket, desks.values_mut().map(|desk| &mut **desk));
                    }
                    Ok((page, outcome)) => {
                        pages.entry(number).or_default().append(page);
                        outcome
                    }
                },
            },
        };
        outcomes.push(outcome);
    }
    ticket.keyed = ticket.keyed.filter(|_| is_kept(&outcomes));
    let all = outcomes.iter().all(Result::is_ok);
    if outcomes.len() > BULK_PART
        && let Some(keyed) = ticket.keyed.take()
    {
        // Nothing is written yet, so the rendering may take its time elsewhere.
        match keyed.rendered(outcomes).await {
            Ok((keyed, given)) => (ticket.keyed, outcomes) = (Some(keyed), given),
            Err(_) => return desks.values().for_each(|desk| desk.vitals.doubt()),
        }
    }
    if mode.dry_run || !all {
        if mode.dry_run {
            pages.clear()
        } else {
            // A refusal that a key keeps is written only with the changes that it was decided on.
            pages.values_mut().for_each(Write::keep_grounds)
        }
        undo(desks, before);
    }
    let part = |(number, desk): (&AccountNo, &&mut Desk)| {
        let page = pages.remove(number).unwrap_or_default();
        (Arc::clone(&desk.vitals), page)
    };
    let parts: Vec<_> = desks.iter().map(part).collect();
    let Some(desk) = desks.values_mut().next() else {
        return;
    };
    Scribe::finish_joint(
        &mut desk.scribe,
        Write::default(),
        parts,
        Ok(outcomes),
        ticket,
    );
}
