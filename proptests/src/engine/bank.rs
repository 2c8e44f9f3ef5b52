//! A bank that treats each transfer as its story says, takes each reference once, reports each transfer
//! twice, and has a list of all of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use caudal_actors::ports::fake_bank::{COLLECTOR, FakeBank};
use caudal_actors::ports::{
    BankError, BankMovement, MovementWay, Notice, ReturnOrder, TransferOrder,
};
use caudal_ledger::cvu::{Cbu, Cvu};
use caudal_ledger::facts::BankRefusal;
use caudal_ledger::ids::OriginId;
use caudal_ledger::money::Amount;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::transfers::{BankMoved, BankTransfer, BankWord, Counterparty};

use super::Fate;
use super::ask::amount;
use super::clock::StillClock;
use super::strays::nobodys;

/// Money that arrived.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    number: usize,
    cvu: Cvu,
    amount: Amount,
    from: Counterparty,
    at: Timestamp,
}

impl Arrival {
    /// The id of the money on the rail.
    pub(super) fn coelsa_id(&self) -> String {
        format!("ARRIVED{:015}", self.number)
    }

    /// The notice that reports the arrival.
    pub(super) fn notice(&self) -> Notice {
        Notice::Received {
            coelsa_id: self.coelsa_id(),
            bank_id: format!("in-{}", self.number),
            cvu: self.cvu,
            amount: self.amount,
            from: self.from.clone(),
            at: self.at,
        }
    }

    fn listed(&self) -> BankMovement {
        BankMovement {
            bank_id: format!("in-{}", self.number),
            coelsa_id: Some(self.coelsa_id()),
            origin: None,
            reversal: false,
            way: MovementWay::In,
            cvu: self.cvu.as_str().to_owned(),
            counterparty: self.from.clone(),
            amount: self.amount,
            word: BankWord::Completed,
            at: self.at,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Underway,
    Done,
    Failed,
    Back,
}

/// Money that arrives for nobody.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stray {
    /// The account to which a person credits what is not returned.
    pub account: u64,
    /// The amount that arrives.
    pub centavos: i64,
    /// The fate of its return.
    pub fate: Fate,
}

/// What the bank was asked to send.
#[derive(Clone, PartialEq, Eq, Debug)]
enum What {
    Transfer(TransferOrder),
    Return(ReturnOrder),
}

impl What {
    fn origin(&self) -> OriginId {
        match self {
            Self::Transfer(order) => order.origin,
            Self::Return(order) => order.origin,
        }
    }

    fn amount(&self) -> Amount {
        match self {
            Self::Transfer(order) => order.amount,
            Self::Return(order) => order.amount,
        }
    }

    /// The account that it leaves: for a return the collector account itself.
    fn from(&self) -> String {
        match self {
            Self::Transfer(order) => order.from.as_str().to_owned(),
            Self::Return(_) => COLLECTOR.to_owned(),
        }
    }

    fn counterparty(&self) -> Counterparty {
        match self {
            Self::Transfer(_) => Counterparty::default(),
            Self::Return(order) => sender(order.to),
        }
    }
}

/// The sender with this CBU.
fn sender(cbu: Cbu) -> Counterparty {
    Counterparty {
        cbu: Some(cbu.to_string()),
        ..Counterparty::default()
    }
}

/// A transfer or return that the bank has taken.
#[derive(Clone, Debug)]
struct Sent {
    what: What,
    fate: Fate,
    state: State,
    /// How often the bank was asked for its state.
    asked: u32,
    number: usize,
    at: Timestamp,
}

impl Sent {
    fn coelsa_id(&self, way: &str) -> String {
        format!("{way}{:018}", self.number)
    }

    /// The state of the transfer, as the bank reports it.
    fn reported(&self) -> BankTransfer {
        BankTransfer {
            bank_id: format!("out-{}", self.number),
            coelsa_id: Some(self.coelsa_id("SENT")),
            word: match self.state {
                State::Underway => BankWord::InProgress,
                State::Done | State::Back => BankWord::Completed,
                State::Failed => BankWord::Failed {
                    reason: "no such account".to_owned(),
                },
            },
            moved: BankMoved::default(),
        }
    }

    /// The amount that left and did not come back, in centavos; `None` if it never left.
    fn left(&self) -> Option<i64> {
        let whole = self.what.amount().centavos();
        match self.state {
            State::Done => Some(whole),
            State::Back => Some(whole - self.back().centavos()),
            State::Underway | State::Failed => None,
        }
    }

    /// How much of the transfer comes back: all of an odd sum, half of an even one.
    fn back(&self) -> Amount {
        match self.what.amount().centavos() {
            even if even % 2 == 0 => amount(even / 2),
            _ => self.what.amount(),
        }
    }

