//! The real rules at work: one thread that does what the actors do, and records everything.

use std::collections::BTreeMap;

use caudal_ledger::accounts::{
    Account, BankAnswer, Context, CvuOpening, Holder, Movements, ProfileOrder, SuspensionCode,
    Terms,
};
use caudal_ledger::balance::Direction;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::{AccountFact, BankRefusal, LedgerFact, Registration};
use caudal_ledger::fees::FeeRule;
use caudal_ledger::holds::Hold;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::kyc::Kyc;
use caudal_ledger::limits::{Limits, PerKind, TotalLimits, TotalUsage};
use caudal_ledger::tenants::Policy;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{Transfer, TransferFact, TransferRecord};
use caudal_ledger::vouchers::Voucher;

use super::answer::Answer;
use super::compare;
use super::{PSP, WITHOUT_CVU, WORLD};
use crate::generators::keys;
use crate::invariants as inv;
use crate::invariants::Check;
use crate::invariants::flows::Noted;
use crate::machine::{decode, encode};
use crate::model::BEGINNING;

/// The bank's answer whenever it refuses something.
pub fn refused() -> BankRefusal {
    BankRefusal {
        status: 409,
        body: r#"{"code":"TX046"}"#.to_owned(),
    }
}

/// A record of an account's money, as bytes.
#[derive(Debug)]
enum Bytes {
    Voucher(Vec<u8>),
    Transfer(Vec<u8>, Timestamp),
}

/// One account with everything that was recorded of it, and the rows that an index would show of
/// it.
#[derive(Debug)]
pub struct Slot {
    pub realm: RealmId,
    pub account: Account,
    pub vouchers: Vec<Voucher>,
    /// Every hold and transfer that there ever was.
    pub shown: BTreeMap<u64, Hold>,
    pub sent: BTreeMap<u64, Transfer>,
    notes: Vec<Note>,
    profile: Vec<(Vec<u8>, Timestamp)>,
    ledger: Vec<Bytes>,
}

/// The circumstances in which a voucher was recorded.
#[derive(Debug)]
struct Note {
    commit: u64,
    status: caudal_ledger::accounts::Status,
    enabled: bool,
    limits: PerKind<Option<i128>>,
}

/// The place of an external id's holder: slot and number.
type Place = (usize, u64);

/// Terms of a level as the service keeps them.
#[derive(Clone, Debug, Default)]
pub struct Own {
    pub limits: Limits,
    pub fees: Vec<FeeRule>,
}

impl Own {
    fn terms(&self) -> Terms<'_> {
        Terms {
            limits: self.limits,
            fees: &self.fees,
        }
    }
}

/// The whole service, as far as it consists of rules.
#[derive(Debug)]
pub struct FlowMachine {
    pub now: Timestamp,
    pub slots: Vec<Slot>,
    pub psp: BTreeMap<u32, Own>,
    pub platform: Own,
    /// The limits of the two voucher types, that of debits first.
    pub types: [Limits; 2],
    commits: u64,
    /// Adjustments and holds by external id and direction.
    pub(super) claimed: BTreeMap<(RealmId, ExternalId, Direction), Place>,
    /// Transfers by external id.
    pub(super) sent: BTreeMap<(RealmId, ExternalId), Place>,
}

/// The CVU that an account has or would have.
pub fn cvu(index: usize) -> Cvu {
    let (realm, number) = WORLD[index];
    Cvu::compose(PSP, AccountNo(number).cvu_record(RealmId(realm))).unwrap()
}

impl FlowMachine {
    /// Creates the world of the book, by orders like any other.
    pub fn new() -> Self {
        let now = Timestamp::from_millis(BEGINNING);
        let mut machine = Self {
            now,
            slots: (0..WORLD.len()).map(|index| slot(index, now)).collect(),
            psp: BTreeMap::from([(1, Own::default()), (2, Own::default())]),
            platform: Own::default(),
            types: Default::default(),
            commits: 0,
            claimed: BTreeMap::new(),
            sent: BTreeMap::new(),
        };
        for index in (0..WORLD.len()).filter(|index| *index != WITHOUT_CVU) {
            machine.open(index, true);
        }
        machine
    }

