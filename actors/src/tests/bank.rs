//! A bank that says what the test wants.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use caudal_ledger::accounts::Holder;
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::OriginId;
use caudal_ledger::money::Money;
use caudal_ledger::remuneration::{EnrolmentState, FundWord};
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::transfers::{BankMoved, BankTransfer, BankWord, Destination};

use crate::ports::{
    BankError, BankGateway, BankMovement, BankReply, Collector, EnrolmentOrder, Found, FundTold,
    LocalFuture, TransferOrder,
};

/// A bank that answers what was put on its list, and otherwise does what it is asked.
#[derive(Debug, Default)]
pub struct TestBank {
    says: Mutex<VecDeque<Option<BankError>>>,
    calls: Mutex<Vec<String>>,
    panics: AtomicBool,
}

impl TestBank {
    fn answer<T>(&self, call: String, good: T) -> BankReply<T> {
        self.calls.lock().unwrap().push(call);
        let result = match self.says.lock().unwrap().pop_front() {
            Some(Some(error)) => Err(error),
            Some(None) | None => Ok(good),
        };
        BankReply {
            result,
            calls: Vec::new(),
        }
    }

    pub fn will_say(&self, error: BankError) {
        self.says.lock().unwrap().push_back(Some(error));
    }

    /// Panics once, when it is asked for the collector account.
    pub fn will_panic(&self) {
        self.panics.store(true, Ordering::SeqCst);
    }

    pub fn will_obey(&self) {
        self.says.lock().unwrap().push_back(None);
    }

    pub fn called(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

impl BankGateway for TestBank {
    fn collector(&self) -> Collector {
        assert!(!self.panics.swap(false, Ordering::SeqCst), "as it was told");
        Collector {
            cbu: "3220001805007351350083".into(),
            bank: "Test".into(),
        }
    }

    fn create_cvu<'a>(
        &'a self,
        client_id: u64,
        _: &'a Holder,
        _: &'a str,
    ) -> LocalFuture<'a, BankReply<Cvu>> {
        let cvu = Cvu::compose(999, client_id).unwrap();
        Box::pin(async move { self.answer(format!("create {client_id}"), cvu) })
    }

    fn set_alias<'a>(
        &'a self,
        cvu: Cvu,
        _: Cuit,
        alias: Option<&'a Alias>,
        _: &'a str,
    ) -> LocalFuture<'a, BankReply<Alias>> {
        let own = Alias::parse(&format!("auto.{}", cvu.last4())).unwrap();
        let alias = alias.cloned().unwrap_or(own);
        Box::pin(async move { self.answer(format!("alias {alias}"), alias) })
    }

    fn rename<'a>(&'a self, _: Cvu, name: &'a str, _: &'a str) -> LocalFuture<'a, BankReply<()>> {
        Box::pin(async move { self.answer(format!("rename {name}"), ()) })
    }

    fn close<'a>(&'a self, _: Cvu, _: Cuit, _: &'a str) -> LocalFuture<'a, BankReply<()>> {
        Box::pin(async move { self.answer("close".into(), ()) })
    }

    fn transfer<'a>(
        &'a self,
        order: &'a TransferOrder,
        _: &'a str,
    ) -> LocalFuture<'a, BankReply<BankTransfer>> {
        Box::pin(async move { self.answer(format!("transfer {}", order.origin), done()) })
    }

    fn transfer_status<'a>(
        &'a self,
        origin: OriginId,
        _: &'a str,
    ) -> LocalFuture<'a, BankReply<Option<BankTransfer>>> {
        Box::pin(async move { self.answer(format!("status {origin}"), Some(done())) })
    }

    fn movements<'a>(
        &'a self,
        day: BusinessDay,
        _: &'a str,
    ) -> LocalFuture<'a, BankReply<Vec<BankMovement>>> {
        Box::pin(async move { self.answer(format!("movements {day}"), Vec::new()) })
    }

    fn lookup<'a>(&'a self, _: &'a Destination, _: &'a str) -> LocalFuture<'a, BankReply<Found>> {
        Box::pin(async move {
            BankReply {
                result: Err(BankError::TimedOut),
                calls: Vec::new(),
            }
        })
    }

    fn balance<'a>(
        &'a self,
        asking: &'a dyn Fn(),
        _: &'a str,
    ) -> LocalFuture<'a, BankReply<(Money, Timestamp)>> {
        asking();
        Box::pin(async move { self.answer("balance".into(), (Money::ZERO, Timestamp::default())) })
    }

    fn enrol<'a>(
        &'a self,
        order: &'a EnrolmentOrder,
        _: &'a str,
    ) -> LocalFuture<'a, BankReply<FundWord>> {
        Box::pin(async move { self.answer(format!("enrol {}", order.reference), enrolled()) })
    }

    fn fund_position<'a>(
        &'a self,
        reference: &'a str,
        _: &'a str,
    ) -> LocalFuture<'a, BankReply<Option<FundTold>>> {
        Box::pin(async move { self.answer(format!("position {reference}"), None) })
    }
}

fn enrolled() -> FundWord {
    FundWord {
        state: EnrolmentState::Active,
        fund: Some("Test".into()),
    }
}

fn done() -> BankTransfer {
    BankTransfer {
        bank_id: "1-20267565393-7-0".into(),
        coelsa_id: Some("80V1JXON1874QG39Z64EL7".into()),
        word: BankWord::Completed,
        moved: BankMoved::default(),
    }
}
