//! A laboratory for storms: an engine on a store that is stepped, a clock that jumps and can be set to panic, and dice.

use std::rc::Rc;
use std::sync::Once;
use std::sync::atomic::AtomicI64;

use caudal_ledger::balance::Balance;
use caudal_ledger::clients::{Client, Mark, UNCODED_MAX};
use caudal_ledger::cvu::{Cbu, Cvu};
use caudal_ledger::holds::OpenHold;
use caudal_ledger::ids::{OriginId, Tag, VoucherId};
use caudal_ledger::transfers::{Concept, Destination, Send};

use super::*;
use crate::accounts::{BatchMode, MakeTransfer, PlaceHold};
use crate::engine::money::{HoldView, TransferView};
use crate::ports::webhooks::WebhookSink;
use crate::realms::Register;

/// The id of the voucher at a place of the realm; an id without a tag if there is none.
pub(super) fn place(store: &dyn caudal_storage::Store, account: u64, sequence: u64) -> VoucherId {
    let account = AccountNo(account);
    let place = crate::records::projection::VoucherPlace { account, sequence };
    let found = crate::records::reads::voucher(store, REALM, place).unwrap();
    VoucherId {
        realm: REALM,
        account,
        sequence,
        tag: found.map_or(Tag::NONE, |voucher| voucher.tag),
    }
}

/// The payload of a blown fuse; the panic hook logs nothing about it.
#[derive(Debug)]
pub(super) struct Blown;

/// Numbers from a seed (splitmix64).
#[derive(Clone, Debug)]
pub(super) struct Dice(pub u64);

impl Dice {
    pub(super) fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % below.max(1)
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.roll(100) < percent
    }
}

/// Follows the runtime's clock, which a test may pause; jumps; panics when its fuse has burnt.
#[derive(Debug)]
pub(super) struct HarnessClock {
    start: tokio::time::Instant,
    jumped: AtomicU64,
    fuse: AtomicI64,
}

impl Default for HarnessClock {
    fn default() -> Self {
        static QUIET: Once = Once::new();
        QUIET.call_once(|| {
            let loud = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                if !info.payload().is::<Blown>() {
                    loud(info);
                }
            }));
        });
        Self {
            start: tokio::time::Instant::now(),
            jumped: AtomicU64::new(0),
            fuse: AtomicI64::new(0),
        }
    }
}

impl HarnessClock {
    pub(super) fn jump(&self, millis: u64) {
        self.jumped.fetch_add(millis, Ordering::Relaxed);
    }

    /// The `n`-th call for the time from now on panics; 0 takes the fuse out.
    pub(super) fn arm(&self, n: i64) {
        self.fuse.store(n, Ordering::Relaxed);
    }

    /// The time, without the fuse.
    pub(super) fn peek(&self) -> Timestamp {
        let passed = u64::try_from(self.start.elapsed().as_millis()).unwrap();
        let jumped = self.jumped.load(Ordering::Relaxed);
        Timestamp::from_millis(1_700_000_000_000 + passed + jumped)
    }

    /// Whether the fuse has burnt through.
    pub(super) fn blown(&self) -> bool {
        self.fuse.load(Ordering::Relaxed) <= 0
    }
}

impl Clock for HarnessClock {
    fn now(&self) -> Timestamp {
        if self.fuse.load(Ordering::Relaxed) > 0 && self.fuse.fetch_sub(1, Ordering::Relaxed) == 1 {
            std::panic::panic_any(Blown);
        }
        self.peek()
    }
}

/// The mode of a batch that is posted as one or item by item.
pub(super) fn mode(atomic: bool) -> BatchMode {
    BatchMode {
        atomic,
        dry_run: false,
    }
}

/// The engine with its store, clock and dice: see the module.
pub(super) struct Harness {
    pub store: Arc<FaultyStore>,
    pub clock: Arc<HarnessClock>,
    pub engine: Engine,
}

impl Harness {
    /// A service with a tenant, two types, some accounts with some money, and a store that writes
    /// at once.
    pub(super) async fn new(
        seed: u64,
        accounts: u64,
        each: i64,
        bank: Arc<dyn BankGateway>,
    ) -> Rc<Self> {
        let store = FaultyStore::new(Arc::new(ServiceProjection), seed);
        store.set_automatic(true);
        let harness = Self::over(store, Arc::default(), bank);
        furnish(&harness.engine).await;
        for number in 1..=accounts {
            let opened = harness.engine.ledger().order(
                REALM,
                Register {
                    registration: registration(),
                    open: true,
                    alias: None,
                },
                plain(),
            );
            value(opened.await);
            if each > 0 {
                let id = format!("first-{number}");
                value(harness.post(number, "IN", each, &id).await);
            }
        }
        harness
    }

    pub(super) fn over(
        store: Arc<FaultyStore>,
        clock: Arc<HarnessClock>,
        bank: Arc<dyn BankGateway>,
    ) -> Rc<Self> {
        let options = EngineOptions {
            arbiters: 0,
            ..EngineOptions::default()
        };
        let engine = Engine::start(
            Arc::<FaultyStore>::clone(&store),
            Arc::<HarnessClock>::clone(&clock),
            Arc::new(move |_| Ok(Arc::clone(&bank))),
            options,
        );
        Rc::new(Self {
            store,
            clock,
            engine: engine.unwrap(),
        })
    }