    /// The context in which a movement is decided.
    pub(super) fn context(&self, realm: RealmId) -> Context<'_> {
        Context {
            realm,
            now: self.now,
            psp: self.psp[&realm.0].terms(),
            platform: self.platform.terms(),
            total: TotalLimits::default(),
            total_usage: TotalUsage::default(),
        }
    }

    /// Begins a turn of an account, as every turn does: releases the holds that are due.
    pub(super) fn turn(&mut self, index: usize) {
        let slot = &self.slots[index];
        let now = slot.account.instant(self.now);
        if slot.account.next_expiry().is_none_or(|end| now < end) {
            return;
        }
        let vouchers = slot.account.decide_expiries(&self.context(slot.realm));
        assert!(!vouchers.is_empty(), "what is due is released");
        self.record(vec![(index, only_vouchers(vouchers))]);
    }

    /// Records a decision as one commit, and applies it.
    pub(super) fn record(&mut self, mut parts: Vec<(usize, Movements)>) -> Answer {
        self.commits += 1;
        parts.sort_by_key(|(index, _)| *index);
        let mut lines = Vec::new();
        for (index, movements) in parts {
            let levels = {
                let slot = &self.slots[index];
                slot.account.levels(&self.context(slot.realm))
            };
            let slot = &mut self.slots[index];
            for voucher in movements.vouchers {
                slot.notes.push(Note {
                    commit: self.commits,
                    status: slot.account.status,
                    enabled: slot.account.enabled,
                    limits: compare::effective(&levels),
                });
                lines.push(compare::line(slot, &voucher));
                let claims = voucher.claims_external_id();
                if let Some(key) = voucher.external_id.clone().filter(|_| claims) {
                    let key = (slot.realm, key, voucher.direction);
                    let twice = self.claimed.insert(key, (index, voucher.sequence));
                    assert_eq!(twice, None, "an external id was recorded twice");
                }
                let fact = encode(&LedgerFact::Posted(voucher.clone()));
                slot.ledger.push(Bytes::Voucher(fact));
                slot.account.apply_voucher(&voucher);
                slot.take(&voucher);
                slot.vouchers.push(voucher);
            }
            for record in movements.transfers {
                if let TransferFact::Requested(transfer) = &record.fact {
                    let key = (slot.realm, transfer.external_id.clone());
                    let twice = self.sent.insert(key, (index, transfer.sequence));
                    assert_eq!(twice, None, "a transfer was recorded twice");
                }
                slot.ledger.push(Bytes::Transfer(encode(&record), self.now));
                slot.account.apply_transfer(&record, self.now);
                slot.hear(&record, self.now);
            }
        }
        Answer::Recorded(lines)
    }

    /// Gives an account its CVU, or refuses it, as the bank answers.
    pub(super) fn open(&mut self, index: usize, yes: bool) -> Answer {
        let slot = &self.slots[index];
        let order = ProfileOrder::Open(CvuOpening {
            client_id: slot.account.number.cvu_record(slot.realm),
            alias: None,
        });
        let answer = if yes {
            BankAnswer::Opened {
                cvu: cvu(index),
                alias: None,
            }
        } else {
            BankAnswer::Refused(refused())
        };
        self.profile(index, &order, Some(&answer))
    }

    /// Changes the profile, with the bank's answer if the bank is asked.
    pub(super) fn profile(
        &mut self,
        index: usize,
        order: &ProfileOrder,
        answer: Option<&BankAnswer>,
    ) -> Answer {
        let slot = &mut self.slots[index];
        let facts = match slot.account.decide(order, &Policy::default()) {
            Ok(facts) => facts,
            Err(why) => return compare::refusal(&why),
        };
        let changed = !facts.is_empty();
        slot.know(&facts, self.now);
        if let Some(answer) = answer {
            let facts = slot.account.settle(answer);
            assert_eq!(facts.len(), usize::from(changed), "the bank was asked");
            slot.know(&facts, self.now);
        }
        Answer::Changed(changed)
    }

    pub(super) fn suspension() -> ProfileOrder {
        ProfileOrder::Suspend {
            reason: "court".to_owned(),
            code: SuspensionCode::CourtOrder,
        }
    }

    /// Forgets everything and folds the recorded bytes again; reports whatever differs.
    pub fn restart(&mut self) -> Check {
        let (mut claimed, mut sent) = (BTreeMap::new(), BTreeMap::new());
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let folded = slot.folded();
            inv::check_i26(&slot.account, &folded.account)?;
            inv::check_i26(&slot.vouchers, &folded.vouchers)?;
            inv::check_i26(&slot.shown, &folded.shown)?;
            inv::check_i26(&slot.sent, &folded.sent)?;
            inv::check_i26(&slot.account, &slot.woken())?;
            for voucher in folded.vouchers.iter().filter(|v| v.claims_external_id()) {
                if let Some(key) = voucher.external_id.clone() {
                    let place = (index, voucher.sequence);
                    claimed.insert((slot.realm, key, voucher.direction), place);
                }
            }
            for transfer in folded.sent.values() {
                let key = (slot.realm, transfer.external_id.clone());
                sent.insert(key, (index, transfer.sequence));
            }
            (slot.account, slot.vouchers) = (folded.account, folded.vouchers);
            (slot.shown, slot.sent) = (folded.shown, folded.sent);
        }
        inv::check_i26(&self.claimed, &claimed)?;
        inv::check_i26(&self.sent, &sent)?;
        (self.claimed, self.sent) = (claimed, sent);
        Ok(())
    }

    /// The history of an account with the circumstances of each voucher.
    pub fn noted(&self, index: usize) -> Vec<Noted<'_>> {
        let slot = &self.slots[index];
        (slot.vouchers.iter().zip(&slot.notes))
            .map(|(voucher, note)| Noted {
                realm: slot.realm,
                account: slot.account.number,
                commit: note.commit,
                status: note.status,
                enabled: note.enabled,
                limits: note.limits,
                voucher,
            })
            .collect()
    }

    /// Checks what is cheap enough to check after every step.
    pub fn check_step(&self, touched: &[usize]) -> Check {
        for slot in touched.iter().map(|index| &self.slots[*index]) {
            inv::check_i01(slot.account.balance)?;
            inv::check_i02(slot.account.balance)?;
            if let Some((last, before)) = slot.vouchers.split_last() {
                inv::check_i03(before.last(), last)?;
                inv::check_i04(before.last(), last)?;
                inv::check_i05(before.last(), last)?;
            }
            inv::flows::check_i13(&slot.account, &slot.vouchers, &slot.shown, &slot.sent)?;
            inv::flows::check_set_apart(&slot.account)?;
        }
        Ok(())
    }

    /// Checks everything, over whole histories.
    pub fn check_all(&self) -> Check {
        let mut all = Vec::new();
        for (index, slot) in self.slots.iter().enumerate() {
            let noted = self.noted(index);
            inv::check_history(&slot.vouchers)?;
            inv::check_i05_head(&slot.account, &slot.vouchers)?;
            inv::check_i14_all(&slot.vouchers)?;
            inv::flows::check_i06(&noted)?;
            inv::flows::check_i17(&noted)?;
            inv::flows::check_i18(&noted)?;
            inv::flows::check_i18_usage(&slot.account, &noted, self.now)?;
            all.extend(noted);
        }
        let balances = self.slots.iter().map(|slot| slot.account.balance);
        inv::flows::check_i08(balances, &all)?;
        inv::flows::check_i07(&all)?;
        inv::check_i09(all.iter().map(|noted| (noted.realm, noted.voucher)))?;
        let sent = self.slots.iter();
        inv::flows::check_i09_transfers(
            sent.flat_map(|slot| slot.sent.values().map(move |t| (slot.realm, t))),
        )
    }
}

