//! A panic while the bank is asked, or while its list is looked through: the business goes on by itself.

use std::rc::Rc;
use std::sync::Mutex;

use caudal_ledger::cases::{CaseKind, Decision, ParkedState, SuspenseId};
use caudal_ledger::cvu::Cbu;
use caudal_ledger::ids::OriginId;
use caudal_ledger::remuneration::{BrokerageAccount, Enrol, EnrolmentState};
use caudal_ledger::tenants::Mode;
use caudal_ledger::time::BusinessDay;
use caudal_ledger::transfers::{BankTransfer, BankWord, Counterparty, TransferStatus};
use tokio::sync::Semaphore;

use super::harness::{Blown, Harness, HarnessClock, cvu, later, outside};
use super::*;
use crate::accounts::EnrolAccount;
use crate::engine::cases::Case;
use crate::engine::money::{TransferFilter, TransferView};
use crate::ports::fake_bank::{FakeBank, FakeCall, done};
use crate::ports::{BankFuture, BankMovement, BankReply, MovementWay, Notice, TransferOrder};
use crate::realms::Register;

const EACH: i64 = 1_000;
/// The money that arrives, in centavos.
const ARRIVES: i64 = 70;
/// Longer than the longest pause before anything is tried again.
const LONG: Duration = Duration::from_mins(5);

/// A bank that does not answer the first order of a transfer, and panics once where the test says.
#[derive(Debug)]
struct Clumsy {
    panics: Mutex<Option<&'static str>>,
    tries: AtomicU64,
    listed: Mutex<Vec<BankMovement>>,
    /// Its lists come when there is a permit.
    lists: Semaphore,
    asked: AtomicU64,
}

impl Clumsy {
    fn new(panics: Option<&'static str>) -> Arc<Self> {
        Arc::new(Self {
            panics: Mutex::new(panics),
            tries: AtomicU64::new(0),
            listed: Mutex::default(),
            lists: Semaphore::new(Semaphore::MAX_PERMITS),
            asked: AtomicU64::new(0),
        })
    }

    fn may_panic(&self, operation: &str) {
        let mut panics = self.panics.lock().unwrap();
        if panics.is_some_and(|at| at == operation) {
            *panics = None;
            drop(panics);
            std::panic::panic_any(Blown);
        }
    }
}

impl FakeBank for Clumsy {
    fn answer<'a, T: 'a>(
        &'a self,
        (operation, _): FakeCall,
        work: impl FnOnce() -> Result<T, BankError> + 'a,
    ) -> BankFuture<'a, T> {
        Box::pin(async move {
            self.may_panic(operation);
            if operation == "movements" {
                self.asked.fetch_add(1, Ordering::Relaxed);
                drop(self.lists.acquire().await.unwrap());
            }
            let (result, calls) = (work(), Vec::new());
            BankReply { result, calls }
        })
    }

    fn sends(&self, order: &TransferOrder) -> Result<BankTransfer, BankError> {
        match self.tries.fetch_add(1, Ordering::Relaxed) {
            0 => Err(BankError::TimedOut),
            _ => Ok(done(order.origin)),
        }
    }

    fn knows(&self, origin: OriginId) -> Result<Option<BankTransfer>, BankError> {
        let sent = self.tries.load(Ordering::Relaxed) > 0;
        Ok(sent.then(|| done(origin)))
    }

    fn lists(&self, _: BusinessDay) -> Result<Vec<BankMovement>, BankError> {
        Ok(self.listed.lock().unwrap().clone())
    }
}

async fn service(bank: &Arc<Clumsy>) -> Rc<Harness> {
    let gateway: Arc<dyn BankGateway> = Arc::<Clumsy>::clone(bank);
    Harness::new(1, 2, EACH, gateway).await
}

async fn transfers(harness: &Harness) -> Vec<TransferView> {
    let page = super::money::EVERYTHING;
    let filter = TransferFilter::default();
    let listed = harness
        .engine
        .queries()
        .transfers(REALM, filter, page)
        .await;
    listed.unwrap().items
}

/// Has money arrive that no account can take, and returns it to its sender. Returns the case.
async fn returned(harness: &Harness) -> SuspenseId {
    let stray = Notice::Received {
        coelsa_id: "stray".into(),
        bank_id: "b".into(),
        cvu: cvu(9),
        amount: Amount::from_centavos(ARRIVES).unwrap(),
        from: Counterparty {
            cbu: Some(Cbu::compose(11, 7, 42).unwrap().to_string()),
            ..Counterparty::default()
        },
        at: Timestamp::default(),
    };
    harness
        .engine
        .ledger()
        .notice(Mode::Live, stray, "r")
        .await
        .unwrap();
    let open = harness
        .engine
        .operators()
        .cases(vec![REALM], vec![CaseKind::Suspense], (0, 10))
        .await;
    let (cases, _) = open.unwrap();
    let [(_, Case::Suspense(parked))] = &cases[..] else {
        panic!("{cases:?}")
    };
    let id = parked.id(REALM);
    let decision = Decision {
        by: "Ana".into(),
        reason: "nobody has this CVU".into(),
        approval_reason: None,
        at: Timestamp::default(),
        bank_reference: None,
        forced: false,
    };
    let decided = harness
        .engine
        .operators()
        .return_suspense(id, decision, "r".into());
    decided.await.unwrap();
    id
}

