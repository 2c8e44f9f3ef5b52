//! A bank whose answers the test sets.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use caudal_ledger::cvu::Cvu;

use crate::ports::fake_bank::{COLLECTOR, FakeBank, FakeCall, PSP};
use crate::ports::{BankError, BankFuture, BankReply, Collector};

/// A bank that gives the answers on its list, and otherwise carries out every operation.
#[derive(Debug, Default)]
pub(super) struct TestBank {
    says: Mutex<VecDeque<Option<BankError>>>,
    calls: Mutex<Vec<String>>,
    panics: AtomicBool,
    strays: AtomicBool,
}

impl TestBank {
    pub(super) fn will_say(&self, error: BankError) {
        self.says.lock().unwrap().push_back(Some(error));
    }

    /// Panics once, at the next call for the collector account.
    pub(super) fn will_panic(&self) {
        self.panics.store(true, Ordering::SeqCst);
    }

    /// From now on gives CVUs of other client ids than requested.
    pub(super) fn will_stray(&self) {
        self.strays.store(true, Ordering::SeqCst);
    }

    pub(super) fn will_obey(&self) {
        self.says.lock().unwrap().push_back(None);
    }

    pub(super) fn called(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

impl FakeBank for TestBank {
    fn account(&self) -> Collector {
        assert!(!self.panics.swap(false, Ordering::SeqCst), "as it was set");
        Collector {
            cbu: COLLECTOR.into(),
            bank: "Test".into(),
        }
    }

    fn makes(&self, client_id: u64) -> Result<Cvu, BankError> {
        let other = u64::from(self.strays.load(Ordering::SeqCst)) * 10_000_000;
        Ok(Cvu::compose(PSP, client_id + other).unwrap())
    }

    fn answer<'a, T: 'a>(
        &'a self,
        (operation, about): FakeCall,
        work: impl FnOnce() -> Result<T, BankError> + 'a,
    ) -> BankFuture<'a, T> {
        Box::pin(async move {
            let call = format!("{operation} {about}");
            self.calls.lock().unwrap().push(call.trim_end().to_owned());
            let says = self.says.lock().unwrap().pop_front();
            let result = says.flatten().map_or_else(work, Err);
            let calls = Vec::new();
            BankReply { result, calls }
        })
    }
}
