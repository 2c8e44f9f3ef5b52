//! A bank with a book of its own that keeps its word in the book alone: by its dice it answers, is
//! silent before or after it has done what it was asked, fails, refuses, does not know, forgets,
//! and sends its notices never, twice, late, in any order, and before its own answer.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard};

use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::OriginId;
use caudal_ledger::time::BusinessDay;
use caudal_ledger::transfers::{BankMoved, BankTransfer, BankWord, Counterparty};

use super::lab::{Dice, LabClock};
use super::*;
use crate::ports::obedient::{Call, ObedientBank};
use crate::ports::{BankMovement, BankReply, LocalFuture, Notice, TransferOrder, Way};

/// What became of a transfer, by the bank's book.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Refused,
    Underway,
    Done,
    Failed,
}

/// A line of the book.
#[derive(Clone, Debug)]
pub struct Sent {
    pub order: TransferOrder,
    pub fate: Fate,
    pub at: Timestamp,
    /// What came back, with its id on the rail.
    pub returned: Option<(Amount, String)>,
    number: u64,
}

/// How often what was done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub calls: u64,
    pub silent: u64,
    pub notices: u64,
    pub repeated: u64,
}

#[derive(Debug)]
pub struct Book {
    pub dice: Dice,
    pub sent: BTreeMap<OriginId, Sent>,
    pub arrived: Vec<BankMovement>,
    /// Notices that are still to be heard, by a number.
    pub outbox: BTreeMap<u64, Notice>,
    pub tally: Tally,
    serial: u64,
}

#[derive(Debug)]
pub struct ChaosBank {
    book: Mutex<Book>,
    clock: Arc<LabClock>,
}

/// A line to the bank; nothing comes back on one that was cut.
#[derive(Debug)]
pub struct Line {
    bank: Arc<ChaosBank>,
    cut: AtomicBool,
}

impl ChaosBank {
    pub fn new(seed: u64, clock: Arc<LabClock>) -> Arc<Self> {
        let book = Book {
            dice: Dice(seed),
            sent: BTreeMap::new(),
            arrived: Vec::new(),
            outbox: BTreeMap::new(),
            tally: Tally::default(),
            serial: 0,
        };
        Arc::new(Self {
            book: Mutex::new(book),
            clock,
        })
    }

    pub fn line(self: &Arc<Self>) -> Arc<Line> {
        Arc::new(Line {
            bank: Arc::clone(self),
            cut: AtomicBool::new(false),
        })
    }

    pub fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap()
    }

    /// Money arrives for a CVU.
    pub fn arrive(&self, cvu: Cvu, centavos: i64) {
        let at = self.clock.peek();
        let mut book = self.book();
        let id = book.next();
        let amount = Amount::from_centavos(centavos).unwrap();
        let movement = BankMovement {
            bank_id: format!("in-{id}"),
            coelsa_id: Some(format!("ARRIVED{id:015}")),
            origin: None,
            reversal: false,
            way: Way::In,
            cvu: cvu.as_str().into(),
            counterparty: Counterparty::default(),
            amount,
            word: BankWord::Completed,
            at,
        };
        let notice = Notice::Received {
            coelsa_id: format!("ARRIVED{id:015}"),
            bank_id: format!("in-{id}"),
            cvu,
            amount,
            from: Counterparty::default(),
            at,
        };
        book.arrived.push(movement);
        let copies = 1 + book.dice.roll(3);
        book.announce(copies, &notice);
    }

    /// A notice out of those that are to be heard, at random; it stays until it was.
    pub fn notice(&self) -> Option<(u64, Notice)> {
        let mut book = self.book();
        let many = book.outbox.len();
        let at = book.dice.index(many.max(1));
        let found = book
            .outbox
            .iter()
            .nth(at)
            .map(|(n, notice)| (*n, notice.clone()));
        if found.is_some() {
            book.tally.notices += 1;
        }
        found
    }
}