#[actix::test]
async fn a_panic_while_the_bank_is_asked_costs_a_pause_and_nothing_else() {
    let operations = [
        "create",
        "alias",
        "movements",
        "transfer",
        "status",
        "enrol",
        "give back",
    ];
    tokio::time::pause();
    for operation in operations {
        let bank = Clumsy::new(None);
        let harness = service(&bank).await;
        *bank.panics.lock().unwrap() = Some(operation);
        let engine = &harness.engine;
        let opened = engine.ledger().order(
            REALM,
            Register {
                registration: registration(),
                open: true,
                alias: None,
            },
            plain(),
        );
        let opened = value(opened.await);
        assert!(opened.account.cvu.is_some(), "{operation}: {opened:?}");
        value(harness.send(1, outside(), 100, "away").await);
        let order = Enrol {
            brokerage_account: BrokerageAccount::parse("broker-1").unwrap(),
            fund: None,
        };
        let target = Target::Account(AccountNo(1));
        value(
            engine
                .ledger()
                .order(REALM, EnrolAccount { target, order }, plain())
                .await,
        );
        let id = returned(&harness).await;
        later(LONG).await;
        assert_eq!(*bank.panics.lock().unwrap(), None, "{operation} was asked");
        let sent = transfers(&harness).await;
        assert_eq!(
            sent[0].transfer.status,
            TransferStatus::Completed,
            "{operation}"
        );
        let enrolled = engine
            .queries()
            .remuneration(REALM, target, "r")
            .await
            .unwrap();
        let state = enrolled.view.enrolment.map(|it| it.state);
        assert_eq!(state, Some(EnrolmentState::Active), "{operation}");
        let parked = engine.operators().suspense_case(id).unwrap();
        let back = matches!(parked.state, ParkedState::Returned(_));
        assert!(back, "{operation}: {parked:?}");
        assert_eq!(
            engine.lifecycle().down(),
            [],
            "{operation} took the realm along"
        );
        assert_eq!(harness.balance(1).await.total().centavos(), EACH - 100);
        harness.verified().await;
    }
}

/// Money that the bank's list has for an account.
fn listed(account: u64, clock: &HarnessClock) -> BankMovement {
    BankMovement {
        bank_id: "b".into(),
        coelsa_id: Some("rail".into()),
        origin: None,
        reversal: false,
        way: MovementWay::In,
        cvu: cvu(account).as_str().to_owned(),
        counterparty: Counterparty::default(),
        amount: Amount::from_centavos(ARRIVES).unwrap(),
        word: BankWord::Completed,
        at: clock.peek(),
    }
}

#[actix::test]
async fn an_account_that_dies_while_the_list_is_looked_through_keeps_no_transfer_back() {
    tokio::time::pause();
    // While the list is looked through, two orders and the money that arrived wait for an account that is being read; one
    // of the first questions for the time kills whoever asks it.
    let mut replaced = 0;
    for (nth, turns) in (1..=8).flat_map(|nth| (0..8).map(move |turns| (nth, turns))) {
        let bank = Clumsy::new(None);
        let harness = service(&bank).await;
        let lists = bank.lists.forget_permits(Semaphore::MAX_PERMITS);
        *bank.listed.lock().unwrap() = vec![listed(2, &harness.clock)];
        value(harness.send(1, outside(), 100, "away").await);
        wait_until(|| bank.asked.load(Ordering::Relaxed) > 0).await;
        let target = Target::Account(AccountNo(2));
        assert!(
            harness
                .engine
                .operators()
                .passivate(REALM, target)
                .await
                .unwrap()
        );
        harness.clock.arm(nth);
        let orders: Vec<_> = (0..2)
            .map(|n| {
                let harness = Rc::clone(&harness);
                actix::spawn(async move { harness.post(2, "IN", 1, &format!("n-{n}")).await })
            })
            .collect();
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        bank.lists.add_permits(lists);
        later(LONG).await;
        harness.clock.arm(0);
        for order in orders {
            drop(order.await.unwrap());
        }
        for n in 0..2 {
            value(harness.post(2, "IN", 1, &format!("n-{n}")).await);
        }
        let sent = transfers(&harness).await;
        let at = format!("question {nth}, {turns} turns");
        assert_eq!(sent[0].transfer.status, TransferStatus::Completed, "{at}");
        let total = harness.balance(2).await.total().centavos();
        assert_eq!(total, EACH + ARRIVES + 2, "{at}");
        replaced += harness
            .engine
            .operators()
            .report(REALM)
            .await
            .unwrap()
            .restarts;
        harness.verified().await;
    }
    assert!(replaced > 0, "no account was hit");
}
