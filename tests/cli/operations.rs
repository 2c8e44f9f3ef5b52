//! The commands that call the admin API: there is one for every operation, and each does what it says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use caudal_service::TEST_ADMIN_KEY;
use tempfile::TempDir;

use super::{caudal, said};
use crate::support::{SOON, TestService, Value, json, wait_until};

/// Operations whose commands do more than call them.
const OTHERWISE: [(&str, &str); 6] = [
    ("listAudit", "`caudal audit` follows the pages of the log"),
    (
        "readBackup",
        "`caudal backup show` is next to the commands that read a backup itself",
    ),
    (
        "readEvidence",
        "`caudal evidence` unpacks the archive and checks its hashes",
    ),
    (
        "readStatus",
        "`caudal status` asks all nodes, and its exit code says whether all is well",
    ),
    (
        "shipBackup",
        "`caudal backup` waits for as long as it takes, and ships the folder of a stopped service",
    ),
    (
        "verify",
        "`caudal verify` waits for as long as it takes, and verifies the folder of a stopped service",
    ),
];

/// The operation that each command calls (`POST /admin/cases/{id}/decide`), by its words, as the manual pages say.
fn calls() -> BTreeMap<String, String> {
    let folder = TempDir::new().unwrap();
    let pages = folder.path().to_str().unwrap();
    let (code, _, why) = said(&caudal(&["man", pages]).output().unwrap());
    assert_eq!(code, Some(0), "{why}");
    let mut found = BTreeMap::new();
    for page in fs::read_dir(folder.path()).unwrap() {
        let page = fs::read_to_string(page.unwrap().path()).unwrap();
        let page = page.replace('\\', "");
        let mut lines = page.lines();
        let call = lines.clone().find_map(|it| it.strip_prefix("Admin API: "));
        let words = lines.find_map(|it| it.strip_prefix("fBcaudal ")?.split("fR").next());
        if let Some(call) = call {
            found.insert(words.unwrap().to_owned(), call.to_owned());
        }
    }
    found
}

#[test]
fn every_operation_has_a_command() {
    let document = serde_json::to_value(caudal_operators::admin::openapi()).unwrap();
    let mut there = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let call = format!("{} {path}", method.to_uppercase());
            there.insert(call, operation["operationId"].as_str().unwrap().to_owned());
        }
    }
    let calls: BTreeSet<_> = calls().into_values().collect();
    for call in &calls {
        assert!(there.contains_key(call), "{call} is no operation");
    }
    there.retain(|call, _| !calls.contains(call));
    let without: BTreeSet<_> = there.values().map(String::as_str).collect();
    assert_eq!(without, OTHERWISE.map(|(id, _)| id).into());
}

/// Runs the program as an operator does, and keeps what ran and what was wrong with it.
struct CommandRunner {
    admin: String,
    ran: Vec<String>,
    wrong: Vec<String>,
}

impl CommandRunner {
    /// Runs commands one after the other: in each line an exit code, a command, and what it prints. Returns all that
    /// they print.
    fn run(&mut self, who: &str, script: &str) -> Vec<String> {
        let mut all = Vec::new();
        let lines = script.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty()) {
            let (code, rest) = line.split_once(' ').unwrap();
            let (line, text) = rest.split_once(" →").unwrap();
            let text = text.trim();
            let mut command = caudal(&line.split(' ').collect::<Vec<_>>());
            command.env("CAUDAL_ADMIN_URL", &self.admin);
            command.env("CAUDAL_ADMIN_KEY", who);
            command.env("CAUDAL_REASON", "seen on paper");
            let (ended, out, why) = said(&command.output().unwrap());
            let printed = if code == "0" { &out } else { &why };
            if ended != code.parse().ok() || !printed.contains(text) {
                let wrong = format!("{line}: not {code} {text:?} but {ended:?} {out} {why}");
                self.wrong.push(wrong);
            }
            self.ran.push(line.to_owned());
            all.push(out);
        }
        all
    }

    /// Runs a command, and returns the JSON that it prints.
    fn read(&mut self, who: &str, line: &str) -> Value {
        let line = format!("0 {} --json →", line.trim_end_matches(" --json"));
        let out = self.run(who, &line);
        serde_json::from_str(&out[0]).unwrap()
    }
}

fn id(found: &Value) -> &str {
    found["id"].as_str().unwrap()
}

