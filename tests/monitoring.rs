//! What watches the service: rules and dashboard ask for what `/metrics` shows, and each alert has its lines.

use std::collections::BTreeSet;
use std::time::Duration;

use caudal::backup::depot;
use caudal::backup::run::Plan;
use caudal::backup::ship::Cut;

use crate::support::{Setup, TestService};

const RULES: &str = include_str!("../src/packaging/monitoring/alerts.yml");
const DASHBOARD: &str = include_str!("../src/packaging/monitoring/dashboard.json");
const RUNBOOK: &str = include_str!("../docs/alerts.md");

fn figures(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("caudal_")).collect()
}

#[actix_web::test]
async fn rules_and_dashboard_ask_for_figures_that_are_there() {
    let depot = tempfile::tempdir().unwrap();
    let place = depot.path().to_str().unwrap();
    let service = TestService::with(Setup {
        backup: Some(Plan {
            depot: depot::open(place, true).unwrap(),
            every: Duration::from_secs(3600),
            cut: Cut::default(),
        }),
        memory: Some(1 << 30),
        ..Setup::default()
    })
    .await;
    let page = service.admin_get("/metrics").await.is(200).text;
    let shown: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    let asked = &figures(RULES) | &figures(DASHBOARD);
    assert!(asked.len() > 15, "{asked:?}");
    let unknown: Vec<_> = asked.difference(&shown).collect();
    assert!(unknown.is_empty(), "{unknown:?} are not in /metrics");
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
        let place = format!("docs/alerts.md#{}", alert.to_lowercase());
        assert!(RULES.contains(&format!("runbook: \"{place}\"")), "{alert}");
    }
}
