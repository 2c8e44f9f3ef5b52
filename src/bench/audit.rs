//! Compares the ledger with the vouchers acknowledged to the client: every acknowledged voucher exists, and the
//! balances add up.

use caudal_actors::verify;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_storage::Index;
use serde::Serialize;

use super::tally::Tally;

/// The most differences that are named.
const NAMED_MAX: usize = 10;

/// The result of an audit.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
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
    /// The sum credited from outside according to the acknowledgements, in centavos.
    pub centavos: u64,
    /// The sum of all accounts' balances, in centavos: transfers between them do not change it.
    pub total: u64,
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
}

/// Replays the whole journal and compares it with the index and with the client's state.
///
/// # Errors
/// When the store cannot be read.
pub fn ledger(store: &dyn Index, realm: RealmId, tally: &Tally) -> anyhow::Result<Audit> {
    let (report, histories) = verify::store(store, &mut |_| {})?;
    let mut audit = Audit {
        vouchers: report.vouchers,
        ..Audit::default()
    };
    for what in report.differences {
        audit.differs(what);
    }
    audit.count = report.count;
    for (number, line) in (1_u64..).zip(&tally.lines) {
        audit.accounts += 1;
        audit.acknowledged += line.acknowledged;
        audit.unsure += line.unsure;
        let Some(history) = histories.get(&(realm, AccountNo(number))) else {
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
        let total = u64::try_from(history.balance.total().centavos()).unwrap_or(0);
        audit.total += total;
        if !line.allows(total) {
            audit.differs(format!(
                "account {number} has {total} centavos, {} were acknowledged",
                line.balance()
            ));
        }
    }
    let deposits = tally.deposits();
    audit.centavos = *deposits.start();
    if !deposits.contains(&audit.total) {
        audit.differs(format!(
            "all accounts have {} centavos, {} were credited to them",
            audit.total, audit.centavos
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
    use super::*;
    use crate::tally::AccountTally;

    #[test]
    fn a_voucher_that_is_missing_is_a_failure() {
        let store = caudal_storage::MemoryStore::synchronous(std::sync::Arc::new(
            caudal_actors::records::projection::Rows,
        ));
        let mut tally = Tally::new(1);
        let audit = ledger(store.as_ref(), RealmId(2), &tally).unwrap();
        assert!(!audit.passed(), "the account was never opened");
        tally.lines = Vec::new();
        assert!(ledger(store.as_ref(), RealmId(2), &tally).unwrap().passed());
        tally.lines.push(AccountTally {
            acknowledged: 1,
            deposited: 1000,
            ..AccountTally::default()
        });
        let audit = ledger(store.as_ref(), RealmId(2), &tally).unwrap();
        assert_eq!(audit.count, 3, "{audit:?}");
    }
}