/// Decides cases: at once, and with a second person above the amount of the policy. Returns the credential of an
/// operator.
async fn cases(
    runner: &mut CommandRunner,
    service: &TestService,
    [open, closed]: [&str; 2],
) -> String {
    service.a.credit(open, "100.00").await;
    let small = service.parked(closed, "1250.00", 0).await;
    let large = service.parked(closed, "5000.01", 0).await;
    let (small, large) = (id(&small), id(&large));
    let people = runner.run(
        TEST_ADMIN_KEY,
        "0 admin people add ana --role operator → cdl_op_
        0 admin people add eva --role approver → cdl_op_
        0 tenant set tnt_first --decisions-above 5000.00 → 5,000.00",
    );
    let [ana, eva] = [0, 1].map(|at: usize| people[at].lines().next().unwrap());
    let decide = format!("cases decide {large} credit --cvu {open}");
    let script = format!(
        "0 cases list --kind suspense --tenant tnt_first --mode test → 1,250.00
        0 cases list --limit 1 → 1 of 2: continue with --offset 1
        0 cases show {small} → coelsa id
        1 cases decide {small} credit → cvu is required
        0 cases decide {small} credit --cvu {open} → decided
        1 cases decide {small} return → case_decided: Read it
        1 cases show trf_1 → case_not_found: List
        0 {decide} → approval 1 waits for a second person
        0 cases show {large} → open
        1 approvals approve 1 → role_missing"
    );
    runner.run(ana, &script);
    let asked = runner.read(ana, &decide);
    assert_eq!(
        [&asked["id"], &asked["state"]],
        [&json!(2), &json!("waiting")]
    );
    let script = format!(
        "0 approvals list → waiting
        0 approvals show 1 → 5,000.01
        0 approvals approve 1 → done
        0 approvals reject 2 → rejected
        0 cases show {large} → ana + eva
        0 admin me rotate → shown this once"
    );
    runner.run(eva, &script);
    assert_eq!(service.a.available(open).await, "6350.01");
    ana.to_owned()
}

async fn transfers(runner: &mut CommandRunner, service: &TestService, ana: &str, cvu: &str) {
    let to = json!({"alias": "DESTINO.2"});
    let sent = service.a.transfer(cvu, to, "10.00").await.is(201).json;
    let sent = service.a.settled(&sent, "in_progress").await;
    let (sent, origin) = (id(&sent), sent["originId"].as_str().unwrap());
    let script = format!(
        "0 find {origin} → {sent}
        1 find nobody-has-this → nothing has this id
        0 transfers show {sent} → not_waiting
        1 transfers decide {sent} rejected → transfer_not_in_audit
        0 transfers decide {sent} rejected --force --bank-reference 1-30 → forced
        0 admin me show → operator
        1 admin people role eva viewer → role_missing"
    );
    runner.run(ana, &script);
}

async fn webhooks(runner: &mut CommandRunner, service: &TestService) {
    let hook = json!({"url": "http://127.0.0.1:9/", "types": ["voucher.created"]});
    let hook = service.a.post("/v1/webhooks", &hook).await.is(201).json;
    let hook = id(&hook);
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "5.00").await;
    let path = format!("/v1/webhooks/{hook}");
    let list = format!("{path}/deliveries");
    let delivery = wait_until("something is delivered", SOON, async || {
        let page = service.a.get(&list).await.is(200);
        page["items"].get(0).cloned()
    })
    .await;
    let event = delivery["eventId"].as_str().unwrap();
    let pause = json!({"active": false});
    service.a.patch(&path, &pause).await.is(200);
    let delivery = id(&delivery);
    let script = format!(
        "0 webhooks list → paused
        0 webhooks resume {hook} → active
        0 webhooks redeliver {hook} --from {event} → {event}
        0 webhooks redeliver-one {delivery} → {event}"
    );
    runner.run(TEST_ADMIN_KEY, &script);
    let change = json!([{"field": "status", "before": "paused", "after": "active"}]);
    let log = runner.read(TEST_ADMIN_KEY, "audit --action resumeWebhook");
    assert_eq!(log[0]["changes"], change);
}

