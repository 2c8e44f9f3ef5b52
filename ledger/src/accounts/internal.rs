//! Transfers inside the realm.
//!
//! **Order.** Two accounts decide: first the receiver, which may refuse, then the sender; both
//! halves are committed together, and each names the other account's holder as its counterparty.

use super::drafts::Draft;
use super::{Account, Context, Movement, Movements};
use crate::counterparty::Counterparty;
use crate::ids::TransferId;
use crate::limits::LimitKind;
use crate::money::Amount;
use crate::rejection::Rejection;
use crate::transfers::{Send, Transfer, TransferStatus};
use crate::voucher_types::SystemType;
use crate::vouchers::ReferenceType;

impl Account {
    /// Its holder as the counterparty in vouchers of the other side.
    fn counterparty(&self) -> Counterparty {
        Counterparty {
            cuit: Some(self.holder.cuit.to_string()),
            name: Some(self.holder.name.clone()),
            cbu: self.cvu.map(|cvu| cvu.to_string()),
            alias: self.alias.as_ref().map(ToString::to_string),
            ..Counterparty::default()
        }
    }

    /// Decides the sending half of an internal transfer to another account of the realm. Limits on
    /// the tenant's sum do not apply: the money stays within the tenant.
    ///
    /// # Errors
    /// When the state of the account, its limits or its balance do not allow it, or `receiver` is
    /// this account or has no CVU.
    pub fn decide_send(
        &self,
        order: &Send,
        receiver: &Self,
        context: &Context<'_>,
    ) -> Result<(Transfer, Movements), Rejection> {
        let from = self.may(Movement::Send)?;
        if receiver.number == self.number {
            return Err(Rejection::SameAccount);
        }
        let cvu = receiver.cvu.ok_or(Rejection::DestinationNotFound)?;
        self.within_limits(order.amount, context)?;
        let code = SystemType::P2pOut.code();
        let charged = self.schedules(context).charged(&code, order.amount);
        let transfer = Transfer {
            receiver: Some((receiver.number, cvu)),
            status: TransferStatus::Completed,
            charges: charged.ok_or(Rejection::AmountOverflow)?,
            resolved: Some(Box::new(receiver.counterparty())),
            ..self.transfer(order, from, context)
        };
        let mut drafts = self.draft(context)?;
        let reference = TransferId(drafts.next_id()).to_string();
        let (out, of) = (SystemType::P2pOut, ReferenceType::P2p);
        drafts.add(Draft::of_transfer(&transfer, out, of, reference))?;
        drafts.charge()?;
        let movements = Movements::asking(&transfer, drafts.vouchers);
        Ok((transfer, movements))
    }

    /// Decides the receiving half of the internal transfer that `sender` is about to make. A fee
    /// that the balance does not cover is not charged.
    ///
    /// # Errors
    /// When the state of the account or its limits do not allow it.
    pub fn decide_receive(
        &self,
        order: &Send,
        sender: &Self,
        context: &Context<'_>,
    ) -> Result<Movements, Rejection> {
        self.may_receive(order.amount, context)?;
        let mut drafts = self.draft(context)?;
        drafts.add(Draft {
            external_id: Some(order.external_id.clone()),
            description: order.description.clone(),
            reference_id: Some(sender.next_transfer(context).to_string()),
            counterparty: Some(Counterparty {
                concept: Some(order.concept.as_str().to_owned()),
                ..sender.counterparty()
            }),
            ..Draft::of(SystemType::P2pIn, order.amount, ReferenceType::P2p)
        })?;
        drafts.charge_if_covered();
        Ok(Movements {
            vouchers: drafts.vouchers,
            transfers: Vec::new(),
        })
    }

    fn may_receive(&self, amount: Amount, context: &Context<'_>) -> Result<(), Rejection> {
        match self.may(Movement::Receive) {
            Ok(_) => self.within(LimitKind::is_on_incoming, amount, context),
            Err(Rejection::AccountClosed) => Err(Rejection::DestinationClosed),
            Err(_) => Err(Rejection::DestinationNotFound),
        }
    }
}