impl Default for FlowMachine {
    fn default() -> Self {
        Self::new()
    }
}

impl Slot {
    fn know(&mut self, facts: &[AccountFact], now: Timestamp) {
        for fact in facts {
            self.profile.push((encode(fact), now));
            let seq = self.account.profile_seq + 1;
            self.account.apply(fact, seq, now);
        }
    }

    /// Updates the rows for a voucher as an index would.
    fn take(&mut self, voucher: &Voucher) {
        if let Some(hold) = Hold::opened(voucher) {
            self.shown.insert(hold.sequence, hold);
        } else if let Some(of) = Hold::of_step(voucher) {
            let hold = self.shown.get_mut(&of).expect("a step is of a hold");
            hold.apply(voucher);
        }
    }

    fn hear(&mut self, record: &TransferRecord, at: Timestamp) {
        if let TransferFact::Requested(transfer) = &record.fact {
            self.sent.insert(record.transfer, transfer.as_ref().clone());
        }
        let transfer = self.sent.get_mut(&record.transfer).expect("was asked for");
        transfer.apply(&record.fact, at);
    }

    /// Rebuilds the account from its bytes: its profile, then a snapshot of that, then its money.
    fn folded(&self) -> Self {
        let mut records = self.profile.iter();
        let (first, at) = records.next().expect("a registration");
        let AccountFact::Registered(registration) = decode(first) else {
            panic!("an account begins with its registration");
        };
        let mut account = Account::registered(&registration, *at);
        for (seq, (bytes, at)) in (2_u64..).zip(records) {
            account.apply(&decode(bytes), seq, *at);
        }
        let mut folded = Self {
            realm: self.realm,
            account: decode(&encode(&account)),
            vouchers: Vec::new(),
            shown: BTreeMap::new(),
            sent: BTreeMap::new(),
            notes: Vec::new(),
            profile: Vec::new(),
            ledger: Vec::new(),
        };
        for bytes in &self.ledger {
            match bytes {
                Bytes::Voucher(bytes) => {
                    let LedgerFact::Posted(voucher) = decode(bytes);
                    folded.account.apply_voucher(&voucher);
                    folded.take(&voucher);
                    folded.vouchers.push(voucher);
                }
                Bytes::Transfer(bytes, at) => {
                    let record: TransferRecord = decode(bytes);
                    folded.account.apply_transfer(&record, *at);
                    folded.hear(&record, *at);
                }
            }
        }
        folded
    }

