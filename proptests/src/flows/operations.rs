//! The machine's operations, each done as the actors would do it.

use caudal_ledger::accounts::{Account, BankAnswer, Movements, ProfileOrder, ReversedSoFar};
use caudal_ledger::balance::Direction;
use caudal_ledger::cvu::Cbu;
use caudal_ledger::fees::FeeRule;
use caudal_ledger::holds::{HoldAmendment, HoldStep, OpenHold};
use caudal_ledger::ids::{AccountNo, OriginId};
use caudal_ledger::limits::{Change, LimitKind, Limits, LimitsChange, TemporaryLimits, Usage};
use caudal_ledger::money::Money;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::Mode;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{
    BankMoved, BankTransfer, BankWord, CashIn, Concept, Counterparty, Destination, Send,
    TransferRejection,
};
use caudal_ledger::voucher_types::{Origin, Sense, TypeCode, VoucherType};
use caudal_ledger::vouchers::{Outcome, PostAdjustment, ReferenceType, Reversal, Voucher};

use super::answer::Answer;
use super::book::Book;
use super::compare::refusal;
use super::machine::{FlowMachine, Own, cvu, only_vouchers, refused};
use super::ops::{Fee, Level, Life, Op, To, Word};
use super::{CHARGED, RATES, WORLD};
use crate::generators::keys;
use crate::machine::convert::amount;

impl FlowMachine {
    /// Does the book's last operation; `book` is the book after the operation.
    pub fn step(&mut self, op: &Op, book: &Book) -> Answer {
        self.now = Timestamp::from_millis(book.now);
        match op {
            Op::Post {
                account, credit, ..
            } => self.post(*account, *credit, book),
            Op::Hold {
                account, tolerance, ..
            } => self.hold(*account, *tolerance, book),
            Op::Amend { .. } => self.amend(book),
            Op::Refund { fees, .. } => self.refund(*fees, book),
            Op::Step { confirm, .. } => self.step_hold(*confirm, book),
            Op::Send { from, to, .. } => self.send(*from, *to, book),
            Op::Word { word, rail, .. } => self.word(*word, *rail, book),
            Op::Verdict { completed, .. } => self.verdict(*completed, book),
            Op::Reverse { .. } => self.reverse(book),
            Op::CashIn { account, .. } => self.cash_in(*account, book),
            Op::Life { account, change } => self.life(*account, *change),
            Op::Limit { level, kind, value } => self.limit(*level, *kind, *value),
            Op::Temporary { account, limit } => self.temporary(*account, *limit),
            Op::TypeLimit {
                credit,
                kind,
                value,
            } => {
                let limits = &mut self.types[usize::from(*credit)];
                let before = *limits;
                *limits = before.changed(limits_change(*kind, *value));
                Answer::Changed(before != *limits)
            }
            Op::Fees { level, fees } => self.fees(*level, fees.iter().map(rule).collect()),
            Op::Time { .. } => Answer::Nothing,
            Op::Until { .. } => book.answer.clone(),
            Op::Restart => {
                self.restart().expect("a restart is invisible");
                Answer::Nothing
            }
        }
    }

    /// The voucher that holds an external id in a direction, with its account.
    fn existing(
        &self,
        index: usize,
        key: &ExternalId,
        direction: Direction,
    ) -> Option<(AccountNo, &Voucher)> {
        let key = (self.slots[index].realm, key.clone(), direction);
        let (holder, number) = self.claimed.get(&key)?;
        let holder = &self.slots[*holder];
        let place = usize::try_from(*number).unwrap() - 1;
        Some((holder.account.number, &holder.vouchers[place]))
    }

    fn outcome(
        &mut self,
        index: usize,
        decided: Result<Outcome<Vec<Voucher>>, Rejection>,
        holder: Option<AccountNo>,
    ) -> Answer {
        match decided {
            Ok(Outcome::Recorded(vouchers)) => self.record(vec![(index, only_vouchers(vouchers))]),
            Ok(Outcome::Replayed(vouchers)) => {
                Answer::Replayed(holder.expect("it was there").0, vouchers[0].sequence)
            }
            Err(why) => refusal(&why),
        }
    }

