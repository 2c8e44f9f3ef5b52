//! Routes adjustments: a single one to its account, a batch to all of its accounts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use actix::fut::{ActorFutureExt as _, wrap_future};
use actix::{AsyncContext as _, Context};
use caudal_ledger::ids::{AccountNo, VoucherId};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::{Origin, Sense, TypeCode, VoucherType};
use caudal_ledger::vouchers::{
    ExternalDate, Outcome, PostAdjustment, Reversal, Voucher, VoucherDetails,
};
use foldhash::HashMap;

use super::{RealmContext, RealmOrder, RealmSupervisor, Target};
use crate::accounts::{
    AccountVoucher, BULK_PART, BatchCollector, BatchMode, BatchShard, ItemOutcome, JointOrder,
    Post, Posting, is_kept,
};
use crate::commit_writer::{RequestContext, Shared};
use crate::failure::Failure;
use crate::mailbox::{Mailbox, give_way};
use crate::orders::{ContextOf, Envelope, Order};
use crate::records::projection::VoucherPlace;
use crate::records::reads;
use crate::reply::{ClaimGuard, Responder};

/// The account and the order of an item, or why it is already refused.
type Resolved = Result<(AccountNo, Posting), Failure>;
/// What each external id of a batch was first used for, by direction. Two accounts cannot share an id, whatever becomes
/// of the first item, so the answer does not depend on how far the first item has come.
type ExternalIdUses = HashMap<(u8, ExternalId), (AccountNo, Amount, TypeCode)>;

/// How an order names a voucher type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeRef {
    /// By its code, which is unique in the realm while the type lives.
    Code(TypeCode),
    /// By its numeric id.
    Legacy(u64),
    /// The type of a voucher, in the opposite direction: the adjustment reverses that voucher.
    Reverses {
        /// The voucher, of the same account.
        id: VoucherId,
        /// Whether its fee and tax are given back in proportion.
        refund_fees: bool,
    },
}

/// An adjustment as it was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Adjustment {
    /// The account to which it is posted.
    pub target: Target,
    /// The type of the voucher, which says whether it credits or debits.
    pub voucher_type: TypeRef,
    /// How much it moves, in centavos; `None` only for all that is left of a voucher that it reverses.
    pub amount: Option<Amount>,
    /// The tenant's own id.
    pub external_id: ExternalId,
    /// A line for people.
    pub description: Option<String>,
    /// The tenant's own date.
    pub external_date: Option<ExternalDate>,
    /// What only some vouchers have.
    pub details: Option<Box<VoucherDetails>>,
    /// Only say what would happen.
    pub dry_run: bool,
}

impl Order for Adjustment {
    type Outcome = Outcome<AccountVoucher>;
}

impl RealmOrder for Adjustment {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        let dry_run = self.dry_run;
        let resolved = realm.prepare(self).and_then(|(number, posting)| {
            if !dry_run {
                request.guards.push(realm.claim_posting(&posting, number)?);
            }
            Ok((number, posting))
        });
        match resolved {
            Ok((number, posting)) => realm.forward(Ok(number), Post { posting, dry_run }, request),
            Err(why) => realm.end(Err(why), request),
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
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, ctx: &mut RealmContext) {
        let Self { items, mode } = self;
        let responder = if mode.atomic || mode.dry_run {
            BatchResponder::All {
                resolved: Vec::with_capacity(items.len()),
                mode,
                request,
            }
        } else {
            BatchResponder::Each(collector(items.len(), request, realm.supervisor(ctx)))
        };
        let bulk = BatchOrder {
            items: items.into_iter().enumerate(),
            named: HashMap::default(),
            responder,
        };
        realm.bulk(bulk, ctx);
    }
}

/// Keeps the outcomes of a batch for its idempotency key. A long answer is rendered off this thread first.
struct KeepOutcomes(Vec<ItemOutcome>, ContextOf<Batch>);

impl Order for KeepOutcomes {
    type Outcome = ();
}

impl RealmOrder for KeepOutcomes {
    fn route(self, realm: &mut RealmSupervisor, _: ContextOf<Self>, ctx: &mut RealmContext) {
        let Self(outcomes, request) = self;
        if outcomes.len() <= BULK_PART {
            return realm.end(Ok(outcomes), request);
        }
        let RequestContext {
            reply,
            keyed,
            guards,
            request_id,
        } = request;
        let Some(keyed) = keyed else { return };
        let rendered = wrap_future::<_, RealmSupervisor>(keyed.rendered(outcomes));
        ctx.spawn(rendered.map(move |rendered, realm, _| {
            // If the rendering fails, the outcome is unknown; the items are known by their ids.
            if let Ok((keyed, outcomes)) = rendered {
                let request = RequestContext {
                    reply,
                    keyed: Some(keyed),
                    guards,
                    request_id,
                };
                realm.end(Ok(outcomes), request);
            }
        }));
    }
}

