//! Transfers of an account through the bank: requested, settled, reversed.
//!
//! Transfers inside the realm are in `internal.rs`.
//!
//! **Through the bank.** The money is held, with its charges, before the bank is asked. The bank's answer settles it:
//! `confirm_hold` and the charges when the transfer completed, `release` of everything when it failed, nothing while
//! the outcome is unknown.

use std::collections::BTreeMap;

use super::drafts::Draft;
use super::{Account, Context, Movement, Movements};
use crate::bank::BankRefusal;
use crate::counterparty::Counterparty;
use crate::cvu::Cvu;
use crate::ids::{AccountNo, OriginId, Tag, TransferId, VoucherId};
use crate::money::{Amount, Money};
use crate::rejection::Rejection;
use crate::text::ExternalId;
use crate::transfers::{
    BankTransfer, BankWord, Concept, Departure, Destination, Dispute, OPEN_TRANSFERS_MAX, Send,
    Transfer, TransferFact, TransferRecord, TransferRejection, TransferStatus, differing,
};
use crate::voucher_types::SystemType;
use crate::vouchers::{GivesBack, ReferenceType};

/// The description of a transfer that only the bank remembered.
const RECOVERED: &str = "recovered from the list of the bank";

impl Transfer {
    /// Whether an order, whose receiver is now `receiver` in the realm, goes to the same place as this transfer, by
    /// whatever name: the one in the order, or the CBU or alias that the bank resolved it to. `None` while the bank has
    /// not said whose name it is.
    fn goes_where(&self, order: &Send, receiver: Option<AccountNo>) -> Option<bool> {
        let received = self.receiver.map(|(number, _)| number);
        if self.to == order.to || (received.is_some() && received == receiver) {
            return Some(true);
        }
        let Some(resolved) = self.resolved.as_deref() else {
            let otherwise =
                matches!(self.to, Destination::Key(_)) != matches!(order.to, Destination::Key(_));
            let awaited = otherwise && self.status == TransferStatus::Requested;
            return (!awaited).then_some(false);
        };
        Some(match &order.to {
            Destination::Key(key) => resolved.cbu.as_deref() == Some(key.as_str()),
            Destination::Alias(alias) => {
                let known = resolved.alias.as_deref();
                known.is_some_and(|known| known.eq_ignore_ascii_case(alias.as_str()))
            }
        })
    }
}

impl Account {
    /// Decides whether `existing`, a transfer with the same external id, is the one ordered; it comes with the account
    /// that sent it. `receiver` is the account of the realm that the order now names, by whatever name.
    ///
    /// # Errors
    /// The fields that differ; or that it is undecidable while the bank has not said whose name it is.
    pub fn sent_before(
        &self,
        order: &Send,
        receiver: Option<AccountNo>,
        (number, existing): (AccountNo, &Transfer),
        context: &Context<'_>,
    ) -> Result<(), Rejection> {
        // For a transfer that only the bank remembered, the bank's record says where it went.
        let elsewhere = match &existing.recovered {
            None => existing.goes_where(order, receiver).map(|same| !same),
            Some(recovered) => {
                let asked = self.transfer(order, existing.from, context);
                Some(asked.differs(&recovered.moved).contains(&"to"))
            }
        };
        let fields = differing([
            ("fromCvu", number != self.number),
            ("to", elsewhere == Some(true)),
            ("amount", existing.amount != order.amount),
        ]);
        if fields.is_empty() {
            let known = elsewhere.is_some();
            return known.then_some(()).ok_or(Rejection::ExternalIdInFlight);
        }
        let held_by = existing.id(context.realm, number);
        Err(Rejection::TransferExternalIdReused { held_by, fields })
    }

    /// The id that a transfer would get if this account sent it now.
    pub fn next_transfer(&self, context: &Context<'_>) -> TransferId {
        TransferId(VoucherId {
            realm: context.realm,
            account: self.number,
            sequence: self.sequence.strict_add(1),
            tag: Tag::after(self.hash, self.instant(context.now)),
        })
    }