    fn listed(&self) -> Vec<BankMovement> {
        let reported = self.reported();
        let out = BankMovement {
            bank_id: reported.bank_id,
            coelsa_id: reported.coelsa_id,
            origin: Some(self.what.origin()),
            reversal: false,
            way: MovementWay::Out,
            cvu: self.what.from(),
            counterparty: self.what.counterparty(),
            amount: self.what.amount(),
            word: reported.word,
            at: self.at,
        };
        let back = BankMovement {
            coelsa_id: Some(self.coelsa_id("BACK")),
            reversal: true,
            way: MovementWay::In,
            amount: self.back(),
            ..out.clone()
        };
        match self.state {
            State::Back => vec![out, back],
            State::Underway | State::Done | State::Failed => vec![out],
        }
    }

    /// Settles the transfer on the rail; returns the notices that report it.
    fn resolve(&mut self) -> Vec<Notice> {
        self.state = match self.fate {
            Fate::Fail => State::Failed,
            Fate::Back => State::Back,
            _ => State::Done,
        };
        let origin = self.what.origin();
        let transfer = self.reported();
        let bank_id = transfer.bank_id.clone();
        let mut notices = vec![Notice::Settled { origin, transfer }];
        if self.state == State::Back {
            notices.push(Notice::Reversed {
                origin,
                bank_id,
                coelsa_id: self.coelsa_id("BACK"),
                amount: self.back(),
                reason: "came back".to_owned(),
            });
        }
        notices
    }
}

/// The bank's records.
#[derive(Debug, Default)]
struct Books {
    fates: BTreeMap<OriginId, Fate>,
    /// Money for nobody, by its id on the rail.
    strays: BTreeMap<String, Stray>,
    /// How often each transfer was ordered.
    tries: BTreeMap<OriginId, u32>,
    sent: BTreeMap<OriginId, Sent>,
    arrived: Vec<Arrival>,
    /// Notices that have not been heard yet, oldest first.
    outbox: Vec<Notice>,
    /// Whether nothing may leave.
    held: bool,
    /// What left all the same.
    against: Vec<OriginId>,
}

impl Books {
    fn resolve(&mut self, origin: OriginId) {
        let notices = self.sent.get_mut(&origin).unwrap().resolve();
        // Each notice is reported twice.
        self.outbox.extend(notices.clone());
        self.outbox.extend(notices);
    }

    fn take(&mut self, what: &What, at: Timestamp) -> Result<BankTransfer, BankError> {
        let origin = what.origin();
        let fate = match what {
            What::Transfer(_) => self.fates[&origin],
            What::Return(order) => self.strays[&order.returns].fate,
        };
        let tries = self.tries.entry(origin).or_default();
        *tries += 1;
        let first = *tries == 1;
        match fate {
            Fate::Refuse => {
                let body = r#"{"message":"no"}"#.to_owned();
                return Err(BankError::Refused(BankRefusal { status: 400, body }));
            }
            Fate::Deaf if first => {
                return Err(BankError::Failed {
                    status: Some(500),
                    body: "<html>".to_owned(),
                });
            }
            _ => {}
        }
        if let Some(known) = self.sent.get(&origin) {
            assert_eq!(known.what, *what, "one reference, two transfers");
        } else {
            self.against.extend(self.held.then_some(origin));
            let number = self.sent.len() + 1;
            let state = match fate {
                Fate::Late | Fate::Fail | Fate::Back | Fate::Lose => State::Underway,
                _ => State::Done,
            };
            let sent = Sent {
                what: what.clone(),
                fate,
                state,
                asked: 0,
                number,
                at,
            };
            self.sent.insert(origin, sent);
        }
        if fate == Fate::Silent && first {
            return Err(BankError::TimedOut);
        }
        Ok(self.sent[&origin].reported())
    }

