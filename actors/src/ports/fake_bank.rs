//! A bank that carries out every operation at once: tests, stories and the bench use it in place of a bank.
//!
//! **Shape.** [`FakeBank`] names the operations in which such a bank may differ, each with the plain behaviour
//! as its default. Every implementation is a [`BankGateway`], so a rig defines only how its bank differs.

use std::fmt;

use caudal_ledger::accounts::Holder;
use caudal_ledger::alias::Alias;
use caudal_ledger::cases::UnreadableLine;
use caudal_ledger::clients::client_in;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::OriginId;
use caudal_ledger::money::Money;
use caudal_ledger::remuneration::{EnrolmentState, FundWord};
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::transfers::{BankMoved, BankTransfer, BankWord, Destination};

use super::{
    BankError, BankFuture, BankGateway, BankMovement, Collector, CollectorStatement, DayList,
    EnrolmentOrder, FundReport, KeyHolder, ReturnOrder, TransferOrder, known,
};

/// The PSP code in the CVUs that it creates.
pub const PSP: u16 = 999;
/// Its collector account.
pub const COLLECTOR: &str = "3220001805007351350083";

/// A call: the operation, and its reference or name, if any.
pub type FakeCall = (&'static str, String);

/// A transfer that the bank has completed.
pub fn done(origin: OriginId) -> BankTransfer {
    BankTransfer {
        bank_id: origin.to_string(),
        coelsa_id: None,
        word: BankWord::Completed,
        moved: BankMoved::default(),
    }
}

/// A bank that carries out every operation. It keeps no state: each transfer that it is asked about is completed. Errors
/// are the failures of a rig's bank.
pub trait FakeBank: Send + Sync + fmt::Debug + 'static {
    /// Carries each call to the bank and its answer back: here a rig counts, delays, cuts off or answers in the bank's
    /// place. `work` is the bank's own part.
    fn answer<'a, T: 'a>(
        &'a self,
        _: FakeCall,
        work: impl FnOnce() -> Result<T, BankError> + 'a,
    ) -> BankFuture<'a, T> {
        known(work())
    }

    /// The collector account.
    fn account(&self) -> Collector {
        Collector {
            cbu: COLLECTOR.to_owned(),
            bank: "A bank".to_owned(),
        }
    }

    /// The CVU that it creates for a client id.
    fn makes(&self, client_id: u64) -> Result<Cvu, BankError> {
        Cvu::compose(PSP, client_id).ok_or(BankError::TimedOut)
    }

    /// Sends a transfer.
    fn sends(&self, order: &TransferOrder) -> Result<BankTransfer, BankError> {
        Ok(done(order.origin))
    }

    /// Returns money from the collector account.
    fn gives_back(&self, order: &ReturnOrder) -> Result<BankTransfer, BankError> {
        Ok(done(order.origin))
    }

    /// Looks up a transfer.
    fn knows(&self, origin: OriginId) -> Result<Option<BankTransfer>, BankError> {
        Ok(Some(done(origin)))
    }

    /// The movements of a day.
    fn lists(&self, _: BusinessDay) -> Result<Vec<BankMovement>, BankError> {
        Ok(Vec::new())
    }

    /// The statement of the collector account for a day.
    fn states(&self, _: BusinessDay) -> Result<CollectorStatement, BankError> {
        Ok(CollectorStatement::default())
    }

    /// The lines of a day's list that cannot be read.
    fn garbles(&self, _: BusinessDay) -> Vec<UnreadableLine> {
        Vec::new()
    }

    /// The holder behind a CBU, CVU or alias. This call does not pass through [`Self::answer`].
    ///
    /// # Errors
    /// Always, unless a rig's bank knows the holder.
    fn whom(&self, _: &Destination) -> Result<KeyHolder, BankError> {
        Err(BankError::TimedOut)
    }

    /// The balance of the collector account.
    fn has(&self) -> Result<(Money, Timestamp), BankError> {
        Ok((Money::ZERO, Timestamp::default()))
    }
}