    /// The transfer that an order makes, in its requested state: without charges, receiver and reference.
    pub(super) fn transfer(&self, order: &Send, from: Cvu, context: &Context<'_>) -> Transfer {
        let TransferId(VoucherId { sequence, tag, .. }) = self.next_transfer(context);
        Transfer {
            sequence,
            tag,
            receiver: None,
            status: TransferStatus::Requested,
            from,
            to: order.to.clone(),
            amount: order.amount,
            charges: crate::fees::Charges::default(),
            concept: order.concept,
            description: order.description.clone(),
            external_id: order.external_id.clone(),
            metadata: order.metadata.clone(),
            bank_id: None,
            coelsa_id: None,
            rejection: None,
            reversed: Money::ZERO,
            dispute: None,
            origin: None,
            recovered: None,
            decision: None,
            resolved: None,
            created_at: self.instant(context.now),
            updated_at: self.instant(context.now),
        }
    }

    /// Decides a transfer through the bank under a reference: holds its amount and its charges.
    ///
    /// # Errors
    /// When [`OPEN_TRANSFERS_MAX`] transfers wait for the bank, or state, limits or balance
    /// refuse it.
    pub fn decide_request(
        &self,
        order: &Send,
        origin: OriginId,
        context: &Context<'_>,
    ) -> Result<(Transfer, Movements), Rejection> {
        let from = self.may(Movement::Send)?;
        if self.transfers.len() >= OPEN_TRANSFERS_MAX {
            return Err(Rejection::TooManyOpenTransfers {
                maximum: OPEN_TRANSFERS_MAX,
            });
        }
        self.within_all_limits(order.amount, context)?;
        let code = SystemType::TransferOut.code();
        let charges = self
            .schedules(context)
            .charged(&code, order.amount)
            .ok_or(Rejection::AmountOverflow)?;
        let transfer = Transfer {
            charges,
            origin: Some(origin),
            ..self.transfer(order, from, context)
        };
        let mut drafts = self.draft(context)?;
        let reference = TransferId(drafts.next_id()).to_string();
        let (hold, of) = (SystemType::Hold, ReferenceType::Transfer);
        drafts.add(Draft::of_transfer(&transfer, hold, of, reference.clone()))?;
        drafts.move_charges(SystemType::Hold, charges, &reference)?;
        let movements = Movements::asking(&transfer, drafts.vouchers);
        Ok((transfer, movements))
    }

    /// Applies the bank's answer to an open transfer; returns nothing when it is not open any more, or when the bank
    /// has reported something else under its reference before.
    ///
    /// # Errors
    /// When the held money cannot be settled, which means the history is broken.
    pub fn settle_transfer(
        &self,
        number: u64,
        answer: &BankTransfer,
        context: &Context<'_>,
    ) -> Result<Movements, Rejection> {
        let open = self.transfers.get(&number);
        let Some(transfer) = open.filter(|transfer| transfer.dispute.is_none()) else {
            return Ok(Movements::default());
        };
        if !transfer.differs(&answer.moved).is_empty() {
            let fact = TransferFact::Disputed(Dispute {
                bank_id: answer.bank_id.clone(),
                coelsa_id: answer.coelsa_id.clone(),
                word: answer.word.clone(),
                moved: answer.moved.clone(),
            });
            return Ok(Movements::of(number, fact, Vec::new()));
        }
        let bank_id = Some(answer.bank_id.clone()).filter(|id| !id.is_empty());
        let coelsa_id = answer.coelsa_id.clone();
        // The bank's ids are recorded even if nothing else changes.
        let advanced = |status| {
            let same = transfer.status == status
                && (bank_id.is_none() || bank_id == transfer.bank_id)
                && (coelsa_id.is_none() || coelsa_id == transfer.coelsa_id);
            let fact = TransferFact::Advanced {
                status,
                bank_id: bank_id.clone(),
                coelsa_id: coelsa_id.clone(),
            };
            if same {
                Movements::default()
            } else {
                Movements::of(number, fact, Vec::new())
            }
        };
        match &answer.word {
            BankWord::InProgress => Ok(advanced(TransferStatus::InProgress)),
            BankWord::Lost => Ok(advanced(TransferStatus::Audit)),
            BankWord::Completed => {
                let fact = TransferFact::Completed { bank_id, coelsa_id };
                self.complete(transfer, fact, context)
            }
            BankWord::Failed { reason } => {
                let why = TransferRejection::because(reason.clone());
                // Nobody saw it on its way, so only its ids are kept.
                let mut facts = advanced(transfer.status);
                let rejected = self.reject(number, why, context)?;
                facts.vouchers = rejected.vouchers;
                facts.transfers.extend(rejected.transfers);
                Ok(facts)
            }
        }
    }