fn tenants(runner: &mut CommandRunner, cvu: &str) {
    let fee = "voucherTypeCode=OUT,percentage=0.6,minimum=1000.00,charge=false";
    let rules = r#"direction=out,textContains=comision,class=bank_fee {"direction":"in","textContains":"a,b","class":"funding"}"#;
    let keys = runner.run(
        TEST_ADMIN_KEY,
        "0 key issue tnt_first --mode test --scope read --allow-ip 10.20.0.0/16 --expires-in 600 → cdl_test_",
    );
    let key = keys[0].split('_').nth(2).unwrap();
    let script = format!(
        "0 key list tnt_first → 10.20.0.0/16
        0 key rotate {key} --overlap-seconds 60 → cdl_test_
        0 key revoke {key} → revoked
        0 tenant create Sur --limit dailyAmount=7.00,dailyCount=none --limit-raises true → tnt_
        0 tenant list → Sur
        0 tenant set tnt_first --name Norte --close-requires-zero-balance true --test open → Norte
        0 tenant show tnt_first → close requires zero balance  yes
        1 tenant show tnt_none → tenant_not_found
        0 limits set tnt_first dailyAmount=1234567.00 dailyCount=900 maxBalance=none → 1,234,567.00
        2 limits set tnt_first dailyAmount → is not NAME=VALUE
        1 limits set tnt_first daylyAmount=1.00 → did you mean dailyAmount?
        0 limits show tnt_first → daily count   900
        0 limits show-platform → none
        0 limits set-platform monthlyCount=70000 → 70000
        0 fees set tnt_first {fee} → 1,000.00
        0 fees show tnt_first → OUT
        0 fees set tnt_first none → voucher type code
        0 fees set-platform voucherTypeCode=TRANSFER_OUT,fixed=1.00,charge=false → TRANSFER_OUT
        0 fees show-platform → TRANSFER_OUT
        0 fees set-account {cvu} {fee} → 0.6
        0 fees show-account {cvu} → 0.6
        0 collector-rules set tnt_first {rules} → comision
        0 collector-rules show tnt_first → a,b
        0 seal-keys show tnt_first → live
        0 seal-keys rotate tnt_first → test"
    );
    runner.run(TEST_ADMIN_KEY, &script);
}

/// The log of a test belongs to the test, so that its level cannot be changed.
fn accounts_and_the_service(runner: &mut CommandRunner, cvu: &str) {
    let script = format!(
        "0 accounts suspend {cvu} --code fraud → suspended
        0 accounts reactivate {cvu} → active
        0 accounts show {cvu} → resident
        0 accounts verify {cvu} → ok
        0 accounts unload {cvu} → passivated
        1 accounts show 7 → cvu
        2 accounts show ../7 → is no id
        0 accounts realms → tnt_first
        0 treasury → clients
        0 outgoing show → held  no
        0 outgoing release --by Ana → held  no
        0 clock show → in doubt  no
        1 clock confirm → by is required
        0 clock confirm --by Ana → in doubt  no
        0 journal → writable
        0 memory → KiB
        1 log set caudal_bank=debug --for 60 → log_not_changed
        0 log show → dropped lines
        1 log reset → log_not_changed
        0 node status → commit
        1 node hand-over → there are no other nodes
        0 backup show → Nothing is shipped
        0 admin people list → approver
        0 admin people role eva viewer → viewer
        0 admin people rotate ana → cdl_op_
        0 admin people revoke ana → revoked"
    );
    runner.run(TEST_ADMIN_KEY, &script);
}

#[actix_web::test]
async fn each_command_does_what_it_says() {
    let (service, open, closed) = crate::cases::start().await;
    let mut runner = CommandRunner {
        admin: service.admin_client().url,
        ran: Vec::new(),
        wrong: Vec::new(),
    };
    let ana = cases(&mut runner, &service, [&open, &closed]).await;
    transfers(&mut runner, &service, &ana, &open).await;
    webhooks(&mut runner, &service).await;
    tenants(&mut runner, &open);
    accounts_and_the_service(&mut runner, &open);
    for (words, call) in calls() {
        let mut ran = runner.ran.iter();
        let line = ran.find(|line| format!("{line} ").starts_with(&format!("{words} ")));
        let line = line.unwrap_or_else(|| panic!("{words} never ran")).clone();
        // Programs can read what people can.
        if call.starts_with("GET ") {
            assert!(!runner.read(TEST_ADMIN_KEY, &line).is_null(), "{line}");
        }
    }
    assert!(runner.wrong.is_empty(), "{}", runner.wrong.join("\n"));
}