    fn post(&mut self, index: usize, credit: bool, book: &Book) -> Answer {
        self.turn(index);
        let order = PostAdjustment {
            voucher_type: self.voucher_type(credit),
            amount: amount(book.amount.unwrap()),
            external_id: ExternalId::parse(&book.key).unwrap(),
            description: None,
            external_date: None,
            details: None,
            reversal: None,
        };
        let existing = self.existing(index, &order.external_id, order.voucher_type.direction());
        let slot = &self.slots[index];
        let context = self.context(slot.realm);
        let code = &order.voucher_type.code;
        let vouchers = slot.vouchers.iter();
        let of_type = vouchers.filter(|it| it.is_of_limited_type() && it.type_code == *code);
        let used = of_type.fold(Usage::default(), |used, it| used.with(it.amount, it.at));
        let decided = slot.account.decide_post(&order, existing, &used, &context);
        let holder = existing.map(|(number, _)| number);
        self.outcome(index, decided, holder)
    }

    fn hold(&mut self, index: usize, tolerance: u8, book: &Book) -> Answer {
        self.turn(index);
        let order = OpenHold {
            amount: amount(book.amount.unwrap()),
            external_id: ExternalId::parse(&book.key).unwrap(),
            description: None,
            expires_at: book.ends.map(Timestamp::from_millis),
            capture_tolerance: (tolerance > 0).then_some(tolerance),
            metadata: std::collections::BTreeMap::new(),
        };
        let existing = self.existing(index, &order.external_id, Direction::Hold);
        let slot = &self.slots[index];
        let context = self.context(slot.realm);
        let decided = slot.account.decide_hold(&order, existing, &context);
        let holder = existing.map(|(number, _)| number);
        self.outcome(index, decided, holder)
    }

    fn amend(&mut self, book: &Book) -> Answer {
        let Some((index, number)) = target(book) else {
            return Answer::Nothing;
        };
        self.turn(index);
        let end = |end: Option<u64>| end.map(Timestamp::from_millis);
        let change = HoldAmendment {
            amount: book.amount.map(amount),
            expires_at: book.moved_end.map(end),
        };
        let slot = &self.slots[index];
        let context = self.context(slot.realm);
        match slot.account.decide_hold_change(number, &change, &context) {
            Ok(vouchers) if vouchers.is_empty() => Answer::Changed(false),
            Ok(vouchers) => self.record(vec![(index, only_vouchers(vouchers))]),
            Err(why) => refusal(&why),
        }
    }

    /// What of a voucher and of its charges is reversed.
    fn reversed(&self, index: usize, original: &Voucher) -> ReversedSoFar {
        let slot = &self.slots[index];
        let sum = |sequence| {
            let all = slot.vouchers.iter();
            let named = |it: &Voucher| it.details.as_ref()?.reverses;
            let of = all.filter(|it| named(it).is_some_and(|it| it.sequence == sequence));
            Money::from_centavos(of.map(|it| it.amount.centavos()).sum())
        };
        let id = original.id(slot.realm, slot.account.number).to_string();
        let charges = slot.vouchers.iter().filter(|it| {
            let charge = it.reference_type == ReferenceType::Fee && it.details.is_none();
            charge && it.reference_id.as_deref() == Some(id.as_str())
        });
        ReversedSoFar {
            amount: sum(original.sequence),
            charges: charges.map(|it| (it.clone(), sum(it.sequence))).collect(),
        }
    }

