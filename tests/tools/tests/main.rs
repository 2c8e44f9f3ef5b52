//! Each scenario in its smallest size: its load passes, its kill is survived, and its ledger is whole.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Runs a scenario, and returns its report.
#[cfg(test)]
fn report(args: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let mut tools = Command::new(env!("CARGO_BIN_EXE_caudal-tools"));
    tools.args(["--workers", "1", "--arbiters", "1"]).args(args);
    tools.arg("--json").arg("--dir").arg(folder.path());
    let done = tools.output().unwrap();
    let told = String::from_utf8_lossy(&[done.stderr, done.stdout.clone()].concat()).into_owned();
    assert!(done.status.success(), "{args:?}: {told}");
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 0, "the data folders are removed: {told}");
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(report["wrongAnswers"], 0, "{report}");
    assert_eq!(report["ledger"]["count"], 0, "{report}");
    report
}

#[test]
fn a_part_of_the_large_load_is_killed_opened_again_and_whole() {
    let report = report(&["large", "--scale", "10000", "--connections", "8"]);
    assert_eq!(report["tables"][0]["rows"].as_array().unwrap().len(), 10);
    // By tenths, for accounts in memory, twice, and for any account.
    let vouchers = 2000 + 4 * 10 + 50 + 5 + 50;
    assert_eq!(report["ledger"]["vouchers"], vouchers, "{report}");
    assert_eq!(report["ledger"]["accounts"], 200);
    assert_eq!(report["bars"].as_array().unwrap().len(), 5, "{report}");
}

#[test]
fn a_growing_store_has_an_account_with_many_vouchers() {
    let report = report(&[
        "growth",
        "--vouchers",
        "500",
        "--accounts",
        "20",
        "--hot",
        "70",
        "--connections",
        "4",
    ]);
    let ledger = &report["ledger"];
    assert_eq!(
        (&ledger["vouchers"], &ledger["accounts"]),
        (&570.into(), &21.into())
    );
}

#[test]
fn days_are_closed_next_to_vouchers() {
    let report = report(&[
        "closing",
        "--accounts",
        "30",
        "--seconds",
        "1",
        "--turns",
        "1",
    ]);
    assert_eq!(report["bars"].as_array().unwrap().len(), 3, "{report}");
    assert_eq!(report["ledger"]["accounts"], 30);
}

#[test]
fn state_after_overload_is_consistent() {
    let report = report(&[
        "overload",
        "--seconds",
        "1",
        "--accounts",
        "20",
        "--connections",
        "64",
    ]);
    assert!(
        report["ledger"]["acknowledged"].as_u64().unwrap() > 0,
        "{report}"
    );
}

#[test]
fn a_quiet_tenant_is_measured_alone_and_next_to_each_flood() {
    let report = report(&[
        "neighbours",
        "--seconds",
        "1",
        "--accounts",
        "20",
        "--items",
        "9",
        "--turns",
        "1",
    ]);
    assert_eq!(report["bars"].as_array().unwrap().len(), 3, "{report}");
    assert_eq!(report["ledger"]["accounts"], 40);
}

#[test]
fn a_backup_is_restored_by_the_program() {
    let program = Path::new(env!("CARGO_BIN_EXE_caudal-tools")).with_file_name("caudal");
    // It is there when the whole workspace is built.
    if program.exists() {
        let report = report(&["restoring", "--thousands", "2", "--accounts", "20"]);
        assert_eq!(report["ledger"]["vouchers"], 2000, "{report}");
    }
}

#[test]
fn a_load_without_room_is_refused_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut tools = Command::new(env!("CARGO_BIN_EXE_caudal-tools"));
    tools
        .args(["growth", "--vouchers", "1000000000000", "--dir"])
        .arg(folder.path());
    let done = tools.output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success() && told.contains("--dir"), "{told}");
}