    /// Books money that left by an order unknown to the ledger: it is held and confirmed at once, in any state of the
    /// account and beyond every limit, without charges.
    ///
    /// # Errors
    /// When the account has no CVU, never existed, or does not have the money.
    pub fn decide_departure(
        &self,
        left: &Departure,
        external_id: ExternalId,
        context: &Context<'_>,
    ) -> Result<Movements, Rejection> {
        let from = self.may(Movement::Settle)?;
        let order = Send {
            to: left.to.clone(),
            amount: left.amount,
            concept: Concept::default(),
            description: Some(RECOVERED.to_owned()),
            external_id,
            metadata: BTreeMap::new(),
        };
        let transfer = Transfer {
            origin: Some(left.origin),
            recovered: Some(Box::new(left.recovered.clone())),
            resolved: left.resolved.clone(),
            ..self.transfer(&order, from, context)
        };
        let mut drafts = self.draft(context)?;
        let reference = TransferId(drafts.next_id()).to_string();
        for system in [SystemType::Hold, SystemType::TransferOut] {
            let of = ReferenceType::Transfer;
            drafts.add(Draft {
                counterparty: Some(Counterparty {
                    coelsa_id: left.coelsa_id.clone(),
                    ..transfer.counterparty()
                }),
                ..Draft::of_transfer(&transfer, system, of, reference.clone())
            })?;
        }
        let number = transfer.sequence;
        let done = TransferFact::Completed {
            bank_id: Some(left.bank_id.clone()),
            coelsa_id: left.coelsa_id.clone(),
        };
        let facts = [TransferFact::Requested(Box::new(transfer)), done];
        let record = |fact| TransferRecord {
            transfer: number,
            fact,
        };
        Ok(Movements {
            vouchers: drafts.vouchers,
            transfers: facts.into_iter().map(record).collect(),
        })
    }

    /// Completes an open transfer because a person says that its money left; returns nothing when it is not open any
    /// more.
    ///
    /// # Errors
    /// As [`Self::settle_transfer`].
    pub fn complete_by_hand(
        &self,
        number: u64,
        context: &Context<'_>,
    ) -> Result<Movements, Rejection> {
        let Some(transfer) = self.transfers.get(&number) else {
            return Ok(Movements::default());
        };
        let fact = TransferFact::Completed {
            bank_id: None,
            coelsa_id: None,
        };
        self.complete(transfer, fact, context)
    }

    fn complete(
        &self,
        transfer: &Transfer,
        fact: TransferFact,
        context: &Context<'_>,
    ) -> Result<Movements, Rejection> {
        let mut drafts = self.draft(context)?;
        let reference = transfer.id(context.realm, self.number).to_string();
        let mut counterparty = transfer.counterparty();
        if let TransferFact::Completed {
            coelsa_id: Some(id),
            ..
        } = &fact
        {
            counterparty.coelsa_id = Some(id.clone());
        }
        let (out, of) = (SystemType::TransferOut, ReferenceType::Transfer);
        drafts.add(Draft {
            counterparty: Some(counterparty),
            ..Draft::of_transfer(transfer, out, of, reference.clone())
        })?;
        drafts.move_charges(SystemType::Release, transfer.charges, &reference)?;
        drafts.take(transfer.charges, &reference)?;
        Ok(Movements::of(transfer.sequence, fact, drafts.vouchers))
    }

