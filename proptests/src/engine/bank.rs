//! A bank that does with each transfer what its story says, once for each reference.

use std::collections::BTreeMap;
use std::sync::Mutex;

use caudal_actors::ports::{
    BankError, BankGateway, BankMovement, BankReply, Collector, Found, LocalFuture, TransferOrder,
};
use caudal_ledger::accounts::Holder;
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::BankRefusal;
use caudal_ledger::ids::OriginId;
use caudal_ledger::money::Money;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::transfers::{BankMoved, BankTransfer, BankWord, Destination};

use super::Fate;

/// See the module. It outlives power cuts.
#[derive(Debug, Default)]
pub struct Bank {
    fates: Mutex<BTreeMap<OriginId, Fate>>,
    /// What left by it: centavos by reference.
    sent: Mutex<BTreeMap<OriginId, i64>>,
}

fn told<'a, T: 'a>(result: Result<T, BankError>) -> LocalFuture<'a, BankReply<T>> {
    let calls = Vec::new();
    Box::pin(std::future::ready(BankReply { result, calls }))
}

fn completed(origin: OriginId) -> BankTransfer {
    BankTransfer {
        bank_id: origin.to_string(),
        coelsa_id: None,
        word: BankWord::Completed,
        moved: BankMoved::default(),
    }
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

impl BankGateway for Bank {
    fn collector(&self) -> Collector {
        Collector {
            cbu: "0000011900000000000000".to_owned(),
            bank: "A bank".to_owned(),
        }
    }

    fn create_cvu<'a>(
        &'a self,
        client_id: u64,
        _: &'a Holder,
        _: &'a str,
    ) -> LocalFuture<'a, BankReply<Cvu>> {
        told(Cvu::compose(999, client_id).ok_or(BankError::TimedOut))
    }

    fn set_alias<'a>(
        &'a self,
        cvu: Cvu,
        _: Cuit,
        alias: Option<&'a Alias>,
        _: &'a str,
    ) -> LocalFuture<'a, BankReply<Alias>> {
        let digits = cvu.as_str().get(8..21).unwrap();
        let given = Alias::parse(&format!("alias.{digits}")).ok();
        told(alias.cloned().or(given).ok_or(BankError::TimedOut))
    }

    fn rename<'a>(&'a self, _: Cvu, _: &'a str, _: &'a str) -> LocalFuture<'a, BankReply<()>> {
        told(Ok(()))
    }

    fn close<'a>(&'a self, _: Cvu, _: Cuit, _: &'a str) -> LocalFuture<'a, BankReply<()>> {
        told(Ok(()))
    }

    fn transfer<'a>(
        &'a self,
        order: &'a TransferOrder,
        _: &'a str,
    ) -> LocalFuture<'a, BankReply<BankTransfer>> {
        let origin = order.origin;
        let fate = self.fates.lock().unwrap().get(&origin).copied();
        if fate == Some(Fate::Refuse) {
            let body = r#"{"message":"no"}"#.to_owned();
            return told(Err(BankError::Refused(BankRefusal { status: 400, body })));
        }
        let mut sent = self.sent.lock().unwrap();
        let known = sent.insert(origin, order.amount.centavos());
        match (fate, known) {
            (Some(Fate::Silent), None) => told(Err(BankError::TimedOut)),
            (_, Some(before)) if before != order.amount.centavos() => {
                panic!("{origin} was ordered with {before} and {order:?}")
            }
            _ => told(Ok(completed(origin))),
        }
    }

    fn transfer_status<'a>(
        &'a self,
        origin: OriginId,
        _: &'a str,
    ) -> LocalFuture<'a, BankReply<Option<BankTransfer>>> {
        let known = self.has_sent(origin);
        told(Ok(known.map(|_| completed(origin))))
    }

    fn movements<'a>(
        &'a self,
        _: BusinessDay,
        _: &'a str,
    ) -> LocalFuture<'a, BankReply<Vec<BankMovement>>> {
        told(Ok(Vec::new()))
    }

    fn lookup<'a>(&'a self, _: &'a Destination, _: &'a str) -> LocalFuture<'a, BankReply<Found>> {
        told(Err(BankError::TimedOut))
    }

    fn balance<'a>(
        &'a self,
        asking: &'a dyn Fn(),
        _: &'a str,
    ) -> LocalFuture<'a, BankReply<(Money, Timestamp)>> {
        asking();
        told(Ok((Money::ZERO, Timestamp::default())))
    }
}