    fn status(&mut self, origin: OriginId) -> Result<Option<BankTransfer>, BankError> {
        let Some(sent) = self.sent.get_mut(&origin) else {
            return Ok(None);
        };
        sent.asked += 1;
        let (asked, fate) = (sent.asked, sent.fate);
        match fate {
            Fate::Silent if asked == 1 => return Ok(None),
            Fate::Late if asked == 1 => {
                let body = "{}".to_owned();
                return Err(BankError::Refused(BankRefusal { status: 403, body }));
            }
            _ => {}
        }
        if sent.state == State::Underway && fate == Fate::Lose {
            let word = BankWord::Lost;
            return Ok(Some(BankTransfer {
                word,
                ..sent.reported()
            }));
        }
        if sent.state == State::Underway && asked > 1 {
            self.resolve(origin);
        }
        Ok(Some(self.sent[&origin].reported()))
    }
}

/// The bank of a story; see the module. It outlives power cuts.
#[derive(Debug)]
pub(super) struct Bank {
    books: Mutex<Books>,
    clock: Arc<StillClock>,
}

impl Bank {
    /// A bank whose list takes its dates from a clock.
    pub(super) fn new(clock: Arc<StillClock>) -> Self {
        Self {
            books: Mutex::default(),
            clock,
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap()
    }

    /// Sets the fate of a transfer.
    pub(super) fn will(&self, origin: OriginId, fate: Fate) {
        self.books().fates.insert(origin, fate);
    }

    /// Has money arrive by the order of this number; returns the same arrival when it is repeated.
    pub(super) fn arrive(&self, number: usize, cvu: Cvu, centavos: i64) -> Arrival {
        self.arrive_from(Counterparty::default(), number, cvu, centavos)
    }

    /// Has money arrive from a known sender for a CVU that nobody has.
    pub(super) fn stray(&self, number: usize, stray: Stray) -> Arrival {
        let from = sender(Cbu::compose(11, 7, 42).unwrap());
        let cvu = nobodys(stray.account);
        let arrival = self.arrive_from(from, number, cvu, stray.centavos);
        self.books().strays.insert(arrival.coelsa_id(), stray);
        arrival
    }

    fn arrive_from(&self, from: Counterparty, number: usize, cvu: Cvu, centavos: i64) -> Arrival {
        let mut books = self.books();
        if let Some(known) = books.arrived.iter().find(|it| it.number == number) {
            return known.clone();
        }
        let arrival = Arrival {
            number,
            cvu,
            amount: amount(centavos),
            from,
            at: self.clock.peek(),
        };
        books.arrived.push(arrival.clone());
        arrival
    }

    /// Expects that nothing leaves from now on, or that it may.
    pub(super) fn expect_nothing(&self, held: bool) {
        self.books().held = held;
    }

    /// The references of what left while nothing was to leave.
    pub(super) fn against(&self) -> Vec<OriginId> {
        self.books().against.clone()
    }

    /// Takes the newest notice that has not been heard yet.
    pub(super) fn notice(&self) -> Option<Notice> {
        self.books().outbox.pop()
    }

    /// Puts back a notice that was not heard: it waits behind the others.
    pub(super) fn keep(&self, notice: Notice) {
        self.books().outbox.insert(0, notice);
    }

    /// Whether any notice has not been heard yet.
    pub(super) fn has_news(&self) -> bool {
        !self.books().outbox.is_empty()
    }

    /// Finds a transfer that the bank had lost; returns whether it had been done.
    pub(super) fn find(&self, origin: OriginId) -> bool {
        let mut books = self.books();
        let sent = books.sent.get_mut(&origin).unwrap();
        let done = sent.what.amount().centavos() % 2 == 0;
        sent.state = if done { State::Done } else { State::Failed };
        done
    }

    /// The amount that left under a reference and did not come back, in centavos; `None` if it never left.
    pub(super) fn has_sent(&self, origin: OriginId) -> Option<i64> {
        let books = self.books();
        books.sent.get(&origin)?.left()
    }

    /// The references of all transfers that the bank has taken.
    pub(super) fn references(&self) -> Vec<OriginId> {
        let books = self.books();
        let transfers = books.sent.values();
        let transfers = transfers.filter(|sent| matches!(sent.what, What::Transfer(_)));
        transfers.map(|sent| sent.what.origin()).collect()
    }

    /// How much of the money for nobody each account must have, in centavos: all that was not given back for good.
    ///
    /// # Panics
    /// When the same money was to be given back twice.
    pub(super) fn kept(&self) -> BTreeMap<u64, i64> {
        let books = self.books();
        let mut given = BTreeMap::new();
        for sent in books.sent.values() {
            if let What::Return(order) = &sent.what {
                let before = given.insert(&order.returns, sent.left().unwrap_or(0));
                assert_eq!(before, None, "{} is returned twice", order.returns);
            }
        }
        let mut kept = BTreeMap::new();
        for (id, stray) in &books.strays {
            let back = given.get(id).copied().unwrap_or(0);
            *kept.entry(stray.account).or_insert(0) += stray.centavos - back;
        }
        kept
    }
}

impl FakeBank for Bank {
    fn sends(&self, order: &TransferOrder) -> Result<BankTransfer, BankError> {
        let at = self.clock.peek();
        self.books().take(&What::Transfer(order.clone()), at)
    }

    fn gives_back(&self, order: &ReturnOrder) -> Result<BankTransfer, BankError> {
        let at = self.clock.peek();
        self.books().take(&What::Return(order.clone()), at)
    }

    fn knows(&self, origin: OriginId) -> Result<Option<BankTransfer>, BankError> {
        self.books().status(origin)
    }

    fn lists(&self, day: BusinessDay) -> Result<Vec<BankMovement>, BankError> {
        let books = self.books();
        let arrived = books.arrived.iter().map(Arrival::listed);
        let sent = books.sent.values().flat_map(Sent::listed);
        let listed = arrived.chain(sent);
        let of_day = listed.filter(|movement| movement.at.business_day() == day);
        Ok(of_day.collect())
    }
}
