//! The life of an account through the real rules.

use caudal_ledger::accounts::{
    Account, BankAnswer, CvuOpening, Holder, Pending, ProfileOrder, Status, SuspensionCode,
};
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::{Cuit, PersonType};
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::{AccountFact, BankRefusal, Registration};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::kyc::Kyc;
use caudal_ledger::limits::{Change, LimitKind, LimitsChange};
use caudal_ledger::money::Money;
use caudal_ledger::particulars::Cleared;
use caudal_ledger::time::Timestamp;

use super::convert::refusal;
use super::{Machine, Realm, Slot, encode};
use crate::generators::ops::{Op, Profile, Way, Who};
use crate::generators::{WORLD, keys};
use crate::model::{Answer, BEGINNING, Model};

impl Machine {
    /// Creates the world of [`Model::new`], by orders like any other.
    pub fn new() -> Self {
        let now = Timestamp::from_millis(BEGINNING);
        let mut machine = Self {
            now,
            realms: (1..=3).map(|number| (number, Realm::default())).collect(),
            slots: (0..WORLD.len()).map(|index| slot(index, now)).collect(),
            existing: std::collections::BTreeMap::new(),
            inflow: 0,
        };
        for realm in 1..=3 {
            machine.create_type(realm, 0, Way::Credit);
            machine.create_type(realm, 1, Way::Debit);
        }
        let model = Model::new();
        for account in 0..4 {
            machine.step(
                &Op::Order {
                    account,
                    order: Profile::Open,
                },
                &model,
            );
            machine.step(&Op::Bank { account, yes: true }, &model);
        }
        let order = Profile::SetEnabled(false);
        machine.step(&Op::Order { account: 3, order }, &model);
        machine
    }

    pub(super) fn order(&mut self, index: usize, order: &Profile) -> Answer {
        let slot = &self.slots[index];
        let order = real_order(slot, order);
        let policy = self.realms[&slot.realm.0].policy;
        match slot.account.decide(&order, &policy) {
            Ok(facts) => self.profile_facts(index, &facts),
            Err(why) => refusal(&why),
        }
    }

    /// The bank answers the pending request, always in a form that fits it.
    pub(super) fn bank(&mut self, index: usize, yes: bool) -> Answer {
        let account = &self.slots[index].account;
        let answer = match (yes, &account.pending) {
            (false, _) => BankAnswer::Refused(BankRefusal {
                status: 409,
                body: r#"{"code":"VW010"}"#.to_owned(),
            }),
            (true, Some(Pending::Opening(CvuOpening { client_id, .. }))) => BankAnswer::Opened {
                cvu: Cvu::compose(WORLD[index].2, *client_id).unwrap(),
                alias: None,
            },
            (true, _) => BankAnswer::Done,
        };
        let facts = account.settle(&answer);
        self.profile_facts(index, &facts)
    }

    fn profile_facts(&mut self, index: usize, facts: &[AccountFact]) -> Answer {
        let slot = &mut self.slots[index];
        for fact in facts {
            let at = self.now.max(slot.account.updated_at);
            slot.profile.push((encode(fact), at));
            let seq = slot.account.profile_seq + 1;
            slot.account.apply(fact, seq, at);
            assert_eq!(
                slot.account.profile_seq, seq,
                "the profile counts its facts"
            );
        }
        Answer::Facts(facts.len())
    }
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

fn holder(index: usize) -> Holder {
    let number = 12_345_678 + u32::try_from(index).unwrap();
    let cuit = Cuit::parse(&keys::cuit(27, number)).unwrap();
    Holder {
        cuit,
        name: format!("Titular {index}"),
        person_type: cuit.person_type(),
    }
}

fn slot(index: usize, at: Timestamp) -> Slot {
    let (realm, number, _) = WORLD[index];
    let registration = Registration {
        number: AccountNo(number),
        holder: holder(index),
        code: (index == 1).then(|| "A-1".to_owned()),
        email: None,
        phone: None,
        metadata: std::collections::BTreeMap::from([("a".to_owned(), "ß".to_owned())]),
        kyc: Kyc {
            pep: Some(false),
            ..Kyc::default()
        },
        enabled: true,
        names: caudal_ledger::particulars::Names::default(),
        asks_cvu: false,
    };
    let account = Account::registered(&registration, at);
    assert_eq!(account.status, Status::Registered);
    Slot {
        realm: RealmId(realm),
        account,
        vouchers: Vec::new(),
        profile: vec![(encode(&AccountFact::Registered(registration)), at)],
        ledger: Vec::new(),
    }
}

fn real_order(slot: &Slot, order: &Profile) -> ProfileOrder {
    let own = Holder {
        name: "Otro Nombre".to_owned(),
        ..slot.account.holder.clone()
    };
    let other = holder(77);
    match order {
        Profile::Suspend(reason) => ProfileOrder::Suspend {
            reason: reason.clone(),
            code: SuspensionCode::CourtOrder,
        },
        Profile::Reactivate => ProfileOrder::Reactivate,
        Profile::SetAlias(alias) => ProfileOrder::SetAlias(Alias::parse(alias).unwrap()),
        Profile::Close => ProfileOrder::Close,
        Profile::Contact(email) => ProfileOrder::ChangeKyc {
            kyc: Kyc::default(),
            email: email.map(str::to_owned),
            phone: None,
            cleared: Cleared::default(),
        },
        Profile::DailyAmount(amount) => ProfileOrder::ChangeLimits(LimitsChange::default().with(
            LimitKind::DailyAmount,
            amount.map_or(Change::Inherit, |a| {
                Change::Set(Money::from_centavos(i64::from(a)).into())
            }),
        )),
        Profile::SetEnabled(enabled) => ProfileOrder::SetEnabled(*enabled),
        Profile::Open => {
            let client_id = slot.account.number.cvu_record(slot.realm);
            ProfileOrder::Open(CvuOpening {
                client_id,
                alias: None,
            })
        }
        Profile::Identity(who) => ProfileOrder::SetIdentity {
            person_type: (*who == Who::WrongType).then_some(PersonType::Legal),
            holders: match who {
                Who::Self_ | Who::WrongType => vec![own],
                Who::SelfAndOther => vec![own, other],
                Who::OtherFirst => vec![other, own],
                Who::Twice => vec![own.clone(), other, own],
            },
        },
    }
}