    fn refund(&mut self, fees: bool, book: &Book) -> Answer {
        let Some((index, number)) = target(book) else {
            return Answer::Nothing;
        };
        self.turn(index);
        let place = usize::try_from(number).unwrap() - 1;
        let reversal = Reversal {
            original: self.slots[index].vouchers[place].clone(),
            rest: book.amount.is_none(),
            refund_fees: fees,
        };
        let order = PostAdjustment {
            voucher_type: reversal.voucher_type(),
            amount: book.amount.map_or(reversal.original.amount, amount),
            external_id: ExternalId::parse(&book.key).unwrap(),
            description: None,
            external_date: None,
            details: None,
            reversal: None,
        };
        let existing = self.existing(index, &order.external_id, order.voucher_type.direction());
        let holder = existing.map(|(number, _)| number);
        let so_far = self.reversed(index, &reversal.original);
        let slot = &self.slots[index];
        let context = self.context(slot.realm);
        let asked = (&order, &reversal);
        let account = &slot.account;
        let decided = account.decide_voucher_reversal(asked, &so_far, existing, &context);
        self.outcome(index, decided, holder)
    }

    fn step_hold(&mut self, confirm: bool, book: &Book) -> Answer {
        let Some((index, number)) = target(book) else {
            return Answer::Nothing;
        };
        self.turn(index);
        let step = if confirm {
            HoldStep::Confirm
        } else {
            HoldStep::Release
        };
        let slot = &self.slots[index];
        let context = self.context(slot.realm);
        let part = book.amount.map(amount);
        match slot.account.decide_step(number, step, part, &context) {
            Ok(vouchers) => self.record(vec![(index, only_vouchers(vouchers))]),
            Err(why) => refusal(&why),
        }
    }

    fn send(&mut self, from: usize, to: To, book: &Book) -> Answer {
        let inside = match to {
            To::Account(other) if WORLD[other].0 == WORLD[from].0 => Some(other),
            To::Account(_) | To::Outside(_) => None,
        };
        self.turn(from);
        if let Some(other) = inside {
            self.turn(other);
        }
        let order = Send {
            metadata: std::collections::BTreeMap::new(),
            to: destination(to),
            amount: amount(book.amount.unwrap()),
            concept: Concept::Var,
            description: None,
            external_id: ExternalId::parse(&book.key).unwrap(),
        };
        let slot = &self.slots[from];
        let context = self.context(slot.realm);
        if inside == Some(from) {
            let refused = slot.account.decide_send(&order, &slot.account, &context);
            return refusal(&refused.expect_err("a transfer goes to another account"));
        }
        let key = (slot.realm, order.external_id.clone());
        if let Some((holder, number)) = self.sent.get(&key) {
            let holder = &self.slots[*holder];
            let before = (holder.account.number, &holder.sent[number]);
            return match slot.account.sent_before(&order, None, before, &context) {
                Ok(()) => Answer::Replayed(holder.account.number.0, *number),
                Err(why) => refusal(&why),
            };
        }
        match self.halves(from, inside, &order) {
            Ok(parts) => self.record(parts),
            Err(why) => refusal(&why),
        }
    }

    /// Both halves of an internal transfer, or the one half that asks the bank.
    fn halves(
        &self,
        from: usize,
        inside: Option<usize>,
        order: &Send,
    ) -> Result<Vec<(usize, Movements)>, Rejection> {
        let sender = &self.slots[from];
        let context = self.context(sender.realm);
        let Some(to) = inside else {
            let (_, movements) = {
                let origin = OriginId::of_order("tnt", Mode::Test, &order.external_id);
                sender.account.decide_request(order, origin, &context)?
            };
            return Ok(vec![(from, movements)]);
        };
        let receiver = &self.slots[to].account;
        let into = receiver.decide_receive(order, &sender.account, &context)?;
        let (_, out) = sender.account.decide_send(order, receiver, &context)?;
        Ok(vec![(from, out), (to, into)])
    }

