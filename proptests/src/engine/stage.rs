//! Plays a story: starts the engine, asks, cuts the power, starts again, and compares.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use caudal_actors::accounts::BatchMode;
use caudal_actors::engine::{Asker, Engine, Options};
use caudal_actors::failure::Failure;
use caudal_actors::platform::{NewTenant, PlatformOrder};
use caudal_actors::ports::{BankGateway, Clock};
use caudal_actors::realms::{Adjustment, Target, TypeRef};
use caudal_actors::records::projection::Rows;
use caudal_actors::reply::Given;
use caudal_actors::verify;
use caudal_ledger::accounts::Holder;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::{Cbu, Cvu};
use caudal_ledger::facts::Registration;
use caudal_ledger::holds::OpenHold;
use caudal_ledger::ids::{AccountNo, OriginId, RealmId};
use caudal_ledger::kyc::Kyc;
use caudal_ledger::limits::{Limits, TotalLimits};
use caudal_ledger::money::{Amount, Money};
use caudal_ledger::particulars::Names;
use caudal_ledger::tenants::{BankRelations, Policy};
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{Concept, Destination, Send as Sending};
use caudal_ledger::voucher_types::{CreateVoucherType, Sense, TypeCode};
use caudal_storage::FaultyStore;
use tokio::task::JoinHandle;

use super::bank::Bank;
use super::book::{Book, Outcome};
use super::{ACCOUNTS, DAILY_TOTAL, FUNDS, Order, Scene, Story};

const REALM: RealmId = RealmId(1);
const TENANT: &str = "tnt_1";
/// How often the thread is given away before everything has come to rest.
const TURNS: usize = 200;

/// Stands where the runtime's clock stands.
#[derive(Debug)]
struct StillClock(tokio::time::Instant);

impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        let passed = u64::try_from(self.0.elapsed().as_millis()).unwrap();
        Timestamp::from_millis(1_700_000_000_000 + passed)
    }
}

struct Stage {
    store: Arc<FaultyStore>,
    clock: Arc<StillClock>,
    bank: Arc<Bank>,
    engine: Rc<Engine>,
    cvus: Vec<Cvu>,
}

fn asker<T>() -> Asker<T> {
    Asker {
        keyed: None,
        request_id: "story".to_owned(),
    }
}

fn target(account: u64) -> Target {
    Target::Account(AccountNo(account))
}

fn amount(centavos: i64) -> Amount {
    Amount::from_centavos(centavos).unwrap()
}

fn external(number: usize, part: &str) -> ExternalId {
    ExternalId::parse(&format!("order-{number}{part}")).unwrap()
}

/// The reference of an order at the bank.
fn origin(number: usize) -> OriginId {
    OriginId::of_order(TENANT, REALM.mode(), &external(number, ""))
}

fn adjustment(account: u64, code: &str, centavos: i64, external_id: ExternalId) -> Adjustment {
    Adjustment {
        target: target(account),
        voucher_type: TypeRef::Code(TypeCode::parse(code).unwrap()),
        amount: amount(centavos),
        external_id,
        description: None,
        external_date: None,
        dry_run: false,
    }
}

fn start(store: &Arc<FaultyStore>, clock: &Arc<StillClock>, bank: &Arc<Bank>) -> Rc<Engine> {
    let bank: Arc<dyn BankGateway> = Arc::<Bank>::clone(bank);
    let options = Options {
        arbiters: 0,
        ..Options::default()
    };
    let engine = Engine::start(
        Arc::<FaultyStore>::clone(store),
        Arc::<StillClock>::clone(clock),
        Arc::new(move |_| Ok(Arc::clone(&bank))),
        options,
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
        metadata: std::collections::BTreeMap::new(),
        kyc: Kyc::default(),
        enabled: true,
        names: Names::default(),
        asks_cvu: false,
    }
}

fn given<T>(answered: Result<Given<T>, Failure>) -> Result<T, Failure> {
    answered.map(|given| match given {
        Given::Value(value) => value,
        Given::Kept { .. } => panic!("nothing is kept without a key"),
    })
}