    /// Rebuilds the account from its snapshot and from the open rows that an index shows.
    fn woken(&self) -> Account {
        let mut account: Account = decode(&encode(&self.account));
        account.forget_open();
        let open = self
            .shown
            .values()
            .filter(|hold| hold.remaining().is_some());
        open.for_each(|hold| account.open_hold(hold.clone()));
        let open = self.sent.iter().filter(|(_, t)| t.status.is_open());
        account.transfers.extend(open.map(|(n, t)| (*n, t.clone())));
        account
    }
}

/// Movements of money alone.
pub(super) fn only_vouchers(vouchers: Vec<Voucher>) -> Movements {
    Movements {
        vouchers,
        transfers: Vec::new(),
    }
}

fn slot(index: usize, at: Timestamp) -> Slot {
    let (realm, number) = WORLD[index];
    let cuit = Cuit::parse(&keys::cuit(27, 12_345_678 + u32::try_from(index).unwrap())).unwrap();
    let holder = Holder {
        cuit,
        name: format!("Titular {index}"),
        person_type: cuit.person_type(),
    };
    let registration = Registration {
        number: AccountNo(number),
        holder,
        code: None,
        email: None,
        phone: None,
        metadata: BTreeMap::new(),
        names: caudal_ledger::particulars::Names::default(),
        asks_cvu: false,
        kyc: Kyc::default(),
        enabled: true,
    };
    Slot {
        realm: RealmId(realm),
        account: Account::registered(&registration, at),
        vouchers: Vec::new(),
        shown: BTreeMap::new(),
        sent: BTreeMap::new(),
        notes: Vec::new(),
        profile: vec![(encode(&AccountFact::Registered(registration)), at)],
        ledger: Vec::new(),
    }
}