    /// Gives the money of an open transfer back, because the bank or a person says so; returns nothing when it is not
    /// open any more.
    ///
    /// # Errors
    /// As [`Self::settle_transfer`].
    pub fn reject(
        &self,
        number: u64,
        why: TransferRejection,
        context: &Context<'_>,
    ) -> Result<Movements, Rejection> {
        let Some(transfer) = self.transfers.get(&number) else {
            return Ok(Movements::default());
        };
        let mut drafts = self.draft(context)?;
        let reference = transfer.id(context.realm, self.number).to_string();
        drafts.add(Draft {
            reference_id: Some(reference.clone()),
            counterparty: Some(transfer.counterparty()),
            gives_back: Some(GivesBack {
                counted_at: transfer.created_at,
                whole: true,
            }),
            ..Draft::of(
                SystemType::Release,
                transfer.amount,
                ReferenceType::Transfer,
            )
        })?;
        drafts.move_charges(SystemType::Release, transfer.charges, &reference)?;
        let fact = TransferFact::Rejected(why);
        Ok(Movements::of(number, fact, drafts.vouchers))
    }

    /// Turns a refusal by the bank into a rejection of the transfer.
    pub fn refused_by_bank(why: &BankRefusal) -> TransferRejection {
        TransferRejection {
            bank: Some(why.clone()),
            ..TransferRejection::because("the bank refused the transfer".to_owned())
        }
    }

    /// Credits money of a transfer that came back. A transfer that is still open is then taken to have completed; never
    /// more than what left can come back.
    ///
    /// # Errors
    /// When the transfer was rejected, stayed in the realm or is disputed, more would come back than left, or the
    /// account has no CVU.
    pub fn decide_reversal(
        &self,
        transfer: &Transfer,
        amount: Amount,
        coelsa_id: &str,
        context: &Context<'_>,
    ) -> Result<Movements, Rejection> {
        self.may(Movement::Settle)?;
        // If the bank reports another transfer under the reference, it is unclear which money came back.
        let disputed = transfer.status.is_open() && transfer.dispute.is_some();
        let left =
            transfer.status != TransferStatus::Rejected && transfer.receiver.is_none() && !disputed;
        let reversed = transfer.reversed.plus(amount.money());
        if !left || reversed.is_none_or(|sum| sum > transfer.amount.money()) {
            return Err(Rejection::NothingToReverse);
        }
        let mut done = Movements::default();
        let settled;
        let mut after = self;
        if transfer.status.is_open() {
            let fact = TransferFact::Completed {
                bank_id: None,
                coelsa_id: None,
            };
            done = self.complete(transfer, fact, context)?;
            let mut copy = self.clone();
            done.vouchers.iter().for_each(|v| copy.apply_voucher(v));
            settled = copy;
            after = &settled;
        }
        let mut drafts = after.draft(context)?;
        drafts.add(Draft {
            reference_id: Some(transfer.id(context.realm, self.number).to_string()),
            counterparty: Some(Counterparty {
                coelsa_id: Some(coelsa_id.to_owned()),
                ..transfer.counterparty()
            }),
            ..Draft::of(
                SystemType::TransferReversal,
                amount,
                ReferenceType::Transfer,
            )
        })?;
        let credited = drafts.sequence();
        drafts.charge_if_covered();
        done.vouchers.extend(drafts.vouchers);
        done.transfers.push(TransferRecord {
            transfer: transfer.sequence,
            fact: TransferFact::Reversed {
                coelsa_id: coelsa_id.to_owned(),
                amount,
                voucher: credited,
            },
        });
        Ok(done)
    }
}