impl Book {
    fn next(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    fn announce(&mut self, copies: u64, notice: &Notice) {
        for _ in 0..copies {
            let number = self.next();
            self.outbox.insert(number, notice.clone());
        }
        self.tally.repeated += copies.saturating_sub(1);
    }

    /// Takes a transfer in, or finds the one of that reference.
    fn take(&mut self, order: &TransferOrder, at: Timestamp) -> Result<BankTransfer, BankError> {
        let garbage = BankError::Failed {
            status: Some(500),
            body: "<html>".into(),
        };
        self.tally.calls += 1;
        match self.sent.get(&order.origin) {
            Some(known) => assert_eq!(known.order, *order, "one reference, two transfers"),
            None => {
                if self.dice.chance(12) {
                    self.tally.silent += 1;
                    return Err(BankError::TimedOut);
                }
                if self.dice.chance(8) {
                    return Err(garbage);
                }
                let fate = match self.dice.roll(100) {
                    0..10 => Fate::Refused,
                    _ => Fate::Underway,
                };
                let sent = Sent {
                    order: order.clone(),
                    fate,
                    at,
                    returned: None,
                    number: self.next(),
                };
                self.sent.insert(order.origin, sent);
                if fate == Fate::Underway && self.dice.chance(60) {
                    self.resolve(order.origin);
                }
            }
        }
        if self.dice.chance(15) {
            self.tally.silent += 1;
            return Err(BankError::TimedOut);
        }
        if self.dice.chance(8) {
            return Err(garbage);
        }
        self.say(order.origin).ok_or_else(|| {
            BankError::Refused(BankRefusal {
                status: 400,
                body: "{}".into(),
            })
        })
    }

    /// What the book says of a transfer; none of one that was refused.
    fn say(&self, origin: OriginId) -> Option<BankTransfer> {
        let sent = &self.sent[&origin];
        let word = match sent.fate {
            Fate::Refused => return None,
            Fate::Underway => BankWord::InProgress,
            Fate::Done => BankWord::Completed,
            Fate::Failed => BankWord::Failed {
                reason: "no such account".into(),
            },
        };
        Some(BankTransfer {
            bank_id: format!("out-{}", sent.number),
            coelsa_id: Some(format!("SENT{:018}", sent.number)),
            word,
            moved: BankMoved::default(),
        })
    }

    /// The rail has said how a transfer ends; notices go out, and it may come back.
    pub fn resolve(&mut self, origin: OriginId) {
        let done = self.dice.chance(75);
        let fate = if done { Fate::Done } else { Fate::Failed };
        self.sent.get_mut(&origin).unwrap().fate = fate;
        let transfer = self.say(origin).unwrap();
        let bank_id = transfer.bank_id.clone();
        let copies = self.dice.roll(4);
        self.announce(copies, &Notice::Settled { origin, transfer });
        if !done || !self.dice.chance(20) {
            return;
        }
        let whole = self.sent[&origin].order.amount;
        let part = Amount::from_centavos(whole.centavos() / 2).unwrap_or(whole);
        let amount = if self.dice.chance(60) { whole } else { part };
        let coelsa_id = format!("BACK{:018}", self.next());
        self.sent.get_mut(&origin).unwrap().returned = Some((amount, coelsa_id.clone()));
        let copies = 1 + self.dice.roll(3);
        let notice = Notice::Reversed {
            origin,
            bank_id,
            coelsa_id,
            amount,
            reason: "came back".into(),
        };
        self.announce(copies, &notice);
    }

    fn status(&mut self, origin: OriginId) -> Result<Option<BankTransfer>, BankError> {
        self.tally.calls += 1;
        if self.dice.chance(12) {
            self.tally.silent += 1;
            return Err(BankError::TimedOut);
        }
        if self.dice.chance(5) {
            return Err(BankError::Refused(BankRefusal {
                status: 403,
                body: "{}".into(),
            }));
        }
        // It does not know it, or has forgotten it for now.
        if !self.sent.contains_key(&origin) || self.dice.chance(10) {
            return Ok(None);
        }
        if self.sent[&origin].fate == Fate::Underway {
            if self.dice.chance(40) {
                self.resolve(origin);
            } else if self.dice.chance(15) {
                let mut lost = self.say(origin);
                lost.iter_mut().for_each(|said| said.word = BankWord::Lost);
                return Ok(lost);
            }
        }
        Ok(self.say(origin))
    }

    fn listed(&self) -> Vec<BankMovement> {
        let mut all = self.arrived.clone();
        for (origin, sent) in &self.sent {
            let Some(said) = self.say(*origin) else {
                continue;
            };
            let out = BankMovement {
                bank_id: said.bank_id,
                coelsa_id: said.coelsa_id,
                origin: Some(*origin),
                reversal: false,
                way: Way::Out,
                cvu: sent.order.from.as_str().into(),
                counterparty: Counterparty::default(),
                amount: sent.order.amount,
                word: said.word,
                at: sent.at,
            };
            if let Some((amount, id)) = &sent.returned {
                all.push(BankMovement {
                    coelsa_id: Some(id.clone()),
                    reversal: true,
                    way: Way::In,
                    amount: *amount,
                    ..out.clone()
                });
            }
            all.push(out);
        }
        all
    }
}

impl Line {
    pub fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
    }

    /// A moment on the way; for ever on a line that was cut.
    async fn way(&self) {
        let moment = self.bank.book().dice.roll(2_000);
        super::lab::later(Duration::from_millis(moment)).await;
        if self.cut.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

impl ObedientBank for Line {
    fn answer<'a, T: 'a>(
        &'a self,
        (operation, reference): Call,
        work: impl FnOnce() -> Result<T, BankError> + 'a,
    ) -> LocalFuture<'a, BankReply<T>> {
        Box::pin(async move {
            self.way().await;
            let result = work();
            self.way().await;
            let call = BankCall {
                operation: operation.into(),
                reference,
                request: "{}".into(),
                status: None,
                body: String::new(),
                millis: 1,
                correlation: "r".into(),
            };
            let calls = vec![call];
            BankReply { result, calls }
        })
    }

    fn sends(&self, order: &TransferOrder) -> Result<BankTransfer, BankError> {
        let at = self.bank.clock.peek();
        self.bank.book().take(order, at)
    }

    fn knows(&self, origin: OriginId) -> Result<Option<BankTransfer>, BankError> {
        self.bank.book().status(origin)
    }

    fn lists(&self, day: BusinessDay) -> Result<Vec<BankMovement>, BankError> {
        let mut listed = self.bank.book().listed();
        listed.retain(|movement| movement.at.business_day() == day);
        Ok(listed)
    }

    fn has(&self) -> Result<(Money, Timestamp), BankError> {
        Err(BankError::TimedOut)
    }
}
