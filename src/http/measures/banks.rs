//! Calls to banks, counted by operation and outcome.
//!
//! **Shape.** A gateway in front of the real one: each operation is timed from its start to its end, including the
//! retries inside it, and is counted then. An operation that is dropped before its end is not counted.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use caudal_actors::banks::Banks;
use caudal_actors::ports::{
    BankError, BankFuture, BankGateway, Collector, CollectorStatement, DayList, EnrolmentOrder,
    FundReport, KeyHolder, Notice, RawNotice, ReturnOrder, Simulation, TransferOrder, UnreadNotice,
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
        call: BankFuture<'a, T>,
    ) -> BankFuture<'a, T> {
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

/// The operations of a bank, each with its label: handed to the gateway behind, and counted.
macro_rules! operations {
    ($($name:ident as $label:literal: ($($arg:ident: $type:ty),+) -> $result:ty;)+) => {$(
        fn $name<'a>(
            &'a self,
            $($arg: $type,)+
            request_id: &'a str,
        ) -> BankFuture<'a, $result> {
            self.call($label, self.inner.$name($($arg,)+ request_id))
        }
    )+};
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

    operations! {
        create_cvu as "create_cvu": (client_id: u64, holder: &'a Holder) -> Cvu;
        set_alias as "set_alias": (cvu: Cvu, cuit: Cuit, alias: Option<&'a Alias>) -> Alias;
        rename as "rename": (cvu: Cvu, name: &'a str) -> ();
        close as "close": (cvu: Cvu, cuit: Cuit) -> ();
        transfer as "transfer": (order: &'a TransferOrder) -> BankTransfer;
        give_back as "return": (order: &'a ReturnOrder) -> BankTransfer;
        transfer_status as "transfer_status": (origin: OriginId) -> Option<BankTransfer>;
        movements as "movements": (day: BusinessDay) -> DayList;
        statement as "statement": (day: BusinessDay, ongoing: bool) -> CollectorStatement;
        lookup as "lookup": (whom: &'a Destination) -> KeyHolder;
        balance as "balance": (asking: &'a dyn Fn()) -> (Money, Timestamp);
        enrol as "enrol": (order: &'a EnrolmentOrder) -> FundWord;
        simulate as "simulation": (simulation: &'a Simulation) -> ();
        fund_position as "fund_position": (reference: &'a str) -> Option<FundReport>;
    }
}