impl<B: FakeBank> BankGateway for B {
    fn collector(&self) -> Collector {
        self.account()
    }

    fn client_in(&self, cvu: &Cvu) -> Option<u64> {
        client_in(cvu)
    }

    fn create_cvu<'a>(&'a self, client_id: u64, _: &'a Holder, _: &'a str) -> BankFuture<'a, Cvu> {
        self.answer(("create", client_id.to_string()), move || {
            self.makes(client_id)
        })
    }

    fn set_alias<'a>(
        &'a self,
        cvu: Cvu,
        _: Cuit,
        alias: Option<&'a Alias>,
        _: &'a str,
    ) -> BankFuture<'a, Alias> {
        let digits: String = cvu.as_str().chars().skip(8).take(13).collect();
        let own = || Alias::parse(&format!("alias.{digits}"));
        let alias = alias.cloned().map_or_else(own, Ok);
        let name = alias
            .as_ref()
            .map_or_else(|_| String::new(), Alias::to_string);
        let work = move || alias.map_err(|_| BankError::TimedOut);
        self.answer(("alias", name), work)
    }

    fn rename<'a>(&'a self, _: Cvu, name: &'a str, _: &'a str) -> BankFuture<'a, ()> {
        self.answer(("rename", name.to_owned()), || Ok(()))
    }

    fn close<'a>(&'a self, _: Cvu, _: Cuit, _: &'a str) -> BankFuture<'a, ()> {
        self.answer(("close", String::new()), || Ok(()))
    }

    fn transfer<'a>(
        &'a self,
        order: &'a TransferOrder,
        _: &'a str,
    ) -> BankFuture<'a, BankTransfer> {
        let call = ("transfer", order.origin.to_string());
        self.answer(call, move || self.sends(order))
    }

    fn give_back<'a>(&'a self, order: &'a ReturnOrder, _: &'a str) -> BankFuture<'a, BankTransfer> {
        let call = ("give back", order.origin.to_string());
        self.answer(call, move || self.gives_back(order))
    }

    fn transfer_status<'a>(
        &'a self,
        origin: OriginId,
        _: &'a str,
    ) -> BankFuture<'a, Option<BankTransfer>> {
        self.answer(("status", origin.to_string()), move || self.knows(origin))
    }

    fn movements<'a>(&'a self, day: BusinessDay, _: &'a str) -> BankFuture<'a, DayList> {
        self.answer(("movements", day.to_string()), move || {
            Ok(DayList {
                movements: self.lists(day)?,
                unreadable: self.garbles(day),
            })
        })
    }

    fn statement<'a>(
        &'a self,
        day: BusinessDay,
        _: bool,
        _: &'a str,
    ) -> BankFuture<'a, CollectorStatement> {
        self.answer(("statement", day.to_string()), move || self.states(day))
    }

    fn lookup<'a>(&'a self, whom: &'a Destination, _: &'a str) -> BankFuture<'a, KeyHolder> {
        known(self.whom(whom))
    }

    fn balance<'a>(
        &'a self,
        asking: &'a dyn Fn(),
        _: &'a str,
    ) -> BankFuture<'a, (Money, Timestamp)> {
        asking();
        self.answer(("balance", String::new()), move || self.has())
    }

    fn enrol<'a>(&'a self, order: &'a EnrolmentOrder, _: &'a str) -> BankFuture<'a, FundWord> {
        self.answer(("enrol", order.reference.clone()), || {
            Ok(FundWord {
                state: EnrolmentState::Active,
                fund: Some("A fund".to_owned()),
            })
        })
    }

    fn fund_position<'a>(
        &'a self,
        reference: &'a str,
        _: &'a str,
    ) -> BankFuture<'a, Option<FundReport>> {
        self.answer(("position", reference.to_owned()), || Ok(None))
    }
}
