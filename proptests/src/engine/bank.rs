//! A bank that does with each transfer what its story says, once for each reference.

use std::collections::BTreeMap;
use std::sync::Mutex;

use caudal_actors::ports::obedient::{ObedientBank, done};
use caudal_actors::ports::{BankError, TransferOrder};
use caudal_ledger::facts::BankRefusal;
use caudal_ledger::ids::OriginId;
use caudal_ledger::transfers::BankTransfer;

use super::Fate;

/// See the module. It outlives power cuts.
#[derive(Debug, Default)]
pub struct Bank {
    fates: Mutex<BTreeMap<OriginId, Fate>>,
    /// What left by it: centavos by reference.
    sent: Mutex<BTreeMap<OriginId, i64>>,
}

impl Bank {
    /// Says what will become of a transfer.
    pub fn will(&self, origin: OriginId, fate: Fate) {
        self.fates.lock().unwrap().insert(origin, fate);
    }

    /// What has left by a reference, in centavos.
    pub fn has_sent(&self, origin: OriginId) -> Option<i64> {
        self.sent.lock().unwrap().get(&origin).copied()
    }

    /// Everything that has left, in centavos.
    pub fn all_sent(&self) -> i64 {
        self.sent.lock().unwrap().values().sum()
    }
}

impl ObedientBank for Bank {
    fn sends(&self, order: &TransferOrder) -> Result<BankTransfer, BankError> {
        let origin = order.origin;
        let fate = self.fates.lock().unwrap().get(&origin).copied();
        if fate == Some(Fate::Refuse) {
            let body = r#"{"message":"no"}"#.to_owned();
            return Err(BankError::Refused(BankRefusal { status: 400, body }));
        }
        let mut sent = self.sent.lock().unwrap();
        let known = sent.insert(origin, order.amount.centavos());
        match (fate, known) {
            (Some(Fate::Silent), None) => Err(BankError::TimedOut),
            (_, Some(before)) if before != order.amount.centavos() => {
                panic!("{origin} was ordered with {before} and {order:?}")
            }
            _ => Ok(done(origin)),
        }
    }

    fn knows(&self, origin: OriginId) -> Result<Option<BankTransfer>, BankError> {
        Ok(self.has_sent(origin).map(|_| done(origin)))
    }
}
