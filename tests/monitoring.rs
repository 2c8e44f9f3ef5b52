//! Monitoring of the service: rules and dashboard use only metrics that `/metrics` shows, and each alert has its
//! lines.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use caudal_backup::backup_store;
use caudal_backup::run::BackupPlan;
use caudal_backup::ship::ObjectLimits;

use crate::support::{SOON, Setup, TestService, wait_until};

const RULES: &str = include_str!("../src/packaging/monitoring/alerts.yml");
const DASHBOARD: &str = include_str!("../src/packaging/monitoring/dashboard.json");
const RUNBOOK: &str = include_str!("../docs/alerts.md");
/// The file that makes the metrics which only nodes of a cell show; those would need a database here.
const OF_NODES: &str = include_str!("../src/operators/admin/health/log.rs");

fn figures(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ours = |word: &&str| word.starts_with("caudal_") || word.starts_with("process_");
    words.filter(ours).collect()
}

/// The name of a metric in the `# TYPE` lines of `/metrics`: a histogram has three further names.
fn family<'a>(name: &'a str, shown: &BTreeSet<&str>) -> &'a str {
    let parts = ["_bucket", "_sum", "_count"];
    let whole = parts.iter().find_map(|part| name.strip_suffix(part));
    whole.filter(|whole| shown.contains(whole)).unwrap_or(name)
}

#[actix_web::test]
async fn rules_and_dashboard_ask_for_figures_that_are_there() {
    let backup_store = tempfile::tempdir().unwrap();
    let place = backup_store.path().to_str().unwrap();
    let service = TestService::with(Setup {
        backup: Some(BackupPlan {
            backup_store: backup_store::open(place, true).unwrap(),
            every: Duration::from_secs(3600),
            cut: ObjectLimits::default(),
        }),
        memory: Some(1 << 30),
        coverage_check: Some(Duration::from_millis(100)),
        ..Setup::default()
    })
    .await;
    // An account is opened at the bank, so that requests and calls are counted.
    service.a.cvu().await;
    let page = wait_until("all figures", SOON, async || {
        let page = service.admin_get("/metrics").await.is(200).text;
        let checked = page.contains("caudal_treasury_bank_balance_pesos{");
        checked.then_some(page)
    });
    let page = page.await;
    let shown: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    let asked = &figures(RULES) | &figures(DASHBOARD);
    assert!(asked.len() > 25, "{asked:?}");
    let of_nodes = |name: &str| {
        // A row of a table there: the kind, the name, and the help in quotes.
        let row = name.strip_prefix("caudal_").map(|it| format!(" {it} \""));
        row.is_some_and(|row| OF_NODES.contains(&row))
    };
    let known = |name: &&&str| shown.contains(family(name, &shown)) || of_nodes(name);
    let unknown: Vec<_> = asked.iter().filter(|name| !known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?} are not in /metrics");
    checked(&["check", "metrics"], &page);
}

/// Has Prometheus' own tool check the input. Machines without the tool skip this, unless
/// `CAUDAL_REQUIRE_PROMTOOL` is set.
fn checked(arguments: &[&str], given: &str) {
    let mut tool = Command::new("promtool");
    tool.args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut running = match tool.stderr(Stdio::piped()).spawn() {
        Ok(running) => running,
        Err(why) => {
            let needed = std::env::var_os("CAUDAL_REQUIRE_PROMTOOL").is_some();
            assert!(!needed, "promtool: {why}");
            println!("not run: promtool: {why}");
            return;
        }
    };
    running
        .stdin
        .take()
        .unwrap()
        .write_all(given.as_bytes())
        .unwrap();
    let said = running.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, problems) = (text(&said.stdout), text(&said.stderr));
    assert!(
        said.status.success() && problems.is_empty(),
        "{out}{problems}"
    );
}

#[test]
fn the_rules_are_rules_to_prometheus() {
    let file = "src/packaging/monitoring/alerts.yml";
    checked(&["check", "rules", "--lint=all", "--lint-fatal", file], "");
}

#[test]
fn the_rules_ring_when_they_should_and_not_otherwise() {
    checked(&["test", "rules", "tests/monitoring/alerts.yml"], "");
}

/// The value in one line of `/metrics`.
pub fn figure(page: &str, name: &str, labels: &[&str]) -> Option<u64> {
    let mut lines = page.lines().filter_map(|line| line.strip_prefix(name));
    let line = lines.find(|line| labels.iter().all(|label| line.contains(label)))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[actix_web::test]
async fn what_the_service_does_is_counted_where_it_happens() {
    let service = TestService::start().await;
    let other = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    for _ in 0..3 {
        service.a.credit(&cvu, "1.00").await;
    }
    service.a.get("/v1/nowhere").await.is(404);
    let page = service.admin_get("/metrics").await.is(200).text;
    let count = |name: &str, labels: &[&str]| {
        let name = format!("caudal_{name}_count");
        figure(&page, &name, labels).unwrap_or_else(|| panic!("{name} {labels:?} in {page}"))
    };
    let request = "http_request_duration_seconds";
    let posted = "route=\"/v1/accounts/{cvu}/comprobantes\"";
    let done = [posted, "method=\"POST\"", "status=\"2xx\""];
    assert_eq!(count(request, &done), 3);
    assert_eq!(count(request, &["route=\"other\"", "status=\"4xx\""]), 1);
    let bank = ["operation=\"create_cvu\"", "outcome=\"done\""];
    assert_eq!(count("bank_call_duration_seconds", &bank), 1);
    // Everything in this test was at least one commit, one flush and one message.
    for (name, labels) in [
        ("commit_duration_seconds", ""),
        ("flush_duration_seconds", ""),
        ("flush_commits", ""),
        ("actors_mailbox_wait_seconds", "kind=\"supervisor\""),
        ("actors_mailbox_wait_seconds", "kind=\"account\""),
    ] {
        assert!(count(name, &[labels]) >= 3, "{name}");
    }
    assert!(!page.contains(&cvu), "a CVU is in {page}");
    // Another service in the process counts only its own.
    let page = other.admin_get("/metrics").await.is(200).text;
    assert!(!page.contains(posted), "{page}");
}

#[test]
fn each_alert_has_its_lines_and_each_of_these_its_alert() {
    let named = |line: &'static str| line.trim().strip_prefix("- alert: ");
    let alerts: BTreeSet<&str> = RULES.lines().filter_map(named).collect();
    let headings: BTreeSet<&str> = RUNBOOK
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect();
    assert_eq!(alerts, headings);
    for alert in alerts {
        let place = format!("/docs/alerts#{}", alert.to_lowercase());
        let url = ["{{ $externalLabels.docs_url }}", &place].concat();
        assert!(
            RULES.contains(&format!("runbook_url: \"{url}\"")),
            "{alert}"
        );
    }
}
