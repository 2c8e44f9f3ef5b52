//! The gateway against the sandbox bank, in each of its moods.

mod fake;
mod hostile;
mod listing;
mod lookups;
mod moved;
mod mutated;
mod notices;
mod patience;
mod refusals;
mod remuneration;
mod transfers;

use std::sync::Arc;
use std::thread;

use caudal_actors::ports::BankReply;
use caudal_ledger::facts::BankRefusal;
use caudal_sandbox::{COLLECTOR, PASSWORD, Running, Sandbox, SandboxOptions, USERNAME};
use serde_json::{Value, json};

use super::*;
use patience::{MANY, found_again, hasty, hasty_at_work};

const ID: &str = "req-1";
/// When a test gives up waiting.
const HANG: Duration = Duration::from_secs(120);

/// A configuration with times that suffice on a busy machine.
fn config(url: &str) -> Config {
    Config {
        attempt_timeout: CallTimeout::new(HANG),
        deadline: HANG,
        replica_lag: Duration::from_millis(20),
        ..Config::new(url, USERNAME, PASSWORD, COLLECTOR)
    }
}

fn gateway(url: &str) -> HttpGateway {
    HttpGateway::new(config(url)).unwrap()
}

fn rig() -> (Running, HttpGateway) {
    let bank = Sandbox::start(SandboxOptions::default()).unwrap();
    let gateway = gateway(&bank.url());
    (bank, gateway)
}

fn holder() -> Holder {
    let cuit = Cuit::parse("20055361682").unwrap();
    Holder {
        cuit,
        name: "Ana O'Higgins".into(),
        person_type: cuit.person_type(),
    }
}

/// A client that needs no certificates of the machine.
fn http() -> reqwest::Client {
    let builder = reqwest::Client::builder().tls_certs_only([]).no_proxy();
    builder.build().unwrap()
}

async fn behave(bank: &Running, operation: &str, mode: &str, more: Value) {
    let mut order = json!({"operation": operation, "mode": mode});
    let members = order.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    let url = format!("{}/sandbox/behaviour", bank.url());
    let sent = http().post(url).json(&order).send().await;
    assert_eq!(sent.unwrap().status(), 200);
}

async fn state(bank: &Running) -> Value {
    let url = format!("{}/sandbox/state", bank.url());
    http().get(url).send().await.unwrap().json().await.unwrap()
}

fn operations<T>(reply: &BankReply<T>) -> Vec<(&str, Option<u16>)> {
    let calls = reply.calls.iter();
    calls
        .map(|call| (call.operation.as_str(), call.status))
        .collect()
}

fn refused<T: std::fmt::Debug>(reply: BankReply<T>) -> (u16, String) {
    match reply.result {
        Err(BankError::Refused(BankRefusal { status, body })) => (status, wire::code(&body)),
        other => panic!("{other:?}"),
    }
}

#[actix_web::test]
async fn a_cvu_is_created_once() {
    let (bank, gateway) = rig();
    let first = gateway.create_cvu(910_000_274_931, &holder(), ID).await;
    let cvu = Cvu::compose(999, 910_000_274_931).unwrap();
    assert_eq!(first.result, Ok(cvu));
    assert_eq!(
        operations(&first),
        [("login", Some(200)), ("create_cvu", Some(200))]
    );
    let again = gateway.create_cvu(910_000_274_931, &holder(), ID).await;
    assert_eq!(again.result, Ok(cvu));
    assert_eq!(operations(&again), [("create_cvu", Some(200))]);
    let state = state(&bank).await;
    assert_eq!(state["accountsTotal"], 1);
    assert_eq!(state["accounts"][0]["name"], "Ana OHiggins");
}

