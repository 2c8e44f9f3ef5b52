//! What leaves a restored service: held, until an operator says that it may leave.
//!
//! **Shape.** A restore to the past leaves a file in the data folder. While it is there, transfers, returns and
//! enrolments do not reach the bank, and no event reaches a webhook; each waits where it would leave. On
//! release an event leaves, and what would go to the bank is asked for again by whoever ordered it, if it is still wanted:
//! a person may have decided otherwise meanwhile. A service without the file has nothing of this in its way.
//!
//! **Order.** The file is removed before anything leaves, so nothing leaves that a restart would hold again.
//!
//! **Failure.** What clients wait for (accounts, aliases, names, closings) is answered as a bank that fails. What the
//! bank is only asked goes on. A try of a webhook that a tenant asks for leaves at once.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use caudal_actors::ports::webhooks::{Contents, Parcel, Sent, WebhookSink};
use caudal_actors::ports::{
    BankError, BankGateway, BankMovement, BankReply, Collector, EnrolmentOrder, Found, FundReport,
    LocalFuture, ReturnOrder, TransferOrder,
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
use caudal_ledger::transfers::{BankTransfer, Destination};
use tokio::sync::watch;

/// Whether what would leave is held.
#[derive(Debug)]
pub struct Outgoing {
    /// The file that says so.
    file: PathBuf,
    held: watch::Sender<bool>,
}

impl Outgoing {
    /// As the file says: held while it is there.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn read(file: PathBuf) -> io::Result<Self> {
        let held = watch::Sender::new(file.try_exists()?);
        Ok(Self { file, held })
    }

    /// Nothing is held, and nothing ever was.
    pub fn free() -> Self {
        Self {
            file: PathBuf::new(),
            held: watch::Sender::new(false),
        }
    }

    /// Whether it is held.
    pub fn is_held(&self) -> bool {
        *self.held.borrow()
    }

    /// Lets everything leave, for good.
    ///
    /// # Errors
    /// When the file cannot be removed; everything stays held.
    pub fn release(&self) -> io::Result<()> {
        if !self.is_held() {
            return Ok(());
        }
        match fs::remove_file(&self.file) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            Ok(()) | Err(_) => {}
        }
        if let Some(folder) = self.file.parent() {
            fs::File::open(folder)?.sync_all()?;
        }
        self.held.send_replace(false);
        Ok(())
    }

    /// Waits until nothing is held.
    async fn leave(&self) {
        let mut held = self.held.subscribe();
        // the sender lives as long as this
        held.wait_for(|held| !held).await.ok();
    }

    /// A bank that is asked everything and ordered nothing while it is held.
    pub fn bank(self: &Arc<Self>, inner: Arc<dyn BankGateway>) -> Arc<dyn BankGateway> {
        match self.is_held() {
            true => Arc::new(Held {
                inner,
                outgoing: Arc::clone(self),
            }),
            false => inner,
        }
    }

    /// A sink to which nothing goes while it is held.
    pub fn sink(self: &Arc<Self>, inner: Arc<dyn WebhookSink>) -> Arc<dyn WebhookSink> {
        match self.is_held() {
            true => Arc::new(Held {
                inner,
                outgoing: Arc::clone(self),
            }),
            false => inner,
        }
    }
}

/// Something behind what is held.
#[derive(Debug)]
struct Held<T: ?Sized> {
    outgoing: Arc<Outgoing>,
    inner: Arc<T>,
}

impl WebhookSink for Held<dyn WebhookSink> {
    fn send(&self, mut parcel: Parcel) -> LocalFuture<'_, Sent> {
        Box::pin(async move {
            if let Contents::Event(_) = parcel.contents {
                let since = Instant::now();
                self.outgoing.leave().await;
                // it is signed with the time at which it leaves
                let waited = u64::try_from(since.elapsed().as_millis());
                let at = waited
                    .ok()
                    .and_then(|it| parcel.at.millis().checked_add(it));
                parcel.at = at.map_or(parcel.at, Timestamp::from_millis);
            }
            self.inner.send(parcel).await
        })
    }
}

