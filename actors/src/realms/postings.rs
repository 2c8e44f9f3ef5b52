//! Routing of adjustments: one to its account, a batch to all of its accounts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use actix::Addr;
use caudal_ledger::balance::Direction;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::VoucherType;
use caudal_ledger::vouchers::{Outcome, PostAdjustment};

use super::{Adjustment, Admission, RealmMessage, RealmSupervisor, TypeRef};
use crate::accounts::{AccountMessage, Gather, ItemOutcome, Joint, Placed, Share, is_kept};
use crate::failure::Failure;
use crate::records::reads;
use crate::reply::ClaimGuard;
use crate::scribe::{Shared, Ticket};

impl RealmSupervisor {
    pub(super) fn post(&mut self, order: Adjustment, ticket: Ticket<Outcome<Placed>>) {
        let ticket = match if order.dry_run {
            Admission::Go(ticket)
        } else {
            self.admit(ticket)
        } {
            Admission::Go(ticket) | Admission::Adopt(_, ticket) => ticket,
            Admission::Ended => return,
        };
        match self.prepare(&order) {
            Err(why) => self.end(Err(why), ticket),
            Ok((number, resolved)) => self.forward_post(number, resolved, order.dry_run, ticket),
        }
    }

    fn prepare(&mut self, order: &Adjustment) -> Result<(AccountNo, PostAdjustment), Failure> {
        let number = self.number(order.target)?;
        let known = match &order.voucher_type {
            TypeRef::Code(code) => self.types.find(code),
            TypeRef::Legacy(id) => self.types.find_legacy(*id).cloned(),
        };
        let voucher_type = match known {
            Some(found) => found,
            None => self.removed_type(order)?,
        };
        let resolved = PostAdjustment {
            voucher_type,
            amount: order.amount,
            external_id: order.external_id.clone(),
            description: order.description.clone(),
            external_date: order.external_date,
        };
        Ok((number, resolved))
    }

    /// A repeat of a posting whose type was removed since is still a repeat.
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
        for sense in [Direction::Credit, Direction::Debit] {
            let held =
                reads::voucher_by_external(store.as_ref(), *realm, sense, &order.external_id)?;
            if let Some((_, voucher)) = held.filter(|(_, voucher)| voucher.type_code == *code) {
                return Ok(VoucherType {
                    code: code.clone(),
                    name: voucher.type_name,
                    sense,
                    active: false,
                    system: false,
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

    fn forward_post(
        &mut self,
        number: AccountNo,
        order: PostAdjustment,
        dry_run: bool,
        mut ticket: Ticket<Outcome<Placed>>,
    ) {
        if !dry_run {
            let direction = order.voucher_type.sense.byte();
            let name = [
                b"x",
                [direction].as_slice(),
                order.external_id.as_str().as_bytes(),
            ]
            .concat();
            match self
                .shared
                .claims
                .claim(self.shared.realm, name, number, true)
            {
                Ok(guard) => ticket.guards.push(guard),
                Err(_) => return self.end(Err(Rejection::ExternalIdInFlight.into()), ticket),
            }
        }
        self.forward(number, ticket, |ticket| AccountMessage::Post {
            order,
            dry_run,
            ticket,
        });
    }

    /// Posts a batch: each adjustment for itself, or all of them or nothing.
    pub(super) fn batch(
        &mut self,
        items: Vec<Adjustment>,
        atomic: bool,
        ticket: Ticket<Vec<ItemOutcome>>,
        home: Addr<Self>,
    ) {
        let Some(mut ticket) = self.let_in(false, ticket) else {
            return;
        };
        let mut guards = Vec::with_capacity(items.len());
        let mut resolved = Vec::with_capacity(items.len());
        for item in &items {
            let found = self.prepare(item).and_then(|(number, order)| {
                let direction = [b'x', order.voucher_type.sense.byte()];
                guards.push((
                    number,
                    self.claim_external(&direction, &order.external_id, number)?,
                ));
                Ok((number, order))
            });
            resolved.push(found);
        }
        if atomic {
            ticket
                .guards
                .extend(guards.into_iter().map(|(_, guard)| guard));
            let found = resolved.iter().flatten().map(|(number, _)| *number);
            let accounts: BTreeSet<_> = found.collect();
            if accounts.is_empty() {
                let refused = |item: Result<_, _>| item.and(Err(Failure::Overloaded));
                let refused: Vec<_> = resolved.into_iter().map(refused).collect();
                ticket.keyed = ticket.keyed.filter(|_| is_kept(&refused));
                return self.end(Ok(refused), ticket);
            }
            return self.convoy(&accounts, ticket, |ticket| Joint::Batch {
                items: resolved,
                ticket,
            });
        }
        self.share_out(resolved, guards, ticket, home);
    }

    /// Gives each account its share of a batch.
    fn share_out(
        &mut self,
        resolved: Vec<Result<(AccountNo, PostAdjustment), Failure>>,
        guards: Vec<(AccountNo, ClaimGuard)>,
        ticket: Ticket<Vec<ItemOutcome>>,
        home: Addr<Self>,
    ) {
        let gather = Arc::new(Gather::new(resolved.len(), move |outcomes| {
            if ticket.keyed.is_none() || !is_kept(&outcomes) {
                drop(ticket.guards);
                if let Some(reply) = ticket.reply {
                    reply.send(Ok(crate::reply::Given::Value(outcomes)));
                }
                return;
            }
            // The realm keeps the key's answer; a full mailbox leaves it unknown.
            drop(home.try_send(RealmMessage::BatchDone(outcomes, ticket)));
        }));
        let mut shares: BTreeMap<AccountNo, Share> = BTreeMap::new();
        let empty = || Share {
            items: Vec::new(),
            guards: Vec::new(),
            gather: Arc::clone(&gather),
        };
        let mut refused = Vec::new();
        for (place, item) in resolved.into_iter().enumerate() {
            match item {
                Err(why) => refused.push((place, Err(why))),
                Ok((number, order)) => {
                    let share = shares.entry(number).or_insert_with(empty);
                    share.items.push((place, order));
                }
            }
        }
        for (number, guard) in guards {
            if let Some(share) = shares.get_mut(&number) {
                share.guards.push(guard);
            }
        }
        gather.bring(refused);
        for (number, mut share) in shares {
            match self.children.get(number) {
                Ok(child) => child.send(AccountMessage::PostMany(share)),
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