    fn settled(&mut self, index: usize, decided: Result<Movements, Rejection>) -> Answer {
        match decided {
            Ok(movements) if movements.is_empty() => Answer::Changed(false),
            Ok(movements) => {
                let silent = movements.vouchers.is_empty();
                let answer = self.record(vec![(index, movements)]);
                if silent {
                    Answer::Changed(true)
                } else {
                    answer
                }
            }
            Err(why) => refusal(&why),
        }
    }

    fn word(&mut self, word: Word, rail: bool, book: &Book) -> Answer {
        let Some((index, number)) = target(book) else {
            return Answer::Nothing;
        };
        self.turn(index);
        let slot = &self.slots[index];
        let context = self.context(slot.realm);
        let unknown = word == Word::Unknown;
        let bank_id = (!unknown).then(|| format!("bank-{number}"));
        let said = |word| BankTransfer {
            bank_id: bank_id.clone().unwrap_or_default(),
            coelsa_id: (rail && !unknown).then(|| format!("rail-{number}")),
            word,
            moved: BankMoved::default(),
        };
        let word = match word {
            Word::Moving | Word::Unknown => BankWord::InProgress,
            Word::Lost => BankWord::Lost,
            Word::Done => BankWord::Completed,
            Word::Failed => BankWord::Failed {
                reason: "cuenta inexistente".to_owned(),
            },
            Word::Refused => {
                let why = Account::refused_by_bank(&refused());
                let decided = slot.account.reject(number, why, &context);
                return self.settled(index, decided);
            }
        };
        let decided = slot.account.settle_transfer(number, &said(word), &context);
        self.settled(index, decided)
    }

    fn verdict(&mut self, completed: bool, book: &Book) -> Answer {
        let Some((index, number)) = target(book) else {
            return Answer::Nothing;
        };
        self.turn(index);
        let slot = &self.slots[index];
        let context = self.context(slot.realm);
        if !slot.account.transfers.contains_key(&number) {
            return refusal(&Rejection::TransferNotOpen);
        }
        let decided = if completed {
            slot.account.complete_by_hand(number, &context)
        } else {
            let why = TransferRejection::because("by hand".to_owned());
            slot.account.reject(number, why, &context)
        };
        self.settled(index, decided)
    }

    fn reverse(&mut self, book: &Book) -> Answer {
        let Some((index, number)) = target(book) else {
            return Answer::Nothing;
        };
        self.turn(index);
        let slot = &self.slots[index];
        let context = self.context(slot.realm);
        let open = slot.account.transfers.get(&number);
        let transfer = open.unwrap_or_else(|| &slot.sent[&number]);
        let back = amount(book.amount.unwrap());
        let decided = slot
            .account
            .decide_reversal(transfer, back, "rail-back", &context);
        self.settled(index, decided)
    }

    fn cash_in(&mut self, index: usize, book: &Book) -> Answer {
        self.turn(index);
        let arrived = CashIn {
            coelsa_id: "rail".to_owned(),
            bank_id: "bank".to_owned(),
            cvu: cvu(index),
            amount: amount(book.amount.unwrap()),
            from: Counterparty::default(),
            at: self.now,
        };
        let slot = &self.slots[index];
        let context = self.context(slot.realm);
        match slot.account.decide_cash_in(&arrived, &context) {
            Ok(vouchers) => self.record(vec![(index, only_vouchers(vouchers))]),
            Err(Rejection::AmountOverflow) => refusal(&Rejection::AmountOverflow),
            Err(why) => Answer::Parked(why.code()),
        }
    }

    fn life(&mut self, index: usize, change: Life) -> Answer {
        self.turn(index);
        match change {
            Life::Suspend => self.profile(index, &Self::suspension(), None),
            Life::Reactivate => self.profile(index, &ProfileOrder::Reactivate, None),
            Life::Enable(enabled) => self.profile(index, &ProfileOrder::SetEnabled(enabled), None),
            Life::Close => self.profile(index, &ProfileOrder::Close, Some(&BankAnswer::Done)),
            Life::Open(yes) => self.open(index, yes),
        }
    }