/// What is known of an order after an answer; nothing where nobody knows what became of it.
fn known(answered: Result<String, Failure>) -> Option<Outcome> {
    use caudal_ledger::rejection::Rejection;
    match answered {
        Ok(id) => Some(Outcome::Done(id)),
        Err(Failure::Rejected(Rejection::ExternalIdInFlight)) => None,
        Err(Failure::Rejected(why)) => Some(Outcome::Refused(why.code())),
        Err(Failure::Overloaded | Failure::OutcomeUnknown | Failure::ShuttingDown) => None,
        Err(why) => panic!("{why}"),
    }
}

/// Asks an order and gives the id of what was done.
async fn ask(
    engine: Rc<Engine>,
    cvus: Vec<Cvu>,
    number: usize,
    order: Order,
) -> Result<String, Failure> {
    let id = external(number, "");
    let send = |to, centavos| Sending {
        to,
        amount: amount(centavos),
        concept: Concept::Var,
        description: None,
        external_id: external(number, ""),
    };
    match order {
        Order::Credit(of, centavos) => {
            let order = adjustment(of, "IN", centavos, id);
            let posted = given(engine.post(REALM, order, asker()).await)?.into_inner();
            Ok(posted.voucher.id(REALM, posted.account).to_string())
        }
        Order::Debit(of, centavos) => {
            let order = adjustment(of, "OUT", centavos, id);
            let posted = given(engine.post(REALM, order, asker()).await)?.into_inner();
            Ok(posted.voucher.id(REALM, posted.account).to_string())
        }
        Order::Hold(of, centavos) => {
            let order = OpenHold {
                amount: amount(centavos),
                external_id: id,
                description: None,
                expires_at: None,
            };
            let held = engine.open_hold(REALM, target(of), order, false, asker());
            Ok(format!(
                "{:?}",
                given(held.await)?.into_inner().hold.sequence
            ))
        }
        Order::Give(from, to, centavos) => {
            let cvu = cvus[usize::try_from(to - 1).unwrap()];
            let order = send(Destination::Key(Cbu::from(cvu)), centavos);
            let sent = engine.transfer(REALM, target(from), order, false, asker());
            Ok(format!(
                "{}",
                given(sent.await)?.into_inner().transfer.sequence
            ))
        }
        Order::Send(of, centavos, _) => {
            let away = Destination::Key(Cbu::compose(11, 7, 42).unwrap());
            let sent = engine.transfer(REALM, target(of), send(away, centavos), false, asker());
            Ok(format!(
                "{}",
                given(sent.await)?.into_inner().transfer.sequence
            ))
        }
        Order::Both(one, other, centavos) => {
            let items = vec![
                adjustment(one, "OUT", centavos, id),
                adjustment(other, "OUT", centavos, external(number, "-b")),
            ];
            let mode = BatchMode {
                atomic: true,
                dry_run: false,
            };
            let outcomes = given(engine.batch(REALM, items, mode, asker()).await)?;
            let mut ids = Vec::new();
            for outcome in outcomes {
                let posted = outcome?.into_inner();
                ids.push(posted.voucher.id(REALM, posted.account).to_string());
            }
            Ok(ids.join(" "))
        }
        Order::Again(_) => panic!("it was resolved before"),
    }
}

/// Lets everybody do what can be done without the disk.
async fn come_to_rest() {
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
}

impl Stage {
    async fn new() -> Self {
        let store = FaultyStore::new(Arc::new(Rows), 1);
        store.set_automatic(true);
        let clock = Arc::new(StillClock(tokio::time::Instant::now()));
        let bank = Arc::new(Bank::default());
        let engine = start(&store, &clock, &bank);
        let new = NewTenant {
            id: TENANT.to_owned(),
            name: "One".to_owned(),
            policy: Policy::default(),
            limits: Limits::default(),
            total_limits: TotalLimits {
                daily_outgoing: Some(Money::from_centavos(DAILY_TOTAL)),
                ..TotalLimits::default()
            },
            fees: Vec::new(),
            banks: BankRelations::default(),
        };
        let create = PlatformOrder::CreateTenant(new);
        engine.administer(create).await.unwrap();
        for (code, sense) in [("IN", Sense::Credit), ("OUT", Sense::Debit)] {
            let order = CreateVoucherType {
                code: TypeCode::parse(code).unwrap(),
                name: code.to_owned(),
                sense,
                description: None,
                category: None,
            };
            given(engine.create_type(REALM, order, asker()).await).unwrap();
        }
        let mut cvus = Vec::new();
        for number in 1..=ACCOUNTS {
            let opened = engine.register(REALM, registration(), true, None, asker());
            cvus.push(given(opened.await).unwrap().account.cvu.unwrap());
            let id = ExternalId::parse(&format!("funds-{number}")).unwrap();
            let funds = adjustment(number, "IN", FUNDS, id);
            given(engine.post(REALM, funds, asker()).await).unwrap();
        }
        Self {
            store,
            clock,
            bank,
            engine,
            cvus,
        }
    }