#[actix_web::test]
async fn a_node_that_is_not_certain_to_own_the_log_calls_no_bank() {
    use std::sync::atomic::AtomicBool;
    let (_bank, gateway) = rig();
    let owns = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&owns);
    let gateway = gateway.calling_while(Arc::new(move || asked.load(Ordering::SeqCst)));
    gateway.log_in().await;
    // The lease ends right before the call is sent.
    let ends = || owns.store(false, Ordering::SeqCst);
    let ask = BankRequest::create_cvu(&gateway.config, 78, &holder());
    let deadline = gateway.deadline();
    let reply = gateway.perform_asking(ask, ID, deadline, &ends).await;
    assert!(matches!(reply.result, Err(BankError::Failed { .. })));
    assert_eq!(operations(&reply), [], "nothing was sent");
    let reply = gateway.create_cvu(78, &holder(), ID).await;
    assert!(matches!(reply.result, Err(BankError::Failed { .. })));
    assert_eq!(operations(&reply), []);
    owns.store(true, Ordering::SeqCst);
    assert!(gateway.create_cvu(78, &holder(), ID).await.result.is_ok());
}

#[actix_web::test]
async fn the_journal_knows_no_persons_and_no_secrets() {
    let (_bank, gateway) = rig();
    let created = gateway.create_cvu(77, &holder(), ID).await;
    let cvu = created.result.unwrap();
    let cuit = holder().cuit;
    let alias = gateway.set_alias(cvu, cuit, None, ID).await;
    let renamed = gateway.rename(cvu, "Eva Perez", ID).await;
    let closed = gateway.close(cvu, cuit, ID).await;
    assert!(alias.result.is_ok() && renamed.result == Ok(()) && closed.result == Ok(()));
    let calls = [created.calls, alias.calls, renamed.calls, closed.calls].concat();
    assert_eq!(calls.len(), 5);
    for call in &calls {
        let text = format!("{call:?}");
        for secret in [cuit.as_str(), cvu.as_str(), "Ana", "Eva", PASSWORD, "JWT"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert_eq!(call.correlation, ID);
        assert!(serde_json::from_str::<Value>(&call.request).is_ok());
        if call.operation != "login" {
            assert_eq!(call.reference, "77");
        }
    }
    assert!(calls[1].body.contains(cvu.last4()), "{}", calls[1].body);
    assert!(!format!("{gateway:?}").contains(PASSWORD));
}

#[actix_web::test]
async fn a_rejection_is_final_and_without_effect() {
    let (bank, gateway) = rig();
    behave(&bank, "create_cvu", "reject", json!({"count": 1})).await;
    let reply = gateway.create_cvu(1, &holder(), ID).await;
    assert_eq!(operations(&reply).len(), 2);
    assert_eq!(refused(reply), (409, "VW013".into()));
    assert_eq!(state(&bank).await["accountsTotal"], 0);
    assert!(gateway.create_cvu(1, &holder(), ID).await.result.is_ok());
}

#[actix_web::test]
async fn an_error_is_tried_again_and_then_given_back() {
    let (bank, gateway) = rig();
    behave(&bank, "create_cvu", "error", json!({})).await;
    let reply = gateway.create_cvu(1, &holder(), ID).await;
    assert_eq!(operations(&reply)[1..], [("create_cvu", Some(500)); 3]);
    let Err(BankError::Failed { status, body }) = reply.result else {
        panic!("{reply:?}");
    };
    assert_eq!((status, wire::code(&body).as_str()), (Some(500), "GE500"));
    assert_eq!(state(&bank).await["accountsTotal"], 0);
    behave(&bank, "create_cvu", "error", json!({"count": 2})).await;
    let reply = gateway.create_cvu(1, &holder(), ID).await;
    assert!(reply.result.is_ok());
    assert_eq!(operations(&reply).len(), 3);
}

#[actix_web::test]
async fn a_timeout_happens_and_is_found_again() {
    let bank = Sandbox::start(SandboxOptions::default()).unwrap();
    let mut gateway = hasty_at_work(&bank.url()).await;
    behave(&bank, "create_cvu", "timeout", json!({})).await;
    let reply = gateway.create_cvu(1, &holder(), ID).await;
    assert_eq!(reply.result, Err(BankError::TimedOut));
    assert_eq!(operations(&reply), [("create_cvu", None); 3]);
    assert_eq!(state(&bank).await["accountsTotal"], 1);
    behave(&bank, "create_cvu", "timeout", json!({"count": 1})).await;
    gateway.config.attempts = MANY;
    let reply = gateway.create_cvu(1, &holder(), ID).await;
    assert_eq!(reply.result, Ok(Cvu::compose(999, 1).unwrap()));
    found_again(&reply, "create_cvu");
    gateway.config.attempts = ATTEMPTS_MAX;
    assert_eq!(state(&bank).await["accountsTotal"], 1);
    // Held requests do not delay the end.
    behave(&bank, "create_cvu", "timeout", json!({})).await;
    drop(gateway.create_cvu(2, &holder(), ID).await);
    let stopped = tokio::time::timeout(HANG, bank.stop()).await;
    stopped.expect("the bank ends").unwrap();
}

#[actix_web::test]
async fn the_deadline_holds_over_all_attempts() {
    let bank = Sandbox::start(SandboxOptions::default()).unwrap();
    let mut gateway = gateway(&bank.url());
    gateway.log_in().await;
    gateway.config.deadline = Duration::from_millis(300);
    behave(&bank, "create_cvu", "timeout", json!({})).await;
    // An attempt may take much longer than the operation, so only the operation's deadline ends it.
    let reply = gateway.create_cvu(1, &holder(), ID).await;
    assert_eq!(reply.result, Err(BankError::TimedOut));
    assert_eq!(operations(&reply), [("create_cvu", None)]);
}

#[actix_web::test]
async fn a_late_answer_counts_in_time_only() {
    let (bank, gateway) = rig();
    behave(
        &bank,
        "create_cvu",
        "late",
        json!({"delayMillis": 60, "count": 1}),
    )
    .await;
    let reply = gateway.create_cvu(1, &holder(), ID).await;
    assert!(reply.result.is_ok());
    assert!(reply.calls[1].millis >= 60);
    behave(
        &bank,
        "rename",
        "late",
        json!({"delayMillis": 60_000, "count": 1}),
    )
    .await;
    let cvu = Cvu::compose(999, 1).unwrap();
    let mut gateway = hasty_at_work(&bank.url()).await;
    gateway.config.attempts = MANY;
    let reply = gateway.rename(cvu, "Eva Perez", ID).await;
    assert_eq!(reply.result, Ok(()));
    found_again(&reply, "rename");
}

#[actix_web::test]
async fn a_lost_connection_is_tried_again() {
    let (bank, gateway) = rig();
    behave(&bank, "create_cvu", "reset", json!({"count": 1})).await;
    let reply = gateway.create_cvu(1, &holder(), ID).await;
    assert!(reply.result.is_ok());
    assert_eq!(
        operations(&reply)[1..],
        [("create_cvu", None), ("create_cvu", Some(200))]
    );
    assert_eq!(state(&bank).await["accountsTotal"], 1);
    behave(&bank, "create_cvu", "reset", json!({})).await;
    let reply = gateway.create_cvu(2, &holder(), ID).await;
    assert!(
        matches!(reply.result, Err(BankError::Failed { status: None, .. })),
        "{reply:?}"
    );
    assert_eq!(operations(&reply).len(), 3);
}

#[actix_web::test]
async fn garbage_is_doubt() {
    let (bank, gateway) = rig();
    behave(&bank, "create_cvu", "garbage", json!({"count": 1})).await;
    let reply = gateway.create_cvu(1, &holder(), ID).await;
    let (status, body) = (Some(200), "{}".to_owned());
    assert_eq!(reply.result, Err(BankError::Failed { status, body }));
    assert_eq!(operations(&reply).len(), 2);
    assert_eq!(state(&bank).await["accountsTotal"], 1);
    let reply = gateway.create_cvu(1, &holder(), ID).await;
    assert_eq!(reply.result, Ok(Cvu::compose(999, 1).unwrap()));
}

#[actix_web::test]
async fn aliases() {
    let (bank, gateway) = rig();
    let cuit = holder().cuit;
    let alias = Alias::parse("Mi.Alias").unwrap();
    let cvu = gateway.create_cvu(1, &holder(), ID).await.result.unwrap();
    // The effect happens, the answer is lost, and "has it already" is a yes.
    behave(&bank, "set_alias", "reset", json!({"count": 1})).await;
    let reply = gateway.set_alias(cvu, cuit, Some(&alias), ID).await;
    assert_eq!(reply.result, Ok(alias.clone()));
    assert_eq!(
        operations(&reply),
        [("set_alias", None), ("set_alias", Some(409))]
    );
    // In other letters it is the same alias, returned as the order spelled it.
    let loud = Alias::parse("MI.ALIAS").unwrap();
    let reply = gateway.set_alias(cvu, cuit, Some(&loud), ID).await;
    assert_eq!(reply.result.unwrap().as_str(), "MI.ALIAS");
    // A number in an alias may be somebody's.
    let numbered = Alias::parse("cdl.20055361682").unwrap();
    let reply = gateway.set_alias(cvu, cuit, Some(&numbered), ID).await;
    assert_eq!(reply.result, Ok(numbered));
    let answer = format!("{:?}", reply.calls);
    assert!(
        reply.calls[0].request.contains("…") && !answer.contains("cdl."),
        "{answer}"
    );
    // Replica lag.
    let code = json!({"count": 2, "code": "VW006"});
    behave(&bank, "set_alias", "reject", code).await;
    let other = Alias::parse("otro.alias").unwrap();
    let reply = gateway.set_alias(cvu, cuit, Some(&other), ID).await;
    assert_eq!(reply.result, Ok(other));
    assert_eq!(operations(&reply).len(), 3);
    // Another holder's alias, now or in the past; a CVU that does not exist.
    let second = Holder {
        cuit: Cuit::parse("30717449076").unwrap(),
        ..holder()
    };
    let cvu_2 = gateway.create_cvu(2, &second, ID).await.result.unwrap();
    for taken in ["otro.alias", "mi.alias"] {
        let taken = Alias::parse(taken).unwrap();
        let reply = gateway
            .set_alias(cvu_2, second.cuit, Some(&taken), ID)
            .await;
        assert_eq!(refused(reply), (409, "VW007".into()));
    }
    let reply = gateway.set_alias(cvu_2, cuit, Some(&loud), ID).await;
    assert_eq!(refused(reply), (409, "VW009".into()));
    let nobody = Cvu::compose(999, 3).unwrap();
    let reply = gateway.set_alias(nobody, cuit, Some(&loud), ID).await;
    assert_eq!(operations(&reply).len(), 3);
    assert_eq!(refused(reply), (409, "VW006".into()));
}

#[actix_web::test]
async fn the_bank_assigns_one_alias() {
    let (bank, gateway) = rig();
    let cvu = gateway.create_cvu(1, &holder(), ID).await.result.unwrap();
    behave(&bank, "set_alias", "reset", json!({"count": 1})).await;
    let first = gateway.set_alias(cvu, holder().cuit, None, ID).await;
    let again = gateway.set_alias(cvu, holder().cuit, None, ID).await;
    assert_eq!(operations(&first).len(), 2);
    let alias = first.result.unwrap();
    assert_eq!(alias.as_str().split('.').count(), 3);
    assert_eq!(again.result, Ok(alias));
}

#[actix_web::test]
async fn closing_twice_is_closing_once() {
    let (bank, gateway) = rig();
    let cvu = gateway.create_cvu(1, &holder(), ID).await.result.unwrap();
    let other_holder = Cuit::parse("30717449076").unwrap();
    let reply = gateway.close(cvu, other_holder, ID).await;
    assert_eq!(
        operations(&reply),
        [("close", Some(409)), ("lookup", Some(200))]
    );
    assert_eq!(refused(reply), (409, "VW015".into()));
    behave(&bank, "close", "reset", json!({"count": 1})).await;
    let reply = gateway.close(cvu, holder().cuit, ID).await;
    assert_eq!(reply.result, Ok(()));
    let seen = [("close", None), ("close", Some(409)), ("lookup", Some(200))];
    assert_eq!(operations(&reply), seen);
    assert_eq!(gateway.close(cvu, holder().cuit, ID).await.result, Ok(()));
    // Whether it is closed is unknown while the bank does not say.
    behave(&bank, "lookup", "error", json!({})).await;
    let reply = gateway.close(cvu, holder().cuit, ID).await;
    assert!(matches!(
        reply.result,
        Err(BankError::Failed {
            status: Some(500),
            ..
        })
    ));
    let reply = gateway.rename(cvu, "Eva Perez", ID).await;
    assert_eq!(refused(reply), (409, "VW006".into()));
    // The same client id gives the same CVU again.
    assert_eq!(gateway.create_cvu(1, &holder(), ID).await.result, Ok(cvu));
    assert_eq!(state(&bank).await["accounts"][0]["active"], true);
}

#[actix_web::test]
async fn a_login_that_is_over_is_renewed_once() {
    let (bank, gateway) = rig();
    gateway.create_cvu(1, &holder(), ID).await.result.unwrap();
    let url = format!("{}/sandbox/expire-tokens", bank.url());
    http().post(url).send().await.unwrap();
    let reply = gateway.create_cvu(1, &holder(), ID).await;
    assert!(reply.result.is_ok());
    let seen = [
        ("create_cvu", Some(401)),
        ("login", Some(200)),
        ("create_cvu", Some(200)),
    ];
    assert_eq!(operations(&reply), seen);
}

#[actix_web::test]
async fn our_own_login_refused_is_no_answer_about_the_account() {
    let bank = Sandbox::start(SandboxOptions::default()).unwrap();
    let config = Config {
        password: "wrong".into(),
        ..config(&bank.url())
    };
    let gateway = HttpGateway::new(config).unwrap();
    let reply = gateway.create_cvu(1, &holder(), ID).await;
    assert!(matches!(
        reply.result,
        Err(BankError::Failed {
            status: Some(401),
            ..
        })
    ));
    assert_eq!(operations(&reply), [("login", Some(401))]);
}

#[actix_web::test]
async fn a_bank_that_restarts_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = SandboxOptions {
        data_dir: Some(folder.path().to_owned()),
        ..SandboxOptions::default()
    };
    let bank = Sandbox::start(options.clone()).unwrap();
    let gateway = gateway(&bank.url());
    let cvu = gateway.create_cvu(1, &holder(), ID).await.result.unwrap();
    let alias = gateway
        .set_alias(cvu, holder().cuit, None, ID)
        .await
        .result
        .unwrap();
    options.listen = bank.addr;
    bank.stop().await.unwrap();
    let reply = gateway.create_cvu(1, &holder(), ID).await;
    assert!(
        matches!(reply.result, Err(BankError::Failed { status: None, .. })),
        "{reply:?}"
    );
    let _bank = Sandbox::start(options).unwrap();
    assert_eq!(gateway.create_cvu(1, &holder(), ID).await.result, Ok(cvu));
    let again = gateway.set_alias(cvu, holder().cuit, None, ID).await.result;
    assert_eq!(again, Ok(alias));
}

