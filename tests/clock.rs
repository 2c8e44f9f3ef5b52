//! A clock that jumps while the service runs, or is wrong at a start: nothing expires, nothing gets
//! a wrong time, the service reports it, and continues by itself once the clock is right.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use caudal_http::clock::{GuardedClock, Sources};
use caudal_ledger::time::Timestamp;
use caudal_sandbox::NOTICE_SECRET;

use crate::bank_failures::letters;
use crate::problems::codes;
use crate::support::client::fresh;
use crate::support::{Setup, TestService, Value, cuit, json};

const START: &str = "2026-03-02T12:00:00Z";
const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// Both clocks of a machine, which the test moves.
#[derive(Debug)]
struct Hands {
    wall: AtomicI64,
    steady: AtomicU64,
}

impl Hands {
    /// Time passes.
    fn pass(&self, millis: i64) {
        self.jump(millis);
        let millis = u64::try_from(millis).unwrap();
        self.steady.fetch_add(millis, Ordering::SeqCst);
    }

    /// Somebody sets the machine's clock.
    fn jump(&self, millis: i64) {
        self.wall.fetch_add(millis, Ordering::SeqCst);
    }

    fn says(&self) -> String {
        self.wall().to_string()
    }
}

impl Sources for Hands {
    fn wall(&self) -> Timestamp {
        Timestamp::from_millis(u64::try_from(self.wall.load(Ordering::SeqCst)).unwrap_or(0))
    }

    fn steady(&self) -> Duration {
        Duration::from_millis(self.steady.load(Ordering::SeqCst))
    }
}

/// A service with an account that has 100.00, 10.00 of which are held for a day, opened under a key.
struct Rig {
    hands: Arc<Hands>,
    service: TestService,
    opening: (String, Value),
    cvu: String,
    hold: String,
}

impl Rig {
    async fn new() -> Self {
        let start = i64::try_from(Timestamp::parse(START).unwrap().millis()).unwrap();
        let hands = Arc::new(Hands {
            wall: AtomicI64::new(start),
            steady: AtomicU64::new(5_000_000),
        });
        let clock = Arc::new(GuardedClock::new(Arc::<Hands>::clone(&hands)));
        let setup = Setup {
            clock,
            ..Setup::default()
        };
        let service = TestService::with(setup).await;
        service.a.in_and_out().await;
        let body = json!({"cuit": cuit(fresh()), "holderName": "Juana Azurduy"});
        let key = format!("clock-{}", fresh());
        let opened = service.a.post("/v1/accounts", &body).key(&key).await;
        let cvu = opened.is(201)["cvu"].as_str().unwrap().to_owned();
        service.a.credit(&cvu, "100.00").await;
        let end = Timestamp::from_millis(u64::try_from(start + DAY).unwrap()).to_string();
        let held = json!({"amount": "10.00", "idExterno": "held", "expiresAt": end});
        let path = format!("/v1/accounts/{cvu}/holds");
        let hold = service.a.post(&path, &held).await.is(201);
        let hold = hold["id"].as_str().unwrap().to_owned();
        Self {
            hands,
            service,
            opening: (key, body),
            cvu,
            hold,
        }
    }

    /// Checks that orders are refused and questions answered, that the hold is unchanged, and that
    /// the doubt is shown everywhere.
    async fn in_doubt(&self, cause: &str) {
        let a = &self.service.a;
        let (key, body) = &self.opening;
        let opened = a.post("/v1/accounts", body).key(key).await;
        let refused = [
            opened,
            a.voucher(&self.cvu, "IN", "1.00", "doubted").await,
            a.transfer(&self.cvu, json!({"alias": "DESTINO.0"}), "1.00")
                .await,
            a.post(
                "/wallet/v1/TipoComprobante",
                &json!({"nombre": "Otro", "codigo": "X_Y", "signo": 1}),
            )
            .await,
        ];
        for answer in refused {
            assert_eq!(answer.header("retry-after"), "30", "{}", answer.text);
            answer.refused(503, "clock_in_doubt");
        }
        assert_eq!(a.funds(&self.cvu).await, ("90.00".into(), "10.00".into()));
        let hold = a.get(&format!("/v1/holds/{}", self.hold)).await.is(200);
        assert_eq!(hold["status"], "open");
        a.get("/readyz").await.refused(503, "clock_in_doubt");
        let shown = self
            .service
            .admin("GET", "/admin/clock", &Value::Null)
            .await;
        let shown = shown.is(200);
        assert_eq!(
            (&shown["inDoubt"], &shown["cause"]),
            (&json!(true), &json!(cause))
        );
        assert_eq!(shown["machineSays"], self.hands.says());
        assert_eq!(codes(&self.service).await, ["clock_in_doubt"]);
        let metrics = self.service.admin("GET", "/metrics", &Value::Null).await;
        assert!(
            metrics.text.contains("\ncaudal_clock_in_doubt 1\n"),
            "{}",
            metrics.text
        );
        assert!(
            metrics.text.contains("\ncaudal_ready 0\n"),
            "{}",
            metrics.text
        );
    }

