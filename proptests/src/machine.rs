//! Drives the real rules: does in one thread what the actors do around `decide` and `apply`.
//!
//! It writes every decision down as bytes before applying it, as the journal does; a restart
//! forgets everything else and folds the bytes again.

pub mod accounts;
pub mod convert;
pub mod posting;

use std::collections::BTreeMap;

use caudal_ledger::accounts::Account;
use caudal_ledger::balance::Direction;
use caudal_ledger::facts::{AccountFact, LedgerFact, RealmFact};
use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Policy;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::VoucherTypes;
use caudal_ledger::vouchers::Voucher;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::generators::ops::Op;
use crate::hold;
use crate::invariants as inv;
use crate::invariants::Check;
use crate::model::{Answer, Model};

/// A fact as bytes, with its time.
type Record = (Vec<u8>, Timestamp);

/// One account with everything that was recorded of it.
#[derive(Debug)]
pub struct Slot {
    pub realm: RealmId,
    pub account: Account,
    pub vouchers: Vec<Voucher>,
    profile: Vec<Record>,
    ledger: Vec<Record>,
}

/// One realm.
#[derive(Debug, Default)]
pub struct Realm {
    pub types: VoucherTypes,
    pub policy: Policy,
    log: Vec<Record>,
}

/// The whole service, as far as it consists of rules.
#[derive(Debug)]
pub struct Machine {
    pub now: Timestamp,
    pub realms: BTreeMap<u32, Realm>,
    pub slots: Vec<Slot>,
    /// The voucher that holds an external id in a direction: slot and index.
    existing: BTreeMap<(RealmId, ExternalId, Direction), (usize, usize)>,
    /// The sum of what came in less what went out, kept apart from every balance.
    inflow: i128,
}

/// A value as bytes, as the journal keeps it.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    rmp_serde::to_vec_named(value).expect("a fact can be written")
}

/// Reads the bytes that [`encode`] wrote.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> T {
    rmp_serde::from_slice(bytes).expect("a fact can be read back")
}

impl Machine {
    /// Does the model's last operation; `model` is the model after the operation.
    pub fn step(&mut self, op: &Op, model: &Model) -> Answer {
        self.now = Timestamp::from_millis(model.now);
        match op {
            Op::Post(posting) => self.post(posting, model),
            Op::Move { account, way, .. } => self.movement(*account, *way, model.amount),
            Op::Flood { account } => self.flood(*account),
            Op::Order { account, order } => self.order(*account, order),
            Op::Bank { account, yes } => self.bank(*account, *yes),
            Op::CreateType { realm, code, way } => self.create_type(*realm, *code, *way),
            Op::ToggleType {
                realm,
                code,
                active,
            } => self.toggle_type(*realm, code, *active),
            Op::RemoveType { realm, code } => self.remove_type(*realm, code),
            Op::Policy {
                realm,
                close_requires_zero,
            } => {
                self.realm(*realm).policy.close_requires_zero_balance = *close_requires_zero;
                Answer::Nothing
            }
            Op::Clock { .. } => Answer::Nothing,
            Op::Restart => {
                self.restart().expect("a restart is invisible");
                Answer::Nothing
            }
        }
    }

    /// Forgets everything and folds the recorded bytes again; reports whatever differs.
    pub fn restart(&mut self) -> Check {
        let mut existing = BTreeMap::new();
        for (place, slot) in self.slots.iter_mut().enumerate() {
            let account = fold_profile(&slot.profile);
            // A snapshot taken between the two streams must make no difference.
            let mut account: Account = decode(&encode(&account));
            let mut vouchers = Vec::with_capacity(slot.ledger.len());
            for (bytes, _) in &slot.ledger {
                let LedgerFact::Posted(voucher) = decode(bytes);
                account.apply_voucher(&voucher);
                let claimed = voucher.external_id.clone();
                if let Some(external) = claimed.filter(|_| voucher.claims_external_id()) {
                    let key = (slot.realm, external, voucher.direction);
                    existing.insert(key, (place, vouchers.len()));
                }
                vouchers.push(voucher);
            }
            inv::check_i26(&slot.account, &account)?;
            inv::check_i26(&slot.vouchers, &vouchers)?;
            inv::check_i26(&slot.account, &decode(&encode(&slot.account)))?;
            (slot.account, slot.vouchers) = (account, vouchers);
        }
        inv::check_i26(&self.existing, &existing)?;
        self.existing = existing;
        for realm in self.realms.values_mut() {
            let mut types = VoucherTypes::default();
            for (bytes, _) in &realm.log {
                types.apply(&decode::<RealmFact>(bytes));
            }
            inv::check_i26(&realm.types, &types)?;
            inv::check_i26(&realm.types, &decode(&encode(&realm.types)))?;
            realm.types = types;
        }
        Ok(())
    }

    /// Checks what is cheap enough to check after every step.
    pub fn check_step(&self) -> Check {
        let mut have = 0;
        for slot in &self.slots {
            let balance = slot.account.balance;
            inv::check_i01(balance)?;
            inv::check_i02(balance)?;
            have += i128::from(balance.total().centavos());
            if let Some((last, before)) = slot.vouchers.split_last() {
                inv::check_i03(before.last(), last)?;
                inv::check_i04(before.last(), last)?;
                hold!(
                    last.hash == slot.account.hash,
                    "I5: the head is not the last hash"
                );
            }
        }
        hold!(
            have == self.inflow,
            "I8: {have} on accounts, {} came in",
            self.inflow
        );
        Ok(())
    }

    /// Checks everything, over whole histories.
    pub fn check_all(&self) -> Check {
        for slot in &self.slots {
            inv::check_history(&slot.vouchers)?;
            inv::check_i05_head(&slot.account, &slot.vouchers)?;
            inv::check_i14_all(&slot.vouchers)?;
            inv::check_i18_usage(slot.account.usage, &slot.vouchers)?;
        }
        let balances = self.slots.iter().map(|slot| slot.account.balance);
        inv::check_i08(balances, self.slots.iter().flat_map(|slot| &slot.vouchers))?;
        let of = |slot: &'_ Slot| slot.realm;
        inv::check_i09(
            self.slots
                .iter()
                .flat_map(|slot| slot.vouchers.iter().map(move |v| (of(slot), v))),
        )
    }

    pub(crate) fn realm(&mut self, number: u32) -> &mut Realm {
        self.realms.get_mut(&number).unwrap()
    }
}

/// Folds the profile of an account from its bytes; the first fact is its registration.
fn fold_profile(records: &[Record]) -> Account {
    let mut account: Option<Account> = None;
    for (seq, (bytes, at)) in (1_u64..).zip(records) {
        match (decode(bytes), &mut account) {
            (AccountFact::Registered(registration), none) => {
                *none = Some(Account::registered(&registration, *at));
            }
            (fact, Some(account)) => account.apply(&fact, seq, *at),
            (fact, None) => panic!("{fact:?} before the registration"),
        }
    }
    account.expect("an account begins with its registration")
}
