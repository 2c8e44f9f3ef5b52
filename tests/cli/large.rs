//! The bench's large load, in its smallest size.

use tempfile::TempDir;

use super::{caudal, said};
use crate::support::{Value, json};

#[test]
fn a_part_of_the_large_load_is_told_killed_opened_again_and_whole() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().to_str().unwrap();
    let mut bench = caudal(&["bench", "--large", "--scale", "10000", "--json", "-"]);
    bench.args(["--load-connections", "8", "--dir", dir]);
    let (code, out, told) = said(&bench.output().unwrap());
    assert_eq!(code, Some(0), "{told}");
    for line in [
        "bench: 2 000 vouchers over 200 accounts: about a minute ",
        "bench: tenth 1 of 10: ",
        "bench: tenth 10 of 10: 2 000 in all, ",
        "bench: posting in another process, which is killed",
        "last tenth by first: ",
        "opened after a kill behind 100 vouchers more: store ",
        "ledger after the large load: ok: 2 245 vouchers, 2 245 acknowledged, 200 accounts, 0 differences, 0 wrong answers",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    let report: Value = serde_json::from_str(&out).unwrap();
    let large = &report["large"];
    assert_eq!(large["tenths"].as_array().unwrap().len(), 10);
    // By tenths, twice for accounts in memory, for any account, and by the process that was killed.
    let vouchers = 2000 + 4 * 10 + 50 + 55 + 100;
    let audit = &large["audit"];
    assert_eq!(
        (&audit["vouchers"], &audit["count"], &large["accounts"]),
        (&json!(vouchers), &json!(0), &json!(200))
    );
    // On a busy machine a rate may be anything.
    for figure in ["residentPerSecond", "coldPerSecond", "coldToResident"] {
        assert!(large[figure].is_number(), "{figure}: {large}");
    }
    assert!(large["reopened"]["readyNanos"].as_u64().unwrap() > 0);
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 0, "the stores are removed");
}
