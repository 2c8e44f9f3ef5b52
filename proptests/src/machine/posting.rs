//! Movements through the real rules.

use caudal_ledger::accounts::{Context, Terms};
use caudal_ledger::balance::BalanceError;
use caudal_ledger::chain::Digest;
use caudal_ledger::facts::{LedgerFact, RealmFact};
use caudal_ledger::ids::Tag;
use caudal_ledger::limits::{TotalLimits, TotalUsage};
use caudal_ledger::numbers::Opening;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::voucher_types::{CreateVoucherType, Sense, TypeCode, VoucherTypeChange};
use caudal_ledger::vouchers::{Outcome, PostAdjustment, ReferenceType, Voucher};
use chrono::NaiveDate;

use super::convert::{amount, direction, refusal, view};
use super::{Machine, encode};
use crate::generators::CODES;
use crate::generators::ops::{Posting, Way};
use crate::invariants::delta;
use crate::model::{Answer, LARGEST, Model};

impl Machine {
    /// Resolves the type, finds the holder of the external id, asks the account, records, applies.
    pub(super) fn post(&mut self, posting: &Posting, model: &Model) -> Answer {
        let slot = &self.slots[posting.account];
        let code = TypeCode::parse(&posting.code).unwrap();
        let Some(voucher_type) = self.realms[&slot.realm.0].types.find(&code) else {
            return refusal(&Rejection::VoucherTypeUnknown {
                code: posting.code.clone(),
            });
        };
        let external_id = ExternalId::parse(&model.external).unwrap();
        let key = (slot.realm, external_id.clone(), voucher_type.direction());
        let existing = self.existing.get(&key).map(|(holder, index)| {
            let holder = &self.slots[*holder];
            (holder.account.number, &holder.vouchers[*index])
        });
        let order = PostAdjustment {
            voucher_type,
            amount: amount(model.amount),
            external_id,
            // An empty description comes with a date, so that both kinds are written and read.
            external_date: (posting.description.as_deref() == Some(""))
                .then(|| NaiveDate::from_ymd_opt(2026, 2, 28).unwrap().into()),
            description: posting.description.clone(),
            details: None,
            reversal: None,
        };
        let context = Context {
            realm: slot.realm,
            now: self.now,
            psp: Terms::default(),
            platform: Terms::default(),
            total: TotalLimits::default(),
            total_usage: TotalUsage::default(),
        };
        let of_type = caudal_ledger::limits::Usage::default();
        // Deciding takes `&self` and changes nothing: the same question twice has the same answer.
        let decided = slot
            .account
            .decide_post(&order, existing, &of_type, &context);
        if matches!(posting.description.as_deref(), Some("")) {
            assert_eq!(
                decided,
                slot.account
                    .decide_post(&order, existing, &of_type, &context)
            );
        }
        match decided {
            // Nothing is charged in this world: one order, one voucher.
            Ok(Outcome::Recorded(vouchers)) => {
                let voucher = only(vouchers);
                let answer = Answer::Recorded(view(&voucher));
                self.existing
                    .insert(key, (posting.account, slot.vouchers.len()));
                self.record(posting.account, voucher);
                answer
            }
            Ok(Outcome::Replayed(vouchers)) => Answer::Replayed(view(&only(vouchers))),
            Err(why) => refusal(&why),
        }
    }

    /// A movement of any direction, made by the arithmetic alone.
    pub(super) fn movement(&mut self, index: usize, way: Way, centavos: i128) -> Answer {
        let account = &self.slots[index].account;
        let Some(cvu) = account.cvu else {
            return Answer::Nothing;
        };
        let after = match account.balance.after(direction(way), amount(centavos)) {
            Ok(after) => after,
            Err(BalanceError::InsufficientFunds) => return Answer::Refused("insufficient_funds"),
            Err(BalanceError::InsufficientHeld) => return Answer::Refused("insufficient_held"),
            Err(BalanceError::Overflow) => return Answer::Refused("amount_overflow"),
        };
        let mut voucher = Voucher {
            cvu,
            sequence: account.sequence + 1,
            direction: direction(way),
            amount: amount(centavos),
            after,
            type_code: TypeCode::parse("CREDIT").unwrap(),
            type_number: None,
            counter_account: None,
            type_name: "Credit".to_owned(),
            external_id: None,
            // It belongs to no hold: this is arithmetic alone.
            reference_type: ReferenceType::Transfer,
            reference_id: Some("trf_1".to_owned()),
            description: None,
            external_date: None,
            external_date_sent: None,
            expires_at: None,
            gives_back: None,
            counterparty: None,
            details: None,
            tag: Tag::NONE,
            at: account
                .last_movement_at
                .map_or(self.now, |last| last.max(self.now)),
            hash: Digest::default(),
        };
        voucher.hash = voucher.hash_after(account.hash);
        let answer = Answer::Recorded(view(&voucher));
        self.record(index, voucher);
        answer
    }

    /// Credits of the largest amount while there is room.
    pub(super) fn flood(&mut self, index: usize) -> Answer {
        let mut count = 0;
        while let Answer::Recorded(_) = self.movement(index, Way::Credit, LARGEST) {
            count += 1;
        }
        Answer::Facts(count)
    }

    fn record(&mut self, index: usize, voucher: Voucher) {
        let (available, held) = delta(voucher.direction, i128::from(voucher.amount.centavos()));
        self.inflow += available + held;
        let slot = &mut self.slots[index];
        slot.ledger
            .push((encode(&LedgerFact::Posted(voucher.clone())), voucher.at));
        slot.account.apply_voucher(&voucher);
        slot.vouchers.push(voucher);
    }

    pub(super) fn create_type(&mut self, realm: u32, code: usize, way: Way) -> Answer {
        let sense = match Sense::try_from(direction(way)) {
            Ok(sense) => sense,
            Err(why) => return refusal(&why),
        };
        let order = CreateVoucherType {
            code: TypeCode::parse(&CODES[code].to_lowercase()).unwrap(),
            name: format!("Type {code}"),
            sense,
            description: None,
            category: Some("001".to_owned()),
            counter_account: None,
            capture_tolerance: None,
        };
        let decided = self.realms[&realm]
            .types
            .decide_create(&order, Opening::default(), self.now);
        self.realm_facts(realm, decided.map(|fact| vec![fact]))
    }

    pub(super) fn toggle_type(&mut self, realm: u32, code: &str, active: bool) -> Answer {
        let code = TypeCode::parse(code).unwrap();
        let change = VoucherTypeChange {
            limits: caudal_ledger::limits::LimitsChange::default(),
            active: Some(active),
            counter_account: None,
            capture_tolerance: None,
        };
        let decided = self.realms[&realm].types.decide_change(&code, &change);
        self.realm_facts(realm, decided)
    }

    pub(super) fn remove_type(&mut self, realm: u32, code: &str) -> Answer {
        let code = TypeCode::parse(code).unwrap();
        let decided = self.realms[&realm].types.decide_remove(&code);
        self.realm_facts(realm, decided.map(|fact| vec![fact]))
    }

    fn realm_facts(&mut self, number: u32, decided: Result<Vec<RealmFact>, Rejection>) -> Answer {
        let now = self.now;
        let realm = self.realm(number);
        match decided {
            Ok(facts) => {
                for fact in &facts {
                    realm.log.push((encode(fact), now));
                    realm.types.apply(fact);
                }
                Answer::Facts(facts.len())
            }
            Err(why) => refusal(&why),
        }
    }
}

fn only(mut vouchers: Vec<Voucher>) -> Voucher {
    assert_eq!(vouchers.len(), 1, "{vouchers:?}");
    vouchers.remove(0)
}
