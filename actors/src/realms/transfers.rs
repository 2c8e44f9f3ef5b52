//! Routes transfers: to one account, to two as one, and the bank's reports about them.

use std::collections::BTreeSet;

use caudal_ledger::ids::{AccountNo, OriginId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::transfers::{Destination, Send};

use super::{RealmContext, RealmOrder, RealmSupervisor, Target};
use crate::accounts::{
    BookDeparture, DecideTransfer, HearTransfer, JointOrder, MakeTransfer, NoticeOutcome,
    ReverseTransfer,
};
use crate::commit_writer::Shared;
use crate::failure::Failure;
use crate::orders::ContextOf;
use crate::records::keys::Rail;
use crate::records::reads;

/// If the destination is an account of the realm, both accounts get the order; if not, only the sending account does,
/// which sends it on to the bank.
impl RealmOrder for MakeTransfer {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        let (order, dry_run) = (&self.order, self.dry_run);
        let ends = realm.number(self.from).and_then(|from| {
            let to = realm.receiver(&order.to)?;
            if !dry_run {
                let guard = realm.claim_external(b"t", &order.external_id, from)?;
                request.guards.push(guard);
                if to.is_none() {
                    // The startup check may be recovering the same order from the bank's list right now, after an older copy
                    // was put back.
                    let guard = realm.claim_sent(realm.origin_of(order), from);
                    request
                        .guards
                        .push(guard.ok_or(Rejection::ExternalIdInFlight)?);
                }
            }
            Ok((from, to))
        });
        match ends {
            Err(why) => realm.end(Err(why), request),
            Ok((from, None)) => realm.forward(Ok(from), self, request),
            Ok((from, Some(to))) if to == from => {
                realm.end(Err(Rejection::SameAccount.into()), request);
            }
            Ok((from, Some(to))) => {
                let both = BTreeSet::from([from, to]);
                realm.txn(&both, request, |request| JointOrder::Transfer {
                    from,
                    to,
                    order: self.order,
                    dry_run,
                    request,
                });
            }
        }
    }
}

impl RealmOrder for HearTransfer {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        realm.forward(Ok(self.account), self, request);
    }
}

impl RealmOrder for ReverseTransfer {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        match realm.claim_rail(Rail::Return, &self.coelsa_id) {
            Err(why) => return realm.end(Err(why), request),
            Ok((_, Some(_))) => return realm.end(Ok(NoticeOutcome::Known), request),
            Ok((guard, None)) => request.guards.push(guard),
        }
        realm.forward(Ok(self.account), self, request);
    }
}

impl RealmOrder for DecideTransfer {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        realm.forward(Ok(self.transfer.0.account), self, request);
    }
}

impl RealmOrder for BookDeparture {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        match realm.claim_left(self.0.origin) {
            Ok(guard) => request.guards.push(guard),
            Err(why) => return realm.end(Err(why), request),
        }
        match realm.number(Target::Cvu(self.0.cvu)) {
            Err(Failure::Rejected(why)) => realm.left_nobody(self.0, &why, request),
            number => realm.forward(number, self, request),
        }
    }
}

impl RealmSupervisor {
    /// The reference of an order at the bank.
    fn origin_of(&self, order: &Send) -> OriginId {
        let settings = self.shared.settings();
        OriginId::of_order(&settings.tenant, settings.mode, &order.external_id)
    }

    /// The account of this realm that the destination names, if there is one.
    fn receiver(&mut self, to: &Destination) -> Result<Option<AccountNo>, Failure> {
        let Shared { realm, store, .. } = &*self.shared;
        match to {
            Destination::Key(key) => match key.cvu() {
                Some(cvu) => match self.number(Target::Cvu(cvu)) {
                    Ok(number) => Ok(Some(number)),
                    Err(Failure::Rejected(Rejection::AccountNotFound)) => Ok(None),
                    Err(why) => Err(why),
                },
                None => Ok(None),
            },
            Destination::Alias(alias) => {
                let owner = reads::alias_owner(store.as_ref(), *realm, alias)?;
                let own = owner.filter(|owner| owner.current);
                Ok(own.map(|owner| owner.account))
            }
        }
    }
}
