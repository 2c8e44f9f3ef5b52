//! Routes adjustments: a single one to its account, a batch to all of its accounts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use actix::fut::{ActorFutureExt as _, wrap_future};
use actix::{AsyncContext as _, Context};
use caudal_ledger::ids::AccountNo;
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::{Origin, Sense, TypeCode, VoucherType};
use caudal_ledger::vouchers::{Outcome, PostAdjustment};
use foldhash::HashMap;

use super::{Adjustment, RealmContext, RealmOrder, RealmSupervisor, TypeRef};
use crate::accounts::{
    BULK_PART, BatchMode, Gather, ItemOutcome, Joint, Placed, Post, Posting, Share, is_kept,
};
use crate::failure::Failure;
use crate::mailbox::{Mailbox, give_way};
use crate::orders::{Envelope, Order, TicketOf};
use crate::records::reads;
use crate::reply::{ClaimGuard, Waits};
use crate::scribe::{Shared, Ticket};

/// The account and the order of an item, or why it is already refused.
type Resolved = Result<(AccountNo, Posting), Failure>;
/// What each external id of a batch was first used for, by direction. Two accounts cannot share an id, whatever becomes
/// of the first item, so the answer does not depend on how far the first item has come.
type Named = HashMap<(u8, ExternalId), (AccountNo, Amount, TypeCode)>;

impl Order for Adjustment {
    type Outcome = Outcome<Placed>;
}

impl RealmOrder for Adjustment {
    fn route(self, realm: &mut RealmSupervisor, mut ticket: TicketOf<Self>, _: &mut RealmContext) {
        let dry_run = self.dry_run;
        let resolved = realm.prepare(self).and_then(|(number, posting)| {
            if !dry_run {
                ticket.guards.push(realm.claim_posting(&posting, number)?);
            }
            Ok((number, posting))
        });
        match resolved {
            Ok((number, posting)) => realm.forward(Ok(number), Post { posting, dry_run }, ticket),
            Err(why) => realm.end(Err(why), ticket),
        }
    }
}

/// Posts many adjustments, each for itself, or all of them or nothing.
pub struct Batch {
    /// The adjustments in the order of the request; the outcomes have the same order.
    pub items: Vec<Adjustment>,
    /// Whether each is posted for itself, or all of them or nothing.
    pub mode: BatchMode,
}

impl Order for Batch {
    type Outcome = Vec<ItemOutcome>;
}

impl RealmOrder for Batch {
    fn route(self, realm: &mut RealmSupervisor, ticket: TicketOf<Self>, ctx: &mut RealmContext) {
        let Self { items, mode } = self;
        let asker = if mode.atomic || mode.dry_run {
            BulkAsker::All {
                resolved: Vec::with_capacity(items.len()),
                mode,
                ticket,
            }
        } else {
            BulkAsker::Each(gather(items.len(), ticket, realm.home(ctx)))
        };
        let bulk = Bulk {
            items: items.into_iter().enumerate(),
            named: HashMap::default(),
            asker,
        };
        realm.bulk(bulk, ctx);
    }
}

/// Keeps the outcomes of a batch for its idempotency key. A long answer is rendered off this thread first.
struct KeepOutcomes(Vec<ItemOutcome>, TicketOf<Batch>);

impl Order for KeepOutcomes {
    type Outcome = ();
}

impl RealmOrder for KeepOutcomes {
    fn route(self, realm: &mut RealmSupervisor, _: TicketOf<Self>, ctx: &mut RealmContext) {
        let Self(outcomes, ticket) = self;
        if outcomes.len() <= BULK_PART {
            return realm.end(Ok(outcomes), ticket);
        }
        let Ticket {
            reply,
            keyed,
            guards,
            request_id,
        } = ticket;
        let Some(keyed) = keyed else { return };
        let rendered = wrap_future::<_, RealmSupervisor>(keyed.rendered(outcomes));
        ctx.spawn(rendered.map(move |rendered, realm, _| {
            // If the rendering fails, the outcome is unknown; the items are known by their ids.
            if let Ok((keyed, outcomes)) = rendered {
                let ticket = Ticket {
                    reply,
                    keyed: Some(keyed),
                    guards,
                    request_id,
                };
                realm.end(Ok(outcomes), ticket);
            }
        }));
    }
}

impl RealmSupervisor {
    /// Resolves the account and the voucher type of an adjustment.
    fn prepare(&mut self, order: Adjustment) -> Resolved {
        let number = self.number(order.target)?;
        let known = match &order.voucher_type {
            TypeRef::Code(code) => self.types.find(code),
            TypeRef::Legacy(id) => self.types.find_legacy(*id),
        };
        let voucher_type = match known {
            Some(found) => found,
            None => self.removed_type(&order)?,
        };
        let resolved = PostAdjustment {
            voucher_type,
            amount: order.amount,
            external_id: order.external_id,
            description: order.description,
            external_date: order.external_date,
        };
        let posting = Posting {
            order: resolved,
            ground: self.unwritten_types(),
        };
        Ok((number, posting))
    }

