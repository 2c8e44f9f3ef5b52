//! Calls to banks, counted by operation and outcome.
//!
//! **Shape.** A gateway in front of the real one: each operation is timed from its start to its end, including the
//! retries inside it, and is counted then. An operation that is dropped before its end is not counted.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use caudal_actors::banks::Banks;
use caudal_actors::ports::{
    BankError, BankGateway, BankReply, Collector, CollectorStatement, DayList, EnrolmentOrder,
    FundReport, KeyHolder, LocalFuture, Notice, RawNotice, ReturnOrder, Simulation, TransferOrder,
    UnreadNotice,
};
use caudal_ledger::accounts::Holder;
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::BankRefusal;
use caudal_ledger::ids::OriginId;
use caudal_ledger::money::Money;
use caudal_ledger::remuneration::FundWord;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::transfers::{BankTransfer, Destination, RejectionCode, TransferRejection};

use super::{BANK, Measures};

/// The outcome of an operation, as a label.
const fn outcome<T>(result: &Result<T, BankError>) -> &'static str {
    match result {
        Ok(_) => "done",
        Err(BankError::Refused(_)) => "refused",
        Err(BankError::Failed { .. }) => "failed",
        Err(BankError::TimedOut) => "timed_out",
    }
}

/// Counts every call to these banks.
pub fn counted(measures: &Arc<Measures>, banks: Banks) -> Banks {
    let measures = Arc::clone(measures);
    Arc::new(move |relation| {
        let (inner, measures) = (banks(relation)?, Arc::clone(&measures));
        let bank: Arc<dyn BankGateway> = Arc::new(BankCounters { inner, measures });
        Ok(bank)
    })
}

struct BankCounters {
    inner: Arc<dyn BankGateway>,
    measures: Arc<Measures>,
}

impl fmt::Debug for BankCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl BankCounters {
    fn call<'a, T: 'a>(
        &'a self,
        operation: &'static str,
        call: LocalFuture<'a, BankReply<T>>,
    ) -> LocalFuture<'a, BankReply<T>> {
        Box::pin(async move {
            let since = Instant::now();
            let reply = call.await;
            let labels = vec![
                ("operation", operation.into()),
                ("outcome", outcome(&reply.result).into()),
            ];
            // A call takes a thousand times as long as the lookup of the handle.
            let times = self.measures.histogram(BANK, labels);
            times.record(since.elapsed());
            reply
        })
    }
}

impl BankGateway for BankCounters {
    fn collector(&self) -> Collector {
        self.inner.collector()
    }

    fn place(&self) -> String {
        self.inner.place()
    }

    fn verify(&self, notice: &RawNotice<'_>) -> bool {
        self.inner.verify(notice)
    }

    fn read_notice(&self, notice: &RawNotice<'_>, now: Timestamp) -> Result<Notice, UnreadNotice> {
        self.inner.read_notice(notice, now)
    }

    fn client_in(&self, cvu: &Cvu) -> Option<u64> {
        self.inner.client_in(cvu)
    }

    fn is_taken(&self, refusal: &BankRefusal) -> bool {
        self.inner.is_taken(refusal)
    }

    fn rejection_code(&self, why: &TransferRejection) -> RejectionCode {
        self.inner.rejection_code(why)
    }

    fn create_cvu<'a>(
        &'a self,
        client_id: u64,
        holder: &'a Holder,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<Cvu>> {
        let call = self.inner.create_cvu(client_id, holder, request_id);
        self.call("create_cvu", call)
    }

    fn set_alias<'a>(
        &'a self,
        cvu: Cvu,
        cuit: Cuit,
        alias: Option<&'a Alias>,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<Alias>> {
        let call = self.inner.set_alias(cvu, cuit, alias, request_id);
        self.call("set_alias", call)
    }

    fn rename<'a>(
        &'a self,
        cvu: Cvu,
        name: &'a str,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<()>> {
        let call = self.inner.rename(cvu, name, request_id);
        self.call("rename", call)
    }

    fn close<'a>(
        &'a self,
        cvu: Cvu,
        cuit: Cuit,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<()>> {
        let call = self.inner.close(cvu, cuit, request_id);
        self.call("close", call)
    }

    fn transfer<'a>(
        &'a self,
        order: &'a TransferOrder,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<BankTransfer>> {
        let call = self.inner.transfer(order, request_id);
        self.call("transfer", call)
    }

    fn give_back<'a>(
        &'a self,
        order: &'a ReturnOrder,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<BankTransfer>> {
        let call = self.inner.give_back(order, request_id);
        self.call("return", call)
    }

    fn transfer_status<'a>(
        &'a self,
        origin: OriginId,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<Option<BankTransfer>>> {
        let call = self.inner.transfer_status(origin, request_id);
        self.call("transfer_status", call)
    }

    fn movements<'a>(
        &'a self,
        day: BusinessDay,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<DayList>> {
        let call = self.inner.movements(day, request_id);
        self.call("movements", call)
    }

    fn statement<'a>(
        &'a self,
        day: BusinessDay,
        ongoing: bool,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<CollectorStatement>> {
        let call = self.inner.statement(day, ongoing, request_id);
        self.call("statement", call)
    }

    fn lookup<'a>(
        &'a self,
        whom: &'a Destination,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<KeyHolder>> {
        let call = self.inner.lookup(whom, request_id);
        self.call("lookup", call)
    }

    fn balance<'a>(
        &'a self,
        asking: &'a dyn Fn(),
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<(Money, Timestamp)>> {
        let call = self.inner.balance(asking, request_id);
        self.call("balance", call)
    }

    fn enrol<'a>(
        &'a self,
        order: &'a EnrolmentOrder,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<FundWord>> {
        let call = self.inner.enrol(order, request_id);
        self.call("enrol", call)
    }

    fn simulate<'a>(
        &'a self,
        simulation: &'a Simulation,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<()>> {
        let call = self.inner.simulate(simulation, request_id);
        self.call("simulation", call)
    }

    fn fund_position<'a>(
        &'a self,
        reference: &'a str,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<Option<FundReport>>> {
        let call = self.inner.fund_position(reference, request_id);
        self.call("fund_position", call)
    }
}
