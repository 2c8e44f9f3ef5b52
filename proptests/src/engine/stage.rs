//! Plays a story: starts the engine, asks, lets hazards happen, starts again, and compares.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use caudal_actors::banks::Relation;
use caudal_actors::engine::lists::{ListPage, SortOrder as Way};
use caudal_actors::engine::money::{TransferFilter, TransferView};
use caudal_actors::engine::{Engine, Outside};
use caudal_actors::failure::Failure;
use caudal_actors::platform::{NewTenant, PlatformOrder};
use caudal_actors::ports::seals::NoSigner;
use caudal_actors::ports::webhooks::NoSink;
use caudal_actors::ports::{BankGateway, Clock as _, MovementWay as BankWay};
use caudal_actors::realms::{CreateType, Register};
use caudal_actors::records::projection::ServiceProjection;
use caudal_actors::times::Times;
use caudal_actors::verify;
use caudal_ledger::accounts::Holder;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::Registration;
use caudal_ledger::fees::FeeRule;
use caudal_ledger::ids::{AccountNo, HoldId, OriginId, VoucherId};
use caudal_ledger::kyc::Kyc;
use caudal_ledger::limits::TotalLimits;
use caudal_ledger::money::Money;
use caudal_ledger::particulars::Names;
use caudal_ledger::reconciliation::Agreement;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{TransferStatus, Verdict};
use caudal_ledger::voucher_types::{CreateVoucherType, Sense, SystemType, TypeCode};
use caudal_storage::{FaultyStore, StoreError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::ask::{self, Asked, REALM, TENANT, adjustment, given, origin, requester, target};
use super::bank::{Bank, Stray};
use super::book::{Book, Outcome};
use super::clock::StillClock;
use super::pace::{HALT, Pace, Postman};
use super::strays;
use super::{ACCOUNTS, DAILY_TOTAL, End, FUNDS, Hazard, Order, Scene, Story};

const EVERYTHING: ListPage = ListPage {
    order: Way::Ascending,
    limit: 100_000,
    offset: 0,
    cursor: None,
};

struct Stage {
    pace: Pace,
    store: Arc<FaultyStore>,
    clock: Arc<StillClock>,
    bank: Arc<Bank>,
    engine: Rc<Engine>,
    cvus: Vec<Cvu>,
    /// Whether everything that leaves is held.
    held: watch::Sender<bool>,
}

fn start(
    pace: Pace,
    store: &Arc<FaultyStore>,
    clock: &Arc<StillClock>,
    bank: &Arc<Bank>,
    held: &watch::Sender<bool>,
) -> Rc<Engine> {
    let bank: Arc<dyn BankGateway> = Arc::<Bank>::clone(bank);
    let outside = Outside {
        banks: Arc::new(move |_: &Relation| Ok(Arc::clone(&bank))),
        sink: Arc::new(NoSink),
        held: held.subscribe(),
        seals: Arc::new(NoSigner),
    };
    let clock = Arc::<StillClock>::clone(clock);
    let engine = Engine::timed(
        Arc::<FaultyStore>::clone(store),
        clock,
        outside,
        pace.options(),
        Times::default(),
    );
    Rc::new(engine.unwrap())
}

fn registration() -> Registration {
    let cuit = Cuit::parse("20267565393").unwrap();
    Registration {
        number: AccountNo(0),
        holder: Holder {
            cuit,
            name: "Ana".to_owned(),
            person_type: cuit.person_type(),
        },
        code: None,
        email: None,
        phone: None,
        metadata: BTreeMap::new(),
        kyc: Kyc::default(),
        enabled: true,
        names: Names::default(),
        asks_cvu: false,
    }
}

fn fee(code: TypeCode, fixed: i64, tax: i64) -> FeeRule {
    FeeRule {
        code,
        percentage: 0.into(),
        fixed: Money::from_centavos(fixed),
        minimum: None,
        maximum: None,
        charge: true,
        tax_rate: tax.into(),
    }
}

fn tenant() -> NewTenant {
    NewTenant {
        total_limits: TotalLimits {
            daily_outgoing: Some(Money::from_centavos(DAILY_TOTAL)),
            ..TotalLimits::default()
        },
        fees: vec![
            fee(SystemType::TransferOut.code(), 100, 21),
            fee(TypeCode::parse("OUT").unwrap(), 10, 10),
        ],
        ..NewTenant::plain(TENANT)
    }
}

impl Stage {
    async fn new(pace: Pace) -> Self {
        let store = FaultyStore::new(Arc::new(ServiceProjection), 1);
        store.set_automatic(true);
        let clock = Arc::new(StillClock::new());
        let bank = Arc::new(Bank::new(Arc::clone(&clock)));
        let held = watch::Sender::new(false);
        let engine = start(pace, &store, &clock, &bank, &held);
        let create = PlatformOrder::CreateTenant(tenant());
        engine.operators().administer(create).await.unwrap();
        for (code, sense) in [("IN", Sense::Credit), ("OUT", Sense::Debit)] {
            let order = CreateVoucherType {
                code: TypeCode::parse(code).unwrap(),
                name: code.to_owned(),
                sense,
                description: None,
                category: None,
                counter_account: None,
                capture_tolerance: None,
            };
            given(
                engine
                    .ledger()
                    .order(REALM, CreateType(order), requester())
                    .await,
            )
            .unwrap();
        }
        let mut cvus = Vec::new();
        for number in 1..=ACCOUNTS {
            let opened = engine.ledger().order(
                REALM,
                Register {
                    registration: registration(),
                    open: true,
                    alias: None,
                },
                requester(),
            );
            cvus.push(given(opened.await).unwrap().account.cvu.unwrap());
            let id = ExternalId::parse(&format!("funds-{number}")).unwrap();
            let funds = adjustment(number, "IN", FUNDS, id);
            given(engine.ledger().order(REALM, funds, requester()).await).unwrap();
        }
        Self {
            pace,
            store,
            clock,
            bank,
            engine,
            cvus,
            held,
        }
    }

    fn cvu(&self, account: u64) -> Cvu {
        self.cvus[usize::try_from(account - 1).unwrap()]
    }

    /// Prepares what is needed to ask the order of this number.
    fn prepare(&self, number: usize, order: Order, book: &Book) -> Asked {
        if let Order::Send(_, _, fate) = order {
            self.bank.will(origin(number), fate);
        }
        let arrival = match order {
            Order::Arrive(of, centavos, _) => {
                Some(self.bank.arrive(number, self.cvu(of), centavos))
            }
            Order::Stray(account, centavos, fate) => {
                let stray = Stray {
                    account,
                    centavos,
                    fate,
                };
                Some(self.bank.stray(number, stray))
            }
            _ => None,
        };
        let (to, hold) = match order {
            Order::Give(_, to, _) => (Some(self.cvu(to)), None),
            Order::Confirm(hold, _) | Order::Release(hold, _) | Order::Amend(hold, _) => {
                (None, book.id_of(hold).and_then(HoldId::parse))
            }
            _ => (None, None),
        };
        let debit = match order {
            Order::Refund(debit, _) => book.id_of(debit).and_then(VoucherId::parse),
            _ => None,
        };
        Asked {
            number,
            order,
            to,
            hold,
            debit,
            arrival,
        }
    }

    fn begin(&self, asked: &Asked) -> JoinHandle<Result<Outcome, Failure>> {
        actix::spawn(ask::ask(Rc::clone(&self.engine), asked.clone()))
    }

    /// Lets this many commits be written, one after the other.
    async fn write(&self, commits: usize) {
        self.pace.come_to_rest().await;
        for _ in 0..commits {
            self.store.step();
            self.pace.come_to_rest().await;
        }
    }

    /// Cuts the power with `keep` of the waiting commits on disk, and starts the service again.
    fn cut(&mut self, keep: usize) {
        self.store = self.store.crash(keep);
        self.store.set_automatic(true);
        self.engine = start(self.pace, &self.store, &self.clock, &self.bank, &self.held);
    }

    /// Retires the realm, and lets it continue.
    async fn retire(&self) {
        let engine = Rc::clone(&self.engine);
        let retired = actix::spawn(async move { engine.lifecycle().retire(REALM).await });
        let since = Instant::now();
        while !retired.is_finished() {
            assert!(since.elapsed() < HALT, "the realm does not come to rest");
            self.store.step();
            tokio::task::yield_now().await;
        }
        retired.await.unwrap().unwrap();
        assert_eq!(self.store.pending(), 0, "a commit of a realm that rests");
        self.store.set_automatic(true);
        self.engine.lifecycle().resume(REALM).await.unwrap();
    }

    /// Sets up the hazard of a scene.
    fn endanger(&self, hazard: Option<Hazard>) {
        let held = hazard == Some(Hazard::Held);
        self.held.send_replace(held);
        self.bank.expect_nothing(held);
        match hazard {
            None | Some(Hazard::Held) => {}
            Some(Hazard::Refusal) => self.store.refuse_next(StoreError::Overloaded),
            Some(Hazard::Panic(nth)) => self.clock.arm(nth),
        }
    }

    /// Plays a scene to its end; afterwards the outcome of each of its orders is known.
    async fn scene(&mut self, scene: &Scene, asked: &[Asked], book: &mut Book) {
        self.endanger(scene.hazard);
        self.store.set_automatic(scene.end == End::Calm);
        let mut post = Some(Postman::start(&self.engine, &self.bank));
        let begun: Vec<_> = asked
            .iter()
            .map(|asked| (asked.clone(), self.begin(asked)))
            .collect();
        match scene.end {
            End::Calm => {}
            End::Cut(after, keep) => {
                self.write(after).await;
                if let Some(post) = post.take() {
                    post.task.abort();
                }
                self.clock.arm(0);
                self.cut(keep);
            }
            End::Retire(after) => {
                self.write(after).await;
                self.retire().await;
            }
        }
        let mut open = Vec::new();
        for (asked, task) in begun {
            // A service without power never answers.
            let cut = self.pace != Pace::Still && matches!(scene.end, End::Cut(..));
            if cut && !task.is_finished() {
                task.abort();
                open.push(asked);
                continue;
            }
            let waited = tokio::time::timeout(Duration::from_secs(60), task).await;
            match waited.ok().and_then(|ended| ask::known(ended.unwrap())) {
                Some(outcome) => book.enter(asked.number, asked.order, outcome),
                None => open.push(asked),
            }
        }
        self.clock.arm(0);
        if let Some(post) = post.take() {
            post.stop().await;
        }
        book.unknown += open.len();
        self.bank.expect_nothing(false);
        self.held.send_replace(false);
        for asked in open {
            loop {
                let answered = self.begin(&asked).await.unwrap();
                if let Some(outcome) = ask::known(answered) {
                    book.enter(asked.number, asked.order, outcome);
                    break;
                }
                tokio::time::sleep(self.pace.pause(Duration::from_millis(50))).await;
            }
        }
    }

    async fn transfers(&self) -> Vec<TransferView> {
        let filter = TransferFilter::default();
        let listed = self
            .engine
            .queries()
            .transfers(REALM, filter, EVERYTHING)
            .await;
        listed.unwrap().items
    }

    /// Waits until no transfer is on its way and every notice was heard; a person decides the transfers that
    /// the bank has lost. Then the bank's list is read.
    async fn settled(&self) {
        let since = tokio::time::Instant::now();
        let post = Postman::start(&self.engine, &self.bank);
        loop {
            let transfers = self.transfers().await;
            let open: Vec<_> = transfers
                .iter()
                .filter(|view| view.transfer.status.is_open())
                .collect();
            let strays = strays::credit(&self.engine).await;
            if open.is_empty() && !strays && !self.bank.has_news() {
                break;
            }
            for view in open {
                if view.transfer.status == TransferStatus::Audit {
                    self.decide(view).await;
                }
            }
            assert!(since.elapsed() < self.pace.patience(), "{transfers:?}");
            tokio::time::sleep(self.pace.pause(Duration::from_secs(1))).await;
        }
        // The notice that was taken last is still on its way.
        self.pace.come_to_rest().await;
        post.stop().await;
        let collectors = self.engine.queries().collectors();
        let on = collectors.values().next().unwrap();
        // Read at least twice, and once more than the store will refuse a movement: a scene that writes nothing leaves its
        // refusal to later ones.
        for _ in 0..=self.store.refusals().max(1) {
            for day in self.days() {
                let caught = self
                    .engine
                    .ledger()
                    .catch_up((on, REALM.mode()), day, "story");
                caught.await.unwrap();
            }
        }
    }

    async fn decide(&self, view: &TransferView) {
        let done = self.bank.find(view.transfer.origin(REALM, view.account));
        let id = view.transfer.id(REALM, view.account);
        let verdict = if done {
            Verdict::Completed
        } else {
            Verdict::Rejected
        };
        let (decision, request) = (strays::decision(), "story".to_owned());
        let decided =
            self.engine
                .operators()
                .decide_transfer(id, (verdict, false), decision, request);
        decided.await.unwrap();
    }

    /// The days of the story so far.
    fn days(&self) -> BTreeSet<caudal_ledger::time::BusinessDay> {
        let first = Timestamp::from_millis(1_700_000_000_000);
        [first, self.clock.now()]
            .map(Timestamp::business_day)
            .into()
    }

    async fn compare(&self, book: &Book) {
        let sent = |number| self.bank.has_sent(origin(number));
        let mut has = BTreeMap::new();
        for account in 1..=ACCOUNTS {
            let view = self
                .engine
                .queries()
                .balance(REALM, target(account))
                .await
                .unwrap();
            assert!(view.balance.available >= Money::ZERO);
            let (total, held) = (view.balance.total(), view.balance.held);
            has.insert(account, (total.centavos(), held.centavos()));
        }
        let mut must = book.totals(sent);
        for (account, stays) in self.bank.kept() {
            must.get_mut(&account).unwrap().0 += stays;
        }
        assert_eq!(has, must, "{book:?}");
        assert_eq!(self.bank.against(), [], "it was held");
        let ordered: BTreeSet<OriginId> = book.done().map(|(number, _)| origin(number)).collect();
        for reference in self.bank.references() {
            assert!(ordered.contains(&reference), "nobody ordered {reference}");
        }
        assert!(book.outgoing(sent) <= DAILY_TOTAL, "{book:?}");
        book.check_refunds();
        let report = verify::engine(&self.engine).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
    }

    /// Checks that the bank's list and the ledger agree line by line.
    async fn reconciled(&self) {
        for day in self.days() {
            for found in self
                .engine
                .queries()
                .reconcile(REALM, day, "story")
                .await
                .unwrap()
            {
                // A return agrees with the bank, although a person decided it.
                let bank = found.bank.as_ref();
                let is_return =
                    found.suspense.is_some() && bank.is_some_and(|it| it.way == BankWay::Out);
                let right = match found.decision() {
                    Some(_) if !is_return => Agreement::Decided,
                    _ => Agreement::Matched,
                };
                assert_eq!(found.judged, right.into(), "{found:?}");
            }
        }
    }
}

/// An order with its number, if the order makes sense: a repeated order has the number of the first time,
/// and a step names the hold that it is about.
fn resolve(order: Order, orders: &mut Vec<Order>, book: &Book) -> Option<(usize, Order)> {
    let hold = |back: usize| {
        let holds = book.holds();
        holds.len().checked_sub(back).map(|at| holds[at])
    };
    let order = match order {
        Order::Again(back) => {
            let number = orders.len().checked_sub(back)?;
            return Some((number, orders[number]));
        }
        Order::Give(from, to, _) if from == to => return None,
        Order::Both(one, other, _) if one == other => return None,
        Order::Confirm(back, part) => Order::Confirm(hold(back)?, part),
        Order::Release(back, part) => Order::Release(hold(back)?, part),
        Order::Amend(back, amount) => Order::Amend(hold(back)?, amount),
        Order::Refund(back, amount) => {
            let debits = book.debits();
            Order::Refund(debits[debits.len().checked_sub(back)?], amount)
        }
        order => order,
    };
    orders.push(order);
    Some((orders.len() - 1, order))
}

/// Plays a story on one thread whose clock stands still; returns its book.
pub fn play(story: &Story) -> Book {
    play_at(Pace::Still, story)
}

/// Plays a story with the actors on this many threads, the accounts apart from their supervisor; returns its
/// book.
pub fn play_on(threads: usize, story: &Story) -> Book {
    play_at(Pace::Threads(threads), story)
}

fn play_at(pace: Pace, story: &Story) -> Book {
    let runner = actix::System::with_tokio_rt(|| {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(pace == Pace::Still)
            .build()
            .unwrap()
    });
    runner.block_on(async {
        let mut stage = Stage::new(pace).await;
        let (mut book, mut orders) = (Book::default(), Vec::<Order>::new());
        for scene in story {
            let mut asked = Vec::new();
            for order in &scene.orders {
                if let Some((number, order)) = resolve(*order, &mut orders, &book) {
                    asked.push(stage.prepare(number, order, &book));
                }
            }
            stage.scene(scene, &asked, &mut book).await;
            stage.settled().await;
            stage.compare(&book).await;
        }
        stage.reconciled().await;
        book
    })
}