    /// Claims the external id of a posting for its account.
    fn claim_posting(&self, posting: &Posting, number: AccountNo) -> Result<ClaimGuard, Failure> {
        let order = &posting.order;
        let direction = [b'x', order.voucher_type.direction().byte()];
        self.claim_external(&direction, &order.external_id, number)
    }

    /// A repeat of a posting is still a repeat if its type was removed in the meantime.
    fn removed_type(&self, order: &Adjustment) -> Result<VoucherType, Failure> {
        let code = match &order.voucher_type {
            TypeRef::Code(code) => code,
            TypeRef::Legacy(id) => {
                let unknown = || Rejection::VoucherTypeUnknown {
                    code: id.to_string(),
                };
                self.types.removed_code(*id).ok_or_else(unknown)?
            }
        };
        let Shared { store, realm, .. } = &*self.shared;
        for sense in Sense::ALL {
            let held = reads::voucher_by_external(
                store.as_ref(),
                *realm,
                sense.direction(),
                &order.external_id,
            )?;
            if let Some((_, voucher)) = held.filter(|(_, voucher)| voucher.type_code == *code) {
                return Ok(VoucherType {
                    code: code.clone(),
                    name: voucher.type_name,
                    origin: Origin::Custom(sense),
                    active: false,
                    legacy_id: None,
                    description: None,
                    category: None,
                    created_at: Timestamp::default(),
                });
            }
        }
        Err(Rejection::VoucherTypeUnknown {
            code: code.to_string(),
        }
        .into())
    }

    /// Resolves the next part of a batch. The rest queues behind the messages that wait meanwhile, so a long batch is
    /// many short turns, and the other realms of the thread take theirs in between.
    fn bulk(&mut self, mut bulk: Bulk, ctx: &mut Context<Self>) {
        if bulk.has_left() {
            return;
        }
        let part: Vec<_> = bulk.items.by_ref().take(BULK_PART).collect();
        let named = &mut bulk.named;
        match &mut bulk.asker {
            BulkAsker::All {
                resolved,
                mode,
                ticket,
            } => {
                for (_, item) in part {
                    if mode.dry_run {
                        // A dry run claims nothing, so it is in nobody's way.
                        resolved.push(self.name(item, named));
                        continue;
                    }
                    let found = self.resolve(item, named).map(|(number, order, guard)| {
                        ticket.guards.push(guard);
                        (number, order)
                    });
                    resolved.push(found);
                }
            }
            BulkAsker::Each(gather) => {
                let gather = Arc::clone(gather);
                self.share_out(part, named, &gather);
            }
        }
        if bulk.items.len() > 0 {
            self.go_on_with(bulk, ctx);
        } else if let BulkAsker::All {
            resolved,
            mode,
            ticket,
            ..
        } = bulk.asker
        {
            self.together(resolved, mode, ticket);
        }
    }

    /// Schedules the rest of a batch for a later turn.
    fn go_on_with(&self, bulk: Bulk, ctx: &mut Context<Self>) {
        let home = self.home(ctx);
        // The batch is already let in, so it is not refused for want of room.
        let permit = home.reserve();
        drop(home.put(permit, Envelope::from(bulk)));
        give_way(ctx);
    }

    /// The supervisor's own mailbox, for messages to itself in a later turn. They count like anybody's.
    pub(super) fn home(&self, ctx: &Context<Self>) -> Mailbox<Self> {
        Mailbox::new(ctx.address(), self.waiting.clone(), self.shared.room)
    }

    /// Resolves an item of a batch, and claims its external id.
    fn resolve(
        &mut self,
        item: Adjustment,
        named: &mut Named,
    ) -> Result<(AccountNo, Posting, ClaimGuard), Failure> {
        let (number, posting) = self.name(item, named)?;
        let guard = self.claim_posting(&posting, number)?;
        Ok((number, posting, guard))
    }

    /// Resolves an item of a batch, unless an earlier item has its external id for another account.
    fn name(&mut self, item: Adjustment, named: &mut Named) -> Resolved {
        let (number, posting) = self.prepare(item)?;
        let PostAdjustment {
            voucher_type,
            amount,
            external_id,
            ..
        } = &posting.order;
        let name = (voucher_type.direction().byte(), external_id.clone());
        let this = (number, *amount, voucher_type.code.clone());
        let first = named.entry(name).or_insert_with(|| this.clone());
        if first.0 == number {
            return Ok((number, posting));
        }
        let differs = [
            ("cvu", true),
            ("amount", first.1 != this.1),
            ("voucherTypeCode", first.2 != this.2),
        ];
        let fields = differs.iter().filter(|(_, differs)| *differs);
        let fields = fields.map(|(name, _)| *name).collect();
        Err(Rejection::ExternalIdTwice { fields }.into())
    }