impl RealmSupervisor {
    /// Resolves the account and the voucher type of an adjustment.
    fn prepare(&mut self, order: Adjustment) -> Resolved {
        if let TypeRef::Reverses { id, .. } = &order.voucher_type
            && id.realm != self.shared.realm
        {
            return Err(Rejection::VoucherNotFound.into());
        }
        let number = self.number(order.target)?;
        let (mut amount, mut reversal) = (order.amount, None);
        let known = match &order.voucher_type {
            TypeRef::Code(code) => self.types.find(code),
            TypeRef::Legacy(id) => self.types.find_legacy(*id),
            TypeRef::Reverses { id, refund_fees } => {
                let of = Reversal {
                    original: self.original(number, *id)?,
                    rest: amount.is_none(),
                    refund_fees: *refund_fees,
                };
                amount = amount.or(Some(of.original.amount));
                let voucher_type = of.voucher_type();
                reversal = Some(Box::new(of));
                Some(voucher_type)
            }
        };
        let voucher_type = match known {
            Some(found) => found,
            None => self.removed_type(&order)?,
        };
        let resolved = PostAdjustment {
            voucher_type,
            amount: amount.ok_or(Failure::Bug)?,
            external_id: order.external_id,
            description: order.description,
            external_date: order.external_date,
            details: order.details,
            reversal,
        };
        let posting = Posting {
            order: resolved,
            precondition: self.unwritten_types(),
        };
        Ok((number, posting))
    }

    /// Claims the external id of a posting for its account.
    fn claim_posting(&self, posting: &Posting, number: AccountNo) -> Result<ClaimGuard, Failure> {
        let order = &posting.order;
        let direction = [b'x', order.voucher_type.direction().byte()];
        self.claim_external(&direction, &order.external_id, number)
    }