#[test]
fn runtimes_share_a_gateway_but_no_connection() {
    let bank = Sandbox::start(SandboxOptions::default()).unwrap();
    let gateway = Arc::new(gateway(&bank.url()));
    let run = |from: u64| {
        let gateway = gateway.clone();
        thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                for client_id in from..from + 10 {
                    let reply = gateway.create_cvu(client_id, &holder(), ID).await;
                    let made = reply
                        .calls
                        .iter()
                        .filter(|c| c.operation == "create_cvu")
                        .count();
                    assert!(reply.result.is_ok() && made == 1, "{reply:?}");
                }
            });
        })
    };
    // One after the other: the second runtime must not use connections that ended with the first.
    run(100).join().unwrap();
    run(200).join().unwrap();
    let both = [run(300), run(400)];
    for one in both {
        one.join().unwrap();
    }
}

#[test]
fn only_fit_urls_are_taken() {
    // No gateway is made here: that would need the machine's certificates.
    assert!(fit(Url::parse("https://api.bank.example/x").unwrap(), false).is_ok());
    for good in ["http://127.0.0.1:1/x", "http://[::1]:1", "http://localhost"] {
        assert!(HttpGateway::new(config(good)).is_ok(), "{good}");
    }
    for bad in [
        "http://bank.example",
        "ftp://127.0.0.1",
        "https://a:b@bank.example",
        "bank",
        "https://b/?x=1",
    ] {
        assert!(HttpGateway::new(config(bad)).is_err(), "{bad}");
    }
    let private = Url::parse("http://bank:8082").unwrap();
    assert!(fit(private, true).is_ok());
    let never = Config {
        attempts: 0,
        ..config("http://localhost")
    };
    assert!(matches!(HttpGateway::new(never), Err(GatewayError::Zero)));
}