impl Held<dyn BankGateway> {
    /// What a client waits for: done when nothing is held, else refused at once.
    fn now<'a, T: 'a>(
        &'a self,
        ask: impl FnOnce(&'a dyn BankGateway) -> LocalFuture<'a, BankReply<T>>,
    ) -> LocalFuture<'a, BankReply<T>> {
        if !self.outgoing.is_held() {
            return ask(self.inner.as_ref());
        }
        Box::pin(std::future::ready(unasked()))
    }

    /// What nobody waits for: not done while it is held, however long that is, and then asked for again, because a
    /// person may have decided about it meanwhile.
    fn later<'a, T: 'a>(
        &'a self,
        ask: impl FnOnce(&'a dyn BankGateway) -> LocalFuture<'a, BankReply<T>> + 'a,
    ) -> LocalFuture<'a, BankReply<T>> {
        Box::pin(async move {
            if !self.outgoing.is_held() {
                return ask(self.inner.as_ref()).await;
            }
            self.outgoing.leave().await;
            unasked()
        })
    }
}

/// The answer in the place of a bank that was not asked.
fn unasked<T>() -> BankReply<T> {
    let body = r#"{"message":"what leaves this service is held until an operator releases it"}"#;
    BankReply {
        result: Err(BankError::Failed {
            status: None,
            body: body.to_owned(),
        }),
        calls: Vec::new(),
    }
}

impl BankGateway for Held<dyn BankGateway> {
    fn collector(&self) -> Collector {
        self.inner.collector()
    }

    fn place(&self) -> String {
        self.inner.place()
    }

    fn has_signed(&self, fits: &dyn Fn(&str) -> bool) -> bool {
        self.inner.has_signed(fits)
    }

    fn create_cvu<'a>(
        &'a self,
        client_id: u64,
        holder: &'a Holder,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<Cvu>> {
        self.now(move |bank| bank.create_cvu(client_id, holder, request_id))
    }

    fn is_taken(&self, refusal: &BankRefusal) -> bool {
        self.inner.is_taken(refusal)
    }

    fn set_alias<'a>(
        &'a self,
        cvu: Cvu,
        cuit: Cuit,
        alias: Option<&'a Alias>,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<Alias>> {
        self.now(move |bank| bank.set_alias(cvu, cuit, alias, request_id))
    }

    fn rename<'a>(
        &'a self,
        cvu: Cvu,
        name: &'a str,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<()>> {
        self.now(move |bank| bank.rename(cvu, name, request_id))
    }

    fn close<'a>(
        &'a self,
        cvu: Cvu,
        cuit: Cuit,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<()>> {
        self.now(move |bank| bank.close(cvu, cuit, request_id))
    }

    fn transfer<'a>(
        &'a self,
        order: &'a TransferOrder,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<BankTransfer>> {
        self.later(move |bank| bank.transfer(order, request_id))
    }

    fn give_back<'a>(
        &'a self,
        order: &'a ReturnOrder,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<BankTransfer>> {
        self.later(move |bank| bank.give_back(order, request_id))
    }

    fn transfer_status<'a>(
        &'a self,
        origin: OriginId,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<Option<BankTransfer>>> {
        self.inner.transfer_status(origin, request_id)
    }

    fn movements<'a>(
        &'a self,
        day: BusinessDay,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<Vec<BankMovement>>> {
        self.inner.movements(day, request_id)
    }

    fn lookup<'a>(
        &'a self,
        whom: &'a Destination,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<Found>> {
        self.inner.lookup(whom, request_id)
    }

    fn balance<'a>(
        &'a self,
        asking: &'a dyn Fn(),
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<(Money, Timestamp)>> {
        self.inner.balance(asking, request_id)
    }

    fn enrol<'a>(
        &'a self,
        order: &'a EnrolmentOrder,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<FundWord>> {
        self.later(move |bank| bank.enrol(order, request_id))
    }

    fn fund_position<'a>(
        &'a self,
        reference: &'a str,
        request_id: &'a str,
    ) -> LocalFuture<'a, BankReply<Option<FundReport>>> {
        self.inner.fund_position(reference, request_id)
    }
}
