//! Compares the ledger with the vouchers acknowledged to the client: every acknowledged voucher exists, and the
//! balances add up.

use caudal_actors::verify;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_storage::Index;
use serde::{Deserialize, Serialize};

use super::figures::grouped;
use super::tally::Tally;

/// The most differences that are named.
const NAMED_MAX: usize = 10;

/// The result of an audit.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Audit {
    /// Accounts that were compared.
    pub accounts: u64,
    /// Vouchers that were acknowledged to the client.
    pub acknowledged: u64,
    /// Vouchers whose answer the client never got.
    pub unsure: u64,
    /// Vouchers that the ledger has.
    pub vouchers: u64,
    /// The differences, in words; at most ten.
    pub differences: Vec<String>,
    /// How many differences there are in all.
    pub count: u64,
}

impl Audit {
    fn differs(&mut self, what: String) {
        self.count += 1;
        if self.differences.len() < NAMED_MAX {
            self.differences.push(what);
        }
    }

    /// Whether the ledger matches the acknowledgements.
    pub const fn passed(&self) -> bool {
        self.count == 0
    }

    /// The verdict, which also depends on whether every answer was right, and the differences.
    pub fn summary(&self, wrong_answers: u64) -> String {
        let right = self.passed() && wrong_answers == 0;
        let mut text = format!(
            "ledger: {}: {} vouchers, {} acknowledged, {} accounts, {} differences, {wrong_answers} wrong answers\n",
            if right { "ok" } else { "FAIL" },
            grouped(self.vouchers),
            grouped(self.acknowledged),
            grouped(self.accounts),
            grouped(self.count),
        );
        self.differences
            .iter()
            .for_each(|it| text.push_str(&format!("  {it}\n")));
        text
    }
}

/// Replays the whole journal and compares it with the index and with the client's state.
pub fn ledger(store: &dyn Index, realms: &[(RealmId, &Tally)]) -> anyhow::Result<Audit> {
    let (report, histories) = verify::store(store, &mut |_| {})?;
    let mut audit = Audit {
        vouchers: report.vouchers,
        ..Audit::default()
    };
    for what in report.differences {
        audit.differs(what);
    }
    audit.count = report.count;
    let (mut least, mut most, mut total) = (0_u64, 0_u64, 0_u64);
    for (realm, tally) in realms {
        least += tally.deposits;
        most += tally.deposits.saturating_add(tally.unsure_deposits);
        for (number, line) in (1_u64..).zip(&tally.lines) {
            audit.accounts += 1;
            audit.acknowledged += line.acknowledged;
            audit.unsure += line.unsure;
            let Some(history) = histories.get(&(*realm, AccountNo(number))) else {
                audit.differs(format!("account {number} is not in the journal"));
                continue;
            };
            let most = line.acknowledged.saturating_add(line.unsure);
            if !(line.acknowledged..=most).contains(&history.sequence) {
                audit.differs(format!(
                    "account {number} has {} vouchers, {} were acknowledged",
                    history.sequence, line.acknowledged
                ));
            }
            let balance = u64::try_from(history.balance.total().centavos()).unwrap_or(0);
            total += balance;
            if !line.allows(balance) {
                audit.differs(format!(
                    "account {number} has {balance} centavos, {} were acknowledged",
                    line.balance
                ));
            }
        }
    }
    // Transfers between accounts do not change it.
    if !(least..=most).contains(&total) {
        audit.differs(format!(
            "all accounts have {total} centavos, {least} were credited to them"
        ));
    }
    let most = audit.acknowledged.saturating_add(audit.unsure);
    if !(audit.acknowledged..=most).contains(&audit.vouchers) {
        audit.differs(format!(
            "the ledger has {} vouchers, {} were acknowledged",
            audit.vouchers, audit.acknowledged
        ));
    }
    Ok(audit)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use caudal_actors::records::projection::ServiceProjection;
    use caudal_storage::FaultyStore;

    use super::*;
    use crate::tally::AccountTally;

    #[test]
    fn a_voucher_that_is_missing_is_a_failure() {
        let rows = Arc::new(ServiceProjection);
        let store = FaultyStore::new(rows, 1);
        let mut tally = Tally::new(1);
        let audit = ledger(store.as_ref(), &[(RealmId(2), &tally)]).unwrap();
        assert!(!audit.passed(), "the account was never opened");
        tally.lines = Vec::new();
        assert!(
            ledger(store.as_ref(), &[(RealmId(2), &tally)])
                .unwrap()
                .passed()
        );
        tally.lines.push(AccountTally {
            acknowledged: 1,
            balance: 1000,
            ..AccountTally::default()
        });
        let audit = ledger(store.as_ref(), &[(RealmId(2), &tally)]).unwrap();
        assert_eq!(audit.count, 2, "{audit:?}");
    }
}
