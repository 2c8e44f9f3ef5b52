//! Storms with a bank that cannot be relied on, over crashes: in the end bank and ledger agree.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use caudal_ledger::cases::Decision;
use caudal_ledger::fees::FeeRule;
use caudal_ledger::holds::HoldStep;
use caudal_ledger::ids::HoldId;
use caudal_ledger::reconciliation::Agreement;
use caudal_ledger::transfers::{TransferStatus, Verdict};
use caudal_ledger::voucher_types::SystemType;
use tokio::task::JoinHandle;

use super::chaos_bank::{ChaosBank, Fate, Line, Tally};
use super::lab::{Dice, Lab, LabClock, again, cvu, outside};
use super::*;
use crate::engine::lists::{Order as Way, Page};
use crate::engine::money::{Heard, TransferFilter, TransferView};

const ACCOUNTS: u64 = 4;
/// What a transfer through the bank costs: 1.00 and the tax on it.
const FEE: i64 = 121;
const EVERYTHING: Page = Page {
    order: Way::Ascending,
    limit: 100_000,
    offset: 0,
    cursor: None,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Job {
    Credit(u64, i64),
    Debit(u64, i64),
    Hold(u64, i64),
    Give(u64, u64, i64),
    Send(u64, i64),
}

/// What is known of the jobs: what was done, and what was refused.
type Known = Rc<RefCell<BTreeMap<usize, bool>>>;

/// A storm under way: the laboratory of this generation, and what outlives it.
struct Storm {
    seed: u64,
    dice: Dice,
    bank: Arc<ChaosBank>,
    line: Arc<Line>,
    lab: Rc<Lab>,
    jobs: Rc<Vec<Job>>,
    known: Known,
    crashes: u32,
}

fn fee() -> FeeRule {
    FeeRule {
        code: SystemType::TransferOut.code(),
        percentage: 0.into(),
        fixed: Money::from_centavos(100),
        minimum: None,
        maximum: None,
        charge: true,
        tax_rate: 21.into(),
    }
}

fn jobs(dice: &mut Dice, many: usize) -> Vec<Job> {
    let mut one = || {
        let (from, to) = (1 + dice.roll(ACCOUNTS), 1 + dice.roll(ACCOUNTS));
        let much = 1 + i64::try_from(dice.roll(400)).unwrap();
        match dice.roll(10) {
            0..2 => Job::Credit(from, much * 3),
            2 => Job::Debit(from, much),
            3 => Job::Hold(from, much),
            4..6 if from != to => Job::Give(from, to, much),
            _ => Job::Send(from, much),
        }
    };
    (0..many).map(|_| one()).collect()
}

impl Storm {
    async fn new(seed: u64, many: usize) -> Self {
        let mut dice = Dice(seed);
        let clock: Arc<LabClock> = Arc::default();
        let bank = ChaosBank::new(dice.roll(u64::MAX), Arc::clone(&clock));
        let line = bank.line();
        let gateway: Arc<dyn BankGateway> = Arc::<Line>::clone(&line);
        let lab = Lab::with(seed, (ACCOUNTS, 1_500), clock, gateway).await;
        let change = TenantChange {
            fees: Some(vec![fee()]),
            ..TenantChange::default()
        };
        let changed = PlatformOrder::ChangeTenant("tnt_1".into(), change);
        lab.engine.administer(changed).await.unwrap();
        Self {
            seed,
            jobs: Rc::new(jobs(&mut dice, many)),
            dice,
            bank,
            line,
            lab,
            known: Known::default(),
            crashes: 0,
        }
    }

    /// Whatever still has to be done, all at once, with a store that takes its time and the bank's
    /// notices in between.
    fn start(&mut self) -> Vec<JoinHandle<()>> {
        self.lab.store.set_automatic(false);
        let mut tasks = Vec::new();
        for n in 0..self.jobs.len() {
            if !self.known.borrow().contains_key(&n) {
                let (lab, known, job) =
                    (Rc::clone(&self.lab), Rc::clone(&self.known), self.jobs[n]);
                let dice = Dice(self.dice.roll(u64::MAX));
                tasks.push(actix::spawn(client(lab, known, n, job, dice)));
            }
        }
        let (lab, mut dice) = (Rc::clone(&self.lab), Dice(self.dice.roll(u64::MAX)));
        let (mut refusals, mut deaths) = (10_u32, 10_u32);
        tasks.push(actix::spawn(async move {
            loop {
                super::lab::later(Duration::from_millis(1 + dice.roll(40))).await;
                lab.store.step_some();
                // An account's actor dies in the middle of a turn; the realm's asks for the time
                // only while the bank's list is looked through and when it sweeps, later than this.
                let looked = lab.engine.report(REALM).await.is_ok_and(|it| it.looked);
                if looked && deaths > 0 && dice.chance(3) {
                    deaths -= 1;
                    let n = 1 + dice.roll(40);
                    lab.clock.arm(i64::try_from(n).unwrap());
                }
                if refusals > 0 && dice.chance(3) {
                    refusals -= 1;
                    lab.store.refuse_next(StoreError::Overloaded);
                }
            }
        }));
        for _ in 0..4 {
            let dice = Dice(self.dice.roll(u64::MAX));
            let (lab, bank) = (Rc::clone(&self.lab), Arc::clone(&self.bank));
            tasks.push(actix::spawn(postman(lab, bank, dice, 400)));
        }
        tasks
    }

    fn crash(&mut self) {
        self.line.cut();
        self.line = self.bank.line();
        let keep = self.dice.index(self.lab.store.pending() + 1);
        let gateway: Arc<dyn BankGateway> = Arc::<Line>::clone(&self.line);
        self.lab = self.lab.crash(keep, gateway);
        self.crashes += 1;
    }

    async fn blow(&mut self) {
        for _ in 0..self.dice.roll(5) {
            let tasks = self.start();
            for _ in 0..self.dice.roll(6) {
                let account = 1 + self.dice.roll(ACCOUNTS);
                let much = 1 + i64::try_from(self.dice.roll(500)).unwrap();
                self.bank.arrive(cvu(account), much);
            }
            let moment = 1 + self.dice.roll(4_000);
            super::lab::later(Duration::from_millis(moment)).await;
            self.stop(&tasks);
            self.crash();
        }
        let tasks = self.start();
        let deadline = tokio::time::Instant::now() + Duration::from_secs(3600);
        while self.known.borrow().len() < self.jobs.len() {
            let left: Vec<_> = {
                let known = self.known.borrow();
                let left = (0..self.jobs.len()).filter(|n| !known.contains_key(n));
                left.map(|n| (n, self.jobs[n])).collect()
            };
            let now = tokio::time::Instant::now();
            assert!(now < deadline, "seed {}: {left:?}", self.seed);
            super::lab::later(Duration::from_millis(500)).await;
        }
        self.stop(&tasks);
        self.lab.store.set_automatic(true);
    }

    fn stop(&self, tasks: &[JoinHandle<()>]) {
        tasks.iter().for_each(JoinHandle::abort);
        self.lab.clock.arm(0);
    }

    async fn transfers(&self) -> Vec<TransferView> {
        let filter = TransferFilter::default();
        let listed = self.lab.engine.transfers(REALM, filter, EVERYTHING).await;
        listed.unwrap().items
    }

    /// Until nothing is on its way any more. A person decides what the bank has given up on.
    async fn calm(&mut self) {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(48 * 3600);
        loop {
            let dice = Dice(self.dice.roll(u64::MAX));
            let (lab, bank) = (Rc::clone(&self.lab), Arc::clone(&self.bank));
            let post = actix::spawn(postman(lab, bank, dice, 200));
            super::lab::later(Duration::from_secs(20)).await;
            post.abort();
            let open: Vec<_> = self.transfers().await;
            let open = open.into_iter().filter(|t| t.transfer.status.is_open());
            let mut waiting = 0;
            for view in open {
                waiting += 1;
                if view.transfer.status == TransferStatus::Audit {
                    self.audit(&view).await;
                }
            }
            if waiting == 0 && self.bank.book().outbox.is_empty() {
                return;
            }
            let now = tokio::time::Instant::now();
            assert!(now < deadline, "seed {}: {waiting} still wait", self.seed);
        }
    }

    async fn audit(&self, view: &TransferView) {
        let fate = {
            let mut book = self.bank.book();
            let origin = view.transfer.origin(REALM, view.account);
            if book.sent[&origin].fate == Fate::Underway {
                book.resolve(origin);
            }
            book.sent[&origin].fate
        };
        let verdict = match fate {
            Fate::Done => Verdict::Completed,
            _ => Verdict::Rejected,
        };
        let id = view.transfer.id(REALM, view.account);
        let decided = self
            .lab
            .engine
            .decide_transfer(id, (verdict, false), asked(), "r".into());
        decided.await.unwrap();
    }
}

fn asked() -> Decision {
    Decision {
        by: "Ana".into(),
        reason: "asked".into(),
        at: Timestamp::default(),
        bank_reference: None,
        forced: false,
    }
}

/// A client: asks until it knows.
async fn client(lab: Rc<Lab>, known: Known, n: usize, job: Job, mut dice: Dice) {
    let id = format!("job-{n}");
    loop {
        super::lab::later(Duration::from_millis(dice.roll(3_000))).await;
        let failed = match job {
            Job::Credit(account, much) => lab.post(account, "IN", much, &id).await.err(),
            Job::Debit(account, much) => lab.post(account, "OUT", much, &id).await.err(),
            Job::Give(from, to, much) => lab.give((from, to), much, &id).await.err(),
            Job::Send(from, much) => lab.send(from, outside(), much, &id).await.err(),
            Job::Hold(account, much) => {
                let end = dice
                    .chance(30)
                    .then(|| lab.clock.peek().plus_millis(30_000));
                match lab.hold(account, much, &id, end).await {
                    Ok(given) => {
                        let hold = value(Ok(given)).into_inner();
                        // Holds that are asked for again may differ in their end; steps are not
                        // asked for again: what they did is read at the end.
                        let id = hold.hold.id(REALM, hold.account);
                        steps(&lab, id, much, &mut dice).await;
                        None
                    }
                    Err(Failure::Rejected(Rejection::ExternalIdReused { .. })) => None,
                    Err(why) => Some(why),
                }
            }
        };
        match failed {
            Some(why) if again(&why) => {}
            Some(Failure::Rejected(Rejection::InsufficientFunds { .. })) => {
                known.borrow_mut().insert(n, false);
                return;
            }
            Some(why) => panic!("job {n} {job:?}: {why}"),
            None => {
                known.borrow_mut().insert(n, true);
                return;
            }
        }
    }
}

async fn steps(lab: &Lab, id: HoldId, much: i64, dice: &mut Dice) {
    for _ in 0..dice.roll(4) {
        let step = if dice.chance(50) {
            HoldStep::Confirm
        } else {
            HoldStep::Release
        };
        let part = Amount::from_centavos(much / 3 + 1).unwrap();
        let part = dice.chance(60).then_some(part);
        let stepped = lab
            .engine
            .step_hold(REALM, id, step, part, false, plain())
            .await;
        match stepped {
            Ok(_)
            | Err(Failure::Rejected(Rejection::HoldNotOpen | Rejection::HoldRemaining { .. })) => {}
            Err(why) => assert!(again(&why), "{why}"),
        }
    }
}

/// Brings notices, in any order, until each copy was heard.
async fn postman(lab: Rc<Lab>, bank: Arc<ChaosBank>, mut dice: Dice, slow: u64) {
    loop {
        super::lab::later(Duration::from_millis(1 + dice.roll(slow))).await;
        let Some((number, notice)) = bank.notice() else {
            continue;
        };
        match lab
            .engine
            .notice(caudal_ledger::tenants::Mode::Live, notice.clone(), "r")
            .await
        {
            Ok(Heard::Done | Heard::Known) => {
                bank.book().outbox.remove(&number);
            }
            Ok(heard) => panic!("{heard:?}: {notice:?}"),
            Err(why) => assert!(again(&why), "{why}"),
        }
    }
}

impl Storm {
    /// Every transfer has the end that the bank's book says, and each job at most one.
    async fn transfers_agree(&self) -> (i64, i64) {
        let (mut left, mut back) = (0, 0);
        let book = self.bank.book().sent.clone();
        let listed = self.transfers().await;
        let mut seen = BTreeMap::new();
        for view in &listed {
            let transfer = &view.transfer;
            let id = transfer.external_id.as_str();
            assert!(seen.insert(id.to_owned(), ()).is_none(), "twice: {id}");
            if transfer.receiver.is_some() {
                assert_eq!(transfer.status, TransferStatus::Completed);
                continue;
            }
            let origin = transfer.origin(REALM, view.account);
            let sent = &book[&origin];
            let status = match (sent.fate, &sent.returned) {
                (Fate::Done, None) => TransferStatus::Completed,
                (Fate::Done, Some(_)) => TransferStatus::Reversed,
                _ => TransferStatus::Rejected,
            };
            assert_eq!(transfer.status, status, "seed {} {id}", self.seed);
            let returned = sent
                .returned
                .as_ref()
                .map_or(0, |(much, _)| much.centavos());
            assert_eq!(transfer.reversed.centavos(), returned);
            if sent.fate == Fate::Done {
                left += sent.order.amount.centavos() + FEE;
                back += returned;
            }
        }
        let through = listed
            .iter()
            .filter(|v| v.transfer.receiver.is_none())
            .count();
        assert_eq!(through, book.len(), "the bank knows of others");
        for (n, job) in self.jobs.iter().enumerate() {
            if matches!(job, Job::Send(..) | Job::Give(..)) {
                let there = seen.contains_key(&format!("job-{n}"));
                assert_eq!(there, self.known.borrow()[&n], "seed {} job {n}", self.seed);
            }
        }
        (left, back)
    }

    /// All money is somewhere, held money is what holds keep, and the bank lists nothing else.
    async fn settled(&self) {
        let (left, back) = self.transfers_agree().await;
        let mut right = 1_500 * i64::try_from(ACCOUNTS).unwrap() - left + back;
        for (n, done) in self.known.borrow().iter() {
            match self.jobs[*n] {
                Job::Credit(_, much) if *done => right += much,
                Job::Debit(_, much) if *done => right -= much,
                _ => {}
            }
        }
        let arrived = self.bank.book().arrived.clone();
        right += arrived.iter().map(|m| m.amount.centavos()).sum::<i64>();
        let mut total = 0;
        for account in 1..=ACCOUNTS {
            let target = Target::Account(AccountNo(account));
            let holds = self.lab.engine.holds(REALM, target, None, EVERYTHING).await;
            let mut held = 0;
            for view in holds.unwrap().items {
                held += view.hold.remaining().map_or(0, Amount::centavos);
                right -= view.hold.confirmed.centavos();
            }
            let balance = self.lab.balance(account).await;
            assert_eq!(balance.held.centavos(), held, "seed {}", self.seed);
            total += balance.total().centavos();
        }
        assert_eq!(total, right, "seed {}", self.seed);
        let mut day = Timestamp::from_millis(1_700_000_000_000).business_day();
        while day <= self.lab.clock.peek().business_day() {
            for found in self.lab.engine.reconcile(REALM, day, "r").await.unwrap() {
                // A person who asked the bank is never contradicted by it.
                let right = match found.decision() {
                    Some(_) => Agreement::Decided,
                    None => Agreement::Matched,
                };
                assert_eq!(found.judged, right.into(), "seed {}: {found:?}", self.seed);
            }
            day = day.next();
        }
        self.lab.verified().await;
    }
}

async fn storm(seed: u64) -> (u32, usize, Tally) {
    let mut storm = Storm::new(seed, 60).await;
    storm.blow().await;
    storm.calm().await;
    storm.settled().await;
    // And once more from what is on disk alone.
    storm.crash();
    storm.settled().await;
    let sent = storm.bank.book().sent.len();
    storm.line.cut();
    let tally = storm.bank.book().tally;
    (storm.crashes, sent, tally)
}

#[test]
fn bank_and_ledger_agree_after_every_storm() {
    let (mut crashes, mut sent, mut sum) = (0, 0, Tally::default());
    let storms = std::env::var("STORMS").map_or(40, |n| n.parse().unwrap());
    let first = std::env::var("STORM").map_or(1, |n| n.parse().unwrap());
    for seed in first..first + storms {
        println!("chaos: seed {seed}");
        let (c, s, tally) = actix::System::new().block_on(async move {
            tokio::time::pause();
            storm(seed).await
        });
        crashes += c;
        sent += s;
        sum.calls += tally.calls;
        sum.silent += tally.silent;
        sum.notices += tally.notices;
        sum.repeated += tally.repeated;
    }
    println!(
        "chaos: {storms} storms, {crashes} crashes, {sent} transfers through the bank, {sum:?}"
    );
}