    fn begin(&self, number: usize, order: Order) -> JoinHandle<Result<String, Failure>> {
        let (engine, cvus) = (Rc::clone(&self.engine), self.cvus.clone());
        actix::spawn(ask(engine, cvus, number, order))
    }

    /// Power goes with `keep` of the waiting commits on disk, and the service starts again.
    fn cut(&mut self, keep: usize) {
        self.store = self.store.crash(keep);
        self.store.set_automatic(true);
        self.engine = start(&self.store, &self.clock, &self.bank);
    }

    /// Plays a scene; gives what is known of its orders.
    async fn scene(&mut self, scene: &Scene, asked: &[(usize, Order)], book: &mut Book) {
        let mut open: Vec<(usize, Order)> = Vec::new();
        self.store.set_automatic(scene.cut.is_none());
        let begun: Vec<_> = asked
            .iter()
            .map(|(number, order)| (*number, *order, self.begin(*number, *order)))
            .collect();
        if let Some((steps, keep)) = scene.cut {
            come_to_rest().await;
            for _ in 0..steps {
                self.store.step();
                come_to_rest().await;
            }
            self.cut(keep);
        }
        for (number, order, task) in begun {
            // Nobody answers any more for a service without power.
            let waited = tokio::time::timeout(Duration::from_secs(60), task).await;
            match waited.ok().and_then(|ended| known(ended.unwrap())) {
                Some(outcome) => book.enter(number, order, outcome),
                None => open.push((number, order)),
            }
        }
        book.unknown += open.len();
        for (number, order) in open {
            loop {
                let answered = self.begin(number, order).await.unwrap();
                if let Some(outcome) = known(answered) {
                    book.enter(number, order, outcome);
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// Whether no transfer waits for the bank any more.
    async fn settled(&self) {
        let busy = || async {
            let report = self.engine.report(REALM).await.unwrap();
            report.waiting_for_bank + report.queued + report.in_flight > 0
        };
        while busy().await {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    async fn compare(&self, book: &Book) {
        let sent = |number| self.bank.has_sent(origin(number));
        let mut has = std::collections::BTreeMap::new();
        for account in 1..=ACCOUNTS {
            let view = self.engine.balance(REALM, target(account)).await.unwrap();
            assert!(view.balance.available >= Money::ZERO);
            has.insert(account, view.balance.total().centavos());
        }
        assert_eq!(has, book.totals(sent), "{book:?}");
        let by_bank = |(number, order)| match order {
            Order::Send(..) => sent(number),
            _ => None,
        };
        assert_eq!(
            self.bank.all_sent(),
            book.done().filter_map(by_bank).sum::<i64>(),
            "the bank sent what nobody ordered"
        );
        assert!(book.outgoing(sent) <= DAILY_TOTAL, "{book:?}");
        let report = verify::engine(&self.engine).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
    }
}

/// Plays a story; gives its book.
pub fn play(story: &Story) -> Book {
    let runner = actix::System::with_tokio_rt(|| {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap()
    });
    runner.block_on(async {
        let mut stage = Stage::new().await;
        let (mut book, mut orders) = (Book::default(), Vec::<Order>::new());
        for scene in story {
            let mut asked = Vec::new();
            for order in &scene.orders {
                let (number, order) = match order {
                    Order::Again(back) => match orders.len().checked_sub(*back) {
                        Some(number) => (number, orders[number]),
                        None => continue,
                    },
                    Order::Give(from, to, _) if from == to => continue,
                    Order::Both(one, other, _) if one == other => continue,
                    order => {
                        orders.push(*order);
                        (orders.len() - 1, *order)
                    }
                };
                if let Order::Send(_, _, fate) = order {
                    stage.bank.will(origin(number), fate);
                }
                asked.push((number, order));
            }
            stage.scene(scene, &asked, &mut book).await;
            stage.settled().await;
            stage.compare(&book).await;
        }
        book
    })
}