    /// The same with a sink that carries events to webhooks.
    pub(super) fn carried(
        store: Arc<FaultyStore>,
        clock: Arc<HarnessClock>,
        bank: Arc<dyn BankGateway>,
        sink: Arc<dyn WebhookSink>,
    ) -> Rc<Self> {
        let options = EngineOptions {
            arbiters: 0,
            ..EngineOptions::default()
        };
        let engine = Engine::carrying(
            Arc::<FaultyStore>::clone(&store),
            Arc::<HarnessClock>::clone(&clock),
            Arc::new(move |_| Ok(Arc::clone(&bank))),
            sink,
            options,
        );
        Rc::new(Self {
            store,
            clock,
            engine: engine.unwrap(),
        })
    }

    /// The process dies with `keep` of the waiting commits on disk, and starts again.
    pub(super) fn crash(&self, keep: usize, bank: Arc<dyn BankGateway>) -> Rc<Self> {
        let store = self.store.crash(keep);
        store.set_automatic(true);
        Self::over(store, Arc::clone(&self.clock), bank)
    }

    pub(super) async fn post(
        &self,
        account: u64,
        code: &str,
        centavos: i64,
        id: &str,
    ) -> Answered<Outcome<AccountVoucher>> {
        let order = adjustment(account, code, centavos, id);
        self.engine.ledger().order(REALM, order, plain()).await
    }

    pub(super) async fn send(
        &self,
        from: u64,
        to: Destination,
        centavos: i64,
        id: &str,
    ) -> Answered<Outcome<TransferView>> {
        let target = Target::Account(AccountNo(from));
        let order = sending(to, centavos, id);
        self.engine
            .ledger()
            .order(
                REALM,
                MakeTransfer {
                    from: target,
                    order,
                    dry_run: false,
                },
                plain(),
            )
            .await
    }

    /// Makes a transfer inside the realm.
    pub(super) async fn give(
        &self,
        (from, to): (u64, u64),
        centavos: i64,
        id: &str,
    ) -> Answered<Outcome<TransferView>> {
        self.send(from, within(to), centavos, id).await
    }

    pub(super) async fn hold(
        &self,
        account: u64,
        centavos: i64,
        id: &str,
        end: Option<Timestamp>,
    ) -> Answered<Outcome<HoldView>> {
        let target = Target::Account(AccountNo(account));
        let order = holding(centavos, id, end);
        self.engine
            .ledger()
            .order(
                REALM,
                PlaceHold {
                    target,
                    order,
                    dry_run: false,
                },
                plain(),
            )
            .await
    }

    pub(super) async fn balance(&self, account: u64) -> Balance {
        let target = Target::Account(AccountNo(account));
        loop {
            match self.engine.queries().balance(REALM, target).await {
                Ok(view) => return view.balance,
                Err(Failure::Overloaded | Failure::OutcomeUnknown) => nap().await,
                Err(why) => panic!("{why}"),
            }
        }
    }

    /// The total of an account as it is on disk.
    pub(super) fn disk(&self, account: u64) -> i64 {
        let (account, _) = crate::engine::operators::on_disk(
            self.engine.store().as_ref(),
            REALM,
            AccountNo(account),
        )
        .unwrap();
        account.balance.total().centavos()
    }

    pub(super) async fn verified(&self) {
        let report = verify::engine(&self.engine).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
    }
}

/// The CVU of an account.
pub(super) fn cvu(account: u64) -> Cvu {
    Cvu::compose(999, client(account)).unwrap()
}

/// The client id of an account: all accounts have one holder, and were opened one after the other.
pub(super) fn client(account: u64) -> u64 {
    let before = u32::try_from(account - 1).unwrap();
    let (mark, taken) = if usize::try_from(before).unwrap() < UNCODED_MAX {
        (Mark::Uncoded, before)
    } else {
        (Mark::Number(AccountNo(account)), 0)
    };
    let client = Client {
        tenant: TENANT,
        mode: REALM.mode(),
        cuit: registration().holder.cuit,
        mark,
    };
    client.id(taken)
}

/// The reference at the bank of an order with this external id.
pub(super) fn origin(id: &str) -> OriginId {
    OriginId::of_order(TENANT, REALM.mode(), &ExternalId::parse(id).unwrap())
}

/// An account of the realm as a destination.
pub(super) fn within(account: u64) -> Destination {
    Destination::Key(Cbu::from(cvu(account)))
}

/// Somebody at another bank.
pub(super) fn outside() -> Destination {
    Destination::Key(Cbu::compose(11, 7, 42).unwrap())
}

pub(super) fn sending(to: Destination, centavos: i64, id: &str) -> Send {
    Send {
        metadata: std::collections::BTreeMap::new(),
        to,
        amount: Amount::from_centavos(centavos).unwrap(),
        concept: Concept::Var,
        description: None,
        external_id: ExternalId::parse(id).unwrap(),
    }
}

pub(super) fn holding(centavos: i64, id: &str, expires_at: Option<Timestamp>) -> OpenHold {
    OpenHold {
        metadata: std::collections::BTreeMap::new(),
        amount: Amount::from_centavos(centavos).unwrap(),
        external_id: ExternalId::parse(id).unwrap(),
        description: None,
        expires_at,
        capture_tolerance: None,
    }
}

/// Whether an order may be repeated because its outcome is unknown, or nothing was done.
pub(super) fn again(why: &Failure) -> bool {
    matches!(
        why,
        Failure::Overloaded
            | Failure::OutcomeUnknown
            | Failure::ShuttingDown
            | Failure::Rejected(Rejection::ExternalIdInFlight)
    )
}

/// A moment, by the runtime's clock.
pub(super) async fn nap() {
    let mut pause = actix::clock::interval(Duration::from_millis(5));
    pause.tick().await;
    pause.tick().await;
}

/// Lets this much time pass on the runtime's clock, which is paused in these tests: nobody really waits.
pub(super) async fn later(by: Duration) {
    tokio::time::sleep(by).await;
}