    /// The voucher of an account that an adjustment reverses.
    fn original(&self, account: AccountNo, id: VoucherId) -> Result<Voucher, Failure> {
        let Shared { store, realm, .. } = &*self.shared;
        let place = VoucherPlace::new(account, id.sequence);
        let found = reads::voucher(store.as_ref(), *realm, place)?;
        let found = found.filter(|found| found.id(*realm, account) == id);
        Ok(found.ok_or(Rejection::VoucherNotFound)?)
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
            TypeRef::Reverses { .. } => return Err(Failure::Bug),
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
                    counter_account: None,
                    capture_tolerance: None,
                    limits: None,
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
    fn bulk(&mut self, mut bulk: BatchOrder, ctx: &mut Context<Self>) {
        if bulk.has_left() {
            return;
        }
        let part: Vec<_> = bulk.items.by_ref().take(BULK_PART).collect();
        let named = &mut bulk.named;
        match &mut bulk.responder {
            BatchResponder::All {
                resolved,
                mode,
                request,
            } => {
                for (_, item) in part {
                    if mode.dry_run {
                        // A dry run claims nothing, so it is in nobody's way.
                        resolved.push(self.name(item, named));
                        continue;
                    }
                    let found = self.resolve(item, named).map(|(number, order, guard)| {
                        request.guards.push(guard);
                        (number, order)
                    });
                    resolved.push(found);
                }
            }
            BatchResponder::Each(collector) => {
                let collector = Arc::clone(collector);
                self.share_out(part, named, &collector);
            }
        }
        if bulk.items.len() > 0 {
            self.go_on_with(bulk, ctx);
        } else if let BatchResponder::All {
            resolved,
            mode,
            request,
            ..
        } = bulk.responder
        {
            self.together(resolved, mode, request);
        }
    }

    /// Schedules the rest of a batch for a later turn.
    fn go_on_with(&self, bulk: BatchOrder, ctx: &mut Context<Self>) {
        let supervisor = self.supervisor(ctx);
        // The batch is already let in, so it is not refused for want of room.
        let permit = supervisor.reserve();
        drop(supervisor.put(permit, Envelope::from(bulk)));
        give_way(ctx);
    }

    /// The supervisor's own mailbox, for messages to itself in a later turn. They count like anybody's.
    pub(super) fn supervisor(&self, ctx: &Context<Self>) -> Mailbox<Self> {
        Mailbox::new(ctx.address(), self.waiting.clone(), self.shared.room)
    }

    /// Resolves an item of a batch, and claims its external id.
    fn resolve(
        &mut self,
        item: Adjustment,
        named: &mut ExternalIdUses,
    ) -> Result<(AccountNo, Posting, ClaimGuard), Failure> {
        let (number, posting) = self.name(item, named)?;
        let guard = self.claim_posting(&posting, number)?;
        Ok((number, posting, guard))
    }

    /// Resolves an item of a batch, unless an earlier item has its external id for another account.
    fn name(&mut self, item: Adjustment, named: &mut ExternalIdUses) -> Resolved {
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
        mut request: RequestContext<Vec<ItemOutcome>>,
    ) {
        let found = resolved.iter().flatten().map(|(number, _)| *number);
        let accounts: BTreeSet<_> = found.collect();
        if accounts.is_empty() {
            let refused = |item: Result<_, _>| item.and(Err(Failure::Overloaded));
            let refused: Vec<_> = resolved.into_iter().map(refused).collect();
            request.keyed = request.keyed.filter(|_| is_kept(&refused));
            return self.end(Ok(refused), request);
        }
        self.txn(&accounts, request, |request| JointOrder::Batch {
            items: resolved,
            mode,
            request,
        });
    }

    /// Gives each account its share of a part of a batch.
    fn share_out(
        &mut self,
        part: Vec<(usize, Adjustment)>,
        named: &mut ExternalIdUses,
        collector: &Arc<BatchCollector>,
    ) {
        let mut shards: BTreeMap<AccountNo, BatchShard> = BTreeMap::new();
        let empty = || BatchShard {
            items: Vec::new(),
            guards: Vec::new(),
            collector: Arc::clone(collector),
        };
        let mut refused = Vec::new();
        for (place, item) in part {
            match self.resolve(item, named) {
                Err(why) => refused.push((place, Err(why))),
                Ok((number, order, guard)) => {
                    let shard = shards.entry(number).or_insert_with(empty);
                    shard.items.push((place, order));
                    shard.guards.push(guard);
                }
            }
        }
        collector.bring(refused);
        for (number, mut shard) in shards {
            match self.children.get(number) {
                Ok(child) => child.tell(shard),
                Err(why) => {
                    let items = std::mem::take(&mut shard.items);
                    let refused = items
                        .into_iter()
                        .map(|(place, _)| (place, Err(why.clone())));
                    collector.bring(refused.collect());
                }
            }
        }
    }
}

/// A batch on its way through the supervisor.
pub struct BatchOrder {
    items: std::iter::Enumerate<std::vec::IntoIter<Adjustment>>,
    named: ExternalIdUses,
    responder: BatchResponder,
}

#[expect(
    clippy::large_enum_variant,
    reason = "a batch has one, and its messages are boxed by the mailbox"
)]
enum BatchResponder {
    /// All of the items are posted, or none; also a dry run. They travel together when all are resolved.
    All {
        resolved: Vec<Resolved>,
        mode: BatchMode,
        request: RequestContext<Vec<ItemOutcome>>,
    },
    /// Each item is posted for itself as soon as it is resolved, and the outcomes are gathered.
    Each(Arc<BatchCollector>),
}

impl Order for BatchOrder {
    type Outcome = ();

    fn caller<'a>(&'a mut self, _: &'a mut RequestContext<()>) -> Option<&'a mut dyn Responder> {
        Some(self)
    }
}

impl RealmOrder for BatchOrder {
    fn route(self, realm: &mut RealmSupervisor, _: ContextOf<Self>, ctx: &mut RealmContext) {
        realm.bulk(self, ctx);
    }
}

impl Responder for BatchOrder {
    fn has_left(&self) -> bool {
        match &self.responder {
            BatchResponder::All { request, .. } => request.has_left(),
            BatchResponder::Each(collector) => collector.is_left(),
        }
    }

    /// For a batch that is posted as a whole, this refuses all of it; for any other batch, the items not resolved yet.
    fn refuse(&mut self, why: Failure) {
        match &mut self.responder {
            BatchResponder::All { request, .. } => request.refuse(why),
            BatchResponder::Each(collector) => {
                let rest = self.items.by_ref();
                collector.bring(rest.map(|(place, _)| (place, Err(why.clone()))).collect());
            }
        }
    }
}

fn collector(
    items: usize,
    request: RequestContext<Vec<ItemOutcome>>,
    supervisor: Mailbox<RealmSupervisor>,
) -> Arc<BatchCollector> {
    Arc::new(BatchCollector::new(
        items,
        request,
        move |outcomes, request| {
            if request.keyed.is_none() || !is_kept(&outcomes) {
                return request.answer(Ok(outcomes));
            }
            // The realm keeps the answer for the key. The batch is done, so it is not refused for want of room.
            let order = KeepOutcomes(outcomes, request);
            drop(supervisor.put(supervisor.reserve(), Envelope::from(order)));
        },
    ))
}