    fn own(&mut self, level: Level) -> Result<&mut Own, usize> {
        match level {
            Level::Account(index) => Err(index),
            Level::Psp(realm) => Ok(self.psp.get_mut(&realm).unwrap()),
            Level::Platform => Ok(&mut self.platform),
        }
    }

    fn limit(&mut self, level: Level, kind: LimitKind, value: Option<i64>) -> Answer {
        let change = limits_change(kind, value);
        match self.own(level) {
            Ok(own) => {
                let changed: Limits = own.limits.changed(change);
                let answer = Answer::Changed(changed != own.limits);
                own.limits = changed;
                answer
            }
            Err(index) => {
                self.turn(index);
                self.profile(index, &ProfileOrder::ChangeLimits(change), None)
            }
        }
    }

    fn temporary(&mut self, index: usize, limit: Option<(LimitKind, i64, u64)>) -> Answer {
        self.turn(index);
        let hour = self.now.millis() / 3_600_000;
        let limits = limit.map(|(kind, most, hours)| {
            Box::new(TemporaryLimits {
                limits: Limits::default().changed(limits_change(kind, Some(most))),
                until: Timestamp::from_millis((hour + hours) * 3_600_000),
            })
        });
        self.profile(index, &ProfileOrder::SetTemporaryLimits(limits), None)
    }

    fn voucher_type(&self, credit: bool) -> VoucherType {
        let limits = self.types[usize::from(credit)];
        VoucherType {
            limits: (!limits.are_none()).then(|| Box::new(limits)),
            ..voucher_type(credit)
        }
    }

    fn fees(&mut self, level: Level, fees: Vec<FeeRule>) -> Answer {
        match self.own(level) {
            Ok(own) => {
                let answer = Answer::Changed(own.fees != fees);
                own.fees = fees;
                answer
            }
            Err(index) => {
                self.turn(index);
                self.profile(index, &ProfileOrder::ChangeFees(fees), None)
            }
        }
    }
}

/// The subject of the book's last operation: slot and sequence.
fn target(book: &Book) -> Option<(usize, u64)> {
    let (index, place) = book.target?;
    Some((index, u64::try_from(place).unwrap() + 1))
}

fn destination(to: To) -> Destination {
    let key = match to {
        To::Account(index) => Cbu::from(cvu(index)),
        To::Outside(which) => {
            Cbu::parse(&keys::cbu(285, 590, 4_009_041_813_520 + u64::from(which))).unwrap()
        }
    };
    Destination::Key(key)
}

fn voucher_type(credit: bool) -> VoucherType {
    let (code, sense) = if credit {
        ("BONUS", Sense::Credit)
    } else {
        ("TOLL", Sense::Debit)
    };
    VoucherType {
        code: TypeCode::parse(code).unwrap(),
        name: "A type".to_owned(),
        origin: Origin::Custom(sense),
        active: true,
        legacy_id: Some(1000),
        description: None,
        category: None,
        counter_account: None,
        capture_tolerance: None,
        limits: None,
        created_at: Timestamp::default(),
    }
}

fn limits_change(kind: LimitKind, value: Option<i64>) -> LimitsChange {
    let change = value.map_or(Change::Inherit, |value| {
        Change::Set(kind.quantity(value).unwrap())
    });
    LimitsChange::default().with(kind, change)
}

/// A fee as the service keeps it.
pub fn rule(fee: &Fee) -> FeeRule {
    FeeRule {
        code: TypeCode::parse(CHARGED[fee.code]).unwrap(),
        percentage: RATES[fee.rate].0.parse().unwrap(),
        fixed: Money::from_centavos(fee.fixed),
        minimum: fee.least.map(Money::from_centavos),
        maximum: fee.most.map(Money::from_centavos),
        charge: fee.charge,
        tax_rate: RATES[fee.tax].0.parse().unwrap(),
    }
}