    /// Checks that orders are accepted and get the machine's time, and that a key still knows its
    /// account.
    async fn believed(&self) {
        let a = &self.service.a;
        a.get("/readyz").await.is(200);
        let posted = a.credit(&self.cvu, "1.00").await;
        assert_eq!(posted["createdAt"], self.hands.says());
        a.debit(&self.cvu, "1.00").await;
        let (key, body) = &self.opening;
        let again = a.post("/v1/accounts", body).key(key).await.is(201);
        assert!(
            again.replayed() && again["cvu"] == self.cvu,
            "{}",
            again.text
        );
        let accounts = a.get("/v1/accounts").await.is(200);
        assert_eq!(accounts["total"], 1);
    }
}

#[actix_web::test]
async fn a_clock_that_jumps_for_a_minute_ends_nothing_and_is_believed_when_it_is_right_again() {
    for jump in [30 * DAY, 70 * YEAR, -3 * DAY, -40 * YEAR] {
        let rig = Rig::new().await;
        rig.believed().await;
        rig.hands.jump(jump);
        rig.in_doubt("jumped").await;
        rig.hands.pass(60_000);
        rig.in_doubt("jumped").await;
        rig.hands.jump(-jump);
        rig.believed().await;
        // A hold that is due by the right clock expires as usual.
        rig.hands.pass(DAY);
        let hold = rig.service.a.get(&format!("/v1/holds/{}", rig.hold)).await;
        assert_eq!(hold.is(200)["status"], "expired");
        rig.service.verified().await;
    }
}

#[actix_web::test]
async fn the_bank_is_believed_while_the_clock_is_not_and_tells_again() {
    for jump in [30 * DAY, -3 * DAY] {
        let rig = Rig::new().await;
        // The bank's clock is right, and so is the steady clock that the service continues by.
        let seconds = rig.hands.wall().millis() / 1_000;
        let notice = letters::received(&rig.cvu, "5.00", &letters::rail_id());
        let tell = async |secret: &str, seconds: u64| {
            let a = &rig.service.a;
            letters::deliver(a, (secret, seconds), &notice, |body| body).await
        };
        rig.hands.jump(jump);
        let reply = tell(NOTICE_SECRET, seconds).await;
        reply.refused(503, "clock_in_doubt");
        let old = tell(NOTICE_SECRET, seconds - 301).await;
        old.refused(401, "unauthorized");
        let forged = tell("a secret that nobody has agreed upon", seconds).await;
        forged.refused(401, "unauthorized");
        rig.hands.jump(-jump);
        assert_eq!(tell(NOTICE_SECRET, seconds).await.is(200)["result"], "done");
        assert_eq!(
            tell(NOTICE_SECRET, seconds).await.is(200)["result"],
            "known"
        );
        assert_eq!(rig.service.a.available(&rig.cvu).await, "95.00");
        rig.service.verified().await;
    }
}

#[actix_web::test]
async fn a_start_with_a_clock_that_the_journal_contradicts_takes_no_orders() {
    let rows = [
        (-3 * DAY, "behind_the_journal"),
        (-40 * YEAR, "behind_the_journal"),
        (70 * YEAR, "ahead_of_the_journal"),
    ];
    for (jump, cause) in rows {
        let mut rig = Rig::new().await;
        rig.service.end(true).await;
        rig.hands.jump(jump);
        rig.service.begin_in_doubt().await;
        rig.in_doubt(cause).await;
        rig.hands.jump(-jump);
        rig.believed().await;
        rig.service.verified().await;
    }
}

#[actix_web::test]
async fn a_month_of_downtime_or_a_small_clock_step_is_trusted() {
    let mut rig = Rig::new().await;
    rig.service.end(true).await;
    rig.hands.pass(DAY - HOUR);
    rig.service.begin().await;
    rig.believed().await;
    for step in [100_000, -100_000] {
        rig.hands.jump(step);
        rig.service.a.get("/readyz").await.is(200);
        rig.service.a.credit(&rig.cvu, "1.00").await;
    }
    rig.service.end(true).await;
    rig.hands.pass(31 * DAY);
    rig.service.begin().await;
    rig.service.a.credit(&rig.cvu, "1.00").await;
}

#[actix_web::test]
async fn a_confirmed_clock_is_trusted_after_a_restart() {
    for jump in [-3 * DAY, 200 * DAY] {
        let mut rig = Rig::new().await;
        rig.hands.jump(jump);
        rig.in_doubt("jumped").await;
        let path = "/admin/clock/confirm";
        let wrong = rig.service.admin("POST", path, &json!({"by": "Ana"})).await;
        wrong.refused(400, "invalid_request");
        rig.in_doubt("jumped").await;
        let word = json!({"by": "Ana", "reason": "the battery was changed"});
        let confirmed = rig.service.admin("POST", path, &word).await.is(200);
        assert_eq!(confirmed["inDoubt"], false);
        rig.service.a.get("/readyz").await.is(200);
        let new = rig.service.a.cvu().await;
        let posted = rig.service.a.credit(&new, "1.00").await;
        assert_eq!(posted["createdAt"], rig.hands.says());
        for _ in 0..2 {
            rig.service.end(true).await;
            rig.hands.pass(HOUR);
            rig.service.begin().await;
            rig.service.a.credit(&new, "1.00").await;
        }
        // Without a doubt the order has no effect.
        let again = rig.service.admin("POST", path, &word).await.is(200);
        assert_eq!(again["inDoubt"], false);
    }
}