    /// Has a batch decided by all of its accounts as one.
    fn together(
        &mut self,
        resolved: Vec<Resolved>,
        mode: BatchMode,
        mut ticket: Ticket<Vec<ItemOutcome>>,
    ) {
        let found = resolved.iter().flatten().map(|(number, _)| *number);
        let accounts: BTreeSet<_> = found.collect();
        if accounts.is_empty() {
            let refused = |item: Result<_, _>| item.and(Err(Failure::Overloaded));
            let refused: Vec<_> = resolved.into_iter().map(refused).collect();
            ticket.keyed = ticket.keyed.filter(|_| is_kept(&refused));
            return self.end(Ok(refused), ticket);
        }
        self.convoy(&accounts, ticket, |ticket| Joint::Batch {
            items: resolved,
            mode,
            ticket,
        });
    }

    /// Gives each account its share of a part of a batch.
    fn share_out(
        &mut self,
        part: Vec<(usize, Adjustment)>,
        named: &mut Named,
        gather: &Arc<Gather>,
    ) {
        let mut shares: BTreeMap<AccountNo, Share> = BTreeMap::new();
        let empty = || Share {
            items: Vec::new(),
            guards: Vec::new(),
            gather: Arc::clone(gather),
        };
        let mut refused = Vec::new();
        for (place, item) in part {
            match self.resolve(item, named) {
                Err(why) => refused.push((place, Err(why))),
                Ok((number, order, guard)) => {
                    let share = shares.entry(number).or_insert_with(empty);
                    share.items.push((place, order));
                    share.guards.push(guard);
                }
            }
        }
        gather.bring(refused);
        for (number, mut share) in shares {
            match self.children.get(number) {
                Ok(child) => child.tell(share),
                Err(why) => {
                    let items = std::mem::take(&mut share.items);
                    let refused = items
                        .into_iter()
                        .map(|(place, _)| (place, Err(why.clone())));
                    gather.bring(refused.collect());
                }
            }
        }
    }
}

/// A batch on its way through the supervisor.
#[derive(Debug)]
pub struct Bulk {
    items: std::iter::Enumerate<std::vec::IntoIter<Adjustment>>,
    named: Named,
    asker: BulkAsker,
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a batch has one, and its messages are boxed by the mailbox"
)]
enum BulkAsker {
    /// All of the items are posted, or none; also a dry run. They travel together when all are resolved.
    All {
        resolved: Vec<Resolved>,
        mode: BatchMode,
        ticket: Ticket<Vec<ItemOutcome>>,
    },
    /// Each item is posted for itself as soon as it is resolved, and the outcomes are gathered.
    Each(Arc<Gather>),
}

impl Order for Bulk {
    type Outcome = ();

    fn caller<'a>(&'a mut self, _: &'a mut Ticket<()>) -> Option<&'a mut dyn Waits> {
        Some(self)
    }
}

impl RealmOrder for Bulk {
    fn route(self, realm: &mut RealmSupervisor, _: TicketOf<Self>, ctx: &mut RealmContext) {
        realm.bulk(self, ctx);
    }
}

impl Waits for Bulk {
    fn has_left(&self) -> bool {
        match &self.asker {
            BulkAsker::All { ticket, .. } => ticket.has_left(),
            BulkAsker::Each(gather) => gather.is_left(),
        }
    }

    /// For a batch that is posted as a whole, this refuses all of it; for any other batch, the items not resolved yet.
    fn refuse(&mut self, why: Failure) {
        match &mut self.asker {
            BulkAsker::All { ticket, .. } => ticket.refuse(why),
            BulkAsker::Each(gather) => {
                let rest = self.items.by_ref();
                gather.bring(rest.map(|(place, _)| (place, Err(why.clone()))).collect());
            }
        }
    }
}

fn gather(
    items: usize,
    ticket: Ticket<Vec<ItemOutcome>>,
    home: Mailbox<RealmSupervisor>,
) -> Arc<Gather> {
    Arc::new(Gather::new(items, ticket, move |outcomes, ticket| {
        if ticket.keyed.is_none() || !is_kept(&outcomes) {
            return ticket.answer(Ok(outcomes));
        }
        // The realm keeps the answer for the key. The batch is done, so it is not refused for want of room.
        let order = KeepOutcomes(outcomes, ticket);
        drop(home.put(home.reserve(), Envelope::from(order)));
    }))
}
